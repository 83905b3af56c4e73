"""Fit the cactus law to a budget: minimise the largest KL divergence over the shifts.

Notation: X is the noise in sensitivities, and m the number of lattice cells in a sensitivity. p_i =
p_{−i} is the mass of the cell around i/m. The p_i with |i| <= N are free; beyond N they fall by a
constant ratio. D_k = Σ_i p_i ln(p_i/p_{i−k}) is the KL divergence under a shift by k cells. The
price μ is the exchange rate between divergence and expected loss E|X| or E X².

Minimise max_{k=1..m} D_k + μ·E loss (Alghamdi et al. 2022). The maximum must be over all shifts.
The longest shift k = m alone doesn't connect the residue classes mod m, so the optimum would have
all mass on one class. The interior-point method bounds all D_k by z, with slacks s_k = z − D_k and
multipliers λ_k.

D_k is convex and homogeneous. By symmetry it is Σ_{i>k/2} (p_i − p_{i−k}) ln(p_i/p_{i−k}). For
relative steps p_i(1 + d_i) its second derivative is Σ (p_i + p_{i−k})(d_i − d_{i−k})². This is the
Laplacian of a graph, and a banded matrix. So Newton's method is fast and stable for any small p_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import final

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.lattice import profile as lattice
from leastnoise.noise.lattice.law import MAX_POINTS, Cactus, Lattice
from leastnoise.noise.question import Loss, Question
from leastnoise.numerics.searches import IncreasingRoot

Floats = NDArray[np.float64]
# The gap to the optimum, relative to the largest divergence. The divergence at the longest shift
# hardly depends on the weights of the residue classes mod m. So in the exact optimum they are as
# uneven as the other shifts allow, which costs up to 15 % of the loss at equal δ. The point on the
# central path within the gap is unique and even, and is used instead.
GAP = 1e-2
_CENTRED = 1e-4  # relative error of the products λ_k s_k, which are equal on the central path


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """The minimisation on one lattice: m = `cells`, N = `reach`, and the loss E|X|^`power`.

    `fall` is −ln of the constant ratio of neighbouring masses in the tail.
    """

    cells: int
    reach: int
    fall: float
    power: int

    def solve(self, *, price: float, start: Floats) -> Floats:
        """Return p_0 … p_N that minimise max D_k + price·E loss, within GAP·max D_k of the minimum.

        They are the point of the central path with this duality gap. `start` has positive masses of
        any sum. These should not fall faster than the result: a step of Newton's method only about
        doubles a mass that is far too small. Raises Refused if the method doesn't converge.
        """
        prices = price * self.costs
        point, length = self._begin(start), 1.0
        for _ in range(200):
            if point.is_solved(prices):
                return point.masses
            shrink = max(0.1, 1 - length)  # after a short step, first return to the central path
            target = max(shrink * point.gap, GAP * point.largest) / self.cells
            point, length = self._move(point, _step(point, prices, target))
        raise Refused(
            "No cactus noise was found, because the numerical search did not converge. Use "
            "another noise."
        )

    @cached_property
    def counts(self) -> Floats:
        """The mass of the cells i and −i together, in units of p_i, for i = 0 … N.

        The last entry includes the tail.
        """
        counts = np.full(self.reach + 1, 2.0)
        counts[0] = 1.0
        counts[-1] /= -math.expm1(-self.fall)
        return counts

    @cached_property
    def costs(self) -> Floats:
        """The contribution of the cells i and −i to E|X|^power, per unit of p_i, for i = 0 … N.

        The last entry includes the tail.
        """
        h, r, n = 1 / self.cells, math.exp(-self.fall), self.reach
        i: Floats = np.arange(n + 1, dtype=np.float64)
        beyond = r / (1 - r)  # E j under the tail's law of j = i − N; the next line is E j²
        square = beyond * (1 + 2 * beyond)
        if self.power == 1:
            costs = h * i
            costs[0], costs[-1] = h / 4, h * (n + beyond)
        else:
            costs = h * h * (i * i + 1 / 12)
            costs[-1] = h * h * (n * n + 2 * n * beyond + square + 1 / 12)
        return costs * self.counts

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], ...]:
        """The pairs (i, k) of all terms in all D_k with i > k/2 and |i − k| <= N.

        Returns three arrays: i, |i − k| and k − 1.
        """
        shifts = range(1, self.cells + 1)
        indices = [np.arange(k // 2 + 1, self.reach + k + 1) for k in shifts]
        others = [np.abs(index - k) for index, k in zip(indices, shifts, strict=True)]
        rows = [np.full(len(index), k - 1) for index, k in zip(indices, shifts, strict=True)]
        return np.concatenate(indices), np.concatenate(others), np.concatenate(rows)

    @cached_property
    def _tail(self) -> Floats:
        """The part of each D_k that comes from pairs with |i − k| > N, in units of p_N."""
        falls: Floats = self.fall * np.arange(1, self.cells + 1, dtype=np.float64)
        return -falls * np.expm1(-falls) / math.expm1(self.fall)

    def _begin(self, start: Floats) -> _LatticePoint:
        """The first point of the interior-point method, with masses proportional to `start`."""
        masses = start / float(self.counts @ start)
        divergence = self._divergence(masses)
        largest = 1.1 * float(divergence.values.max())
        return _LatticePoint(
            program=self,
            masses=masses,
            divergence=divergence,
            largest=largest,
            slack=largest - divergence.values,
            multipliers=np.full(self.cells, 1 / self.cells),
            level=0.0,
        )

    def _move(self, point: _LatticePoint, step: _Step) -> tuple[_LatticePoint, float]:
        """Move by a part of the step, so that positive numbers stay positive.

        Returns the new point, and the part (at most 1, the whole step).
        """
        relative = (
            step.masses,
            step.slack / point.slack,
            step.multipliers / point.multipliers,
            np.array([step.largest / point.largest]),
        )
        fall = max(-float(change.min()) for change in relative)
        # 0.95 of the way to where a positive number would vanish
        length = min(1.0, 0.95 / fall) if fall > 0 else 1.0
        masses = point.masses * (1 + length * step.masses)
        moved = _LatticePoint(
            program=self,
            masses=masses,
            divergence=self._divergence(masses),
            largest=point.largest + length * step.largest,
            slack=point.slack + length * step.slack,
            multipliers=point.multipliers + length * step.multipliers,
            level=point.level + length * step.level,
        )
        return moved, length

    def _divergence(self, masses: Floats) -> _Divergence:
        """Compute all D_k for these masses, and their derivatives."""
        (index, other, row), n, m = self._pairs, self.reach, self.cells
        beyond = masses[-1] * np.exp(-self.fall * np.arange(1, m + 1))
        longer = np.concatenate([masses, beyond])
        a, b = longer[index], longer[other]
        logs = np.log(a / b)
        slopes = _sums(row * (n + 1) + np.minimum(index, n), a * logs + a - b, m * (n + 1))
        slopes += _sums(row * (n + 1) + other, b - a - b * logs, m * (n + 1))
        slopes = slopes.reshape(m, n + 1)
        slopes[:, -1] += self._tail * masses[-1]
        return _Divergence(
            values=_sums(row, (a - b) * logs, m) + self._tail * masses[-1],
            slopes=slopes,
            weights=a + b,
        )

    def laplacian(self, weights: Floats, multipliers: Floats) -> Floats:
        """Return the second derivative Σ_k λ_k D_k'' in the relative steps d_1, …, d_N.

        `weights` are the sums p_i + p_{i−k} of `_Divergence`, and `multipliers` are the λ_k. Only
        the diagonal and the bands below it are returned, in an array of shape (m + 1, N).
        """
        (index, other, row), n, m = self._pairs, self.reach, self.cells
        inner, strength = np.minimum(index, n), weights * multipliers[row]
        strength[inner == other] = 0.0  # both ends on p_N: no relative step tells them apart
        bands = -_sums((inner - other) * (n + 1) + other, strength, (m + 1) * (n + 1))
        bands = bands.reshape(m + 1, n + 1)
        bands[0] = _sums(inner, strength, n + 1) + _sums(other, strength, n + 1)
        return bands[:, 1:]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Divergence:
    """All divergences D_k and their derivatives.

    `values` are the D_k, `slopes` has a row of p_i ∂D_k/∂p_i for each k, and `weights` are the sums
    p_i + p_{i−k} of all pairs (i, k).
    """

    values: Floats
    slopes: Floats
    weights: Floats


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _LatticePoint:
    """A point of the interior-point method; it needn't meet the constraints before the optimum.

    `masses` are the p_i, `largest` is z, and `slack` are the s_k > 0; at the optimum D_k + s_k = z.
    `multipliers` are the λ_k > 0 of these constraints, and `level` is the multiplier ν of Σp = 1.
    """

    program: Program
    masses: Floats
    divergence: _Divergence
    largest: float
    slack: Floats
    multipliers: Floats
    level: float

    @property
    def gap(self) -> float:
        """The duality gap Σ_k λ_k s_k.

        Where `residual` and `broken` are 0, the objective exceeds the minimum by at most this gap.
        """
        return float(self.multipliers @ self.slack)

    @property
    def shares(self) -> Floats:
        """The mass of the cells i and −i together, for i = 0 … N, the last with the tail.

        They sum to 1 at the optimum.
        """
        return self.program.counts * self.masses

    @property
    def broken(self) -> Floats:
        """The residuals D_k + s_k − z of the constraints, one for each k; 0 at the optimum."""
        return self.divergence.values + self.slack - self.largest

    def residual(self, prices: Floats) -> Floats:
        """Return the derivatives p_i ∂/∂p_i of the Lagrangian, which are 0 at the optimum."""
        slopes = self.multipliers @ self.divergence.slopes
        return prices * self.masses + slopes + self.level * self.shares

    def is_solved(self, prices: Floats) -> bool:
        """True if the point is on the central path with the final gap, up to small residuals."""
        wanted = GAP * self.largest / self.program.cells
        uncentred = float(np.abs(self.multipliers * self.slack / wanted - 1).max())
        broken = float(np.abs(self.broken).max()) / self.largest
        steepest = float(np.abs(self.residual(prices) / self.shares).max()) / self.largest
        return uncentred <= _CENTRED and broken <= _CENTRED * GAP and steepest <= 1e-8


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Step:
    """Newton's step: the change of each unknown.

    The change of a mass p_i is relative: d_i in p_i(1 + d_i).
    """

    masses: Floats
    largest: float
    slack: Floats
    multipliers: Floats
    level: float


def _sums(indices: NDArray[np.int64], values: Floats, count: int) -> Floats:
    """Add up the `values` that have the same index, for each index 0 … count − 1."""
    return np.bincount(indices, values, minlength=count).astype(np.float64, copy=False)


def _step(point: _LatticePoint, prices: Floats, target: float) -> _Step:
    """Return Newton's step towards a point where all products λ_k s_k are `target`.

    Let H be the Laplacian, G the slopes, w the shares, and d the relative steps d_i of the masses.
    H d + Gᵀdλ + w dν = −residual is solved for all d_i − d_0, as linear functions of (dλ, dν). The
    rows of H sum to 0, so the sum of these equations contains only dλ and dν. With it and the
    equations of the constraints, a small system gives dλ, dν, d_0 and the step of z.
    """
    from scipy.linalg import cho_solve_banded, cholesky_banded  # noqa: PLC0415  (0.2 s)

    values, slopes = point.divergence.values, point.divergence.slopes
    residual = point.residual(prices)
    m = len(values)
    bands = point.program.laplacian(point.divergence.weights, point.multipliers)
    columns = np.column_stack([-residual, -slopes.T, -point.shares])
    factor = cholesky_banded(bands, lower=True, check_finite=False)
    inner = cho_solve_banded((factor, True), columns[1:], check_finite=False)
    inner = np.vstack([np.zeros(m + 2), inner])

    # the unknowns: dλ_1 … dλ_m, dν, d_0, dz
    through = slopes @ inner
    system = np.zeros((m + 3, m + 3))
    system[:m, : m + 1] = through[:, 1:]
    system[:m, :m] -= np.diag(point.slack / point.multipliers)
    system[:m, m + 1], system[:m, m + 2] = values, -1.0
    system[m, : m + 1] = point.shares @ inner[:, 1:]
    system[m, m + 1] = 1.0
    system[m + 1, :m], system[m + 1, m] = values, 1.0
    system[m + 2, :m] = 1.0
    right = np.concatenate(
        [
            point.largest - values - target / point.multipliers - through[:, 0],
            [1 - float(point.shares.sum()) - float(point.shares @ inner[:, 0])],
            [-float(residual.sum()), 1 - float(point.multipliers.sum())],
        ]
    )
    size = 1 / np.abs(system).max(axis=1)
    solution = np.linalg.solve(system * size[:, None], right * size)
    level, first, largest = solution[m:].tolist()
    masses = first + inner[:, 0] + inner[:, 1:] @ solution[: m + 1]
    return _Step(
        masses=masses,
        largest=largest,
        slack=largest - point.broken - slopes @ masses,
        multipliers=solution[:m],
        level=level,
    )


# The search for the log of the price. Far from the root δ may jump, so secant steps are short.
_ROUGH = IncreasingRoot(tolerance=1e-2, first_step=0.5, largest_step=1.5)
_ROOT = IncreasingRoot(tolerance=1e-6, first_step=0.05, largest_step=1.5)
_OUTSIDE = 1e-6  # largest probability of the tail, relative to δ
_FEW, _MANY = 80, 320  # cells on the half line, for the search of the range and for the result
_SHORTEST, _LONGEST = 1.5, 20_000.0  # shortest and longest range, in sensitivities
_LARGEST_EPSILON = 10  # above it, one cell has nearly all of the probability


def search(question: Question) -> Cactus:
    """Return the cactus law that just meets the budget.

    On each side of 0, the program has about 320 cells, or more for a long range, before the tail.
    The search is over ln μ, to 1e-6; each price μ corresponds to a bound on the expected error.
    Raises NotApplicable if the range is too long for the lattice or ε is too large, Refused if the
    search fails, and InvalidArgument for fixed parameters.
    """
    if question.fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(question.fixed),
            expected="no fixed parameters: calibration chooses all parameters of cactus",
        )
    if question.budget.epsilon > _LARGEST_EPSILON:
        raise _not_applicable(f"calibration supports epsilon up to {_LARGEST_EPSILON}")
    rough = _solve_roughly(question)
    solution = _refine(question, rough)
    return Cactus(scale=1, cells=solution.law.cells, masses=solution.law.masses)


@final
@dataclass(frozen=True, kw_only=True)
class _Solution:
    """A program solved at one price μ: its masses, and their law with whole-number masses."""

    program: Program
    log_price: float
    masses: Floats
    law: Lattice


def _solve_roughly(question: Question) -> _Solution:
    """Solve the program with few cells, on a range that grows until the tail is negligible."""
    power = 1 if question.loss is Loss.MAE else 2
    sigma = float(common_fit.gaussian(1, question.budget))
    delta, epsilon = float(question.budget.delta), float(question.budget.epsilon)
    # A Gaussian has the divergence 1/2σ² at the loss σ² (or σ√(2/π)); the slope is the price. It
    # is taken higher for large ε: there a low price makes the range too short, which adds to δ.
    log_price = math.log({1: 1.2, 2: 0.5}[power]) - (2 + power) * math.log(sigma) + epsilon / 2
    reach = max(_SHORTEST, sigma * math.sqrt(-2 * math.log(_OUTSIDE * delta)))
    while reach <= _LONGEST:
        # a fall of at most e^ε for each sensitivity, so that the tail adds nothing to δ(ε)
        fall = min(reach / sigma**2, epsilon + 1 / reach)
        program = _program(reach, _FEW, fall=fall, power=power)
        slope = reach / (2 * sigma**2)  # this start ends where the Gaussian does, and is above it
        start = np.exp(-min(slope, 7.0) * np.arange(program.reach + 1) / program.cells)
        solution = _solve_for_delta(question, program, start, log_price=log_price, root=_ROUGH)
        if (program.counts * solution.masses)[-1] <= _OUTSIDE * delta:
            return solution
        reach, log_price = 1.4 * reach, solution.log_price
    raise _not_applicable(
        f"its range would be {reach:.3g} sensitivities; leastnoise takes at most {_LONGEST:,.0f}"
    )


def _refine(question: Question, rough: _Solution) -> _Solution:
    """Solve the program with many cells, on the range where `rough` has non-negligible mass."""
    cells, shares = rough.program.cells, rough.program.counts * rough.masses
    beyond = np.cumsum(shares[::-1])[::-1]
    last = int(np.argmax(beyond <= _OUTSIDE * float(question.budget.delta)))
    last = max(last, math.ceil(_SHORTEST * cells))
    logs = np.log(rough.masses)
    fall = float(logs[last - cells] - logs[last])  # fall per sensitivity
    program = _program(last / cells, _MANY, fall=fall, power=rough.program.power)
    positions = np.arange(program.reach + 1) / program.cells
    start = np.exp(np.interp(positions, np.arange(len(logs)) / cells, logs))
    return _solve_for_delta(question, program, start, log_price=rough.log_price, root=_ROOT)


def _program(length: float, count: int, *, fall: float, power: int) -> Program:
    """A program whose range is `length` sensitivities, with about `count` cells in it.

    One sensitivity has at least one cell, so a longer range than `count` has more cells.
    """
    cells = max(1, math.floor(count / length))
    return Program(cells=cells, reach=math.ceil(length * cells), fall=fall / cells, power=power)


def _solve_for_delta(
    question: Question, program: Program, start: Floats, *, log_price: float, root: IncreasingRoot
) -> _Solution:
    """Solve `program` at the price μ at which its law just meets δ."""
    delta, epsilon = float(question.budget.delta), float(question.budget.epsilon)
    tried: dict[float, _Solution] = {}

    def over(log_price: float) -> float:
        masses = program.solve(price=math.exp(log_price), start=start)
        law = _to_whole_numbers(program, masses, delta)
        tried[log_price] = _Solution(program=program, log_price=log_price, masses=masses, law=law)
        shifts = [law.cells] if law.falls else range(1, law.cells + 1)
        leaked = lattice.delta(law, shifts=shifts, epsilon=epsilon)
        room = 1e-8  # room for the proof; the float sum is accurate to 1e-13
        return math.log(leaked / delta * (1 + room)) if leaked > 0 else -math.inf

    return tried[root.find(over, guess=log_price)]


def _to_whole_numbers(program: Program, masses: Floats, delta: float) -> Lattice:
    """The law with whole-number masses: p_0 … p_N and the tail, times a power of 2, rounded down.

    It ends before the first mass that becomes 0, or at MAX_POINTS.
    """
    bits = 40 + math.ceil(-math.log2(delta))  # masses below 2^-40 of δ are cut off
    tail = masses[-1] * np.exp(-program.fall * np.arange(1, MAX_POINTS - len(masses)))
    weights = (int(math.ldexp(mass, bits)) for mass in np.append(masses, tail).tolist())
    return Lattice(cells=program.cells, masses=takewhile(bool, weights))


def _not_applicable(why: str) -> NotApplicable:
    return NotApplicable(family=Cactus.name, why=why)
