"""Exact staircase draws: uniform up to γ + J, J from geometric numbers of steps.

notation: b = e^(−decay), m = b/(1 − b). X/scale is uniform on ±(γ + J) with P(J = j) ∝ b^j (γ + j):
with probability γ/(γ + m) J is geometric, P(J = j) ∝ b^j; else P(J = j) ∝ j b^j, which is 1 plus
the sum of two geometric numbers. A geometric number is ⌊E/decay⌋ for a standard exponential E.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.base import Noise
from leastnoise.noise.staircase import Staircase
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.lazy import LazyExponential, LazyReal, decide
from leastnoise.sampling.scalar import LazyBetween, LazySampler, choose


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a staircase `noise`, in units of `grid`."""
    if not isinstance(noise, Staircase):
        raise TypeError(f"{noise.name} is not a staircase")
    gamma, decay = noise.gamma, noise.decay

    def shares() -> list[arb]:
        mean_step = 1 / ball(decay).expm1()
        return [ball(gamma) / (ball(gamma) + mean_step), arb(1)]

    def draw_one() -> LazyReal:
        if choose(entropy, shares) == 0:
            steps = _geometric(entropy, decay)
        else:
            steps = 1 + _geometric(entropy, decay) + _geometric(entropy, decay)
        return LazyBetween(entropy, Fraction(0), gamma + steps, symmetric=True)

    return LazySampler(draw_one, factor=noise.scale / grid)


def _geometric(entropy: Entropy, decay: Fraction) -> int:
    """Return ⌊E/decay⌋, decided in balls."""
    exponential = LazyExponential(entropy)

    def question(bits: int) -> int | None:
        ratio = exponential.enclose(bits) / ball(decay)
        whole = ratio.floor().unique_fmpz() if ratio.is_finite() else None
        return None if whole is None else int(whole)

    return decide(question)
