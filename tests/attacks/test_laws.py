"""Random laws at random scales: the proved interval of δ contains the oracle's δ."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pytest

import leastnoise as ln
from tests.attacks import bodies, trees, truth
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]

# how often each is drawn: by what a proof of one costs
_WEIGHTS = {
    "gaussian": 30,
    "laplace": 30,
    "l2": 30,
    "truncated-laplace": 30,
    "flipped-huber": 20,
    "staircase": 20,
    "truncated-staircase": 30,
    "tulap": 20,
    "spherical-staircase": 30,
    "optimal": 20,
    "cactus": 20,
    "discrete-staircase": 20,
    "geometric": 20,
    "optimal-radial": 20,
    "generalized-gamma": 4,
    "gaussian-mixture": 1,
    "quasi-gaussian": 1,
}
_ONE_NUMBER = (*truth.LATTICES, *truth.oracles.ONE_NUMBER)
_VECTORS = ("spherical-staircase", "optimal-radial", "l2")


def decimal(random: Random, low: float, high: float, digits: int = 3) -> str:
    """Return a decimal between two positive ends, its logarithm evenly drawn."""
    return f"{low * (high / low) ** random.random():.{digits}g}"


def shape(random: Random, name: str, scale: str) -> dict[str, Any]:
    """Return random parameters of the family `name`, as texts, whole numbers and lists."""
    gamma = f"{random.uniform(0.02, 1):.3g}"
    masses = [random.randint(0, 40) for _ in range(random.randint(1, 9))]
    masses[0] += 1
    if random.random() < 0.5:
        masses.sort(reverse=True)
    edges = sorted(random.sample(range(1, 13), random.randint(1, 6)))
    weights = sorted((random.randint(1, 99) for _ in edges), reverse=True)
    decay, radius = decimal(random, 0.1, 4), decimal(random, 0.2, 9)
    cells = random.randint(1, 4)
    spacing = decimal(random, 0.3 * float(scale), 4 * float(scale))
    return {
        "truncated-laplace": {"radius": decimal(random, 0.05, 25)},
        "flipped-huber": {"alpha": decimal(random, 0.05, 4), "gamma": decimal(random, 0.2, 2)},
        "gaussian-mixture": {"modes": random.randint(0, 3), "spacing": spacing, "decay": decay},
        "quasi-gaussian": {"spacing": spacing, "decay": decay},
        "generalized-gamma": {
            "alpha": f"{random.uniform(-0.5, 0):.3g}",
            "p": decimal(random, 0.5, 4),
        },
        "staircase": {"gamma": gamma, "decay": decimal(random, 0.3, 4)},
        "truncated-staircase": {"gamma": gamma, "radius": radius, "decay": decay, "atom": "0"},
        "spherical-staircase": {"gamma": gamma, "radius": radius, "decay": decay},
        "tulap": {"radius": radius, "decay": decay},
        "optimal": {"cells": random.randint(1, 4), "masses": masses},
        "cactus": {"cells": random.randint(1, 4), "masses": masses},
        "discrete-staircase": {"cells": random.randint(1, 3), "masses": masses},
        "geometric": {
            "cells": cells,
            "core": random.randint(1, cells),
            "decay": decimal(random, 0.3, 4),
        },
        "optimal-radial": {"cells": random.randint(1, 6), "edges": edges, "weights": weights},
    }.get(name, {})


def draw_case(random: Random) -> Case:
    name = random.choices([*_WEIGHTS], [*_WEIGHTS.values()])[0]
    scale = decimal(random, 0.1, 10)
    parameters = shape(random, name, scale)
    dimension = 1
    if name in _VECTORS:
        dimension = random.randint(2, 6)
    elif name in ("gaussian", "laplace"):
        dimension = random.choice((1, 2, 30))
    elif name == "generalized-gamma" and random.random() < 0.5:
        dimension = random.randint(2, 5)
        parameters["alpha"] = f"{random.uniform(0, dimension - 1):.3g}"
    bound = decimal(random, 0.3, 3)
    if name in truth.LATTICES:
        bound, scale = str(random.randint(1, 3)), str(parameters["cells"])
    elif name in ("gaussian-mixture", "quasi-gaussian"):  # beyond 24 σ they are refused
        bound = decimal(random, 0.3 * float(scale), 4 * float(scale))
    return {
        "name": name,
        "dimension": dimension,
        "scale": scale,
        "parameters": parameters,
        "bound": bound,
        "epsilon": random.choice(("0", decimal(random, 0.01, 5))),
        "rate": random.choice(("1", "1", decimal(random, 0.01, 1))),
    }


def sensitivity(name: str, bound: str) -> Any:
    """Return the ball that the family hides."""
    whole = name in truth.LATTICES
    return (ln.Integer if whole else {"laplace": ln.L1}.get(name, ln.L2))(bound)


@cache
def blank(name: str, rate: str) -> str:
    """Return a certificate in which to put a law whose parameters are lists."""
    mechanism = ln.calibrate(
        "gaussian",
        epsilon=1,
        delta="1e-4",
        sensitivity=sensitivity(name, "1"),
        dimension=2 if name in _VECTORS else 1,
        sampling_rate=rate,
    )
    return mechanism.certificate.to_json()


def claimed(case: Case) -> ln.Interval:
    """Return the interval that leastnoise proves for δ."""
    name, parameters = case["name"], case["parameters"]
    if not any(isinstance(value, list) for value in parameters.values()):
        return ln.privacy_profile(
            name,
            scale=case["scale"],
            epsilons=[case["epsilon"]],
            sensitivity=sensitivity(name, case["bound"]),
            dimension=case["dimension"],
            sampling_rate=case["rate"],
            parameters=parameters,
        )[0]
    record = json.loads(blank(name, case["rate"]))
    record["noise"] = {"name": name, "parameters": {"scale": case["scale"], **parameters}}
    record["dimension"], record["sensitivity"]["bound"] = case["dimension"], case["bound"]
    record |= {"epsilon": case["epsilon"], "delta": "0.9999999999999999", "grid": None}
    if "delta_interval" in record:
        record["delta_interval"] = [(0.0).hex(), (1.0).hex()]
    return ln.Certificate.from_json(json.dumps(record)).verify()


def expected(case: Case) -> truth.Bounds:
    """Return what the oracle says of the same δ."""
    scale, bound = Fraction(case["scale"]), Fraction(case["bound"])
    parameters = truth.parameters(case["parameters"])

    def at(epsilon: Any) -> truth.Bounds:
        return truth.delta(
            case["name"], case["dimension"], scale, parameters, length=bound, eps=epsilon
        )

    return truth.sampled(at, case["epsilon"], case["rate"])


def attack(case: Case) -> None:
    low, high = expected(case)
    if high > 0.999999:  # about more than a certificate can state
        return
    interval = claimed(case)
    assert interval.upper >= low, (
        f"δ is {low!r} at least, the proof says at most {interval.upper!r}"
    )
    assert interval.lower <= high, (
        f"δ is {high!r} at most, the proof says at least {interval.lower!r}"
    )


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("laws", part)


def test_every_family_has_an_oracle() -> None:
    comparison = ln.compare(epsilon=1, sensitivity=ln.L1(1))  # δ = 0: most are skipped, by name
    names = {item.name for item in comparison.skipped} | {
        m.noise.name for m in comparison.mechanisms
    }
    elsewhere = {*bodies.FAMILIES, trees.FAMILY}  # in calibrations and edits
    assert names <= {*truth.KNOWN} | elsewhere
    assert names - elsewhere == set(_WEIGHTS)
