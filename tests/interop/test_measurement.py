"""OpenDP calls our release, and its map never promises more than was proved."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from opendp.mod import OpenDPException

import leastnoise as ln
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.interop import MissingExtra, to_opendp

dp: Any = import_module("opendp.prelude")  # whose names are no types

FEATURES = ("contrib", "honest-but-curious")


@pytest.fixture(autouse=True)
def _features() -> Iterator[None]:
    dp.enable_features(*FEATURES)
    yield
    dp.disable_features(*FEATURES)


def calibrated(noise: str, *, dimension: int = 1, **changes: Any) -> ln.Mechanism:
    asked = {"epsilon": "1", "delta": "1e-5", "sensitivity": ln.L2("1.5")} | changes
    return ln.calibrate(noise, dimension=dimension, **asked)


@pytest.mark.parametrize(
    ("noise", "changes", "metric"),
    [
        ("l2", {"dimension": 3}, dp.l2_distance(T=float)),
        ("laplace", {"dimension": 3, "sensitivity": ln.L1("1.5")}, dp.l1_distance(T=float)),
        ("gaussian", {}, dp.absolute_distance(T=float)),
    ],
)
def test_the_space_and_the_release(noise: str, changes: dict[str, Any], metric: Any) -> None:
    mechanism = calibrated(noise, **changes)
    wrapped = to_opendp(mechanism)
    assert wrapped.input_metric == metric
    data = [1e6, -2e6, 3e6] if mechanism.noise.dimension > 1 else 1e6
    result, grid = wrapped(data), mechanism.grid
    for value, truth in zip(np.atleast_1d(result), np.atleast_1d(data), strict=True):
        assert 0 < abs(value - truth) < 1000
        assert (Fraction(value) / grid).denominator == 1
    assert wrapped(data) != result


def test_the_map_of_a_pair() -> None:
    wrapped = to_opendp(calibrated("l2", dimension=3))
    assert wrapped.output_measure == dp.approximate(dp.max_divergence())
    assert wrapped.map(1.5) == wrapped.map(0.5) == (1.0, 1e-5)
    for wrong in (1.5000001, 2.0, -1.0):
        with pytest.raises(OpenDPException, match="d_in"):
            wrapped.map(wrong)
    both = dp.c.make_composition([wrapped, wrapped])
    assert both.map(1.5) == (2.0, 2e-5)


def test_d_in_is_the_float_that_it_is() -> None:
    with pytest.raises(OpenDPException, match="certified sensitivity"):
        to_opendp(calibrated("laplace", sensitivity=ln.L1("0.1"))).map(0.1)  # above 1/10
    assert to_opendp(calibrated("laplace", sensitivity=ln.L1(Fraction(0.1)))).map(0.1)


def test_budgets_are_rounded_up() -> None:
    for text in ("0.1", "0.3", "1/3", "0.7"):
        wrapped = to_opendp(calibrated("gaussian", epsilon=text, delta="1e-6"))
        epsilon, delta = wrapped.map(1.0)
        assert Fraction(epsilon) >= Fraction(text)
        assert Fraction(delta) >= Fraction(1, 10**6)


def test_pure_privacy() -> None:
    wrapped = to_opendp(calibrated("laplace", delta=0, sensitivity=ln.L1("1.5")))
    assert wrapped.output_measure == dp.max_divergence()
    assert wrapped.map(1.0) == 1.0


def test_at_another_epsilon() -> None:
    mechanism = calibrated("gaussian", compositions=10)
    with pytest.raises(NotApplicable, match="10 releases"):
        to_opendp(mechanism)
    epsilon, delta = to_opendp(mechanism, epsilon="0.4").map(1.5)
    assert epsilon >= Fraction("0.4")
    assert delta == mechanism.delta_per_release(epsilon="0.4").upper < 1e-5


def test_zcdp_is_that_of_opendp_at_every_distance() -> None:
    mechanism = calibrated("gaussian", dimension=3)
    wrapped = to_opendp(mechanism, measure="zcdp")
    assert wrapped.output_measure == dp.zero_concentrated_divergence()
    for d_in in (0.0, 0.5, 1.5, 40.0):
        exact = Fraction(d_in) ** 2 / (2 * mechanism.noise.scale**2)
        assert exact <= Fraction(wrapped.map(d_in)) <= exact * (1 + Fraction(1, 10**14))
    ten = calibrated("gaussian", dimension=3, compositions=10)  # one call is one of the ten
    assert to_opendp(ten, measure="zcdp").map(1.0) == pytest.approx(
        float(1 / (2 * ten.noise.scale**2)), rel=1e-13
    )
    theirs = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T=float, nan=False), size=3),
        dp.l2_distance(T=float),
        scale=float(mechanism.noise.scale),
    )
    assert wrapped.map(1.5) == pytest.approx(theirs.map(1.5), rel=1e-9)
    with pytest.raises(NotApplicable, match="zCDP"):
        to_opendp(calibrated("l2", dimension=2), measure="zcdp")


def test_whole_numbers() -> None:
    mechanism = calibrated("discrete-staircase", sensitivity=ln.Integer(2))
    wrapped = to_opendp(mechanism)
    assert wrapped.input_metric == dp.absolute_distance(T="i32")
    assert wrapped(7) % 1 == 0
    assert wrapped.map(2) == (1.0, 1e-5)
    with pytest.raises(OpenDPException, match="d_in"):
        wrapped.map(3)
    pure = to_opendp(ln.calibrate("geometric", epsilon=1, sensitivity=ln.Integer(2)))
    assert pure.output_measure == dp.max_divergence()
    assert pure(7) % 1 == 0
    assert pure.map(2) == 1.0


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotApplicable, match="Poisson"):
        to_opendp(calibrated("gaussian", sampling_rate="0.1"))
    with pytest.raises(NotApplicable, match="no metric"):
        to_opendp(calibrated("gaussian", dimension=2, sensitivity=ln.Linf(1, l0=1)))
    with pytest.raises(InvalidArgument, match="zcdp"):
        to_opendp(calibrated("gaussian"), measure="rdp")  # pyright: ignore[reportArgumentType]
    dp.disable_features(*FEATURES)
    with pytest.raises(Refused, match="honest-but-curious"):
        to_opendp(calibrated("gaussian"))
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtra, match=r"opendp .*pip install 'leastnoise\[interop\]'"):
        to_opendp(calibrated("gaussian"))


@pytest.mark.parametrize("norm", ["L1Distance<i32>", "L2Distance<i32>"])
def test_it_chains_after_counts_by_categories(norm: str) -> None:
    texts = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = texts >> dp.t.then_count_by_categories(["a", "b"], MO=norm)
    given = ln.L1(counts.map(1)) if norm.startswith("L1") else ln.L2(Fraction(counts.map(1)))
    noise = ln.calibrate("l2", epsilon=50, delta="1e-5", sensitivity=given, dimension=3)
    chain = counts >> to_opendp(noise, numbers="i32")
    assert chain.map(1) == (50.0, 1e-5)
    assert chain(["a", "a", "z"]) == pytest.approx([2, 0, 1], abs=3)


def test_it_chains_after_a_sum_whose_map_is_rounded_up() -> None:
    floats = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)), size=3000), dp.symmetric_distance()
    total = floats >> dp.t.then_sum()
    assert total.map(2) > 1
    short = total >> to_opendp(ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1)))
    with pytest.raises(OpenDPException, match=r"sensitivity=L1\(Fraction\(query\.map\(d\)\)\)"):
        short.map(2)
    enough = ln.L1(Fraction(total.map(2)))
    chain = total >> to_opendp(ln.calibrate("laplace", epsilon=1, sensitivity=enough))
    assert chain.map(2) == 1.0
    assert chain([0.5] * 3000) == pytest.approx(1500, abs=50)
