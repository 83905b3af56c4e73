"""The tables in experiments/accounting: ours are recomputed, others' compared with exact δ."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from tests.experiments.scripts import FOLDER, script

CASES = script("accounting", "cases")
# ε(1e-5) by code that is not part of leastnoise; of samples, the larger of the two directions
KNOWN = {
    ("laplace", "10000"): 0.99939168,
    ("gaussian", "1000"): 3.69974,
    ("laplace", "1000"): 16.21372,
}


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / "accounting" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


EPSILONS = rows("epsilons.csv")


def gaussian_delta(sigma: float, count: int, epsilon: str) -> Any:
    """δ of `count` Gaussian releases by Balle & Wang (2018), in 60 digits."""
    with mp.workdps(60):
        mu, e = sqrt(mpf(count)) / mpf(sigma), mpf(epsilon)
        t, half = e / mu - mu / 2, sqrt(mpf(2))
        return erfc(t / half) / 2 - exp(e) * erfc((t + mu) / half) / 2


@pytest.mark.grid
@pytest.mark.parametrize("index", [0, 1, 2, 3, 4, 7])
def test_our_ends_are_computed_again(index: int) -> None:
    case, row = CASES.CASES[index], EPSILONS[index]
    assert (row["noise"], row["k"], row["q"]) == (case.noise, str(case.count), case.rate)
    interval = case.ours.epsilon(delta="1e-5", accuracy=0)
    committed = [float(row[f"ours_{end}"]) for end in ("lower", "upper")]
    # an interval that got narrower with the code is as good
    assert committed[0] <= interval.lower * (1 + 1e-8)
    assert interval.upper <= committed[1] * (1 + 1e-8)


def test_our_ends_hold_what_is_known() -> None:
    for row in EPSILONS:
        low, high = float(row["ours_lower"]), float(row["ours_upper"])
        if row["noise"] == "gaussian" and row["q"] == "1":
            assert (low, high) == (1, 1)
        sampled = row["q"] != "1"
        known = KNOWN.get((row["noise"], row["k"])) if sampled or row["k"] == "10000" else None
        if known:
            assert low <= known * (1 + 1e-6)
            assert known <= high * (1 + 1e-6)
            assert high - low <= 4e-4 * known


def test_the_others_agree_where_delta_is_not_small() -> None:
    for row in EPSILONS:
        for name in ("dp_accounting", "prv_accountant"):
            if row[f"{name}_upper"]:
                assert float(row[f"{name}_lower"]) <= float(row["ours_upper"])
                assert float(row["ours_lower"]) <= float(row[f"{name}_upper"])


def test_small_deltas_are_reported_too_small_and_by_how_much() -> None:
    case = CASES.IN_THE_TAIL
    result = rows("tails.csv")
    for row in result:
        true = gaussian_delta(case.scale, case.count, row["epsilon"])
        assert true == pytest.approx(float(row["true_lower"]), rel=1e-5)
        assert true == pytest.approx(float(row["true_upper"]), rel=1e-5)
        assert float(row["over_delta"]) == pytest.approx(
            float(true) / float(row["delta"]), rel=1e-4
        )
    assert [float(row["over_delta"]) > 5 for row in result] == [False, False, True, True]
