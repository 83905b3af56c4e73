"""δ of compositions, computed directly in mpmath: sums over outcomes and integrals of densities.

Nothing here comes from the library. notation: P, Q the laws of one output on two neighbouring
inputs whose queries are 1 apart, Z = log dP/dQ, δ(ε) = E_P(1 − e^(ε−Z))₊. The caller sets mpmath's
precision.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import mpmath

Real = Any
mp: Any = mpmath.mp  # it has no types
mpf: Any = mpmath.mpf
Ratio = tuple[Fraction, int] | None
"""An exact ratio of densities w·e^(−decay·level), as (w, level); None where Q has density 0."""


def real(value: Fraction | str | float) -> Real:
    """A number as mpmath's nearest float at the current precision."""
    exact = Fraction(value)
    return mpf(exact.numerator) / exact.denominator


# --- laws with finitely many losses ---------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Masses:
    """The probabilities (p, q) under P and Q of the outputs with each loss."""

    pairs: tuple[tuple[Real, Real], ...]

    def sampled(self, rate: str, *, removed: bool) -> Masses:
        """The pair of laws for Poisson samples: ((1 − γ)Q + γP, Q), or the mirror image."""
        g = real(rate)
        if removed:
            return Masses(pairs=tuple(((1 - g) * q + g * p, q) for p, q in self.pairs))
        return Masses(pairs=tuple((q, (1 - g) * q + g * p) for p, q in self.pairs))


def delta_of_masses(laws: Sequence[tuple[Masses, int]], epsilon: str) -> Real:
    """Σ(Πp − e^ε Πq)₊ over all outcomes of all releases.

    Orders of one outcome are counted together.
    """
    alpha = mp.exp(real(epsilon))
    outcomes: list[list[tuple[Real, Real]]] = []
    for law, count in laws:
        atoms: list[tuple[Real, Real]] = []
        for drawn in itertools.combinations_with_replacement(range(len(law.pairs)), count):
            ways = mp.factorial(count)
            for often in Counter(drawn).values():
                ways /= mp.factorial(often)
            atoms.append(
                (
                    ways * prod(law.pairs[i][0] for i in drawn),
                    ways * prod(law.pairs[i][1] for i in drawn),
                )
            )
        outcomes.append(atoms)
    total = mpf(0)
    for outcome in itertools.product(*outcomes):
        total += max(mpf(0), prod(p for p, _ in outcome) - alpha * prod(q for _, q in outcome))
    return total


Step = tuple[Fraction, Fraction, int]
"""The end of a step in |x|, its weight and its level: density ∝ weight·e^(−decay·level)."""


def masses_of_steps(
    steps: Sequence[Step], *, decay: str = "0", shift: str = "1", atom: str = "0"
) -> Masses:
    """The pair of a step density on the line and the same density moved by `shift`.

    With the probability `atom` the output is the query itself. Then it reveals the input.
    """
    moved, left, height = Fraction(shift), real(atom), real(decay)
    ends = [end for end, _, _ in steps]
    cuts = sorted(
        {sign * end + by for end in [Fraction(0), *ends] for sign in (1, -1) for by in (0, moved)}
    )

    def at(x: Fraction) -> tuple[Fraction, int]:
        return next(((w, level) for end, w, level in steps if abs(x) < end), (Fraction(0), 0))

    total = 2 * sum(
        real((end - before) * w) * mp.exp(-height * level)
        for before, (end, w, level) in zip([Fraction(0), *ends], steps, strict=False)
    )
    masses: dict[Ratio, tuple[Real, Real]] = {}
    for a, b in itertools.pairwise(cuts):
        (wp, lp), (wq, lq) = at((a + b) / 2), at((a + b) / 2 - moved)
        p = (1 - left) * real(wp * (b - a)) * mp.exp(-height * lp) / total
        q = (1 - left) * real(wq * (b - a)) * mp.exp(-height * lq) / total
        key = (wp / wq, lp - lq) if wq else None
        before = masses.get(key, (mpf(0), mpf(0)))
        masses[key] = before[0] + p, before[1] + q
    pairs = [*masses.values(), *([(left, mpf(0)), (mpf(0), left)] if left else [])]
    return Masses(pairs=tuple(pairs))


def masses_of_lattice(masses: Sequence[int], cells: int) -> Masses:
    """The pair of the law P(K = k) ∝ masses[|k|] and the same law moved by `cells`."""
    total = 2 * sum(masses) - masses[0]
    law = {k: Fraction(masses[abs(k)], total) for k in range(1 - len(masses), len(masses))}
    weights: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for k in {*law, *(k + cells for k in law)}:
        p, q = law.get(k, Fraction(0)), law.get(k - cells, Fraction(0))
        key = p / q if q else None
        before = weights.get(key, (Fraction(0), Fraction(0)))
        weights[key] = before[0] + p, before[1] + q
    return Masses(pairs=tuple((real(p), real(q)) for p, q in weights.values()))


def masses_of_shells(steps: Sequence[Step], *, dimension: int, decay: str = "0") -> Masses:
    """The pair of a spherical step density and the same moved by 1, from volumes of two balls."""
    height, ends = real(decay), [Fraction(0), *(end for end, _, _ in steps)]
    weights = [real(w) * mp.exp(-height * level) for _, w, level in steps]
    both = [[_lens(a, b, dimension) for b in ends] for a in ends]
    whole = [_volume(a, dimension) for a in ends]
    total = sum(w * (whole[i + 1] - whole[i]) for i, w in enumerate(weights))
    pairs: list[tuple[Real, Real]] = []
    for i, p in enumerate(weights):
        for j, q in enumerate(weights):
            shared = both[i + 1][j + 1] - both[i][j + 1] - both[i + 1][j] + both[i][j]
            if shared > mpf(10) ** (5 - mp.dps):
                pairs.append((p * shared / total, q * shared / total))
        alone = (whole[i + 1] - whole[i]) - (both[i + 1][-1] - both[i][-1])
        pairs += [(p * alone / total, mpf(0)), (mpf(0), p * alone / total)]
    return Masses(pairs=tuple(pairs))


def _volume(radius: Fraction, dimension: int) -> Real:
    half = mpf(dimension) / 2
    return mp.pi**half / mp.gamma(half + 1) * real(radius) ** dimension


def _lens(a: Fraction, b: Fraction, dimension: int) -> Real:
    """The volume of the intersection of balls of radii a and b whose centres are 1 apart."""
    if a + b <= 1:
        return mpf(0)
    if abs(a - b) >= 1:
        return _volume(min(a, b), dimension)
    plane = (1 + a * a - b * b) / 2  # from the centre of the first
    return _cap(a, plane, dimension) + _cap(b, 1 - plane, dimension)


def _cap(radius: Fraction, height: Fraction, dimension: int) -> Real:
    """The volume of a cap: the part of a ball beyond the distance `height` in one direction."""
    inside = real(1 - (height / radius) ** 2)
    share = mp.betainc(mpf(dimension + 1) / 2, mpf(1) / 2, 0, inside, regularized=True) / 2
    return _volume(radius, dimension) * (share if height >= 0 else 1 - share)


# --- one number, with a density -------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Line:
    """Noise for one number: its distribution function `below` and `density`, on (−reach, reach).

    ℓ(x) = log of density(x)/density(x − 1) never grows in x; `place(t)` is the end of {ℓ > t}. At
    the `kinks` ℓ isn't smooth.
    """

    density: Callable[[Real], Real]
    below: Callable[[Real], Real]
    place: Callable[[Real], Real]
    kinks: tuple[Real, ...]
    reach: Real


def laplace(scale: str) -> Line:
    """Density e^(−|x|/b)/2b."""
    b = real(scale)
    return Line(
        density=lambda x: mp.exp(-abs(x) / b) / (2 * b),
        below=lambda x: 1 - mp.exp(-x / b) / 2 if x > 0 else mp.exp(x / b) / 2,
        place=lambda t: -mp.inf if t * b >= 1 else mp.inf if t * b < -1 else (1 - t * b) / 2,
        kinks=(mpf(0), mpf(1)),
        reach=mp.inf,
    )


def truncated_laplace(scale: str, radius: str) -> Line:
    """The Laplace law, cut off at ±radius·scale > 1/2."""
    whole, end = laplace(scale), real(radius) * real(scale)
    total = 1 - 2 * whole.below(-end)
    ends = (1 - end, end)
    return Line(
        density=lambda x: whole.density(x) / total if abs(x) < end else mpf(0),
        below=lambda x: (whole.below(max(-end, min(x, end))) - whole.below(-end)) / total,
        place=lambda t: max(ends[0], min(whole.place(t), ends[1])),
        kinks=tuple(sorted({*ends, *(x for x in whole.kinks if ends[0] < x < ends[1])})),
        reach=end,
    )


def gaussian(scale: str) -> Line:
    """The normal law of standard deviation `scale`."""
    sigma = real(scale)
    return Line(
        density=lambda x: mp.npdf(x, 0, sigma),
        below=lambda x: mp.erfc(-x / (sigma * mp.sqrt(2))) / 2,
        place=lambda t: mpf(1) / 2 - t * sigma**2,
        kinks=(),
        reach=mp.inf,
    )


def flipped_huber(scale: str, alpha: str, gamma: str) -> Line:
    """Density ∝ e^(−ρ(|x|/scale)/γ²), ρ(r) = αr up to α and (r² + α²)/2 beyond; scale·α < 1."""
    unit, u = real(scale) * real(gamma), real(alpha) / real(gamma)

    def fall(x: Real) -> Real:
        y = abs(x) / unit
        return u * y if y <= u else (y * y + u * u) / 2

    def tail(y: Real) -> Real:  # ∫ e^(−h) from y >= 0
        if y >= u:
            return mp.exp(-u * u / 2) * mp.sqrt(mp.pi / 2) * mp.erfc(y / mp.sqrt(2))
        return (mp.exp(-u * y) - mp.exp(-u * u)) / u + tail(u)

    half = tail(mpf(0))

    def place(t: Real) -> Real:
        # ℓ = h(x − 1) − h(x) falls from 1/2 on like −(2x − 1)/2unit², or faster, and mirrored
        size = abs(t) * unit**2 + u * unit + 2
        low, high = -size, size
        for _ in range(mp.prec + 10):
            middle = (low + high) / 2
            low, high = (middle, high) if fall(middle - 1) - fall(middle) > t else (low, middle)
        return low

    corners = (mpf(0), u * unit, -u * unit)
    return Line(
        density=lambda x: mp.exp(-fall(x)) / (2 * half * unit),
        below=lambda x: tail(-x / unit) / (2 * half) if x < 0 else 1 - tail(x / unit) / (2 * half),
        place=place,
        kinks=tuple(sorted({c + by for c in corners for by in (0, 1)})),
        reach=mp.inf,
    )


def delta_of_two(noise: Line, epsilon: str, *, rate: str = "1", removed: bool = True) -> Real:
    """δ of two releases of Poisson samples: ∫ δ₁(ε − L(x)) over the first output x.

    By symmetry the pair for an added record is (P, (1 − γ)P + γQ).
    """
    g = real(rate)
    last = noise.reach + 1 if removed and g < 1 else noise.reach

    def weigh(of_p: Real, of_q: Real) -> tuple[Real, Real]:
        return (g * of_p + (1 - g) * of_q, of_q) if removed else (of_p, (1 - g) * of_p + g * of_q)

    def loss(x: Real) -> Real:
        p, q = weigh(noise.density(x), noise.density(x - 1))
        return mp.log(p / q) if q else mp.inf

    def end(t: Real) -> Real:
        """The end of the outputs with L > t."""
        share = (mp.exp(t) - 1 + g) / g if removed else (mp.exp(-t) - 1 + g) / g
        if share <= 0:
            return last if removed else -noise.reach
        return noise.place(mp.log(share) if removed else -mp.log(share))

    def one(t: Real) -> Real:
        at = end(t)
        if at == -mp.inf:
            return mpf(0)
        if at == mp.inf:
            return 1 - mp.exp(t)
        p, q = weigh(noise.below(at), noise.below(at - 1))
        return p - mp.exp(t) * q

    def first(x: Real) -> Real:
        p, _ = weigh(noise.density(x), noise.density(x - 1))
        z = loss(x) if p else mpf(0)
        return p * (one(real(epsilon) - z) if z < mp.inf else 1)

    turns = [loss(x) for x in noise.kinks]
    cuts = {end(real(epsilon) - z) for z in turns if mp.isfinite(z)} | set(noise.kinks)
    inside = sorted(x for x in cuts if -noise.reach < x < last)
    return mp.quad(first, [-noise.reach, *inside, last])


# --- spherical Laplace noise ----------------------------------------------------------------


def delta_of_two_spherical(
    scale: str, dimension: int, epsilon: str, *, rate: str = "1", removed: bool = True
) -> Real:
    """δ of two releases with density ∝ e^(−‖x‖/σ), by prolate spheroidal coordinates.

    With u = ‖x − v‖ + ‖x‖ and w = ‖x − v‖ − ‖x‖ = σℓ a volume is ∝ (u² − w²)((u² − 1)(1 − w²))^m,
    m = (d − 3)/2, so that w alone has the density e^(w/2σ)(1 − w²)^m (A − Bw²); w = −cos θ.
    """
    sigma, g, m = real(scale), real(rate), mpf(dimension - 3) / 2

    def moment(power: int) -> Real:
        return mp.quad(
            lambda u: u**power * (u * u - 1) ** m * mp.exp(-u / (2 * sigma)), [1, 2, 8, mp.inf]
        )

    a, b = moment(2), moment(0)

    def density(theta: Real) -> tuple[Real, Real]:
        """The densities of P and Q in θ."""
        w = -mp.cos(theta)
        p = mp.exp(w / (2 * sigma)) * mp.sin(theta) ** (dimension - 2) * (a - b * w * w)
        q = p * mp.exp(-w / sigma)
        if g == 1:
            return p, q
        return (g * p + (1 - g) * q, q) if removed else (q, g * p + (1 - g) * q)

    def place(t: Real) -> Real:
        """The θ with loss t, clipped to [0, π].

        The loss grows in θ, or falls for an added record.
        """
        share = (mp.exp(t if removed else -t) - 1 + g) / g
        w = sigma * mp.log(share) if share > 0 else -mp.inf
        return mp.acos(-max(mpf(-1), min(w, mpf(1))))

    def one(t: Real) -> Real:
        def excess(theta: Real) -> Real:
            p, q = density(theta)
            return p - mp.exp(t) * q

        ends = [place(t), mp.pi] if removed else [mpf(0), place(t)]
        return mp.quad(excess, ends, method="gauss-legendre") if ends[0] < ends[1] else mpf(0)

    def first(theta: Real) -> Real:
        p, q = density(theta)
        return p * one(real(epsilon) - mp.log(p / q)) if p and q else mpf(0)

    def loss(theta: Real) -> Real:
        z = mp.log(1 - g + g * mp.exp(-mp.cos(theta) / sigma))
        return z if removed else -z

    total = mp.quad(lambda theta: density(theta)[0], [0, mp.pi], method="gauss-legendre")
    turns = sorted({mpf(0), mp.pi, *(place(real(epsilon) - loss(x)) for x in (mpf(0), mp.pi))})
    return mp.quad(first, turns) / total**2
