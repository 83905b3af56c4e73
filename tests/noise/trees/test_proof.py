from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import leastnoise as ln
from leastnoise.balls.core import precision
from leastnoise.errors import CertificateRejected, NotApplicable, NotCertified
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.proof import delta_ball
from tests.noise.trees.oracle import (
    all_points,
    enumerated,
    largest_cost,
    largest_loss,
    moved_by_rows,
)

TREES: tuple[tuple[tuple[int, ...], tuple[str, ...]], ...] = (
    ((3,), ("0.3", "0.7")),
    ((2, 2), ("0.2", "0.3", "0.5")),
    ((2, 2), ("0", "0.1", "0.9")),
    ((1, 3), ("0.4", "0.3", "0.3")),
    ((2, 1, 2), ("0.1", "0.2", "0.3", "0.4")),
)
ONE = ln.RowCounts(1)
REPLACED = ln.RowCounts(1, neighbours="replace-one")


def _law(tree: tuple[tuple[int, ...], tuple[str, ...]], scale: Fraction) -> Agreeing:
    return Agreeing(scale=scale, branches=tree[0], shares=tree[1])


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("most", [1, 2])
def test_a_cost_is_the_most_that_any_shift_moves_the_exponent(
    tree: Any, replaced: bool, most: int
) -> None:
    law = _law(tree, Fraction(1))
    shifts = moved_by_rows(law.dimension, most, replaced=replaced)
    assert law.cost(Rows(most=most, replaced=replaced)) == largest_cost(law, shifts)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("replaced", [False, True])
def test_no_output_tells_neighbouring_tables_apart_by_more_than_epsilon(
    tree: Any, replaced: bool
) -> None:
    """All shifts between neighbours, all near outputs; in rationals alone."""
    epsilon = Fraction(3, 4)
    law = _law(tree, Fraction(1))
    law = law.scaled(law.cost(Rows(most=1, replaced=replaced)) / epsilon)
    outputs = all_points(law.dimension, 3)
    shifts = moved_by_rows(law.dimension, 1, replaced=replaced)
    assert largest_loss(law, shifts, outputs) == epsilon
    assert largest_loss(law.scaled(Fraction(99, 100)), shifts, outputs) > epsilon


@pytest.mark.dense
@pytest.mark.parametrize("tree", TREES[:3])
@pytest.mark.parametrize("epsilon", ["0", "0.3", "0.9", "1.3", "2"])
def test_the_curve_is_above_that_of_every_shift(tree: Any, epsilon: str) -> None:
    law = _law(tree, Fraction(1, 2))
    points, chances = enumerated(law, 7)
    factor = math.exp(float(epsilon))
    with precision():
        stated = float(delta_ball(law, shift=Fraction(1), epsilon=Fraction(epsilon)).upper())
    for shift in moved_by_rows(law.dimension, 1, replaced=False):
        moved = np.exp(law.log_density(points - shift))
        assert np.maximum(chances - factor * moved, 0).sum() <= stated + 1e-4  # beyond the points


def test_the_curve_is_that_of_randomised_response() -> None:
    law = _law(TREES[0], Fraction(1))
    with precision(), mp.workdps(30):
        p = mp.e**2 / (1 + mp.e**2)
        exact = p * (1 - mp.exp(mp.mpf("0.5") - 2))
        enclosure = delta_ball(law, shift=Fraction(2), epsilon=Fraction(1, 2))
        assert abs(mp.mpf(enclosure.mid().str(30, radius=False)) - exact) < 1e-25
    assert delta_ball(law, shift=Fraction(2), epsilon=Fraction(2)).is_zero()


@pytest.mark.parametrize(
    ("sensitivity", "scale"),
    [
        (ONE, Fraction(1)),
        (REPLACED, Fraction(8, 5)),
        (ln.Linf(1, whole=True), Fraction(1)),
        (ln.Linf(4, whole=True), Fraction(4)),
        (ln.Linf(2, l0=3, whole=True), Fraction(6)),
        (ln.RowCounts(3), Fraction(3)),
        (ln.RowCounts(3, neighbours="replace-one"), Fraction(24, 5)),
    ],
)
def test_the_scale_is_the_least_for_each_sensitivity(sensitivity: Any, scale: Fraction) -> None:
    shape: Any = {"branches": (2, 3), "shares": ("0.2", "0.3", "0.5")}
    mechanism = ln.calibrate(
        "agreeing", epsilon=1, sensitivity=sensitivity, dimension=6, parameters=shape
    )
    assert mechanism.noise.scale == scale
    assert mechanism.certificate.delta.upper == 0
    with pytest.raises(NotCertified):
        ln.Certificate.prove(
            budget=ln.Budget(epsilon="0.999999999999"),
            noise=mechanism.noise,
            sensitivity=sensitivity,
        )


@pytest.mark.parametrize(
    "sensitivity",
    [
        ln.L1(1),
        ln.L2(1),
        ln.Linf(1),
        ln.Linf(1, l0=2),
        ln.CountingQueries(dimension=6, max_nonzero=1),  # which need not be whole
        ln.CountingQueries(dimension=6, max_nonzero=1, neighbours="replace-one"),
        ln.Groups(groups=2, dimension=2),
        ln.Vertices([[1, 0, 0, 0, 0, 0]]),
        ln.Integer(1),
    ],
)
def test_all_other_sensitivities_are_refused(sensitivity: Any) -> None:
    law = Agreeing(scale=1, branches=(2, 3), shares=("0.2", "0.3", "0.5"))
    with pytest.raises(NotApplicable, match="each in one cell"):
        ln.Certificate.prove(budget=ln.Budget(epsilon=100), noise=law, sensitivity=sensitivity)


def _certificate(sensitivity: Any, epsilon: str = "1") -> Any:
    shape: Any = {"branches": (2, 3), "shares": ("0.2", "0.3", "0.5")}
    return ln.calibrate(
        "agreeing", epsilon=epsilon, sensitivity=sensitivity, dimension=6, parameters=shape
    ).certificate


@pytest.mark.parametrize("sensitivity", [ONE, REPLACED])
def test_a_certificate_verifies_from_its_file(sensitivity: Any) -> None:
    claim = _certificate(sensitivity, "0.7")
    read = ln.Certificate.from_json(claim.to_json())
    assert read == claim
    assert read.verify().upper == 0


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("scale", "0.999999"),
        ("shares", ["0.2", "0.3", "0.500001"]),
        ("shares", ["0.2", "0.4", "0.5"]),
        ("shares", ["0.5", "0.5", "0"]),
        ("shares", ["-0.1", "0.3", "0.5"]),
        ("shares", ["0.5", "0.5"]),
        ("shares", "0.2"),
        ("branches", [2, 4]),
        ("branches", [2, 3, 1]),
        ("branches", [6]),
        ("branches", [2, 3.0]),
        ("branches", []),
        ("decay", "1"),
    ],
)
def test_an_edited_certificate_is_rejected(where: str, value: Any) -> None:
    record = json.loads(_certificate(ONE).to_json())
    record["noise"]["parameters"][where] = value
    with pytest.raises(CertificateRejected):
        ln.Certificate.from_json(json.dumps(record)).verify()


def test_shares_above_those_that_a_replaced_row_allows_are_rejected() -> None:
    record = json.loads(_certificate(REPLACED).to_json())
    record["noise"]["parameters"]["shares"] = ["0.1", "0.4", "0.5"]  # of sum 1 as before
    with pytest.raises(CertificateRejected):
        ln.Certificate.from_json(json.dumps(record)).verify()
    record["noise"]["parameters"]["shares"] = ["0.3", "0.2", "0.5"]
    assert ln.Certificate.from_json(json.dumps(record)).verify().upper == 0


def test_budgets_of_several_releases_add_up() -> None:
    shape: Any = {"branches": (2, 3), "shares": ("0.2", "0.3", "0.5")}
    both = ln.calibrate(
        "agreeing", epsilon=1, sensitivity=ONE, dimension=6, compositions=3, parameters=shape
    )
    assert both.noise.scale == 3
    assert both.certificate.delta.upper == 0
    ledger = both.compose(3).epsilon(delta="1e-9")
    assert ledger.upper <= 1


def test_a_smaller_epsilon_for_an_accuracy_keeps_the_tree() -> None:
    shape: Any = {"branches": (2, 3), "shares": ("0.2", "0.3", "0.5")}
    noise = ln.calibrate(
        "agreeing", epsilon=3, sensitivity=ONE, dimension=6, parameters=shape
    ).at_accuracy(9)
    assert noise.noise.parameters == {
        "branches": (2, 3),
        "shares": (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)),
    }
    assert noise.certificate.budget.epsilon < 1
    assert noise.accuracy(0.95).max() == 9  # whole, and rounding to the grid changes nothing
