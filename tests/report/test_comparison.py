from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Loss
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.shells.law import SphericalStaircase
from leastnoise.report.figures import (
    MOST_DIMENSIONS,
    dimensions_around,
    error_figure,
    radial_density,
    radius_figure,
)
from leastnoise.selection.comparison import BestPossible, Candidate, Comparison


def comparison(
    dimension: int, *names: str, delta: str = "1e-5", sensitivity: Sensitivity | None = None
) -> Comparison:
    results = [
        ln.calibrate(
            name, epsilon="1", delta=delta, sensitivity=sensitivity or ln.L2(1), dimension=dimension
        )
        for name in names
    ]
    return Comparison(
        loss=Loss.MSE,
        candidates=tuple(
            Candidate(mechanism=item, construction="ball", search_seconds=0, proof_seconds=0)
            for item in results
        ),
        skipped=(),
    )


@pytest.mark.parametrize(
    ("asked", "least", "first", "last"),
    [(7, 1, 2, 100), (1, 1, 1, 100), (1000, 1, 2, 10_000), (300, 150, 150, 3000), (2, 1, 2, 100)],
)
def test_dimensions_surround_the_one_asked(asked: int, least: int, first: int, last: int) -> None:
    result = dimensions_around(asked, least=least)
    assert asked in result
    assert (result[0], result[-1]) == (first, last)
    assert len(result) <= 8
    assert result == sorted(set(result))


def test_a_figure_ends_at_a_million_dimensions() -> None:
    assert dimensions_around(MOST_DIMENSIONS, least=1)[-1] == MOST_DIMENSIONS
    with pytest.raises(InvalidArgument, match="1,000,000"):
        dimensions_around(MOST_DIMENSIONS + 1, least=1)


def test_errors_are_relative_to_the_gaussian() -> None:
    results = {d: comparison(d, "l2", "gaussian") for d in (50, 7)}
    lines = {line.name: line for line in error_figure(results).lines}
    assert set(lines) == {"l2", "gaussian"}
    assert list(lines["gaussian"].x) == [7, 50]
    assert list(lines["gaussian"].y) == [1, 1]
    expected = [results[d].mechanisms[0].mse / results[d].mechanisms[1].mse for d in (7, 50)]
    assert list(lines["l2"].y) == pytest.approx(expected, rel=1e-15)


def test_a_family_is_drawn_where_it_serves_and_a_bound_where_it_is_known() -> None:
    bound = ln.LowerBound.__new__(ln.LowerBound)  # only its value is drawn
    here = comparison(7, "l2", "gaussian")
    known = replace(here, best_possible=BestPossible(value=40.0, bound=bound))
    lines = {
        line.name: line for line in error_figure({7: known, 9: comparison(9, "gaussian")}).lines
    }
    assert list(lines["l2"].x) == [7]
    (name,) = set(lines) - {"l2", "gaussian"}
    assert "proved" in name
    assert lines[name].bound
    assert list(lines[name].x) == [7]
    assert list(lines[name].y) == pytest.approx([40.0 / here.mechanisms[1].mse])


def test_without_a_gaussian_nothing_is_drawn() -> None:
    with pytest.raises(Refused, match="delta > 0"):
        error_figure({7: comparison(7, "l2", delta="0")})


@pytest.mark.dense
@pytest.mark.parametrize(
    "noise",
    [
        ln.noise.Gaussian(scale="3", dimension=1),
        ln.noise.Gaussian(scale="0.5", dimension=7),
        ln.noise.SphericalLaplace(scale="2", dimension=4),
        GeneralizedGamma(scale="2", alpha="1.5", p="3", dimension=5),
        SphericalStaircase(scale=1, gamma="0.4", radius="5.3", decay="1", dimension=3),
    ],
    ids=lambda noise: f"{noise.name} {noise.dimension}",
)
def test_the_density_of_the_radius_has_mass_1_and_the_right_mse(noise: Noise) -> None:
    width = 10 * math.sqrt(noise.mse)
    r = (np.arange(10_000) + 0.5) * np.float64(width / 10_000)
    density = radial_density(noise, r)
    step = r[1] - r[0]
    assert density.sum() * step == pytest.approx(1, abs=1e-3)
    assert (density * r * r).sum() * step == pytest.approx(noise.mse, rel=2e-3)


def test_the_radius_figure_has_every_spherical_law_within_sight() -> None:
    result = comparison(7, "l2", "gaussian")
    figure = radius_figure(result)
    assert figure is not None
    assert [line.name for line in figure.lines] == ["l2", "gaussian"]
    for line in figure.lines:
        x, y = np.array(line.x), np.array(line.y)
        assert (y * (x[1] - x[0])).sum() == pytest.approx(1, abs=5e-3)


def test_noise_on_the_whole_numbers_has_no_density_to_draw() -> None:
    figure = radius_figure(comparison(1, "laplace", "geometric", sensitivity=ln.Integer(1)))
    assert figure is not None
    assert [line.name for line in figure.lines] == ["laplace"]


def test_in_many_dimensions_the_radius_is_still_within_sight() -> None:
    figure = radius_figure(comparison(100_000, "gaussian"))
    assert figure is not None
    x, y = np.array(figure.lines[0].x), np.array(figure.lines[0].y)
    assert (y * (x[1] - x[0])).sum() == pytest.approx(1, abs=5e-3)


def test_laws_that_are_not_spherical_have_no_radius_figure() -> None:
    assert radius_figure(comparison(3, "laplace", sensitivity=ln.L1(1))) is None
    assert radius_figure(comparison(1, "laplace")) is not None
