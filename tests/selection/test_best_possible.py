from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leastnoise.design.bounds.body_bound import BodyWitness
from leastnoise.design.programs.effort import Effort
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Linf, Vertices
from leastnoise.noise.question import Loss, Question
from leastnoise.selection.comparison import bound_by_volume, find_best_possible
from leastnoise.selection.public import compare


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASTNOISE_CACHE", str(tmp_path / "designs"))


def question(*offered: Sensitivity, dimension: int = 3, **more: Any) -> Question:
    asked: dict[str, Any] = {"budget": Budget(epsilon=1), "loss": Loss.MSE} | more
    return Question(sensitivities=offered, dimension=dimension, **asked)


def test_pure_privacy_has_a_bound_at_once() -> None:
    comparison = compare(epsilon="2", sensitivity=L2("1.5"), dimension=3)
    assert comparison.best_possible is not None
    assert comparison.mechanisms[0].noise.name == "k-staircase"
    assert comparison.gap is not None
    assert 0 <= comparison.gap < 1e-6
    assert "k-staircase is at most 6e-06 % above the best possible mse" in str(comparison)
    comparison.best_possible.bound.verify()
    for mechanism in comparison.mechanisms:
        assert comparison.best_possible.value <= mechanism.mse


def test_counts_without_a_delta_have_no_better_noise_on_whole_numbers() -> None:
    for loss in ("mse", "mae"):
        comparison = compare(epsilon=1, sensitivity=Integer(1), loss=loss, bound=True)
        assert comparison.candidates[0].label == "geometric"
        assert comparison.best_possible is not None
        assert comparison.best_possible.bound.scope == "integer"
        assert comparison.gap is not None
        assert comparison.gap < 1e-9
    cells = compare(epsilon=5, sensitivity=Linf(1, whole=True), dimension=20)
    assert cells.candidates[0].label == "geometric (cells)"
    assert cells.best_possible is None  # whole shifts have no volume


def test_noise_on_the_real_line_is_not_measured_by_that_on_whole_numbers() -> None:
    """For a sensitivity of 2 the staircase has less noise than any law on the whole numbers."""
    comparison = compare(epsilon=1, sensitivity=Integer(2), bound=True, time_limit=60)
    assert [candidate.label for candidate in comparison.candidates[:2]] == [
        "staircase",
        "geometric",
    ]
    assert comparison.best_possible is not None
    assert (
        comparison.mechanisms[0].mse
        < comparison.best_possible.value
        <= comparison.mechanisms[1].mse
    )
    assert comparison.gap is None


def test_one_cell_after_the_other_is_as_good_as_it_gets() -> None:
    for loss in ("mse", "mae"):
        comparison = compare(epsilon=1, sensitivity=Linf(1), dimension=20, loss=loss)
        assert comparison.candidates[0].label == "staircase (cells)"
        assert comparison.gap is not None
        assert comparison.gap < 1e-6


def test_several_balls_are_the_smallest() -> None:
    both = bound_by_volume(question(L2(5), L2(2)))
    alone = bound_by_volume(question(L2(2)))
    assert both == alone is not None
    bound = bound_by_volume(question(L1(3), L2(2), Linf(4), dimension=1))
    assert bound is not None
    assert bound == bound_by_volume(question(L2(2), dimension=1))


@pytest.mark.parametrize(
    "unknown",
    [
        question(L2(1), L1(1)),  # what both hold is less than each
        question(L2(1), budget=Budget(epsilon=1, delta="1e-9")),
        question(L2(1), compositions=2),
        question(CountingQueries(dimension=3), sampling_rate="0.5"),
        question(Linf(1, l0=3, whole=True)),
        question(Linf(1, whole=True), dimension=1),
        question(Integer(2), L1(1), dimension=1),
        question(Vertices([["1", "0", "0"], ["0", "1", "1"]])),
    ],
)
def test_there_is_none_where_it_would_not_hold(unknown: Question) -> None:
    assert bound_by_volume(unknown) is None


def test_the_mae_of_a_vector_is_bounded_one_number_at_a_time() -> None:
    """Rearranged noise keeps E‖X‖₂ below, not E‖X‖₁: only for one number are they the same."""
    bound = bound_by_volume(question(L2(1), dimension=1, loss=Loss.MAE))
    three = bound_by_volume(question(L2(1), loss=Loss.MAE))
    assert bound is not None
    assert three is not None
    assert three.value == pytest.approx(3 * bound.value, rel=1e-12)
    assert isinstance(three.witness, BodyWitness)
    assert three.witness.coordinates == 1


def test_no_program_is_solved_where_none_is_needed() -> None:
    messages: list[str] = []
    asked = question(L2(1), dimension=4)
    assert find_best_possible(asked, Effort(progress=messages.append)) is not None
    assert messages == []


def test_whole_numbers_in_one_cell_are_whole_numbers() -> None:
    """A bound on any noise would not be one for noise on the whole numbers alone."""
    asked = question(Linf(1, whole=True), dimension=1, budget=Budget(epsilon=1, delta="0.01"))
    best = find_best_possible(asked, Effort(gap=0.1))
    assert best is not None
    assert best.bound.scope == "integer"


@pytest.mark.dense
@pytest.mark.parametrize(
    ("sensitivity", "claimed"),
    [(Integer(1), "no noise on whole numbers has less"), (L1(1), "no noise has less")],
)
def test_a_bound_says_for_which_noise_it_holds(sensitivity: Integer | L1, claimed: str) -> None:
    comparison = compare(epsilon=1, delta="1e-3", sensitivity=sensitivity, dimension=1)
    assert claimed in repr(comparison.best_possible)
    whole = "best possible mse of noise on whole numbers" in str(comparison)
    assert whole is (sensitivity == Integer(1))
