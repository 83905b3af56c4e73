"""Mechanisms that each break one claim, and the detector that has to find it.

Their randomness is seeded, so that every count is the same in each run. It is fresh in each call
and each process, so that a mechanism breaks no other claim.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any, final

import numpy as np

import leastnoise as ln
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.mechanism.rounding import add_noise

_OWN = os.getpid()


@final
class Fresh:
    """Seeds that are new in each call. A forked child or a new process gets other seeds."""

    def __init__(self, seed: int) -> None:
        self._calls = count(seed * 10_000)

    def seed(self) -> int:
        process = os.getpid()
        return next(self._calls) + (0 if process == _OWN else process << 64)

    def entropy(self) -> InsecureSeededEntropy:
        return InsecureSeededEntropy(self.seed())

    def numpy(self) -> np.random.Generator:
        return np.random.default_rng(self.seed())


@final
@dataclass(frozen=True, kw_only=True)
class Scenario:
    name: str
    seen_by: str
    mechanism: Callable[[Any, int], Any]
    claim: ln.Claim
    inputs: tuple[Any, Any] = (0.0, 1.0)
    draws: int = 10**6
    also: tuple[str, ...] = ()
    """Other detectors that find the violation, too."""


@cache
def gaussian() -> ln.Mechanism:
    return ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1))


def normal(count: int, entropy: InsecureSeededEntropy, share: Fraction = Fraction(1)) -> Any:
    """Exact draws of Gaussian noise with `share` of the calibrated scale."""
    noise = ln.noise.Gaussian(scale=gaussian().noise.scale * share, dimension=count)
    return add_noise(noise, gaussian().grid, np.zeros(count), entropy=entropy)


NAMED = ln.Claim(
    epsilon=1, delta="1e-5", sensitivity=ln.L2(1), noise=ln.noise.Gaussian(
        scale=gaussian().noise.scale
    )
)  # fmt: skip
BUDGET = ln.Claim(epsilon=1, delta="1e-5")
ORIGIN, MOVED = np.zeros(2), np.array([1.0, 0.0])


def _small(fresh: Fresh) -> Callable[[float, int], Any]:
    return lambda value, n: value + normal(n, fresh.entropy(), Fraction(95, 100))


def _float_laplace(fresh: Fresh) -> Callable[[float, int], Any]:
    return lambda value, n: value + fresh.numpy().laplace(0, 10, n)


def _float_normal(fresh: Fresh) -> Callable[[float, int], Any]:
    scale = float(gaussian().noise.scale)
    return lambda value, n: value + fresh.numpy().normal(0, scale, n)


def _understated(fresh: Fresh) -> Callable[[list[float], int], Any]:
    """A mechanism of datasets: their sum moves by 1.1, but 1 is claimed."""
    noise = gaussian().noise.scale
    return lambda rows, n: add_noise(
        ln.noise.Gaussian(scale=noise, dimension=n), gaussian().grid, np.full(n, sum(rows)),
        entropy=fresh.entropy(),
    )  # fmt: skip


def _same_in_both_coordinates(fresh: Fresh) -> Callable[[Any, int], Any]:
    return lambda value, n: value + normal(n, fresh.entropy())[:, None]


def _same_in_next_draw(fresh: Fresh) -> Callable[[float, int], Any]:
    return lambda value, n: value + np.repeat(normal(n // 2 + 1, fresh.entropy()), 2)[:n]


def _negated_in_next_draw(fresh: Fresh) -> Callable[[float, int], Any]:
    def mechanism(value: float, n: int) -> Any:
        half = normal(n // 2 + 1, fresh.entropy())
        return value + np.stack([half, -half], 1).ravel()[:n]

    return mechanism


def _drifting(fresh: Fresh) -> Callable[[float, int], Any]:
    """A mechanism whose draws have the right law, but are correlated with the next draw."""

    def mechanism(value: float, n: int) -> Any:
        noise = normal(n + 1, fresh.entropy())
        shared = (noise[1:] + noise[:-1] / 4) / np.sqrt(1 + 1 / 16)
        return value + np.rint(shared * 2**16) / 2**16

    return mechanism


def two_sided_geometric(generator: np.random.Generator, n: int) -> Any:
    """Whole-number noise that is 0.5-DP for a count."""
    p = -np.expm1(-0.5)
    return (generator.geometric(p, n) - generator.geometric(p, n)).astype(float)


def _state_of_its_own(_: Fresh) -> Callable[[float, int], Any]:
    """A mechanism with one generator, whose state every forked child inherits."""
    generator = np.random.default_rng(17)
    return lambda value, n: value + two_sided_geometric(generator, n)


def _seeded_in_the_call(_: Fresh) -> Callable[[float, int], Any]:
    return lambda value, n: value + two_sided_geometric(np.random.default_rng(int(value)), n)


def _seeded_for_each_thread(fresh: Fresh) -> Callable[[float, int], Any]:
    first = threading.get_ident()

    def mechanism(value: float, n: int) -> Any:
        computed = fresh.numpy() if threading.get_ident() == first else np.random.default_rng(5)
        return value + two_sided_geometric(computed, n)

    return mechanism


def _narrow(fresh: Fresh) -> Callable[[float, int], Any]:
    """Laplace noise of 0.85 times the scale; no law is claimed for it."""
    noise = Fraction(85, 100)
    return lambda value, n: value + add_noise(
        ln.noise.Laplace(scale=noise, dimension=n), Fraction(1, 2**20), np.zeros(n),
        entropy=fresh.entropy(),
    )  # fmt: skip


def _grid_that_moves(fresh: Fresh) -> Callable[[float, int], Any]:
    """Noise on multiples of 1/500, added to a value that isn't one."""
    return lambda value, n: value + np.rint(500 * normal(n, fresh.entropy())) / 500


def _not_a_number(fresh: Fresh) -> Callable[[float, int], Any]:
    """A mechanism that sometimes returns NaN, on one input only."""

    def mechanism(value: float, n: int) -> Any:
        outputs = value + normal(n, fresh.entropy())
        outputs[::100] = np.nan if value else outputs[::100]
        return outputs

    return mechanism


LAPLACE = ln.Claim(epsilon="0.1", sensitivity=ln.L1(1))
COUNT = ln.Claim(epsilon="0.5", sensitivity=ln.Integer(1))


def _all() -> tuple[Scenario, ...]:
    built: tuple[tuple[str, str, Callable[[Fresh], Any], ln.Claim, dict[str, Any]], ...] = (
        # the five that an audit has to see in 10^6 draws
        ("5 % less noise", "noise", _small, NAMED, {}),
        ("float Laplace", "precision", _float_laplace, LAPLACE, {}),
        ("one number for two coordinates", "repeats", _same_in_both_coordinates, BUDGET,
         {"inputs": (ORIGIN, MOVED)}),
        ("a state that is forked", "repeats", _state_of_its_own, COUNT, {}),
        ("10 % more sensitivity", "sensitivity", _understated, NAMED,
         {"inputs": ([0.5, 2.0], [0.5, 2.0, 1.1])}),
        # and more of their kinds
        # in one binade, where the last bits alone say nothing: by inversion
        ("float Laplace far from 0", "precision", _float_laplace, LAPLACE,
         {"inputs": (100.5, 101.5)}),
        ("float Gaussian", "precision", _float_normal, BUDGET, {}),
        ("a draw that is repeated", "repeats", _same_in_next_draw, BUDGET, {"draws": 10**5}),
        ("a draw that is negated", "repeats", _negated_in_next_draw, BUDGET, {"draws": 10**5}),
        ("draws that share a part", "repeats", _drifting, BUDGET, {"draws": 10**5}),
        ("a seed in the call", "repeats", _seeded_in_the_call, COUNT, {"draws": 10**5}),
        ("a seed for each thread", "repeats", _seeded_for_each_thread, COUNT, {"draws": 10**5}),
        ("15 % less of unnamed noise", "distinguishing", _narrow, ln.Claim(epsilon=1),
         {"inputs": (100.5, 101.5)}),  # in one binade
        ("a grid that moves with the data", "reachability", _grid_that_moves, BUDGET,
         {"inputs": (0.0003, 0.0013), "also": ("distinguishing", "precision")}),
        ("NaN on one input", "reachability", _not_a_number, BUDGET,
         {"draws": 10**5, "also": ("distinguishing", "precision")}),
    )  # fmt: skip
    return tuple(
        Scenario(name=name, seen_by=seen_by, mechanism=make(Fresh(index)), claim=claim, **rest)
        for index, (name, seen_by, make, claim, rest) in enumerate(built, 1)
    )


SCENARIOS = _all()
