"""The bound on noise in a tree's counts: against the bound for even trees, optima, real noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from leastnoise.design.bounds import variance_bound
from leastnoise.design.bounds.variance_bound import MOST_PARENTS, least_log_variance, least_variance
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import node_laws
from leastnoise.noise.trees.shape import split_branches
from leastnoise.workloads.marginal import Marginals
from leastnoise.workloads.marginal_bounds import bound
from tests.grids import thin

PURE, LITTLE = Budget(epsilon=1, delta=0), Budget(epsilon=1, delta="1e-5")
ONE = math.log(float(least_variance(PURE)))
_BEST = 2e-7  # of the optimum in floats; measured: 4e-8


def children_of(*branches: int, levels: int) -> Any:
    nodes = split_branches(branches, levels)
    assert nodes is not None
    return nodes


@pytest.mark.parametrize(
    "sizes", thin([(7,), (50, 60), (20, 2, 10), (3, 1, 2)], 2, has_one_name=True)
)
@pytest.mark.parametrize("budget", [PURE, LITTLE])
def test_of_even_trees_it_is_the_bound_for_margins(sizes: Any, budget: Budget) -> None:
    depth = len(sizes)
    tables = tuple(2**level - 1 for level in reversed(range(depth + 1)))
    marginals = Marginals(sizes=sizes, tables=tables)
    wanted = bound(marginals, [Fraction(1)] * (depth + 1), budget=budget)
    lower_bound = least_log_variance(children_of(*sizes, levels=depth), budget=budget)
    assert wanted - _BEST <= lower_bound <= wanted + 1e-9


TREES = (
    (children_of(3, 1, 4, 2, levels=2), True),
    (children_of(3, 1, 4, 2, levels=2), False),
    (children_of(2, 2, 1, 3, 1, 2, levels=3), True),
    (children_of(1, 5, levels=2), True),
)


def dense(children: Any, *, root: bool) -> tuple[Any, Any]:
    """Return the numbers of all tables as rows of cells, and the weight of each."""
    rows, nodes = [np.eye(int(children[-1].sum()))], np.eye(int(children[-1].sum()))
    for counts in reversed(children):
        ends = np.cumsum(counts)
        nodes = np.array([nodes[a:b].sum(axis=0) for a, b in zip(ends - counts, ends, strict=True)])
        rows.append(nodes)
    rows = rows if root else rows[:-1]
    return np.vstack(rows), np.concatenate([np.full(len(row), 1 / len(row)) for row in rows])


@pytest.mark.parametrize(("children", "root"), thin(TREES, 2))
def test_no_matrix_is_better_and_one_is_as_good(children: Any, root: bool) -> None:
    """Theorem 1 bounds every matrix X with X_ii <= 1. The best is found without any symmetry."""
    queries, weights = dense(children, root=root)
    cells = queries.shape[1]
    lower = np.tril_indices(cells)

    def objective(given: Any) -> float:
        factor = np.zeros((cells, cells))
        factor[lower] = given
        factor /= np.linalg.norm(factor, axis=1)[:, None]
        turned = np.linalg.solve(factor, queries.T)
        return float(weights @ np.log((turned**2).sum(axis=0)))

    random = np.random.default_rng(1)
    starts = [(np.eye(cells) + 0.2 * random.random((cells, cells)))[lower] for _ in range(3)]
    best = min(minimize(objective, start, options={"gtol": 1e-9}).fun for start in starts)
    tables = round(float(weights.sum()))
    gap = least_log_variance(children, budget=PURE, root=root) - tables * ONE
    assert best - 1e-5 <= gap <= best + 1e-7


@pytest.mark.parametrize(("children", "root"), TREES)
def test_the_price_is_that_of_the_dense_matrix(children: Any, root: bool) -> None:
    """m are the row sums of |M|, so that diag(m) − M has no eigenvalue below 0."""
    tree = variance_bound._BoundTree.of(children, root=root)
    sums, around, computed = variance_bound._whole_vectors(tree)
    computed[0] += computed[0] // 7  # none of which is needed for it to hold
    parent = np.repeat(np.arange(len(tree.below)), tree.below)
    vectors = [np.array(vector, dtype=float)[parent] for vector in sums]
    for cell, k in enumerate(parent):
        vectors.append(np.array(around[k], dtype=float)[parent])
        vectors[-1][cell] += computed[k]
    matrix = np.array(vectors).T @ np.array(vectors)
    m = np.abs(matrix).sum(axis=1)
    assert variance_bound._price(tree, sums, around, computed) == pytest.approx(m.sum(), rel=1e-12)
    assert np.linalg.eigvalsh(np.diag(m) - matrix).min() > -1e-9 * m.max()


def test_proposals_are_only_believed_as_far_as_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    children = children_of(3, 1, 4, 2, levels=2)
    best = least_log_variance(children, budget=PURE)
    for steps in (1, 3):
        monkeypatch.setattr(variance_bound, "_STEPS", steps)
        assert least_log_variance(children, budget=PURE) < best
    monkeypatch.setattr(variance_bound, "_VECTOR_BITS", 3)
    assert least_log_variance(children, budget=PURE) < best
    monkeypatch.setattr(variance_bound, "_VECTOR_BITS", 0)
    assert least_log_variance(children, budget=PURE) < best


def test_no_noise_on_a_tree_is_below_it() -> None:
    shape = (4, 3, 1, 5, 2)
    children = children_of(*shape, levels=2)
    least = least_log_variance(children, budget=PURE)
    for shares in (("0.3", "0.3", "0.4"), (0, 0, 1), ("0.1", "0.2", "0.7")):
        noise = Agreeing(scale=1, branches=shape, shares=shares)
        laws = sum(
            sum(law.nodes * math.log(law.variance) for law in level)
            / sum(node.nodes for node in level)
            for level in node_laws(noise)
        )
        assert least < laws < least + 3


def test_beyond_so_many_parents_the_last_tables_count_for_themselves() -> None:
    wide = children_of(MOST_PARENTS + 1, *[2] * (MOST_PARENTS + 1), levels=2)
    above = least_log_variance(wide[:1], budget=PURE)
    assert least_log_variance(wide, budget=PURE) == pytest.approx(above + ONE, rel=1e-12)
    alone = least_log_variance(wide[:1], budget=PURE, root=False)
    assert alone == pytest.approx(ONE, abs=1e-6)
    assert alone <= ONE
