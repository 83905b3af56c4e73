"""Laws calibrated to random budgets leak no more than δ, according to the oracle."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import Any

import pytest

import leastnoise as ln
from tests.attacks import bodies, statements, truth
from tests.attacks.guard import PARTS, Guard
from tests.attacks.test_laws import decimal, sensitivity

Case = dict[str, Any]

# how often each is drawn: by what calibrating one costs
_WEIGHTS = {
    "gaussian": 300,
    "laplace": 150,
    "l2": 200,
    "truncated-laplace": 200,
    "tulap": 200,
    "staircase": 100,
    "truncated-staircase": 150,
    "discrete-staircase": 40,
    "geometric": 100,
    "flipped-huber": 2,
    "spherical-staircase": 3,
    "optimal": 5,
    "cactus": 2,
    "optimal-radial": 1,
    "generalized-gamma": 2,
    "gaussian-mixture": 1,
    "quasi-gaussian": 2,
    "bodies": 100,
}
_VECTORS = ("l2", "spherical-staircase", "optimal-radial", "generalized-gamma")
_COSTLY = 10  # weight: rather simple budgets, which are searched in a second or two


def draw_case(random: Random) -> Case:
    name = random.choices([*_WEIGHTS], [*_WEIGHTS.values()])[0]
    if name == "bodies":
        return _body(random)
    costly = _WEIGHTS[name] < _COSTLY
    dimension, parameters = 1, {}
    if name in _VECTORS:
        dimension = random.choice((2, 3)) if costly else random.choice((2, 3, 5, 20))
    elif name in ("gaussian", "laplace"):
        dimension = random.choice((1, 3, 1000))
    if name == "generalized-gamma":
        parameters = {"alpha": str(dimension - 1), "p": decimal(random, 0.7, 3)}
    elif name == "gaussian-mixture":
        parameters = {"modes": random.randint(1, 3)}
    epsilon = decimal(random, 0.3, 3) if costly else decimal(random, 0.01, 12)
    delta = decimal(random, 1e-6, 0.05) if costly else decimal(random, 1e-12, 0.4)
    whole, designed = name in truth.LATTICES, name == "discrete-staircase"
    return {
        "name": "optimal" if name == "optimal-radial" else name,
        "dimension": dimension,
        "parameters": parameters,
        "bound": str(random.randint(1, 3)) if whole else decimal(random, 0.01, 100),
        "epsilon": decimal(random, 0.1, 4) if designed else epsilon,
        "delta": _delta(random, name) or delta,
        "rate": "1" if costly or designed or random.random() < 0.6 else decimal(random, 0.05, 1),
        "loss": random.choice(("mse", "mae")),
    }


def _delta(random: Random, name: str) -> str:
    """Return a δ that suits the family `name`, or "" if the usual one does."""
    if name == "discrete-staircase":
        return decimal(random, 1e-4, 0.2)
    return "0" if name == "geometric" and random.random() < 0.5 else ""


def _body(random: Random) -> Case:
    d = random.randint(2, 4)
    queries = {"dimension": d, "max_nonzero": random.randint(1, d)}
    sides = {"with_total": random.random() < 0.3}
    shapes: dict[str, dict[str, Any]] = {
        "counts": {**queries, **sides},
        "replaced": {**queries, "neighbours": "replace-one"},
        "linf": {"l0": random.randint(1, d)},
        "l1": {},
        "l2": {},
    }
    shape = random.choice([*shapes, "counts"])
    return {
        "name": random.choice(bodies.FAMILIES),
        "shape": shape,
        "given": shapes[shape],
        "dimension": d,
        "bound": decimal(random, 0.01, 100),
        "epsilon": decimal(random, 0.05, 12),
        "delta": random.choice(("0", decimal(random, 1e-9, 0.2))),
        "loss": random.choice(("mse", "mae")),
    }


def _attack_body(case: Case) -> None:
    kinds = {"linf": ln.Linf, "l1": ln.L1, "l2": ln.L2}
    if case["shape"] in kinds:
        asked = kinds[case["shape"]](case["bound"], **case["given"])
        dimension = case["dimension"]
    else:
        asked = ln.CountingQueries(bound=case["bound"], **case["given"])
        dimension = asked.coordinates
    budget = {key: case[key] for key in ("epsilon", "delta", "loss")}
    try:
        mechanism = ln.calibrate(case["name"], sensitivity=asked, dimension=dimension, **budget)
    except ln.errors.Refused:
        return
    statements.check(json.loads(mechanism.certificate.to_json()))


def attack(case: Case) -> None:
    if "shape" in case:
        _attack_body(case)
        return
    name, epsilon, wanted = case["name"], case["epsilon"], Fraction(case["delta"])
    effort: dict[str, Any] = {"gap": 0.3} if name in ("optimal", "discrete-staircase") else {}
    if name == "optimal" and case["dimension"] > 1:
        effort = {"time_limit": 2.0}
    try:
        mechanism = ln.calibrate(
            name,
            epsilon=epsilon,
            delta=case["delta"],
            sensitivity=sensitivity(name, case["bound"]),
            dimension=case["dimension"],
            loss=case["loss"],
            sampling_rate=case["rate"],
            parameters=case["parameters"],
            **effort,
        )
    except ln.errors.Refused:  # too much is asked, or too little to be proved
        return
    noise, certificate = mechanism.noise, mechanism.certificate
    parameters = {key: getattr(noise, key) for key in noise.parameters}

    def at(x: Any) -> truth.Bounds:
        bound = Fraction(case["bound"])
        return truth.delta(
            noise.name, noise.dimension, noise.scale, parameters, length=bound, eps=x
        )

    low, high = truth.sampled(at, epsilon, case["rate"])
    assert low <= float(wanted) * (1 + 1e-12), f"asked for {float(wanted)!r}, leaks {low!r}"
    stated = certificate.delta
    assert stated.upper >= low, f"leaks {low!r}, the certificate says at most {stated.upper!r}"
    assert stated.lower <= high, f"leaks {high!r}, the certificate says at least {stated.lower!r}"
    assert certificate.budget == ln.Budget(epsilon=epsilon, delta=wanted)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("calibrations", part)
