"""Certificates of noise in the shape of a body: no edit that makes one false verifies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.design.programs.ellipse import least_variance
from leastnoise.errors import CertificateRejected, InvalidArgument
from leastnoise.guarantees.bodies.plain import Ball
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.selection.public import calibrate

Record = dict[str, Any]
Edit = Callable[[Record], object]


def counts(queries: int, **more: Any) -> CountingQueries:
    return CountingQueries(dimension=queries, **more)


HEXAGON = Vertices([["1", "0"], ["0", "1"], ["1", "1"]])
LAWS: dict[str, tuple[str, Sensitivity, int]] = {
    "k-norm counts": ("k-norm", counts(3), 3),
    "k-norm counts, at most two": ("k-norm", counts(4, max_nonzero=2), 4),
    "k-norm counts, replaced": ("k-norm", counts(3, max_nonzero=2, neighbours="replace-one"), 3),
    "k-norm counts and rows": ("k-norm", counts(3, with_total=True), 4),
    "k-norm box": ("k-norm", Linf("2.5", l0=3), 3),
    "k-norm two of three": ("k-norm", Linf("2.5", l0=2), 3),
    "k-norm polygon": ("k-norm", HEXAGON, 2),
    "k-norm groups": ("k-norm", Groups(groups=2, dimension=2), 6),
    "k-staircase ball": ("k-staircase", L2("1.5"), 3),
    "k-staircase cells": ("k-staircase", L1(1), 4),
    "k-staircase counts": ("k-staircase", counts(3), 3),
    "two-sided-staircase counts": ("two-sided-staircase", counts(3), 3),
    "two-sided-staircase at most two": ("two-sided-staircase", counts(4, max_nonzero=2), 4),
    "two-sided-staircase and rows": ("two-sided-staircase", counts(2, with_total=True), 3),
    "two-sided-staircase of two": ("two-sided-staircase", counts(2), 2),
    "two-sided-laplace of two": ("two-sided-laplace", counts(2), 2),
    "two-sided-laplace counts": ("two-sided-laplace", counts(3), 3),
    "two-sided-laplace and rows": ("two-sided-laplace", counts(2, with_total=True), 3),
}


@cache
def certificate(name: str, compositions: int = 1, delta: str = "0") -> Certificate:
    family, sensitivity, dimension = LAWS[name]
    return calibrate(
        family,
        epsilon="1",
        delta=delta,
        sensitivity=sensitivity,
        dimension=dimension,
        compositions=compositions,
    ).certificate


def edited(name: str, edit: Edit, **of: Any) -> Certificate:
    record = json.loads(certificate(name, **of).to_json())
    before = json.dumps(record)
    edit(record)
    assert json.dumps(record) != before
    return Certificate.from_json(json.dumps(record))


def shape_of(record: Record) -> tuple[str, Record]:
    """The name of the parameter with the shifts by one unit, and all parameters."""
    parameters = record["noise"]["parameters"]
    name = "body" if "body" in parameters else "of"
    return name, parameters


@dataclass
class Bounds:
    """An edit that multiplies every bound of a body, or its points, by `by`."""

    by: float
    seen: int = field(default=0)

    def __call__(self, record: Record) -> None:
        name, parameters = shape_of(record)
        parameters[name] = self._scaled(parameters[name])
        assert self.seen

    def _scaled(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._scaled(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._scaled(item, key) for item in value]
        if key in {"bound", "bounds", "points"}:
            self.seen += 1
            return repr(float(value) * self.by)
        return value


def scale(by: str) -> Edit:
    def edit(record: Record) -> None:
        record["noise"]["parameters"]["scale"] = by

    return edit


def sensitivity(**to: Any) -> Edit:
    return lambda record: record["sensitivity"].update(to)


def more(record: Record) -> None:
    """Multiply the stated bound on one unit, or one number of its points, by 1.000001."""
    stated = record["sensitivity"]
    if "points" in stated:
        stated["points"][0][0] = "1.000001"
    else:
        stated["bound"] = repr(float(stated["bound"]) * 1.000001)


def parameter(name: str, to: str) -> Edit:
    return lambda record: record["noise"]["parameters"].update({name: to})


@pytest.mark.grid
@pytest.mark.parametrize("name", LAWS)
def test_round_trip_and_verify(name: str) -> None:
    proved_certificate = certificate(name)
    read = Certificate.from_json(proved_certificate.to_json())
    assert read == proved_certificate
    assert not read.proved
    fresh = read.verify()
    assert (fresh.lower, fresh.upper) == (0.0, 0.0)  # nothing of δ is spent
    assert read.proved


FALSE: dict[str, Edit] = {
    "epsilon down": lambda record: record.update(epsilon="0.999999"),
    "scale down": scale("0.999999"),
    "compositions up": lambda record: record.update(compositions=2),
    "sampling": lambda record: record.update(sampling_rate="0.5"),
    "dimension up": lambda record: record.update(dimension=record["dimension"] + 1),
    "dimension down": lambda record: record.update(dimension=record["dimension"] - 1),
    "what a unit can do up": more,
    "what the noise is built on down": Bounds(0.999999),
    "a geometry": lambda record: record.update(geometry={"kind": "cells", "count": 3}),
    "an interval that isn't so": lambda record: record.update(delta_interval=["0x1p-9", "0x1p-8"]),
}


@pytest.mark.grid
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("edit", FALSE)
def test_what_makes_it_false_is_rejected(name: str, edit: str) -> None:
    change = Bounds(0.999999) if edit.endswith("built on down") else FALSE[edit]
    with pytest.raises(CertificateRejected):
        edited(name, change).verify()


OTHERS: dict[str, tuple[str, Edit]] = {
    "steps of more": ("k-staircase counts", parameter("decay", "1.000001")),
    "steps of more on two sides": (
        "two-sided-staircase counts",
        parameter("decay", "1.000001"),
    ),
    "replaced records": ("k-norm counts", sensitivity(neighbours="replace-one")),
    "replaced records on two sides": (
        "two-sided-laplace counts",
        sensitivity(neighbours="replace-one"),
    ),
    "replaced records and steps": (
        "two-sided-staircase counts",
        sensitivity(neighbours="replace-one"),
    ),
    "more conditions": ("k-norm counts, at most two", sensitivity(max_nonzero=3)),
    "more conditions and steps": (
        "two-sided-staircase at most two",
        sensitivity(max_nonzero=3),
    ),
    "another set": (
        "two-sided-staircase counts",
        lambda record: record["noise"]["parameters"]["of"].update(most=2),
    ),
    "a cube for what has rows": (
        "two-sided-staircase and rows",
        parameter("of", {"kind": "counts", "queries": 3, "most": 2, "bound": "1"}),  # type: ignore[arg-type]
    ),
    "a body for a set": (
        "two-sided-staircase counts",
        lambda record: record["noise"]["parameters"].update(
            of={"kind": "signed", "of": record["noise"]["parameters"]["of"]}
        ),
    ),
    "a set for a body": (
        "k-norm counts",
        lambda record: record["noise"]["parameters"].update(
            body=record["noise"]["parameters"]["body"]["of"]
        ),
    ),
    "no condition": (
        "k-norm counts",
        lambda record: record["noise"]["parameters"]["body"]["of"].update(most=0),
    ),
    "a core below 0": ("two-sided-laplace counts", parameter("core", "-0.1")),
    "no core": ("two-sided-staircase counts", parameter("core", "0")),
    "gamma above 1": ("k-staircase counts", parameter("gamma", "1.5")),
    "an unknown body": (
        "k-norm counts",
        lambda record: record["noise"]["parameters"]["body"].update(kind="cube"),
    ),
    "a body with more": (
        "k-norm counts",
        lambda record: record["noise"]["parameters"]["body"].update(extra=1),
    ),
}


@pytest.mark.parametrize("edit", OTHERS)
def test_what_makes_one_of_them_false_is_rejected(edit: str) -> None:
    name, change = OTHERS[edit]
    with pytest.raises(CertificateRejected):
        edited(name, change).verify()


@pytest.mark.parametrize(
    "stated",
    [
        {"kind": "linf", "bound": "1", "l0": 2, "whole": False},
        {"kind": "l2", "bound": "1"},
        {"kind": "l1", "bound": "1"},
        # the corners of T and of −T, but all of their hull is allowed
        {"kind": "vertices", "points": [["1", "0"], ["0", "1"], ["1", "1"]]},
    ],
    ids=lambda stated: stated["kind"],
)
def test_steps_on_two_sides_are_for_what_is_added_or_removed_whole(stated: Record) -> None:
    """theory/bodies.md §4: N(s) <= 1 isn't enough for them."""
    with pytest.raises(CertificateRejected, match="to hide all shifts"):
        edited(
            "two-sided-staircase of two", lambda record: record.update(sensitivity=stated)
        ).verify()


def test_smooth_noise_on_two_sides_hides_the_hull_as_well() -> None:
    hexagon = {"kind": "vertices", "points": [["1", "0"], ["0", "1"], ["1", "1"]]}
    edited("two-sided-laplace of two", lambda record: record.update(sensitivity=hexagon)).verify()
    square = {"kind": "linf", "bound": "1", "l0": 2, "whole": False}
    with pytest.raises(CertificateRejected, match="to hide all shifts"):
        edited(
            "two-sided-laplace of two", lambda record: record.update(sensitivity=square)
        ).verify()


TRUE: dict[str, tuple[str, Edit]] = {
    "a larger body": ("k-norm counts", Bounds(1.5)),
    "a larger set": ("two-sided-staircase counts", Bounds(1.5)),
    "fewer conditions": ("k-staircase counts", sensitivity(max_nonzero=2)),
    "another gamma": ("k-staircase counts", parameter("gamma", "0.9")),
    "another core": ("two-sided-staircase counts", parameter("core", "0.9")),
    "a flatter law": ("two-sided-staircase counts", parameter("decay", "0.9")),
    "a grid": ("k-norm box", lambda record: record.update(grid="0x1.0000000000000p-20")),
}


@pytest.mark.parametrize("edit", TRUE)
def test_what_is_still_true_is_accepted(edit: str) -> None:
    name, change = TRUE[edit]
    edited(name, change).verify()


COMPOSED = ("k-norm counts", "k-norm box", "k-staircase counts", "two-sided-staircase counts")


@pytest.mark.grid
@pytest.mark.parametrize("name", COMPOSED)
def test_releases_together(name: str) -> None:
    """A δ > 0 is spent by several: then every edit of it counts."""
    of = {"compositions": 10, "delta": "1e-3"}
    proved_certificate = certificate(name, **of)
    fresh = Certificate.from_json(proved_certificate.to_json()).verify()
    assert 0.99e-3 < fresh.upper <= 1e-3
    for edit in (
        lambda record: record.update(delta="0.99e-3"),
        lambda record: record.update(epsilon="0.999"),
        lambda record: record.update(compositions=11),
        lambda record: record.update(delta_interval=["0x0p+0", "0x1p-11"]),
        more,
        Bounds(0.9999),
    ):
        with pytest.raises(CertificateRejected):
            edited(name, edit, **of).verify()


@pytest.mark.parametrize(
    "noise",
    [
        KNorm(scale=9, body=Ball(bound=3, coordinates=2)),
        SphericalLaplace(scale=9, dimension=2),
        Gaussian(scale=99, dimension=7),
    ],
)
def test_noise_is_for_as_many_numbers_as_its_map_gives(noise: Noise) -> None:
    """Once, the coordinates that the noise was not made for were published without any."""
    queries = counts(6)
    geometry = least_variance(queries)
    with pytest.raises(InvalidArgument, match="dimension 6"):
        Certificate.prove(
            budget=Budget(epsilon=2, delta="1e-3"),
            noise=noise,
            sensitivity=queries,
            geometry=geometry,
        )
