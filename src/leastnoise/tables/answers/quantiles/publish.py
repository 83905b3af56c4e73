"""Publication of quantiles: noise or chance gives each group and level one of the candidates."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.entropy.source import Entropy, SystemEntropy
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.permute_and_flip import choose_quantiles, read_interval, read_quantiles
from leastnoise.mechanism.rounding import add_noise_to_rows
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.answers.unlisted.publish import (
    columns_of_keys,
    group_order,
    reach_threshold,
)
from leastnoise.tables.results.table import (
    Table,
    join_parts,
    key_columns,
    key_names,
    result_columns,
    table_of,
)
from leastnoise.tables.results.table_files import values_as_read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.certificate.quantiles import QuantileCertificate
    from leastnoise.certificate.unlisted import ThresholdCertificate
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.statistics.base import NoiseError
    from leastnoise.workloads.ranks import RankTree


_GROUPS_AT_ONCE = 256
"""The number of unlisted groups whose counts are in memory at the same time."""


def publish_by_chance(
    layout: QuantileLayout,
    claim: QuantileCertificate,
    counts: NDArray[np.int64],
    *,
    stated: Mapping[str, float],
) -> Table:
    """The quantiles of each group, chosen from exact `counts`, shape (groups · candidates,).

    The counts are the result of `integer_vectors.query_vector` for the layout's histogram, in units
    of 2^−bits. `stated` has the published error in rows of each quantile, by column.
    """
    unit = 2**layout.histogram.bits
    groups = counts.reshape(layout.cells, -1).tolist()
    chosen = [choose_quantiles(claim, group, unit=unit) for group in groups]
    return make_table(layout, [[(candidate,) for candidate in group] for group in chosen], stated)


def publish_in_groups(
    layout: QuantileLayout,
    claim: QuantileCertificate,
    totals: Sequence[tuple[Any, ...]],
    published: Table,
    *,
    stated: Mapping[str, float],
) -> Table:
    """The quantiles of each `published` group, as `publish_by_chance` gives them.

    `totals` is the output of `unlisted_ranks.candidate_totals` for all groups. A published group
    that is missing there has only counts of 0. `stated` is as in `publish_by_chance`.
    """
    groups: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for *group, candidate, rows in totals:
        groups.setdefault(tuple(group), []).append((int(candidate), int(rows)))
    keys = zip(*columns_of_keys(layout, [*groups]), strict=True)
    by_keys = dict(zip(keys, groups.values(), strict=True))
    columns = [published.columns[name] for name in key_names(layout)]
    chosen: list[list[tuple[int]]] = []
    for key in zip(*columns, strict=True):
        counts = [0] * claim.candidates
        for candidate, rows in by_keys.get(key, ()):
            counts[candidate] = rows
        positions = choose_quantiles(claim, counts, unit=2**layout.histogram.bits)
        chosen.append([(position,) for position in positions])
    return make_table(layout, chosen, stated, keys=columns)


def publish_by_tree(
    layout: QuantileLayout,
    claim: Certificate,
    tree: RankTree,
    counts: NDArray[np.int64],
    *,
    total: Sequence[tuple[Layout, tuple[NoiseError, ...]]],
) -> Table:
    """The quantiles of each group, read off noisy counts; `counts` are as in `publish_by_chance`.

    All trees get their noise in one draw, which `claim` is about. `total` has the layout and the
    errors of the totals' column, if totals decide which groups are published; it is empty
    otherwise.
    """
    groups = counts.reshape(layout.cells, -1)
    padded = np.zeros((layout.cells, tree.noise.dimension), dtype=np.int64)
    padded[:, : groups.shape[1]] = groups
    integers = ScaledIntegers(numerators=padded.reshape(-1), bits=layout.histogram.bits)
    noisy = Mechanism(claim).release(integers).values.reshape(padded.shape)
    table = make_table(layout, read_places(tree, layout, noisy))
    tables = [table_of(counted, noisy.sum(axis=1), errors) for counted, errors in total]
    return join_parts([*(counted for counted, _ in total), layout], [*tables, table])


def publish_unlisted(
    layout: QuantileLayout,
    claim: ThresholdCertificate,
    tree: RankTree,
    totals: Sequence[tuple[Any, ...]],
    *,
    count: tuple[Layout, tuple[NoiseError, ...]],
    entropy: Entropy | None = None,
) -> Table:
    """The quantiles of the groups whose noisy totals reach the threshold, and these totals.

    `totals` is the output of `unlisted_ranks.candidate_totals`: tuples of a public cell, a group's
    keys, a candidate's index, and a count. Every group with rows gets fresh noise, even if it isn't
    published. `count` has the layout and the error of the totals' column. `entropy` is for tests.
    """
    groups: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for *group, candidate, rows in totals:
        groups.setdefault(tuple(group), []).append((int(candidate), int(rows)))
    ordered = sorted(groups, key=lambda group: group_order(layout, group))
    source, grid = entropy or SystemEntropy(), claim.noise.grid or Fraction(1)
    published: list[tuple[Any, ...]] = []
    kept_counts = [np.zeros((0, tree.noise.dimension), dtype=np.int64)]
    for first in range(0, len(ordered), _GROUPS_AT_ONCE):
        several = ordered[first : first + _GROUPS_AT_ONCE]
        counts = np.zeros((len(several), tree.noise.dimension), dtype=np.int64)
        for row, group in zip(counts, several, strict=True):
            places, rows = zip(*groups[group], strict=True)
            row[list(places)] = rows
        exact = ScaledIntegers(numerators=counts, bits=layout.histogram.bits)
        noisy = np.rint(add_noise_to_rows(claim.noise.noise, grid, exact, entropy=source))
        whole = noisy.astype(np.int64)
        shown = reach_threshold(claim, whole.sum(axis=1), source)
        published += [group for group, kept in zip(several, shown, strict=True) if kept]
        kept_counts.append(whole[shown])
    every = np.concatenate(kept_counts)
    keys = columns_of_keys(layout, published)
    table = make_table(layout, read_places(tree, layout, every.astype(np.float64)), keys=keys)
    counted, errors = count
    counts_table = table_of(counted, every.sum(axis=1).astype(np.float64), errors, keys=keys)
    return join_parts([counted, layout], [counts_table, table])


def read_places(
    tree: RankTree, layout: QuantileLayout, noisy: NDArray[np.float64]
) -> list[list[tuple[int, int, int]]]:
    """For each group and level, the positions of the quantile and of the two ends of its interval.

    Positions are indices of candidates. `noisy` has a row for each group, with all cells of its
    tree; the first cells are the candidates. True quantiles never decrease from a level to a higher
    level. So a lower end is reduced to the smallest lower end of all higher levels, and an upper
    end is raised to the largest upper end of all lower levels.
    """
    levels = [quantile.level for quantile in layout.statistics]
    widths = [tree.half_widths(level) for level in levels]
    positions: list[list[tuple[int, int, int]]] = []
    for row in np.rint(noisy).astype(np.int64).tolist():
        counts, total = row[: tree.candidates], sum(row)
        places = read_quantiles(counts, levels, total=total)
        ends = [
            read_interval(counts, level, width, total=total, index=position)
            for position, level, width in zip(places, levels, widths, strict=True)
        ]
        lows = [*accumulate((low for low, _ in reversed(ends)), min)][::-1]
        highs = accumulate((high for _, high in ends), max)
        positions.append(list(zip(places, lows, highs, strict=True)))
    return positions


def make_table(
    layout: QuantileLayout,
    chosen: Sequence[Sequence[Sequence[int]]],
    stated: Mapping[str, float] | None = None,
    *,
    keys: list[list[Any]] | None = None,
) -> Table:
    """The table in which each group has the candidates at the `chosen` positions.

    For each group and level, `chosen` has the position of the quantile, then of the two ends of its
    interval, if it has one. Without an interval, `stated` has the published error in rows of each
    quantile, by column. `keys` are the columns of keys, needed for unlisted groups only.
    """
    published = _list_published(layout)
    columns: list[list[list[Any]]] = []
    for level, asked in enumerate(layout.statistics):
        shown = published[: len(asked.candidate_suffixes)]
        level_columns: list[list[Any]] = [
            [values[group[level][part]] for group in chosen] for part, values in enumerate(shown)
        ]
        level_columns += [
            [(stated or {})[f"{asked.label}{suffix}"]] * len(chosen)
            for suffix in asked.suffixes[len(asked.candidate_suffixes) :]
        ]
        columns.append(level_columns)
    ordered = sorted(zip(layout.places, columns, strict=True))
    every = (key_columns(layout) if keys is None else keys) + [
        column for _, level_columns in ordered for column in level_columns
    ]
    names = result_columns([layout])
    return Table(name=layout.name, columns=dict(zip(names, every, strict=True)))


def read_chosen_values(
    layout: QuantileLayout, columns: Mapping[str, Sequence[Any]], kind: str = "parquet"
) -> list[Fraction]:
    """Read the quantiles of a table with one row, as exact numbers in the order of levels.

    `kind` is the kind of file from which `columns` were read.
    """
    values = layout.candidates.values
    places = {float(value): at for at, value in enumerate(values_as_read(layout.published, kind))}
    return [values[places[float(columns[quantile.label][0])]] for quantile in layout.statistics]


def wrong_quantile(
    layout: QuantileLayout, columns: Mapping[str, Sequence[Any]], kind: str
) -> str | None:
    """The label of the first quantile with a fault; None without a fault.

    It is a fault if a quantile is no candidate, is below the quantile of a lower level, or is
    outside its interval. The ends of an interval have to lie halfway between candidates, or be
    infinite. `columns` are as `read_table` returns them.
    """
    positions = [
        {(type(value), value): at for at, value in enumerate(values_as_read(values, kind))}
        for values in _list_published(layout)
    ]
    least = [0] * len(next(iter(columns.values())))
    for asked in layout.statistics:
        value, *ends = (
            _places(columns[f"{asked.label}{suffix}"], places)
            for suffix, places in zip(asked.candidate_suffixes, positions, strict=False)
        )
        if len(value) != len(least) or any(map(int.__lt__, value, least)):
            return asked.label
        least = value
        if ends and not all(map(_is_between, ends[0], value, ends[1])):
            return asked.label
    return None


def _list_published(layout: QuantileLayout) -> tuple[list[Any], list[float], list[float]]:
    """List each candidate's published value, its lower interval end and its upper interval end.

    Values between these ends are counted at the candidate. Each of the three lists has an item for
    each candidate.
    """
    edges = layout.candidates.edges
    return layout.published, [-math.inf, *edges], [*edges, math.inf]


def _is_between(low: int, value: int, high: int) -> bool:
    return 0 <= low <= value <= high


def _places(values: Sequence[Any], places: Mapping[tuple[type, Any], int]) -> list[int]:
    """The positions of published values among the candidates; −1 for any other value."""
    return [
        places.get((type(value), value), -1) if isinstance(value, int | float | str | None) else -1
        for value in values
    ]
