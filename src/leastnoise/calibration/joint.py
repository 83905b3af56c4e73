"""Noise for several queries that share one budget by tight composition, scaled together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

from leastnoise.accounting.composition import Composition
from leastnoise.balls.core import float_above
from leastnoise.calibration.composed import root_of
from leastnoise.certify.certificate import Certificate
from leastnoise.certify.composed import Releases, composed_at_most
from leastnoise.certify.losses import MONOTONE
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import float_at_least

_COARSE = 32  # lattice steps in a standard deviation: its bounds are proved too, 0.03 % above
_RELATIVE = 1e-4  # of the factor
_DIGITS = 6  # of the stated epsilon, rounded up


def scalable(certificate: Certificate) -> bool:
    """Say whether the certificate's noise is a scale alone, and its composition is proved."""
    noise = certificate.noise
    known = noise.shape in MONOTONE and noise.norm != "integer" and not noise.parameter_kinds
    return known and certificate.sampling_rate == 1


def joint_factor(certificates: Sequence[Certificate], budget: Budget) -> float:
    """Return about the least factor for all scales with which the draws together meet `budget`.

    At most 1, which is what meeting a share of the budget each gives. No proof: see
    `PlanCertificate.prove`. Raises NotApplicable unless every composition is proved.
    """
    parts = [one.releases for one in certificates]
    target = math.log(budget.delta.numerator) - math.log(budget.delta.denominator)

    @cache
    def excess(factor: float) -> float:
        moved = [_scaled(part, factor) for part in parts]
        delta = float_above(composed_at_most(moved, budget.epsilon, fineness=_COARSE))
        return math.log(delta) - target if delta > 0 else -math.inf

    if excess(1.0) >= 0:  # for a tiny δ nothing is known so closely, however large the noise
        return 1.0
    return min(1.0, root_of(excess, 1 / math.sqrt(len(parts)), 1.0, relative=_RELATIVE))


def rescaled(certificate: Certificate, factor: float) -> Certificate:
    """Return the certificate of `factor` times the noise: what it is worth alone, at the same δ.

    Its ε is the smallest of six digits. Raises NotApplicable if no ε does, NotCertified if it isn't
    proved.
    """
    part = _scaled(certificate.releases, factor)
    least = Composition(parts=(part,)).epsilon(delta=certificate.budget.delta).upper
    return Certificate.prove(
        budget=Budget(epsilon=_rounded_up(least), delta=certificate.budget.delta),
        noise=part.noise,
        sensitivity=certificate.sensitivity,
        geometry=certificate.geometry,
        compositions=certificate.compositions,
    )


def _scaled(part: Releases, factor: float) -> Releases:
    """Return the draws with `factor` times the noise, the scale rounded up to a float."""
    scale = part.noise.scale
    wanted = Fraction(float_at_least(scale * Fraction(factor)))
    return replace(part, noise=part.noise.scaled(wanted / scale))


def _rounded_up(value: float) -> Fraction:
    if not value:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - _DIGITS)
    return -(-Fraction(value) // unit) * unit
