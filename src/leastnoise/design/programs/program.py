"""The best noise on a lattice: in closed form for a shift of 1, else by a linear program.

notation of the closed form: c = e^ε; T_j the law ∝ c^−|i| on |i| <= j, 1/W_j its mass at j, W_0 =
1, W_{j+1} = cW_j + 2; its loss N_j/W_j, N_0 = 0, N_{j+1} = cN_j + 2(j+1)^p. The optimum at δ mixes
T_N and T_{N+1} with 1/W_{N+1} <= δ <= 1/W_N: it falls by c a step up to N and ends in one smaller
mass.

notation of the program: m = cells, h = 1/m, q_i = P(X = ih) = q_{−i} for |i| <= n, c = e^ε, and T_r
the mass of all i > n with i ≡ n + 1 + r mod m. Minimise the loss subject to, for every shift j = 1
… m, Σ_i w_{ji} <= δ with w_{ji} >= q_i − c q_{i−j}. What lies beyond n is costed at its first point
and exposed at j = m alone: a relaxation, so that the dual is a bound on every noise.

The structured form keeps only the rows that move a point outward, |i − j| > |i|: a density that
falls exposes no others. Of the rows that are left, some n m, hardly more than n matter: the program
is solved with a few, and those that its law breaks are added until none is. Leaving rows out
relaxes the program, so that its bound holds all the same; whether its law needs the others is seen
when δ is evaluated exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise.balls.core import FACTOR_BITS, ball, exponential_between, precision
from leastnoise.design.bounds.lower_bound import Witness
from leastnoise.design.programs.effort import TOLERANCE, Allowance
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise import DiscreteStaircase

MAX_POINTS = DiscreteStaircase.most_points


def closed_form_masses(budget: Budget, *, family: str = DiscreteStaircase.name) -> tuple[int, ...]:
    """Return whole weights at 0, 1, … that meet `budget` exactly; needs delta > 0.

    Built from the end inwards: a_i = ⌊c⁻ a_{i+1}⌋ with c⁻ <= e^ε exposes nothing between. At the
    end a_N = B and a_{N+1} = x expose B − (c − 1)x of the total S + 2x: x is the least whole number
    for which that is at most δ. Raises NotApplicable, for `family`, if it has more
    than MAX_POINTS.
    """
    too_long = NotApplicable(
        family=family, why=f"the best noise has more than {MAX_POINTS:,} lattice points"
    )
    if _count_points(budget) > 1.01 * MAX_POINTS:  # 1 %: the count is a float
        raise too_long
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
            raise too_long
        inner += chain[-1]
        chain.append(chain[-1] * factor >> FACTOR_BITS)


def _count_points(budget: Budget) -> float:
    """Return about N, W_N <= 1/δ <= W_{N+1}: W_j = c^j + 2(c^j − 1)/(c − 1)."""
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    gain = math.expm1(min(epsilon, 1.0))  # of a larger ε no law is long
    if not epsilon or not delta:
        return math.inf if not delta else 1 / (2 * delta)
    return math.log1p((1 / delta - 1) * gain / (gain + 2)) / epsilon


def closed_form_witness(budget: Budget, *, power: int, points: int) -> Witness:
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


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Where one way ends in "unknown", another mostly doesn't. Prices that are a little wrong are
# repaired for next to nothing (`repair.witness`); masses less so, at a small δ.
_STRATEGIES = (
    ("highs-ds", {"dual_feasibility_tolerance": 1e-7}),
    ("highs-ds", {"dual_feasibility_tolerance": 1e-6}),
    ("highs-ipm", {"dual_feasibility_tolerance": 1e-7}),
)
_SPREAD = 8  # shifts to begin with, the longest among them


@final
@dataclass(frozen=True, kw_only=True)
class LatticeProgram:
    """One lattice program; `power` is 1 for mae and 2 for mse, lengths in sensitivities.

    Points |i| < `calm` may not be exposed at all, which makes the law one that can be lengthened
    there (`repair.lengthen`); its prices prove a bound only for calm = 0. Rows are added until
    a round gains less than `accuracy` of the loss and the law can be mended for as little: by
    mixing it with one for half of δ, the loss of which is larger by the share `halving`. They are
    not added either where the rows left out can't matter: the least loss, convex in δ, is larger by
    the share `growth` at half of the program's `delta`.
    """

    cells: int
    reach: int
    epsilon: float
    delta: float
    power: int
    structured: bool = True
    calm: int = 0
    accuracy: float = 0.0
    halving: float = 1.0
    growth: float = math.inf

    def solve(
        self, *, allowance: Allowance, start: LatticeRows | None = None
    ) -> LatticeSolution | None:
        """Return the optimum, or the last relaxation of it that was solved within it.

        `start` are rows to begin with, of a program like this one. None if nothing was solved.
        """
        rows = self._rows()
        m = self.cells
        # a few shifts over the whole range go most of the way; the rows of the multiples of m help
        # where the law is concentrated on fewer points than lie between these shifts
        shifts = np.unique(np.rint(m * np.arange(1, _SPREAD + 1) / _SPREAD))
        active = np.isin(rows.shift, shifts) | (np.abs(rows.place) % m == 0)
        if start is not None:
            active |= np.isin(rows.keys, start.keys)
        solved, losses = None, list[float]()
        for _ in range(40):
            chosen = rows.where(active)
            found = self._optimum(chosen, allowance)
            if found is None:
                break
            prices = -found.ineqlin.marginals
            multipliers = prices[len(chosen.shift) :] / self.delta
            solved = LatticeSolution(
                program=self,
                columns=found.x[: self._columns] * self._sizes,
                multipliers=multipliers,
                rows=chosen,
                prices=prices[: len(chosen.shift)] / chosen.size,
                level=float(found.eqlin.marginals[0]),
            )
            losses.append(float(found.fun))
            missing = self._broken(rows, active, solved, losses)
            if not missing.any():
                break
            active |= missing
        return solved

    def _broken(
        self, rows: LatticeRows, active: Bools, solved: LatticeSolution, losses: list[float]
    ) -> Bools:
        """Mark the rows to add: of each place, source and shift the two that are broken worst."""
        masses = np.maximum(solved.columns, 0.0)
        exposed = np.maximum(masses[np.abs(rows.place)] - rows.factor * masses[rows.source], 0.0)
        sums = np.bincount(rows.shift, exposed, minlength=self.cells + 1)
        marked = np.zeros(len(active), dtype=bool)
        if self._precise(losses, sums.max() / self.delta - 1):
            return marked
        excess = 1e-6  # of δ: smaller breaks of a shift's row are left to the law's repair
        broken = (sums > (1 + excess) * self.delta)[rows.shift]
        broken |= np.abs(rows.place) < self.calm
        broken &= ~active & (exposed > 1e-3 * self.delta / self.reach)
        worst = np.flatnonzero(broken)
        worst = worst[np.argsort(-exposed[worst], kind="stable")]
        for key in (rows.source, rows.place, rows.shift):
            left = worst
            for _ in range(2):
                _, first = np.unique(key[left], return_index=True)
                marked[left[first]] = True
                left = np.delete(left, first)
        return marked

    def _precise(self, losses: list[float], excess: float) -> bool:
        """True if the last round gained little, and mending the excess over δ costs as little.

        Or if more rows can't gain: the law is private at (1 + excess)·δ, and by convexity the least
        loss at δ is larger by the share 2·excess·growth at most.
        """
        if 2 * excess * self.growth <= self.accuracy / 20:
            return True
        if len(losses) < 2:
            return False
        stalled = 1e-7  # a relative gain of a round below this says that what is broken is rounding
        enough = max(self.accuracy, stalled)
        share = excess / (excess + 0.5)  # of the law for δ/2 in the mixture that meets δ
        return losses[-1] <= (1 + enough) * losses[-2] and share * self.halving <= enough

    def _optimum(self, rows: LatticeRows, allowance: Allowance) -> Any:
        """Return scipy's result for these rows, None if it has none within the allowance."""
        from scipy.optimize import linprog  # noqa: PLC0415  (0.5 s to import)

        count = len(rows.shift)
        matrix = self._matrix(rows)
        costs, total = self._costs(count), self._normalisation(count)
        limits = np.append(np.zeros(count), np.ones(self.cells))
        patience = 5  # steps a row: where the simplex takes more, it has mostly lost its way
        for method, options in _STRATEGIES:
            if allowance.spent:
                return None
            size = len(limits)
            found = linprog(
                costs,
                A_ub=matrix,
                b_ub=limits,
                A_eq=total,
                b_eq=[1.0],
                bounds=(0, None),
                method=method,
                options=options
                | {"primal_feasibility_tolerance": TOLERANCE}
                | allowance.options(rows=size, most=patience * count),
            )
            allowance.charge(found, rows=size, interior=method == "highs-ipm")
            if found.status == 0:
                return found
        return None

    def _rows(self) -> LatticeRows:
        """Return the rows (j, i) with the columns and coefficients of q_i and q_{i−j}.

        A row is divided by the size that q_i has (about e^{−ε|ih|}, δ in the far tail): without
        that the solver's absolute tolerances would swamp a small δ.
        """
        n, m, c = self.reach, self.cells, math.exp(self.epsilon)
        shifts, places = [], []
        for j in range(1, m + 1):
            last = (j - 1) // 2 if self.structured else n
            i = np.arange(-n, min(last, n) + 1)
            i = i[2 * i != j]  # q_i − c q_{−i} <= 0
            places.append(i)
            shifts.append(np.full(len(i), j))
        shift, place = np.concatenate(shifts), np.concatenate(places)
        source = place - shift
        tail = source < -n
        return LatticeRows(
            shift=shift,
            place=place,
            source=np.where(tail, -source, np.abs(source)),  # n + 1 + r is the column of T_r
            factor=np.where(tail & (shift == m), c - 1, c),
            size=self._sizes[np.abs(place)],
        )

    @property
    def _columns(self) -> int:
        """The q_i and T_r."""
        return self.reach + 1 + self.cells

    @property
    def _sizes(self) -> Floats:
        """About how large the masses are: the solver's unknowns are their ratios to this."""
        return np.maximum(np.exp(-self.epsilon / self.cells * np.arange(self._columns)), self.delta)

    def _weights(self) -> Floats:
        """How many points each of the first columns stands for."""
        return np.append(1.0, np.full(self._columns - 1, 2.0)) * self._sizes

    def _costs(self, rows: int) -> Floats:
        places = np.arange(self._columns) / self.cells
        return np.append(self._weights() * places**self.power, np.zeros(rows))

    def _normalisation(self, rows: int) -> object:
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        return csr_matrix(np.append(self._weights(), np.zeros(rows))[None, :])

    def _matrix(self, rows: LatticeRows) -> object:
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        count, sizes = len(rows.shift), self._sizes
        index, w = np.arange(count), self._columns + np.arange(count)
        entries = (
            (index, np.abs(rows.place), np.ones(count)),
            (index, rows.source, -rows.factor * sizes[rows.source] / rows.size),
            (index, w, np.where(np.abs(rows.place) < self.calm, 0.0, -self.delta / rows.size)),
            (count + rows.shift - 1, w, np.ones(count)),
        )
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        shape = (count + self.cells, self._columns + count)
        return csr_matrix((value, (row, column)), shape=shape)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LatticeRows:
    """The rows (j, i) of a program: `shift` j, `place` i, `source` the column of q_{i−j}."""

    shift: NDArray[np.int64]
    place: NDArray[np.int64]
    source: NDArray[np.int64]
    factor: Floats
    size: Floats

    def where(self, chosen: Bools) -> LatticeRows:
        """Return those that are marked."""
        return LatticeRows(
            shift=self.shift[chosen],
            place=self.place[chosen],
            source=self.source[chosen],
            factor=self.factor[chosen],
            size=self.size[chosen],
        )

    @property
    def keys(self) -> NDArray[np.int64]:
        """One number a row; |i| is below 2^31."""
        return (self.shift << 32) + self.place


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LatticeSolution:
    """Floats: `columns` the q_0 … q_n and T_0 …, `multipliers` λ_1 … λ_m, `prices` ψ of `rows`.

    `level` is the price of the normalisation, which the dual bound's minimum over i should reach.
    """

    program: LatticeProgram
    columns: Floats
    multipliers: Floats
    rows: LatticeRows
    prices: Floats
    level: float

    @property
    def masses(self) -> Floats:
        """q_0 … q_n."""
        return self.columns[: self.program.reach + 1]

    def dense_prices(self) -> Floats:
        """Return ψ_{j,i} of shape (m, 2n + 1), 0 where there is no row."""
        n = self.program.reach
        dense = np.zeros((self.program.cells, 2 * n + 1))
        dense[self.rows.shift - 1, self.rows.place + n] = self.prices
        return dense
