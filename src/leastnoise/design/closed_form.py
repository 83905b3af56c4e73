"""The best noise on the whole numbers for a shift of 1, in closed form (theory/noise.md §3).

notation: c = e^ε; T_j the law ∝ c^−|i| on |i| <= j, 1/W_j its mass at j, W_0 = 1, W_{j+1} = cW_j +
2; its loss N_j/W_j, N_0 = 0, N_{j+1} = cN_j + 2(j+1)^p. The optimum at δ mixes T_N and T_{N+1}
with 1/W_{N+1} <= δ <= 1/W_N: it falls by c a step up to N and ends in one smaller mass.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.balls.special import FACTOR_BITS, exponential_between
from leastnoise.design.lower_bound import Witness
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.lattice.law import MAX_POINTS, DiscreteStaircase


def masses(budget: Budget, *, family: str = DiscreteStaircase.name) -> tuple[int, ...]:
    """Return whole weights at 0, 1, … that meet `budget` exactly; needs delta > 0.

    Built from the end inwards: a_i = ⌊c⁻ a_{i+1}⌋ with c⁻ <= e^ε exposes nothing between. At the
    end a_N = B and a_{N+1} = x expose B − (c − 1)x of the total S + 2x: x is the least whole number
    for which that is at most δ. Raises NotApplicable, for `family`, if it has more
    than MAX_POINTS.
    """
    factor, _ = exponential_between(budget.epsilon, bits=FACTOR_BITS)
    last = 1 << FACTOR_BITS
    share_of_delta = 1 - Fraction(1, 2**64)  # of δ, so that a proof at 128 bits sees that it is met
    delta = budget.delta * share_of_delta
    chain, inner = [last], 0  # from the end inwards; `inner` is their sum without the centre's
    gain = Fraction(factor - (1 << FACTOR_BITS), 1 << FACTOR_BITS)
    while True:
        # the centre is chain[-1], counted once
        total = 2 * inner + chain[-1]
        missing = last - delta * total
        needed = -(-missing // (gain + 2 * delta)) if missing > 0 else 0
        if needed * factor <= last << FACTOR_BITS:
            # With x = 0 the chain already meets δ, which a shorter one would have met before.
            return (*reversed(chain), int(needed)) if needed else tuple(reversed(chain))
        if len(chain) + 1 >= MAX_POINTS:
            raise NotApplicable(
                family=family,
                why=f"the best noise has more than {MAX_POINTS:,} lattice points",
            )
        inner += chain[-1]
        chain.append(chain[-1] * factor >> FACTOR_BITS)


def witness(budget: Budget, *, power: int, points: int) -> Witness:
    """Return the prices that prove those masses optimal, rounded; `points` is how many there are.

    The line a − bδ through the losses of T_N and T_{N+1} lies below all of them;
    λ = b and ψ_{−i} = max(0, (a − N_i/W_i) W_i) for i >= 0 (proof in theory/noise.md §3). Rounding
    to whole numbers makes the bound a little smaller, never false.
    """
    n = max(points - 2, 0)
    bits = 2 * FACTOR_BITS + 2 * points.bit_length()
    with precision(bits + 256):
        c = ball(budget.epsilon).exp()
        w, loss = [arb(1)], [arb(0)]
        for j in range(n + 1):
            w.append(c * w[-1] + 2)
            loss.append(c * loss[-1] + 2 * (j + 1) ** power)
        here, there = loss[n] / w[n], loss[n + 1] / w[n + 1]
        slope = (there - here) / (1 / w[n] - 1 / w[n + 1])
        intercept = here + slope / w[n]
        prices = [_whole((intercept * w[0] - loss[0]), bits)]
        wi, li = w[0], loss[0]
        for i in range(1, 4 * MAX_POINTS):
            wi, li = c * wi + 2, c * li + 2 * i**power
            price = intercept * wi - li
            if not price > 0:
                break
            prices.append(_whole(price, bits))
        multiplier = _whole(slope, bits)
    prices.append(0)
    clipped = tuple(min(max(price, 0), multiplier) for price in reversed(prices))
    return Witness(
        cells=1,
        reach=len(clipped) - 1,
        bits=bits,
        multipliers=((1, multiplier),),
        prices=(clipped,),
    )


def _whole(x: arb, bits: int) -> int:
    found = (arb(x.mid()) * arb(2) ** bits).floor().unique_fmpz()
    return 0 if found is None else int(found)
