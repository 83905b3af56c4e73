"""Fits of Gaussian mixtures and of quasi-Gaussian noise.

Notation: σ is the scale, which is the standard deviation of each kernel, K = `modes`, and the
spacing is 1, the sensitivity. H is δ(ε) of a single shift, as a function of this shift, and δ is
the budget's. A peak is a local maximum of H. Laws are searched by ln(1/σ), the logarithm of the
longest shift in scales.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import cast, final

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.kernels.law import GaussianMixture, KernelNoise, QuasiGaussian
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.kernels.profile.divergence import Peaks, log_divergence, peaks, polish
from leastnoise.noise.kernels.proof.table import why_not_kernels
from leastnoise.noise.question import Question
from leastnoise.numerics.searches import IncreasingRoot

# The smallest σ of a law of Gaussian kernels, whose worst shift moves with σ.


_SIGMA_ROOT = IncreasingRoot(tolerance=2e-12, largest_step=1.0)  # in ln σ
# Steps of ln σ along a peak: the first, the shortest first and the longest step; then the accuracy
# of its end, and the step at which a peak counts as gone.
_FIRST, _LEAST, _LONGEST, _CLOSE, _GONE = 2e-3, 1e-9, 0.1, 1e-11, 1e-6
_AGREES, _ALMOST = 1e-11, 1e-6  # accuracy of ln δ; if δ is steep, rounding of σ changes it more


def check_proof(family: type[KernelNoise], question: Question, *, modes: int) -> None:
    """Raise NotApplicable if the proof for a law with these modes isn't tried (`why_not_kernels`).

    It is called before a search. It tests a law whose kernels are about as narrow as the budget's ε
    allows.
    """
    sigma = Fraction(narrowest_sigma(question.budget.epsilon))
    why = why_not_kernels(
        modes=modes,
        spacing=1 / sigma,
        shift=1 / sigma,
        epsilon=question.budget.epsilon,
        compositions=1,
    )
    if why:
        raise NotApplicable(family=family.name, why=why)


def least_scale(
    law_with: Callable[[float], Kernels], question: Question, *, guess: float
) -> Fraction:
    """The smallest σ at which H is at most the budget's δ at all shifts up to 1.

    H is computed in floats, so nothing is proved. `law_with(σ)` is the law in units of σ; its H
    decreases in σ.

    The search starts at the σ where H at the longest shift equals δ. If H is larger at another
    shift, it follows the highest peak of H to the σ where this peak equals δ. If another peak is
    higher there, it follows that peak, and so on. If H at the longest shift is below δ for every σ,
    the search starts at `guess`, or at a smaller σ if necessary. Raises Refused if no σ is found.
    """
    problem = _Problem(law_with=law_with, question=question)
    end = problem.root_of_end()
    at = -math.log(guess) if end is None else end
    first_step = 0.03  # in ln σ, which is lowered by growing steps until σ is too small
    step, safe = first_step, -math.inf
    while (excess := problem.over((highest := problem.peaks(at)).log_delta)) <= _AGREES:
        if end is not None:
            return _widen_slightly(at)
        safe, at, step = at, at + step, 2 * step
    # from here on δ is too large at `at`, and small enough at `safe` (which may be unknown)
    for _ in range(48):
        proposed = problem.end_of(highest, at)
        if excess <= _ALMOST and abs(at - proposed) <= _CLOSE:
            return _widen_slightly(proposed)
        if not (safe < proposed < at - _GONE):
            proposed = (at + safe) / 2 if math.isfinite(safe) else min(proposed, at - _FIRST)
        new_peaks = problem.peaks(proposed)
        there = problem.over(new_peaks.log_delta)
        if abs(there) <= _ALMOST and there <= _AGREES:
            return _widen_slightly(proposed)
        if there <= 0:
            safe = proposed
        else:
            at, highest, excess = proposed, new_peaks, there
        if at - safe <= _CLOSE:
            return _widen_slightly(safe)
    raise Refused(
        "No scale of the noise was found that meets this budget. Use another noise or budget."
    )


def _widen_slightly(log_ratio: float) -> Fraction:
    return Fraction(math.exp(-log_ratio) * (1 + float(common_fit.MARGIN)))


def narrowest_sigma(epsilon: Fraction) -> float:
    """The approximate smallest σ for this ε, if the worst shift isn't the longest.

    The formula is fitted by eye.
    """
    return 1 / math.sqrt(6.5 + 2.3 * float(epsilon))


@final
@dataclass(frozen=True, kw_only=True)
class _Problem:
    """The root search of `least_scale`, in ln(1/σ)."""

    law_with: Callable[[float], Kernels]
    question: Question

    @property
    def _epsilon(self) -> float:
        return float(self.question.budget.epsilon)

    def over(self, log_delta: float) -> float:
        """The excess of `log_delta` over its target, which is slightly below ln δ of the budget."""
        delta = self.question.budget.delta
        cancels = self.law_with(1.0).modes > 1
        # The proof in floats has a gap: 3e-16 absolute if large masses cancel. It adds far less
        # to σ, as δ is steep: relative to σ it is 1e-10 at δ = 1e-9, and 1e-7 at δ = 1e-12.
        open_ = min(5e-10 + cancels * 3e-16 / float(delta), 1e-4)
        return log_delta - (math.log(delta.numerator) - math.log(delta.denominator) - open_)

    def peaks(self, log_ratio: float) -> Peaks:
        """The peaks of H for the law with this `log_ratio` = ln(1/σ)."""
        law = self.law_with(math.exp(-log_ratio))
        return peaks(law, shift=math.exp(log_ratio), epsilon=self._epsilon)

    def root_of_end(self) -> float | None:
        """The ln(1/σ) at which H at the longest shift equals δ.

        None if this H is at most δ even for kernels so narrow that they don't overlap.
        """

        def over(log_ratio: float) -> float:
            law, shift = self.law_with(math.exp(-log_ratio)), math.exp(log_ratio)
            return self.over(log_divergence(law, shift=shift, epsilon=self._epsilon))

        narrow = 10  # kernels narrower by this factor don't overlap
        if over(-math.log(narrowest_sigma(self.question.budget.epsilon) / narrow)) <= 0:
            return None
        return _SIGMA_ROOT.find(over, guess=-math.log(common_fit.gaussian(1, self.question.budget)))

    def end_of(self, peaks: Peaks, start: float) -> float:
        """The ln(1/σ) at which a peak of H falls to δ, or disappears, as σ grows.

        The peak is the highest of the `peaks` at ln(1/σ) = `start`, where H exceeds δ. The search
        takes secants of √(H/δ) − 1, which is close to linear in ln(1/σ).
        """
        here = _PeakPosition(
            at=start, share=peaks.worst / math.exp(start), excess=self.excess(peaks)
        )
        step, over_at = -min(_FIRST, max(here.excess, _LEAST)), start
        before = _PeakPosition(at=start - step, share=here.share, excess=math.inf)
        another = -0.3  # a smaller √(H/δ) − 1 belongs to another peak
        for _ in range(60):
            drift = (here.share - before.share) / (here.at - before.at)
            share = min(max(here.share + drift * step, here.share / 2), (1 + here.share) / 2)
            following = self._peak_near(share, here.at + step)
            if following is None or following.excess < another:
                if here.excess < 0:  # another peak, which disappears for smaller σ
                    return (here.at + over_at) / 2
                if abs(step) < _GONE:
                    return here.at + step
                step /= 2
                continue
            over_at = here.at if here.excess > 0 else over_at
            before, here = here, following
            slope = (here.excess - before.excess) / (here.at - before.at)
            if slope <= 0:
                break
            step = -here.excess / slope
            if abs(step) <= _CLOSE:
                return here.at + step
            step = math.copysign(min(abs(step), _LONGEST), step)
        return here.at

    def excess(self, peaks: Peaks) -> float:
        """The excess √(H/δ) − 1 of the highest peak, which is at most 0 if it meets the budget."""
        return math.expm1(self.over(peaks.log_delta) / 2)

    def _peak_near(self, share: float, log_ratio: float) -> _PeakPosition | None:
        """The peak near `share` times the longest shift, at this ln(1/σ); None if none is near."""
        law, shift = self.law_with(math.exp(-log_ratio)), math.exp(log_ratio)
        # limits for the peak: as σ grows it usually moves towards the longest shift
        back, onward = 0.3, 20
        low, high = share - back * min(share, 1 - share), 1 - (1 - share) / onward
        near = polish(
            law,
            np.array([share * shift]),
            low=np.array([low * shift]),
            high=np.array([high * shift]),
            epsilon=self._epsilon,
        )
        if not near.settled[0]:
            return None
        return _PeakPosition(at=log_ratio, share=near.worst / shift, excess=self.excess(near))


@final
@dataclass(frozen=True, kw_only=True)
class _PeakPosition:
    """A peak of H for the law with ln(1/σ) = `at`.

    `share` is its shift, relative to the longest, and `excess` is √(H/δ) − 1 there.
    """

    at: float
    share: float
    excess: float


def wider(law: KernelNoise, factor: Fraction) -> KernelNoise:
    """The law with kernels wider by `factor` >= 1 at the same centres.

    A mixture then leaks less, since the wider law is the law plus an independent Gaussian. For a
    quasi-Gaussian law this isn't proved. In contrast, `scaled` increases the spacing, too. Then H
    might stay too large at a shorter shift.
    """
    return replace(cast("GaussianMixture | QuasiGaussian", law), scale=law.scale * factor)


# The best mixture of Gaussians for a budget (Liu, Selvi & Wiesemann 2026, Definition 3.1).


MOST_MODES = 32
"""The largest K in searches; each further mode costs time in every later step."""


def gaussian_mixture_search(question: Question) -> GaussianMixture:
    """The mixture with spacing 1, decay ε and the smallest loss, at its smallest σ.

    The question's `fixed` may set modes and decay. For fixed modes, a larger σ leaks less (see
    `GaussianMixture`), so the smallest private σ is found by a root search. The search for K starts
    where the outermost component has a weight of at most δ, since σ can't be small with fewer
    modes. From there K goes up and down while the loss falls, up to MOST_MODES. If more modes might
    help, `limit_of` reports that. Raises InvalidArgument for a fixed spacing, and NotApplicable if
    the proof isn't tried (`check_proof`).
    """
    if "spacing" in question.fixed:
        raise InvalidArgument(
            name="spacing",
            value=str(question.fixed["spacing"])[:40],
            expected="modes or decay as fixed parameters; the spacing is the sensitivity",
        )
    check_proof(GaussianMixture, question, modes=int(question.fixed.get("modes", 1)))
    problem = _Mixtures(
        question=question, decay=question.fixed.get("decay", question.budget.epsilon)
    )
    if "modes" in question.fixed:
        return problem.best_with(int(question.fixed["modes"]))
    return min((problem.best_with(modes) for modes in problem.modes()), key=question.loss.of)


def limit_of(law: GaussianMixture, question: Question) -> str | None:
    """A note that modes were searched only up to MOST_MODES, if more might help; else None."""
    enough = _sufficient_modes(law.decay, question)
    if "modes" in question.fixed or max(enough, law.modes) < MOST_MODES:
        return None
    return f"modes are searched up to {MOST_MODES}; more may help, set modes to try"


def _sufficient_modes(decay: Fraction | int, question: Question) -> int:
    """The smallest K whose outermost kernel has a weight of at most δ, or MOST_MODES.

    A shift by the spacing moves the outermost kernel to where the law has little mass. So H at this
    shift is at least about this kernel's weight.
    """
    total, delta = 1.0, float(question.budget.delta)
    for modes in range(MOST_MODES):
        weight = math.exp(-modes * float(decay))
        total += 2 * weight if modes else 0.0
        if weight / total <= delta:
            return modes
    return MOST_MODES


@final
@dataclass(frozen=True, kw_only=True)
class _Mixtures:
    """The search for the number of modes; `fitted` has the laws fitted so far, by their modes."""

    question: Question
    decay: Fraction | int
    fitted: dict[int, GaussianMixture] = field(default_factory=dict)

    def best_with(self, modes: int) -> GaussianMixture:
        """The law with this number of modes, at the smallest σ that meets the budget."""
        if modes not in self.fitted:
            self.fitted[modes] = GaussianMixture(
                scale=least_scale(self._law_with(modes), self.question, guess=self._guess()),
                modes=modes,
                spacing=1,
                decay=self.decay,
            )
        return self.fitted[modes]

    def modes(self) -> list[int]:
        """The numbers of modes to try, the best of which is the result of the search.

        They are 0, 1 and a start, and then numbers above and below the start while the loss falls.
        """
        start = _sufficient_modes(self.decay, self.question)
        candidates = [0, 1, start]
        helps = 1e-6  # the relative decrease of the loss that justifies a further mode
        for direction in (1, -1):
            modes, best = start, self._loss(start)
            while 0 <= (modes := modes + direction) <= MOST_MODES:
                candidates.append(modes)
                if self._loss(modes) > best * (1 - helps):
                    break
                best = self._loss(modes)
        return candidates

    def _loss(self, modes: int) -> float:
        return self.question.loss.of(self.best_with(modes))

    def _guess(self) -> float:
        scales = [float(law.scale) for law in self.fitted.values() if law.modes > 1]
        return scales[-1] if scales else narrowest_sigma(self.question.budget.epsilon)

    def _law_with(self, modes: int) -> Callable[[float], Kernels]:
        decay = float(self.decay)
        return lambda sigma: Kernels(modes=modes, spacing=1 / sigma, decay=decay)


# The smallest quasi-Gaussian law for a budget, exactly (Liu et al. 2026, §4).


def quasi_gaussian_search(question: Question) -> QuasiGaussian:
    """The quasi-Gaussian law with spacing 1, decay ε and the smallest σ that meets the budget.

    The question's `fixed` may set decay. The σ of Theorem 4.2 (Liu et al. 2026) is sufficient, but
    32 % larger at ε = 2, δ = 0.25 (experiments/liu2026/theorem.py). Raises InvalidArgument for a
    fixed spacing, and NotApplicable if the proof isn't tried (`check_proof`).
    """
    if "spacing" in question.fixed:
        raise InvalidArgument(
            name="spacing",
            value=str(question.fixed["spacing"])[:40],
            expected="decay as a fixed parameter; the spacing is the sensitivity",
        )
    check_proof(QuasiGaussian, question, modes=1)
    decay = question.fixed.get("decay", question.budget.epsilon)
    scale = least_scale(
        lambda sigma: Kernels(modes=1, spacing=1 / sigma, decay=float(decay), folded=True),
        question,
        guess=narrowest_sigma(question.budget.epsilon),
    )
    return QuasiGaussian(scale=scale, spacing=1, decay=decay)
