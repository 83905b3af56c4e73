"""Scale the noise of all draws so that they meet the budget together, without separate shares."""

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
_MANY = 8  # fewer draws of noise with δ = 0 gain nothing over the sum of their shares
_MARGIN = 1e-3  # relative; added to a draw's least share, as a proof needs more than the estimate

Chosen = tuple[Mechanism, ...]
"""A mechanism for each draw."""
Offers = tuple[Mechanism, ...]
"""The mechanisms for a draw at its share of the budget, the best first."""


def scale_jointly(budget: Budget, offers: Sequence[Offers]) -> tuple[Chosen, Chosen] | None:
    """Scale the noise of all draws down, as far as the draws together still meet `budget`.

    Two strategies are tried. The first scales the best scalable offer of each draw by a common
    factor; it is left out for fewer than 8 draws of which none is spherical. The second takes
    Gaussian noise for all draws, with the scales that minimize Σ share·ln(variance). The choice
    depends on public numbers only.

    Returns the scaled mechanisms, and the same mechanisms before scaling. None if no strategy is
    proved and gives every draw a smaller mean square error than its best offer. Also None if δ = 0,
    for fewer than two draws, or if a draw has no offer or a best offer without error.
    """
    if len(offers) < 2 or not budget.delta or not all(offers):
        return None
    if not all(options[0].mse for options in offers):  # an error of 0 can't become smaller
        return None
    scalable = [
        [mechanism for mechanism in options if is_scalable(mechanism.certificate)]
        for options in offers
    ]
    gaussian = [
        [mechanism for mechanism in options if mechanism.noise.name == "gaussian"]
        for options in scalable
    ]
    shares = np.array([float(options[0].certificate.budget.delta) for options in offers])
    solutions: list[tuple[Chosen, Chosen]] = []
    for kind in (scalable, gaussian):
        if not all(kind):
            continue
        mechanisms = tuple(options[0] for options in kind)
        if len(mechanisms) < _MANY and not any(
            mechanism.noise.name in _SPHERICAL for mechanism in mechanisms
        ):
            continue
        ratios = [1.0] * len(mechanisms)
        if kind is gaussian:
            unequal = _ratios(budget, mechanisms, offers, shares)
            if unequal is None:
                continue
            ratios = unequal
        best = [options[0].mse for options in offers]
        scaled = scale_together(budget, mechanisms, ratios, below=best)
        if scaled and all(
            new.mse < options[0].mse for new, options in zip(scaled, offers, strict=True)
        ):
            solutions.append((scaled, mechanisms))
    return min(
        solutions,
        key=lambda pair: float(shares @ np.log([mechanism.mse for mechanism in pair[0]])),
        default=None,
    )


def _ratios(
    budget: Budget, mechanisms: Chosen, offers: Sequence[Offers], shares: NDArray[np.float64]
) -> list[float] | None:
    """The factors for the scales of Gaussian noise; None if some draw would get a larger error.

    Let u_i = (l2 sensitivity)²/σ_i² for draw i with standard deviation σ_i, divided by the same
    fraction for a single draw that spends the whole budget. The u_i have to add up to 1. Each has
    to exceed the value at which its draw has the error of its best offer. So a solution exists if
    these values add up to less than 1. If their sum is almost 1, all factors are 1.
    """
    whole = float(find_gaussian(budget).scale)
    parts = np.array(
        [float(find_gaussian(mechanism.certificate.budget).scale) for mechanism in mechanisms]
    )
    now = (whole / parts) ** 2
    worst = np.array(
        [
            mechanism.mse / options[0].mse
            for mechanism, options in zip(mechanisms, offers, strict=True)
        ]
    )
    least = now * worst
    if least.sum() >= 1:
        return None
    best = raise_shares(shares, least * (1 + _MARGIN))
    return [1.0] * len(mechanisms) if best is None else np.sqrt(now / best).tolist()


def scale_together(
    budget: Budget,
    mechanisms: Chosen,
    ratios: Sequence[float],
    *,
    below: Sequence[float] | None = None,
) -> Chosen | None:
    """Scale mechanisms by `ratios` and a common factor so that they meet `budget` together.

    None if no proof is found, or if a mean square error exceeds its limit in `below`.
    """
    certificates = [mechanism.certificate for mechanism in mechanisms]
    try:
        factor = find_joint_factor(certificates, budget, ratios=ratios)
        scales = [factor * ratio for ratio in ratios]
        if below and any(  # checked first, because it needs no proof
            mechanism.mse * scale * scale > most
            for mechanism, scale, most in zip(mechanisms, scales, below, strict=True)
        ):
            return None
        pairs = list(zip(certificates, scales, strict=True))
        once = {
            pair: rescale(*pair) for pair in dict.fromkeys(pairs)
        }  # many queries have the same noise
        moved = [once[pair] for pair in pairs]
        PlanCertificate.prove(
            budget=budget, draws=tuple((str(i), proved) for i, proved in enumerate(moved))
        )
    except (NotApplicable, NotCertified):
        return None
    return tuple(Mechanism(certificate) for certificate in moved)


def split_noise(certificate: Certificate, share: Budget) -> Noise:
    """The noise of the same family with which the draw alone would meet its `share` of the budget.

    Raises NotApplicable unless `scale_jointly` can choose this noise.
    """
    if not is_scalable(certificate):
        raise NotApplicable(family=certificate.noise.name, why="it isn't scaled with others")
    calibrated = calibrate_family(type(certificate.noise), ask_again(certificate, share))
    return calibrated.certificate.noise
