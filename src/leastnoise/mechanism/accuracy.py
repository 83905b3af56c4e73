"""How far a published number may be off, rounding counted: one, or a weighted sum of several.

Rounding to the grid adds at most g/2 to an error, and g²/12 to its variance (a uniform error);
nothing where all points of noise on the whole numbers are on the grid. Where noise is drawn for W·v
and mapped back by W⁻¹, a coordinate's error is one coordinate of the noise times its `deviation`,
and rounding adds at most √d·g/2 times that (Cauchy & Schwarz).

notation: S = Σ c_j X_j, s its standard deviation; W a sum of four uniform numbers, |W| <= h. S + W
has a density, whose characteristic function falls as u⁻⁴ whatever lattice S lives on, and
|S| <= |S + W| + h: t + h holds S with the probability with which t holds S + W.
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
from leastnoise.noise.registry import registered
from leastnoise.numerics.bisection import Bisection
from leastnoise.numerics.searches import IncreasingRoot

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate

_SMALLEST, _LARGEST = math.log(1e-6), math.log(1000)  # ln ε
_LEAST_TAIL = 1e-4  # of a law whose difference from another is bounded
_TAILS: NDArray[np.float64] = np.geomspace(1, _LEAST_TAIL, 241)
_WIDTH = Bisection(halvings=40)  # which leave a relative 1e-12
_ROOT = IncreasingRoot(tolerance=2e-7, first_step=1e-3, largest_step=1.0)
_MET, _NONE = 1e-12, 1.0  # ln(target/error) where they are equal, and where the error is 0
# of ln ε, in turn: a search for shapes in floats isn't quite monotone
_WIDENINGS = (0.0, *(2.5e-7 * 4.0**step for step in range(8)))


def standard_deviation(certificate: Certificate, coordinate: int = 0) -> float:
    """Return the standard deviation of a coordinate's error."""
    noise, added = certificate.noise, _added(certificate)
    factor, spread = _mapped(certificate, coordinate)
    variance = noise.variance_at(coordinate)
    deviation = math.sqrt(variance)
    if added > 16 * deviation:  # then the noise doesn't blur what rounding does to a value
        return factor * (deviation + spread * added / 2)
    return factor * math.sqrt(variance + added * added / 12)


def half_width(certificate: Certificate, probability: float, coordinate: int = 0) -> float:
    """Return t with P(|error| <= t) >= probability, of one coordinate; accurate to about 1e-10.

    Raises InvalidArgument unless 0 < probability < 1.
    """
    factor, spread = _mapped(certificate, coordinate)
    quantile = find_quantile(certificate.noise, probability, coordinate)
    if certificate.noise.lattice_step == 1:  # a whole number, but for its division by the scale
        quantile = float(round(quantile))
    return factor * (quantile + spread * _added(certificate) / 2)


def half_width_of_quotient(
    certificate: Certificate, probability: float, places: tuple[int, int], ratio: float
) -> float | None:
    """Return t with P(|E_i − ratio·E_j| <= t) >= probability, of two errors of one draw.

    None where their law isn't known; ratio >= 0.
    """
    if certificate.geometry is not None:
        return None
    found = find_difference(certificate.noise, probability, places, ratio)
    return None if found is None else found + (1 + ratio) * _added(certificate) / 2


def half_width_of_three(
    certificate: Certificate,
    probability: float,
    places: tuple[int, int, int],
    weights: tuple[float, float, float],
) -> float | None:
    """Find t with P(|Σ w_j E_j| <= t) >= probability, of three errors of one draw; weights >= 0.

    None where their law isn't known.
    """
    if certificate.geometry is not None:
        return None
    found = find_weighted(certificate.noise, probability, places, weights)
    return None if found is None else found + sum(weights) * _added(certificate) / 2


def half_widths(certificate: Certificate, probability: float) -> NDArray[np.float64]:
    """Return `half_width` of every coordinate, shape (dimension,).

    Raises InvalidArgument unless 0 < probability < 1, NotApplicable where the law of a coordinate
    isn't known.
    """
    noise, dimension = certificate.noise, certificate.dimension
    if not has_quantiles(noise):
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    if certificate.geometry is not None:
        deviations = certificate.geometry.deviations
        return half_width(certificate, probability) * (deviations / deviations[0])
    alike = list_alike(noise)
    if not alike.any():  # one number, seen as often as there are coordinates
        return np.broadcast_to(np.float64(half_width(certificate, probability)), dimension)
    first, which = np.unique(alike, return_inverse=True)
    found = np.array([half_width(certificate, probability, one) for one in first.tolist()])
    return np.asarray(found[which.reshape(-1)], dtype=np.float64)


Summed = tuple["Certificate", Mapping[int, float]]
"""A draw of noise, and the weights of the one or two coordinates that a number is the sum of."""


def difference_half_width(one: Summed, other: Summed, probability: float) -> float:
    """Return t with P(|E − E'| <= t) >= probability, of two numbers' independent errors.

    notation: X, X' = their noise; |X| <= q_i with probability 1 − u_i, so that S(t), the least u_i
    with q_i <= t, bounds P(|X| > t), and S' likewise. The law of X' is symmetric, so that for |x|
    <= b <= t

        P(|X' − x| > t) = P(X' > t − |x|) + P(X' > t + |x|) <= S'(t − b)/2 + S'(t)/2,

    which grows with b, and |X| is at most as large as what is q_i with probability u_{i−1} − u_i.
    What rounding adds to both is added. Of two Gaussians it is less than 5 % above the least t.
    Raises NotApplicable where the law of a number isn't known.
    """
    if not 0 < probability < 1 - _LEAST_TAIL:
        expected = f"0 < probability < {1 - _LEAST_TAIL}"
        raise InvalidArgument(name="probability", value=probability, expected=expected)
    first, second = _reaches(*one), _reaches(*other)
    outside = 1 - probability  # either may be the one that is split up
    found = min(_convolved(first, second, outside), _convolved(second, first, outside))
    for certificate, weights in (one, other):
        for coordinate, weight in weights.items():
            factor, spread = _mapped(certificate, coordinate)
            found += abs(weight) * factor * spread * _added(certificate) / 2
    return found


def _reaches(certificate: Certificate, weights: Mapping[int, float]) -> NDArray[np.float64]:
    """Return q_i with P(|X| <= q_i) >= 1 − u_i, for each of _TAILS; the first is 0."""
    noise, (first, *others) = certificate.noise, weights
    if not has_quantiles(noise):
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    scale, tails = abs(weights[first]), _TAILS[1:].tolist()
    if not others:
        scale *= _mapped(certificate, first)[0]
        return scale * np.array([0.0, *(find_quantile(noise, 1 - one, first) for one in tails)])
    (second,) = others
    found, ratio = [0.0], abs(weights[second]) / scale
    for tail in tails:
        width = find_difference(noise, 1 - tail, (first, second), ratio)
        if width is None or certificate.geometry is not None:
            raise NotApplicable(family=noise.name, why="the law of two coordinates isn't known")
        found.append(width)
    return scale * np.array(found)


def _convolved(first: NDArray[np.float64], second: NDArray[np.float64], outside: float) -> float:
    """Return t such that P(|X' − X| > t) <= outside, by the bound of `difference_half_width`."""
    masses = -np.diff(_TAILS)

    def bound(t: float) -> float:
        left = t - first[1:]
        tail = _TAILS[np.searchsorted(second, left, side="right") - 1]
        far = _TAILS[np.searchsorted(second, t, side="right") - 1]
        return float(masses @ np.where(left >= 0, (tail + far) / 2, 1.0)) + _LEAST_TAIL

    farthest = float(first[-1] + second[-1])
    return _WIDTH.close(lambda t: bound(t) <= outside, 0.0, farthest)[1]


def at_accuracy(certificate: Certificate, target: float, probability: float) -> Certificate:
    """Return the same family's certificate at the least ε with which no error passes `target`.

    For the same sensitivity, geometry, δ, number of releases and rate of samples. ε is found to a
    relative 1e-6 or, where a shape is searched, as near as its search is; the error is never above
    `target`. Where the shape jumps, errors on whole numbers may grow by a step as ε does: then it
    is the least of those near it. Raises Refused unless that ε is between 1e-6 and 1,000.
    """
    digits = 9  # of ε

    def calibrated(log_epsilon: float) -> Certificate:
        if not _SMALLEST <= log_epsilon <= _LARGEST:
            raise Refused(_out_of_range(log_epsilon))
        return _calibrated(certificate, Fraction(f"{math.exp(log_epsilon):.{digits}g}"))

    def excess(log_epsilon: float) -> float:
        """Return ln(target/error), which grows with ε; above 0 where the target is met."""
        error = _largest(calibrated(log_epsilon), probability)
        return (math.log(target / error) or _MET) if error else _NONE

    guess = math.log(float(certificate.budget.epsilon) or 1.0)
    if now := _largest(certificate, probability):  # 0 of whole numbers that mostly get no noise
        guess += math.log(now / target)
    last_above = _ROOT.find(excess, guess=min(max(guess, _SMALLEST), _LARGEST))
    if certificate.noise.for_whole_numbers:
        apart, most = 0.02, 32  # of ln ε: where else whole numbers may have so small an error
        looks = (last_above - look * apart for look in range(most, 0, -1))
        met = next((x for x in looks if x >= _SMALLEST and excess(x) > 0), None)
        last_above = last_above if met is None else _ROOT.find(excess, guess=met)
    for more in _WIDENINGS:
        found = calibrated(last_above + more)
        if _largest(found, probability) <= target:
            return found
    raise Refused(f"No epsilon near {math.exp(last_above):.6g} was found with which it is so.")


def _largest(certificate: Certificate, probability: float) -> float:
    return float(half_widths(certificate, probability).max())


def _out_of_range(log_epsilon: float) -> str:
    if log_epsilon > _LARGEST:
        return "No epsilon up to 1,000 has so small errors. Give a larger half_width."
    return "An epsilon below 1e-6 is enough for this half_width. Give a smaller one."


def _added(certificate: Certificate) -> float:
    """Return the grid, 0 where rounding to it changes nothing."""
    grid, step = certificate.grid or Fraction(0), certificate.noise.lattice_step
    if step is not None and 0 < grid <= 1:  # values are whole, and the grid a power of two
        return 0.0 if (step / grid).denominator == 1 else float(grid)
    return float(grid)


def _mapped(certificate: Certificate, coordinate: int) -> tuple[float, float]:
    """Return the factor of W⁻¹ on a coordinate's noise, and the most on the error of rounding."""
    if certificate.geometry is None:
        return 1.0, 1.0
    deviation = float(certificate.geometry.deviations[coordinate])
    return deviation, math.sqrt(certificate.noise.dimension)


def _calibrated(certificate: Certificate, epsilon: Fraction) -> Certificate:
    family = type(certificate.noise)
    design = registered(family).part("design")
    question = ask_again(certificate, Budget(epsilon=epsilon, delta=certificate.budget.delta))
    search = partial(design, effort=Effort()) if design else None
    least = calibrate_family(family, question, search=search).certificate
    return least.on_grid(default_grid(least.noise))


_SMOOTH = 0.01  # h/s: how much wider than need be a half-width is, about
_OF_WHOLE = 0.4  # h where S is whole: 2h below 1 tells whole numbers apart
_SMOOTH_WHOLE = 0.001  # h/s of wide whole noise, so that the series has no more than 2^20 terms


@final
@dataclass(frozen=True, kw_only=True)
class Term:
    """So many numbers of one draw (`times`), each with this `coefficient`.

    Of noise in cells of several numbers, which may depend on each other, so many cells: each counts
    as its numbers times `weights`, in their order.
    """

    certificate: Certificate
    coefficient: float
    times: int
    weights: tuple[float, ...] = (1.0,)

    @property
    def parts(self) -> dict[int, float]:
        """The coefficients that aren't 0, by the place of a number in its cell."""
        found = {j: self.coefficient * weight for j, weight in enumerate(self.weights)}
        return {j: one for j, one in found.items() if one}


def deviation_of_sum(terms: Sequence[Term]) -> float:
    """Return the standard deviation of S, rounding to the draws' grids counted."""
    return math.sqrt(math.fsum(
        one.times * (part * standard_deviation(one.certificate, place)) ** 2
        for one in terms
        for place, part in one.parts.items()
    ))  # fmt: skip


def half_widths_of_sum(terms: Sequence[Term], probabilities: Sequence[float]) -> list[float]:
    """Return t with P(|S| <= t) >= probability for each, rounding to the draws' grids counted.

    Exact for one number and where all numbers are whole with s below 400, else up to 2 % more than
    need be. Raises
    NotApplicable for noise whose characteristic function isn't known here.
    """
    some = [one for one in terms if one.parts]
    if len(some) == 1 and some[0].times == 1 and len(some[0].parts) == 1:
        ((place, part),) = some[0].parts.items()
        alone = [half_width(some[0].certificate, one, place) for one in probabilities]
        return [abs(part) * one for one in alone]
    deviation = deviation_of_sum(some)
    whole = all(one.parts == {0: 1} and _is_whole(one.certificate) for one in some)
    smooth = max(_OF_WHOLE, _SMOOTH_WHOLE * deviation) if whole else _SMOOTH * deviation
    half_period = 18.0 * deviation + smooth  # of the Fourier series: Laplace's tail beyond is e^-25
    last = 30.0  # of u h/4, from where on sin(x)⁴/x⁴ is about 1e-6, and alternates
    counts = np.arange(1, math.ceil(4 * last / smooth * half_period / math.pi) + 1)
    places = np.asarray(counts * (math.pi / half_period), dtype=np.float64)
    weights = (2 / math.pi) * np.sinc(places * smooth / 4 / math.pi) ** 4 / counts
    for one in some:
        each = find_characteristic(one.certificate.noise, one.parts, places)
        weights = weights * each**one.times
        kept = np.flatnonzero(np.abs(weights) > 1e-17)  # of a probability; others only get smaller
        weights, places = weights[kept], places[kept]
    rounding = math.fsum(
        one.times * sum(map(abs, one.parts.values())) * float(one.certificate.grid or 0) / 2
        for one in some
        if not _is_whole(one.certificate)
    )
    root = IncreasingRoot(tolerance=1e-7 * deviation)
    found: list[float] = []
    for probability in probabilities:

        def missed(t: float, probability: float = probability) -> float:
            return probability - t / half_period - float(weights @ np.sin(places * t))

        end = root.between(missed, safe=half_period, unsafe=0.0) + smooth
        found.append(math.floor(end) if whole else end + rounding)
    return found


def _is_whole(certificate: Certificate) -> bool:
    """Whether its noise is of whole numbers, which its grid has all of."""
    grid = certificate.grid
    return certificate.noise.lattice_step == 1 and grid is not None and grid <= 1
