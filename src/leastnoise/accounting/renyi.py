"""Bounds in balls on the δ and ε that (α, τ)-RDP and ρ-zCDP imply (theory/accounting.md §5).

Notation: α > 1 is the `order` of a Rényi divergence, and τ the bound `tau` on it. ρ-zCDP is (α,
αρ)-RDP for every α > 1. The callers check the arguments: Fractions, rho and epsilon below 10^300,
order > 1, 0 < delta.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import AMPLE_BITS, ball, precision
from leastnoise.numerics.searches import minimise


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> arb:
    """Enclose an upper bound on the δ(ε) of a ρ-zCDP release.

    The bound e^((α−1)(αρ−ε)) (1−1/α)^(α−1) / α holds for any α > 1 (Canonne, Kamath & Steinke 2020,
    Proposition 12; theory/accounting.md §5). α is optimised in floats, which can't make it wrong.
    """
    if not rho:
        return arb(0)

    def log_delta(t: float) -> float:
        excess = math.exp(t)
        gap = (1 + excess) * float(rho) - float(epsilon) - math.log1p(math.exp(-t))
        return excess * gap - math.log1p(excess)

    log_excesses = range(-20, 42, 2)  # log(α − 1)
    order = 1 + Fraction(math.exp(minimise(log_delta, log_excesses)))
    return rdp_delta(order * rho, order, epsilon)


def rdp_delta(tau: Fraction, order: Fraction, epsilon: Fraction) -> arb:
    """Enclose the bound e^((α−1)(τ−ε)) (1 − 1/α)^(α−1)/α on the δ(ε) of (α, τ)-RDP, at most 1."""
    with precision(AMPLE_BITS):
        gap = ball(tau) - ball(epsilon)
        return ((ball(order) - 1) * gap + _log_kappa(order)).exp().min(arb(1))


def rdp_epsilon(tau: Fraction, order: Fraction, delta: Fraction) -> arb:
    """Enclose the ε at which the bound of `rdp_delta` is `delta`, or 0 if that ε is negative."""
    with precision(AMPLE_BITS):
        epsilon = ball(tau) + (_log_kappa(order) - ball(delta).log()) / (ball(order) - 1)
        return epsilon.max(arb(0))


def _log_kappa(alpha: Fraction) -> arb:
    """Enclose ln((1 − 1/α)^(α−1)/α), the logarithm of the constant factor of `rdp_delta`."""
    order = ball(alpha)
    return (order - 1) * (1 - 1 / order).log() - order.log()
