"""What is asked of a law by way of its family: a draw, a client's share of one, how large it is."""

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
from leastnoise.noise.registry import FAMILIES, part_of, registered

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_RATIO = 1e6  # up to which the digits that cancel are few


def make_sampler(noise: Noise, *, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of `noise`, in units of `grid`.

    Raises NotApplicable for a family that has no exact sampler.
    """
    return prepare_draws(noise, grid=grid)(entropy)


def prepare_draws(noise: Noise, *, grid: Fraction) -> Callable[[Entropy], Sampler]:
    """Return a function that makes a sampler of entropy, each for one draw, in units of `grid`.

    What all draws share is worked out once. Raises NotApplicable for a family that has no exact
    sampler.
    """
    family = type(noise)
    known = registered(family) if family.name in FAMILIES else None
    if known is not None:
        if (draws := known.part("draws")) is not None:
            return draws(noise, grid)
        if (sampler := known.part("sampler")) is not None:
            return partial(sampler, noise, grid)
    raise NotApplicable(family=noise.name, why="no exact sampler is known for it")


@final
@dataclass(frozen=True, kw_only=True)
class Share:
    """One of several equal parts of a law, independent of each other.

    Several clients add one each, so that nobody has to be trusted with the sum.

    sampler: makes a draw of it, in units of `grid`.
    grid: what each client's sum is rounded to.
    distance: the sum of all roundings is within this total variation of a function of the sum of
        all values and noise of the law, whatever the values are.
    """

    sampler: Callable[[Entropy], Sampler]
    grid: Fraction
    distance: Fraction


def make_share(noise: Noise, *, grid: Fraction, count: int) -> Share:
    """Return one of `count` shares of `noise`.

    Raises NotApplicable for a law whose sum of shares isn't proved to be it.
    """
    family = type(noise)
    make = registered(family).part("share") if family.name in FAMILIES else None
    if make is None:
        why = "it can't be added in shares; gaussian and geometric noise can"
        raise NotApplicable(family=noise.name, why=why)
    return make(noise, grid, count)


def has_quantiles(noise: Noise) -> bool:
    """Whether `find_quantile` knows the law of each coordinate."""
    family = registered(type(noise))
    known = family.part("knows_quantiles")
    return family.quantile is not None and (known is None or known(noise))


def find_quantile(noise: Noise, probability: float, coordinate: int = 0) -> float:
    """Return t with P(|X_i| <= t) = probability, i = coordinate; accurate to about 1e-10.

    All coordinates are alike, but for noise that serves several blocks of a release together.
    Raises InvalidArgument unless 0 < probability < 1.

    >>> from leastnoise.noise.classic.law import Gaussian
    >>> round(find_quantile(Gaussian(scale=1), 0.95), 6)
    1.959964
    """
    if not 0 < probability < 1:
        raise InvalidArgument(name="probability", value=probability, expected="0 < probability < 1")
    find = part_of(type(noise), "quantile")
    outside = 1 - probability
    alike = not isinstance(noise, VectorNoise)
    found = find(noise, outside) if alike else find(noise, outside, coordinate)
    return float(noise.scale) * found


def list_alike(noise: Noise) -> NDArray[np.int64]:
    """Return for each coordinate the first one with the same law, shape (dimension,)."""
    if not isinstance(noise, VectorNoise):
        return np.broadcast_to(np.int64(0), noise.dimension)
    alike = registered(type(noise)).part("alike")
    return np.arange(noise.dimension) if alike is None else alike(noise)


def has_independent_coordinates(noise: Noise | None) -> bool:
    """Return True if several draws of `noise` together have the law of one longer draw."""
    if noise is None or noise.name not in FAMILIES:
        return False
    return registered(type(noise)).independent


def find_characteristic(
    noise: Noise, weights: Mapping[int, float], u: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return E cos(u Σ w_j X_j) at each u, of the weights of some coordinates.

    A law for one number stands for as many independent draws of it as are asked for. Raises
    NotApplicable where the characteristic function of `noise` isn't known.
    """
    family = registered(type(noise))
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
    noise: Noise, probability: float, places: tuple[int, int], ratio: float
) -> float | None:
    """Return t with P(|X_i − ratio·X_j| <= t) = probability, i and j = places, ratio >= 0.

    Where that is below 1e-6 or above 1e6, both differ by less than digits tell, and t is at most a
    millionth more than need be. None where the law of two coordinates together isn't known.
    """
    family = registered(type(noise))
    if family.spherical:
        return find_quantile(noise, probability) * math.hypot(1.0, ratio)
    find = family.part("difference")
    if find is None:
        return None
    # t rises with the ratio, and t/ratio falls (Anderson's inequality: see `fieller`)
    near = min(max(ratio, 1 / _MOST_RATIO), _MOST_RATIO) if ratio else 0.0
    try:
        found = float(noise.scale) * find(noise, 1 - probability, places, near)
    except NotApplicable:
        return None
    return found * max(ratio / near, 1.0) if near else found


def find_weighted(
    noise: Noise,
    probability: float,
    places: tuple[int, int, int],
    weights: tuple[float, float, float],
) -> float | None:
    """Find t with P(|Σ w_j X_j| <= t) = probability, j = places, of weights >= 0, not all 0.

    It is at most a thousandth of the largest weight's more than need be. None where the law of
    three coordinates together isn't known.
    """
    family = registered(type(noise))
    if family.spherical:
        return find_quantile(noise, probability) * math.hypot(*weights)
    find = family.part("weighted")
    if find is None:
        return None
    try:
        return float(noise.scale) * find(noise, 1 - probability, places, weights)
    except NotApplicable:
        return None
