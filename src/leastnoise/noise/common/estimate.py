"""Estimates of δ(ε) of several releases, in floats for searches; nothing is proved.

Notation: Z is the privacy loss of one release, and P its law, which has the masses w_i at the
losses z_i = −n·step … n·step. Q is the law after the shift, with the masses w_i e^(−z_i).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def lay_on_lattice(losses: Array, masses: Array, step: float) -> Array:
    """Move the masses at `losses` to the lattice −n·step … n·step. This decreases δ(ε) at no ε.

    Returns the masses on the lattice, shape (2n + 1,), where n covers all losses. Each mass is
    split between the two neighbouring points, so that P and Q keep their total masses.
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
    """Estimate ln δ(ε) of several independent releases whose losses have these masses; −∞ for 0.

    `masses` are on the lattice −n·step … n·step. δ(ε) is the mean of (1 − e^(ε−S))₊, where S is the
    sum of `compositions` losses.
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
    """Multiply the masses w_i = e^logs by e^(tilt·z_i).

    Returns the logarithm of the products' sum, and the products divided by their sum.
    """
    exponents = logs + tilt * z
    largest = float(exponents.max())
    weights = np.exp(exponents - largest)
    total = float(weights.sum())
    return largest + math.log(total), weights / total
