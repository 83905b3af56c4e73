"""A plan as JSON values, which a certificate can confirm, and what its numbers don't say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leastnoise.certificate import kinds
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.query.accuracy import wishes
from leastnoise.tables.query.layout import MAX_ROWS, MAX_UNITS, Layout
from leastnoise.tables.query.noise_error import expected_errors, noise_errors, rounded_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.tables.query.baselines import Baselines

CLIP_NOTE = (
    "Errors, and 95 %, are of the noise alone: what clamping to bounds and clipping a person's "
    "rows take away (bias) is not in them."
)
PURE_NOTE = "With delta = 0 losses add up: each draw of noise has its share of epsilon."
SPLIT_NOTE = (
    "Accounting for all draws of noise together proved no less noise for each: each has its share "
    "of the budget."
)
JOINT_NOTE = (
    "All queries together meet the budget, by tight composition: each has less noise than its "
    "share of the budget would give it alone."
)
ROUNDING_NOTE = (
    "Values are rounded a little before they are summed. From {rows:,} rows of one value in a cell "
    "on, that may be more than 1 % of an interval, in which it isn't counted."
)
PARTS_NOTE = (
    "Where a query counts persons beside rows, plain Laplace and Gaussian noise have a scale for "
    "each, too."
)
_MANY_ROWS = 10**7
MEAN_NOTE = (
    "A mean's error depends on how many values its group has, which isn't public: it is shown, at "
    "most, for assumed sizes."
)
UNIT_NOTE = "Rows that don't say whose they are, as their unit is missing, are left out."


def of_split(certificate: Certificate, split: Noise | None) -> Certificate:
    """Return what a block would have if it met its part of the budget alone."""
    return certificate if split is None else replace(certificate, noise=split)


def relative_to(certificate: Certificate, split: Noise | None) -> float | None:
    """Return the scale over that of `split`, None without it."""
    return None if split is None else float(certificate.noise.scale / split.scale)


def block_record(
    layout: Layout,
    *,
    group: tuple[str, ...],
    first: int,
    certificate: Certificate,
    share: Budget,
    baselines: Baselines,
    split: Noise | None,
) -> dict[str, Any]:
    """Return what a plan says of a block, as JSON values; a certificate can confirm all of it.

    `share` is the block's of the budget: those of all blocks add up to it.
    """
    grid, noise = certificate.grid, noise_errors(certificate, layout, first)
    errors = expected_errors(layout, noise, baselines)
    return {
        "name": layout.name,
        "statistics": [one.label for one in layout.statistics],
        "cells": layout.cells,
        "dimension": layout.dimension,
        "epsilon": decimal_text(share.epsilon),
        "delta": decimal_text(share.delta),
        "sensitivities": [kinds.record_of(one) for one in layout.sensitivities],
        "bounding": None if layout.by_row else layout.bounding.to_record(),
        "bits": layout.bits,
        "exact_rows": rounded_rows(layout, noise),
        "drawn_with": [label for label in group if label != layout.label],
        "noise": certificate.noise.name,
        "geometry": None if certificate.geometry is None else certificate.geometry.kind,
        "spherical_noise": baselines.spherical.name,
        "saved_by_geometry": baselines.saved(of_split(certificate, split), layout, first),
        "error_relative_to_split": relative_to(certificate, split),
        "scale": decimal_text(certificate.noise.scale),
        "grid": None if grid is None else decimal_text(grid),
        "missing": list(layout.missing),
        "errors": [vars(error) for error in errors],
        "wishes": [vars(wish) for wish in wishes(layout, errors)],
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
        "neighbours": layouts[0].neighbours,
        "epsilon": decimal_text(certificate.budget.epsilon),
        "delta": decimal_text(certificate.budget.delta),
        "rule": certificate.rule,
        "caps": {"rows": MAX_ROWS, "units": MAX_UNITS},
        "blocks": blocks,
        "notes": list(
            notes_of(
                layouts,
                budget=certificate.budget,
                rule=certificate.rule,
                draws=len(certificate.blocks),
                exact_rows=[block["exact_rows"] for block in blocks],
            )
        ),
    }


def notes_of(
    layouts: Sequence[Layout],
    *,
    budget: Budget,
    rule: str,
    draws: int,
    exact_rows: Sequence[int | None],
) -> tuple[str, ...]:
    """Return what the numbers of a plan don't say; `exact_rows` as `rounded_rows` says."""
    sized = any(one.needs_size for layout in layouts for one in layout.statistics)
    notes = (CLIP_NOTE, MEAN_NOTE) if sized else (CLIP_NOTE,)
    notes = notes if layouts[0].by_row else (*notes, UNIT_NOTE)
    exact = min((rows for rows in exact_rows if rows is not None), default=_MANY_ROWS)
    if exact < _MANY_ROWS:
        notes += (ROUNDING_NOTE.format(rows=exact),)
    if any(layout.part for layout in layouts):
        notes += (PARTS_NOTE,)
    if draws == 1:
        return notes
    if rule == COMPOSED:
        return (*notes, JOINT_NOTE)
    return (*notes, SPLIT_NOTE if budget.delta else PURE_NOTE)
