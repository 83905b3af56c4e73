"""The scale of quasi-Gaussian noise in Theorem 4.2: sufficient, and up to a third too large."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.common.fit import ROOT
from leastnoise.noise.kernels.law import QuasiGaussian
from leastnoise.numerics.searches import minimise


def published_scale(budget: Budget) -> Fraction:
    """Return max(σ₁, σ₂) of Liu, Selvi & Wiesemann (2026), Theorem 4.2, for sensitivity 1.

    σ₁ hides the longest shift: it is the least σ with δ(2ε) of a Gaussian under a shift of 2 at
    most (e^ε + 2Φ(1/σ))δ, written as in (4b) there. σ₂ is the least at which the density varies by
    at most e^ε on [0, 1] (5). To float accuracy, about 1e-12; `Certificate.prove` proves the law
    `QuasiGaussian(scale=…, spacing=1, decay=ε)`. Multiply by the sensitivity. Raises NotApplicable
    unless ε > 0 and δ > 0.
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
