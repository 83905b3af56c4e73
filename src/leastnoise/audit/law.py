"""The distribution function of the claimed noise, enclosed; and bounds on its centre.

Notation: P is a probability, X a coordinate of the claimed noise. A coordinate of an output is Y =
c + X, with the unknown centre c.

The distribution is computed in balls for families that provide P(X > t). For other families it is
inverted from their quantiles, which are floats with a relative error of about 1e-10. A user's
distribution is called. In both of these cases 1e-9 is added on either side.

A draw may differ from a draw of the claimed noise by up to 2^-20 of the spread. The reason may be
rounding to a grid or in floats, for instance. The spread of noise on whole numbers is at least 1.

A number near the middle of the outputs, the anchor, is subtracted first. So thresholds and centres
are near 0, where floats are dense. Near 1e17 no float would lie between two neighbouring outputs.

The module also words the statements that refute the claimed noise at every centre.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise import _words
from leastnoise.audit import binomial
from leastnoise.balls.core import PLAIN_BITS, float_above, float_below, precision
from leastnoise.errors import InvalidArgument
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.draw import find_quantile, has_quantiles
from leastnoise.noise.registry import registered_family
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.audit.claim import Claim, Distribution
    from leastnoise.noise.base import Noise

_MARGIN = 1e-9
_INSIDE = Bisection(halvings=44)  # accurate to 1e-13, below the margin
_GUESS = Bisection(halvings=60)
_ROUNDING = 2.0**-20
_LARGEST = 1e300
MANY = 0.01  # a value that at least this share of the outputs has gets thresholds on both sides


class ClaimedLaw(ABC):
    """The law of a coordinate X of the claimed noise, with bounds on its distribution function."""

    whole: bool = False
    """True if the noise is only added to whole numbers."""
    on_whole_numbers: bool = False
    """True if the noise itself is a whole number, too."""
    spread: float
    """The approximate standard deviation; for a user's distribution the interquartile range."""

    @property
    def strange(self) -> str:
        """The kinds of output that the claim rules out at every centre, in words."""
        return "NaN, ±inf and fractions" if self.on_whole_numbers else "NaN and ±inf"

    @property
    def beside(self) -> float:
        """The largest distance of a threshold from the output next to which it is set."""
        distance = 2.0**-10  # relative to the spread
        return self.spread * distance

    @abstractmethod
    def _enclose(self, t: float) -> tuple[float, float]:
        """A lower and an upper bound on P(X <= t), for exact draws X of the claimed noise."""

    def distribution(self, t: float) -> tuple[float, float]:
        """Lower and upper bounds on P(X' <= t), whenever |X' − X| is at most 2^-20 spreads."""
        floats = 2.0**-50  # relative rounding of t = u − c, a few times 2^-53
        slack = self.spread * _ROUNDING + abs(t) * floats
        return self._enclose(t - slack)[0], self._enclose(t + slack)[1]

    def inverse_above(self, probability: float) -> float:
        """A point u where P(X <= u) > `probability` is certain; inf if the search fails.

        The inequality holds as well for every number that differs from X by at most 2^-20 spreads.
        """
        return self._above(
            lambda u: self.distribution(u)[0] > probability, start=self.quantile(probability)
        )

    def inverse_below(self, probability: float) -> float:
        """A point u where P(X <= u) < `probability` is certain; −inf if the search fails.

        The inequality holds as well for every number that differs from X by at most 2^-20 spreads.
        """
        return -self._above(
            lambda u: self.distribution(-u)[1] < probability, start=-self.quantile(probability)
        )

    @abstractmethod
    def quantile(self, probability: float) -> float:
        """Approximate the point u with P(X <= u) = `probability`, as a start for a search."""

    def _above(self, holds: Callable[[float], bool], *, start: float) -> float:
        """A point just above the guess `start` where `holds` is True; inf if the search fails.

        If `holds` is True at a point, it must be True at every larger point.
        """
        if not math.isfinite(start):
            return math.inf
        low, step = start, 2 * _ROUNDING * self.spread
        for _ in range(60):
            if holds(high := low + step):
                break
            low, step = high, 2 * step
        else:
            return math.inf
        return Bisection(within=2 * _ROUNDING * self.spread).close(holds, low, high)[1]


def claimed_law(claim: Claim, dimension: int) -> ClaimedLaw | str:
    """The law of a coordinate of the claimed noise, or the reason why it is unknown."""
    noise = claim.noise
    if claim.distribution is not None:
        return _UserLaw(claim.distribution)
    if noise is None:
        return "The claim names no noise."
    if noise.dimension != dimension:
        return f"The claimed noise has {noise.dimension:,} numbers, outputs have {dimension:,}."
    if isinstance(noise, VectorNoise) or not has_quantiles(noise):
        return f"The law of a coordinate of {noise.name} noise isn't known here."
    return _KnownLaw(noise)


@final
class _KnownLaw(ClaimedLaw):
    """The law of a known family, from enclosures of P(X > t), or else from quantiles.

    Let Q(p) be the quantile of |X| at the probability p. For symmetric noise P(|X| <= t) is the
    largest p with Q(p) <= t.
    """

    def __init__(self, noise: Noise) -> None:
        self.whole = noise.for_whole_numbers
        spread = math.sqrt(noise.variance)
        self.spread = max(spread, 1.0) if self.whole else spread
        self._step = noise.lattice_step
        self.on_whole_numbers = self._step is not None and self._step.denominator == 1
        self._noise, self._beyond = noise, registered_family(type(noise)).part("beyond")
        self._inside = lru_cache(maxsize=None)(self._inside_of)

    @property
    def beside(self) -> float:
        """The distance as in `ClaimedLaw`, or half a lattice step for noise on a lattice."""
        return super().beside if self._step is None else float(self._step) / 2

    def _enclose(self, t: float) -> tuple[float, float]:
        if self._beyond is not None and math.isfinite(t):
            with precision(PLAIN_BITS):
                below = 1 - self._beyond(self._noise, Fraction(t), 0)
                return max(0.0, float_below(below)), min(1.0, float_above(below))
        # a point t < 0 belongs to P(X <= t) = P(X >= |t|) = (1 − P(|X| < |t|))/2
        at = self._inside(t) if t >= 0 else self._inside(math.nextafter(-t, 0))
        about = (1 + at) / 2 if t >= 0 else (1 - at) / 2
        return max(0.0, about - _MARGIN), min(1.0, about + _MARGIN)

    def _inside_of(self, t: float) -> float:
        """The probability P(|X| <= t), with an error of about 1e-10."""
        if t < 0:
            return 0.0
        return _INSIDE.close(lambda p: not find_quantile(self._noise, p) <= t, 0.0, 1.0)[0]

    def quantile(self, probability: float) -> float:
        if not 0 < probability < 1:
            return math.copysign(math.inf, probability - 0.5)
        if abs(probability - 0.5) < _MARGIN:
            return 0.0
        inside = min(abs(2 * probability - 1), math.nextafter(1, 0))
        return math.copysign(find_quantile(self._noise, inside), probability - 0.5)


@final
class _UserLaw(ClaimedLaw):
    """The claimed law if the user gave its distribution function."""

    def __init__(self, distribution: Distribution) -> None:
        self._distribution = distribution
        self.spread = 1.0
        self.spread = max(self.quantile(0.75) - self.quantile(0.25), 1e-300)

    def quantile(self, probability: float) -> float:
        """Find the quantile by bisection: first a range that contains it, then the point.

        It is −inf or inf if the probability is within 1e-9 of 0 or 1.
        """
        if not _MARGIN < probability < 1 - _MARGIN:
            return math.copysign(math.inf, probability - 0.5)
        high = self.spread
        while self._enclose(high)[1] <= probability and high < _LARGEST:
            high *= 2
        low = -high
        while self._enclose(low)[0] > probability and low > -_LARGEST:
            low *= 2
        return _GUESS.close(lambda t: self._enclose(t)[0] > probability, low, high)[1]

    def _enclose(self, t: float) -> tuple[float, float]:
        try:
            probability = float(self._distribution(t))
        except (TypeError, ValueError):
            probability = math.nan
        if not 0 <= probability <= 1:
            raise InvalidArgument(
                name="distribution",
                value="another function",
                expected="distribution(t) to return P(X <= t), a number from 0 to 1",
            )
        return max(0.0, probability - _MARGIN), min(1.0, probability + _MARGIN)


@final
@dataclass(frozen=True, kw_only=True)
class Sample:
    """Outputs of one coordinate minus `anchor`, in two parts.

    `chosen` are the outputs that choose thresholds, and `counted` the others. `strange` counts the
    outputs, of `size` in all, that the noise can't produce: NaN, ±inf, and fractions for noise on
    whole numbers.
    """

    anchor: float
    chosen: NDArray[np.float64]
    counted: NDArray[np.float64]
    strange: int
    size: int

    @classmethod
    def of(cls, outputs: NDArray[np.float64], law: ClaimedLaw) -> Sample:
        """Split the outputs into a first tenth, which chooses thresholds, and the others."""
        tenth = outputs.size // 10
        finite = np.isfinite(outputs)
        known = outputs[:tenth][finite[:tenth]]
        anchor = float(np.sort(known)[known.size // 2]) if known.size else 0.0
        strange = ~finite
        if law.whole:
            anchor = float(np.rint(anchor))
        with np.errstate(all="ignore"):
            if law.on_whole_numbers:
                strange |= np.abs(outputs - np.rint(outputs)) > law.spread * _ROUNDING
            shifted = outputs - anchor  # rounding to nearest keeps the order
        return cls(
            anchor=anchor,
            chosen=shifted[:tenth],
            counted=shifted[tenth:],
            strange=int(strange.sum()),
            size=outputs.size,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Centre:
    """Bounds on the centre c of the outputs Y = c + X, minus `anchor`; low > high if no c fits.

    They follow from two bounds that counts give: P(Y − anchor <= ends[0]) <= most, and P(Y − anchor
    <= ends[1]) >= least.
    """

    low: float
    high: float
    ends: tuple[float, float] = (0.0, 0.0)
    least: float = 0.0
    most: float = 1.0

    @property
    def is_empty(self) -> bool:
        """True if no centre fits."""
        return self.low > self.high

    @property
    def is_known(self) -> bool:
        """True if some centre fits, and both bounds are finite."""
        return -math.inf < self.low <= self.high < math.inf


def cut_points(
    outputs: NDArray[np.float64], probabilities: list[float], beside: float
) -> list[float]:
    """Thresholds just above quantiles of the outputs, and just below values that many outputs have.

    The quantiles are at these `probabilities`. Each point is halfway from an output to the next
    distinct one, or at the distance `beside` from it if that is nearer. So neither rounding nor a
    lattice decides on which side an output lies. A value that many outputs have lies between two
    points. If its share is too large, the noise is too small.
    """
    known = np.sort(outputs[np.isfinite(outputs)])
    points: set[float] = set()
    for probability in probabilities if known.size else []:
        value = float(known[min(int(probability * known.size), known.size - 1)])
        first, end = (int(np.searchsorted(known, value, side=side)) for side in ("left", "right"))
        gap = float(known[end]) / 2 - value / 2 if end < known.size else math.inf
        points.add(value + min(beside, gap))
        if end - first > max(1, known.size * MANY):
            gap = value / 2 - float(known[first - 1]) / 2 if first else math.inf
            points.add(min(value - min(beside, gap), math.nextafter(value, -math.inf)))
    return sorted(point for point in points if math.isfinite(point))


def centre_of(law: ClaimedLaw, sample: Sample, error: Fraction) -> Centre:
    """Bounds on the centre c from the outputs' median, if the outputs are c + X.

    The first tenth of the outputs chooses one or two points near the median; the other outputs up
    to these points are counted. Each of the two bounds is wrong with probability at most `error`/2.
    c is whole if the noise is only added to whole numbers.
    """
    points = cut_points(sample.chosen, [0.5], law.beside)
    if not points:
        return Centre(low=-math.inf, high=math.inf)
    first, last = points[0], points[-1]
    count = sample.counted.size
    most = binomial.upper(int((sample.counted <= first).sum()), count, error / 2)
    least = binomial.lower(int((sample.counted <= last).sum()), count, error / 2)
    # P(X <= first − c) is at most `most`, P(X <= last − c) at least `least`; both fall as c rises
    low, high = first - law.inverse_above(most), last - law.inverse_below(least)
    if law.whole:
        low, high = float(np.ceil(low)), float(np.floor(high))
    return Centre(low=low, high=high, ends=(first, last), least=least, most=most)


def noise_of(claim: Claim) -> str:
    """The claimed noise in words."""
    named = claim.noise
    return f"{named.name} noise of scale {_words.number(named.scale)}" if named else "the noise"


def refute_outright(
    law: ClaimedLaw, sample: Sample, centre: Centre, *, level: Fraction, noise: str
) -> str:
    """A sentence that refutes the claimed noise at every centre; empty if no sentence does.

    `level` is the error level of each of three bounds: two on the centre, and one on the share of
    outputs that the noise can't produce.
    """
    if sample.strange:
        share = _words.round_down(binomial.lower(sample.strange, sample.size, level))
        return f"{law.strange} have probability >= {share}, and 0 with {noise}."
    if not centre.is_empty:
        return ""
    near = (centre.ends[1] - centre.ends[0]) / 4
    first, last = (show_point(sample.anchor, end, near=near) for end in centre.ends)
    return (
        f"For an output Y, P(Y <= {first}) is at most {_words.round_up(centre.most)} and "
        f"P(Y <= {last}) at least {_words.round_down(centre.least)}: no centre of {noise} fits "
        "both."
    )


def show_point(anchor: float, beyond: float, *, near: float) -> str:
    """Format anchor + beyond with 6 digits if that is accurate to `near`, else as a sum."""
    short = f"{anchor + beyond:.6g}"
    if abs(float(short) - anchor - beyond) <= near:
        return short
    return f"{repr(anchor).removesuffix('.0')} {'-' if beyond < 0 else '+'} {abs(beyond):.6g}"
