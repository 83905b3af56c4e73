"""Fit the shape and scale of spherical generalized gamma noise to k releases.

The search is in floats. For the shape and an approximate scale it puts the privacy loss on a
lattice and convolves it. For the scale it uses the same lattice as the proof, with δ in floats. At
the end a proof accepts or rejects the result.

Notation: Z is the privacy loss of one release, and P its law. k is the number of releases, and α
and p the shape of a generalized gamma law. The loss of a law, without "privacy", is its expected
error. For a number c > 0, called tilt, K(c) is the logarithm of the mean of e^(cZ). The tilted law
has the density e^(cz−K(c)) relative to P, at the loss z. Let S be the sum of k independent losses
of the tilted law, and Y = S − ε. Then δ(ε) of k releases is e^(kK(c)−cε) times the mean of e^(−cY)
max(0, 1 − e^(−Y)), for any tilt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise import _words
from leastnoise.balls.convolution import composed_upper
from leastnoise.balls.core import POINTS_PER_STD, float_above
from leastnoise.balls.losses import COARSE_POINTS, LossLattice
from leastnoise.errors import NotApplicable, NotCertified, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import root_above
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.common.several import SeveralReleases, find_least_factor
from leastnoise.noise.question import Loss
from leastnoise.noise.radial import fit
from leastnoise.noise.radial.fit import (
    GammaShape,
    check_epsilon,
    find_best_shape,
    fixed_of,
)
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.privacy_losses import LossSketch, between, choose_losses, reach, sketch
from leastnoise.noise.radial.profile import log_delta
from leastnoise.numerics.bisection import Bisection
from leastnoise.numerics.searches import LOG_ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.base import Noise

_SKETCHED_RADII, _SKETCHED_COSINES = 120, 64  # size of the grid while comparing shapes
_BINS = 24  # lattice steps in a standard deviation of the loss
_MOST_BINS = 4000
# Length of the window for the sum of losses: in its standard deviations, and at most in points.
_WINDOW, _LONGEST_SUM = 24.0, 2.0**16
_LOG_TILT = Bisection(halvings=20)
_FLAT = 1e-6  # accuracy of the ln of the loss in the comparison of shapes
_NO_GAIN = 5e-4  # smallest gain in ln of the loss on classic members, whose proofs are tighter
_POLE = 3e-4  # smallest gain in ln of the loss from a pole, which doubles a proof's time
_NEARLY_L2 = (0.9, 1.03)  # no p != 1 between these is a candidate: a proof takes up to a minute
_COARSE, _FINE = 1e-6, 1e-7  # accuracy of ln of the scale
_MOST_MOVES = 30
_LONGEST_MOVE = 2.0
_FARTHEST_SCALE = 20.0  # largest distance from ln(scale) to ln(scale of Gaussian noise)
_MARGIN = 1e-6  # relative margin of the scale for errors of floats and of the root (measured: 3e-8)
_PROOFS = 4


def several(task: SeveralReleases) -> Noise:
    """Return the generalized gamma law for several releases, each with a worst shift of 1.

    The budget must have δ > 0. The question's `fixed` may set alpha or p or both. Raises
    NotApplicable for samples and for ε > 100. Raises Refused if no scale is found, or if no proof
    succeeds (NotCertified).
    """
    question = task.question
    if question.sampling_rate != 1:
        why = "for several releases from samples, the proof of each scale takes seconds"
        raise NotApplicable(family=GeneralizedGamma.name, why=why)
    check_epsilon(question.budget)
    return _least(
        _Task(
            dimension=question.dimension,
            budget=question.budget,
            loss=question.loss,
            compositions=question.compositions,
            fixed=fixed_of(question),
            whole=task,
        )
    )


@final
@dataclass(frozen=True, kw_only=True)
class _Task:
    """The arguments of `several` that decide the result, hashable; `whole` is the whole task."""

    dimension: int
    budget: Budget
    loss: Loss
    compositions: int
    fixed: tuple[tuple[str, Fraction], ...]
    whole: SeveralReleases = field(compare=False)


@lru_cache(maxsize=64)  # a comparison of families calls it alike for several geometries
def _least(task: _Task) -> GeneralizedGamma:
    """The law of least loss among Gaussian noise, l2 noise and the best shape of a search.

    The parameters in `fixed` stay. The shape of the search must have clearly less loss than the
    others. Raises Refused if no law is found.
    """
    problem, given = _ScaleSearch(task), dict(task.fixed)
    if len(given) == 2:
        return problem.calibrate(GammaShape(alpha=given["alpha"], p=given["p"]))
    searched = find_best_shape(
        task.dimension, problem.log_loss, given, flat=_FLAT, no_gain=_NO_GAIN
    )
    # Classic members have tighter proofs, in no time: any other shape must gain _NO_GAIN.
    classics = [GammaShape(alpha=Fraction(task.dimension - 1), p=Fraction(p)) for p in (1, 2)]
    laws: list[GeneralizedGamma] = []
    for shape in dict.fromkeys((*(each for each in classics if _has(each, given)), searched)):
        least = min((math.log(task.loss.of(law)) for law in laws), default=math.inf)
        if shape in classics or problem.log_loss(shape) < least - _NO_GAIN:
            with suppress(Refused):
                laws.append(problem.calibrate(shape))
    if not laws:
        raise Refused(
            "No generalized-gamma noise was found for "
            f"{_words.count_noun(task.compositions, 'release')}. Use another noise, such as "
            "gaussian."
        )
    return min(laws, key=task.loss.of)


def _has(shape: GammaShape, given: Mapping[str, Fraction]) -> bool:
    return all(getattr(shape, name) == value for name, value in given.items())


@final
class _ScaleSearch:
    """The search for the smallest scale of each shape for several releases, and the loss there.

    Each search for a scale starts from the results for previous shapes.
    """

    def __init__(self, task: _Task) -> None:
        self._task, self._budget = task, task.budget
        self._log_target = math.log(task.budget.delta)
        self._sigma = common_fit.gaussian(task.dimension, task.budget) * root_above(
            Fraction(task.compositions)
        )
        self._last_log_mse = 2 * math.log(self._sigma) + math.log(task.dimension)
        self._slope = -10.0

    def log_loss(self, shape: GammaShape) -> float:
        """Return ln of the loss at the approximate smallest scale, plus a small penalty for a pole.

        It is +∞ if no scale is found, or if p is not 1, but so near to 1 that a proof takes long.
        """
        law = self._law(shape)
        if law.p != 1 and _NEARLY_L2[0] < law.p < _NEARLY_L2[1]:
            return math.inf
        try:
            log_scale = self._log_scale(law)
        except Refused:
            return math.inf
        power = 2 if self._task.loss is Loss.MSE else 1
        return math.log(self._task.loss.of(law)) + power * log_scale + _POLE * (law.kappa > 0)

    def calibrate(self, shape: GammaShape) -> GeneralizedGamma:
        """Return the law of this shape at nearly the smallest scale for which a proof succeeds.

        Raises NotCertified if no proof succeeds at a few slightly larger scales either.
        """
        law = self._law(shape)
        if law.is_classic and law.p == 2:
            return law.scaled(self._sigma * root_above(Fraction(2)))  # σ = scale/√2, exactly
        if law.is_classic and self._task.dimension > 1:
            return law.scaled(self._l2_scale())  # it is composed as the l2 mechanism
        if law.is_classic:
            log_scale = math.log(self._laplace_scale(law))
        else:
            log_scale = self._proofs_root(law, self._log_scale(law))
        for _ in range(_PROOFS):
            log_scale += _MARGIN
            candidate = law.scaled(Fraction(math.exp(log_scale)))
            over = self._task.whole.log_delta_gap(candidate)
            if over <= 0:
                return candidate
            log_scale -= over / self._slope
        count = self._task.compositions
        why = f"found no proof for {count} releases; try a family without shape parameters"
        raise NotCertified(interval=None, why=why)

    def _law(self, shape: GammaShape) -> GeneralizedGamma:
        return GeneralizedGamma(
            scale=1, alpha=shape.alpha, p=shape.p, dimension=self._task.dimension
        )

    def _l2_scale(self) -> Fraction:
        """Return the smallest scale of the l2 mechanism, by its own, slightly tighter proof."""
        question = replace(self._task.whole.question, fixed={})
        l2 = replace(self._task.whole, family=SphericalLaplace, question=question)
        return fit.several(l2).scale

    def _laplace_scale(self, law: GeneralizedGamma) -> float:
        """Return the approximate smallest scale of `law`, which is Laplace noise for one number."""
        task = self._task.whole
        single = law.scaled(common_fit.laplace(1, self._budget))
        first = math.sqrt(self._task.compositions)
        return float(single.scale * find_least_factor(task, single, first=first))

    def _log_scale(self, law: GeneralizedGamma) -> float:
        """Return the approximate ln of the smallest scale; raises Refused if none is found."""

        def gap(log_scale: float) -> float:
            losses = sketch(
                law, math.exp(-log_scale), radii=_SKETCHED_RADII, cosines=_SKETCHED_COSINES
            )
            logs = _log_delta(losses, self._task.compositions, float(self._budget.epsilon))
            return max(logs, LOG_ZERO) - self._log_target

        guess = (self._last_log_mse - math.log(law.mse)) / 2
        log_scale, self._slope = _root(gap, guess, self._slope, within=_COARSE)
        self._last_log_mse = math.log(law.mse) + 2 * log_scale
        return log_scale

    def _proofs_root(self, law: GeneralizedGamma, near: float) -> float:
        """Return ln of the smallest scale at which the proof's lattice meets δ, in floats.

        The search starts at `near`.
        """

        def gap(log_scale: float) -> float:
            scales = Fraction(math.exp(-log_scale))
            delta = cache(partial(self._delta, law, float(scales)))
            last = reach(law, scales)

            def lattice(size: int) -> LossLattice:
                step = last / size
                points = choose_losses(law, scales, step)
                return between([(z, arb(delta(float(z)))) for z, _ in points], step, size)

            size = math.ceil(float(last) * POINTS_PER_STD / lattice(COARSE_POINTS).spread)
            releases = [(lattice(size), self._task.compositions)]
            bound = float_above(composed_upper(releases, self._budget.epsilon))
            return math.log(bound) - self._log_target

        root, self._slope = _root(gap, near, self._slope, within=_FINE)
        return root

    def _delta(self, law: GeneralizedGamma, scales: float, epsilon: float) -> float:
        """Return δ(ε) of one release in floats, under a shift by `scales` times the law's scale."""
        return math.exp(
            log_delta(
                dimension=self._task.dimension,
                alpha=float(law.alpha),
                kappa=float(law.kappa),
                p=float(law.p),
                shift=scales,
                epsilon=epsilon,
            )
        )


def _root(
    gap: Callable[[float], float], guess: float, slope: float, *, within: float
) -> tuple[float, float]:
    """Approximate the root of the decreasing `gap` by secants, to about `within`.

    Returns the root and the slope there; `slope` is a first guess of it. Raises Refused if there is
    no root near `guess`.
    """
    x, value = guess, gap(guess)
    for _ in range(_MOST_MOVES):
        move = min(max(-value / slope, -_LONGEST_MOVE), _LONGEST_MOVE)
        if abs(move) < within:
            return x + move, slope
        moved = gap(x + move)
        if (moved - value) / move < 0:
            slope = (moved - value) / move
        x, value = x + move, moved
        if abs(x - guess) > _FARTHEST_SCALE:
            break
    raise Refused(
        "No scale of the noise was found that meets this budget. Use another noise or budget."
    )


def _log_delta(law: LossSketch, compositions: int, epsilon: float) -> float:
    """Approximate ln δ(epsilon) of `compositions` releases, each with this law of the loss."""
    low, width, masses = _bin(law, compositions)
    z = low + width * np.arange(len(masses), dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_masses = np.log(masses)
    c = _tilt(z, log_masses, compositions, epsilon)
    logs = log_masses + c * z
    top = logs.max()
    tilted = np.exp(logs - top)
    total = tilted.sum()
    tilted /= total
    index = np.arange(len(tilted))
    mean = float(tilted @ index)
    spread = math.sqrt(float(tilted @ (index - mean) ** 2) * compositions)
    size = 1 << math.ceil(math.log2(_WINDOW * spread + len(tilted)))
    sums = np.fft.irfft(np.fft.rfft(tilted, size) ** compositions, size)
    first = round(compositions * mean) - size // 2
    y = compositions * low + width * (first + np.arange(size)) - epsilon
    above = y > 0
    value = np.roll(sums, -(first % size))[above] @ (-np.exp(-c * y[above]) * np.expm1(-y[above]))
    log_scale = compositions * (top + math.log(total)) - c * epsilon
    return log_scale + math.log(value) if value > 0 else -math.inf


def _bin(law: LossSketch, compositions: int) -> tuple[float, float, NDArray[np.float64]]:
    """Put the law of the loss on a lattice, with a step that suits `compositions` releases.

    Each mass is split between two neighbouring points. Returns the first point, the step and the
    masses.
    """
    low, high = float(law.losses.min()), float(law.losses.max())
    per_spread = min(_BINS, _LONGEST_SUM / (_WINDOW * math.sqrt(compositions)))
    width = max(law.spread / per_spread, (high - low) / _MOST_BINS)
    position = (law.losses - low) / width
    index = position.astype(int)
    share = position - index
    size = int(index.max()) + 2
    masses = np.zeros(size)
    masses += np.bincount(index, law.masses * (1 - share), size)
    masses += np.bincount(index + 1, law.masses * share, size)
    return low, width, masses


def _tilt(
    z: NDArray[np.float64], log_masses: NDArray[np.float64], compositions: int, epsilon: float
) -> float:
    """Return the tilt c that approximately minimises e^(kK(c)−cε)/(c(c+1)).

    There the mean of k losses of the tilted law, kK′(c), is ε + 1/c + 1/(c+1). The losses are `z`,
    and k is `compositions`.
    """

    def beyond(log_c: float) -> bool:
        c = math.exp(log_c)
        logs = log_masses + c * z
        weights = np.exp(logs - logs.max())
        mean = float(weights @ z / weights.sum())
        return not compositions * mean < epsilon + 1 / c + 1 / (c + 1)

    return math.exp(_LOG_TILT.close(beyond, -12.0, 8.0)[1])
