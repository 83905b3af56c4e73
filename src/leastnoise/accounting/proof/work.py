"""What a proof may cost: bounds on what a statement is about, looked at before any work is done.

A certificate comes from anywhere, and some laws within a family's own bounds take hours to prove,
or more memory than there is. These bounds are public numbers alone, alike on every machine, and the
same for `prove`: whatever leastnoise calibrates, it verifies. Each is that of some half a minute
on one core, or of 500 MB, of proofs measured with CPython 3.11 and python-flint 0.8.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from leastnoise.accounting.proof.single import worst_shift
from leastnoise.errors import NotApplicable
from leastnoise.noise.base import Noise
from leastnoise.noise.kernels.law.kernels import KernelNoise
from leastnoise.noise.lattice.law.lattice_steps import LatticeStepNoise
from leastnoise.noise.registry import registered
from leastnoise.noise.shells.law.optimal_radial import OptimalRadial
from leastnoise.noise.steps.law.truncated_staircase import TruncatedStaircase
from leastnoise.noise.steps.law.tulap import Tulap

if TYPE_CHECKING:
    from leastnoise.accounting.releases import Releases

MOST_KERNEL_EPSILON = 500  # beyond it e^ε isn't formed in floats
# shift/σ times the length of the law in σ: 2,370 for the narrowest that is calibrated, at ε = 500
MOST_KERNEL_WORK, MOST_KERNEL_WORK_COMPOSED = 4_000, 1_000
# masses times shifts, if they rise anywhere; 6e5 for `optimal` at ε = 20
MOST_LATTICE_WORK, MOST_LATTICE_WORK_COMPOSED = 3_000_000, 1_000_000
# pieces, 0.1 ms each; where all losses are multiples of one a composition looks some 25 times
MOST_STEPS, MOST_STEPS_COMPOSED, MOST_UNEVEN_STEPS = 20_000, 20_000, 300
MOST_SCALES = 10**9  # in a shift, of l2 noise: with more its angular integral takes minutes


def check_work(part: Releases, epsilon: Fraction) -> None:
    """Raise NotApplicable if the proof of `part` at `epsilon` takes too much time or memory."""
    bound = registered(type(part.noise)).part("work")
    why = bound(part, worst_shift(part.noise, part.hidden.outer), epsilon) if bound else None
    if why:
        raise NotApplicable(family=part.noise.name, why=why)


def kernels(part: Releases, shift: Fraction, epsilon: Fraction) -> str | None:
    """Return why a sum of Gaussian kernels isn't proved, or None."""
    noise = cast("KernelNoise", part.noise)
    sigma = noise.scale
    return why_not_kernels(
        modes=noise.modes,
        spacing=noise.spacing / sigma,
        shift=shift / sigma,
        epsilon=epsilon,
        count=part.count,
    )


def why_not_kernels(
    *, modes: int, spacing: Fraction, shift: Fraction, epsilon: Fraction, count: int
) -> str | None:
    """Return why a sum of Gaussians isn't proved, or None; spacing and shift in σ.

    Tables go over the whole law, from kernel to kernel, for each of the shifts that are looked at.
    """
    if count == 1 and epsilon > MOST_KERNEL_EPSILON:
        return f"it is proved up to epsilon = {MOST_KERNEL_EPSILON}; e^epsilon is formed in floats"
    far = math.sqrt(2 * (98 + min(float(epsilon), MOST_KERNEL_EPSILON)))
    work = shift * (modes * spacing + (Fraction(far) if count == 1 else shift + 14))
    most = MOST_KERNEL_WORK if count == 1 else MOST_KERNEL_WORK_COMPOSED
    what = "the shift times the length of the law, both in scales,"
    return _over(work, most, what)


def lattice(part: Releases, shift: Fraction, _: Fraction) -> str | None:
    """Return why masses on a lattice aren't proved, or None."""
    noise = part.noise
    law = noise.lattice  # pyright: ignore[reportAttributeAccessIssue] - its shapes have one
    if law.falls:  # one shift, the longest, is the worst
        return None
    in_cells = shift / noise.scale * law.cells
    every = in_cells if isinstance(noise, LatticeStepNoise) else shift
    shifts = min(math.ceil(every), 2 * len(law.masses))
    most = MOST_LATTICE_WORK if part.count == 1 else MOST_LATTICE_WORK_COMPOSED
    return _over(Fraction(shifts * len(law.masses)), most, "masses times shifts")


def steps(part: Releases, shift: Fraction, _: Fraction) -> str | None:
    """Return why steps for one number aren't proved, or None."""
    noise = cast("TruncatedStaircase | Tulap", part.noise)
    inner = worst_shift(noise, part.hidden.inner)
    if shift == inner == noise.scale:  # a closed form
        return None
    return _over(noise.radius, _most_steps(part, noise), "its radius, in scales,")


def radial_steps(part: Releases, _: Fraction, __: Fraction) -> str | None:
    """Return why steps around 0 aren't proved, or None."""
    noise = part.noise
    if isinstance(noise, OptimalRadial):
        return _over(Fraction(len(noise.edges)), _most_steps(part, noise), "the number of edges")
    radius = getattr(noise, "radius", Fraction(0))
    return _over(radius, _most_steps(part, noise), "its radius, in scales,")


def _most_steps(part: Releases, noise: Noise) -> int:
    if part.count == 1:
        return MOST_STEPS
    even = part.rate == 1 and not isinstance(noise, OptimalRadial)
    return MOST_STEPS_COMPOSED if even else MOST_UNEVEN_STEPS


def spherical_laplace(part: Releases, shift: Fraction, _: Fraction) -> str | None:
    """Return why l2 noise isn't proved, or None."""
    return _over(shift / part.noise.scale, MOST_SCALES, "the shift in scales of the noise")


def _over(work: Fraction, most: int, what: str) -> str | None:
    if work <= most:
        return None
    return f"its proof takes too long: {what} is above {most:,}, the most that is proved"
