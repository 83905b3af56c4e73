"""The steps of a staircase that is cut off: what all truncated staircases for vectors share.

notation: γ = gamma in (0, 1], R = radius > 0, ε = decay >= 0. In units of the scale the density is
∝ e^(−εk) between the edges γ + k − 1 and γ + k, k = 0, 1, …, up to the last edge R, and 0 beyond.
"""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.common.law.radial_steps import RadialSteps

MAX_STEPS = 20_000  # a proof looks at each of them
SMALLEST_GAMMA = Fraction(1, 10**140)
SMALLEST_RADIUS = Fraction(1, 10**12)
LARGEST_DECAY = Fraction(10**6)


def checked_steps(
    *, gamma: Exact, radius: Exact, decay: Exact
) -> tuple[Fraction, Fraction, Fraction]:
    """Return all three exactly; raises InvalidArgument outside what a truncated staircase has."""
    found = exact(gamma, name="gamma"), exact(radius, name="radius"), exact(decay, name="decay")
    if not SMALLEST_GAMMA <= found[0] <= 1:
        raise InvalidArgument(name="gamma", value=str(gamma)[:40], expected="1e-140 <= gamma <= 1")
    if not SMALLEST_RADIUS <= found[1] <= MAX_STEPS:
        raise InvalidArgument(
            name="radius", value=str(radius)[:40], expected=f"1e-12 <= radius <= {MAX_STEPS:,}"
        )
    if not 0 <= found[2] <= LARGEST_DECAY:
        raise InvalidArgument(name="decay", value=str(decay)[:40], expected="0 <= decay <= 1e6")
    return found


def truncated_steps(*, gamma: Fraction, radius: Fraction, decay: Fraction) -> RadialSteps:
    """Return edges γ, γ + 1, … below R, and R, with their heights."""
    count = max(0, math.ceil(radius - gamma))
    edges = (*(gamma + j for j in range(count)), radius)
    return RadialSteps(
        edges=edges, weights=(1,) * len(edges), levels=tuple(range(len(edges))), decay=decay
    )
