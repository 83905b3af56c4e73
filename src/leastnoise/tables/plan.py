"""What a release will do and how well, decided from the spec alone: no row is read."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise.analysis.marginal import has_quantiles
from leastnoise.certify import kinds
from leastnoise.certify.plan import COMPOSED, RULE, PlanCertificate
from leastnoise.errors import Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise.loss import Loss
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.fit import Problem
from leastnoise.selection.rivals import QUICK, SLOW
from leastnoise.selection.search import compared
from leastnoise.tables.baselines import Baselines
from leastnoise.tables.joint import Chosen, Offers, jointly
from leastnoise.tables.layout import (
    MAX_BITS,
    MAX_ROWS,
    MAX_UNITS,
    Layout,
    for_noise,
    of_block,
)
from leastnoise.tables.noise_error import ExpectedError, check_range, expected_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise.certify.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.release.mechanism import Mechanism
    from leastnoise.tables.spec import Query, Spec

Layouts = tuple[Layout, ...]
"""Those of one block, one for each way to bound a unit."""

CLIP_NOTE = (
    "Errors are of the noise alone: what clamping to bounds and clipping a person's rows take "
    "away (bias) is not in them."
)
PURE_NOTE = "With delta = 0 the losses of the queries add up: each has its share of epsilon."
SPLIT_NOTE = (
    "Accounting for all queries together proved no less noise for each: each has its share of the "
    "budget."
)
JOINT_NOTE = (
    "All queries together meet the budget, by tight composition. A query's own epsilon and delta "
    "are what its noise is worth alone; they add up to more than the budget."
)
MEAN_NOTE = (
    "A mean's error depends on the unknown count: its numerator and its denominator are shown."
)


_CERTAINLY_LESS = 0.8

# A release cuts values off at 2^61 steps of its grid. On this one that is at 2^39 rows, and the
# integers that a block sums, of at most 22 bits, are on it.
FINEST_GRID = Fraction(1, 2**MAX_BITS)


@final
@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """One query block: its layout, its part of the budget, its noise and what to expect of it.

    `split` is there if all blocks meet the budget together: the same noise as large as it would be
    if this one met its part alone.
    """

    layout: Layout
    budget: Budget
    mechanism: Mechanism
    baselines: Baselines
    split: Noise | None = None

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
        return self.baselines.saved(_of_split(self.mechanism.certificate, self.split))

    @property
    def relative_to_split(self) -> float | None:
        """The error over that of `split`, None without it."""
        return _relative(self.mechanism.certificate, self.split)

    def to_record(self) -> dict[str, Any]:
        """Return the block as JSON values."""
        certificate = self.mechanism.certificate
        return block_record(self.layout, certificate, self.baselines, self.split)


def _of_split(certificate: Certificate, split: Noise | None) -> Certificate:
    return certificate if split is None else replace(certificate, noise=split)


def _relative(certificate: Certificate, split: Noise | None) -> float | None:
    return None if split is None else float(certificate.noise.scale / split.scale)


def block_record(
    layout: Layout, certificate: Certificate, baselines: Baselines, split: Noise | None
) -> dict[str, Any]:
    """Return what a plan says of a block, as JSON values; a certificate can confirm all of it."""
    grid = certificate.grid
    return {
        "name": layout.name,
        "cells": layout.cells,
        "dimension": layout.dimension,
        "epsilon": decimal_text(certificate.budget.epsilon),
        "delta": decimal_text(certificate.budget.delta),
        "sensitivities": [kinds.record_of(one) for one in layout.sensitivities],
        "bounding": None if layout.by_row else layout.bounding.to_record(),
        "bits": layout.bits,
        "noise": certificate.noise.name,
        "geometry": None if certificate.geometry is None else certificate.geometry.kind,
        "spherical_noise": baselines.spherical.name,
        "saved_by_geometry": baselines.saved(_of_split(certificate, split)),
        "error_relative_to_split": _relative(certificate, split),
        "scale": decimal_text(certificate.noise.scale),
        "grid": None if grid is None else decimal_text(grid),
        "errors": [vars(error) for error in expected_errors(layout, certificate, baselines)],
    }


def plan_record(
    certificate: PlanCertificate,
    unit: str,
    layouts: Sequence[Layout],
    blocks: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return a plan as JSON values, from its blocks' records."""
    return {
        "version": 1,
        "unit": unit,
        "epsilon": decimal_text(certificate.budget.epsilon),
        "delta": decimal_text(certificate.budget.delta),
        "rule": certificate.rule,
        "caps": {"rows": MAX_ROWS, "units": MAX_UNITS},
        "blocks": blocks,
        "notes": list(_notes(layouts, certificate.budget, certificate.rule)),
    }


def _notes(layouts: Sequence[Layout], budget: Budget, rule: str) -> tuple[str, ...]:
    asked = {one.kind for layout in layouts for one in layout.statistics}
    notes = (CLIP_NOTE, MEAN_NOTE) if "mean" in asked else (CLIP_NOTE,)
    if len(layouts) == 1:
        return notes
    if rule == COMPOSED:
        return (*notes, JOINT_NOTE)
    return (*notes, SPLIT_NOTE if budget.delta else PURE_NOTE)


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole release before it happens; everything in it is public."""

    budget: Budget
    unit: str
    blocks: tuple[BlockPlan, ...]

    @property
    def certificate(self) -> PlanCertificate:
        """The proof of the whole release: each block's, and of all together."""
        blocks = tuple((block.name, block.mechanism.certificate) for block in self.blocks)
        return PlanCertificate.prove(budget=self.budget, blocks=blocks)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers don't say."""
        joint = self.blocks[0].split is not None
        layouts = [block.layout for block in self.blocks]
        return _notes(layouts, self.budget, COMPOSED if joint else RULE)

    def to_record(self) -> dict[str, Any]:
        """Return the plan as JSON values; privacy numbers are exact texts."""
        layouts = [block.layout for block in self.blocks]
        records = [block.to_record() for block in self.blocks]
        return plan_record(self.certificate, self.unit, layouts, records)

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_record(), indent=2, allow_nan=False)


def block_budget(spec: Spec, query: Query) -> Budget:
    """Return the part of the budget that `query` spends: ε·w/Σw and δ·w/Σw."""
    return spec.budget.share(spec.share(query))


def plan(spec: Spec, *, progress: Callable[[str], object] | None = None) -> Plan:
    """Return the plan of `spec`: for each block the proved noise with the least mean square error.

    Each block's at its share of the budget, or, where that is less for every one, all blocks' noise
    at the budget together, scaled down by one factor.

    `progress` is told the stages. Raises Refused if no noise can serve a block, or its numbers may
    be out of the range of float64.
    """
    ways = [of_block(spec, query) for query in spec.query]
    shares = [block_budget(spec, query) for query in spec.query]
    offers, joint = _offered(spec.budget, ways, shares, progress)
    chosen = joint[0] if joint else tuple(some[0] for some in offers)
    splits = [one.noise for one in joint[1]] if joint else [None] * len(offers)
    blocks = tuple(
        _block(layouts, share, mechanism, split)
        for layouts, share, mechanism, split in zip(ways, shares, chosen, splits, strict=True)
    )
    for block in blocks:
        check_range(block.layout, block.mechanism.certificate, block.baselines)
    return Plan(budget=spec.budget, unit=spec.privacy.unit_label, blocks=blocks)


def _block(layouts: Layouts, share: Budget, mechanism: Mechanism, split: Noise | None) -> BlockPlan:
    layout = for_noise(layouts, mechanism.certificate.sensitivity)
    if layout is None:
        raise RuntimeError("noise is made for the sensitivity of a layout")
    return BlockPlan(
        layout=layout,
        budget=share,
        mechanism=mechanism.on_grid(max(mechanism.grid, FINEST_GRID)),
        baselines=Baselines.of(layout, share),
        split=split,
    )


def _offered(
    budget: Budget,
    ways: Sequence[Layouts],
    shares: Sequence[Budget],
    progress: Callable[[str], object] | None,
) -> tuple[list[Offers], tuple[Chosen, Chosen] | None]:
    """Return what serves each block, and all of them together if that is less for every one.

    Families whose search takes seconds are not scaled together, and are searched only where they
    might have less than what is: they gain at most 18 % where that was measured.
    """
    tell = progress or (lambda _: None)
    problems = [_problem(layouts, share) for layouts, share in zip(ways, shares, strict=True)]
    found: list[Comparison] = []
    for layouts, problem in zip(ways, problems, strict=True):
        tell(f"Finding and proving the least noise for {layouts[0].name}")
        found.append(compared(problem, families=QUICK, usable=has_quantiles))
    joint = None
    if len(ways) > 1 and budget.delta:
        tell("Accounting for all queries together")
        joint = jointly(budget, [one.mechanisms for one in found])
    if not joint or not _all_less(joint[0], found, _CERTAINLY_LESS):
        for index, (layouts, problem) in enumerate(zip(ways, problems, strict=True)):
            tell(f"Finding and proving the least noise for {layouts[0].name}")
            some = compared(problem, families=SLOW, usable=has_quantiles, known=found[index])
            if not some.mechanisms:
                raise Refused(f"The query {layouts[0].name!r}: {some.why_none}")
            found[index] = some
    if joint and not _all_less(joint[0], found, 1):
        joint = None
    return [one.mechanisms for one in found], joint


def _all_less(new: Chosen, found: Sequence[Comparison], factor: float) -> bool:
    return all(
        some.mechanisms and one.mse < factor * some.mechanisms[0].mse
        for one, some in zip(new, found, strict=True)
    )


def _problem(layouts: Layouts, budget: Budget) -> Problem:
    """Return the block as a problem: a unit moves it as any of its boundings lets it."""
    return Problem(
        budget=budget,
        offered=tuple(dict.fromkeys(s for one in layouts for s in one.sensitivities)),
        dimension=layouts[0].dimension,
        loss=Loss.MSE,
    )
