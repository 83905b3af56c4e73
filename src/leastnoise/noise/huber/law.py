"""Flipped Huber noise for one number (Muthukrishnan & Kalyani 2023)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import field, record, takes
from leastnoise.guarantees.exact import LARGEST_SQUARED, SMALLEST_SQUARED, Exact, exact_where
from leastnoise.noise.base import DIMENSION, SCALE, Noise, exponential_moment, points_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm

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
    """Density ∝ e^(−ρ(|x|/scale)/γ²), ρ(r) = αr for r <= α and (r² + α²)/2 beyond.

    Laplace in the middle, Gaussian of standard deviation γ in the tails (Muthukrishnan & Kalyani
    2023). notation: α = alpha >= 0, γ = gamma, u = α/γ the corner in units of γ. ρ is convex, so
    the law is log-concave. α = 0 is the Gaussian; for large u it tends to the Laplace law.

    >>> law = FlippedHuber(scale=1, alpha=0, gamma=2)
    >>> round(law.mean_abs, 9), law.variance
    (1.595769122, 4.0)
    """

    name: ClassVar[str] = "flipped-huber"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = "delta=0 is impossible with a Gaussian tail"
    scale: Fraction = field(converter=SCALE)
    alpha: Fraction = field(converter=takes(_alpha, of_record=True))
    gamma: Fraction = field(converter=takes(_gamma))
    dimension: int = field(converter=DIMENSION, default=1)

    @property
    def corner(self) -> Fraction:
        """The u = α/γ of the formulas."""
        return self.alpha / self.gamma

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """With y = |x|/(scale·γ) it is −uy or −(y² + u²)/2 − ln Z."""
        u, unit = float(self.corner), float(self.scale * self.gamma)
        y = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / unit
        exponent = np.where(y <= u, u * y, (y * y + u * u) / 2)
        return -exponent - math.log(2 * unit * _moment(0, u))

    @property
    def variance(self) -> float:
        """E X², by `standard_moment`."""
        return standard_moment(2, float(self.corner)) * float(self.scale * self.gamma) ** 2

    @property
    def mean_abs(self) -> float:
        """E|X|, by `standard_moment`."""
        return standard_moment(1, float(self.corner)) * float(self.scale * self.gamma)


def standard_mass(corner: float) -> float:
    """Return ∫₀^∞ e^(−h), half of what the density is divided by, for scale = γ = 1."""
    return _moment(0, corner)


def standard_moment(power: int, corner: float) -> float:
    """Return E|Y|^power, power 1 or 2, of the law with scale = γ = 1 and α = corner."""
    return _moment(power, corner) / _moment(0, corner)


def _moment(power: int, u: float) -> float:
    """∫₀^u y^p e^(−uy) dy + ∫_u^∞ y^p e^(−(y²+u²)/2) dy."""
    body = u ** (power + 1) * exponential_moment(power, u * u)
    edge = math.exp(-u * u)
    tail = math.exp(-u * u / 2) * math.sqrt(math.pi / 2) * math.erfc(u / math.sqrt(2))
    return body + (tail, edge, u * edge + tail)[power]
