"""The best noise on a lattice: in closed form for a shift of 1, else by a linear program.

Notation: lengths are in sensitivities. X is the noise, c = e^ε, and the loss is E|X|^p with p = 1
(mae) or 2 (mse).

The closed form is for noise on the integers. T_j is the law ∝ c^−|i| on |i| <= j. Its mass at j is
1/W_j, with W_0 = 1 and W_{j+1} = cW_j + 2; its loss is N_j/W_j, with N_0 = 0 and N_{j+1} = cN_j +
2(j+1)^p. The optimum at δ mixes T_N and T_{N+1}, for the index N with 1/W_{N+1} <= δ <= 1/W_N: its
masses fall by the factor c per step up to N, and the last mass is smaller.

In the program, m = cells is the number of lattice points per sensitivity, h = 1/m, and q_i = P(X =
ih) = q_{−i} for |i| <= n = reach. Here T_r is the mass of all points i > n with i ≡ n + 1 + r mod
m. A shift of j steps exposes w_{ji} at the point i: the part of q_i that exceeds c q_{i−j}. The
program minimises the loss subject to Σ_i w_{ji} <= δ for every j = 1 … m, with w_{ji} >= q_i − c
q_{i−j} and w_{ji} >= 0. The mass beyond n has the cost of its first point, and is exposed only at j
= m. This is a relaxation, so the dual is a bound for every noise.

The structured form keeps only the rows (j, i) that move a point outward, |i − j| > |i|: with a
decreasing density no other points are exposed. Of the remaining rows, about n m, only about n
matter. So the program is solved with a few rows, and rows that its law violates are added until no
row is violated. Omitting rows relaxes the program, so its bound holds in any case. The exact δ of
its law shows if omitted rows matter for the law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
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


def closed_form_masses(
    budget: Budget, *, steps: int = 1, family: str = DiscreteStaircase.name
) -> tuple[int, ...]:
    """The integer weights at 0, 1, … of the best law that meets `budget`; needs delta > 0.

    Rounding makes the law slightly worse than the best. The weights are computed from the end
    inwards. With a_i = ⌊c⁻ a_{i+1}⌋ and c⁻ <= e^ε, only the ends are exposed. An end has the
    weights a_N = B = 2^128 and a_{N+1} = x <= B. If a_{−N} … a_N sum to S, an end exposes B − (c⁻ −
    1)x of the total S + 2x. x is the smallest integer >= 0 for which this share is at most (1 −
    2^−64)·δ; a weight of 0 is left out. Raises NotApplicable, for `family`, if a law with `steps`
    points for each weight has more than MAX_POINTS points.
    """
    too_long = NotApplicable(
        family=family, why=f"the best noise has more than {MAX_POINTS:,} lattice points"
    )
    if steps * _count_points(budget) > 1.01 * MAX_POINTS:  # 1 %: the count is a float
        raise too_long
    factor, _ = exponential_between(budget.epsilon, bits=FACTOR_BITS)
    last = 1 << FACTOR_BITS
    share_of_delta = 1 - Fraction(1, 2**64)  # of δ, so that a proof at 128 bits succeeds
    delta = budget.delta * share_of_delta
    chain, inner = [last], 0  # from the end inwards; `inner` is their sum without the centre's
    gain = Fraction(factor - (1 << FACTOR_BITS), 1 << FACTOR_BITS)
    while True:
        # the centre is chain[-1], counted once
        total = 2 * inner + chain[-1]
        missing = last - delta * total
        needed = -(-missing // (gain + 2 * delta)) if missing > 0 else 0
        if needed * factor <= last << FACTOR_BITS:
            # With x = 0 the chain meets δ, and no shorter chain did.
            return (*reversed(chain), int(needed)) if needed else tuple(reversed(chain))
        if steps * (len(chain) + 1) >= MAX_POINTS:
            raise too_long
        inner += chain[-1]
        chain.append(chain[-1] * factor >> FACTOR_BITS)


def _count_points(budget: Budget) -> float:
    """Approximate the length N of the law in closed form, where W_N <= 1/δ <= W_{N+1}.

    It solves W_N = 1/δ for a real N, since W_j = c^j + 2(c^j − 1)/(c − 1).
    """
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    gain = math.expm1(min(epsilon, 1.0))  # for a larger ε no law is long
    if not epsilon or not delta:
        return math.inf if not delta else 1 / (2 * delta)
    return math.log1p((1 / delta - 1) * gain / (gain + 2)) / epsilon


def closed_form_witness(budget: Budget, *, power: int, points: int) -> Witness:
    """The rounded dual prices that prove the law of `closed_form_masses` optimal, up to rounding.

    `points` is the number of weights of that law. Seen as points (1/W_j, N_j/W_j), the laws T_j lie
    on or above the line a − bδ through T_N and T_{N+1}. The prices, for the shift of 1, are λ = b
    and ψ_{−i} = max(0, (a − N_i/W_i) W_i) for i >= 0 (proof in theory/noise.md §3). Rounding to
    integers makes the bound slightly smaller, never false.
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


def fill_masses(masses: tuple[int, ...], steps: int) -> tuple[int, ...]:
    """Weights on a lattice with `steps` points for each point of `masses`, linear between them.

    If X is noise with the law of `masses`, this is the law of X + T/steps, with T independent and
    P(T = i) ∝ (steps − |i|)₊. So it is as private as X against shifts of X's lattice. In units of
    that lattice's spacing, T adds (1 − 1/steps²)/6 to the mse.
    """
    ends = (*masses, 0)
    return tuple(
        (steps - i) * here + i * there for here, there in pairwise(ends) for i in range(steps)
    )


def fill_prices(witness: Witness, steps: int) -> Witness:
    """The witness with `steps` lattice points for each point of `witness`, which has one cell.

    The new prices are linear between the old points, and so is the sum G_i of `Witness.bound`. The
    cost of the mae is linear there, too, so the bound stays, up to rounding. The cost of the mse is
    below its chords by at most 1/4, and the bound falls by at most as much, up to rounding.
    """
    if steps == 1:
        return witness
    (prices,) = witness.prices
    ends = (0, *prices, 0)  # the periodic part is 0 up to the first point
    filled = [
        ((steps - i) * here + i * there) // steps
        for here, there in pairwise(ends)
        for i in range(steps)
    ]
    ((_, multiplier),) = witness.multipliers
    return Witness(
        cells=steps,
        reach=steps * (witness.reach + 1),
        bits=witness.bits,
        multipliers=((steps, multiplier),),
        prices=(tuple(filled),),
    )


def _whole(x: arb, bits: int) -> int:
    integer = (arb(x.mid()) * arb(2) ** bits).floor().unique_fmpz()
    return 0 if integer is None else int(integer)


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# If one method ends in "unknown", another usually succeeds. Small errors of prices are repaired at
# nearly no cost (`repair.make_witness`); errors of masses cost more, at a small δ.
_STRATEGIES = (
    ("highs-ds", {"dual_feasibility_tolerance": 1e-7}),
    ("highs-ds", {"dual_feasibility_tolerance": 1e-6}),
    ("highs-ipm", {"dual_feasibility_tolerance": 1e-7}),
)
_SPREAD = 8  # shifts in the first program, including the longest


@final
@dataclass(frozen=True, kw_only=True)
class LatticeProgram:
    """One lattice program; `power` is 1 for mae and 2 for mse; lengths are in sensitivities.

    `cells` is m and `reach` is n. If `structured`, only the rows of the structured form are used.
    No point |i| < `calm` may be exposed, so that the law can be lengthened there
    (`repair.lengthen`). The prices prove a bound only for calm = 0.

    Rows are added until a round changes the loss by less than the fraction `accuracy`, and
    repairing the law costs no more. The repair mixes the law with a law for half of δ, whose loss
    is larger by the fraction `halving`. At half of the program's `delta`, the smallest loss is
    larger by the fraction `growth`, which shows when more rows can't matter (`_is_precise`).
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
        """The optimum up to `accuracy`, or else the last relaxation that was solved.

        If rows of a similar program are given as `start`, they are used from the beginning. None if
        nothing was solved within the allowance.
        """
        rows = self._rows()
        m = self.cells
        # a few shifts over the whole range nearly suffice; the rows at multiples of m help if the
        # law is concentrated on fewer points than lie between these shifts
        shifts = np.unique(np.rint(m * np.arange(1, _SPREAD + 1) / _SPREAD))
        active = np.isin(rows.shift, shifts) | (np.abs(rows.point) % m == 0)
        if start is not None:
            active |= np.isin(rows.keys, start.keys)
        solved, losses = None, list[float]()
        for _ in range(40):
            used = rows.where(active)
            result = self._run_solver(used, allowance)
            if result is None:
                break
            prices = -result.ineqlin.marginals
            multipliers = prices[len(used.shift) :] / self.delta
            solved = LatticeSolution(
                program=self,
                columns=result.x[: self._columns] * self._sizes,
                multipliers=multipliers,
                rows=used,
                prices=prices[: len(used.shift)] / used.size,
                level=float(result.eqlin.marginals[0]),
            )
            losses.append(float(result.fun))
            missing = self._find_violated(rows, active, solved, losses)
            if not missing.any():
                break
            active |= missing
        return solved

    def _find_violated(
        self, rows: LatticeRows, active: Bools, solved: LatticeSolution, losses: list[float]
    ) -> Bools:
        """Mark the rows to add: the two worst violations of each point, each source and each shift.

        A row is violated if the shift exposes its point, and either the point is nearer than `calm`
        or the shift exposes more than δ in total. If the solution is precise, no row is marked.
        """
        masses = np.maximum(solved.columns, 0.0)
        exposed = np.maximum(masses[np.abs(rows.point)] - rows.factor * masses[rows.source], 0.0)
        sums = np.bincount(rows.shift, exposed, minlength=self.cells + 1)
        marked = np.zeros(len(active), dtype=bool)
        if self._is_precise(losses, sums.max() / self.delta - 1):
            return marked
        excess = 1e-6  # of δ: smaller violations are left to the repair of the law
        violated = (sums > (1 + excess) * self.delta)[rows.shift]
        violated |= np.abs(rows.point) < self.calm
        violated &= ~active & (exposed > 1e-3 * self.delta / self.reach)
        worst = np.flatnonzero(violated)
        worst = worst[np.argsort(-exposed[worst], kind="stable")]
        for key in (rows.source, rows.point, rows.shift):
            remaining = worst
            for _ in range(2):
                _, first = np.unique(key[remaining], return_index=True)
                marked[remaining[first]] = True
                remaining = np.delete(remaining, first)
        return marked

    def _is_precise(self, losses: list[float], excess: float) -> bool:
        """True if more rows would hardly change the loss of the law after repair.

        Either the last round changed the loss little, and repairing the excess over δ costs as
        little. Or the excess is negligible: the law is private at (1 + excess)·δ. As the smallest
        loss is convex in δ, it is larger at δ than there by at most the fraction 2·excess·growth.
        """
        if 2 * excess * self.growth <= self.accuracy / 20:
            return True
        if len(losses) < 2:
            return False
        stalled = 1e-7  # a smaller relative gain of a round means that violations are rounding
        enough = max(self.accuracy, stalled)
        share = excess / (excess + 0.5)  # the law for δ/2 has this share of the mixture for δ
        return losses[-1] <= (1 + enough) * losses[-2] and share * self.halving <= enough

    def _run_solver(self, rows: LatticeRows, allowance: Allowance) -> Any:
        """The result of SciPy's solver for these rows; None if no method solves the program.

        Methods are tried one after another, until one succeeds or the allowance is spent.
        """
        from scipy.optimize import linprog  # noqa: PLC0415  (0.5 s to import)

        count = len(rows.shift)
        matrix = self._matrix(rows)
        costs, total = self._costs(count), self._normalisation(count)
        limits = np.append(np.zeros(count), np.ones(self.cells))
        patience = 5  # steps per row; a simplex run that takes more rarely ends
        for method, options in _STRATEGIES:
            if allowance.spent:
                return None
            size = len(limits)
            result = linprog(
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
            allowance.charge(result, rows=size, interior=method == "highs-ipm")
            if result.status == 0:
                return result
        return None

    def _rows(self) -> LatticeRows:
        """The rows (j, i) of the program, with the masses that each row compares, and their factor.

        A row is divided by the size of q_i (about e^{−ε|ih|}, δ in the far tail). Otherwise the
        solver's absolute tolerances would hide a small δ.
        """
        n, m, c = self.reach, self.cells, math.exp(self.epsilon)
        shifts, points = [], []
        for j in range(1, m + 1):
            last = (j - 1) // 2 if self.structured else n
            i = np.arange(-n, min(last, n) + 1)
            i = i[2 * i != j]  # q_i − c q_{−i} <= 0
            points.append(i)
            shifts.append(np.full(len(i), j))
        shift, point = np.concatenate(shifts), np.concatenate(points)
        source = point - shift
        tail = source < -n
        return LatticeRows(
            shift=shift,
            point=point,
            source=np.where(tail, -source, np.abs(source)),  # n + 1 + r is the column of T_r
            factor=np.where(tail & (shift == m), c - 1, c),
            size=self._sizes[np.abs(point)],
        )

    @property
    def _columns(self) -> int:
        """The number of unknown masses q_0 … q_n, T_0 … T_{m−1}: one column each in the matrix."""
        return self.reach + 1 + self.cells

    @property
    def _sizes(self) -> Floats:
        """The approximate size of the masses; the solver's unknowns are their ratios to it."""
        return np.maximum(np.exp(-self.epsilon / self.cells * np.arange(self._columns)), self.delta)

    def _weights(self) -> Floats:
        """For each mass column, its unit in `_sizes`, times 2 except for q_0.

        Each other column stands for points of both signs.
        """
        return np.append(1.0, np.full(self._columns - 1, 2.0)) * self._sizes

    def _costs(self, rows: int) -> Floats:
        positions = np.arange(self._columns) / self.cells
        return np.append(self._weights() * positions**self.power, np.zeros(rows))

    def _normalisation(self, rows: int) -> object:
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        return csr_matrix(np.append(self._weights(), np.zeros(rows))[None, :])

    def _matrix(self, rows: LatticeRows) -> object:
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        count, sizes = len(rows.shift), self._sizes
        index, w = np.arange(count), self._columns + np.arange(count)
        entries = (
            (index, np.abs(rows.point), np.ones(count)),
            (index, rows.source, -rows.factor * sizes[rows.source] / rows.size),
            (index, w, np.where(np.abs(rows.point) < self.calm, 0.0, -self.delta / rows.size)),
            (count + rows.shift - 1, w, np.ones(count)),
        )
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        shape = (count + self.cells, self._columns + count)
        return csr_matrix((value, (row, column)), shape=shape)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LatticeRows:
    """The rows (j, i) of a program: `shift` j, `point` i, `source` the column of q_{i−j}.

    A row is q_i − `factor`·q_{i−j}, divided by `size`. All arrays have one entry per row.
    """

    shift: NDArray[np.int64]
    point: NDArray[np.int64]
    source: NDArray[np.int64]
    factor: Floats
    size: Floats

    def where(self, chosen: Bools) -> LatticeRows:
        """The rows where `chosen` is true."""
        return LatticeRows(
            shift=self.shift[chosen],
            point=self.point[chosen],
            source=self.source[chosen],
            factor=self.factor[chosen],
            size=self.size[chosen],
        )

    @property
    def keys(self) -> NDArray[np.int64]:
        """A distinct integer for each row: shift · 2^32 + point, with |point| below 2^31."""
        return (self.shift << 32) + self.point


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LatticeSolution:
    """A solution in floats: the masses, and the dual prices of their constraints.

    `columns` are the masses q_0 … q_n and T_0 … T_{m−1}. `multipliers` are the prices λ_1 … λ_m of
    the limits on δ, and `prices` are ψ_{j,i}, one for each of the `rows`. `level` is the price of
    the normalisation, which the dual bound's minimum over i should reach.
    """

    program: LatticeProgram
    columns: Floats
    multipliers: Floats
    rows: LatticeRows
    prices: Floats
    level: float

    @property
    def masses(self) -> Floats:
        """The masses q_0 … q_n, without the tail."""
        return self.columns[: self.program.reach + 1]

    def dense_prices(self) -> Floats:
        """The prices ψ_{j,i} for i = −n … n, an array of shape (m, 2n + 1); 0 for missing rows."""
        n = self.program.reach
        dense = np.zeros((self.program.cells, 2 * n + 1))
        dense[self.rows.shift - 1, self.rows.point + n] = self.prices
        return dense
