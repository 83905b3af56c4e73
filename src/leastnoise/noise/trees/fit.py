"""The scale for a budget, in closed form, and the best shares of the levels of a tree."""

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

_UNITS = 1000  # shares are whole thousandths: where the objective is least it is flat
_STEPS = (128, 64, 32, 16, 8, 4, 2)  # units that one level gives another
_WIDE = 2  # from there on laws scale with their noise: narrower ones have the same best shares
_NARROW = 0.05  # at ε = 20 nearly all noise is 0
_ALIKE = 0.5  # from there on scales a step apart have the same best shares, nearly
_STEPS_AN_OCTAVE = 32  # of scales: one a step off has shares with .01 % more noise, measured
_GAINED = 1e-9  # of the objective, at least, by a step that is taken
LEAST_VARIANCE = 1e-200  # a variance that floats take for 0
_ONE_ROW = Rows(most=1)


def best_shares(
    branches: Iterable[int],
    scale: Exact,
    importance: Iterable[float],
    *,
    rows: Rows = _ONE_ROW,
) -> tuple[Fraction, ...]:
    """Return the shares (w_0, …, w_L), of sum 1, for which Σ_l importance_l·ln Var_l is least.

    `importance` has a weight >= 0 for each level, the root's first: 0 for one that isn't published.
    What a move of `rows` costs counts: noises of one ε are compared, that of `scale` where a move
    costs 1. The search is deterministic; no guarantee rests on it. Raises InvalidArgument for other
    weights, and what `Agreeing` and `level_laws` raise.

    >>> shares = best_shares((10,), 1, [1, 1])
    >>> sum(shares), [round(float(share), 2) for share in shares]
    (Fraction(1, 1), [0.21, 0.79])
    """
    tree = _even_tree(branches)
    like = "weights, such as [1, 0, 1]"
    listed = _validate.items(importance, name="importance", like=like)
    weights = np.array([_validate.real(one, name="importance") for one in listed])
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
    """Return the shares for which the `loss` of the levels' variances, the root's first, is least.

    As `best_shares` does, which has a loss of its own: this one gains nothing where all variances
    are as many times larger, and takes each that is 0 in floats for 1e-200. `rows.most` makes no
    difference, nor does another `scale` with the same `scale_to_search`.
    """
    tree, narrow = _even_tree(branches), float(scale_to_search(scale))
    twice_from = _first_branching(tree) if rows.replaced and tree.dimension > 1 else None

    @cache
    def loss_of(units: tuple[int, ...]) -> float:
        cost = _UNITS  # what a move costs, as in `Agreeing.cost`
        if twice_from is not None:
            cost = max(cost, 2 * sum(units[twice_from:]))
        a_move = narrow * (cost / _UNITS)
        rates = tuple(one / _UNITS / a_move for one in units)
        window = find_window(tree.branches, rates, proved=False)
        variances = estimate_variances(tree.branches, rates, window=window)
        return loss([max(one, LEAST_VARIANCE) for (one,) in variances])

    units = _least(loss_of, len(tree.shares))
    return tuple(Fraction(one, _UNITS) for one in units)


def scale_to_search(scale: Exact) -> Fraction:
    """Return the scale near `scale` whose best shares are taken for it.

    There are few, so that a search of the least ε, which asks for many scales, can keep what it
    found. From 2 on laws scale with their noise, and all have the same best shares. Below ½ what is
    best changes fast, and each scale is searched itself.
    """
    narrow = float(min(max(exact(scale, name="scale"), Fraction(_NARROW)), Fraction(_WIDE)))
    if narrow < _ALIKE:
        return Fraction(narrow)
    return Fraction(2 ** (round(_STEPS_AN_OCTAVE * math.log2(narrow)) / _STEPS_AN_OCTAVE))


def _even_tree(branches: Any) -> Agreeing:
    listed = _validate.wholes(branches, name="branches")
    count = len(listed) + 1
    return Agreeing(scale=1, branches=listed, shares=[Fraction(1, count)] * count)  # pyright: ignore


def _first_branching(tree: Agreeing) -> int:
    """Return the first level of more than one node."""
    return next(level for level, nodes in enumerate(tree.shape.nodes) if nodes > 1)


def _least(loss: Callable[[tuple[int, ...]], float], levels: int) -> tuple[int, ...]:
    """Return units that no step from one level to another makes better; the last has one at least.

    The first that gains is taken.
    """
    best = (_UNITS // levels,) * (levels - 1)
    best = (*best, _UNITS - sum(best))
    pairs = list(permutations(range(levels), 2))
    for step in _STEPS:
        gaining = True
        while gaining:
            gaining = False
            for giver, taker in pairs:
                given = min(step, best[giver] - (giver == levels - 1))
                units = list(best)
                units[giver] -= given
                units[taker] += given
                if given and loss(tuple(units)) < loss(best) - _GAINED:
                    best, gaining = tuple(units), True
    return best


def search(question: Question) -> Agreeing:
    """Return the purely ε-private law for units that make one move; δ is left unspent.

    `fixed` sets the branches, and may set the shares; else they are those that are best for all
    levels alike. The scale is what a move costs, over ε. Raises NotApplicable without branches, for
    epsilon = 0, and for a tree that takes too long to draw.
    """
    epsilon, fixed = question.budget.epsilon, question.fixed
    if "branches" not in fixed:
        why = 'it needs a tree; give its branchings, as in parameters={"branches": [2, 10, 20]}'
        raise NotApplicable(family=Agreeing.name, why=why)
    if epsilon < SMALLEST_SQUARED:
        why = "it falls by epsilon for each row, which is 0 here"
        raise NotApplicable(family=Agreeing.name, why=why)
    rows = Agreeing.rows_of(question.sensitivity, question.dimension)
    shares = fixed.get("shares")
    if shares is None:
        levels = len(fixed["branches"]) + 1
        shares = best_shares(fixed["branches"], rows.most / epsilon, [1] * levels, rows=rows)
    law = Agreeing(scale=1, branches=fixed["branches"], shares=shares)
    if law.dimension != question.dimension:
        raise other_tree(law.branches, question.dimension)
    one = law.scaled(law.cost(rows) / rows.most / epsilon)
    check_work(one.scaled(Fraction(rows.most)))
    return one


def several(task: SeveralReleases) -> Agreeing:
    """Return the law for k releases, each of which gets ε/k of the budget; δ is left unspent."""
    budget, count = task.question.budget, task.question.compositions
    share = Budget(epsilon=budget.epsilon / count, delta=budget.delta / count)
    return search(task.question.one_at(share))
