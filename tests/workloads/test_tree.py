"""Noise on trees against an enumeration: laws of tables, order of trees, rejected claims."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.trees.law import Agreeing
from leastnoise.selection.public import calibrate
from leastnoise.workloads.base import SummedTable, Workload
from leastnoise.workloads.tree import Crossed, Nodes, Prefixes, TreeStrategy, TreeTable
from leastnoise.workloads.tree_search import TreeOffer, Trees, offer_prefixes, rank_noise
from tests.noise.trees.oracle import enumerated, largest_loss, moved_by_rows

_REACH = 8
_CUT = 2e-3  # of a variance, by enumeration of a box; measured: 9e-4


def by_level(children: list[list[int]], level: int) -> NDArray[np.int64]:
    """Return for each cell its ancestor in a level, from the definition."""
    cells = np.arange(sum(children[-1]))
    for counts in reversed(children[level:]):
        cells = np.repeat(np.arange(len(counts)), counts)[cells]
    return cells


EVEN = Agreeing(scale="0.5", branches=(2, 2), shares=("0.2", "0.3", "0.5"))
UNEVEN = Agreeing(scale="0.5", branches=(2, 3, 1), shares=("0.1", "0.4", "0.5"))
CHILDREN = {EVEN: [[2], [2, 2]], UNEVEN: [[2], [3, 1]]}
GRID = np.arange(4).reshape(2, 2)

TABLES: list[tuple[Agreeing, TreeTable, NDArray[np.int64]]] = [
    *((EVEN, Nodes(level=at), by_level(CHILDREN[EVEN], at)) for at in (0, 1, 2)),
    *((UNEVEN, Nodes(level=at), by_level(CHILDREN[UNEVEN], at)) for at in (0, 1, 2)),
    (UNEVEN, Nodes(level=1, numbers=np.array([1, 0])), 1 - by_level(CHILDREN[UNEVEN], 1)),
    (EVEN, Crossed(fixed=(False, False)), np.zeros(4, dtype=np.int64)),
    (EVEN, Crossed(fixed=(True, False)), np.array([0, 0, 1, 1])),
    (EVEN, Crossed(fixed=(False, True)), np.array([0, 1, 0, 1])),
    (EVEN, Crossed(fixed=(True, True)), np.arange(4)),
]


def check_laws(strategy: TreeStrategy, table: int, sums: NDArray[Any], chances: Any) -> None:
    """Compare the laws of a table with `sums`, the noise of its numbers in each of all draws."""
    stds = np.sqrt(chances @ sums.astype(float) ** 2)
    variances = strategy.variance(table)
    assert np.sqrt(np.broadcast_to(variances, stds.shape)) == pytest.approx(stds, rel=_CUT)
    if strategy.is_alike(table):
        assert np.ptp(stds) < 1e-6
    for probability in (0.5, 0.9, 0.95, 0.99):
        halves = np.broadcast_to(strategy.half_widths(table, [probability])[0], stds.shape)
        for number, half in zip(sums.T, halves, strict=True):
            assert chances @ (np.abs(number) <= half) >= probability - 1e-4
            assert not half or chances @ (np.abs(number) < half) < probability + 1e-4
    highs = chances @ np.maximum(sums, 0)
    assert highs.max() <= strategy.too_high(table) * (1 + _CUT)


@pytest.mark.parametrize(("noise", "table", "part_of"), TABLES)
def test_laws_are_those_of_an_enumeration(
    noise: Agreeing, table: TreeTable, part_of: NDArray[np.int64]
) -> None:
    points, chances = enumerated(noise, _REACH)
    numbers = np.eye(part_of.max() + 1, dtype=np.int64)[part_of]
    check_laws(TreeStrategy(noise=noise, tables=(table,)), 0, points @ numbers, chances)


PAIR = Agreeing(scale="0.5", branches=(2,), shares=(0, 1))  # whose total has the largest bias


@pytest.mark.parametrize(("noise", "count"), [(EVEN, 2), (EVEN, 3), (EVEN, 4), (PAIR, 2)])
def test_laws_of_sums_of_the_first_cells(noise: Agreeing, count: int) -> None:
    points, chances = enumerated(noise, _REACH)
    strategy = TreeStrategy(noise=noise, tables=(Prefixes(count=count),))
    check_laws(strategy, 0, points.cumsum(axis=1)[:, :count], chances)


def test_a_search_weighs_what_quantiles_are_off_by() -> None:
    """The mean over levels a of Var(S_g − aT), T the sum of all cells."""
    levels = (Fraction(1, 4), Fraction(2, 3))
    points, chances = enumerated(EVEN, _REACH)
    sums = points.cumsum(axis=1).astype(float)
    off = [chances @ (sums - float(a) * sums[:, -1:]) ** 2 for a in levels]
    strategy = TreeStrategy(noise=EVEN, tables=(Prefixes(count=3, levels=levels),))
    assert strategy.variance(0) == pytest.approx(np.mean(off, axis=0)[:3], rel=2 * _CUT)


def test_cells_in_another_order_and_of_several_groups() -> None:
    """Two groups of three counts, in trees of four cells; counts stand in a shuffled order."""
    places = np.array([6, 0, 4, 2, 1, 5])
    strategy = TreeStrategy(noise=EVEN, tables=(), groups=2, places=places)
    (placed,) = strategy.place(np.arange(1, 7))
    assert placed.tolist() == [2, 5, 4, 0, 3, 6, 1, 0]
    assert strategy.estimate([placed]).tolist() == [1, 2, 3, 4, 5, 6]
    alike = TreeStrategy(noise=EVEN, tables=())
    assert alike.estimate(alike.place(places)).tolist() == places.tolist()


def test_tables_are_sums_of_the_cells_of_each_number() -> None:
    part_of = np.array([2, 0, 0, 1, 2])
    tables = (
        SummedTable(count=4, find=lambda: part_of),
        SummedTable(count=4, find=lambda: part_of, running=2),
    )
    cells = np.array([1, 10, 100, 1000, 10000])
    sums = Workload(cells=5, tables=tables).add_up(cells)
    assert [numbers.tolist() for numbers in sums] == [
        [110, 1000, 10001, 0],
        [110, 1110, 10001, 10001],
    ]
    assert all(numbers.dtype == cells.dtype for numbers in sums)


def test_a_table_is_found_when_it_is_asked_for() -> None:
    calls: list[int] = []

    def find() -> NDArray[np.int64]:
        calls.append(1)
        return np.zeros(3, dtype=np.int64)

    table = SummedTable(count=1, find=find)
    assert not calls
    assert [table.add_up(np.ones(3)).tolist() for _ in range(2)] == [[3.0]] * 2
    assert len(calls) == 1


OFFERS = {
    "prefixes": offer_prefixes(Prefixes(count=4), 3),
    "levels": (TreeOffer.of((2, 2), Nodes(level=0), Nodes(level=2), alone=True),),
    "uneven": (
        TreeOffer(
            branches=(2, 3, 1),
            even=(2, 2),
            tables=(Nodes(level=1), Nodes(level=2)),
            alone=True,
        ),
    ),
    "crossed": (TreeOffer.of((2, 2), Crossed(fixed=(False, True)), Crossed(fixed=(True, False))),),
}


@pytest.mark.grid
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("kind", OFFERS)
def test_ranked_noise_hides_every_move_and_is_in_order(
    kind: str, *, replaced: bool, largest: bool
) -> None:
    rows, scale = Rows(most=1, replaced=replaced), Fraction(1, 2)
    ranked = rank_noise(OFFERS[kind], scale, rows, largest=largest)
    values: list[float] = []
    for offer, noise in ranked:
        assert noise.branches == offer.branches
        shifts = moved_by_rows(noise.dimension, 1, replaced=replaced)
        points, _ = enumerated(noise, 2)
        assert 1.99 < largest_loss(noise, shifts, points) <= 2
        points, chances = enumerated(noise, 6 if replaced else 5)
        squares = chances @ points.astype(float) ** 2
        strategy = TreeStrategy(noise=noise, tables=(Nodes(level=len(noise.shares) - 1),))
        assert strategy.variance(0).mean() == pytest.approx(squares.mean(), rel=0.1)
        tables = TreeStrategy(noise=noise, tables=offer.tables)
        weighed = [tables.variance(index) for index in range(len(offer.tables))]
        logs = [math.log(each.max() if largest else each.mean()) for each in weighed]
        values.append(max(logs) if largest else math.fsum(logs))
    assert values == pytest.approx(sorted(values))


def test_where_no_lattice_is_wide_enough_there_is_no_tree() -> None:
    rows = Rows(most=1)
    with pytest.raises(NotApplicable, match="use fewer cells"):
        rank_noise(OFFERS["levels"], Fraction(10**7), rows, largest=False)
    with pytest.raises(NotApplicable):
        rank_noise((), Fraction(1), rows, largest=False)


SHARE = Budget(epsilon=1, delta="1e-6")
MOVES = RowCounts(1)
GROUPS = Trees(
    label="q",
    counts=3,
    groups=2,
    moves=MOVES,
    neighbours="add-remove",
    offers=offer_prefixes(Prefixes(count=3), 2),
    advice="Give fewer",
)
EXACT = Trees(
    label="q",
    counts=4,
    moves=MOVES,
    neighbours="add-remove",
    offers=OFFERS["uneven"],
    exact=True,
    advice="Give fewer",
)


def claim_of(branches: tuple[int, ...], shares: Any, **given: Any) -> Certificate:
    moves = given.pop("moves", MOVES)
    dimension = Agreeing(scale=1, branches=branches, shares=shares).dimension
    parameters: Any = {"branches": branches, "shares": shares}
    noise, epsilon = given.pop("noise", "agreeing"), given.pop("epsilon", 1)
    mechanism = calibrate(
        noise,
        epsilon=epsilon,
        sensitivity=moves,
        dimension=dimension,
        parameters=parameters if noise == "agreeing" else {},
    )
    return replace(mechanism.certificate.on_grid(given.pop("grid", 1)), **given)


RIGHT: dict[bool, tuple[tuple[int, ...], tuple[Any, ...]]] = {
    False: ((2, 2, 2), (0, "0.2", "0.3", "0.5")),
    True: ((2, 3, 1), ("0.2", "0.3", "0.5")),
}
REPLACED = RowCounts(1, neighbours="replace-one")


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"noise": "laplace"}, "must be of the family agreeing"),
        ({"moves": RowCounts(2)}, "sensitivity isn't the query's"),
        ({"moves": REPLACED}, "sensitivity isn't the query's"),
        ({"sampling_rate": "0.5"}, "about samples"),
        ({"grid": 2}, "aren't whole"),
        ({"epsilon": 2}, "isn't the query's share"),
        ({"epsilon": "0.5"}, "isn't the query's share"),
    ],
)
def test_claims_about_other_noise_are_rejected(
    given: dict[str, Any], why: str, *, exact: bool
) -> None:
    trees = EXACT if exact else GROUPS
    assert trees.read(claim_of(*RIGHT[exact]), SHARE).dimension == 4
    with pytest.raises(CertificateRejected, match=f"uery 'q': .*{why}|{why} of the query 'q'"):
        trees.read(claim_of(*RIGHT[exact], **given), SHARE)


@pytest.mark.parametrize(
    ("trees", "branches", "shares", "why"),
    [
        (EXACT, (2, 1, 3), ("0.2", "0.3", "0.5"), "another tree"),
        (EXACT, (2, 2), ("0.2", "0.3", "0.5"), "another tree"),
        (EXACT, (4,), ("0.5", "0.5"), "another tree"),
        (GROUPS, (3, 2, 2), (0, "0.2", "0.3", "0.5"), "other groups"),
        (GROUPS, (2, 2, 2), ("0.1", "0.1", "0.3", "0.5"), "other groups"),
        (GROUPS, (2, 1, 3, 2, 2, 2, 2), (0, "0.2", "0.3", "0.5"), "other groups"),
        (GROUPS, (8,), (0, 1), "other groups"),
        (GROUPS, (2, 2), (0, "0.5", "0.5"), "fewer cells"),
    ],
)
def test_claims_about_another_tree_are_rejected(
    trees: Trees, branches: tuple[int, ...], shares: Any, why: str
) -> None:
    with pytest.raises(CertificateRejected, match=why):
        trees.read(claim_of(branches, shares), SHARE)


def test_a_claim_that_states_other_neighbours_is_rejected() -> None:
    replaced = replace(GROUPS, moves=REPLACED, neighbours="replace-one")
    claim = claim_of(*RIGHT[False], moves=REPLACED)
    assert replaced.read(claim, SHARE).dimension == 4
    with pytest.raises(CertificateRejected, match="sensitivity isn't"):
        GROUPS.read(claim, SHARE)
