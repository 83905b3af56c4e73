"""Shares of geometric noise: differences of Pólya's law, which add up to it exactly.

notation: q = e^(−decay), P(K = k) ∝ q^|k|, n shares. K is the difference of two geometric numbers,
each the sum of n independent ones of Pólya's law, with the generating function
((1 − q)/(1 − qz))^(1/n) (Goryczka & Xiong 2017). So a share is a sum of ±L_i, as many as a Poisson
number of mean −2 ln(1 − q)/n says, with fair signs and P(L = k) = q^k/(−k ln(1 − q)): for its
generating function e^(λ(ln(1 − qz)/ln(1 − q) − 1)), λ = −ln(1 − q)/n, is that power.
L = 1 + ⌊E/(−ln(1 − (1 − q)^U))⌋ for an exponential E and a uniform U (Kemp 1981): with
y = 1 − (1 − q)^u, P(L = k) = ∫ y^(k−1) (1 − y) du = ∫_0^q y^(k−1) dy/(−ln(1 − q)).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.lazy import LazyExponential, LazyReal, LazyUniform, certainly_less, decide
from leastnoise.entropy.scalar import LazySampler
from leastnoise.entropy.scaled import Constant
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotApplicable, NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.share import Share
from leastnoise.noise.steps.law.geometric import Geometric


def share(noise: Noise, grid: Fraction, count: int) -> Share:
    """Return one of `count` shares, on the whole numbers whatever `grid` is: no sum is rounded.

    Raises NotApplicable for staircases of several cells, of which there are no shares.
    """
    del grid
    if not isinstance(noise, Geometric):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not geometric")
    if noise.cells != 1 or noise.scale != 1:
        why = 'only geometric noise of one cell has shares: give parameters={"cells": 1}'
        raise NotApplicable(family=noise.name, why=why)
    sampler = partial(_sampler, noise.decay, count)
    return Share(sampler=sampler, grid=Fraction(1), distance=Fraction(0))


def _sampler(decay: Fraction, count: int, entropy: Entropy) -> Sampler:
    def drawn() -> LazyReal:
        jumps = _poisson(lambda: -2 * _log_rest(decay) / count, entropy)
        signs = (1 - 2 * entropy.bits(1) for _ in range(jumps))
        return Constant(Fraction(sum(sign * _logarithmic(decay, entropy) for sign in signs)))

    return LazySampler(drawn, factor=Fraction(1))


def _log_rest(decay: Fraction) -> arb:
    """Enclose ln(1 − q), at the current precision."""
    return (-ball(-decay).expm1()).log()


def _poisson(mean: Callable[[], arb], entropy: Entropy) -> int:
    """Return how many arrivals there are before `mean`, one after another."""
    arrivals: list[LazyExponential] = []

    def before(bits: int) -> bool | None:
        time = sum((wait.enclose(bits) for wait in arrivals), arb(0))
        return certainly_less(time, mean())

    while True:
        arrivals.append(LazyExponential(entropy))
        if not decide(before):
            return len(arrivals) - 1


def _logarithmic(decay: Fraction, entropy: Entropy) -> int:
    exponential, uniform = LazyExponential(entropy), LazyUniform(entropy)

    def question(bits: int) -> int | None:
        rate = -(-(uniform.enclose(bits) * _log_rest(decay)).expm1()).log()
        steps = exponential.enclose(bits) / rate
        whole = steps.floor().unique_fmpz() if steps.is_finite() else None
        return None if whole is None else int(whole)

    return 1 + decide(question)
