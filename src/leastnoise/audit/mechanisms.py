"""How outputs are drawn of a mechanism of this library, and of a function of one output a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.guarantees.exact import float_at_most
from leastnoise.guarantees.geometry import Cells
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.laplace.law import Laplace
from leastnoise.noise.registry import registered

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from leastnoise.audit.claim import Claim
    from leastnoise.audit.subject import Draw
    from leastnoise.mechanism.mechanism import Mechanism


def draws_of(mechanism: Mechanism) -> Draw:
    """Return how outputs of `mechanism` are drawn, many at a time where its noise allows it.

    Independent draws of noise for one number, and those of Gaussian and Laplace noise, are the
    coordinates of one longer draw, by the same code and rounding as a release.
    """
    noise, certificate = mechanism.noise, mechanism.certificate
    family = registered(type(noise))
    plain = certificate.geometry is None
    if plain and isinstance(noise, Gaussian | Laplace):
        return lambda value, count: _as_one_vector(mechanism, value, count)
    # noise of a radius is drawn a vector at a time, in one dimension too
    if plain and noise.dimension == 1 and family.radius is None and family.for_one_number is None:
        return lambda value, count: add_noise(
            noise, mechanism.grid, np.full(count, value, dtype=float), geometry=Cells(count=count)
        )
    return lambda value, count: np.array([mechanism.release(value).values for _ in range(count)])


def _as_one_vector(mechanism: Mechanism, value: Any, count: int) -> NDArray[np.float64]:
    noise = mechanism.noise
    many = type(noise)(scale=noise.scale, dimension=count * noise.dimension)
    values = np.tile(np.asarray(value, dtype=float).ravel(), count)
    return add_noise(many, mechanism.grid, values).reshape(count, noise.dimension)


def one_by_one(mechanism: Callable[[Any], Any]) -> Draw:
    """Return how many outputs are drawn of a function that returns one."""
    return lambda value, count: np.array([mechanism(value) for _ in range(count)])


def default_inputs(claim: Claim, dimension: int) -> tuple[Any, Any] | None:
    """Return 0 and Δ, or vectors that differ by Δ in one coordinate; None if Δ isn't known."""
    bound = getattr(claim.sensitivity, "bound", None)
    if bound is None:
        return None
    moved = np.zeros(dimension)
    moved[0] = float_at_most(bound)
    return (0.0, float(moved[0])) if dimension == 1 else (np.zeros(dimension), moved)
