"""Noise on the line in steps: staircases, truncated or not, geometric and Tulap noise.

Notation: X is a draw of the noise, f its density, and E an expectation. γ = gamma is the end of the
first step in scales, b = e^(−decay) the ratio of the heights of neighbouring steps, and m = b/(1 −
b). k(r) is the number of the step at the distance r from 0 in scales: 0 for r < γ, and ⌊r − γ⌋ + 1
for r >= γ. R is the radius of a truncated law. On a lattice, K is an integer, c = cells the number
of lattice points in a step, and a = core.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import field, record, takes, whole
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import SMALLEST_SQUARED, Exact, exact_where
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import BOUNDED, DIMENSION, SCALE, Noise, points_of
from leastnoise.noise.common.law import GAMMA, LARGEST_DECAY, StepNoise, Steps, nearest_cells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# Staircase noise for one number (Geng & Viswanath 2014).


def step_decay(decay: Exact, *, name: str = "decay") -> Fraction:
    """The `decay` as a Fraction; raises InvalidArgument unless 1e-140 <= decay <= 1e6."""
    return exact_where(
        decay,
        name=name,
        holds=lambda number: SMALLEST_SQUARED <= number <= LARGEST_DECAY,
        expected="1e-140 <= decay <= 1e6",
    )


@final
@record()
class Staircase(Noise):
    """Staircase noise: density ∝ e^(−decay·k(|x|/scale)), where k(r) numbers the steps.

    k(r) is 0 for r < γ, and ⌊r − γ⌋ + 1 for r >= γ, with γ = gamma. With decay = ε it is purely
    ε-private for shifts up to scale. If γ minimises the expected error, no purely ε-private
    additive noise has a smaller one (Geng & Viswanath 2014).

    X is uniform on (−h, h), where h = scale·(γ + J) for a random J = 0, 1, … with P(J = j) ∝ b^j (γ
    + j), b = e^(−decay).

    Args:
        scale: Scale > 0; usually the sensitivity.
        gamma: End of the first step, in scales; 0 < gamma <= 1.
        decay: Each step is e^−decay times as high as the step before; usually ε.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Geng & Viswanath (2014).

    Examples:
        >>> law = Staircase(scale=1, gamma="0.5", decay=1)
        >>> round(law.mean_abs, 9), round(law.variance, 9)
        (0.966447418, 1.924680522)
    """

    name: ClassVar[str] = "staircase"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = 1
    scale: FractionField = field(converter=SCALE)
    gamma: FractionField = field(converter=GAMMA)
    decay: FractionField = field(converter=takes(step_decay))
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at x, −decay·k(|x|/scale) − ln(2·scale·(γ + m))."""
        scale, gamma = float(self.scale), float(self.gamma)
        magnitude = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / scale
        step = np.maximum(0.0, np.floor(magnitude - gamma) + 1)
        return -float(self.decay) * step - math.log(2 * scale * (gamma + self.mean_step))

    @property
    def mean_step(self) -> float:
        """The number m = b/(1 − b) = 1/(e^decay − 1), the mean of a geometric law with ratio b."""
        return math.exp(-float(self.decay)) / -math.expm1(-float(self.decay))

    @property
    def variance(self) -> float:
        """The variance scale²·(γ·γ² + m·(3γ² + 3γ(1 + 2m) + 1 + 6m + 6m²))/(3(γ + m))."""
        gamma, m = float(self.gamma), self.mean_step
        higher = 3 * gamma * gamma + 3 * gamma * (1 + 2 * m) + 1 + 6 * m * (1 + m)
        return float(self.scale) ** 2 * self._mix(gamma * gamma, higher) / 3

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X| = scale·(γ·γ + m·(2γ + 1 + 2m))/(2(γ + m))."""
        gamma = float(self.gamma)
        higher = 2 * gamma + 1 + 2 * self.mean_step
        return float(self.scale) * self._mix(gamma, higher) / 2

    def _mix(self, low: float, high: float) -> float:
        """The mean (γ·low + m·high)/(γ + m) of two numbers, with the weights γ and m."""
        gamma, m = float(self.gamma), self.mean_step
        return gamma / (gamma + m) * low + m / (gamma + m) * high


# Purely private noise on the whole numbers: the geometric law, and staircases of several cells.


@final
@record()
class Geometric(Noise):
    """Geometric noise X = scale·K/cells, where P(K = k) ∝ e^(−decay·s(|k|)) for integers k.

    Let c = cells and a = core. s(j) is the number of the step with the lattice point j: 0 for j <
    a, and ⌊(j − a)/c⌋ + 1 for j >= a. For scale = cells the noise is on the integers.

    For c = a = 1 it is the geometric mechanism (Ghosh, Roughgarden & Sundararajan 2012), otherwise
    the staircase on the integers (Geng & Viswanath 2014). It hides only integer shifts, so the
    query must always be an integer (`Integer`). With decay = ε and scale = cells it is purely
    ε-private for integer shifts up to cells. It is `staircase` rounded to the lattice, and has the
    same privacy losses under shifts on the lattice (theory/noise.md §10).

    Args:
        scale: Scale > 0; usually the sensitivity.
        cells: Number of lattice points in one step, >= 1.
        core: Number of lattice points k >= 0 in the top step, counting 0; from 1 to `cells`.
        decay: Each step is e^−decay times as high as the step before; usually ε.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        theory/noise.md §10.

    Examples:
        >>> law = Geometric(scale=1, cells=1, core=1, decay=1)
        >>> round(law.mean_abs, 9), round(law.variance, 9)
        (0.850918128, 1.841347188)
    """

    name: ClassVar[str] = "geometric"
    norm: ClassVar[Norm] = "integer"
    most_dimension: ClassVar[int] = 1
    scale: FractionField = field(converter=SCALE)
    cells: int = field(converter=whole())
    core: int = field(converter=whole())
    decay: FractionField = field(converter=takes(step_decay))
    dimension: int = field(converter=DIMENSION, default=1)

    def _check_together(self) -> None:
        if self.core > self.cells:
            raise InvalidArgument(
                name="core", value=self.core, expected=f"core <= {self.cells}, the number of cells"
            )

    @cached_property
    def staircase(self) -> Staircase:
        """The staircase that spreads each P(K = k) evenly over its cell, (k ± ½)·scale/cells."""
        gamma = Fraction(2 * self.core - 1, 2 * self.cells)
        return Staircase(scale=self.scale, gamma=gamma, decay=self.decay)

    @property
    def lattice_step(self) -> Fraction:
        return self.scale / self.cells

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of P(X = x), which is −inf off the lattice.

        At x = scale·k/cells it is −decay·s(|k|) − ln(2a − 1 + 2cm), with the s of `Geometric`.
        """
        nearest, on_lattice = nearest_cells(self, x, cells=self.cells)
        steps = np.maximum(0.0, np.floor((nearest - self.core) / self.cells) + 1)
        total = 2 * self.core - 1 + 2 * self.cells * self.staircase.mean_step
        logs = -float(self.decay) * steps - math.log(total)
        return np.where(on_lattice, logs, -np.inf)

    @property
    def variance(self) -> float:
        """The variance scale²·E (K/cells)².

        With κ = 1/c, α = a/c and q₂ = (α − κ)α(2α − κ)/6 it is scale²·(q₂ + m·(α² + α(1 − κ) + (1 −
        κ)(2 − κ)/6 + m(2α + 2 − κ + 2m)))/(α − κ/2 + m). No term is negative.
        """
        kappa, alpha, m = 1 / self.cells, self.core / self.cells, self.staircase.mean_step
        low = (self.core - 1) / self.cells * alpha * (2 * alpha - kappa) / 6
        high = alpha * (alpha + 1 - kappa) + (1 - kappa) * (2 - kappa) / 6
        high += m * (2 * alpha + 2 - kappa + 2 * m)
        return float(self.scale) ** 2 * self._mix(low, high)

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X|.

        It is scale·((α − κ)α/2 + m·(α + (1 − κ)/2 + m))/(α − κ/2 + m), with κ = 1/c and α = a/c.
        """
        kappa, alpha, m = 1 / self.cells, self.core / self.cells, self.staircase.mean_step
        low = (self.core - 1) / self.cells * alpha / 2
        return float(self.scale) * self._mix(low, alpha + (1 - kappa) / 2 + m)

    def _mix(self, low: float, high: float) -> float:
        """The quotient (low + high·m)/(γ + m), γ = (core − ½)/cells; m may be as large as 1e140."""
        m = self.staircase.mean_step
        total = float(self.staircase.gamma) + m
        return low / total + m / total * high


# Truncated staircase noise for one number (theory/noise.md §2).


MAX_STEPS = 200_000
_RADIUS = takes(
    exact_where,
    holds=lambda radius: 0 < radius <= MAX_STEPS,
    expected=f"0 < radius <= {MAX_STEPS:,}",
)
_CUT_DECAY = takes(exact_where, holds=lambda decay: decay >= 0, expected="decay >= 0")


@final
@record()
class TruncatedStaircase(StepNoise):
    """Truncated staircase noise: density ∝ e^(−decay·k(|x|/scale)) for |x| <= radius·scale.

    k(r) numbers the steps: it is 0 for r < γ, and ⌊r − γ⌋ + 1 for r >= γ, with γ = gamma. Beyond
    the radius the density is 0.

    With decay = ε the loss under a shift of `scale` is ∞, ε, 0 or −ε, and δ(ε) is the mass that the
    shift moves out of the range. With an `atom` w > 0 the noise is exactly 0 with probability w,
    and has this density otherwise. Then the exact result is published with probability w, and δ(ε')
    >= w at every ε'. An atom may lower the error for large ε or δ. It is 0 unless you set it.

    Args:
        scale: Scale > 0; usually the sensitivity.
        gamma: End of the first step, in scales; 0 < gamma <= 1.
        radius: End of the range, in scales; at most 200,000.
        decay: Each step is e^−decay times as high as the step before; usually ε.
        atom: Probability of no noise, 0 <= atom < 1.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        theory/noise.md §2.

    Examples:
        >>> law = TruncatedStaircase(scale=1, gamma="0.5", radius=2, decay=1)
        >>> [float(edge) for edge in law.steps.edges], law.steps.levels
        ([0.0, 0.5, 1.5, 2.0], (0, 1, 2))
    """

    name: ClassVar[str] = "truncated-staircase"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = BOUNDED
    scale: FractionField = field(converter=SCALE)
    gamma: FractionField = field(
        converter=takes(exact_where, holds=lambda gamma: 0 < gamma <= 1, expected="0 < gamma <= 1")
    )
    radius: FractionField = field(converter=_RADIUS)
    decay: FractionField = field(converter=_CUT_DECAY)
    atom: FractionField = field(
        converter=takes(exact_where, holds=lambda atom: 0 <= atom < 1, expected="0 <= atom < 1"),
        default=0,
    )
    dimension: int = field(converter=DIMENSION, default=1)

    @property
    def variance(self) -> float:
        return _spread(self, gamma=self.gamma, order=2)

    @property
    def mean_abs(self) -> float:
        return _spread(self, gamma=self.gamma, order=1)

    def fall_within(self, steps: int) -> Fraction:
        return self.decay * min(steps, _count_whole(self.radius, self.gamma))

    def _steps(self) -> Steps:
        """The steps with the edges 0, γ, γ + 1, … below R, and R."""
        count = _count_whole(self.radius, self.gamma)
        edges = (Fraction(0), *(self.gamma + j for j in range(count)), self.radius)
        pieces = len(edges) - 1
        return Steps(
            edges=edges,
            weights=(Fraction(1),) * pieces,
            levels=tuple(range(pieces)),
            decay=self.decay,
        )


# Tulap noise for one number: truncated uniform-Laplace (Awan & Slavković 2020).


@final
@record()
class Tulap(StepNoise):
    """Tulap noise scale·(N + U), given that |N + U| <= radius.

    N is an integer with P(N = n) ∝ e^(−decay·|n|), and U is uniform on (−½, ½). With decay = ε and
    the sensitivity as scale, it is the canonical noise for (ε, δ) if the radius cuts off the right
    mass. That is q = 2δb/(1 − b + 2δb), b = e^(−ε), half of it on each side. The density of X
    is ∝ e^(−decay·n) where |x|/scale rounds to n, as for `truncated-staircase` with gamma = ½.

    Args:
        scale: Scale > 0; usually the sensitivity.
        radius: End of the range, in scales; at most 200,000.
        decay: Each step is e^−decay times as high as the step before; usually ε.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Awan & Slavković (2020).

    Examples:
        >>> law = Tulap(scale=1, radius="2.25", decay=1)
        >>> [float(edge) for edge in law.steps.edges], law.steps.levels
        ([0.0, 0.5, 1.5, 2.25], (0, 1, 2))
    """

    name: ClassVar[str] = "tulap"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = "with delta=0 nothing is cut off: use staircase with gamma=1/2"
    scale: FractionField = field(converter=SCALE)
    radius: FractionField = field(converter=_RADIUS)
    decay: FractionField = field(converter=_CUT_DECAY)
    dimension: int = field(converter=DIMENSION, default=1)

    @property
    def variance(self) -> float:
        return _spread(self, gamma=Fraction(1, 2), order=2)

    @property
    def mean_abs(self) -> float:
        return _spread(self, gamma=Fraction(1, 2), order=1)

    def fall_within(self, steps: int) -> Fraction:
        return self.decay * min(steps, _count_whole(self.radius, Fraction(1, 2)))

    def _steps(self) -> Steps:
        """The steps with the edges 0, ½, 3/2, … below the radius, and the radius."""
        return TruncatedStaircase(
            scale=self.scale, gamma=Fraction(1, 2), radius=self.radius, decay=self.decay
        ).steps


# The moments of a truncated staircase.


def _count_whole(radius: Fraction, gamma: Fraction) -> int:
    """The number of edges γ, γ + 1, … below the radius, which is the level of the last step."""
    return max(0, math.ceil(radius - gamma))


def _spread(law: TruncatedStaircase | Tulap, *, gamma: Fraction, order: int) -> float:
    """The moment E|X|^order, order 1 or 2, of a truncated staircase with this γ."""
    gamma_float, radius, decay = float(gamma), float(law.radius), float(law.decay)
    whole = _count_whole(law.radius, gamma)
    unit = cut_moment(gamma=gamma_float, radius=radius, decay=decay, whole=whole, order=order)
    return float(1 - law.atom) * float(law.scale) ** order * unit


def cut_moment(*, gamma: float, radius: float, decay: float, whole: int, order: int) -> float:
    """The moment E|X|^order of a truncated staircase of scale 1.

    Its steps end at γ, γ + 1, … (`whole` edges) and at R = radius. X is uniform on [−h, h] with
    probability ∝ (1 − b) b^j h for each edge h = γ + j, and ∝ b^whole R for h = R.
    """
    weight, moment = step_sums(first=gamma, decay=decay, count=whole, powers=(1, order + 1))
    fall, last = -math.expm1(-decay), math.exp(-decay * whole) * radius
    mean = (fall * moment + last * radius**order) / (fall * weight + last)
    return mean / (order + 1)


def step_sums(
    *, first: float, decay: float, count: int, powers: tuple[int, ...]
) -> tuple[float, ...]:
    """The sums of e^(−decay·k)·(k + first)^j over k = 0 … count − 1, one for each j in `powers`.

    A block of about √count terms is summed once, and all blocks follow from its moments by the
    binomial theorem. All terms are positive, so nothing cancels.

    >>> step_sums(first=0.5, decay=0.0, count=10, powers=(0, 1))
    (10.0, 50.0)
    """
    length = math.isqrt(count) + 1
    blocks, rest = divmod(count, length)
    orders = np.arange(max(powers) + 1)
    inside, starts = np.arange(length, dtype=float), length * np.arange(blocks, dtype=float)
    falls = np.exp(-decay * inside)
    block = falls @ (inside[:, None] + first) ** orders
    whole = np.exp(-decay * starts) @ starts[:, None] ** orders
    beyond = length * blocks
    left = falls[:rest] @ (inside[:rest, None] + (first + beyond)) ** orders
    left *= math.exp(-decay * beyond)
    return tuple(
        float(left[power])
        + math.fsum(
            math.comb(power, order) * float(whole[power - order] * block[order])
            for order in range(power + 1)
        )
        for power in powers
    )
