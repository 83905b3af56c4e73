"""The families that a comparison tries for a sensitivity, and those that it leaves out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.design.programs.effort import Effort
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.sensitivity import Integer
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named
from leastnoise.selection.constructions import Construction, list_constructions
from leastnoise.selection.fit import fit_family
from leastnoise.selection.rivals import _serves_any, list_worthwhile
from tests.grids import thin


@pytest.mark.parametrize(
    ("name", "ball", "cells"), [("gaussian", True, True), ("geometric", False, True)]
)
def test_noise_for_one_number_serves_vectors_in_cells_alone(
    name: str, *, ball: bool, cells: bool
) -> None:
    asked = Question(budget=Budget(epsilon=1, delta="1e-6"), sensitivities=(Linf(1),), dimension=3)
    plain = Construction(sensitivity=Linf(1))
    each = Construction(sensitivity=Linf(1), name="cells", geometry=CellGeometry(count=3))
    family = family_named(name)
    assert _serves_any(family, asked, [plain]) == ball
    assert _serves_any(family, asked, [each]) == cells
    assert _serves_any(family, asked, [plain, each])
    assert not _serves_any(family, asked, [])


def find_mse(comparison: ln.Comparison, label: str) -> float:
    return min(c.mechanism.mse for c in comparison.candidates if c.label == label)


@pytest.mark.dense
def test_noise_between_laplace_and_far_worse_gaussian_noise_is_left_out() -> None:
    budget: dict[str, Any] = {"epsilon": 10, "delta": "1e-6"}
    comparison = ln.compare(sensitivity=ln.L1(1), compositions=3, **budget)
    left_out = {skipped.name: skipped.why for skipped in comparison.skipped}
    laplace = ln.calibrate("laplace", sensitivity=ln.L1(1), compositions=3, **budget)
    for name in ("cactus", "flipped-huber"):
        assert "lies between Laplace and Gaussian noise" in left_out[name]
        alone = ln.calibrate(name, sensitivity=ln.L1(1), compositions=3, **budget)
        assert alone.mse > laplace.mse
    # Gaussian noise has 1.6 times the mse of Laplace noise there, and flipped Huber noise less
    near = ln.compare(epsilon=3, delta="1e-3", sensitivity=ln.L1(1), compositions=3)
    assert "cactus" in {skipped.name for skipped in near.skipped}
    assert near.mechanisms[0].mse < 0.99 * find_mse(near, "laplace")
    assert find_mse(near, "flipped-huber") < find_mse(near, "laplace")
    single = ln.compare(sensitivity=ln.L1(1), **budget)
    assert {"cactus", "flipped-huber"} <= {candidate.label for candidate in single.candidates}


@pytest.mark.parametrize(("most", "draws", "tiny"), thin([(3, 1, "1e-11"), (5, 5, "1e-9")], 1))
def test_staircases_that_a_tiny_delta_cuts_off_gain_nothing(
    most: int, draws: int, tiny: str
) -> None:
    question = Question(
        budget=Budget(epsilon="0.1", delta=tiny),
        sensitivities=(Linf(1, l0=most, whole=True) if draws > 1 else Integer(most),),
        dimension=20 if draws > 1 else 1,
    )
    (construction,) = [
        construction for construction in list_constructions(question) if construction.draws == draws
    ]
    geometric, staircase = (family_named(name) for name in ("geometric", "discrete-staircase"))
    known = fit_family(geometric, question, [construction])
    with pytest.raises(NotApplicable, match="simpler staircases"):
        list_worthwhile(staircase, question, [construction], known, to_beat=math.inf)
    (searched,) = fit_family(staircase, question, [construction])
    assert searched.mechanism.mse > known[0].mechanism.mse * (1 - 1e-3)
    larger = replace(question, budget=Budget(epsilon="0.1", delta="1e-6"))
    assert list_worthwhile(staircase, larger, [construction], known, to_beat=math.inf) == [
        construction
    ]
    if draws > 1:  # truncation gains at most 1 % there
        to_beat = 0.98 * known[0].mechanism.mse
        with pytest.raises(NotApplicable, match="a smaller loss than other noise"):
            list_worthwhile(staircase, larger, [construction], known, to_beat=to_beat)
        (searched,) = fit_family(staircase, larger, [construction])
        assert searched.mechanism.mse > 0.99 * known[0].mechanism.mse


@pytest.mark.dense
def test_spherical_noise_of_many_numbers_gains_little() -> None:
    asked = Question(
        budget=Budget(epsilon="0.1", delta="0.1"), sensitivities=(ln.L2(1),), dimension=30
    )
    constructions = list_constructions(asked)
    known = [
        candidate
        for name in ("gaussian", "l2")
        for candidate in fit_family(family_named(name), asked, constructions)
    ]
    best, slow = known[0].mechanism.mse, family_named("generalized-gamma")
    with pytest.raises(NotApplicable, match="a smaller loss than other noise"):
        list_worthwhile(slow, asked, constructions, known, to_beat=0.96 * best)
    for question, to_beat in ((asked, 0.97), (replace(asked, dimension=29), 0.86)):
        kept = list_worthwhile(slow, question, constructions, known, to_beat=to_beat * best)
        assert kept == constructions
    (searched,) = fit_family(slow, asked, constructions)
    assert (1 - 1 / 30) * best < searched.mechanism.mse < 0.98 * best


def test_a_design_is_left_out_where_whole_numbers_are_far_ahead() -> None:
    question = Question(
        budget=Budget(epsilon=12, delta="1e-3"), sensitivities=(Integer(5),), dimension=1
    )
    (construction,) = list_constructions(question)
    optimal = family_named("optimal")
    known = [
        candidate
        for name in ("geometric", "truncated-staircase")
        for candidate in fit_family(family_named(name), question, [construction])
    ]
    with pytest.raises(NotApplicable, match="a smaller loss than other noise"):
        list_worthwhile(optimal, question, [construction], known, to_beat=math.inf)
    (searched,) = fit_family(optimal, question, [construction], effort=Effort(gap=0.3))
    assert searched.mechanism.mse > 2 * known[0].mechanism.mse
    assert list_worthwhile(optimal, question, [construction], known[1:], to_beat=math.inf) == [
        construction
    ]
    for budget in (Budget(epsilon=12, delta="0.2"), Budget(epsilon=1, delta="1e-3")):
        other = replace(question, budget=budget)
        rivals = (
            known
            if budget.epsilon == 12
            else fit_family(family_named("truncated-staircase"), other, [construction])
        )
        assert list_worthwhile(optimal, other, [construction], rivals, to_beat=math.inf) == [
            construction
        ]
