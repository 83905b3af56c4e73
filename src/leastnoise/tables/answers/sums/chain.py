"""Whole-number noise along one order of the columns, drawn into the cells of a block with margins.

The tree is that of an order, such as sex, age, region: the total, the numbers by sex, those by sex
and age, the cells. All tables are sums of the same whole cells. A table that is no level of it has
noise as well, whose law is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.noise.question import Question
from leastnoise.noise.trees.fit import LEAST_VARIANCE, scale_to_search, search_shares
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import LevelLaw, level_laws
from leastnoise.noise.trees.sums import check_numbers, half_width_of_sum, variance_of_sum
from leastnoise.selection.public import find_candidate
from leastnoise.tables.answers.sums.margin_tables import in_one_cell, table_sensitivity
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.workloads.marginal import choose_loss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Block
    from leastnoise.guarantees.budget import Budget
    from leastnoise.mechanism.mechanism import Mechanism
    from leastnoise.tables.layout.layout import Layout

_TOTAL, _BY = "total", "x"
MOST_COLUMNS = 3
"""With which all orders are compared: 6 of them, a third of a second each. Of more columns one is,
where each table is of some of the columns that the next larger one is of."""

_SAID = (
    "Whole-number noise is drawn for the cells on a tree by {along}, so that it partly cancels in "
    "sums (agreeing, std {std:.4g} in a cell)."
)


@final
@dataclass(frozen=True, kw_only=True)
class Chain:
    """Noise of a tree whose levels take in the columns in this `order`."""

    order: tuple[int, ...]
    noise: Agreeing

    @property
    def laws(self) -> tuple[LevelLaw, ...]:
        """The law of a number of each level, the total first."""
        return level_laws(self.noise)

    def variance(self, table: int) -> float:
        """Return the variance of a number of a table."""
        variances = [one.variance for one in self.laws]
        return variance_of_sum(self.noise.branches, variances, fixed_levels(self.order, table))

    def error(self, table: int) -> NoiseError:
        """Return the error of a number of a table."""
        fixed = fixed_levels(self.order, table)
        widths = [float(half_width_of_sum(self.noise, fixed, one)) for one in PROBABILITIES]
        std = math.sqrt(self.variance(table))
        return NoiseError(std=std, half95=widths[0], half975=widths[1], half983=widths[2])

    def columns(self, cells: Layout) -> list[str]:
        """Return the columns in this order."""
        return [cells.axes[one].column for one in self.order]

    def in_words(self, cells: Layout) -> str:
        """Return what is drawn, in a sentence."""
        return _SAID.format(
            std=math.sqrt(self.noise.variance), along=_words.in_turn(self.columns(cells))
        )

    def placed(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return cells in the order of the tree, given in that of the columns; shape (cells,)."""
        back = [self.noise.branches[self.order.index(one)] for one in range(len(self.order))]
        return numbers.reshape(back).transpose(self.order).reshape(-1)

    def replaced(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Undo it."""
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return numbers.reshape(self.noise.branches).transpose(back).reshape(-1)


def draw_name(cells: Layout, columns: Sequence[int]) -> str:
    """Return what a certificate calls noise by columns: by 1 and 3 it is `block.1x3`."""
    return f"{cells.label}.{_BY.join(str(one + 1) for one in columns) or _TOTAL}"


def read_chain(cells: Layout, claims: Sequence[tuple[str, Block]]) -> Chain | None:
    """Return the chain that a block's only claim is about; None if it isn't noise of a tree.

    Raises CertificateRejected unless its name is that of an order, and its tree that of the order.
    """
    if len(claims) != 1:
        return None
    ((name, claim),) = claims
    if not isinstance(claim, Certificate) or not isinstance(claim.noise, Agreeing):
        return None
    for order in permutations(range(len(cells.axes))):
        if draw_name(cells, order) == name:
            sizes = tuple(cells.axes[one].cells for one in order)
            if claim.noise.branches != sizes or not claim.noise.even:
                break
            return Chain(order=order, noise=claim.noise)
    raise CertificateRejected(f"Query {name!r}: its tree isn't one of the columns in this order.")


def find_chain(cells: Layout, budget: Budget, releases: int = 1) -> tuple[Chain, Mechanism] | None:
    """Return the chain with the least Σ ln(variance), or largest, of the published tables, proved.

    Each of the `releases` has an equal part of ε. δ is left unspent. None unless a unit is in one
    cell, where ε is 0, where there is no order to compare (`MOST_COLUMNS`), and where the laws of
    all tables would take too long (`trees.sums`).
    """
    if not in_one_cell(cells) or not budget.epsilon:
        return None
    sensitivity = table_sensitivity(cells, 2 ** len(cells.axes) - 1)
    rows = sensitivity.rows(dimension=cells.cells)
    if rows is None:
        return None
    sizes = tuple(axis.cells for axis in cells.axes)
    scale = releases * rows.most / budget.epsilon
    best = _best_order(sizes, cells.margins, scale, rows, largest=cells.largest)
    if best is None:
        return None
    question = Question(
        budget=replace(budget, delta=Fraction(0)),
        sensitivities=(sensitivity,),
        dimension=cells.cells,
        compositions=releases,
    )
    parameters = {"branches": best.noise.branches, "shares": best.noise.shares}
    try:
        made = find_candidate(Agreeing.name, question, parameters=parameters).mechanism
        if not isinstance(made.noise, Agreeing) or made.certificate.geometry is not None:
            return None
        chain = Chain(order=best.order, noise=made.noise)
        for table in cells.margins:
            chain.error(table)
    except (Refused, InvalidArgument):  # of deep trees no law may be known well enough
        return None
    return chain, made


@lru_cache(maxsize=64)
def _best_order(
    sizes: tuple[int, ...], tables: tuple[int, ...], scale: Fraction, rows: Rows, *, largest: bool
) -> Chain | None:
    """Return the order and the shares with the least loss in floats, where a move costs 1."""
    offers: list[tuple[float, Chain]] = []
    _, real = choose_loss(largest=largest)
    narrow, one_row = scale_to_search(scale), Rows(most=1, replaced=rows.replaced)
    for order in _list_orders(len(sizes), tables):
        branches = tuple(sizes[one] for one in order)
        fixed = tuple(fixed_levels(order, table) for table in tables)
        try:
            noise = Agreeing(scale=scale, branches=branches, shares=[0] * len(sizes) + [1])
            _check_laws(noise, fixed)  # before a search that may be long
            shares = _best_shares(branches, fixed, narrow, one_row, largest=largest)
            noise = Agreeing(scale=scale, branches=branches, shares=shares)
            _check_laws(noise, fixed)
        except (NotApplicable, InvalidArgument):  # where ε is tiny no lattice is wide enough
            continue
        variances = [one.variance for one in level_laws(noise)]
        value = real(_log_variances(branches, fixed, variances))
        offers.append((value, Chain(order=order, noise=noise)))
    return min(offers, key=lambda one: one[0])[1] if offers else None


@lru_cache(maxsize=256)
def _best_shares(
    branches: tuple[int, ...],
    fixed: tuple[tuple[bool, ...], ...],
    scale: Fraction,
    rows: Rows,
    *,
    largest: bool,
) -> tuple[Fraction, ...]:
    smooth, _ = choose_loss(largest=largest)

    def loss(variances: Sequence[float]) -> float:
        return smooth(_log_variances(branches, fixed, variances))

    return search_shares(branches, scale, loss, rows=rows)


def _log_variances(
    branches: Sequence[int], fixed: Sequence[Sequence[bool]], variances: Sequence[float]
) -> list[float]:
    """Return ln of the variance of a number of each table, from variances of nodes."""
    found = (variance_of_sum(branches, variances, one) for one in fixed)
    return [math.log(max(one, LEAST_VARIANCE)) for one in found]


def _list_orders(columns: int, tables: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the orders to compare: all, or one of many columns in which each table is a level."""
    if columns <= MOST_COLUMNS:
        return list(permutations(range(columns)))
    order: list[int] = []
    for table in sorted(tables, key=int.bit_count):
        if not all(table >> one & 1 for one in order):
            return []
        order += [one for one in range(columns) if table >> one & 1 and one not in order]
    return [tuple(order)]


def _check_laws(noise: Agreeing, fixed: Sequence[Sequence[bool]]) -> None:
    """Raise NotApplicable if the law of a table that is no level would take too long."""
    if any(one != sorted(one, reverse=True) for one in map(list, fixed)):
        check_numbers(noise)


def fixed_levels(order: Sequence[int], table: int) -> tuple[bool, ...]:
    """Return in which levels of an order's tree one number of a table has one place."""
    return tuple(bool(table >> one & 1) for one in order)
