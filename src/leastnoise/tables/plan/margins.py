"""Noise for a block whose totals are published, too: which tables get it, and what that leaves.

Some tables of exact sums, not all of them published, get noise of their own, each at a share of the
block's budget; all published tables are sums of one least squares estimate of the cells. What is
weighed is Σ ln(variance) over the published tables, each as much as every other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise.calibration.several import find_gaussian
from leastnoise.certificate.certificate import Certificate
from leastnoise.design.marginals import (
    Marginals,
    best_shares,
    bound,
    gaussian_information,
    geometric_mean_std,
    log_variance,
    pure_information,
)
from leastnoise.errors import CertificateRejected, InvalidArgument, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.mechanism.accuracy import Term, deviation_of_sum, half_widths_of_sum
from leastnoise.mechanism.grid import default_grid
from leastnoise.noise.question import Question
from leastnoise.noise.trees.law import Agreeing
from leastnoise.selection.public import find_candidate
from leastnoise.tables.plan.chain import Chain, draw_name, find_chain, read_chain
from leastnoise.tables.plan.joint_budget import scale_together
from leastnoise.tables.plan.unlisted import FINEST_GRID
from leastnoise.tables.query.limits import InCells
from leastnoise.tables.query.margins import (
    in_one_cell,
    table_layout,
    table_reach,
    table_sensitivity,
)
from leastnoise.tables.statistics.base import NoiseError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Block
    from leastnoise.design.marginals import Information, Shares
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Norm
    from leastnoise.mechanism.mechanism import Mechanism
    from leastnoise.tables.query.layout import Layout

    Claims = tuple[tuple[str, Certificate], ...]
    Way = Callable[[Layout, Budget, Shares, int], list[Certificate] | None]

_FAMILIES = ("geometric", "laplace", "gaussian")
_FINEST, _STEPS = -18, -20
"""Estimates are on a grid of 2^−18, or 2^−20 of their noise: sums of 2^34 rows are floats."""
_AGREE = "All tables are sums of one estimate of the cells, and add up exactly."
_COMPARED = (
    "The geometric mean of the tables' standard deviations is {own:.4g}. With noise in the cells "
    "alone it is {cells:.4g}; with a share for each table, which don't add up, {apart:.4g}. No "
    "additive noise has less than {bound:.4g}."
)
_GAINS = 1e-3  # of Σ ln(variance): a chain of the cells alone is no less, but in the last digits
_PROBABILITIES = (0.95, 1 - 0.05 / 2, 1 - 0.05 / 3)


@final
@dataclass(frozen=True, kw_only=True)
class Margins:
    """What a block with margins publishes, and from which noise.

    `cells` is the layout of its cells, `measured` what noise each measured table gets, by mask. A
    `chain` is the order of the columns of a tree's noise, which the cells alone have then.
    """

    cells: Layout
    budget: Budget
    measured: dict[int, Certificate]
    chain: Chain | None = None

    @classmethod
    def of(
        cls,
        cells: Layout,
        budget: Budget,
        claims: Sequence[tuple[str, Block]],
        *,
        composed: bool,
    ) -> Margins:
        """Return it for a block that is released as `claims` say, which are proved or not.

        Raises CertificateRejected unless they are about tables of it, and within its budget; where
        all noise is `composed` they have its δ, and ε is a matter of all together.
        """
        names = {measured_name(cells, table): table for table in _every(cells)}
        chain = read_chain(cells, claims)
        measured = dict[int, Certificate]()
        for name, claim in claims:
            table = names.get(name) if chain is None else len(names) - 1
            if table is None or table in measured or not isinstance(claim, Certificate):
                raise CertificateRejected(f"Block {name!r}: no table of the spec has such noise.")
            families = _FAMILIES if chain is None else (Agreeing.name,)
            _check(name, claim, cells, table, families=families)
            measured[table] = claim
        if list(measured) != sorted(measured):
            raise CertificateRejected(f"The tables of {cells.name!r} aren't in order.")
        found = cls(cells=cells, budget=budget, measured=measured, chain=chain)
        for part in ("delta",) if composed else ("epsilon", "delta"):
            spent = sum((getattr(one.budget, part) for one in measured.values()), Fraction(0))
            if spent > getattr(budget, part):
                raise CertificateRejected(
                    f"The tables of {cells.name!r} spend more {part} than their share."
                )
        if not (np.isfinite(found._variances) & (found._variances > 0)).all():
            raise CertificateRejected(f"The noise of {cells.name!r} says nothing of some table.")
        return found

    @cached_property
    def marginals(self) -> Marginals:
        """The tables that are published."""
        return _marginals(self.cells)

    @cached_property
    def information(self) -> NDArray[np.float64]:
        """1/variance of each measured table's numbers, 0 of other tables."""
        found = np.zeros(len(self.marginals.every))
        for table, claim in self.measured.items():
            found[table] = 1 / claim.noise.variance
        return found

    @property
    def _variances(self) -> NDArray[np.float64]:
        if self.chain is not None:
            return np.array([self.chain.variance(table) for table in self.cells.margins])
        return self.marginals.variances(self.marginals.carried @ self.information)

    @cached_property
    def grid(self) -> Fraction:
        """What every estimate of a cell is a multiple of: a power of two, of public numbers."""
        if self.is_whole:
            return Fraction(1)
        deviation = math.sqrt(float(self._variances[0]))
        return Fraction(2) ** max(_FINEST, math.floor(math.log2(deviation)) + _STEPS)

    @property
    def is_whole(self) -> bool:
        """Whether the cells alone have noise, and it is whole: then so are all numbers."""
        last = self.marginals.every[-1]
        return list(self.measured) == [last] and self.measured[last].noise.for_whole_numbers

    def error(self, table: int) -> NoiseError:
        """Return the error of a number of a published table, rounding of the cells counted."""
        if self.chain is not None:
            return self.chain.error(table, _PROBABILITIES)
        terms = [
            Term(certificate=self.measured[measured], coefficient=coefficient, times=times)
            for measured, equal in self._made_of(table).items()
            for coefficient, times in equal
        ]
        summed = self.marginals.cells(self.marginals.every[-1]) // self.marginals.cells(table)
        step = 0.0 if self.is_whole else float(self.grid)
        widths = [one + step * summed / 2 for one in half_widths_of_sum(terms, _PROBABILITIES)]
        std = math.hypot(deviation_of_sum(terms), step * math.sqrt(summed / 12))
        return NoiseError(std=std, half95=widths[0], half975=widths[1], half983=widths[2])

    def _made_of(self, table: int) -> dict[int, list[tuple[float, int]]]:
        if self.is_whole:  # of floats that are 0 and 1 but for their rounding
            summed = self.marginals.cells(self.marginals.every[-1] & ~table)
            return {self.marginals.every[-1]: [(1.0, summed)]}
        return self.marginals.coefficients(self.information, table)

    @cached_property
    def geometric_mean(self) -> float:
        """The geometric mean of the standard deviations of the published tables."""
        return geometric_mean_std(float(np.log(self._variances).sum()), len(self.cells.margins))

    @cached_property
    def others(self) -> dict[str, float]:
        """The same of other ways to make these tables, for the same budget.

        `cells`: noise in the cells alone, summed; `apart`: a share for each table, in which they
        don't agree; `bound`: no additive noise has less, as is proved.
        """
        count = len(self.cells.margins)
        releases = next(iter(self.measured.values())).compositions
        part = self.budget.share(Fraction(1, releases))
        kinds = [_information(self.cells, part)]
        kinds += [_of_gaussians(self.cells, self.budget, releases)] if self.budget.delta else []
        whole = {self.marginals.every[-1]: Fraction(1)}
        each = np.zeros(len(self.marginals.every))
        each[tables := list(self.cells.margins)] = 1 / count
        apart = min(float(-np.log(one(each)[0][tables]).sum()) for one in kinds)
        ones = [Fraction(1)] * count
        way = self.cells.bounding
        reach = way.most if isinstance(way, InCells) else Fraction(1)
        single = self.budget if self.budget.delta else part  # at δ = 0 losses add up in a series
        least = bound(self.marginals, ones, budget=single, reach=reach)
        summed = min(log_variance(self.marginals, whole, [1.0] * count, one) for one in kinds)
        return {
            name: geometric_mean_std(value, count)
            for name, value in (("cells", summed), ("apart", apart), ("bound", least))
        }

    def columns(self, table: int) -> str:
        """Return what a table is by, for people."""
        by = [axis.column for i, axis in enumerate(self.cells.axes) if table >> i & 1]
        return "the total" if not by else _words.in_turn(by, "and")

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, all of which a certificate can confirm."""
        return {
            "measured": [
                {
                    "by": [a.column for i, a in enumerate(self.cells.axes) if table >> i & 1],
                    "epsilon": decimal_text(claim.budget.epsilon),
                    "noise": claim.noise.name,
                    "std": math.sqrt(claim.noise.variance),
                }
                for table, claim in self.measured.items()
            ],
            **({} if self.chain is None else {"chain": self.chain.columns(self.cells)}),
            "geometric_mean_std": self.geometric_mean,
            "other_ways": self.others,
        }

    def in_words(self) -> list[str]:
        """Return what noise there is, and what it is worth, in sentences."""
        drawn = [
            f"{self.columns(table)} ({claim.noise.name}, std {math.sqrt(claim.noise.variance):.4g})"
            for table, claim in self.measured.items()
        ]
        said = f"Noise is drawn for the numbers by {'; '.join(drawn)}."
        return [
            f"{said if self.chain is None else self.chain.in_words(self.cells)} {_AGREE}",
            _COMPARED.format(own=self.geometric_mean, **self.others),
        ]


@final
@dataclass(frozen=True, kw_only=True)
class Margin:
    """One published table of a block with margins."""

    whole: Margins
    table: int

    @cached_property
    def error(self) -> NoiseError:
        """The error of each of its numbers."""
        return self.whole.error(self.table)


def measured_name(cells: Layout, table: int) -> str:
    """Return what a certificate calls a measured table: by columns 1 and 3 it is `block.1x3`."""
    return draw_name(cells, [i for i in range(len(cells.axes)) if table >> i & 1])


def find_measured(cells: Layout, budget: Budget, *, pure: bool, releases: int = 1) -> Claims:
    """Return the noise of each measured table, proved; the names are as certificates have them.

    Purely private noise, whose ε add up, or, unless `pure`, Gaussian noise in all tables where that
    has less: then it is by tight composition that all `releases` together meet the `budget`. Or
    that of a chain, if all of these have more by `_GAINS`. Raises Refused if no noise serves one.
    """
    marginals, weights = _marginals(cells), [1.0] * len(cells.margins)
    kinds: list[tuple[Way, Information]] = []
    if budget.epsilon:
        kinds.append((_pure, _information(cells, budget.share(Fraction(1, releases)))))
    if budget.delta and not pure:
        kinds.append((_gaussian, _of_gaussians(cells, budget, releases)))
    offers: list[tuple[float, Way, Shares]] = []
    for way, information in kinds:
        shares = best_shares(marginals, weights, information)
        offers.append((log_variance(marginals, shares, weights, information), way, shares))
    chain = find_chain(cells, budget, releases)
    if chain is not None:
        along, made = chain
        variances = [along.variance(table) for table in cells.margins]
        least = min((value for value, *_ in offers), default=math.inf)
        # beyond ε = 35 they are 0 as floats, and tell nothing
        if min(variances) > 0 and float(np.log(variances).sum()) < least - _GAINS:
            return ((draw_name(cells, along.order), _on_grid(cells, made)),)
    for _, way, shares in sorted(offers, key=lambda one: one[0]):
        found = way(cells, budget, shares, releases)
        if found is not None:
            return tuple(
                (measured_name(cells, table), claim)
                for table, claim in zip(shares, found, strict=True)
            )
    raise Refused(
        f"The query {cells.label!r}: no noise is proved for tables with margins at this part of "
        "the budget. Raise epsilon."
    )


def _pure(cells: Layout, budget: Budget, shares: Shares, times: int) -> list[Certificate]:
    """Return noise that is purely private in each table, at its share of ε."""
    family = "geometric" if in_one_cell(cells) else "laplace"
    whole = replace(budget, delta=Fraction(0))
    return [
        _on_grid(cells, _candidate(family, cells, table, whole.share(share), times=times))
        for table, share in shares.items()
    ]


def _gaussian(
    cells: Layout, budget: Budget, shares: Shares, times: int
) -> list[Certificate] | None:
    """Return Gaussian noise that meets the budget together; None if that isn't proved.

    Of 1/variance each table has its share, where a unit moves all by as much.
    """
    if len(shares) == 1:
        return None
    try:
        alone = tuple(
            _candidate("gaussian", cells, table, budget.share(share), times=times)
            for table, share in shares.items()
        )
    except Refused:
        return None
    wanted = [_reach(cells, table, "l2") / math.sqrt(share) for table, share in shares.items()]
    own = [float(one.noise.scale) for one in alone]
    scaled = scale_together(budget, alone, [a / b for a, b in zip(wanted, own, strict=True)])
    return None if scaled is None else [_on_grid(cells, one) for one in scaled]


def _candidate(family: str, cells: Layout, table: int, budget: Budget, *, times: int) -> Mechanism:
    question = Question(
        budget=budget,
        sensitivities=(table_sensitivity(cells, table),),
        dimension=table_layout(cells, table).cells,
        compositions=times,
    )
    try:
        return find_candidate(family, question).mechanism
    except (Refused, InvalidArgument) as error:
        raise Refused(f"The query {cells.label!r}: {error}") from None


def _on_grid(cells: Layout, made: Mechanism) -> Certificate:
    stated = made.certificate.about(cells.neighbours)
    return stated.on_grid(max(default_grid(made.noise), FINEST_GRID))


def _information(cells: Layout, budget: Budget) -> Information:
    reaches = np.array([_reach(cells, table, "l1") for table in _every(cells)])
    whole = np.full(len(reaches), in_one_cell(cells))
    return pure_information(float(budget.epsilon), reaches, whole=whole)


def _of_gaussians(cells: Layout, budget: Budget, releases: int) -> Information:
    reaches = np.array([_reach(cells, table, "l2") for table in _every(cells)])
    return gaussian_information(float(find_gaussian(budget).scale) * releases**0.5, reaches)


def _reach(cells: Layout, table: int, norm: Norm) -> float:
    """Return the most that a unit moves a table by."""
    if norm == "l1":
        return float(table_reach(cells, table))
    numbers = table_layout(cells, table).cells
    return float(table_sensitivity(cells, table).radius(norm, dimension=numbers) or math.inf)


def _marginals(cells: Layout) -> Marginals:
    return Marginals(sizes=tuple(axis.cells for axis in cells.axes), tables=cells.margins)


def _every(cells: Layout) -> range:
    return range(2 ** len(cells.axes))


def _check(
    name: str, claim: Certificate, cells: Layout, table: int, *, families: Sequence[str]
) -> None:
    """Raise CertificateRejected unless it is about noise in this table's exact sums."""
    fits = (
        (claim.dimension == table_layout(cells, table).cells, "it has other numbers than the spec"),
        (claim.sensitivity == table_sensitivity(cells, table), "a unit moves its table otherwise"),
        (claim.neighbours == cells.neighbours, f"it isn't about {cells.neighbours} neighbours"),
        (claim.sampling_rate == 1, "it is about samples, the release is of all rows"),
        (claim.grid is not None, "it has no grid, which every release is rounded to"),
        (
            claim.geometry is None or claim.geometry.kind == "cells",
            "noise is alike in all numbers of a table",
        ),
        (claim.noise.name in families, "no such noise is in tables with margins"),
    )
    for fit, why in fits:
        if not fit:
            raise CertificateRejected(f"Block {name!r}: {why}.")
