"""A family calibrates at the limits of budgets, or says why not; it never crashes."""

from __future__ import annotations

from itertools import product

import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.errors import NotCertified, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named

EPSILONS = ("0", "1e-300", "1e-9", "1", "37", "300", "1000", "100000")
DELTAS = ("0", "1e-300", "1e-100", "1e-9", "0.5", "0.999999", "0.99999999999999999999")
DIMENSIONS = {"gaussian": (1, 7), "laplace": (1, 7), "l2": (2, 7, 10**6)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "gaussian",
        "laplace",
        "l2",
        "truncated-staircase",
        "tulap",
        "staircase",
        "truncated-laplace",
        pytest.param("flipped-huber", marks=pytest.mark.slow),  # ten seconds
    ],
)
def test_calibrates_or_refuses(name: str) -> None:
    for epsilon, delta in product(EPSILONS, DELTAS):
        if epsilon == delta == "0":
            continue
        budget = Budget(epsilon=epsilon, delta=delta)
        for dimension in DIMENSIONS.get(name, (1,)):
            try:
                mechanism = calibrate_family(
                    family_named(name),
                    Question(budget=budget, sensitivities=(L2(1),), dimension=dimension),
                )
            except NotCertified as error:
                pytest.fail(f"{epsilon} {delta} {dimension}: {error}")
            except Refused:
                continue
            else:
                # in balls: near 1 the interval, rounded outward to floats, may be an ulp too high
                proved = prove_delta(mechanism.certificate.noise, L2(1), budget.epsilon)
                assert proved.certainly_at_most(budget.delta)
