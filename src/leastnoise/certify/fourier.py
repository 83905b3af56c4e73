"""A discrete Fourier transform whose rounding errors are bounded by a theorem.

numpy's own is faster, but nothing is proved of it. This one is radix 2 with twiddle factors rounded
from balls, for which Higham (2002), Theorem 24.2, bounds the relative error in the l2 norm.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from leastnoise.balls.core import precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNIT = 2.0**-53


def relative_error(size: int) -> float:
    """Return ν with ‖computed − exact‖₂ <= ν·‖exact‖₂ for a transform of `size` points.

    Higham's bound is tη/(1 − tη) with t = log₂ size and η = u + γ₄(√2 + u); 7u is more than η, and
    the twiddle factors are rounded from balls to within √2·u/2 each, less than the u that it takes.
    """
    eta = 7 * UNIT * math.log2(size)
    return eta / (1 - eta)


def transform(values: NDArray[np.complex128], *, inverse: bool = False) -> NDArray[np.complex128]:
    """Return Σⱼ xⱼ e^(−2πi jk/N), N a power of two; `inverse`: the sign is + and 1/N is applied.

    Stockham's autosort form: in each pass, halves are added and subtracted, and the differences are
    multiplied by twiddle factors.
    """
    size = len(values)
    factors = _twiddles(size)
    if inverse:
        factors = factors.conj()
    x = np.array(values, dtype=np.complex128)
    left, group = size // 2, 1
    while left:
        first, second = x.reshape(2, left, group)
        x = np.empty((left, 2, group), dtype=np.complex128)
        np.add(first, second, out=x[:, 0])
        np.multiply(first - second, factors[::group][:left, None], out=x[:, 1])
        x = x.reshape(-1)
        left, group = left // 2, group * 2
    return x / size if inverse else x  # a power of two: exact


@lru_cache(maxsize=4)
def _twiddles(size: int) -> NDArray[np.complex128]:
    """Return e^(−2πi j/size) for j < size/2, each part the float nearest to a ball's centre."""
    if size < 2 or size & (size - 1):
        raise ValueError("the size of a transform is a power of two")
    with precision(80):
        angles = [arb(2 * j) / size for j in range(size // 8 + 1)]
        cosines = [float(angle.cos_pi()) for angle in angles]
        sines = [float(angle.sin_pi()) for angle in angles]
    quarter = size // 4
    found = np.empty(max(size // 2, 1), dtype=np.complex128)
    for j in range(size // 2):
        turn, rest = divmod(j, quarter) if quarter else (0, j)
        folded = min(rest, quarter - rest) if quarter else 0
        cosine, sine = cosines[folded], sines[folded]
        if quarter and rest > quarter - rest:
            cosine, sine = sine, cosine
        found[j] = complex(cosine, -sine) if turn == 0 else complex(-sine, -cosine)
    return found
