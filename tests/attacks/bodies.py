"""Noise in the shape of a body: lower bounds on its δ and ε, from its stated law and single shifts.

A body is given by its corners, or as a ball. Gauges come from the facets of the corners' hull.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from tests.attacks import vectors

Floats = NDArray[np.float64]
Record = dict[str, Any]
Steps = Callable[[Floats], Floats]

FAMILIES = (
    "k-norm",
    "k-staircase",
    "truncated-k-staircase",
    "two-sided-laplace",
    "two-sided-staircase",
)
LARGEST = 5  # the largest dimension that is examined
_POINTS = 40_000
_SURE = 5.0  # standard errors


def leak(noise: Record, sensitivity: Record, dimension: int, epsilon: float) -> tuple[float, float]:
    """Lower bounds on δ(ε) of one release, and on the ε for which it is purely ε-DP."""
    shifts = _shifts(sensitivity, dimension)
    law = {name: _exact(value) for name, value in noise["parameters"].items()}
    least = float(max(_jump(noise["name"], law, shift) for shift in shifts))
    steps = _fall(noise["name"], law)
    points, logs = _sample(steps, law, dimension)
    weights = np.exp(-steps(points) - logs)
    result = 0.0
    for shift in shifts:
        with np.errstate(invalid="ignore"):  # outside both ranges; the weight is 0
            losses = steps(points - shift) - steps(points)
        losses = np.nan_to_num(losses, nan=0.0, posinf=math.inf, neginf=-math.inf)
        gained = -np.expm1(np.minimum(epsilon - losses, 0.0))
        share = float(weights @ gained / weights.sum())
        error = math.sqrt(float((weights**2) @ (gained - share) ** 2)) / float(weights.sum())
        result = max(result, share - _SURE * error - 1e-6)
    return max(result, 0.0), least


def _exact(value: Any) -> Any:
    if isinstance(value, str):
        return Fraction(float.fromhex(value)) if "0x" in value else Fraction(value)
    return value


def _shifts(sensitivity: Record, dimension: int) -> list[Floats]:
    kind, few = sensitivity["kind"], min(dimension, LARGEST)
    if kind in ("counting-queries", "vertices"):
        result = vectors.corners(sensitivity)
        both = [*result, *([-x for x in row] for row in result)]
        return [np.array(row) for row in {tuple(row) for row in both} if any(row)]
    if kind == "added":
        result = [np.array(item) for item in _added(sensitivity["of"]) if any(item)]
        return [sign * item for item in result for sign in (1.0, -1.0)]
    bound = float(_exact(sensitivity["bound"]))
    most = {"l1": 1, "l2": 1, "linf": sensitivity.get("l0", 1)}[kind]
    places = itertools.combinations(range(few), min(most, few))
    return [
        bound * np.array([sign if i in moved else 0.0 for i in range(dimension)])
        for moved in places
        for sign in (1.0, -1.0)
    ]


def _added(of: Record) -> list[tuple[float, ...]]:
    """The vectors that a unit may add: 0 and the corners. With several parts, one of each part."""
    if of["kind"] == "jointly":
        return [sum(case, ()) for case in itertools.product(*map(_added, of["parts"]))]
    bound, queries = float(_exact(of["bound"])), of["queries"]
    return [
        tuple(bound * item for item in chosen)
        for chosen in itertools.product((0, 1), repeat=queries)
        if sum(chosen) <= of["most"]
    ]


def _jump(name: str, law: Record, shift: Floats) -> float:
    """A privacy loss that occurs for `shift`, at points on the line through 0 and `shift`."""
    scale = float(law["scale"])
    if name.startswith("two-sided"):
        moves = [float(item[0]) / scale for item in _moves(law["of"])(shift[None, :])]
        if name == "two-sided-laplace":
            return sum(moves)
        return float(law["decay"]) * max(math.ceil(move - 1e-14) for move in moves)
    move = float(_gauge(law["body"])(shift[None, :])[0]) / scale
    if name == "truncated-k-staircase":  # a shift leaves the range
        return math.inf
    return move if name == "k-norm" else float(law["decay"]) * math.ceil(move - 1e-14)


def _fall(name: str, law: Record) -> Steps:
    """The function x ↦ ln f(0) − ln f(x) for the density f; x has shape (n, D)."""
    scale = float(law["scale"])
    if name == "k-norm":
        return lambda x: _gauge(law["body"])(x) / scale
    if name == "k-staircase":
        decay, gamma = float(law["decay"]), float(law["gamma"])
        return lambda x: decay * np.maximum(np.floor(_gauge(law["body"])(x) / scale + 1 - gamma), 0)
    if name == "truncated-k-staircase":
        decay, gamma, radius = (float(law[item]) for item in ("decay", "gamma", "radius"))

        def cut(x: Floats) -> Floats:
            gauges = _gauge(law["body"])(x) / scale
            steps = decay * np.maximum(np.floor(gauges + 1 - gamma), 0)
            return np.where(gauges <= radius, steps, math.inf)

        return cut
    core = float(law["core"])

    def sides(x: Floats) -> Floats:
        beyond = [np.maximum(item / scale - core, 0) for item in _moves(law["of"])(x)]
        if name == "two-sided-staircase":
            return float(law["decay"]) * (np.ceil(beyond[0]) + np.ceil(beyond[1]))
        return beyond[0] + beyond[1]

    return sides


def _sample(steps: Steps, law: Record, dimension: int) -> tuple[Floats, Floats]:
    """Points of independent Laplace noise about as wide as the law, and their log densities."""
    far = np.eye(dimension) * 1e-6
    unit = float(law["scale"]) / float(np.max(_reach(law, far))) * 1e-6
    if "radius" in law:
        width = unit * float(law["radius"])
    else:
        width = unit * (float(law.get("core", 0)) + 2 / min(float(law.get("decay", 1)), 1) + 1)
    random = np.random.default_rng(7)  # chooses points of integration, no noise
    points = random.laplace(scale=width, size=(_POINTS, dimension))
    return points, -np.abs(points).sum(axis=1) / width


def _reach(law: Record, x: Floats) -> Floats:
    return _moves(law["of"])(x)[0] if "of" in law else _gauge(law["body"])(x)


def _moves(of: Record) -> Callable[[Floats], tuple[Floats, Floats]]:
    """The function x ↦ (P, Q): the sizes of what is added and of what is removed from 0 to x."""
    if of["kind"] == "counts":
        bound, most = float(_exact(of["bound"])), of["most"]

        def needed(y: Floats) -> Floats:
            return np.maximum(y.max(axis=1), y.sum(axis=1) / most) / bound

        return lambda x: (needed(np.maximum(x, 0)), needed(np.maximum(-x, 0)))
    if of["kind"] == "counted":
        inner, bound = _moves(of["of"]), float(_exact(of["bound"]))

        def counted(x: Floats) -> tuple[Floats, Floats]:
            added, removed = inner(x[:, :-1])
            rows = x[:, -1] / bound
            most = np.maximum.reduce([added, removed + rows, rows, np.zeros(len(x))])
            return most, most - rows

        return counted
    if of["kind"] == "jointly":
        sizes = [item["queries"] for item in of["parts"]]
        parts = [_moves(item) for item in of["parts"]]
        radii = [float(_exact(item)) for item in of["radii"]]
        power = math.inf if of["exponent"] == "infinity" else float(_exact(of["exponent"]))

        def jointly(x: Floats) -> tuple[Floats, Floats]:
            blocks = np.split(x, np.cumsum(sizes)[:-1], axis=1)
            sides = [
                [item / r for item in part(b)]
                for part, b, r in zip(parts, blocks, radii, strict=True)
            ]
            added, removed = (
                np.linalg.norm(side, ord=power, axis=0) for side in zip(*sides, strict=True)
            )
            return added, removed

        return jointly
    raise NotImplementedError(of["kind"])


def _gauge(body: Record) -> Steps:
    if body["kind"] == "ball":
        return lambda x: np.sqrt((x**2).sum(axis=1)) / float(_exact(body["bound"]))
    facets = _facets(tuple(tuple(corner) for corner in _corners(body)))
    return lambda x: np.maximum((x @ facets.T).max(axis=1), 0)


@cache
def _facets(corners: tuple[tuple[float, ...], ...]) -> Floats:
    """The vector a of each facet a·x = 1 of the hull of ±corners."""
    points = np.array(corners)
    if points.shape[1] == 1:
        return np.array([[1.0], [-1.0]]) / np.abs(points).max()
    equations = ConvexHull(np.concatenate([points, -points])).equations
    return -equations[:, :-1] / equations[:, -1:]


def _corners(body: Record) -> list[list[float]]:
    return _CORNERS[body["kind"]](body)


def _of_cells(body: Record) -> list[list[float]]:
    each = zip(body["bodies"], body["copies"], strict=True)
    return np.diag([_bound(item) for item, count in each for _ in range(count)]).tolist()


def _of_at_most(body: Record) -> list[list[float]]:
    item = _bound(body["of"])
    signs = itertools.product((-item, 0.0, item), repeat=body["cells"])
    return [list(x) for x in signs if sum(value != 0 for value in x) == body["most"]]


def _of_replaced(body: Record) -> list[list[float]]:
    rows = _rows(body["of"])
    return [[x - y for x, y in zip(a, b, strict=True)] for a in rows for b in rows]


def _bound(interval: Record) -> float:
    if interval["kind"] != "interval":
        raise NotImplementedError(interval["kind"])
    return float(_exact(interval["bound"]))


_CORNERS: dict[str, Callable[[Record], list[list[float]]]] = {
    "interval": lambda body: [[_bound(body)]],
    "box": lambda body: [
        list(x)
        for x in itertools.product(*((-float(_exact(b)), float(_exact(b))) for b in body["bounds"]))
    ],
    "polygon": lambda body: [[float(_exact(x)) for x in point] for point in body["points"]],
    "signed": lambda body: _rows(body["of"]),
    "differences": _of_replaced,
    "cells": _of_cells,
    "at-most": _of_at_most,
}


def _rows(of: Record) -> list[list[float]]:
    """The vectors that one row can add."""
    if of["kind"] == "counts":
        bound = float(_exact(of["bound"]))
        rows = itertools.product((0.0, bound), repeat=of["queries"])
        return [list(x) for x in rows if sum(item != 0 for item in x) <= of["most"]]
    if of["kind"] == "counted":
        return [[*row, float(_exact(of["bound"]))] for row in _rows(of["of"])]
    raise NotImplementedError(of["kind"])
