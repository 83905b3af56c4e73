"""The fits of generalized gamma noise and of the l2 mechanism.

Notation: d is the dimension, and α and p the shape of a generalized gamma law, whose radius in
scales has the density ∝ r^α e^(−r^p). For the l2 mechanism, σ is the scale. The worst shift is 1.
The loss of a law is its expected error, `question.loss`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import final

from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval
from leastnoise.noise.base import Noise
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.common.several import SeveralReleases, polish, scale_alone
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.radial.law import MAX_SHAPED_DIMENSION, GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.profile import log_delta
from leastnoise.noise.radial.quantile import quick_log_delta
from leastnoise.numerics.searches import LOG_ZERO, IncreasingRoot, simplex

# The best spherical generalized gamma law for a budget (Wei, Bienstock & Polychroniadou 2026).


LEAST_P, LARGEST_P = 0.3, 8.0  # range of the search; a user may fix any p of the family
_LEAST_SHARE = 0.02  # smallest (α+1)/d; below it, the pole at 0 costs more than it can gain
_FIRST_POWERS = (0.6, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
_ROOT = IncreasingRoot(tolerance=1e-12, first_step=0.02)  # in ln of the shift in scales
_CLOSE_ROOT = IncreasingRoot(tolerance=1e-12, first_step=1e-9)  # from an approximate root
_ROUGH = 3e-6  # for comparing shapes: after a secant step this short, the error is about 1e-9
_NEAR = 0.01  # distance in ln δ; further off, δ may fall so steeply that a secant misleads
_SECANTS, _FIRST_STEP, _LONGEST_STEP = 12, 1e-5, 0.5  # number and lengths of secant steps
_PROOF = 1e-8  # relative width of δ that the proof may leave
_LARGEST_MARGIN = 8e-6  # relative increase of the scale; the promise is 1e-5
_FARTHEST = 100.0  # ln of a shift in scales; the mass is closer for every p of the search
_LARGEST_LOG_SCALE = 500.0
_LARGEST_EPSILON = 100
_DIGITS = 6  # significant digits of a parameter that was searched

_LogDelta = Callable[..., float]
"""`log_delta`, or another function with the same arguments."""


def generalized_gamma_search(question: Question) -> GeneralizedGamma:
    """Find the generalized gamma law of least loss, at the smallest scale that meets the budget.

    The question's `fixed` may set alpha or p or both. A p that isn't fixed is between 0.3 and 8.
    The scale includes a relative margin of less than 1e-5 for the proof. Raises NotApplicable for ε
    > 100, and for a δ so close to 1 that the margin would be larger. Raises Refused if parameters
    in `fixed` need a scale above e^500 sensitivities.
    """
    check_epsilon(question.budget)
    return _least(question.dimension, question.budget, question.loss, fixed_of(question))


def check_epsilon(budget: Budget) -> None:
    """Raise NotApplicable for ε > 100."""
    if budget.epsilon > _LARGEST_EPSILON:
        why = (
            f"for epsilon > {_LARGEST_EPSILON} the proof takes too long, "
            "and other families have far less noise"
        )
        raise NotApplicable(family=GeneralizedGamma.name, why=why)


def fixed_of(question: Question) -> tuple[tuple[str, Fraction], ...]:
    """Return the fixed parameters as a hashable tuple."""
    return tuple(sorted((name, Fraction(value)) for name, value in question.fixed.items()))


@lru_cache(maxsize=64)  # a comparison of families calls it alike for several geometries
def _least(
    dimension: int, budget: Budget, loss: Loss, fixed: tuple[tuple[str, Fraction], ...]
) -> GeneralizedGamma:
    """The result of `generalized_gamma_search`, for hashable arguments."""
    problem, given = _RadialProblem(dimension=dimension, budget=budget, loss=loss), dict(fixed)
    if len(given) == 2:
        shape = GammaShape(alpha=given["alpha"], p=given["p"])
    else:
        shape = find_best_shape(dimension, problem.log_loss, given)
    return problem.calibrate(shape)


@final
@dataclass(frozen=True, kw_only=True)
class GammaShape:
    """The shape of a generalized gamma law: the exact numbers α = `alpha` and p."""

    alpha: Fraction
    p: Fraction


@final
class _RadialProblem:
    """The search for one question: the smallest scale of each shape, and the loss there.

    Each search for a scale starts from the result for the previous shape.
    """

    def __init__(self, *, dimension: int, budget: Budget, loss: Loss) -> None:
        self.dimension, self._budget, self._loss = dimension, budget, loss
        self._log_target = math.log(budget.delta)
        self._log_sigma = math.log(common_fit.gaussian(dimension, budget))
        self._last_log_mse = self._log_sigma * 2 + math.log(dimension)
        self._last_slope = 1.0

    def law(self, shape: GammaShape) -> GeneralizedGamma:
        """Return the law of this shape and scale 1."""
        return GeneralizedGamma(scale=1, alpha=shape.alpha, p=shape.p, dimension=self.dimension)

    def log_shift(self, law: GeneralizedGamma) -> float:
        """Return ln of the largest shift, in scales, for which the law meets the budget."""
        about = self.about_log_shift(law)
        return _CLOSE_ROOT.find(lambda x: self._over(law, x, log_delta), guess=about)

    def about_log_shift(self, law: GeneralizedGamma) -> float:
        """Approximate `log_shift`, with an error of about 1e-9.

        Secants start with the last slope; if they fail, a search with a bracket takes over.
        """
        last = self._guess(law)
        before = self._over(law, last, quick_log_delta)
        step = -before / self._last_slope
        x = last + math.copysign(min(max(abs(step), _FIRST_STEP), _LONGEST_STEP), step)
        for _ in range(_SECANTS):
            value = self._over(law, x, quick_log_delta)
            slope = (value - before) / (x - last)
            if not slope > 0 or abs(value / slope) > _LONGEST_STEP:
                break
            last, before, x = x, value, x - value / slope
            if abs(value) < _NEAR and abs(x - last) < _ROUGH:
                self._last_log_mse, self._last_slope = math.log(law.mse) - 2 * x, slope
                return x
        root = _ROOT.find(lambda x: self._over(law, x, quick_log_delta), guess=self._guess(law))
        self._last_log_mse = math.log(law.mse) - 2 * root
        return root

    def _guess(self, law: GeneralizedGamma) -> float:
        """Return a guess for `log_shift`: with it, the law has the same MSE as the previous law."""
        return (math.log(law.mse) - self._last_log_mse) / 2

    def _over(self, law: GeneralizedGamma, log_shift: float, function: _LogDelta) -> float:
        return max(self._log_delta(law, log_shift, function), LOG_ZERO) - self._log_target

    def _log_delta(self, law: GeneralizedGamma, log_shift: float, function: _LogDelta) -> float:
        """Return ln δ(ε) under a shift of e^log_shift scales; 0 if the shift is above e^100 scales.

        `function` computes it: `log_delta` or `quick_log_delta`. Raises Refused if the shift is
        below e^-500 scales, as when nearly all mass is at 0.
        """
        if log_shift > _FARTHEST:
            return 0.0
        if log_shift < -_LARGEST_LOG_SCALE:
            raise Refused(
                f"The scale of the noise would be more than e^{_LARGEST_LOG_SCALE:.0f} times the "
                "sensitivity. Use other parameters or another noise."
            )
        return function(
            dimension=self.dimension,
            alpha=float(law.alpha),
            kappa=float(law.kappa),
            p=float(law.p),
            shift=math.exp(log_shift),
            epsilon=float(self._budget.epsilon),
        )

    def log_loss(self, shape: GammaShape) -> float:
        """Return ln of the loss at the smallest scale, or +∞ if that scale isn't found."""
        law = self.law(shape)
        try:
            log_scale = -self.about_log_shift(law)
        except Refused:
            return math.inf
        power = 2 if self._loss is Loss.MSE else 1
        return math.log(self._loss.of(law)) + power * log_scale

    def calibrate(self, shape: GammaShape) -> GeneralizedGamma:
        """Return the law at the smallest scale, increased by a margin for the proof's accuracy.

        Raises NotApplicable for a δ so close to 1 that the margin would be too large.
        """
        law = self.law(shape)
        log_shift = self.log_shift(law)
        step = 1e-4
        slope = (self._log_target - self._log_delta(law, log_shift - step, log_delta)) / step
        margin = _PROOF / slope if slope > 0 else math.inf
        if margin > _LARGEST_MARGIN:
            why = "delta is so close to 1 that its proof would not be tight"
            raise NotApplicable(family=GeneralizedGamma.name, why=why)
        return law.scaled(Fraction(math.exp(-log_shift) * (1 + margin + 4e-12)))


def find_best_shape(
    dimension: int,
    log_loss: Callable[[GammaShape], float],
    fixed: Mapping[str, Fraction],
    *,
    flat: float = 1e-9,
    no_gain: float = 2e-5,
) -> GammaShape:
    """Find the shape of least loss: first among a few p, then by the simplex method.

    `log_loss` returns ln of the loss of a shape. Parameters in `fixed` stay. The first shapes have
    α = d−1, and the classic p = 1 and p = 2 are among their p. The simplex method varies ln p and
    (α+1)/d, which is at most 1. It stops when its values of `log_loss` differ by at most `flat`.
    The best of the first shapes is returned unless the simplex method lowers ln of the loss by more
    than `no_gain`. So negligible gains don't lead to a p such as 1.00001, which is hard to prove.
    Beyond 2,000 dimensions only the classic members are compared.
    """
    d = dimension
    if d > MAX_SHAPED_DIMENSION:
        return _best_classic(d, log_loss, fixed)
    losses: dict[GammaShape, float] = {}

    def at(tau: float, log_p: float) -> GammaShape:
        share = min(max(tau, _LEAST_SHARE), 1.0)
        p = min(max(math.exp(log_p), LEAST_P), LARGEST_P)
        alpha = Fraction(d - 1) if share == 1.0 else round_parameter(share * d) - 1
        return GammaShape(alpha=fixed.get("alpha", alpha), p=fixed.get("p", round_parameter(p)))

    def loss(tau: float, log_p: float) -> float:
        shape = at(tau, log_p)
        if shape not in losses:
            losses[shape] = log_loss(shape)
        return losses[shape]

    firsts = [math.log(p) for p in _FIRST_POWERS]
    start = min(firsts, key=lambda log_p: loss(1.0, log_p))
    simplex(loss, [(1.0, start), (0.9, start), (1.0, start + 0.15)], flat=flat)
    tau, log_p = _coordinates(min(losses, key=losses.__getitem__), d)
    corners = [(tau, log_p), (tau - 0.03, log_p + 0.02), (tau + 0.01, log_p - 0.06)]
    simplex(loss, corners, flat=flat)
    first, best = at(1.0, start), min(losses, key=losses.__getitem__)
    return first if losses[first] <= losses[best] + no_gain else best


def _best_classic(
    dimension: int, log_loss: Callable[[GammaShape], float], fixed: Mapping[str, Fraction]
) -> GammaShape:
    """The shape of less loss with p = 1 (l2) or p = 2 (Gaussian); parameters in `fixed` stay."""
    alpha = fixed.get("alpha", Fraction(dimension - 1))
    powers = [fixed["p"]] if "p" in fixed else [Fraction(1), Fraction(2)]
    return min((GammaShape(alpha=alpha, p=p) for p in powers), key=log_loss)


def _coordinates(shape: GammaShape, dimension: int) -> tuple[float, float]:
    return float((shape.alpha + 1) / dimension), math.log(shape.p)


def round_parameter(number: float) -> Fraction:
    """Round `number` to six significant digits."""
    return Fraction(f"{number:.{_DIGITS}g}")


# The least l2 noise for a budget, of one release and of several.


_FAR, _CLOSE = 1e-7, 1e-9  # relative accuracy of δ; the latter is about 6e-11 in the scale
_CLOSEST = 2e-10  # relative accuracy of 1/σ − ε/k
_NEAR_LEAST = IncreasingRoot(tolerance=1e-8, first_step=0.05)  # in ln(1/σ − ε/k)


def spherical_laplace_search(question: Question) -> SphericalLaplace:
    """Return the l2 law with the smallest scale that meets the budget."""
    scale = common_fit.spherical_laplace(question.dimension, question.budget)
    return SphericalLaplace(scale=scale, dimension=question.dimension)


def several(task: SeveralReleases) -> Noise:
    """Return the l2 law at its smallest scale for several releases.

    Let k be the number of releases. The smallest scale is the root of a proved bound on δ, from the
    moment generating function of the loss. The search is in ln(1/σ − ε/k), since σ = k/ε is private
    even at δ = 0. If the bound takes too many nodes of a quadrature, lattices of
    the losses give another bound. Samples and δ = 0 are left to `scale_alone`.
    """
    if task.question.sampling_rate != 1 or not task.question.budget.delta:
        return scale_alone(task)
    return _by_moments(task) or scale_alone(task)


def _by_moments(task: SeveralReleases) -> SphericalLaplace | None:
    """The l2 law for several releases, from moments of the loss; None if these take too long."""
    budget, dimension = task.question.budget, task.question.dimension
    compositions = task.question.compositions
    share = float(budget.epsilon) / compositions

    def law(log_excess: float) -> SphericalLaplace:
        scale = Fraction(1 / (share + math.exp(log_excess)))
        return SphericalLaplace(scale=scale, dimension=dimension)

    @cache
    def delta_bounds(log_excess: float, closest: float) -> Interval | None:
        return task.by_moments(law(log_excess), closest=closest)

    def over(log_excess: float, closest: float) -> float:
        if bounds := delta_bounds(log_excess, closest):
            return math.log(bounds.upper) - task.log_delta if bounds.upper > 0 else -math.inf
        return task.log_delta_gap(law(log_excess))

    # Guess: the loss has the same variance as for the Gaussian that meets the budget
    sigma = float(common_fit.gaussian(dimension, budget)) * math.sqrt(compositions / dimension)
    guess = math.log(max(1 / sigma - share, 1e-3 * share))
    if delta_bounds(guess, _FAR) is None:
        return None
    near = _NEAR_LEAST.find(partial(over, closest=_FAR), guess=guess)
    if math.exp(near) < common_fit.PURE * share:
        return SphericalLaplace(scale=compositions / budget.epsilon, dimension=dimension)
    start = math.exp(-near)
    known = delta_bounds(-math.log(start), _CLOSE) or Interval(0.0, 1.0)
    factor = polish(
        lambda factor: over(-math.log(factor), _CLOSE),
        lambda factor: over(-math.log(factor), _FAR),
        start,
        relative=max(_CLOSEST, (1 - known.lower / known.upper) / 4),
    )
    return law(-math.log(factor))
