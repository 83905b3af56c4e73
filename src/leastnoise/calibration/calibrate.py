"""Calibrate one family: find its law in floats, prove it, and widen it if the proof fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.subject import check_sampling, shifts_of
from leastnoise.errors import InvalidArgument, NotApplicable, NotCertified, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import float_at_least
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Question, Search
from leastnoise.noise.registry import part_of, registered

# If the proof fails at the scale found, it is widened by these relative amounts in turn; the total
# stays within the 1e-9 that is promised of the exact minimum.
_WIDENINGS = (Fraction(0), Fraction(2, 10**12), Fraction(2, 10**11), Fraction(8, 10**10))
# Where 1e-5 is promised: a mixture's δ may fall by a factor of 3 within 3e-8 of σ, as a narrow
# peak of it between two shifts closes, which the search in floats can't see.
_STEEP_WIDENINGS = (Fraction(0), Fraction(8, 10**10), Fraction(1, 10**7), Fraction(4, 10**6))


@final
@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """A proved noise law, and the seconds that finding and proving it took.

    `note` says where the search ended before it was done, if it did.
    """

    certificate: Certificate
    search_seconds: float
    proof_seconds: float
    note: str | None = None


def calibrate_family(
    family: type[Noise], question: Question, *, search: Search | None = None
) -> Calibrated:
    """Return the law that is found for `family`, of the least scale proved to meet the budget.

    The `question` is about one sensitivity. `search` finds the law for a family that calibration
    itself has no search for.

    The scale is never below the exact minimum and at most 1e-9 (relative) above it; 1e-5 for
    generalized-gamma, and for gaussian-mixture at δ < 1e-6.
    Raises NotApplicable if the family can't serve, NotCertified if no proof was found.
    """
    budget, sensitivity, geometry = question.budget, question.sensitivity, question.geometry
    if why := family.why_not(dimension=question.noise_dimension, delta=budget.delta):
        raise NotApplicable(family=family.name, why=why)
    if 1 - budget.delta < Fraction(1, 10**12):  # it has too few digits in floats
        why = "delta is so close to 1 that no scale is searched for it; it protects nobody"
        raise NotApplicable(family=family.name, why=why)
    check_sampling(family, sensitivity, geometry, question.sampling_rate)
    shifts = shifts_of(family, sensitivity, geometry)
    shift = family.radius_of(shifts.outer, dimension=question.noise_dimension)
    started = time.perf_counter()
    asked = question.behind_geometry(shifts.outer)
    try:
        law = _find_law(family, asked, search)
        least = law.scaled(shift)
    except (
        InvalidArgument
    ) as error:  # the search is right, but the scale is outside the representable range
        if error.name != "scale":
            raise
        raise Refused(f"{family.name} noise for this budget is out of range. {error}") from error
    found = time.perf_counter()
    limit, wider = (registered(family).part(name) for name in ("limit", "wider"))
    steep = wider is not None and budget.delta < Fraction(1, 10**6)
    certificate = _widen(question, least, _STEEP_WIDENINGS if steep else _WIDENINGS, wider)
    return Calibrated(
        certificate=certificate,
        search_seconds=found - started,
        proof_seconds=time.perf_counter() - found,
        note=limit(law, asked) if limit else None,
    )


def ask_again(certificate: Certificate, budget: Budget) -> Question:
    """Return the question that the certificate answers, at another budget.

    The parameters of its noise are left open, but for the lists that a user sets; its grid is not
    asked about.
    """
    noise = certificate.noise
    return Question(
        budget=budget,
        sensitivities=(certificate.sensitivity,),
        dimension=certificate.dimension,
        geometry=certificate.geometry,
        fixed={name: noise.parameters[name] for name in noise.lists_to_set},
        compositions=certificate.compositions,
        sampling_rate=certificate.sampling_rate,
        stated_neighbours=certificate.stated_neighbours,
    )


def prove_answer(question: Question, noise: Noise) -> Certificate:
    """Return the certificate that `noise` answers the question; raises like `Certificate.prove`."""
    found = Certificate.prove(
        budget=question.budget,
        noise=noise,
        sensitivity=question.sensitivity,
        geometry=question.geometry,
        compositions=question.compositions,
        sampling_rate=question.sampling_rate,
    )
    stated = question.stated_neighbours
    return found if stated is None else found.about(stated)


def _find_law(family: type[Noise], question: Question, search: Search | None) -> Noise:
    if question.compositions > 1:
        # Imported where it is needed: most of the accountant stands behind it.
        from leastnoise.calibration.several import find_law_for_several  # noqa: PLC0415

        return find_law_for_several(family, question, search)
    return (search or part_of(family, "fit"))(question.one_at(question.budget))


def _widen(
    question: Question,
    least: Noise,
    widenings: tuple[Fraction, ...],
    wider: Callable[[Noise, Fraction], Noise] | None,
) -> Certificate:
    at = wider or _scale
    *earlier, last = widenings
    for widening in earlier:
        try:
            return prove_answer(question, at(least, 1 + widening))
        except NotCertified:
            continue
    return prove_answer(question, at(least, 1 + last))


def _scale(least: Noise, widening: Fraction) -> Noise:
    scale = least.scale * widening
    if not least.parameter_kinds:  # a scale that was searched; others are the sensitivity itself
        scale = Fraction(float_at_least(scale))  # so that the printed one is what is proved
    return least.scaled(scale / least.scale)
