"""The libraries of the extra `interop`, or a word on how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from leastnoise.errors import Refused

_PACKAGES = {"dp_accounting": "dp-accounting", "opendp": "opendp"}


class MissingExtra(Refused, ImportError):
    """A library that is only needed here isn't installed."""

    def __init__(self, *, package: str) -> None:
        self.package = package
        super().__init__(f"{package} is missing. Install it: pip install 'leastnoise[interop]'")


def require(module: str) -> Any:
    """Return `module`; raises MissingExtra if its package isn't installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(package=_PACKAGES[module.split(".", maxsplit=1)[0]]) from error
