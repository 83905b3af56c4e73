"""From a family and a budget to a proved noise law."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise.calibration.search import unit_scale
from leastnoise.certify.certificate import Certificate
from leastnoise.certify.prove import worst_shift
from leastnoise.errors import NotApplicable, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise

# If the proof fails at the scale found, it is widened by these relative amounts in turn; the total
# stays within the 1e-9 that is promised of the exact minimum.
_WIDENINGS = (Fraction(0), Fraction(2, 10**12), Fraction(2, 10**11), Fraction(8, 10**10))


@final
@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """A proved noise law, and the seconds that finding and proving it took."""

    certificate: Certificate
    search_seconds: float
    proof_seconds: float


def calibrate_family(
    family: type[Noise], *, budget: Budget, sensitivity: Sensitivity, dimension: int
) -> Calibrated:
    """Return the law of `family` with the smallest scale that is proved to meet `budget`.

    The scale is never below the exact minimum and at most 1e-9 (relative) above it.
    Raises NotApplicable if the family can't serve, NotCertified if no proof was found.
    """
    if why := family.why_not(dimension=dimension, delta=budget.delta):
        raise NotApplicable(family=family.name, why=why)
    started = time.perf_counter()
    prototype = family(scale=1, dimension=dimension)
    shift = worst_shift(prototype, sensitivity)
    least = shift * unit_scale(family.shape, dimension=dimension, budget=budget)
    found = time.perf_counter()
    certificate = _prove(prototype, least, budget=budget, sensitivity=sensitivity)
    return Calibrated(
        certificate=certificate,
        search_seconds=found - started,
        proof_seconds=time.perf_counter() - found,
    )


def _prove(
    prototype: Noise, least: Fraction, *, budget: Budget, sensitivity: Sensitivity
) -> Certificate:
    *widenings, last = _WIDENINGS
    for widening in widenings:
        try:
            return _prove_at(prototype, least * (1 + widening), budget, sensitivity)
        except NotCertified:
            continue
    return _prove_at(prototype, least * (1 + last), budget, sensitivity)


def _prove_at(
    prototype: Noise, scale: Fraction, budget: Budget, sensitivity: Sensitivity
) -> Certificate:
    noise = prototype.scaled(Fraction(_float_at_least(scale)))
    return Certificate.prove(budget=budget, noise=noise, sensitivity=sensitivity)


def _float_at_least(number: Fraction) -> float:
    """Return a float >= `number`, so that a printed scale is exactly the one that was proved."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)
