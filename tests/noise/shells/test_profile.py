"""δ of spherical step densities: closed forms, a radial quadrature of the definition, the proof."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.common.law import RadialStepNoise
from leastnoise.noise.common.profile import outside, radial_log_delta
from leastnoise.noise.shells.law import OptimalRadial, SphericalStaircase
from tests.routes import integrate

# Worst case measured: 5e-12, in 10,000 dimensions.
FLOAT_ERROR = 1e-10


def _staircase(dimension: int, **parameters: Any) -> SphericalStaircase:
    return SphericalStaircase(scale=1, dimension=dimension, **parameters)


def _by_radius(law: RadialStepNoise, shift: float, epsilon: float) -> float:
    """δ(ε) at a shift t, E(1 − e^ε f(ρ)/f(r))₊ integrated over r's law, ρ² = r² + 2rtw + t²."""
    d, t = law.dimension, mp.mpf(shift) / mp.mpf(float(law.scale))
    edges = [mp.mpf(0), *(mp.mpf(edge.numerator) / edge.denominator for edge in law.steps.edges)]
    heights = [
        w * mp.exp(-mp.mpf(float(law.steps.decay)) * k)
        for w, k in zip(law.steps.weights, law.steps.levels, strict=True)
    ]
    total = sum(h * (b**d - a**d) for h, a, b in zip(heights, edges, edges[1:], strict=False))

    def below(r: mp.mpf, edge: mp.mpf) -> mp.mpf:
        """P(ρ < edge), for a cosine of symmetric beta law."""
        w = (edge**2 - r**2 - t**2) / (2 * r * t)
        if abs(w) >= 1:
            return mp.mpf(w >= 1)
        p = mp.mpf(d - 1) / 2
        return mp.betainc(p, p, 0, (1 + w) / 2, regularized=True)

    def exposed(r: mp.mpf) -> mp.mpf:
        here = next(h for h, edge in zip(heights, edges[1:], strict=True) if r <= edge)
        kept = mp.mpf(0)
        for h, a, b in zip(heights, edges, edges[1:], strict=False):
            kept += min(1, mp.exp(epsilon) * h / here) * (below(r, b) - below(r, a))
        return d * r ** (d - 1) * here / total * (1 - kept)

    kinks = {abs(edge + sign * t) for edge in edges for sign in (-1, 1)} | set(edges)
    return float(integrate(exposed, sorted(kink for kink in kinks if kink <= edges[-1])))


LAWS = [
    _staircase(2, gamma="0.37", radius="2.2", decay=1),
    _staircase(7, gamma="0.5", radius="1.7", decay=2),
    _staircase(3, gamma="0.8", radius="0.7", decay=1),
    OptimalRadial(scale="0.9", dimension=3, cells=4, edges=(1, 3, 5, 9), weights=(50, 20, 8, 1)),
    OptimalRadial(scale=1, dimension=2, cells=3, edges=(2, 3, 7), weights=(5, 5, 2)),
]


@pytest.mark.dense
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name}-d{law.dimension}")
@pytest.mark.parametrize(
    ("shift", "epsilon"), [("1", "1"), ("1", "0.3"), ("0.45", "0"), ("1.6", "2")]
)
def test_agrees_with_a_radial_integral(law: RadialStepNoise, shift: str, epsilon: str) -> None:
    value = math.exp(radial_log_delta(law, shift=Fraction(shift), epsilon=Fraction(epsilon)))
    assert value == pytest.approx(
        _by_radius(law, float(shift), float(epsilon)), rel=1e-9, abs=1e-14
    )


def test_reference_values() -> None:
    """theory/noise.md §2: TSS d=7, ε=1, γ=.5, R=24.2."""
    law = _staircase(7, gamma="0.5", radius="24.2", decay=1)
    for epsilon, value in (("1", 1.61163113344e-6), ("0.4", 0.1106104737)):
        delta = prove_delta(law, L2(1), Fraction(epsilon)).interval
        assert delta.lower == pytest.approx(value, rel=1e-9)
        assert delta.upper <= delta.lower * (1 + 1e-15)


def test_the_whole_profile_follows_from_two_numbers() -> None:
    """δ(ε') = δ + p₊(1 − e^(ε'−ε)) below ε, with p₊ = (TV − δ)/κ̄ (theory/noise.md §2)."""
    law = _staircase(4, gamma="0.3", radius="5.5", decay="1.2")

    def delta(epsilon: str) -> float:
        return math.exp(radial_log_delta(law, shift=Fraction(1), epsilon=Fraction(epsilon)))

    last, first = delta("1.2"), delta("0")
    share = (first - last) / -math.expm1(-1.2)
    for epsilon in ("0.1", "0.7", "1.1"):
        expected = last - share * math.expm1(float(epsilon) - 1.2)
        assert delta(epsilon) == pytest.approx(expected, rel=1e-13)
    assert delta("2") == pytest.approx(last, rel=1e-14)


@settings(derandomize=True, max_examples=80, deadline=None)
@given(
    st.sampled_from([2, 3, 10, 300, 5000]),
    st.fixed_dictionaries(
        {
            "gamma": st.floats(0.01, 1),
            "radius": st.floats(0.3, 20),
            "decay": st.sampled_from(["0", "0.1", "1", "7"]),
        }
    ),
    st.sampled_from(["0.2", "1", "1.5", "3"]),
    st.sampled_from(["0", "0.1", "1", "2.5", "7"]),
)
def test_the_proof_encloses_the_floats(
    dimension: int, parameters: dict[str, Any], shift: str, epsilon: str
) -> None:
    law = _staircase(dimension, **parameters)
    value = math.exp(radial_log_delta(law, shift=Fraction(shift), epsilon=Fraction(epsilon)))
    proved = prove_delta(law, L2(shift), Fraction(epsilon)).interval
    assert proved.lower * (1 - FLOAT_ERROR) <= value <= proved.upper * (1 + FLOAT_ERROR) + 1e-300


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.data())
def test_any_falling_profile(data: st.DataObject) -> None:
    """Weights of any kind, near-ties included; δ grows with the shift and falls with ε."""
    count = data.draw(st.integers(1, 8))
    edges = data.draw(st.sets(st.integers(1, 60), min_size=count, max_size=count))
    weights = data.draw(st.lists(st.integers(1, 2**60), min_size=count, max_size=count))
    law = OptimalRadial(
        scale="0.7",
        dimension=data.draw(st.integers(2, 20)),
        cells=10,
        edges=sorted(edges),
        weights=sorted(weights, reverse=True),
    )
    epsilon = Fraction(data.draw(st.sampled_from(["0", "0.5", "2"])))
    values = [
        prove_delta(law, L2(shift), epsilon).interval for shift in ("0.1", "0.35", "0.7", "1")
    ]
    assert all(a.lower <= b.upper for a, b in pairwise(values))
    assert values[-1].upper >= prove_delta(law, L2(1), epsilon + 1).interval.lower
    value = math.exp(radial_log_delta(law, shift=Fraction(1), epsilon=epsilon))
    assert value == pytest.approx(values[-1].upper, rel=1e-11, abs=1e-15)


def test_shares_of_balls() -> None:
    """Concentric-like, disjoint, and the halves of a ball cut by its twin."""
    a = np.array([1.0, 1.0, 3.0, 2.0])
    b = np.array([2.5, 1.5, 3.0, 2.0])
    values = outside(a, b, shift=1.0, dimension=3)
    assert values[0] == 0
    assert values[2] == pytest.approx(3 / 12 - 1 / (16 * 27), rel=1e-14)  # 3t/4r − t³/16r³
    assert outside(a[:2], b[:2], shift=4.0, dimension=3).tolist() == [1, 1]
    assert 0 < values[1] < 1
    assert np.all(outside(b, b, shift=1e-9, dimension=10**4) > 0)


def test_a_height_that_floats_cannot_tell_apart() -> None:
    """Weights one unit in 2^200 apart: the proof raises its precision until it can tell them."""
    law = OptimalRadial(
        scale=1, dimension=2, cells=1, edges=(1, 2, 3), weights=(2**200 + 1, 2**200, 2**199)
    )
    proved = prove_delta(law, L2(1), Fraction(0)).interval
    even = OptimalRadial(scale=1, dimension=2, cells=1, edges=(2, 3), weights=(2, 1))
    assert proved.lower == pytest.approx(prove_delta(even, L2(1), Fraction(0)).interval.lower)
