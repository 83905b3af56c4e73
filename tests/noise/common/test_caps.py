"""Caps and slabs of a sphere, beside mpmath's incomplete beta function."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from leastnoise.noise.common.profile import MOST_BY_TERMS, cap, slab

DIMENSIONS = (2, 3, 4, 5, 6, 7, 10, 33, 52, MOST_BY_TERMS - 1, MOST_BY_TERMS, 1001)
# Worst case measured: 1.4e-14 by terms, in 200 dimensions; scipy's own is 3e-14 in 1,000.
ACCURACY = 5e-14


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_caps(dimension: int) -> None:
    a, halves = mp.mpf(dimension - 1) / 2, np.array([0.0, 1e-30, 1e-5, 0.01, 0.3, 0.42, 0.49, 0.5])
    for half, share in zip(halves, cap(dimension, halves), strict=True):
        with mp.workdps(40):
            exact = float(mp.betainc(a, a, 0, mp.mpf(float(half)), regularized=True))
        assert share == pytest.approx(exact, rel=ACCURACY, abs=1e-300)


@pytest.mark.parametrize("dimension", DIMENSIONS[1:])
def test_slabs(dimension: int) -> None:
    a, cosines = mp.mpf(dimension - 1) / 2, [0.0, 1e-30, 1e-5, 0.1, 0.2, 0.49, 0.5, 0.71, 0.99, 1.0]
    together = slab(dimension, np.array(cosines))
    for cosine, share in zip(cosines, together, strict=True):
        with mp.workdps(40):
            square = mp.mpf(cosine) ** 2
            exact = float(mp.betainc(mp.mpf(1) / 2, a, 0, square, regularized=True))
        assert share == pytest.approx(exact, rel=ACCURACY)
        # as few terms are taken as the largest of all needs
        assert slab(dimension, np.array([cosine]))[0] == pytest.approx(exact, rel=ACCURACY)
