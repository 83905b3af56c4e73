"""Noise for several queries that share one budget by tight composition, scaled together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.proof.composed import composed_at_most
from leastnoise.balls.core import float_above
from leastnoise.calibration.composed import root_of
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import float_at_least
from leastnoise.noise.base import Shape
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.bodies.law.two_sided_laplace import TwoSidedLaplace
from leastnoise.noise.common.fit import classic
from leastnoise.noise.lattice.law.optimal import Optimal
from leastnoise.noise.longest_shift import worst_shift
from leastnoise.noise.radial.law.generalized_gamma import GeneralizedGamma
from leastnoise.noise.registry import registered
from leastnoise.noise.releases import Releases

_COARSE = 32  # lattice steps in a standard deviation: its bounds are proved too, 0.03 % above
_RELATIVE = 1e-4  # of the factor
_OVER = 1e-15
_ROUNDING = 1e-12  # of a factor times a ratio, both of them floats
_BEYOND = 16  # times the factor of Gaussian noise: what isn't proved there has no proof
_STEPS = frozenset(
    {
        Shape.K_STAIRCASE,
        Shape.RADIAL_STEP,
        Shape.STAIRCASE,
        Shape.STEP,
        Shape.TRUNCATED_K_STAIRCASE,
        Shape.TWO_SIDED,
    }
)
_SMOOTH_BODIES = (KNorm, TwoSidedLaplace)  # the body, and the core, are as good at any scale
_DIGITS = 6  # of the stated epsilon, rounded up


def scalable(certificate: Certificate) -> bool:
    """Say whether the certificate's noise is a scale alone, and its composition is proved."""
    noise = certificate.noise
    alone = not noise.parameter_kinds or isinstance(noise, _SMOOTH_BODIES)
    known = alone and registered(type(noise)).longest_is_worst and not noise.for_whole_numbers
    return known and certificate.sampling_rate == 1


def why_not_scaled(certificate: Certificate, budget: Budget) -> str | None:
    """Say why the noise isn't scaled with others to meet `budget`; None if it is.

    Parameters are kept, so that the shape is the one it has, and the best for another budget.
    """
    noise = certificate.noise
    if certificate.sampling_rate != 1:
        return "only noise for all of the data is scaled together"
    if noise.for_whole_numbers:
        return "noise on whole numbers has no scale to change"
    if noise.parameter_kinds and not budget.delta:
        return "at delta=0 budgets add up, and only laplace and l2 are scaled together"
    in_steps = noise.shape in _STEPS and not isinstance(noise, _SMOOTH_BODIES)
    if in_steps or isinstance(noise, Optimal):
        return "its largest loss stays as it is however wide it gets, and many outputs have it"
    if isinstance(noise, GeneralizedGamma):
        return "every factor that is tried takes seconds to prove"
    return None


def joint_factor(
    certificates: Sequence[Certificate],
    budget: Budget,
    *,
    ratios: Sequence[float] | None = None,
    fineness: int = _COARSE,
    relative: float = _RELATIVE,
) -> float:
    """Return about the least factor for all scales with which the draws together meet `budget`.

    Each scale is first multiplied by its ratio, if there are `ratios`. The bounds of a coarse
    lattice meet the budget, δ > 0. No proof of the whole: see `PlanCertificate.prove`. Raises
    NotApplicable unless every composition is proved, and where none is however large the noise, as
    for a tiny δ.
    """
    parts = [
        _scaled(one.releases, ratio)
        for one, ratio in zip(certificates, ratios or [1.0] * len(certificates), strict=True)
    ]
    target = math.log(budget.delta.numerator) - math.log(budget.delta.denominator)

    @cache
    def excess(factor: float) -> float:
        moved = [_scaled(part, factor) for part in parts]
        delta = float_above(composed_at_most(moved, budget.epsilon, fineness=fineness))
        if Fraction(delta) <= budget.delta:
            return min(math.log(delta) - target, 0.0) if delta > 0 else -math.inf
        return max(math.log(delta) - target, _OVER)  # however little it is

    near = _as_of_gaussians(parts, budget)
    if excess(_BEYOND * near) > 0:
        raise NotApplicable(
            family=parts[0].noise.name, why="no proof is known for so small a delta of all together"
        )
    return root_of(excess, near, 1.1 * near, relative=relative) * (1 + _ROUNDING)


def _as_of_gaussians(parts: Sequence[Releases], budget: Budget) -> float:
    """Return the factor, were all draws Gaussian noise of the same variance."""
    squares = (
        part.count * float(worst_shift(part.noise, part.hidden.outer)) ** 2 / part.noise.variance
        for part in parts
    )
    return float(classic.gaussian(1, budget)) * math.sqrt(math.fsum(squares))


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
