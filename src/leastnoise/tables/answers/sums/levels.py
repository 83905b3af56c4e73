"""Noise for public keys with levels: one draw, on the tree that the levels make of the keys.

Tables by key and by each level are sums of the same whole cells, and add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.design.bounds.variance_bound import least_log_variance
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.question import Question
from leastnoise.noise.trees.estimate import check_work, estimate_variances
from leastnoise.noise.trees.fit import LEAST_VARIANCE, scale_to_search, search_shares
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import find_window, node_laws, rates_of
from leastnoise.selection.public import find_candidate
from leastnoise.tables.answers.sums.level_tables import KeyTree, table_layouts, tree_of
from leastnoise.tables.answers.sums.measured import FOR_THE_LARGEST, WIDTH_UNKNOWN, Compared
from leastnoise.tables.answers.sums.whole_counts import WholeCounts
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.spec.query import LARGEST
from leastnoise.tables.statistics.base import NoiseError, RowErrors
from leastnoise.workloads.marginal import Marginals, choose_loss
from leastnoise.workloads.marginal_bounds import bound, bound_of_largest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Block, Blocks
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.layout.layout import Layout

_COUNTS = Fraction(1)  # the grid: counts and noise are whole
_ADVICE = "Give fewer keys or a larger epsilon, or leave levels out."
_SAID = (
    "Whole-number noise is drawn for the numbers by {column}{on}. All tables are sums of these, "
    "exactly."
)
_ON_A_TREE = " on the tree of {levels} (agreeing), so that it partly cancels in sums"
_UNLIKE = (
    "Rows of a table have unlike standard deviations: the root of their mean square is shown, and "
    "the largest ±."
)


@final
@dataclass(frozen=True, kw_only=True)
class Levels:
    """What a block whose keys have levels publishes, and from which noise.

    `cells` is the layout of its keys, `noise` that of the tree, which `claim` is about.
    """

    cells: Layout
    budget: Budget
    claim: Certificate
    noise: Agreeing

    @classmethod
    def of(cls, cells: Layout, budget: Budget, claims: Sequence[tuple[str, Block]]) -> Levels:
        """Return it for a block that is released as `claims` say, which are proved or not.

        Raises CertificateRejected unless it is one, about the tree of its keys, for its budget.
        """
        claim, moves = claims[0][1], _moves(cells)
        where = f"Query {cells.label!r}"
        if len(claims) != 1 or not isinstance(claim, Certificate):
            raise CertificateRejected(f"{where}: its keys have one draw of noise.")
        noise, tree = claim.noise, _tree(cells)
        if not isinstance(noise, Agreeing):
            raise CertificateRejected(f"{where}: its keys have no such noise.")
        levels = len(tree.columns) + tree.above
        fits = (
            (noise.branches == tree.branches, "it is of another tree"),
            (len(noise.shares) == levels, "its tree has other levels"),
            (claim.sensitivity == moves, "a unit moves its counts otherwise"),
            (
                claim.neighbours == cells.neighbours,
                f"it isn't about {cells.neighbours} neighbours",
            ),
            (claim.sampling_rate == 1, "it is about samples, the release is of all rows"),
            (claim.grid == _COUNTS, "its counts aren't whole"),
            (claim.geometry is None, "noise is alike in all keys"),
            (claim.budget == replace(budget, delta=Fraction(0)), "its budget isn't its share"),
        )
        for fit, why in fits:
            if not fit:
                raise CertificateRejected(f"{where}: {why}.")
        found = cls(cells=cells, budget=budget, claim=claim, noise=noise)
        try:
            if not min(map(min, found.variances)):  # a _std of 0 would say that there is none
                raise CertificateRejected(f"{where}: its noise is 0 as a float.")
        except NotApplicable as error:
            raise CertificateRejected(f"{where}: {error.why}.") from None
        return found

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of all tables: by key, then by each level."""
        return table_layouts(self.cells)

    @cached_property
    def variances(self) -> tuple[NDArray[np.float64], ...]:
        """The variance of each number of each table."""
        laws = node_laws(self.noise)
        return tuple(
            self._of_rows(table, [one.variance for one in laws[self._level(table)]])
            for table in range(len(self.cells_above))
        )

    @property
    def cells_above(self) -> tuple[tuple[Any, ...], ...]:
        """The values of each table, in the order of its rows."""
        return _tree(self.cells).values[::-1]

    def _level(self, table: int) -> int:
        return len(self.noise.shares) - 1 - table

    def _of_rows(self, table: int, by_place: Sequence[float]) -> NDArray[np.float64]:
        """Return what the rows of a table have, given what each place of its level has."""
        tree, level = _tree(self.cells), self._level(table)
        found = np.empty(len(self.cells_above[table]))
        nodes = tree.nodes(level - tree.above)
        found[nodes] = np.array(by_place)[self.noise.shape.places_of[level]]
        return found

    @cached_property
    def errors(self) -> tuple[NoiseError, ...]:
        """The errors of all tables, and of each row where they are unlike."""
        return tuple(map(self._error, range(len(self.cells_above))))

    def _error(self, table: int) -> NoiseError:
        laws = node_laws(self.noise)[self._level(table)]
        widths = [[float(one.half_width(p)) for one in laws] for p in PROBABILITIES]
        variances = self.variances[table]
        rows = None
        if len(laws) > 1:
            halves = self._of_rows(table, widths[0])
            rows = RowErrors(std=tuple(np.sqrt(variances).tolist()), half95=tuple(halves.tolist()))
        half95, half975, half983 = map(max, widths)
        std = math.sqrt(float(variances.mean()))
        return NoiseError(std=std, half95=half95, half975=half975, half983=half983, rows=rows)

    @cached_property
    def geometric_mean(self) -> float:
        """The geometric mean of the tables' standard deviations, each a root mean square."""
        return _mean(one.std for one in self.errors)

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a number."""
        return math.sqrt(max(float(own.max()) for own in self.variances))

    @cached_property
    def others(self) -> dict[str, float]:
        """The same mean of other ways to make these tables, or the largest, for the same budget.

        `cells`: noise in the cells alone, summed; `apart`: a share for each table, in which they
        don't agree; `bound`: no additive noise has less, as is proved.
        """
        releases, tables = self.claim.compositions, len(self.errors)
        epsilon = float(self.budget.epsilon / releases)
        keys = self.cells.cells
        replaced = 2 if self.cells.neighbours == "replace-one" else 1
        cell = _geometric_std(epsilon / (replaced if keys > 1 else 1))
        counts = list(map(len, self.cells_above))
        each = [keys / count for count in counts]  # keys in a number, on average or at most
        if self.cells.largest:
            each = [float(np.bincount(own).max()) for own in _tree(self.cells).places]
        summed = [cell * math.sqrt(one) for one in each]
        apart = [
            _geometric_std(epsilon / tables / (replaced if count > 1 else 1)) for count in counts
        ]
        add = max if self.cells.largest else _mean
        return {"cells": add(summed), "apart": add(apart), "bound": self._bound}

    @cached_property
    def whole_counts(self) -> WholeCounts | None:
        """How whole counts, none below 0, are found of the noisy ones, if they are."""
        if not self.cells.projected:
            return None
        tree, names = _tree(self.cells), [one.name for one in self.layouts]
        top = [np.zeros(self.cells.cells, dtype=np.int64)] * tree.above
        laws = node_laws(self.noise)
        bias = [max(one.mean_abs for one in laws[self._level(i)]) / 2 for i in range(len(names))]
        return WholeCounts(
            tree=(*top, *tree.places),
            names=(*[None] * tree.above, *names[::-1]),
            too_high=dict(zip(names, bias, strict=True)),
            columns=tuple(one.axes[0].column for one in self.layouts[::-1]),
        )

    @property
    def _bound(self) -> float:
        above, single, count = _tree(self.cells).above, self.budget, len(self.errors)
        if not self.budget.delta:  # losses add up in a series
            single = self.budget.share(Fraction(1, self.claim.compositions))
        if self.noise.even:
            sizes = self.noise.branches
            tables = tuple(2**level - 1 for level in range(len(sizes), above - 1, -1))
            marginals = Marginals(sizes=sizes, tables=tables)
            if self.cells.largest:
                return math.exp(bound_of_largest(marginals, budget=single) / 2)
            least = bound(marginals, [Fraction(1)] * count, budget=single)
        else:
            least = least_log_variance(self.noise.shape.children, budget=single, root=not above)
        return math.exp(least / (2 * count))

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, all of which a certificate can confirm."""
        column, above = self.cells.axes[0], _tree(self.cells).above
        names = [*(one.name for one in self.layouts)][::-1]
        shares = [decimal_text(one) for one in self.noise.shares[above:]]
        largest = self.cells.largest
        return {
            "by": next(iter(column.columns)),
            "shares": dict(zip(names, shares, strict=True)),
            "geometric_mean_std": self.geometric_mean,
            **({"objective": LARGEST, "largest_std": self.largest_std} if largest else {}),
            "other_ways": self.others,
        }

    def in_words(self) -> list[str]:
        """Return what noise there is, and what it is worth, in sentences."""
        column, *above = (next(iter(one.axes[0].columns)) for one in self.layouts)
        levels = _words.in_turn([column, *above], "and")
        largest = self.cells.largest
        own = self.largest_std if largest else self.geometric_mean
        on = _ON_A_TREE.format(levels=levels) if any(self.noise.shares[:-1]) else " alone"
        return [
            _SAID.format(column=column, on=on),
            *([_UNLIKE] if any(one.rows is not None for one in self.errors) else []),
            *([FOR_THE_LARGEST] if largest else []),
            Compared(own=own, **self.others).in_words("The", largest=largest),
            *([] if self.whole_counts is None else self.whole_counts.in_words()),
        ]


def find_levels(cells: Layout, budget: Budget, *, releases: int) -> Blocks:
    """Return the noise of the keys, proved, by the name that certificates have.

    Shares of levels are those for which Σ ln(mean variance) of the tables, or the largest variance,
    is least in a tree as even as it can be, or all is the cells' if that is less in the tree
    itself. Each release has an equal part of ε, and δ is left unspent. Raises Refused if there is
    none.
    """
    if not budget.epsilon:
        raise Refused(f"The query {cells.label!r}: tables by levels need epsilon > 0.")
    tree, moves = _tree(cells), _moves(cells)
    rows = Rows(most=1, replaced=cells.neighbours == "replace-one")
    scale = releases / budget.epsilon
    question = Question(
        budget=replace(budget, delta=Fraction(0)),
        sensitivities=(moves,),
        dimension=cells.cells,
        compositions=releases,
    )
    why = ""
    for shares in _offers(tree, scale, rows, largest=cells.largest):
        parameters = {"branches": tree.branches, "shares": shares}
        try:
            made = find_candidate(Agreeing.name, question, parameters=parameters).mechanism
            claim = made.certificate.about(cells.neighbours).on_grid(_COUNTS)
            _ = Levels.of(cells, budget, [(cells.label, claim)]).errors
        except CertificateRejected as error:
            raise Refused(f"{error} Give a smaller epsilon, or leave levels out.") from None
        except (Refused, InvalidArgument, NotApplicable) as error:
            unknown = isinstance(error, InvalidArgument) and error.name == "coverage"
            why = WIDTH_UNKNOWN if unknown else str(error).removesuffix(".")
            continue
        return ((cells.label, claim),)
    raise Refused(f"The query {cells.label!r}: {why}. {_ADVICE}") from None


@lru_cache(maxsize=64)
def _offers(
    tree: KeyTree, scale: Fraction, rows: Rows, *, largest: bool
) -> tuple[tuple[Fraction, ...], ...]:
    """Return the shares that may be drawn, those with the least loss first."""
    counts = [1] * tree.above + [len(own) for own in tree.values]
    even = [max(1, round(b / a)) for a, b in pairwise(counts)]
    alone = (*[Fraction(0)] * (len(counts) - 1), Fraction(1))
    _, real = choose_loss(largest=largest)
    narrow, one_row = scale_to_search(scale), Rows(most=1, replaced=rows.replaced)
    try:
        narrowest = Agreeing(scale=scale, branches=tree.branches, shares=alone)
        narrowest = narrowest.scaled(narrowest.cost(rows))
        find_window(narrowest.branches, rates_of(narrowest))  # before a search for nothing
        tried = [_best_shares(tuple(even), tree.above, narrow, one_row, largest=largest), alone]
    except (NotApplicable, InvalidArgument):
        tried = [alone]
    found: list[tuple[float, tuple[Fraction, ...]]] = []
    for shares in tried:
        try:
            noise = Agreeing(scale=scale, branches=tree.branches, shares=shares)
            noise = noise.scaled(noise.cost(rows))
            check_work(noise)
            variances = estimate_variances(noise.branches, rates_of(noise))[tree.above :]
        except (NotApplicable, InvalidArgument):  # where ε is tiny no lattice is wide enough
            continue
        nodes = map(noise.shape.count, range(tree.above, len(noise.shares)))
        weighed = [
            max(own) if largest else float(np.average(own, weights=count))
            for own, count in zip(variances, nodes, strict=True)
        ]
        found.append((real(math.log(max(one, LEAST_VARIANCE)) for one in weighed), shares))
    return tuple(shares for _, shares in sorted(found)) or (alone,)


@lru_cache(maxsize=64)
def _best_shares(
    even: tuple[int, ...], above: int, scale: Fraction, rows: Rows, *, largest: bool
) -> tuple[Fraction, ...]:
    smooth, _ = choose_loss(largest=largest)

    def loss(variances: Sequence[float]) -> float:
        return smooth(np.log(variances[above:]).tolist())

    return search_shares(even, scale, loss, rows=rows)


def _tree(cells: Layout) -> KeyTree:
    if cells.hierarchy is None:
        raise TypeError("its keys have no levels")
    return tree_of(cells.hierarchy)


def _moves(cells: Layout) -> RowCounts:
    return RowCounts(1, neighbours=cells.neighbours)


def _geometric_std(epsilon: float) -> float:
    return 1 / (math.sqrt(2) * math.sinh(epsilon / 2))


def _mean(stds: Iterable[float]) -> float:
    return math.exp(math.fsum(logs := [math.log(one) for one in stds]) / len(logs))
