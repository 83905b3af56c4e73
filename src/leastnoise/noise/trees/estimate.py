"""Variances of the nodes of a tree whose nodes of a level are alike: for searches, in floats.

The recursions are those of `levels`, with numpy's FFT and without bounds on any error. The laws are
symmetric, so that all transforms are real.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leastnoise.noise.trees.levels import moment_of


def estimate_variances(
    branches: Sequence[int], rates: Sequence[float], *, window: int
) -> list[float]:
    """Return the variance of a node of each level, the root's first, of laws modulo the window."""
    places = np.arange(window, dtype=np.float64)
    lengths = np.minimum(places, window - places)
    weights = [np.exp(-rate * lengths) for rate in rates]
    alone = [weights[-1] * math.tanh(rates[-1] / 2)]  # A_L, A_{L-1}, …
    rests = []  # the transforms of C_{L-1}, C_{L-2}, …
    for b, weight in zip(reversed(branches), reversed(weights[:-1]), strict=True):
        spectrum = np.fft.rfft(alone[-1]).real
        rests.append(spectrum ** (b - 1))
        law = np.fft.irfft(rests[-1] * spectrum, window) * weight
        alone.append(law / law.sum())
    half = window // 2
    found, beside, any_above = [moment_of(alone[-1][:half], 2)], 1.0, False
    for weight, rate, law, rest in zip(
        weights, rates, reversed(alone[:-1]), reversed(rests), strict=False
    ):
        any_above = any_above or rate > 0
        if any_above:  # else U is 1
            beside = np.fft.irfft(np.fft.rfft(weight * beside).real * rest, window)
        found.append(moment_of((law * beside)[:half], 2))
    return found
