"""Proved lower bounds on the variances in tables that add up, for any additive noise.

Notation, as in `marginal`: N is the number of all cells, and v_B the variance of a number of the
published table B. r_A is the number of contrasts of table A. θ_A is the information about P_A x,
the part of A that tables by fewer attributes lack; θ lists it for every table. w_B is the weight of
the published table B, and W the sum of all weights. Proofs: theory/marginals.md §4.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import ball, float_below, precision
from leastnoise.design.bounds.variance_bound import least_variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget
    from leastnoise.workloads.marginal import Marginals

    Floats = NDArray[np.float64]

_FIXED_POINT_STEPS = 200  # each step at least halves the distance to the fixed point


def gaussian_optimum(
    marginals: Marginals, weights: Sequence[float], costs: Floats | None = None
) -> Floats:
    """The θ with the smallest Σ w_B ln v_B of Gaussian noise, found in floats.

    The search is over all θ with Σ θ_A c_A <= N, where c_A is the cost of one unit of θ_A. w_B are
    the `weights`, and c_A the `costs`, as in `cheapest`.
    """
    wanted, theta = np.array(weights, dtype=float), np.zeros(len(marginals.every))
    prices = np.ones(len(wanted))
    for _ in range(_FIXED_POINT_STEPS):
        theta = cheapest(marginals, prices, costs)
        prices = wanted / marginals.variances(theta)
    return theta


def gaussian_optimum_of_largest(marginals: Marginals, costs: Floats | None = None) -> Floats:
    """The θ for which the largest v_B of Gaussian noise is nearly minimal, found in floats.

    The search is over the same θ as in `gaussian_optimum`.
    """
    prices, best, least = np.ones(len(marginals.tables)), np.zeros(0), np.inf
    for _ in range(_FIXED_POINT_STEPS):
        theta = cheapest(marginals, prices, costs)
        variances = marginals.variances(theta)
        if variances.max() < least:
            best, least = theta, variances.max()
        prices *= variances / variances.max()
    return best


def cheapest(marginals: Marginals, prices: Floats, costs: Floats | None) -> Floats:
    """The θ with the smallest total price of the variances, in closed form.

    The total is Σ price_B v_B over the published tables B. It is smallest among all θ with Σ θ_A
    c_A <= N, where c_A are the `costs`. By default c_A is the number r_A of contrasts of A, and at
    least 1.
    """
    needed = (marginals.spread > 0).any(axis=0)
    if costs is None:
        contrasts = [max(marginals.contrasts(table), 1) for table in marginals.every]
        costs = np.array(contrasts, dtype=float)
    roots = np.sqrt((prices @ marginals.spread) / costs)
    return roots * marginals.cells(marginals.whole) / (costs * needed @ roots)


def bound(
    marginals: Marginals,
    weights: Sequence[Fraction],
    *,
    budget: Budget,
    reach: Fraction = Fraction(1),
) -> float:
    """A lower bound on Σ w_B ln v_B for any additive noise that meets the budget.

    w_B is the weight of table B and v_B the variance of its numbers. The bound is proved in balls
    and rounded down. The noise hides a shift of any one cell by `reach`. With a known total it
    hides a shift of any cell by `reach` and of any other cell by −`reach`. All tables must have
    noise: see `Marginals.with_noise`.

    *Proof.* Σ w_B ln v_B is convex in the vector of all t_A = ln θ_A, so it is at least its tangent
    at any t. The proof uses the tangent at the Gaussian optimum, which floats find. Its slope in
    t_A is −g_A, where Σ g_A = W. In units of the least variance of noise for one number, private
    noise has Σ p_A e^(t_A) <= 1. So −Σ g_A t_A is at least Σ g_A ln(W p_A/g_A). Here p_A = r_A/N.
    With a known total, A isn't the total and p_A = 2r_A/(N − 1).
    """
    theta = gaussian_optimum(marginals, list(map(float, weights)))
    whole = marginals.cells(marginals.whole)
    known = marginals.total_is_known
    room = Fraction(whole - 1, 2) if known else Fraction(whole)
    with precision():
        least = least_variance(budget) * ball(reach**2)
        floats: list[float] = theta.tolist()
        exact = {part: ball(Fraction(at)) for part, at in zip(marginals.every, floats, strict=True)}
        total, value = ball(sum(weights, Fraction(0))), ball(0)
        prices = dict[int, "arb"]()
        for table, weight in zip(marginals.tables, weights, strict=True):
            variances = {
                part: ball(Fraction(whole * contrasts, marginals.cells(table) ** 2)) / exact[part]
                for part in marginals.every[1 if known else 0 :]
                if part & table == part and (contrasts := marginals.contrasts(part))
            }
            variance = sum(variances.values(), ball(0))
            value += ball(weight) * (least * variance).log()
            for part, of_part in variances.items():
                prices[part] = prices.get(part, ball(0)) + ball(weight) * of_part / variance
        for part, price in prices.items():
            share = ball(marginals.contrasts(part) / room)
            value += price * (exact[part] * share * total / price).log()
        return float_below(value)


def bound_of_largest(
    marginals: Marginals, *, budget: Budget, reach: Fraction = Fraction(1)
) -> float:
    """A lower bound on the largest ln v_B for any additive noise, proved as `bound` is.

    v_B is the variance of the numbers of table B. The largest ln v_B is at least Σ w_B ln v_B for
    any weights w_B > 0 with sum 1. Floats propose weights for which the Gaussian optimum has nearly
    equal variances; they give nearly the largest bound.
    """
    prices = np.ones(len(marginals.tables))
    for _ in range(_FIXED_POINT_STEPS):
        variances = marginals.variances(cheapest(marginals, prices, None))
        prices *= variances / variances.max()
    parts = prices * marginals.variances(cheapest(marginals, prices, None))
    least = Fraction(1, 10**6)  # every weight is above 0, and has a logarithm
    exact = [Fraction(float(part)) + least for part in parts / parts.sum()]
    whole = sum(exact, Fraction(0))
    return bound(marginals, [part / whole for part in exact], budget=budget, reach=reach)
