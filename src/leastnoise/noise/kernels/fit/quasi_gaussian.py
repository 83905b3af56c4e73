"""The fits of Gaussian mixtures of free shape and of quasi-Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.common.fit.classic import ROOT
from leastnoise.noise.kernels.fit.kernels import apart, check_proof, least_scale
from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.question import Question
from leastnoise.numerics.minima import minimise

# The best mixture of Gaussians for a budget (Liu, Selvi & Wiesemann 2026, Definition 3.1).


MOST_MODES = 32
"""K is searched up to here; each further mode costs time in every later step."""


def gaussian_mixture_search(question: Question) -> GaussianMixture:
    """Return the mixture with spacing 1, decay ε and the least loss, at its smallest σ.

    `fixed` may set modes and decay. For fixed modes δ falls as σ grows (see `GaussianMixture`), so
    the smallest private σ is found by a root search. K is searched from where the outermost
    component has a weight below δ, since with fewer modes σ can't be small, up and down for as long
    as that helps, and not beyond MOST_MODES (`limit_of` says so where it matters). Raises
    InvalidArgument for a fixed spacing.
    """
    if "spacing" in question.fixed:
        raise InvalidArgument(
            name="spacing",
            value=str(question.fixed["spacing"])[:40],
            expected="modes or decay as fixed parameters; the spacing is the sensitivity",
        )
    check_proof(GaussianMixture, question, modes=int(question.fixed.get("modes", 1)))
    problem = _Problem(
        question=question, decay=question.fixed.get("decay", question.budget.epsilon)
    )
    if "modes" in question.fixed:
        return problem.best_with(int(question.fixed["modes"]))
    return min((problem.best_with(modes) for modes in problem.modes()), key=question.loss.of)


def limit_of(law: GaussianMixture, question: Question) -> str | None:
    """Return the note that K was searched up to MOST_MODES only, where more might help."""
    enough = _enough(law.decay, question)
    if "modes" in question.fixed or max(enough, law.modes) < MOST_MODES:
        return None
    return f"modes are searched up to {MOST_MODES}; more may help, set modes to try"


def _enough(decay: Fraction | int, question: Question) -> int:
    """Return the least K with w_K <= δ, or MOST_MODES if it is larger.

    A shift by the spacing bares the last component.
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
class _Problem:
    question: Question
    decay: Fraction | int
    found: dict[int, GaussianMixture] = field(default_factory=dict)

    def best_with(self, modes: int) -> GaussianMixture:
        """Return the law of smallest σ with these modes."""
        if modes not in self.found:
            self.found[modes] = GaussianMixture(
                scale=least_scale(self._law_with(modes), self.question, guess=self._guess()),
                modes=modes,
                spacing=1,
                decay=self.decay,
            )
        return self.found[modes]

    def modes(self) -> list[int]:
        """Return the numbers of modes that were looked at."""
        start = _enough(self.decay, self.question)
        candidates = [0, 1, start]
        helps = 1e-6  # a further mode must lower the loss by this (relative) to be worth it
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
        scales = [float(law.scale) for law in self.found.values() if law.modes > 1]
        return scales[-1] if scales else apart(self.question.budget.epsilon)

    def _law_with(self, modes: int) -> Callable[[float], Kernels]:
        decay = float(self.decay)
        return lambda sigma: Kernels(modes=modes, spacing=1 / sigma, decay=decay)


# The least quasi-Gaussian law for a budget, exactly and as published (Liu et al. 2026, §4).


def quasi_gaussian_search(question: Question) -> QuasiGaussian:
    """Return the law with spacing 1 and decay ε at the least σ whose δ, at any shift, is met.

    `fixed` may set decay. Theorem 4.2's σ, which is sufficient but, at (2, 0.25), 32 % larger, is
    `published_scale`. Raises InvalidArgument for a fixed spacing.
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
        guess=apart(question.budget.epsilon),
    )
    return QuasiGaussian(scale=scale, spacing=1, decay=decay)


def published_scale(budget: Budget) -> Fraction:
    """Return max(σ₁, σ₂) of Liu, Selvi & Wiesemann (2026), Theorem 4.2, for sensitivity 1.

    σ₁ hides the longest shift: it is the least σ with δ(2ε) of a Gaussian under a shift of 2 at
    most (e^ε + 2Φ(1/σ))δ, written as in (4b) there. σ₂ is the least at which the density varies by
    at most e^ε on [0, 1] (5). To float accuracy, about 1e-12; `Certificate.prove` proves the law
    `QuasiGaussian(scale=…, spacing=1, decay=ε)`. Multiply by the sensitivity. Raises NotApplicable
    unless ε > 0 and δ > 0.

    >>> round(float(published_scale(Budget(epsilon="5", delta="0.1"))), 9)
    0.233687533
    """
    if budget.epsilon == 0 or budget.delta == 0:
        why = "Theorem 4.2 needs epsilon > 0 and delta > 0"
        raise NotApplicable(family=QuasiGaussian.name, why=why)
    return Fraction(max(_longest_shift(budget), _flat_middle(float(budget.epsilon))))


def _longest_shift(budget: Budget) -> float:
    """Return σ₁; 0 where any σ will do."""
    epsilon, log_target = float(budget.epsilon), math.log(budget.delta)
    if epsilon + math.log1p(2 * math.exp(-epsilon)) + log_target >= 0:
        return 0.0

    def over(log_ratio: float) -> float:
        ratio = math.exp(log_ratio)
        room = epsilon + math.log1p(math.exp(-epsilon) * math.erfc(-ratio / math.sqrt(2)))
        return (
            common_profile.gaussian_log_delta(shift_ratio=2 * ratio, epsilon=2 * epsilon)
            - room
            - log_target
        )

    most = math.sqrt(2 * (epsilon - log_target)) / epsilon  # Lemma 4.3
    return math.exp(-ROOT.find(over, guess=-math.log(most)))


def _flat_middle(epsilon: float) -> float:
    """Return σ₂; it is at most 1/√(2ε) (Lemma 4.5)."""

    def over(log_ratio: float) -> float:
        t = math.exp(log_ratio)

        def log_f(x: float) -> float:
            return float(np.logaddexp(-((x * t) ** 2) / 2, -(((x - 1) * t) ** 2) / 2 - epsilon))

        # Lemma 4.4: the maximum is left of the middle, and the minimum right of it or at 1
        root = math.sqrt(max(0.0, 1 - 4 / t**2))
        highest = log_f(minimise(lambda x: -log_f(x), [0.0, (1 - root) / 4, (1 - root) / 2]))
        dip = minimise(log_f, [0.5, (2 + root) / 4, (1 + root) / 2]) if root > 0 else 1.0
        return highest - min(log_f(dip), log_f(1.0)) - epsilon

    return math.exp(-ROOT.find(over, guess=math.log(2 * epsilon) / 2))
