"""Scale several mechanisms by one factor, so that all releases together meet one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from leastnoise import _words
from leastnoise.balls.losses import POINTS_PER_STD
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
from leastnoise.mechanism.mechanism import Mechanism, mechanism_counts
from leastnoise.noise.common.several import RELATIVE


@final
@dataclass(frozen=True, kw_only=True)
class JointNoise:
    """`mechanisms` that meet the `certificate`'s budget together.

    Each is for as many releases as its own certificate says (`compositions`), and that says what
    they are worth alone. `factor` is what all scales were multiplied by.
    """

    mechanisms: tuple[Mechanism, ...]
    certificate: PlanCertificate
    factor: float

    def __repr__(self) -> str:
        names = dict.fromkeys(one.noise.name for one in self.mechanisms)
        kinds = (
            f"{_words.count_noun(len(self.mechanisms), 'mechanism')} ({_words.list_names(names)})"
        )
        budget = self.certificate.budget
        said = _words.format_guarantee(budget.epsilon, budget.delta)
        factor = _words.number(self.factor)
        return _words.line("JointNoise", f"{kinds}, together {said}; scales times {factor}")


def calibrate_jointly(
    releases: Sequence[tuple[Mechanism, int]], *, epsilon: Exact, delta: Exact = 0
) -> JointNoise:
    """Return the same mechanisms, scaled by one factor so that all releases meet one budget.

    `releases` are pairs of a mechanism and how often it is used. The factor is the least, to about
    1e-4; with δ = 0, exactly. Other parameters than the scale are kept, whatever shape would now be
    better. Raises InvalidArgument without a release or for counts below 1, NotApplicable for
    samples, for steps (but cactus), for generalized-gamma, at δ = 0 for all but laplace and l2, and
    for mechanisms about different neighbours; NotCertified if no proof was found.

    >>> from leastnoise.guarantees.sensitivity import L1, L2
    >>> from leastnoise.selection.public import calibrate
    >>> weekly = calibrate("laplace", epsilon="0.1", sensitivity=L1(1))
    >>> yearly = calibrate("gaussian", epsilon="0.5", delta="1e-6", sensitivity=L2(1), dimension=9)
    >>> both = calibrate_jointly([(weekly, 52), (yearly, 1)], epsilon=1, delta="1e-6")
    >>> round(both.factor, 3), both.certificate.verify().upper <= 1e-6
    (2.994, True)
    """
    budget = Budget(epsilon=epsilon, delta=delta)
    wanted = [
        replace(mechanism.certificate, budget=budget, compositions=count, grid=None)
        for mechanism, count in mechanism_counts(releases)
    ]
    common_neighbours(one.neighbours for one in wanted)
    for one in wanted:
        if why := why_not_scaled(one, budget):
            raise NotApplicable(family=one.noise.name, why=why)
    if budget.delta:
        factor = find_joint_factor(wanted, budget, points_per_std=POINTS_PER_STD, relative=RELATIVE)
        scaled = [rescale(one, factor) for one in wanted]
    else:
        exactly = sum(map(_largest_loss, wanted), Fraction(0)) / budget.epsilon
        factor, scaled = float(exactly), [_purely(one, exactly) for one in wanted]
    mechanisms = tuple(Mechanism(one) for one in scaled)
    blocks = tuple((str(i), one.certificate) for i, one in enumerate(mechanisms, start=1))
    return JointNoise(
        mechanisms=mechanisms,
        certificate=PlanCertificate.prove(budget=budget, blocks=blocks),
        factor=factor,
    )


def _largest_loss(certificate: Certificate) -> Fraction:
    """Return the largest loss of all draws; raises NotApplicable for noise that has none."""
    part, noise = certificate.releases, certificate.noise
    if why := type(noise).why_not(dimension=noise.dimension, delta=Fraction(0)):
        raise NotApplicable(family=noise.name, why=why)
    return part.compositions * noise.worst_shift(part.shifts.outer) / noise.scale


def _purely(certificate: Certificate, factor: Fraction) -> Certificate:
    moved = replace(certificate, noise=certificate.noise.scaled(factor))
    return prove_answer(ask_again(moved, Budget(epsilon=_largest_loss(moved))), moved.noise)
