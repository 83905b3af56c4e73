"""The names of a block's result columns, in order; public, so known before any row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.statistics.base import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.statistics.base import Statistic


def result_columns(parts: Sequence[Layout]) -> tuple[str, ...]:
    """Return the columns of a block's result: those of the groups, then each statistic's four.

    `parts` are the layouts of the block's parts.
    """
    keys = [name for axis in parts[0].axes for name in axis.columns]
    if parts[0].conditions:
        keys.append("condition")
    values = [f"{asked.label}{suffix}" for asked in statistics_of(parts) for suffix in SUFFIXES]
    return (*keys, *values)


def statistics_of(parts: Sequence[Layout]) -> list[Statistic]:
    """Return the statistics of a block, from the layouts of its parts, in the block's order."""
    placed = {
        place: asked
        for part in parts
        for place, asked in zip(part.places, part.statistics, strict=True)
    }
    return [placed[place] for place in sorted(placed)]
