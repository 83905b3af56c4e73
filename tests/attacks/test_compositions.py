"""The composed δ of random releases, against convolutions that are independent of src."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from tests.attacks import losses, oracles, truth, vectors
from tests.attacks.guard import PARTS, Guard
from tests.attacks.test_laws import decimal, sensitivity, shape

Case = dict[str, Any]

# Of those the longest shift is the worst at every ε, so that losses of it alone compose.
_WEIGHTS = {
    "gaussian": 60,
    "laplace": 12,
    "truncated-laplace": 8,
    "l2": 8,
    "staircase": 6,
    "geometric": 6,
    "truncated-staircase": 8,
    "tulap": 8,
    "flipped-huber": 3,
}
_SPELLINGS = (int, np.int64, np.uint8, np.int16, np.uint64)


def draw_case(random: Random) -> Case:
    kinds = random.choices([*_WEIGHTS], [*_WEIGHTS.values()], k=random.choice((1, 1, 2)))
    if random.random() < 0.4:
        kinds = ["gaussian"] * len(kinds)
    return {
        "releases": [_release(random, name) for name in kinds],
        "epsilon": random.choice(("0", decimal(random, 0.05, 8))),
        "spelling": random.randrange(len(_SPELLINGS)),
    }


def _release(random: Random, name: str) -> dict[str, Any]:
    parameters = shape(random, name, "1")
    if "radius" in parameters:
        parameters["radius"] = decimal(random, 2, 25)
    return {
        "name": name,
        "bound": str(random.randint(1, 3)) if name == "geometric" else decimal(random, 0.05, 1),
        "dimension": random.choice((2, 3, 6)) if name == "l2" else 1,
        "parameters": parameters,
        "count": random.choice((1, 2, 3, 5, 8, random.randint(1, 200))),
    }


def mechanism(release: dict[str, Any]) -> ln.Mechanism:
    """Return noise of scale 1, proved at whatever δ it has at ε = 1."""
    name, dimension = release["name"], release["dimension"]
    ball = sensitivity(name, release["bound"])
    law = {"scale": "1", "parameters": release["parameters"]}
    at_one = ln.privacy_profile(name, epsilons=[1], sensitivity=ball, dimension=dimension, **law)[0]
    blank = ln.calibrate("gaussian", epsilon=1, delta="0.1", sensitivity=ball, dimension=dimension)
    record = blank.certificate.to_record()
    record["noise"] = {"name": name, "parameters": {"scale": "1", **release["parameters"]}}
    record |= {"delta": repr(min(1 - 2**-53, 1.001 * at_one.upper + 1e-12)), "grid": None}
    if "delta_interval" in record:
        record["delta_interval"] = [at_one.lower.hex(), at_one.upper.hex()]
    return ln.Mechanism(ln.Certificate.from_record(record))


def expected(releases: Sequence[dict[str, Any]], epsilon: float) -> truth.Bounds:
    """Return bounds on δ(ε) of all of them together."""
    if all(release["name"] == "gaussian" for release in releases):
        square = sum(Fraction(release["bound"]) ** 2 * release["count"] for release in releases)
        scale = vectors.gaussian(math.sqrt(square), epsilon)
        return scale * (1 - 1e-9), scale * (1 + 1e-9)
    return losses.composed([(_losses(release), release["count"]) for release in releases], epsilon)


def _losses(release: dict[str, Any]) -> losses.Losses:
    bound = Fraction(release["bound"])
    if release["name"] == "l2":
        ratio = float(bound)
        ends = np.linspace(-ratio, ratio, 4001)
        masses = vectors.losses(release["dimension"], ratio, ends)
        # coarser than the truth: the loss within a cell is no less than its lower end
        return losses.Losses(masses=masses, low=ends[:-1], high=ends[1:])
    if release["name"] == "geometric":
        parameters = truth.parameters(release["parameters"])
        points = losses.of_points(parameters, bound * parameters["cells"])
        assert points is not None
        return points
    density = oracles.law(release["name"], Fraction(1), truth.parameters(release["parameters"]))
    return losses.of_law(density, bound)


def attack(case: Case) -> None:
    number, epsilon = _SPELLINGS[case["spelling"]], case["epsilon"]
    releases = case["releases"]
    for release in releases:  # what a type can't hold isn't asked of it
        release["count"] = min(release["count"], 255)
    together = ln.compose([(mechanism(item), number(item["count"])) for item in releases])
    try:
        interval = together.delta(epsilon=epsilon)
    except ln.errors.Refused:
        return
    low, high = expected(releases, float(epsilon))
    assert interval.upper >= low, (
        f"δ is {low!r} at least, the proof says at most {interval.upper!r}"
    )
    assert interval.lower <= high, (
        f"δ is {high!r} at most, the proof says at least {interval.lower!r}"
    )
    delta = (low + high) / 2
    if not 1e-9 < delta < 0.5 or epsilon == "0":
        return
    try:
        back = together.epsilon(delta=f"{delta:.6g}")
    except (
        ln.errors.Refused
    ):  # outputs of one input alone may be as likely as that, up to its rounding
        return
    at = float(f"{delta:.6g}")
    assert expected(releases, back.upper)[0] <= at * (1 + 1e-8), f"ε is above {back.upper!r}"
    if back.lower > 0:
        assert expected(releases, back.lower)[1] >= at * (1 - 1e-8), f"ε is below {back.lower!r}"


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("compositions", part, fewer=10)
