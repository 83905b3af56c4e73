"""Many outputs at once of our mechanisms: they are on the grid, with the law of releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.audit.audit import draw_one_by_one, draws_of

MADE: dict[str, tuple[dict[str, Any], Any]] = {
    "gaussian": ({"delta": "1e-5", "sensitivity": ln.L2(1)}, 700.25),
    "laplace": ({"sensitivity": ln.L1(1), "dimension": 3}, np.array([5.5, -200.0, 900.0])),
    "staircase": ({"sensitivity": ln.L1(1)}, 700.25),
    "geometric": ({"sensitivity": ln.Integer(1)}, 700.0),
    "l2": ({"delta": "1e-5", "sensitivity": ln.L2(1), "dimension": 2}, np.array([5.5, 900.0])),
    "generalized-gamma": ({"delta": "1e-5", "sensitivity": ln.L2(1)}, 700.25),
}


@pytest.mark.dense
@pytest.mark.parametrize("name", MADE)
def test_outputs_are_releases_of_the_input(name: str) -> None:
    problem, value = MADE[name]
    mechanism = ln.calibrate(name, epsilon=1, **problem)
    outputs = np.asarray(draws_of(mechanism)(value, 200)).reshape(200, -1)
    deviation = np.sqrt(mechanism.variances)
    assert (np.abs(outputs.mean(axis=0) - value) < 6 * deviation / np.sqrt(200)).all()
    spread = outputs.std(axis=0) / deviation
    assert ((spread > 0.5) & (spread < 2)).all()
    steps = outputs / float(mechanism.grid)
    assert np.array_equal(steps, np.rint(steps))
    assert len(np.unique(outputs[:, 0])) > 5


def test_one_by_one_calls_for_each_output() -> None:
    calls: list[int] = []

    def mechanism(value: int) -> int:
        calls.append(value)
        return value

    assert draw_one_by_one(mechanism)(7, 3).tolist() == [7, 7, 7]
    assert calls == [7, 7, 7]
