"""Independent noise of one law for each row of a table of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.entropy.source import Entropy, SystemEntropy
from leastnoise.errors import InvalidArgument
from leastnoise.mechanism.grid import check_grid, exponent_of
from leastnoise.mechanism.rounding import round_sums
from leastnoise.mechanism.values import ScaledIntegers, nearest_whole
from leastnoise.noise.draw import make_sampler

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.noise.base import Noise

# Families whose sampler draws each coordinate by itself: any number of them is one call.
_INDEPENDENT = frozenset({"discrete-staircase", "gaussian", "geometric", "laplace"})


def add_noise_to_rows(
    noise: Noise, grid: Fraction, rows: ScaledIntegers, *, entropy: Entropy | None = None
) -> NDArray[np.float64]:
    """Return g·round((row + X)/g) for every row, each X a fresh draw of `noise`, in their shape.

    `rows` has shape (rows, dimension). Exact, as `add_noise` is; its time and memory grow with the
    rows. Raises InvalidArgument for another shape or a grid that `check_grid` refuses. `entropy` is
    for tests.
    """
    check_grid(grid, noise)
    shape = rows.numerators.shape
    if len(shape) != 2 or shape[1] != noise.dimension:
        raise InvalidArgument(
            name="rows",
            value=f"an array of shape {shape}",
            expected=f"rows of {noise.dimension} numbers",
        )
    exact = nearest_whole(rows) if noise.for_whole_numbers else rows
    if not isinstance(exact, ScaledIntegers):
        raise TypeError("whole numbers of integers are integers")
    source, exponent = entropy or SystemEntropy(), exponent_of(grid)

    def added(numerators: NDArray[np.int64]) -> NDArray[np.int64]:
        part = ScaledIntegers(numerators=numerators, bits=exact.bits)
        return round_sums(make_sampler(noise, grid=grid, entropy=source), exponent, part)

    with np.errstate(all="ignore"):  # as in `add_noise`
        if not shape[0]:
            return np.zeros(shape)
        if noise.name in _INDEPENDENT:
            steps = added(exact.numerators.reshape(-1))
        else:
            steps = np.concatenate([added(row) for row in exact.numerators])
        return np.ldexp(steps.astype(np.float64), exponent).reshape(shape)
