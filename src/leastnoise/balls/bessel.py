"""Enclosures of ratios of modified Bessel functions."""

from __future__ import annotations

import math

from flint import arb, ctx


def bessel_k_ratio(twice_order: int, z: arb) -> arb:
    """Enclose ρ_ν = K_ν(z)/K_{ν+1}(z) for ν = twice_order/2 >= 0 and z > 0.

    theory/noise.md §6: ρ_{ν+1} = 1/(ρ_ν + 2(ν+1)/z), an order-reversing contraction of [0, 1] with
    factor ρ_ν ρ_{ν+1} < (z/(ν + √(ν² + z²)))². Started from all of [0, 1] enough orders below, it
    ends in an enclosure as narrow as the precision; from order −½ or 0 if there aren't enough.
    """
    rough = float(z.mid())
    half = twice_order / 4  # it contracts less at lower orders: counted at half the order, and kept
    contraction = (rough / (half + math.hypot(half, rough))) ** 2
    shrinks = 1e-300 < contraction < 1
    steps = ctx.prec / -math.log2(contraction) + 2 if shrinks else math.inf
    if steps + 1 < half:
        order, ratio = twice_order - 2 * math.ceil(steps), arb(0.5, 0.5)
    elif twice_order % 2:
        order, ratio = -1, arb(1)  # K_{−½} = K_{½}
    else:
        order, ratio = 0, z.bessel_k(0) / z.bessel_k(1)
    while order < twice_order:
        ratio = 1 / (ratio + (order + 2) / z)
        order += 2
    return ratio
