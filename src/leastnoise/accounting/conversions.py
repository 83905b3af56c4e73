"""Convert between pure privacy, zCDP, RDP, GDP and (ε, δ): what the first implies of the second.

notation (theory/accounting.md §5): pure ε₀; ρ-zCDP; (α, τ)-RDP; μ-GDP; (ε, δ). Add or remove a
record, or replace one: each statement keeps the neighbours that it had.

Every answer says of which nature it is. EXACT: some mechanism with the first guarantee needs that
much, so that nothing smaller is true of all. UPPER_BOUND: true of all, perhaps not the least. No
approximation by a limit theorem is offered here, and no ρ-zCDP ⇒ √(2ρ)-GDP, which is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from statistics import NormalDist
from typing import final

from flint import arb

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.renyi import rdp_delta, rdp_epsilon, zcdp_delta
from leastnoise.balls.core import AMPLE_BITS, ball, float_above, float_below, precision
from leastnoise.balls.losses import LONGEST_LOSS
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact, Interval, exact
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise import Gaussian
from leastnoise.noise.question import Releases
from leastnoise.numerics.searches import minimise


class Nature(StrEnum):
    """What a conversion loses."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"


@final
@dataclass(frozen=True, kw_only=True)
class Converted:
    """An interval that contains the number converted to; `value.upper` is what is guaranteed."""

    value: Interval
    nature: Nature


def delta_of_pure(pure: Exact, *, epsilon: Exact) -> Converted:
    """Return δ(epsilon) of ε₀-privacy: (e^ε₀ − e^ε)₊/(1 + e^ε₀), that of randomized response.

    Kairouz, Oh & Viswanath (2015). Raises InvalidArgument unless 0 < pure <= 700.

    >>> delta_of_pure("1", epsilon="1").value.upper
    0.0
    """
    return delta_of_approximate(pure, 0, epsilon=epsilon)


def delta_of_approximate(pure: Exact, leak: Exact, *, epsilon: Exact) -> Converted:
    """Return δ(epsilon) of (ε₀, δ₀)-privacy: δ₀ + (1 − δ₀)(e^ε₀ − e^ε)₊/(1 + e^ε₀).

    Kairouz, Oh & Viswanath (2015). Raises InvalidArgument like `delta_of_pure`.
    """
    top, at = _positive(pure, "pure"), _epsilon(epsilon)
    lost = Budget(epsilon=1, delta=leak).delta
    with precision(AMPLE_BITS):
        gap = ball(top).exp() - ball(at).exp() if at < top else arb(0)
        return _exact(ball(lost) + (1 - ball(lost)) * gap / (1 + ball(top).exp()))


def epsilon_of_pure(pure: Exact, *, delta: Exact) -> Converted:
    """Return ε(delta) of ε₀-privacy: log(e^ε₀ − δ(1 + e^ε₀)), or 0 if that is smaller."""
    top, lost = _positive(pure, "pure"), Budget(epsilon=1, delta=delta).delta
    with precision(AMPLE_BITS):
        rest = ball(top).exp() - ball(lost) * (1 + ball(top).exp())
        if rest > 1:
            return _exact(rest.log())
        # log x <= x − 1, should it be too near to 1 to tell
        return _exact(arb(0) if rest <= 1 else arb(0).union(abs(rest - 1)))


def rdp_of_pure(pure: Exact, *, order: Exact) -> Converted:
    """Return the Rényi divergence of `order` α of ε₀-privacy, that of randomized response.

    log(p^α(1 − p)^(1−α) + (1 − p)^α p^(1−α))/(α − 1) with p = e^ε₀/(1 + e^ε₀).
    """
    top, alpha = _positive(pure, "pure"), _order(order)
    with precision(AMPLE_BITS):
        p, a = 1 / (1 + ball(-top).exp()), ball(alpha)
        forward = (a * p.log() + (1 - a) * (1 - p).log()).exp()
        backward = (a * (1 - p).log() + (1 - a) * p.log()).exp()
        return _exact((forward + backward).log() / (a - 1))


def zcdp_of_pure(pure: Exact) -> Converted:
    """Return ρ = ε₀²/2 (Bun & Steinke 2016, Proposition 1.4)."""
    top = _positive(pure, "pure")
    with precision(AMPLE_BITS):
        return _upper_bound(ball(top * top / 2))


def gdp_of_pure(pure: Exact) -> Converted:
    """Return μ = −2Φ⁻¹(1/(1 + e^ε₀)): the sign of N(±μ/2, 1) is randomized response.

    >>> found = gdp_of_pure("1").value
    >>> round(found.lower, 12) == round(found.upper, 12), round(found.upper, 6)
    (True, 1.232035)
    """
    top = _positive(pure, "pure")
    guess = -2 * NormalDist().inv_cdf(math.exp(-float(top)) / (1 + math.exp(-float(top))))
    with precision(AMPLE_BITS):
        tail = 1 / (1 + ball(top).exp())

        def beyond(mu: float) -> arb:
            return (arb(mu) / arb(8).sqrt()).erfc() / 2 - tail

        low = _first(guess, -1, lambda mu: bool(beyond(mu) >= 0))
        high = _first(guess, 1, lambda mu: bool(beyond(mu) <= 0))
    return Converted(value=Interval(low, high), nature=Nature.EXACT)


def delta_of_gdp(mu: Exact, *, epsilon: Exact) -> Converted:
    """Return δ(epsilon) of μ-GDP: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Dong, Roth & Su 2022)."""
    return Converted(value=_normal(mu).delta(epsilon=epsilon), nature=Nature.EXACT)


def epsilon_of_gdp(mu: Exact, *, delta: Exact) -> Converted:
    """Return ε(delta) of μ-GDP; raises NotApplicable for delta = 0, where there is none."""
    return Converted(value=_normal(mu).epsilon(delta=delta), nature=Nature.EXACT)


def zcdp_of_gdp(mu: Exact) -> Converted:
    """Return ρ = μ²/2, which N(μ, 1) against N(0, 1) needs."""
    size = _positive(mu, "mu")
    with precision(AMPLE_BITS):
        return _exact(ball(size * size / 2))


def rdp_of_zcdp(rho: Exact, *, order: Exact) -> Converted:
    """Return τ = αρ at `order` α, which N(μ, 1) with μ²/2 = ρ has."""
    size, alpha = _positive(rho, "rho"), _order(order)
    with precision(AMPLE_BITS):
        return _exact(ball(alpha * size))


def delta_of_rdp(tau: Exact, *, order: Exact, epsilon: Exact) -> Converted:
    """Return δ = e^((α−1)(τ−ε)) (1 − 1/α)^(α−1)/α, or 1 (Canonne, Kamath & Steinke 2020)."""
    return _upper_bound(rdp_delta(_positive(tau, "tau"), _order(order), _epsilon(epsilon)))


def epsilon_of_rdp(tau: Exact, *, order: Exact, delta: Exact) -> Converted:
    """Return the ε at which `delta_of_rdp` gives `delta`, or 0."""
    return _upper_bound(rdp_epsilon(_positive(tau, "tau"), _order(order), _leak(delta)))


def delta_of_zcdp(rho: Exact, *, epsilon: Exact) -> Converted:
    """Return the least δ over orders α of `delta_of_rdp` at τ = αρ; any order is right."""
    return _upper_bound(zcdp_delta(_positive(rho, "rho"), _epsilon(epsilon)))


def epsilon_of_zcdp(rho: Exact, *, delta: Exact) -> Converted:
    """Return the least ε over orders α of `epsilon_of_rdp` at τ = αρ; any order is right.

    >>> found = epsilon_of_zcdp("0.1", delta="1e-6")
    >>> round(found.value.upper, 4), found.nature.value
    (2.1419, 'upper bound')
    """
    size, lost = _positive(rho, "rho"), _leak(delta)

    def at(log_excess: float) -> arb:
        order = 1 + Fraction(math.exp(log_excess))
        return rdp_epsilon(order * size, order, lost)

    log_ends = (-12.0, 12.0)  # of log(α − 1)
    return _upper_bound(at(minimise(lambda t: float_above(at(t)), log_ends, thorough=False)))


def _first(guess: float, direction: int, proved: Callable[[float], bool]) -> float:
    margins = (1e-15, 1e-13, 1e-11, 1e-9, 1e-6)  # relative, tried in turn until a root is proved
    for margin in margins:
        candidate = guess * (1 + direction * margin)
        if proved(candidate):
            return candidate
    raise InvalidArgument(name="pure", value=guess, expected="a value whose root can be proved")


def _normal(mu: Exact) -> Composition:
    law = Gaussian(scale=1 / _positive(mu, "mu"))
    return Composition(parts=(Releases(noise=law, shifts=ShiftBounds.of(L2(1))),))


def _positive(value: Exact, name: str) -> Fraction:
    number = exact(value, name=name)
    if not 0 < number <= LONGEST_LOSS:
        raise InvalidArgument(
            name=name, value=str(value)[:40], expected=f"0 < {name} <= {LONGEST_LOSS:g}"
        )
    return number


def _order(value: Exact) -> Fraction:
    number = exact(value, name="order")
    if number <= 1:
        raise InvalidArgument(name="order", value=str(value)[:40], expected="order > 1")
    return number


def _epsilon(value: Exact) -> Fraction:
    return Budget(epsilon=value, delta="0.5").epsilon


def _leak(delta: Exact) -> Fraction:
    lost = Budget(epsilon=1, delta=delta).delta
    if not lost:
        raise InvalidArgument(name="delta", value=0, expected="0 < delta < 1")
    return lost


def _upper_bound(found: arb) -> Converted:
    return Converted(value=_interval(found), nature=Nature.UPPER_BOUND)


def _exact(found: arb) -> Converted:
    return Converted(value=_interval(found), nature=Nature.EXACT)


def _interval(found: arb) -> Interval:
    return Interval(max(0.0, float_below(found)), float_above(found))
