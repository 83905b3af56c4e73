"""The table of a block's quantiles: one candidate a group and a level, found as certified."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.quantiles import choose_quantiles, read_interval, read_quantiles
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.results.table import Table, joined, key_columns, result_columns, table_of
from leastnoise.tables.results.table_files import as_read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.certificate.quantiles import QuantileCertificate
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.ranks import Ranks
    from leastnoise.tables.statistics.base import NoiseError
    from leastnoise.workloads.ranks import RankTree


def publish_by_chance(
    layout: Ranks,
    claim: QuantileCertificate,
    counts: NDArray[np.int64],
    *,
    stated: Mapping[str, float],
) -> Table:
    """The quantiles of each group, chosen from exact `counts`, shape (groups · candidates,).

    The counts are what `bounding.query_vector` gives for the layout's `counted`. `stated` is the
    error in ranks of each column for it.
    """
    unit = 2**layout.counted.bits
    groups = counts.reshape(layout.cells, -1).tolist()
    chosen = [choose_quantiles(claim, group, unit=unit) for group in groups]
    return table_at(layout, [[(place,) for place in group] for group in chosen], stated)


def publish_by_tree(
    layout: Ranks,
    claim: Certificate,
    tree: RankTree,
    counts: NDArray[np.int64],
    *,
    total: Sequence[tuple[Layout, tuple[NoiseError, ...]]],
) -> Table:
    """The quantiles of each group, read off noisy counts; `counts` are as in `publish_by_chance`.

    Where the `total` of the tree decides which groups are published, it has a column beside them.
    """
    groups = counts.reshape(layout.cells, -1)
    padded = np.zeros((layout.cells, tree.noise.dimension), dtype=np.int64)
    padded[:, : groups.shape[1]] = groups
    integers = ScaledIntegers(numerators=padded.reshape(-1), bits=layout.counted.bits)
    noisy = Mechanism(claim).release(integers).values.reshape(padded.shape)
    table = table_at(layout, read_places(tree, layout, noisy))
    tables = [table_of(counted, noisy.sum(axis=1), errors) for counted, errors in total]
    return joined([*(counted for counted, _ in total), layout], [*tables, table])


def read_places(
    tree: RankTree, layout: Ranks, noisy: NDArray[np.float64]
) -> list[list[tuple[int, int, int]]]:
    """Return the place of each group's quantiles, and of their ends, from its noisy counts.

    `noisy` has a row a group, of all cells of its tree; the first are the candidates. Intervals are
    widened where an end falls as levels rise, which no true quantile does.
    """
    levels = [one.level for one in layout.statistics]
    widths = [tree.half_widths(level) for level in levels]
    found: list[list[tuple[int, int, int]]] = []
    for own in np.rint(noisy).astype(np.int64).tolist():
        counts, total = own[: tree.candidates], sum(own)
        places = read_quantiles(counts, levels, total=total)
        ends = [
            read_interval(counts, level, width, total=total, index=place)
            for place, level, width in zip(places, levels, widths, strict=True)
        ]
        lows = [*accumulate((low for low, _ in reversed(ends)), min)][::-1]
        highs = accumulate((high for _, high in ends), max)
        found.append(list(zip(places, lows, highs, strict=True)))
    return found


def table_at(
    layout: Ranks,
    chosen: Sequence[Sequence[Sequence[int]]],
    stated: Mapping[str, float] | None = None,
) -> Table:
    """The table in which each group has the candidates at these places.

    For each level they are the places of the quantile, and of its two ends where it has an
    interval. Where it has none, `stated` is the error in ranks of each column for it.
    """
    told = _told(layout)
    columns: list[list[list[Any]]] = [
        [
            [values[at] for at in column]
            for values, column in zip(told, zip(*level, strict=True), strict=False)
        ]
        for level in zip(*chosen, strict=True)
    ]
    for asked, own in zip(layout.statistics, columns, strict=True):
        own += [
            [(stated or {})[f"{asked.label}{suffix}"]] * len(own[0])
            for suffix in asked.suffixes[len(asked.chosen) :]
        ]
    ordered = sorted(zip(layout.places, columns, strict=True))
    every = key_columns(layout) + [column for _, own in ordered for column in own]
    names = result_columns([layout])
    return Table(name=layout.name, columns=dict(zip(names, every, strict=True)))


def chosen_in(
    layout: Ranks, columns: Mapping[str, Sequence[Any]], kind: str = "parquet"
) -> list[Fraction]:
    """Return the candidates that the one row of a table has, exactly, by rising level."""
    values = layout.candidates.values
    places = {float(value): at for at, value in enumerate(as_read(layout.published, kind))}
    return [values[places[float(columns[one.label][0])]] for one in layout.statistics]


def wrong_quantile(layout: Ranks, columns: Mapping[str, Sequence[Any]], kind: str) -> str | None:
    """Return the label of a quantile that is no candidate, or is below one of a lower level.

    Or whose interval it isn't in, or which doesn't end where values count at another candidate.
    `columns` are as `read_table` gives them. None if all may have been found.
    """
    told = [
        {(type(value), value): at for at, value in enumerate(as_read(values, kind))}
        for values in _told(layout)
    ]
    least = [0] * len(next(iter(columns.values())))
    for asked in layout.statistics:
        value, *ends = (
            _places(columns[f"{asked.label}{suffix}"], places)
            for suffix, places in zip(asked.chosen, told, strict=False)
        )
        if len(value) != len(least) or any(map(int.__lt__, value, least)):
            return asked.label
        least = value
        if ends and not all(map(_is_between, ends[0], value, ends[1])):
            return asked.label
    return None


def _told(layout: Ranks) -> tuple[list[Any], list[float], list[float]]:
    """Return what a table has for each candidate: itself, and the ends of what counts there."""
    edges = layout.candidates.edges
    return layout.published, [-math.inf, *edges], [*edges, math.inf]


def _is_between(low: int, place: int, high: int) -> bool:
    return 0 <= low <= place <= high


def _places(told: Sequence[Any], places: Mapping[tuple[type, Any], int]) -> list[int]:
    """Return the places of candidates, −1 of what is none; a list or the like is none."""
    return [
        places.get((type(value), value), -1) if isinstance(value, int | float | str | None) else -1
        for value in told
    ]
