"""Fit one family to a question, in every construction that it can serve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from leastnoise.calibration import calibrate_family
from leastnoise.design.programs.effort import Effort
from leastnoise.errors import NotApplicable, Refused
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.base import Noise, needs_norm
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.question import Question
from leastnoise.noise.registry import registered_family
from leastnoise.selection.comparison import Candidate
from leastnoise.selection.constructions import Way


def fit_family(
    family: type[Noise],
    question: Question,
    ways: Sequence[Way],
    *,
    effort: Effort | None = None,
    usable: Callable[[Noise], bool] = lambda _: True,
) -> list[Candidate]:
    """Return `family`, calibrated and proved, in each of `ways` that it can serve; best first.

    Of several plain balls the smallest in the family's norm is used, of several bodies the best
    whose noise is `usable`. `effort` is what a family that is designed is worth. Raises Refused
    with the last reason if no way is left.
    """
    found: list[Candidate] = []
    reasons: list[Refused] = []
    for way in _drop_dominated(family, question, ways):
        try:
            found.append(_candidate(family, question, way, effort or Effort()))
        except Refused as error:
            reasons.append(error)
    if not found:
        no_norm = NotApplicable(family=family.name, why=needs_norm(family.norm))
        raise reasons[-1] if reasons else no_norm
    found = [one for one in found if usable(one.mechanism.noise)]
    found.sort(key=lambda one: question.loss.of(one.mechanism))
    # bodies of several sensitivities have no names of their own
    return found[:1] if issubclass(family, VectorNoise) else found


def _drop_dominated(family: type[Noise], question: Question, ways: Sequence[Way]) -> list[Way]:
    """Drop dominated pairs: larger balls, and cells where a ball serves vectors."""
    if issubclass(family, VectorNoise):
        return _list_shapes(family, question, ways)
    dimension = question.dimension
    balls = [
        (radius, index)
        for index, way in enumerate(ways)
        if way.geometry is None
        and (radius := way.sensitivity.radius(family.norm, dimension=dimension)) is not None
    ]
    kept = [ways[min(balls)[1]]] if balls else []
    vectors = family.why_not(dimension=dimension, delta=question.budget.delta) is None
    kept += [
        way
        for way in ways
        if way.geometry is not None
        and (way.geometry.noise_dimension == dimension or not (vectors and balls))
    ]
    return kept


def _list_shapes(family: type[VectorNoise], question: Question, ways: Sequence[Way]) -> list[Way]:
    """Return one way for each shape that the sensitivities have; maps are for spheres.

    Raises NotApplicable if none has one.
    """
    forms: dict[object, Way] = {}
    why = needs_norm(family.norm)
    for way in ways:
        if way.geometry is None:
            form = family.form_of(way.sensitivity, dimension=question.dimension)
            why = why if form else family.no_form(way.sensitivity)
            forms.setdefault(form, way)
    forms.pop(None, None)
    if not forms:
        raise NotApplicable(family=family.name, why=why)
    return list(forms.values())


def _candidate(family: type[Noise], question: Question, way: Way, effort: Effort) -> Candidate:
    design = registered_family(family).part("design")
    calibrated = calibrate_family(
        family,
        question.through(way.sensitivity, way.geometry),
        search=partial(design, effort=effort) if design else None,
    )
    return Candidate(
        mechanism=Mechanism(calibrated.certificate),
        construction=way.construction,
        search_seconds=calibrated.search_seconds,
        proof_seconds=calibrated.proof_seconds,
        note=calibrated.note,
    )
