"""Functions that make a golden statement of every kind, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import leastnoise as ln
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.together import Jointly
from leastnoise.guarantees.structured import Within
from leastnoise.guarantees.units import Added
from tests.guarantees.bodies.examples import BODIES


def _build(name: str, sensitivity: Any, **more: Any) -> Callable[[], Any]:
    asked: dict[str, Any] = {"epsilon": "1", "delta": "1e-3"} | more
    return lambda: ln.calibrate(name, sensitivity=sensitivity, **asked).certificate


def _within(name: str) -> Callable[[], Any]:
    return _build("k-norm", Within(BODIES[name]), delta="0")


def _on_a_tree(sensitivity: Any, **more: Any) -> Callable[[], Any]:
    shape = {"branches": [2, 3], "shares": ["0.2", "0.3", "0.5"]}
    return _build("agreeing", sensitivity, dimension=6, parameters=shape, **{"delta": "0"} | more)


def _matrix() -> Any:
    shifts = ln.Vertices([["1", "0", "1"], ["0", "1", "0"], ["0.5", "0.5", "0"]])
    return ln.least_noise(epsilon=1, delta="1e-6", sensitivity=shifts).certificate


def _plan(epsilon: str, *kinds: Callable[[], Any]) -> Callable[[], Any]:
    def build() -> Any:
        draws = tuple((f"b{i}", kind()) for i, kind in enumerate(kinds))
        return ln.PlanCertificate.prove(
            budget=ln.Budget(epsilon=epsilon, delta="0.01"), draws=draws
        )

    return build


def _bound_of_a_program() -> Any:
    comparison = ln.compare(
        epsilon=1,
        delta="1e-3",
        sensitivity=ln.L1(1),
        loss="mae",
        bound=True,
        gap=0.9,
        time_limit=60,
    )
    assert comparison.best_possible is not None
    return comparison.best_possible.bound


def _bound_of_a_volume() -> Any:
    best_possible = ln.compare(epsilon=2, sensitivity=ln.CountingQueries(dimension=3)).best_possible
    assert best_possible is not None
    return best_possible.bound


_GAUSSIAN = _build("gaussian", ln.L2(1), dimension=3)
_LAPLACE = _build("laplace", ln.L1("1.5"), dimension=4)
QUICK: dict[str, Callable[[], Any]] = {
    "gaussian": _GAUSSIAN,
    "laplace": _LAPLACE,
    "l2": _build("l2", ln.L2("0.7"), dimension=3),
    "truncated-laplace": _build("truncated-laplace", ln.L2(1)),
    "tulap": _build("tulap", ln.L2(2)),
    "staircase": _build("staircase", ln.L2(1)),
    "truncated-staircase": _build("truncated-staircase", ln.L2(1)),
    "discrete-staircase": _build("discrete-staircase", ln.Integer(1), gap=0.3),
    "geometric": _build("geometric", ln.Integer(3), delta="0"),
    "geometric, five releases": _build("geometric", ln.Integer(2), compositions=5),
    "geometric in cells": _build("geometric", ln.Linf(2, l0=3, whole=True), dimension=9),
    "loosely known": _build("laplace", ln.L1(1), compositions=2),
    "five releases": _build("gaussian", ln.L2(1), compositions=5),
    "of samples": _build("gaussian", ln.L2(1), sampling_rate="0.1", delta="1e-4"),
    "ellipse": _build("gaussian", ln.CountingQueries(dimension=4, max_nonzero=2)),
    "replaced": _build(
        "gaussian", ln.CountingQueries(dimension=3, max_nonzero=1, neighbours="replace-one")
    ),
    "with total": _build("gaussian", ln.CountingQueries(dimension=3, with_total=True)),
    "cells": _build("truncated-laplace", ln.Linf(1, l0=1), dimension=5),
    "points": _build("gaussian", ln.Vertices([["1", "0"], ["0.6", "0.8"]]), dimension=2),
    "body of counts": _build("k-norm", ln.CountingQueries(dimension=3)),
    "body of few counts": _build("k-norm", ln.CountingQueries(dimension=3, max_nonzero=2)),
    "body of two of three": _build("k-staircase", ln.Linf("1.5", l0=2), dimension=3),
    "body of one of three": _build("k-staircase", ln.L1("1.5"), dimension=3),
    "ball": _build("k-staircase", ln.L2("0.7"), dimension=3),
    "box cut off": _build("truncated-k-staircase", ln.Linf("1.5", l0=2), dimension=2),
    "counts cut off": _build("truncated-k-staircase", ln.CountingQueries(dimension=2)),
    "polygon": _build("k-norm", ln.Vertices([["1", "0"], ["0.6", "0.8"]]), dimension=2),
    "body of replaced": _build("k-norm", ln.CountingQueries(dimension=2, neighbours="replace-one")),
    "two sides": _build("two-sided-staircase", ln.CountingQueries(dimension=3, max_nonzero=2)),
    "two sides with total": _build(
        "two-sided-laplace", ln.CountingQueries(dimension=2, with_total=True)
    ),
    "two sides, five releases": _build(
        "two-sided-staircase", ln.CountingQueries(dimension=2), compositions=5
    ),
    "two-sided, blocks together": _build(
        "two-sided-staircase",
        Added(
            Jointly(
                parts=[Counts(queries=2), Counts(queries=3, most=1, bound=4)],
                radii=[1, 1],
                exponent=None,
            )
        ),
        delta="0",
    ),
    "tree": _on_a_tree(ln.Linf(1, whole=True), epsilon="0.7"),
    "tree, five rows": _on_a_tree(ln.RowCounts(5)),
    "tree, replaced": _on_a_tree(ln.RowCounts(1, neighbours="replace-one")),
    "tree, unlike nodes": _build(
        "agreeing",
        ln.RowCounts(1, neighbours="replace-one"),
        dimension=6,
        parameters={"branches": [3, 3, 1, 2], "shares": ["0.2", "0.3", "0.5"]},
        delta="0",
    ),
    "tree, three releases": _on_a_tree(ln.RowCounts(1), compositions=3),
    "plan of sums": _plan("2", _GAUSSIAN, _LAPLACE),
    "plan together": _plan("1.7", _GAUSSIAN, _LAPLACE),
    "lower bound": _bound_of_a_program,
    "lower bound of a volume": _bound_of_a_volume,
}
"""Statements that are made and proved in milliseconds: attacks edit thousands of copies."""

RECORDS = QUICK | {
    "atom": _build("truncated-staircase", ln.L2(1), epsilon="0.1", delta="0.05"),
    "cactus": _build("cactus", ln.L2(1)),
    "cactus, five releases": _build("cactus", ln.L2(1), compositions=5),
    "flipped-huber": _build("flipped-huber", ln.L2(1), delta="0.01"),
    "gaussian-mixture": _build("gaussian-mixture", ln.L2(1)),
    "generalized-gamma": _build("generalized-gamma", ln.L2(1), dimension=7),
    "groups": _build("gaussian", ln.Groups(groups=3, dimension=2)),
    "matrix": _matrix,
    "optimal": _build("optimal", ln.L2(1)),
    "optimal-radial": _build("optimal-radial", ln.L2(1), dimension=2),
    "quasi-gaussian": _build("quasi-gaussian", ln.L2(1)),
    "samples, three releases": _build(
        "geometric", ln.Integer(1), sampling_rate="0.1", compositions=3
    ),
    "spherical-staircase": _build("spherical-staircase", ln.L2(1), dimension=3),
}
RECORDS |= {
    f"body, {name}": _within(name)
    for name in BODIES
    if name not in {"interval", "disc", "ball"}  # on these k-norm noise is laplace and l2
}
