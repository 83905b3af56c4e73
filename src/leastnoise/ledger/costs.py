"""What a certified release costs, by each of the two filters; exact.

Only the certificate is asked, never an output, so that a cost is known before the noise is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import Block, PlanCertificate, times_spent
from leastnoise.noise.body_noise import VectorNoise

Certified = Certificate | PlanCertificate

# ρ is rounded up to a multiple of this: sums of ratios of any two floats would grow without bound.
_UNIT_OF_RHO = Fraction(1, 10**30)


@final
@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one or more charges cost: (epsilon, delta), and leak-approximate rho-zCDP."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    leak: Fraction = Fraction(0)

    @classmethod
    def of(cls, release: Certified) -> Self:
        """Return the cost of `release`; of k compositions, or of a series of k, that of all k.

        ρ is Δ²/2σ² for Gaussian noise (Bun & Steinke 2016, Proposition 1.6) and mixtures of it, and
        ε₀²/2 for noise that is ε₀-private (Proposition 1.4). Any other (ε, δ) is δ-approximate
        ε²/2-zCDP: with probability 1 − δ it is no worse than randomized response
        (theory/accounting.md §5).
        """
        budget = release.budget
        parts = (
            [(times_spent(release, block), *_zcdp(block)) for _, block in release.blocks]
            if isinstance(release, PlanCertificate)
            else [(1, *_zcdp(release))]
        )
        return cls(
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=sum((_rounded_up(times * rho) for times, rho, _ in parts), Fraction(0)),
            leak=sum((times * leak for times, _, leak in parts), Fraction(0)),
        )

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both."""
        return Cost(
            epsilon=self.epsilon + other.epsilon,
            delta=self.delta + other.delta,
            rho=self.rho + other.rho,
            leak=self.leak + other.leak,
        )

    def times(self, count: int) -> Cost:
        """Return the cost of `count` such charges."""
        return Cost(
            epsilon=count * self.epsilon,
            delta=count * self.delta,
            rho=count * self.rho,
            leak=count * self.leak,
        )


def _zcdp(certificate: Block) -> tuple[Fraction, Fraction]:
    """Return (ρ, δ') of a certificate."""
    budget = certificate.budget
    stated = budget.epsilon**2 / 2
    if not isinstance(certificate, Certificate):  # what is silent, or chosen, has no density
        return stated, budget.delta
    noise, draws = certificate.noise, certificate.releases
    if certificate.sampling_rate != 1:  # of noise for a small sample alone, ρ would be large
        return stated, budget.delta
    if (variance := noise.gaussian_square) is not None:
        shift = noise.worst_shift(draws.shifts.outer)
        return draws.compositions * shift**2 / variance / 2, Fraction(0)
    if isinstance(noise, VectorNoise) and noise.purely_private:  # ε₀-private
        largest = noise.worst_shift(draws.shifts.outer) * noise.largest_loss
        return draws.compositions * largest**2 / 2, Fraction(0)
    square = noise.scale**2 if noise.exponential else noise.smoothed_square
    if square is not None:
        # Whatever (ε, δ) it was calibrated for, exp(−‖x‖/b) is Δ/b-private, and a mixture of
        # Gaussians no worse than one of them (theory/accounting.md §5).
        rho = draws.compositions * noise.worst_shift(draws.shifts.outer) ** 2 / square / 2
        # in many dimensions, or with narrow Gaussians, the stated (ε, δ) says more
        if rho <= 2 * stated:
            return rho, Fraction(0)
    return stated, budget.delta


def _rounded_up(rho: Fraction) -> Fraction:
    return -(-rho // _UNIT_OF_RHO) * _UNIT_OF_RHO
