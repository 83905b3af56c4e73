"""Trees whose nodes of one level differ, against enumeration."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import leastnoise as ln
from leastnoise.balls.rounded import transform
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable
from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.trees.estimate import expected_draws
from leastnoise.noise.trees.known import Known, all_but_one
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import find_window, level_laws, node_laws
from leastnoise.noise.trees.profile import quantile
from leastnoise.noise.trees.sampler import draw_cells
from leastnoise.noise.trees.shape import shape_of
from tests.noise.trees.oracle import (
    all_points,
    enumerated,
    largest_cost,
    largest_loss,
    moved_by_rows,
    sums_of,
)

_REACH = 9
_SHARES = ("0.2", "0.3", "0.5")
TREES = ((2, 2, 1), (2, 3, 1), (3, 1, 2, 1), (2, 1, 1), (2, 1, 2))


def _law(branches: Any, *, scale: Any = "0.4", shares: Any = _SHARES) -> Agreeing:
    return Agreeing(scale=scale, branches=branches, shares=shares)


def _sums(law: Agreeing, points: Any) -> list[Any]:
    return sums_of(points, law.branches, len(law.shares) - 1)


DEEP = _law((2, 2, 1, 1, 2, 1), shares=("0.1", "0.2", "0.3", "0.4"))


@pytest.mark.grid
@pytest.mark.parametrize("law", [*map(_law, TREES), DEEP], ids=lambda law: str(law.branches))
def test_the_law_of_each_node_is_that_of_an_enumeration(law: Agreeing) -> None:
    points, chances = enumerated(law, _REACH if law.dimension < 4 else 6)
    shape = law.shape
    for level, (laws, sums) in enumerate(zip(node_laws(law), _sums(law, points), strict=True)):
        assert [law.nodes for law in laws] == shape.count(level)
        assert len(shape.positions_of[level]) == sums.shape[1]
        for node, position in enumerate(shape.positions_of[level]):
            computed = laws[position]
            exact = np.bincount(np.abs(sums[:, node]), chances)[:5]
            exact[1:] /= 2
            assert computed.probabilities[:5] == pytest.approx(exact, abs=1e-4)
            assert computed.variance == pytest.approx(chances @ sums[:, node] ** 2, rel=2e-3)
            inside = [float(chances @ (np.abs(sums[:, node]) <= j)) for j in range(20)]
            h = computed.half_width(0.95)
            assert inside[h] >= 0.95 - 1e-4
            assert not h or inside[h - 1] < 0.95 + 1e-4
    assert law.variances == pytest.approx(chances @ points**2, rel=2e-3)
    assert law.mean_abses == pytest.approx(chances @ np.abs(points), rel=2e-3)
    density = np.exp(law.log_density(points))
    assert density == pytest.approx(chances, abs=1e-3 * chances.max())


def test_nodes_that_are_alike_have_one_place() -> None:
    shape = shape_of((4, 3, 1, 3, 2), 2)
    assert shape.nodes == (1, 4, 9)
    assert len(set(shape.positions_of[1].tolist())) == 3
    assert shape.positions_of[1][0] == shape.positions_of[1][2]
    assert shape.positions_of[2].tolist().count(shape.positions_of[2][0]) == 6
    even = shape_of((2, 10, 20), 3)
    assert [len(position) for position in even.positions] == [1, 1, 1, 1]
    assert (even.order == np.arange(400)).all()
    deep = shape_of((2, 2, 1, 1, 2, 2), 3)  # 1 and 2 below the first, 2 below the second
    assert deep.cells_below[1].tolist() == [3, 2]
    assert deep.starts(2).tolist() == [0, 1, 3]


def test_an_even_tree_may_be_said_node_by_node() -> None:
    once, twice = _law((2, 3)), _law((2, 3, 3))
    assert once.even
    assert not twice.even
    for law, other in zip(level_laws(once), level_laws(twice), strict=True):
        assert law.probabilities.tolist() == other.probabilities.tolist()
        assert law.covariance == other.covariance


@pytest.mark.parametrize(
    ("branches", "named"),
    [((2, 3, 1, 1), "shares"), ((2, 3, 0), "branches"), ((3, 1, 1), "shares"), ((2,), "shares")],
)
def test_branches_that_say_no_tree_are_refused(branches: Any, named: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        _law(branches)
    assert refused.value.name == named


def test_trees_of_too_many_cells_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="65,536 cells"):
        _law((2, 60_000, 10_000))


def test_what_needs_levels_says_so() -> None:
    with pytest.raises(InvalidArgument, match="node_laws"):
        level_laws(_law((2, 2, 1)))


def test_too_many_unlike_nodes_are_refused_before_their_laws() -> None:
    sizes = list(range(1, 350))
    with pytest.raises(NotApplicable, match="the laws of its nodes"):
        node_laws(_law((len(sizes), *sizes), scale=4))


def test_draws_have_the_law_of_every_node_and_agree_in_order() -> None:
    law = _law((4, 3, 1, 5, 2), scale=2)
    drawn = draw_cells(law, InsecureSeededEntropy(5), count=4000)
    for level, sums in enumerate(_sums(law, drawn)):
        for node, position in enumerate(law.shape.positions_of[level]):
            law_of_node = node_laws(law)[level][position]
            within = law_of_node.half_width(0.95)
            counts = np.bincount(
                np.minimum(np.abs(sums[:, node]), within + 1), minlength=within + 2
            )
            chances = 2 * law_of_node.probabilities[: within + 1]
            chances[0] /= 2
            expected = np.append(chances, 1 - chances.sum()) * len(drawn)
            statistic = float(((counts - expected) ** 2 / expected).sum())
            assert stats.chi2.sf(statistic, len(expected) - 1) > 1e-4
    stds = drawn.std(axis=0)
    assert stds[3] < 0.97 * stds[0]  # the cell that is a node of two levels


def test_joint_draws_are_those_of_an_enumeration() -> None:
    law = _law((2, 2, 1))
    drawn = draw_cells(law, InsecureSeededEntropy(3), count=40_000)
    points, chances = enumerated(law, _REACH)
    sums = 2 * points[:, 0] - points[:, 2] + 3 * points[:, 1]  # no symmetry of the tree
    result = 2 * drawn[:, 0] - drawn[:, 2] + 3 * drawn[:, 1]
    for value in range(-6, 7):
        chance = float(chances @ (sums == value))
        error = math.sqrt(chance / len(drawn))
        assert abs((result == value).mean() - chance) < 4.5 * error


@pytest.mark.parametrize("branches", TREES)
@pytest.mark.parametrize("replaced", [False, True])
def test_what_a_unit_costs_is_the_largest_of_all_its_moves(branches: Any, replaced: bool) -> None:
    law = _law(branches, scale=1)
    neighbours: Any = "replace-one" if replaced else "add-remove"
    shifts = moved_by_rows(law.dimension, 1, replaced=replaced)
    rows = RowCounts(1, neighbours=neighbours).rows(dimension=law.dimension)
    assert rows is not None
    cost = law.cost(rows)
    assert cost == largest_cost(law, shifts)
    outputs = all_points(law.dimension, 2)
    assert largest_loss(law.scaled(cost), shifts, outputs) <= 1


def test_a_certificate_of_it_is_proved_and_no_edit_of_it() -> None:
    shape: Any = {"branches": (3, 4, 1, 2), "shares": ("0.3", "0.3", "0.4")}
    mechanism = ln.calibrate(
        "agreeing",
        epsilon="1",
        sensitivity=ln.RowCounts(1, neighbours="replace-one"),
        dimension=7,
        parameters=shape,
    )
    stored = mechanism.certificate.to_json()
    again = ln.Certificate.from_json(stored)
    again.verify()
    assert again.noise == mechanism.noise
    record = json.loads(stored)
    message = record["noise"]["parameters"]["branches"]
    assert message == [3, 4, 1, 2]
    for edit in ([3, 3, 2, 2], [3, 4, 1, 3], [7, 2]):
        record["noise"]["parameters"]["branches"] = edit
        text = json.dumps(record)
        if edit == [3, 3, 2, 2]:  # another tree of as many cells, with as much noise
            ln.Certificate.from_json(text).verify()
            continue
        with pytest.raises((InvalidArgument, CertificateRejected)):
            ln.Certificate.from_json(text).verify()
    values = mechanism.release(np.arange(7)).values
    assert (values == np.rint(values)).all()


def test_quantiles_are_those_of_the_cell() -> None:
    law = _law((2, 5, 1), scale=2)
    laws = node_laws(law)[-1]
    for cell, position in ((0, law.shape.positions_of[2][0]), (5, law.shape.positions_of[2][5])):
        assert quantile(law, 0.05, cell) * 2 == pytest.approx(laws[position].half_width(), rel=1e-9)
    assert quantile(law, 0.05, 0) != quantile(law, 0.05, 5)


def test_the_expected_work_is_what_is_drawn_by_chances() -> None:
    law = _law((2, 3, 1))
    points, chances = enumerated(_law((2, 3, 1), shares=(0, 0, "0.5")), 7)
    state = [np.abs(points[:, :3].sum(axis=1)), np.abs(points[:, 3])]
    rate = [float(share / law.scale) for share in law.shares]
    weights = [np.exp(-rate[1] * item) for item in state]
    kept = [float(chances @ weight) for weight in weights]
    both = weights[0] * weights[1]
    root = float(
        chances @ (both * np.exp(-rate[0] * np.abs(points.sum(axis=1)))) / (chances @ both)
    )
    assert expected_draws(law) == pytest.approx((3 / kept[0] + 1 / kept[1]) / root, rel=1e-3)


def test_sums_without_one_part_are_convolutions() -> None:
    rng = np.random.default_rng(4)
    laws = [rng.dirichlet(np.ones(64)) for _ in range(3)]
    parts = [
        (Known(values=law, error=0.0), count) for law, count in zip(laws, (2, 1, 3), strict=True)
    ]
    spectra = [transform(law) for law in laws]
    for index, item in enumerate(all_but_one(parts)):
        powers = [count - (j == index) for j, (_, count) in enumerate(parts)]
        exact = np.fft.irfft(math.prod(s**p for s, p in zip(spectra, powers, strict=True)))  # pyright: ignore
        assert np.linalg.norm(item.values - exact) <= item.error
        assert 0 < item.error < 1e-12


def test_the_window_holds_the_tree() -> None:
    even, unlike = _law((50, 60), scale=1), _law((50, *[60] * 50), scale=1)
    rates = tuple(map(float, even.shares))
    assert find_window(even.branches, rates) == find_window(unlike.branches, rates)


def test_a_root_without_a_share_costs_no_digits() -> None:
    """Trees of a forest don't know of each other: half-widths are told as if each were alone."""
    sizes = [1, 3, 60, 150]
    forest = node_laws(_law((4, *sizes), scale=1, shares=(0, "0.5", "0.5")))
    for computed, size in zip(forest[1], sizes, strict=True):
        alone = level_laws(_law((size,), scale=1, shares=("0.5", "0.5")))[0]
        assert computed.probabilities[:9] == pytest.approx(alone.probabilities[:9], rel=1e-9)
        assert computed.half_width(0.99) == alone.half_width(0.99)
        assert computed.error < 1e-8
