"""The laws of a tree's nodes for searches, which compare many: in floats, without a proof.

notation: as in `levels`. The recursions are the recursions of `levels.solve`, with numpy's FFT and
without bounds on any error. All laws are symmetric, so that their transforms are real.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.noise.trees.known import raised
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
    """Laws of nodes from a pass from the cells to the root, by level, the root's level first.

    Of each kind: `alone` holds A_l; `rests` the transforms of C_l, one for each kind of children,
    and `kept` κ_l, both without the cells' level.
    """

    alone: list[list[Floats]]
    rests: list[list[list[Floats]]]
    kept: list[list[float]]


def estimate_variances(
    branches: tuple[int, ...], rates: Sequence[float], *, window: int | None = None
) -> list[list[float]]:
    """Return the variance of a node of each place of each level, the root's first.

    Raises what `solve` raises.
    """
    shape = shape_of(branches, len(rates) - 1)
    size = window or find_window(branches, rates)
    check_numbers(shape, size)
    weights = _weights(rates, size)
    upward, half = _go_up(shape, weights, rates[-1]), size // 2
    found = [[moment_of(upward.alone[0][0][:half], 2)]]
    beside: list[Floats | float] = [1.0]  # U_l of each place
    for level, weight in enumerate(weights[:-1], start=1):
        if not any(rates[:level]):  # U stays 1: sums of a law over all t
            beside = [1.0] * len(shape.places[level])
        else:
            above = [np.fft.rfft(weight * one).real for one in beside]
            beside = [
                np.fft.irfft(above[place[0]] * _rest(shape, upward, level, place), size)
                for place in shape.places[level]
            ]
        laws = [
            upward.alone[level][kind] * one
            for (_, kind), one in zip(shape.places[level], beside, strict=True)
        ]
        found.append([moment_of(law[:half], 2) for law in laws])
    return found


def estimate_kept(branches: tuple[int, ...], rates: Sequence[float]) -> list[list[float]]:
    """Return κ of each kind of node above the cells, by level; raises what `solve` raises."""
    shape, size = shape_of(branches, len(rates) - 1), find_window(branches, rates)
    check_numbers(shape, size)
    return _go_up(shape, _weights(rates, size), rates[-1]).kept


def expected_draws(noise: Agreeing) -> float:
    """Return how many cells are drawn on average for one draw: of a node Σ_children/κ of them."""
    kept, draws = estimate_kept(noise.branches, rates_of(noise)), [1.0]
    for kinds, shares in zip(reversed(noise.shape.kinds[:-1]), reversed(kept), strict=True):
        draws = [
            sum(b * draws[kind] for kind, b in own) / share
            for own, share in zip(kinds, shares, strict=True)
        ]
    return draws[0]


def check_work(noise: Agreeing) -> None:
    """Raise NotApplicable for noise that is drawn in more than 2^25 cells on average.

    They take about ten seconds. The number follows from the law, and not from any data.
    """
    if (draws := expected_draws(noise)) > MOST_DRAWS:
        why = (
            f"a draw takes {draws:.2g} draws of a cell on average, more than {MOST_DRAWS:,}: "
            "give the cells a larger share, or nodes fewer children"
        )
        raise NotApplicable(family=noise.name, why=why)


def _weights(rates: Sequence[float], size: int) -> list[Floats]:
    places = np.arange(size, dtype=np.float64)
    lengths = np.minimum(places, size - places)
    return [np.exp(-rate * lengths) for rate in rates]


def _go_up(shape: TreeShape, weights: Sequence[Floats], rate: float) -> Upward:
    """Return A, C and κ of all nodes; the cells have noise of rate `rate`."""
    size, cell = len(weights[-1]), weights[-1] * math.tanh(rate / 2)
    alone, rests, kept = [[cell]], list[list[list["Floats"]]](), list[list[float]]()
    for kinds, weight in zip(reversed(shape.kinds[:-1]), reversed(weights[:-1]), strict=True):
        spectra = [np.fft.rfft(law).real for law in alone[0]]
        rests.insert(0, [_all_but_one([(spectra[one], b) for one, b in own]) for own in kinds])
        laws = [
            np.fft.irfft(rest[0] * spectra[own[0][0]], size) * weight
            for rest, own in zip(rests[0], kinds, strict=True)
        ]
        kept.insert(0, [float(law.sum()) for law in laws])
        alone.insert(0, [law / total for law, total in zip(laws, kept[0], strict=True)])
    return Upward(alone=alone, rests=rests, kept=kept)


def _all_but_one(parts: Sequence[tuple[Floats, int]]) -> list[Floats]:
    """Return, for each part, the transform of the sum of all children but one of it."""
    whole = [raised(spectrum, b) for spectrum, b in parts]
    return [
        math.prod(whole[:place] + whole[place + 1 :], start=raised(own, b - 1))
        for place, (own, b) in enumerate(parts)
    ]


def _rest(shape: TreeShape, upward: Upward, level: int, place: tuple[int, int]) -> Floats:
    """Return the transform of C of a node of a level, given its parent's place and its own kind."""
    parent, kind = place
    whole = shape.places[level - 1][parent][1]
    siblings = [one for one, _ in shape.kinds[level - 1][whole]]
    return upward.rests[level - 1][whole][siblings.index(kind)]
