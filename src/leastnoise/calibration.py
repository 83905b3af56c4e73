"""Find the smallest scale of a noise family that meets a budget, in floats; prove it in balls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import final

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.proof.composed import bound_composed
from leastnoise.accounting.proof.moment_sum import prove_by_moments
from leastnoise.balls.core import POINTS_PER_STD, float_above
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.subject import check_sampling, shifts_of
from leastnoise.errors import InvalidArgument, NotApplicable, NotCertified, Refused
from leastnoise.guarantees.budget import Budget, check_rate
from leastnoise.guarantees.exact import Interval, few_digits_at_least, float_at_least
from leastnoise.guarantees.sensitivity import L1, L2, Integer, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.fit import NEARLY
from leastnoise.noise.common.several import COARSE, SeveralReleases, find_root, log_of, scale_alone
from leastnoise.noise.question import Question, Releases, Search
from leastnoise.noise.registry import family_named, part_of, registered_family

# If the proof fails at the scale that the search found, it is tried at scales that are larger by
# these relative amounts. All stay within 1e-9 of the exact minimum, as promised.
_WIDENINGS = (Fraction(0), Fraction(2, 10**12), Fraction(2, 10**11), Fraction(8, 10**10))
# The amounts for families that promise 1e-5. A mixture's δ may fall by a factor of 3 within 3e-8 of
# σ, when a narrow peak between two shifts closes. The search in floats can't see this.
_STEEP_WIDENINGS = (Fraction(0), Fraction(8, 10**10), Fraction(1, 10**7), Fraction(4, 10**6))


@final
@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """A proved noise law, and the seconds that search and proof took.

    If the search ended early, `note` is a sentence about the stage at which it ended.
    """

    certificate: Certificate
    search_seconds: float
    proof_seconds: float
    note: str | None = None


def calibrate_family(
    family: type[Noise], question: Question, *, search: Search | None = None
) -> Calibrated:
    """Find the law of a noise family with the smallest scale that is proved to meet the budget.

    The `question` has one sensitivity. `search` finds the law in place of the family's registered
    search, which some families lack.

    The scale is never below the exact minimum. For one release, it is at most 1e-9 (relative)
    above it, or 1e-5 for generalized-gamma, and for mixtures of kernels at δ < 1e-6. Raises
    NotApplicable if the family can't serve, and NotCertified if no proof was found. Raises Refused
    if the scale is out of the floats' range, or if sampling alone meets the budget.
    """
    budget, sensitivity, geometry = question.budget, question.sensitivity, question.geometry
    if why := family.why_not(dimension=question.noise_dimension, delta=budget.delta):
        raise NotApplicable(family=family.name, why=why)
    if 1 - budget.delta < Fraction(1, 10**12):  # floats have too few digits for 1 − δ
        why = "delta is so close to 1 that it protects nobody; no scale is searched"
        raise NotApplicable(family=family.name, why=why)
    check_sampling(family, sensitivity, geometry, question.sampling_rate)
    shifts = shifts_of(family, sensitivity, geometry)
    shift = family.radius_of(shifts.outer, dimension=question.noise_dimension)
    started = time.perf_counter()
    asked = question.behind_geometry(shifts.outer)
    try:
        law = _find_law(family, asked, search)
        least = law.scaled(shift)
    except InvalidArgument as error:
        if error.name != "scale":  # the search succeeded, but floats can't represent the scale
            raise
        raise Refused(
            f"The scale of {family.name} noise for this budget is out of range. {error}"
        ) from error
    search_ended = time.perf_counter()
    limit, wider = (registered_family(family).part(name) for name in ("limit", "wider"))
    steep = wider is not None and budget.delta < Fraction(1, 10**6)
    certificate = _widen(question, least, _STEEP_WIDENINGS if steep else _WIDENINGS, wider)
    return Calibrated(
        certificate=certificate,
        search_seconds=search_ended - started,
        proof_seconds=time.perf_counter() - search_ended,
        note=limit(law, asked) if limit else None,
    )


def ask_again(certificate: Certificate, budget: Budget) -> Question:
    """The question that the certificate answers, at another budget.

    The question fixes neither the grid nor the noise's parameters, except lists that a user sets.
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
    """Prove that `noise` answers the question. Raises like `Certificate.prove`."""
    certificate = Certificate.prove(
        budget=question.budget,
        noise=noise,
        sensitivity=question.sensitivity,
        geometry=question.geometry,
        compositions=question.compositions,
        sampling_rate=question.sampling_rate,
    )
    stated = question.stated_neighbours
    return certificate if stated is None else certificate.about(stated)


def _find_law(family: type[Noise], question: Question, search: Search | None) -> Noise:
    if question.compositions > 1:
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
    if not least.parameter_kinds:  # the scale was searched; with parameters it is the sensitivity
        scale = Fraction(float_at_least(scale))  # so that the printed scale is the proved scale
    return least.scaled(scale / least.scale)


def find_law_for_several(family: type[Noise], question: Question, search: Search | None) -> Noise:
    """Find the law of `family` that meets the budget of several releases, for a worst shift of 1.

    `search` finds laws for one release in place of the family's registered search, which some
    families lack. Raises NotApplicable if the family can't serve several releases, Refused if
    sampling alone meets the budget.
    """
    check_rate(question.budget, question.sampling_rate, compositions=question.compositions)
    known = registered_family(family)
    task = ProvedSeveral(family=family, question=question, search=search)
    if search_several := known.part("several"):
        return search_several(task)
    if known.fit is None:
        raise NotApplicable(family=family.name, why="it is designed for one release only")
    if family.parameter_kinds:
        why = "its parameters are searched for one release only"
        raise NotApplicable(family=family.name, why=why)
    return scale_alone(task)


def find_log_delta_gap(
    parts: Sequence[Releases], budget: Budget, *, points_per_std: int = POINTS_PER_STD
) -> float:
    """The proved bound on ln δ of `parts` together, minus the budget's ln δ; −∞ for a bound of 0.

    The result is at most 0 if and only if the parts are proved to meet the budget together.
    """
    delta = float_above(bound_composed(parts, budget.epsilon, points_per_std=points_per_std))
    if delta <= 0:
        return -math.inf
    gap = math.log(delta) - log_of(budget.delta)
    over = 1e-15  # of ln δ: the least gap that is reported for a δ above the budget's
    return min(gap, 0.0) if Fraction(delta) <= budget.delta else max(gap, over)


def find_gaussian(budget: Budget) -> Noise:
    """Find the smallest Gaussian noise for one number and a shift of 1, for comparisons."""
    return part_of(family_named("gaussian"), "fit")(Question(budget=budget))


@final
@dataclass(frozen=True, kw_only=True)
class ProvedSeveral(SeveralReleases):
    """Several releases with laws of one family, with proved bounds on the δ of all draws.

    `search` finds laws for one release in place of the family's registered search, if given.
    """

    search: Search | None = None

    def one(self, question: Question) -> Noise:
        return (self.search or part_of(self.family, "fit"))(question)

    def log_delta_gap(self, law: Noise, points_per_std: int = POINTS_PER_STD) -> float:
        parts = (self._releases(law),)
        return find_log_delta_gap(parts, self.question.budget, points_per_std=points_per_std)

    def by_moments(self, law: Noise, *, closest: float) -> Interval | None:
        parts = (self._releases(law),)
        proved = prove_by_moments(parts, self.question.budget.epsilon, closest=closest)
        return proved.interval if proved else None

    def gaussian_sigma(self) -> float:
        question = self.question
        alone = find_gaussian(question.one_at(question.budget).budget)
        low = float(alone.scale)
        high = low * math.sqrt(question.compositions)
        if question.sampling_rate == 1:
            return high

        def gap(sigma: float) -> float:
            return self.log_delta_gap(alone.scaled(Fraction(sigma) / alone.scale), COARSE)

        return find_root(gap, low, high, relative=NEARLY)

    def _releases(self, law: Noise) -> Releases:
        """The question's releases with noise `law`, in units in which the worst shift is 1."""
        question = self.question
        if isinstance(law, VectorNoise):
            shifts = ShiftBounds.of(question.sensitivity)
        elif law.for_whole_numbers:  # a whole shift keeps its unit
            longest = law.worst_shift(question.sensitivity)
            law, shifts = law.scaled(longest), ShiftBounds.of(Integer(longest))
        else:
            shifts = ShiftBounds.of((L1 if law.norm == "l1" else L2)(1))
        return Releases(
            noise=law,
            shifts=shifts,
            compositions=question.compositions,
            sampling_rate=question.sampling_rate,
        )


# Scale the noise of several queries by one factor, so that together they just meet a budget.


_COARSE = 32  # lattice steps in a standard deviation: its bounds are proved too, 0.03 % larger
_RELATIVE = 1e-4  # relative accuracy of the factor


def is_scalable(certificate: Certificate) -> bool:
    """True if a plan for a table may scale the certificate's noise with the noise of other draws.

    The scale must be the only parameter, or the others must be equally good at any scale. The
    longest shift must be the worst. Samples and noise on whole numbers are excluded.
    """
    noise = certificate.noise
    family = registered_family(type(noise))
    alone = not noise.parameter_kinds or family.any_scale
    known = alone and family.longest_is_worst and not noise.for_whole_numbers
    return known and certificate.sampling_rate == 1


def why_not_scaled(certificate: Certificate, budget: Budget) -> str | None:
    """The reason why the noise can't be scaled so that it meets `budget` with others.

    The result is None if it can be scaled. Scaling keeps the shape's parameters, although other
    parameters may be better for the new budget.
    """
    noise = certificate.noise
    if certificate.sampling_rate != 1:
        return "noise for a sample of the rows is not scaled together with others"
    if noise.for_whole_numbers:
        return "noise on whole numbers has no scale to change"
    if noise.parameter_kinds and not budget.delta:
        return "at delta=0 budgets add up, and only laplace and l2 are scaled together"
    family = registered_family(type(noise))
    if family.losses_stay:
        return "its largest privacy loss is the same at every scale, and many outputs have it"
    if family.slow:
        return "each factor that the search tries takes seconds to prove"
    return None


def find_joint_factor(
    certificates: Sequence[Certificate],
    budget: Budget,
    *,
    ratios: Sequence[float] | None = None,
    points_per_std: int = _COARSE,
    relative: float = _RELATIVE,
) -> float:
    """Approximate the smallest common factor of all scales at which the draws meet `budget`.

    Each scale is first multiplied by its ratio, if `ratios` are given. At the returned factor the
    upper bound of a coarse lattice meets the budget, whose δ must be above 0. This doesn't prove
    the whole plan; `PlanCertificate.prove` does.

    Raises NotApplicable if a composition has no proof. It is also raised if 16 times the factor for
    Gaussian noise isn't enough, as for a tiny δ.
    """
    parts = [
        _scale_releases(certificate.releases, ratio)
        for certificate, ratio in zip(
            certificates, ratios or [1.0] * len(certificates), strict=True
        )
    ]

    @cache
    def gap(factor: float) -> float:
        scaled = [_scale_releases(part, factor) for part in parts]
        return find_log_delta_gap(scaled, budget, points_per_std=points_per_std)

    near = _gaussian_factor(parts, budget)
    beyond = 16  # times the factor for Gaussian noise: without a proof there, no factor has one
    if gap(beyond * near) > 0:
        raise NotApplicable(
            family=parts[0].noise.name, why="no proof is known for a total delta as small as this"
        )
    rounding = 1e-12  # of a factor times a ratio, both of them floats
    return find_root(gap, near, 1.1 * near, relative=relative) * (1 + rounding)


def _gaussian_factor(parts: Sequence[Releases], budget: Budget) -> float:
    """The factor that would suffice if all draws were Gaussian noise of the same variances."""
    squares = (
        part.compositions
        * float(part.noise.worst_shift(part.shifts.outer)) ** 2
        / part.noise.variance
        for part in parts
    )
    return float(find_gaussian(budget).scale) * math.sqrt(math.fsum(squares))


def rescale(certificate: Certificate, factor: float) -> Certificate:
    """Multiply the noise by `factor`, and prove a certificate for it with the same δ.

    The certificate's ε is the smallest that is proved, rounded up to six digits. Raises
    NotApplicable if no ε suffices, NotCertified if there is no proof.
    """
    part = _scale_releases(certificate.releases, factor)
    least = Composition(parts=(part,)).epsilon(delta=certificate.budget.delta, accuracy=0).upper
    budget = Budget(epsilon=few_digits_at_least(least), delta=certificate.budget.delta)
    return prove_answer(ask_again(certificate, budget), part.noise)


def _scale_releases(part: Releases, factor: float) -> Releases:
    """The same draws with `factor` times the noise; the scale is rounded up to a float."""
    scale = part.noise.scale
    wanted = Fraction(float_at_least(scale * Fraction(factor)))
    return replace(part, noise=part.noise.scaled(wanted / scale))
