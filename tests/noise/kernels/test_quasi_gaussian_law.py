from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.kernels.law import QuasiGaussian
from tests.routes import integrate

# ε, σ, E|X|, E X² at Δ = 1 of Liu, Selvi & Wiesemann's law, from code that is not part of
# leastnoise, which states 1e-10.
MOMENTS = (
    ("0.1", "36.27746618601", "29.121266181", "1330.137272184"),
    ("0.25", "0.7379893570173", "0.9057986895022", "1.207208614282"),
    ("0.5", "3.043214814951", "2.601751995893", "10.48542942632"),
    ("1", "3.130784487712", "2.624084646028", "10.71500901676"),
)
AT_REFERENCE = 1e-12  # worst seen: 2.2e-13


def law(**changes: Any) -> QuasiGaussian:
    values: dict[str, Any] = {"scale": "0.3", "spacing": "1", "decay": "0.8"}
    return QuasiGaussian(**values | changes)


@pytest.mark.parametrize(("decay", "scale", "mae", "mse"), MOMENTS)
def test_reference_moments(*, decay: str, scale: str, mae: str, mse: str) -> None:
    noise = law(decay=decay, scale=scale)
    assert noise.mae == pytest.approx(float(mae), rel=AT_REFERENCE)
    assert noise.mse == pytest.approx(float(mse), rel=AT_REFERENCE)


@pytest.mark.parametrize("scale", ["0.1", "0.3", "2", "30"])
def test_the_density_has_the_stated_moments(scale: str) -> None:
    noise = law(scale=scale)
    width = float(scale)
    points = [0, 0.5 * width, width, *(1 + k * width for k in (-1, 0, 1, 3, 8, 16))]
    points = sorted(x for x in points if x >= 0)
    for moment, value in ((0, 1.0), (1, noise.mean_abs), (2, noise.variance)):
        densities = 2 * integrate(
            lambda x, moment=moment: x**moment * math.exp(float(noise.log_density([float(x)]))),
            points,
        )
        assert float(densities) == pytest.approx(value, rel=1e-10)


def test_the_density_is_that_of_definition_4_1() -> None:
    """f(x)/f(0) = (e^ε e^(−x²/2σ²) + e^(−(|x|−Δ)²/2σ²))/(e^ε + e^(−Δ²/2σ²))."""
    noise = law(scale="0.5", spacing="1.5", decay="0.7")
    x = np.array([-2.0, -1.5, -0.1, 0.0, 0.4, 1.5, 3.0])
    raw = np.exp(0.7 - 2 * x**2) + np.exp(-2 * (np.abs(x) - 1.5) ** 2)
    log_f = noise.log_density(x[:, None])
    assert np.exp(log_f - log_f[3]) == pytest.approx(raw / raw[3], rel=1e-13)


def test_scaling_multiplies_the_noise() -> None:
    twice = law().scaled(2)
    assert (twice.scale, twice.spacing, twice.decay) == (Fraction(3, 5), 2, Fraction(4, 5))
    assert twice.parameters == {"spacing": 2, "decay": Fraction(4, 5)}
    x = np.linspace(-3, 3, 7)[:, None]
    assert twice.log_density(2 * x) == pytest.approx(law().log_density(x) - math.log(2))


@pytest.mark.parametrize(
    "changes", [{"scale": 0}, {"spacing": 0}, {"decay": -1}, {"decay": "nan"}, {"dimension": 2}]
)
def test_refuses_bad_parameters(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(changes))):
        law(**changes)


def test_says_what_it_cannot_serve() -> None:
    assert "one number" in str(QuasiGaussian.why_not(dimension=2, delta=Fraction(1, 10)))
    assert "delta=0" in str(QuasiGaussian.why_not(dimension=1, delta=Fraction(0)))
    assert QuasiGaussian.why_not(dimension=1, delta=Fraction(1, 10**12)) is None
