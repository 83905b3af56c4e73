"""Draws of a tree's cells one after another, for tables that are published over time.

A node is open if it contains both earlier and later cells. The law of the next cell depends on the
earlier cells only through the partial sums of the open nodes. Fresh randomness for each cell gives
all cells together the law of the tree (theory/series.md, Theorem 5). A draw compares a word of
random bits with enclosures of the distribution function. If they can't decide, bits are appended to
the same word and the enclosures get narrower (Proposition 7). The number of operations depends only
on public numbers, except in a draw that needs more bits.

Notation: v_0, …, v_L are the nodes that contain the cell to be drawn, the root first. r = r_l is
the rate of the node v_l, shares[l]/scale. σ = σ_l is its partial sum, the sum of the noise of its
earlier cells. B = B_l is the law of the sum of its later children, and a is such a sum. d is a sum
of new noise, the cell's own included. Sums of new noise are cut at ±M, where M is the `cut`; this
loses at most λ of the mass. X is the cell's noise, and P is a probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, count, pairwise
from operator import mul
from typing import TYPE_CHECKING, final

from flint import arb, arb_poly

from leastnoise.balls.core import ball, precision
from leastnoise.errors import NotApplicable
from leastnoise.noise.trees.levels import rates_of, solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.entropy.source import Entropy
    from leastnoise.noise.trees.law import Agreeing

OpenSums = tuple[int, ...]
"""The partial sums σ_0, …, σ_{L−1} of one tree; as secret as the counts that the noise hides."""

WIDEST_CUT = 1 << 15
MOST_WORK = 1 << 21
"""The largest product of the cut and the number of trees; a release then takes some minutes."""
_FIRST_BITS, _MORE_BITS = 128, 64
_GUARD = 64  # bits of enclosures beyond those of the word
_UNDECIDED = 2.0**-61  # probability that a draw needs more bits because of the cut


def check_next_leaf(noise: Agreeing, *, trees: int = 1) -> None:
    """Raise NotApplicable if the cells of `trees` trees can't be drawn one after another.

    The tree has to be even, with at least two children per node, and the noise not too wide.
    """
    why = None
    if not noise.even or min(noise.branches) < 2:
        why = "cells are drawn one after another only on even trees with two or more branches"
    elif _find_cut(noise) > WIDEST_CUT or _find_cut(noise) * trees > MOST_WORK:
        reach = f"{trees:,} cells whose noise reaches {_find_cut(noise):,}"
        why = f"a release of {reach} takes too long: epsilon is too small"
    if why is not None:
        raise NotApplicable(family=noise.name, why=why)


def start_sums(noise: Agreeing) -> OpenSums:
    """The partial sums before the first cell."""
    return (0,) * len(noise.branches)


def draw_next_leaf(
    noise: Agreeing, leaf: int, sums: Sequence[OpenSums], entropy: Entropy
) -> list[int]:
    """Draw the noise of cell number `leaf`, from 0 on, for each of several independent trees.

    `sums` has the partial sums of each tree before this cell. Raises NotApplicable in the cases of
    `check_next_leaf` for one tree.
    """
    check_next_leaf(noise)
    first = _Law(noise=noise, leaf=leaf, cut=_find_cut(noise), bits=_FIRST_BITS + _GUARD)
    return [_draw(first, sums_of_tree, entropy) for sums_of_tree in sums]


def sums_after(noise: Agreeing, leaf: int, sums: OpenSums, drawn: int) -> OpenSums:
    """The partial sums after cell number `leaf`, whose noise is `drawn`.

    They are 0 for nodes that end with this cell, and for levels without a share.
    """
    spans = [math.prod(noise.branches[level:]) for level in range(len(noise.branches))]
    return tuple(
        total + drawn if share and (leaf + 1) % span else 0
        for total, share, span in zip(sums, noise.shares, spans, strict=False)
    )


def _draw(law: _Law, sums: OpenSums, entropy: Entropy) -> int:
    """Draw the noise of one cell from its law, given the partial sums of its tree."""
    word, bits = entropy.bits(_FIRST_BITS), _FIRST_BITS
    while True:
        drawn = law.find(sums, word, bits)
        if drawn is not None:
            return drawn
        word, bits = word << _MORE_BITS | entropy.bits(_MORE_BITS), bits + _MORE_BITS
        law = law.narrower()


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Law:
    """The law of one cell with sums cut at ±`cut`, in balls of `bits` bits.

    The fields are public; the secret partial sums are arguments of the methods.
    """

    noise: Agreeing
    leaf: int
    cut: int
    bits: int

    def narrower(self) -> _Law:
        """This law with a wider cut and more bits."""
        return _Law(
            noise=self.noise,
            leaf=self.leaf,
            cut=self.cut + self.cut // 2,
            bits=self.bits + _MORE_BITS,
        )

    def find(self, sums: OpenSums, word: int, bits: int) -> int | None:
        """Invert the distribution function: find a with P(X < a) <= U and U + 2^−bits <= P(X <= a).

        U is word·2^−bits, and X is the cell's noise. None if the enclosures don't prove this for
        any a.
        """
        with precision(self.bits):
            masses = self.masses(sums)
            below = list(accumulate(masses, initial=arb(0)))
            total, lost = below[-1], self._lost
            low, high = ball(word) * total, ball(word + 1) * (total + lost)
            unit = ball(1 << bits)
            # C(a − 1) + λ < U·N and (U + 2^−bits)(N + λ) < C(a), for certain; C(a) is the sum of
            # the masses up to a, and N the sum of all
            inside = [
                index
                for index, (before, after) in enumerate(pairwise(below))
                if (before + lost) * unit < low and high < after * unit
            ]
        return inside[0] - self.cut if inside else None

    def masses(self, sums: OpenSums) -> list[arb]:
        """Enclose the probabilities that the cell's noise is −M, …, M, up to a common factor.

        M is the `cut`, and `sums` are the partial sums of the cell's tree.
        """
        levels, cut = len(sums), self.cut
        reach = levels * cut
        added = self._below_root(sums[0], reach)
        for level in range(1, levels):
            here = self._weights(level, sums[level], reach)
            weights = [x * y for x, y in zip(here, added, strict=True)]
            reach -= cut
            added = self._convolve_later(level, weights, reach)
        return [x * y for x, y in zip(self._leaf, added, strict=True)]

    def _below_root(self, partial: int, reach: int) -> list[arb]:
        """The factor Σ_a B(a)·e^(−r|σ + d + a|) of the root, for d = −reach, …, reach.

        σ is the root's `partial` sum. The factor depends only on σ + d, so it is taken from
        `_root`. For |σ| > cut, which is very rare, it is computed anew.
        """
        if abs(partial) > self.cut:
            return self._convolve_later(0, self._weights(0, partial, reach + self.cut), reach)
        first = self._reach - reach + partial
        return self._root[first : first + 2 * reach + 1]

    @cached_property
    def _root(self) -> list[arb]:
        """The numbers Σ_a B(a)·e^(−r|x + a|) of the root for all integers |x| <= `_reach`."""
        return self._convolve_later(0, self._weights(0, 0, self._reach + self.cut), self._reach)

    @property
    def _reach(self) -> int:
        """The largest |σ + d| that occurs if all partial sums are at most the cut in size."""
        return (len(self.noise.branches) + 1) * self.cut

    def _weights(self, level: int, partial: int, reach: int) -> list[arb]:
        """The weights e^(−r|σ + d|) of `level` for d = −reach, …, reach, where σ = `partial`."""
        powers = self._powers[level]
        if abs(partial) > self.cut:
            powers = self._list_powers(level, abs(partial) + reach)
        return [powers[abs(partial + d)] for d in range(-reach, reach + 1)]

    @cached_property
    def _powers(self) -> list[list[arb]]:
        """The powers e^(−r·x) for each level and x = 0, 1, …, up to the largest needed x."""
        return [
            self._list_powers(level, self._reach + self.cut)
            for level in range(len(self.noise.branches))
        ]

    def _list_powers(self, level: int, most: int) -> list[arb]:
        """The powers e^(−r·x) for x = 0, …, most, with the rate r of `level`."""
        minus = ball(-self._rates[level])
        return [(minus * x).exp() for x in range(most + 1)]

    def _convolve_later(self, level: int, weights: list[arb], reach: int) -> list[arb]:
        """The sums Σ_a B(a)·weights(d + a) for d = −reach, …, reach.

        B is the law of the sum of the later children at `level`; it is symmetric.
        """
        later = self._later[level]
        if later is None:
            spare = (len(weights) - 2 * reach - 1) // 2
            return weights[spare : spare + 2 * reach + 1]
        product = arb_poly(weights) * later
        middle = (len(weights) - 1) // 2 + self.cut
        return [product[middle + d] for d in range(-reach, reach + 1)]

    @property
    def _rates(self) -> list[Fraction]:
        return [share / self.noise.scale for share in self.noise.shares]

    @cached_property
    def _leaf(self) -> list[arb]:
        """The probabilities of a cell by itself (∝ e^(−r_L|t|)), for |t| up to the cut."""
        ratio = ball(-self._rates[-1]).exp()
        powers = [(1 - ratio) / (1 + ratio) * ratio**length for length in range(self.cut + 1)]
        return [powers[abs(a)] for a in range(-self.cut, self.cut + 1)]

    @cached_property
    def _later(self) -> list[arb_poly | None]:
        """The law B_l of the sum of the later children for each level (None: no later children)."""
        law_of_child, laws = self._leaf, list[arb_poly | None]()
        for level in reversed(range(len(self.noise.branches))):
            span = math.prod(self.noise.branches[level + 1 :])
            children = self.noise.branches[level]
            later = children - 1 - self.leaf // span % children
            total, powers = law_of_child, {1: law_of_child}
            for count_of_children in range(2, (children if level else later) + 1):
                total = self._shorten(arb_poly(total) * arb_poly(law_of_child))
                if count_of_children in {later, children}:
                    powers[count_of_children] = total
            laws.insert(0, arb_poly(powers[later]) if later else None)
            if level:
                weights = self._weights(level, 0, self.cut)
                law_of_child = [x * y for x, y in zip(weights, powers[children], strict=True)]
        return laws

    def _shorten(self, product: arb_poly) -> list[arb]:
        """The probabilities of the sums within the cut, from the product of two laws."""
        return [product[index] for index in range(self.cut, 3 * self.cut + 1)]

    @cached_property
    def _lost(self) -> arb:
        """Enclose Chernoff's bound λ on the mass beyond the cut.

        The bound holds for every θ below the rate of a cell; `_best_part` chooses θ.
        """
        cells, rate = self.noise.dimension, self._rates[-1]
        theta, ratio = ball(rate * _best_part(self.noise, self.cut)), ball(-rate).exp()
        moment = (1 - ratio) ** 2 / ((1 - ratio * theta.exp()) * (1 - ratio * (-theta).exp()))
        return 8 * cells * moment**cells * (-theta * self.cut).exp()


_PARTS = 64
"""θ is a multiple of 1/64 of the rate of a cell."""


def _best_part(noise: Agreeing, cut: int) -> Fraction:
    """The ratio θ/r_L at which λ, Chernoff's bound on the mass beyond the cut, is smallest.

    It is a multiple of 1/64, found in floats. r_L = shares[L]/scale is the rate of a cell.
    """
    return Fraction(min(range(1, _PARTS), key=lambda part: _log_lost(noise, cut, part)), _PARTS)


def _log_lost(noise: Agreeing, cut: int, part: int) -> float:
    """The logarithm of Chernoff's bound λ in floats, at θ = part/_PARTS times a cell's rate."""
    rate = rates_of(noise)[-1]
    theta = rate * part / _PARTS
    moment = 2 * math.log(-math.expm1(-rate))
    moment -= math.log(-math.expm1(theta - rate)) + math.log(-math.expm1(-theta - rate))
    return math.log(8 * noise.dimension) + noise.dimension * moment - theta * cut


@lru_cache(maxsize=16)
def _find_cut(noise: Agreeing) -> int:
    """A cut with which few draws need a wider cut: the smallest with four significant bits.

    It follows from Proposition 7 (ii) of theory/series.md, in floats, and affects only speed.
    """
    acceptance = solve(noise.branches, rates_of(noise)).acceptance
    counts = accumulate(noise.branches[:-1], initial=1, func=mul)
    logs = (nodes * math.log(chance) for nodes, (chance,) in zip(counts, acceptance, strict=True))
    room = math.log(_UNDECIDED) + sum(logs)
    for exponent in count(4):
        for cut in range(1 << exponent, 2 << exponent, 1 << (exponent - 3)):
            lost = min(_log_lost(noise, cut, part) for part in range(1, _PARTS))
            if math.log(16 * (cut + 1)) + lost <= room:
                return cut
    raise AssertionError("unreachable: the bound falls with the cut")
