"""The types that fields accept and store, as mypy reads them; nothing here runs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

from leastnoise.guarantees.exact import Exact

Given = TypeVar("Given")
Kept = TypeVar("Kept")


class _Field(Generic[Given, Kept]):
    def __get__(self, record: object, owner: Any) -> Kept:
        raise NotImplementedError

    def __set__(self, record: Any, value: Given) -> None:
        raise NotImplementedError


class FractionField(_Field[Exact, Fraction]):
    """A number."""


class FractionOrNoneField(_Field[Exact | None, Fraction | None]):
    """A number, or none."""


class FractionsField(_Field[Sequence[Exact], tuple[Fraction, ...]]):
    """Numbers."""


class FractionRowsField(_Field[Sequence[Sequence[Exact]], tuple[tuple[Fraction, ...], ...]]):
    """Rows of numbers."""


class IntsField(_Field[Sequence[int], tuple[int, ...]]):
    """Whole numbers."""


class LimitField(_Field[int | None, int]):
    """A limit; None is no limit."""
