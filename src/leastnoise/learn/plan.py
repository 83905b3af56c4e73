"""How a classifier will be trained, from public numbers: what is updated, how often, which noise.

notation: n rows, d features, R² the largest ‖x‖₂² of a row, T rounds of P updates, γ the step, Δ
the sensitivity of a sum of derivatives: 1 where a row is added or removed, 2 where one is replaced,
σ the standard deviation that noise gives to a derivative of the mean loss, all releases of it
together, λ the ridge that is added to the loss.

Vectors: a release is of all d numbers, of which a row moves each by Δ at most and all by ΔR in l2.
Coordinates: T·P releases of one number of sensitivity Δ, steps of 1, as in the papers.

How many rounds (docs/theory/learning.md): where the loss curves by h in some direction, noise moves
the minimum there by σ/h, so that directions of h << σ can't be learnt, whatever the rounds; a ridge
keeps what isn't learnt small. No coefficient's part of a score is expected beyond ±8, so that
coefficients are about 8/R: λ = σR/8 makes the worst loss over all h least, and dσ²/2 is added for
noise that is larger than typical curvature, R²/4d. The loss then curves by λ at least and by
L = R²/4 + λ at most, which tells Nesterov's steps of 1/L how many converge: T = 6√(L/λ).
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
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.selection.public import MOST_COMPOSITIONS, calibrate, compare

Updates = Literal["coordinates", "vectors"]

UPDATES: tuple[Updates, ...] = ("coordinates", "vectors")
AUTO = "auto"
"""Stands for the updates, or the noise, that are predicted to be best."""

_OFTEN_BEST = {
    "coordinates": ("gaussian", "laplace"),
    "vectors": ("gaussian", "l2", "k-norm"),
    "trial": ("gaussian",),
}
_KEPT = 64
_SHARE_OF_COORDINATES = 4  # a round updates a quarter of them (Liu et al. 2026, App. D.7)
_ROUNDS_OF_COORDINATES = 100  # of the papers
_LEAST_ROUNDS, _MOST_ROUNDS = 10, 1000  # of vectors, unless `rounds` says other
_TRIAL_ROUNDS = 100  # whose noise tells that of other numbers of rounds
_SCORE = 8  # what a coefficient's part of a score is at most expected to be, R times its size
_TYPICAL = 2  # the same, squared over 4, where it is typical and not at most: λ ∋ dσ²/2
_ROUNDS_A_ROOT = 6  # rounds over √(L/λ): of a start, e⁻⁶ is left
_PASSES_A_CURVATURE = 3  # updates of step 1 times curvature: of a start, e⁻³ is left
_TOLERANCE = 1e-3  # of the mean loss: less is no reason to warn


@final
@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is public of a training: no field depends on the rows' values.

    `squared_norm` is R² (None: d, which features in [−1, 1] never exceed); `parameters` are those
    of the noise that is named. `rounds` limits the rounds of vectors and is how many there are of
    coordinates; None: as many as public numbers ask for, at most 1,000, and 100.
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

    `noise` is σ, and `ridge` is λ. Noise lets directions be learnt in which the loss curves by
    `learnable` at least, and rounds converge in those where it curves by `reached` at least.
    `size` is how large a coefficient is expected to be.
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
        """How many releases the certificate is about."""
        return self.rounds * self.per_round

    @property
    def predicted_noise(self) -> float:
        """What noise and the ridge against it add to the mean loss, at most, if all converges.

        d·λ(8/R)²/3, if coefficients are within 8/R: of a direction, h(λ²w² + 4σ²/3)/2(h + λ)² is
        largest at h = λ; 4/3 is of the average over rounds.
        """
        return self.features * self.learnable * self.size**2 / 3

    @property
    def predicted_optimization(self) -> float:
        """What directions add to the mean loss, at most, in which the rounds don't converge."""
        if self.reached <= self.learnable:
            return 0.0
        return self.features * self.reached * self.size**2 / 2

    @property
    def converged(self) -> bool:
        """Whether too few rounds are predicted to matter less than noise, or than 0.001."""
        return self.predicted_optimization <= max(self.predicted_noise, _TOLERANCE)

    @property
    def advice(self) -> str:
        """What to say where the rounds are too few."""
        vectors = self.updates == "vectors"
        more = "Raise max_iter" if vectors else 'Take updates="vectors", or raise max_iter'
        return (
            f"{self.rounds:,} rounds are predicted to be too few: directions in which the mean loss"
            f" curves by less than {self.reached:.2g} may stay unlearnt, and noise would let those"
            f" be learnt that curve by {self.learnable:.2g}. {more}."
        )


def plan_training(problem: Problem, *, updates: str = AUTO) -> TrainingPlan:
    """Return the plan with `updates`; "auto" takes vectors, or coordinates if only they have noise.

    With Gaussian noise a vector's derivatives have R/√d <= 1 of the noise of coordinates'.

    Raises Refused if no noise can serve, InvalidArgument for more than 10⁷ releases.
    """
    if updates == "coordinates":
        return _coordinates(problem)
    if updates == "vectors":
        return _vectors(problem)
    try:
        return _vectors(problem)
    except Refused as error:  # such as noise that is for one number
        try:
            return _coordinates(problem)
        except Refused:
            raise error from None


@lru_cache(maxsize=_KEPT)  # the same public numbers give the same plan
def _coordinates(problem: Problem) -> TrainingPlan:
    rounds = _ROUNDS_OF_COORDINATES if problem.rounds is None else problem.rounds
    releases = rounds * problem.per_round
    passes = releases / problem.features  # updates of a coordinate, of step 1
    mechanism = _mechanism(problem, (L2(problem.factor),), "coordinates", count=releases)
    noise = math.sqrt(mechanism.mse / passes) / problem.rows
    return TrainingPlan(
        updates="coordinates",
        rounds=rounds,
        per_round=problem.per_round,
        step=1.0,
        mechanism=mechanism,
        noise=noise,
        ridge=0.0,
        momentum=0.0,
        learnable=_ridge(problem, noise),
        reached=_PASSES_A_CURVATURE / passes,
        size=_size(problem),
        features=problem.features,
    )


@lru_cache(maxsize=_KEPT)
def _vectors(problem: Problem) -> TrainingPlan:
    d, square = problem.features, problem.norm_limit
    sensitivity = _of_vectors(d, factor=problem.factor, square=square)
    rounds = _rounds(problem, sensitivity)
    mechanism = _mechanism(problem, sensitivity, "vectors", count=rounds)
    noise = _noise_of_vectors(problem, mechanism, rounds)
    ridge = _ridge(problem, noise)
    largest = float(square / 4) + ridge
    reached = largest * (_ROUNDS_A_ROOT / rounds) ** 2
    root = math.sqrt(min(1.0, max(ridge, reached) / largest))
    return TrainingPlan(
        updates="vectors",
        rounds=rounds,
        per_round=1,
        step=1 / largest,
        mechanism=mechanism,
        noise=noise,
        ridge=ridge,
        momentum=(1 - root) / (1 + root),
        learnable=ridge,
        reached=reached,
        size=_size(problem),
        features=d,
    )


def _size(problem: Problem) -> float:
    return _SCORE / math.sqrt(problem.norm_limit)


def _ridge(problem: Problem, noise: float) -> float:
    """Return λ."""
    return noise / _size(problem) + problem.features * noise**2 / _TYPICAL


def _rounds(problem: Problem, sensitivity: tuple[Sensitivity, ...]) -> int:
    """Return T: enough to converge, and no more than is allowed.

    σ doesn't depend on T with Gaussian noise, nor much with other noise as long as there is a δ;
    without, each release has a T-th of ε, and σ is ∝ √T.
    """
    most = _MOST_ROUNDS if problem.rounds is None else problem.rounds
    few = min(_LEAST_ROUNDS, most)
    if few == most:
        return most
    often_best = "vectors" if problem.budget.delta == 0 else "trial"
    trial = _mechanism(problem, sensitivity, often_best, count=_TRIAL_ROUNDS)
    noise = _noise_of_vectors(problem, trial, _TRIAL_ROUNDS)
    power = 0.5 if problem.budget.delta == 0 else 0.0

    def enough(rounds: int) -> bool:
        ridge = _ridge(problem, noise * (rounds / _TRIAL_ROUNDS) ** power)
        largest = float(problem.norm_limit / 4) + ridge
        return rounds >= _ROUNDS_A_ROOT * math.sqrt(largest / ridge)

    return few + bisect_left(range(few, most), x=True, key=enough)


def _noise_of_vectors(problem: Problem, mechanism: Mechanism, rounds: int) -> float:
    return math.sqrt(mechanism.mse / problem.features / rounds) / problem.rows


def _of_vectors(d: int, *, factor: int, square: Fraction) -> tuple[Sensitivity, ...]:
    box = Linf(factor, l0=d)
    if square == d:
        return (box,)
    root = Fraction(math.isqrt(math.ceil(square * 4**40)) + 1, 2**40)  # above R
    return (L2(factor * root), box)


def _mechanism(
    problem: Problem, sensitivity: tuple[Sensitivity, ...], updates: str, *, count: int
) -> Mechanism:
    """Return the mechanism of `count` releases, about the problem's neighbours."""
    if count > MOST_COMPOSITIONS:
        raise InvalidArgument(
            name="max_iter",
            value=problem.rounds,
            expected=f"{MOST_COMPOSITIONS:,} releases at most, and these would be {count:,}",
        )
    mechanism = _least_noise(
        problem,
        sensitivity,
        dimension=1 if updates == "coordinates" else problem.features,
        often_best=_OFTEN_BEST[updates],
        count=count,
    )
    if problem.neighbours == "replace-one":
        return Mechanism(mechanism.certificate.about("replace-one"))
    return mechanism


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
