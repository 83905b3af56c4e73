"""The basis of proofs for sums of Gaussian kernels: limits on work, laws in balls, value tables.

Notation: lengths are in units of σ, the width of a kernel. f is the density of the noise, f′ to f⁗
and f⁶ its derivatives, and n = `per_sigma` the points of a table in a length σ. φ is the standard
normal density here; in the other modules of this package it is a shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

import numpy as np
from flint import arb

from leastnoise.balls.core import UNIT, ball, float_above
from leastnoise.noise.common.proof import over
from leastnoise.noise.kernels.law import KernelNoise
from leastnoise.noise.question import Releases

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# Limits on the sums of Gaussian kernels that are proved: their width, and ε.


MOST_KERNEL_EPSILON = 500  # largest ε, as proofs compute e^ε in floats


def too_long(part: Releases, shift: Fraction, epsilon: Fraction) -> str | None:
    """The reason why a proof of `part` isn't tried (see `why_not_kernels`); None if it is."""
    noise = cast("KernelNoise", part.noise)
    sigma = noise.scale
    return why_not_kernels(
        modes=noise.modes,
        spacing=noise.spacing / sigma,
        shift=shift / sigma,
        epsilon=epsilon,
        compositions=part.compositions,
    )


def why_not_kernels(
    *, modes: int, spacing: Fraction, shift: Fraction, epsilon: Fraction, compositions: int
) -> str | None:
    """The reason why a proof for these parameters isn't tried; None if it is.

    Either it would take too long, or ε of a single release is above MOST_KERNEL_EPSILON. `spacing`
    and `shift` are in units of σ. A proof takes long because tables extend over the whole law, from
    kernel to kernel, for each of the examined shifts.
    """
    if compositions == 1 and epsilon > MOST_KERNEL_EPSILON:
        return (
            f"it is proved up to epsilon = {MOST_KERNEL_EPSILON}; e^epsilon is computed in floats"
        )
    far = math.sqrt(2 * (98 + min(float(epsilon), MOST_KERNEL_EPSILON)))
    work = shift * (modes * spacing + (Fraction(far) if compositions == 1 else shift + 14))
    # the narrowest calibrated law, at ε = 500, takes 2,370
    most = 4_000 if compositions == 1 else 1_000
    what = "the shift times the length of the law, both in scales,"
    return over(work, most, what)


# Sums of Gaussian kernels as exact centres and weights in balls, lengths in σ.


@final
@dataclass(frozen=True, kw_only=True)
class KernelLaw:
    """The density f of the noise: at x, the sum of weight·φ(x − centre) over the kernels.

    `kernels` are pairs (centre, weight), and `apart` is the spacing. If `folded`, a kernel right of
    0 counts only for x >= 0, and a kernel left of 0 only for x < 0.
    """

    kernels: tuple[tuple[Fraction, arb], ...]
    apart: Fraction
    folded: bool

    @classmethod
    def of(cls, noise: KernelNoise) -> KernelLaw:
        """The law in units of its scale."""
        apart, decay = noise.spacing / noise.scale, ball(noise.decay)
        ks = range(-noise.modes, noise.modes + 1)
        weights = [(-abs(k) * decay).exp() for k in ks]
        total = sum(weights, arb(0))
        if noise.folded:
            total = weights[1] + weights[0] * (-ball(apart) / arb(2).sqrt()).erfc()
        return cls(
            kernels=tuple((k * apart, w / total) for k, w in zip(ks, weights, strict=True)),
            apart=apart,
            folded=noise.folded,
        )

    @property
    def reach(self) -> Fraction:
        """The largest of the kernels' centres."""
        return self.kernels[-1][0]

    def below(self, x: arb) -> arb:
        """Enclose the probability that the noise is at most `x`, for a law that isn't folded."""
        root_half = arb(0.5).sqrt()
        total = arb(0)
        for centre, weight in self.kernels:
            total += weight * ((ball(centre) - x) * root_half).erfc() / 2
        return total


# Sums of Gaussian kernels on a grid, in floats with a proved bound on their rounding.
#
# u = 2^-53 is the rounding error of a double. Exponentials are computed in balls: once for the
# normal density, and once for each kernel. The rest is +, − and × of doubles, which IEEE 754 rounds
# to nearest.


LEFT_OUT = 1e-36
"""A bound on the density, derivatives and mass of kernels beyond their ends, times e^ε."""


@final
@dataclass(frozen=True, kw_only=True)
class Row:
    """The values f, f′ and f″ at the points of a table for one shift, and bounds on |f⁗| and |f⁶|.

    `slope` is f′ and `bend` is f″. `fourth` and `sixth` bound the fourth and sixth derivatives near
    each point: up to two and a half steps left of it, and three and a half right of it. The
    relative error of f is at most `DensityTable.rounding`. The error of a derivative is at most
    `rounding`, too, relative to the sum of the absolute values of its terms.
    """

    f: Floats
    slope: Floats
    bend: Floats
    fourth: Floats
    sixth: Floats


@final
@dataclass(frozen=True, kw_only=True)
class DensityTable:
    """A table of f at the points i/n + shift, for first <= i < first + count.

    Each shift has a row of its own. n = `per_sigma` is a power of two >= 32. The points begin so
    far left of all kernels that f is negligible there, for every shift up to `longest`. They end
    `beyond` σ right of the last kernel.
    """

    law: KernelLaw
    per_sigma: int
    longest: Fraction
    far: int  # distance from its centre at which a kernel is cut off: √(2·98 + 2ε), at most 38
    beyond: int = 0

    @property
    def step(self) -> float:
        """The step 1/n, in units of σ."""
        return 1 / self.per_sigma

    @cached_property
    def first(self) -> int:
        """The index of the first point."""
        return -math.ceil((self.law.reach + self.longest) * self.per_sigma) - self._half - 2

    @cached_property
    def count(self) -> int:
        """The number of points."""
        last = math.ceil(self.law.reach * self.per_sigma) + self.beyond * self.per_sigma
        return last + 2 - self.first

    @cached_property
    def points(self) -> Floats:
        """The points i/n of shift 0, as exact floats."""
        return np.arange(self.first, self.first + self.count, dtype=np.float64) * self.step

    @cached_property
    def rounding(self) -> float:
        """A bound on the relative error of f, a sum of positive terms, one for each kernel.

        Let u = 2^-53. A term of `_terms` is a product of three factors. The height of the kernel
        and the normal density φ(j/n) are computed in balls, with an error of u each. The
        exponential of v = −ja/n is Taylor's sum by Horner's rule, with an error of 6u in all, as v
        has an error of 2u·|v|. Two products add 2u.
        """
        beside = math.ceil(2 * self.far / self.law.apart) + 2
        return (18 + min(len(self.law.kernels), beside)) * UNIT

    @property
    def _half(self) -> int:
        return self.far * self.per_sigma

    @cached_property
    def _bell(self) -> Floats:
        """The normal density φ(j/n) for j = −_half, …, _half."""
        root, twice = (2 * arb.pi()).sqrt(), 2 * self.per_sigma**2
        one_side = [
            float((ball(-Fraction(j * j, twice)).exp() / root).mid()) for j in range(self._half + 1)
        ]
        return np.array(one_side[:0:-1] + one_side)

    @cached_property
    def _ceilings(self) -> tuple[Floats, Floats]:
        """Bounds on |φ⁗| and |φ⁶|, the derivatives of φ, over [(j − 3)/n, (j + 4)/n].

        The two arrays have an entry for each j = −_half, …, _half.
        """
        j = np.arange(-self._half, self._half + 1)
        middle, most, width = (j + 0.5) * self.step, (np.abs(j) + 4) * self.step, 3.5 * self.step
        nearest = self._bell[np.maximum(np.abs(j) - 4, 0) + self._half] * (1 + 1e-9)
        fourth = np.abs(middle**4 - 6 * middle**2 + 3) + width * 4 * (most**3 + 3 * most)
        sixth = np.abs(middle**6 - 15 * middle**4 + 45 * middle**2 - 15)
        sixth += width * 6 * (most**5 + 10 * most**3 + 15 * most)
        return fourth * nearest, sixth * nearest

    def row(self, shift: Fraction) -> Row:
        """The row of the table at `shift`, for 0 <= shift <= longest."""
        width = 2 * self._half + 1
        rows = np.zeros((5, self.count + width))
        origin = math.ceil(-shift * self.per_sigma) - self.first  # the first point + shift >= 0
        for centre, weight in self.law.kernels:
            nearest = round((centre - shift) * self.per_sigma)
            terms = self._terms(Fraction(nearest, self.per_sigma) - centre + shift, weight)
            begin = nearest - self._half - self.first
            low, high = max(begin, 0), begin + width
            if self.law.folded and centre > 0:
                low = max(low, origin)
            if self.law.folded and centre < 0:
                high = min(high, origin)
            if low < high:
                rows[:, low:high] += terms[:, low - begin : high - begin]
        f, slope, bend, fourth, sixth = rows[:, : self.count]
        return Row(f=f, slope=slope, bend=bend, fourth=fourth, sixth=sixth)

    def _terms(self, offset: Fraction, weight: arb) -> Floats:
        """The contribution of a kernel to a row, at the distances j/n + a from the kernel's centre.

        a = `offset` has |a| <= 1/2n, and j runs from −_half to _half. The shape is
        (5, 2·_half + 1), for f, f′, f″ and the bounds on |f⁗| and |f⁶|. They follow from
        φ(j/n + a) = e^(−a²/2) φ(j/n) e^(−ja/n).
        """
        j = np.arange(-self._half, self._half + 1, dtype=float)
        v = (float(offset) * self.step) * -j
        taylor = 16  # |v| <= 0.6: v^17/17! < u/1000
        growth = np.full(len(j), 1 / math.factorial(taylor))
        for degree in range(taylor - 1, -1, -1):
            growth *= v
            growth += 1 / math.factorial(degree)
        height = weight * (-(ball(offset) ** 2) / 2).exp()
        terms = float(height.mid()) * self._bell * growth
        z = j * self.step + float(offset)
        fourth, sixth = self._ceilings
        above = 1 + 1e-3  # e^(a²/2) <= this, |a| <= 1/64, and rounding
        most = float_above(height) * above
        return np.stack([terms, -z * terms, (z * z - 1) * terms, most * fourth, most * sixth])
