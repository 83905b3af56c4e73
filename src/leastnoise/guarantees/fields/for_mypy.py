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
    """A field that accepts any exact number and stores a Fraction."""


class FractionOrNoneField(_Field[Exact | None, Fraction | None]):
    """A field that accepts any exact number or None, and stores a Fraction or None."""


class FractionsField(_Field[Sequence[Exact], tuple[Fraction, ...]]):
    """A field that accepts a sequence of exact numbers and stores a tuple of Fractions."""


class FractionRowsField(_Field[Sequence[Sequence[Exact]], tuple[tuple[Fraction, ...], ...]]):
    """A field that accepts rows of exact numbers and stores tuples of Fractions."""


class IntsField(_Field[Sequence[int], tuple[int, ...]]):
    """A field that accepts a sequence of integers and stores a tuple."""


class LimitField(_Field[int | None, int]):
    """A field that accepts an integer or None (no limit), and stores the integer that applies."""
