"""The best spherical step density for a budget: edges, a linear program, exact numbers, a scale.

The program's law is rounded to whole numbers, then lengthened by the little that it takes to meet
the budget again; δ falls as it is lengthened (theory/noise.md §1). Whether it meets it is proved
later.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leastnoise.design.effort import Effort
from leastnoise.design.radial_program import Floats, RadialProgram
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.common.fit.classic import least_scale
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.shells import fit as spherical_staircase
from leastnoise.noise.shells.law import OptimalRadial, SphericalStaircase
from leastnoise.noise.shells.profile import log_delta

_EVERY_EPSILON = 3  # up to this dimension it pays for every ε
_LARGE_EPSILON = 8  # and above it from here on
_CELLS = 2**30  # edges are whole multiples of 1/_CELLS
_FIRST_WEIGHT = 2**100  # the heights' own floats are kept exactly down to 2^-47 of the first one
_PAIRS = 3000  # of shells: about a second for the solver
_MOST_IN_SENSITIVITY = 32  # in a sensitivity
_SMALLEST_DELTA = Fraction(1, 10**12)
_ROOT_ERROR = Fraction(1, 10**11)  # relative, of the δ at the scale that is found
_FLOAT_ERROR = Fraction(1, 10**16)  # absolute: heights that nearly agree cancel in δ
_STEEPEST = 600  # ln of the first height over the last
_UNSAFE = Fraction(1, 1000)  # lengthened by more than that, a law is not what the program found


def search(question: Question, *, effort: Effort) -> OptimalRadial:
    """Return the law of least loss on edges that step by fractions of the sensitivity.

    The edges include those of the best spherical staircase. Raises NotApplicable where it doesn't
    pay or can't be computed safely in floats, InvalidArgument for fixed parameters.
    """
    if question.fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(question.fixed),
            expected="no fixed parameters: optimal noise finds its own",
        )
    if question.dimension > _EVERY_EPSILON and question.budget.epsilon < _LARGE_EPSILON:
        raise _refused(
            f"above dimension {_EVERY_EPSILON} it is designed for epsilon >= {_LARGE_EPSILON} only"
        )
    if question.budget.delta < _SMALLEST_DELTA:
        raise _refused(f"a program in floats can't resolve delta < {float(_SMALLEST_DELTA):g}")
    staircase = spherical_staircase.search(question)
    edges = _edges(staircase)
    if float(question.budget.epsilon) * edges[-1] / _CELLS > _STEEPEST:
        raise _refused("its heights would fall by more than floats can hold")
    program = RadialProgram(
        dimension=question.dimension,
        epsilon=float(question.budget.epsilon),
        delta=float(question.budget.delta),
        power=1 if question.loss is Loss.MAE else 2,
        edges=np.array([float(Fraction(edge, _CELLS)) for edge in edges]),
    )
    heights = program.solve(allowance=effort.begin())
    if heights is None:
        raise _refused("its linear program was not solved")
    law = _rounded(heights, edges, question.dimension)
    epsilon = question.budget.epsilon
    scale = least_scale(
        lambda t: log_delta(law, shift=Fraction(t), epsilon=epsilon),
        question.budget.delta * (1 - _ROOT_ERROR) - _FLOAT_ERROR,
    )
    found = law.scaled(scale)
    if not abs(scale - 1) <= _UNSAFE or question.loss.of(found) > question.loss.of(staircase):
        raise _refused("no law better than spherical-staircase was found safely in floats")
    return found


def _edges(staircase: SphericalStaircase) -> list[int]:
    """Return edges in units of 1/_CELLS: multiples of 1/m and the staircase's, all moved by wholes.

    So the edges of two copies a shift of 1 apart coincide. They go on beyond the staircase's end.
    """
    radius = staircase.radius
    end = math.ceil(radius * Fraction(5, 4)) + 2
    m = min(math.isqrt(_PAIRS // end), _MOST_IN_SENSITIVITY)
    if m < 2:
        raise _refused(
            f"its linear program would be too large, for a radius of {float(radius):.3g}"
        )
    offsets = {round(Fraction(k, m) * _CELLS) for k in range(m)}
    offsets |= {round(part * _CELLS) % _CELLS for part in (staircase.gamma, radius)}
    edges = (whole * _CELLS + offset for whole in range(end) for offset in sorted(offsets))
    return [edge for edge in edges if edge > 0]


def _rounded(heights: Floats, edges: list[int], dimension: int) -> OptimalRadial:
    """Return the law with these heights as whole numbers, shells of equal height made one."""
    falling = np.maximum.accumulate(heights[::-1])[::-1]
    weights = [round(Fraction(height) / Fraction(falling[0]) * _FIRST_WEIGHT) for height in falling]
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


def _refused(why: str) -> NotApplicable:
    return NotApplicable(family=OptimalRadial.name, why=why)
