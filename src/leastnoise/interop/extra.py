"""The libraries of the extra `interop`: how to get them, and a warning of their arithmetic."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from leastnoise.errors import MissingLibrary

_PACKAGES = {"dp_accounting": "dp-accounting", "opendp": "opendp"}


class MissingExtra(MissingLibrary):
    """A library that is only needed here isn't installed."""

    def __init__(self, *, package: str) -> None:
        super().__init__(package=package, extra="interop")


class NotABound(UserWarning):
    """From here on numbers are close, but no longer certain to lie on the private side."""


def require(module: str) -> Any:
    """Return `module`; raises MissingExtra if its package isn't installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(package=_PACKAGES[module.split(".", maxsplit=1)[0]]) from error
