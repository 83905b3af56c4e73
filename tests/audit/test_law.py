"""Enclosures of the claimed law's probabilities, and of the centre of outputs with this law."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import laplace, norm

import leastnoise as ln
from leastnoise.audit.law import ClaimedLaw, Sample, centre_of, claimed_law, cut_points
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.noise.registry import registered_family
from tests.laws import BODY_LAWS, LATTICE_LAWS, LAWS, label

POINTS = (-7.3, -1.2, -0.4, 0.0, 0.15, 0.7, 2.9)


def _law(**claimed: Any) -> ClaimedLaw:
    result = claimed_law(ln.Claim(epsilon=1, **claimed), 1)
    assert isinstance(result, ClaimedLaw)
    return result


@pytest.mark.parametrize("t", POINTS)
def test_laws_in_closed_form(t: float) -> None:
    for noise, truth in (
        (ln.noise.Gaussian(scale="0.7"), norm(scale=0.7)),
        (ln.noise.Laplace(scale="0.7"), laplace(scale=0.7)),
    ):
        given = _law(noise=noise)
        low, high = given.distribution(t)
        assert low < truth.cdf(t) < high
        assert high - low < 4e-6
        by_hand = _law(distribution=truth.cdf)
        low, high = by_hand.distribution(t)
        assert low < truth.cdf(t) < high


SCALARS = [law for law in LAWS if law.dimension == 1]


@pytest.mark.grid
@pytest.mark.parametrize("noise", SCALARS, ids=label)
def test_laws_with_a_density(noise: Any) -> None:
    """Against the integral of the density, which the quantiles don't know of."""
    law = _law(noise=noise)
    edges = np.linspace(-40, 40, 800_001)
    middles = (edges[1:] + edges[:-1]) / 2
    mass = np.exp(noise.log_density(middles[:, None])) * np.diff(edges)
    for t in (-1.2, -0.4, 0.15, 0.7, 2.9):
        truth = mass[middles < t].sum()
        low, high = law.distribution(t)
        assert low - 2e-3 < truth < high + 2e-3


@pytest.mark.parametrize(
    "noise",
    [item for item in (*SCALARS, *LATTICE_LAWS) if registered_family(type(item)).beyond],
    ids=label,
)
def test_tails_in_balls_and_quantiles_in_floats_say_the_same(noise: Any) -> None:
    tails, quantiles = _law(noise=noise), _law(noise=noise)
    quantiles._beyond = None  # pyright: ignore[reportAttributeAccessIssue] - as of other families
    steps = float(noise.lattice_step or 0) * np.arange(-3, 4)
    for t in (*POINTS, *steps.tolist()):
        (low, high), (below, above) = tails.distribution(t), quantiles.distribution(t)
        assert (low, high) == pytest.approx((below, above), abs=2e-9)
        assert low >= below
        assert high <= above
    assert tails._enclose(np.inf)[1] == 1
    assert tails._enclose(-np.inf)[0] == 0


@pytest.mark.parametrize("noise", LATTICE_LAWS, ids=label)
def test_laws_on_a_lattice_jump_on_it_alone(noise: Any) -> None:
    law = _law(noise=noise)
    assert law.whole
    step = float(noise.scale) / noise.cells
    for k in (-2, -1, 0, 1, 2):
        before, after = law.distribution((k - 0.5) * step), law.distribution((k + 0.5) * step)
        assert before[1] - before[0] < 1e-8
        assert after[0] > before[1]
        assert law.distribution((k + 0.1) * step)[0] == pytest.approx(after[0], abs=1e-8)
    assert sum(law.distribution(-0.5 * step)) + sum(law.distribution(0.5 * step)) == pytest.approx(
        2
    )


@pytest.mark.grid
@pytest.mark.parametrize(
    "noise", [*SCALARS[:1], ln.noise.Laplace(scale=3), *SCALARS[3:], *LATTICE_LAWS], ids=label
)
@pytest.mark.parametrize("probability", [0.03, 0.5, 0.9])
def test_inverses_are_on_their_sides(noise: Any, probability: float) -> None:
    law = _law(noise=noise)
    above, below = law.inverse_above(probability), law.inverse_below(probability)
    assert law.distribution(above)[0] > probability
    assert law.distribution(below)[1] < probability
    if not law.whole:
        assert 0 < above - below < 1e-4 * law.spread
    assert law.inverse_above(1.0) == np.inf
    assert law.inverse_below(0.0) == -np.inf


def test_a_given_distribution_is_inverted() -> None:
    law = _law(distribution=lambda t: float(norm.cdf(t, loc=3, scale=1e-3)))
    assert law.inverse_above(0.5) == pytest.approx(3, abs=1e-6)
    assert law.inverse_below(0.9) == pytest.approx(3 + 1.2816e-3, abs=1e-6)


@pytest.mark.parametrize("wrong", [lambda t: 2.0, lambda t: "x", lambda t: None])
def test_what_is_no_distribution_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="distribution"):
        claimed_law(ln.Claim(epsilon=1, distribution=wrong), 1)


@pytest.mark.parametrize(("noise", "centre"), [
    (ln.noise.Gaussian(scale=2), 0.37), (ln.noise.Laplace(scale=2), -11.0),
    (ln.noise.Staircase(scale=1, gamma="0.4", decay="0.5"), 5.25), (LATTICE_LAWS[1], 4.0),
])  # fmt: skip
def test_the_centre_is_enclosed(noise: Any, centre: float) -> None:
    count = 40_000
    wide = noise if noise.name not in {"gaussian", "laplace"} else type(noise)(
        scale=noise.scale, dimension=count
    )  # fmt: skip
    cells = CellGeometry(count=count) if wide is noise else None
    outputs = add_noise(
        wide, default_grid(noise), np.full(count, centre), geometry=cells,
        entropy=InsecureSeededEntropy(3),
    )  # fmt: skip
    law = _law(noise=noise)
    sample = Sample.of(outputs, law)
    result = centre_of(law, sample, Fraction(1, 10**6))
    assert result.low <= centre - sample.anchor <= result.high
    assert result.high - result.low < (0.15 if not law.whole else 1e-9)
    moved = Sample.of(outputs + 1, law)
    assert moved.anchor + centre_of(law, moved, Fraction(1, 10**6)).low > centre


@pytest.mark.parametrize("at", [0.0, 7.0, 1e17, -1e308])
def test_outputs_without_noise_have_no_centre(at: float) -> None:
    """Nor have those of two values, however far apart; at 1e17 floats are 16 apart."""
    laws: tuple[Any, ...] = (
        ln.noise.Laplace(scale=10), ln.noise.Gaussian(scale=2), LATTICE_LAWS[1]
    )  # fmt: skip
    for law in map(_law_of, laws):
        for outputs in (np.full(2000, at), np.where(np.arange(2000) % 2, at, 1e6)):
            assert centre_of(law, Sample.of(outputs, law), Fraction(1, 10**9)).is_empty


def _law_of(noise: Any) -> ClaimedLaw:
    return _law(noise=noise)


def test_outputs_that_are_no_numbers_are_counted() -> None:
    outputs = np.array([np.nan, np.inf, -np.inf, 0.5, *range(16)])
    assert Sample.of(outputs, _law(noise=ln.noise.Laplace(scale=1))).strange == 3
    whole = ln.noise.Geometric(scale=1, cells=1, core=1, decay=1)
    assert Sample.of(outputs, _law(noise=whole)).strange == 4
    for law in (_law(noise=ln.noise.Laplace(scale=1)), _law(noise=whole)):
        result = centre_of(law, Sample.of(np.full(200, np.nan), law), Fraction(1, 10**9))
        assert not result.is_empty
        assert not result.is_known


def test_why_a_law_is_not_known() -> None:
    for claim, why in (
        (ln.Claim(epsilon=1), "names no noise"),
        (ln.Claim(epsilon=1, noise=ln.noise.Laplace(scale=1, dimension=3)), "has 3 numbers"),
    ):
        assert why in str(claimed_law(claim, 1))
    body = BODY_LAWS[0]
    assert "isn't known" in str(claimed_law(ln.Claim(epsilon=1, noise=body), body.dimension))


def test_cut_points_lie_between_outputs() -> None:
    outputs = np.array([1.0, 2.0, 2.0, 3.0, np.nan, np.inf])
    assert cut_points(outputs, [0.0, 0.5], 9.0) == [1.5, 2.5]
    assert cut_points(np.full(5, np.nan), [0.5], 9.0) == []


def test_an_output_that_many_share_is_between_two_cut_points() -> None:
    outputs = np.array([0.0] * 50 + [1e6] * 50)
    assert cut_points(outputs, [0.1, 0.9], 0.5) == [-0.5, 0.5, 1e6 - 0.5, 1e6 + 0.5]
    (below, above) = cut_points(np.full(100, 1e308), [0.5], 0.5)
    assert below < 1e308 <= above
