"""The best spherical step density for a budget, found by a linear program.

The heights of the program's law are rounded to integers. Then the law is scaled slightly to meet
the budget again, since δ decreases with the scale (theory/noise.md §1). Whether it meets the budget
is proved later, for the exact density (§2).

The linear program is solved in floats. Notation: d is the dimension, c = e^ε, p = 1 (mae) or 2
(mse), r the distance from the centre, and the shift has length 1. Shell i lies between the edges
e_{i−1} < e_i, and the density there is its height h_i, which decreases in i. V_ik is the volume of
shell i under shell k of the shifted copy, and V_i∞ the volume of shell i beyond the copy's last
shell; volumes are in units of the ball within the last edge, to stay in the range of floats.

Minimise Σ h_i ∫r^p over shell i subject to Σ h_i |shell i| = 1 and δ = Σ_ik (h_i − c h_k)₊ V_ik +
Σ_i h_i V_i∞. Only shells k > i expose anything, and their distance is at most 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from leastnoise.design.programs.effort import TOLERANCE, Allowance, Effort
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise import OptimalRadial, SphericalStaircase
from leastnoise.noise.common.fit import least_scale
from leastnoise.noise.common.profile import outside, radial_log_delta
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import part_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]

_EVERY_EPSILON = 3  # up to this dimension a design gains for every ε
_LARGE_EPSILON = 8  # in larger dimensions it gains from this ε on
_CELLS = 2**30  # edges are integer multiples of 1/_CELLS
_SMALLEST_DELTA = Fraction(1, 10**12)


def search(question: Question, *, effort: Effort) -> OptimalRadial:
    """The spherical step law with the smallest loss, for certain edges.

    The edges are spaced by fractions of the sensitivity, and the edges of the best spherical
    staircase are among them. Raises NotApplicable if the law is worse than that staircase or can't
    be computed safely in floats, or if the dimension or budget isn't served. Raises InvalidArgument
    for fixed parameters.
    """
    if question.fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(question.fixed),
            expected="no fixed parameters, as optimal noise finds all of them",
        )
    if question.dimension > _EVERY_EPSILON and question.budget.epsilon < _LARGE_EPSILON:
        raise _not_applicable(
            f"above dimension {_EVERY_EPSILON} it is designed for epsilon >= {_LARGE_EPSILON} only"
        )
    if question.budget.delta < _SMALLEST_DELTA:
        raise _not_applicable(
            f"its program in floats can't resolve delta < {float(_SMALLEST_DELTA):g}"
        )
    staircase: SphericalStaircase = part_of(SphericalStaircase, "fit")(question)
    edges = _choose_edges(staircase)
    steepest = 600  # ln of the first height over the last
    if float(question.budget.epsilon) * edges[-1] / _CELLS > steepest:
        raise _not_applicable("its heights would fall by more than floats can hold")
    program = RadialProgram(
        dimension=question.dimension,
        epsilon=float(question.budget.epsilon),
        delta=float(question.budget.delta),
        power=1 if question.loss is Loss.MAE else 2,
        edges=np.array([float(Fraction(edge, _CELLS)) for edge in edges]),
    )
    heights = program.solve(allowance=effort.begin())
    if heights is None:
        raise _not_applicable("its linear program was not solved")
    law = _round_law(heights, edges, question.dimension)
    epsilon = question.budget.epsilon
    root_error = Fraction(1, 10**11)  # relative error of δ at the scale found
    float_error = Fraction(1, 10**16)  # absolute: heights that nearly agree cancel in δ
    scale = least_scale(
        lambda t: radial_log_delta(law, shift=Fraction(t), epsilon=epsilon),
        question.budget.delta * (1 - root_error) - float_error,
    )
    scaled_law = law.scaled(scale)
    unsafe = Fraction(1, 1000)  # a law scaled by more than that differs from the program's
    if not abs(scale - 1) <= unsafe or question.loss.of(scaled_law) > question.loss.of(staircase):
        raise _not_applicable("no law better than spherical-staircase was found safely in floats")
    return scaled_law


def _choose_edges(staircase: SphericalStaircase) -> list[int]:
    """The edges, in units of 1/_CELLS: multiples of 1/m for some m, and the staircase's edges.

    With an edge x, every x + i for whole i is an edge, too, from 0 to an end beyond the
    staircase's. So on the line of the shift, the edges of both copies coincide. Raises
    NotApplicable if there would be too many edges.
    """
    radius = staircase.radius
    end = math.ceil(radius * Fraction(5, 4)) + 2
    pairs = 3000  # of shells: about a second for the solver
    most_in_sensitivity = 32  # edges
    m = min(math.isqrt(pairs // end), most_in_sensitivity)
    if m < 2:
        raise _not_applicable(
            f"its linear program would be too large, for a radius of {float(radius):.3g}"
        )
    offsets = {round(Fraction(k, m) * _CELLS) for k in range(m)}
    offsets |= {round(part * _CELLS) % _CELLS for part in (staircase.gamma, radius)}
    edges = (whole * _CELLS + offset for whole in range(end) for offset in sorted(offsets))
    return [edge for edge in edges if edge > 0]


def _round_law(heights: Floats, edges: list[int], dimension: int) -> OptimalRadial:
    """The law with these heights, made decreasing and rounded to integers.

    Shells of equal height are merged.
    """
    falling = np.maximum.accumulate(heights[::-1])[::-1]
    first_weight = 2**100  # floats down to 2^-47 of the first height are exact
    weights = [round(Fraction(height) / Fraction(falling[0]) * first_weight) for height in falling]
    following = [*weights[1:], 0]
    steps = [
        (edge, weight)
        for edge, weight, below in zip(edges, weights, following, strict=True)
        if weight > below
    ]
    return OptimalRadial(
        scale=1,
        dimension=dimension,
        cells=_CELLS,
        edges=(edge for edge, _ in steps),
        weights=(weight for _, weight in steps),
    )


def _not_applicable(why: str) -> NotApplicable:
    return NotApplicable(family=OptimalRadial.name, why=why)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RadialProgram:
    """A linear program for heights; `power` is 1 for mae, 2 for mse; `edges` are in sensitivities.

    The solver's unknowns are the ratios g_i = h_i/u_i to approximate heights u_i, which are ∝
    e^(−ε·(middle of shell i)). So all unknowns are about 1.
    """

    dimension: int
    epsilon: float
    delta: float
    power: int
    edges: Floats

    def solve(self, *, allowance: Allowance) -> Floats | None:
        """The decreasing heights, of total mass 1; None if the solver failed."""
        from scipy.optimize import linprog  # noqa: PLC0415  (0.5 s to import)

        units = self._units()
        pairs = self._pairs(units)
        count, shells = len(pairs.inner), len(self.edges)
        zeros = np.zeros(count)
        limits = np.zeros(count + shells)
        limits[count] = 1.0
        result = linprog(
            np.append(units * self._shell_moments(self.power), zeros),
            A_ub=self._matrix(units, pairs),
            b_ub=limits,
            A_eq=np.append(units * self._shell_moments(0), zeros)[None, :],
            b_eq=[1.0],
            bounds=(0, None),
            method="highs-ds",
            options={
                "primal_feasibility_tolerance": TOLERANCE,
                "dual_feasibility_tolerance": TOLERANCE,
            }
            | allowance.options(rows=len(limits)),
        )
        return result.x[:shells] * units if result.status == 0 else None

    def _shell_moments(self, power: int) -> Floats:
        """The integral of r^p over every shell, for p = `power`.

        It is d/(d + p)·(e_i^(d+p) − e_{i−1}^(d+p))/e^d, where e is the last edge.
        """
        d, total = self.dimension, self.dimension + power
        relative = self.edges / self.edges[-1]
        return d / total * self.edges[-1] ** power * np.diff(relative**total, prepend=0.0)

    def _units(self) -> Floats:
        """The approximate heights u_i, scaled so that Σ u_i |shell i| = 1."""
        middle = (self.edges + np.append(0.0, self.edges[:-1])) / 2
        units = np.exp(-self.epsilon * middle)
        return units / float(units @ self._shell_moments(0))

    def _pairs(self, units: Floats) -> _Pairs:
        """The pairs of shells that can expose more than a negligible share of δ, with this share.

        `units` are the heights u_i.
        """
        n, d = len(self.edges), self.dimension
        inner, outer = np.triu_indices(n)
        near = self.edges[outer] < self.edges[inner] + 1
        inner, outer = inner[near], outer[near]
        bare = np.zeros((n, n))  # the share of ball i outside the other's ball k
        bare[inner, outer] = outside(self.edges[inner], self.edges[outer], shift=1.0, dimension=d)
        shrink = np.append(0.0, self.edges[:-1] / self.edges[1:]) ** d
        below = np.vstack([np.zeros(n), bare[:-1]]) * shrink[:, None]
        shell = bare - below  # of shell i instead of ball i, in units of ball i
        covered = np.zeros((n, n))
        covered[:, 1:] = shell[:, :-1] - shell[:, 1:]
        balls = (self.edges / self.edges[-1]) ** d
        size = covered * (units * balls)[:, None] / self.delta
        # relative to the ball of the inner shell: the rounding noise of differences
        negligible_volume = 1e-13
        negligible_share = 1e-10  # of δ, compared with the most that a pair of shells can expose
        i, k = np.nonzero(np.triu(covered > negligible_volume, 1) & (size > negligible_share))
        beyond = np.maximum(shell[:, -1], 0.0) * balls * units / self.delta
        return _Pairs(inner=i, outer=k, size=size[i, k], beyond=beyond)

    def _matrix(self, units: Floats, pairs: _Pairs) -> csr_matrix:
        """The program's constraints: a row per pair of shells, one for δ, and one per inner edge.

        A pair (i, k) has g_i − c g_k u_k/u_i <= t_ik/size_ik, where the unknown t_ik is the share
        of δ that it spends. These shares, and the shares of δ beyond all shells, add up to at most
        1. At each edge between two shells, the height must not increase outwards.
        """
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        shells, count = len(units), len(pairs.inner)
        pair, shell = np.arange(count), np.arange(shells)
        weight = 1 / np.maximum(1.0, 1 / pairs.size)  # rows of size 1
        ratio = np.exp(self.epsilon) * units[pairs.outer] / units[pairs.inner]
        entries = (
            (pair, pairs.inner, weight),
            (pair, pairs.outer, -ratio * weight),
            (pair, shells + pair, -weight / pairs.size),
            (np.full(count, count), shells + pair, np.ones(count)),
            (np.full(shells, count), shell, pairs.beyond),
            (count + shell[1:], shell[1:], units[1:] / units[:-1]),
            (count + shell[1:], shell[:-1], -np.ones(shells - 1)),
        )
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        return csr_matrix((value, (row, column)), shape=(count + shells, shells + count))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """Pairs of shells (i, k), i < k, with the largest share of δ that each can expose.

    `inner` has the indices i, and `outer` the indices k. `size` has h_i V_ik/δ for each pair, and
    `beyond` has h_i V_i∞/δ for each shell, both at heights h_i = u_i.
    """

    inner: NDArray[np.int64]
    outer: NDArray[np.int64]
    size: Floats
    beyond: Floats
