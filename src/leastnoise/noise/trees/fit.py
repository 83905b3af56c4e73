"""The scale for a budget, in closed form, and the best shares for the levels of a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from leastnoise import _validate
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import SMALLEST_SQUARED, Exact, exact
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.noise.common.several import SeveralReleases
from leastnoise.noise.question import Question
from leastnoise.noise.trees.estimate import check_work, estimate_variances
from leastnoise.noise.trees.law import Agreeing, other_tree
from leastnoise.noise.trees.levels import find_window

_UNITS = 1000  # shares are whole thousandths: the objective is flat at its minimum
_STEPS = (128, 64, 32, 16, 8, 4, 2)  # units that the search moves from one level to another
_WIDE = 2  # from this scale on the best shares hardly depend on the scale
_NARROW = 0.05  # below this scale (ε = 20) nearly all noise is 0
_ALIKE = 0.5  # above this scale, scales one step apart have nearly the same best shares
_STEPS_PER_OCTAVE = 32  # scales per factor of 2; the next scale's shares give 0.01 % more noise
_GAINED = 1e-9  # a step is taken if it improves the objective by this much
LEAST_VARIANCE = 1e-200  # stands for a variance that is 0 in floats
_ONE_ROW = Rows(most=1)


def best_shares(
    branches: Iterable[int],
    scale: Exact,
    importance: Iterable[float],
    *,
    rows: Rows = _ONE_ROW,
) -> tuple[Fraction, ...]:
    """The shares of the levels that minimize the weighted sum of the levels' log-variances.

    The sum is Σ_l importance[l]·ln Var_l, where Var_l is the variance of the noise of a node of
    level l. The search is deterministic, and its result is not proved to be the minimum. No
    guarantee rests on it. A move is one row that is added, removed or moved to another cell. Its
    cost is `Agreeing.cost`, which depends on the shares. All compared noise has the same ε as noise
    of `scale` with a cost of 1.

    Args:
        branches: Number of children of each node, for each level from the root down.
        scale: Scale of the noise if one move costs 1, as an exact number.
        importance: A weight >= 0 for each level, root first; 0 for a level that is not published.
        rows: How one unit moves rows between cells. Replaced rows make the lower levels cost twice.

    Returns:
        The shares (w_0, …, w_L), root first, whole thousandths with sum 1.

    Raises:
        InvalidArgument: The weights or the tree are malformed.
        NotApplicable: The laws of the nodes are too wide or too many.

    Source:
        theory/noise.md §11.

    Examples:
        >>> shares = best_shares((10,), 1, [1, 1])
        >>> sum(shares), [round(float(share), 2) for share in shares]
        (Fraction(1, 1), [0.21, 0.79])
    """
    tree = _even_tree(branches)
    like = "weights, such as [1, 0, 1]"
    listed = _validate.items(importance, name="importance", like=like)
    weights = np.array([_validate.real(weight, name="importance") for weight in listed])
    if len(weights) != len(tree.shares) or not (weights >= 0).all() or not weights.any():
        raise InvalidArgument(
            name="importance",
            value=f"{len(weights)} weights",
            expected=f"{len(tree.shares)} finite weights >= 0, not all of them 0",
        )

    def loss(variances: Sequence[float]) -> float:
        return float(weights @ np.log(variances))

    return search_shares(branches, scale, loss, rows=rows)


def search_shares(
    branches: Iterable[int],
    scale: Exact,
    loss: Callable[[Sequence[float]], float],
    *,
    rows: Rows = _ONE_ROW,
) -> tuple[Fraction, ...]:
    """Search for the shares that minimize the `loss` of the levels' variances (root first).

    `best_shares` is this search with the weighted log-variance as loss. The order of the losses
    must not change if all variances are multiplied by the same number. A variance of 0 in floats is
    passed as 1e-200. The result does not depend on `rows.most`. Of the scale, only the result of
    `scale_to_search` matters.
    """
    tree, narrow = _even_tree(branches), float(scale_to_search(scale))
    twice_from = _first_branching(tree) if rows.replaced and tree.dimension > 1 else None

    @cache
    def loss_of(units: tuple[int, ...]) -> float:
        cost = _UNITS  # the cost of a move, as in `Agreeing.cost`
        if twice_from is not None:
            cost = max(cost, 2 * sum(units[twice_from:]))
        a_move = narrow * (cost / _UNITS)
        rates = tuple(unit / _UNITS / a_move for unit in units)
        window = find_window(tree.branches, rates, proved=False)
        variances = estimate_variances(tree.branches, rates, window=window)
        return loss([max(variance, LEAST_VARIANCE) for (variance,) in variances])

    units = _descend(loss_of, len(tree.shares))
    return tuple(Fraction(unit, _UNITS) for unit in units)


def scale_to_search(scale: Exact) -> Fraction:
    """Round `scale` to one of few scales, for which the best shares are searched.

    A search for the least ε tries many scales, and reuses the best shares for scales nearby. All
    scales from 2 on have about the same best shares, and become 2. Below ½ the best shares change
    fast, so such a scale isn't rounded; but a scale below 0.05 becomes 0.05.
    """
    narrow = float(min(max(exact(scale, name="scale"), Fraction(_NARROW)), Fraction(_WIDE)))
    if narrow < _ALIKE:
        return Fraction(narrow)
    return Fraction(2 ** (round(_STEPS_PER_OCTAVE * math.log2(narrow)) / _STEPS_PER_OCTAVE))


def _even_tree(branches: Any) -> Agreeing:
    """The noise of scale 1 with the same share for each level.

    Raises InvalidArgument for malformed branches.
    """
    listed = _validate.wholes(branches, name="branches")
    count = len(listed) + 1
    return Agreeing(scale=1, branches=listed, shares=[Fraction(1, count)] * count)  # pyright: ignore


def _first_branching(tree: Agreeing) -> int:
    """The first level with more than one node."""
    return next(level for level, nodes in enumerate(tree.shape.nodes) if nodes > 1)


def _descend(loss: Callable[[tuple[int, ...]], float], levels: int) -> tuple[int, ...]:
    """Descend to shares, in thousandths, that moving 0.002 between levels doesn't improve.

    `loss` takes whole thousandths with the sum 1000. The last level always has at least one
    thousandth.
    """
    best = (_UNITS // levels,) * (levels - 1)
    best = (*best, _UNITS - sum(best))
    pairs = list(permutations(range(levels), 2))
    for step in _STEPS:
        gaining = True
        while gaining:
            gaining = False
            for giver, taker in pairs:
                moved = min(step, best[giver] - (giver == levels - 1))
                units = list(best)
                units[giver] -= moved
                units[taker] += moved
                if moved and loss(tuple(units)) < loss(best) - _GAINED:
                    best, gaining = tuple(units), True
    return best


def search(question: Question) -> Agreeing:
    """The purely ε-private law that hides one move of the sensitivity's rows; δ is left unspent.

    The user has to set the branches, and may set the shares (`question.fixed`). Otherwise the
    shares are the best for levels of equal importance. The scale is the cost of a move divided by
    ε. Raises NotApplicable without branches, for a sensitivity that states no rows, for epsilon =
    0, and for a tree that takes too long to draw. Raises InvalidArgument unless the tree has one
    cell for each number of the query.
    """
    epsilon, fixed = question.budget.epsilon, question.fixed
    if "branches" not in fixed:
        why = 'it needs a tree: give its branches, such as parameters={"branches": [2, 10, 20]}'
        raise NotApplicable(family=Agreeing.name, why=why)
    if epsilon < SMALLEST_SQUARED:
        why = "its density falls by a factor e^epsilon for each row, so epsilon must be above 0"
        raise NotApplicable(family=Agreeing.name, why=why)
    rows = Agreeing.rows_of(question.sensitivity, question.dimension)
    shares = fixed.get("shares")
    if shares is None:
        levels = len(fixed["branches"]) + 1
        shares = best_shares(fixed["branches"], rows.most / epsilon, [1] * levels, rows=rows)
    law = Agreeing(scale=1, branches=fixed["branches"], shares=shares)
    if law.dimension != question.dimension:
        raise other_tree(law.branches, question.dimension)
    scaled_law = law.scaled(law.cost(rows) / rows.most / epsilon)
    check_work(scaled_law.scaled(Fraction(rows.most)))
    return scaled_law


def several(task: SeveralReleases) -> Agreeing:
    """The law for k releases, each of which spends ε/k; δ is left unspent."""
    budget, count = task.question.budget, task.question.compositions
    share = Budget(epsilon=budget.epsilon / count, delta=budget.delta / count)
    return search(task.question.one_at(share))
