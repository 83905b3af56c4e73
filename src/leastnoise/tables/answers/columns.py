"""Checks by `verify` of the noisy columns of a published table."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.tables.statistics.base import LARGEST_WHOLE, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import Ends, NoiseError

_WHOLE = re.compile("0|-?[1-9][0-9]{0,15}")  # a whole number as it is written in CSV

_OPEN = {"inf": math.inf, "-inf": -math.inf}  # as a workbook writes open ends

Noisy = tuple["Layout", "tuple[NoiseError, ...]"]
"""The layout of a query's part, and the error of each of its components."""


def numbers_of(
    parts: Sequence[Noisy], columns: Mapping[str, Sequence[Any]], kind: str
) -> dict[str, list[float]]:
    """The columns of a table as floats; NaN for a field that is no number.

    `parts` has the layouts of the table's numbers, with their errors. `kind` is the kind of the
    table's file. In JSON, null stands for ±∞ (see `values_as_read`). Null is read as ±∞ only in the
    `_std`, `_low` and `_high` of an unbounded quotient. Anywhere else it becomes NaN, since no
    other number is infinite.
    """
    open_ends = {
        f"{asked.label}{suffix}": end
        for layout, noise in parts
        for asked, ingredients in zip(layout.statistics, layout.ingredients(noise), strict=True)
        if kind == "json" and asked.is_open(ingredients)
        for suffix, end in (("_std", math.inf), ("_low", -math.inf), ("_high", math.inf))
    }
    return {
        label: [
            open_ends[label]
            if value is None and label in open_ends
            else _float(_number(value, kind))
            for value in column
        ]
        for label, column in columns.items()
    }


def stated_deviations(layout: Layout, noise: Sequence[NoiseError]) -> dict[str, Ends]:
    """The `_std` columns that follow from the noise alone, by name.

    A column's value is one number for all cells, or one number per cell.
    """
    deviations = {
        f"{asked.label}_std": asked.stated_std(ingredients)
        for asked, ingredients in zip(layout.statistics, layout.ingredients(noise), strict=True)
    }
    return {label: std for label, std in deviations.items() if std is not None}


def find_wrong(
    part: Noisy,
    columns: Mapping[str, Sequence[Any]],
    numbers: Mapping[str, Sequence[float]],
    kind: str,
) -> str | None:
    """The first fault of one part's columns, as the end of a sentence; None without a fault.

    `columns`, `numbers` and `kind` are as in `TablePart.find_wrong`.
    """
    layout, noise = part
    if why := _wrong_form(layout, columns, kind):
        return why
    label = wrong_number(layout, numbers, noise)
    return None if label is None else f"a {label} that doesn't fit its other numbers or noise"


def _wrong_form(layout: Layout, columns: Mapping[str, Sequence[Any]], kind: str) -> str | None:
    """Find the first column with numbers that aren't rounded or clamped as the spec says.

    Returns the fault as the end of a sentence, or None if there is no such column.
    """
    for asked in layout.statistics:
        for label in (f"{asked.label}{suffix}" for suffix in SUFFIXES if suffix != "_std"):
            values = [_number(value, kind) for value in columns[label]]
            step = layout.multiple if asked.counts else 0
            if step and not all(_is_whole(number, step) for number in values):
                what = "whole" if step == 1 else f"a multiple of {step:,}"
                return f"a {label} that isn't {what}"
            if layout.clamp and asked.clamps and not all(0 <= x < math.inf for x in values):
                return f"a {label} below 0"
    return None


def _number(value: Any, kind: str) -> int | float:
    """The number that a field of a table holds; NaN for anything else.

    `kind` is the kind of the table's file. A workbook holds ±∞ as text.
    """
    if kind == "xlsx" and value in _OPEN:
        return _OPEN[value]
    text = kind == "csv"
    if text and _WHOLE.fullmatch(value):
        return int(value)
    if text or type(value) is float:
        try:
            return float(value)
        except ValueError:
            return math.nan
    return value if type(value) is int else math.nan


def _float(number: float) -> float:
    """The number as a float, NaN for a whole number that is too large for a float."""
    try:
        return float(number)
    except OverflowError:
        return math.nan


def _is_whole(number: float, multiple: int) -> bool:
    return isinstance(number, int) and abs(number) <= LARGEST_WHOLE and number % multiple == 0


def wrong_number(
    layout: Layout, columns: Mapping[str, Sequence[float]], noise: Sequence[NoiseError]
) -> str | None:
    """The label of a column that contradicts the noise or other columns; None without a fault.

    The noise and a published value determine the value's `_std`, `_low` and `_high`, or bounds on
    them. Statistics of the same noisy numbers have to agree, such as a sum with the product of a
    mean and its count.
    """
    values = {label: np.array(column, dtype=float) for label, column in columns.items()}
    every = list(zip(layout.statistics, layout.ingredients(noise), strict=True))
    beside: dict[Any, list[Any]] = {}
    for asked, ingredients in every:
        value = asked.in_common_unit(ingredients, values[asked.label])
        beside.setdefault(ingredients.components, []).append(value)
    for asked, ingredients in every:
        four = [values[f"{asked.label}{suffix}"] for suffix in SUFFIXES]
        with np.errstate(all="ignore"):
            suffix = asked.find_wrong_suffix(ingredients, four, beside)
        if suffix is not None:
            return f"{asked.label}{suffix}"
    return None
