"""A random sweep of steps of every kind: alone, together and sampled, against sums of 50 digits."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.guarantees.sensitivity import L2, Integer, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.lattice.law import Cactus, DiscreteStaircase, Optimal
from leastnoise.noise.question import Releases
from leastnoise.noise.shells.law import SphericalStaircase
from leastnoise.noise.steps.law import TruncatedStaircase, Tulap
from tests.accounting import direct
from tests.accounting.direct import Masses, mp, mpf
from tests.accounting.test_direct import cells, stairs

Drawn = tuple[Noise, Masses, ShiftBounds]
ONE = ShiftBounds.of(L2(1))


def decimal(draw: random.Random, low: float, high: float) -> str:
    return str(round(draw.uniform(low, high), 3))


def truncated(draw: random.Random) -> Drawn:
    scale, gamma = decimal(draw, 0.3, 3), decimal(draw, 0.05, 1)
    radius, decay, atom = decimal(draw, 0.2, 9), decimal(draw, 0, 3), draw.choice(["0", "0.01"])
    noise = TruncatedStaircase(scale=scale, gamma=gamma, radius=radius, decay=decay, atom=atom)
    steps = stairs(gamma, radius, scale)
    return noise, direct.masses_of_steps(steps, decay=decay, atom=atom), ONE


def tulap(draw: random.Random) -> Drawn:
    scale, radius, decay = decimal(draw, 0.3, 3), decimal(draw, 0.2, 9), decimal(draw, 0, 3)
    masses = direct.masses_of_steps(stairs("0.5", radius, scale), decay=decay)
    return Tulap(scale=scale, radius=radius, decay=decay), masses, ONE


def spherical(draw: random.Random) -> Drawn:
    scale, gamma = decimal(draw, 0.4, 2), decimal(draw, 0.1, 1)
    radius, decay, dimension = decimal(draw, 0.6, 4), decimal(draw, 0, 2), draw.choice([2, 3, 5])
    noise = SphericalStaircase(
        scale=scale, dimension=dimension, gamma=gamma, radius=radius, decay=decay
    )
    steps = stairs(gamma, radius, scale)
    return noise, direct.masses_of_shells(steps, dimension=dimension, decay=decay), ONE


def falling(draw: random.Random) -> Drawn:
    ordered = sorted((draw.randrange(1, 60) for _ in range(draw.randrange(2, 9))), reverse=True)
    weights, per_unit = tuple(ordered), draw.randrange(1, 4)
    family, scale = draw.choice([Cactus, Optimal]), draw.choice(["1", "2", "0.9", "1.5"])
    steps = [(end * Fraction(scale), w, at) for end, w, at in cells(weights, str(per_unit))]
    return family(scale=scale, cells=per_unit, masses=weights), direct.masses_of_steps(steps), ONE


def whole(draw: random.Random) -> Drawn:
    ordered = sorted((draw.randrange(1, 60) for _ in range(draw.randrange(2, 9))), reverse=True)
    weights, shift = tuple(ordered), draw.randrange(1, 4)
    noise = DiscreteStaircase(scale=shift, cells=shift, masses=weights)
    return noise, direct.masses_of_lattice(weights, shift), ShiftBounds.of(Integer(shift))


KINDS = (truncated, tulap, spherical, falling, whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_compositions_are_enclosed(seed: int) -> None:
    draw = random.Random(seed)
    with mp.workdps(50):
        drawn = [draw.choice(KINDS)(draw) for _ in range(draw.choice([1, 1, 2]))]
        counts = [draw.choice([1, 2]) for _ in drawn]
        epsilon = decimal(draw, 0, 1.5 * sum(counts))
        rate = draw.choice(["1", "1", "0.3"])
        exact = max(
            direct.delta_of_masses(
                [
                    (masses if rate == "1" else masses.sampled(rate, removed=removed), count)
                    for (_, masses, _), count in zip(drawn, counts, strict=True)
                ],
                epsilon,
            )
            for removed in ((True,) if rate == "1" else (True, False))
        )
        parts = tuple(
            Releases(noise=noise, shifts=shifts, compositions=count, sampling_rate=Fraction(rate))
            for (noise, _, shifts), count in zip(drawn, counts, strict=True)
        )
        interval = prove_composed(parts, Fraction(epsilon)).interval
        lost = mpf(10) ** -45  # of 50 digits, in sums that may be 1
        assert interval.lower - lost <= exact <= interval.upper + lost
        assert interval.upper - interval.lower <= 0.05 * exact + 1e-30  # 1.1 % at most were seen
