"""Enclosure of δ(ε) for sums of Gaussian kernels, over every shift (theory/noise.md §1).

notation: H(φ) the hockey-stick divergence at shift φ, lengths in σ. The shifts are cut into cells.
H′ and H″ are enclosed over a cell from enclosures of all sign changes (`kernel_strip`); a cell
where H′ has one sign or H″ > 0 has its supremum at an end, one where H″ < 0 where H′ = 0, and both
are found by enclosing H at single shifts. What stays open is halved; what is left in the end is
bounded by the mean value form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import cast, final

from flint import arb, arb_poly, ctx

from leastnoise.balls.core import ball
from leastnoise.certify.kernel_divergence import (
    SlopeBounds,
    curvature,
    divergence,
    slope_bounds,
)
from leastnoise.certify.kernel_law import KernelLaw
from leastnoise.certify.kernel_strip import Shifts, Side, Strip
from leastnoise.noise.base import Noise
from leastnoise.noise.kernels import KernelNoise

# Where the cells begin, in spacings.
_CUTS = (
    *(Fraction(i, 32) for i in range(24)),
    *(Fraction(i, 128) for i in range(96, 112)),
    *(Fraction(i, 512) for i in range(448, 504)),
)
_MOST_PERIODS = 64
_HALVINGS = 24
_MOST_CELLS = 600
_ROUNDS = 6
_MOST_ITEMS = 1500
_NEWTON = 8
_FEW = 120  # unknown items that are halved whatever they are worth: H'' needs none of them
_CLOSE = Fraction(1, 2**46)


def delta_ball(noise: Noise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = sup of H over [0, shift]; H is even, and H(0) = 0."""
    return _Search.of(cast("KernelNoise", noise), shift=shift, epsilon=epsilon).supremum()


class _Trend(Enum):
    RISING = "H' >= 0"
    FALLING = "H' <= 0"
    CONCAVE = "H'' < 0"
    CONVEX = "H'' > 0"
    OPEN = "nothing"


@final
@dataclass(frozen=True, kw_only=True)
class _Cell:
    """The shifts [low, high], exact and in σ; `slope` encloses H′ over them."""

    low: Fraction
    high: Fraction
    strip: Strip
    trend: _Trend
    slope: SlopeBounds


@final
@dataclass(frozen=True, kw_only=True)
class _Search:
    law: KernelLaw
    ratio: Fraction  # spacing / σ
    shift: Fraction  # in σ
    decay: Fraction
    epsilon: Fraction

    @classmethod
    def of(cls, noise: KernelNoise, *, shift: Fraction, epsilon: Fraction) -> _Search:
        return cls(
            law=KernelLaw.of(noise),
            ratio=noise.spacing / noise.scale,
            shift=shift / noise.scale,
            decay=noise.decay,
            epsilon=epsilon,
        )

    def supremum(self) -> arb:
        """Return a ball that contains sup H."""
        known: dict[Fraction, arb] = {}
        settled: list[_Cell] = []
        cells = [self._cell(low, high, None) for low, high in self._first_cells()]
        best, peaks = arb(0), arb(0)
        for _ in range(_HALVINGS):
            for cell in cells:
                if cell.trend is _Trend.CONCAVE:
                    lower, upper = self._concave_peak(cell, known)
                    best, peaks = best.max(lower), peaks.max(upper)
            settled += [cell for cell in cells if cell.trend is not _Trend.OPEN]
            open_ = [cell for cell in cells if cell.trend is _Trend.OPEN]
            if best > 0:
                open_ = [cell for cell in open_ if not self._cannot_exceed(cell, best, known)]
            # cells at a multiple of the spacing wait until H is known elsewhere
            waiting = [cell for cell in open_ if self._may_wait(cell)]
            ready = [cell for cell in open_ if not self._may_wait(cell)]
            if not open_ or len(settled) + 2 * len(open_) > _MOST_CELLS:
                break
            if not ready and not best > 0:
                best = best.max(self._at(self.shift, known))
            if ready:
                cells = waiting + [half for cell in ready for half in self._halves(cell)]
            else:
                cells = [half for cell in waiting for half in self._halves(cell)]
        else:
            open_ = cells
        for place in self._turning_points(settled):
            best, peaks = best.max(self._at(place, known)), peaks.max(self._at(place, known))
        for cell in open_:
            peaks = peaks.max(self._mean_value_bound(cell, known))
        return best.lower().union(best.upper().max(peaks.upper()))

    def _may_wait(self, cell: _Cell) -> bool:
        return self._is_multiple(cell.high) and cell.high - cell.low <= self.ratio / 128

    def _first_cells(self) -> list[tuple[Fraction, Fraction]]:
        """Cells whose ends hold all multiples of the spacing, where H′ may jump."""
        periods = self.shift / self.ratio
        if periods > _MOST_PERIODS:
            step, count = self.shift / _MOST_PERIODS, _MOST_PERIODS
        else:
            step, count = self.ratio, int(periods)
        ends = [step * i for i in range(count + 1)]
        ends += [] if ends[-1] == self.shift else [self.shift]
        # towards a whole multiple what happens gets finer
        cuts = _CUTS if len(ends) < 4 else _CUTS[::4]
        places = [low + (high - low) * cut for low, high in pairwise(ends) for cut in cuts]
        return list(pairwise([*places, ends[-1]]))

    def _halves(self, cell: _Cell) -> tuple[_Cell, _Cell]:
        middle = (cell.low + cell.high) / 2
        return self._cell(cell.low, middle, cell.strip), self._cell(middle, cell.high, cell.strip)

    def _cell(self, low: Fraction, high: Fraction, parent: Strip | None) -> _Cell:
        shifts = Shifts(low=ball(low).lower() if low else arb(0), high=ball(high).upper())
        if parent is None:
            strip = Strip.over(self.law, ball(self.epsilon), shifts)
        else:
            strip = parent.narrowed(shifts)
        slope, trend = SlopeBounds(low=arb(0), high=arb(0)), _Trend.OPEN
        for _ in range(_ROUNDS):
            slope = self._mean_value_slope(strip)
            if slope.low >= 0:
                trend = _Trend.RISING
            elif slope.high <= 0:
                trend = _Trend.FALLING
            else:
                trend = _bend(strip)
            unknown = sum(item.side is Side.UNKNOWN for item in strip.items)
            if trend is not _Trend.OPEN or not unknown or unknown > _MOST_ITEMS:
                break
            # half the halvings would be idle if each could change H′ by less than a share of it
            worth = slope.magnitude.upper() / (8 * unknown) if unknown > _FEW else arb(0)
            strip = strip.refined(worth, turns_only=self._is_multiple(high))
        return _Cell(low=low, high=high, strip=strip, trend=trend, slope=slope)

    def _mean_value_slope(self, strip: Strip) -> SlopeBounds:
        """Enclose H′ over the cell: directly, and from H′ in its middle and H″ where that helps."""
        direct = slope_bounds(strip)
        if direct.low >= 0 or direct.high <= 0:
            return direct
        bend = curvature(strip)
        if not bend.is_finite():
            return direct
        middle = strip.shifts.middle
        centre = slope_bounds(strip.narrowed(Shifts(low=middle, high=middle)))
        change = bend * strip.shifts.around
        return SlopeBounds(low=centre.low + change.lower(), high=centre.high + change.upper())

    def _concave_peak(self, cell: _Cell, known: dict[Fraction, arb]) -> tuple[arb, arb]:
        """Return bounds of sup H over a cell where H″ <= −κ < 0.

        H(φ) <= H(φ₀) + H′(φ₀)(φ − φ₀) − κ(φ − φ₀)²/2 <= H(φ₀) + H′(φ₀)²/2κ for every φ₀; a good φ₀
        comes from Newton's method, unproved.
        """
        place = (cell.low + cell.high) / 2
        for _ in range(_NEWTON):
            sharp = self._sharp(place, cell.strip)
            step = -float((slope_bounds(sharp).hull / curvature(sharp)).mid())
            following = min(max(place + Fraction(step), cell.low), cell.high)
            if abs(following - place) <= _CLOSE * cell.high:
                break
            # a short number, but an end exactly, where the sign of H′ alone decides
            at_end = following in {cell.low, cell.high}
            place = following if at_end else Fraction(float(following))
        value = self._at(place, known, cell.strip)
        slope = slope_bounds(self._sharp(place, cell.strip)).hull
        if (place == cell.low and slope <= 0) or (place == cell.high and slope >= 0):
            return value, value
        kappa = (-curvature(cell.strip)).lower()
        return value, value + slope**2 / (2 * kappa)

    def _sharp(self, place: Fraction, strip: Strip) -> Strip:
        phi = ball(place)
        return strip.narrowed(Shifts(low=phi, high=phi))

    def _is_multiple(self, place: Fraction) -> bool:
        """Return whether H has a closed form at `place`."""
        return not self.law.folded and (place / self.ratio).denominator == 1

    def _cannot_exceed(self, cell: _Cell, best: arb, known: dict[Fraction, arb]) -> bool:
        """Return True only if H <= best is proved on the cell, from an end where H is known."""
        width = ball(cell.high - cell.low)
        if cell.high == self.shift or self._is_multiple(cell.high):
            bound = self._at(cell.high, known) + width * (-cell.slope.low).max(arb(0))
            if bound <= best:
                return True
        if self._is_multiple(cell.low):
            bound = self._at(cell.low, known) + width * cell.slope.high.max(arb(0))
            if bound <= best:
                return True
        return False

    def _mean_value_bound(self, cell: _Cell, known: dict[Fraction, arb]) -> arb:
        middle = (cell.low + cell.high) / 2
        value = self._at(middle, known, cell.strip)
        return value + cell.slope.magnitude.upper() * ball(cell.high - cell.low) / 2

    def _turning_points(self, settled: Iterable[_Cell]) -> list[Fraction]:
        """Return the ends of cells where H may be largest: risen to from the left, not onward."""
        falling = {cell.low for cell in settled if cell.trend is _Trend.FALLING}
        rising = {cell.high for cell in settled if cell.trend is _Trend.RISING}
        valleys = [cell for cell in settled if cell.trend is _Trend.CONVEX]
        ends = {cell.low for cell in valleys} | {cell.high for cell in valleys}
        return sorted(ends | ((falling | {self.shift}) & rising))

    def _at(self, place: Fraction, known: dict[Fraction, arb], strip: Strip | None = None) -> arb:
        """Enclose H at one shift."""
        if place not in known:
            if place == 0:
                known[place] = arb(0)
            elif self._is_multiple(place):
                known[place] = self._at_multiple(int(place / self.ratio))
            else:
                phi = ball(place)
                if strip is None:
                    strip = Strip.over(self.law, ball(self.epsilon), Shifts(low=phi, high=phi))
                known[place] = divergence(_resolved(self._sharp(place, strip)))
        return known[place]

    def _at_multiple(self, periods: int) -> arb:
        """Enclose H where the shift is `periods` spacings.

        There f(y + φ) − e^ε f(y) = Σ_k d_k φ(y − kt) with d_k = w_{k+periods} − e^ε w_k. d_k is,
        in turn, positive (no w_k), has the sign of (|k| − |k + periods|)·decay − ε, which falls in
        k, and is negative (no w_{k+periods}): one change of sign, so one root (Descartes).
        Where decay = ε the terms that cancel are left out, by comparing Fractions.
        """
        law, K, c = self.law, self.law.modes, ball(self.epsilon).exp()
        terms: list[tuple[int, arb]] = []
        for k in range(-K - periods, K + 1):
            plus = law.weights[k + periods + K] if k + periods <= K else arb(0)
            minus = c * law.weights[k + K] if k >= -K else arb(0)
            both = k >= -K and k + periods <= K
            if not both or (abs(k) - abs(k + periods)) * self.decay != self.epsilon:
                terms.append((k, plus - minus))
        low_k = terms[0][0]
        t = law.spacing
        polynomial = arb_poly(
            _dense([(k - low_k, d * (-k * k * t * t / 2).exp()) for k, d in terms])
        )
        low, high = _bracket(lambda y: polynomial((t * y).exp()))
        root = ((low + high) / 2).mid()
        phi = periods * t
        value = law.distribution(root + phi) - c * law.distribution(root)
        height = arb(0)
        for k, d in terms:
            height += abs(d) * (-((low.union(high) - k * t) ** 2) / 2).exp()
        return value + (arb(0).union((high - low) * height))


def _dense(terms: list[tuple[int, arb]]) -> list[arb]:
    coefficients = [arb(0)] * (terms[-1][0] + 1)
    for degree, coefficient in terms:
        coefficients[degree] = coefficient
    return coefficients


def _bracket(positive_then_negative: Callable[[arb], arb]) -> tuple[arb, arb]:
    """Return ends certainly left and right of the only sign change, close together."""
    low, high = arb(-1), arb(1)
    while not positive_then_negative(low) > 0:
        low *= 2
    while not positive_then_negative(high) < 0:
        high *= 2
    for _ in range(2 * ctx.prec):
        middle = ((low + high) / 2).mid()
        value = positive_then_negative(middle)
        if value > 0:
            low = middle
        elif value < 0:
            high = middle
        else:
            break
    return low, high


def _resolved(strip: Strip) -> Strip:
    """Halve what is unknown until there is next to nothing; at most to the working precision."""
    for _ in range(ctx.prec):
        unknown = [item for item in strip.items if item.side is Side.UNKNOWN]
        if not unknown or len(unknown) > _MOST_ITEMS:
            break
        strip = strip.refined(arb(0))
    return strip


def _bend(strip: Strip) -> _Trend:
    bend = curvature(strip)
    if bend < 0:
        return _Trend.CONCAVE
    return _Trend.CONVEX if bend > 0 else _Trend.OPEN
