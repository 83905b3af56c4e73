"""Noise for a block whose totals are published, too: which tables get it, and what that leaves.

Some tables of exact sums, not all of them published, get noise of their own, each at a share of the
block's budget; all published tables are sums of one least squares estimate of the cells. What is
weighed is Σ ln(variance) over the published tables, each as much as every other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.exact import decimal_text
from leastnoise.mechanism.accuracy import Term, deviation_of_sum, half_widths_of_sum
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.tables.answers.sums.chain import Chain, read_chain
from leastnoise.tables.answers.sums.margin_queries import (
    added_up,
    contrasts_sensitivity,
    made_of,
    marginals_of,
    measured_layout,
    places_of,
    table_body,
    table_layout,
    table_sensitivities,
)
from leastnoise.tables.answers.sums.measured import (
    FOR_THE_LARGEST,
    compare_ways,
    has_contrasts,
    measured_name,
    pure_family,
    weights_of,
)
from leastnoise.tables.answers.sums.whole_counts import WholeCounts, along_columns
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.spec.query import LARGEST
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.tables.statistics.fieller import UP_TO_1
from leastnoise.workloads.contrasts import component, squared_reach, variance_of_component

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Block
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.sums.measured import Compared
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import Component
    from leastnoise.workloads.marginal import Components, Marginals

    Floats = NDArray[np.float64]

FINEST, _STEPS = -18, -20
"""Estimates are on a grid of 2^−18, or 2^−20 of their noise: sums of 2^34 rows are floats."""
_FINER = 2**6  # without cells, where a number is the sum of as many roundings as its table has
_MOVED = 3  # halves of a step that a cell is off by where all cells have to add up to a known total
AGREE = "All tables are sums of one estimate of the cells, and add up exactly."
_IN_CONTRASTS = (
    "Gaussian noise is drawn for the contrasts of {count} tables: for the part of each "
    "that tables by fewer columns lack."
)
_MOST_ROWS = "Counts are right up to 2^32 rows in all."
_KNOWN = (
    "Every row is in a cell, so that the total is the number of rows. It is public where a row is "
    "replaced: it is published without noise, and costs nothing."
)


@final
@dataclass(frozen=True, kw_only=True)
class Margins:
    """What a block with margins publishes, and from which noise.

    `cells` is the layout of its cells, `drawn` that of the measured numbers of these, and
    `measured` what noise each measured table gets in sums of them, by mask. A `chain` is the order
    of the columns of a tree's noise, which the cells alone have then. With `contrasts` the noise is
    in the part of each measured table that tables by fewer columns lack: see `workloads.contrasts`.
    """

    cells: Layout
    budget: Budget
    measured: dict[int, Certificate]
    chain: Chain | None = None
    contrasts: bool = False

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
        drawn = measured_layout(cells)
        marginals = marginals_of(cells)
        names, contrasts = (
            {measured_name(cells, one, contrasts=kind): one for one in marginals.every}
            for kind in (False, True)
        )
        in_contrasts = bool(claims) and claims[0][0] in contrasts and has_contrasts(drawn)
        names = contrasts if in_contrasts else names
        chain = read_chain(drawn, claims) if marginals.is_small else None
        measured = dict[int, Certificate]()
        for name, claim in claims:
            table = names.get(name) if chain is None else marginals.whole
            if table is None or table in measured or not isinstance(claim, Certificate):
                raise CertificateRejected(f"Query {name!r}: no table of the spec has such noise.")
            if table == marginals.whole and not marginals.has_cells:
                raise CertificateRejected(f"Query {name!r}: its cells are too many for noise.")
            if in_contrasts:
                dimension, moves = marginals.contrasts(table), contrasts_sensitivity(drawn, table)
                check_claim(name, claim, drawn, dimension, (moves,), families=("gaussian",))
            else:
                pure = (pure_family(drawn), "gaussian")
                families = pure if chain is None else (chain.noise.name,)
                dimension = table_layout(drawn, table).dimension
                moves = table_sensitivities(drawn, table)
                check_claim(name, claim, drawn, dimension, moves, families=families)
                _check_body(name, claim, drawn, table)
            measured[table] = claim
        if list(measured) != sorted(measured):
            raise CertificateRejected(f"The tables of {cells.name!r} aren't in order.")
        found = cls(
            cells=cells, budget=budget, measured=measured, chain=chain, contrasts=in_contrasts
        )
        for part in ("delta",) if composed else ("epsilon", "delta"):
            spent = sum((getattr(one.budget, part) for one in measured.values()), Fraction(0))
            if spent > getattr(budget, part):
                raise CertificateRejected(
                    f"The tables of {cells.name!r} spend more {part} than their share."
                )
        noisy = [found.marginals.has_noise(one) for one in cells.margins]
        variances = found._variances[:, noisy]
        if not (np.isfinite(variances) & (variances > 0)).all():
            raise CertificateRejected(f"The noise of {cells.name!r} says nothing of some table.")
        return found

    @cached_property
    def drawn(self) -> Layout:
        """The layout of the measured numbers of the cells."""
        return measured_layout(self.cells)

    @cached_property
    def marginals(self) -> Marginals:
        """The tables that are published."""
        return marginals_of(self.cells)

    @cached_property
    def information(self) -> Floats:
        """1/variance in each table, 0 of those that aren't measured; shape (numbers, tables).

        Of noise in contrasts 1/variance of a contrast whose squares add up to 1.
        """
        marginals = self.marginals
        found = np.zeros((len(self.drawn.components), len(marginals.every)))
        for table, claim in self.measured.items():
            place = marginals.places[table]
            found[:, place] = [1 / claim.noise.variance_at(one) for one in range(len(found))]
            if self.contrasts:
                sizes = self.sizes(table)
                found[:, place] *= float(squared_reach(sizes)) / variance_of_component(sizes)
        return found

    @cached_property
    def _theta(self) -> list[Floats]:
        """θ of each measured number: see `workloads.marginal`."""
        carried = self.marginals.carried
        if self.contrasts:
            return [carried.diagonal() * information for information in self.information]
        return [carried @ information for information in self.information]

    @cached_property
    def _variances(self) -> Floats:
        """The variance of each measured number in each published table."""
        if self.chain is not None:
            return np.array([[self.chain.variance(table) for table in self.cells.margins]])
        return np.array([self.marginals.variances(one) for one in self._theta])

    def sizes(self, table: int) -> list[int]:
        """Return the numbers of keys of the columns that a table is by."""
        return [self.marginals.sizes[i] for i in self.marginals.axes(table)]

    def components(
        self, noisy: Mapping[int, Floats], number: int, *, total: float = 0.0
    ) -> Components:
        """Return the estimates of what tables show, from the noisy numbers of measured ones."""
        if not self.contrasts:
            return self.marginals.components(self.information[number], noisy, total=total)
        components = {
            table: component(values, self.sizes(table)) for table, values in noisy.items()
        }
        return components | ({0: np.full((), total)} if self.total_is_known else {})

    @cached_property
    def _cell_variances(self) -> Floats:
        """The variance of each measured number in the estimate of a cell, published or not."""
        marginals = self.marginals
        if self.chain is not None:
            return np.array([self.chain.noise.variance])
        if not marginals.is_small:  # no cell is estimated: the tables are rounded
            noisy = [marginals.has_noise(table) for table in marginals.tables]
            return self._variances[:, noisy].min(axis=1) / _FINER**2
        return np.array([marginals.cell_variance(one) for one in self._theta])

    @property
    def total_is_known(self) -> bool:
        """True if the total is the number of rows, which is public: it has no noise then."""
        return self.marginals.total_is_known

    def variances_of(self, tables: Sequence[int]) -> Floats:
        """Return the variance of each number in some tables, published or not, without a chain.

        Of few columns and cells.
        """
        marginals = replace(self.marginals, tables=tuple(tables))
        return np.array([marginals.variances(one) for one in self._theta])

    @cached_property
    def whole_counts(self) -> WholeCounts | None:
        """How whole counts, none below 0, are found of the noisy ones, if they are."""
        return along_columns(self) if self.cells.projected else None

    @cached_property
    def grids(self) -> tuple[Fraction, ...]:
        """What the cells' measured numbers are multiples of: powers of two, of public numbers."""
        if self.is_whole:
            return (Fraction(1),)
        found = [grid_of_variance(FINEST, float(own)) for own in self._cell_variances]
        whole = self.cells.projected or self.total_is_known
        return tuple(min(one, Fraction(1)) if whole else one for one in found)

    @cached_property
    def steps(self) -> tuple[Fraction, ...]:
        """What the cells' counts, and sums of values in their own units, are multiples of."""
        found = list(self.grids)
        for place, one in enumerate(self.drawn.components):
            if one.of_values:
                own = np.array(added_up(self.cells)[place], dtype=float)
                largest = math.ceil(math.log2(abs(one.centre) + one.radius))
                scaled = (own / 2.0**largest) ** 2 @ self._cell_variances
                found[place] = grid_of_variance(FINEST, float(scaled)) * Fraction(2) ** largest
        return tuple(found)

    @property
    def is_whole(self) -> bool:
        """True if the cells alone have noise, and all numbers are whole: nothing is averaged."""
        last = self.marginals.whole
        whole = list(self.measured) == [last] and self.measured[last].noise.for_whole_numbers
        return whole and not self.total_is_known and not self.contrasts

    def errors(self, table: int) -> tuple[NoiseError, ...]:
        """Return the error of each number of a published table, rounding of the cells counted."""
        if self.chain is not None:
            return (self.chain.error(table),)
        if not self.marginals.has_noise(table):
            return (NoiseError(std=0.0, half95=0.0, half975=0.0, half983=0.0),)
        return tuple(self._error(table, one) for one in self.cells.components)

    def _error(self, table: int, one: Component) -> NoiseError:
        weights, steps = weights_of(self.cells, one), self._rounded(one)
        summed = self._roundings(table)
        if self.contrasts:
            return self._contrasts_error(table, math.fsum(steps), summed)
        terms = self._terms(table, weights)
        widths = [
            width + sum(steps) * summed / 2 for width in half_widths_of_sum(terms, PROBABILITIES)
        ]
        std = math.hypot(deviation_of_sum(terms), *(x * math.sqrt(summed / 12) for x in steps))
        return NoiseError(
            std=std,
            half95=widths[0],
            half975=widths[1],
            half983=widths[2],
            beside_count=self._beside_count(table, one, summed),
        )

    def _roundings(self, table: int) -> int:
        """Return how many roundings to the grid a number of a table is the sum of, at most.

        The table's cells; without these, the numbers of the table from which the last ones follow.
        """
        numbers = self.marginals.cells(table)
        if not self.marginals.is_small:
            return numbers
        return self.marginals.cells(self.marginals.whole) // numbers

    def _contrasts_error(self, table: int, step: float, roundings: int) -> NoiseError:
        """Return the error of a number that is a sum of Gaussian noise in contrasts.

        The noise of r contrasts with a standard deviation s each counts in it with a standard
        deviation d. So the grid g of the contrasts moves it by (g/2)·√r·d/s at most (Cauchy and
        Schwarz), and adds (g·d/s)²/12 to its variance.
        """
        place = self.cells.margins.index(table)
        std = math.sqrt(float(self._variances[0][place]))
        shifts, deviations = [step * roundings / 2], [std, step * math.sqrt(roundings / 12)]
        for part, claim in self.measured.items():
            at = self.marginals.places[part]
            deviation = math.sqrt(float(self.marginals.spread[place, at] / self._theta[0][at]))
            counted = float(claim.grid or 0) * deviation / math.sqrt(claim.noise.variance)
            shifts.append(counted / 2 * math.sqrt(claim.dimension))
            deviations.append(counted / math.sqrt(12))
        half95, half975, half983 = (
            NormalDist().inv_cdf((1 + probability) / 2) * std + math.fsum(shifts)
            for probability in PROBABILITIES
        )
        std = math.hypot(*deviations)
        return NoiseError(std=std, half95=half95, half975=half975, half983=half983)

    def _beside_count(self, table: int, one: Component, summed: int) -> tuple[float, ...]:
        """Return `NoiseError.beside_count` of what a mean is made of: every other ratio's."""
        pairs = zip(self.cells.statistics, self.cells.uses, strict=True)
        uses = [own for asked, own in pairs if asked.kind == "mean"]
        count = next((own[1] for own in uses if self.cells.components[own[0]] == one), None)
        if count is None:
            return ()
        over = self.cells.components[count]
        found: list[float] = []
        for ratio in UP_TO_1[::2]:
            terms = self._terms(
                table, weights_of(self.cells, one) - ratio * weights_of(self.cells, over)
            )
            step = sum(self._rounded(one)) + ratio * sum(self._rounded(over))
            found.append(half_widths_of_sum(terms, PROBABILITIES[:1])[0] + step * summed / 2)
        return tuple(found[(place + 1) // 2] for place in range(len(UP_TO_1)))

    def _terms(self, table: int, weights: Floats) -> list[Term]:
        """Return the noise in a number that has these weights of the measured numbers."""
        return [
            Term(
                certificate=self.measured[measured],
                coefficient=1.0,
                times=times,
                weights=tuple((weights * coefficients).tolist()),
            )
            for measured, equal in self._made_of(table).items()
            for times, coefficients in equal
        ]

    def _rounded(self, one: Component) -> list[float]:
        """Return the steps that a cell's number is off by half of."""
        if self.is_whole:
            return []
        place, _ = places_of(self.cells, one)
        if self.total_is_known and self.marginals.is_small:
            return [_MOVED * float(self.grids[place])]
        if one.centre or not one.of_values:
            return [float(self.grids[place])]
        weights = zip(made_of(self.cells, one), self.grids, strict=True)
        steps = [self.steps[place] / one.radius, *(abs(own) * grid for own, grid in weights)]
        return list(map(float, steps))

    def _made_of(self, table: int) -> dict[int, list[tuple[int, Floats]]]:
        """Return, for each measured table, how many cells have which coefficient of each number."""
        whole = self.marginals.whole
        if self.is_whole:  # of floats that are 0 and 1 but for their rounding
            return {whole: [(self.marginals.cells(whole & ~table), np.ones(1))]}
        each = [self.marginals.coefficients(one, table) for one in self.information]
        return {
            measured: [
                (alike[0][1], np.array([coefficient for coefficient, _ in alike]))
                for alike in zip(*(one[measured] for one in each), strict=True)
            ]
            for measured in self.measured
        }

    @cached_property
    def compared(self) -> dict[str, Compared]:
        """Each statistic that adds up, by its label, beside other ways."""
        releases = next(iter(self.measured.values())).compositions
        return compare_ways(self.cells, self.budget, releases, self._variances)

    def _std(self, claim: Certificate) -> float:
        """Return the standard deviation of a measured count, or of a sum where there is none."""
        numbers = self.drawn.components
        place = min(range(len(numbers)), key=lambda one: numbers[one].of_values)
        return float(numbers[place].radius) * math.sqrt(claim.noise.variance_at(place))

    def columns(self, table: int) -> str:
        """Return what a table is by, for people."""
        by = [axis.column for i, axis in enumerate(self.cells.axes) if table >> i & 1]
        return "the total" if not by else _words.join_names(by, "and")

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a number that adds up, if that is the objective."""
        return max((one.own for one in self.compared.values()), default=0.0)

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, all of which a certificate can confirm."""
        if self.contrasts:  # whose noise certificate.json has
            measured: dict[str, Any] = {"contrasts": len(self.measured)}
        else:
            measured = {"measured": self._measured_record()}
        return {
            **measured,
            **({} if self.chain is None else {"chain": self.chain.columns(self.cells)}),
            **(
                {"objective": LARGEST, "largest_std": self.largest_std}
                if self.cells.largest
                else {}
            ),
            "compared": {label: vars(one) for label, one in self.compared.items()},
        }

    def _measured_record(self) -> list[dict[str, Any]]:
        return [
            {
                "by": [a.column for i, a in enumerate(self.cells.axes) if table >> i & 1],
                "epsilon": decimal_text(claim.budget.epsilon),
                "delta": decimal_text(claim.budget.delta),
                "noise": claim.noise.name,
                "std": self._std(claim),
            }
            for table, claim in self.measured.items()
        ]

    def in_words(self) -> list[str]:
        """Return what noise there is, and what it is worth, in sentences."""
        of = " in a count" if len(self.drawn.components) > 1 else ""
        drawn = [
            f"{self.columns(table)} ({claim.noise.name}, std {self._std(claim):.4g}{of})"
            for table, claim in self.measured.items()
        ]
        said = f"Noise is drawn for the numbers by {'; '.join(drawn)}."
        if self.contrasts:
            said = _IN_CONTRASTS.format(count=len(self.measured))
        agree = AGREE if self.marginals.is_small else AGREE.replace(" of the cells", "")
        found = [f"{said if self.chain is None else self.chain.in_words(self.cells)} {agree}"]
        found += [] if self.marginals.has_cells else [_MOST_ROWS]
        found += [_KNOWN] if self.total_is_known else []
        found += [FOR_THE_LARGEST] if self.cells.largest else []
        for label, one in self.compared.items():
            of = "The" if len(self.compared) == 1 else f"Of {label} the"
            found.append(one.in_words(of, largest=self.cells.largest))
        return found if self.whole_counts is None else found + self.whole_counts.in_words()


def grid_of_variance(finest: int, variance: float) -> Fraction:
    """Return 2^finest, or 2^_STEPS of the noise if that is more."""
    return Fraction(2) ** max(finest, math.floor(math.log2(math.sqrt(variance))) + _STEPS)


def check_claim(  # noqa: PLR0917 (four calls)
    name: str,
    claim: Certificate,
    cells: Layout,
    dimension: int,
    moves: Sequence[Sensitivity],
    *,
    families: Sequence[str],
) -> None:
    """Raise CertificateRejected unless it is about so many numbers that a unit `moves` so."""
    fits = (
        (claim.dimension == dimension, "it has other numbers than the spec"),
        (claim.sensitivity in moves, "a unit moves its table otherwise"),
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
            raise CertificateRejected(f"Query {name!r}: {why}.")


def _check_body(name: str, claim: Certificate, cells: Layout, table: int) -> None:
    """Raise CertificateRejected if noise has the shape of another body than the table's."""
    if isinstance(claim.noise, BodyNoise) and claim.noise.body != table_body(cells, table):
        why = "noise is that of the hull of all that a unit can do"
        raise CertificateRejected(f"Query {name!r}: {why}.")
