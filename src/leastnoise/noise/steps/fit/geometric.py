"""The best staircase on the whole numbers for a pure budget; for a shift of 1 the geometric law."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from leastnoise import _validate
from leastnoise.errors import NotApplicable
from leastnoise.noise.request import Request
from leastnoise.noise.steps.fit.staircase import best_gamma
from leastnoise.noise.steps.law.geometric import Geometric
from leastnoise.noise.steps.law.staircase import SMALLEST_DECAY, step_decay


def search(request: Request) -> Geometric:
    """Return the purely ε-private law for whole shifts up to `request.shift`, called 1, of decay ε.

    It has as many cells as the shift, and the core of least loss; δ is left unspent. `fixed` may
    set each parameter: a shift of s whole numbers costs decay·⌈s/cells⌉, so that other cells get
    the largest decay that is purely private, and another decay the fewest cells. Raises
    NotApplicable for epsilon = 0, for a decay above epsilon, and for a shift beyond 2^53.
    """
    shift, fixed = math.floor(request.shift), request.fixed
    if shift > _validate.MAX_COUNT:
        why = "it has as many cells as the sensitivity, and 2^53 at most"
        raise NotApplicable(family=Geometric.name, why=why)
    if request.budget.epsilon < SMALLEST_DECAY:
        raise NotApplicable(family=Geometric.name, why="its steps fall by epsilon, which is 0 here")
    if "cells" in fixed:
        cells = _validate.whole(fixed["cells"], name="cells")
        decay = step_decay(fixed.get("decay", request.budget.epsilon / -(-shift // cells)))
    else:
        decay = step_decay(fixed.get("decay", request.budget.epsilon))
        cells = _fewest_cells(shift, request.budget.epsilon, decay)
    return _law(request, shift, decay, cells)


def _fewest_cells(shift: int, epsilon: Fraction, decay: Fraction) -> int:
    """Return the least c with decay·⌈shift/c⌉ <= ε."""
    steps = math.floor(epsilon / decay)
    if steps == 0:
        raise NotApplicable(family=Geometric.name, why="a decay above epsilon leaves delta > 0")
    return -(-shift // steps)


def _law(request: Request, shift: int, decay: Fraction, cells: int) -> Geometric:
    """Return the law on the whole numbers, called multiples of 1/shift, with the best core."""
    law = partial(Geometric, scale=Fraction(cells, shift), cells=cells, decay=decay)
    if "core" in request.fixed:
        return law(core=_validate.whole(request.fixed["core"], name="core"))
    return min((law(core=core) for core in _cores(request, decay, cells)), key=request.loss.of)


def _cores(request: Request, decay: Fraction, cells: int) -> range:
    """Return cores among which is the best.

    notation: c = cells, a = core, y = a − ½ + cm > 0. Losses are a convex function of a over y, so
    that they fall up to one real number and rise from there: whole numbers next to it are the best.
    For E K² it is γc + ½, γ the best of the staircase, whose variance is 1/12 more. For E|K| it is
    where y² = Y² − ¼, Y = c√b/(1 − b) that of the staircase: ½ below at most, if Y >= ½. Otherwise
    the loss grows with a, and Y <= ½ has a <= 1 there too.
    """
    near = math.floor(best_gamma(float(decay), request.loss) * cells + Fraction(1, 2))
    return range(min(max(1, near - 2), cells), min(near + 2, cells) + 1)
