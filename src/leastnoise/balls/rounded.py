"""Floats with a proved error: a discrete Fourier transform, and tilted laws of lattices.

numpy's transform is faster, but has no proved error bound. This transform is radix 2 with twiddle
factors (roots of 1) rounded from balls, so Higham (2002), Theorem 24.2, bounds its relative error
in the l2 norm.

A geometric progression is the product of two short ones, whose terms are rounded from balls; terms
are kept as mantissa and exponent, so that nothing overflows.

Notation: u = 2^-53 bounds the relative error of one operation on floats, and N is the number of
values that are transformed, a power of two.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.core import UNIT, ball, precision
from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.balls.losses import LossLattice

    Floats = NDArray[np.float64]
    Complexes = NDArray[np.complex128]
    Exponents = NDArray[np.int64]


def relative_error(size: int) -> float:
    """A bound ν on the relative error of a transform of `size` real numbers, in the l2 norm.

    That is, ‖computed − exact‖₂ <= ν·‖exact‖₂. Higham's bound is tη/(1 − tη) with t = log₂ size
    passes and η = μ + γ₄(√2 + μ), where μ is the error of the twiddle factors and γ₄ = 4u/(1 − 4u).
    The factors are products of two numbers with an error of u/√2 each, and a complex product has an
    error of √5·u. So μ < 3.7u, and η < 9.4u.

    A further pass joins two real numbers into one complex number, or separates them. It is a
    butterfly with a twiddle factor ω, too. With a, b half the sum and half the difference of two
    numbers, it computes a ± ωb. The errors are at most u|a| and (μ + 3.9u)|b| in the two terms, and
    u|a ± ωb| in their sum. So the relative error in the l2 norm is below μ + 5u < η.
    """
    eta = 9.5 * UNIT * math.log2(size)
    return eta / (1 - eta)


def transform(values: Floats) -> Complexes:
    """The discrete Fourier transform of real numbers x_j: entries k = 0 … N/2 of the result.

    Entry k is Σ_j x_j e^(−2πi jk/N), for j = 0 … N − 1; N is a power of two, >= 4.
    """
    half = len(values) // 2
    factors = _twiddles(2 * half)
    mixed = _run_passes(values[::2] + 1j * values[1::2], factors[::2])
    mixed = np.append(mixed, mixed[0])
    mirror = mixed[::-1].conj()
    even, odd = (mixed + mirror) / 2, (mixed - mirror) * -0.5j
    odd[:-1] *= factors
    odd[-1] = -odd[-1]
    return even + odd


def inverse(values: Complexes) -> Floats:
    """The N real numbers whose `transform` is `values`, which has N/2 + 1 entries."""
    half = len(values) - 1
    factors = _twiddles(2 * half).conj()
    mirror = values[::-1].conj()
    even, odd = (values + mirror)[:-1] / 2, (values - mirror)[:-1] / 2
    # division by a power of two is exact
    mixed = _run_passes(even + 1j * (odd * factors), factors[::2]) / half
    result = np.empty(2 * half)
    result[::2], result[1::2] = mixed.real, mixed.imag
    return result


def _run_passes(values: Complexes, factors: Complexes) -> Complexes:
    """The transform of complex numbers, with the first half of the roots of 1 as `factors`.

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
    """The factors e^(−2πi j/size), j < size/2, as products of two numbers rounded from balls."""
    if size < 4 or size & (size - 1):
        raise InvalidArgument(name="size", value=size, expected="a power of two, 4 at least")
    count = size // 2
    near = 1 << (count.bit_length() // 2)
    fine = _roots_of_unity(size, near)
    coarse = _roots_of_unity(size // near, -(-count // near))
    return (coarse[:, None] * fine).ravel()[:count]


def _roots_of_unity(size: int, count: int) -> Complexes:
    """The roots e^(−2πi j/size), j < count, each part the float nearest to a ball's centre."""
    with precision(80):
        pairs = [(arb(-2 * j) / size).sin_cos_pi() for j in range(count)]
    return np.array([complex(float(cosine), float(sine)) for sine, cosine in pairs])


BLOCK = 256  # terms of the shorter progression, and products that are summed at a time


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Tilted:
    """The tilted law of the losses on a lattice; `count` releases have these losses.

    For masses w_i at losses z_i and the tilt c, w_i e^(c z_i) = e^log_moment · weights[i] · (1 + ρ)
    with a rounding error ρ. |ρ| <= 2^-50, except that a weight may be off by 2^-1070. The weights
    sum to 1 within 2^-50.
    """

    lattice: LossLattice
    count: int
    weights: Floats
    log_moment: arb

    @classmethod
    def of(cls, lattice: LossLattice, count: int, tilt: Fraction) -> Tilted:
        """Tilt a lattice, at the current precision."""
        scaled, total, log_scale = _scaled_terms(lattice.masses, ball(tilt) * ball(lattice.step))
        # e^log_moment is the float `total` times powers of 2 and e. So a weight has the error of
        # its term, 4u, and of one division; `total` itself has a relative error of 2^-53.
        log_moment = arb(total).log() + log_scale + ball(tilt) * ball(lattice.point(0))
        return cls(lattice=lattice, count=count, weights=scaled / total, log_moment=log_moment)


def log_moment_above(weights: Floats, t: arb) -> arb:
    """An upper bound, as a ball, on log Σ weights[i]·e^(t·i), the log-moment of an index at t."""
    _, total, log_scale = _scaled_terms(weights, t)
    return (arb(total) * (1 + arb(2) ** -50)).log() + log_scale


def geometric(log_ratio: arb, count: int) -> tuple[Floats, Exponents]:
    """The terms e^(log_ratio·i) for i < count: mantissas, within a relative 3u, and exponents.

    A term is its mantissa times 2^exponent.
    """
    rows = -(-count // BLOCK)
    far, far_exponents = progression(arb(1), (log_ratio * BLOCK).exp(), rows)
    near, near_exponents = progression(arb(1), log_ratio.exp(), min(count, BLOCK))
    mantissas = (far[:, None] * near).ravel()[:count]
    return mantissas, (far_exponents[:, None] + near_exponents).ravel()[:count]


def exponentials(first: arb, step: arb, count: int) -> tuple[Floats, Exponents]:
    """The terms e^(first + i·step) for i < count, as in `geometric`, but within a relative 5u."""
    (start,), (exponent,) = progression(first.exp(), arb(1), 1)
    mantissas, exponents = geometric(step, count)
    return mantissas * start, exponents + exponent


def progression(first: arb, ratio: arb, count: int) -> tuple[Floats, Exponents]:
    """The terms first·ratio^i for i < count, as nearest floats: mantissas, and exponents of 2."""
    terms: list[tuple[float, int]] = []
    for _ in range(count):
        terms.append(_split(first))
        first *= ratio
    mantissas, exponents = zip(*terms, strict=True)
    return np.array(mantissas), np.array(exponents, dtype=np.int64)


def join_floats(mantissas: Floats, exponents: Exponents) -> Floats:
    """The floats mantissa·2^exponent; 0 if the product is too small for a float, ∞ if too large."""
    with np.errstate(over="ignore"):
        deepest, highest = -1100, 1100  # exponents of 2 outside which floats are 0 or infinite
        return np.ldexp(mantissas, np.clip(exponents, deepest, highest).astype(np.int32))


def _split(value: arb) -> tuple[float, int]:
    """The midpoint of `value` > 0, rounded to nearest: a mantissa in [½, 1], an exponent of 2."""
    # `float` rounds the midpoint, too: it is fast, but only normal floats have full precision
    near = float(value)
    if sys.float_info.min <= near <= sys.float_info.max:
        return math.frexp(near)
    mantissa, exponent = value.mid().man_exp()
    fraction, more = math.frexp(float(int(mantissa)))
    return fraction, int(exponent) + more


def _scaled_terms(weights: Floats, log_ratio: arb) -> tuple[Floats, float, arb]:
    """Scaled terms weights[i]·e^(log_ratio·i), their sum, and the logarithm of the scale.

    With the logarithm l, weights[i]·e^(log_ratio·i) = e^l·terms[i]. A term has a relative error of
    4u, or an error of 2^-1074 if that is more. The sum of the terms, rounded once, is at least 1/8.
    """
    powers, exponents = geometric(log_ratio, len(weights))
    mantissas, weight_exponents = np.frexp(weights)
    exponents = np.where(mantissas > 0, exponents + weight_exponents, np.iinfo(np.int64).min // 2)
    top = int(exponents.max())
    terms = join_floats(mantissas * powers, exponents - top)
    return terms, math.fsum(terms.tolist()), top * arb.const_log2()
