"""Exported laws of losses: dp-accounting's δ of them is never too small, and close to ours."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from flint import arb

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.sensitivity import ShiftBounds
from leastnoise.interop import MissingExtra, NotABound, domination, from_pld, to_pld
from leastnoise.interop.proved_pld import ProvedPld
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.kernels.law import GaussianMixture
from leastnoise.noise.lattice.law import Cactus
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.steps.law import Geometric, Staircase
from tests.grids import thin

EPSILONS = ("0", "0.1", "0.5", "2")
# of dp-accounting's sums of floats, against exact ones; at most 2e-16 was met
FLOAT_SUMS = 1e-13
# masses are rounded up to floats, beyond the largest loss too; at most 2e-17 was met
EDGE = 1e-15
LAWS = [
    Gaussian(scale=2),
    Gaussian(scale="0.4", dimension=5),
    Laplace(scale=2),
    SphericalLaplace(scale="0.5", dimension=10),
    TruncatedLaplace(scale=2, radius=6),
    Staircase(scale=1, gamma="0.4", decay="0.8"),
    Geometric(scale=1, cells=1, core=1, decay="0.8"),
]


def releases(noise: Noise, *, count: int = 1, rate: str = "1") -> Composition:
    balls = {"l1": ln.L1(1), "l2": ln.L2(1), "integer": ln.Integer(1)}
    ball = balls[noise.norm]
    part = Releases(
        noise=noise, shifts=ShiftBounds.of(ball), compositions=count, sampling_rate=Fraction(rate)
    )
    return Composition(parts=(part,))


def check(
    ours: Composition, pld: ProvedPld, *, excess: float, epsilons: tuple[str, ...] = EPSILONS
) -> None:
    """Check that δ of the masses, in balls, is never below the true δ, and that floats agree."""
    exact = from_pld(pld)
    for epsilon in epsilons:
        truth, exported = ours.delta(epsilon=epsilon), exact.delta(epsilon=epsilon)
        assert exported.upper >= truth.lower
        assert exported.lower <= truth.upper * (1 + excess) + EDGE
        floats = pld.get_delta_for_epsilon(float(epsilon))
        assert floats == pytest.approx(exported.upper, rel=1e-6, abs=FLOAT_SUMS)


@pytest.mark.grid
@pytest.mark.parametrize("noise", LAWS, ids=lambda noise: f"{noise.name}-{noise.dimension}")
def test_one_release(noise: Noise) -> None:
    ours = releases(noise)
    check(ours, to_pld(ours, interval=1e-3), excess=0.02)


@pytest.mark.parametrize("delta", thin([1e-3, 1e-6, 1e-9], 1))
def test_epsilon_of_one_release(delta: float) -> None:
    mechanism = ln.calibrate("l2", epsilon="1", delta="1e-5", sensitivity=ln.L2(1), dimension=10)
    epsilon_for_delta, truth = (
        to_pld(mechanism).get_epsilon_for_delta(delta),
        mechanism.epsilon(delta=delta),
    )
    assert epsilon_for_delta >= truth.lower
    assert epsilon_for_delta == pytest.approx(truth.upper, rel=2e-4)


def test_more_points_are_tighter_and_all_are_on_the_private_side() -> None:
    ours = releases(Gaussian(scale=2))
    truth = ours.delta(epsilon="0.7").upper
    results = [
        from_pld(to_pld(ours, interval=1e-3, points=n)).delta(epsilon="0.7").upper
        for n in (4, 40, 400)
    ]
    assert results[0] > results[1] > results[2] >= truth
    assert results[2] <= 1.002 * truth


@pytest.mark.dense
@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(Cactus(scale=1, cells=2, masses=(7, 5, 6, 4, 3, 2, 2, 1)), id="cactus"),
        pytest.param(GaussianMixture(scale="0.5", modes=1, spacing=2, decay="0.5"), id="mixture"),
        pytest.param(
            GeneralizedGamma(scale="0.7", alpha="1.2", p="1.5", dimension=3),
            id="gamma",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_noise_whose_worst_shift_varies(noise: Noise) -> None:
    ours = releases(noise)
    check(ours, to_pld(ours, points=12), excess=0.5, epsilons=("0.1", "1", "2"))


def test_a_sampled_release_has_both_directions() -> None:
    for noise in (Gaussian(scale=1), Laplace(scale=1), TruncatedLaplace(scale=2, radius=6)):
        ours = releases(noise, rate="0.1")
        pld = to_pld(ours, interval=1e-3)
        assert from_pld(pld).added is not from_pld(pld).removed
        check(ours, pld, excess=0.02, epsilons=("0", "0.05", "0.1", "0.3"))


@pytest.mark.dense
@pytest.mark.grid
@pytest.mark.parametrize(("count", "rate"), [(20, "1"), (10, "0.2")])
def test_a_composition_convolved_here(count: int, rate: str) -> None:
    ours = releases(Laplace(scale=4), count=count, rate=rate)
    check(
        ours, to_pld(ours, interval=1e-3, points=100), excess=0.02, epsilons=("0", "0.2", "1", "2")
    )


def test_a_mechanism_for_several_releases_is_all_of_them() -> None:
    several = ln.calibrate(
        "gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1), compositions=9
    )
    alone, together = (to_pld(item, interval=1e-2) for item in (several.compose(1), several))
    assert together.get_delta_for_epsilon(1.0) == to_pld(
        several.compose(9), interval=1e-2
    ).get_delta_for_epsilon(1.0)
    assert together.get_delta_for_epsilon(1.0) > alone.get_delta_for_epsilon(1.0)


def test_a_gaussian_composition_is_one_gaussian() -> None:
    ours = releases(Gaussian(scale=20), count=400)
    check(ours, to_pld(ours, interval=1e-3), excess=0.01)


@pytest.mark.parametrize("noise", [Gaussian(scale=10), Laplace(scale=10)])
def test_composed_by_dp_accounting_it_agrees_and_warns(noise: Noise) -> None:
    item, many = to_pld(releases(noise)), releases(noise, count=50)
    with pytest.warns(NotABound, match="1e-16"):
        composed = item.self_compose(50)
    truth = many.epsilon(delta="1e-6")
    assert truth.lower <= composed.get_epsilon_for_delta(1e-6) <= 1.002 * truth.upper
    assert type(composed) is peer.PrivacyLossDistribution  # it warns once, not for ever
    with pytest.warns(NotABound):
        pair = item.compose(peer.from_gaussian_mechanism(10))
    both = Composition(parts=(*releases(noise).parts, *releases(Gaussian(scale=10)).parts))
    assert pair.get_epsilon_for_delta(1e-6) >= both.epsilon(delta="1e-6").lower
    assert pair.get_epsilon_for_delta(1e-6) <= 1.002 * both.epsilon(delta="1e-6").upper


def test_sampled_releases_composed_by_dp_accounting() -> None:
    """Both directions are composed, each alone: theory/accounting.md §4."""
    item = to_pld(releases(Laplace(scale=1), rate="0.1"))
    with pytest.warns(NotABound):
        composed = item.self_compose(50)
    truth = releases(Laplace(scale=1), count=50, rate="0.1").epsilon(delta="1e-5")
    assert truth.lower <= composed.get_epsilon_for_delta(1e-5) <= 1.005 * truth.upper
    theirs = peer.from_laplace_mechanism(1, sampling_prob=0.1).self_compose(50)
    removed = composed._pmf_remove.get_epsilon_for_delta(1e-5)
    added = composed._pmf_add.get_epsilon_for_delta(1e-5)
    assert removed == pytest.approx(theirs._pmf_remove.get_epsilon_for_delta(1e-5), rel=2e-3)
    assert added == pytest.approx(theirs._pmf_add.get_epsilon_for_delta(1e-5), rel=2e-3)


def test_the_losses_of_dp_accounting_itself() -> None:
    theirs = peer.from_gaussian_mechanism(2)
    ours = to_pld(releases(Gaussian(scale=2)))
    for delta in (1e-2, 1e-5, 1e-10):
        assert ours.get_epsilon_for_delta(delta) == pytest.approx(
            theirs.get_epsilon_for_delta(delta), rel=5e-4
        )


def test_mass_at_infinity() -> None:
    law = TruncatedLaplace(scale=2, radius=6)
    pld, truth = to_pld(releases(law)), releases(law).delta(epsilon=50)
    assert pld.get_delta_for_epsilon(50.0) == pytest.approx(truth.upper, rel=1e-9)
    assert math.isinf(pld.get_epsilon_for_delta(truth.lower / 2))


def test_refusals() -> None:
    mechanism = releases(Gaussian(scale=2))
    for wrong in (0.0, -1e-4, math.nan, 2.0):
        with pytest.raises(InvalidArgument, match="interval"):
            to_pld(mechanism, interval=wrong)
    with pytest.raises(InvalidArgument, match="points"):
        to_pld(mechanism, points=0)
    with pytest.raises(InvalidArgument, match="interval >= "):
        to_pld(releases(Laplace(scale="0.001")), interval=1e-6)


def test_without_dp_accounting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtra, match=r"pip install 'leastnoise\[interop\]'"):
        to_pld(releases(Gaussian(scale=2)))


def test_the_end_of_a_tail_is_looked_for_no_closer_than_is_of_use() -> None:
    asked: list[Fraction] = []

    def profile(epsilons: Sequence[Fraction]) -> list[arb]:
        asked.extend(epsilons)
        return [(-(ball(epsilon) ** 2)).exp() for epsilon in epsilons]

    end = math.sqrt(100 * math.log(2))  # where it is 2^−100
    assert end <= domination._reach(profile, Fraction(1, 10**6)) <= 17 / 16 * end
    assert len(asked) <= 20
