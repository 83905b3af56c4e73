"""The ways to fit noise to a sensitivity: one number has only one, as maps don't help it."""

from __future__ import annotations

import pytest

import leastnoise as ln
from leastnoise.calibration import calibrate_family
from leastnoise.design.programs import ellipse
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry, Geometry
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import family_named
from leastnoise.selection.constructions import list_constructions

_COUNT = ln.CountingQueries(dimension=1, max_nonzero=1, neighbours="add-remove")
_POINTS = ln.Vertices([[1], [-2]])
_MAPS: dict[str, tuple[Sensitivity, Geometry]] = {
    "cells": (ln.Linf("1.5", l0=1), CellGeometry(count=1)),
    "ellipse": (_COUNT, ellipse.least_variance(_COUNT)),
    "ellipsoid": (_POINTS, ellipse.least_trace(_POINTS)),
}


@pytest.mark.parametrize("kind", _MAPS)
def test_a_map_of_one_number_gives_no_other_noise(kind: str) -> None:
    sensitivity, geometry = _MAPS[kind]
    budget = Budget(epsilon="0.7", delta="1e-6")
    question = Question(budget=budget, sensitivities=(sensitivity,))
    (construction,) = list_constructions(question)
    assert construction.geometry is None
    for name in ("laplace", "gaussian", "truncated-staircase"):
        losses = [
            Loss.MSE.of(
                ln.Mechanism(
                    calibrate_family(
                        family_named(name), question.through(sensitivity, chosen)
                    ).certificate
                )
            )
            for chosen in (None, geometry)
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def test_several_numbers_have_the_maps() -> None:
    question = Question(budget=Budget(epsilon=1), sensitivities=(ln.Linf(1, l0=1),), dimension=2)
    assert [construction.name for construction in list_constructions(question)] == ["ball", "cells"]


def test_a_comparison_for_one_number_names_each_family_once() -> None:
    comparison = ln.compare(epsilon=1, sensitivity=ln.Linf(1, l0=1))
    names = [candidate.mechanism.noise.name for candidate in comparison.candidates]
    assert len(set(names)) == len(names)
