"""Convert a guarantee to another notion: pure privacy, zCDP, RDP, GDP and (ε, δ).

Notation (theory/accounting.md §5): ε₀ is the ε of pure privacy, ρ the parameter of zCDP, and μ the
parameter of GDP. In (α, τ)-RDP, α > 1 is the order of the Rényi divergence and τ the bound on it.
N(m, 1) is the normal law with mean m, Φ the distribution function of N(0, 1), and (x)₊ = max(x, 0).
All statements are about the same neighbours as before, add-remove or replace-one.

Every result states its nature. EXACT: some mechanism with the given guarantee attains the number,
so no smaller number holds for all such mechanisms. UPPER_BOUND: the number holds for all, but a
smaller one may hold too. There is no approximation by a limit theorem here, and no ρ-zCDP ⇒
√(2ρ)-GDP, which is false.
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
    """The tightness of a conversion: EXACT or UPPER_BOUND, as the module's docstring defines."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"


@final
@dataclass(frozen=True, kw_only=True)
class Converted:
    """An interval that contains the converted number; the guarantee holds with its upper end.

    Attributes:
        value: The interval.
        nature: EXACT or UPPER_BOUND.

    """

    value: Interval
    nature: Nature


def delta_of_pure(pure: Exact, *, epsilon: Exact) -> Converted:
    """The δ(ε) that ε₀-privacy implies: (e^ε₀ − e^ε)₊/(1 + e^ε₀), attained by randomized response.

    Args:
        pure: ε₀, 0 < ε₀ <= 700.
        epsilon: ε ≥ 0.

    Returns:
        Exact bounds on δ.

    Raises:
        InvalidArgument: An argument is out of range.

    Source:
        Kairouz, Oh & Viswanath (2015).

    Examples:
        >>> delta_of_pure("1", epsilon="1").value.upper
        0.0

    """
    return delta_of_approximate(pure, 0, epsilon=epsilon)


def delta_of_approximate(pure: Exact, leak: Exact, *, epsilon: Exact) -> Converted:
    """The δ(ε) that (ε₀, δ₀)-privacy implies: δ₀ + (1 − δ₀)(e^ε₀ − e^ε)₊/(1 + e^ε₀).

    Args:
        pure: ε₀, 0 < ε₀ <= 700.
        leak: δ₀, 0 ≤ δ₀ < 1.
        epsilon: ε ≥ 0.

    Returns:
        Exact bounds on δ.

    Raises:
        InvalidArgument: An argument is out of range.

    Source:
        Kairouz, Oh & Viswanath (2015).

    """
    top, at = _positive(pure, "pure"), _epsilon(epsilon)
    lost = Budget(epsilon=1, delta=leak).delta
    with precision(AMPLE_BITS):
        gap = ball(top).exp() - ball(at).exp() if at < top else arb(0)
        return _exact(ball(lost) + (1 - ball(lost)) * gap / (1 + ball(top).exp()))


def epsilon_of_pure(pure: Exact, *, delta: Exact) -> Converted:
    """The ε(δ) that ε₀-privacy implies: log(max(1, e^ε₀ − δ(1 + e^ε₀))).

    Args:
        pure: ε₀, 0 < ε₀ <= 700.
        delta: δ, 0 ≤ δ < 1.

    Returns:
        Exact bounds on ε.

    Raises:
        InvalidArgument: An argument is out of range.

    """
    top, lost = _positive(pure, "pure"), Budget(epsilon=1, delta=delta).delta
    with precision(AMPLE_BITS):
        rest = ball(top).exp() - ball(lost) * (1 + ball(top).exp())
        if rest > 1:
            return _exact(rest.log())
        # the comparison with 1 is undecided: log x <= x − 1
        return _exact(arb(0) if rest <= 1 else arb(0).union(abs(rest - 1)))


def rdp_of_pure(pure: Exact, *, order: Exact) -> Converted:
    """The largest Rényi divergence τ of order α that ε₀-privacy allows.

    It is log(p^α(1 − p)^(1−α) + (1 − p)^α p^(1−α))/(α − 1) with p = e^ε₀/(1 + e^ε₀), attained by
    randomized response.

    Args:
        pure: ε₀, 0 < ε₀ <= 700.
        order: α > 1.

    Returns:
        Exact bounds on τ.

    Raises:
        InvalidArgument: An argument is out of range.

    """
    top, alpha = _positive(pure, "pure"), _order(order)
    with precision(AMPLE_BITS):
        p, a = 1 / (1 + ball(-top).exp()), ball(alpha)
        forward = (a * p.log() + (1 - a) * (1 - p).log()).exp()
        backward = (a * (1 - p).log() + (1 - a) * p.log()).exp()
        return _exact((forward + backward).log() / (a - 1))


def zcdp_of_pure(pure: Exact) -> Converted:
    """A ρ for which ε₀-privacy implies ρ-zCDP: ε₀²/2.

    Args:
        pure: ε₀, 0 < ε₀ <= 700.

    Returns:
        An upper bound on ρ.

    Raises:
        InvalidArgument: `pure` is out of range.

    Source:
        Bun & Steinke (2016), Proposition 1.4.

    """
    top = _positive(pure, "pure")
    with precision(AMPLE_BITS):
        return _upper_bound(ball(top * top / 2))


def gdp_of_pure(pure: Exact) -> Converted:
    """The smallest μ for which ε₀-privacy implies μ-GDP: −2Φ⁻¹(1/(1 + e^ε₀)).

    Randomized response attains it: its output is the sign of a draw from N(μ/2, 1) or N(−μ/2, 1).

    Args:
        pure: ε₀, 0 < ε₀ <= 700.

    Returns:
        Exact bounds on μ.

    Raises:
        InvalidArgument: `pure` is out of range.

    Examples:
        >>> mu = gdp_of_pure("1").value
        >>> round(mu.lower, 12) == round(mu.upper, 12), round(mu.upper, 6)
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
    """The δ(ε) that μ-GDP implies: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).

    Args:
        mu: μ, 0 < μ <= 700.
        epsilon: ε ≥ 0.

    Returns:
        Exact bounds on δ.

    Raises:
        InvalidArgument: An argument is out of range.

    Source:
        Dong, Roth & Su (2022), Corollary 2.13.

    """
    return Converted(value=_normal(mu).delta(epsilon=epsilon), nature=Nature.EXACT)


def epsilon_of_gdp(mu: Exact, *, delta: Exact) -> Converted:
    """The ε(δ) that μ-GDP implies, the inverse of `delta_of_gdp`.

    Args:
        mu: μ, 0 < μ <= 700.
        delta: δ, 0 < δ < 1.

    Returns:
        Exact bounds on ε.

    Raises:
        InvalidArgument: An argument is out of range.
        NotApplicable: `delta` is 0, or no ε up to 131,072 is proved to suffice.

    """
    return Converted(value=_normal(mu).epsilon(delta=delta), nature=Nature.EXACT)


def zcdp_of_gdp(mu: Exact) -> Converted:
    """The smallest ρ for which μ-GDP implies ρ-zCDP: μ²/2, attained by N(μ, 1) and N(0, 1).

    Args:
        mu: μ, 0 < μ <= 700.

    Returns:
        Exact bounds on ρ.

    Raises:
        InvalidArgument: `mu` is out of range.

    """
    size = _positive(mu, "mu")
    with precision(AMPLE_BITS):
        return _exact(ball(size * size / 2))


def rdp_of_zcdp(rho: Exact, *, order: Exact) -> Converted:
    """The smallest τ for which ρ-zCDP implies (α, τ)-RDP: αρ, attained by Gaussian noise.

    Args:
        rho: ρ, 0 < ρ <= 700.
        order: α > 1.

    Returns:
        Exact bounds on τ.

    Raises:
        InvalidArgument: An argument is out of range.

    """
    size, alpha = _positive(rho, "rho"), _order(order)
    with precision(AMPLE_BITS):
        return _exact(ball(alpha * size))


def delta_of_rdp(tau: Exact, *, order: Exact, epsilon: Exact) -> Converted:
    """The bound on δ(ε) that (α, τ)-RDP implies: e^((α−1)(τ−ε)) (1 − 1/α)^(α−1)/α, at most 1.

    Args:
        tau: τ, 0 < τ <= 700.
        order: α > 1.
        epsilon: ε ≥ 0.

    Returns:
        An upper bound on δ.

    Raises:
        InvalidArgument: An argument is out of range.

    Source:
        Canonne, Kamath & Steinke (2020), Proposition 12.

    """
    return _upper_bound(rdp_delta(_positive(tau, "tau"), _order(order), _epsilon(epsilon)))


def epsilon_of_rdp(tau: Exact, *, order: Exact, delta: Exact) -> Converted:
    """The bound on ε(δ) that (α, τ)-RDP implies: the ε at which `delta_of_rdp` is δ, at least 0.

    Args:
        tau: τ, 0 < τ <= 700.
        order: α > 1.
        delta: δ, 0 < δ < 1.

    Returns:
        An upper bound on ε.

    Raises:
        InvalidArgument: An argument is out of range.

    """
    return _upper_bound(rdp_epsilon(_positive(tau, "tau"), _order(order), _leak(delta)))


def delta_of_zcdp(rho: Exact, *, epsilon: Exact) -> Converted:
    """The bound on δ(ε) that ρ-zCDP implies: the smallest `delta_of_rdp` over α, with τ = αρ.

    The best order is searched in floats, for α − 1 from e^−20 to e^40; the bound holds for any
    order.

    Args:
        rho: ρ, 0 < ρ <= 700.
        epsilon: ε ≥ 0.

    Returns:
        An upper bound on δ.

    Raises:
        InvalidArgument: An argument is out of range.

    """
    return _upper_bound(zcdp_delta(_positive(rho, "rho"), _epsilon(epsilon)))


def epsilon_of_zcdp(rho: Exact, *, delta: Exact) -> Converted:
    """The bound on ε(δ) that ρ-zCDP implies: the smallest `epsilon_of_rdp` over α, with τ = αρ.

    The best order is searched in floats, for α − 1 from e^−12 to e^12; the bound holds for any
    order. For a tiny ρ, a larger order may give a smaller bound.

    Args:
        rho: ρ, 0 < ρ <= 700.
        delta: δ, 0 < δ < 1.

    Returns:
        An upper bound on ε.

    Raises:
        InvalidArgument: An argument is out of range.

    Examples:
        >>> converted = epsilon_of_zcdp("0.1", delta="1e-6")
        >>> round(converted.value.upper, 4), converted.nature.value
        (2.1419, 'upper bound')

    """
    size, lost = _positive(rho, "rho"), _leak(delta)

    def at(log_excess: float) -> arb:
        order = 1 + Fraction(math.exp(log_excess))
        return rdp_epsilon(order * size, order, lost)

    log_ends = (-12.0, 12.0)  # of log(α − 1)
    return _upper_bound(at(minimise(lambda t: float_above(at(t)), log_ends, thorough=False)))


def _first(guess: float, direction: int, proved: Callable[[float], bool]) -> float:
    """The first float that `proved` accepts, at ever larger steps from `guess` in `direction`.

    Raises InvalidArgument if it accepts none up to 1e-6 (relative) from `guess`.
    """
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


def _upper_bound(enclosure: arb) -> Converted:
    return Converted(value=_interval(enclosure), nature=Nature.UPPER_BOUND)


def _exact(enclosure: arb) -> Converted:
    return Converted(value=_interval(enclosure), nature=Nature.EXACT)


def _interval(enclosure: arb) -> Interval:
    return Interval(max(0.0, float_below(enclosure)), float_above(enclosure))
