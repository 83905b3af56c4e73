"""`Question`: what a fit sees of the arguments of `calibrate`."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.question import Question

BUDGET = Budget(epsilon=1, delta="1e-5")


def test_the_smallest_ball_counts() -> None:
    both = Question(budget=BUDGET, sensitivities=(L2(5), L1(3)), dimension=4)
    assert (both.radius("l2"), both.radius("l1"), both.radius("integer")) == (3, 3, None)
    assert both.through(L2(5), None).radius("l2") == 5
    assert Question(budget=BUDGET, sensitivities=(Integer(2), L2(3))).radius("l2") == 2


def test_behind_cells_every_cell_that_moves_is_a_draw() -> None:
    offered = Linf(2, l0=3, whole=True)
    asked = Question(budget=BUDGET, sensitivities=(offered,), dimension=9, compositions=5)
    assert asked.behind_geometry(offered) is asked
    cells = asked.through(offered, CellGeometry(count=9))
    assert (cells.noise_dimension, asked.noise_dimension) == (1, 9)
    behind = cells.behind_geometry(Integer(2))
    assert (behind.compositions, behind.dimension, behind.sensitivity) == (15, 1, Integer(2))
    assert behind.geometry is None


def test_one_release_of_all_rows_may_spend_more_than_one_of_a_sample() -> None:
    asked = Question(budget=BUDGET, compositions=9, sampling_rate=Fraction(1, 10))
    item = asked.one_at(Budget(epsilon="0.1", delta="1e-6"))
    assert item.once
    assert not asked.once
    assert item.budget.delta == Fraction("1e-5")
    assert float(item.budget.epsilon) == pytest.approx(0.71867, abs=1e-5)  # ln(1 + 10(e^0.1 − 1))
    assert asked.one_at(Budget(epsilon="0.1", delta="0.1")).budget.delta == Fraction(1, 2)
    with pytest.raises(Refused, match="9 samples"):
        asked.one_at(Budget(epsilon="0.1", delta=1 - Fraction(9, 10) ** 9))


def test_the_same_question_is_found_again() -> None:
    known = {Question(budget=BUDGET, fixed={"gamma": Fraction(1, 2)}): 1}
    assert known[Question(budget=BUDGET, fixed={"gamma": Fraction(1, 2)})] == 1
    assert Question(budget=BUDGET) not in known
