"""Tables by levels and other columns: their estimates from noisy tables, and all errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.certificate.certificate import Certificate
from leastnoise.mechanism.accuracy import Term, half_widths_of_sum
from leastnoise.tables.answers.sums.measured_sums import FINEST, grid_of_variance
from leastnoise.tables.layout.layout import INT64_END
from leastnoise.workloads.laplace_sums import half_width_of_laplace_sum
from leastnoise.workloads.nested import Nested

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WHOLE = "geometric"
_ALIKE = 1e-9


@final
@dataclass(frozen=True, kw_only=True)
class NestedStrategy:
    """Noise of one family in the `measured` tables, as a `Strategy` for all published tables.

    `measured` has the certificates, by the table numbers of `workloads.nested`. Methods take a
    published `table` as its index in `nested.tables`. `columns_before` is a bit mask of the other
    columns that come before the level's column in a table. A node is a value of a level, such as a
    region.
    """

    nested: Nested
    measured: Mapping[int, Certificate]
    columns_before: int

    @cached_property
    def information(self) -> Floats:
        """The inverse variance of the noise in each possible table; 0 if it isn't measured."""
        information = np.zeros(len(self.nested.every))
        for table, claim in self.measured.items():
            information[table] = 1 / claim.noise.variance
        return information

    @cached_property
    def unrounded(self) -> list[Floats]:
        """For each published table, the variance of a number at each node of its level.

        It doesn't include rounding.
        """
        return self.nested.row_variances(self.information)

    @property
    def family(self) -> str:
        """The name of the family of the noise, which is the same in all tables."""
        return next(iter(self.measured.values())).noise.name

    @property
    def is_whole(self) -> bool:
        """True if one table has whole-number noise, and all published tables are sums of it."""
        return self.family == WHOLE

    @property
    def finest(self) -> int:
        """The number of the table from which all published tables are summed.

        It is the table with whole-number noise, or else the table of the cells.
        """
        return next(iter(self.measured)) if self.is_whole else self.nested.every[-1]

    @cached_property
    def grid(self) -> Fraction:
        """The number to whose multiples the estimates in the table `finest` are rounded.

        It is a power of two, which follows from public numbers.
        """
        if self.is_whole:
            return Fraction(1)
        return grid_of_variance(FINEST, min(float(rows.min()) for rows in self.unrounded))

    # Each of n measured numbers has noise with standard deviation s and is rounded to a grid g.
    # This moves a number with standard deviation d by at most (d/2)·√Σ(g/s)² (Cauchy-Schwarz), and
    # adds d² max(g/s)²/12 to its variance. The numbers of the finest table are also rounded to the
    # grid of the counts.

    @cached_property
    def _steps(self) -> list[tuple[int, float]]:
        """For each measured table: its number of cells, and (grid step)/(std of its noise)."""
        return [
            (claim.dimension, float(claim.grid or 0) / math.sqrt(claim.noise.variance))
            for claim in self.measured.values()
        ]

    def _variance_of_nodes(self, table: int) -> Floats:
        if self.is_whole:
            return self.unrounded[table]
        finest = max(ratio for _, ratio in self._steps)
        rounded = self.terms(table, self.finest) * float(self.grid) ** 2 / 12
        return self.unrounded[table] * (1 + finest**2 / 12) + rounded

    def variance(self, table: int) -> Floats:
        """The variance of each number of a table, including rounding."""
        return self._of_rows(table, self._variance_of_nodes(table))

    def half_widths(self, table: int, probabilities: Sequence[float]) -> list[Floats]:
        """The half-widths of a table's numbers: an array for each of the `probabilities`.

        With at least this probability, the error of a number is at most its half-width.
        """
        roundings = self.terms(table, self.finest)
        if self.is_whole:
            widths = self._whole_widths(roundings, probabilities)
        else:
            shift = math.sqrt(sum(count * ratio**2 for count, ratio in self._steps)) / 2
            widths = [
                np.sqrt(self.unrounded[table]) * (factor + shift) + float(self.grid) * roundings / 2
                for factor in self._factors(table, probabilities)
            ]
        return [self._of_rows(table, width) for width in widths]

    def is_alike(self, table: int) -> bool:
        """True if all numbers of a table have the same standard deviation, up to 1e-9 of it."""
        stds = np.sqrt(self._variance_of_nodes(table))
        return bool(np.ptp(stds) <= _ALIKE * stds.max())

    def terms(self, table: int, of: int) -> Floats:
        """For each node of a table's level, how many terms a number at this node has.

        The terms are numbers of the table `of`, which is a table number of `workloads.nested`.
        """
        nested = self.nested
        (level, _), (lowest, _) = nested.split(nested.tables[table]), nested.split(of)
        per_node = nested.cells(of) // nested.counts[lowest]
        terms = per_node // (nested.cells(nested.tables[table]) // nested.counts[level])
        return (terms * nested.nodes_below(level, lowest)).astype(float)

    def _whole_widths(self, counts: Floats, probabilities: Sequence[float]) -> list[Floats]:
        """The half-widths of sums of numbers with whole-number noise.

        `counts` has the number of terms at each node. The result has an array for each probability.
        """
        (claim,) = self.measured.values()
        distinct, places = np.unique(counts, return_inverse=True)
        terms = [Term(certificate=claim, coefficient=1.0, times=int(count)) for count in distinct]
        widths = np.array([half_widths_of_sum([term], probabilities) for term in terms])
        return [*widths[places.reshape(-1)].T]

    def _factors(self, table: int, probabilities: Sequence[float]) -> list[float]:
        """For each probability, an upper bound on half-width/std of the numbers of a table."""
        if self.family == "gaussian":
            return [NormalDist().inv_cdf((1 + p) / 2) for p in probabilities]
        largest = self.nested.largest_part(self.information, self.nested.tables[table])
        return [half_width_of_laplace_sum(p, largest) for p in probabilities]

    # The methods below compute the measured tables, then the finest table, then all tables.

    def place(self, cells: NDArray[Any]) -> list[NDArray[np.int64]]:
        """The exact numbers of each measured table, summed from the exact `cells`.

        Sums saturate at the range of int64, which never increases their shift by a unit.
        """
        last = self.nested.every[-1]
        exact = self._nodes_first(cells.astype(object), last)
        sums = (self.nested.sums(exact, table, of=last) for table in self.measured)
        return [
            np.clip(numbers, 1 - INT64_END, INT64_END - 1).reshape(-1).astype(np.int64)
            for numbers in sums
        ]

    def estimate(self, noisy: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The numbers of the finest table, given the noisy numbers of each measured table."""
        if self.is_whole:
            (numbers,) = noisy
            return numbers
        measured = dict(zip(self.measured, noisy, strict=True))
        return self.nested.estimate(self.information, measured)

    def add_up(self, finest: NDArray[Any], table: int) -> NDArray[Any]:
        """The numbers of a table in the order of its rows, summed from the finest table."""
        number = self.nested.tables[table]
        sums = self.nested.sums(finest, number, of=self.finest)
        return np.moveaxis(sums, 0, self._place_of_nodes(number)).reshape(-1)

    def sum_shared(self, rows: NDArray[Any], table: int, shared: int) -> NDArray[Any]:
        """Sum the `rows` of a `table` to the smaller table with the number `shared`."""
        number = self.nested.tables[table]
        return self.nested.sums(self._nodes_first(rows, number), shared, of=number).reshape(-1)

    def _of_rows(self, table: int, by_node: Floats) -> Floats:
        """Repeat the value of each node for all rows of a table at this node, in row order."""
        number = self.nested.tables[table]
        shape = self.nested.shape(number)
        columns = np.ones(len(shape), dtype=int)
        columns[0] = -1
        values = np.broadcast_to(by_node.reshape(columns), shape)
        return np.moveaxis(values, 0, self._place_of_nodes(number)).reshape(-1)

    def _nodes_first(self, rows: NDArray[Any], number: int) -> NDArray[Any]:
        """The rows of a table as an array with an axis for each column.

        The level's axis is the first.
        """
        axis = self._place_of_nodes(number)
        nodes, *others = self.nested.shape(number)
        others.insert(axis, nodes)
        return np.moveaxis(rows.reshape(others), axis, 0)

    def _place_of_nodes(self, number: int) -> int:
        """The index of the level's column among a table's columns; 0 if the table has no level."""
        level, mask = self.nested.split(number)
        return (mask & self.columns_before).bit_count() if level else 0
