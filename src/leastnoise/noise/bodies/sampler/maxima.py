"""The largest of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.noise.bodies.sampler.reals import Estimates, Reals

if TYPE_CHECKING:
    from leastnoise.noise.bodies.sampler.leaves import Uniforms


@final
class Maxima(Reals):
    """The largest of each `row` uniforms: Beta(row, 1), the gauge of a uniform point of a box.

    Estimates of all are within the same error of them, and so is the largest.
    """

    def __init__(self, uniforms: Uniforms, *, row: int) -> None:
        self.size = uniforms.size // row
        self._uniforms, self._row = uniforms, row

    def floats(self, start: int, stop: int) -> Estimates:
        row = self._row
        found = self._uniforms.floats(start * row, stop * row)
        return Estimates(
            values=found.values.reshape(-1, row).max(axis=1),
            beyond=np.any(found.beyond.reshape(-1, row), axis=1, keepdims=False),
            error=found.error,
            reach=found.reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        first = index * self._row
        largest = arb(0)
        for i in range(first, first + self._row):
            largest = largest.max(self._uniforms.enclose(i, bits))
        return largest
