"""Certificates of noise with a linear map: true ones verify, and all edited ones are rejected."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CountEllipse
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named
from leastnoise.selection.constructions import list_constructions
from leastnoise.selection.fit import fit_family

BUDGET = Budget(epsilon="1", delta="1e-5")
COUNTED = CountingQueries(dimension=6, max_nonzero=3, with_total=True)
PROBLEMS: dict[str, tuple[str, Sensitivity, int]] = {
    "ellipse": ("l2", CountingQueries(dimension=6, max_nonzero=3), 6),
    "ellipse with n": ("l2", COUNTED, 7),
    "gaussian ellipse": ("gaussian", CountingQueries(dimension=6), 6),
    "groups": ("gaussian", Groups(groups=3, dimension=2, neighbours="replace-one"), 9),
    "points": ("l2", Vertices([["1", "0"], ["0.5", "3"]]), 2),
    "cells": ("truncated-staircase", Linf("2.5"), 20),
    "whole cells": ("discrete-staircase", Linf(2, whole=True), 20),
    "three cells": ("laplace", Linf("2.5", l0=3), 20),
    "two steps": ("truncated-staircase", Linf(1, l0=2, whole=True), 9),
}


@cache
def certificate(name: str) -> Certificate:
    family, sensitivity, dimension = PROBLEMS[name]
    question = Question(budget=BUDGET, sensitivities=(sensitivity,), dimension=dimension)
    ways = [
        list_construction
        for list_construction in list_constructions(question)
        if list_construction.geometry is not None
    ]
    result = fit_family(family_named(family), question, ways)
    return result[0].mechanism.certificate


@pytest.mark.grid
@pytest.mark.parametrize("name", PROBLEMS)
def test_round_trip_and_verify(name: str) -> None:
    result = certificate(name)
    assert result.geometry is not None
    assert result.dimension == PROBLEMS[name][2]
    read = Certificate.from_json(result.to_json())
    assert read == result
    assert result.delta.encloses(read.verify())
    assert read.delta.certainly_at_most(Fraction("1e-5"))


def put_in(*path: str | int, to: object) -> Callable[[Any], None]:
    def edit(record: Any) -> None:
        for key in path[:-1]:
            record = record[key]
        assert json.dumps(record[path[-1]]) != json.dumps(to)
        record[path[-1]] = to

    return edit


FALSE: list[tuple[str, Callable[[Any], None]]] = [
    ("ellipse", put_in("sensitivity", "max_nonzero", to=4)),
    ("ellipse", put_in("sensitivity", "bound", to="1.0001")),
    ("ellipse", put_in("sensitivity", "neighbours", to="replace-one")),
    ("ellipse", put_in("sensitivity", "neighbours", to="whoever")),
    ("ellipse", put_in("geometry", "shared", to="0")),
    ("ellipse", put_in("geometry", "shared", to="0.01")),
    ("ellipse", put_in("geometry", "queries", to=7)),
    ("ellipse", put_in("geometry", to=None)),
    ("ellipse", put_in("geometry", to={"kind": "cells", "count": 6})),
    ("ellipse", put_in("geometry", to={"kind": "ellipse"})),
    ("ellipse", put_in("geometry", to=3)),
    ("ellipse", put_in("dimension", to=5)),
    ("ellipse", put_in("sensitivity", "dimension", to=7)),
    ("ellipse", put_in("sensitivity", "max_nonzero", to="3")),
    ("ellipse", put_in("sensitivity", "with_total", to=True)),
    ("ellipse", put_in("sensitivity", "with_total", to=0)),
    ("ellipse with n", put_in("geometry", "total", to="2")),
    ("ellipse with n", put_in("geometry", "offset", to="0.5")),
    ("ellipse with n", put_in("sensitivity", "with_total", to=False)),
    (
        "groups",
        put_in("sensitivity", "neighbours", to="add-remove"),
    ),  # its interval is too high then
    ("groups", put_in("geometry", "total", to="1")),
    ("groups", put_in("geometry", "groups", to=2)),
    ("points", put_in("sensitivity", "points", 0, 0, to="9")),
    ("points", put_in("sensitivity", "points", to=[["1", "0"], ["0.5"]])),
    ("points", put_in("geometry", "rows", 0, 0, to="9")),
    ("cells", put_in("sensitivity", "l0", to=2)),
    ("cells", put_in("sensitivity", "bound", to="3")),
    ("cells", put_in("geometry", "count", to=21)),
    ("whole cells", put_in("sensitivity", "whole", to=False)),
    ("three cells", put_in("sensitivity", "l0", to=4)),
    ("three cells", put_in("sensitivity", "l0", to=1)),  # its interval is too high then
    ("three cells", put_in("sensitivity", "bound", to="2.501")),
    ("three cells", put_in("geometry", to=None)),
    ("three cells", put_in("compositions", to=2)),
    ("three cells", put_in("noise", "parameters", "scale", to="7")),
    ("two steps", put_in("sensitivity", "l0", to=3)),
    ("two steps", put_in("noise", "parameters", "decay", to="0.6")),
]


@pytest.mark.dense
@pytest.mark.parametrize(("name", "edit"), FALSE)
def test_no_false_statement_verifies(name: str, edit: Callable[[Any], None]) -> None:
    record = json.loads(certificate(name).to_json())
    edit(record)
    with pytest.raises(CertificateRejected):
        Certificate.from_json(json.dumps(record)).verify()


def test_a_geometry_for_something_else_proves_nothing() -> None:
    with pytest.raises(NotApplicable, match="count-ellipse"):
        Certificate.prove(
            budget=BUDGET,
            noise=Gaussian(scale=9, dimension=4),
            sensitivity=L2(1),
            geometry=CountEllipse(queries=4),
        )


def test_the_interval_reaches_below_what_the_rounded_radius_gives() -> None:
    # √3 is no float: δ lies between those of the floats beside it
    result = certificate("ellipse")
    assert result.shifts.inner != result.shifts.outer
    assert result.delta.lower < result.delta.upper
