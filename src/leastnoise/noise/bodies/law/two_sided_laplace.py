"""The smooth two-sided law: a flat core, and exponential beyond it on either side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import ParameterKind, points_of, positive_scale
from leastnoise.noise.bodies.law.two_sided import TwoSided

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Sensitivity

LARGEST_CORE = Fraction(10**9)


@final
@dataclass(frozen=True, kw_only=True)
class TwoSidedLaplace(TwoSided):
    """Density ∝ e^(−(P(x)/scale − b)₊ − (Q(x)/scale − b)₊), b = core >= 0.

    P(x + s) <= P(x) + P(s) and Q alike, so with scale = 1/ε it is ε-DP for every shift s with
    P(s) + Q(s) <= 1: the hull of T and −T, T = of (theory/bodies.md §3). With b = 0 it is `k-norm`
    on that hull.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> law = TwoSidedLaplace(scale=1, of=Counts(queries=10), core=0)
    >>> round(law.variance, 9)
    26.0
    """

    name: ClassVar[str] = "two-sided-laplace"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"of": OneSided, "core": Fraction}
    )
    scale: Fraction
    of: OneSided
    core: Fraction
    dimension: int

    def __init__(self, *, scale: Exact, of: OneSided, core: Exact) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(
            self, "of", _validate.instance(of, OneSided, name="of", like="a one-sided set")
        )
        object.__setattr__(self, "core", exact(core, name="core"))
        object.__setattr__(self, "dimension", of.dimension)
        if not 0 <= self.core <= LARGEST_CORE:
            raise InvalidArgument(name="core", value=str(core)[:40], expected="0 <= core <= 1e9")

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> OneSided | None:
        """The T of the hull of T and −T."""
        hull = sensitivity.body(dimension=dimension)
        return hull.of if isinstance(hull, Signed) else None

    @classmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        return f"shifts of this {sensitivity.kind} sensitivity aren't all known as added or removed"

    def hides(self, sensitivity: Sensitivity) -> bool:
        """It does where P(s) + Q(s) <= 1 for all shifts."""
        hull = sensitivity.body(dimension=self.dimension)
        return hull is not None and Signed(of=self.of).contains(hull)

    @property
    def largest_loss(self) -> Fraction:
        return 1 / self.scale

    def scaled(self, factor: Exact) -> Self:
        scale = self.scale * exact(factor, name="factor")
        return type(self)(scale=scale, of=self.of, core=self.core)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        core = float(self.core)
        added, removed = self._sides(points_of(x, dimension=self.dimension))
        return -np.maximum(added - core, 0) - np.maximum(removed - core, 0) - self._log_mass

    def _log_moments(self) -> NDArray[np.float64]:
        """Return ln E A^j for A = b + a unit exponential: E A^j = j! Σ_{i<=j} b^i/i!."""
        j = np.arange(self.dimension + 3)
        log_factorials = np.array([math.lgamma(one) for one in range(1, self.dimension + 4)])
        log_core = math.log(self.core) if self.core > 0 else -math.inf
        powers = np.concatenate([[0.0], j[1:] * log_core])
        return log_factorials + np.logaddexp.accumulate(powers - log_factorials)
