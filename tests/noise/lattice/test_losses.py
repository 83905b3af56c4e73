"""Composition of steps whose worst shift depends on ε, against direct sums and exact profiles."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls import losses
from leastnoise.balls.convolution import composed_upper
from leastnoise.balls.core import precision
from leastnoise.balls.losses import LossLattice
from leastnoise.guarantees.sensitivity import L2, Integer, ShiftBounds
from leastnoise.noise.lattice import privacy_losses as lattice_losses
from leastnoise.noise.lattice import proof as lattice
from leastnoise.noise.lattice.law import Cactus, DiscreteStaircase, Optimal
from leastnoise.noise.question import Releases

ONE = ShiftBounds.of(L2(1))
Masses = tuple[int, ...]
Shift = tuple[tuple[Fraction, int], ...]


def pair(masses: Masses, shift: Shift) -> list[tuple[float, float]]:
    """Pairs of masses under P and under Q, which is P shifted, for all outputs possible under P."""
    law = np.array([*masses[:0:-1], *masses], dtype=float)
    law /= law.sum()
    return [
        (float(weight) * p, float(weight) * (law[k - j] if 0 <= k - j < len(law) else 0.0))
        for weight, j in shift
        for k, p in enumerate(law)
        if p > 0 and weight
    ]


def direct(masses: Masses, sequence: tuple[Shift, ...], epsilon: float) -> float:
    """δ of releases whose shifts are `sequence`: Σ (Πp − e^ε Πq)₊ over all outputs."""
    p, q = np.ones(1), np.ones(1)
    for shift in sequence:
        masses_p, masses_q = np.array(pair(masses, shift)).T
        p, q = np.outer(p, masses_p).ravel(), np.outer(q, masses_q).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def worst(
    noise: Optimal | DiscreteStaircase, longest: int, count: int, epsilon: float
) -> tuple[float, float]:
    """The largest δ over all sequences of `count` shifts, and over those of equal shifts."""
    every = lattice_losses.shifts(noise, Fraction(longest))
    masses = noise.lattice.masses
    mixed = (direct(masses, s, epsilon) for s in itertools.product(every, repeat=count))
    same = (direct(masses, (shift,) * count, epsilon) for shift in every)
    return max(mixed), max(same)


@pytest.mark.dense
@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    masses=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    cells=st.integers(1, 3),
    scale=st.sampled_from(["0.7", "1", "1.6", "2.5"]),
    epsilon=st.floats(0, 3),
)
def test_two_releases_are_enclosed_whatever_their_shifts(
    *, masses: list[int], cells: int, scale: str, epsilon: float
) -> None:
    noise = Optimal(scale=scale, cells=cells, masses=(masses[0] + 1, *masses[1:]))
    interval = prove_composed(
        (Releases(noise=noise, shifts=ONE, compositions=2),), Fraction(epsilon)
    ).interval
    mixed, same = worst(noise, 1, 2, epsilon)
    assert mixed <= interval.upper * (1 + 1e-13) + 1e-13
    assert interval.lower <= same * (1 + 1e-13) + 1e-13


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.1, 2.3])
def test_three_releases_on_whole_numbers(epsilon: float) -> None:
    noise = DiscreteStaircase(scale=2, cells=2, masses=(9, 3, 5, 2, 1))
    part = Releases(noise=noise, shifts=ShiftBounds.of(Integer(2)), compositions=3)
    interval = prove_composed((part,), Fraction(epsilon)).interval
    mixed, same = worst(noise, 2, 3, epsilon)
    assert mixed <= interval.upper <= 1.05 * mixed  # no pair of outputs has the supremum's profile
    assert 0.98 * same <= interval.lower <= same


def test_the_supremum_over_shifts_is_more_than_any_one_of_them() -> None:
    # a dip between peaks: which of the two shifts is worse depends on ε
    noise = Optimal(scale=2, cells=2, masses=(1, 40, 3, 1))
    step, size = Fraction(1, 8), 40
    above = lattice_losses.upper(noise, Fraction(2), step, size)
    for epsilon in (Fraction(i, 16) for i in range(-40, 80)):
        exact = [
            direct(noise.masses, (s,), float(epsilon))
            for s in [((Fraction(1), 1),), ((Fraction(1), 2),)]
        ]
        assert delta_of(above, float(epsilon)) >= max(exact) - 1e-14


def delta_of(law: LossLattice, epsilon: float) -> float:
    """δ(ε) of a law of losses on a lattice, by definition."""
    z = (law.first + np.arange(len(law.masses))) * float(law.step)
    return law.infinity + float(law.masses @ np.maximum(0, -np.expm1(epsilon - z)))


@pytest.mark.parametrize("scale", ["1", "2.3"])
def test_one_release_by_balls_is_met_at_lattice_points(scale: str) -> None:
    noise = Cactus(
        scale=scale, cells=4, masses=tuple(round(1e9 * math.exp(-k / 3)) for k in range(60))
    )
    assert noise.lattice.falls
    step, size = Fraction(1, 16), 32
    above = lattice_losses.upper(noise, Fraction(1), step, size)
    below = lattice_losses.lower(noise, Fraction(1), step, size).lattice(1.0)
    for i in range(0, size + 1, 4):
        with precision(192):
            exact = float(lattice.step_delta_ball(noise, shift=Fraction(1), epsilon=i * step).mid())
        assert exact <= delta_of(above, float(i * step)) <= exact * (1 + 1e-9)
        assert delta_of(below, float(i * step)) <= exact * (1 + 1e-15)


def test_many_releases_agree_with_the_profile_in_balls() -> None:
    # where the longest shift is the worst, the general way through exact profiles applies too
    noise = Optimal(
        scale=1, cells=3, masses=tuple(round(1e6 * math.exp(-((k / 6) ** 2))) for k in range(22))
    )
    step, size, epsilon = Fraction(1, 64), 420, Fraction(6)

    def profile(at: Fraction) -> losses.arb:
        return lattice.step_delta_ball(noise, shift=Fraction(1), epsilon=at)

    exact = composed_upper([(losses.upper_lattice(profile, step, size), 20)], epsilon)
    ours = composed_upper([(lattice_losses.upper(noise, Fraction(1), step, size), 20)], epsilon)
    assert float(ours.upper()) == pytest.approx(float(exact.upper()), rel=1e-7)


def test_more_lattice_steps_are_closer() -> None:
    noise = Optimal(scale=2, cells=3, masses=(50, 30, 40, 20, 10, 5))
    part = Releases(noise=noise, shifts=ONE, compositions=40)
    widths = []
    for points_per_std in (16, 64):
        interval = prove_composed((part,), Fraction(9), points_per_std=points_per_std).interval
        widths.append(interval.upper - interval.lower)
    assert widths[1] < widths[0] / 4
    assert widths[1] < 0.01 * interval.upper


@pytest.mark.dense
def test_a_shift_off_the_lattice_gives_all_away() -> None:
    whole = ShiftBounds.of(Integer(1))
    off = Releases(
        noise=DiscreteStaircase(scale="0.7", cells=3, masses=(5, 1)), shifts=whole, compositions=3
    )
    assert prove_composed((off,), Fraction(1)).interval.lower > 1 - 1e-10
    far = Releases(noise=Optimal(scale="0.1", cells=1, masses=(5, 1)), shifts=ONE, compositions=3)
    assert prove_composed((far,), Fraction(1)).interval.lower > 1 - 1e-10
