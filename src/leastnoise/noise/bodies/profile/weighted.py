"""Quantiles of a weighted sum of three numbers of one cell, for noise in boxes of q numbers.

Notation: X_j are the numbers of a cell, b_j their bounds, and G is the gauge of the noise within
the cell, in scales. M_k(x) = E[G^(−k); G > x] is the mean of G^(−k) where G > x, and of 0
elsewhere. Given G, one of the q numbers is at its end ±b_j·G, each with probability 1/q, and the
others are uniform within ±b_j·G. w_j is the weight of a number times its bound; s runs over the
eight vectors of signs ±1, and e = Σ s_j w_j. y₊ = max(y, 0). For U_j uniform in [−1, 1]

    P(Σ w_j U_j > z) = Σ_s s₁s₂s₃ (e − z)₊³ / (3! · 8 w₁w₂w₃).

If instead U_j = ±1 for one j, it is Σ_s s_i s_k (e − z)₊² / (2 · 2! · 4 w_i w_k) with the two other
indices i and k. With z = t/G, the mean over G of (e − t/G)₊^m is a sum of the moments M_k(t/e).
"""

from __future__ import annotations

import math
from itertools import product

from leastnoise.errors import NotApplicable
from leastnoise.noise.bodies.profile.gauge import CellLaw, box_of, law_of
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.numerics.searches import IncreasingRoot

Three = tuple[float, float, float]
Indices = tuple[int, int, int]
_ROOT = IncreasingRoot(tolerance=1e-5, first_step=0.05)  # in ln t
_SMALLEST = 1e-3  # smallest weight, relative to the largest; with smaller ones digits cancel


def tail_of_three(law: CellLaw, t: float, weights: Three) -> float:
    """The probability P(|Σ w_j X_j| > t) for three numbers of a cell, with weights w_j.

    t is in scales. Each X_j has the bound 1: the weights include the true bounds.
    """
    q, total = law.each, 0.0
    volume = math.prod(weights)
    for signs in product((1, -1), repeat=3):
        end = sum(sign * weight for sign, weight in zip(signs, weights, strict=True))
        if end <= 0:
            continue
        zeroth, first, second = (law.moment(k, t / end) for k in range(3))
        square = end * end * zeroth - 2 * end * t * first + t * t * second
        odd = math.prod(signs)
        for sign, weight in zip(signs, weights, strict=True):
            total += odd * sign * square * weight / (16 * volume)
        if q > 3:  # then none of the three may be at its end
            third = law.moment(3, t / end)
            cube = end * (end * (end * zeroth - 3 * t * first) + 3 * t * t * second) - t**3 * third
            total += (q - 3) * odd * cube / (48 * volume)
    return 2 * total / q


def weighted_quantile(
    noise: BodyNoise, outside: float, coordinates: Indices, weights: Three
) -> float:
    """The t with P(|Σ v_j X_j| > t·scale) = `outside`, for three numbers X_j of one cell.

    `coordinates` are the three j, and `weights` the v_j >= 0. t is at most about 1e-5 (relative)
    too large, unless a product w_j = v_j·b_j is below a thousandth of the largest. Such a w_j is
    raised to this thousandth. That makes t slightly larger, as t increases with each weight
    (Anderson's inequality). Raises NotApplicable unless the three are different numbers of one cell
    whose law is known.
    """
    boxes = [box_of(noise, coordinate) for coordinate in coordinates]
    first = boxes[0]
    law = None
    if first is not None and len({*coordinates}) == len(coordinates):
        cell = first[1], first[0].first
        alike = all(
            first_weight is not None and (first_weight[1], first_weight[0].first) == cell
            for first_weight in boxes
        )
        law = law_of(noise, first[0], first[0].each) if alike else None
    if law is None:
        raise NotApplicable(family=noise.name, why="the law of three coordinates isn't known")
    first_weight, second_weight, third_weight = (
        weight * box[0].bound for weight, box in zip(weights, boxes, strict=True) if box is not None
    )
    least = _SMALLEST * max(first_weight, second_weight, third_weight)
    scaled = (max(first_weight, least), max(second_weight, least), max(third_weight, least))
    deviations = (math.sqrt(float(noise.variances[coordinate])) for coordinate in coordinates)
    deviation = math.hypot(*(w * s for w, s in zip(weights, deviations, strict=True)))

    def excess(log_t: float) -> float:
        beyond = tail_of_three(law, math.exp(log_t), scaled)
        return math.log(outside / beyond) if beyond > 0 else math.inf

    guess = math.log(2 * deviation / float(noise.scale))
    return math.exp(_ROOT.find(excess, guess=guess) + _ROOT.tolerance)
