"""The error of a published number, or of a weighted sum of several, with rounding counted.

Rounding to the grid g adds at most g/2 to an error. It counts as a uniform error, which adds g²/12
to the variance; noise far above g makes this nearly exact. Rounding adds nothing if noise on the
integers has all its points on the grid. Noise may be drawn for W·v in R^d and mapped back by W⁻¹.
Then a coordinate's error is one coordinate of the noise times its `deviation`. Rounding adds at
most √d·g/2 times the `deviation` (Cauchy–Schwarz).

Notation for sums: S = Σ c_j X_j is a weighted sum of coordinates X_j of noise, and s its standard
deviation. W is a sum of four uniform numbers, |W| <= h. S + W has a density, whose characteristic
function falls as u⁻⁴ at the frequency u, even if S lives on a lattice. As |S| <= |S + W| + h, the
interval ±(t + h) contains S with at least the probability that ±t contains S + W.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from leastnoise.calibration import ask_again, calibrate_family
from leastnoise.design.programs.effort import Effort
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.mechanism.rounding import default_grid
from leastnoise.noise.draw import (
    find_characteristic,
    find_difference,
    find_quantile,
    find_weighted,
    has_quantiles,
    list_alike,
)
from leastnoise.noise.registry import registered_family
from leastnoise.numerics.bisection import Bisection
from leastnoise.numerics.searches import IncreasingRoot

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate

_SMALLEST, _LARGEST = math.log(1e-6), math.log(1000)  # ln ε
_LEAST_TAIL = 1e-4  # smallest tail probability in the bound on a difference of two laws
_TAILS: NDArray[np.float64] = np.geomspace(1, _LEAST_TAIL, 241)
_WIDTH = Bisection(halvings=40)  # a relative error of 1e-12
_ROOT = IncreasingRoot(tolerance=2e-7, first_step=1e-3, largest_step=1.0)
# Stand for ln(target/error): the first if error = target, the second if the error is 0.
_MET, _NO_ERROR = 1e-12, 1.0
# added to ln ε, one after the other: a search for shapes in floats isn't quite monotone
_WIDENINGS = (0.0, *(2.5e-7 * 4.0**step for step in range(8)))


def standard_deviation(certificate: Certificate, coordinate: int = 0) -> float:
    """The standard deviation of a coordinate's error, with rounding as a uniform error.

    Where the noise isn't far above the grid g, this is a mean over all values, not a bound. For g
    above 16 standard deviations of the noise, it is an upper bound.
    """
    noise, added = certificate.noise, _rounding_grid(certificate)
    factor, spread = _map_factors(certificate, coordinate)
    variance = noise.variance_at(coordinate)
    deviation = math.sqrt(variance)
    if added > 16 * deviation:  # then the rounding error is not blurred by the noise
        return factor * (deviation + spread * added / 2)
    return factor * math.sqrt(variance + added * added / 12)


def half_width(certificate: Certificate, probability: float, coordinate: int = 0) -> float:
    """The half-width t of one coordinate's error: P(|error| <= t) >= probability.

    The noise's part of t is accurate to about 1e-10 (relative); the largest rounding error is
    added. Raises InvalidArgument unless 0 < probability < 1.
    """
    factor, spread = _map_factors(certificate, coordinate)
    quantile = find_quantile(certificate.noise, probability, coordinate)
    if (
        certificate.noise.lattice_step == 1
    ):  # an integer, except for rounding in a division by the scale
        quantile = float(round(quantile))
    return factor * (quantile + spread * _rounding_grid(certificate) / 2)


def half_width_of_quotient(
    certificate: Certificate, probability: float, coordinates: tuple[int, int], ratio: float
) -> float | None:
    """The half-width t of E_i − ratio·E_j, for the errors E_i and E_j of two numbers of one draw.

    P(|E_i − ratio·E_j| <= t) >= probability. `coordinates` are i and j, and ratio >= 0. None if the
    joint law of the errors isn't known.
    """
    if certificate.geometry is not None:
        return None
    quantile = find_difference(certificate.noise, probability, coordinates, ratio)
    return None if quantile is None else quantile + (1 + ratio) * _rounding_grid(certificate) / 2


def half_width_of_three(
    certificate: Certificate,
    probability: float,
    coordinates: tuple[int, int, int],
    weights: tuple[float, float, float],
) -> float | None:
    """The half-width t of Σ w_j E_j, where the E_j are errors of three coordinates of one draw.

    P(|Σ w_j E_j| <= t) >= probability. The three `coordinates` are the j, and `weights` the w_j >=
    0. None if the joint law of the errors isn't known.
    """
    if certificate.geometry is not None:
        return None
    quantile = find_weighted(certificate.noise, probability, coordinates, weights)
    return None if quantile is None else quantile + sum(weights) * _rounding_grid(certificate) / 2


def half_widths(certificate: Certificate, probability: float) -> NDArray[np.float64]:
    """The half-width of every coordinate's error, as in `half_width`; shape (dimension,).

    Raises InvalidArgument unless 0 < probability < 1, NotApplicable if the law of a coordinate
    isn't known.
    """
    noise, dimension = certificate.noise, certificate.dimension
    if not has_quantiles(noise):
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    if certificate.geometry is not None:
        deviations = certificate.geometry.deviations
        return half_width(certificate, probability) * (deviations / deviations[0])
    alike = list_alike(noise)
    if not alike.any():  # all coordinates are alike: a view of one number
        return np.broadcast_to(np.float64(half_width(certificate, probability)), dimension)
    first, which = np.unique(alike, return_inverse=True)
    widths = np.array(
        [half_width(certificate, probability, coordinate) for coordinate in first.tolist()]
    )
    return np.asarray(widths[which.reshape(-1)], dtype=np.float64)


Summed = tuple["Certificate", Mapping[int, float]]
"""The certificate of a draw, and the weights of the one or two coordinates that are summed."""


def difference_half_width(left: Summed, right: Summed, probability: float) -> float:
    """A t with P(|E − E'| <= t) >= probability, for independent errors E and E' of two numbers.

    Notation: X and X' are their noise, without rounding; |X| <= q_i with probability >= 1 − u_i,
    for the fixed tails u_i in _TAILS. S(t), the smallest u_i with q_i <= t, bounds P(|X| > t); S'
    does the same for X'. The law of X' is symmetric, so for |x| <= b <= t

        P(|X' − x| > t) = P(X' > t − |x|) + P(X' > t + |x|) <= S'(t − b)/2 + S'(t)/2.

    This increases with b, and |X| is stochastically at most the variable that has the value q_i
    with probability u_{i−1} − u_i. The rounding of both numbers is added. For two Gaussians, t is
    less than 5 % above the smallest possible. Raises NotApplicable if the law of a number isn't
    known, and InvalidArgument unless 0 < probability < 0.9999.
    """
    if not 0 < probability < 1 - _LEAST_TAIL:
        expected = f"0 < probability < {1 - _LEAST_TAIL}"
        raise InvalidArgument(name="probability", value=probability, expected=expected)
    first, second = _list_half_widths(*left), _list_half_widths(*right)
    outside = 1 - probability  # either law may be split into steps
    width = min(
        _width_of_difference(first, second, outside), _width_of_difference(second, first, outside)
    )
    for certificate, weights in (left, right):
        for coordinate, weight in weights.items():
            factor, spread = _map_factors(certificate, coordinate)
            width += abs(weight) * factor * spread * _rounding_grid(certificate) / 2
    return width


def _list_half_widths(
    certificate: Certificate, weights: Mapping[int, float]
) -> NDArray[np.float64]:
    """The half-widths q_i of a number's noise X, for each tail u_i in _TAILS; the first is 0.

    P(|X| <= q_i) >= 1 − u_i. `weights` sum one or two coordinates to the number. Raises
    NotApplicable if the law of X isn't known.
    """
    noise, (first, *others) = certificate.noise, weights
    if not has_quantiles(noise):
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    scale, tails = abs(weights[first]), _TAILS[1:].tolist()
    if not others:
        scale *= _map_factors(certificate, first)[0]
        return scale * np.array(
            [
                0.0,
                *(find_quantile(noise, 1 - tail_probability, first) for tail_probability in tails),
            ]
        )
    (second,) = others
    widths, ratio = [0.0], abs(weights[second]) / scale
    for tail in tails:
        width = find_difference(noise, 1 - tail, (first, second), ratio)
        if width is None or certificate.geometry is not None:
            raise NotApplicable(family=noise.name, why="the law of two coordinates isn't known")
        widths.append(width)
    return scale * np.array(widths)


def _width_of_difference(
    first: NDArray[np.float64], second: NDArray[np.float64], outside: float
) -> float:
    """A t that |X' − X| exceeds with probability at most `outside`.

    It follows from the bound in `difference_half_width`. `first` and `second` are the half-widths
    q_i of the noise X and X' of two numbers.
    """
    masses = -np.diff(_TAILS)

    def bound(t: float) -> float:
        remaining = t - first[1:]
        tail = _TAILS[np.searchsorted(second, remaining, side="right") - 1]
        far = _TAILS[np.searchsorted(second, t, side="right") - 1]
        return float(masses @ np.where(remaining >= 0, (tail + far) / 2, 1.0)) + _LEAST_TAIL

    farthest = float(first[-1] + second[-1])
    return _WIDTH.close(lambda t: bound(t) <= outside, 0.0, farthest)[1]


def calibrate_to_accuracy(
    certificate: Certificate, target: float, probability: float
) -> Certificate:
    """Calibrate the same family at the smallest ε whose half-widths are at most `target`.

    The half-width of each coordinate is for this `probability`. Sensitivity, geometry, δ, number of
    releases and sampling rate stay the same. ε is accurate to a relative 1e-6, or to the accuracy
    of the search for a shape; no half-width exceeds `target`. For noise on integers, errors may
    jump up at an ε where the best shape changes. Then smaller ε nearby are tried, too. Raises
    Refused if no such ε is found between 1e-6 and 1,000.
    """
    digits = 9  # significant digits of ε

    def certificate_at(log_epsilon: float) -> Certificate:
        if not _SMALLEST <= log_epsilon <= _LARGEST:
            raise Refused(_out_of_range(log_epsilon))
        return _calibrate_at(certificate, Fraction(f"{math.exp(log_epsilon):.{digits}g}"))

    def excess(log_epsilon: float) -> float:
        """The logarithm ln(target/error), above 0 if the target is met; it grows with ε."""
        error = _largest(certificate_at(log_epsilon), probability)
        return (math.log(target / error) or _MET) if error else _NO_ERROR

    guess = math.log(float(certificate.budget.epsilon) or 1.0)
    if now := _largest(certificate, probability):  # it may be 0 for noise on integers
        guess += math.log(now / target)
    last_above = _ROOT.find(excess, guess=min(max(guess, _SMALLEST), _LARGEST))
    if certificate.noise.for_whole_numbers:
        spacing, most = 0.02, 32  # steps down in ln ε, where errors on integers may be small, too
        looks = (last_above - look * spacing for look in range(most, 0, -1))
        met = next((x for x in looks if x >= _SMALLEST and excess(x) > 0), None)
        last_above = last_above if met is None else _ROOT.find(excess, guess=met)
    for more in _WIDENINGS:
        candidate = certificate_at(last_above + more)
        if _largest(candidate, probability) <= target:
            return candidate
    raise Refused(
        f"No epsilon tried near {math.exp(last_above):.6g} had errors of at most half_width. Try "
        "a slightly larger half_width."
    )


def _largest(certificate: Certificate, probability: float) -> float:
    return float(half_widths(certificate, probability).max())


def _out_of_range(log_epsilon: float) -> str:
    if log_epsilon > _LARGEST:
        return "No epsilon up to 1,000 has errors this small. Give a larger half_width."
    return "An epsilon below 1e-6 is enough for this half_width. Give a smaller one."


def _rounding_grid(certificate: Certificate) -> float:
    """The grid, or 0 if rounding to it changes no value."""
    grid, step = certificate.grid or Fraction(0), certificate.noise.lattice_step
    if step is not None and 0 < grid <= 1:  # the values are integers, and lie on the grid
        return 0.0 if (step / grid).denominator == 1 else float(grid)
    return float(grid)


def _map_factors(certificate: Certificate, coordinate: int) -> tuple[float, float]:
    """The factor by which W⁻¹ multiplies a coordinate's noise, and a factor for rounding errors.

    The second factor is relative to the first: √d for noise in R^d. Without a geometry both are 1.
    """
    if certificate.geometry is None:
        return 1.0, 1.0
    deviation = float(certificate.geometry.deviations[coordinate])
    return deviation, math.sqrt(certificate.noise.dimension)


def _calibrate_at(certificate: Certificate, epsilon: Fraction) -> Certificate:
    family = type(certificate.noise)
    design = registered_family(family).part("design")
    question = ask_again(certificate, Budget(epsilon=epsilon, delta=certificate.budget.delta))
    search = partial(design, effort=Effort()) if design else None
    least = calibrate_family(family, question, search=search).certificate
    return least.on_grid(default_grid(least.noise))


_SMOOTH = 0.01  # h/s: about the relative excess of a half-width
_OF_WHOLE = 0.4  # h if S is an integer: 2h < 1 distinguishes integers
_SMOOTH_WHOLE = 0.001  # h/s for wide integer noise, so that the series has at most 2^20 terms


@final
@dataclass(frozen=True, kw_only=True)
class Term:
    """A group of terms of a weighted sum S: `times` numbers of one draw, times `coefficient`.

    If a cell has several numbers, whose noise is dependent, `times` counts cells instead. Then each
    cell adds `coefficient` times the sum of its numbers, each number times its entry in `weights`.
    """

    certificate: Certificate
    coefficient: float
    times: int
    weights: tuple[float, ...] = (1.0,)

    @property
    def parts(self) -> dict[int, float]:
        """The nonzero factors of a cell's numbers, by the index of the number in its cell."""
        coefficients = {j: self.coefficient * weight for j, weight in enumerate(self.weights)}
        return {j: value for j, value in coefficients.items() if value}


def deviation_of_sum(terms: Sequence[Term]) -> float:
    """The standard deviation of the sum S of all `terms`, with rounding."""
    return math.sqrt(math.fsum(
        term.times * (part * standard_deviation(term.certificate, index)) ** 2
        for term in terms
        for index, part in term.parts.items()
    ))  # fmt: skip


def half_widths_of_sum(terms: Sequence[Term], probabilities: Sequence[float]) -> list[float]:
    """The half-width t of the sum S of all `terms`, for each of the `probabilities`.

    P(|S| <= t) >= probability, with rounding to the grids. For one number, t is as in `half_width`.
    For a sum of integers with a standard deviation below 400, it is exact; otherwise it is up to 2
    % too large. Raises NotApplicable if a characteristic function isn't known.
    """
    some = [term for term in terms if term.parts]
    if len(some) == 1 and some[0].times == 1 and len(some[0].parts) == 1:
        ((index, part),) = some[0].parts.items()
        widths = [half_width(some[0].certificate, p, index) for p in probabilities]
        return [abs(part) * width for width in widths]
    deviation = deviation_of_sum(some)
    whole = all(term.parts == {0: 1} and _is_whole(term.certificate) for term in some)
    smooth = max(_OF_WHOLE, _SMOOTH_WHOLE * deviation) if whole else _SMOOTH * deviation
    half_period = 18.0 * deviation + smooth  # of the Fourier series; a Laplace tail beyond is e^-25
    last = 30.0  # largest u·h/4; beyond it sin(x)⁴/x⁴ is about 1e-6, and the terms alternate
    counts = np.arange(1, math.ceil(4 * last / smooth * half_period / math.pi) + 1)
    frequencies = np.asarray(counts * (math.pi / half_period), dtype=np.float64)
    weights = (2 / math.pi) * np.sinc(frequencies * smooth / 4 / math.pi) ** 4 / counts
    for term in some:
        values = find_characteristic(term.certificate.noise, term.parts, frequencies)
        weights = weights * values**term.times
        large = np.flatnonzero(np.abs(weights) > 1e-17)  # other weights only get smaller
        weights, frequencies = weights[large], frequencies[large]
    rounding = math.fsum(
        term.times * sum(map(abs, term.parts.values())) * float(term.certificate.grid or 0) / 2
        for term in some
        if not _is_whole(term.certificate)
    )
    root = IncreasingRoot(tolerance=1e-7 * deviation)
    widths_of_sum: list[float] = []
    for probability in probabilities:

        def missed(t: float, probability: float = probability) -> float:
            return probability - t / half_period - float(weights @ np.sin(frequencies * t))

        end = root.between(missed, safe=half_period, unsafe=0.0) + smooth
        widths_of_sum.append(math.floor(end) if whole else end + rounding)
    return widths_of_sum


def _is_whole(certificate: Certificate) -> bool:
    """True if the noise is on the integers, and its grid contains all integers."""
    grid = certificate.grid
    return certificate.noise.lattice_step == 1 and grid is not None and grid <= 1
