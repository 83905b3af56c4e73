"""δ(ε) of several releases with sums of Gaussian kernels, about: for searches, not for proofs.

Lengths in units of σ, notation as in `kernel_crossings`. f is looked at on a grid of step w. A
shift by j steps has the losses Z = ln f(y + jw) − ln f(y); sums of their masses above the points of
a lattice give H at all its ε at once, as P(Z > ε) − e^ε Q(Z > ε). The supremum over j is convex in
e^ε, so that its chords are a law of losses on the lattice, which is tilted and convolved.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.noise.kernels.profile.crossings import Kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_STEP = 1 / 16  # about w
_REACH = 9.0  # in σ: how far from kernels f is looked at
_LARGEST = 600.0  # loss


def log_composed_delta(law: Kernels, *, shift: float, epsilon: float, compositions: int) -> float:
    """Return about ln δ(ε) of so many releases, each at any shift up to `shift`; −inf at 0."""
    step, masses, infinity = _losses(law, shift)
    finite = _log_finite(masses, step=step, epsilon=epsilon, compositions=compositions)
    total = float(masses.sum())
    leaked = -math.expm1(compositions * math.log1p(-min(infinity / (total + infinity), 1 - 1e-16)))
    return float(np.logaddexp(finite, math.log(leaked) if leaked > 0 else -math.inf))


def _losses(law: Kernels, shift: float) -> tuple[float, Array, float]:
    """Return a step, masses at −n·step … n·step, and what is at infinity."""
    shifts = max(1, math.ceil(shift / _STEP))
    w = shift / shifts
    reach = law.modes * law.spacing + _REACH
    count = math.ceil(2 * reach / w)
    y = np.asarray(-reach - shift + w * np.arange(count + 2 * shifts + 1), dtype=float)
    log_f, _ = law.log_density_and_mean(y)
    q = np.exp(log_f) * w
    here = len(y) - shifts
    gaps = np.stack([log_f[j : j + here] - log_f[:here] for j in range(1, shifts + 1)])
    p = np.stack([q[j : j + here] for j in range(1, shifts + 1)])
    mean = float(p[-1] @ gaps[-1])
    spread = math.sqrt(max(float(p[-1] @ (gaps[-1] - mean) ** 2), 1e-30))
    trifle = 1e-25  # of P: larger losses are put at infinity
    largest = min(float(gaps[p > trifle].max()), _LARGEST)
    fineness = 24  # lattice steps in a standard deviation of the loss
    most = 3000  # lattice points above 0
    step = max(spread / fineness, largest / most)
    if step < law.decay < largest:  # mixtures have losses of just the decay on wide stretches
        step = law.decay / math.ceil(law.decay / step)
    size = math.ceil(largest / step)
    places = np.clip(np.floor(gaps / step) + 1, 0, size + 1).astype(np.intp)
    places += (size + 2) * np.arange(shifts)[:, None]
    weights = (p, np.broadcast_to(q[:here], p.shape))
    p_tails, q_tails = (_tails(places, part, (shifts, size + 2)) for part in weights)
    alphas = np.exp(step * np.arange(size + 1))
    deltas = np.clip((p_tails - alphas * q_tails).max(axis=0), 0.0, 1.0)
    deltas = np.concatenate([(1 - 1 / alphas + deltas / alphas)[:0:-1], deltas])
    alphas = np.concatenate([1 / alphas[:0:-1], alphas])
    slopes = np.concatenate(
        [[(deltas[0] - 1) / alphas[0]], np.diff(deltas) / np.diff(alphas), [0.0]]
    )
    return step, np.maximum(alphas * np.diff(slopes), 0.0), float(deltas[-1])


def _tails(places: NDArray[np.intp], weights: Array, shape: tuple[int, int]) -> Array:
    """Return the weights at places >= 1, 2, …, by shift."""
    found = np.bincount(places.ravel(), weights.ravel(), shape[0] * shape[1]).reshape(shape)
    return found[:, :0:-1].cumsum(axis=1)[:, ::-1]


def _log_finite(masses: Array, *, step: float, epsilon: float, compositions: int) -> float:
    """Return ln Σ P(S = z)(1 − e^(ε−z))₊ for the sum S of `compositions` losses of the masses."""
    size = len(masses) // 2
    z = np.asarray(step * np.arange(-size, size + 1), dtype=float)
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    low, high = 1e-6, 1e4
    for _ in range(40):  # bisections
        tilt = math.sqrt(low * high)
        _, tilted = _tilted(logs, z, tilt)
        mean = compositions * float(tilted @ z) - epsilon - 1 / tilt - 1 / (tilt + 1)
        low, high = (tilt, high) if mean < 0 else (low, tilt)
    log_moment, tilted = _tilted(logs, z, low)
    mean = float(tilted @ z)
    spread = math.sqrt(compositions * float(tilted @ (z - mean) ** 2)) / step
    apart = 12  # standard deviations of the tilted sum that don't wrap around
    window = min(2 * apart * spread + len(z), compositions * 2 * size + 1)
    n = 1 << math.ceil(math.log2(window + 1))
    padded = np.zeros(n)
    np.add.at(padded, np.arange(-size, size + 1) % n, tilted)
    power = np.fft.irfft(np.fft.rfft(padded) ** compositions, n)
    first = round(compositions * mean / step) - n // 2
    above = step * (first + np.arange(n)) - epsilon
    inside = above > 0
    values = np.roll(power, -(first % n))[inside] * np.exp(-low * above[inside])
    total = float(values @ -np.expm1(-above[inside]))
    return compositions * log_moment - low * epsilon + math.log(total) if total > 0 else -math.inf


def _tilted(logs: Array, z: Array, tilt: float) -> tuple[float, Array]:
    """Return ln Σ w e^(tilt·z) and the tilted law."""
    exponents = logs + tilt * z
    largest = float(exponents.max())
    weights = np.exp(exponents - largest)
    total = float(weights.sum())
    return largest + math.log(total), weights / total
