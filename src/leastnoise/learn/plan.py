"""How a classifier will be trained, from public numbers: what is updated, how often, which noise.

notation: n rows, d features, R² the largest ‖x‖₂² of a row, T rounds of P updates, γ the step, Δ
the sensitivity of a sum of derivatives: 1 where a row is added or removed, 2 where one is replaced,
σ the standard deviation that noise gives to a derivative of the mean loss, all releases of it
together.

Vectors: a release is of all d numbers, of which a row moves each by Δ at most and all by ΔR in l2.
Coordinates: T·P releases of one number of sensitivity Δ, steps of 1, as in the papers.

How many rounds (docs/theory/learning.md): where the loss curves by h in some direction, noise moves
the minimum there by σ/h. No coefficient's part of a score is expected beyond ±8, so that none is
beyond B = 8/R, and directions with h < σ/B aren't worth learning. Nesterov's steps of 1/L, whose
momentum is for curvatures from λ = σ/B on, learn those of h >> λ nearly without bias in T = 3√(L/λ)
rounds, and leave the others near 0: stopping then makes the worst loss over all h nearly least.
L = R²/4 is the most that the loss curves. Where noise is larger than typical curvature, R²/4d, a
ridge of dσ²/2 keeps coefficients small; λ and L have it in them.
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
from leastnoise.learn.choice import AUTO, about, best_of
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
_MOST_ROUNDS = 1000  # of vectors, unless `rounds` says other
_TRIAL_ROUNDS = 100  # whose noise tells that of other numbers of rounds
_ROUNDS_A_ROOT = 3  # T over √(L/λ)


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
        return math.ceil(self.features / 4)  # as Liu et al. (2026, App. D.7) do


@final
@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """`rounds` of `per_round` releases by `mechanism`, whose certificate is about all of them.

    `noise` is σ. Noise lets directions be learnt in which the loss curves by `learnable` at least,
    λ, and rounds learn those where it curves by `reached` at least. `ridge` is what is added to the
    curvature, and `size` is B, beyond which no coefficient is expected.
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
        """What noise, and what isn't learnt for it, add to the mean loss: dλB²/3 at most.

        For a loss that is quadratic, coefficients within B, and rounds that are enough.
        """
        return self.features * self.learnable * self.size**2 / 3

    @property
    def predicted_optimization(self) -> float:
        """What directions add to it that rounds are too few for: dB²/2 · `reached` at most."""
        if self.reached <= self.learnable:
            return 0.0
        return self.features * self.reached * self.size**2 / 2

    @property
    def converged(self) -> bool:
        """Whether too few rounds are predicted to matter less than noise, or than 0.001."""
        tolerance = 1e-3  # of the mean loss: less is no reason to warn
        return self.predicted_optimization <= max(self.predicted_noise, tolerance)

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
    """Return the plan with `updates`; "auto" takes the one that is predicted to lose least.

    Of Gaussian noise those are vectors: their derivatives have R/√d <= 1 of the noise of
    coordinates', and reach what curves less. Whether the rounds are enough, `converged` says.

    Raises Refused if no noise can serve, InvalidArgument for more than 10⁷ releases.
    """
    if updates == AUTO:
        ways = (_vectors,) if problem.noise in (AUTO, "gaussian") else (_vectors, _coordinates)
    else:
        ways = (_vectors,) if updates == "vectors" else (_coordinates,)
    plans: list[TrainingPlan] = []
    reasons: list[Refused] = []
    for plan in ways:
        try:
            plans.append(plan(problem))
        except Refused as error:  # such as noise that is for one number
            reasons.append(error)
    if not plans:
        raise reasons[0]
    return min(plans, key=lambda plan: plan.predicted_noise + plan.predicted_optimization)


@lru_cache(maxsize=64)  # the same public numbers give the same plan
def _coordinates(problem: Problem) -> TrainingPlan:
    rounds_of_coordinates = 100  # of the papers
    rounds = rounds_of_coordinates if problem.rounds is None else problem.rounds
    releases = rounds * problem.per_round
    passes = releases / problem.features  # updates of a coordinate, of step 1
    mechanism = _mechanism(problem, (L2(problem.factor),), "coordinates", count=releases)
    noise = math.sqrt(mechanism.mse / passes) / problem.rows
    passes_a_curvature = 3  # updates of step 1 times curvature: of a start, e⁻³ is left
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
    score = 8  # R·B, what a coefficient's part of a score is at most expected to be
    return score / math.sqrt(problem.norm_limit)


def _ridge(problem: Problem, noise: float) -> float:
    ridge = 0.5  # over dσ²
    return ridge * problem.features * noise**2


def _learnable(problem: Problem, noise: float) -> float:
    """Return λ."""
    return noise / _size(problem) + _ridge(problem, noise)


def _largest(problem: Problem, noise: float) -> float:
    """Return L."""
    return float(problem.norm_limit / 4) + _ridge(problem, noise)


def _rounds(problem: Problem, sensitivity: tuple[Sensitivity, ...]) -> int:
    """Return T: enough to converge, and no more than is allowed.

    σ doesn't depend on T with Gaussian noise, nor much with other noise as long as there is a δ;
    without, each release has a T-th of ε, and σ is ∝ √T.
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
        those = noise * (rounds / _TRIAL_ROUNDS) ** power
        ratio = _largest(problem, those) / _learnable(problem, those)
        return rounds >= _ROUNDS_A_ROOT * math.sqrt(ratio)

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
    return about(mechanism, problem.neighbours)


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
    return best_of(
        often_best if problem.noise == AUTO else (problem.noise,),
        budget=budget,
        sensitivity=sensitivity,
        dimension=dimension,
        compositions=count,
        parameters=problem.parameters,
    )
