"""Budgets of releases of Poisson samples."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.balls.core import ball, float_below, precision
from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text

_BITS = 256


def check_rate(budget: Budget, sampling_rate: Fraction) -> None:
    """Raise Refused if sampling alone hides all."""
    if budget.delta >= sampling_rate:
        raise Refused(
            f"With delta >= the sampling rate ({decimal_text(sampling_rate)}) the budget holds "
            "even for a release of the sample without noise. Lower delta."
        )


def amplify(budget: Budget, sampling_rate: Fraction) -> Budget:
    """Return the budget at which one release of the whole data meets `budget` on Poisson samples.

    log(1 + (e^ε − 1)/γ), rounded down, and δ/γ, γ = sampling_rate (theory/accounting.md §4, for a
    record that is removed; at ε >= 0 one that is added leaks less). Raises Refused if sampling
    alone hides all.
    """
    check_rate(budget, sampling_rate)
    with precision(_BITS):
        epsilon = (1 + (ball(budget.epsilon).exp() - 1) / ball(sampling_rate)).log()
        low = Fraction(float_below(epsilon))
    return Budget(epsilon=max(Fraction(0), low), delta=budget.delta / sampling_rate)
