"""Lattices that bound losses from below and above: every atom is rounded to the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf, ncdf

from leastnoise.accounting.proof import common_lattice
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls import losses
from leastnoise.balls.core import precision
from leastnoise.balls.losses import LowerCells, on_best_lattice
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic import proof as gaussian
from leastnoise.noise.classic import proof as laplace_proof
from leastnoise.noise.classic.law import Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.question import Releases
from leastnoise.noise.steps.law import Staircase

ONE = ShiftBounds.of(L2(1))
SIGMA = 3.730631634815942  # of a Gaussian with ε(1e-5) = 1


def releases(noise: Noise, count: int) -> Releases:
    return Releases(noise=noise, shifts=ONE, compositions=count)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    gaps=st.lists(st.floats(-2, 2), min_size=1, max_size=12),
    tilt=st.floats(0, 30),
    first=st.integers(-9, 4),
    origin=st.fractions(-1, 1, max_denominator=50),
    seed=st.integers(0, 2**31),
)
def test_no_atom_from_below_is_placed_above_its_loss(
    *, gaps: list[float], tilt: float, first: int, origin: Fraction, seed: int
) -> None:
    rng = np.random.default_rng(seed)  # makes masses, no noise
    step = Fraction(1, 7)
    points = [origin + (first + i) * step for i in range(len(gaps))]
    atoms = [
        (float(point) + gap * float(step), float(mass))
        for point, gap, mass in zip(points, gaps, rng.random(len(gaps)) + 0.01, strict=True)
    ]
    cells = LowerCells(step=step, first=first, atoms=tuple(atoms), infinity=0.0, origin=origin)
    lattice = cells.lattice(tilt)
    assert abs(lattice.origin - origin) <= 3 * step
    # the mass above any point is at most that of the atoms there
    for i in range(len(lattice.masses)):
        above = sum(Fraction(mass) for loss, mass in atoms if Fraction(loss) >= lattice.point(i))
        assert sum(map(Fraction, lattice.masses[i:].tolist())) <= above


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    shares=st.lists(st.tuples(st.floats(1e-6, 1), st.floats(0, 1)), min_size=1, max_size=9),
    origin=st.fractions(-1, 1, max_denominator=50),
)
def test_atoms_merged_in_parts_have_no_larger_delta(
    shares: list[tuple[float, float]], origin: Fraction
) -> None:
    p, q = np.array(shares).T
    p, q = p / p.sum(), q / max(q.sum(), 1.0)
    step = Fraction(1, 5)
    cells = on_best_lattice(p, q, step=step, first=-30, count=61, origin=origin)
    for epsilon in np.linspace(-4, 4, 33):
        alpha = math.exp(epsilon)
        exact = float(np.maximum(p - alpha * q, 0).sum())
        value = cells.infinity + sum(
            mass * max(0.0, -math.expm1(epsilon - loss)) for loss, mass in cells.atoms if mass
        )
        assert value <= exact + 1e-15
    assert cells.infinity <= p[q == 0].sum()


def test_atoms_at_both_ends_stay_whole() -> None:
    # losses ±1 with ½ and ½/e of P's mass, and between them a density
    noise, step = Laplace(scale=1), Fraction(1, 32)

    def profile(epsilon: Fraction) -> arb:
        return laplace_proof.laplace_delta_ball(noise, shift=Fraction(1), epsilon=epsilon)

    upper = losses.upper_lattice(profile, step, 32)
    cells = losses.lower_cells(profile, upper)
    lattice = cells.lattice(2.0)
    points = [float(lattice.point(i)) for i in range(len(lattice.masses))]
    for loss, mass in ((1.0, 0.5), (-1.0, math.exp(-1) / 2)):
        here = int(np.argmin(np.abs(np.array(points) - loss)))
        assert points[here] == pytest.approx(loss, abs=1e-10)
        assert lattice.masses[here] == pytest.approx(mass, rel=1e-2)
    assert sum(lattice.masses) == pytest.approx(1, abs=1e-9)


def test_cells_of_long_steps_do_not_overlap() -> None:
    # boundaries that are moved by a square of the step would pass the largest loss, with half of P
    noise, step = Laplace(scale=Fraction(1, 200)), Fraction(25)

    def profile(epsilon: Fraction) -> arb:
        return laplace_proof.laplace_delta_ball(noise, shift=Fraction(1), epsilon=epsilon)

    cells = losses.lower_cells(profile, losses.upper_lattice(profile, step, 8))
    assert math.fsum(mass for _, mass in cells.atoms) <= 1
    for epsilon in range(0, 200, 7):
        total = sum(mass * -math.expm1(epsilon - z) for z, mass in cells.atoms if z > epsilon)
        assert total <= float(profile(Fraction(epsilon)).upper()) * (1 + 1e-14)


@pytest.mark.parametrize(
    ("start", "count", "atoms"),
    [
        # all of the lattice's lowest ratios to its middle, e^-750 and less, are 0 as floats
        (-450, 151, [(0.5, 0.25), (5e-324, 0.75)]),
        (-450, 151, [(0.5, 5e-324), (0.25, 1e-310), (2e-310, 0.9)]),
        (-1200, 241, [(0.9, 5e-324), (5e-324, 0.9)]),
    ],
)
def test_masses_that_are_hardly_floats_lie_no_higher(
    start: int, count: int, atoms: list[tuple[float, float]]
) -> None:
    p, q = np.array(atoms).T
    cells = on_best_lattice(p, q, step=Fraction(10), first=start // 10, count=count)
    with mp.workdps(30):
        for epsilon in (-800, -745, -700, -460, -440, -300, 0, 300, 600, 740):
            alpha = mp.exp(epsilon)
            exact = sum(max(mpf(0), mpf(a) - alpha * mpf(b)) for a, b in atoms)
            value = mpf(0)
            for loss, mass in cells.atoms:
                if mass:
                    value += max(mpf(0), mpf(mass) - mpf(mass) * mp.exp(epsilon - mpf(loss)))
            assert cells.infinity == 0
            assert value <= exact


@pytest.mark.dense
def test_losses_beyond_all_floats_are_composed() -> None:
    part = releases(Laplace(scale=Fraction(1, 1000)), 2)
    assert prove_composed((part,), Fraction(1000)).interval.lower > 0.999
    interval = prove_composed((part,), Fraction(1999)).interval
    # losses are 1000 − X with X = 0 or, as likely, of density e^(−x/2)/2: mpmath's quad of
    # E(1 − e^(X + Y − 1))₊, but for e^(−1000)
    assert interval.lower <= 0.241836675359 <= interval.upper < 0.243


@pytest.mark.parametrize("loss", ["0", "0.3", "-2", "9.5"])
def test_tails_of_the_gaussian_loss(loss: str) -> None:
    noise, z = Gaussian(scale=2), Fraction(loss)
    with precision(128):
        p, q = gaussian.gaussian_tails(noise, Fraction(3), z)
    with mp.workdps(40):
        mu = mpf(3) / 2
        t = mpf(z.numerator) / z.denominator / mu
        for result, exact in ((p, ncdf(mu / 2 - t)), (q, ncdf(-mu / 2 - t))):
            assert abs(mpf(result.mid().str(35, radius=False)) / exact - 1) < mpf("1e-30")


def test_ten_thousand_laplace_releases() -> None:
    # issue's number for ε(1e-5), from an exact sum over atoms
    part = releases(Laplace(scale=SIGMA * 100), 10**4)
    before = prove_composed((part,), Fraction("0.99939167")).interval
    after = prove_composed((part,), Fraction("0.99939169")).interval
    assert after.lower <= 1e-5 <= before.upper
    assert before.upper - before.lower <= 3e-6 * before.upper


# δ before the lattices were made anew (24c792b), as wide as they were then: what is enclosed now
# must overlap, and be narrower
@pytest.mark.parametrize(
    ("parts", "epsilon", "lower", "upper"),
    [
        (
            (releases(Laplace(scale=SIGMA * 100), 10**4),),
            "1",
            9.90546454935801e-06,
            9.908356403338251e-06,
        ),
        (
            (releases(Laplace(scale=3), 4), releases(Gaussian(scale=5), 3)),
            "1",
            0.040871461139003806,
            0.04087435765030307,
        ),
        (
            (releases(Laplace(scale=100), 1000), releases(Gaussian(scale=50), 300)),
            "1",
            0.004452062245980419,
            0.004452358931216132,
        ),
        (
            (releases(TruncatedLaplace(scale=30, radius=300), 1000),),
            "4",
            8.695713218780903e-05,
            0.00010691486176522241,
        ),
        (
            (releases(Staircase(scale=10, gamma="0.4", decay="0.1"), 100),),
            "1.25",
            1.0624982066256057e-05,
            1.0624992625252682e-05,
        ),
    ],
    ids=["laplace", "mixed", "many", "truncated", "staircase"],
)
def test_enclosures_lie_within_what_they_were(
    parts: tuple[Releases, ...], epsilon: str, lower: float, upper: float
) -> None:
    interval = prove_composed(parts, Fraction(epsilon)).interval
    assert lower * (1 - 1e-12) <= interval.lower < interval.upper <= upper * (1 + 1e-9)


@pytest.mark.dense
@pytest.mark.parametrize(("radius", "count"), [("0.4", 3), ("0.5", 2)])
def test_disjoint_supports_tell_everything(radius: str, count: int) -> None:
    part = releases(TruncatedLaplace(scale=1, radius=radius), count)
    interval = prove_composed((part,), Fraction(1)).interval
    assert 1 - 1e-14 <= interval.lower <= 1 <= interval.upper


def test_the_largest_loss_of_a_truncated_law_is_found_exactly() -> None:
    reach = common_lattice._reach(TruncatedLaplace(scale=30, radius=300), L2(1))
    assert Fraction(1, 30) <= reach <= Fraction(1, 30) + Fraction(1, 2**45)
