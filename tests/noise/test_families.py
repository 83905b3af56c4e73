from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.base import Noise
from leastnoise.noise.registry import FAMILIES, family_named
from tests.routes import integrate


def _laws() -> list[Noise]:
    return [
        family(scale="0.7", dimension=dimension)
        for name, family in FAMILIES.items()
        for dimension in ((1, 2, 3, 7) if name != "l2" else (2, 3, 7))
    ]


def _label(law: Noise) -> str:
    return f"{law.name}-d{law.dimension}"


def _along_the_radius(law: Noise, moment: int) -> mp.mpf:
    """∫ |x|^moment f over R^d, from log_density alone: radially, or per coordinate for laplace."""
    d = law.dimension

    def density(x: list[float]) -> float:
        return math.exp(float(law.log_density(np.array(x))))

    if law.name == "laplace":
        at_zero = density([0.0] * d)
        one = integrate(lambda t: density([float(t)] + [0.0] * (d - 1)) / at_zero, [0, 2, 60])
        part = integrate(
            lambda t: t**moment * density([float(t)] + [0.0] * (d - 1)) / at_zero, [0, 2, 60]
        )
        return at_zero * (2 * one) ** d * (part / one if moment else 1)
    sphere = 2 * mp.pi ** (mp.mpf(d) / 2) / mp.gamma(mp.mpf(d) / 2)
    return sphere * integrate(
        lambda r: r ** (d - 1 + moment) * density([float(r)] + [0.0] * (d - 1)), [0, 2, 8, 60]
    )


@pytest.mark.parametrize("law", _laws(), ids=_label)
def test_the_density_integrates_to_one_and_has_the_stated_variance(law: Noise) -> None:
    assert abs(_along_the_radius(law, 0) - 1) < 1e-9
    second = float(_along_the_radius(law, 2))
    expected = law.variance if law.name == "laplace" else law.mse
    assert second == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("law", _laws(), ids=_label)
def test_mean_abs_is_the_radius_times_the_mean_cosine(law: Noise) -> None:
    d = law.dimension
    first = float(_along_the_radius(law, 1))
    cosine = 1.0 if law.name == "laplace" else math.gamma(d / 2) / math.sqrt(math.pi)
    if law.name != "laplace":
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


@pytest.mark.parametrize("law", _laws(), ids=_label)
def test_scaling_multiplies_the_noise(law: Noise) -> None:
    twice = law.scaled(2)
    assert twice.scale == Fraction(7, 5)
    assert twice.variance == pytest.approx(4 * law.variance)
    x = np.linspace(-1, 1, law.dimension)
    assert twice.log_density(2 * x) == pytest.approx(
        law.log_density(x) - law.dimension * math.log(2)
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_refuses_bad_parameters(name: str) -> None:
    family = family_named(name)
    for scale in ("0", "-1", "nan"):
        with pytest.raises(InvalidArgument, match="scale"):
            family(scale=scale, dimension=2)
    for dimension in (0, -1, 10**9):
        with pytest.raises(InvalidArgument, match="dimension"):
            family(scale=1, dimension=dimension)


def test_names_the_nearest_family() -> None:
    with pytest.raises(InvalidArgument, match="Did you mean gaussian"):
        family_named("gausian")
