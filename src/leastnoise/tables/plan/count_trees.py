"""Noise of trees of counts, a tree for each group: which tree is the best, and that it is one.

notation: counts 1, …, B, which are the first of a tree's n cells; S_g is the noise of the sum of
the first g, T that of all n, W = S_g − aT for a level a: 0 for cumulative counts, that of a
quantile otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.question import Question
from leastnoise.noise.trees.fit import LEAST_VARIANCE, scale_to_search, search_shares
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.prefixes import (
    ORDERS,
    check_least_moments,
    check_moments,
    prefix_moments,
    prefix_variances,
)
from leastnoise.selection.public import find_candidate
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.spec.query import FLIP
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.workloads.marginal import choose_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.layout.ranks import Ranks

    Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, kw_only=True)
class Trees:
    """A tree for each of so many `groups`, with `counts` of rows that a unit moves as `moves` says.

    `label` is what the certificate of its noise is called. What is weighed is the mean of Var W
    over counts and `levels`, or the `largest` Var S over counts. Trees have at most `deepest`
    levels. Where there is none, `advice` says what to do.
    """

    label: str
    groups: int
    counts: int
    moves: RowCounts
    levels: tuple[Fraction, ...]
    deepest: int
    advice: str
    largest: bool = False

    def find(self, budget: Budget, releases: int) -> Certificate:
        """Return the noise of all groups' trees, proved; each release has an equal part of ε.

        All groups are children of a root that has no share. Raises Refused if there is none.
        """
        moves, apart = self.moves, self.groups > 1
        scale = releases * moves.bound / budget.epsilon
        rows = Rows(most=int(moves.bound), replaced=moves.neighbours == "replace-one" and not apart)
        weighed = self.levels, scale, self.largest
        try:
            best = _best_tree(self.counts, *weighed, rows=rows, deepest=self.deepest)
        except NotApplicable as error:
            why = f"of {self.counts:,} counts no tree can be used ({error.why}). {self.advice}"
            raise NotApplicable(family=Agreeing.name, why=why) from None
        branches = (self.groups, *best.branches) if apart else best.branches
        question = Question(
            budget=replace(budget, delta=Fraction(0)),
            sensitivities=(moves,),
            dimension=math.prod(branches),
            compositions=releases,
        )
        shares = (Fraction(0), *best.shares) if apart else best.shares
        parameters = {"branches": branches, "shares": shares}
        made = find_candidate(Agreeing.name, question, parameters=parameters).mechanism
        return made.certificate.about(moves.neighbours).on_grid(1)  # counts and noise are whole

    def read(self, claim: Certificate, budget: Budget) -> Agreeing:
        """Return the noise of one group's tree that `claim` is about, proved or not.

        Raises CertificateRejected unless that is noise for these trees, within `budget`.
        """
        noise, groups = claim.noise, self.groups
        if not isinstance(noise, Agreeing):
            raise CertificateRejected(f"Query {self.label!r}: its counts have no such noise.")
        apart = groups > 1
        long_enough = noise.even and len(noise.branches) > apart
        first = (noise.branches[0], noise.shares[0]) if long_enough else None
        fits = (
            (first == (groups, 0) if apart else first is not None, "it is of other groups"),
            (noise.dimension >= groups * self.counts, "its trees have fewer cells than counts"),
            (claim.sensitivity == self.moves, "a unit moves its counts otherwise"),
            (
                claim.neighbours == self.moves.neighbours,
                f"it isn't about {self.moves.neighbours} neighbours",
            ),
            (claim.sampling_rate == 1, "it is about samples, the release is of all rows"),
            (claim.grid == 1, "its counts aren't whole"),
            (claim.geometry is None, "noise is alike in all groups"),
            (claim.budget == replace(budget, delta=Fraction(0)), "its budget isn't its share"),
        )
        for fit, why in fits:
            if not fit:
                raise CertificateRejected(f"Query {self.label!r}: {why}.")
        one = replace(noise, branches=noise.branches[apart:], shares=noise.shares[apart:])
        try:
            check_moments(one)
        except NotApplicable as error:
            raise CertificateRejected(f"Query {self.label!r}: {error.why}.") from None
        return one


@lru_cache(maxsize=64)
def _best_tree(
    counts: int,
    levels: tuple[Fraction, ...],
    scale: Fraction,
    largest: bool,  # noqa: FBT001 (one call of its own)
    *,
    rows: Rows,
    deepest: int,
) -> Agreeing:
    """Return the tree with the least mean of Var W over counts and levels, or `largest` Var S.

    In floats. Noise in each count by itself is one of them: a tree of one level whose root has no
    share.
    """
    offers: list[tuple[float, Agreeing]] = []
    _, real = choose_loss(largest=largest)
    narrow, one_row = scale_to_search(scale), Rows(most=1, replaced=rows.replaced)
    why = NotApplicable(family=Agreeing.name, why="too few")
    for branches in list_trees(counts, deepest):
        weighed = _Weighed(branches=branches, counts=counts, levels=levels, largest=largest)
        try:
            check_least_moments(branches, scale)  # before a search that would be for nothing
            found = [_best_shares(weighed, narrow, one_row)]
            if len(branches) == 1:
                found.append((Fraction(0), Fraction(1)))
            for shares in found:
                unit = Agreeing(scale=scale, branches=branches, shares=shares)
                noise = unit.scaled(unit.cost(rows) / rows.most)  # a unit that is replaced costs 2
                check_moments(noise)
                value = real(weighed.logs([one.variance for one in level_laws(noise)]))
                offers.append((value, noise))
        except NotApplicable as error:
            why = error
    if not offers:
        raise why
    return min(offers, key=lambda one: one[0])[1]


@final
@dataclass(frozen=True, kw_only=True)
class _Weighed:
    """What is made small for a tree: Var W over counts and levels, or each `largest` Var S."""

    branches: tuple[int, ...]
    counts: int
    levels: tuple[Fraction, ...]
    largest: bool

    def logs(self, variances: Sequence[float]) -> list[float]:
        """Return ln of the mean of Var W, or ln Var S of each count, from variances of nodes."""
        sums = prefix_variances(self.branches, variances)[1 : self.counts + 1]
        weighed = sums if self.largest else [sums.mean() + self._mean * variances[0]]
        return np.log(np.maximum(weighed, LEAST_VARIANCE)).tolist()

    @cached_property
    def _mean(self) -> float:
        """The mean of a² − 2a·g/n, by which Var T counts beside Var S_g."""
        first, second = (
            float(sum(one**power for one in self.levels) / len(self.levels)) for power in (1, 2)
        )
        places = np.arange(1, self.counts + 1) / math.prod(self.branches)
        return second - 2 * first * float(places.mean())


@lru_cache(maxsize=256)
def _best_shares(weighed: _Weighed, scale: Fraction, rows: Rows) -> tuple[Fraction, ...]:
    smooth, _ = choose_loss(largest=weighed.largest)
    return search_shares(weighed.branches, scale, lambda own: smooth(weighed.logs(own)), rows=rows)


def list_trees(counts: int, deepest: int) -> Iterator[tuple[int, ...]]:
    """Yield trees of 1 to `deepest` levels with a cell for each count, as even as they can be."""
    for levels in range(1, deepest + 1):
        b = next(b for b in range(2, counts + 2) if b**levels >= counts)
        first = -(-counts // b ** (levels - 1))
        if first > 1:
            yield (first, *[b] * (levels - 1))


def tree_in_words(noise: Agreeing) -> str:
    """Return a tree's branches and the noise in a count, to stand in a sentence."""
    tree = " × ".join(f"{b:,}" for b in noise.branches)
    std = math.sqrt(noise.variance)
    return f"({tree}) that partly cancels in sums (agreeing, std {std:.4g} in a count)"


def tree_to_record(noise: Agreeing) -> dict[str, Any]:
    """Return a tree as JSON values."""
    return {
        "branches": list(noise.branches),
        "shares": [decimal_text(one) for one in noise.shares],
    }


# Noise for quantiles by a tree of counts, and how far off they are because of it, in ranks.
#
# notation: candidates 1, …, B, of n cells of the tree in each group; F(g) rows at or below
# candidate g, F̂(g) the same with noise S_g, n̂ that of all with noise T. What is asked about g for
# a level a is F̂(g) − a·n̂, off by W = S_g − aT. It is linear in a, so that by Minkowski's
# inequality ‖W‖_p is at most what lies on the lines through those of a = 0, ½ and 1; at 1 it is
# that of −W at 0 for the last n − g cells, which have the law of the first.


MISSED = 0.05  # what intervals of 95 % may miss
_ORDERS: Floats = np.array(ORDERS, dtype=np.float64)


@final
@dataclass(frozen=True, kw_only=True)
class RankTree:
    """The noise of one group's tree, whose first cells are the candidates: `candidates` of them."""

    noise: Agreeing
    candidates: int

    def half_widths(self, level: Fraction) -> Floats:
        """Return h with P(|W| > h) <= 5 %, for the first g candidates, g = 0, …, B."""
        norms = self._norms(level)[: self.candidates + 1]
        return (norms / MISSED ** (1 / _ORDERS)).min(axis=1)

    def rows_95(self, level: Fraction) -> float:
        """Return what no |W| of any candidate passes, nor |T|, with 95 %.

        What is read off is off by no more then: isotonic regression moves no number further from
        what rises than the furthest is.
        """
        last = self._norms(Fraction(0))[-1]
        sums = (self._norms(level)[1 : self.candidates + 1] ** _ORDERS).sum(axis=0)
        return float((((sums + last**_ORDERS) / MISSED) ** (1 / _ORDERS)).min())

    def total_error(self) -> NoiseError:
        """The error of the total of all cells.

        Raises NotApplicable where its standard deviation is 0 as a float: that would say that there
        is no noise.
        """
        total = level_laws(self.noise)[0]
        if not total.variance:
            why = "the noise of a group's total is 0 as a float. Lower epsilon, or ask for a count"
            raise NotApplicable(family=Agreeing.name, why=why)
        halves = [float(total.half_width(one)) for one in PROBABILITIES]
        return NoiseError(std=total.std, half95=halves[0], half975=halves[1], half983=halves[2])

    def in_words(self, column: str) -> str:
        """Return what is drawn, in a sentence."""
        return (
            f"The quantiles of {column} are read off counts of rows at each candidate, with whole "
            f"noise of a tree {tree_in_words(self.noise)}."
        )

    def _norms(self, level: Fraction) -> Floats:
        """Return what ‖W‖_p is at most, for g = 0, …, n, shape (n + 1, orders)."""
        a = float(level)
        end, middle = (prefix_moments(self.noise, one) ** (1 / _ORDERS) for one in (0.0, 0.5))
        if a > 0.5:
            a, end = 1 - a, end[::-1]
        return (1 - 2 * a) * end + 2 * a * middle


def find_noise(layout: Ranks, budget: Budget, releases: int) -> Certificate:
    """Return the noise of all groups' trees, proved; raises Refused if there is none."""
    return _trees(layout).find(budget, releases)


def read_tree(layout: Ranks, claim: Certificate, budget: Budget) -> RankTree:
    """Return the tree of one group that `claim` is about, proved or not.

    Raises CertificateRejected unless that is noise for this layout, within `budget`.
    """
    noise = _trees(layout).read(claim, budget)
    return RankTree(noise=noise, candidates=layout.candidates.cells)


def _trees(layout: Ranks) -> Trees:
    """Return what trees there are: a unit moves counts by whole rows, for which alone there are."""
    if layout.reach.denominator != 1:
        raise ValueError("a tree counts whole rows")
    return Trees(
        label=layout.label,
        groups=layout.cells,
        counts=layout.candidates.cells,
        moves=RowCounts(layout.reach.numerator, neighbours=layout.neighbours),
        levels=tuple(one.level for one in layout.statistics),
        deepest=4,
        advice=f'Give fewer candidates or a larger epsilon, or use quantiles_by = "{FLIP}"',
    )
