"""Which law on a lattice serves a budget: cactus, and the least largest KL divergence.

notation: m = cells in a sensitivity, p_i = P(X = i/m) = p_{−i}, free for |i| <= N and falling by a
constant ratio from there, D_k = Σ_i p_i ln(p_i/p_{i−k}), μ = price. Minimise max_{k=1..m} D_k +
μ·E loss (Alghamdi et al. 2022). All of the shifts count: with the longest alone the residue classes
mod m don't meet, and the optimum would sit on one of them.

D_k is convex and homogeneous. By symmetry it is Σ_{i>k/2} (p_i − p_{i−k}) ln(p_i/p_{i−k}), and in
relative steps p_i(1 + d_i) its second derivative is Σ (p_i + p_{i−k})(d_i − d_{i−k})²: a graph's
Laplacian, banded, which Newton's method solves at once however small p_i is.
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
# The gap to the optimum, relative to the largest divergence. What the residue classes mod m weigh
# matters so little to the longest shift that the exact optimum leaves them as uneven as the other
# shifts just allow, which costs up to 15 % of the loss at equal δ. So the centre of all laws within
# the gap is taken, which is unique and even.
GAP = 1e-2
_CENTRED = 1e-4  # relative error of the products λ_k s_k, all equal on the central path


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """One lattice: `cells` m, `reach` N, `fall` = −ln of the tail's ratio, `power` of the loss."""

    cells: int
    reach: int
    fall: float
    power: int

    def solve(self, *, price: float, start: Floats) -> Floats:
        """Return p_0 … p_N of the least max D_k + price·E loss, within GAP of the least divergence.

        `start` (positive, any sum) should not fall faster than the result: Newton's method at most
        doubles what is too small. Raises Refused if it doesn't get there.
        """
        prices = price * self.costs
        point, length = self._begin(start), 1.0
        for _ in range(200):
            if point.solved(prices):
                return point.masses
            shrink = max(0.1, 1 - length)  # after a short step the centre comes first
            target = max(shrink * point.gap, GAP * point.largest) / self.cells
            point, length = self._moved(point, _step(point, prices, target))
        raise Refused("No cactus noise was found: the convex program did not converge.")

    @cached_property
    def counts(self) -> Floats:
        """How much of the law is at ±i for each unit of p_i; the tail counts as part of p_N."""
        counts = np.full(self.reach + 1, 2.0)
        counts[0] = 1.0
        counts[-1] /= -math.expm1(-self.fall)
        return counts

    @cached_property
    def costs(self) -> Floats:
        """What a unit of p_i adds to the loss of the step density, in sensitivities."""
        h, r, n = 1 / self.cells, math.exp(-self.fall), self.reach
        i: Floats = np.arange(n + 1, dtype=np.float64)
        beyond = r / (1 - r)  # E j under the tail's law of j = i − N, of which E j² is
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
        """The i > k/2 and |i − k| of D_k up to |i − k| = N, and k − 1, for all k."""
        shifts = range(1, self.cells + 1)
        places = [np.arange(k // 2 + 1, self.reach + k + 1) for k in shifts]
        others = [np.abs(place - k) for place, k in zip(places, shifts, strict=True)]
        rows = [np.full(len(place), k - 1) for place, k in zip(places, shifts, strict=True)]
        return np.concatenate(places), np.concatenate(others), np.concatenate(rows)

    @cached_property
    def _tail(self) -> Floats:
        """What the pairs with |i − k| > N add to D_k, in units of p_N."""
        falls: Floats = self.fall * np.arange(1, self.cells + 1, dtype=np.float64)
        return -falls * np.expm1(-falls) / math.expm1(self.fall)

    def _begin(self, start: Floats) -> _LatticePoint:
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

    def _moved(self, point: _LatticePoint, step: _Step) -> tuple[_LatticePoint, float]:
        """Go as far along the step as all that must be positive allows; return how far, too."""
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
        (place, other, row), n, m = self._pairs, self.reach, self.cells
        beyond = masses[-1] * np.exp(-self.fall * np.arange(1, m + 1))
        longer = np.concatenate([masses, beyond])
        a, b = longer[place], longer[other]
        logs = np.log(a / b)
        slopes = _sums(row * (n + 1) + np.minimum(place, n), a * logs + a - b, m * (n + 1))
        slopes += _sums(row * (n + 1) + other, b - a - b * logs, m * (n + 1))
        slopes = slopes.reshape(m, n + 1)
        slopes[:, -1] += self._tail * masses[-1]
        return _Divergence(
            values=_sums(row, (a - b) * logs, m) + self._tail * masses[-1],
            slopes=slopes,
            weights=a + b,
        )

    def laplacian(self, weights: Floats, multipliers: Floats) -> Floats:
        """Return Σ λ_k D_k'' without the row and column of p_0, as lower bands (m + 1, N)."""
        (place, other, row), n, m = self._pairs, self.reach, self.cells
        inner, strength = np.minimum(place, n), weights * multipliers[row]
        strength[inner == other] = 0.0  # both ends on p_N: no relative step tells them apart
        bands = -_sums((inner - other) * (n + 1) + other, strength, (m + 1) * (n + 1))
        bands = bands.reshape(m + 1, n + 1)
        bands[0] = _sums(inner, strength, n + 1) + _sums(other, strength, n + 1)
        return bands[:, 1:]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Divergence:
    """D_k, p_i ∂D_k/∂p_i (a row each), and p_i + p_{i−k} for all pairs."""

    values: Floats
    slopes: Floats
    weights: Floats


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _LatticePoint:
    """p, z, s_k > 0 for z − D_k, λ_k > 0 for D_k <= z, and the price ν of Σp = 1."""

    program: Program
    masses: Floats
    divergence: _Divergence
    largest: float
    slack: Floats
    multipliers: Floats
    level: float

    @property
    def gap(self) -> float:
        """Σ λ_k s_k: how far from the optimum, at most, if all else is met."""
        return float(self.multipliers @ self.slack)

    @property
    def shares(self) -> Floats:
        """The probabilities that hang on each p_i; they sum to 1."""
        return self.program.counts * self.masses

    @property
    def broken(self) -> Floats:
        """D_k + s_k − z, which vanishes in the end."""
        return self.divergence.values + self.slack - self.largest

    def residual(self, prices: Floats) -> Floats:
        """Return p_i ∂/∂p_i of the Lagrangian, which vanishes in the end."""
        slopes = self.multipliers @ self.divergence.slopes
        return prices * self.masses + slopes + self.level * self.shares

    def solved(self, prices: Floats) -> bool:
        """Whether the point is on the central path, at the final gap."""
        wanted = GAP * self.largest / self.program.cells
        uncentred = float(np.abs(self.multipliers * self.slack / wanted - 1).max())
        broken = float(np.abs(self.broken).max()) / self.largest
        steepest = float(np.abs(self.residual(prices) / self.shares).max()) / self.largest
        return uncentred <= _CENTRED and broken <= _CENTRED * GAP and steepest <= 1e-8


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Step:
    """Newton's step; that of the masses is relative to them."""

    masses: Floats
    largest: float
    slack: Floats
    multipliers: Floats
    level: float


def _sums(places: NDArray[np.int64], values: Floats, count: int) -> Floats:
    """Add `values` up by place, 0 … count − 1."""
    return np.bincount(places, values, minlength=count).astype(np.float64, copy=False)


def _step(point: _LatticePoint, prices: Floats, target: float) -> _Step:
    """Return Newton's step towards λ_k s_k = target.

    notation: H the Laplacian, G the slopes, w the shares. H d + Gᵀdλ + w dν = −residual is solved
    for all d_i − d_0, linear in (dλ, dν); its row sum, in which H vanishes, is the equation that
    makes up for d_0. The other unknowns solve the small system that is left.
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
    found = np.linalg.solve(system * size[:, None], right * size)
    level, first, largest = found[m:].tolist()
    masses = first + inner[:, 0] + inner[:, 1:] @ found[: m + 1]
    return _Step(
        masses=masses,
        largest=largest,
        slack=largest - point.broken - slopes @ masses,
        multipliers=found[:m],
        level=level,
    )


# Of the log of the price. Far from the root δ may jump, so that secant steps are kept short.
_ROUGH = IncreasingRoot(tolerance=1e-2, first_step=0.5, largest_step=1.5)
_ROOT = IncreasingRoot(tolerance=1e-6, first_step=0.05, largest_step=1.5)
_OUTSIDE = 1e-6  # of δ: what may lie where the tail falls by a constant ratio
_FEW, _MANY = 80, 320  # cells of the half line, while the range is searched and after
_SHORTEST, _LONGEST = 1.5, 20_000.0  # ranges, in sensitivities
_LARGEST_EPSILON = 10  # from there on nearly all of the law is in one of the cells


def search(question: Question) -> Cactus:
    """Return the cactus law that meets the budget just so, on a lattice of about 320 cells.

    What is searched is the price of loss in units of divergence, to 1e-6: a bound on the loss by
    another name. Raises NotApplicable if the range is too long for the lattice or ε too large,
    Refused if no law was found, InvalidArgument for fixed parameters.
    """
    if question.fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(question.fixed),
            expected="no fixed parameters: cactus finds its own",
        )
    if question.budget.epsilon > _LARGEST_EPSILON:
        raise _not_applicable(f"it is searched up to epsilon = {_LARGEST_EPSILON}")
    rough = _rough(question)
    found = _refined(question, rough)
    return Cactus(scale=1, cells=found.law.cells, masses=found.law.masses)


@final
@dataclass(frozen=True, kw_only=True)
class _Found:
    """A solved program at the price where δ is met."""

    program: Program
    log_price: float
    masses: Floats
    law: Lattice


def _rough(question: Question) -> _Found:
    """Solve few cells, over a range that is lengthened until hardly anything is beyond it."""
    power = 1 if question.loss is Loss.MAE else 2
    sigma = float(common_fit.gaussian(1, question.budget))
    delta, epsilon = float(question.budget.delta), float(question.budget.epsilon)
    # A Gaussian has the divergence 1/2σ² at the loss σ² (or σ√(2/π)); the slope is the price. It
    # is taken higher for large ε: there a low price makes a range too short, which leaks too.
    log_price = math.log({1: 1.2, 2: 0.5}[power]) - (2 + power) * math.log(sigma) + epsilon / 2
    reach = max(_SHORTEST, sigma * math.sqrt(-2 * math.log(_OUTSIDE * delta)))
    while reach <= _LONGEST:
        # no steeper than e^ε a sensitivity: then what is beyond is not exposed, only counted
        fall = min(reach / sigma**2, epsilon + 1 / reach)
        program = _program(reach, _FEW, fall=fall, power=power)
        slope = reach / (2 * sigma**2)  # to where a Gaussian would be, but from above
        start = np.exp(-min(slope, 7.0) * np.arange(program.reach + 1) / program.cells)
        found = _priced(question, program, start, log_price=log_price, root=_ROUGH)
        if (program.counts * found.masses)[-1] <= _OUTSIDE * delta:
            return found
        reach, log_price = 1.4 * reach, found.log_price
    raise _not_applicable(
        f"its range would be {reach:.3g} sensitivities; leastnoise takes at most {_LONGEST:,.0f}"
    )


def _refined(question: Question, rough: _Found) -> _Found:
    """Solve many cells over the range that `rough` shows to matter."""
    cells, shares = rough.program.cells, rough.program.counts * rough.masses
    beyond = np.cumsum(shares[::-1])[::-1]
    last = int(np.argmax(beyond <= _OUTSIDE * float(question.budget.delta)))
    last = max(last, math.ceil(_SHORTEST * cells))
    logs = np.log(rough.masses)
    fall = float(logs[last - cells] - logs[last])  # a sensitivity
    program = _program(last / cells, _MANY, fall=fall, power=rough.program.power)
    places = np.arange(program.reach + 1) / program.cells
    start = np.exp(np.interp(places, np.arange(len(logs)) / cells, logs))
    return _priced(question, program, start, log_price=rough.log_price, root=_ROOT)


def _program(length: float, count: int, *, fall: float, power: int) -> Program:
    """Return about `count` cells over `length` sensitivities, one a sensitivity at least."""
    cells = max(1, math.floor(count / length))
    return Program(cells=cells, reach=math.ceil(length * cells), fall=fall / cells, power=power)


def _priced(
    question: Question, program: Program, start: Floats, *, log_price: float, root: IncreasingRoot
) -> _Found:
    """Solve `program` at the price at which the law that it gives meets δ."""
    delta, epsilon = float(question.budget.delta), float(question.budget.epsilon)
    tried: dict[float, _Found] = {}

    def over(log_price: float) -> float:
        masses = program.solve(price=math.exp(log_price), start=start)
        law = _whole(program, masses, delta)
        tried[log_price] = _Found(program=program, log_price=log_price, masses=masses, law=law)
        shifts = [law.cells] if law.falls else range(1, law.cells + 1)
        leaked = lattice.delta(law, shifts=shifts, epsilon=epsilon)
        room = 1e-8  # for the proof: the float sum is accurate to 1e-13
        return math.log(leaked / delta * (1 + room)) if leaked > 0 else -math.inf

    return tried[root.find(over, guess=log_price)]


def _whole(program: Program, masses: Floats, delta: float) -> Lattice:
    """Return the law in whole numbers: p_0 … p_N and the tail, up to where it rounds to nothing."""
    bits = 40 + math.ceil(-math.log2(delta))  # masses below 2^-40 of δ are cut off
    tail = masses[-1] * np.exp(-program.fall * np.arange(1, MAX_POINTS - len(masses)))
    weights = (int(math.ldexp(mass, bits)) for mass in np.append(masses, tail).tolist())
    return Lattice(cells=program.cells, masses=takewhile(bool, weights))


def _not_applicable(why: str) -> NotApplicable:
    return NotApplicable(family=Cactus.name, why=why)
