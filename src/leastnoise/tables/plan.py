"""What a release will do and how well, decided from the spec alone: no row is read."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise.analysis.marginal import absolute_quantile
from leastnoise.certify import kinds
from leastnoise.certify.plan import PlanCertificate
from leastnoise.errors import Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.selection.search import compare
from leastnoise.tables.baselines import Baselines
from leastnoise.tables.layout import MAX_ROWS, MAX_UNITS, Layout, of_block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise.certify.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.release.mechanism import Mechanism
    from leastnoise.tables.spec import Query, Spec

CLIP_NOTE = (
    "Errors are of the noise alone: what clamping to bounds and clipping a person's rows take "
    "away (bias) is not in them."
)
MEAN_NOTE = (
    "A mean's error depends on the unknown count: its numerator and its denominator are shown."
)


@final
@dataclass(frozen=True, kw_only=True)
class NoiseError:
    """The law of one published coordinate's error, in the query's own units; rounding counted.

    `std` is its standard deviation, `half95` and `half975` the half-widths of the intervals that
    hold it with probability 95 % and 97.5 %.
    """

    std: float
    half95: float
    half975: float

    @classmethod
    def of(cls, certificate: Certificate) -> NoiseError:
        """Return the error of each coordinate that the certificate's noise is added to."""
        # Rounding to the grid adds at most g/2, and g²/12 to the variance (a uniform error); whole
        # numbers are on every grid up to 1. A geometry treats the cells of a block alike: each
        # error is one coordinate of the noise times `factor`, and at most √d·g/2 from rounding.
        noise, grid = certificate.noise, certificate.grid or Fraction(0)
        added = 0.0 if noise.norm == "integer" and grid <= 1 else float(grid)
        factor, spread = 1.0, 1.0
        if certificate.geometry is not None:
            factor = float(certificate.geometry.deviations[0])
            spread = math.sqrt(noise.dimension)
        return cls(
            std=factor * math.sqrt(noise.variance + added * added / 12),
            half95=factor * (absolute_quantile(noise, 0.95) + spread * added / 2),
            half975=factor * (absolute_quantile(noise, 0.975) + spread * added / 2),
        )


@final
@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """The error of one number in a cell, in the statistic's own units."""

    statistic: str
    std: float
    half_width_95: float
    plain_gaussian_std: float | None


@final
@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """One query block: its layout, its part of the budget, its noise and what to expect of it."""

    layout: Layout
    budget: Budget
    mechanism: Mechanism
    baselines: Baselines

    @property
    def name(self) -> str:
        """The name of the block and of its table."""
        return self.layout.name

    @property
    def errors(self) -> tuple[ExpectedError, ...]:
        """The expected errors, the same in every cell: two for a mean, one for the others."""
        return expected_errors(self.layout, self.mechanism.certificate, self.baselines)

    @property
    def saved(self) -> float | None:
        """The part of the variance of spherical noise that the geometry saves, None without one."""
        return self.baselines.saved(self.mechanism.certificate)

    def to_record(self) -> dict[str, Any]:
        """Return the block as JSON values."""
        certificate = self.mechanism.certificate
        return block_record(self.layout, self.budget, certificate, self.baselines)


def expected_errors(
    layout: Layout, certificate: Certificate, baselines: Baselines
) -> tuple[ExpectedError, ...]:
    """Return what `BlockPlan.errors` says."""
    noise = NoiseError.of(certificate)
    plain = math.sqrt(baselines.gaussian.variance) if baselines.gaussian else None
    found: list[ExpectedError] = []
    for asked, uses in zip(layout.statistics, layout.uses, strict=True):
        parts = (" (numerator)", " (denominator)") if len(uses) > 1 else ("",)
        for part, index in zip(parts, uses, strict=True):
            unit = float(layout.components[index].radius)
            found.append(
                ExpectedError(
                    statistic=asked.label + part,
                    std=unit * noise.std,
                    half_width_95=unit * noise.half95,
                    plain_gaussian_std=None if plain is None else unit * plain,
                )
            )
    return tuple(found)


def block_record(
    layout: Layout, budget: Budget, certificate: Certificate, baselines: Baselines
) -> dict[str, Any]:
    """Return what a plan says of a block, as JSON values; a certificate can confirm all of it."""
    grid = certificate.grid
    return {
        "name": layout.name,
        "cells": layout.cells,
        "dimension": layout.dimension,
        "epsilon": decimal_text(budget.epsilon),
        "delta": decimal_text(budget.delta),
        "sensitivities": [kinds.record_of(one) for one in layout.sensitivities],
        "clip_squared": None if layout.by_row else decimal_text(layout.clip_squared),
        "bits": layout.bits,
        "noise": certificate.noise.name,
        "geometry": None if certificate.geometry is None else certificate.geometry.kind,
        "spherical_noise": baselines.spherical.name,
        "saved_by_geometry": baselines.saved(certificate),
        "scale": decimal_text(certificate.noise.scale),
        "grid": None if grid is None else decimal_text(grid),
        "errors": [vars(error) for error in expected_errors(layout, certificate, baselines)],
    }


def plan_record(
    budget: Budget, unit: str, layouts: Sequence[Layout], blocks: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a plan as JSON values, from its blocks' records."""
    return {
        "version": 1,
        "unit": unit,
        "epsilon": decimal_text(budget.epsilon),
        "delta": decimal_text(budget.delta),
        "caps": {"rows": MAX_ROWS, "units": MAX_UNITS},
        "blocks": blocks,
        "notes": list(_notes(layouts)),
    }


def _notes(layouts: Sequence[Layout]) -> tuple[str, ...]:
    asked = {one.kind for layout in layouts for one in layout.statistics}
    return (CLIP_NOTE, MEAN_NOTE) if "mean" in asked else (CLIP_NOTE,)


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole release before it happens; everything in it is public."""

    budget: Budget
    unit: str
    blocks: tuple[BlockPlan, ...]

    @property
    def certificate(self) -> PlanCertificate:
        """The proof of the whole release: each block's, and the sum of their budgets."""
        blocks = tuple((block.name, block.mechanism.certificate) for block in self.blocks)
        return PlanCertificate.prove(budget=self.budget, blocks=blocks)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers don't say."""
        return _notes([block.layout for block in self.blocks])

    def to_record(self) -> dict[str, Any]:
        """Return the plan as JSON values; privacy numbers are exact texts."""
        layouts = [block.layout for block in self.blocks]
        records = [block.to_record() for block in self.blocks]
        return plan_record(self.budget, self.unit, layouts, records)

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_record(), indent=2)


def block_budget(spec: Spec, query: Query) -> Budget:
    """Return the part of the budget that `query` spends: ε·w/Σw and δ·w/Σw."""
    return spec.budget.share(spec.share(query))


def plan(spec: Spec, *, progress: Callable[[str], object] | None = None) -> Plan:
    """Return the plan of `spec`: for each block the proved noise with the least mean square error.

    `progress` is told the stages. Raises Refused if no noise can serve a block.
    """
    blocks: list[BlockPlan] = []
    for query in spec.query:
        if progress:
            progress(f"Finding and proving the least noise for {query.name}")
        blocks.append(_block(of_block(spec, query), block_budget(spec, query)))
    return Plan(budget=spec.budget, unit=spec.privacy.unit, blocks=tuple(blocks))


def _block(layout: Layout, budget: Budget) -> BlockPlan:
    epsilon: Fraction = budget.epsilon
    found = compare(
        epsilon=epsilon,
        delta=budget.delta,
        sensitivity=layout.sensitivities,
        dimension=layout.dimension,
    )
    if not found.mechanisms:
        reasons = "; ".join(f"{skipped.name}: {skipped.why}" for skipped in found.skipped)
        raise Refused(f"No noise can serve the query {layout.name!r}. {reasons}.")
    return BlockPlan(
        layout=layout,
        budget=budget,
        mechanism=found.mechanisms[0],
        baselines=Baselines.of(layout, budget),
    )
