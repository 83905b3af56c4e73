"""Sums of Gaussian kernels for several releases: decay of the weights, number and width of kernels.

Notation: k is the number of releases, K the number of modes, and σ the scale, which is the standard
deviation of each kernel. The gap of a law is ln of the bound on δ of all releases, minus ln of the
budget's δ.

With a decay of ε/k the losses of each release are about integer multiples of ε/k, as for noise in
steps. Losses of ε/k in all releases add up to just ε. With a faster decay kernels overlap more and
the tails matter; in the limit there is one Gaussian. The best decay is searched in floats. The
proved bound on δ then gives σ. δ decreases in σ, as a wider law is a narrower law plus an
independent Gaussian (approximately, for quasi-Gaussian noise).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, cast, final

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.common.estimate import log_delta_of_sum
from leastnoise.noise.common.fit import match_gaussian
from leastnoise.noise.common.several import SeveralReleases, find_root, log_of
from leastnoise.noise.kernels.fit import MOST_MODES, wider
from leastnoise.noise.kernels.law import GaussianMixture, KernelNoise, QuasiGaussian
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.question import Question
from leastnoise.numerics.searches import IncreasingRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FASTER = (Fraction(1), *(Fraction(hundredths, 100) for hundredths in (105, 115, 135, 180, 300)))
"""Candidates for the decay, as multiples of ε/k."""

_SINGLE = Fraction(100)  # a decay at which outer kernels are negligible
_ROUGH_ROOT = IncreasingRoot(tolerance=1e-4, first_step=0.1)  # in ln(1/σ)
_LEAST_SCALE = 1 / 20  # smallest σ, since proofs allow shifts up to 24 σ
_APART = 1e-2  # distance in ln σ of the two points from which a slope is computed
_RELATIVE = 5e-6  # allowed relative excess of σ over the root of the proved bound
_FAR = 0.05  # longest step in ln σ


def several(task: SeveralReleases) -> KernelNoise:
    """The law with spacing 1 for several releases, each with a worst shift of 1.

    For releases of samples, decay and number of kernels are fitted to m releases of all rows, and
    then σ to the samples. m is the average number of samples with a given row, and at least 2. The
    m releases get the budget for which Gaussian noise needs the same σ as for the samples. Raises
    InvalidArgument for a fixed spacing.
    """
    family = cast("type[KernelNoise]", task.family)
    question = task.question
    if question.sampling_rate == 1:
        return _problem(family, question).prove_scale(find_in_floats(family, question), task)
    often = max(2, round(question.compositions * question.sampling_rate))
    sigma = task.gaussian_sigma()
    budget = match_gaussian(sigma / math.sqrt(often), question.budget.delta)
    whole = replace(question, budget=budget, compositions=often, sampling_rate=Fraction(1))
    law = several(replace(task, question=whole))

    def gap(factor: float) -> float:
        return task.log_delta_gap(wider(law, Fraction(factor)))

    relative_sampled = 1e-6  # relative accuracy of σ for samples
    return wider(law, Fraction(find_root(gap, 1.0, 1.1, relative=relative_sampled)))


@lru_cache(maxsize=16)  # a comparison calls it first, to see if the proof is worth the time
def find_in_floats(family: type[KernelNoise], question: Question) -> KernelNoise:
    """The law of least `rank` for several releases of all rows, at its approximate smallest σ."""
    problem = _problem(family, question)
    return min(problem.candidates(), key=problem.rank)


def _problem(family: type[KernelNoise], question: Question) -> _KernelsProblem:
    """The search for this question; raises InvalidArgument for a fixed spacing."""
    if "spacing" in question.fixed:
        raise InvalidArgument(
            name="spacing",
            value=str(question.fixed["spacing"])[:40],
            expected="other fixed parameters; the spacing is the sensitivity",
        )
    return _KernelsProblem(family=family, question=question)


@final
@dataclass(frozen=True, kw_only=True)
class _KernelsProblem:
    """The search for decay and modes; `fitted` has the laws fitted so far, by (decay, modes)."""

    family: type[KernelNoise]
    question: Question
    fitted: dict[tuple[Fraction, int], KernelNoise] = field(default_factory=dict)

    def candidates(self) -> Iterable[KernelNoise]:
        """The candidate laws, each with its approximate smallest σ."""
        helps_several = 1e-4  # the relative decrease of the loss that justifies a further mode
        hopeless = 1.3  # beyond this multiple of the best loss, no more modes are tried
        for decay in self._decays():
            for step in (-1, 1):
                modes = self._sufficient_modes(decay)
                best = self._loss(decay, modes)
                while self._may_be(modes + step) and best < hopeless * self._best():
                    modes += step
                    if self._loss(decay, modes) > best * (1 - helps_several):
                        break
                    best = self._loss(decay, modes)
        return self.fitted.values()

    def rank(self, law: KernelNoise) -> float:
        """The loss that ranks laws; a single Gaussian is preferred to a negligible gain."""
        worth = 5e-4  # relative gain required of several kernels: about the cost of lattices
        return self.question.loss.of(law) * (1 - worth if law.decay == _SINGLE else 1)

    def prove_scale(self, law: KernelNoise, task: SeveralReleases) -> KernelNoise:
        """The law with the same parameters, at about the smallest σ that meets the proved bound."""

        def gap(sigma: float) -> float:
            return task.log_delta_gap(self._law(law.decay, law.modes, sigma))

        about, near = self._over(law.decay, law.modes), float(law.scale)
        at = -math.log(near)
        slope = (about(at) - about(at + _APART)) / _APART  # by ln σ
        return self._law(law.decay, law.modes, _find_scale(gap, near, slope))

    def _decays(self) -> list[Fraction]:
        """The candidates for the decay: `_SINGLE`, for a single Gaussian, and multiples of ε/k.

        If `fixed` sets the decay, it is the only candidate.
        """
        fixed = self.question.fixed.get("decay")
        if fixed is not None:
            return [Fraction(fixed)]
        share = self.question.budget.epsilon / self.question.compositions
        faster = (
            [share * factor for factor in _FASTER if factor <= self.question.compositions]
            if share
            else []
        )
        return [_SINGLE, *faster]

    def _sufficient_modes(self, decay: Fraction) -> int:
        """The number of modes at which a search starts.

        It is 1 if the law is folded. If `fixed` sets the modes, it is their number. It is 0 for a
        single Gaussian. Otherwise it is the smallest K whose outermost kernels have a weight of at
        most δ/k each, or MOST_MODES.
        """
        if self.family.folded:
            return 1
        if "modes" in self.question.fixed:
            return int(self.question.fixed["modes"])
        if decay == _SINGLE:
            return 0
        total, target = 1.0, float(self.question.budget.delta) / self.question.compositions
        for modes in range(MOST_MODES):
            weight = math.exp(-modes * float(decay))
            total += 2 * weight if modes else 0.0
            if weight / total <= target:
                return modes
        return MOST_MODES

    def _may_be(self, modes: int) -> bool:
        only_one = self.family.folded or "modes" in self.question.fixed
        return not only_one and 0 <= modes <= MOST_MODES

    def _best(self) -> float:
        return min(self.question.loss.of(law) for law in self.fitted.values())

    def _loss(self, decay: Fraction, modes: int) -> float:
        """The loss of the law at its approximate smallest σ; the law is kept in `fitted`."""
        if (decay, modes) not in self.fitted:
            gaussian = float(common_fit.gaussian(1, self.question.budget)) * math.sqrt(
                self.question.compositions
            )
            near = [float(law.scale) for (at, _), law in self.fitted.items() if at == decay]
            log_ratio = _ROUGH_ROOT.find(
                self._over(decay, modes), guess=-math.log(near[-1] if near else gaussian)
            )
            self.fitted[decay, modes] = self._law(decay, modes, math.exp(-log_ratio))
        return self.question.loss.of(self.fitted[decay, modes])

    def _over(self, decay: Fraction, modes: int) -> Callable[[float], float]:
        """Return a function from ln(1/σ) to an estimate of the law's gap, for this decay and modes.

        A penalty is added where σ is below _LEAST_SCALE.
        """
        epsilon, target = float(self.question.budget.epsilon), self._log_target()

        def over(log_ratio: float) -> float:
            ratio = min(math.exp(log_ratio), 1 / _LEAST_SCALE)
            law = Kernels(modes=modes, spacing=ratio, decay=float(decay), folded=self.family.folded)
            log_delta = log_composed_delta(
                law, shift=ratio, epsilon=epsilon, compositions=self.question.compositions
            )
            return log_delta - target + max(0.0, log_ratio + math.log(_LEAST_SCALE)) * 1e3

        return over

    def _log_target(self) -> float:
        return log_of(self.question.budget.delta)

    def _law(self, decay: Fraction, modes: int, sigma: float) -> KernelNoise:
        if self.family.folded:
            return QuasiGaussian(scale=Fraction(sigma), spacing=1, decay=decay)
        return GaussianMixture(scale=Fraction(sigma), modes=modes, spacing=1, decay=decay)


def _find_scale(gap: Callable[[float], float], sigma: float, slope: float) -> float:
    """A σ close to the root of `gap`, with gap(σ) <= 0, by a Newton step and then secants.

    The search starts at `sigma`, and `slope` is the approximate slope of the gap in ln σ.
    """
    last: tuple[float, float] | None = None
    for _ in range(8):  # secants
        here = math.log(sigma), gap(sigma)
        if last and (here[1] - last[1]) * (here[0] - last[0]) < 0:
            slope = (here[1] - last[1]) / (here[0] - last[0])
        move = -here[1] / slope
        if -_RELATIVE <= move <= 0:
            return sigma
        last, sigma = here, sigma * math.exp(max(-_FAR, min(_FAR, move + _RELATIVE / 2)))
    return find_root(gap, sigma, sigma * (1 + _APART))


# An estimate of δ(ε) of several releases with sums of Gaussian kernels, for searches only.
#
# Lengths are in units of σ. The density f is evaluated at points y of a grid of step w. A shift by
# j steps has the losses Z = ln f(y + jw) − ln f(y), with the masses f(y + jw) under P and f(y)
# under Q, times w. Their cumulative masses on a lattice give H = P(Z > ε) − e^ε Q(Z > ε) at all ε
# of the lattice at once. The supremum of H over j is convex in e^ε. So its chords are the profile
# of a law of losses on the lattice, which is tilted and convolved.


def log_composed_delta(law: Kernels, *, shift: float, epsilon: float, compositions: int) -> float:
    """An estimate of ln δ(ε) of several releases, each at any shift up to `shift`; −inf if 0."""
    step, masses, infinity = _losses(law, shift)
    finite = log_delta_of_sum(masses, step=step, epsilon=epsilon, compositions=compositions)
    total = float(masses.sum())
    leaked = -math.expm1(compositions * math.log1p(-min(infinity / (total + infinity), 1 - 1e-16)))
    return float(np.logaddexp(finite, math.log(leaked) if leaked > 0 else -math.inf))


def _losses(law: Kernels, shift: float) -> tuple[float, Array, float]:
    """The law of one release's losses on a lattice: its step, the masses, and the mass at infinity.

    The masses are at −n·step … n·step, in an array of 2n + 1 entries.
    """
    shifts = max(1, math.ceil(16 * shift))  # w is about 1/16
    w = shift / shifts
    reach = (
        law.modes * law.spacing + 9.0
    )  # distance from the kernels, in σ, up to which f is evaluated
    count = math.ceil(2 * reach / w)
    y = np.asarray(-reach - shift + w * np.arange(count + 2 * shifts + 1), dtype=float)
    log_f, _ = law.log_density_and_mean(y)
    q = np.exp(log_f) * w
    here = len(y) - shifts
    gaps = np.stack([log_f[j : j + here] - log_f[:here] for j in range(1, shifts + 1)])
    p = np.stack([q[j : j + here] for j in range(1, shifts + 1)])
    mean = float(p[-1] @ gaps[-1])
    spread = math.sqrt(max(float(p[-1] @ (gaps[-1] - mean) ** 2), 1e-30))
    trifle = 1e-25  # outputs with a smaller mass under P get an infinite loss
    largest = min(float(gaps[p > trifle].max()), 600.0)
    fineness = 24  # lattice steps in a standard deviation of the loss
    most = 3000  # lattice points above 0
    step = max(spread / fineness, largest / most)
    if step < law.decay < largest:  # mixtures have losses of just the decay on wide stretches
        step = law.decay / math.ceil(law.decay / step)
    size = math.ceil(largest / step)
    indices = np.clip(np.floor(gaps / step) + 1, 0, size + 1).astype(np.intp)
    indices += (size + 2) * np.arange(shifts)[:, None]
    weights = (p, np.broadcast_to(q[:here], p.shape))
    p_tails, q_tails = (_tails(indices, part, (shifts, size + 2)) for part in weights)
    alphas = np.exp(step * np.arange(size + 1))
    deltas = np.clip((p_tails - alphas * q_tails).max(axis=0), 0.0, 1.0)
    deltas = np.concatenate([(1 - 1 / alphas + deltas / alphas)[:0:-1], deltas])
    alphas = np.concatenate([1 / alphas[:0:-1], alphas])
    slopes = np.concatenate(
        [[(deltas[0] - 1) / alphas[0]], np.diff(deltas) / np.diff(alphas), [0.0]]
    )
    return step, np.maximum(alphas * np.diff(slopes), 0.0), float(deltas[-1])


def _tails(indices: NDArray[np.intp], weights: Array, shape: tuple[int, int]) -> Array:
    """For each shift (a row), the sums of the `weights` at lattice indices >= 1, >= 2, ….

    `indices` are positions in the flat array of the `shape` (shifts, lattice indices), one for each
    weight.
    """
    sums = np.bincount(indices.ravel(), weights.ravel(), shape[0] * shape[1]).reshape(shape)
    return sums[:, :0:-1].cumsum(axis=1)[:, ::-1]
