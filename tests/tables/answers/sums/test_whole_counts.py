"""Whole counts that add up: against a second algorithm, and their bias by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.selection.public import calibrate
from leastnoise.tables.answers.sums.cumulative import Cumulative
from leastnoise.tables.answers.sums.levels import Levels
from leastnoise.tables.answers.sums.margin_queries import table_sensitivity
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.answers.sums.publish_sums import add_up
from leastnoise.tables.answers.sums.publish_whole import find_whole_counts, sums_by
from tests.noise.trees.oracle import enumerated
from tests.tables import cumulative, margins
from tests.tables.test_levels_release import plan_of as plan_of_levels
from tests.tables.test_levels_release import spec_of as spec_of_levels

BOTH: dict[str, Any] = {"round": True, "clamp": True}
Tree = list[np.ndarray[Any, np.dtype[np.int64]]]


def trees() -> Iterator[tuple[Tree, np.random.Generator]]:
    """Yield random trees whose nodes are in any order, each with a generator for its counts."""
    for seed in range(60):
        random = np.random.default_rng(seed)
        cells = int(random.integers(1, 25))
        tree: Tree = [np.arange(cells)]
        for _ in range(int(random.integers(0, 4))):
            below = int(tree[0].max()) + 1
            above = random.integers(0, max(1, below // 2), size=below)
            tree.insert(0, np.unique(above, return_inverse=True)[1][tree[0]])
        if seed % 3:
            tree.insert(0, np.zeros(cells, dtype=np.int64))
        yield tree, random


def summed(tree: Tree, cells: Any) -> list[list[int]]:
    """Return the numbers of all nodes, as one list per level, given those of the leaves."""
    results = [[0] * (int(expected_value.max()) + 1) for expected_value in tree]
    for sums, computed in zip(results, tree, strict=True):
        for node, count in zip(computed.tolist(), cells, strict=True):
            sums[node] += int(count)
    return results


@pytest.mark.parametrize("parts", [1, 8])
def test_counts_are_whole_add_up_and_are_no_larger_than_the_noisy_ones(parts: int) -> None:
    for tree, random in trees():
        for spread in (2, 40):
            noisy = random.integers(-spread * parts, spread * parts, size=len(tree[-1]))
            whole_counts = find_whole_counts(noisy, parts, tree)
            assert whole_counts.dtype == np.int64
            assert (whole_counts >= 0).all()
            for computed, numbers in zip(
                summed(tree, whole_counts), summed(tree, noisy), strict=True
            ):
                for x, y in zip(computed, numbers, strict=True):
                    assert x <= max(0, math.ceil(Fraction(y, parts)))
            for x, y in zip(summed(tree, whole_counts)[0], summed(tree, noisy)[0], strict=True):
                assert abs(x - max(Fraction(0), Fraction(y, parts))) <= Fraction(1, 2)


@pytest.mark.parametrize("parts", [1, 2**18])
def test_counts_that_are_whole_and_not_negative_stay(parts: int) -> None:
    for tree, random in trees():
        counts = random.integers(0, 9, size=len(tree[-1]))
        assert find_whole_counts(counts * parts, parts, tree).tolist() == counts.tolist()


def test_a_total_below_0_leaves_nothing() -> None:
    tree = [np.zeros(4, dtype=np.int64), np.array([0, 0, 1, 1]), np.arange(4)]
    assert find_whole_counts(np.array([7, -20, 9, 3]), 1, tree).tolist() == [0] * 4


def nearest(numbers: Sequence[int], total: int) -> int:
    """Return the least Σ(x − number)² over integers x >= 0 that add up to the total."""
    return min(
        sum((x - y) ** 2 for x, y in zip((*some, total - sum(some)), numbers, strict=True))
        for some in itertools.product(range(total + 1), repeat=len(numbers) - 1)
        if sum(some) <= total
    )


def test_no_other_counts_of_a_family_are_nearer() -> None:
    """Brute force tries all counts of the children, given the count of their parent."""
    for tree, random in trees():
        noisy = random.integers(-6, 7, size=len(tree[-1]))
        whole_counts = find_whole_counts(noisy, 1, tree)
        levels = zip(tree, summed(tree, whole_counts), summed(tree, noisy), strict=True)
        for (above, totals, _), (below, computed, numbers) in itertools.pairwise(levels):
            for parent, total in enumerate(totals):
                children = sorted(set(below[above == parent].tolist()))
                if len(children) > 4 or total > 12:
                    continue
                reached = sum((computed[v] - numbers[v]) ** 2 for v in children)
                assert reached == nearest([numbers[v] for v in children], total)


def test_rounding_is_to_the_next_whole_numbers_of_every_sum() -> None:
    """Noisy counts that are large aren't lowered: only the rounding is left."""
    for tree, random in trees():
        noisy = random.integers(8 * 50, 8 * 90, size=len(tree[-1]))
        whole_counts = find_whole_counts(noisy, 8, tree)
        for computed, numbers in zip(summed(tree, whole_counts), summed(tree, noisy), strict=True):
            for x, y in zip(computed, numbers, strict=True):
                assert abs(x - Fraction(y, 8)) < 1


def test_equal_counts_are_lowered_at_even_distances() -> None:
    tree = [np.zeros(9, dtype=np.int64), np.arange(9)]
    whole_counts = find_whole_counts(np.array([5] * 8 + [-37]), 1, tree)
    assert whole_counts.tolist() == [0, 0, 1, 0, 0, 1, 0, 1, 0]  # 3 of 8
    assert whole_counts.sum() == 3


def expected(
    tree: Sequence[Any], points: Any, chances: Any, truth: Any
) -> list[np.ndarray[Any, Any]]:
    """Return the mean whole count of each node, for noise with `chances` of `points`."""
    many = len(points)
    forest = [
        (np.arange(many)[:, None] * (computed.max() + 1) + computed).reshape(-1)
        for computed in tree
    ]
    whole_counts = find_whole_counts((points + truth).reshape(-1).astype(np.int64), 1, forest)
    sums = [
        sums_by(computed, whole_counts, int(computed.max()) + 1).reshape(many, -1)
        for computed in forest
    ]
    return [chances @ item for item in sums]


@pytest.mark.parametrize("truth", [(0, 0, 0, 0), (9, 0, 0, 0), (1, 0, 2, 0)])
def test_the_bias_of_keys_with_levels(truth: tuple[int, ...]) -> None:
    keys, states = ["a2", "c1", "b1", "a1"], ["a", "c", "b", "a"]
    raw = spec_of_levels(privacy={"epsilon": 3}, **BOTH)
    levels = {"state": states, "nation": ["n"] * 4}
    raw["query"][0]["group_by"]["county"] = {"keys": keys, "levels": levels}
    planned = plan_of_levels(raw).noisy_parts[0].answered
    assert isinstance(planned, Levels)
    parameters: Any = {"branches": planned.noise.branches, "shares": ["0.2", "0.3", "0.5"]}
    moves = RowCounts(1, neighbours="add-remove")
    mechanism = calibrate(
        Agreeing.name, epsilon=3, sensitivity=moves, dimension=4, parameters=parameters
    )
    claims = [(planned.cells.label, mechanism.certificate.on_grid(1))]
    whole = Levels.read(planned.cells, planned.budget, claims)
    whole_counts = whole.whole_counts
    assert whole_counts is not None
    points, chances = enumerated(whole.noise, 5)
    drawn = np.empty_like(points)
    order = sorted(range(4), key=lambda i: ("acb".index(states[i]), i))
    drawn[:, order] = points
    result = expected(whole_counts.tree, drawn, chances, np.array(truth))
    for name, computed, places in zip(whole_counts.names, result, whole_counts.tree, strict=True):
        assert name is not None
        true = sums_by(places, np.array(truth), places.max() + 1)
        assert (computed - true <= whole_counts.too_high[name] * (1 + 1e-3)).all()
    if not any(truth):  # at the top it is exact
        assert result[0][0] == pytest.approx(whole_counts.too_high["people_by_nation"], rel=1e-3)
    else:
        assert result[-1][0] < truth[0]  # what others gain the large one loses


def test_the_bias_of_one_count_by_itself_is_that_of_the_theory() -> None:
    """theory/workloads.md: q/(1 − q²) for geometric noise."""
    plan = margins.plan_of(
        margins.spec_of(margins=[[*margins.GROUP_BY], ["region", "sex"]], **BOTH)
    )
    whole = margins.whole_of(plan)
    assert list(whole.measured) == [7]
    assert whole.chain is None
    q = math.exp(-1)
    assert plan.noisy_parts[0].too_high == pytest.approx(q / (1 - q * q))


@pytest.mark.parametrize("truth", [(0, 0, 0, 0), (8, 0, 1, 0), (30, 30, 0, 0)])
def test_the_bias_of_a_tree_of_columns(truth: tuple[int, ...]) -> None:
    """Some tables are levels of the tree, and one crosses it."""
    group_by = {"region": [0, 1], "sex": ["f", "m"]}
    plan = margins.plan_of(margins.spec_of(group_by=group_by, privacy={"epsilon": 3}, **BOTH))
    planned = margins.whole_of(plan)
    parameters: Any = {"branches": (2, 2), "shares": ["0.2", "0.3", "0.5"]}
    mechanism = calibrate(
        Agreeing.name,
        epsilon=3,
        sensitivity=table_sensitivity(planned.cells, 3),
        dimension=4,
        parameters=parameters,
    )
    claim = ("people.2x1", mechanism.certificate.about("add-remove").on_grid(1))
    whole = Margins.read(planned.cells, planned.budget, [claim], composed=False)
    assert whole.chain is not None
    whole_counts = whole.whole_counts
    assert whole_counts is not None
    assert whole_counts.columns == ("sex", "region")
    points, chances = enumerated(whole.chain.noise, 5)
    drawn = np.array([whole.chain.strategy.estimate([point]) for point in points])
    cells = expected(whole_counts.tree, drawn, chances, np.array(truth))[-1] - truth
    for part in plan.noisy_parts:
        table = margins.table_of(part)
        computed = cells.reshape(2, 2).sum(axis=whole.marginals.axes(3 & ~table)).reshape(-1)
        assert (computed <= whole_counts.too_high[part.name] * (1 + 1e-3)).all()
        if truth[0] == 30 and part.name == "people_by_region":  # two cells of 0, each beside 30
            assert computed[1] == pytest.approx(whole_counts.too_high[part.name], rel=1e-3)


def noise_of(whole: Margins, draws: int) -> dict[int, Any]:
    """Return draws of the noise in each measured table, from the certificates' laws."""
    random = np.random.default_rng(3)
    noise: dict[int, Any] = {}
    for table, claim in whole.measured.items():
        p = -math.expm1(-float(claim.budget.epsilon))
        size = (draws, whole.marginals.cells(table))
        noise[table] = random.geometric(p, size) - random.geometric(p, size)
    return noise


@pytest.mark.dense
@pytest.mark.parametrize("large", [0, 60])
def test_the_bias_of_measured_tables(large: int) -> None:
    """Simulated; with empty cells beside ones that are `large`."""
    wide = {"group_by": margins.GROUP_BY | {"region": [*range(12)]}, "privacy": {"epsilon": "0.3"}}
    plan = margins.plan_of(
        margins.spec_of(margins=[[*margins.GROUP_BY], ["sex"], ["age"], []], **wide, **BOTH)
    )
    whole = margins.whole_of(plan)
    assert len(whole.measured) > 1
    marginals, draws = whole.marginals, 400
    truth = np.zeros(marginals.sizes, dtype=np.int64)
    truth[0, 0] = large
    noise = noise_of(whole, draws)
    exact = {
        table: truth.sum(axis=marginals.axes(7 & ~table)).reshape(-1) for table in whole.measured
    }
    every = [
        add_up(
            whole, plan.noisy_parts, {t: (exact[t] + n[i]).astype(float) for t, n in noise.items()}
        )
        for i in range(draws)
    ]
    for index, part in enumerate(plan.noisy_parts):
        true = truth.sum(axis=marginals.axes(7 & ~margins.table_of(part))).reshape(-1)
        drawn = np.array([tables[index].columns["count"] for tables in every])
        assert (drawn >= 0).all()
        slack = 4 * drawn.std(axis=0) / math.sqrt(draws)
        assert part.too_high is not None
        assert ((drawn.mean(axis=0) - true) - slack <= part.too_high).all()


@pytest.mark.dense
def test_the_bias_of_counts_that_are_not_whole() -> None:
    """Two persons over the limit, a fifth of each in each of ten cells, one of them in common."""
    group_by = {"region": [*range(19)], "sex": ["f"]}
    privacy = {"epsilon": "100"}
    raw = margins.spec_of(unit="who", group_by=group_by, privacy=privacy, **BOTH)
    plan = margins.plan_of(raw)
    whole = margins.whole_of(plan)
    marginals, random, draws = whole.marginals, np.random.default_rng(3), 1000
    truth = np.full(marginals.sizes, 0.2)
    truth[0, 0] = 0.4
    results: list[float] = []
    for _ in range(draws):
        noisy = {}
        for table, claim in whole.measured.items():
            exact = truth.sum(axis=marginals.axes(3 & ~table)).reshape(-1)
            scale = math.sqrt(claim.noise.variance / 2)
            noisy[table] = exact + random.laplace(scale=scale, size=exact.shape)
        results.append(add_up(whole, plan.noisy_parts, noisy)[0].columns["count"][0])
    bias, too_high = np.mean(results) - 0.4, plan.noisy_parts[0].too_high
    assert too_high is not None
    assert 0.55 < bias < too_high


@pytest.mark.parametrize("edges", [[0, 1, 2, 3, 4], [0, 1, 2, 3]])
@pytest.mark.parametrize("branches", [(2, 2), (4,)])
@pytest.mark.parametrize("truth", [(0, 0, 0, 0), (7, 0, 0, 1), (0, 0, 0, 40)])
def test_the_bias_of_cumulative_counts(
    edges: list[int], branches: tuple[int, ...], truth: tuple[int, ...]
) -> None:
    """The tree has four cells; all of them are bins, or all but the last."""
    planned = cumulative.whole_of(
        cumulative.plan_of(cumulative.spec_of(edges=edges, privacy={"epsilon": 3}, **BOTH))
    )
    shares = ["0.2", "0.3", "0.5"] if len(branches) == 2 else ["0.6", "0.4"]
    noise = Agreeing(scale=Fraction(1, 3), branches=branches, shares=shares)
    whole = Cumulative(
        cells=planned.cells, budget=planned.budget, certificate=planned.certificate, noise=noise
    )
    whole_counts = whole.whole_counts
    assert whole_counts is not None
    bins = len(edges) - 1
    points, chances = enumerated(noise, 5)
    result = expected(whole_counts.tree, points[:, :bins], chances, np.array(truth[:bins]))[-1]
    of_bins, of_sums = whole_counts.too_high.values()
    assert (result - truth[:bins] <= of_bins * (1 + 1e-3)).all()
    sums = result.cumsum() - np.cumsum(truth[:bins])
    assert sums.max() <= of_sums * (1 + 1e-3)
    if truth[3] == 40 and bins == 4 and branches == (4,):  # three of 0 have more than one of 0
        assert sums[2] > 1.2 * of_bins > 1.2 * level_laws(noise)[0].mean_abs / 2
    if bins == 4 and not any(truth):  # the sum of all bins is the root
        assert sums[-1] == pytest.approx(level_laws(noise)[0].mean_abs / 2, rel=1e-3)
