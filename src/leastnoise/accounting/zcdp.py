"""The (ε, δ) of Gaussian noise with a total ρ, for budgets that are given in ρ."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.accounting.composition import Composition
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import few_digits_at_least, root_above
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise import Gaussian
from leastnoise.noise.question import Releases


def budget_of_rho(rho: Fraction, delta: Fraction) -> Budget:
    """The budget (ε, `delta`) that Gaussian noise with this ρ needs; ε is rounded up to six digits.

    A draw of Gaussian noise of scale σᵢ for a sensitivity Δᵢ has ρᵢ = Δᵢ²/2σᵢ². Several draws
    compose to one Gaussian with Δ²/σ² = 2Σρᵢ, whose profile is known exactly (Balle & Wang 2018,
    Theorem 8). Raises InvalidArgument or NotApplicable for an ε above the largest that a budget may
    have, NotApplicable for a `delta` of 0, and InvalidArgument for a `rho` of 0.
    """
    one_draw = Releases(noise=Gaussian(scale=1), shifts=ShiftBounds.of(L2(root_above(2 * rho))))
    least = Composition(parts=(one_draw,)).epsilon(delta=delta).upper
    return Budget(epsilon=few_digits_at_least(least), delta=delta)
