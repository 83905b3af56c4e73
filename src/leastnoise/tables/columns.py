"""The names of a block's result columns, in order; public, so known before any row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastnoise.tables.layout import Layout

SUFFIXES = ("", "_std", "_low", "_high")


def result_columns(layout: Layout) -> tuple[str, ...]:
    """Return the columns of the result: those of the groups, then each statistic with its error."""
    keys = [name for axis in layout.axes for name in axis.columns]
    if layout.conditions:
        keys.append("condition")
    values = [f"{asked.label}{suffix}" for asked in layout.statistics for suffix in SUFFIXES]
    return (*keys, *values)
