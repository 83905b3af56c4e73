"""Keys with levels beside other columns, with totals: the search for the tables that get noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from itertools import product
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.calibration import find_gaussian
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.sums.answer import AGREE
from leastnoise.tables.answers.sums.chain import draw_name
from leastnoise.tables.answers.sums.compared import Compared
from leastnoise.tables.answers.sums.measured import (
    check_epsilon,
    compose_gaussians,
    find_pure,
    prove_best,
)
from leastnoise.tables.answers.sums.measured_sums import (
    MeasuredSums,
    check_claim,
    check_measured,
    expect_table,
    largest_claim,
)
from leastnoise.tables.answers.sums.nested_queries import (
    columns_in_words,
    count_moved,
    nested_of,
    table_layout,
    table_sensitivity,
    tree_column,
)
from leastnoise.tables.answers.sums.nested_strategy import WHOLE, NestedStrategy
from leastnoise.tables.answers.sums.publish_nested import check_nested, publish_nested
from leastnoise.tables.noise.trees import measure_table
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.workloads.marginal import (
    Marginals,
    best_shares,
    choose_loss,
    gaussian_information,
    geometric_mean_std,
    pure_information,
)
from leastnoise.workloads.marginal_bounds import bound, bound_of_largest

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Claims
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Totals
    from leastnoise.tables.answers.sums.answer import Named
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.workloads.marginal import Information, Shares
    from leastnoise.workloads.nested import Nested

    Floats = NDArray[np.float64]
    Search = Callable[[Layout, Budget, Shares, int], list[Certificate] | None]

_FAMILIES = ("laplace", "gaussian", WHOLE)
_WHOLE_SUMS = "Counts are whole, and all tables are sums of these, exactly."
_UNLIKE = (
    "The rows of a table may have different standard deviations: their root mean square is shown, "
    "and the largest ±."
)


@final
@dataclass(frozen=True, kw_only=True)
class NestedMargins(MeasuredSums):
    """The published tables by levels and other columns, with the noise of the measured tables.

    Tables are numbered as in `workloads.nested`.
    """

    @classmethod
    def find(cls, cells: Layout, share: Budget, releases: int, *, pure: bool) -> Claims:
        """Find and prove the noise of each measured table."""
        return find_nested(cells, share, pure=pure, releases=releases)

    @classmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool = False) -> Self:
        """Read the tables with the noise that `claims` state, all of one family.

        Raises CertificateRejected if a claim states something the spec does not imply, or if the
        claims don't fit together. Raises it, too, if not every published table can be computed from
        the tables with noise.
        """
        nested, measured = nested_of(cells), dict[int, Certificate]()
        names = {noise_name(cells, table): table for table in nested.every}
        for name, stated in claims:
            table, claim = expect_table(name, stated, names.get(name), measured)
            moves = (table_sensitivity(cells, table),)
            check_claim(name, claim, cells, nested.cells(table), moves, families=_FAMILIES)
            measured[table] = claim
        check_measured(cells, share, measured, composed=composed)
        label = f"The tables of {cells.name!r}"
        if len({claim.noise.name for claim in measured.values()}) != 1:
            raise CertificateRejected(
                f"{label} have noise of several families, but must all have the same family."
            )
        if any(claim.noise.name == WHOLE for claim in measured.values()):
            if any(nested.meet(*pair) != pair[0] for pair in product(nested.tables, measured)):
                raise CertificateRejected(
                    f"{label} must all be computed by summing the table with whole-number noise."
                )
            if len(measured) > 1:
                raise CertificateRejected(
                    f"{label} have whole-number noise in several tables, but only one of these "
                    "tables may have such noise."
                )
            if any((claim.grid or 0) > 1 for claim in measured.values()):
                raise CertificateRejected(f"{label} have counts that aren't whole numbers.")
        certificate = largest_claim(measured)
        tables = cls(certificate=certificate, cells=cells, budget=share, measured=measured)
        if not all(
            np.isfinite(rows).all() and (rows > 0).all() for rows in tables.strategy.unrounded
        ):
            raise CertificateRejected(
                f"Not every table of {cells.name!r} can be computed from the tables for which the "
                "certificate has noise."
            )
        return tables

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each published table."""
        return tuple(table_layout(self.cells, table) for table in self.nested.tables)

    @property
    def nested(self) -> Nested:
        """The published tables as a `Nested`, which has their tree and computes their estimates."""
        return nested_of(self.cells)

    @cached_property
    def strategy(self) -> NestedStrategy:
        """The noise of the measured tables, with the published tables that are computed from it."""
        axis, _ = tree_column(self.cells)
        return NestedStrategy(
            nested=self.nested, measured=self.measured, columns_before=(1 << axis) - 1
        )

    @cached_property
    def errors(self) -> tuple[NoiseError, ...]:
        """The error of each table's numbers.

        If the rows of a table differ, `NoiseError.rows` has the figures of each row.
        """
        tables = range(len(self.nested.tables))
        return tuple(measure_table(self.strategy, table) for table in tables)

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a published number, without rounding."""
        return math.sqrt(max(float(rows.max()) for rows in self.strategy.unrounded))

    @cached_property
    def compared(self) -> dict[str, Compared]:
        """A `Compared` for the query's count, by its label."""
        largest, tables = self.cells.largest, self.nested.tables
        releases, last = self.certificate.compositions, self.nested.every[-1]
        cells = [self.strategy.terms(table, last) for table in range(len(tables))]
        alone, apart = list[float](), list[float]()
        for variance in _variances_of_shares(self.cells, self.budget, releases):
            of_cell = variance(last, 1.0)
            alone.append(_log_total([of_cell * times for times in cells], largest=largest))
            shares = [np.full(1, variance(table, 1 / len(tables))) for table in tables]
            apart.append(_log_total(shares, largest=largest))
        count = 1 if largest else len(tables)
        values = [_log_total(self.strategy.unrounded, largest=largest), min(alone), min(apart)]
        std, cells_alone, apart_std = (geometric_mean_std(value, count) for value in values)
        bound = self._bound(releases)
        ways = Compared(own=std, cells=cells_alone, apart=apart_std, bound=bound)
        return {self.cells.statistics[0].label: ways}

    def _bound(self, releases: int) -> float | None:
        """The field `bound` of `Compared`: a proved lower bound. None if the tree is uneven.

        In an even tree, all nodes of a level have equally many children. So the levels can be
        treated like the columns of a query with margins.
        """
        branches = self.nested.branches
        if branches is None:
            return None
        levels = len(branches)
        masks = [
            (1 << level) - 1 | mask << levels
            for level, mask in map(self.nested.split, self.nested.tables)
        ]
        marginals = Marginals(sizes=(*branches, *self.nested.sizes), tables=tuple(masks))
        # at δ = 0 the losses of a series' releases add up
        budget = self.budget if self.budget.delta else self.budget.share(Fraction(1, releases))
        if self.cells.largest:
            return geometric_mean_std(bound_of_largest(marginals, budget=budget), 1)
        count = len(masks)
        return geometric_mean_std(bound(marginals, [Fraction(1)] * count, budget=budget), count)

    def columns(self, table: int) -> list[str]:
        """The names of the columns and levels by which a table is grouped."""
        return columns_in_words(self.cells, table)

    @property
    def agreement(self) -> str:
        """A sentence that says from which numbers all tables are summed."""
        return _WHOLE_SUMS if self.strategy.is_whole else AGREE

    def remarks(self) -> list[str]:
        """A sentence about rows with different errors, if there are such rows."""
        return [_UNLIKE] if any(error.rows is not None for error in self.errors) else []

    def noise_errors(self, index: int) -> tuple[NoiseError]:
        """The error of the count in a row of a table."""
        return (self.errors[index],)

    def moves(self, index: int) -> tuple[Sensitivity]:
        """The sensitivity of a table: it bounds all shifts by one unit."""
        return (table_sensitivity(self.cells, self.nested.tables[index]),)

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise, and return all tables."""
        return publish_nested(self, self.parts, *totals.cells)

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless all tables add up."""
        check_nested(self, folder, self.parts, kind)


def noise_name(cells: Layout, table: int) -> str:
    """The name of a certificate of noise in a table: `query.1x3` for the table by columns 1 and 3.

    A level above the keys counts as a column. Levels are numbered after all columns of the query,
    first the level just above the keys.
    """
    tree_axis, column = tree_column(cells)
    level, mask = nested_of(cells).split(table)
    last = len(column.levels) + 1
    columns = [i for i in range(len(cells.axes)) if i != tree_axis]
    by = [i for at, i in enumerate(columns) if mask >> at & 1]
    if level:
        by.append(tree_axis if level == last else len(cells.axes) + last - 1 - level)
    return draw_name(cells, sorted(by))


def find_nested(cells: Layout, budget: Budget, *, pure: bool, releases: int) -> Claims:
    """Find and prove the noise of each measured table. Returns pairs of a name and a certificate.

    There are three kinds of candidates:

    - Laplace noise in tables, whose ε add up.
    - Whole-number noise in the smallest table from which all published tables can be summed.
    - Gaussian noise in tables, unless `pure`. All together meet the budget by tight composition.

    The best candidate has the smallest Σ ln(mean variance) over the published tables, or the
    smallest largest variance if the layout says `largest`. If it isn't proved, the next candidate
    is tried. All `releases` together meet the `budget`. Raises Refused for an ε that
    `check_epsilon` refuses, and if no candidate is proved.
    """
    check_epsilon(cells, budget, releases)
    nested = nested_of(cells)
    weights = None if cells.largest else [1.0] * len(nested.tables)
    offers: list[tuple[float, Search, Shares]] = []
    for search, information in _list_searches(cells, budget, releases, pure=pure):
        shares: Shares = {reduce(nested.join, nested.tables): Fraction(1)}
        if search is not _whole:
            shares = best_shares(nested, weights, information)
        given = np.array([float(shares.get(table, 0)) for table in nested.every])
        rows = nested.row_variances(information(given)[0])
        offers.append((_log_total(rows, largest=cells.largest), search, shares))
    _, shares, claims = prove_best(cells, budget, offers, releases)
    names = (noise_name(cells, table) for table in shares)
    return tuple(zip(names, claims, strict=True))


def _log_total(variances: Sequence[Floats], *, largest: bool) -> float:
    """The loss Σ ln(mean variance) over tables, or the largest ln(variance) if `largest`.

    `variances` has an array for each table, with the variances of its numbers.
    """
    _, total = choose_loss(largest=largest)
    return total(math.log(float(rows.max() if largest else rows.mean())) for rows in variances)


def _count_moves(cells: Layout) -> Floats:
    return np.array([float(count_moved(cells, table)) for table in nested_of(cells).every])


def _list_searches(
    cells: Layout, budget: Budget, releases: int, *, pure: bool
) -> list[tuple[Search, Information]]:
    """The kinds of noise to try, each with its search and the 1/variance that it gives tables.

    The search finds and proves the noise. The 1/variance is a function of the tables' shares of the
    budget, for one of the `releases`.
    """
    searches, moved = list[tuple["Search", "Information"]](), _count_moves(cells)
    if budget.epsilon:
        epsilon = float(budget.epsilon / releases)
        for search, family in ((_laplace, "laplace"), (_whole, WHOLE)):
            whole = np.full(len(moved), family == WHOLE)
            searches.append((search, pure_information(epsilon, moved, whole=whole)))
    if budget.delta and not pure:
        sigma = float(find_gaussian(budget).scale) * releases**0.5
        searches.append((_gaussian, gaussian_information(sigma, np.sqrt(moved))))
    return searches


def _variances_of_shares(
    cells: Layout, budget: Budget, releases: int
) -> list[Callable[[int, float], float]]:
    """Functions that map a table and its share of the budget to the variance of its noise.

    The noise is for one release. There are at most two functions: for whole-number noise if ε > 0,
    then for Gaussian noise if δ > 0.
    """
    kinds, moved = list["Information"](), _count_moves(cells)
    if budget.epsilon:
        whole = np.ones(len(moved), dtype=bool)
        kinds.append(pure_information(float(budget.epsilon / releases), moved, whole=whole))
    if budget.delta:
        sigma = float(find_gaussian(budget).scale) * releases**0.5
        kinds.append(gaussian_information(sigma, np.sqrt(moved)))

    def variance(information: Information, table: int, share: float) -> float:
        return float(1 / information(np.full(len(moved), share))[0][table])

    return [partial(variance, information) for information in kinds]


def _moves_of(cells: Layout, shares: Shares) -> dict[int, tuple[Sensitivity, int, float]]:
    """Each table's sensitivity, number of cells, and largest l2 norm of a shift by one unit."""
    nested = nested_of(cells)
    return {
        table: (
            table_sensitivity(cells, table),
            nested.cells(table),
            math.sqrt(count_moved(cells, table)),
        )
        for table in shares
    }


def _laplace(cells: Layout, budget: Budget, shares: Shares, times: int) -> list[Certificate]:
    """Prove Laplace noise in each table, at the table's share of ε: see `find_pure`."""
    return find_pure(cells, "laplace", budget, shares, _moves_of(cells, shares), times=times)


def _whole(cells: Layout, budget: Budget, shares: Shares, times: int) -> list[Certificate]:
    """Prove geometric noise in a single table, with the whole ε: see `find_pure`."""
    return find_pure(cells, WHOLE, budget, shares, _moves_of(cells, shares), times=times)


def _gaussian(
    cells: Layout, budget: Budget, shares: Shares, times: int
) -> list[Certificate] | None:
    """Prove Gaussian noise so that all tables together meet the budget: see `compose_gaussians`."""
    return compose_gaussians(cells, budget, shares, _moves_of(cells, shares), times=times)
