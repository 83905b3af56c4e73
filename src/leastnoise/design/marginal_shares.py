"""How much noise to put into which table, and how little any additive noise can have.

notation: as in `marginals`; w_B the weights of the published tables, W their sum; ω_M the share of
the budget of the measured table M. Proofs: theory/marginals.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import ball, float_below, precision
from leastnoise.design.variance_bound import least_variance

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.design.marginals import Marginals
    from leastnoise.guarantees.budget import Budget

    Floats = NDArray[np.float64]

Information = Callable[["Floats"], tuple["Floats", "Floats"]]
"""From ω of each of the 2^d tables to its τ, and dτ/dω."""
Shares = dict[int, Fraction]
"""Of the measured tables; they add up to 1."""

PARTS = 1000
"""A share is so many parts of the whole."""
_LEAST_SHARE = 0.005  # a table that would be measured with less is left out
_LARGEST = 300.0  # of ε·ω/2: beyond it there is no noise to speak of
_NO_VALUE = 1e300  # of tables that nothing determines
_FIXED_POINT_STEPS = 200  # of the fixed point, which halves what is left or better


def best_shares(marginals: Marginals, weights: Sequence[float], information: Information) -> Shares:
    """Return shares of measured tables with a small Σ w_B ln v_B.

    All 2^d tables may be measured, also those that aren't published. The best of several starts'
    local optima, and of the starts themselves: floats propose, and are rounded to `PARTS`.
    """
    wanted = np.array(weights, dtype=float)
    starts = _starts(marginals)
    offers = [*starts, *(_descend(marginals, one, wanted, information) for one in starts)]
    rounded = list(map(_rounded, offers))
    return min(rounded, key=lambda one: log_variance(marginals, one, weights, information))


def log_variance(
    marginals: Marginals,
    shares: Mapping[int, Fraction],
    weights: Sequence[float],
    information: Information,
) -> float:
    """Return Σ w_B ln v_B."""
    given = np.array([float(shares.get(one, 0)) for one in marginals.every])
    variances = marginals.variances(marginals.carried @ information(given)[0])
    return float(np.array(weights) @ np.log(variances))


def pure_information(epsilon: float, reaches: Floats, *, whole: NDArray[np.bool_]) -> Information:
    """Return τ of noise that is purely ε-private, where a unit moves table M by `reaches` in l1.

    Geometric noise, τ = 2 sinh²(ε ω/2 reach), where it moves `whole` numbers by 1, else Laplace
    noise, (ε ω/reach)²/2.
    """

    def information(shares: Floats) -> tuple[Floats, Floats]:
        each = epsilon / reaches
        half = np.minimum(each * shares / 2, _LARGEST)
        geometric = 2 * np.sinh(half) ** 2, each * np.sinh(2 * half)
        laplace = 2 * half**2, 2 * each * half
        return np.where(whole, geometric[0], laplace[0]), np.where(whole, geometric[1], laplace[1])

    return information


def gaussian_information(sigma: float, reaches: Floats) -> Information:
    """Return τ = ω/(σ reach)² of Gaussian noise, where a unit moves table M by `reaches` in l2.

    `sigma` is that of one draw, for an l2 norm of 1, that spends the whole budget.
    """
    each = 1 / (sigma * reaches) ** 2
    return lambda shares: (each * shares, each)


def gaussian_optimum(marginals: Marginals, weights: Sequence[float]) -> Floats:
    """Return the θ with the least Σ w_B ln v_B under Σ_A θ_A r_A <= N.

    Times 1/σ² it is that of the best Gaussian noise that hides a shift of any cell by 1. The closed
    form for Σ ω_B v_B, repeated with ω_B = w_B/v_B, which has one fixed point.
    """
    wanted, needed = np.array(weights, dtype=float), (marginals.spread > 0).any(axis=0)
    contrasts = np.array([max(marginals.contrasts(one), 1) for one in marginals.every], dtype=float)
    prices, theta = np.ones(len(wanted)), np.zeros(len(contrasts))
    for _ in range(_FIXED_POINT_STEPS):
        roots = np.sqrt((prices @ marginals.spread) / contrasts)
        theta = roots * marginals.cells(len(contrasts) - 1) / (contrasts * needed @ roots)
        prices = wanted / marginals.variances(theta)
    return theta


def bound(
    marginals: Marginals,
    weights: Sequence[Fraction],
    *,
    budget: Budget,
    reach: Fraction = Fraction(1),
) -> float:
    """Return a lower bound on Σ w_B ln v_B of any additive noise; proved in balls, rounded down.

    For noise that hides a shift of any one cell by `reach`. With t = ln θ, Σ w_B ln v_B is convex
    in t, and so is above its tangent at any t, here the Gaussian optimum's in floats. Over
    {Σ p_A e^(t_A) <= 1}, p_A = r_A/N, the tangent's −Σ g_A t_A is at least Σ g_A ln(W p_A/g_A).
    """
    theta = gaussian_optimum(marginals, list(map(float, weights)))
    whole = marginals.cells(len(theta) - 1)
    with precision():
        least = least_variance(budget) * ball(reach**2)
        exact = [ball(Fraction(one)) for one in theta.tolist()]
        total, value = ball(sum(weights, Fraction(0))), ball(0)
        prices = dict[int, "arb"]()
        for table, weight in zip(marginals.tables, weights, strict=True):
            parts = {
                one: ball(Fraction(whole * contrasts, marginals.cells(table) ** 2)) / exact[one]
                for one in marginals.every
                if one & table == one and (contrasts := marginals.contrasts(one))
            }
            variance = sum(parts.values(), ball(0))
            value += ball(weight) * (least * variance).log()
            for one, part in parts.items():
                prices[one] = prices.get(one, ball(0)) + ball(weight) * part / variance
        for one, price in prices.items():
            share = ball(Fraction(marginals.contrasts(one), whole))
            value += price * (exact[one] * share * total / price).log()
        return float_below(value)


def _starts(marginals: Marginals) -> list[Floats]:
    """Return shares to begin with: the cells and one more table, those published, and levels."""
    last, depth = len(marginals.every) - 1, len(marginals.sizes)
    groups: list[tuple[int, ...]] = [(last,), marginals.tables, tuple(marginals.every)]
    groups += [(one, last) for one in range(last)]
    groups += [
        (*(one for one in marginals.every if one.bit_count() in {level, depth}),)
        for level in range(depth)
    ]
    found = np.zeros((len(groups), last + 1))
    for place, group in enumerate(groups):
        found[place, list(group)] = 1 / len(group)
    return list(np.unique(found, axis=0))


def _descend(
    marginals: Marginals, shares: Floats, weights: Floats, information: Information
) -> Floats:
    """Return a local optimum near some shares, of tables that have one; small ones become 0."""
    from scipy.optimize import minimize  # noqa: PLC0415 (half a second, paid for where it is used)

    def objective(logs: Floats, kept: NDArray[np.intp]) -> tuple[float, Floats]:
        parts = _softmax(logs)
        given = np.zeros(len(marginals.every))
        given[kept] = parts
        tau, slope = information(given)
        theta = marginals.carried @ tau
        variances = marginals.variances(theta)
        if not np.isfinite(variances).all():
            return _NO_VALUE, np.zeros_like(logs)
        inverse = np.divide(1.0, theta, out=np.zeros_like(theta), where=theta > 0)
        of_theta = -((weights / variances) @ marginals.spread) * inverse**2
        of_parts = ((of_theta @ marginals.carried) * slope)[kept]
        return float(weights @ np.log(variances)), parts * (of_parts - of_parts @ parts)

    while (count := np.count_nonzero(shares)) > 1:
        kept = np.flatnonzero(shares)
        start = np.log(shares[kept])
        found = minimize(objective, start, args=(kept,), jac=True, method="L-BFGS-B").x
        shares = np.zeros_like(shares)
        shares[kept] = _softmax(found)
        shares[shares < _LEAST_SHARE] = 0.0
        shares /= shares.sum()
        if np.count_nonzero(shares) == count:
            break
    return shares


def _softmax(logs: Floats) -> Floats:
    parts = np.exp(logs - logs.max())
    return parts / parts.sum()


def _rounded(shares: Floats) -> Shares:
    """Return shares in whole parts; the largest takes what rounding leaves."""
    parts = {i: int(shares[i] * PARTS) for i in np.flatnonzero(shares).tolist()}
    largest = max(parts, key=lambda one: (parts[one], one))
    parts[largest] += PARTS - sum(parts.values())
    return {table: Fraction(part, PARTS) for table, part in parts.items() if part}


def geometric_mean_std(log_variance: float, tables: int) -> float:
    """Return the geometric mean of standard deviations, of Σ ln v over so many tables."""
    return math.exp(log_variance / 2 / tables)
