"""How far a weighted sum of independent numbers' noise may be off: its law, in floats.

notation: S = Σ c_j X_j, s its standard deviation; W a sum of four uniform numbers, |W| <= h. S + W
has a density, whose characteristic function falls as u⁻⁴ whatever lattice S lives on, and
|S| <= |S + W| + h: t + h holds S with the probability with which t holds S + W.

Numbers of one cell whose noise is e^(−N), N the gauge of a box of q of them, come together: X_j =
b_j R U_j, R ~ Gamma(q + 1), U uniform in [−1, 1]^q. With w(x) = 1/(1 − ix) and Σ over k < q − 1

    E cos(αX₁/b₁) = Im w(α)^q/(qα),
    E cos(αX₁/b₁ + βX₂/b₂) = Im Σ w(α − β)^(k+1) w(α + β)^(q−1−k)/(αq(q − 1)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.mechanism.accuracy import half_width, standard_deviation
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.laplace.law import Laplace
from leastnoise.noise.steps.law import Geometric
from leastnoise.numerics.searches import IncreasingRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.noise.base import Noise

    Floats = NDArray[np.float64]

_SMOOTH = 0.01  # h/s: how much wider than need be a half-width is, about
_NEAR_0 = 1e-4  # of α: below it 1 − α²E X²/2 is exact, and the quotients above lose digits
_OF_WHOLE = 0.4  # h where S is whole: 2h below 1 tells whole numbers apart
_SMOOTH_WHOLE = 0.001  # h/s of wide whole noise, so that the series has no more than 2^20 terms


@final
@dataclass(frozen=True, kw_only=True)
class Term:
    """So many numbers of one draw (`times`), each with this `coefficient`.

    Of noise in cells of several numbers, which may depend on each other, so many cells: each counts
    as its numbers times `weights`, in their order.
    """

    certificate: Certificate
    coefficient: float
    times: int
    weights: tuple[float, ...] = (1.0,)

    @property
    def parts(self) -> dict[int, float]:
        """The coefficients that aren't 0, by the place of a number in its cell."""
        found = {j: self.coefficient * weight for j, weight in enumerate(self.weights)}
        return {j: one for j, one in found.items() if one}


def deviation_of_sum(terms: Sequence[Term]) -> float:
    """Return the standard deviation of S, rounding to the draws' grids counted."""
    return math.sqrt(math.fsum(
        one.times * (part * standard_deviation(one.certificate, place)) ** 2
        for one in terms
        for place, part in one.parts.items()
    ))  # fmt: skip


def half_widths_of_sum(terms: Sequence[Term], probabilities: Sequence[float]) -> list[float]:
    """Return t with P(|S| <= t) >= probability for each, rounding to the draws' grids counted.

    Exact for one number and where all numbers are whole with s below 400, else up to 2 % more than
    need be. Raises
    NotApplicable for noise whose characteristic function isn't known here.
    """
    some = [one for one in terms if one.parts]
    if len(some) == 1 and some[0].times == 1 and len(some[0].parts) == 1:
        ((place, part),) = some[0].parts.items()
        alone = [half_width(some[0].certificate, one, place) for one in probabilities]
        return [abs(part) * one for one in alone]
    deviation = deviation_of_sum(some)
    whole = all(one.parts == {0: 1} and _is_whole(one.certificate) for one in some)
    smooth = max(_OF_WHOLE, _SMOOTH_WHOLE * deviation) if whole else _SMOOTH * deviation
    half_period = 18.0 * deviation + smooth  # of the Fourier series: Laplace's tail beyond is e^-25
    last = 30.0  # of u h/4, from where on sin(x)⁴/x⁴ is about 1e-6, and alternates
    counts = np.arange(1, math.ceil(4 * last / smooth * half_period / math.pi) + 1)
    places = np.asarray(counts * (math.pi / half_period), dtype=np.float64)
    weights = (2 / math.pi) * np.sinc(places * smooth / 4 / math.pi) ** 4 / counts
    for one in some:
        weights = weights * _of_cell(one.certificate.noise, one.parts, places) ** one.times
    kept = np.flatnonzero(np.abs(weights) > 1e-17)  # of a probability
    weights, places = weights[kept], places[kept]
    rounding = math.fsum(
        one.times * sum(map(abs, one.parts.values())) * float(one.certificate.grid or 0) / 2
        for one in some
        if not _is_whole(one.certificate)
    )
    root = IncreasingRoot(tolerance=1e-7 * deviation)
    found: list[float] = []
    for probability in probabilities:

        def missed(t: float, probability: float = probability) -> float:
            return probability - t / half_period - float(weights @ np.sin(places * t))

        end = root.between(missed, safe=half_period, unsafe=0.0) + smooth
        found.append(math.floor(end) if whole else end + rounding)
    return found


def _is_whole(certificate: Certificate) -> bool:
    """Whether its noise is of whole numbers, which its grid has all of."""
    noise, grid = certificate.noise, certificate.grid
    whole = isinstance(noise, Geometric) and noise.scale == noise.cells
    return whole and grid is not None and grid <= 1 and grid.numerator == 1


def _of_cell(noise: Noise, parts: Mapping[int, float], u: Floats) -> Floats:
    """Return E cos(u Σ c_j X_j) at each u, of the numbers of a cell."""
    if not isinstance(noise, KNorm):
        found = np.ones_like(u)
        for part in parts.values():
            found = found * _of_one(noise, part * u)
        return found
    box = noise.body.bodies[0] if isinstance(noise.body, Cells) else noise.body
    if not isinstance(box, Box) or len(parts) > 2:
        raise NotApplicable(family=noise.name, why="its characteristic function isn't known here")
    scales = [abs(part * float(box.bounds[j] * noise.scale)) for j, part in parts.items()]
    small, large = sorted((0.0, 0.0, *scales))[-2:]
    return _of_box(box.dimension, large * u, small * u)


def _of_box(q: int, alpha: Floats, beta: Floats) -> Floats:
    """Return E cos(αX₁/b₁ + βX₂/b₂) of a box's noise, α >= β >= 0: see the notation."""
    if q == 2:  # the same, of real numbers alone
        return 1 / ((1 + (alpha - beta) ** 2) * (1 + (alpha + beta) ** 2))
    near = 1 - (q + 1) * (q + 2) / 6 * (alpha**2 + beta**2)
    divisor = np.maximum(alpha, _NEAR_0)
    if not beta.any():
        exact = (1 / (1 - 1j * alpha) ** q).imag / (q * divisor)
    else:
        one, other = 1 / (1 - 1j * (alpha - beta)), 1 / (1 - 1j * (alpha + beta))
        powers = sum(one ** (k + 1) * other ** (q - 1 - k) for k in range(q - 1))
        exact = np.imag(powers) / (q * (q - 1) * divisor)
    return np.where(alpha < _NEAR_0, near, exact)


def _of_one(noise: Noise, u: Floats) -> Floats:
    """Return E cos(u X) at each u."""
    if isinstance(noise, Geometric) and noise.cells == 1:  # (1 − q)²/(1 − 2q cos u + q²)
        raised = math.sinh(float(noise.decay) / 2) ** 2
        return raised / (raised + np.sin(u * (float(noise.scale) / 2)) ** 2)
    if isinstance(noise, Laplace):
        return 1 / (1 + (u * float(noise.scale)) ** 2)
    if isinstance(noise, Gaussian):
        return np.exp(-((u * float(noise.scale)) ** 2) / 2)
    raise NotApplicable(family=noise.name, why="its characteristic function isn't known here")
