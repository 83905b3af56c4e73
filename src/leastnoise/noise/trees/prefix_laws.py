"""The laws of the sums of the first cells of a tree, and half-widths that hold them.

notation: as in `prefixes`. Given u, what a pass upwards carries is E[e^(iuw); t] of a node, w the
sum of its o cells among the first, t that of all: m(t) = e^(−r_l|t|)·(H * m')(t)/κ_l, with m' of
the next child, and H the law of k children that count e^(iut) and of b − 1 − k that count 1. At the
root it is E e^(iuS_g), and u = 2πj/N for j = 0, …, N − 1 are all that there is to know of S_g
modulo N.

What is computed of P(|S_g| <= h) is too large by what all windows take in, at most: beyond N/2 it
is below E S_g^8/(N/2)^8, and where a node is beyond its window it is the mass that is there in
excess of 1 (see `prefixes`), and 1e-12.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.noise.trees.levels import level_laws, rates_of, solve
from leastnoise.noise.trees.prefixes import ORDERS, cut_law, find_window, prefix_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]
    Spectra = NDArray[np.complex128]

MOST_LAW_WORK = 1 << 29
"""What `law_work` is at most, some seconds; beyond it half-widths are those of moments."""
_WRAPPED = 1e-6  # of a probability, beyond the window of the sums
_ROUNDED = 1e-6  # of a probability, given away for rounding, which is far less


def prefix_half_widths(noise: Agreeing, coverage: float) -> NDArray[np.int64]:
    """Return whole h with P(|S_g| <= h) >= `coverage`, for g = 0, …, n, shape (n + 1,).

    Each is the smallest, but for rounding and what windows take in. Where laws would take too much
    `law_work` that is so of sums that are a node; the others are what Markov's inequality gives.
    Raises InvalidArgument unless 0 < coverage < 1, and where it is too near to 1 to tell; and what
    `check_moments` raises.
    """
    if not 0 < coverage < 1:
        raise InvalidArgument(name="coverage", value=coverage, expected="0 < coverage < 1")
    if law_work(noise) <= MOST_LAW_WORK:
        return _least_widths(_inside(noise), coverage)
    orders = np.array(ORDERS, dtype=np.float64)
    widths = (prefix_moments(noise) / (1 - coverage)) ** (1 / orders)
    found = np.floor(widths.min(axis=1)).astype(np.int64)  # P(|S| > h) is that of h + 1 or more
    for law in level_laws(noise):
        inside = 2 * np.cumsum(law.probabilities) - law.probabilities[0] - _ROUNDED
        found[noise.dimension // law.nodes] = _least_widths(inside[None, :], coverage)[0]
    return found


def _least_widths(inside: Floats, coverage: float) -> NDArray[np.int64]:
    """Return the first h of each row that is inside with `coverage`."""
    sure = float(inside[:, -1].min())
    if sure < coverage:
        expected = f"coverage <= {sure:.12g} for this noise"
        raise InvalidArgument(name="coverage", value=coverage, expected=expected)
    return np.argmax(inside >= coverage, axis=1)


def law_work(noise: Agreeing) -> int:
    """Return the windows' product times the nodes' sums that are carried upwards."""
    below, sums = 1, 0
    for b in reversed(noise.branches):
        below *= b
        sums += below
    return find_window(noise) * _window_of_sums(noise) * sums


def _window_of_sums(noise: Agreeing) -> int:
    """Return a power of two N, at most the nodes' window, for which E S_g^8/(N/2)^8 <= 1e-6."""
    largest = float(prefix_moments(noise)[:, -1].max())
    least = 2 * (largest / _WRAPPED) ** (1 / ORDERS[-1])
    return min(1 << max(6, math.ceil(math.log2(max(least, 1.0)))), find_window(noise))


@lru_cache(maxsize=16)
def _inside(noise: Agreeing) -> Floats:
    """Return what P(|S_g| <= h) is at least, h = 0, …, N/2 − 1, shape (n + 1, N/2)."""
    numbers = _window_of_sums(noise)
    laws = np.fft.irfft(_characteristic(noise, numbers), axis=0).T
    excess = laws.sum(axis=1).max() - 1
    halves = laws[:, : numbers // 2]
    beyond = prefix_moments(noise)[:, -1:] / (numbers / 2) ** ORDERS[-1]
    sums = 2 * np.cumsum(halves, axis=1) - halves[:, :1]
    return sums - beyond - max(float(excess), 0.0) - _ROUNDED


def _characteristic(noise: Agreeing, numbers: int) -> Floats:
    """Return E cos(uS_g) for u = 2πj/N, j = 0, …, N/2 and g = 0, …, n, N the `numbers`."""
    size, rates = find_window(noise), rates_of(noise)
    solved = solve(noise.branches, rates)
    places = np.arange(size)
    lengths = np.minimum(places, size - places)
    alone = [cut_law(one.values, size) for (one,) in solved.alone]
    spectra = [np.fft.fft(one) for one in alone]
    weights = [
        np.exp(-rate * lengths) / kept
        for rate, (kept,) in zip(rates[:-1], solved.kept, strict=True)
    ]
    at_root = np.fft.fft(weights[0]) / size
    found: list[Floats] = []
    for j in range(numbers // 2 + 1):
        turn = j * (size // numbers)  # the spectrum of e^(iut)·A is that of A, so far further
        parts = spectra[-1][None, :]
        for depth in reversed(range(1, len(noise.branches))):
            beside = _beside(spectra[depth + 1], turn, noise.branches[depth])
            sums = np.fft.ifft((beside[:, None, :] * parts[None, :, :]).reshape(-1, size))
            parts = np.fft.fft(sums * weights[depth])
        beside = _beside(spectra[1], turn, noise.branches[0]) * at_root
        whole = alone[0] @ np.cos(2 * math.pi * turn / size * places)
        found.append(np.append((beside @ parts.T).real.reshape(-1), whole))
    return np.stack(found)


def _beside(spectrum: Spectra, turn: int, b: int) -> Spectra:
    """Return the spectra of H, for k = 0, …, b − 1 children that count, shape (b, N)."""
    counted = np.roll(spectrum, turn)
    return np.stack([counted**k * spectrum ** (b - 1 - k) for k in range(b)])
