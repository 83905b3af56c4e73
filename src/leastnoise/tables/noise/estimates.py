"""Estimates of the variance of noise in one draw for several queries, for a quick search.

Nothing here is proved: the noise that the search chooses is proved later, and compared with
separate draws.

Notation: D is the number of all coordinates, and E a mean. Noise in the shape of a body is R times
a uniform point of the body; F(D, ε) is the least mean of R² among ε-private noise. Noise for counts
that a unit moves in one direction is *two-sided*: it is uniform on a body whose size is A for
numbers above 0, and B for numbers below 0. A and B are random, with moments E A^j and E B^j. The
density is constant in a *core*, and falls in steps outside the core (a staircase). A is at least
the core's size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache, reduce
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.bodies.counts import Counts
    from leastnoise.guarantees.sensitivity import Neighbours

    Floats = NDArray[np.float64]

MOST_ADDED = (
    160  # numbers together; beyond it separate draws are nearly as good, and volumes underflow
)
_RATIOS = np.geomspace(0.01, 2.0, 24)  # candidate ratios of a core to D/ε
_STEPPED = 1.5  # above this ε, the gain from steps in the noise is worth its time
_CORES = np.geomspace(1e-4, 40.0, 120)
_POWERS, _GAMMAS = np.linspace(0.0, 1.0, 40), np.linspace(0.05, 1.0, 39)
_SMOOTH = 0.3  # below this ε, steps reduce the variance by less than 0.4 %
_STEPS_MATTER = 0.04  # if ε² < 0.04·D, steps don't reduce the variance either

_Shape = tuple[int, int, float]  # the fields `queries`, `most` and `bound` of `Counts`


@cache
def log_radial(d: int, epsilon: float) -> float:
    """Estimate ln F(d, ε) for noise whose density falls in steps, each the size of a body.

    γ is the size of the first step, as a fraction of the body; the best γ is taken. If ε² is small
    compared to d, the density e^(−ε·gauge) is as good, and is used instead.
    """
    if epsilon**2 < _STEPS_MATTER * d:
        return math.log((d + 1) * (d + 2)) - 2 * math.log(epsilon)
    k = np.arange(math.ceil((d + 60 + 12 * math.sqrt(d)) / epsilon) + 2, dtype=float)
    least = math.inf
    for gamma in np.concatenate([_GAMMAS, np.exp(-epsilon * _POWERS)]):
        logs = d * np.log(gamma + k) - epsilon * k
        weights = np.exp(logs - logs.max())
        least = min(least, float(weights @ (gamma + k) ** 2) / float(weights.sum()))
    return math.log(least)


def log_of_persons(queries: int, epsilon: float, neighbours: Neighbours) -> float:
    """Estimate ln of the least variance of each of `queries` counts that a unit may all move by 1.

    A unit that is added or removed moves all in the same direction (`log_of_counts`). A replaced
    unit moves them within a box, whose uniform point has the mean square 1/3 in each count.
    """
    if neighbours == "add-remove" or queries == 1:
        return log_of_counts(queries, epsilon)
    return log_radial(queries, epsilon) - math.log(3)


@cache
def log_of_counts(queries: int, epsilon: float) -> float:
    """Estimate ln of the variance of each of `queries` counts that a unit may raise together by 1.

    The noise is two-sided, and falls in steps outside the best core. A single count gets noise on
    the whole numbers, which has less variance. For small ε only the scale of the law depends on ε.
    Source: theory/bodies.md §3.
    """
    if queries == 1:
        return math.log(2) - epsilon - 2 * math.log(-math.expm1(-epsilon))
    if epsilon < _SMOOTH:
        return log_of_counts(queries, _SMOOTH) + 2 * (math.log(_SMOOTH) - math.log(epsilon))
    n = np.arange(math.ceil((queries + 60 + 12 * math.sqrt(queries)) / epsilon) + 2, dtype=float)
    least = math.inf
    for core in _CORES:
        logs = (queries - 1) * np.log(2 * core + n) - epsilon * n
        weights = np.exp(logs - logs.max())
        cubes = np.cumsum((core + n) ** 3)
        mean = 2 / 3 * float(weights @ cubes) / float(weights @ ((n + 1) * (2 * core + n)))
        least = min(least, mean)
    return math.log(least)


# Counts of several queries, in cubes and simplices. An added unit raises them all, and a removed
# unit lowers them all: noise that uses these signs is less (theory/bodies.md §3).


def log_of_additions(parts: Sequence[Counts], epsilon: float) -> Floats:
    """Estimate ln of the variance of each query's numbers, for two-sided noise with the best core.

    An added unit raises the numbers of query i within the cube or simplex `parts[i]`. All queries
    together must have at most MOST_ADDED numbers.
    """
    shapes = [(counts.queries, counts.most, float(counts.bound)) for counts in parts]
    squares = _scaled_variances(tuple(sorted(shapes)), epsilon if epsilon > _STEPPED else 0.0)
    return np.log([squares[shape] for shape in shapes]) - 2 * math.log(epsilon)


@lru_cache(maxsize=1024)
def _scaled_variances(shapes: tuple[_Shape, ...], epsilon: float) -> dict[_Shape, float]:
    """By shape: the variance of a number times ε², for two-sided noise with the best core.

    With `epsilon` = 0 it is the limit for small ε.

    Notation: t of all D coordinates are above 0, and s of the q numbers of one shape; b is the
    bound of the shape. κ(s) is the mean square of a coordinate of a uniform point in a cube or a
    simplex of s numbers. V_t is the volume of points with t coordinates above 0, as in `_volumes`;
    V_{t,s} is its part with s numbers of the shape above 0.

    The mean square of a number is 2b² Σ_t Σ_s (s/q)·κ(s)·V_{t,s}·E A^(t + 2)·E B^(D − t), divided
    by Σ_t V_t·E A^t·E B^(D − t). The factor 2 adds the numbers below 0, which have the same law.
    """
    d = sum(queries for queries, *_ in shapes)
    volumes = [_volumes(queries, most) for queries, most, _ in shapes]
    moments = _moments(d, epsilon)
    beneath = moments[d::-1]
    whole = (_convolve(volumes)[:, None] * moments[:-2] * beneath).sum(axis=0)
    squares: dict[_Shape, Floats] = {}
    for index, shape in enumerate(shapes):
        if shape not in squares:
            queries, most, bound = shape
            s = np.arange(queries + 1.0)
            inside = 2 / ((s + 1) * (s + 2)) if most < queries else 1 / 3
            weight = volumes[index] * s / queries * inside
            weights = _convolve([weight, *volumes[:index], *volumes[index + 1 :]])
            above = (weights[:, None] * moments[2:] * beneath).sum(axis=0)
            squares[shape] = 2 * (bound * d) ** 2 * above / whole
    best = np.argmin(sum(squares[shape] * shape[0] for shape in shapes))
    return {shape: float(weight[best]) for shape, weight in squares.items()}


def _convolve(factors: Sequence[Floats]) -> Floats:
    return reduce(np.convolve, factors)


@lru_cache(maxsize=64)
def _volumes(queries: int, most: int) -> Floats:
    """For s = 0 … q: the volume of points with s of q numbers above 0, and the others below.

    It is the sum over all choices of the s numbers. The positive numbers are in a cube or a simplex
    of side 1, and so are the negative ones.
    """
    power = 2 if most < queries else 1
    return np.array(
        [
            math.factorial(queries) / (math.factorial(s) * math.factorial(queries - s)) ** power
            for s in range(queries + 1)
        ]
    )


@lru_cache(maxsize=256)
def _moments(d: int, epsilon: float) -> Floats:
    """The scaled moments E (Aε/D)^j, for j = 0 … D + 2 and cores of the sizes `_RATIOS`·D/ε.

    A row of the result has one j, and a column one core. A is the size of the core plus a geometric
    number of steps. With `epsilon` = 0 the moments are their limits for small ε, where steps don't
    matter: Aε/D is the ratio plus an exponential number of mean 1/D.
    """
    if not epsilon:
        powers = accumulate(
            range(1, d + 3),
            lambda value, j: _RATIOS**j + value * j / d,
            initial=np.ones(len(_RATIOS)),
        )
        return np.stack(list(powers))
    k = np.arange(math.ceil((d + 60 + 12 * math.sqrt(d)) / epsilon) + 2, dtype=float)
    places = _RATIOS[:, None] + k * epsilon / d
    weights = np.exp(-epsilon * k) * -math.expm1(-epsilon)
    terms = accumulate(range(d + 2), lambda term, _: term * places, initial=weights + 0 * places)
    return np.stack([term.sum(axis=1) for term in terms])
