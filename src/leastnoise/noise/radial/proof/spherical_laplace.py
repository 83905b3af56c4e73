"""Enclosure of δ(ε) for the l2 mechanism (Joseph et al. 2025), which is spherical Laplace noise.

Notation: d is the dimension, a the shift in scales and z = a/2. θ is the angle that determines the
privacy loss a cos θ, x = π/2 − θ its latitude, and w(x) the density of x without a factor. K_ν is
the modified Bessel function of order ν.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import acb, arb, ctx

from leastnoise.balls.core import ball, bessel_k_ratio, positive_integral
from leastnoise.noise.common.proof import over
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import SphericalLaplace

_FEW = 20  # coordinates; up to here one integral from each loss takes less time
MOST_SCALES = 10**9  # largest shift in scales; beyond it the angular integral takes minutes


def delta_ball(noise: SphericalLaplace, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε), exactly 0 if ε >= shift/scale (decided between Fractions).

    This is theory/noise.md §6 in the latitude x. δ is ∫ (1 − e^(ε − a sin x)) w(x) dx from
    arcsin(ε/a) to π/2, divided by ∫ w from −π/2 to π/2. Here
    w(x) = e^(z sin x) cos^(d−2)x (1 + r cos²x), with r = z/(d−1)·K_ν(z)/K_{ν+1}(z) and
    ν = (d−2)/2. Both integrands are entire, so the rigorous quadrature needs no case for a branch.
    w is scaled by its value near its peak.
    """
    ratio = shift / noise.scale
    if ratio <= epsilon:
        return arb(0)
    power = noise.dimension - 2
    a, e = ball(ratio), ball(epsilon)
    z = a / 2
    r, everything = _whole(power, ratio, ctx.prec)
    start = ball(epsilon / ratio).asin()
    mode = _latitude_of_peak(power + 1, z)
    later = arb(max(start.mid(), mode.mid()))
    weight = _weight(power, z, r, later)
    above = positive_integral(
        lambda x: weight(x) * (1 - (e - a * x.sin()).exp()),
        start,
        arb.pi() / 2,
        bits=ctx.prec - 32,
    )
    return above / everything * _scale_ratio(z, power, later, mode)


def lattice_deltas(
    noise: SphericalLaplace, *, shift: Fraction, step: Fraction, size: int
) -> list[arb]:
    """Enclose δ at ε = 0, step, …, size·step, in less time than one by one.

    With h for `step` and L = a sin x for the loss at the latitude x, δ(ε) is the sum of δ(ε + h),
    of the integral of (1 − e^(ε − L)) w over losses between ε and ε + h, and of 1 − e^(−h) times
    the integral of e^(ε + h − L) w over larger losses. Both integrals are divided by the integral
    of w. No term is negative, so the sums lose no accuracy.
    """
    ratio, power = shift / noise.scale, noise.dimension - 2
    if noise.dimension < _FEW:
        return [delta_ball(noise, shift=shift, epsilon=step * index) for index in range(size + 1)]
    a, h = ball(ratio), ball(step)
    z, end = a / 2, arb.pi() / 2
    r, everything = _whole(power, ratio, ctx.prec)
    mode = _latitude_of_peak(power + 1, z)
    deltas = [arb(0)] * (size + 1)
    above, beyond = arb(0), arb(0)  # the integrals over all losses above ε
    for index in range(min(size, math.ceil(ratio / step) - 1), -1, -1):
        start = ball(step * index / ratio).asin()
        peak = arb(max(start.mid(), min(mode.mid(), end.mid())))
        scale, weight = _scale_ratio(z, power, peak, mode), _weight(power, z, r, peak)
        excess, rest = _integrals_between(start, end, weight, a)
        above += scale * excess - (-h).expm1() * beyond
        beyond = (-h).exp() * beyond + scale * rest
        deltas[index], end = above / everything, start
    return deltas


def _integrals_between(
    start: arb, end: arb, weight: Callable[[acb], acb], a: arb
) -> tuple[arb, arb]:
    """Integrate (1 − e^(ε − L)) w and e^(ε − L) w over the latitudes from `start` to `end`.

    L is the loss at a latitude, and ε the loss at `start`. Both integrands are scaled so that the
    integrals are about 1 and meet their first goal.
    """
    least, width, bits = a * start.sin(), arb((end - start).mid()), ctx.prec - 32

    def lighter(x: acb) -> acb:
        return (least - a * x.sin()).exp()

    most = arb((1 - lighter(acb(end)).real).mid())
    excess = positive_integral(
        lambda x: weight(x) * (1 - lighter(x)) / (width * most), start, end, bits=bits
    )
    rest = positive_integral(lambda x: weight(x) * lighter(x) / width, start, end, bits=bits)
    return width * most * excess, width * rest


@lru_cache(maxsize=64)
def _whole(power: int, ratio: Fraction, bits: int) -> tuple[arb, arb]:
    """Return the number r of `delta_ball`, and ∫ w from −π/2 to π/2, scaled at the peak of w.

    Neither depends on ε. `power` is d − 2, `ratio` is a, and `bits` is the precision.
    """
    z = ball(ratio) / 2
    r = z * bessel_k_ratio(power, z) / (power + 1)
    quarter = arb.pi() / 2
    weight = _weight(power, z, r, _latitude_of_peak(power + 1, z))
    return r, positive_integral(weight, -quarter, quarter, bits=bits - 32)


def _weight(power: int, z: arb, r: arb, peak: arb) -> Callable[[acb], acb]:
    """Return the function w, scaled by about its value at the latitude `peak`.

    It is w(x)/(e^(z s) (1−s²)^(power/2)), where s = sin(peak) and `power` is d − 2.
    """
    s = arb(peak.sin().mid())
    log_scale = z * s + ((1 - s * s).log() * power / 2 if power else 0)

    def w(x: acb) -> acb:
        cosine = x.cos()
        square = cosine * cosine
        return (z * x.sin() - log_scale).exp() * cosine**power * (1 + r * square)

    return w


def _latitude_of_peak(m: int, z: arb) -> arb:
    """Return approximately the x at which e^(z sin x) cos^m x is largest; it only scales w."""
    return arb((2 * z / (m + (m * m + 4 * z * z).sqrt())).asin().mid())


def _scale_ratio(z: arb, power: int, later: arb, mode: arb) -> arb:
    """Enclose the ratio of the factors by which `_weight` divides w, for two values of its `peak`.

    It is the factor for `later` over the factor for `mode`. `power` is d − 2.
    """
    s, t = arb(later.sin().mid()), arb(mode.sin().mid())
    logs = ((1 - s * s) / (1 - t * t)).log() * power / 2 if power else 0
    return (z * (s - t) + logs).exp()


def too_long(part: Releases, shift: Fraction, _: Fraction) -> str | None:
    """Return the reason why a proof for l2 noise would take too long; None if it wouldn't."""
    return over(shift / part.noise.scale, MOST_SCALES, "the shift in scales of the noise")
