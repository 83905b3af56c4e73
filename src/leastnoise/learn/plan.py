"""Plan the training of a classifier from public numbers: updates, number of rounds, and noise.

Notation: n is the number of rows, d the number of features, and R² the largest ‖x‖₂² of a row x.
There are T rounds of P updates, each with the step γ. Δ is the sensitivity of a sum of derivatives
(1 for an added or removed row, 2 for a replaced one). σ is the standard deviation that noise gives
to a derivative of the mean loss, averaged over all its releases.

With the updates "vectors", a release has all d numbers; a row moves each by at most Δ and all by at
most ΔR in l2.

With the updates "coordinates", there are T·P releases of one number with sensitivity Δ, and steps
of 1, as in the papers.

The number of rounds (docs/theory/learning.md): if the loss has curvature h in some direction, noise
moves the minimum there by σ/h. No coefficient is expected to contribute more than ±8 to a score, so
it is at most B = 8/R in size. Directions with h < σ/B aren't worth learning. L = R²/4 bounds the
curvature of the loss. Nesterov's steps of 1/L, with a momentum for curvatures from λ = σ/B on,
learn directions with h >> λ nearly without bias in T = 3√(L/λ) rounds, and leave the others near 0.
Stopping then nearly minimises the worst loss over all h. A ridge of dσ²/2 keeps coefficients small
where noise is larger than the typical curvature R²/4d; λ and L include it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, final

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.learn.choice import AUTO, best_of, state_neighbours
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.selection.ask import MOST_COMPOSITIONS
from leastnoise.selection.public import compare

Updates = Literal["coordinates", "vectors"]

UPDATES: tuple[Updates, ...] = ("coordinates", "vectors")
_OFTEN_BEST = {
    "coordinates": ("gaussian", "laplace"),
    "vectors": ("gaussian", "l2", "k-norm"),
    "trial": ("gaussian",),
}
_MOST_ROUNDS = 1000  # rounds with vectors, unless `rounds` is set
# rounds of a trial calibration, which predicts the noise of other numbers of rounds
_TRIAL_ROUNDS = 100
_ROUNDS_A_ROOT = 3  # T divided by √(L/λ)


@final
@dataclass(frozen=True, kw_only=True)
class Problem:
    """The public numbers of a training; no field depends on the rows' values.

    Attributes:
        budget: The guarantee of the whole training.
        neighbours: "add-remove" or "replace-one".
        rows: Number of rows n, or an approximation of it.
        features: Number of features d, including the intercept's.
        rounds: With vectors, the largest number of rounds; None for as many as the public numbers
            need, at most 1,000. With coordinates, the number of rounds; None for 100.
        squared_norm: R², the largest squared l2 norm of a row; None for d, which features in
            [−1, 1] never exceed.
        noise: Name of the noise family, or "auto".
        parameters: Parameters of the noise, as pairs of a name and a value.
    """

    budget: Budget
    neighbours: str
    rows: int
    features: int
    rounds: int | None = None
    squared_norm: Fraction | None = None
    noise: str = AUTO
    parameters: tuple[tuple[str, Fraction | int], ...] = ()

    @property
    def factor(self) -> int:
        """The sensitivity Δ of a sum of derivatives, one number in [−1, 1] from each row."""
        return 1 if self.neighbours == "add-remove" else 2

    @property
    def norm_limit(self) -> Fraction:
        """The bound R² on the squared norm of a row, at most the number of features."""
        whole = Fraction(self.features)
        return whole if self.squared_norm is None else min(self.squared_norm, whole)

    @property
    def per_round(self) -> int:
        """The number P of coordinates that a round changes with the updates "coordinates"."""
        return math.ceil(self.features / 4)  # as Liu et al. (2026, App. D.7) do


@final
@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """The updates, the noise and the predicted error of a training.

    Attributes:
        updates: "vectors" or "coordinates".
        rounds: Number of rounds T.
        per_round: Number of releases in a round.
        step: Size of an update.
        mechanism: The noise; its certificate covers all releases.
        noise: Standard deviation σ of the noise in a derivative of the mean loss, averaged over all
            its releases.
        ridge: Number that is added to the curvature.
        momentum: Nesterov's momentum.
        learnable: λ, the least curvature of directions that can be learnt despite the noise.
        reached: The least curvature of directions for which the rounds suffice.
        size: B, the largest expected coefficient.
        features: Number of features d.
    """

    updates: Updates
    rounds: int
    per_round: int
    step: float
    mechanism: Mechanism
    noise: float
    ridge: float
    momentum: float
    learnable: float
    reached: float
    size: float
    features: int

    @property
    def releases(self) -> int:
        """The number of releases that the certificate covers."""
        return self.rounds * self.per_round

    @property
    def predicted_noise(self) -> float:
        """An upper bound on the increase of the mean loss by noise and hidden directions.

        It is `features`·`learnable`·`size`²/3, for a quadratic loss, coefficients of at most
        `size`, and enough rounds.
        """
        return self.features * self.learnable * self.size**2 / 3

    @property
    def predicted_optimization(self) -> float:
        """An upper bound on the increase of the mean loss by too few rounds.

        It is `features`·`reached`·`size`²/2, or 0 if the rounds reach every direction that can be
        learnt.
        """
        if self.reached <= self.learnable:
            return 0.0
        return self.features * self.reached * self.size**2 / 2

    @property
    def converged(self) -> bool:
        """True if the predicted loss by too few rounds is at most 0.001 or the loss by noise."""
        tolerance = 1e-3  # in the mean loss; a smaller effect isn't worth a warning
        return self.predicted_optimization <= max(self.predicted_noise, tolerance)

    @property
    def advice(self) -> str:
        """The text of the warning for too few rounds."""
        vectors = self.updates == "vectors"
        more = "Raise max_iter" if vectors else 'Use updates="vectors", or raise max_iter'
        return (
            f"{self.rounds:,} rounds are predicted to be too few. They learn directions in which"
            f" the mean loss has a curvature above {self.reached:.2g}; the noise would allow"
            f" curvatures from {self.learnable:.2g} on. {more}."
        )


def plan_training(problem: Problem, *, updates: str = AUTO) -> TrainingPlan:
    """Plan a training: its updates, rounds and noise, from public numbers.

    With Gaussian noise, σ of "vectors" is R/√d <= 1 times σ of "coordinates". So "vectors" can
    learn directions of smaller curvature, if there are enough rounds. `converged` of the plan is
    True if the rounds are predicted to suffice.

    Args:
        problem: The public numbers.
        updates: "vectors", "coordinates" or "auto". If the problem's noise is "auto" or
            "gaussian", "auto" means "vectors"; otherwise the updates with the smaller predicted
            loss, among those that the noise can serve.

    Returns:
        The plan.

    Raises:
        Refused: No noise can serve.
        InvalidArgument: There would be more than 10⁷ releases.
    """
    if updates == AUTO:
        planners = (_vectors,) if problem.noise in (AUTO, "gaussian") else (_vectors, _coordinates)
    else:
        planners = (_vectors,) if updates == "vectors" else (_coordinates,)
    plans: list[TrainingPlan] = []
    reasons: list[Refused] = []
    for plan in planners:
        try:
            plans.append(plan(problem))
        except Refused as error:  # not applicable, as noise for single numbers isn't with vectors
            reasons.append(error)
    if not plans:
        raise reasons[0]
    return min(plans, key=lambda plan: plan.predicted_noise + plan.predicted_optimization)


@lru_cache(maxsize=64)  # the same public numbers give the same plan
def _coordinates(problem: Problem) -> TrainingPlan:
    rounds_of_coordinates = 100  # as in the papers
    rounds = rounds_of_coordinates if problem.rounds is None else problem.rounds
    releases = rounds * problem.per_round
    passes = releases / problem.features  # updates of each coordinate, with step 1
    mechanism = _mechanism(problem, (L2(problem.factor),), "coordinates", count=releases)
    noise = math.sqrt(mechanism.mse / passes) / problem.rows
    passes_a_curvature = 3  # curvature times updates of step 1: e⁻³ of the initial error remains
    return TrainingPlan(
        updates="coordinates",
        rounds=rounds,
        per_round=problem.per_round,
        step=1.0,
        mechanism=mechanism,
        noise=noise,
        ridge=0.0,
        momentum=0.0,
        learnable=_learnable(problem, noise),
        reached=passes_a_curvature / passes,
        size=_size(problem),
        features=problem.features,
    )


@lru_cache(maxsize=64)
def _vectors(problem: Problem) -> TrainingPlan:
    d, square = problem.features, problem.norm_limit
    sensitivity = _of_vectors(d, factor=problem.factor, square=square)
    rounds = _rounds(problem, sensitivity)
    mechanism = _mechanism(problem, sensitivity, "vectors", count=rounds)
    noise = _noise_of_vectors(problem, mechanism, rounds)
    largest, learnable = _largest(problem, noise), _learnable(problem, noise)
    reached = largest * (_ROUNDS_A_ROOT / rounds) ** 2
    root = math.sqrt(min(1.0, max(learnable, reached) / largest))
    return TrainingPlan(
        updates="vectors",
        rounds=rounds,
        per_round=1,
        step=1 / largest,
        mechanism=mechanism,
        noise=noise,
        ridge=_ridge(problem, noise),
        momentum=(1 - root) / (1 + root),
        learnable=learnable,
        reached=reached,
        size=_size(problem),
        features=d,
    )


def _size(problem: Problem) -> float:
    score = 8  # R·B, the largest contribution of a coefficient to a score that is expected
    return score / math.sqrt(problem.norm_limit)


def _ridge(problem: Problem, noise: float) -> float:
    ridge = 0.5  # in units of dσ²
    return ridge * problem.features * noise**2


def _learnable(problem: Problem, noise: float) -> float:
    """The least curvature λ of directions that can be learnt despite the noise."""
    return noise / _size(problem) + _ridge(problem, noise)


def _largest(problem: Problem, noise: float) -> float:
    """An upper bound L on the curvature of the loss with its ridge."""
    return float(problem.norm_limit / 4) + _ridge(problem, noise)


def _rounds(problem: Problem, sensitivity: tuple[Sensitivity, ...]) -> int:
    """The number of rounds T: enough to converge, and at least 10, within the limit.

    With Gaussian noise, σ doesn't depend on T; with other noise and δ > 0 it hardly does. For δ = 0
    each release has ε/T, and σ ∝ √T.
    """
    most = _MOST_ROUNDS if problem.rounds is None else problem.rounds
    few = min(10, most)
    if few == most:
        return most
    often_best = "vectors" if problem.budget.delta == 0 else "trial"
    trial = _mechanism(problem, sensitivity, often_best, count=_TRIAL_ROUNDS)
    noise = _noise_of_vectors(problem, trial, _TRIAL_ROUNDS)
    power = 0.5 if problem.budget.delta == 0 else 0.0

    def enough(rounds: int) -> bool:
        sigma = noise * (rounds / _TRIAL_ROUNDS) ** power
        ratio = _largest(problem, sigma) / _learnable(problem, sigma)
        return rounds >= _ROUNDS_A_ROOT * math.sqrt(ratio)

    return few + bisect_left(range(few, most), x=True, key=enough)


def _noise_of_vectors(problem: Problem, mechanism: Mechanism, rounds: int) -> float:
    return math.sqrt(mechanism.mse / problem.features / rounds) / problem.rows


def _of_vectors(d: int, *, factor: int, square: Fraction) -> tuple[Sensitivity, ...]:
    box = Linf(factor, l0=d)
    if square == d:
        return (box,)
    root = Fraction(math.isqrt(math.ceil(square * 4**40)) + 1, 2**40)  # an upper bound on R
    return (L2(factor * root), box)


def _mechanism(
    problem: Problem, sensitivity: tuple[Sensitivity, ...], updates: str, *, count: int
) -> Mechanism:
    """The mechanism for `count` releases, with the problem's neighbours stated.

    Raises InvalidArgument if there would be too many releases.
    """
    if count > MOST_COMPOSITIONS:
        raise InvalidArgument(
            name="max_iter",
            value=problem.rounds,
            expected=f"at most {MOST_COMPOSITIONS:,} releases; these would be {count:,}",
        )
    mechanism = _least_noise(
        problem,
        sensitivity,
        dimension=1 if updates == "coordinates" else problem.features,
        often_best=_OFTEN_BEST[updates],
        count=count,
    )
    return state_neighbours(mechanism, problem.neighbours)


def _least_noise(
    problem: Problem,
    sensitivity: tuple[Sensitivity, ...],
    *,
    dimension: int,
    often_best: tuple[str, ...],
    count: int,
) -> Mechanism:
    """The mechanism of the named family; for "auto", of the family with the least error.

    For a single release "auto" compares all families, else those in `often_best`. Raises Refused if
    no family can be used.
    """
    budget = problem.budget
    if problem.noise == AUTO and count == 1:
        comparison = compare(
            epsilon=budget.epsilon,
            delta=budget.delta,
            sensitivity=sensitivity,
            dimension=dimension,
            compositions=count,
        )
        if not comparison.mechanisms:
            raise Refused(comparison.why_none)
        return comparison.mechanisms[0]
    return best_of(
        often_best if problem.noise == AUTO else (problem.noise,),
        budget=budget,
        sensitivity=sensitivity,
        dimension=dimension,
        compositions=count,
        parameters=problem.parameters,
    )
