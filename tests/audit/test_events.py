"""False findings are as rare as stated, even if a claim is only just true."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import leastnoise as ln

RUNS = 120


def _response(seed: int, epsilon: float) -> Any:
    """Randomized response at exactly this ε: a function that draws outputs for a value."""
    generator = np.random.default_rng(seed)
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda value, count: np.where(generator.random(count) < truth, value, 1 - value)


def _violations(claimed: str, error: str, detector: str) -> int:
    return sum(
        ln.audit_mechanism(
            _response(seed, 0.5), ln.Claim(epsilon=claimed), inputs=(0, 1), draws=2000,
            error=error, detectors=[detector],
        ).violated
        for seed in range(RUNS)
    )  # fmt: skip


@pytest.mark.dense
@pytest.mark.parametrize("detector", ["distinguishing", "precision", "reachability"])
@pytest.mark.parametrize("error", ["0.5", "0.1"])
def test_false_findings_are_no_more_than_stated(detector: str, error: str) -> None:
    """ε is exactly what is claimed: at any smaller claim a finding would be true."""
    result = _violations("0.5", error, detector)
    assert binom.sf(result - 1, RUNS, float(error)) > 1e-3
    assert _violations("0.2", error, detector) > 0.9 * RUNS


@pytest.mark.dense
@pytest.mark.parametrize("detector", ["distinguishing", "precision", "reachability"])
def test_events_are_not_tested_where_they_were_chosen(detector: str) -> None:
    """Some of hundreds of classes always seem to tell the inputs apart, on the half that chose."""
    claim, runs = ln.Claim(epsilon="0.01", sensitivity=ln.L1(1)), 40
    total = sum(
        ln.audit_mechanism(
            lambda value, count, seed=seed: np.random.default_rng([seed, value]).normal(size=count),
            claim, inputs=(0, 1), draws=2000, error="0.5", detectors=[detector],
        ).violated
        for seed in range(runs)
    )  # fmt: skip
    assert binom.sf(total - 1, runs, 0.5) > 1e-3


def test_lower_bounds_hold_and_come_near() -> None:
    result = ln.audit_mechanism(
        _response(1, 0.5), ln.Claim(epsilon="0.3"), inputs=(0, 1), draws=200_000,
        detectors=["distinguishing"],
    )  # fmt: skip
    assert result.violated
    assert 0.45 < result.epsilon_lower < 0.5
    # δ(0.3) of randomized response with ε = 0.5
    truth = (math.exp(0.5) - math.exp(0.3)) / (1 + math.exp(0.5))
    assert 0.75 * truth < result.delta_lower < truth


def test_a_delta_that_is_claimed_is_allowed() -> None:
    def leaks(value: int, count: int) -> Any:
        generator = np.random.default_rng(value)
        return np.where(generator.random(count) < 0.01, 2 + value, 0)

    problem: Any = {"inputs": (0, 1), "draws": 100_000, "detectors": ["distinguishing"]}
    assert not ln.audit_mechanism(leaks, ln.Claim(epsilon=1, delta="0.01"), **problem).violated
    assert ln.audit_mechanism(leaks, ln.Claim(epsilon=1, delta="0.005"), **problem).violated
