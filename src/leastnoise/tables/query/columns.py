"""The names of a block's tables and columns, in order; public, so known before any row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.query.summed import cumulative, levels, margins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import Asked

    Part = Layout | Ranks
    """A part of a block: what noise is added to, or quantiles."""


def file_names(query: Query) -> list[str]:
    """Return the names of the tables that a block publishes, and of their files."""
    if cumulative.is_cumulative(query):
        return [query.name, cumulative.table_name(query.name)]
    if query.hierarchy is not None:
        return levels.file_names(query)
    return margins.file_names(query)


def key_names(part: Part) -> list[str]:
    """Return the columns that tell the groups apart."""
    keys = [name for axis in part.axes for name in axis.columns]
    return [*keys, "condition"] if part.conditions else keys


def result_columns(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the columns of a block's result: those of the groups, then each statistic's.

    `parts` are the layouts of the block's parts.
    """
    values = [f"{one.label}{suffix}" for one in statistics_of(parts) for suffix in one.suffixes]
    return (*key_names(parts[0]), *values)


def statistics_of(parts: Sequence[Part]) -> list[Asked]:
    """Return the statistics of a block, from the layouts of its parts, in the block's order."""
    placed = {
        place: asked
        for part in parts
        for place, asked in zip(part.places, part.statistics, strict=True)
    }
    return [placed[place] for place in sorted(placed)]
