"""Estimated laws of a tree's nodes, for searches that compare many trees: floats, without a proof.

Notation: level 0 is the root, and rates[l] = shares[l]/scale is the rate of level l. A_l is the law
of the sum of a node of level l if only the weights of the node and of the nodes below it count. C_l
is the law of the sum of all children but one of a node of level l. κ is the share of candidates
that the sampler keeps at a node. The weights of all other nodes multiply A_l by U_l (see `levels`).

The recursions are as in `levels.solve`, with numpy's FFT and without error bounds. All laws are
symmetric, so their transforms are real.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.noise.trees.known import raise_to
from leastnoise.noise.trees.levels import check_numbers, find_window, moment_of, rates_of
from leastnoise.noise.trees.shape import TreeShape, shape_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]

MOST_DRAWS = 1 << 25


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Upward:
    """Results of the pass from the cells to the root, for each level (root first) and kind of node.

    `subtrees` holds the laws A_l. `siblings` holds the transforms of C_l, one for each kind of the
    omitted child. `acceptance` holds κ. The last two have no entry for the cells.
    """

    subtrees: list[list[Floats]]
    siblings: list[list[list[Floats]]]
    acceptance: list[list[float]]


def estimate_variances(
    branches: tuple[int, ...], rates: Sequence[float], *, window: int | None = None
) -> list[list[float]]:
    """The variance of a node, for each level (root first) and each position of the level.

    Laws are computed modulo `window`; None stands for the window that `find_window` chooses. Raises
    NotApplicable if the laws are too wide or too many.
    """
    shape = shape_of(branches, len(rates) - 1)
    size = window or find_window(branches, rates)
    check_numbers(shape, size)
    weights = _weights(rates, size)
    upward, half = _go_up(shape, weights, rates[-1]), size // 2
    variances = [[moment_of(upward.subtrees[0][0][:half], 2)]]
    beside: list[Floats | float] = [1.0]  # U_l at each position
    for level, weight in enumerate(weights[:-1], start=1):
        if not any(rates[:level]):  # U stays 1: sums of a law over all t
            beside = [1.0] * len(shape.positions[level])
        else:
            above = [np.fft.rfft(weight * outer).real for outer in beside]
            beside = [
                np.fft.irfft(above[position[0]] * _rest(shape, upward, level, position), size)
                for position in shape.positions[level]
            ]
        laws = [
            upward.subtrees[level][kind] * outer
            for (_, kind), outer in zip(shape.positions[level], beside, strict=True)
        ]
        variances.append([moment_of(law[:half], 2) for law in laws])
    return variances


def estimate_acceptance(branches: tuple[int, ...], rates: Sequence[float]) -> list[list[float]]:
    """The share κ of candidates that the sampler keeps at a node, by level and kind of node.

    The cells have no κ. Raises NotApplicable if the laws are too wide or too many.
    """
    shape, size = shape_of(branches, len(rates) - 1), find_window(branches, rates)
    check_numbers(shape, size)
    return _go_up(shape, _weights(rates, size), rates[-1]).acceptance


def expected_draws(noise: Agreeing) -> float:
    """The expected number of cells that one draw of the noise draws, rejected cells included.

    For a node it is the sum of its children's expected numbers, divided by κ.
    """
    acceptance, draws = estimate_acceptance(noise.branches, rates_of(noise)), [1.0]
    for kinds, shares in zip(reversed(noise.shape.kinds[:-1]), reversed(acceptance), strict=True):
        draws = [
            sum(b * draws[kind] for kind, b in children) / share
            for children, share in zip(kinds, shares, strict=True)
        ]
    return draws[0]


def check_work(noise: Agreeing) -> None:
    """Raise NotApplicable if one draw of the noise takes more than 2^25 draws of cells on average.

    2^25 draws of cells take about ten seconds. The number follows from the law alone, not from any
    data.
    """
    if (draws := expected_draws(noise)) > MOST_DRAWS:
        why = (
            f"one draw of this tree takes {draws:.2g} draws of cells on average, more than "
            f"{MOST_DRAWS:,}; give the cells a larger share, or the nodes fewer children"
        )
        raise NotApplicable(family=noise.name, why=why)


def _weights(rates: Sequence[float], size: int) -> list[Floats]:
    points = np.arange(size, dtype=np.float64)
    lengths = np.minimum(points, size - points)
    return [np.exp(-rate * lengths) for rate in rates]


def _go_up(shape: TreeShape, weights: Sequence[Floats], rate: float) -> Upward:
    """Compute A_l, the transforms of C_l, and κ, for each level and kind of node.

    `rate` is the rate of the cells, which normalises their law. Cells have no C_l and no κ.
    """
    size, cell = len(weights[-1]), weights[-1] * math.tanh(rate / 2)
    subtrees, siblings, acceptance = [[cell]], list[list[list["Floats"]]](), list[list[float]]()
    for kinds, weight in zip(reversed(shape.kinds[:-1]), reversed(weights[:-1]), strict=True):
        spectra = [np.fft.rfft(law).real for law in subtrees[0]]
        siblings.insert(
            0, [_all_but_one([(spectra[kind], b) for kind, b in children]) for children in kinds]
        )
        laws = [
            np.fft.irfft(rest[0] * spectra[children[0][0]], size) * weight
            for rest, children in zip(siblings[0], kinds, strict=True)
        ]
        acceptance.insert(0, [float(law.sum()) for law in laws])
        subtrees.insert(0, [law / total for law, total in zip(laws, acceptance[0], strict=True)])
    return Upward(subtrees=subtrees, siblings=siblings, acceptance=acceptance)


def _all_but_one(parts: Sequence[tuple[Floats, int]]) -> list[Floats]:
    """For each part, the transform of the law of the sum of all children except one of this part.

    A part is a pair: the transform of a child's law, and the number of children with this law.
    """
    whole = [raise_to(spectrum, b) for spectrum, b in parts]
    return [
        math.prod(whole[:index] + whole[index + 1 :], start=raise_to(spectrum_of_part, b - 1))
        for index, (spectrum_of_part, b) in enumerate(parts)
    ]


def _rest(shape: TreeShape, upward: Upward, level: int, position: tuple[int, int]) -> Floats:
    """The transform of the law of the sum of a node's siblings.

    The node is of `level`, and `position` is the pair (its parent's position, its kind).
    """
    parent, kind = position
    parent_kind = shape.positions[level - 1][parent][1]
    siblings = [kind_of_child for kind_of_child, _ in shape.kinds[level - 1][parent_kind]]
    return upward.siblings[level - 1][parent_kind][siblings.index(kind)]
