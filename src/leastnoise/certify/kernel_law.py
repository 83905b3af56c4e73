"""Sums of Gaussian kernels in balls: density, slope and distribution function, lengths in σ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

from flint import arb, arb_poly

from leastnoise.balls.core import ball
from leastnoise.noise.kernels import KernelNoise


class Point(NamedTuple):
    """ln f at a point x, and bounds of m just left and right of it (they differ at a kink)."""

    log_f: arb
    before: arb
    after: arb


@final
@dataclass(frozen=True, kw_only=True)
class KernelLaw:
    """f(x) = e^(−x²/2) P(e^(t|x|))/(e^(Kt|x|) C) of `noise`, m = (ln f)′ + x, at this precision.

    notation: P = Σ c_k z^(k+K), c_k = e^(−|k|·decay − k²t²/2), so Σ c_k z^k e^(−x²/2) is the sum of
    the kernels; for a folded law k = 0, 1 only. All coefficients are positive: P loses no digits.
    """

    modes: int
    spacing: arb
    weights: tuple[arb, ...]
    polynomial: arb_poly
    weighted: arb_poly
    low: int
    folded: bool

    @classmethod
    def of(cls, noise: KernelNoise) -> KernelLaw:
        """Return `noise` in units of its scale."""
        t, decay = ball(noise.spacing / noise.scale), ball(noise.decay)
        low = 0 if noise.folded else -noise.modes
        ks = range(low, noise.modes + 1)
        weights = [(-abs(k) * decay).exp() for k in ks]
        coefficients = [w * (-k * k * t * t / 2).exp() for k, w in zip(ks, weights, strict=True)]
        total = weights[0] + weights[1] * (-t / arb(2).sqrt()).erfc() if noise.folded else arb(0)
        total = total if noise.folded else sum(weights, arb(0))
        return cls(
            modes=noise.modes,
            spacing=t,
            weights=tuple(w / total for w in weights),
            polynomial=arb_poly([c / (total * (2 * arb.pi()).sqrt()) for c in coefficients]),
            weighted=arb_poly(
                [i * c / (total * (2 * arb.pi()).sqrt()) for i, c in enumerate(coefficients)]
            ),
            low=low,
            folded=noise.folded,
        )

    @property
    def last(self) -> arb:
        """Where the outermost kernel sits."""
        return self.spacing * self.modes

    def at(self, x: arb) -> Point:
        """Enclose ln f and m over the ball x."""
        r = abs(x) if self.folded else x
        z = (self.spacing * r).exp()
        value = self.polynomial(z)
        mean = self.spacing * (self.weighted(z) / value + self.low)
        log_f = value.log() + self.low * self.spacing * r - r * r / 2
        if not self.folded or x > 0:
            return Point(log_f, mean, mean)
        return Point(log_f, -mean, -mean if x < 0 else mean)

    def distribution(self, x: arb) -> arb:
        """Enclose P(X <= x)."""
        root_half = arb(0.5).sqrt()

        def normal(y: arb) -> arb:
            return (-y * root_half).erfc() / 2

        if not self.folded:
            total = arb(0)
            for k, weight in enumerate(self.weights, start=self.low):
                total += weight * normal(x - k * self.spacing)
            return total
        inner, outer = self.weights
        r, t = abs(x), self.spacing
        tail = inner * normal(-r) + outer * normal(t - r)
        if x < 0:
            return tail
        return 1 - tail if x > 0 else tail.union(1 - tail)
