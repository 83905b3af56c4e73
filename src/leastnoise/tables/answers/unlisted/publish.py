"""The tables of unlisted groups.

Each group has its own draw of noise, and a row in the table if its noisy count is high enough. If
only keys are published, a coin for each key decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.certificate.unlisted import CERTAIN, CERTAIN_BITS
from leastnoise.entropy.source import Entropy, SystemEntropy
from leastnoise.mechanism.rounding import add_noise_to_rows
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.layout.axes import Unlisted
from leastnoise.tables.results.key_checks import sort_key
from leastnoise.tables.results.table import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.certificate.unlisted import KeysCertificate, ThresholdCertificate
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.statistics.base import NoiseError


def publish_groups(
    layout: Layout,
    claim: ThresholdCertificate,
    groups: Sequence[tuple[Any, ...]],
    noise: Sequence[NoiseError],
    *,
    entropy: Entropy | None = None,
) -> Table:
    """The table of the published groups, sorted by key.

    `groups` is the output of `rows.exact.group_totals`. Noise is drawn for every group, whether it
    is published or not. `noise` has the error of each component. `entropy` is for tests.
    """
    ordered = sorted(groups, key=lambda row: group_order(layout, row))
    width = len(layout.components)
    totals = np.array([row[-width:] for row in ordered], dtype=np.int64).reshape(-1, width)
    exact = ScaledIntegers(numerators=totals, bits=layout.bits)
    grid = claim.noise.grid
    if grid is None or claim.coordinate is None:
        raise TypeError("a published count is a number of its row, rounded to a grid")
    source = entropy or SystemEntropy()
    noisy = add_noise_to_rows(claim.noise.noise, grid, exact, entropy=source)
    shown = reach_threshold(claim, noisy[:, claim.coordinate], source)
    keys = columns_of_keys(layout, [row for row, kept in zip(ordered, shown, strict=True) if kept])
    return table_of(layout, noisy[shown], noise, keys=keys)


def reach_threshold(
    claim: ThresholdCertificate, counts: NDArray[np.number[Any]], entropy: Entropy
) -> NDArray[np.bool_]:
    """True for each group that is published, given the noisy `counts` that decide.

    A group whose count is one grid step below the threshold is published with probability
    `chance_below`.
    """
    # a coin for every group, so that the number of random words doesn't depend on the counts
    heads = _coins(np.full(len(counts), _parts(claim.chance_below)), entropy)
    below = float(claim.threshold - (claim.noise.grid or 0))
    return (counts >= float(claim.threshold)) | ((counts >= below) & heads)


def publish_keys(
    layout: Layout,
    claim: KeysCertificate,
    groups: Sequence[tuple[Any, ...]],
    *,
    entropy: Entropy | None = None,
) -> Table:
    """The table of the keys that are published by chance, sorted.

    `groups` is the output of `rows.exact.group_totals`. A coin is tossed for every key in it.
    `entropy` is for tests.
    """
    most = len(claim.chances)
    ordered = sorted(groups, key=lambda row: group_order(layout, row))
    chances = np.array([0, *claim.chances], dtype=np.uint64)
    units = [min(row[-1] >> layout.bits, most) for row in ordered]
    heads = _coins(chances[np.array(units, dtype=np.int64)], entropy or SystemEntropy())
    keys = columns_of_keys(layout, [row for row, kept in zip(ordered, heads, strict=True) if kept])
    return table_of(layout, np.zeros(0), (), keys=keys)


def _parts(chance: Fraction) -> np.uint64:
    """The probability in parts of 1/CERTAIN. Raises TypeError if this is no whole number."""
    if CERTAIN % chance.denominator:
        raise TypeError("a coin falls by bits")
    return np.uint64(chance.numerator * (CERTAIN // chance.denominator))


def _coins(chances: NDArray[np.uint64], entropy: Entropy) -> NDArray[np.bool_]:
    """Toss a fresh coin for each of `chances`; it is true with probability chance/CERTAIN."""
    return entropy.words(len(chances)) >> np.uint64(64 - CERTAIN_BITS) < chances


def group_order(layout: TableShape, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sort key of a row: its keys in turn, public keys in the order of the spec.

    A row begins with the index of its public cell, which its unlisted keys follow.
    """
    keys, positions = iter(row[1:]), iter(_positions(layout, int(row[0])))
    return tuple(
        sort_key(next(keys)) if isinstance(axis, Unlisted) else next(positions)
        for axis in layout.axes
    )


def _positions(layout: TableShape, cell: int) -> list[int]:
    """The indices, on the public axes, of the public cell with index `cell`."""
    positions: list[int] = []
    for axis in reversed([listed for listed in layout.axes if not isinstance(listed, Unlisted)]):
        cell, position = divmod(cell, axis.cells)
        positions.append(position)
    return positions[::-1]


def columns_of_keys(layout: TableShape, rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """The columns of keys, each with a value for every row; `rows` are as in `group_order`."""
    places = [_positions(layout, int(row[0])) for row in rows]
    columns: list[list[Any]] = []
    public = unlisted = 0
    for axis in layout.axes:
        if isinstance(axis, Unlisted):
            unlisted += 1
            columns.append([row[unlisted] for row in rows])
        else:
            columns += [
                [values[position[public]] for position in places]
                for values in axis.columns.values()
            ]
            public += 1
    return columns
