"""The errors of named sums: each is a weighted sum of noisy numbers, all with the same law."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.mechanism.accuracy import Term, half_width, half_widths_of_sum
from leastnoise.noise.registry import registered
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.statistics.base import NoiseError, RowErrors
from leastnoise.workloads.laplace_sums import half_width_of_laplace_sum
from leastnoise.workloads.matrix import FINER_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.workloads.matrix import LeastSquares

    Floats = NDArray[np.float64]

_DIGITS = 10
"""Digits of weights by which sums with equal errors are found."""
_MOST_EXACT = 50_000
"""Weights of all sums up to which half-widths of Laplace noise are those of its exact law."""


def find_errors(certificate: Certificate, ways: LeastSquares, stds: Floats) -> NoiseError:
    """The error of each sum, given its standard deviation. Raises NotApplicable if it's unknown."""
    exactly = int(np.count_nonzero(ways.of_noise)) <= _MOST_EXACT
    known: dict[tuple[tuple[float, int], ...], Sequence[float]] = {}
    widths = np.empty((len(stds), len(PROBABILITIES)))
    for row, weights in enumerate(ways.of_noise):
        alike = Counter(float(f"{weight:.{_DIGITS}g}") for weight in np.abs(weights[weights != 0]))
        key = tuple(sorted(alike.items(), reverse=True))
        if key not in known:
            known[key] = _half_widths(certificate, key, exactly=exactly)
        widths[row] = known[key]
    widths += _rounding(certificate, ways)[:, None]
    half95, half975, half983 = (float(column.max()) for column in widths.T)
    return NoiseError(
        std=math.sqrt(float(np.mean(stds**2))),
        half95=half95,
        half975=half975,
        half983=half983,
        rows=RowErrors(std=tuple(stds.tolist()), half95=tuple(widths[:, 0].tolist())),
    )


def _half_widths(
    certificate: Certificate, alike: Sequence[tuple[float, int]], *, exactly: bool
) -> list[float]:
    """Half-widths of a sum with these weights, each as often as stands beside it.

    If not `exactly`, those of Laplace noise are up to a tenth more than need be.
    """
    length = math.sqrt(math.fsum(times * weight**2 for weight, times in alike))
    total = math.fsum(times * weight for weight, times in alike)
    rounded = float(certificate.grid or 0) / 2
    if certificate.noise.name == "laplace" and not exactly:
        largest = max(weight for weight, _ in alike) ** 2 / length**2
        std = length * math.sqrt(certificate.noise.variance)
        widths = (half_width_of_laplace_sum(p, largest) for p in PROBABILITIES)
        return [std * width + total * rounded for width in widths]
    if registered(type(certificate.noise)).spherical:
        # the rounding of a number is in its half-width, and adds up
        alone = [half_width(certificate, probability) - rounded for probability in PROBABILITIES]
        return [length * width + total * rounded for width in alone]
    terms = [
        Term(certificate=certificate, coefficient=weight, times=times) for weight, times in alike
    ]
    return half_widths_of_sum(terms, PROBABILITIES)


def _rounding(certificate: Certificate, ways: LeastSquares) -> Floats:
    """The most by which rounded estimates of the cells move each sum."""
    if ways.strategy is None:
        return np.zeros(len(ways.queries))
    step = float(certificate.grid or 0) / 2**FINER_BITS
    return np.asarray(np.abs(ways.queries).sum(axis=1) * step / 2, dtype=np.float64)
