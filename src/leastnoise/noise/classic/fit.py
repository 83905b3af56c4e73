"""The smallest Laplace, Gaussian and flipped Huber noise for a budget.

Notation: α and γ are the parameters `alpha` and `gamma` of flipped Huber noise, and u = α/γ is its
corner. All laws are for a sensitivity of 1, so γ is in units of the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.classic.law import (
    FlippedHuber,
    Gaussian,
    Laplace,
    TruncatedLaplace,
    standard_moment,
)
from leastnoise.noise.classic.profile import log_delta, truncated_laplace_log_delta
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.common.estimate import lay_on_lattice, log_delta_of_sum
from leastnoise.noise.common.fit import ROUNDING, least_scale
from leastnoise.noise.common.several import COARSE, SeveralReleases, find_least_factor
from leastnoise.noise.question import Loss, Question
from leastnoise.numerics.searches import LOG_ZERO, IncreasingRoot, minimise

if TYPE_CHECKING:
    from numpy.typing import NDArray


def gaussian_search(question: Question) -> Gaussian:
    """The Gaussian law with the smallest scale that meets the budget."""
    scale = common_fit.gaussian(question.dimension, question.budget)
    return Gaussian(scale=scale, dimension=question.dimension)


# The least Laplace noise for a budget.


def laplace_search(question: Question) -> Laplace:
    """The Laplace law with the smallest scale that meets the budget."""
    scale = common_fit.laplace(question.dimension, question.budget)
    return Laplace(scale=scale, dimension=question.dimension)


# The truncated Laplace law for a budget (Geng, Ding, Guo & Kumar 2020).


def truncated_laplace_search(question: Question) -> TruncatedLaplace:
    """The truncated Laplace law of its source: scale 1/ε, and the smallest radius that meets δ.

    If the user sets the radius (`question.fixed`), the scale is the smallest that meets the budget.
    Other pairs of scale and radius can have less loss, but are not in the source. Raises
    NotApplicable for epsilon = 0, where the scale would be infinite.
    """
    if "radius" in question.fixed:
        return _at_radius(question, Fraction(question.fixed["radius"]))
    if question.budget.epsilon == 0:
        raise NotApplicable(
            family=TruncatedLaplace.name, why="it needs epsilon > 0: its scale is 1/epsilon"
        )
    radius = least_radius(question.budget)
    return TruncatedLaplace(
        scale=1 / question.budget.epsilon, radius=Fraction(radius * (1 + ROUNDING))
    )


def least_radius(budget: Budget) -> float:
    """The smallest radius a of truncated Laplace noise of scale 1/ε that meets (ε, δ).

    The sensitivity is 1, and the noise ranges up to a/ε. The result is accurate to a few ulps. Up
    to δ = ½, where a >= ε, it is ln(1 + (e^ε − 1)/(2δ)) (Geng et al. 2020). For larger δ, only part
    of the range overlaps its shifted copy, and 2δ(1 − e^(−a)) = 2 − e^(−a) − e^(a−ε). This is
    quadratic in e^a. So e^(a−ε) = 1 − δ + r with r² = (1 − δ)² + (1 − κ)c, κ = 1 − e^(−ε) and c =
    2δ − 1. For small ε, e^(a−ε) is near 1, and the equal expression 1 − κc/(δ + r) keeps the
    digits.
    """
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    if delta <= 0.5:
        if epsilon < 1:
            return math.log1p(math.expm1(epsilon) / (2 * delta))
        return epsilon + math.log(math.exp(-epsilon) - math.expm1(-epsilon) / (2 * delta))
    rest, c = float(1 - budget.delta), 2 * delta - 1
    r = math.sqrt(rest * rest + math.exp(-epsilon) * c)
    if epsilon < 1:
        return epsilon + math.log1p(math.expm1(-epsilon) * c / (delta + r))
    return epsilon + math.log(rest + r)


def _at_radius(question: Question, radius: Fraction) -> TruncatedLaplace:
    epsilon, a = float(question.budget.epsilon), float(radius)
    scale = least_scale(
        lambda t: truncated_laplace_log_delta(shift_ratio=t, excess=t - epsilon, radius=a),
        question.budget.delta,
    )
    return TruncatedLaplace(scale=scale, radius=radius)


_ROOT = IncreasingRoot(tolerance=1e-12)  # in ln(1/γ), or in ln of the corner
# For the search of the corner: the loss is flat around its minimum, so this is accurate enough.
_ROUGH = IncreasingRoot(tolerance=1e-9, first_step=0.02)

# For several releases:
_ROUGHLY = IncreasingRoot(tolerance=1e-3, first_step=0.03)  # in ln(1/scale)


def huber_search(question: Question) -> FlippedHuber:
    """The flipped Huber law of scale 1 and of least loss that meets the budget.

    The corner u is searched, with the smallest γ that meets δ at each corner. The user may set
    alpha or gamma (`question.fixed`); the other then follows from the budget. If both are set, the
    scale follows. Raises NotApplicable if gamma is too small for any alpha, or if ε and δ are both
    below about 1e-9.
    """
    if common_fit.gaussian(1, question.budget) > 10**9:  # γ's margin is still below 1e-5
        why = "epsilon and delta are both below about 1e-9, where it is not searched"
        raise NotApplicable(family=FlippedHuber.name, why=why)
    fixed = {name: Fraction(value) for name, value in question.fixed.items()}
    epsilon, delta = float(question.budget.epsilon), question.budget.delta
    if len(fixed) == 2:
        law = FlippedHuber(scale=1, alpha=fixed["alpha"], gamma=fixed["gamma"])
        u, gamma = float(law.corner), float(law.gamma)
        scale = least_scale(
            lambda t: log_delta(corner=u, shift_ratio=float(t / gamma), epsilon=epsilon), delta
        )
        return law.scaled(scale)
    if "alpha" in fixed:
        return _at_alpha(question, fixed["alpha"])
    if "gamma" in fixed:
        return _at_gamma(question, fixed["gamma"])
    power = 1 if question.loss is Loss.MAE else 2

    last_inverse = 1 / float(common_fit.gaussian(1, question.budget))

    def loss(corner: float) -> float:
        nonlocal last_inverse  # corners are tried in order, so the last result is near
        last_inverse = _least_gamma_inverse(question, corner, guess=last_inverse, root=_ROUGH)
        return standard_moment(power, corner) / last_inverse**power

    # the tail has a mass of e^(−u²), which is negligible from u = 40 on. If ut < ε, however, its
    # loss of about t²/2 still matters
    last = max(40.0, 2 * math.sqrt(epsilon))
    u = minimise(loss, [0.0, *np.geomspace(0.02, last, 40).tolist()], thorough=False)
    inverse = _least_gamma_inverse(question, u, guess=last_inverse, root=_ROOT)
    gamma = _add_margin(Fraction(1 / inverse))
    return FlippedHuber(scale=1, alpha=_to_float(Fraction(u) * gamma), gamma=_to_float(gamma))


def _least_gamma_inverse(
    question: Question, corner: float, *, guess: float, root: IncreasingRoot
) -> float:
    """Search the largest t = 1/γ for which the law with α = γ·corner meets δ, from `guess`."""
    epsilon, log_target = float(question.budget.epsilon), math.log(question.budget.delta)

    def over(log_t: float) -> float:
        value = log_delta(corner=corner, shift_ratio=math.exp(log_t), epsilon=epsilon)
        return max(value, LOG_ZERO) - log_target

    if corner * corner > -log_target:  # the tails, of mass e^(−u²), hardly matter: nearly Laplace
        near = math.log((epsilon - 2 * math.log1p(-float(question.budget.delta))) / corner)
        below, above = near - root.tolerance / 2, near + root.tolerance / 2
        if over(below) <= 0 < over(above):
            return math.exp(below)
    return math.exp(root.find(over, guess=math.log(guess)))


def _at_alpha(question: Question, alpha: Fraction) -> FlippedHuber:
    epsilon, a = float(question.budget.epsilon), float(alpha)
    gamma = least_scale(
        lambda t: log_delta(corner=a * t, shift_ratio=t, epsilon=epsilon), question.budget.delta
    )
    return FlippedHuber(scale=1, alpha=alpha, gamma=_to_float(_add_margin(gamma)))


def _at_gamma(question: Question, gamma: Fraction) -> FlippedHuber:
    """The law with γ = `gamma` and the largest α that meets the budget, which has the least loss.

    Raises NotApplicable if no α meets the budget.
    """
    epsilon, t = float(question.budget.epsilon), float(1 / gamma)
    log_target = math.log(question.budget.delta)

    def over(log_corner: float) -> float:
        return log_delta(corner=math.exp(log_corner), shift_ratio=t, epsilon=epsilon) - log_target

    try:
        u = math.exp(_ROOT.find(over, guess=0.0))
    except Refused as error:
        raise NotApplicable(family=FlippedHuber.name, why="gamma is too small") from error
    alpha = Fraction(u) * gamma * gamma / _add_margin(gamma)
    return FlippedHuber(scale=1, alpha=_to_float(alpha), gamma=gamma)


def _add_margin(gamma: Fraction) -> Fraction:
    # a further margin, because the float δ loses digits if the shift is tiny relative to γ
    return gamma * (1 + common_fit.MARGIN + gamma / 10**15)


def _to_float(number: Fraction) -> Fraction:
    """Round `number` to the nearest float, as a Fraction; it is short when stored and printed."""
    return Fraction(float(number))


@final
class _Newton:
    """A root finder for a series of similar functions.

    Each search starts with the slope that the previous search has computed.
    """

    _near = 0.01  # a shorter step is the last: after it the error is about the step squared
    _far = 0.1  # a longer step isn't trusted: a slower search takes over

    def __init__(self) -> None:
        self._slope = math.nan

    def find(self, over: Callable[[float], float], x: float) -> float:
        """The approximate root of the increasing function `over`, searched from x."""
        value = over(x)
        if math.isnan(self._slope):
            self._slope = (over(x + self._near) - value) / self._near
        for _ in range(5):
            move = -value / self._slope if self._slope > 0 else math.inf
            if not abs(move) <= self._far:
                break
            x += move
            if abs(move) <= self._near:
                return x
            before, value = value, over(x)
            self._slope = (value - before) / move
        return _ROUGHLY.find(over, guess=x)


def huber_several(task: SeveralReleases) -> FlippedHuber:
    """The flipped Huber law for several releases, each with a worst shift of 1.

    The corner u is searched in floats (for samples, on coarse lattices), from 0, which is the
    Gaussian law, to where the tails have no effect. The user may set both alpha and gamma
    (`question.fixed`); then the scale follows. Raises InvalidArgument if only one of them is set.
    """
    question, compositions = task.question, task.question.compositions
    fixed = {name: Fraction(value) for name, value in question.fixed.items()}
    first = float(common_fit.gaussian(1, question.one_at(question.budget).budget))
    if len(fixed) == 2:
        law = FlippedHuber(scale=1, alpha=fixed["alpha"], gamma=fixed["gamma"])
        start = first / math.sqrt(law.variance)
        return law.scaled(find_least_factor(task, law, first=start))
    if fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(fixed),
            expected="both alpha and gamma, or neither, for several releases",
        )
    near = first * math.sqrt(compositions)  # the standard deviation of the last law that was found
    newton = _Newton()
    in_floats = question.sampling_rate == 1

    def law_at(corner: float) -> FlippedHuber:
        return FlippedHuber(scale=1, alpha=Fraction(corner), gamma=1)

    def loss(corner: float) -> float:
        nonlocal near
        law = law_at(corner)
        width = math.sqrt(law.variance)

        def over(log_inverse: float) -> float:
            if in_floats:
                total = _log_delta_of_several(corner, math.exp(log_inverse), question)
                return max(total, LOG_ZERO) - task.log_delta
            wide = law.scaled(Fraction(math.exp(-log_inverse)))
            return max(task.log_delta_gap(wide, points_per_std=COARSE), LOG_ZERO)

        factor = math.exp(-newton.find(over, math.log(width / near)))
        near = factor * width
        return question.loss.of(law) * factor ** (1 if question.loss is Loss.MAE else 2)

    # the tail has a mass of e^(−u²), and beyond ut = ε its loss of t²/2 has no effect
    smallest_corner = 0.25
    last = max(math.sqrt(math.log(compositions / question.budget.delta)), smallest_corner)
    last = max(1.2 * last, 2 * math.sqrt(float(question.budget.epsilon)))
    many = 100  # draws, whose sum hardly depends on the corner
    count = (
        20 if compositions < many else 4
    )  # for few draws, 5 left the loss up to 1 % above the least
    corners = [0.0, *np.geomspace(smallest_corner, last, count).tolist()]
    losses = {corner: loss(corner) for corner in corners}
    closer = (1 / 3, 2 / 3)  # positions between the corners that were tried
    for _ in range(2 if in_floats else 1):
        corners = sorted(losses)
        best = corners.index(min(corners, key=losses.__getitem__))
        for low, high in pairwise(corners[max(0, best - 1) : best + 2]):
            losses |= {at: loss(at) for share in closer if (at := low + share * (high - low))}
    law = law_at(min(losses, key=losses.__getitem__))
    power = 1 if question.loss is Loss.MAE else 2
    start = 0.99 * (losses[float(law.alpha)] / question.loss.of(law)) ** (1 / power)
    gamma = find_least_factor(task, law, first=start, growth=1.02)
    return FlippedHuber(scale=1, alpha=float(gamma * law.corner), gamma=gamma)


def _log_delta_of_several(corner: float, shift: float, question: Question) -> float:
    """An estimate of ln δ(ε) of all releases, for α = `corner` and γ = 1, each moved by `shift`.

    The law is integrated by Gauss's rule between the points where ρ(|x|) and ρ(|x − shift|) bend,
    with ρ as in `FlippedHuber`.
    """
    nothing = 80.0  # −ln of the relative density that is negligible
    last = nothing / corner if nothing < corner**2 else math.sqrt(2 * nothing - corner**2)
    bends = [-corner, 0.0, corner, shift - corner, shift, shift + corner]
    ends = np.unique([-last, shift + last, *(at for at in bends if -last < at < shift + last)])
    cells = 2000  # of the whole range
    edges = np.concatenate(
        [
            np.linspace(low, high, 2 + math.ceil(cells * (high - low) / (shift + 2 * last)))[:-1]
            for low, high in pairwise(ends.tolist())
        ]
        + [ends[-1:]]
    )
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    nodes, weights = np.polynomial.legendre.leggauss(2)
    x = (middles[:, None] + halves[:, None] * nodes).reshape(-1)
    exponents = _exponent(x, corner)
    masses = (halves[:, None] * weights).reshape(-1) * np.exp(-exponents)
    masses /= masses.sum()
    losses = _exponent(x - shift, corner) - exponents
    spread = math.sqrt(float(masses @ (losses - masses @ losses) ** 2))
    fineness = 32  # lattice steps in a standard deviation of the loss
    most = 3000  # lattice points above 0
    step = max(spread / fineness, float(losses.max()) / most)
    if step < corner * shift:  # the loss of every x between two bends: make it a lattice point
        step = corner * shift / math.ceil(corner * shift / step)
    return log_delta_of_sum(
        lay_on_lattice(losses, masses, step),
        step=step,
        epsilon=float(question.budget.epsilon),
        compositions=question.compositions,
    )


def _exponent(x: NDArray[np.float64], corner: float) -> NDArray[np.float64]:
    """The exponent ρ(|x|) of the flipped Huber density ∝ e^(−ρ(|x|)), for α = corner and γ = 1."""
    lengths = np.abs(x)
    return np.where(lengths <= corner, corner * lengths, (lengths**2 + corner**2) / 2)
