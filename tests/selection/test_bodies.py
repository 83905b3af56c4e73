"""The noise in the shape of a body that a comparison offers, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from leastnoise.guarantees.sensitivity import L1, L2, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Linf
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.public import calibrate, compare, least_noise

BODIES = {
    "k-norm",
    "k-staircase",
    "truncated-k-staircase",
    "two-sided-staircase",
    "two-sided-laplace",
}
SLOW = {"generalized-gamma", "optimal-radial", "spherical-staircase"}


def names(found: Comparison) -> list[str]:
    return [mechanism.noise.name for mechanism in found.mechanisms]


def reasons(found: Comparison) -> dict[str, str]:
    return {skipped.name: skipped.why for skipped in found.skipped}


def test_ten_counting_queries() -> None:
    comparison = compare(epsilon="1", delta="1e-5", sensitivity=CountingQueries(dimension=10))
    two_sided, gauge = ["two-sided-staircase", "two-sided-laplace"], ["k-staircase", "k-norm"]
    assert names(comparison)[:5] == [*two_sided, "truncated-k-staircase", *gauge]
    best = comparison.candidates[0]
    assert best.label == "two-sided-staircase"
    assert best.mechanism.mse / 10 == pytest.approx(20.397, abs=1e-3)
    assert best.mechanism.certificate.delta.upper == 0.0
    assert {"l2", "gaussian"} <= set(names(comparison))
    why = "two-sided-laplace noise has 57 % of the mse of l2 (ellipse) noise"
    assert all(why in reasons(comparison)[name] for name in SLOW)
    assert [skipped.name for skipped in comparison.skipped] == sorted(reasons(comparison))


def test_a_family_that_is_asked_for_is_tried() -> None:
    comparison = compare(
        epsilon="1",
        delta="1e-5",
        sensitivity=CountingQueries(dimension=10),
        parameters={"generalized-gamma": {"alpha": "9", "p": "1"}},
    )
    assert "generalized-gamma (ellipse)" in [candidate.label for candidate in comparison.candidates]


@pytest.mark.dense
def test_nothing_is_left_out_where_the_shape_gains_little() -> None:
    """Thirty conditions at delta = 1e-3: the ellipse with a Gaussian is as good as the body."""
    queries = CountingQueries(dimension=30)
    comparison = compare(
        epsilon="1",
        delta="1e-3",
        sensitivity=queries,
        parameters={"spherical-staircase": {"gamma": "0.5"}},  # a search of it takes long
    )
    assert {"generalized-gamma", "l2", "gaussian"} <= set(names(comparison))


@pytest.mark.parametrize(
    ("sensitivity", "dimension", "offered", "skipped"),
    [
        (L2(1), 1, [], {"k-norm": "laplace", "k-staircase": "staircase"}),
        (L2(1), 4, ["k-staircase"], {"k-norm": "on this body it is l2"}),
        (L1(1), 4, ["k-staircase"], {"k-norm": "on this body it is laplace"}),
        (Linf(1, l0=4), 4, ["k-norm", "k-staircase"], {"two-sided-laplace": "adds or removes"}),
        (
            CountingQueries(dimension=4, max_nonzero=1),
            4,
            ["k-staircase", "two-sided-staircase"],
            {"k-norm": "on this body it is laplace"},
        ),
        (
            CountingQueries(dimension=4, neighbours="replace-one"),
            4,
            ["k-norm", "k-staircase"],
            {"two-sided-staircase": "adds or removes"},
        ),
    ],
    ids=["one number", "ball", "cells", "box", "one condition", "replaced"],
)
def test_one_law_is_offered_once(
    sensitivity: Sensitivity, dimension: int, offered: list[str], skipped: dict[str, str]
) -> None:
    comparison = compare(epsilon="2", sensitivity=sensitivity, dimension=dimension)
    assert sorted(set(names(comparison)) & BODIES) == offered
    labels = [candidate.label for candidate in comparison.candidates]
    assert len(labels) == len(set(labels))
    for name, why in skipped.items():
        assert why in reasons(comparison)[name]


@pytest.mark.slow
def test_a_large_delta_is_spent_on_an_end() -> None:
    asked: dict[str, Any] = {"epsilon": "1", "delta": "1e-2"}
    box = compare(sensitivity=Linf(1, l0=2), dimension=2, **asked)
    assert names(box)[:2] == ["truncated-k-staircase", "k-staircase"]
    assert box.mechanisms[0].mse < 0.881 * box.mechanisms[1].mse
    ball = compare(sensitivity=L2(1), dimension=2, **asked)
    assert "on this body it is spherical-staircase" in reasons(ball)["truncated-k-staircase"]


def test_of_several_sensitivities_the_best_body_is_offered() -> None:
    both = (L2(2), L1(4))
    comparison = compare(epsilon="1", sensitivity=both, dimension=5)
    (law,) = [
        mechanism for mechanism in comparison.mechanisms if mechanism.noise.name == "k-staircase"
    ]
    alone = [
        calibrate("k-staircase", epsilon="1", sensitivity=item, dimension=5).mse for item in both
    ]
    assert law.mse == min(alone)


def test_an_error_without_a_closed_form_is_unknown() -> None:
    comparison = compare(epsilon="1", sensitivity=CountingQueries(dimension=3, with_total=True))
    text = {line.split()[0]: line.split()[-1] for line in str(comparison).splitlines()[1:7]}
    assert text["two-sided-staircase"] == text["two-sided-laplace"] == "unknown"
    assert text["k-norm"] != "unknown"
    by_mae = compare(
        epsilon="1", sensitivity=CountingQueries(dimension=3, with_total=True), loss="mae"
    )
    assert "two-sided-staircase" not in names(by_mae)
    assert "Use the loss mse" in reasons(by_mae)["two-sided-staircase"]


@pytest.mark.dense
def test_many_queries_end_in_an_answer() -> None:
    """Once, a family whose sums were too long was taken for a malformed request."""
    best = least_noise(epsilon="1", sensitivity=CountingQueries(dimension=3000))
    assert best.noise.name == "two-sided-laplace"
