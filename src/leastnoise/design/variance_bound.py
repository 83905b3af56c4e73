"""How little variance noise for one number can have: the lemma of theory/marginals.md §4."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.balls.core import ball, precision

if TYPE_CHECKING:
    from flint import arb

    from leastnoise.guarantees.budget import Budget

_LEAST = Fraction(1, 2**40)  # ε counts as δ times that at least: nothing is divided by 0 then
_BITS = 256  # half of which the sums of k² lose there


def least_variance(budget: Budget) -> arb:
    """Return a ball for a variance that no noise which hides a shift of 1 is below.

    2q/(1 − q)² at δ = 0, q = e^(−ε). Beyond, k²f + |f|k²p/w + τ(s − k²p²/w) where p = q^k,
    w = Σ q^|i| and s = Σ i² q^|i| over i = 1 − k … k, τ = (e^ε − 1 + 2δ)/(e^ε + 1), f = 1 − τw.
    Proved for every k; the best one is where f changes its sign.
    """
    if budget.delta == 0:
        return 1 / (2 * (ball(budget.epsilon) / 2).sinh() ** 2)
    with precision(_BITS):  # what no noise has at a larger ε, none has at this one
        epsilon, delta = ball(max(budget.epsilon, budget.delta * _LEAST)), ball(budget.delta)
        q, off = (-epsilon).exp(), -(-epsilon).expm1()
        tau = (off + 2 * delta * q) / (1 + q)
        whole = ((tau / delta).log() / epsilon).mid().floor().unique_fmpz()
        k = 1 + max(int(whole or 0), 0)
        p, reached = (-epsilon * k).exp(), -(-epsilon * k).expm1()
        w = (1 + q) * reached / off
        f = p - 2 * delta * q * reached / off
        s = 2 * q * (1 + q) * reached / off**3 - p * (k**2 * (1 + q) / off + 4 * k * q / off**2)
        edge = k**2 * p / w
        return k**2 * f + abs(f) * edge + tau * (s - p * edge)
