"""Scale the Gaussian noise of all draws so that together they spend a budget in ρ."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.accounting.proof.composed import gaussian_square, is_gaussian
from leastnoise.calibration import rescale
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import Refused
from leastnoise.guarantees.exact import float_at_least, root_above
from leastnoise.mechanism.rounding import default_grid
from leastnoise.tables.answers.noisy import FINEST_GRID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.answers.base import Offer


def scale_to_rho(offers: Sequence[Offer], rho: Fraction, neighbours: Neighbours) -> list[Offer]:
    """Scale the Gaussian noise of each offer to its part of ρ, and prove it.

    A draw with l2 sensitivity Δ and standard deviation σ spends Δ²/(2σ²) of ρ; these parts add up
    (Bun & Steinke 2016, Lemma 1.7). An offer gets the same part of ρ as of δ; it follows from the
    importances. Within an offer, the ratios of scales stay the same. Raises Refused if an offer has
    other than Gaussian noise.
    """
    delta = sum((_delta_of(offer) for offer in offers), Fraction(0))
    return [
        _scale(offer, rho * _delta_of(offer) / delta, neighbours=neighbours) for offer in offers
    ]


def _delta_of(offer: Offer) -> Fraction:
    return sum((claim.budget.delta for _, claim in offer.claims), Fraction(0))


def _scale(offer: Offer, rho: Fraction, *, neighbours: Neighbours) -> Offer:
    draws = [(name, claim) for name, claim in offer.claims if isinstance(claim, Certificate)]
    if len(draws) < len(offer.claims) or not is_gaussian([claim.releases for _, claim in draws]):
        names = _words.join_names([name for name, _ in offer.claims])
        raise Refused(
            f"A budget in rho needs Gaussian noise, but the noise of {names} isn't Gaussian. Give "
            "epsilon in place of rho."
        )
    spent = gaussian_square([claim.releases for _, claim in draws], inner=False) / 2
    factor = float_at_least(root_above(spent / rho))
    claims = list[tuple[str, Certificate]]()
    for name, claim in draws:
        scaled = rescale(claim, factor).about(neighbours)
        claims.append((name, scaled.on_grid(max(default_grid(scaled.noise), FINEST_GRID))))
    return replace(offer, claims=tuple(claims), known=())
