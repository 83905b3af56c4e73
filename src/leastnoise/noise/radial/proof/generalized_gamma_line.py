"""Enclosure of δ(ε) for generalized gamma noise in one dimension, in closed form.

Notation: lengths are in units of the scale. r is the magnitude of the noise, called radius, T(r)
the probability of a radius beyond r, and κ = −α >= 0. −ln of the density is ℓ(r) = κ ln r + r^p, up
to a constant, and s is the shift. Z is the privacy loss. P and Q are probabilities under the noise
and under the shifted noise. g and h are functions of r, and g′, h′ and ℓ′ derivatives.

The privacy loss exceeds ε

    on the side of the shift where g(r) = ℓ(s−r) − ℓ(r) > ε, r < s/2: for r < r₁, since g falls;
    on the other side where h(r) = ℓ(r+s) − ℓ(r) > ε: outside a gap [a, b],

    2δ = [1 − T(r₁) − e^ε (T(s−r₁) − T(s))]
       + [1 − e^ε T(s) + e^ε (T(s+a) − T(s+b)) − (T(a) − T(b))].

The slope is h′(r) = ℓ′(r+s) − ℓ′(r). For p <= 1, ℓ′ = κ/r + p r^(p−1) falls, and so does h: b = ∞.
For p > 1 and κ = 0 both rise: a = 0. Otherwise ℓ′ has one minimum m. Then h′ is negative for r + s
<= m, rises from there to r = m and is positive beyond, so h falls, then rises. A gap may be
uncertain, with h >= ε − η in it. It adds between 0 and e^η − 1 to the bracket, because there e^ε
times the other density is at most e^η times this density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.balls.core import ball, falls_through
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.numerics.bisection import Bisection

_FARTHEST = 2000  # largest |ln r| in the search for roots

Ends = tuple[arb, arb]
"""Two radii that certainly enclose a root; they may be 0 and ∞."""

_NONE: Ends = (arb(0), arb(0))
_NEVER: Ends = (arb("inf"), arb("inf"))


@final
@dataclass(frozen=True, kw_only=True)
class Tails:
    """Enclosures of the tails of the privacy loss, P(Z > ε) in `p` and e^ε Q(Z > ε) in `weighted`.

    `delta` is δ(ε), which is the difference of the two tails.
    """

    p: arb
    weighted: arb
    delta: arb

    @classmethod
    def of(cls, p: arb, weighted: arb) -> Tails:
        """The tails, with δ as their difference."""
        return cls(p=p, weighted=weighted, delta=p - weighted)

    @classmethod
    def unknown(cls, delta: arb) -> Tails:
        """The given δ, with unknown tails (NaN)."""
        return cls(p=arb.nan(), weighted=arb.nan(), delta=delta)

    @classmethod
    def at_zero(cls, delta: arb) -> Tails:
        """The tails (1 ± δ(0))/2 at ε = 0; P and Q are symmetric, so that P(Z > 0) = Q(Z < 0)."""
        return cls(p=(1 + delta) / 2, weighted=(1 - delta) / 2, delta=delta)

    def __add__(self, other: Tails) -> Tails:
        """Add up the tails that come from two sets of outputs without common elements."""
        return Tails(
            p=self.p + other.p,
            weighted=self.weighted + other.weighted,
            delta=self.delta + other.delta,
        )


def tails(noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> Tails:
    """Enclose δ(ε), and the tails where they are known; NaN where they aren't.

    ε must be below the largest loss.
    """
    line = _Line(noise, shift=shift, epsilon=epsilon)
    if epsilon == 0:
        return Tails.at_zero(line.within_half())
    return line.inner() + line.outer()


@final
class _Line:
    """One law in one dimension, with a shift in scales and ε."""

    def __init__(self, noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> None:
        self._s, self._epsilon = ball(shift / noise.scale), ball(epsilon)
        self._kappa, self._p = ball(noise.kappa), ball(noise.p)
        self._k = ball((noise.alpha + 1) / noise.p)
        self._has_pole, self._power = noise.kappa > 0, noise.p

    @property
    def _excess(self) -> arb:
        """The difference s^p − ε, which for κ = 0 is the loss of the output 0 minus ε."""
        return self._s**self._p - self._epsilon

    def within_half(self) -> arb:
        """Enclose δ(0), the probability of noise within ±s/2."""
        return 1 - self._complement(self._s / 2)

    def inner(self) -> Tails:
        """Enclose the tails of outputs on the shift's side: half of the formula's first bracket."""
        if not (self._has_pole or self._excess > 0):
            return _with_doubt(arb(0), arb(0), self._excess)  # since 1 − e^(ε−L) <= L − ε
        ends = _crossing(self._g, low=-_FARTHEST, high=(self._s / 2).log())
        gone = self._beyond(ends, lambda r: self._s - r) - self._complement(self._s)
        return Tails.of((1 - self._beyond(ends)) / 2, self._epsilon.exp() * gone / 2)

    def outer(self) -> Tails:
        """Enclose the tails of outputs on the other side: half of the formula's second bracket."""
        all_of_it = self._epsilon.exp() * self._complement(self._s)
        half = arb(1) / 2
        if self._power >= 1 and self._excess >= 0:
            return Tails.of(half, all_of_it / 2)
        if self._power <= 1:
            a, b = _crossing(self._h, low=-_FARTHEST, high=_FARTHEST), _NEVER
        elif not self._has_pole:
            if not self._excess < 0:
                return _with_doubt(half, all_of_it / 2, (-self._excess).expm1())
            a, b = _NONE, _crossing(self._under, low=-_FARTHEST, high=_FARTHEST)
        else:
            low, high = _crossing(self._fall, low=-_FARTHEST, high=_FARTHEST)
            lowest = ((low + high) / 2).mid().log()
            if not self._h(lowest) < 0:
                steepest = abs(self._fall_at(low.union(high))) * (high - low)
                deepest = steepest - self._h(lowest)
                return _with_doubt(half, all_of_it / 2, deepest.expm1())
            a = _crossing(self._h, low=-_FARTHEST, high=lowest)
            b = _crossing(self._under, low=lowest, high=_FARTHEST)
        after = self._beyond(a, self._add_shift) - self._beyond(b, self._add_shift)
        p = 1 - (self._beyond(a) - self._beyond(b))
        return Tails.of(p / 2, (all_of_it - self._epsilon.exp() * after) / 2)

    def _h(self, y: arb) -> arb:
        """Enclose h(r) − ε at the radius r = e^y."""
        return self._rise(y, (self._s / y.exp()).log1p()) - self._epsilon

    def _under(self, y: arb) -> arb:
        return -self._h(y)

    def _g(self, y: arb) -> arb:
        """Enclose g(r) − ε at the radius r = e^y."""
        return self._rise(y, (self._s / y.exp() - 1).log()) - self._epsilon

    def _rise(self, y: arb, x: arb) -> arb:
        """Enclose the rise of ℓ from the radius e^y to the radius e^(y+x)."""
        return self._kappa * x + (self._p * y).exp() * (self._p * x).expm1()

    def _fall(self, y: arb) -> arb:
        return self._fall_at(y.exp())

    def _fall_at(self, r: arb) -> arb:
        """Enclose −h′(r), the speed at which h falls."""
        power = self._p - 1
        growth = (power * (self._s / r).log1p()).expm1()
        return self._kappa * self._s / (r * (r + self._s)) - self._p * r**power * growth

    def _add_shift(self, r: arb) -> arb:
        return r + self._s

    def _beyond(self, ends: Ends, transform: Callable[[arb], arb] = lambda r: r) -> arb:
        """Enclose T(transform(r)) for all r between `ends`; `transform` is monotone."""
        first, last = (self._complement(transform(r)) for r in ends)
        return first.union(last)

    def _complement(self, r: arb) -> arb:
        if r == 0:
            return arb(1)
        return arb(0) if r == arb("inf") else (r**self._p).gamma_upper(self._k, 1)


def _with_doubt(p: arb, weighted: arb, most: arb) -> Tails:
    """Return the tails, to whose δ an uncertain set of outputs may add between 0 and most/2.

    For an uncertain gap, with h >= ε − η in it, `most` is e^η − 1. If `most` may be positive, only
    δ is enclosed, and the tails are NaN.
    """
    if most <= 0:
        return Tails.of(p, weighted)
    return Tails.unknown(p - weighted + arb(0).union(arb(max(arb(0), most.upper()))) / 2)


def _crossing(f: Callable[[arb], arb], *, low: arb | int, high: arb | int) -> Ends:
    """Return two radii that enclose the only root of `f`, a function of ln r that falls through 0.

    The search is from ln r = `low` to ln r = `high`. If the root lies below `low` or too near it,
    the first radius is 0. If it lies above `high` or too near it, the second is ∞.
    """
    left, right = arb(arb(low).mid()), arb(arb(high).mid())
    first, last = f(left), f(right)
    if first < 0:
        return arb(0), left.exp()
    if last > 0:
        return right.exp(), arb("inf")
    a, b = Bisection().close(falls_through(f), left, right)
    above, below = first > 0 or a != left, last < 0 or b != right
    return a.exp() if above else arb(0), b.exp() if below else arb("inf")
