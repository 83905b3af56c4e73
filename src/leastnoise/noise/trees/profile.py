"""Quantiles of one cell of noise on a tree."""

from __future__ import annotations

from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import cell_laws

_UP = 1 + 1e-14  # so that scale · (h/scale) isn't rounded below h


def quantile(noise: Agreeing, outside: float, coordinate: int = 0) -> float:
    """Return h/scale, h the smallest whole number with P(|X_i| <= h) >= 1 − outside."""
    law = cell_laws(noise)[noise.shape.places_of[-1][coordinate]]
    return law.half_width(1 - outside) / float(noise.scale) * _UP
