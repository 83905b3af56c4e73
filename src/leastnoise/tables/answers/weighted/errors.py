"""The errors of named sums, which are weighted sums of identically distributed noisy numbers."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.mechanism.accuracy import Term, half_width, half_widths_of_sum
from leastnoise.noise.draw import find_characteristic
from leastnoise.noise.registry import registered_family
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.statistics.base import NoiseError, RowErrors
from leastnoise.workloads.laplace_sums import half_width_of_laplace_sum
from leastnoise.workloads.matrix import FINER_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.workloads.matrix import LeastSquares

    Alike = tuple[tuple[float, int], ...]
    Floats = NDArray[np.float64]

_DIGITS = 10
"""Decimal digits to which weights are rounded, so that sums with equal errors are recognised."""
_MOST_EXACT = 50_000
"""The largest number of weights, over all sums, for which Laplace noise gets exact half-widths."""
_MOST_UNLIKE, _MOST_OF_WIDE = 1000, 4000
"""The largest numbers of weights for which other noise gets exact half-widths, within 3 s.

Repeated weights in a sum count once, and so do sums with the same weights. The second limit is for
noise with a variance of at least 1, whose characteristic function falls faster.
"""
_TILTS = np.geomspace(1e-3, 0.999, 120)


def check_known(certificate: Certificate, ways: LeastSquares) -> None:
    """Raise NotApplicable if the half-widths of some sums are unknown, or too slow to compute."""
    noise = certificate.noise
    find_characteristic(noise, {0: 1.0}, np.ones(1))
    always = (
        noise.name == "laplace"
        or registered_family(type(noise)).spherical
        or _has_bound(certificate)
    )
    if not always and not _are_few(certificate, _list_alike(ways)):
        raise NotApplicable(
            family=noise.name, why="the errors of this many sums with unlike weights aren't known"
        )


def find_errors(certificate: Certificate, ways: LeastSquares, stds: Floats) -> NoiseError:
    """The errors of the sums: root-mean-square std, largest half-widths, and errors of each row.

    `stds` are the sums' standard deviations. Raises NotApplicable if half-widths are unknown.
    """
    check_known(certificate, ways)
    keys = _list_alike(ways)
    exactly = _are_few(certificate, keys)
    if certificate.noise.name == "laplace":
        exactly = int(np.count_nonzero(ways.of_noise)) <= _MOST_EXACT
    known = {key: _half_widths(certificate, key, exactly=exactly) for key in dict.fromkeys(keys)}
    widths = np.array([known[key] for key in keys], dtype=np.float64)
    widths += _rounding(certificate, ways)[:, None]
    half95, half975, half983 = (float(column.max()) for column in widths.T)
    return NoiseError(
        std=math.sqrt(float(np.mean(stds**2))),
        half95=half95,
        half975=half975,
        half983=half983,
        rows=RowErrors(std=tuple(stds.tolist()), half95=tuple(widths[:, 0].tolist())),
    )


def _list_alike(ways: LeastSquares) -> list[Alike]:
    """For each sum: the distinct absolute weights of the noisy numbers, each with its repetitions.

    They are sorted, largest first, and rounded to `_DIGITS` digits. Weights of 0 are left out.
    """
    sums: list[Alike] = []
    for weights in ways.of_noise:
        alike = Counter(float(f"{weight:.{_DIGITS}g}") for weight in np.abs(weights[weights != 0]))
        sums.append(tuple(sorted(alike.items(), reverse=True)))
    return sums


def _are_few(certificate: Certificate, keys: Sequence[Alike]) -> bool:
    most = _MOST_UNLIKE if certificate.noise.variance < 1 else _MOST_OF_WIDE
    return sum(map(len, set(keys))) <= most


def _has_bound(certificate: Certificate) -> bool:
    """True only if `_bound_geometric` applies: to two-sided geometric noise in steps of 1."""
    noise: Any = certificate.noise
    grid = certificate.grid
    if noise.name != "geometric" or noise.lattice_step != 1 or grid is None or grid > 1:
        return False
    return bool(noise.cells == noise.core == 1)


def _bound_geometric(noise: Any, alike: Alike, length: float, probability: float) -> float:
    """An upper bound on the half-width of a weighted sum S of two-sided geometric numbers.

    `alike` has each weight with its repetitions, and `length` is the l2 norm of all weights. With
    at least this `probability`, |S| is at most the bound. The bound is 0 if it is proved that all
    numbers are 0 with this probability. Otherwise it is the smaller of two bounds.

    Chernoff: P(|S| >= t) is at most twice the mean of exp(u S − u t), for any u > 0.

    Laplace: an exponential number is the sum of a geometric number and an independent fraction. So
    a Laplace number is the sum of a two-sided geometric number and an independent, symmetrically
    distributed number. Let L be the same weighted sum of Laplace numbers. L − S is symmetric and
    independent of S, so that |L| >= |S| with probability at least ½, whatever S is. So P(|S| > t)
    is at most twice P(|L| >= t).
    """
    outside, decay = 1 - probability, float(noise.decay)
    largest, numbers = alike[0][0], sum(times for _, times in alike)
    if numbers * 2 / (math.exp(decay) + 1) <= outside:
        return 0.0
    tilts = _TILTS * decay / largest
    logs = np.full(len(tilts), math.log(2 / outside))
    for weight, times in alike:
        up, down = np.exp(weight * tilts - decay), np.exp(-weight * tilts - decay)
        log_mean = 2 * math.log1p(-math.exp(-decay)) - np.log1p(-up) - np.log1p(-down)
        logs += times * log_mean
    plain = half_width_of_laplace_sum(1 - outside / 2, largest**2 / length**2)
    return min(float((logs / tilts).min()), plain * math.sqrt(2) / decay * length) * (1 + 1e-9)


def _half_widths(certificate: Certificate, alike: Alike, *, exactly: bool) -> list[float]:
    """The half-widths of a weighted sum, one for each of `PROBABILITIES`.

    `alike` has each distinct weight with the number of its repetitions. The rounding of the cells'
    estimates isn't included. Unless `exactly`, half-widths of Laplace and geometric noise are upper
    bounds.
    """
    length = math.sqrt(math.fsum(times * weight**2 for weight, times in alike))
    total = math.fsum(times * weight for weight, times in alike)
    rounded = float(certificate.grid or 0) / 2
    if certificate.noise.name == "laplace" and not exactly:
        largest = max(weight for weight, _ in alike) ** 2 / length**2
        std = length * math.sqrt(certificate.noise.variance)
        widths = (half_width_of_laplace_sum(p, largest) for p in PROBABILITIES)
        return [std * width + total * rounded for width in widths]
    if registered_family(type(certificate.noise)).spherical:
        # `half_width` includes the rounding of one number; the roundings of all numbers add up
        alone = [half_width(certificate, probability) - rounded for probability in PROBABILITIES]
        return [length * width + total * rounded for width in alone]
    if certificate.noise.name == "geometric" and not exactly:
        bounds = (_bound_geometric(certificate.noise, alike, length, p) for p in PROBABILITIES)
        return [*bounds]
    terms = [
        Term(certificate=certificate, coefficient=weight, times=times) for weight, times in alike
    ]
    return half_widths_of_sum(terms, PROBABILITIES)


def _rounding(certificate: Certificate, ways: LeastSquares) -> Floats:
    """For each sum, the most that rounding the cells' estimates can change it."""
    if ways.strategy is None:
        return np.zeros(len(ways.queries))
    step = float(certificate.grid or 0) / 2**FINER_BITS
    return np.asarray(np.abs(ways.queries).sum(axis=1) * step / 2, dtype=np.float64)
