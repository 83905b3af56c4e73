"""δ of truncated staircases in a gauge: against sums over rectangles, draws, other proofs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leastnoise.accounting.proof.composed import prove_composed, prove_delta
from leastnoise.balls.core import float_above, float_below, precision
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Ball, Box, Polygon, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.sensitivity import L1, Sensitivity, ShiftBounds
from leastnoise.guarantees.structured import CountingQueries, Linf
from leastnoise.noise.bodies.law.k_norm import TruncatedKStaircase
from leastnoise.noise.bodies.proof import truncated_delta_ball
from leastnoise.noise.question import Releases
from leastnoise.noise.shells import proof as radial_step
from leastnoise.noise.shells.law import SphericalStaircase
from leastnoise.noise.steps import proof as steps_proof
from leastnoise.noise.steps.law import TruncatedStaircase
from leastnoise.selection.public import calibrate
from tests.accounting.direct import Masses, delta_of_masses
from tests.noise.bodies.examples import rejected

SQUARE = Box(bounds=[1, 2])
EPSILONS = ("0", "0.3", "0.8", "1.7", "2.4", "30")
DRAWS, SURE = 20_000, 5.0  # standard errors


def law(body: Body, **other: Any) -> TruncatedKStaircase:
    given = {"scale": 1, "gamma": "0.3", "radius": "3.6", "decay": "0.8"} | other
    return TruncatedKStaircase(body=body, **given)


def at(noise: TruncatedKStaircase, epsilon: str | Fraction) -> tuple[float, float]:
    with precision(128):
        enclosure = truncated_delta_ball(noise, shift=Fraction(1), epsilon=Fraction(epsilon))
        return float_below(enclosure), float_above(enclosure)


SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "one step": {"radius": "0.25"},
    "less than a shift": {"radius": "0.9", "gamma": "0.7"},
    "whole": {"gamma": 1, "radius": 4},
    "even": {"decay": 0},
    "steep": {"decay": 12},
    "a small scale": {"scale": "0.45"},
    "a large scale": {"scale": "1.7"},
    "a scale below one step": {"scale": "0.21", "radius": "9.3"},
}


def of_rectangles(noise: TruncatedKStaircase, shift: tuple[float, ...], epsilon: float) -> float:
    """δ(ε) of steps in a box at a shift, summed over rectangles with constant densities."""
    assert isinstance(noise.body, Box)
    edges = np.array([float(edge) for edge in noise.steps.edges]) * float(noise.scale)
    axes = []
    for bound, moved in zip(noise.body.bounds, shift, strict=True):
        ends = np.concatenate([-edges, edges]) * float(bound)
        axes.append(np.unique(np.concatenate([ends, ends + moved])))
    middles = np.stack(np.meshgrid(*[(a[1:] + a[:-1]) / 2 for a in axes], indexing="ij"), axis=-1)
    areas = np.multiply.outer(*[np.diff(a) for a in axes])
    here, there = (np.exp(noise.log_density(x)) for x in (middles, middles - np.array(shift)))
    assert (here * areas).sum() == pytest.approx(1)
    return float((np.maximum(here - np.exp(epsilon) * there, 0) * areas).sum())


@pytest.mark.parametrize("shape", SHAPES)
def test_a_box_at_its_corner_has_the_curve_and_no_other_shift_has_more(shape: str) -> None:
    noise = law(SQUARE, **SHAPES[shape])
    others = ((1, -2), (0.6, 1.2), (1, 0), (0, 2), (0.9, -2), (1, 1.3))
    for epsilon in EPSILONS:
        low, high = at(noise, epsilon)
        exact = of_rectangles(noise, (1, 2), float(epsilon))
        assert low == pytest.approx(exact, abs=1e-12)
        assert high - low <= 1e-15
        for shift in others:
            assert of_rectangles(noise, shift, float(epsilon)) <= high + 1e-12


@pytest.mark.parametrize("dimension", [2, 3, 40])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_curve_of_a_cube_in_closed_form(dimension: int, epsilon: str) -> None:
    """Between ε = 0, where it is TV, and the decay it is linear in e^ε, and constant from there."""
    noise = law(Box(bounds=[1] * dimension))
    low, high = at(noise, epsilon)
    with mp.workdps(40):
        q, ends = mp.exp(mp.mpf("-0.8")), [mp.mpf(e) for e in ("0.3", "1.3", "2.3", "3.3", "3.6")]
        heights = [q**k - q ** (k + 1) for k in range(4)] + [q**4]
        total = mp.fsum(h * e**dimension for h, e in zip(heights, ends, strict=True))
        within = [max(mp.mpf(0), e - mp.mpf("0.5")) ** dimension for e in ends]
        tv = 1 - mp.fsum(h * item for h, item in zip(heights, within, strict=True)) / total
        left = [min(e, (e + mp.mpf("2.6")) / 2) ** dimension for e in ends]
        beyond = 1 - mp.fsum(h * item for h, item in zip(heights, left, strict=True)) / total
        alpha = mp.exp(mp.mpf(epsilon)) if float(epsilon) < 0.8 else 1 / q
        exact = (tv * (1 / q - alpha) + beyond * (alpha - 1)) / (1 / q - 1)
        assert low <= exact <= high
    assert high - low <= 1e-15


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_on_an_interval_it_is_the_truncated_staircase(shape: str, epsilon: str) -> None:
    given = {"scale": 1, "gamma": "0.3", "radius": "3.6", "decay": "0.8"} | SHAPES[shape]
    line = TruncatedStaircase(**given)
    low, high = at(law(Segment(bound=1), **SHAPES[shape]), epsilon)
    with precision(128):
        exact = steps_proof.step_delta_ball(line, shift=Fraction(1), epsilon=Fraction(epsilon))
    assert low <= float_above(exact)
    assert float_below(exact) <= high


@pytest.mark.parametrize("dimension", [2, 5, 30])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_ball_has_less(dimension: int, epsilon: str) -> None:
    """The proof of the spherical family, which knows δ exactly."""
    given: dict[str, Any] = {"scale": 1, "gamma": "0.3", "radius": "3.6", "decay": "0.8"}
    sphere = SphericalStaircase(dimension=dimension, **given)
    with precision(128):
        exact = radial_step.delta_ball(sphere, shift=Fraction(1), epsilon=Fraction(epsilon))
    assert 0 < float_above(exact) < at(law(Ball(bound=1, coordinates=dimension)), epsilon)[0]


BODIES: dict[str, Body] = {
    "hexagon": Signed(of=Counts(queries=2)),
    "3 counts": Signed(of=Counts(queries=3)),
    "replaced": Differences(of=Counts(queries=3, most=1)),
    "cells": Cells(bodies=[Segment(bound=1)], copies=[3]),
    "polygon": Polygon(points=[["1", "0"], ["0.5", "1.5"]]),
    "cube": Box(bounds=[1, 1, 1]),
}


@pytest.mark.dense
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("scale", ["1", "0.6"])
def test_no_shift_of_any_body_has_more_by_draws(name: str, scale: str) -> None:
    noise = law(BODIES[name], scale=scale)
    x = rejected(noise, DRAWS, seed=5) * float(noise.scale)
    corners = [
        np.array([float(coordinate) for coordinate in corner]) for corner in noise.body.corners()
    ]
    shifts = [*corners, 0.7 * corners[0], (corners[0] + corners[1]) / 2]
    for epsilon in ("0", "0.5", "0.8", "3"):
        result, error = 0.0, 0.0
        for shift in shifts:
            with np.errstate(invalid="ignore"):
                losses = noise.log_density(x) - noise.log_density(x - shift)
            gained = np.maximum(-np.expm1(float(epsilon) - losses), 0)
            if gained.mean() > result:
                result, error = float(gained.mean()), float(gained.std() / DRAWS**0.5)
        _, most = at(noise, epsilon)
        assert result <= most + SURE * error
        if name == "cube":
            assert result == pytest.approx(most, abs=SURE * error)


def test_it_is_exact_for_a_box_alone_and_for_all_of_its_shifts() -> None:
    half = Fraction(1, 2)
    cases: list[tuple[Body, Sensitivity, bool]] = [
        (Box(bounds=[1, 1]), Linf(1, l0=2), True),
        (Box(bounds=[1, 1]), CountingQueries(dimension=2), False),
        (Box(bounds=[1, "1.5"]), Linf(1, l0=2), False),
        (Signed(of=Counts(queries=2)), CountingQueries(dimension=2), False),
        (Cells(bodies=[Segment(bound=1)], copies=[2]), L1(1), False),
    ]
    for body, sensitivity, exact in cases:
        interval = prove_delta(law(body), sensitivity, half).interval
        assert interval.upper > 0
        assert interval.lower >= interval.upper * (1 - 1e-15) if exact else interval.lower == 0


@pytest.mark.parametrize("epsilon", ["0.5", "1.6", "2.4"])
def test_releases_compose_as_four_losses(epsilon: str) -> None:
    """∞, 0.8, 0 and −0.8, from δ at 0 and at the decay; a box from below as well."""
    box, noise = Linf(1, l0=2), law(Box(bounds=[1, 1]))
    part = Releases(noise=noise, shifts=ShiftBounds.of(box), compositions=3)
    interval = prove_composed((part,), Fraction(epsilon)).interval
    with mp.workdps(30):
        q = mp.exp(mp.mpf("-0.8"))
        tv, beyond = (mp.mpf(at(noise, item)[0]) for item in ("0", "0.8"))
        p = (tv - beyond) / (1 - q)
        rest = 1 - beyond - p - p * q
        pairs = ((beyond, 0), (0, beyond), (p, p * q), (p * q, p), (rest, rest))
        exact = float(delta_of_masses([(Masses(pairs=pairs), 3)], epsilon))
    assert interval.lower * (1 - 1e-12) <= exact <= interval.upper * (1 + 1e-12)
    assert interval.upper <= exact * (1 + 1e-6)
    assert interval.lower >= exact * (1 - 1e-6)


def test_a_sample_leaks_as_much_less() -> None:
    """δ'(ε') = γδ(ε) with e^ε' − 1 = γ(e^ε − 1), the record removed; exact for a box."""
    noise = law(Box(bounds=[1, 1]))
    part = Releases(
        noise=noise,
        shifts=ShiftBounds.of(Linf(1, l0=2)),
        compositions=1,
        sampling_rate=Fraction(1, 10),
    )
    sampled = Fraction(float(np.log1p(np.expm1(0.5) / 10)))
    interval = prove_composed((part,), sampled).interval
    assert interval.upper == pytest.approx(at(noise, "0.5")[1] / 10, rel=1e-9)


Record = dict[str, Any]
Edit = Callable[[Record], object]
PROVED: dict[str, tuple[Sensitivity, int]] = {
    "box": (Linf("2.5", l0=2), 2),
    "counts": (CountingQueries(dimension=3), 3),
    "cells": (L1("1.5"), 3),
}


@cache
def certificate(name: str) -> Certificate:
    sensitivity, dimension = PROVED[name]
    return calibrate(
        "truncated-k-staircase",
        epsilon="1",
        delta="1e-2",
        sensitivity=sensitivity,
        dimension=dimension,
    ).certificate


def edited(name: str, edit: Edit) -> Certificate:
    record = json.loads(certificate(name).to_json())
    before = json.dumps(record)
    edit(record)
    assert json.dumps(record) != before
    return Certificate.from_json(json.dumps(record))


def parameter(name: str, by: float) -> Edit:
    def edit(record: Record) -> None:
        parameters = record["noise"]["parameters"]
        value = parameters[name]
        number = float.fromhex(value) if "0x" in value else float(Fraction(value))
        parameters[name] = repr(number * by)

    return edit


def shifts(by: float) -> Edit:
    """An edit that multiplies the stated bound on one unit by `by`."""

    def edit(record: Record) -> None:
        stated = record["sensitivity"]
        stated["bound"] = repr(float(stated["bound"]) * by)

    return edit


FALSE: dict[str, Edit] = {
    "epsilon down": lambda record: record.update(epsilon="0.999999"),
    "delta down": lambda record: record.update(delta="0.0099999"),
    "no delta": lambda record: record.update(delta="0"),
    "a lesser interval": lambda record: record.update(delta_interval=[(0.0).hex(), (0.009).hex()]),
    "a shorter range": parameter("radius", 0.99999),
    "scale down": parameter("scale", 0.999999),
    "a steeper law": parameter("decay", 1.000001),
    "more in one go": shifts(1.000001),
    "compositions up": lambda record: record.update(compositions=2),
    "dimension up": lambda record: record.update(dimension=record["dimension"] + 1),
    "gamma above 1": lambda record: record["noise"]["parameters"].update(gamma="1.1"),
    "no end": lambda record: record["noise"].update(name="k-staircase"),
    "a range beyond all steps": lambda record: record["noise"]["parameters"].update(radius="1e5"),
    "another body": lambda record: record["noise"]["parameters"].update(
        body={"kind": "ball", "bound": "1", "coordinates": record["dimension"]}
    ),
}


@pytest.mark.parametrize("name", PROVED)
def test_a_certificate_is_verified(name: str) -> None:
    proved_certificate = certificate(name)
    read = Certificate.from_json(proved_certificate.to_json())
    assert read == proved_certificate
    fresh = read.verify()
    assert 0.999_999e-2 <= fresh.upper <= 1e-2
    assert (fresh.lower > 0.999_999e-2) == (name == "box")


@pytest.mark.parametrize(("name", "edit"), list(itertools.product(PROVED, FALSE)))
def test_what_makes_it_false_is_rejected(name: str, edit: str) -> None:
    with pytest.raises(CertificateRejected):
        edited(name, FALSE[edit]).verify()


@pytest.mark.parametrize(
    "edit", [parameter("scale", 1.5), shifts(0.9), lambda record: record.update(delta="0.02")]
)
def test_what_is_still_true_is_accepted(edit: Edit) -> None:
    def wider(record: Record) -> None:
        edit(record)
        record["delta_interval"] = [(0.0).hex(), (0.02).hex()]

    edited("counts", wider).verify()
