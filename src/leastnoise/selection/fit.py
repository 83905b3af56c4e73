"""Calibrate one family for a question, in every construction that it can serve.

A construction adds the drawn noise as it is, in a ball, or maps it linearly first: see
`constructions`.
"""

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
from leastnoise.selection.constructions import Construction


def fit_family(
    family: type[Noise],
    question: Question,
    constructions: Sequence[Construction],
    *,
    effort: Effort | None = None,
    usable: Callable[[Noise], bool] = lambda _: True,
) -> list[Candidate]:
    """Calibrate and prove `family` in each construction that it can serve; return them best first.

    Of several balls only the smallest in the family's norm is tried. Candidates are dropped if
    `usable` rejects their noise. For noise in the shape of a body only the best candidate is
    returned. `effort` limits the search for the law of a designed family. Raises Refused, with the
    last reason, if the family serves no construction.
    """
    candidates: list[Candidate] = []
    reasons: list[Refused] = []
    for construction in _drop_dominated(family, question, constructions):
        try:
            candidates.append(_candidate(family, question, construction, effort or Effort()))
        except Refused as error:
            reasons.append(error)
    if not candidates:
        no_norm = NotApplicable(family=family.name, why=needs_norm(family.norm))
        raise reasons[-1] if reasons else no_norm
    candidates = [candidate for candidate in candidates if usable(candidate.mechanism.noise)]
    candidates.sort(key=lambda candidate: question.loss.of(candidate.mechanism))
    # candidates for different bodies would have the same label
    return candidates[:1] if issubclass(family, VectorNoise) else candidates


def _drop_dominated(
    family: type[Noise], question: Question, constructions: Sequence[Construction]
) -> list[Construction]:
    """Drop constructions that can't be best for this family.

    Only the smallest ball in the family's norm remains. A linear map of noise with another
    dimension than the query (noise in cells) remains only if the family can't serve the vector in a
    ball. For noise in the shape of a body, the result is `_list_shapes`.
    """
    if issubclass(family, VectorNoise):
        return _list_shapes(family, question, constructions)
    dimension = question.dimension
    balls = [
        (radius, index)
        for index, construction in enumerate(constructions)
        if construction.geometry is None
        and (radius := construction.sensitivity.radius(family.norm, dimension=dimension))
        is not None
    ]
    kept = [constructions[min(balls)[1]]] if balls else []
    vectors = family.why_not(dimension=dimension, delta=question.budget.delta) is None
    kept += [
        construction
        for construction in constructions
        if construction.geometry is not None
        and (construction.geometry.noise_dimension == dimension or not (vectors and balls))
    ]
    return kept


def _list_shapes(
    family: type[VectorNoise], question: Question, constructions: Sequence[Construction]
) -> list[Construction]:
    """Return a construction without linear map for each different body of the sensitivities.

    Raises NotApplicable unless the family has a body for at least one of the sensitivities.
    """
    forms: dict[object, Construction] = {}
    why = needs_norm(family.norm)
    for construction in constructions:
        if construction.geometry is None:
            form = family.form_of(construction.sensitivity, dimension=question.dimension)
            why = why if form else family.no_form(construction.sensitivity)
            forms.setdefault(form, construction)
    forms.pop(None, None)
    if not forms:
        raise NotApplicable(family=family.name, why=why)
    return list(forms.values())


def _candidate(
    family: type[Noise], question: Question, construction: Construction, effort: Effort
) -> Candidate:
    design = registered_family(family).part("design")
    calibrated = calibrate_family(
        family,
        question.through(construction.sensitivity, construction.geometry),
        search=partial(design, effort=effort) if design else None,
    )
    return Candidate(
        mechanism=Mechanism(calibrated.certificate),
        construction=construction.name,
        search_seconds=calibrated.search_seconds,
        proof_seconds=calibrated.proof_seconds,
        note=calibrated.note,
    )
