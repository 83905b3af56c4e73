"""The law of one coordinate: how large an error to expect in one published number."""

from __future__ import annotations

from leastnoise.errors import InvalidArgument
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import part_of, registered


def has_quantiles(noise: Noise) -> bool:
    """Say whether `absolute_quantile` knows the law of each coordinate."""
    family = registered(type(noise))
    known = family.part("knows_quantiles")
    return family.quantile is not None and (known is None or known(noise))


def variance_of(noise: Noise, coordinate: int) -> float:
    """Return Var X_i, i = coordinate."""
    if isinstance(noise, VectorNoise):
        return float(noise.variances[coordinate])
    return noise.variance


def absolute_quantile(noise: Noise, probability: float, coordinate: int = 0) -> float:
    """Return t with P(|X_i| <= t) = probability, i = coordinate; accurate to about 1e-10.

    All coordinates are alike, but for noise that serves several blocks of a release together.
    Raises InvalidArgument unless 0 < probability < 1.

    >>> from leastnoise.noise.gaussian.law import Gaussian
    >>> round(absolute_quantile(Gaussian(scale=1), 0.95), 6)
    1.959964
    """
    if not 0 < probability < 1:
        raise InvalidArgument(name="probability", value=probability, expected="0 < probability < 1")
    find = part_of(type(noise), "quantile")
    outside = 1 - probability
    alike = not isinstance(noise, VectorNoise)
    found = find(noise, outside) if alike else find(noise, outside, coordinate)
    return float(noise.scale) * found
