"""The scale for a budget, in closed form, and the shares where the user has set none."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import SMALLEST_SQUARED
from leastnoise.noise.common.several import Several
from leastnoise.noise.question import Question
from leastnoise.noise.trees.law import Agreeing, other_tree
from leastnoise.noise.trees.levels import check_work
from leastnoise.noise.trees.shares import best_shares


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


def several(task: Several) -> Agreeing:
    """Return the law for k releases, each of which gets ε/k of the budget; δ is left unspent."""
    budget, count = task.question.budget, task.question.compositions
    share = Budget(epsilon=budget.epsilon / count, delta=budget.delta / count)
    return search(task.question.one_at(share))
