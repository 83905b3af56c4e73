"""Reasons why no law of Gaussian kernels has less than a given loss, from δ at one or two shifts.

A loss here is an expected error, measured by `question.loss`. δ at a single shift is a lower bound
on δ, and a law with less loss has narrower kernels, which leak more. So it takes little time to
show that a search and a proof, which take seconds, would find no smaller loss. For several releases
only the proof takes seconds, and the search in floats shows if the proof is worth its time. All
figures are in floats, and no guarantee rests on them.

Notation: σ is the standard deviation of a kernel. The centres of neighbouring kernels are 1 apart,
which is the sensitivity. For one release the decay of their weights is ε.
"""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.kernels.fit import MOST_MODES
from leastnoise.noise.kernels.law import GaussianMixture, KernelNoise, QuasiGaussian
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.kernels.profile.divergence import log_divergence
from leastnoise.noise.kernels.several import find_in_floats
from leastnoise.noise.question import Loss, Question
from leastnoise.numerics.searches import falling_root

_SO_WIDE = 1000.0  # for a σ this large 32 sensitivities are negligible: δ changes by (32/σ)⁴
_TESTED_SHIFTS = (0.5, 0.999)  # shifts that leak most: between two kernels, and near the longest
_ROUNDING = 1e-6  # relative difference of the losses of two searches for the same scale
_SURE = 0.01  # relative margin; losses by floats and by proofs differed by at most a tenth of it
_LARGEST_EPSILON = 600.0  # e^−ε is a float


def why_kernels_behind(question: Question, loss: float) -> str | None:
    """The reason why no quasi-Gaussian law has less than `loss`; None if a law may have less.

    The question is about one number and a worst shift of 1. For several releases the smallest loss
    is searched in floats, unless `_why_all_behind` gives a reason.
    """
    why = _why_all_behind(question, loss)
    return why or _why_behind_in_floats(QuasiGaussian, question, loss)


def _why_all_behind(question: Question, loss: float) -> str | None:
    """The reason why no Gaussian mixture or quasi-Gaussian law has less than `loss`, or None.

    None if such a law may have less, and for samples, for δ = 0, and for ε = 0 or above 600.
    """
    if question.sampling_rate != 1 or not question.budget.delta:
        return None
    if not 0 < question.budget.epsilon <= _LARGEST_EPSILON:
        return None
    sigma = _gaussian_sigma(question)
    if _gaussian_has_less(question, loss):
        return None
    if sigma > _SO_WIDE:
        return f"with a std of {sigma:,.0f}, kernels one sensitivity apart form a single Gaussian"
    if _loss_of_gaussian(question, _narrowest(question)) >= loss:
        return "kernels narrow enough for a smaller loss leak more than delta between them"
    return None


def why_mixture_behind(question: Question, loss: float) -> str | None:
    """The reason why no Gaussian mixture has less than `loss`; None if a mixture may have less.

    For one release, the mixture with exactly this loss is tested against the budget, for each
    number of modes in `_list_modes`. For several releases the smallest loss is searched in floats.
    Both happen only if `_why_all_behind` gives no reason.
    """
    why = _why_all_behind(question, loss)
    why = why or _why_behind_in_floats(GaussianMixture, question, loss)
    if why is not None or not (question.once and question.budget.epsilon and question.budget.delta):
        return why
    if _gaussian_has_less(question, loss):
        return None
    narrowest = _narrowest(question)
    if any(_may_have(question, modes, loss, narrowest) for modes in _list_modes(question)):
        return None
    return "kernels with a smaller loss leak more than delta, for any number of kernels"


def _why_behind_in_floats(family: type[KernelNoise], question: Question, loss: float) -> str | None:
    """The reason why no law of `family` has less than `loss` for several releases, or None.

    None if such a law may have less, and for one release, for samples, and for δ = 0 or ε = 0. The
    smallest loss is searched in floats. In seven settings it was within a thousandth of the
    smallest proved loss.
    """
    several = question.compositions > 1 and question.sampling_rate == 1
    if not several or not question.budget.delta or not question.budget.epsilon:
        return None
    if "decay" not in question.fixed and _gaussian_has_less(question, loss):
        return None  # the search tries a single Gaussian, too
    least = question.loss.of(find_in_floats(family, question))
    if least <= loss * (1 + _SURE):
        return None
    return f"the best law that a search in floats found has {100 * least / loss:.3g} % of that loss"


def _gaussian_has_less(question: Question, loss: float) -> bool:
    """True if Gaussian noise, a mixture of one kernel, has clearly less than `loss`."""
    return _loss_of_gaussian(question, _gaussian_sigma(question)) < loss * (1 - _ROUNDING)


def _gaussian_sigma(question: Question) -> float:
    """The smallest σ of Gaussian noise that meets the budget for all releases.

    This noise is the mixture with a single kernel.
    """
    return float(common_fit.gaussian(1, question.budget)) * math.sqrt(question.compositions)


def _loss_of_gaussian(question: Question, sigma: float) -> float:
    """The loss of Gaussian noise of this σ, a lower bound for all laws with kernels of this σ."""
    return sigma**2 if question.loss is Loss.MSE else sigma * math.sqrt(2 / math.pi)


def _narrowest(question: Question) -> float:
    """A lower bound on the σ for which one release with two or more kernels meets the budget.

    Let p = erfc(1/(4√2·σ)), the probability that a normal variable with mean 0 and standard
    deviation σ is beyond ±¼. Let A be the points within ¼ of a kernel's centre. The noise is in A
    with a probability of at least 1 − p. The noise plus ½ is in A with a probability of at most 2p
    (p, if the kernels aren't cut off at 0). So δ >= 1 − p − 2e^ε p.
    """
    epsilon, delta = float(question.budget.epsilon), float(question.budget.delta)
    most = (1 - delta) / (1 + 2 * math.exp(epsilon))
    far = falling_root(lambda x: math.erfc(x) - most, 0.0, 30.0)
    return 1 / (4 * math.sqrt(2) * far) if far > 0 else math.inf


def _list_modes(question: Question) -> list[int]:
    """The `modes` K = 1, …, n of a mixture of 2K + 1 kernels, nearest to ln(1/δ)/ε first.

    A search starts near there, too. n is MOST_MODES, or a smaller number beyond which all further
    kernels together have less than a thousandth of δ.
    """
    epsilon, delta = float(question.budget.epsilon), float(question.budget.delta)
    enough = -math.log(delta) / epsilon
    last = min(MOST_MODES, math.ceil(enough + math.log(1000) / epsilon) + 1)
    return sorted(range(1, last + 1), key=lambda modes: abs(modes - enough))


def _may_have(question: Question, modes: int, loss: float, narrowest: float) -> bool:
    """True if the mixture with this loss and number of modes meets the budget at `_TESTED_SHIFTS`.

    False, too, if its σ would be below `narrowest`, the smallest σ that may meet the budget.
    """

    def excess(sigma: float) -> float:
        law = GaussianMixture(
            scale=Fraction(sigma), modes=modes, spacing=1, decay=question.budget.epsilon
        )
        return loss - question.loss.of(law)

    if excess(narrowest) < 0:
        return False
    sigma = falling_root(excess, narrowest, _gaussian_sigma(question))
    epsilon, target = float(question.budget.epsilon), math.log(question.budget.delta)
    law = Kernels(modes=modes, spacing=1 / sigma, decay=epsilon)
    return all(
        log_divergence(law, shift=shift / sigma, epsilon=epsilon) <= target
        for shift in _TESTED_SHIFTS
    )
