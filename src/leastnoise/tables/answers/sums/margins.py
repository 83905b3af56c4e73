"""Cells and their totals: noise in some tables, from which all published tables are computed.

`Margins` isn't a `workloads.base.Strategy`, for two reasons. A cell may have several numbers, and
the error of a mean depends on their joint distribution. With many columns, single cells are never
estimated, but `Strategy.estimate` has to estimate them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.tables.answers.base import Reads
from leastnoise.tables.answers.sums.answer import AGREE
from leastnoise.tables.answers.sums.chain import Chain, read_chain
from leastnoise.tables.answers.sums.compared import compare_ways
from leastnoise.tables.answers.sums.margin_errors import find_errors
from leastnoise.tables.answers.sums.margin_queries import (
    contrasts_sensitivity,
    layouts_read,
    marginals_of,
    measured_layout,
    table_body,
    table_layout,
    table_sensitivities,
    total_coefficients,
)
from leastnoise.tables.answers.sums.measured import (
    find_gaussian_tables,
    find_measured,
    has_contrasts,
    measured_name,
    pure_family,
)
from leastnoise.tables.answers.sums.measured_sums import (
    FINEST,
    MeasuredSums,
    check_claim,
    check_measured,
    expect_table,
    grid_of_variance,
    largest_claim,
)
from leastnoise.tables.answers.sums.publish_sums import check_sums, publish_margins
from leastnoise.tables.answers.sums.publish_suppressed import check_suppressed, suppress_rows
from leastnoise.tables.answers.sums.whole_counts import WholeCounts, along_columns
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.workloads.contrasts import component, squared_reach, variance_of_component

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Claims
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Totals
    from leastnoise.tables.answers.sums.answer import Named
    from leastnoise.tables.answers.sums.compared import Compared
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.workloads.marginal import Components, Marginals

    Floats = NDArray[np.float64]

_FINER = (
    2**6
)  # finer grid if no cells are estimated: a number has as many roundings as its table has numbers
_IN_CONTRASTS = (
    "Gaussian noise is drawn for the contrasts of {count} tables: for the part of each "
    "that tables by fewer columns lack."
)
_MOST_ROWS = "With more than 2^32 rows in all, counts may be wrong."
_KNOWN = (
    "Every row is in a cell, so that the total is the number of rows. If rows are replaced, that "
    "number is public: it is published without noise, and costs nothing."
)


@final
@dataclass(frozen=True, kw_only=True)
class Margins(MeasuredSums):
    """The published tables of a query with margins, and their noise.

    A table is identified by the bit mask of its columns, as in `workloads.marginal`. With a
    `chain`, noise is added to the cells alone, on a tree along one order of the columns. With
    `contrasts`, noise is added to contrasts: the part of each measured table that tables by fewer
    columns lack (see `workloads.contrasts`).
    """

    chain: Chain | None = None
    contrasts: bool = False

    @classmethod
    def find(cls, cells: Layout, share: Budget, releases: int, *, pure: bool) -> Claims:
        """Find and prove the noise of measured tables, of their contrasts, or of a tree."""
        return find_measured(measured_layout(cells), share, pure=pure, releases=releases)

    @classmethod
    def find_gaussian(cls, cells: Layout, share: Budget, releases: int) -> Claims:
        """Find and prove Gaussian noise of each measured table, or of its contrasts."""
        return find_gaussian_tables(measured_layout(cells), share, releases=releases)

    @classmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool = False) -> Self:
        """Read the tables with the noise that `claims` state, proved or not.

        Raises CertificateRejected if a claim states something the spec does not imply, or if not
        every published table can be computed from the tables with noise.
        """
        drawn = measured_layout(cells)
        marginals = marginals_of(cells)
        names, contrasts = (
            {measured_name(cells, table, contrasts=kind): table for table in marginals.every}
            for kind in (False, True)
        )
        in_contrasts = bool(claims) and claims[0][0] in contrasts and has_contrasts(drawn)
        names = contrasts if in_contrasts else names
        chain = read_chain(drawn, claims, share) if marginals.is_small else None
        measured = dict[int, Certificate]()
        for name, stated in claims:
            table = names.get(name) if chain is None else marginals.whole
            table, claim = expect_table(name, stated, table, measured)
            if table == marginals.whole and not marginals.has_cells:
                raise CertificateRejected(
                    f"The query {name!r} has too many cells for noise in each cell."
                )
            if in_contrasts:
                dimension, moves = marginals.contrasts(table), contrasts_sensitivity(drawn, table)
                check_claim(name, claim, drawn, dimension, (moves,), families=("gaussian",))
            elif chain is None:
                families = (pure_family(drawn), "gaussian")
                dimension = table_layout(drawn, table).dimension
                moves = table_sensitivities(drawn, table)
                check_claim(name, claim, drawn, dimension, moves, families=families)
                _check_body(name, claim, drawn, table)
            measured[table] = claim
        check_measured(cells, share, measured, composed=composed)
        margins = cls(
            certificate=largest_claim(measured),
            cells=cells,
            budget=share,
            measured=measured,
            chain=chain,
            contrasts=in_contrasts,
        )
        noisy = [marginals.has_noise(table) for table in cells.margins]
        variances = margins.variances[:, noisy]
        if not (np.isfinite(variances) & (variances > 0)).all():
            raise CertificateRejected(
                f"Not every table of {cells.name!r} can be computed from the tables for which the "
                "certificate has noise."
            )
        return margins

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each published table."""
        return tuple(table_layout(self.cells, table) for table in self.cells.margins)

    def _drawn_layout(self, index: int) -> Layout:
        """The layout of the measured numbers of a published table."""
        return table_layout(self.measured_cells, self.cells.margins[index])

    def plain(self, index: int, share: Budget) -> Baselines:
        """Plain noise in the measured numbers of one table, at this share of the budget."""
        releases = self.certificate.compositions
        return Baselines.of((self._drawn_layout(index),), share, releases)

    def dimension(self, index: int) -> int:
        """The number of measured numbers in all cells of a published table."""
        return self._drawn_layout(index).dimension

    def moves(self, index: int) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities of a table's measured numbers; each bounds a unit's shifts."""
        return table_sensitivities(self.measured_cells, self.cells.margins[index])

    def mark(self, index: int) -> dict[str, Any]:
        """An empty dictionary, since the records of all tables are alike."""
        del index
        return {}

    @property
    def reads(self) -> Reads:
        """The layouts of the sums over rows: of the cells, and of the total if it is public.

        If there are too many cells, listed tables take their place: see `tables_read`.
        """
        # the total counts all rows, in whichever cell they are
        total = (table_layout(self.measured_cells, 0),) if self.total_is_known else ()
        return Reads(cells=(*layouts_read(self.cells), *total))

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise, and compute all tables from the noisy numbers.

        Small cells are suppressed if the spec asks for it.
        """
        exact, total = totals.cells, 0
        if self.total_is_known:
            *exact, rows = totals.cells
            total = int(rows[0]) >> self.measured_cells.bits
        return suppress_rows(self, publish_margins(self, self.parts, *exact, total=total))

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless the tables pass `check_sums` and `check_suppressed`."""
        check_sums(self, folder, self.parts, kind)
        check_suppressed(self, folder, self.parts, kind)

    @cached_property
    def measured_cells(self) -> Layout:
        """The layout of the measured numbers of the cells."""
        return measured_layout(self.cells)

    @cached_property
    def marginals(self) -> Marginals:
        """The published tables, with the arithmetic of their estimates."""
        return marginals_of(self.cells)

    @cached_property
    def information(self) -> Floats:
        """The inverse variance of the noise; shape (measured numbers, tables of `Marginals.every`).

        It is 0 for tables without noise. For noise in contrasts, it is a lower bound on 1/variance
        of a contrast whose squared coefficients add up to 1.
        """
        marginals = self.marginals
        information = np.zeros((len(self.measured_cells.components), len(marginals.every)))
        for table, claim in self.measured.items():
            at = marginals.places[table]
            information[:, at] = [
                1 / claim.noise.variance_at(number) for number in range(len(information))
            ]
            if self.contrasts:
                sizes = self.sizes(table)
                information[:, at] *= float(squared_reach(sizes)) / variance_of_component(sizes)
        return information

    @cached_property
    def theta(self) -> list[Floats]:
        """For each measured number: the precisions with which each table's contrasts are estimated.

        Contrasts are the part of a table that tables by fewer columns lack. The precisions are the
        θ of `workloads.marginal`.
        """
        carried = self.marginals.carried
        if self.contrasts:
            return [carried.diagonal() * information for information in self.information]
        return [carried @ information for information in self.information]

    @cached_property
    def variances(self) -> Floats:
        """The variance of the measured numbers; shape (measured numbers, published tables)."""
        if self.chain is not None:
            return np.array([[self.chain.variance(table) for table in self.cells.margins]])
        return np.array([self.marginals.variances(theta) for theta in self.theta])

    def sizes(self, table: int) -> list[int]:
        """The number of keys of each column by which a table is grouped."""
        return [self.marginals.sizes[i] for i in self.marginals.axes(table)]

    def components(
        self, noisy: Mapping[int, Floats], number: int, *, total: float = 0.0
    ) -> Components:
        """For one measured number: the part of each table that tables by fewer columns lack.

        All tables are computed from these parts. `number` is the index of the measured number.
        `noisy` has its noisy values in all rows of each measured table, or in all contrasts of the
        table if these have the noise. `total` is the public total, if there is one.
        """
        if not self.contrasts:
            return self.marginals.components(self.information[number], noisy, total=total)
        components = {
            table: component(values, self.sizes(table)) for table, values in noisy.items()
        }
        return components | ({0: np.full((), total)} if self.total_is_known else {})

    @cached_property
    def _cell_variances(self) -> Floats:
        """The variance of each measured number in the estimate of one cell.

        If no cells are estimated, it is a small fraction of the smallest variance of a published
        table with noise.
        """
        marginals = self.marginals
        if self.chain is not None:
            return np.array([self.chain.noise.variance])
        if not marginals.is_small:  # no cells are estimated: each table is rounded by itself
            noisy = [marginals.has_noise(table) for table in marginals.tables]
            return self.variances[:, noisy].min(axis=1) / _FINER**2
        return np.array([marginals.cell_variance(theta) for theta in self.theta])

    @property
    def total_is_known(self) -> bool:
        """True if the total is the number of rows, and public: then it gets no noise."""
        return self.marginals.total_is_known

    def variances_of(self, tables: Sequence[int]) -> Floats:
        """The variance of each measured number in these `tables`, which needn't be published.

        Not for noise on a tree (`chain`), nor if no cells are estimated (see `Marginals.is_small`).
        """
        marginals = replace(self.marginals, tables=tuple(tables))
        return np.array([marginals.variances(theta) for theta in self.theta])

    @cached_property
    def whole_counts(self) -> WholeCounts | None:
        """The tree and the bias of whole counts ≥ 0; None unless the spec asks for such counts."""
        return along_columns(self) if self.cells.projected else None

    @cached_property
    def grids(self) -> tuple[Fraction, ...]:
        """For each measured number, the step of the grid to which its estimates are rounded.

        The estimates are of cells or, if cells aren't estimated, of tables. Steps are powers of
        two, and follow from public numbers.
        """
        if self.is_whole:
            return (Fraction(1),)
        grids = [grid_of_variance(FINEST, float(variance)) for variance in self._cell_variances]
        whole = self.cells.projected or self.total_is_known
        return tuple(min(grid, Fraction(1)) if whole else grid for grid in grids)

    @cached_property
    def steps(self) -> tuple[Fraction, ...]:
        """For each measured number, the grid to which the published number of a cell is rounded.

        The published number is a count, or a sum of values in the units of their column.
        """
        steps = list(self.grids)
        for index, number in enumerate(self.measured_cells.components):
            if number.of_values:
                coefficients = np.array(total_coefficients(self.cells)[index], dtype=float)
                largest = math.ceil(math.log2(abs(number.centre) + number.radius))
                scaled = (coefficients / 2.0**largest) ** 2 @ self._cell_variances
                steps[index] = grid_of_variance(FINEST, float(scaled)) * Fraction(2) ** largest
        return tuple(steps)

    @property
    def is_whole(self) -> bool:
        """True only if noise is in the cells alone and whole, so that all sums are whole."""
        last = self.marginals.whole
        whole = list(self.measured) == [last] and self.measured[last].noise.for_whole_numbers
        return whole and not self.total_is_known and not self.contrasts

    def noise_errors(self, index: int) -> tuple[NoiseError, ...]:
        """The error of each number in a row of a table, including the rounding of the cells."""
        table = self.cells.margins[index]
        return (self.chain.error(table),) if self.chain is not None else find_errors(self, table)

    @cached_property
    def compared(self) -> dict[str, Compared]:
        """A `Compared` for each statistic that adds up, by the statistic's label."""
        releases = next(iter(self.measured.values())).compositions
        return compare_ways(self.cells, self.budget, releases, self.variances)

    def count_std(self, claim: Certificate) -> float:
        """The std of a measured table's noise in a count, or in a sum if it has no count.

        `claim` is the certificate of the table's noise.
        """
        numbers = self.measured_cells.components
        index = min(range(len(numbers)), key=lambda index: numbers[index].of_values)
        return float(numbers[index].radius) * math.sqrt(claim.noise.variance_at(index))

    def columns(self, table: int) -> list[str]:
        """The names of the columns by which a table is grouped."""
        return [self.cells.axes[i].column for i in self.marginals.axes(table)]

    def noise_record(self) -> dict[str, Any]:
        """The measured tables as JSON values, or the number of tables with noise in contrasts."""
        if self.contrasts:  # the noise of each contrast is in certificate.json
            return {"contrasts": len(self.measured)}
        chain = {} if self.chain is None else {"chain": self.chain.columns(self.cells)}
        return super().noise_record() | chain

    def describe_noise(self, unit: str = "") -> str:
        """A sentence about the measured tables, or about noise in contrasts or on the tree."""
        if self.contrasts:
            return _IN_CONTRASTS.format(count=len(self.measured))
        if self.chain is not None:
            return self.chain.in_words(self.cells)
        return super().describe_noise(
            " in a count" if len(self.measured_cells.components) > 1 else unit
        )

    @property
    def agreement(self) -> str:
        """A sentence that says from which numbers all tables are summed."""
        return AGREE if self.marginals.is_small else AGREE.replace(" of the cells", "")

    def remarks(self) -> list[str]:
        """Sentences about the most rows that are counted correctly, and about a public total.

        The first is only for queries with too many cells to read, the second only for a public
        total.
        """
        most = [] if self.marginals.has_cells else [_MOST_ROWS]
        return [*most, *([_KNOWN] if self.total_is_known else [])]


def _check_body(name: str, claim: Certificate, cells: Layout, table: int) -> None:
    """Raise CertificateRejected if the noise has the shape of another body than the table's."""
    if isinstance(claim.noise, BodyNoise) and claim.noise.body != table_body(cells, table):
        why = "its noise must have the shape of the hull of all that a unit can do"
        raise CertificateRejected(f"Query {name!r}: {why}.")
