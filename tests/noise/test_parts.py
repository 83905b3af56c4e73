"""What the package asks of a law through its family, against the law's density and masses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Ball, Box
from leastnoise.guarantees.bodies.together import Jointly
from leastnoise.noise import registry
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.draw import (
    find_characteristic,
    find_quantile,
    has_independent_coordinates,
    has_quantiles,
    list_alike,
)
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.registry import FAMILIES
from leastnoise.noise.steps.law import Geometric
from leastnoise.noise.trees.law import Agreeing
from tests.grids import thin
from tests.laws import BODY_LAWS, LATTICE_LAWS, LAWS, label

EVERY = (*LAWS, *LATTICE_LAWS, *BODY_LAWS)
PLACES = np.array([1e-6, 1e-3, 0.1, 0.7, 1.3, 4.0, 20.0])
BLOCKS = Jointly(parts=[Counts(queries=2), Counts(queries=3, most=1)], radii=[1, 1], exponent=None)
UNLIKE: tuple[VectorNoise, ...] = (
    Agreeing(scale=2, branches=(2, 1, 5), shares=("0.2", "0.4", "0.4")),
    Agreeing(scale=2, branches=(2, 3), shares=("0.2", "0.3", "0.5")),
    KNorm(scale=1, body=Box(bounds=[1, 2, 1])),
    TwoSidedLaplace(scale=1, of=BLOCKS, core="0.7"),
    TwoSidedStaircase(scale=1, of=BLOCKS, core="0.7", decay="1.5"),
)


def integrated(law: Noise, u: float) -> float:
    """Return E cos(uX) of a law of one number, from its density or masses."""
    if law.lattice_step is not None:
        places = float(law.lattice_step) * np.arange(-4000, 4001)
        return float(np.exp(law.log_density(places[:, None])) @ np.cos(u * places))
    ends = np.linspace(0, 60 * float(law.scale), 4000)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    x = ((ends[1:] + ends[:-1])[:, None] + np.diff(ends)[:, None] * nodes) / 2
    density = np.exp(law.log_density(x.reshape(-1, 1))) * np.cos(u * x.reshape(-1))
    return float(2 * (density.reshape(x.shape) @ weights) @ (np.diff(ends) / 2))


@pytest.mark.parametrize(
    "law",
    [
        Gaussian(scale="0.7"),
        Laplace(scale="0.7"),
        Geometric(scale="0.7", cells=1, core=1, decay="0.8"),
        Geometric(scale=1, cells=1, core=1, decay="0.01"),
    ],
    ids=label,
)
def test_characteristic_functions_of_one_number(law: Noise) -> None:
    values = find_characteristic(law, {0: -2.0}, PLACES)
    expected = [integrated(law, 2 * u) for u in PLACES.tolist()]
    np.testing.assert_allclose(values, expected, rtol=1e-7, atol=1e-11)


def in_a_box(law: KNorm, weights: Mapping[int, float], u: float) -> float:
    """Return E cos(u Σ w_j X_j): a mean over the gauge of a product of sines over their angles."""
    box: Any = law.body.bodies[0] if isinstance(law.body, Cells) else law.body
    lengths = [
        u * weight * float(box.bounds[j] * law.scale) / np.pi for j, weight in weights.items()
    ]
    order = box.dimension + 1
    return quad(
        lambda r: gamma.pdf(r, order) * np.prod([np.sinc(length * r) for length in lengths]),
        0,
        order + 60,
        limit=2000,
    )[0]


@pytest.mark.grid
@pytest.mark.parametrize(
    "weights", thin([{0: 1.0, 1: -0.5}, {1: -0.5}, {0: 1.0}, {0: 0.3, 1: 1.1}], 1)
)
@pytest.mark.parametrize(
    "law",
    [
        KNorm(scale="0.7", body=Box(bounds=[1, 2])),
        KNorm(scale=3, body=Box(bounds=[1, "0.5", 2])),
        KNorm(scale=1, body=Cells(bodies=[Box(bounds=[1, 2, 1, 1])], copies=[3])),
    ],
    ids=repr,
)
def test_characteristic_functions_of_numbers_of_a_box(
    law: KNorm, weights: Mapping[int, float]
) -> None:
    values = find_characteristic(law, weights, PLACES)
    expected = [in_a_box(law, weights, u) for u in PLACES.tolist()]
    np.testing.assert_allclose(values, expected, rtol=1e-7, atol=1e-8)


def test_what_isnt_known_is_refused() -> None:
    cases = (
        (Geometric(scale=3, cells=3, core=2, decay=1), {0: 1.0}),
        (KNorm(scale=1, body=Box(bounds=[1, 1, 1])), dict.fromkeys(range(3), 1.0)),
        (KNorm(scale=1, body=Ball(bound=1, coordinates=3)), {0: 1.0}),
        (SphericalLaplace(scale=1, dimension=2), {0: 1.0}),
    )
    for law, weights in cases:
        with pytest.raises(NotApplicable, match="characteristic"):
            find_characteristic(law, weights, PLACES)


def test_coordinates_that_depend_on_each_other_are_no_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = replace(FAMILIES["l2"], characteristic=lambda noise, u: np.cos(u))
    monkeypatch.setitem(registry._families, "l2", known)
    with pytest.raises(NotApplicable, match="characteristic"):
        find_characteristic(SphericalLaplace(scale=1, dimension=2), {0: 1.0, 1: 1.0}, PLACES)


@pytest.mark.parametrize("law", UNLIKE, ids=repr)
def test_coordinates_that_are_alike_have_one_quantile_and_others_another(law: VectorNoise) -> None:
    each = [find_quantile(law, 0.95, index) for index in range(law.dimension)]
    alike = list_alike(law)
    np.testing.assert_allclose(np.array(each)[alike], each, rtol=1e-12)
    np.testing.assert_allclose(law.variances[alike], law.variances, rtol=1e-9)
    groups = len(np.unique(alike))
    assert groups == len(np.unique(law.variances.round(6)))
    assert all(alike[item] == item for item in np.unique(alike))


@pytest.mark.parametrize("law", EVERY, ids=label)
def test_alike_is_said_of_every_coordinate(law: Noise) -> None:
    if has_quantiles(law):
        alike = list_alike(law)
        assert alike.shape == (law.dimension,)
        assert (alike <= np.arange(law.dimension)).all()


@pytest.mark.parametrize("law", EVERY, ids=label)
def test_all_values_are_multiples_of_the_step_of_a_lattice(law: Noise) -> None:
    if law.lattice_step is None:
        assert law not in LATTICE_LAWS
        return
    step = float(law.lattice_step)
    point = np.zeros((3, law.dimension))
    point[:, 0] = 0, step, step / 2
    assert np.isfinite(law.log_density(point)).tolist() == [True, True, False]
    if law.dimension == 1:
        places = step * np.arange(-400, 401)[:, None]
        assert np.exp(law.log_density(places)).sum() == pytest.approx(1)


@pytest.mark.parametrize("law", [item for item in EVERY if item.dimension == 2], ids=label)
def test_coordinates_are_independent_where_the_density_is_a_product(law: Any) -> None:
    """Then ln f(x, y) − ln f(x, 0) − ln f(0, y) + ln f(0, 0) is 0 at all x and y."""
    x, y = (item.ravel() for item in np.meshgrid(*[np.linspace(0.1, 1.6, 7)] * 2))
    both, first, second, neither = (
        law.log_density(np.column_stack(pair)) for pair in ((x, y), (x, 0 * y), (0 * x, y), (0, 0))
    )
    product = bool((np.abs(both - first - second + neither) < 1e-12).all())
    assert has_independent_coordinates(law) == product
    if product:
        more = replace(law, dimension=4)
        twice = more.log_density(np.array([[0.3, 0.8, 0.5, 0.1]]))
        assert twice == pytest.approx(law.log_density(np.array([[0.3, 0.8], [0.5, 0.1]])).sum())


def test_gaussian_and_laplace_noise_alone_have_independent_coordinates() -> None:
    assert not has_independent_coordinates(None)
    assert {name for name, item in FAMILIES.items() if item.independent} == {"gaussian", "laplace"}
