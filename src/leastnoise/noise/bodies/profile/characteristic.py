"""The characteristic function of K-norm noise on a box, or on cells that are boxes.

Notation: X_1, …, X_q are the numbers of one cell of the noise. b_j is the bound of number j times
the scale. Then X_j = b_j·R·U_j with R ~ Gamma(q + 1) and an independent U, uniform in [−1, 1]^q.
Cells are independent. E is a mean and i the imaginary unit. With w(x) = 1/(1 − ix) and Σ over k =
0, …, q − 2,

    E cos(αX₁/b₁) = Im w(α)^q/(qα),
    E cos(αX₁/b₁ + βX₂/b₂) = Im Σ w(α − β)^(k+1) w(α + β)^(q−1−k)/(αq(q − 1)).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.noise.bodies.law.k_norm import KNorm

Floats = NDArray[np.float64]

_NEAR_0 = 1e-4  # for α below it 1 − α²E X²/2 is exact to all digits, and the quotients lose digits


def k_norm(noise: KNorm, weights: Mapping[int, float], u: Floats) -> Floats:
    """The mean of cos(u·Σ_j w_j X_j) for each u, the characteristic function of a weighted sum.

    `weights` maps the index j of at most two numbers to w_j; they must be numbers of the first
    cell. Raises NotApplicable for more weights, and if the body or its first cell is no `Box`.
    """
    box = noise.body.bodies[0] if isinstance(noise.body, Cells) else noise.body
    if not isinstance(box, Box) or len(weights) > 2:
        raise NotApplicable(family=noise.name, why="its characteristic function isn't known here")
    scales = [abs(weight * float(box.bounds[j] * noise.scale)) for j, weight in weights.items()]
    small, large = sorted((0.0, 0.0, *scales))[-2:]
    return _box_characteristic(box.dimension, large * u, small * u)


def _box_characteristic(q: int, alpha: Floats, beta: Floats) -> Floats:
    """The mean of cos(αX₁/b₁ + βX₂/b₂) for noise on a box of q numbers; arrays α >= β >= 0."""
    if q == 2:  # the same in closed form
        return 1 / ((1 + (alpha - beta) ** 2) * (1 + (alpha + beta) ** 2))
    near = 1 - (q + 1) * (q + 2) / 6 * (alpha**2 + beta**2)
    divisor = np.maximum(alpha, _NEAR_0)
    if not beta.any():
        exact = (1 / (1 - 1j * alpha) ** q).imag / (q * divisor)
    else:
        first, second = 1 / (1 - 1j * (alpha - beta)), 1 / (1 - 1j * (alpha + beta))
        powers = sum(first ** (k + 1) * second ** (q - 1 - k) for k in range(q - 1))
        exact = np.imag(powers) / (q * (q - 1) * divisor)
    return np.where(alpha < _NEAR_0, near, exact)
