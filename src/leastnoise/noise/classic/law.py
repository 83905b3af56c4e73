"""Laplace and Gaussian noise, and flipped Huber noise, which is a Laplace law with normal tails.

Notation: X is a draw of the noise, X_i one of its coordinates, f the density, and E an expectation.
Δ is the length of the longest shift. σ or b is the scale, d the dimension, and a the radius.
Flipped Huber noise has the parameters α and γ, and the corner u = α/γ.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import field, record, takes
from leastnoise.guarantees.exact import LARGEST_SQUARED, SMALLEST_SQUARED, Exact, exact_where
from leastnoise.guarantees.fields import FractionField
from leastnoise.noise.base import BOUNDED, DIMENSION, SCALE, Noise, exponential_moment, points_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


@final
@record()
class Gaussian(Noise):
    """Gaussian noise: the normal law N(0, σ² I) on R^d, σ = scale and d = dimension.

    For l2 shifts of length at most Δ, the noise has δ(ε) = Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ),
    where Φ is the distribution function of N(0, 1). This δ(ε) is positive for every ε, so Gaussian
    noise is never purely private (δ = 0).

    Args:
        scale: σ > 0, the standard deviation of each coordinate.
        dimension: Number of coordinates.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Balle & Wang (2018), Theorem 8.

    Examples:
        >>> Gaussian(scale=2, dimension=3).mse
        12.0
    """

    name: ClassVar[str] = "gaussian"
    norm: ClassVar[Norm] = "l2"
    without_delta: ClassVar[str] = "delta=0 is impossible for a Gaussian at any scale"
    scale: FractionField = field(converter=SCALE)
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at x, −‖x‖²/2σ² − d ln(σ√2π); see `Noise.log_density`."""
        sigma = float(self.scale)
        squares = np.sum((points_of(x, dimension=self.dimension) / sigma) ** 2, axis=-1)
        return -squares / 2 - self.dimension * (math.log(sigma) + math.log(2 * math.pi) / 2)

    @property
    def gaussian_square(self) -> Fraction:
        return self.scale**2

    @property
    def variance(self) -> float:
        """The variance σ² of each coordinate."""
        return float(self.scale) ** 2

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X_i| = σ√(2/π) of each coordinate."""
        return float(self.scale) * math.sqrt(2 / math.pi)


# Laplace noise: one number, or i.i.d. on the coordinates of a vector.


@final
@record()
class Laplace(Noise):
    """Independent Laplace noise: density (2b)^−d exp(−‖x‖₁/b) on R^d, b = scale, d = dimension.

    For l1 shifts of length at most Δ, the noise has δ(ε) = 1 − exp((ε − Δ/b)/2) for ε < Δ/b, and
    δ(ε) = 0 for ε >= Δ/b. So it is purely ε-private with ε = Δ/b.

    Args:
        scale: b > 0; the standard deviation of each coordinate is √2·b.
        dimension: Number of coordinates.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Dwork, McSherry, Nissim & Smith (2006); theory/noise.md §1d for vectors.

    Examples:
        >>> Laplace(scale=2, dimension=3).mse
        24.0
    """

    name: ClassVar[str] = "laplace"
    norm: ClassVar[Norm] = "l1"
    scale: FractionField = field(converter=SCALE)
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at x, −‖x‖₁/b − d ln(2b); see `Noise.log_density`."""
        b = float(self.scale)
        lengths = np.sum(np.abs(points_of(x, dimension=self.dimension)), axis=-1)
        return -lengths / b - self.dimension * math.log(2 * b)

    @property
    def exponential(self) -> bool:
        return True

    @property
    def variance(self) -> float:
        """The variance 2b² of each coordinate."""
        return 2 * float(self.scale) ** 2

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X_i| = b of each coordinate."""
        return float(self.scale)


# Truncated Laplace noise for one number (Geng, Ding, Guo & Kumar 2020).


MAX_RADIUS = 10**9  # keeps the moments inside the floats; e^(−radius) is 0 long before


@final
@record()
class TruncatedLaplace(Noise):
    """Truncated Laplace noise: density ∝ e^(−|x|/b) for |x| <= ab, b = scale and a = radius.

    For a sensitivity Δ and δ <= ½, Geng, Ding, Guo & Kumar (2020) take b = Δ/ε and a = ln(1 + (e^ε
    − 1)/(2δ)). Then δ(ε) is the mass (e^ε − 1)/(2(e^a − 1)) that a shift of Δ moves out of the
    range.

    Args:
        scale: b > 0.
        radius: End of the range in scales, 0 < radius <= 1e9.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Geng, Ding, Guo & Kumar (2020).

    Examples:
        >>> law = TruncatedLaplace(scale=1, radius=2)
        >>> round(law.mean_abs, 9), round(law.variance, 9)
        (0.686964715, 0.747858858)
    """

    name: ClassVar[str] = "truncated-laplace"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = BOUNDED
    scale: FractionField = field(converter=SCALE)
    radius: FractionField = field(
        converter=takes(
            exact_where,
            holds=lambda radius: 0 < radius <= MAX_RADIUS,
            expected=f"0 < radius <= {MAX_RADIUS:,}",
        )
    )
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at x; see `Noise.log_density`.

        It is −|x|/b − ln(2b(1 − e^(−a))) for |x| <= ab, and −inf beyond.
        """
        b, a = float(self.scale), float(self.radius)
        magnitude = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / b
        log_mass = math.log(2 * b) + math.log(-math.expm1(-a))
        return np.where(magnitude <= a, -magnitude - log_mass, -np.inf)

    @property
    def variance(self) -> float:
        """The variance b²(2 − (a² + 2a)/(e^a − 1))."""
        return self._moment(2)

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X| = b(1 − a/(e^a − 1))."""
        return self._moment(1)

    def _moment(self, power: int) -> float:
        """The moment E|X|^power of the noise X, power 1 or 2, by `exponential_moment`."""
        a = float(self.radius)
        ratio = exponential_moment(power, a) / exponential_moment(0, a)
        return ratio * float(self.scale * self.radius) ** power


MAX_CORNER = 10**6  # the tail has vanished long before: its mass is below e^(−corner²)


def _gamma(gamma: Exact, *, name: str) -> Fraction:
    return exact_where(
        gamma,
        name=name,
        holds=lambda width: SMALLEST_SQUARED <= width <= LARGEST_SQUARED,
        expected="1e-140 <= gamma <= 1e140",
    )


def _alpha(alpha: Exact, *, name: str, record: FlippedHuber) -> Fraction:
    largest = MAX_CORNER * _gamma(record.gamma, name="gamma")
    return exact_where(
        alpha,
        name=name,
        holds=lambda corner: 0 <= corner <= largest,
        expected="0 <= alpha <= 1e6 * gamma",
    )


@final
@record()
class FlippedHuber(Noise):
    """Flipped Huber noise: density ∝ e^(−ρ(|x|/scale)/γ²), with α = alpha and γ = gamma.

    ρ(r) is αr for r <= α, and (r² + α²)/2 beyond. So the law is Laplace in the middle, and Gaussian
    of standard deviation γ·scale in the tails. α = 0 is the Gaussian law; for large α/γ the law
    tends to Laplace. ρ is convex, so the law is log-concave.

    Args:
        scale: Scale > 0, usually 1.
        alpha: End of the Laplace part in scales, 0 <= alpha <= 1e6·gamma.
        gamma: Standard deviation of the tails in scales, > 0.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Muthukrishnan & Kalyani (2023).

    Examples:
        >>> law = FlippedHuber(scale=1, alpha=0, gamma=2)
        >>> round(law.mean_abs, 9), law.variance
        (1.595769122, 4.0)
    """

    name: ClassVar[str] = "flipped-huber"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = "delta=0 is impossible with a Gaussian tail"
    scale: FractionField = field(converter=SCALE)
    alpha: FractionField = field(converter=takes(_alpha, of_record=True))
    gamma: FractionField = field(converter=takes(_gamma))
    dimension: int = field(converter=DIMENSION, default=1)

    @property
    def corner(self) -> Fraction:
        """The corner u = α/γ: the end of the Laplace part, in standard deviations of the tails."""
        return self.alpha / self.gamma

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at x; see `Noise.log_density`.

        With y = |x|/(scale·γ), it is −uy for y <= u and −(y² + u²)/2 beyond, minus the logarithm of
        the integral.
        """
        u, unit = float(self.corner), float(self.scale * self.gamma)
        y = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / unit
        exponent = np.where(y <= u, u * y, (y * y + u * u) / 2)
        return -exponent - math.log(2 * unit * _moment(0, u))

    @property
    def variance(self) -> float:
        """The variance E X², computed from `standard_moment`."""
        return standard_moment(2, float(self.corner)) * float(self.scale * self.gamma) ** 2

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X|, computed from `standard_moment`."""
        return standard_moment(1, float(self.corner)) * float(self.scale * self.gamma)


def standard_mass(corner: float) -> float:
    """The integral ∫₀^∞ e^(−ρ(y)) dy for scale = γ = 1 and α = corner, with ρ as in `FlippedHuber`.

    It is half of the integral that normalises the density.
    """
    return _moment(0, corner)


def standard_moment(power: int, corner: float) -> float:
    """The moment E|X|^power, power 1 or 2, of the law with scale = γ = 1 and α = corner."""
    return _moment(power, corner) / _moment(0, corner)


def _moment(power: int, u: float) -> float:
    """The integral ∫₀^∞ y^power e^(−ρ(y)) dy, power 0, 1 or 2, with the ρ of `FlippedHuber`.

    The scale and γ are 1, and α = u. So it is ∫₀^u y^p e^(−uy) dy + ∫_u^∞ y^p e^(−(y²+u²)/2) dy for
    p = power.
    """
    body = u ** (power + 1) * exponential_moment(power, u * u)
    edge = math.exp(-u * u)
    tail = math.exp(-u * u / 2) * math.sqrt(math.pi / 2) * math.erfc(u / math.sqrt(2))
    return body + (tail, edge, u * edge + tail)[power]
