from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import FlippedHuber, TruncatedLaplace
from leastnoise.noise.common.law import RadialStepNoise, StepNoise
from leastnoise.noise.registry import FAMILIES, family_named
from leastnoise.noise.steps.law import Staircase
from tests.laws import BODY_LAWS, LATTICE_LAWS, LAWS, label
from tests.routes import integrate


def _edges(law: Noise) -> tuple[Fraction, ...]:
    """Points where the density jumps or bends, in units of the scale: quadrature splits there."""
    if isinstance(law, TruncatedLaplace):
        return (law.radius,)
    if isinstance(law, FlippedHuber):
        return (law.alpha,)
    if isinstance(law, Staircase):
        return tuple(law.gamma + j for j in range(60))
    return law.steps.edges if isinstance(law, (StepNoise, RadialStepNoise)) else ()


def _along_the_radius(law: Noise, moment: int) -> mp.mpf:
    """∫ |x|^moment f over R^d, from log_density alone: radially, or per coordinate for laplace."""
    d = law.dimension

    def density(x: list[float]) -> float:
        return math.exp(float(law.log_density(np.array(x))))

    if d == 1:
        points = sorted({0, 2, 8, 60, *(float(edge) * 0.7 for edge in _edges(law))})
        return 2 * integrate(lambda r: r**moment * density([float(r)]), points)
    if law.name == "laplace":
        at_zero = density([0.0] * d)
        integral = integrate(lambda t: density([float(t)] + [0.0] * (d - 1)) / at_zero, [0, 2, 60])
        part = integrate(
            lambda t: t**moment * density([float(t)] + [0.0] * (d - 1)) / at_zero, [0, 2, 60]
        )
        return at_zero * (2 * integral) ** d * (part / integral if moment else 1)
    sphere = 2 * mp.pi ** (mp.mpf(d) / 2) / mp.gamma(mp.mpf(d) / 2)
    points = sorted({0, 2, 8, 60, *(float(edge) * 0.7 for edge in _edges(law))})
    return sphere * integrate(
        lambda r: r ** (d - 1 + moment) * density([float(r)] + [0.0] * (d - 1)), points
    )


@pytest.mark.grid
@pytest.mark.parametrize("law", LAWS, ids=label)
def test_the_density_integrates_to_one_and_has_the_stated_variance(law: Noise) -> None:
    assert abs(_along_the_radius(law, 0) - 1) < 1e-9
    second = float(_along_the_radius(law, 2))
    expected = law.variance if law.name == "laplace" else law.mse
    assert second == pytest.approx(expected, rel=1e-9)


@pytest.mark.grid
@pytest.mark.parametrize("law", LAWS, ids=label)
def test_mean_abs_is_the_radius_times_the_mean_cosine(law: Noise) -> None:
    d = law.dimension
    first = float(_along_the_radius(law, 1))
    spherical = d > 1 and law.name != "laplace"
    cosine = math.gamma(d / 2) / math.sqrt(math.pi) if spherical else 1.0
    if spherical:
        cosine /= math.gamma((d + 1) / 2)
    assert law.mean_abs == pytest.approx(first * cosine, rel=1e-9)
    assert law.mae == pytest.approx(d * law.mean_abs)


def test_mean_abs_of_l2_is_smooth_across_the_switch_to_the_series() -> None:
    for dimension in (57, 58, 59, 60, 10**3, 10**6):
        law = family_named("l2")(scale=1, dimension=dimension)
        d = mp.mpf(dimension)
        with mp.workdps(40):
            ratio = mp.exp(mp.loggamma(d / 2 + 1) - mp.loggamma((d + 1) / 2))
            exact = float(2 / mp.sqrt(mp.pi) * ratio)
        assert law.mean_abs == pytest.approx(exact, rel=2e-15)


@pytest.mark.parametrize("law", LAWS, ids=label)
def test_scaling_multiplies_the_noise(law: Noise) -> None:
    twice = law.scaled(2)
    assert twice.scale == Fraction(7, 5)
    assert twice.variance == pytest.approx(4 * law.variance)
    x = np.linspace(-1, 1, law.dimension)
    assert twice.log_density(2 * x) == pytest.approx(
        law.log_density(x) - law.dimension * math.log(2)
    )


def test_every_family_has_an_example() -> None:
    assert {law.name for law in (*LAWS, *LATTICE_LAWS, *BODY_LAWS)} == set(FAMILIES)


@pytest.mark.parametrize("law", [*LAWS, *LATTICE_LAWS], ids=label)
def test_refuses_bad_parameters(law: Noise) -> None:
    family: Any = type(law)
    for scale in ("0", "-1", "nan", "1e200"):
        with pytest.raises(InvalidArgument, match="scale"):
            family(**law.parameters | {"scale": scale}, dimension=law.dimension)
    for dimension in (0, -1, 10**9 + 1):
        with pytest.raises(InvalidArgument, match="dimension"):
            family(**law.parameters | {"scale": 1}, dimension=dimension)


def test_names_the_nearest_family() -> None:
    with pytest.raises(InvalidArgument, match="Did you mean gaussian"):
        family_named("gausian")
