"""The blocks of one release under their budget together, instead of a share of it each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.calibration import (
    ask_again,
    calibrate_family,
    find_gaussian,
    find_joint_factor,
    is_scalable,
    rescale,
)
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import NotApplicable, NotCertified
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.numerics.searches import raise_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise

_SPHERICAL = {"gaussian", "l2"}
_MANY = 8  # draws of pure noise, fewer of which cost what their shares add up to
_MARGIN = 1e-3  # of the least share of a block, for what a proof needs above the float

Chosen = tuple[Mechanism, ...]
Offers = tuple[Mechanism, ...]
"""What serves a block at its share of the budget, the best first."""


def jointly(budget: Budget, offers: Sequence[Offers]) -> tuple[Chosen, Chosen] | None:
    """Return (mechanisms that meet `budget` together, the same before they were scaled down).

    Every block has less mean square error than the best of its offers, or None is returned. Tried
    are the best families that can be scaled together, by one factor (a few draws of pure noise are
    not), and Gaussian noise in all blocks, as large in each as is best for Σ share·ln(variance).
    Public numbers decide alone.
    """
    if len(offers) < 2 or not budget.delta or not all(offers):
        return None
    if not all(some[0].mse for some in offers):  # of an error that is 0 as a float none is less
        return None
    able = [[one for one in some if is_scalable(one.certificate)] for some in offers]
    gaussian = [[one for one in some if one.noise.name == "gaussian"] for some in able]
    shares = np.array([float(some[0].certificate.budget.delta) for some in offers])
    found: list[tuple[Chosen, Chosen]] = []
    for kind in (able, gaussian):
        if not all(kind):
            continue
        alone = tuple(some[0] for some in kind)
        if len(alone) < _MANY and not any(one.noise.name in _SPHERICAL for one in alone):
            continue
        ratios = [1.0] * len(alone)
        if kind is gaussian:
            unequal = _ratios(budget, alone, offers, shares)
            if unequal is None:
                continue
            ratios = unequal
        best = [some[0].mse for some in offers]
        scaled = scale_together(budget, alone, ratios, below=best)
        if scaled and all(new.mse < some[0].mse for new, some in zip(scaled, offers, strict=True)):
            found.append((scaled, alone))
    return min(
        found,
        key=lambda pair: float(shares @ np.log([one.mse for one in pair[0]])),
        default=None,
    )


def _ratios(
    budget: Budget, alone: Chosen, offers: Sequence[Offers], shares: NDArray[np.float64]
) -> list[float] | None:
    """Return what to multiply the scales of Gaussian noise by; None if some block has to lose.

    notation: u_i = (l2 norm)²/σ_i², over what it is of one draw that spends the whole budget. They
    add up to 1, and each is at least that at which the block has the error of its best offer: then
    these add up to less than 1.
    """
    whole = float(find_gaussian(budget).scale)
    parts = np.array([float(find_gaussian(one.certificate.budget).scale) for one in alone])
    now = (whole / parts) ** 2
    worst = np.array([one.mse / some[0].mse for one, some in zip(alone, offers, strict=True)])
    least = now * worst
    if least.sum() >= 1:
        return None
    best = raise_shares(shares, least * (1 + _MARGIN))
    return [1.0] * len(alone) if best is None else np.sqrt(now / best).tolist()


def scale_together(
    budget: Budget,
    alone: Chosen,
    ratios: Sequence[float],
    *,
    below: Sequence[float] | None = None,
) -> Chosen | None:
    """Return noise that meets `budget` together, each `ratios` times one factor as large.

    None if that isn't proved, or the mean square error of some is above what it has to be `below`.
    """
    certificates = [one.certificate for one in alone]
    try:
        factor = find_joint_factor(certificates, budget, ratios=ratios)
        scales = [factor * ratio for ratio in ratios]
        if below and any(  # then nothing has to be proved
            one.mse * scale * scale > most
            for one, scale, most in zip(alone, scales, below, strict=True)
        ):
            return None
        pairs = list(zip(certificates, scales, strict=True))
        once = {pair: rescale(*pair) for pair in dict.fromkeys(pairs)}  # many queries are alike
        moved = [once[pair] for pair in pairs]
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
    if not is_scalable(certificate):
        raise NotApplicable(family=certificate.noise.name, why="it isn't scaled with others")
    found = calibrate_family(type(certificate.noise), ask_again(certificate, share))
    return found.certificate.noise
