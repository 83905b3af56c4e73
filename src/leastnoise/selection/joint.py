"""Scale several mechanisms by one factor, so that all releases together meet one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from leastnoise import _words
from leastnoise.balls.core import POINTS_PER_STD
from leastnoise.calibration import (
    ask_again,
    find_joint_factor,
    prove_answer,
    rescale,
    why_not_scaled,
)
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact
from leastnoise.guarantees.sensitivity import common_neighbours
from leastnoise.mechanism.composed import mechanism_counts
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.common.several import RELATIVE


@final
@dataclass(frozen=True, kw_only=True)
class JointNoise:
    """Several mechanisms that meet one budget together.

    Attributes:
        mechanisms: The scaled mechanisms. The certificate of each states its number of releases
            (`compositions`) and the budget of these releases alone.
        certificate: The proof for all releases together.
        factor: The factor by which all scales were multiplied.

    """

    mechanisms: tuple[Mechanism, ...]
    certificate: PlanCertificate
    factor: float

    def __repr__(self) -> str:
        names = dict.fromkeys(mechanism.noise.name for mechanism in self.mechanisms)
        kinds = (
            f"{_words.count_noun(len(self.mechanisms), 'mechanism')} ({_words.list_names(names)})"
        )
        budget = self.certificate.budget
        guarantee = _words.format_guarantee(budget.epsilon, budget.delta)
        factor = _words.number(self.factor)
        return _words.line("JointNoise", f"{kinds}, together {guarantee}; scales times {factor}")


def calibrate_jointly(
    releases: Sequence[tuple[Mechanism, int]], *, epsilon: Exact, delta: Exact = 0
) -> JointNoise:
    """Scale several mechanisms by one factor, so that all releases together meet one budget.

    The factor is the smallest: exactly for δ = 0, and to about 1e-4 (relative) for δ > 0.
    Parameters other than the scale stay the same, even if another shape would be better for the new
    budget.

    Args:
        releases: Pairs of a mechanism and its number of releases.
        epsilon: Budget ε ≥ 0 of all releases together.
        delta: Budget δ of all releases together, 0 ≤ δ < 1.

    Returns:
        The scaled mechanisms, and one certificate for all of them.

    Raises:
        InvalidArgument: There is no release, or a count is below 1.
        NotApplicable: A mechanism is for samples, or the mechanisms are about different neighbours.
            Also if a noise is on the integers, is generalized-gamma or has a density in steps
            (other than cactus), or if δ = 0 and a noise is neither laplace nor l2.
        NotCertified: No proof was found.

    Source:
        theory/accounting.md §1 A.

    Examples:
        >>> from leastnoise.guarantees.sensitivity import L1, L2
        >>> from leastnoise.selection.public import calibrate
        >>> weekly = calibrate("laplace", epsilon="0.1", sensitivity=L1(1))
        >>> noise = {"epsilon": "0.5", "delta": "1e-6", "sensitivity": L2(1)}
        >>> yearly = calibrate("gaussian", **noise, dimension=9)
        >>> both = calibrate_jointly([(weekly, 52), (yearly, 1)], epsilon=1, delta="1e-6")
        >>> round(both.factor, 3), both.certificate.verify().upper <= 1e-6
        (2.994, True)
    """
    budget = Budget(epsilon=epsilon, delta=delta)
    wanted = [
        replace(mechanism.certificate, budget=budget, compositions=count, grid=None)
        for mechanism, count in mechanism_counts(releases)
    ]
    common_neighbours(certificate.neighbours for certificate in wanted)
    for certificate in wanted:
        if why := why_not_scaled(certificate, budget):
            raise NotApplicable(family=certificate.noise.name, why=why)
    if budget.delta:
        factor = find_joint_factor(wanted, budget, points_per_std=POINTS_PER_STD, relative=RELATIVE)
        scaled = [rescale(certificate, factor) for certificate in wanted]
    else:
        ratio = sum(map(_largest_loss, wanted), Fraction(0)) / budget.epsilon
        factor = float(ratio)
        scaled = [_scale_pure(certificate, ratio) for certificate in wanted]
    mechanisms = tuple(Mechanism(certificate) for certificate in scaled)
    draws = tuple((str(i), draw.certificate) for i, draw in enumerate(mechanisms, start=1))
    return JointNoise(
        mechanisms=mechanisms,
        certificate=PlanCertificate.prove(budget=budget, draws=draws),
        factor=factor,
    )


def _largest_loss(certificate: Certificate) -> Fraction:
    """The largest privacy loss of all draws together: their ε at δ = 0.

    Raises NotApplicable for noise with unbounded losses.
    """
    part, noise = certificate.releases, certificate.noise
    if why := type(noise).why_not(dimension=noise.dimension, delta=Fraction(0)):
        raise NotApplicable(family=noise.name, why=why)
    return part.compositions * noise.worst_shift(part.shifts.outer) / noise.scale


def _scale_pure(certificate: Certificate, factor: Fraction) -> Certificate:
    scaled = replace(certificate, noise=certificate.noise.scaled(factor))
    return prove_answer(ask_again(scaled, Budget(epsilon=_largest_loss(scaled))), scaled.noise)
