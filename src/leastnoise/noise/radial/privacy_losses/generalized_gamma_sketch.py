"""About the law of the privacy loss of spherical generalized gamma noise, in floats.

No part of a proof rests on it: it says where to look, and how closely.

notation, in units of the scale: r the radius, w = tanh t the cosine of the angle to the shift,
ℓ(r) = κ ln r + r^p, L = ℓ(ρ) − ℓ(r) with ρ² = (r − s)² + 2rs(1 + w), k = (α+1)/p. ln r has a
density ∝ e^(kp·y − e^(py)), t one ∝ (cosh t)^(1−d); both are smooth and fall so fast that sums over
a grid are as good as integrals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.radial.law.generalized_gamma import GeneralizedGamma

    Floats = NDArray[np.float64]

MOST_PLACES = 288
_RADII, _COSINES, _ON_A_LINE = 300, 160, 4000
_DROPPED = 110.0  # of the log of a density, from its peak
_LEAST = -85.0  # of ln P(Z > z) at the last loss that counts …
_LEAST_BELOW_TOP = -36.0  # … or before the largest of all: nearer to it proofs take seconds
_CELLS = 256
_TEMPER = 0.25
_LONGEST = 700.0


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LossSketch:
    """Losses and their masses under P, shape (n,) each; the masses sum to 1."""

    losses: Floats
    masses: Floats

    @property
    def spread(self) -> float:
        """The standard deviation of the loss."""
        mean = self.masses @ self.losses
        return math.sqrt(float(self.masses @ (self.losses - mean) ** 2))


def sketch(
    noise: GeneralizedGamma, shift: float, *, radii: int = _RADII, cosines: int = _COSINES
) -> LossSketch:
    """Return about the law of the loss under a shift of `shift` scales."""
    d, p, kappa = noise.dimension, float(noise.p), float(noise.kappa)
    on_a_line = d == 1
    k = float((noise.alpha + 1) / noise.p)
    y, y_masses = _radii(k, p, _ON_A_LINE if on_a_line else radii)
    t, w_masses = (np.array([-math.inf, math.inf]), np.full(2, 0.5))
    if not on_a_line:
        t, w_masses = _cosines(d, cosines)
    y = y[:, None]
    r = np.exp(y)
    with np.errstate(over="ignore"):
        raised = 2 / (1 + np.exp(-2 * t))  # 1 + w
    square = (r - shift) ** 2 + 2 * r * shift * raised
    # never 0, not even where r = s and w = −1
    log_rho = np.log(np.maximum(square, 1e-30 * shift * shift)) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        losses = kappa * (log_rho - y) + np.exp(p * log_rho) - np.exp(p * y)
    masses = (y_masses[:, None] * w_masses).ravel()
    return LossSketch(losses=np.clip(losses.ravel(), -_LONGEST, _LONGEST), masses=masses)


def _radii(k: float, p: float, count: int) -> tuple[Floats, Floats]:
    """Return ln r and masses, on a grid that is finest about the mode."""
    mode, width = math.log(k) / p, 1 / (p * math.sqrt(k))
    down, up = 1.0, 1.0
    while k * (math.exp(-down) - 1 + down) < _DROPPED:
        down *= 1.1
    while k * (math.expm1(up) - up) < _DROPPED:
        up *= 1.1
    x = np.linspace(-math.asinh(down / p / width), math.asinh(up / p / width), count)
    q = p * width * np.sinh(x)
    masses = np.exp(-k * (np.expm1(q) - q)) * np.cosh(x)
    return mode + q / p, masses / masses.sum()


def _cosines(d: int, count: int) -> tuple[Floats, Floats]:
    """Return t and masses."""
    width = 1 / math.sqrt(d - 1)
    last = math.asinh(((_DROPPED / (d - 1)) + math.sqrt(2 * _DROPPED / (d - 1)) + 1) / width)
    x = np.linspace(-last, last, count)
    t = width * np.sinh(x)
    log_cosh = np.abs(t) + np.log1p(np.exp(-2 * np.abs(t)))
    masses = np.exp(-(d - 1) * (log_cosh - log_cosh.min())) * np.cosh(x)
    return t, masses / masses.sum()


@lru_cache(maxsize=64)
def places(noise: GeneralizedGamma, shift: float) -> tuple[tuple[float, float], ...]:
    """Return losses z₀ = 0 … z_n, n = MOST_PLACES, where δ(ε) is best known.

    With each comes about ln P(Z > z). Every second, or fourth, is as good a choice of fewer.

    Chords between them add to the variance of the loss in proportion to the squares of their
    lengths. So half of them follow a power of the density: that of the loss itself would be best
    for many releases, but few releases, or a small δ, tilt it. The other half goes by the logarithm
    of the tail, by equal steps of its root where that is large.
    """
    bounded = noise.kappa == 0 and noise.p <= 1
    found, least = sketch(noise, shift), _LEAST_BELOW_TOP if bounded else _LEAST
    order = np.argsort(found.losses)
    z = found.losses[order]
    with np.errstate(divide="ignore"):
        log_tail = np.log(np.cumsum(found.masses[order][::-1])[::-1])
    above = z > 0
    z, log_tail = np.concatenate([[0.0], z[above]]), log_tail[above]
    log_tail = np.concatenate([[log_tail[0]], log_tail])
    depth = log_tail[0] - log_tail
    ends = np.linspace(0.0, _stage(np.array([-least]))[0], _CELLS + 1)
    at = np.interp(ends, _stage(depth), z)
    tails = np.exp(-np.interp(at, z, depth))
    widths = np.diff(at)
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(widths > 0, -np.diff(tails) / widths, 0.0)
    share = np.cumsum(density**_TEMPER * widths)
    along = np.concatenate([[0.0], share / share[-1]]) / 2 + ends / ends[-1] / 2
    chosen = np.interp(np.linspace(0, 1, MOST_PLACES + 1), along, at)
    chosen[0] = 0.0
    logs = np.interp(chosen, z, log_tail)
    return tuple(zip(chosen.tolist(), logs.tolist(), strict=True))


def _stage(depth: Floats) -> Floats:
    """Return a number that rises with the depth of a tail: by it, then by its root, then slower."""
    root = np.where(depth < 1, depth, 2 * np.sqrt(np.maximum(depth, 1.0)) - 1)
    return np.where(root < 5, root, 5 + 3 * np.log1p(np.maximum(root - 5, 0.0) / 3))
