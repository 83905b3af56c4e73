"""How far a weighted sum of independent numbers' noise may be off: its law, in floats.

notation: S = Σ c_j X_j, s its standard deviation; W a sum of four uniform numbers, |W| <= h. S + W
has a density, whose characteristic function falls as u⁻⁴ whatever lattice S lives on, and
|S| <= |S + W| + h: t + h holds S with the probability with which t holds S + W.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.mechanism.accuracy import half_width, standard_deviation
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.laplace.law import Laplace
from leastnoise.noise.steps.law import Geometric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.noise.base import Noise

    Floats = NDArray[np.float64]

_SMOOTH = 0.01  # h/s: how much wider than need be a half-width is, about
_PERIOD = 18.0  # times s: half of that of the Fourier series; Laplace's tail beyond is e^-25
_LAST = 30.0  # of u h/4, from where on sin(x)⁴/x⁴ is about 1e-6, and alternates
_STEPS = 28  # of a bisection, which then is within 1e-7 s
_NOTHING = 1e-17  # of a probability
_OF_WHOLE = 0.4  # h where S is whole: 2h below 1 tells whole numbers apart
_SMOOTH_WHOLE = 0.001  # h/s of wide whole noise, so that the series has no more than 2^20 terms


@final
@dataclass(frozen=True, kw_only=True)
class Term:
    """So many numbers of one draw (`times`), each with this `coefficient`."""

    certificate: Certificate
    coefficient: float
    times: int


def deviation_of_sum(terms: Sequence[Term]) -> float:
    """Return the standard deviation of S, rounding to the draws' grids counted."""
    return math.sqrt(math.fsum(
        one.times * (one.coefficient * standard_deviation(one.certificate)) ** 2 for one in terms
    ))  # fmt: skip


def half_widths_of_sum(terms: Sequence[Term], probabilities: Sequence[float]) -> list[float]:
    """Return t with P(|S| <= t) >= probability for each, rounding to the draws' grids counted.

    Exact for one number and where all numbers are whole with s below 400, else up to 2 % more than
    need be. Raises
    NotApplicable for noise whose characteristic function isn't known here.
    """
    some = [one for one in terms if one.coefficient]
    if len(some) == 1 and some[0].times == 1:
        (only,) = some
        alone = [half_width(only.certificate, one) for one in probabilities]
        return [abs(only.coefficient) * one for one in alone]
    deviation = deviation_of_sum(some)
    whole = all(one.coefficient == 1 and _is_whole(one.certificate) for one in some)
    smooth = max(_OF_WHOLE, _SMOOTH_WHOLE * deviation) if whole else _SMOOTH * deviation
    half_period = _PERIOD * deviation + smooth
    counts = np.arange(1, math.ceil(4 * _LAST / smooth * half_period / math.pi) + 1)
    places = np.asarray(counts * (math.pi / half_period), dtype=np.float64)
    weights = (2 / math.pi) * np.sinc(places * smooth / 4 / math.pi) ** 4 / counts
    for one in some:
        weights = weights * _of_one(one.certificate.noise, one.coefficient * places) ** one.times
    kept = np.flatnonzero(np.abs(weights) > _NOTHING)
    weights, places = weights[kept], places[kept]
    rounding = math.fsum(
        one.times * abs(one.coefficient) * float(one.certificate.grid or 0) / 2
        for one in some
        if not _is_whole(one.certificate)
    )
    found: list[float] = []
    for probability in probabilities:
        low, high = 0.0, half_period
        for _ in range(_STEPS):
            t = (low + high) / 2
            inside = t / half_period + float(weights @ np.sin(places * t))
            low, high = (low, t) if inside >= probability else (t, high)
        end = high + smooth
        found.append(math.floor(end) if whole else end + rounding)
    return found


def _is_whole(certificate: Certificate) -> bool:
    """Whether its noise is of whole numbers, which its grid has all of."""
    noise, grid = certificate.noise, certificate.grid
    whole = isinstance(noise, Geometric) and noise.scale == noise.cells
    return whole and grid is not None and grid <= 1 and grid.numerator == 1


def _of_one(noise: Noise, u: Floats) -> Floats:
    """Return E cos(u X) at each u."""
    if isinstance(noise, Geometric) and noise.cells == 1:  # (1 − q)²/(1 − 2q cos u + q²)
        raised = math.sinh(float(noise.decay) / 2) ** 2
        return raised / (raised + np.sin(u * (float(noise.scale) / 2)) ** 2)
    if isinstance(noise, Laplace):
        return 1 / (1 + (u * float(noise.scale)) ** 2)
    if isinstance(noise, Gaussian):
        return np.exp(-((u * float(noise.scale)) ** 2) / 2)
    raise NotApplicable(family=noise.name, why="its characteristic function isn't known here")
