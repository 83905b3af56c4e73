from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.kernels.law import GaussianMixture
from tests.routes import integrate

# Liu, Selvi & Wiesemann's law at the least σ; E|X| and E X² from mpmath at 32 digits, by code that
# is not part of leastnoise: K, ε, σ, E|X|, E X²
MOMENTS = (
    (18, "0.1", "0.451279075671265", 6.5539952017274, 67.2429751755231),
    (4, "1", "0.334427486544659", 0.928472130051031, 1.65233232373718),
    (1, "1", "4.17743933422776", 3.37340266014874, 17.8748825063874),
    (15, "1", "0.358524893867871", 0.983301870147924, 1.96984219728621),
)


def law(**changes: Any) -> GaussianMixture:
    values: dict[str, Any] = {"scale": "0.3", "modes": 3, "spacing": "1", "decay": "0.8"}
    return GaussianMixture(**values | changes)


@pytest.mark.parametrize(("modes", "decay", "scale", "mae", "mse"), MOMENTS)
def test_reference_moments(*, modes: int, decay: str, scale: str, mae: float, mse: float) -> None:
    noise = law(modes=modes, decay=decay, scale=scale)
    assert noise.mae == pytest.approx(mae, rel=1e-12)
    assert noise.mse == pytest.approx(mse, rel=1e-12)


@pytest.mark.parametrize("scale", ["0.1", "0.3", "2"])
def test_the_density_has_the_stated_moments(scale: str) -> None:
    noise = law(scale=scale)
    points = [k / 2 for k in range(12)] + [30]
    for moment, value in ((0, 1.0), (1, noise.mean_abs), (2, noise.variance)):
        densities = 2 * integrate(
            lambda x, moment=moment: x**moment * math.exp(float(noise.log_density([float(x)]))),
            points,
        )
        assert float(densities) == pytest.approx(value, rel=1e-10)


def test_without_modes_it_is_a_gaussian() -> None:
    noise = law(modes=0, scale=2)
    assert noise.variance == 4
    assert noise.log_density([[1.0], [-3.0]]) == pytest.approx(
        [
            -1 / 8 - math.log(2 * math.sqrt(2 * math.pi)),
            -9 / 8 - math.log(2 * math.sqrt(2 * math.pi)),
        ]
    )


def test_scaling_multiplies_the_noise() -> None:
    twice = law().scaled(2)
    assert (twice.scale, twice.spacing, twice.decay) == (Fraction(3, 5), 2, Fraction(4, 5))
    x = np.linspace(-3, 3, 7)[:, None]
    assert twice.log_density(2 * x) == pytest.approx(law().log_density(x) - math.log(2))


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": 0},
        {"modes": -1},
        {"modes": True},
        {"modes": 2.0},
        {"modes": 1001},
        {"spacing": 0},
        {"decay": -1},
        {"dimension": 2},
    ],
)
def test_refuses_bad_parameters(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(changes))):
        law(**changes)


def test_says_what_it_cannot_serve() -> None:
    assert "one number" in str(GaussianMixture.why_not(dimension=2, delta=Fraction(1, 10)))
    assert "delta=0" in str(GaussianMixture.why_not(dimension=1, delta=Fraction(0)))
    assert GaussianMixture.why_not(dimension=1, delta=Fraction(1, 10**12)) is None
