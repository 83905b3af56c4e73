"""Functions for a law of any family: draws, clients' shares of a draw, and quantiles.

Notation: X is a draw of the noise, X_i its coordinate i, and E an expectation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.entropy.base import Sampler
from leastnoise.entropy.source import Entropy
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import FAMILIES, part_of, registered_family

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_RATIO = 1e6  # up to this ratio of two weights, few digits cancel


def make_sampler(noise: Noise, *, grid: Fraction, entropy: Entropy) -> Sampler:
    """A sampler of one draw of `noise`, in units of `grid`.

    Raises NotApplicable for a family that has no exact sampler.
    """
    return prepare_draws(noise, grid=grid)(entropy)


def prepare_draws(noise: Noise, *, grid: Fraction) -> Callable[[Entropy], Sampler]:
    """A function from entropy to a sampler of one draw of `noise`, in units of `grid`.

    If the family has the function `draws`, it computes constants that all draws share only once.
    Raises NotApplicable for a family that has no exact sampler.
    """
    family = type(noise)
    known = registered_family(family) if family.name in FAMILIES else None
    if known is not None:
        if (draws := known.part("draws")) is not None:
            return draws(noise, grid)
        if (sampler := known.part("sampler")) is not None:
            return partial(sampler, noise, grid)
    raise NotApplicable(family=noise.name, why="no exact sampler is known for it")


@final
@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of noise, which one of several clients adds to its values.

    The shares of all clients are independent. Their sum has the law of the noise, or of slightly
    more noise, so nobody has to be trusted with the sum without noise. `sampler` maps entropy to a
    sampler of the share, in units of `grid`. Each client adds its share to its value and rounds the
    result to `grid`. Let S be the sum of all values plus noise of the law. For any values, the sum
    of the rounded messages is within total variation `distance` of a post-processing of S.
    """

    sampler: Callable[[Entropy], Sampler]
    grid: Fraction
    distance: Fraction


def make_share(noise: Noise, *, grid: Fraction, count: int) -> Share:
    """The share of `noise` that each of `count` clients draws and adds.

    Raises NotApplicable unless such shares are proved: see `Share`.
    """
    family = type(noise)
    make = registered_family(family).part("share") if family.name in FAMILIES else None
    if make is None:
        why = "it can't be added in shares; gaussian and geometric noise can"
        raise NotApplicable(family=noise.name, why=why)
    return make(noise, grid, count)


def has_quantiles(noise: Noise) -> bool:
    """True if `find_quantile` serves this law."""
    family = registered_family(type(noise))
    known = family.part("knows_quantiles")
    return family.quantile is not None and (known is None or known(noise))


def find_quantile(noise: Noise, probability: float, coordinate: int = 0) -> float:
    """The t with P(|X_i| <= t) = probability, i = coordinate: a quantile of the absolute value.

    For a law on a lattice, t is the least value with P(|X_i| <= t) >= probability. It is accurate
    to about 1e-10 (relative). `coordinate` matters only for `VectorNoise`; the coordinates of other
    noise all have one law. Raises InvalidArgument unless 0 < probability < 1. Raises NotRegistered
    if the family knows no quantiles, and NotApplicable if it knows none for this law.

    >>> from leastnoise.noise.classic.law import Gaussian
    >>> round(find_quantile(Gaussian(scale=1), 0.95), 6)
    1.959964
    """
    if not 0 < probability < 1:
        raise InvalidArgument(name="probability", value=probability, expected="0 < probability < 1")
    find = part_of(type(noise), "quantile")
    outside = 1 - probability
    alike = not isinstance(noise, VectorNoise)
    quantile = find(noise, outside) if alike else find(noise, outside, coordinate)
    return float(noise.scale) * quantile


def list_alike(noise: Noise) -> NDArray[np.int64]:
    """For each coordinate, the first coordinate with the same law; shape (dimension,)."""
    if not isinstance(noise, VectorNoise):
        return np.broadcast_to(np.int64(0), noise.dimension)
    alike = registered_family(type(noise)).part("alike")
    return np.arange(noise.dimension) if alike is None else alike(noise)


def has_independent_coordinates(noise: Noise | None) -> bool:
    """True if several draws of `noise` together have the law of one longer draw.

    False for None, and for laws of no registered family.
    """
    if noise is None or noise.name not in FAMILIES:
        return False
    return registered_family(type(noise)).independent


def find_characteristic(
    noise: Noise, weights: Mapping[int, float], u: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The characteristic function E cos(u Σ w_j X_j) of a weighted sum of coordinates, at each u.

    `weights` maps some coordinates j to w_j. For a law for one number, the X_j are independent
    draws. Raises NotApplicable if the characteristic function of `noise` isn't known.
    """
    family = registered_family(type(noise))
    find = family.part("characteristic")
    if find is not None and isinstance(noise, VectorNoise):
        return find(noise, weights, u)
    if find is None or not (family.independent or noise.dimension == 1):
        raise NotApplicable(family=noise.name, why="its characteristic function isn't known here")
    product = np.ones_like(u)
    for weight in weights.values():
        product = product * find(noise, weight * u)
    return product


def find_difference(
    noise: Noise, probability: float, coordinates: tuple[int, int], ratio: float
) -> float | None:
    """The t with P(|X_i − ratio·X_j| <= t) = probability, for coordinates i and j and a ratio >= 0.

    In a law that isn't spherical, too many digits cancel for a ratio above 1e6, or below 1e-6 but
    not 0. There t is too large, by about a millionth at most. None if the joint law of two
    coordinates isn't known.
    """
    family = registered_family(type(noise))
    if family.spherical:
        return find_quantile(noise, probability) * math.hypot(1.0, ratio)
    find = family.part("difference")
    if find is None:
        return None
    # t rises with the ratio, and t/ratio falls (Anderson's inequality: tables/statistics/fieller)
    near = min(max(ratio, 1 / _MOST_RATIO), _MOST_RATIO) if ratio else 0.0
    try:
        quantile = float(noise.scale) * find(noise, 1 - probability, coordinates, near)
    except NotApplicable:
        return None
    return quantile * max(ratio / near, 1.0) if near else quantile


def find_weighted(
    noise: Noise,
    probability: float,
    coordinates: tuple[int, int, int],
    weights: tuple[float, float, float],
) -> float | None:
    """The t with P(|Σ w_j X_j| <= t) = probability, for three coordinates j and weights w_j >= 0.

    At least one weight is positive. Weights below about a thousandth of the largest may be raised
    to that, so that t is slightly too large. None if the joint law of three coordinates isn't
    known.
    """
    family = registered_family(type(noise))
    if family.spherical:
        return find_quantile(noise, probability) * math.hypot(*weights)
    find = family.part("weighted")
    if find is None:
        return None
    try:
        return float(noise.scale) * find(noise, 1 - probability, coordinates, weights)
    except NotApplicable:
        return None
