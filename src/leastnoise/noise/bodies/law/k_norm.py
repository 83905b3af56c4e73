"""Laws of the gauge of a body: K-norm noise, the K-staircase, and the truncated K-staircase.

Notation: X is the noise, K = `body`, |K| is its volume and D is its dimension. N is the gauge of K:
N(x) is the least t >= 0 with x ∈ tK. ρ = N(X)/scale is the gauge of the noise in units of the
scale. A staircase falls by q = e^(−decay) from step to step, and γ = `gamma` is the end of its
first step. E is the mean.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import derived, field, record, takes
from leastnoise.guarantees.bodies.base import A_BODY, Body
from leastnoise.guarantees.exact import Exact
from leastnoise.guarantees.fields import FractionField
from leastnoise.noise.base import BOUNDED, SCALE, points_of
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.noise.common.law import (
    DECAY,
    GAMMA,
    RADIUS,
    log_step_sums,
    step_decay,
    truncated_steps,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.noise.common.law import RadialSteps


# K-norm noise: exponential in the gauge of a body (Hardt & Talwar 2010).


@final
@record()
class KNorm(BodyNoise):
    """K-norm noise: its density at x is e^(−N(x)/scale)/(|K|·D!·scale^D).

    K = `body`, |K| is its volume and D is its dimension. N is the gauge of K: N(x) is the least t
    >= 0 with x ∈ tK. As |N(x) − N(x − s)| <= N(s), with scale = 1/ε the noise is ε-DP for every
    shift s in K, and for no smaller ε. For ε' < ε, δ(ε') is at most 1 − e^((ε' − ε)/2), as for
    scalar Laplace noise (theory/bodies.md §1, Theorem 1). On an interval or on cells of intervals
    it is independent Laplace noise; on a ball it is `l2`.

    Args:
        scale: Scale > 0; 1/ε for shifts in `body`.
        body: The convex body that holds all shifts, such as `Signed(of=Counts(queries=10))`.

    Raises:
        InvalidArgument: The scale is out of its range, or `body` is not a `Body`.

    Source:
        Hardt & Talwar (2010), theory/bodies.md §1.

    Examples:
        >>> from leastnoise.guarantees.bodies.counts import Counts
        >>> from leastnoise.guarantees.bodies.signed import Signed
        >>> law = KNorm(scale=1, body=Signed(of=Counts(queries=10)))
        >>> round(law.variance, 9), law.dimension
        (26.0, 10)

    """

    name: ClassVar[str] = "k-norm"
    scale: FractionField = field(converter=SCALE)
    body: Body = field(converter=A_BODY)
    dimension: int = derived(lambda law: law.body.dimension)

    @property
    def largest_loss(self) -> Fraction:
        return 1 / self.scale

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        d = self.dimension
        log_mass = self.body.log_volume + math.lgamma(d + 1) + d * math.log(float(self.scale))
        return -self._gauges(points_of(x, dimension=self.dimension)) - log_mass

    def _radial(self, order: int) -> float:
        """The mean of ρ^order for order 1 or 2; ρ ~ Gamma(D)."""
        d = self.dimension
        return float(d * (d + 1) if order == 2 else d)


# Staircase noise in the gauge of a body.


def _decay(decay: Exact, *, name: str, record: KStaircase) -> Fraction:
    del name
    return step_decay(decay, dimension=record.body.dimension, powers=3)


@final
@record()
class KStaircase(BodyNoise):
    """Staircase noise in the gauge of a body: density ∝ e^(−decay·⌊N(x)/scale + 1 − γ⌋).

    K = `body`, γ = `gamma`, and N is the gauge of K: N(x) is the least t >= 0 with x ∈ tK. A shift
    in K changes N by at most 1, and so it changes the floor by at most 1. With decay = ε and scale
    = 1 the noise is ε-DP for every shift in K. Let ℓ be an increasing function, and γ the value
    with the least expectation of ℓ(N(X)) for the noise X. Then no additive noise that is ε-DP for
    all shifts in K has a smaller expectation (theory/bodies.md §8, Theorem A). On an interval the
    law is `staircase`.

    Two properties of `KNorm` fail here. Scalar Laplace noise at the same ε does not dominate the
    law. And independent staircases in several cells do not hide a shift that is spread over the
    cells.

    Args:
        scale: Scale > 0; 1 for shifts in `body`.
        body: The convex body that holds all shifts.
        gamma: End of the first step, in scales; 0 < gamma <= 1.
        decay: Each step is e^−decay times as high as the step before; usually ε.

    Raises:
        InvalidArgument: A parameter is out of its range, or the sums over steps would be too long.

    Source:
        theory/bodies.md §8.

    Examples:
        >>> from leastnoise.guarantees.bodies.plain import Ball
        >>> law = KStaircase(scale=1, body=Ball(bound=1, coordinates=2), gamma="0.3", decay=5)
        >>> round(law.mse / (6 / 25), 2)  # relative to the mse of e^(−5N)
        0.59
    """

    name: ClassVar[str] = "k-staircase"
    scale: FractionField = field(converter=SCALE)
    body: Body = field(converter=A_BODY)
    gamma: FractionField = field(converter=GAMMA)
    decay: FractionField = field(converter=takes(_decay, of_record=True))
    dimension: int = derived(lambda law: law.body.dimension)

    @property
    def largest_loss(self) -> Fraction:
        return self.decay * math.ceil(1 / self.scale)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at x.

        The density's normaliser is |K|·scale^D·(1 − q) Σ_k q^k (k + γ)^D, summed over k >= 0.
        """
        d = self.dimension
        steps = np.floor(self._gauges(points_of(x, dimension=d)) + 1 - float(self.gamma))
        log_mass = self.body.log_volume + d * math.log(float(self.scale)) + self._log_sums[0]
        return -float(self.decay) * np.maximum(steps, 0.0) - log_mass

    def _radial(self, order: int) -> float:
        """The mean of ρ^order, for order 1 or 2.

        X/scale is uniform in (k + γ)K for a random integer k >= 0, with probability ∝ q^k (k +
        γ)^D. So the mean is D/(D + order) times the mean of (k + γ)^order.
        """
        d = self.dimension
        return d / (d + order) * math.exp(self._log_sums[order] - self._log_sums[0])

    @cached_property
    def _log_sums(self) -> NDArray[np.float64]:
        """The logarithms of (1 − q) Σ_{k>=0} q^k (k + γ)^j for j = D, D + 1, D + 2; shape (3,)."""
        d = self.dimension
        return log_step_sums(
            first=float(self.gamma), decay=float(self.decay), powers=np.arange(d, d + 3)
        )


# Truncated staircase noise in the gauge of a body, for δ > 0.


@final
@record()
class TruncatedKStaircase(BodyNoise):
    """Staircase noise in the gauge of a body, cut off at a radius.

    The density at x is ∝ e^(−decay·k(N(x)/scale)). N is the gauge of K = `body`: N(x) is the least
    t >= 0 with x ∈ tK. With γ = `gamma` and R = `radius`, the number of the step is k(r) = 0 for r
    < γ, and ⌊r − γ⌋ + 1 for γ <= r < R. The density is 0 where N(x)/scale >= R.

    With decay = ε and scale = 1 the loss under a shift in K is ∞, ε, 0 or −ε. δ(ε) is the mass that
    the shift moves beyond R. Among all bodies of the same dimension, it is largest for a cube and a
    shift to its corner (theory/bodies.md §9). The proof uses this bound. On an interval the law is
    `truncated-staircase`; on a ball it is `spherical-staircase`, whose δ is known exactly. δ = 0 is
    impossible at any ε: an output in the range of only one of two neighbours reveals which one it
    is.

    Args:
        scale: Scale > 0; 1 for shifts in `body`.
        body: The convex body that holds all shifts, of dimension >= 2.
        gamma: End of the first step, in scales; 0 < gamma <= 1.
        radius: End of the range, in scales.
        decay: Each step is e^−decay times as high as the step before.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        theory/bodies.md §9.

    Examples:
        >>> from leastnoise.guarantees.bodies.plain import Box
        >>> law = TruncatedKStaircase(
        ...     scale=1, body=Box(bounds=[1, 1]), gamma="0.7", radius="6.2658", decay=1
        ... )
        >>> round(law.mse, 2)  # e^(−N), δ = 0: 8
        6.99
    """

    name: ClassVar[str] = "truncated-k-staircase"
    purely_private: ClassVar[bool] = False
    least_dimension: ClassVar[int] = 2
    too_few: ClassVar[str] = "in one dimension it is the same law as truncated-staircase"
    without_delta: ClassVar[str] = BOUNDED
    scale: FractionField = field(converter=SCALE)
    body: Body = field(converter=A_BODY)
    gamma: FractionField = field(converter=GAMMA)
    radius: FractionField = field(converter=RADIUS)
    decay: FractionField = field(converter=DECAY)
    dimension: int = derived(lambda law: law.body.dimension)

    @property
    def largest_loss(self) -> Fraction:
        """The largest finite privacy loss under a shift in `body`."""
        return self.decay * min(math.ceil(1 / self.scale), max(self.steps.levels))

    @cached_property
    def steps(self) -> RadialSteps:
        """The density as a function of N(x)/scale: steps that end at γ, γ + 1, … and last at R."""
        return truncated_steps(gamma=self.gamma, radius=self.radius, decay=self.decay)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at x; −inf where N(x)/scale >= `radius`."""
        d, steps = self.dimension, self.steps
        log_unit = self.body.log_volume + d * math.log(float(self.scale))
        peak = steps.log_peak(d) - log_unit
        logs = np.append(peak + steps.log_heights - steps.log_heights[0], -np.inf)
        gauges = self._gauges(points_of(x, dimension=d))
        return logs[np.searchsorted(steps.float_edges, gauges, side="right")]

    def _radial(self, order: int) -> float:
        """The mean of ρ^order, for order 1 or 2.

        X/scale is uniform in e_j·K with probability π_j, where e_j are the edges of `steps`, and
        π_j their `ball_masses`.
        """
        d, steps = self.dimension, self.steps
        mean = float(steps.ball_masses(d) @ steps.float_edges**order)
        return d / (d + order) * mean
