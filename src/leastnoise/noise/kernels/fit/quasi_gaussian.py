"""The least quasi-Gaussian law for a budget, exactly and as published (Liu et al. 2026, §4)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.kernels.fit.kernels import apart, check_proof, least_scale
from leastnoise.noise.kernels.law import QuasiGaussian
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.request import Request
from leastnoise.numerics.minima import minimise
from leastnoise.numerics.roots import IncreasingRoot

_ROOT = IncreasingRoot(tolerance=4e-13)  # of ln σ, as in `classic`


def search(request: Request) -> QuasiGaussian:
    """Return the law with spacing 1 and decay ε at the least σ whose δ, at any shift, is met.

    `fixed` may set decay. Theorem 4.2's σ, which is sufficient but, at (2, 0.25), 32 % larger, is
    `published_scale`. Raises InvalidArgument for a fixed spacing.
    """
    if "spacing" in request.fixed:
        raise InvalidArgument(
            name="spacing",
            value=str(request.fixed["spacing"])[:40],
            expected="decay as a fixed parameter; the spacing is the sensitivity",
        )
    check_proof(QuasiGaussian, request, modes=1)
    decay = request.fixed.get("decay", request.budget.epsilon)
    scale = least_scale(
        lambda sigma: Kernels(modes=1, spacing=1 / sigma, decay=float(decay), folded=True),
        request,
        guess=apart(request.budget.epsilon),
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
    return math.exp(-_ROOT.find(over, guess=-math.log(most)))


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

    return math.exp(-_ROOT.find(over, guess=math.log(2 * epsilon) / 2))
