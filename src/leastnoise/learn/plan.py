"""How a classifier will be trained, from public numbers: what is updated, how often, which noise.

notation: n rows, d features, R² the largest ‖x‖₂² of a row, T rounds of P updates, γ the step, Δ
the sensitivity of a sum of derivatives: 1 where a row is added or removed, 2 where one is replaced.

Coordinates: T·P releases of one number of sensitivity Δ, steps of 1. Vectors: a release is of all d
numbers, of which a row moves each by Δ at most and all by ΔR in l2. The gradient of the mean loss
changes by at most R²/4 a unit, so that steps are 4/R²; there are so many that steps times updates
of a coordinate come to the same, T·P/d. Noise that nothing contracts gathers in a coefficient as
γ√(updates of a coordinate × variance)/n. That is what is predicted; with Gaussian noise it is R/√d
times as much for vectors as for coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, final

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.selection.public import MOST_COMPOSITIONS, calibrate, compare

Updates = Literal["coordinates", "vectors"]

UPDATES: tuple[Updates, ...] = ("coordinates", "vectors")
AUTO = "auto"
"""Stands for the updates, or the noise, that are predicted to be best."""

_OFTEN_BEST = {"coordinates": ("gaussian", "laplace"), "vectors": ("gaussian", "l2", "k-norm")}
_KEPT = 64
_SHARE_OF_COORDINATES = 4  # a round updates a quarter of them (Liu et al. 2026, App. D.7)


@final
@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is public of a training: no field depends on the rows' values.

    `squared_norm` is R² (None: d, which features in [−1, 1] never exceed); `parameters` are those
    of the noise that is named.
    """

    budget: Budget
    neighbours: str
    rows: int
    features: int
    rounds: int
    squared_norm: Fraction | None = None
    noise: str = AUTO
    parameters: tuple[tuple[str, Fraction | int], ...] = ()

    @property
    def factor(self) -> int:
        """Δ: how far one row moves a sum of numbers in [−1, 1]."""
        return 1 if self.neighbours == "add-remove" else 2

    @property
    def norm_limit(self) -> Fraction:
        """R², at most d."""
        whole = Fraction(self.features)
        return whole if self.squared_norm is None else min(self.squared_norm, whole)

    @property
    def per_round(self) -> int:
        """P."""
        return math.ceil(self.features / _SHARE_OF_COORDINATES)


@final
@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """`rounds` of `per_round` releases by `mechanism`, whose certificate is about all of them.

    `predicted_noise` is how far the noise alone moves a coefficient, a standard deviation.
    """

    updates: Updates
    rounds: int
    per_round: int
    step: float
    mechanism: Mechanism
    predicted_noise: float

    @property
    def releases(self) -> int:
        """How many releases the certificate is about."""
        return self.rounds * self.per_round


def plan_training(problem: Problem, *, updates: str = AUTO) -> TrainingPlan:
    """Return the plan with `updates`; "auto" takes the one with the least predicted noise.

    Raises Refused if no noise can serve, InvalidArgument for more than 10⁷ releases.
    """
    if updates != AUTO:
        return _planned(problem, "coordinates" if updates == "coordinates" else "vectors")
    plans: list[TrainingPlan] = []
    reasons: list[Refused] = []
    for one in UPDATES:
        try:
            plans.append(_planned(problem, one))
        except Refused as error:  # such as noise that is for one number
            reasons.append(error)
    if not plans:
        raise reasons[0]
    return min(plans, key=lambda plan: plan.predicted_noise)  # of equals, coordinates


@lru_cache(maxsize=_KEPT)  # the same public numbers give the same plan
def _planned(problem: Problem, updates: Updates) -> TrainingPlan:
    d, factor, square = problem.features, problem.factor, problem.norm_limit
    passes = Fraction(problem.rounds * problem.per_round, d)  # updates of a coordinate, of step 1
    if updates == "coordinates":
        rounds, per_round, step, dimension = problem.rounds, problem.per_round, 1.0, 1
        sensitivity: tuple[Sensitivity, ...] = (L2(factor),)
    else:
        rounds, per_round, step = math.ceil(passes * square / 4), 1, float(4 / square)
        dimension, sensitivity = d, _of_vectors(d, factor=factor, square=square)
    if rounds * per_round > MOST_COMPOSITIONS:
        raise InvalidArgument(
            name="max_iter",
            value=problem.rounds,
            expected=f"{MOST_COMPOSITIONS:,} releases at most, and these would be "
            f"{rounds * per_round:,}",
        )
    mechanism = _least_noise(
        problem,
        sensitivity,
        dimension=dimension,
        often_best=_OFTEN_BEST[updates],
        count=rounds * per_round,
    )
    certificate = mechanism.certificate
    if problem.neighbours == "replace-one":
        mechanism = Mechanism(certificate.about("replace-one"))
    gathered = math.sqrt(float(passes) / step * mechanism.mse / dimension)
    return TrainingPlan(
        updates=updates,
        rounds=rounds,
        per_round=per_round,
        step=step,
        mechanism=mechanism,
        predicted_noise=step * gathered / problem.rows,
    )


def _of_vectors(d: int, *, factor: int, square: Fraction) -> tuple[Sensitivity, ...]:
    box = Linf(factor, l0=d)
    if square == d:
        return (box,)
    root = Fraction(math.isqrt(math.ceil(square * 4**40)) + 1, 2**40)  # above R
    return (L2(factor * root), box)


def _least_noise(
    problem: Problem,
    sensitivity: tuple[Sensitivity, ...],
    *,
    dimension: int,
    often_best: tuple[str, ...],
    count: int,
) -> Mechanism:
    """Return the mechanism of the family asked for, or of that with the least error."""
    budget = problem.budget
    if problem.noise == AUTO and count == 1:
        found = compare(
            epsilon=budget.epsilon,
            delta=budget.delta,
            sensitivity=sensitivity,
            dimension=dimension,
            compositions=count,
        )
        if not found.mechanisms:
            raise Refused(found.why_none)
        return found.mechanisms[0]
    families = often_best if problem.noise == AUTO else (problem.noise,)
    made: list[Mechanism] = []
    reasons: list[Refused] = []
    for family in families:
        try:
            one = calibrate(
                family,
                epsilon=budget.epsilon,
                delta=budget.delta,
                sensitivity=sensitivity,
                dimension=dimension,
                compositions=count,
                parameters=dict(problem.parameters) or None,
            )
        except Refused as error:  # it doesn't apply, or couldn't be proved: another may serve
            reasons.append(error)
        else:
            made.append(one)
    if not made:
        raise reasons[0]
    return min(made, key=lambda mechanism: mechanism.mse)
