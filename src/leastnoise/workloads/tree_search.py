"""The search for a tree of whole-number noise, and for the shares of its levels.

The share of a level is the fraction of ε that the noise of its nodes spends. A search in floats
ranks trees; the caller proves the noise. Certificates are checked against the trees that a query
implies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.noise.trees.estimate import estimate_variances
from leastnoise.noise.trees.fit import LEAST_VARIANCE, scale_to_search, search_shares
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import node_laws, rates_of
from leastnoise.workloads.marginal import choose_loss
from leastnoise.workloads.tree import ByPosition, Nodes, Prefixes, TreeTable

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity


@final
@dataclass(frozen=True, kw_only=True)
class TreeOffer:
    """A candidate tree for the noise, and the `tables` whose variances a search compares.

    `branches` are the tree's numbers of children. If the tree is uneven, shares are searched in a
    similar even tree with the branches `even`. If it is even, both are equal. With `alone`, noise
    in the cells only is tried, too.
    """

    branches: tuple[int, ...]
    even: tuple[int, ...]
    tables: tuple[TreeTable, ...]
    alone: bool
    weights: tuple[float, ...] | None = None
    """The weight of each table in the objective; None if all weights are equal."""

    @classmethod
    def of(
        cls,
        branches: tuple[int, ...],
        *tables: TreeTable,
        alone: bool = False,
        weights: tuple[float, ...] | None = None,
    ) -> TreeOffer:
        """The offer of an even tree; `branches` are the children per node of each level."""
        return cls(branches=branches, even=branches, tables=tables, alone=alone, weights=weights)

    def noise(self, shares: Sequence[Fraction], scale: Fraction, rows: Rows) -> Agreeing:
        """The tree's noise with these shares, scaled so that it hides `rows` at the budget's ε.

        `scale` is the scale that hides `rows` if each row costs 1: see `Agreeing.cost`.
        """
        noise = Agreeing(scale=scale, branches=self.branches, shares=shares)
        return noise.scaled(noise.cost(rows) / rows.most)

    def variances(self, noise: Agreeing) -> ByPosition:
        """The variances of nodes by level and position; approximate if the tree is uneven."""
        if self.branches != self.even:
            return estimate_variances(noise.branches, rates_of(noise))
        return [[law.variance for law in level] for level in node_laws(noise)]

    def logs(self, branches: tuple[int, ...], nodes: ByPosition, *, largest: bool) -> list[float]:
        """The logarithms of variances from which the loss of a search is computed.

        The list has the ln of each table's mean variance, times its weight. If `largest` is true,
        it has the ln of every variance of every table instead. `branches` and `nodes` are the tree
        and the variances of its nodes.
        """
        tables = (table.variances(branches, nodes) for table in self.tables)
        weighed = np.concatenate([each if largest else [each.mean()] for each in tables])
        logs = np.log(np.maximum(weighed, LEAST_VARIANCE))
        return (logs if self.weights is None else logs * np.array(self.weights)).tolist()


@lru_cache(maxsize=64)
def rank_noise(
    offers: tuple[TreeOffer, ...], scale: Fraction, rows: Rows, *, largest: bool
) -> tuple[tuple[TreeOffer, Agreeing], ...]:
    """Find the best shares for each tree, and sort the trees, with their noise, by their loss.

    The loss is Σ ln(mean variance) of the tables, weighted by the `weights` of the offer. With
    `largest` it is the largest ln variance. It is computed in floats, since no guarantee depends on
    it. `scale` is as in `TreeOffer.noise`. Raises NotApplicable or InvalidArgument if no tree can
    be used.
    """
    _, total = choose_loss(largest=largest)
    ranked: list[tuple[float, TreeOffer, Agreeing]] = []
    refusal: NotApplicable | InvalidArgument = NotApplicable(family=Agreeing.name, why="too few")
    for offer in offers:
        alone = (*[Fraction(0)] * len(offer.even), Fraction(1))
        try:
            for table in offer.tables:
                table.check_any(offer.noise(alone, scale, rows), scale)
            one_row = Rows(most=1, replaced=rows.replaced)
            tried = [_best_shares(offer, scale_to_search(scale), one_row, largest=largest)]
        except (NotApplicable, InvalidArgument) as error:
            refusal = error
            continue
        for shares in [*tried, alone] if offer.alone else tried:
            try:
                noise = offer.noise(shares, scale, rows)
                for table in offer.tables:
                    table.check(noise)
                variances = offer.variances(noise)
            except (NotApplicable, InvalidArgument) as error:
                refusal = error  # for a tiny ε no lattice is wide enough
                continue
            logs = offer.logs(noise.branches, variances, largest=largest)
            ranked.append((total(logs), offer, noise))
    if not ranked:
        raise refusal
    return tuple((offer, noise) for _, offer, noise in sorted(ranked, key=itemgetter(0)))


@lru_cache(maxsize=256)
def _best_shares(
    offer: TreeOffer, scale: Fraction, rows: Rows, *, largest: bool
) -> tuple[Fraction, ...]:
    smooth, _ = choose_loss(largest=largest)

    def loss(variances: Sequence[float]) -> float:
        return smooth(offer.logs(offer.even, [[level] for level in variances], largest=largest))

    return search_shares(offer.even, scale, loss, rows=rows)


def list_trees(counts: int, deepest: int) -> Iterator[tuple[int, ...]]:
    """Yield even trees of 1 to `deepest` levels with at least `counts` cells.

    All branches of a tree are equal, except that the first may be smaller.
    """
    for levels in range(1, deepest + 1):
        b = next(b for b in range(2, counts + 2) if b**levels >= counts)
        first = -(-counts // b ** (levels - 1))
        if first > 1:
            yield (first, *[b] * (levels - 1))


def offer_prefixes(prefixes: Prefixes, deepest: int) -> tuple[TreeOffer, ...]:
    """Candidate trees of at most `deepest` levels, for the sums of the first 1, 2, … cells."""
    trees = list_trees(prefixes.count, deepest)
    return tuple(TreeOffer.of(tree, prefixes, alone=len(tree) == 1) for tree in trees)


COUNT_WEIGHT = 0.1
"""The weight of counts beside running totals, α in theory/series.md, §5.3.

With this weight, totals have 2 % more noise, and counts 21 % less, than with the weight 0.
"""


def offer_releases(count: int, branches: tuple[int, ...] | None) -> tuple[TreeOffer, ...]:
    """Candidate trees whose first `count` cells are releases, for counts and running totals.

    If `branches` are given, the only candidate is this tree, and only totals have a weight.
    """
    if branches is not None:
        return (TreeOffer.of(branches, Prefixes(count=count)),)
    trees = {tree for tree in list_trees(count, _DEEPEST) if min(tree) > 1}
    for first, second in product(range(2, _WIDEST), repeat=2):
        third = count // (first * second)
        if third > 1 and first * second * third == count:
            trees.add((first, second, third))
        if first * second == count:
            trees.add((first, second))
    weights = (COUNT_WEIGHT, 1 - COUNT_WEIGHT)
    return tuple(
        TreeOffer.of(tree, Nodes(level=len(tree)), Prefixes(count=count), weights=weights)
        for tree in sorted(trees)
    )


_DEEPEST, _WIDEST = 5, 15


@final
@dataclass(frozen=True, kw_only=True)
class Trees:
    """The candidate trees for the noise of a query; every group has the same tree.

    `label` is the name of the certificate. Each group has `counts` counts, which are the first
    cells of its tree; `moves` is their sensitivity. With `largest`, trees are ranked by their
    largest variance. With `exact`, there is one offer, and a certificate must be about its tree.
    `advice` is the next step for the user if no tree can be used.
    """

    label: str
    counts: int
    moves: Sensitivity
    neighbours: Neighbours
    offers: tuple[TreeOffer, ...]
    advice: str
    groups: int = 1
    largest: bool = False
    exact: bool = False

    @property
    def _has_groups(self) -> bool:
        """True for several groups: then their trees share a root, which has no noise."""
        return self.groups > 1

    def rank(self, budget: Budget, releases: int) -> list[Agreeing]:
        """The unproved noise of all groups for each usable tree, the best first.

        Each of the `releases` gets an equal part of the budget's ε. Raises NotApplicable if no tree
        can be used.
        """
        rows = self.moves.rows(dimension=self.counts)
        if rows is None:
            raise NotApplicable(family=Agreeing.name, why=f"it isn't for {self.moves}")
        rows = replace(rows, replaced=rows.replaced and not self._has_groups)
        scale = releases * rows.most / budget.epsilon
        try:
            ranked = rank_noise(self.offers, scale, rows, largest=self.largest)
            return [self._of_groups(noise) for _, noise in ranked]
        except (NotApplicable, InvalidArgument) as error:
            text = error.why if isinstance(error, NotApplicable) else str(error)
            why = f"of {self.counts:,} counts no tree can be used ({text})"
            raise NotApplicable(family=Agreeing.name, why=why) from None

    def _of_groups(self, noise: Agreeing) -> Agreeing:
        """The noise of all groups' trees under one root, from the noise of one group's tree.

        Raises InvalidArgument for too many cells or levels.
        """
        if not self._has_groups:
            return noise
        return replace(noise, branches=(self.groups, *noise.branches), shares=(0, *noise.shares))

    def read(self, claim: Certificate, budget: Budget) -> Agreeing:
        """The noise of one group's tree, as `claim` states it, proved or not.

        Raises CertificateRejected unless `claim` is about noise for these trees with the budget's ε
        and δ = 0.
        """
        noise, neighbours = claim.noise, self.neighbours
        if not isinstance(noise, Agreeing):
            raise CertificateRejected(
                f"The query {self.label!r}: the certificate's noise must be of the family agreeing."
            )
        fits = (
            *(self._is_the_tree(noise) if self.exact else self._is_a_tree(noise)),
            (claim.sensitivity == self.moves, "its sensitivity isn't the query's"),
            (claim.neighbours == neighbours, f"expected a certificate for {neighbours} neighbours"),
            (claim.sampling_rate == 1, "it is about samples, the release is of all rows"),
            (claim.grid and (1 / claim.grid).denominator == 1, "its counts aren't whole"),
            (claim.geometry is None, "its noise differs between groups"),
            (
                claim.budget == replace(budget, delta=Fraction(0)),
                "its budget isn't the query's share",
            ),
        )
        for fit, why in fits:
            if not fit:
                raise CertificateRejected(f"Query {self.label!r}: {why}.")
        if self._has_groups:
            noise = replace(noise, branches=noise.branches[1:], shares=noise.shares[1:])
        try:
            for table in self.offers[0].tables:
                table.check(noise)
        except NotApplicable as error:
            raise CertificateRejected(f"Query {self.label!r}: {error.why}.") from None
        return noise

    def _is_the_tree(self, noise: Agreeing) -> Iterator[tuple[bool, str]]:
        (tree,) = self.offers
        yield noise.branches == tree.branches, "its noise has another tree"
        yield len(noise.shares) == len(tree.even) + 1, "its tree has other levels"

    def _is_a_tree(self, noise: Agreeing) -> Iterator[tuple[bool, str]]:
        levels = len(noise.branches) - self._has_groups
        first = (noise.branches[0], noise.shares[0]) if noise.even and levels > 0 else None
        fits = first == (self.groups, 0) if self._has_groups else first is not None
        yield fits, "its noise has other groups"
        cells = self.groups * self.counts
        yield noise.dimension >= cells, "its trees have fewer cells than counts"
