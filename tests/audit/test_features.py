"""The features of outputs that detectors use, against values that were computed by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise.audit import repeats
from leastnoise.audit.claim import Finding, Subject
from leastnoise.audit.features import (
    _is_reachable,
    _kind,
    _laplace_inversion,
    _phase,
    _range,
    _significand,
    _steps,
)
from leastnoise.audit.repeats import _equal_sums, _repeats, _signs, detect_repeats
from tests.audit.scenarios import SCENARIOS


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_finest_power_of_two(x: float) -> None:
    exponent, zeros = (int(item[0]) for item in _significand(np.array([x])))
    if x == 0:
        assert zeros == 53
        return
    step = Fraction(2) ** (exponent - 53 + zeros)
    assert (Fraction(x) / step).denominator == 1
    assert Fraction(x) / step % 2 == 1


@given(
    st.integers(1, 1 << 53),
    st.floats(0.01, 1000),
    st.floats(-1000, 1000),
    st.sampled_from([1.0, -1.0]),
)
def test_what_textbook_noise_reaches_is_reachable(
    k: int, scale: float, x: float, sign: float
) -> None:
    """Unless y has so few bits left that too many k would have to be tried."""
    y = x + sign * -scale * math.log(k / (1 << 53))
    slack = 2 * (math.ulp(y) + math.ulp(y - x) + math.ulp(x))
    if slack / scale * k < 150:
        assert _is_reachable(y, x, scale)


@pytest.mark.parametrize("x", [0.0, 1.0, 0.1])
def test_every_output_of_textbook_noise_is_inverted(x: float) -> None:
    """Which k it was isn't clear from y alone: those around have to be tried."""
    uniforms = np.random.default_rng(4).integers(1, 1 << 53, 300).tolist()
    outputs = [x + 10 * math.log(k / (1 << 53)) for k in uniforms]
    assert all(_is_reachable(y, x, 10.0) for y in outputs)
    assert np.mean([_is_reachable(y, x + 1, 10.0) for y in outputs]) < 0.7


def test_what_it_does_not_reach_is_not() -> None:
    """k = 1 gives 53·ln 2·scale and k = 2 52·ln 2·scale: nothing between."""
    for steps in (52.5, 51.3, 60.0):
        assert not _is_reachable(steps * math.log(2), 0.0, 1.0)
    assert not _is_reachable(math.inf, 0.0, 1.0)


def test_kinds_ranges_and_phases() -> None:
    x = np.array([[math.nan], [-math.inf], [math.inf], [3.0], [3.5]])
    assert _kind(0).labels(x).tolist() == [0, 1, 2, 3, 4]
    seen = [np.array([0.0, 1.0]), np.array([0.5, 2.0])]
    cells = _range(0, seen).labels(np.array([[-1.0], [0.0], [0.2], [0.7], [2.0], [3.0]]))
    assert len(set(cells.tolist())) == 6
    assert (np.diff(cells) > 0).all()
    phases = _phase(0, 0.5).labels(np.array([[1.5], [1.625], [-0.375], [1.4999999]]))
    assert phases.tolist() == [32, 8, 8, 0]


def test_a_step_that_the_outputs_show_is_tried() -> None:
    outputs = np.round(np.random.default_rng(1).normal(0, 1, 10_000), 1)
    assert any(step == pytest.approx(0.1) for step in _steps([outputs, outputs + 0.03]))


@pytest.mark.grid
@pytest.mark.parametrize(
    ("scenario", "names"),
    [
        ("a draw that is repeated", {"Pairs of equal draws in one run", "Draws 1 apart"}),
        ("a draw that is negated", {"Sums of draws of one run repeat", "Draws 1 apart"}),
        ("draws that share a part", {"Draws 1 apart"}),
        ("one number for two coordinates", {"Differences of coordinates 0 and 1 repeat"}),
    ],
)
def test_each_repetition_is_seen_by_its_own_test(scenario: str, names: set[str]) -> None:
    item = next(entry for entry in SCENARIOS if entry.name == scenario)
    outputs = np.asarray(item.mechanism(item.inputs[0], 100_000)).reshape(100_000, -1)
    subject = Subject(
        claim=ln.Claim(epsilon=1, noise=ln.noise.Gaussian(scale=1, dimension=outputs.shape[1])),
        inputs=item.inputs, outputs=(outputs, outputs), draw=item.mechanism,
        error=Fraction(1, 10**9),
    )  # fmt: skip
    tests = [*_repeats(subject), *_signs(subject)]
    seen = {test.name for test in tests if test.refutes(Fraction(1, 10**12))}
    for name in names:
        assert any(text.startswith(name) for text in seen), seen


def test_sums_that_are_rounded_say_nothing() -> None:
    draws = np.random.default_rng(2).integers(-5, 6, 1000).astype(float)
    assert _equal_sums(draws, draws[::-1]) is not None
    assert _equal_sums(2.0**53 - 20 + draws, 2.0**53 - 20 + draws[::-1]) is None


def test_a_sum_that_is_fixed_is_no_fault_where_nobody_says_independent() -> None:
    """A histogram that is made to add up has such a sum."""
    noise = np.random.default_rng(3).laplace(0, 1, 20_000)
    outputs = np.column_stack([noise, 100 - noise])
    subject = Subject(
        claim=ln.Claim(epsilon=2), inputs=(0.0, 1.0), outputs=(outputs, outputs),
        draw=lambda value, count: outputs[:count], error=Fraction(1, 10**9),
    )  # fmt: skip
    assert not any("coordinates" in test.name for test in _repeats(subject))


@pytest.mark.parametrize("dimension", [1, 2])
def test_textbook_noise_is_inverted_for_one_number_alone(dimension: int) -> None:
    outputs = np.array([math.log(0.5), 0.0, 40 * math.log(2)])[:, None].repeat(dimension, axis=1)
    noise = ln.noise.Laplace(scale=1, dimension=dimension)
    ends = (0.0, 1.0) if dimension == 1 else (np.zeros(dimension), np.ones(dimension))
    subject = Subject(
        claim=ln.Claim(epsilon=1, noise=noise), inputs=ends, outputs=(outputs, outputs),
        draw=lambda value, count: outputs[:count], error=Fraction(1, 10**9),
    )  # fmt: skip
    feature = _laplace_inversion(subject)
    if dimension > 1:
        assert feature is None
        return
    assert feature is not None
    expected = [2 * _is_reachable(y, 0.0, 1.0) + _is_reachable(y, 1.0, 1.0) for y in outputs[:, 0]]
    assert feature.labels(outputs).tolist() == expected
    assert expected[0] >= 2


@pytest.mark.parametrize("verdict", [None, "nothing found", "violation"])
def test_what_cancels_is_told_only_where_it_is_a_violation(
    verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = np.zeros((10, 1))
    subject = Subject(
        claim=ln.Claim(epsilon=1), inputs=(0.0, 1.0), outputs=(outputs, outputs),
        draw=lambda value, count: outputs[:count], error=Fraction(1, 10**9),
    )  # fmt: skip
    apart = Finding(
        detector="repeats", verdict=verdict, claim="c", statement="Cancelled.",
        error=1e-9, would_detect="w",
    )  # fmt: skip
    for name, value in (("_repeats", []), ("_signs", []), ("_would_detect", "w")):
        monkeypatch.setattr(repeats, name, lambda *_, value=value: value)
    monkeypatch.setattr(repeats, "_test_differences", lambda _: apart if verdict else None)
    result = detect_repeats(subject)
    assert (result.statement == "Cancelled.") == (verdict == "violation")
    assert result.claim == "every draw is fresh"
