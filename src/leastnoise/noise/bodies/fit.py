"""The least noise in the shape of a body for a budget: K-norm, staircase or two-sided.

Most of this noise is purely private: its largest privacy loss for one release is ε, and δ is left
unspent. K-norm noise follows from ε and the body. For a staircase in a gauge γ is searched, and for
two-sided laws the core. Searches are in floats, so they find the γ or core of least expected error
approximately. Two functions spend δ: `several`, for several releases, and `search`, for the
truncated staircase.

Notation: K is the body, D is its dimension, and N is its gauge: N(x) is the least t >= 0 with x ∈
tK. γ is the end of a staircase's first step, and R the radius at which a truncated staircase ends.
A two-sided law falls with P(x), the gauge of the part of x that is added, and with Q(x), the gauge
of the part that is removed. Its core is the value of P and Q up to which the density is flat. ε₀ is
the largest privacy loss of a law. The expected error of a law is the question's `loss`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from leastnoise.balls.core import PLAIN_BITS, float_above, precision
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Ball, Segment
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import SMALLEST_SQUARED
from leastnoise.noise.bodies.law.k_norm import (
    KNorm,
    KStaircase,
    TruncatedKStaircase,
)
from leastnoise.noise.bodies.law.two_sided import (
    SMALLEST_CORE,
    TWO_SIDED_LAPLACE_LARGEST_CORE,
    TwoSidedLaplace,
    TwoSidedStaircase,
)
from leastnoise.noise.bodies.proof import truncated_delta_ball
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.fit import CutStaircase, least_scale
from leastnoise.noise.common.law import MAX_STEPS, SMALLEST_DECAY, step_terms
from leastnoise.noise.common.several import SeveralReleases
from leastnoise.noise.question import Loss, Question
from leastnoise.numerics.searches import IncreasingRoot, minimise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_SHAPE_BITS = 30  # bits of γ's or the core's numerator, so that proofs compute with short fractions


def k_norm(question: Question) -> KNorm:
    """The K-norm law for the budget's ε, with the density ∝ e^(−ε·N(x)).

    Raises NotApplicable for ε = 0, and for a sensitivity whose body isn't known. It is also raised
    for a body on which another family, such as `laplace`, is the same law.
    """
    return law_with_loss(KNorm, question, pure_epsilon(KNorm, question))


def k_staircase(question: Question) -> KStaircase:
    """The staircase in N for the budget's ε, at the γ of least expected error.

    `question.fixed` may set γ. Raises NotApplicable for ε = 0, and as `law_with_loss`.
    """
    return law_with_loss(KStaircase, question, pure_epsilon(KStaircase, question))


def two_sided_staircase(question: Question) -> TwoSidedStaircase:
    """The staircase in P and Q for the budget's ε, at the core of least expected error.

    `question.fixed` may set the core. Raises NotApplicable for ε = 0, and as `law_with_loss`.
    """
    return law_with_loss(TwoSidedStaircase, question, pure_epsilon(TwoSidedStaircase, question))


def two_sided_laplace(question: Question) -> TwoSidedLaplace:
    """The smooth law in P and Q for the budget's ε, at the core of least expected error.

    `question.fixed` may set the core. Raises NotApplicable for ε = 0, and as `law_with_loss`.
    """
    return law_with_loss(TwoSidedLaplace, question, pure_epsilon(TwoSidedLaplace, question))


def pure_epsilon(family: type[VectorNoise], question: Question) -> Fraction:
    """The budget's ε, which a purely private `family` spends; raises NotApplicable if it is 0."""
    if not question.budget.epsilon:
        raise NotApplicable(family=family.name, why="it is purely private, so it needs epsilon > 0")
    return question.budget.epsilon


def law_with_loss(family: type[Any], question: Question, largest: Fraction) -> Any:
    """The law of `family` with the largest privacy loss `largest`, at its best γ or core (if any).

    The γ or core has the least expected error, unless `question.fixed` sets it. Raises
    NotApplicable if the family doesn't serve the sensitivity, or if another family is the same law
    on this body. For a family with a γ or core, it is also raised if `fixed` sets another
    parameter, and for a staircase with too short steps (`_refuse_long`).
    """
    form = family.form_of(question.sensitivity, dimension=question.dimension)
    if form is None:
        raise NotApplicable(family=family.name, why=family.no_form(question.sensitivity))
    _refuse_known(family, form)
    if family is KNorm:
        return KNorm(scale=1 / largest, body=form)
    name, _, law_at = _SHAPES[family]
    if family is not TwoSidedLaplace:
        _refuse_long(family, form.dimension, largest)
    if derived := sorted(set(question.fixed) - {name}):
        why = f"{derived[0]} follows from epsilon and the sensitivity; only {name} may be set"
        raise NotApplicable(family=family.name, why=why)
    if name in question.fixed:
        return law_at(form, largest, Fraction(question.fixed[name]))
    return _find_best_law(family, form, largest, question.loss)


@lru_cache(maxsize=64)  # a later release of the same queries asks for it again
def _find_best_law(family: type[Any], form: Any, largest: Fraction, loss: Loss) -> Any:
    """The law of `family` on the body or set `form`, with the γ or core of the smallest `loss`.

    `largest` is the law's largest privacy loss, and `loss` measures its error.
    """
    _, first, law_at = _SHAPES[family]
    least, most = _LIMITS[family]

    def law_of_shape(shape: float) -> Any:
        return law_at(form, largest, max(least, min(most, _round_shape(shape))))

    grid = first(form.dimension, float(largest))
    rounds = 34  # finds γ or the core to 1e-7, where the loss is flat
    return law_of_shape(minimise(lambda shape: loss.of(law_of_shape(shape)), grid, rounds=rounds))


def _refuse_long(family: type[VectorNoise], dimension: int, decay: Fraction) -> None:
    """Raise NotApplicable if a staircase has such short steps that sums over them take too long.

    Nothing is lost, since the law without steps has about the same error. `decay` is the
    staircase's largest privacy loss.
    """
    powers = 3 if family is KStaircase else dimension + 3
    terms = step_terms(decay, dimension=dimension, powers=powers)
    most_terms = 300_000  # terms of the sums for one law: some 20 ms
    if decay < SMALLEST_DECAY or terms > most_terms:
        smooth = KNorm if family is KStaircase else TwoSidedLaplace
        why = f"its steps are too short to help: {smooth.name} has about the same error"
        raise NotApplicable(family=family.name, why=why)


def _refuse_known(family: type[VectorNoise], form: Any) -> None:
    """Raise NotApplicable if another family is known to be the same law on the body `form`.

    So a comparison doesn't list this law twice.
    """
    known = None
    if family is KNorm:
        known = {Segment: "laplace", Ball: "l2"}.get(type(form))
        if isinstance(form, Cells) and all(isinstance(cell, Segment) for cell in form.bodies):
            known = "laplace"
    if family is KStaircase and isinstance(form, Segment):
        known = "staircase"
    if known:
        raise NotApplicable(family=family.name, why=f"on this body it is {known}")


def _round_shape(shape: float) -> Fraction:
    mantissa, exponent = math.frexp(shape)
    return Fraction(round(mantissa * 2**_SHAPE_BITS)) * Fraction(2) ** (exponent - _SHAPE_BITS)


def _smallest_shape(dimension: int, epsilon: float) -> float:
    """A γ or core well below the best for a large ε: e^(−ε/(D + 2))/8, but at least 1e-100.

    The best is about e^(−ε/(D + 2)). Up to factors, the first step then adds γ^(D + 2) to the mean
    square, and the steps beyond it add e^(−ε).
    """
    smallest = 1e-100
    return max(math.exp(-epsilon / (dimension + 2)) / 8, smallest)


def _grid_between(low: float, high: float) -> list[float]:
    """Starting points of a search from `low` to `high`, each at most 1.4 times the previous one."""
    count = 2 + math.ceil(math.log(high / low) / math.log(1.4))
    return np.geomspace(low, high, count).tolist()


def _gammas(dimension: int, epsilon: float) -> list[float]:
    return _grid_between(min(_smallest_shape(dimension, epsilon), 1 / 16), 1.0)


def _cores(dimension: int, epsilon: float) -> list[float]:
    """Starting points for the core of a two-sided staircase, around 0.3·D/ε + 0.1.

    For counts the best cores are near this number (theory/bodies.md §3).
    """
    typical = 0.3 * dimension / epsilon + 0.1
    low = max(min(_smallest_shape(dimension, epsilon), typical / 16), float(SMALLEST_CORE))
    return _grid_between(low, 16 * typical)


def _smooth_cores(dimension: int, epsilon: float) -> list[float]:
    """Starting points for the core of the smooth two-sided law, around 0.3·D.

    The core is in units of the law's scale 1/ε, so the points don't depend on ε.
    """
    del epsilon
    return _grid_between(0.3 * dimension / 64, 0.3 * dimension * 16)


_Shape = tuple[
    str, Callable[[int, float], list[float]], Callable[[Any, Fraction, Fraction], VectorNoise]
]
_SHAPES: dict[type[VectorNoise], _Shape] = {
    KStaircase: (
        "gamma",
        _gammas,
        lambda body, largest, gamma: KStaircase(scale=1, body=body, gamma=gamma, decay=largest),
    ),
    TwoSidedStaircase: (
        "core",
        _cores,
        lambda of, largest, core: TwoSidedStaircase(scale=1, of=of, core=core, decay=largest),
    ),
    TwoSidedLaplace: (
        "core",
        _smooth_cores,
        lambda of, largest, core: TwoSidedLaplace(scale=1 / largest, of=of, core=core),
    ),
}
"""For each family: the parameter of the search, its starting points, and the law for a value."""

_LIMITS: dict[type[VectorNoise], tuple[Fraction, Fraction]] = {
    KStaircase: (SMALLEST_SQUARED, Fraction(1)),
    TwoSidedStaircase: (SMALLEST_CORE, Fraction(10**6)),
    TwoSidedLaplace: (Fraction(0), TWO_SIDED_LAPLACE_LARGEST_CORE),
}
"""The range of the searched parameter; a value set by the user is refused outside it."""


# k-fold noise in the shape of a body: the largest loss allowed for each release.


_ROOT = IncreasingRoot(tolerance=1e-6)  # of ln ε₀


def several(task: SeveralReleases) -> VectorNoise:
    """The law of one of several releases, with about the largest ε₀ at which all together meet δ.

    ε₀ is the largest privacy loss of one release, and k = `question.compositions` is the number of
    releases. A proved bound on the δ of all releases decides. ε₀ is never below ε/k, as losses of
    ε/k add up to ε. For releases of random samples, it is never below the larger ε₀ that sampling
    reduces to ε/k. If the budget has δ = 0, ε₀ has this least value.

    Raises NotApplicable for laws that are not purely private, for ε = 0, and as `law_with_loss`.
    """
    family, question = cast("type[VectorNoise]", task.family), task.question
    if not family.purely_private:
        why = "its shape isn't searched for several releases; use a purely private family, whose"
        raise NotApplicable(family=family.name, why=f"{why} releases are composed tightly")
    budget_of_release = Budget(epsilon=pure_epsilon(family, question) / question.compositions)
    share = question.one_at(budget_of_release).budget.epsilon
    if not question.budget.delta:
        return law_with_loss(family, question, share)

    def largest(shape: VectorNoise, guess: Fraction) -> Fraction:
        def gap(log_loss: float) -> float:
            return task.log_delta_gap(_with_loss(shape, Fraction(math.exp(log_loss))))

        return max(share, Fraction(math.exp(_ROOT.find(gap, guess=math.log(guess)))))

    first_loss = largest(law_with_loss(family, question, share), share)
    best = law_with_loss(family, question, first_loss)
    # the curve of a staircase in N depends on γ as well: keep this γ, and search ε₀ again
    return _with_loss(best, largest(best, first_loss)) if family is KStaircase else best


def _with_loss(law: VectorNoise, largest: Fraction) -> VectorNoise:
    """The law with the same γ or core, and the largest privacy loss `largest`."""
    if isinstance(law, KStaircase):
        return KStaircase(scale=1, body=law.body, gamma=law.gamma, decay=largest)
    if isinstance(law, TwoSidedStaircase):
        return TwoSidedStaircase(scale=1, of=law.of, core=law.core, decay=largest)
    return law.scaled(law.largest_loss / largest)


# The best truncated staircase in the gauge of a body, for a budget (theory/bodies.md §9).


def search(question: Question) -> TruncatedKStaircase:
    """The truncated staircase of least expected error: decay ε, the best γ, the smallest radius.

    The user may set gamma (`question.fixed`). If the radius or another decay is set, both radius
    and gamma must be set, and the scale is the smallest that meets the budget. Raises
    InvalidArgument if one of them is missing.

    Raises NotApplicable if the hull of the shifts is unknown, or a ball (there the law is
    `spherical-staircase`), and for more than 20,000 steps. If no parameter is set, it is also
    raised if the error of `k-staircase` is less than about 1e-4 (relative) larger.
    """
    body = _body(question)
    fixed = {name: Fraction(value) for name, value in question.fixed.items()}
    decay = fixed.get("decay", question.budget.epsilon)
    if "radius" in fixed or decay != question.budget.epsilon:
        return _scale_shape(question, body, fixed | {"decay": decay})
    gamma, radius = _best_truncation(
        body.dimension, question.budget, question.loss, fixed.get("gamma")
    )
    law = TruncatedKStaircase(scale=1, body=body, gamma=gamma, radius=radius, decay=decay)
    pure = None if fixed else _untruncated_loss(question)
    gain = Fraction(1, 10_000)  # a smaller relative gain is not worth a δ > 0
    if pure is not None and question.loss.of(law) > (1 - gain) * pure:
        why = "its range would end so far out that k-staircase has the same error with delta = 0"
        raise NotApplicable(family=TruncatedKStaircase.name, why=why)
    return law


def _body(question: Question) -> Body:
    """The hull of the question's shifts. Raises NotApplicable if it is unknown, or a ball."""
    family, sensitivity = TruncatedKStaircase, question.sensitivity
    body = family.form_of(sensitivity, dimension=question.dimension)
    if body is None:
        raise NotApplicable(family=family.name, why=family.no_form(sensitivity))
    if isinstance(body, Ball):
        why = "on this body it is spherical-staircase, whose delta is known exactly"
        raise NotApplicable(family=family.name, why=why)
    return body


def _untruncated_loss(question: Question) -> float | None:
    """The expected error of the best staircase without truncation, `k-staircase`.

    None if that family doesn't serve the question.
    """
    try:
        return question.loss.of(k_staircase(replace(question, fixed={})))
    except NotApplicable:
        return None


@lru_cache(maxsize=64)  # it is the same for all bodies of a dimension
def _best_truncation(
    dimension: int, budget: Budget, loss: Loss, gamma: Fraction | None
) -> tuple[Fraction, Fraction]:
    """The pair (γ, R) of least expected error, with γ = `gamma` unless that is None.

    R is the smallest radius at which the law with this γ meets the budget.
    """
    epsilon = float(budget.epsilon)
    log_delta = math.log(budget.delta.numerator) - math.log(budget.delta.denominator)
    cut = CutStaircase(
        family=TruncatedKStaircase.name,
        dimension=dimension,
        epsilon=epsilon,
        log_target=log_delta - 1e-12 - 1e-15 * dimension,  # a margin for rounding
        loss=loss,
        outside=partial(_outside, dimension=dimension),
    )
    # the gauge is about Gamma(D)/ε; at ε = 0 the law is uniform, and a shift moves about D/(2R) of
    # its mass beyond R
    steps = (dimension - log_delta) / epsilon if epsilon else math.inf
    guess = min(steps, dimension / 2 * math.exp(-log_delta), MAX_STEPS)
    return cut.least(gamma, guess=math.ceil(guess))


def _outside(a: Floats, b: Floats, *, dimension: int) -> Floats:
    """The share of the volume of aK that lies outside s + bK, for a cube K and a corner s of K.

    a <= b are arrays of the same shape, and so is the share.
    """
    gone = np.clip((a - b + 1) / (2 * a), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return -np.expm1(dimension * np.log1p(-gone))


def _scale_shape(question: Question, body: Body, fixed: dict[str, Fraction]) -> TruncatedKStaircase:
    """The law with the parameters in `fixed`, at the smallest scale that meets the budget.

    Raises InvalidArgument unless `fixed` has both gamma and radius.
    """
    if missing := {"gamma", "radius"} - set(fixed):
        raise InvalidArgument(
            name="parameter",
            value="nothing",
            expected=f"{' and '.join(sorted(missing))} as well, if the radius or the decay is set",
        )
    law = TruncatedKStaircase(scale=1, body=body, **fixed)

    def log_delta(shift: float) -> float:
        with precision(PLAIN_BITS):
            epsilon = question.budget.epsilon
            delta = truncated_delta_ball(law, shift=Fraction(shift), epsilon=epsilon)
            most = float_above(delta)
        return math.log(most) if most > 0 else -math.inf

    return law.scaled(least_scale(log_delta, question.budget.delta))
