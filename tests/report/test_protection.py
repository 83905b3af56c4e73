"""What a page promises to a person: no more than the guarantee gives."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.report import page
from leastnoise.tables.spec.model import Privacy
from tests.tables.test_release import make_rows, release


@pytest.mark.dense
@pytest.mark.parametrize(
    ("epsilon", "little", "weak"), [(1, True, False), (2, False, False), (20, False, True)]
)
def test_no_more_is_promised_than_epsilon_gives(
    tmp_path: Path, epsilon: int, little: bool, weak: bool
) -> None:
    folder = make_rows(tmp_path)
    release(folder, privacy={"unit": "row", "epsilon": epsilon}, contribution=None).run()
    text = page.report(folder / "out")
    assert ("learn little" in text) == little
    assert ("a similar probability" in text) == little
    assert ("the promise is weak" in text) == weak


@pytest.mark.dense
@pytest.mark.parametrize(
    ("neighbours", "other", "otherwise"),
    [
        ("add-remove", "without it", "without that row"),
        ("replace-one", "with other values in its place", "with other values of that row"),
    ],
)
def test_the_promise_is_about_the_neighbours_of_the_spec(
    tmp_path: Path, neighbours: Neighbours, other: str, otherwise: str
) -> None:
    folder = make_rows(tmp_path)
    privacy = {"unit": "row", "epsilon": 1, "delta": "0.01", "neighbours": neighbours}
    release(folder, privacy=privacy, contribution=None).run()
    text = page.report(folder / "out")
    # δ is added to a probability: it isn't the probability of results that are likelier
    factor = "The probability of any result with any one row is at most 2.72 times the probability"
    assert f"{factor} {other}, plus 0.01." in text
    assert f"{otherwise}, the same tables would have a similar probability" in text


@pytest.mark.parametrize(
    ("epsilon", "delta", "neighbours"),
    [("1", 0, "add-remove"), ("0.1", "1e-6", "add-remove"), ("5", "0.01", "replace-one")],
)
def test_no_guess_is_surer_than_is_said(epsilon: str, delta: str, neighbours: Neighbours) -> None:
    budget = ln.Budget(epsilon=epsilon, delta=delta)
    proved = ln.Interval(0, float(budget.delta))
    # the two outcomes of four that (ε, δ) lets differ most: guess what is likelier
    e, d = math.exp(float(epsilon)), float(delta)
    item = [d, (1 - d) * e / (1 + e), (1 - d) / (1 + e), 0]
    best = sum(map(max, item, item[::-1])) / 2
    bound = float(page.most_right(budget.epsilon, proved))
    assert best <= bound * (1 + 1e-15)
    assert bound == pytest.approx(best, rel=1e-12)
    privacy = Privacy(unit="row", epsilon=budget.epsilon, neighbours=neighbours)
    text = page.surest_guess(budget, proved, privacy, "row")
    (shown,) = re.findall(r"at most ([\d.]+) %", text)
    assert best <= float(shown) / 100 <= best + 0.001
    assert ("in at most" in text) == bool(budget.delta)


def test_of_large_epsilons_nothing_is_promised() -> None:
    assert page.most_right(Fraction(10**6), ln.Interval(0, 0)) == 1
    assert page.most_right(Fraction(99), ln.Interval(0, 0)) <= 1
