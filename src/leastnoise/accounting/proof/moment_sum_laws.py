"""Moment generating functions of privacy losses, at complex arguments with the same real part.

The proofs in `moment_sum` need their values on a vertical line, and bounds on their absolute values
far up the line.

Notation: Z is the privacy loss of one release, and M(s) = E e^(sZ) its moment generating function.
The tilt c > 0 is the real part of s, and the height u the imaginary part. X(u) = M(c + iu)/M(c) is
the characteristic function of the tilted law of Z, whose density has the factor e^(cZ). a =
shift/scale is the worst shift in scales of the noise, x = a/2, d the dimension of the noise, and ν
= (d − 2)/2. I_ν and K_ν are the modified Bessel functions, Γ is the gamma function, and F_ν(z) =
₀F₁(; ν+1; z²/4) = Γ(ν+1)(z/2)^(−ν) I_ν(z). G = F_ν + βF_{ν+1}, with the weight β of
`SphericalMoments`, is proportional to M of the l2 mechanism.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol, final

from flint import acb, acb_poly, arb, ctx

from leastnoise.balls.core import ball, bessel_k_ratio, precision
from leastnoise.noise.base import Noise

if TYPE_CHECKING:
    from leastnoise.noise.question import Releases


_SERIES = 128.0  # bits that may cancel in the power series
_LONG_SERIES = 1024.0  # the same for orders at which Bessel functions have wide enclosures
_HIGH = 300.0  # from this order on, Bessel functions have wide enclosures
_SHIFTS = 16  # number of shifts τ that `_overlap` tries


class LossMoments(Protocol):
    """Moments of the loss of one release, for a law that is released `compositions` times."""

    @property
    def compositions(self) -> int:
        """The number of releases."""
        ...

    @property
    def reach(self) -> Fraction | None:
        """The largest loss of one release; None if the loss is unbounded."""
        ...

    def log_moments(self, tilts: Sequence[Fraction]) -> list[arb]:
        """Enclose ln M(c), for the moment generating function M and each c in `tilts`."""
        ...

    def ratios(self, tilt: Fraction, spacing: Fraction, count: int) -> list[acb]:
        """Enclose the characteristic function X at 0, spacing, …, count·spacing, for c = `tilt`."""
        ...

    def envelope(self, tilt: Fraction) -> Envelope:
        """A bound on the characteristic function |X(u)| for c = `tilt`, as a function of u."""
        ...


class Envelope(Protocol):
    """An upper bound on the characteristic function |X(u)| that never grows with the height u."""

    def beyond(self, height: Fraction) -> arb:
        """A bound on the characteristic function |X(u)| for all heights u >= `height` > 0."""
        ...


def has_moments(noise: Noise) -> bool:
    """True if the moments of the noise's loss are known: for Gaussian, l2 and Laplace noise."""
    return noise.gaussian_square is not None or noise.exponential


def is_l2(noise: Noise) -> bool:
    """True for the noise of the l2 mechanism."""
    return noise.exponential and noise.norm == "l2"


def laws_of(parts: Sequence[Releases], *, inner: bool) -> list[LossMoments]:
    """The moments of the losses of `parts`, with one entry for each different law.

    All Gaussians together are one law. With `inner`, the shifts of a part are its inner bound
    `shifts.inner`, else `shifts.outer`.
    """
    square, counts = Fraction(0), Counter[tuple[Fraction, int | None]]()
    for part in parts:
        sensitivity = part.shifts.inner if inner else part.shifts.outer
        shift = part.noise.worst_shift(sensitivity)
        if (variance := part.noise.gaussian_square) is not None:
            square += part.compositions * shift**2 / variance
        else:  # a worst shift of Laplace noise moves one number, whatever the dimension
            dimension = part.noise.dimension if is_l2(part.noise) else None
            counts[shift / part.noise.scale, dimension] += part.compositions
    exponential: list[LossMoments] = [
        LaplaceMoments(ratio=ratio, compositions=compositions)
        if dimension is None
        else SphericalMoments(ratio=ratio, dimension=dimension, compositions=compositions)
        for (ratio, dimension), compositions in counts.items()
    ]
    return [*exponential, GaussianMoments(square=square)] if square else exponential


@final
@dataclass(frozen=True, kw_only=True)
class GaussianMoments:
    """The moments of Gaussian noise: M(s) = e^((s²+s)μ²/2), and so |X(u)| = e^(−u²μ²/2).

    `square` is μ², the sum over all Gaussian releases of (shift/standard deviation)².
    """

    square: Fraction
    compositions: int = 1
    reach: None = None

    def log_moments(self, tilts: Sequence[Fraction]) -> list[arb]:
        """Enclose ln M(c), for the moment generating function M and each c in `tilts`."""
        return [ball((c + c * c) * self.square / 2) for c in tilts]

    def ratios(self, tilt: Fraction, spacing: Fraction, count: int) -> list[acb]:
        """Enclose the characteristic function X at 0, spacing, …, count·spacing, for c = `tilt`."""
        half, turn = ball(self.square / 2), ball(2 * tilt + 1)
        heights = [ball(spacing) * n for n in range(count + 1)]
        return [acb(-half * u * u, half * turn * u).exp() for u in heights]

    def envelope(self, tilt: Fraction) -> GaussianMoments:
        """A bound on the characteristic function |X(u)| for c = `tilt`, as a function of u."""
        del tilt
        return self

    def beyond(self, height: Fraction) -> arb:
        """A bound on the characteristic function |X(u)| for all heights u >= `height` > 0."""
        return ball(-self.square * height**2 / 2).exp()


@final
@dataclass(frozen=True, kw_only=True)
class LaplaceMoments:
    """The moments of Laplace noise: M(s) = ½(A + B + (A − B)/(2s + 1)).

    A is e^(sa), and B is e^(−(s+1)a). The loss is a with probability ½, −a with probability
    ½e^(−a), and a − 2y for y in (0, a), where y has the density ½e^(−y). Because of its two atoms,
    |X| doesn't fall to 0.
    """

    ratio: Fraction  # a
    compositions: int

    @property
    def reach(self) -> Fraction:
        """The largest loss of one release."""
        return self.ratio

    def log_moments(self, tilts: Sequence[Fraction]) -> list[arb]:
        """Enclose ln M(c), for the moment generating function M and each c in `tilts`."""
        return [self._moment(acb(ball(c))).real.log() for c in tilts]

    def ratios(self, tilt: Fraction, spacing: Fraction, count: int) -> list[acb]:
        """Enclose the characteristic function X at 0, spacing, …, count·spacing, for c = `tilt`."""
        real, step = ball(tilt), ball(spacing)
        values = [self._moment(acb(real, n * step)) for n in range(count + 1)]
        return [value / values[0] for value in values]

    def envelope(self, tilt: Fraction) -> LaplaceMoments:
        """A bound on the characteristic function |X(u)| for c = `tilt`, as a function of u."""
        del tilt
        return self

    def beyond(self, height: Fraction) -> arb:
        """The bound 1 on the characteristic function |X|, which holds for every law."""
        del height
        return arb(1)

    def _moment(self, s: acb) -> acb:
        a = ball(self.ratio)
        above, below = (s * a).exp(), (-(s + 1) * a).exp()
        return (above + below + (above - below) / (2 * s + 1)) / 2


@final
@dataclass(frozen=True, kw_only=True)
class SphericalMoments:
    """The moments of the l2 mechanism: M(s) = G((2s+1)x)/G(x), with G = F_ν + βF_{ν+1}.

    The weight β is xρ_ν/(2(ν+1)), where ρ_ν = K_ν(x)/K_{ν+1}(x). This is the M of
    theory/accounting.md §3, written with F_ν. The factor 1/G(x) follows from M(0) = 1.
    """

    ratio: Fraction  # a
    dimension: int
    compositions: int

    @property
    def reach(self) -> Fraction:
        """The largest loss of one release."""
        return self.ratio

    @property
    def order(self) -> float:
        """The order ν of the Bessel functions; a float represents it exactly."""
        return (self.dimension - 2) / 2

    @property
    def weight(self) -> arb:
        """The weight β of the second term of G, enclosed at the current precision."""
        return _weight(self.ratio, self.dimension, ctx.prec)

    def log_moments(self, tilts: Sequence[Fraction]) -> list[arb]:
        """Enclose ln M(c), for the moment generating function M and each c in `tilts`."""
        turns = [Fraction(1), *(2 * c + 1 for c in tilts)]
        start, *values = self.g(lambda: [acb(ball(turn * self.ratio / 2)) for turn in turns])
        return [(value.real / start.real).log() for value in values]

    def ratios(self, tilt: Fraction, spacing: Fraction, count: int) -> list[acb]:
        """Enclose the characteristic function X at 0, spacing, …, count·spacing, for c = `tilt`."""
        kappa, step = (2 * tilt + 1) * self.ratio / 2, spacing * self.ratio

        def points() -> list[acb]:
            real, imaginary = ball(kappa), ball(step)
            return [acb(real, n * imaginary) for n in range(count + 1)]

        values = self.g(points)
        return [value / values[0] for value in values]

    def envelope(self, tilt: Fraction) -> SphericalEnvelope:
        """A bound on the characteristic function |X(u)| for c = `tilt`, as a function of u."""
        return SphericalEnvelope(law=self, tilt=tilt)

    def g(self, points: Callable[[], Sequence[acb]]) -> list[acb]:
        """Enclose G at each of the points that `points()` returns.

        Near 0 the power series is used. Its terms cancel, so it needs narrower balls around the
        points: `points` is called again at a higher precision.
        """
        wide = points()
        squares = [float(abs(z).upper()) ** 2 / 4 for z in wide]
        lost = [self._cancelling(square) for square in squares]
        far = {i: self._by_bessel(z) for i, z in enumerate(wide) if lost[i] > self._room}
        near = [i for i in range(len(wide)) if i not in far or self._is_wide(far[i], lost[i])]
        largest = max((squares[i] for i in near), default=0.0)
        with precision(ctx.prec + math.ceil(self._cancelling(largest))):
            narrow = points()
            sums = self._by_series([narrow[i] for i in near], largest)
        values = far | dict(zip(near, sums, strict=True))
        return [values[i] for i in range(len(wide))]

    def _is_wide(self, enclosure: acb, lost: float) -> bool:
        """True if the `enclosure` by Bessel functions is too wide, and the series may be narrower.

        `lost` is the number of bits that cancel in the series.
        """
        return enclosure.rel_accuracy_bits() < ctx.prec // 2 and lost <= _LONG_SERIES

    @property
    def _room(self) -> float:
        return _LONG_SERIES if self.order > _HIGH else _SERIES

    def _cancelling(self, square: float) -> float:
        """The number of bits that cancel in the power series of G; `square` is |z|²/4.

        The absolute values of the terms sum to at most (1 + β)·e^min(|z|, |z|²/(4(ν+1))), and G(0)
        = 1 + β. Products of complex balls are wider by up to √2, as if z² were √2 times as large.
        """
        widened = math.sqrt(2) * square
        return 1.45 * min(2 * math.sqrt(widened), widened / (self.order + 1))

    def _by_bessel(self, z: acb) -> acb:
        """Enclose G(z) by Bessel functions, with I_ν(z) and I_{ν+1}(z).

        It is Γ(ν+1)(z/2)^(−ν)·(I_ν(z) + β(ν+1)(2/z)I_{ν+1}(z)).
        """
        nu = arb(self.order)
        first, second = z.bessel_i(acb(nu)), z.bessel_i(acb(nu + 1))
        return (nu + 1).gamma() * (z / 2) ** -nu * (first + self.weight * (nu + 1) * 2 / z * second)

    def _by_series(self, points: Sequence[acb], largest: float) -> list[acb]:
        """Enclose G at all `points` z by its power series; `largest` is the largest |z|²/4.

        The series is Σ_n tₙ(1 + β(ν+1)/(ν+1+n))qⁿ with q = z²/4 and tₙ = 1/(n!·(ν+1)(ν+2)…(ν+n)).
        Once |q| <= n(ν+n)/2, each term is at most half the one before, so the rest is at most twice
        the first omitted term.
        """
        nu, beta, bound = arb(self.order), self.weight, arb(largest) * (1 + arb(2) ** -50)
        share = beta * (nu + 1)
        term, size, n = arb(1), arb(1), 0
        coefficients: list[arb] = []
        trifle = arb(2) ** -ctx.prec
        while not (size < trifle and bound * 2 < n * (nu + n)):
            coefficients.append(term * (1 + share / (nu + 1 + n)))
            n += 1
            term /= n * (nu + n)
            size *= bound / (n * (nu + n))
        rest = arb(0, (2 * (1 + beta) * size).upper())
        polynomial = acb_poly(coefficients)
        return [polynomial(z * z / 4) + acb(rest, rest) for z in points]


@final
@dataclass(frozen=True, kw_only=True)
class SphericalEnvelope:
    """An upper bound on the characteristic function |X| for the l2 mechanism `law` and c = `tilt`.

    Let κ = (2c+1)x, η = Z/a with −1 <= η <= 1, and β' = β(ν+1)/(ν+½). The density of η under the
    tilted law is p(η) = e^(κη)(1−η²)^(ν−½)(1 + β'(1−η²))/(C·G(κ)), where C = √π·Γ(ν+½)/Γ(ν+1). The
    argument `v` of the methods is V = ua for a height u. All bounds are proved in
    theory/accounting.md §2.
    """

    law: SphericalMoments
    tilt: Fraction

    @cached_property
    def _kappa(self) -> arb:
        return ball((2 * self.tilt + 1) * self.law.ratio / 2)

    @cached_property
    def _g(self) -> arb:
        return self.law.g(lambda: [acb(self._kappa)])[0].real

    @cached_property
    def _minorant(self) -> tuple[arb, arb]:
        """The mass m of a unimodal function below p, and a bound B on its height.

        The function is p itself for d >= 3. For d = 2, the factor (1−η²)^(−½) + β'(1−η²)^½ of p is
        replaced by 1 + β'(1−η²)^½.
        """
        nu, kappa = arb(self.law.order), self._kappa
        whole = (arb.pi().log() / 2 + (nu + arb(0.5)).lgamma() - (nu + 1).lgamma()).exp() * self._g
        beta = self.law.weight * (nu + 1) / (nu + arb(0.5))
        low = arb(max(self.law.order - 0.5, 0.0))
        height = _highest(kappa, low) + beta * _highest(kappa, nu + arb(0.5))
        if self.law.dimension > 2:
            return arb(1), height / whole
        flat = 2 * kappa.sinh() / kappa
        round_ = (kappa * kappa / 4).hypgeom_0f1(arb(2)) * arb.pi() / 2
        return (flat + beta * round_) / whole, height / whole

    def beyond(self, height: Fraction) -> arb:
        """A bound on the characteristic function |X(u)| for all heights u >= `height` > 0."""
        v = ball(height * self.law.ratio)
        return _least(self._overlap(v), _least(self._far_up(v), self._by_zeros(v)))

    def _by_zeros(self, v: arb) -> arb:
        """A bound on |X| at all heights from V/a on, from the zeros of F_ν.

        It is e^(−AV² + BV⁴), or `_far_up` at V₁ if larger, and 1 for V >= V₁. A, B and V₁ are from
        `_zeros`; this B isn't the height in `_minorant`. The exponent falls up to V₁² = A/(2B), and
        `_far_up` at V₁ covers all larger heights.
        """
        if not self._zeros:
            return arb(1)
        a, b, last, beyond = self._zeros
        return (-a * v * v + b * v**4).exp().max(beyond) if v < last else arb(1)

    @cached_property
    def _zeros(self) -> tuple[arb, arb, arb, arb] | None:
        """The constants A, B and V₁ of `_by_zeros`, and the bound `_far_up` at V₁.

        None for a low order or a large κ, for which `_by_zeros` has no bound.
        """
        nu = arb(self.law.order)
        part = self._kappa**2 / (nu * (nu + 2))
        if self.law.order < _HIGH or not part < arb(0.5):
            return None
        a = (1 - part) / (1 + part) ** 2 / (4 * (nu + 2))
        b = 1 / (32 * (nu + 1) ** 2 * (nu + 2))
        last = (a / (2 * b)).sqrt()
        return a, b, last, self._far_up(last)

    def _overlap(self, v: arb) -> arb:
        """A bound on |X| at all heights from V/a on, from the overlap of p with a shifted copy.

        For a shift by τ it is max(1 − m + 2Bτ/π, 1 − (m − τB)(1 − cos(Vτ/2))). m is the mass
        of a unimodal function below p, and B a bound on its height (`_minorant`). The best of 16
        values of τ in (0, π/V] is used.
        """
        mass, top = self._minorant

        def rho(tau: arb) -> arb:
            first = 1 - mass + 2 * top * tau / arb.pi()
            return first.max(1 - (mass - tau * top) * (1 - (v * tau / 2).cos()))

        b, m, height_ = float(top), float(mass), float(v)

        def roughly(tau: float) -> float:
            overlap = (m - tau * b) * (1 - math.cos(height_ * tau / 2))
            return max(1 - m + 2 * b * tau / math.pi, 1 - overlap)

        most = min(3.14 / height_, m / b)  # π/V from below
        return rho(arb(min((most * j / _SHIFTS for j in range(1, _SHIFTS + 1)), key=roughly)))

    def _far_up(self, v: arb) -> arb:
        """A bound on |X| at all heights from V/a on, from the Bessel functions in G(z), z = κ + iV.

        For an order μ >= ½, |I_μ(z)| <= 2cosh(κ)·min(1, e^|z|K_μ(|z|)/π). For μ = 0, in dimension
        2, the minimum is replaced by 1/√(2πV).
        """
        nu = arb(self.law.order)
        size = (self._kappa * self._kappa + v * v).sqrt()

        def shrinks(steps: int) -> arb:
            if float(size) < self.law.order or steps > _HIGH:
                return arb(1)
            return _least(arb(1), _scaled_k(steps, size) / arb.pi())

        half = (self.law.dimension - 2) // 2  # ν <= half + ½
        first = 1 / (2 * arb.pi() * v).sqrt() if self.law.dimension == 2 else shrinks(half)
        second = self.law.weight * (nu + 1) * 2 / size * shrinks(half + 1)
        scale = ((nu + 1).lgamma() - nu * (size / 2).log()).exp()
        return 2 * self._kappa.cosh() * scale * (first + second) / self._g


@lru_cache(maxsize=256)
def _weight(ratio: Fraction, dimension: int, bits: int) -> arb:
    """Enclose the weight β of `SphericalMoments` to about `bits` bits; `ratio` is a.

    The working precision grows, up to 8 times `bits`, if too many digits cancel.
    """
    weight = arb.nan()
    lost = 16  # bits
    for more in (1, 2, 4, 8):
        with precision(more * bits):
            x = ball(ratio / 2)
            weight = x * bessel_k_ratio(dimension - 2, x) / dimension
        if weight.rel_accuracy_bits() >= bits - lost:
            break
    return weight


def _highest(kappa: arb, power: arb) -> arb:
    """Enclose the largest e^(κη)(1−η²)^q over −1 <= η <= 1, for κ = `kappa` and q = `power`.

    It is at η = κ/(q + √(q²+κ²)), where 1−η² = 2qη/κ.
    """
    if power.is_zero():
        return kappa.exp()
    below = power + (power * power + kappa * kappa).sqrt()
    return (kappa * kappa / below + power * (2 * power / below).log()).exp()


def _scaled_k(n: int, r: arb) -> arb:
    """Enclose the scaled Bessel function e^r·K_{n+½}(r), which grows with n.

    It is √(π/(2r)) times the sum of (n+j)!/(j!(n−j)!(2r)^j) over j = 0 … n.
    """
    term, total = arb(1), arb(1)
    for j in range(1, n + 1):
        term *= (n + j) * (n - j + 1) / (2 * j * r)
        total += term
    return (arb.pi() / (2 * r)).sqrt() * total


def _least(first: arb, second: arb) -> arb:
    """The smaller of two bounds: `second` if it is certainly smaller, otherwise `first`.

    `second` may be NaN, which isn't smaller.
    """
    return second if second < first else first
