"""Exact draws of noise on a tree, by rejection from the cells upwards.

A node's children are drawn, each with its whole subtree. The node keeps them with probability
e^(−r|z|), where r = shares[level]/scale and z is their sum; otherwise all are drawn again. So the
probability of all cells below the node is in proportion to their weight. Only one random number is
needed: an integer G with P(G >= k) = e^(−rk). It is ⌊E/r⌋ for a standard exponential E, and the
node keeps its children if G >= |z|. A cell is ±⌊(E + c)/r⌋ with a fair sign, or 0 if that is below
1, where c = ln(2/(1 + e^−r)). Then its size is at least k >= 1 with probability 2e^(−rk)/(1 +
e^−r), as it should be.

Candidates are drawn in batches, and those that are kept are used in order. The number of candidates
depends on randomness and public numbers alone, and reveals nothing about the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.entropy.base import TINY, Block, Sampler
from leastnoise.entropy.lazy import decide
from leastnoise.entropy.scaled import ScaledSampler
from leastnoise.entropy.smooth_quantiles import EXPONENTIAL
from leastnoise.entropy.source import Entropy
from leastnoise.noise.trees.estimate import check_work, estimate_acceptance
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import rates_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Wholes = NDArray[np.int64]

_AT_ONCE = 1 << 18  # cells of candidates in one batch, unless one node has more
_ROUNDING = 2.0**-50  # relative error of a quotient of two float sums, and of the float c


def sampler(noise: Agreeing, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of `noise`, in units of `grid`.

    Raises NotApplicable if a draw takes too much work (`check_work`).
    """
    check_work(noise)
    return _Sampler(noise, grid, entropy)


@final
class _Sampler(Sampler):
    """A sampler of all cells of one tree."""

    def __init__(self, noise: Agreeing, grid: Fraction, entropy: Entropy) -> None:
        self._noise, self._unit, self._entropy = noise, 1 / grid, entropy
        self._given = 0

    def draw(self, count: int) -> Block:
        """Return the next `count` cells; all cells are drawn together, at the first call."""
        cells = self._cells[self._given : self._given + count]
        self._given += count
        unit = float(self._unit)  # a power of two
        return Block(
            estimates=np.multiply(cells, unit, dtype=np.float64),
            beyond=np.abs(cells) >= 1 << 53,
            error=TINY,
            reach=float(np.abs(cells).max(initial=0)) * unit,
            enclose=lambda index, _: ball(int(cells[index]) * self._unit),
        )

    @cached_property
    def _cells(self) -> Wholes:
        return draw_cells(self._noise, self._entropy)[0]


def draw_cells(noise: Agreeing, entropy: Entropy, *, count: int = 1) -> Wholes:
    """Independent draws of all cells, shape (count, dimension)."""
    order, drawn = noise.shape.order, _Tree(noise, entropy).draw(0, 0, count)
    cells = np.empty_like(drawn)
    cells[:, order] = drawn
    return cells


@final
class _Tree:
    """Draws of nodes by rejection; nodes of one kind are drawn together.

    A candidate is a node whose children are drawn, before it is kept or rejected. The cells of a
    node are in the order of `TreeShape.order`.
    """

    def __init__(self, noise: Agreeing, entropy: Entropy) -> None:
        self._kinds, self._entropy = noise.shape.kinds, entropy
        self._rates = [share / noise.scale for share in noise.shares]
        self._acceptance = estimate_acceptance(noise.branches, rates_of(noise))

    def draw(self, level: int, kind: int, count: int) -> Wholes:
        """Draw `count` nodes of a kind; return their cells, shape (count, cells of a node)."""
        if level == len(self._kinds) - 1:
            return self._draw_leaves(count)[:, None]
        parts: list[Wholes] = []
        missing = count
        while missing > 0:
            accepted = self._accept(level, self._draw_candidates(level, kind, missing))[:missing]
            parts.append(accepted)
            missing -= len(accepted)
        return np.concatenate(parts)

    def _draw_candidates(self, level: int, kind: int, missing: int) -> Wholes:
        """Draw candidates, of which slightly fewer than `missing` will be kept on average.

        Too many candidates would cost more than another round.
        """
        wanted = math.ceil((missing - 0.7 * math.sqrt(missing)) / self._acceptance[level][kind])
        most = max(1, _AT_ONCE // self._cells_of(level, kind))
        candidates = max(1, min(wanted, most))
        children = [
            self.draw(level + 1, child_kind, candidates * b).reshape(candidates, -1)
            for child_kind, b in self._kinds[level][kind]
        ]
        return children[0] if len(children) == 1 else np.concatenate(children, axis=1)

    def _cells_of(self, level: int, kind: int) -> int:
        children = self._kinds[level][kind]
        return (
            sum(b * self._cells_of(level + 1, kind_of_child) for kind_of_child, b in children)
            if children
            else 1
        )

    def _accept(self, level: int, candidates: Wholes) -> Wholes:
        """Keep each candidate, with the sum z, with probability e^(−r|z|); return the kept ones.

        r is the rate of `level`.
        """
        rate = self._rates[level]
        if not rate:
            return candidates
        lengths = np.abs(candidates.sum(axis=1))
        return candidates[draw_geometric(rate, len(lengths), self._entropy) >= lengths]

    def _draw_leaves(self, count: int) -> Wholes:
        """Draw `count` cells, shape (count,)."""
        rate = self._rates[-1]

        def more() -> arb:
            return (2 / (1 + ball(-rate).exp())).log()

        lengths = draw_geometric(rate, count, self._entropy, more=more)
        words = self._entropy.words(-(-count // 64)).view(np.uint8)
        negative = np.unpackbits(words, count=count).astype(bool)
        return np.where(negative, -lengths, lengths)


def draw_geometric(
    rate: Fraction, count: int, entropy: Entropy, *, more: Callable[[], arb] | None = None
) -> Wholes:
    """Draw ⌊(E + c)/rate⌋ for `count` independent standard exponentials E; c = `more()` or 0.

    Floats decide the integer unless (E + c)/rate is too close to an integer. Then balls decide,
    from the same bits and then fresh bits. In y = (E + c)/rate, floats err by the `error` of E, and
    by a relative 2^-50.
    """
    block = ScaledSampler(quantile=EXPONENTIAL, entropy=entropy).draw(count)
    with precision():
        constant = float(more().mid()) if more else 0.0
    y = (np.abs(np.where(block.beyond, 0.0, block.estimates)) + constant) / float(rate)
    floors = np.floor(y)
    tau = 1.001 * (block.error / float(rate) + 2 * _ROUNDING * (y + 1 / float(rate)))
    undecided = block.beyond | (y - floors < tau) | (floors + 1 - y < tau)
    wholes = floors.astype(np.int64)

    for index in np.flatnonzero(undecided).tolist():

        def question(bits: int, index: int = index) -> int | None:
            exponential = abs(block.enclose(index, bits))
            total = (exponential + more() if more else exponential) / ball(rate)
            whole = total.floor().unique_fmpz() if total.is_finite() else None
            return None if whole is None else int(whole)

        wholes[index] = decide(question)
    return wholes
