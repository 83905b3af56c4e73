"""Scale the noise of several queries by one factor, so that together they just meet a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

from leastnoise.accounting.composition import Composition
from leastnoise.calibration.calibrate import ask_again, prove_answer
from leastnoise.calibration.several import find_gaussian, find_log_delta_gap
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import float_at_least
from leastnoise.noise.common.fit.several import find_root
from leastnoise.noise.registry import registered
from leastnoise.noise.releases import Releases

_COARSE = 32  # lattice steps in a standard deviation: its bounds are proved too, 0.03 % above
_RELATIVE = 1e-4  # of the factor


def is_scalable(certificate: Certificate) -> bool:
    """Whether the certificate's noise is a scale alone, and its composition is proved."""
    noise = certificate.noise
    family = registered(type(noise))
    alone = not noise.parameter_kinds or family.any_scale
    known = alone and family.longest_is_worst and not noise.for_whole_numbers
    return known and certificate.sampling_rate == 1


def why_not_scaled(certificate: Certificate, budget: Budget) -> str | None:
    """Return the reason why the noise can't be scaled to meet `budget` with others; None if it can.

    Parameters are kept, so that the shape is the one it has, and the best for another budget.
    """
    noise = certificate.noise
    if certificate.sampling_rate != 1:
        return "only noise for all of the data is scaled together"
    if noise.for_whole_numbers:
        return "noise on whole numbers has no scale to change"
    if noise.parameter_kinds and not budget.delta:
        return "at delta=0 budgets add up, and only laplace and l2 are scaled together"
    family = registered(type(noise))
    if family.losses_stay:
        return "its largest loss stays as it is however wide it gets, and many outputs have it"
    if family.slow:
        return "every factor that is tried takes seconds to prove"
    return None


def find_joint_factor(
    certificates: Sequence[Certificate],
    budget: Budget,
    *,
    ratios: Sequence[float] | None = None,
    points_per_std: int = _COARSE,
    relative: float = _RELATIVE,
) -> float:
    """Approximate the least factor for all scales with which the draws together meet `budget`.

    Each scale is first multiplied by its ratio, if there are `ratios`. The bounds of a coarse
    lattice meet the budget, δ > 0. No proof of the whole: see `PlanCertificate.prove`. Raises
    NotApplicable unless every composition is proved, and where none is however large the noise, as
    for a tiny δ.
    """
    parts = [
        _scaled(one.releases, ratio)
        for one, ratio in zip(certificates, ratios or [1.0] * len(certificates), strict=True)
    ]

    @cache
    def gap(factor: float) -> float:
        moved = [_scaled(part, factor) for part in parts]
        return find_log_delta_gap(moved, budget, points_per_std=points_per_std)

    near = _as_of_gaussians(parts, budget)
    beyond = 16  # times the factor of Gaussian noise: what isn't proved there has no proof
    if gap(beyond * near) > 0:
        raise NotApplicable(
            family=parts[0].noise.name, why="no proof is known for so small a delta of all together"
        )
    rounding = 1e-12  # of a factor times a ratio, both of them floats
    return find_root(gap, near, 1.1 * near, relative=relative) * (1 + rounding)


def _as_of_gaussians(parts: Sequence[Releases], budget: Budget) -> float:
    """Return the factor, were all draws Gaussian noise of the same variance."""
    squares = (
        part.compositions
        * float(part.noise.worst_shift(part.shifts.outer)) ** 2
        / part.noise.variance
        for part in parts
    )
    return float(find_gaussian(budget).scale) * math.sqrt(math.fsum(squares))


def rescale(certificate: Certificate, factor: float) -> Certificate:
    """Return the certificate of `factor` times the noise: what it is worth alone, at the same δ.

    Its ε is the smallest of six digits. Raises NotApplicable if no ε does, NotCertified if it isn't
    proved.
    """
    part = _scaled(certificate.releases, factor)
    least = Composition(parts=(part,)).epsilon(delta=certificate.budget.delta).upper
    budget = Budget(epsilon=_rounded_up(least), delta=certificate.budget.delta)
    return prove_answer(ask_again(certificate, budget), part.noise)


def _scaled(part: Releases, factor: float) -> Releases:
    """Return the draws with `factor` times the noise, the scale rounded up to a float."""
    scale = part.noise.scale
    wanted = Fraction(float_at_least(scale * Fraction(factor)))
    return replace(part, noise=part.noise.scaled(wanted / scale))


def _rounded_up(value: float) -> Fraction:
    if not value:
        return Fraction(0)
    digits = 6  # of the stated epsilon, rounded up
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return -(-Fraction(value) // unit) * unit
