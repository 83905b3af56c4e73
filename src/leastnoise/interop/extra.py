"""The libraries of the extra `interop`: their import, and a warning about their arithmetic."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from leastnoise.errors import MissingLibrary

_PACKAGES = {"dp_accounting": "dp-accounting", "opendp": "opendp"}


class MissingExtra(MissingLibrary):
    """A library of the extra `interop` isn't installed.

    Attributes:
        package: Name of the library on PyPI.

    """

    def __init__(self, *, package: str) -> None:
        super().__init__(package=package, extra="interop")


class NotABound(UserWarning):
    """A warning that later numbers are approximations, not certain upper bounds."""


def require(module: str) -> Any:
    """Import `module`. Raises MissingExtra if its package isn't installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(package=_PACKAGES[module.split(".", maxsplit=1)[0]]) from error
