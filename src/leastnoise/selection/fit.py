"""One noise family for one problem: fitted to the sensitivity in every way that there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

from leastnoise.calibration.calibrate import calibrate_family
from leastnoise.design.effort import Effort
from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.longest_shift import needs_norm
from leastnoise.noise.loss import Loss
from leastnoise.noise.registry import registered
from leastnoise.selection.comparison import Candidate
from leastnoise.selection.constructions import Construction, constructions

Way = tuple[Sensitivity, Construction]
"""How noise is fitted to one of the sensitivities."""


@final
@dataclass(frozen=True, kw_only=True)
class Problem:
    """A query of `dimension` numbers, all the sensitivities that it has, a budget and a loss.

    The budget is that of all `compositions` releases together, each of a Poisson sample if
    `sampling_rate` < 1; the loss is that of one.
    """

    budget: Budget
    offered: tuple[Sensitivity, ...]
    dimension: int
    loss: Loss
    compositions: int = 1
    sampling_rate: Fraction = Fraction(1)

    def ways(self) -> list[Way]:
        """Return every pair of a sensitivity and a construction for it."""
        return [
            (one, way)
            for one in self.offered
            for way in constructions(one, dimension=self.dimension)
        ]


def fitted(
    family: type[Noise],
    problem: Problem,
    *,
    ways: list[Way],
    fixed: Mapping[str, Fraction | int] | None = None,
    effort: Effort | None = None,
) -> list[Candidate]:
    """Return `family`, calibrated and proved, in each of `ways` that it can serve; best first.

    Of several plain balls the smallest in the family's norm is used, of several bodies the best.
    `fixed` sets parameters, and `effort` is what a family that is designed is worth. Raises Refused
    with the last reason if no way is left.
    """
    found: list[Candidate] = []
    reasons: list[Refused] = []
    for sensitivity, way in _worthwhile(family, problem, ways):
        try:
            found.append(
                _candidate(family, problem, sensitivity, way, fixed or {}, effort or Effort())
            )
        except Refused as error:
            reasons.append(error)
    if not found:
        raise reasons[-1] if reasons else _no_norm(family)
    found.sort(key=lambda one: problem.loss.of(one.mechanism))
    # bodies of several sensitivities have no names of their own
    return found[:1] if issubclass(family, VectorNoise) else found


def _no_norm(family: type[Noise]) -> Refused:
    return NotApplicable(family=family.name, why=needs_norm(family.norm))


def _worthwhile(family: type[Noise], problem: Problem, ways: list[Way]) -> list[Way]:
    """Drop dominated pairs: larger balls, and cells where a ball serves vectors."""
    if issubclass(family, VectorNoise):
        return _shaped(family, problem, ways)
    balls = [
        (radius, index)
        for index, (one, way) in enumerate(ways)
        if way.geometry is None
        and (radius := one.radius(family.norm, dimension=problem.dimension)) is not None
    ]
    kept = [ways[min(balls)[1]]] if balls else []
    vectors = family.why_not(dimension=problem.dimension, delta=problem.budget.delta) is None
    kept += [
        (one, way)
        for one, way in ways
        if way.geometry is not None
        and (way.geometry.noise_dimension == problem.dimension or not (vectors and balls))
    ]
    return kept


def _shaped(family: type[VectorNoise], problem: Problem, ways: list[Way]) -> list[Way]:
    """Return one way for each shape that the sensitivities have; maps are for spheres.

    Raises NotApplicable if none has one.
    """
    forms: dict[object, Way] = {}
    why = needs_norm(family.norm)
    for one, way in ways:
        if way.geometry is None:
            form = family.form_of(one, dimension=problem.dimension)
            why = why if form else family.no_form(one)
            forms.setdefault(form, (one, way))
    forms.pop(None, None)
    if not forms:
        raise NotApplicable(family=family.name, why=why)
    return list(forms.values())


def _candidate(  # noqa: PLR0917 (one call of its own)
    family: type[Noise],
    problem: Problem,
    sensitivity: Sensitivity,
    way: Construction,
    fixed: Mapping[str, Fraction | int],
    effort: Effort,
) -> Candidate:
    design = registered(family).part("design")
    geometry = way.geometry
    calibrated = calibrate_family(
        family,
        budget=problem.budget,
        sensitivity=sensitivity,
        dimension=geometry.noise_dimension if geometry else problem.dimension,
        geometry=geometry,
        compositions=problem.compositions,
        sampling_rate=problem.sampling_rate,
        loss=problem.loss,
        fixed=fixed,
        search=partial(design, effort=effort) if design else None,
    )
    return Candidate(
        mechanism=Mechanism(calibrated.certificate),
        construction=way.name,
        search_seconds=calibrated.search_seconds,
        proof_seconds=calibrated.proof_seconds,
        note=calibrated.note,
    )
