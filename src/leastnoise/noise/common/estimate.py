"""Estimates of δ(ε) of several releases, in floats for searches; nothing is proved.

notation: Z the privacy loss of one release, P its law; masses w_i at −n·step … n·step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def lay_on_lattice(losses: Array, masses: Array, step: float) -> Array:
    """Move the masses at `losses` to −n·step … n·step, which lowers δ(ε) at no ε.

    Each mass is split between the two neighbouring points, so that P and Q keep their total masses.
    """
    size = math.ceil(float(np.abs(losses).max()) / step) + 1
    floors = np.floor(losses / step)
    above = masses * np.clip(np.expm1(step * floors - losses) / math.expm1(-step), 0.0, 1.0)
    index = floors.astype(np.intp) + size
    length = 2 * size + 1
    result: Array = np.zeros(length)
    result += np.bincount(index, masses - above, length)
    return result + np.bincount(index + 1, above, length)


def log_delta_of_sum(masses: Array, *, step: float, epsilon: float, compositions: int) -> float:
    """The estimate of ln δ(ε) for `compositions` losses, each with these masses.

    δ(ε) = Σ P(S = z)(1 − e^(ε−z))₊, where S is the sum of the losses.
    """
    size = len(masses) // 2
    z = np.asarray(step * np.arange(-size, size + 1), dtype=float)
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    low, high = 1e-6, 1e4
    for _ in range(40):  # bisections
        tilt = math.sqrt(low * high)
        _, tilted = _tilt(logs, z, tilt)
        mean = compositions * float(tilted @ z) - epsilon - 1 / tilt - 1 / (tilt + 1)
        low, high = (tilt, high) if mean < 0 else (low, tilt)
    log_moment, tilted = _tilt(logs, z, low)
    mean = float(tilted @ z)
    spread = math.sqrt(compositions * float(tilted @ (z - mean) ** 2)) / step
    apart = 12  # standard deviations of the tilted sum in the window, on each side
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


def _tilt(logs: Array, z: Array, tilt: float) -> tuple[float, Array]:
    """The logarithm of Σ_i w_i e^(tilt·z_i), w = e^logs, and the tilted law ∝ w_i e^(tilt·z_i)."""
    exponents = logs + tilt * z
    largest = float(exponents.max())
    weights = np.exp(exponents - largest)
    total = float(weights.sum())
    return largest + math.log(total), weights / total
