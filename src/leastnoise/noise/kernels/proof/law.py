"""Sums of Gaussian kernels as exact places and weights in balls, lengths in σ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.kernels.law import KernelNoise


@final
@dataclass(frozen=True, kw_only=True)
class KernelLaw:
    """f(x) = Σ weight·φ(x − centre), φ the normal density.

    If `folded`, a kernel right of 0 serves x >= 0 alone and one left of 0 serves x < 0 alone.
    """

    kernels: tuple[tuple[Fraction, arb], ...]
    apart: Fraction
    folded: bool

    @classmethod
    def of(cls, noise: KernelNoise) -> KernelLaw:
        """Return `noise` in units of its scale."""
        apart, decay = noise.spacing / noise.scale, ball(noise.decay)
        ks = range(-noise.modes, noise.modes + 1)
        weights = [(-abs(k) * decay).exp() for k in ks]
        total = sum(weights, arb(0))
        if noise.folded:
            total = weights[1] + weights[0] * (-ball(apart) / arb(2).sqrt()).erfc()
        return cls(
            kernels=tuple((k * apart, w / total) for k, w in zip(ks, weights, strict=True)),
            apart=apart,
            folded=noise.folded,
        )

    @property
    def reach(self) -> Fraction:
        """Where the outermost kernel sits."""
        return self.kernels[-1][0]

    def below(self, x: arb) -> arb:
        """Enclose P(X <= x), if not folded."""
        root_half = arb(0.5).sqrt()
        total = arb(0)
        for centre, weight in self.kernels:
            total += weight * ((ball(centre) - x) * root_half).erfc() / 2
        return total
