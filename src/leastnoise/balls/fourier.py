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

from leastnoise.balls.core import UNIT, precision
from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Complexes = NDArray[np.complex128]


def relative_error(size: int) -> float:
    """Return ν with ‖computed − exact‖₂ <= ν·‖exact‖₂ for a transform of `size` real numbers.

    Higham's bound is tη/(1 − tη) with t = log₂ size passes and η = μ + γ₄(√2 + μ), where the
    twiddle factors are off by μ. They are products of two numbers that are off by u/√2 each: as a
    complex product is off by √5·u, μ < 3.7u, and η < 9.4u.

    The pass that makes one complex number of two real ones, or parts them, is a butterfly with a
    twiddle factor too. With a, b half the sum and half the difference of two numbers it makes
    a ± ωb of them: errors u|a| and (μ + 3.9u)|b| before and u|a ± ωb| after that, so that its
    relative error in the l2 norm is below μ + 5u < η.
    """
    eta = 9.5 * UNIT * math.log2(size)
    return eta / (1 - eta)


def transform(values: Floats) -> Complexes:
    """Return Σⱼ xⱼ e^(−2πi jk/N) of N real numbers, for k = 0 … N/2; N is a power of two, >= 4."""
    half = len(values) // 2
    factors = _twiddles(2 * half)
    mixed = _passes(values[::2] + 1j * values[1::2], factors[::2])
    mixed = np.append(mixed, mixed[0])
    mirror = mixed[::-1].conj()
    even, odd = (mixed + mirror) / 2, (mixed - mirror) * -0.5j
    odd[:-1] *= factors
    odd[-1] = -odd[-1]
    return even + odd


def inverse(values: Complexes) -> Floats:
    """Return the N real numbers whose `transform` is given, for k = 0 … N/2."""
    half = len(values) - 1
    factors = _twiddles(2 * half).conj()
    mirror = values[::-1].conj()
    even, odd = (values + mirror)[:-1] / 2, (values - mirror)[:-1] / 2
    mixed = _passes(even + 1j * (odd * factors), factors[::2]) / half  # a power of two: exact
    found = np.empty(2 * half)
    found[::2], found[1::2] = mixed.real, mixed.imag
    return found


def _passes(values: Complexes, factors: Complexes) -> Complexes:
    """Return the transform of complex numbers, with the first half of the roots of 1 as `factors`.

    Stockham's autosort form: in each pass, halves are added and subtracted, and the differences are
    multiplied by twiddle factors.
    """
    x = values
    left, group = len(x) // 2, 1
    while left:
        first, second = x.reshape(2, left, group)
        x = np.empty((left, 2, group), dtype=np.complex128)
        np.add(first, second, out=x[:, 0])
        np.subtract(first, second, out=x[:, 1])
        x[:, 1] *= factors[::group][:left, None]
        x = x.reshape(-1)
        left, group = left // 2, group * 2
    return x


@lru_cache(maxsize=4)
def _twiddles(size: int) -> Complexes:
    """Return e^(−2πi j/size) for j < size/2, as products of two numbers rounded from balls."""
    if size < 4 or size & (size - 1):
        raise InvalidArgument(name="size", value=size, expected="a power of two, 4 at least")
    count = size // 2
    near = 1 << (count.bit_length() // 2)
    fine = _roots_of_unity(size, near)
    coarse = _roots_of_unity(size // near, -(-count // near))
    return (coarse[:, None] * fine).ravel()[:count]


def _roots_of_unity(size: int, count: int) -> Complexes:
    """Return e^(−2πi j/size) for j < count, each part the float nearest to a ball's centre."""
    with precision(80):
        pairs = [(arb(-2 * j) / size).sin_cos_pi() for j in range(count)]
    return np.array([complex(float(cosine), float(sine)) for sine, cosine in pairs])
