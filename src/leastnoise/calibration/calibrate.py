"""From a family and a budget to a proved noise law."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import final

from leastnoise.calibration.single import Search, unit_law
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.subject import check_sampling, shifts_of
from leastnoise.errors import InvalidArgument, NotApplicable, NotCertified, Refused
from leastnoise.guarantees.budget import Budget, amplified
from leastnoise.guarantees.exact import float_at_least
from leastnoise.guarantees.geometry import Geometry
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.longest_shift import radius_in_norm_of
from leastnoise.noise.loss import Loss
from leastnoise.noise.registry import registered
from leastnoise.noise.request import Request

# Beyond this, 1 − δ has too few digits in floats.
_LARGEST_DELTA = 1 - Fraction(1, 10**12)

# If the proof fails at the scale found, it is widened by these relative amounts in turn; the total
# stays within the 1e-9 that is promised of the exact minimum.
_WIDENINGS = (Fraction(0), Fraction(2, 10**12), Fraction(2, 10**11), Fraction(8, 10**10))
# Where 1e-5 is promised: a mixture's δ may fall by a factor of 3 within 3e-8 of σ, as a narrow
# peak of it between two shifts closes, which the search in floats can't see.
_STEEP = Fraction(1, 10**6)
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


def calibrate_family(  # noqa: PLR0913 (every part of one problem, all by name)
    family: type[Noise],
    *,
    budget: Budget,
    sensitivity: Sensitivity,
    dimension: int,
    geometry: Geometry | None = None,
    compositions: int = 1,
    sampling_rate: Fraction = Fraction(1),
    loss: Loss = Loss.MSE,
    fixed: Mapping[str, Fraction | int] | None = None,
    search: Search | None = None,
) -> Calibrated:
    """Return the law that is found for `family`, of the least scale proved to meet `budget`.

    `dimension` is the noise's, which a `geometry` may make another than the query's. `loss` decides
    those parameters beside the scale that the family's source leaves open; `fixed` sets some.
    `search` finds the law for a family that calibration itself has no search for. The budget is
    that of all `compositions` releases together, each of a Poisson sample if `sampling_rate` < 1.

    The scale is never below the exact minimum and at most 1e-9 (relative) above it; 1e-5 for
    generalized-gamma, and for gaussian-mixture at δ < 1e-6.
    Raises NotApplicable if the family can't serve, NotCertified if no proof was found.
    """
    if why := family.why_not(dimension=dimension, delta=budget.delta):
        raise NotApplicable(family=family.name, why=why)
    if budget.delta > _LARGEST_DELTA:
        why = "delta is so close to 1 that no scale is searched for it; it protects nobody"
        raise NotApplicable(family=family.name, why=why)
    check_sampling(family, sensitivity, geometry, sampling_rate)
    shifts = shifts_of(family, sensitivity, geometry)
    shift = radius_in_norm_of(family, shifts.outer, dimension=dimension)
    draws = geometry.draws(sensitivity) if geometry else 1
    started = time.perf_counter()
    request = Request(
        budget=budget,
        dimension=dimension,
        loss=loss,
        shift=shift,
        fixed=fixed or {},
        sensitivity=shifts.outer,
    )
    try:
        law = _law(family, request, compositions * draws, rate=sampling_rate, search=search)
        least = law.scaled(shift)
    except (
        InvalidArgument
    ) as error:  # the search is right, but the scale is outside the representable range
        if error.name != "scale":
            raise
        raise Refused(f"{family.name} noise for this budget is out of range. {error}") from error
    found = time.perf_counter()
    prove = partial(
        Certificate.prove,
        budget=budget,
        sensitivity=sensitivity,
        geometry=geometry,
        compositions=compositions,
        sampling_rate=sampling_rate,
    )
    limit, wider = (registered(family).part(name) for name in ("limit", "wider"))
    steep = wider is not None and budget.delta < _STEEP
    certificate = _widened(least, prove, _STEEP_WIDENINGS if steep else _WIDENINGS, wider)
    return Calibrated(
        certificate=certificate,
        search_seconds=found - started,
        proof_seconds=time.perf_counter() - found,
        note=limit(law, request) if limit else None,
    )


def _law(
    family: type[Noise], request: Request, draws: int, *, rate: Fraction, search: Search | None
) -> Noise:
    if draws > 1:
        # Imported where it is needed: most of the accountant stands behind it.
        from leastnoise.calibration.several import law_for_several  # noqa: PLC0415

        return law_for_several(family, request, draws, rate=rate, search=search)
    if rate != 1:
        request = replace(request, budget=amplified(request.budget, rate))
    return search(request) if search else unit_law(family, request)


def _widened(
    least: Noise,
    prove: Callable[..., Certificate],
    widenings: tuple[Fraction, ...],
    wider: Callable[[Noise, Fraction], Noise] | None,
) -> Certificate:
    at = wider or _scaled
    *earlier, last = widenings
    for widening in earlier:
        try:
            return prove(noise=at(least, 1 + widening))
        except NotCertified:
            continue
    return prove(noise=at(least, 1 + last))


def _scaled(least: Noise, widening: Fraction) -> Noise:
    scale = least.scale * widening
    if not least.parameter_kinds:  # a scale that was searched; others are the sensitivity itself
        scale = Fraction(float_at_least(scale))  # so that the printed one is what is proved
    return least.scaled(scale / least.scale)
