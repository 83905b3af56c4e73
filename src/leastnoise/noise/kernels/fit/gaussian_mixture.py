"""The best mixture of Gaussians for a budget (Liu, Selvi & Wiesemann 2026, Definition 3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from leastnoise.errors import InvalidArgument
from leastnoise.noise.kernels.fit.kernels import apart, check_proof, least_scale
from leastnoise.noise.kernels.law import GaussianMixture
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.request import Request

MOST_MODES = 32
"""K is searched up to here; each further mode costs time in every later step."""

_HELPS = 1e-6  # a further mode must lower the loss by this (relative) to be worth it


def search(request: Request) -> GaussianMixture:
    """Return the mixture with spacing 1, decay ε and the least loss, at its smallest σ.

    `fixed` may set modes and decay. For fixed modes δ falls as σ grows (see `GaussianMixture`), so
    the smallest private σ is found by a root search. K is searched from where the outermost
    component has a weight below δ, since with fewer modes σ can't be small, up and down for as long
    as that helps, and not beyond MOST_MODES (`limit_of` says so where it matters). Raises
    InvalidArgument for a fixed spacing.
    """
    if "spacing" in request.fixed:
        raise InvalidArgument(
            name="spacing",
            value=str(request.fixed["spacing"])[:40],
            expected="modes or decay as fixed parameters; the spacing is the sensitivity",
        )
    check_proof(GaussianMixture, request, modes=int(request.fixed.get("modes", 1)))
    problem = _Problem(request=request, decay=request.fixed.get("decay", request.budget.epsilon))
    if "modes" in request.fixed:
        return problem.best_with(int(request.fixed["modes"]))
    return min((problem.best_with(modes) for modes in problem.modes()), key=request.loss.of)


def limit_of(law: GaussianMixture, request: Request) -> str | None:
    """Return the note that K was searched up to MOST_MODES only, where more might help."""
    enough = _enough(law.decay, request)
    if "modes" in request.fixed or max(enough, law.modes) < MOST_MODES:
        return None
    return f"modes are searched up to {MOST_MODES}; more may help, set modes to try"


def _enough(decay: Fraction | int, request: Request) -> int:
    """Return the least K with w_K <= δ, or MOST_MODES if it is larger.

    A shift by the spacing bares the last component.
    """
    total, delta = 1.0, float(request.budget.delta)
    for modes in range(MOST_MODES):
        weight = math.exp(-modes * float(decay))
        total += 2 * weight if modes else 0.0
        if weight / total <= delta:
            return modes
    return MOST_MODES


@final
@dataclass(frozen=True, kw_only=True)
class _Problem:
    request: Request
    decay: Fraction | int
    found: dict[int, GaussianMixture] = field(default_factory=dict)

    def best_with(self, modes: int) -> GaussianMixture:
        """Return the law of smallest σ with these modes."""
        if modes not in self.found:
            self.found[modes] = GaussianMixture(
                scale=least_scale(self._law_with(modes), self.request, guess=self._guess()),
                modes=modes,
                spacing=1,
                decay=self.decay,
            )
        return self.found[modes]

    def modes(self) -> list[int]:
        """Return the numbers of modes that were looked at."""
        start = _enough(self.decay, self.request)
        candidates = [0, 1, start]
        for direction in (1, -1):
            modes, best = start, self._loss(start)
            while 0 <= (modes := modes + direction) <= MOST_MODES:
                candidates.append(modes)
                if self._loss(modes) > best * (1 - _HELPS):
                    break
                best = self._loss(modes)
        return candidates

    def _loss(self, modes: int) -> float:
        return self.request.loss.of(self.best_with(modes))

    def _guess(self) -> float:
        scales = [float(law.scale) for law in self.found.values() if law.modes > 1]
        return scales[-1] if scales else apart(self.request.budget.epsilon)

    def _law_with(self, modes: int) -> Callable[[float], Kernels]:
        decay = float(self.decay)
        return lambda sigma: Kernels(modes=modes, spacing=1 / sigma, decay=decay)
