"""The blocks of one release under their budget together, instead of a share of it each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leastnoise.calibration.calibrate import calibrate_family
from leastnoise.calibration.joint import joint_factor, rescaled, scalable
from leastnoise.certify.plan import PlanCertificate
from leastnoise.errors import NotApplicable, NotCertified
from leastnoise.noise.gaussian import Gaussian
from leastnoise.release.mechanism import Mechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.certify.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise

Chosen = tuple[Mechanism, ...]
Offers = tuple[Mechanism, ...]
"""What serves a block at its share of the budget, the best first."""


def jointly(budget: Budget, offers: Sequence[Offers]) -> tuple[Chosen, Chosen] | None:
    """Return (mechanisms that meet `budget` together, the same before they were scaled down).

    Every block has less mean square error than the best of its offers, or None is returned. Tried
    are the best families that can be scaled together, and Gaussian noise in all blocks. Public
    numbers decide alone.
    """
    if len(offers) < 2 or not budget.delta:
        return None
    able = [[one for one in some if scalable(one.certificate)] for some in offers]
    gaussian = [[one for one in some if isinstance(one.noise, Gaussian)] for some in able]
    found = [
        (scaled, alone)
        for kind in (able, gaussian)
        if all(kind)
        and (alone := tuple(some[0] for some in kind))
        and (scaled := _scaled(budget, alone))
        and all(new.mse < some[0].mse for new, some in zip(scaled, offers, strict=True))
    ]
    return min(found, key=lambda pair: math.prod(one.mse for one in pair[0]), default=None)


def _scaled(budget: Budget, alone: Chosen) -> Chosen | None:
    certificates = [one.certificate for one in alone]
    try:
        factor = joint_factor(certificates, budget)
        moved = [rescaled(one, factor) for one in certificates]
        PlanCertificate.prove(
            budget=budget, blocks=tuple((str(i), one) for i, one in enumerate(moved))
        )
    except (NotApplicable, NotCertified):
        return None
    return tuple(Mechanism(one) for one in moved)


def split_noise(certificate: Certificate, share: Budget) -> Noise:
    """Return the same family's least noise if the block had to meet its `share` alone.

    Raises NotApplicable unless it is noise that `jointly` chooses.
    """
    if not scalable(certificate):
        raise NotApplicable(family=certificate.noise.name, why="it isn't scaled with others")
    return calibrate_family(
        type(certificate.noise),
        budget=share,
        sensitivity=certificate.sensitivity,
        dimension=certificate.noise.dimension,
        geometry=certificate.geometry,
    ).certificate.noise
