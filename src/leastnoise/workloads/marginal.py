"""Tables that add up, from noise in some of them: the least squares estimate and its variances.

Notation: attribute i has n_i keys, i = 1 … d. A table is the set of attributes by which it is
grouped, as a bit mask. 0 is the total and 2^d − 1 the table of all cells. N is the number of all
cells, and x the array of the cells. n_B is the product of n_i, and r_B the product of n_i − 1, over
the attributes i of table B. P_A is a projection, and P_A x is the part of table A that tables by
fewer attributes lack. τ_M is 1/variance of a number of the measured table M, and 0 if M isn't
measured. θ_A is the sum of τ_M N/n_M over all M ⊇ A, the information about P_A x. v_B is the
variance of a number of the published table B. Proofs: theory/marginals.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.workloads.lattice import TableLattice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_COLUMNS = 6  # up to 6 columns, all tables may be measured: there are at most 2^6 = 64
MOST_CELLS = 2**16


@final
@dataclass(frozen=True, kw_only=True)
class Marginals(TableLattice):
    """The published `tables` by any of several attributes, as distinct bit masks.

    `sizes` are the numbers of keys of the attributes. With `total_is_known` the sum of all cells is
    public, and gets no noise.
    """

    @property
    def whole(self) -> int:
        """The bit mask of the table by all attributes, whose numbers are the cells."""
        return 2 ** len(self.sizes) - 1

    @property
    def has_cells(self) -> bool:
        """True if the cells are few enough to be read, and to have noise."""
        return self.cells(self.whole) <= MOST_CELLS

    @property
    def is_small(self) -> bool:
        """True if there are few enough cells to estimate all; then every table may be measured."""
        return len(self.sizes) <= MOST_COLUMNS and self.has_cells

    @cached_property
    def every(self) -> tuple[int, ...]:
        """All tables that may be measured, the cells last.

        If there are many columns or cells, these are only the published tables, their sums, and the
        cells.
        """
        if self.is_small:
            return tuple(range(self.whole + 1))
        below = {0}
        for table in self.tables:
            part = table
            while part:
                below.add(part)
                part = (part - 1) & table
        return (*sorted(below - {self.whole}), self.whole)

    @cached_property
    def places(self) -> dict[int, int]:
        """The index of each table in `every`."""
        return {table: index for index, table in enumerate(self.every)}

    def rank(self, table: int) -> int:
        """The number of attributes by which a table is grouped."""
        return table.bit_count()

    def axes(self, table: int) -> tuple[int, ...]:
        """The attributes by which a table is grouped, in order."""
        return tuple(i for i in range(len(self.sizes)) if table >> i & 1)

    def cells(self, table: int) -> int:
        """The number of cells of a table: the product of its attributes' numbers of keys."""
        return math.prod(self.sizes[i] for i in self.axes(table))

    def contrasts(self, table: int) -> int:
        """The number of contrasts of a table: the product of n_i − 1 over its attributes i."""
        return math.prod(self.sizes[i] - 1 for i in self.axes(table))

    @cached_property
    def within(self) -> NDArray[np.bool_]:
        """True where table A ⊆ B, so that A is a sum of B; shape (every table A, every table B)."""
        masks = np.array(self.every)
        return (masks[:, None] & masks[None, :]) == masks[:, None]

    def has_noise(self, table: int) -> bool:
        """True unless the only number of a table is the known total, which has no noise."""
        return not self.total_is_known or self.cells(table) > 1

    def with_noise(self) -> Marginals:
        """A copy without published tables whose only number is the known total."""
        return replace(self, tables=tuple(filter(self.has_noise, self.tables)))

    def cell_variance(self, theta: Floats) -> float:
        """The variance of the estimate of a cell, given θ for every table.

        A part P_A x with θ_A = 0 isn't estimated and contributes nothing.
        """
        contrasts = np.array([self.contrasts(table) for table in self.every], dtype=float)
        estimated = theta > 0
        estimated[0] &= not self.total_is_known
        cells = self.cells(self.whole)
        return float((contrasts[estimated] / theta[estimated]).sum() / cells)

    def coefficients(self, information: Floats, published: int) -> dict[int, list[_Equal]]:
        """The coefficients of measured numbers in the estimate of one number of a published table.

        `information` is τ for every table. The result has, for each measured table (τ > 0), pairs
        of a coefficient and the number of measured numbers that have it. A coefficient depends only
        on the attributes on which the measured number agrees with the published one.
        """
        tau: list[float] = information.tolist()
        theta: list[float] = (self.carried @ information).tolist()
        coefficients: dict[int, list[_Equal]] = {}
        for measured, information_of_it in zip(self.every, tau, strict=True):
            if information_of_it <= 0:
                continue
            both = published & measured
            parts = [part for part in self.every if part & both == part]
            coefficients[measured] = [
                (information_of_it * self._entry(theta, published, measured, equal), times)
                for equal in parts
                if (times := self.cells(measured & ~published) * self.contrasts(both & ~equal))
            ]
        return coefficients

    def _entry(self, theta: Sequence[float], published: int, measured: int, equal: int) -> float:
        """The covariance of the estimates of a published and a measured number.

        The two numbers have the same keys of the attributes in `equal`, a bit mask, and different
        keys of all others that both tables have. With S_B and S_M the matrices that sum the cells
        to the two tables, it is an entry of Σ_A (S_B P_A S_Mᵀ)/θ_A.
        """
        both = published & measured
        outside = math.prod(self.sizes[i] for i in self.axes(~(published | measured)))
        total = 0.0
        for part in self._estimated(both):
            entry = float(outside)
            for i in self.axes(both):
                known = (equal >> i & 1) - 1 / self.sizes[i]
                entry *= known if part >> i & 1 else 1 / self.sizes[i]
            total += entry / theta[self.places[part]]
        return total

    def _estimated(self, table: int) -> Iterator[int]:
        """Yield the tables A ⊆ `table` for which P_A x has to be estimated."""
        first = 1 if self.total_is_known else 0
        return (part for part in self.every[first:] if part & table == part)

    def components(
        self, information: Floats, measured: Mapping[int, Floats], *, total: float = 0.0
    ) -> Components:
        """The least squares estimates of P_A x, for each table A with θ_A > 0.

        P_A x is the part of table A that tables by fewer attributes lack. Its array has an axis for
        each attribute of A, and its numbers add up to 0 along each axis. `information` is τ for
        every table, and `measured` holds the noisy numbers of each table with τ > 0, its axes in
        order. If the sum of all cells is known, it is `total`, and the array for A = 0.
        """
        theta, cells = self.carried @ information, self.cells(self.whole)
        components: Components = {0: np.full((), total)} if self.total_is_known else {}
        for part in self._estimated(self.whole):
            inverse = theta[self.places[part]]
            if inverse <= 0:
                continue
            summed = np.zeros([self.sizes[i] for i in self.axes(part)])
            for table, values in measured.items():
                if table & part == part:
                    axes = self.axes(table)
                    placed = values.reshape([self.sizes[i] for i in axes])
                    others = tuple(axis for axis, i in enumerate(axes) if not part >> i & 1)
                    factor = float(information[self.places[table]])
                    factor *= self.cells(part) / self.cells(table)
                    summed += factor * placed.sum(axis=others)
            for axis in range(summed.ndim):
                summed -= summed.mean(axis=axis, keepdims=True)
            components[part] = summed * (cells / self.cells(part)) / inverse
        return components

    def table(self, components: Components, table: int) -> Floats:
        """The numbers of a table from `components`, with an axis for each of its attributes."""
        axes = self.axes(table)
        numbers = np.zeros([self.sizes[i] for i in axes])
        for part, values in components.items():
            if part & table == part:
                shape = [self.sizes[i] if part >> i & 1 else 1 for i in axes]
                numbers += values.reshape(shape) / (self.cells(table) / self.cells(part))
        return numbers

    def estimate(
        self, information: Floats, measured: Mapping[int, Floats], *, total: float = 0.0
    ) -> Floats:
        """The least squares estimate of all cells, shape `sizes`: see `components`."""
        return self.table(self.components(information, measured, total=total), self.whole)


_Equal = tuple[float, int]
Components = dict[int, "Floats"]
"""For each table A the array P_A x: the part of A that tables by fewer attributes lack."""


# The search for the shares of the budget that measured tables get.
#
# notation: w_B is the weight of the published table B, and ω_M the share of the budget that the
# measured table M gets. Proofs: theory/marginals.md.


Information = Callable[["Floats"], tuple["Floats", "Floats"]]
"""A function from the shares ω of all measurable tables to their τ and derivatives dτ/dω."""
Loss = Callable[["Floats"], tuple[float, "Floats"]]
"""A function from the ln v_B of all published tables to the loss of a search and its gradient."""
Shares = dict[int, Fraction]
"""Shares of the measured tables; they add up to 1."""
_Total = Callable[[Iterable[float]], float]
POWERS = (8, 512)
"""Powers of the power means that replace the largest variance in successive searches."""

PARTS = 1000
"""Shares are multiples of 1/PARTS."""
_SCATTERED = 32  # additional starts, since the largest variance has many local optima


def best_shares(
    marginals: TableLattice, weights: Sequence[float] | None, information: Information
) -> Shares:
    """Search for the shares of measured tables that make the variances of published tables small.

    The objective is Σ w_B ln v_B, where w_B is the weight and v_B the variance of table B. Without
    `weights` it is the largest ln v_B. `information` computes 1/variance from shares. Tables that
    aren't published may be measured, too. Several starts each lead to a local optimum. The best
    start or optimum is returned, rounded to multiples of 1/`PARTS`.
    """
    offers, losses = (
        _list_starts(marginals),
        [partial(smooth_largest, power=power) for power in POWERS],
    )
    if weights is None:
        offers += _scatter(marginals)
    else:
        losses = [partial(_weighted, weights=np.array(weights, dtype=float))]
    for start in offers.copy():
        shares = start
        for loss in losses:
            shares = _descend(marginals, shares, loss, information)
            offers.append(shares)
    rounded = [whole_parts(start, marginals.every) for start in offers]
    return min(rounded, key=lambda shares: log_variance(marginals, shares, weights, information))


def log_variance(
    marginals: TableLattice,
    shares: Mapping[int, Fraction],
    weights: Sequence[float] | None,
    information: Information,
) -> float:
    """The objective of `best_shares` at these shares.

    It is Σ w_B ln v_B, where w_B is the weight and v_B the variance of table B. Without `weights`
    it is the largest ln v_B.
    """
    given = np.array([float(shares.get(table, 0)) for table in marginals.every])
    logs = np.log(marginals.variances(marginals.carried @ information(given)[0]))
    return float(logs.max() if weights is None else np.array(weights) @ logs)


def smooth_largest(logs: Floats, power: int) -> tuple[float, Floats]:
    """The ln of the power mean of variances, given their logarithms `logs`, and its gradient."""
    parts = np.exp(power * (logs - logs.max()))
    return float(logs.max() + np.log(parts.mean()) / power), parts / parts.sum()


def choose_loss(*, largest: bool) -> tuple[Callable[[Sequence[float]], float], _Total]:
    """Choose the loss of a search, and the value by which its results are ranked.

    Both are functions of the logarithms of several variances. By default both are their sum. If
    `largest`, the loss is the ln of a power mean of the variances, which is smooth, and the value
    is the largest logarithm.
    """
    if not largest:
        return math.fsum, math.fsum
    return lambda logs: smooth_largest(np.array(logs), POWERS[-1])[0], max


def _weighted(logs: Floats, weights: Floats) -> tuple[float, Floats]:
    return float(weights @ logs), weights


def pure_information(epsilon: float, reaches: Floats, *, whole: NDArray[np.bool_]) -> Information:
    """The `Information` of ε-private noise, if a unit moves each table by its reach in l1.

    It is a function from shares to τ = 1/variance and its derivatives. Let ω be a table's share of
    ε. Where `whole` is True the numbers are whole, and the noise is geometric with τ = 2 sinh²(ε
    ω/(2·reach)). Elsewhere it is Laplace noise with τ = (ε ω/reach)²/2.
    """

    def information(shares: Floats) -> tuple[Floats, Floats]:
        each = epsilon / reaches
        half = np.minimum(each * shares / 2, 300.0)  # with more there is practically no noise
        geometric = 2 * np.sinh(half) ** 2, each * np.sinh(2 * half)
        laplace = 2 * half**2, 2 * each * half
        return np.where(whole, geometric[0], laplace[0]), np.where(whole, geometric[1], laplace[1])

    return information


def gaussian_information(sigma: float, reaches: Floats) -> Information:
    """The `Information` of Gaussian noise, if a unit moves each table by its reach in l2.

    It is a function from shares to 1/variance and its derivatives. For a table with the share ω,
    1/variance is ω/(σ·reach)². `sigma` is σ, the standard deviation of noise that hides an l2 shift
    of 1 with the whole budget. The shares of several tables add up, as their 1/σ² do.
    """
    each = 1 / (sigma * reaches) ** 2
    return lambda shares: (each * shares, each)


def _list_starts(marginals: TableLattice) -> list[Floats]:
    """Starts of the search for shares: each gives equal shares to a set of tables.

    The sets are: the published tables; all tables; the cells with at most one other table; the
    cells with all tables of one rank. If there are many columns or cells, they are: the published
    tables; all tables but the cells; and, if `has_cells`, the cells with or without the published
    tables.
    """
    last = len(marginals.every) - 1
    depth = marginals.rank(marginals.every[last])
    published = tuple(marginals.places[table] for table in marginals.tables)
    groups: list[tuple[int, ...]] = [published]
    if marginals.is_small:
        groups += [(last,), tuple(range(last + 1)), *((table, last) for table in range(last))]
        groups += [
            (*(table for table in marginals.every if marginals.rank(table) in {level, depth}),)
            for level in range(depth)
        ]
    else:
        groups.append(tuple(range(last)))
        groups += [(last,), (*published, last)] if marginals.has_cells else []
    starts = np.zeros((len(groups), last + 1))
    for index, group in enumerate(groups):
        starts[index, list(group)] = 1 / len(group)
    return list(np.unique(starts, axis=0))


def _scatter(marginals: TableLattice) -> list[Floats]:
    """Starts of the search for shares, spread evenly by multiples of the golden ratio."""
    tables = len(marginals.every)
    places = np.arange(1, _SCATTERED * tables + 1) * ((math.sqrt(5) - 1) / 2)
    scattered = -np.log(places % 1).reshape(_SCATTERED, tables)
    if not marginals.is_small:
        scattered = scattered[:2]
        scattered[:, -1] *= marginals.has_cells
    return list(scattered / scattered.sum(axis=1, keepdims=True))


def _descend(
    marginals: TableLattice, shares: Floats, loss: Loss, information: Information
) -> Floats:
    """Find a local optimum of the loss near `shares`: 0 stays 0, and shares under .005 become 0."""
    from scipy.optimize import minimize  # noqa: PLC0415 (half a second, paid for where it is used)

    def objective(logs: Floats, kept: NDArray[np.intp]) -> tuple[float, Floats]:
        parts = _softmax(logs)
        given = np.zeros(len(marginals.every))
        given[kept] = parts
        tau, slope = information(given)
        theta = marginals.carried @ tau
        variances = marginals.variances(theta)
        if not np.isfinite(variances).all():
            return 1e300, np.zeros_like(logs)  # some table isn't determined
        above_0 = theta > 1e-150  # the square of 1/θ is then a float
        inverse = np.divide(1.0, theta, out=np.zeros_like(theta), where=above_0)
        value, slopes = loss(np.log(variances))
        of_theta = -((slopes / variances) @ marginals.spread) * inverse**2
        of_parts = ((of_theta @ marginals.carried) * slope)[kept]
        return value, parts * (of_parts - of_parts @ parts)

    while (count := np.count_nonzero(shares)) > 1:
        kept = np.flatnonzero(shares)
        start = np.log(shares[kept])
        optimum = minimize(objective, start, args=(kept,), jac=True, method="L-BFGS-B").x
        shares = np.zeros_like(shares)
        shares[kept] = _softmax(optimum)
        shares[shares < 0.005] = 0.0  # a table that would be measured with less is left out
        shares /= shares.sum()
        if np.count_nonzero(shares) == count:
            break
    return shares


def _softmax(logs: Floats) -> Floats:
    parts = np.exp(logs - logs.max())
    return parts / parts.sum()


def whole_parts(shares: Floats, every: Sequence[int], most: int = PARTS) -> Shares:
    """Round shares down to multiples of 1/`most`; the largest share takes the rest."""
    parts = {i: int(shares[i] * most) for i in np.flatnonzero(shares).tolist()}
    largest = max(parts, key=lambda key: (parts[key], key))
    parts[largest] += most - sum(parts.values())
    return {every[index]: Fraction(part, most) for index, part in parts.items() if part}


def geometric_mean_std(log_variance: float, tables: int) -> float:
    """The geometric mean of the stds of `tables` tables, given the sum of their ln variances."""
    return math.exp(log_variance / 2 / tables)
