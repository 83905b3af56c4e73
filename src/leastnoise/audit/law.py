"""The distribution function of the claimed noise, enclosed; and where its centre may lie.

It is computed in balls for families that give P(X > t). For others it is found from their
quantiles, which are floats that are accurate to about 1e-10, and for a distribution that the user
gives it is what that returns: 1e-9 is added on either side.

Noise counts as the claimed one if it differs from it by at most 2^-20 of its spread, whatever the
reason: rounding to a grid, the roundings of floats. The spread of noise on whole numbers is 1 at
least.

Outputs are looked at less a number near their middle, so that thresholds and centres are near 0,
where floats are dense: of outputs near 1e17 no float lies between two neighbours.

What refutes the claimed noise wherever it may be centred is put in words here, too.
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
_INSIDE = Bisection(halvings=44)  # to 1e-13, which is below the margin
_GUESS = Bisection(halvings=60)
_ROUNDING = 2.0**-20
_LARGEST = 1e300
MANY = 0.01  # share of the outputs that are equal, for thresholds on both sides of them


class ClaimedLaw(ABC):
    """P(X <= t) for one coordinate of the claimed noise."""

    whole: bool = False
    """Whether the noise is added to whole numbers alone."""
    on_whole_numbers: bool = False
    """Whether its outputs are whole numbers, too."""
    spread: float
    """About its standard deviation."""

    @property
    def strange(self) -> str:
        """Outputs that it has with probability 0, in words."""
        return "NaN, ±inf and fractions" if self.on_whole_numbers else "NaN and ±inf"

    @property
    def beside(self) -> float:
        """How far from an output that many share the thresholds on its two sides may be."""
        beside = 2.0**-10  # of the spread: how far a threshold is from an output that many share
        return self.spread * beside

    @abstractmethod
    def _enclose(self, t: float) -> tuple[float, float]:
        """Return a lower and an upper bound of P(X <= t)."""

    def distribution(self, t: float) -> tuple[float, float]:
        """Return bounds of P(Y <= t) for every Y that is within 2^-20 spreads of X."""
        floats = 2.0**-50  # relative: what floats round in t = u − c, a few times 2^-53
        slack = self.spread * _ROUNDING + abs(t) * floats
        return self._enclose(t - slack)[0], self._enclose(t + slack)[1]

    def inverse_above(self, probability: float) -> float:
        """Return some u with P(X <= u) > `probability` certainly; inf if none was found."""
        return self._above(
            lambda u: self.distribution(u)[0] > probability, start=self.quantile(probability)
        )

    def inverse_below(self, probability: float) -> float:
        """Return some u with P(X <= u) < `probability` certainly; −inf if none was found."""
        return -self._above(
            lambda u: self.distribution(-u)[1] < probability, start=-self.quantile(probability)
        )

    @abstractmethod
    def quantile(self, probability: float) -> float:
        """Return about the u with P(X <= u) = `probability`; a guess, to start from."""

    def _above(self, holds: Callable[[float], bool], *, start: float) -> float:
        """Return a point, near the guess `start`, at which a condition holds; inf if none does.

        From the first point at which it holds it has to hold everywhere above.
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
    """Return the law of a coordinate of the claimed noise, or why it isn't known."""
    noise = claim.noise
    if claim.distribution is not None:
        return _Given(claim.distribution)
    if noise is None:
        return "The claim names no noise."
    if noise.dimension != dimension:
        return f"The claimed noise is for {noise.dimension:,} numbers, outputs have {dimension:,}."
    if isinstance(noise, VectorNoise) or not has_quantiles(noise):
        return f"The law of a coordinate of {noise.name} noise isn't known here."
    return _KnownLaw(noise)


@final
class _KnownLaw(ClaimedLaw):
    """Noise of a family: P(X > t) in balls where it gives that, else its quantiles, bisected.

    P(|X| <= t) = sup of p with Q(p) <= t, of symmetric noise.
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
        """Half a step of a lattice."""
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
        """Return P(|X| <= t), to within 1e-10."""
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
class _Given(ClaimedLaw):
    """A distribution function that the user gives."""

    def __init__(self, distribution: Distribution) -> None:
        self._distribution = distribution
        self.spread = 1.0
        self.spread = max(self.quantile(0.75) - self.quantile(0.25), 1e-300)

    def quantile(self, probability: float) -> float:
        """Bisect: first for the magnitude, then for the point."""
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
            found = float(self._distribution(t))
        except (TypeError, ValueError):
            found = math.nan
        if not 0 <= found <= 1:
            raise InvalidArgument(
                name="distribution",
                value="no such function",
                expected="distribution(t) to return P(X <= t), a number from 0 to 1",
            )
        return max(0.0, found - _MARGIN), min(1.0, found + _MARGIN)


@final
@dataclass(frozen=True, kw_only=True)
class Sample:
    """Outputs of one coordinate less `anchor`: those to choose thresholds on, and those to count.

    Of outputs that aren't numbers only the share is known, `strange` of `size`: NaN, ±inf, and
    fractions where the claimed noise is whole.
    """

    anchor: float
    chosen: NDArray[np.float64]
    counted: NDArray[np.float64]
    strange: int
    size: int

    @classmethod
    def of(cls, outputs: NDArray[np.float64], law: ClaimedLaw) -> Sample:
        """Return the sample whose first tenth is to choose on."""
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
            moved = outputs - anchor  # rounded to nearest, which keeps the order
        return cls(
            anchor=anchor,
            chosen=moved[:tenth],
            counted=moved[tenth:],
            strange=int(strange.sum()),
            size=outputs.size,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Centre:
    """Bounds of c − `anchor` if outputs are c + X; if there is no such c, `low` is above `high`.

    They follow from P(Y − anchor <= ends[0]) <= most and P(Y − anchor <= ends[1]) >= least.
    """

    low: float
    high: float
    ends: tuple[float, float] = (0.0, 0.0)
    least: float = 0.0
    most: float = 1.0

    @property
    def is_empty(self) -> bool:
        """Whether no c fits."""
        return self.low > self.high

    @property
    def is_known(self) -> bool:
        """Whether there is a c, between finite bounds."""
        return -math.inf < self.low <= self.high < math.inf


def cut_points(
    outputs: NDArray[np.float64], probabilities: list[float], beside: float
) -> list[float]:
    """Return points just above the quantiles of the outputs, and just below those that many share.

    Each is in the middle of two distinct outputs, so that neither rounding nor a lattice decides on
    which side an output lies, and no further than `beside` from one. An output that many share is
    between two points: noise is too small if too much of it is there.
    """
    known = np.sort(outputs[np.isfinite(outputs)])
    found: set[float] = set()
    for probability in probabilities if known.size else []:
        value = float(known[min(int(probability * known.size), known.size - 1)])
        first, end = (int(np.searchsorted(known, value, side=side)) for side in ("left", "right"))
        gap = float(known[end]) / 2 - value / 2 if end < known.size else math.inf
        found.add(value + min(beside, gap))
        if end - first > max(1, known.size * MANY):
            gap = value / 2 - float(known[first - 1]) / 2 if first else math.inf
            found.add(min(value - min(beside, gap), math.nextafter(value, -math.inf)))
    return sorted(point for point in found if math.isfinite(point))


def centre_of(law: ClaimedLaw, sample: Sample, error: Fraction) -> Centre:
    """Return bounds of c if the outputs are c + X, X of the claimed law; from their median.

    The outputs to choose on say near which points to look, the others are counted. For noise on
    whole numbers c is whole too.
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
    """Return the claimed noise in words."""
    named = claim.noise
    return f"{named.name} noise of scale {_words.number(named.scale)}" if named else "the noise"


def refute_outright(
    law: ClaimedLaw, sample: Sample, centre: Centre, *, level: Fraction, noise: str
) -> str:
    """Return why the claimed noise is refuted at every centre; empty if it isn't.

    `level` is that of each bound: the two of `centre`, and one of what is no number of the noise.
    """
    if sample.strange:
        share = _words.at_most(binomial.lower(sample.strange, sample.size, level))
        return f"{law.strange} have probability >= {share}, and 0 with {noise}."
    if not centre.is_empty:
        return ""
    near = (centre.ends[1] - centre.ends[0]) / 4
    first, last = (show_point(sample.anchor, end, near=near) for end in centre.ends)
    return (
        f"P(Y <= {first}) is at most {_words.at_least(centre.most)} and P(Y <= {last}) at least "
        f"{_words.at_most(centre.least)}: no number fits as the centre of {noise}."
    )


def show_point(anchor: float, beyond: float, *, near: float) -> str:
    """Return anchor + beyond, to 6 digits if that is within `near` of it, and else as a sum."""
    short = f"{anchor + beyond:.6g}"
    if abs(float(short) - anchor - beyond) <= near:
        return short
    return f"{repr(anchor).removesuffix('.0')} {'-' if beyond < 0 else '+'} {abs(beyond):.6g}"
