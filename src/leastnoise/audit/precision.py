"""The precision attack (Mironov 2012): the last bits of floats tell which input they came from.

Noise that is computed in floats and added to a value in floats reaches few of the floats around,
and which ones depends on the value. Two ways to see it:

- The finest power of two that divides the output, and how many bits of its significand are 0: 0 + X
  has all bits of X, 1 + X has lost some of them where X is small.
- Textbook Laplace noise is ±b·ln(k/2^53) for a whole k. For an output y and an input x it is tried
  whether any such k gives y exactly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.audit.events import Feature, choose, judge
from leastnoise.noise.laplace.law import Laplace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.finding import Finding
    from leastnoise.audit.subject import Subject

_FEW_COORDINATES = 4
_FINEST_BIT = 1074 + 53  # finest power of two of a double is 2^-1074
_POWERS = 2200
_BINADES = 24  # below that of the largest output; smaller ones are one
_SIGNIFICAND = 53
_INVERTED = 3000  # outputs of each half that are inverted: some 30 µs each
_MOST_TRIED = 200  # values of k around the likeliest one; more only where y has few bits left
_UNIFORMS = 1 << 53


def detect(subject: Subject) -> Finding:
    """Return the finding of the precision attack."""
    features: list[Feature] = []
    with np.errstate(all="ignore"):
        for index in range(min(subject.dimension, _FEW_COORDINATES)):
            features += [_finest_power(index), _bits_left(index, subject)]
        inversion = _laplace_inversion(subject)
        if inversion is not None:
            features.append(inversion)
        return judge(choose(features, subject), subject, detector="precision")


def _finest_power(index: int) -> Feature:
    """Return the largest j for which the output is a multiple of 2^j."""

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        exponent, zeros = _significand(outputs[:, index])
        found = exponent - _SIGNIFICAND + zeros + _FINEST_BIT
        return np.where(np.isfinite(outputs[:, index]), np.clip(found, 0, _POWERS - 1), _POWERS)

    name = f"the finest power of two that divides coordinate {index}"
    return Feature(name=name, cells=_POWERS + 1, labels=labels, ordered=True)


def _bits_left(index: int, subject: Subject) -> Feature:
    """Return the binade of the output, with the number of zeros that end its significand."""
    sizes = np.concatenate([np.abs(one[:, index]) for one in subject.first])
    sizes = sizes[np.isfinite(sizes)]
    top = int(np.frexp(sizes.max())[1]) if sizes.size else 0

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        exponent, zeros = _significand(outputs[:, index])
        binade = np.clip(top - exponent, 0, _BINADES - 1)
        return binade * (_SIGNIFICAND + 1) + zeros

    name = f"the trailing zeros of coordinate {index} and its binade"
    return Feature(name=name, cells=_BINADES * (_SIGNIFICAND + 1), labels=labels)


def _significand(x: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return e and t with x = ±M·2^(e−53), 2^52 <= M < 2^53, M divisible by 2^t and no more.

    t is 53 for 0 and for what isn't finite.
    """
    part, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.abs(np.ldexp(part, _SIGNIFICAND)).astype(np.int64)
    last = (whole & -whole).astype(np.float64)
    zeros = np.where(whole == 0, _SIGNIFICAND, np.frexp(last)[1] - 1)
    return exponent.astype(np.intp), zeros.astype(np.intp)


def _laplace_inversion(subject: Subject) -> Feature | None:
    """Return from which of the inputs textbook Laplace noise can reach the output; None: unknown.

    The scale is that of the claimed noise, or Δ/ε.
    """
    centres, scale = subject.centres, _laplace_scale(subject)
    if centres is None or scale is None or subject.dimension != 1:
        return None
    x, other = (float(one[0]) for one in centres)

    def labels(outputs: NDArray[np.float64]) -> NDArray[np.intp]:
        found = [
            2 * _is_reachable(y, x, scale) + _is_reachable(y, other, scale)
            for y in outputs[:, 0].tolist()
        ]
        return np.array(found, dtype=np.intp)

    name = "the inputs from which textbook Laplace noise reaches the output"
    return Feature(name=name, cells=4, labels=labels, most=_INVERTED)


def _laplace_scale(subject: Subject) -> float | None:
    noise, bound = subject.claim.noise, getattr(subject.claim.sensitivity, "bound", None)
    if isinstance(noise, Laplace):
        return float(noise.scale)
    if noise is None and bound is not None and subject.claim.epsilon:
        return float(bound / subject.claim.epsilon)
    return None


def _is_reachable(y: float, x: float, scale: float) -> bool:
    """Return whether y is fl(x ± fl(b·fl(ln(k/2^53)))) for a whole k, by trying those around."""
    size = abs(y - x)
    if not math.isfinite(size):
        return False
    # y is x ± |noise| rounded: the noise is within `slack` of y − x, and k within `reach`
    slack = 2 * (math.ulp(y) + math.ulp(size) + math.ulp(x))
    uniform = math.exp(-size / scale)
    middle = round(uniform * _UNIFORMS)
    reach = min(_MOST_TRIED, 4 + math.ceil(uniform * _UNIFORMS * slack / scale))
    sign = 1.0 if y >= x else -1.0
    for k in range(max(1, middle - reach), min(_UNIFORMS, middle + reach) + 1):
        noise = -scale * math.log(k / _UNIFORMS)
        if x + sign * noise == y:
            return True
    return False
