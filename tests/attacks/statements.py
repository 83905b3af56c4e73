"""Check the statements of certificates with the oracles of this suite."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tests.attacks import bodies, losses, oracles, trees, truth, vectors
from tests.attacks.oracles import Bounds

Record = dict[str, Any]

_MOST = 400  # the most releases that are convolved
_NOT_FOUND: Bounds = (0.0, 1.0)
_UNIMODAL = (
    "gaussian",
    "laplace",
    "truncated-laplace",
    "flipped-huber",
    "staircase",
    "truncated-staircase",
    "tulap",
)


def check(record: Record) -> None:
    """Raise AssertionError if a certificate of a release or of a plan states something false."""
    if record["kind"] == "plan-certificate":
        _check_plan(record)
        return
    if record["noise"]["name"] in bodies.FAMILIES:
        _check_body(record)
        return
    if record["noise"]["name"] == trees.FAMILY:
        _check_tree(record)
        return
    low, high = delta(record, truth.number(record["epsilon"]))
    _check_most(low, record)
    interval = record.get("delta_interval")
    if interval:
        below, above = (float(truth.number(end)) for end in interval)
        assert low <= above, f"δ is {low!r} at least, outside the stated interval, up to {above!r}"
        assert below <= high, f"δ is {high!r} at most, outside the stated interval, from {below!r}"


def _check_tree(record: Record) -> None:
    """Check noise on a tree: one release must be purely private. Compositions aren't checked."""
    if record["compositions"] == 1 and truth.number(record["sampling_rate"]) == 1:
        least = trees.least_epsilon(record["noise"], record["sensitivity"], record["dimension"])
        epsilon = truth.number(record["epsilon"])
        above = truth.number(record["delta_interval"][1])
        assert least <= epsilon or above, f"it is private at {least}, not at {epsilon}"


def _check_body(record: Record) -> None:
    """Check one release of noise in the shape of a body.

    Compositions and samples aren't checked.
    """
    if record["compositions"] > 1 or truth.number(record["sampling_rate"]) != 1:
        return
    epsilon = float(truth.number(record["epsilon"]))
    try:
        low, least = bodies.leak(
            record["noise"], record["sensitivity"], record["dimension"], epsilon
        )
    except NotImplementedError:  # `bodies` doesn't know this body
        return
    _check_most(low, record)
    if not truth.number(record["delta"]) or not truth.number(record["delta_interval"][1]):
        assert least <= epsilon * (1 + 1e-13), f"it is private at {least!r}, not at {epsilon!r}"


def _check_plan(record: Record) -> None:
    blocks = [block["certificate"] for block in record["draws"]]
    for block in blocks:
        check(block)
    parts = [part for block in blocks for part in _parts(block)]
    low = _together(parts, truth.number(record["epsilon"]))[0]
    _check_most(low, record)


def _check_most(low: float, record: Record) -> None:
    most = float(truth.number(record["delta"]))
    assert low <= most * (1 + 1e-9), f"δ is {low!r} at least, stated is at most {most!r}"


Part = tuple[str, int, Fraction, dict[str, Any], float, int]
"""A family's name, the dimension, scale and parameters of its law, the shift, and the count."""


def _parts(record: Record) -> list[Part]:
    noise, geometry = record["noise"], record.get("geometry")
    parameters = truth.parameters(noise["parameters"])
    scale = parameters.pop("scale")
    length = _length(record["sensitivity"], geometry, noise["name"], record["dimension"])
    dimension, draws = record["dimension"], 1
    if geometry and geometry["kind"] == "cells":
        dimension, draws = 1, min(record["sensitivity"]["l0"], geometry["count"])
    count = draws * record["compositions"]
    return [(noise["name"], dimension, scale, parameters, length, count)]


def delta(record: Record, epsilon: Fraction) -> Bounds:
    """Bounds on δ(ε) of all releases of a certificate; (0, 1) if the oracles can't tell."""
    rate = str(truth.number(record["sampling_rate"]))
    (part,) = _parts(record)
    name, dimension, scale, parameters, length, count = part
    if count > 1 or rate != "1":
        if rate != "1" and count > 1:
            return _NOT_FOUND
        if rate == "1":
            return _together([part], epsilon)
    exact = Fraction(length).limit_denominator(10**15)

    def at(x: Any) -> Bounds:
        return truth.delta(name, dimension, scale, parameters, length=exact, eps=x)

    return truth.sampled(at, str(epsilon), rate)


def _together(parts: list[Part], epsilon: Fraction) -> Bounds:
    if all(name == "gaussian" for name, *_ in parts):
        square = sum((length / float(scale)) ** 2 * n for _, _, scale, _, length, n in parts)
        result = vectors.gaussian(math.sqrt(square), float(epsilon))
        return result * (1 - 1e-9), result * (1 + 1e-9)
    if sum(count for *_, count in parts) > _MOST:
        return _NOT_FOUND
    stored: list[tuple[losses.Losses, int]] = []
    for name, dimension, scale, parameters, length, count in parts:
        if name == "l2" and dimension > 1:
            ratio = length / float(scale)
            ends = np.linspace(-ratio, ratio, 4001)
            masses = vectors.losses(dimension, ratio, ends)
            stored.append((losses.Losses(masses=masses, low=ends[:-1], high=ends[1:]), count))
        elif name == "geometric":
            points = losses.of_points(parameters, int(length) * parameters["cells"] / scale)
            if points is None:
                return _NOT_FOUND
            stored.append((points, count))
        elif name in _UNIMODAL:
            density = oracles.law(name, scale, parameters)
            shift = Fraction(length).limit_denominator(10**12)
            stored.append((losses.of_law(density, shift), count))
        else:
            return _NOT_FOUND
    return losses.composed(stored, float(epsilon))


def _length(sensitivity: Record, geometry: Record | None, name: str, dimension: int) -> float:
    """The largest change by one person of the vector with noise, in the family's norm."""
    kind = sensitivity["kind"]
    if kind in ("l1", "l2", "integer"):
        return float(truth.number(sensitivity["bound"]))
    if kind == "linf":
        bound, most = float(truth.number(sensitivity["bound"])), sensitivity["l0"]
        if (geometry and geometry["kind"] == "cells") or dimension == 1:
            return bound
        moved = min(most, dimension)
        return bound * (moved if name == "laplace" else math.sqrt(moved))

    def image(v: Any) -> Any:
        if geometry is None:
            return v
        if geometry["kind"] == "matrix":
            return np.array([[float(truth.number(x)) for x in row] for row in geometry["rows"]]) @ v
        d = geometry["queries"]
        c, e, t = (float(truth.number(geometry[key])) for key in ("shared", "offset", "total"))
        if not t:
            return v + c * v.sum()
        return np.append(v[:d] + c * v[:d].sum() + e * v[d], t * v[d])

    return vectors.longest(sensitivity, image)
