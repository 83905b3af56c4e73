"""Enclosures of composed δ, against exact answers, direct sums and closed forms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import erfc, expm1, mp, mpf

from leastnoise.accounting.proof import composed
from leastnoise.accounting.proof.common_lattice import check_monotone
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls import convolution as composition
from leastnoise.balls import losses
from leastnoise.balls.convolution import Convolution, composed_lower, composed_upper, tilt_for
from leastnoise.balls.core import precision
from leastnoise.balls.losses import LossLattice, Profile
from leastnoise.balls.rounded import Tilted
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.classic import proof as gaussian
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.registry import registered_family
from leastnoise.noise.steps.law import Staircase
from tests.grids import thin
from tests.laws import LAWS

ONE = ShiftBounds.of(L2(1))


def gaussian_delta(square: Fraction, epsilon: Fraction) -> Any:
    """δ of a Gaussian with μ² = `square`, Balle & Wang (2018), in 60 digits."""
    with mp.workdps(60):
        mu = mp.sqrt(mpf(square.numerator) / square.denominator)
        e = mpf(epsilon.numerator) / epsilon.denominator
        t, half = e / mu - mu / 2, mp.sqrt(2)
        return erfc(t / half) / 2 - mp.exp(e) * erfc((t + mu) / half) / 2


def gaussian_profile(mu: Fraction) -> Profile:
    noise = Gaussian(scale=1 / mu)
    return lambda epsilon: gaussian.gaussian_delta_ball(noise, shift=Fraction(1), epsilon=epsilon)


def lattice_bounds(
    mu: Fraction, count: int, epsilon: Fraction, *, steps: int = 48, reach: float = 9
) -> tuple[float, float]:
    """Bounds on δ by the lattices for any law, for a Gaussian, whose composition is known."""
    step = Fraction(2) ** math.floor(math.log2(float(mu) / steps))
    size = math.ceil((float(mu) ** 2 / 2 + reach * float(mu)) / float(step))
    upper = losses.upper_lattice(gaussian_profile(mu), step, size)
    lower = losses.lower_cells(gaussian_profile(mu), upper)
    low = composed_lower([(lower, count)], epsilon)
    high = composed_upper([(upper, count)], epsilon)
    return float(low.lower()), float(high.upper())


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    log_mu=st.floats(-3, 0),
    log_count=st.floats(0, 4),
    deviations=st.floats(-1, 11.5),  # δ down to 1e-30
    steps=st.integers(24, 80),
)
def test_the_exact_gaussian_is_enclosed(
    *, log_mu: float, log_count: float, deviations: float, steps: int
) -> None:
    mu, count = Fraction(round(10**log_mu, 4)), round(10**log_count)
    if mu == 0:
        return
    total = float(mu) * math.sqrt(count)
    epsilon = Fraction(round(max(0.0, total**2 / 2 + deviations * total), 6))
    low, high = lattice_bounds(mu, count, epsilon, steps=steps, reach=14)
    exact = gaussian_delta(mu**2 * count, epsilon)
    assert low <= exact <= high
    assert high <= float(exact) * 1.2  # it says something


@pytest.mark.dense
def test_the_case_where_an_fft_accountant_reports_too_little() -> None:
    # dp-accounting 0.6.0 gives ε(1e-12) for σ = 20, k = 1e5 at which the truth is 7e-12
    # (theory/accounting.md §6); the closed form and the lattices agree that it isn't 1e-12
    part = Releases(noise=Gaussian(scale=20), shifts=ONE, compositions=10**5)
    epsilon = Fraction("231.5")
    interval = prove_composed((part,), epsilon).interval
    exact = gaussian_delta(Fraction(10**5, 400), epsilon)
    assert interval.lower <= exact <= interval.upper
    low, high = lattice_bounds(Fraction(1, 20), 10**5, epsilon, steps=64, reach=12)
    assert low <= exact <= high <= 1.05 * exact


@pytest.mark.parametrize(("epsilon", "delta"), [(2, 4.0110e-15), (3, 2.3402e-30)])
def test_deep_tails_of_a_million_releases(epsilon: int, delta: float) -> None:
    # issue's numbers: σ so that the exact ε(1e-5) is 1 in all
    sigma = Fraction("3.73063163481594183")
    part = Releases(noise=Gaussian(scale=sigma * 1000), shifts=ONE, compositions=10**6)
    interval = prove_composed((part,), Fraction(epsilon)).interval
    exact = gaussian_delta(1 / sigma**2, Fraction(epsilon))
    assert interval.lower <= exact <= interval.upper
    assert interval.upper - interval.lower <= 1e-2 * float(exact)
    assert float(exact) == pytest.approx(delta, rel=1e-4)


# ε(1e-5) at scale 1, from independent 50-digit computations
@pytest.mark.parametrize(
    ("count", "epsilon"), [(10, "4.1833260"), (100, "17.6899184"), (1000, "91.46089")]
)
def test_the_l2_mechanism_in_ten_dimensions(count: int, epsilon: str) -> None:
    part = Releases(noise=SphericalLaplace(scale=1, dimension=10), shifts=ONE, compositions=count)
    after = prove_composed((part,), Fraction(epsilon) + Fraction("1e-5")).interval
    before = prove_composed((part,), Fraction(epsilon) - Fraction("1e-5")).interval
    assert after.lower <= 1e-5 <= before.upper
    assert before.upper - after.lower < 3e-8


def two_laplace(epsilon: float, b: float, count: int) -> Any:
    """Laplace composed by its law of losses: atoms ±1/b and a density between them, in mpmath.

    Sums of the losses of two releases by a double integral; one release in closed form.
    """
    a = mpf(1) / b
    atoms = [(a, mpf(1) / 2), (-a, mp.exp(-a) / 2)]

    def density(z: Any) -> Any:
        return mp.exp((z - a) / 2) / 4

    def one(rest: Any) -> Any:
        """E(1 − e^(rest − Z))₊ for the loss Z of one release."""
        total: Any = sum(w * max(mpf(0), 1 - mp.exp(rest - z)) for z, w in atoms)
        low = max(-a, rest)
        if low < a:
            total = total + mp.quad(lambda z: density(z) * (1 - mp.exp(rest - z)), [low, a])
        return total

    if count == 1:
        return one(mpf(epsilon))
    total: Any = sum(w * one(mpf(epsilon) - z) for z, w in atoms)
    kinks = sorted({-a, a, *(max(-a, min(a, epsilon - z)) for z, _ in atoms)})
    return total + mp.quad(lambda z: density(z) * one(mpf(epsilon) - z), kinks)


@pytest.mark.parametrize("epsilon", thin([0.3, 0.0, 0.9, 1.4, 1.9], 2))
def test_two_laplace_releases_by_direct_integration(epsilon: float) -> None:
    part = Releases(noise=Laplace(scale=1), shifts=ONE, compositions=2)
    interval = prove_composed((part,), Fraction(epsilon)).interval
    exact = two_laplace(epsilon, 1.0, 2)
    assert interval.lower <= exact <= interval.upper
    assert interval.upper - interval.lower < 1e-4


def brute_force(lattice: LossLattice, count: int, epsilon: float) -> float:
    """δ of a small lattice by running through every outcome."""
    points = [(float(lattice.point(i)), w) for i, w in enumerate(lattice.masses)]
    finite = float(lattice.masses.sum())
    delta = finite**count * math.expm1(count * math.log1p(lattice.infinity / finite))
    for outcome in itertools.product(points, repeat=count):
        loss = sum(z for z, _ in outcome)
        if loss > epsilon:
            delta += math.prod(w for _, w in outcome) * -math.expm1(epsilon - loss)
    return float(delta)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    weights=st.lists(st.floats(1e-6, 1), min_size=2, max_size=6),
    count=st.integers(1, 4),
    epsilon=st.floats(0, 3),
    infinity=st.floats(0, 0.1),
    first=st.integers(-4, 2),
)
def test_convolutions_against_every_outcome(
    *, weights: list[float], count: int, epsilon: float, infinity: float, first: int
) -> None:
    masses = np.array(weights) / sum(weights) * (1 - infinity)
    lattice = LossLattice(
        step=Fraction(1, 3), origin=Fraction(1, 7), first=first, masses=masses, infinity=infinity
    )
    parts = [(lattice, count)]
    exact_epsilon = Fraction(epsilon)
    low, high = Convolution.of(parts, tilt_for(parts, exact_epsilon)).delta(exact_epsilon)
    expected = brute_force(lattice, count, epsilon)
    assert float(low.lower()) <= expected + 1e-14
    assert float(high.upper()) >= expected - 1e-14
    assert float(high.upper()) - float(low.lower()) <= 1e-9 * expected + 1e-15


def test_mass_at_infinity_is_told_however_small() -> None:
    tiny = LossLattice(
        step=Fraction(1, 8), origin=Fraction(0), first=0, masses=np.array([1.0]), infinity=1e-60
    )
    some = LossLattice(
        step=Fraction(1, 8), origin=Fraction(0), first=0, masses=np.array([0.75]), infinity=0.25
    )
    for parts, exact in (([(tiny, 1000)], 1e-57), ([(some, 3), (tiny, 2)], 1 - 0.75**3)):
        low, high = Convolution.of(parts, Fraction(1)).delta(Fraction(5))
        assert low.lower() <= exact * (1 + 1e-13)
        assert high.upper() >= exact * (1 - 1e-13)
        assert (high - low) < exact * 1e-12


def randomized_response(count: int, epsilon: Fraction) -> tuple[LossLattice, arb]:
    """Losses ±1/16 with masses that floats hold exactly, and δ as a binomial sum in 60 digits."""
    up, down = Fraction(17, 32), Fraction(15, 32)
    lattice = LossLattice(
        step=Fraction(1, 8),
        origin=Fraction(-1, 16),
        first=0,
        masses=np.array([float(down), float(up)]),
        infinity=0.0,
    )
    exact = mpf(0)
    with mp.workdps(60):
        for ups in range(count + 1):
            loss = Fraction(2 * ups - count, 16)
            if loss > epsilon:
                gap = epsilon - loss
                chance = math.comb(count, ups) * up**ups * down ** (count - ups)
                share = mpf(chance.numerator) / chance.denominator
                exact += share * -expm1(mpf(gap.numerator) / gap.denominator)
        return lattice, arb(mp.nstr(exact, 50))


@pytest.mark.parametrize("epsilon", thin(["0.1", "1.02", "3.03", "7"], 2))
@pytest.mark.parametrize("count", [30, 1000])
def test_randomized_response_has_its_exact_delta_inside(count: int, epsilon: str) -> None:
    wanted = Fraction(epsilon)
    lattice, exact = randomized_response(count, wanted)
    parts = [(lattice, count)]
    low, high = Convolution.of(parts, tilt_for(parts, wanted)).delta(wanted)
    assert not low > exact
    assert not high < exact
    if not exact.is_zero():
        assert float((high - low).upper()) < 1e-8 * float(exact)


@pytest.mark.grid
@pytest.mark.parametrize("epsilon", ["0.1", "1.02", "3.03"])
def test_what_a_narrow_window_leaves_out_is_allowed_for(
    epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # two standard deviations on each side; what lies beyond wraps around
    monkeypatch.setattr(composition, "_LARGEST_WINDOW", 64)
    wanted = Fraction(epsilon)
    lattice, exact = randomized_response(1000, wanted)
    parts = [(lattice, 1000)]
    low, high = Convolution.of(parts, tilt_for(parts, wanted)).delta(wanted)
    assert low < exact < high
    assert high < 2 * exact


@pytest.mark.dense
def test_upper_lattices_are_above_and_lower_ones_below_at_every_epsilon() -> None:
    profile = gaussian_profile(Fraction(1, 2))
    upper = losses.upper_lattice(profile, Fraction(1, 64), 320)
    lower = losses.lower_cells(profile, upper).lattice(1.0)
    for epsilon in np.linspace(-3, 4, 141):
        exact = float(gaussian_delta(Fraction(1, 4), Fraction(epsilon)))
        assert brute_force(upper, 1, epsilon) >= exact * (1 - 1e-12)
        assert brute_force(lower, 1, epsilon) <= exact * (1 + 1e-12)


def test_more_releases_never_leak_less_and_order_does_not_matter() -> None:
    laplace = Releases(noise=Laplace(scale=3), shifts=ONE, compositions=4)
    other = Releases(noise=Gaussian(scale=5), shifts=ONE, compositions=3)
    together = prove_composed((laplace, other), Fraction(1)).interval
    swapped = prove_composed((other, laplace), Fraction(1)).interval
    alone = prove_composed((laplace,), Fraction(1)).interval
    assert together.lower > alone.upper
    assert together.lower <= swapped.upper
    assert swapped.lower <= together.upper


def test_pure_budgets_add_up_exactly() -> None:
    part = Releases(noise=Laplace(scale=10), shifts=ONE, compositions=10)
    assert prove_composed((part,), Fraction(1)).enclosure.is_zero()
    assert prove_composed((part,), Fraction("0.99")).interval.lower > 0
    steps = Releases(
        noise=Staircase(scale=1, gamma="0.4", decay="0.1"), shifts=ONE, compositions=10
    )
    assert prove_composed((steps,), Fraction(1)).enclosure.is_zero()


def test_laws_whose_worst_shift_may_change_have_losses_of_their_own() -> None:
    others = [law for law in LAWS if not registered_family(type(law)).longest_is_worst]
    assert others
    for law in others:
        assert registered_family(type(law)).losses
        with pytest.raises(NotApplicable, match="worst shift"):
            check_monotone(law)


@pytest.mark.dense
def test_a_few_large_losses_do_not_make_the_window_too_small() -> None:
    """Small samples have losses hundreds of deviations out, so that a Gaussian's tilt is no use."""
    part = Releases(
        noise=Gaussian(scale=1), shifts=ONE, compositions=100, sampling_rate=Fraction("0.05")
    )
    interval = prove_composed((part,), Fraction(1)).interval
    assert interval.lower > 0.03205  # dp-accounting 0.6: 0.032055
    assert interval.width < 3e-4 * interval.upper


@pytest.mark.parametrize("counts", [(1,), (3, 1000), (10**6, 2), (10**7,)])
def test_masses_are_as_close_as_allowed_for(counts: tuple[int, ...]) -> None:
    rng, size = np.random.default_rng(3), 32  # makes masses, no noise
    laws: list[Tilted] = []
    for count in counts:
        masses = np.exp(-rng.uniform(0, 9, 20))
        lattice = LossLattice(
            step=Fraction(1), origin=Fraction(0), first=0, masses=masses, infinity=0.0
        )
        laws.append(Tilted.of(lattice, count, Fraction(0)))
    window = composition._Window(first=5, size=size, outside=arb(0))
    result, error = composition._convolve(laws, window)
    with precision(300):
        square = arb(0)
        product = [acb(1)] * size
        for law in laws:
            x = acb.dft([acb(w) for w in law.weights.tolist()] + [acb(0)] * 12)
            product = [item * other**law.count for item, other in zip(product, x, strict=True)]
        exact = acb.dft(product, inverse=True)
        for i, mass in enumerate(result.tolist()):
            square += (exact[(i + window.first) % size].real - arb(mass)) ** 2
        assert square.sqrt() < error
    assert error < 1e-7


@pytest.mark.dense
def test_a_loss_that_hardly_ever_happens_far_away() -> None:
    # a spread of nothing asks for tilts that no exponent of a float is enough for
    masses = np.zeros(12_000)
    masses[0], masses[-1] = 1, 1e-22
    lattice = LossLattice(
        step=Fraction(1, 1000), origin=Fraction(0), first=0, masses=masses, infinity=0.0
    )
    low, high = Convolution.of([(lattice, 1000)], Fraction(1, 2**20)).delta(Fraction(1, 2))
    assert low < arb(1e-19) < high


def test_the_enclosure_is_a_ball_around_both_sides() -> None:
    part = Releases(noise=Laplace(scale=2), shifts=ONE, compositions=5)
    proof = prove_composed((part,), Fraction(1))
    over = composed.bound_composed((part,), Fraction(1))
    assert isinstance(over, arb)
    assert float(over.upper()) == pytest.approx(proof.interval.upper)
