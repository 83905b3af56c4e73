from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.guarantees.structured import CountingQueries, Linf, Vertices
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.question import Question
from leastnoise.noise.registry import FAMILIES
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.public import (
    calibrate,
    compare,
    compare_families,
    least_noise,
    privacy_profile,
)
from leastnoise.selection.rivals import list_quick, list_slow


def test_ranks_by_the_loss_that_is_asked() -> None:
    comparison = compare(epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=7)
    mse = {m.noise.name: m.mse for m in comparison.mechanisms}
    assert mse["l2"] == pytest.approx(48.8142391, rel=1e-6)
    assert mse["gaussian"] == pytest.approx(97.423288, rel=1e-6)
    assert list(mse.values()) == sorted(mse.values())
    reasons = {skipped.name: skipped.why for skipped in comparison.skipped}
    assert reasons["laplace"] == "it needs a sensitivity in the l1 norm"
    assert set(reasons) == set(FAMILIES) - set(mse)


@pytest.mark.slow
def test_losses_can_disagree() -> None:
    """Near their crossing the two losses rank l2 and the Gaussian differently."""
    orders: dict[str, list[list[str]]] = {"mse": [], "mae": []}
    for loss, names in orders.items():
        for delta in ("0.01", "0.02", "0.03", "0.05", "0.1"):
            comparison = compare(
                epsilon="1",
                delta=delta,
                sensitivity=L2(1),
                dimension=4,
                loss=loss,
                parameters={"generalized-gamma": {"alpha": 3, "p": 1}},  # its search takes seconds
            )
            names.append([m.noise.name for m in comparison.mechanisms])
    assert orders["mse"] != orders["mae"]


@pytest.mark.dense
def test_least_noise_is_the_first_of_compare() -> None:
    arguments = {"epsilon": "0.3", "delta": "1e-4", "sensitivity": L2("2.5"), "dimension": 30}
    assert least_noise(**arguments) == compare(**arguments).mechanisms[0]


@pytest.mark.slow
def test_a_comparison_can_be_made_in_two_parts() -> None:
    asked = {"epsilon": "1", "delta": "1e-6", "sensitivity": L2(1), "dimension": 4}
    budget = Budget(epsilon="1", delta="1e-6")
    question = Question(budget=budget, sensitivities=(L2(1),), dimension=4)
    full, some = compare(**asked), compare_families(question, families=list_quick())
    names = [m.noise.name for m in full.mechanisms]
    seconds = {family.name for family in list_slow()}
    assert [m.noise.name for m in some.mechanisms] == [
        name for name in names if name not in seconds
    ]
    both = compare_families(question, families=list_slow(), known=some)
    assert both.mechanisms == full.mechanisms
    assert both.skipped == full.skipped


@pytest.mark.slow
def test_what_is_not_usable_is_left_out_and_makes_nothing_needless() -> None:
    budget = Budget(epsilon="0.2", delta="1e-6")
    four = CountingQueries(dimension=4)
    question = Question(budget=budget, sensitivities=(four,), dimension=4)
    comparison = compare_families(question, usable=lambda noise: not isinstance(noise, VectorNoise))
    names = {m.noise.name for m in comparison.mechanisms}
    assert names == {"gaussian", "generalized-gamma", "l2", "spherical-staircase"}
    everything = compare(epsilon="0.2", delta="1e-6", sensitivity=four)
    reasons = {skipped.name: skipped.why for skipped in everything.skipped}
    assert "the shape decides" in reasons["generalized-gamma"]


def test_cells_are_not_searched_one_by_one_where_the_body_is_far_ahead() -> None:
    offered = (CountingQueries(dimension=4), Linf(1, l0=4, whole=True))
    comparison = compare(epsilon="0.2", delta="2e-7", sensitivity=offered, dimension=4)
    assert comparison.mechanisms[0].noise.name == "two-sided-staircase"
    reasons = {skipped.name: skipped.why for skipped in comparison.skipped}
    assert "4 cells of one person" in reasons["flipped-huber"]
    alone = calibrate("staircase", epsilon="0.2", delta="2e-7", sensitivity=offered, dimension=4)
    assert alone.mse > 2 * comparison.mechanisms[0].mse


def test_several_sensitivities_each_family_takes_its_own() -> None:
    comparison = compare(epsilon="1", delta="1e-6", sensitivity=(L2("1.5"), L1(2)), dimension=4)
    used = {m.noise.name: m.certificate.sensitivity for m in comparison.mechanisms}
    assert used.pop("laplace") == used.pop("k-staircase") == L1(2)
    assert set(used) == {"l2", "gaussian"}
    assert set(used.values()) == {L2("1.5")}


def test_pure_budget_skips_the_gaussian() -> None:
    comparison = compare(epsilon="1", sensitivity=L2(1), dimension=7)
    assert [m.noise.name for m in comparison.mechanisms] == ["k-staircase", "l2"]
    assert {"gaussian", "k-norm", "laplace"} <= {skipped.name for skipped in comparison.skipped}


def test_one_family_that_cannot_serve_is_refused() -> None:
    with pytest.raises(Refused, match="delta=0"):
        calibrate("gaussian", epsilon="1", sensitivity=L2(1))


def test_refuses_arguments_of_the_wrong_kind() -> None:
    with pytest.raises(InvalidArgument, match="sensitivity"):
        compare(epsilon="1", sensitivity=1, dimension=2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgument, match="sensitivity"):
        compare(epsilon="1", sensitivity=(), dimension=2)
    with pytest.raises(InvalidArgument, match="loss"):
        compare(epsilon="1", sensitivity=L2(1), loss="rms")
    with pytest.raises(InvalidArgument, match="dimension"):
        least_noise(epsilon="1", sensitivity=L2(1), dimension=2.0)  # pyright: ignore[reportArgumentType]


def test_privacy_profile_falls_in_epsilon() -> None:
    profile = privacy_profile(
        "l2", scale="0.99", epsilons=["0", "0.5", "1", "1.0101", "1.1"], sensitivity=L2(1),
        dimension=7,
    )  # fmt: skip
    assert all(b.upper <= a.lower for a, b in pairwise(profile))
    assert profile[2].contains(Fraction("5.044387690030895335923e-9"))


def test_a_profile_is_of_the_dimension_that_the_sensitivity_says() -> None:
    points = Vertices([["1", "0"], ["0.5", "3"]])
    asked = {"scale": 2, "epsilons": ["1"], "sensitivity": points}
    assert privacy_profile("l2", **asked) == privacy_profile("l2", dimension=2, **asked)


def test_prints_as_a_table() -> None:
    text = str(compare(epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=7))
    name, _, *losses = text.splitlines()[1].split()  # of a searched shape no digit is sure
    assert [name, *losses] == ["generalized-gamma", "48.4922", "14.2798"]
    assert text.splitlines()[2].split() == ["l2", "0.93364", "48.8142", "14.2964"]


@cache
def _of_counts(dimension: int, with_total: bool) -> Comparison:
    queries = CountingQueries(dimension=dimension, with_total=with_total)
    return compare(epsilon="1", delta="1e-5", sensitivity=queries)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("dimension", "with_total", "label", "variance"),
    [  # theory/noise.md §8 and issue's table: per-query variance at (1, 1e-5), all queries at once
        (2, False, "gaussian", 27.835),
        (2, True, "gaussian (algorithm-1)", 20.27945),
        (2, False, "gaussian (ellipse)", 18.557),
        (2, False, "l2 (ellipse)", 3.99328),
        (10, False, "gaussian", 139.176),
        (10, True, "gaussian (algorithm-1)", 60.2791),
        (10, False, "gaussian (ellipse)", 59.9528),
        (10, False, "l2 (ellipse)", 36.0976),
    ],
)
def test_counting_queries_have_the_variances_of_the_theory(
    dimension: int, with_total: bool, label: str, variance: float
) -> None:
    result = _of_counts(dimension, with_total)
    (item,) = [candidate for candidate in result.candidates if candidate.label == label]
    assert item.mechanism.variances[0] == pytest.approx(variance, rel=2e-5)
    assert item.mechanism.mse == pytest.approx(item.mechanism.variances.sum())
    losses = [mechanism.mse for mechanism in result.mechanisms]
    assert losses == sorted(losses)


@pytest.mark.slow
def test_cells_take_noise_for_one_number_each() -> None:
    comparison = compare(epsilon="1", delta="1e-5", sensitivity=Linf(1, whole=True), dimension=50)
    assert comparison.candidates[0].label == "discrete-staircase (cells)"
    single = compare(epsilon="1", delta="1e-5", sensitivity=Integer(1))
    assert comparison.mechanisms[0].mse == pytest.approx(50 * single.mechanisms[0].mse)
    names = [mechanism.noise.name for mechanism in comparison.mechanisms]
    assert names.count("gaussian") == 1  # in cells it is the same law as in the ball
    released = comparison.mechanisms[0].release(np.zeros(50))
    assert len(set(released.values.tolist())) > 1  # each cell has a draw of its own


def test_optimal_in_cells_is_that_for_one_number() -> None:
    cells = calibrate("optimal", epsilon="1", delta="0.1", sensitivity=Linf(1), dimension=9)
    mechanism = calibrate("optimal", epsilon="1", delta="0.1", sensitivity=L2(1))
    assert cells.noise == mechanism.noise
    assert cells.mse == pytest.approx(9 * mechanism.mse)


@pytest.mark.dense
def test_no_bound_is_shown_where_nothing_can_serve() -> None:
    comparison = compare(epsilon="1", delta="1e-5", sensitivity=L2("1e300"), dimension=3)
    assert comparison.candidates == ()
    assert comparison.best_possible is None


def test_a_dimension_that_contradicts_the_sensitivity_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="dimension"):
        compare(epsilon=1, sensitivity=CountingQueries(dimension=4), dimension=3)
