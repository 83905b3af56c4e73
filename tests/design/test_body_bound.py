from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.balls.core import AMPLE_BITS
from leastnoise.design.bounds import body_bound
from leastnoise.design.bounds.body_bound import BodyWitness
from leastnoise.design.bounds.lower_bound import LowerBound
from leastnoise.errors import CertificateRejected, InvalidArgument, InvalidInput
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf
from leastnoise.noise.question import Loss
from leastnoise.selection.public import calibrate
from tests.grids import thin

COUNTS = CountingQueries(dimension=3)


def build(
    sensitivity: Sensitivity, dimension: int, epsilon: str = "1", loss: str = "mse"
) -> LowerBound:
    power = 1 if loss == "mae" else 2
    witness = body_bound.propose(
        sensitivity, dimension=dimension, epsilon=Fraction(epsilon), power=power
    )
    assert witness is not None
    return LowerBound.prove(loss=Loss.named(loss), epsilon=epsilon, delta=0, witness=witness)


def test_round_trip_and_verify() -> None:
    for bound in (build(COUNTS, 3), build(L1("1.5"), 4, "0.3", "mae"), build(L2(2), 5, "7")):
        read = LowerBound.from_json(bound.to_json())
        assert read == bound
        read.verify()
        with pytest.raises(CertificateRejected, match="proof shows"):
            replace(bound, value=bound.value * (1 + 1e-12)).verify()


@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", ["0.2", "2.7", "9"])
def test_the_staircase_is_the_best_for_a_ball(dimension: int, epsilon: str) -> None:
    name = "staircase" if dimension == 1 else "k-staircase"
    noise = calibrate(name, epsilon=epsilon, sensitivity=L2("1.5"), dimension=dimension)
    bound = build(L2("1.5"), dimension, epsilon)
    assert bound.value <= noise.mse <= bound.value * (1 + 1e-6)


LAWS = [
    (Linf(1, l0=3), 3, "k-staircase"), (Linf(2), 3, "staircase"), (L1(1), 2, "k-staircase"),
    (Linf(1, l0=2), 4, "k-norm"), (COUNTS, 3, "two-sided-staircase"),
    (CountingQueries(dimension=4, max_nonzero=2), 4, "two-sided-staircase"),
    (CountingQueries(dimension=2, with_total=True), 3, "k-norm"),
    (CountingQueries(dimension=3, max_nonzero=2, neighbours="replace-one"), 3, "k-staircase"),
    (Groups(groups=2, dimension=1), 4, "k-norm"), (COUNTS, 3, "two-sided-laplace"),
]  # fmt: skip


@pytest.mark.parametrize(("sensitivity", "dimension", "name"), LAWS)
@pytest.mark.parametrize("epsilon", thin(["1.7", "0.13", "6"], 1))
def test_no_noise_is_better(
    sensitivity: Sensitivity, dimension: int, name: str, epsilon: str
) -> None:
    noise = calibrate(name, epsilon=epsilon, sensitivity=sensitivity, dimension=dimension)
    bound = build(sensitivity, dimension, epsilon)
    assert 0 < bound.value <= noise.mse
    absolute = build(sensitivity, dimension, epsilon, "mae")
    assert 0 < absolute.value <= noise.mae


def find_best_gamma(epsilon: str, dimension: int) -> Fraction:
    with body_bound.precision(AMPLE_BITS):
        return body_bound.StaircaseMoment.of(
            epsilon=Fraction(epsilon), dimension=dimension, power=2
        ).best()


def ratio(sensitivity: Sensitivity, dimension: int, name: str) -> float:
    """The noise's mean squared error, divided by the bound from the body of all shifts."""
    witness = BodyWitness(
        sensitivity=sensitivity,
        dimension=dimension,
        coordinates=dimension,
        times=1,
        gamma=find_best_gamma("1", dimension),
    )
    bound = LowerBound.prove(loss=Loss.MSE, epsilon=1, delta=0, witness=witness)
    noise = calibrate(name, epsilon=1, sensitivity=sensitivity, dimension=dimension)
    return noise.mse / bound.value


@pytest.mark.parametrize(("dimension", "known"), [(2, 1.047), (3, 1.083), (5, 1.134), (10, 1.206)])
def test_boxes(dimension: int, known: float) -> None:
    """Theory of bodies, §8; the limit is πe/6."""
    quotient = ratio(Linf(1, l0=dimension), dimension, "k-staircase")
    assert quotient == pytest.approx(known, abs=6e-4)
    assert quotient < math.pi * math.e / 6


@pytest.mark.parametrize(("dimension", "known"), [(2, 1.68), (3, 1.91), (5, 2.01), (10, 1.95)])
def test_counts(dimension: int, known: float) -> None:
    """Theory of bodies, §8: with |S| = 2; several records in a row prove more."""
    counts = CountingQueries(dimension=dimension)
    quotient = ratio(counts, dimension, "two-sided-staircase")
    assert quotient == pytest.approx(known, abs=6e-3)
    noise = calibrate("two-sided-staircase", epsilon=1, sensitivity=counts, dimension=dimension)
    assert noise.mse / build(counts, dimension).value < quotient - 0.2


@pytest.mark.parametrize(("dimension", "known"), [(2, 1.149), (3, 1.222), (5, 1.306), (10, 1.389)])
def test_hulls_of_counts(dimension: int, known: float) -> None:
    """Many records in a row come near to the hull, of volume d + 1, which smooth laws hide."""
    counts = CountingQueries(dimension=dimension)
    noise = calibrate("two-sided-laplace", epsilon="0.001", sensitivity=counts, dimension=dimension)
    witness = BodyWitness(
        sensitivity=counts,
        dimension=dimension,
        coordinates=dimension,
        times=64,
        gamma=find_best_gamma("0.064", dimension),
    )
    bound = LowerBound.prove(loss=Loss.MSE, epsilon="0.001", delta=0, witness=witness)
    hull = (1 + 64 * (1 - (1 - 1 / 64) ** dimension)) / (dimension + 1)
    at_small = noise.mse / bound.value * hull ** (2 / dimension)
    # at ε = 1 the least moment of the steps is lower than d(d + 1)/ε², and so is the law's
    assert at_small == pytest.approx(known, rel=0.02)


def test_many_sensitivities_scale_alike() -> None:
    for item, three in (
        (L2(1), L2(3)), (L1(1), L1(3)), (Linf(1, l0=2), Linf(3, l0=2)),
        (CountingQueries(dimension=3), CountingQueries(dimension=3, bound=3)),
    ):  # fmt: skip
        assert build(three, 3).value == pytest.approx(9 * build(item, 3).value)


def edited(change: Callable[[Any], object]) -> str:
    record = json.loads(build(COUNTS, 3).to_json())
    change(record)
    return json.dumps(record)


EDITS: dict[str, Callable[[Any], object]] = {
    "more epsilon": lambda r: r.update(epsilon="1.01"),
    "some delta": lambda r: r.update(delta="1e-9"),
    "another loss": lambda r: r.update(loss="mae"),
    "whole numbers": lambda r: r.update(scope="integer"),
    "fewer shifts": lambda r: r["witness"]["sensitivity"].update(bound="0.99"),
    "sparse shifts": lambda r: r["witness"]["sensitivity"].update(max_nonzero=2),
    "another dimension": lambda r: r["witness"].update(dimension=4),
    "fewer coordinates": lambda r: r["witness"].update(coordinates=1),
    "more coordinates": lambda r: r["witness"].update(coordinates=4),
    "no coordinates": lambda r: r["witness"].update(coordinates=0),
    "more times": lambda r: r["witness"].update(times=64),
    "times beyond": lambda r: r["witness"].update(times=10**6),
    "no times": lambda r: r["witness"].update(times=0),
    "another gamma": lambda r: r["witness"].update(gamma="0.1"),
    "gamma of 0": lambda r: r["witness"].update(gamma="0"),
    "gamma above 1": lambda r: r["witness"].update(gamma="1.5"),
    "a float gamma": lambda r: r["witness"].update(gamma=0.5),
    "an unknown sensitivity": lambda r: r["witness"]["sensitivity"].update(kind="l3"),
    "an unknown field": lambda r: r["witness"].update(extra=1),
    "a missing field": lambda r: r["witness"].pop("times"),
    "dimension as text": lambda r: r["witness"].update(dimension="3"),
    "value up": lambda r: r.update(value=(float.fromhex(r["value"]) * 1.001).hex()),
}


@pytest.mark.grid
@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_rejected(edit: str) -> None:
    text = edited(EDITS[edit])
    with pytest.raises((CertificateRejected, InvalidInput)):
        LowerBound.from_json(text).verify()


def test_a_moment_that_is_too_large_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim more than the least moment of the staircase: nothing is proved any more."""
    bound = build(L2(1), 3, "4")
    monkeypatch.setattr(body_bound, "SLACK", -1e-7)
    with pytest.raises(CertificateRejected, match="gamma"):
        bound.verify()


def test_a_volume_that_is_too_large_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts' hull in place of the counts is more than noise for counts has to hide."""
    honest = calibrate("two-sided-staircase", epsilon=6, sensitivity=COUNTS, dimension=3)
    volumes = body_bound.Projections.volume
    assert build(COUNTS, 3, "6").value <= honest.mse
    monkeypatch.setattr(body_bound.Projections, "volume", lambda *a, **k: 3 * volumes(*a, **k))
    assert build(COUNTS, 3, "6").value > honest.mse


def test_nothing_is_said_where_nothing_is_known() -> None:
    for sensitivity, dimension, epsilon in (
        (Integer(1), 1, "1"), (Linf(1, whole=True), 3, "1"), (COUNTS, 3, "0"), (L2(1), 2, "501"),
        (L2(1), 1001, "1"), (L2(1), 900, "30"),
    ):  # fmt: skip
        assert (
            body_bound.propose(sensitivity, dimension=dimension, epsilon=Fraction(epsilon), power=2)
            is None
        )


def test_it_is_about_its_own_problem_alone() -> None:
    bound = build(COUNTS, 3)
    asked: dict[str, Any] = {"budget": Budget(epsilon=1), "loss": Loss.MSE, "dimension": 3}
    assert bound.is_about(**asked, sensitivity=COUNTS)
    assert not bound.is_about(**asked)
    assert not bound.is_about(**asked, sensitivity=CountingQueries(dimension=3, max_nonzero=2))
    assert not bound.is_about(**asked, sensitivity=COUNTS, steps=1)
    assert bound.sensitivity == COUNTS


def test_what_is_no_witness_is_refused() -> None:
    good = {"sensitivity": COUNTS, "dimension": 3, "coordinates": 3, "times": 1, "gamma": "0.5"}
    for wrong in ({"sensitivity": 1}, {"dimension": 0}, {"coordinates": 1.5}, {"times": True},
                  {"gamma": "x"}):  # fmt: skip
        with pytest.raises(InvalidArgument):
            BodyWitness(**{**good, **wrong})  # type: ignore[arg-type]
