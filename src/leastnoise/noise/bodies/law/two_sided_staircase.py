"""The count staircase: steps in what must be added and in what must be removed."""

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
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import ParameterKind, points_of, positive_scale
from leastnoise.noise.bodies.law.two_sided import TwoSided
from leastnoise.noise.common.law import log_step_sums, step_decay

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Sensitivity

SMALLEST_CORE, LARGEST_CORE = Fraction(1, 10**6), Fraction(10**6)


@final
@dataclass(frozen=True, kw_only=True)
class TwoSidedStaircase(TwoSided):
    """Density ∝ e^(−decay·(⌈(P(x)/scale − a)₊⌉ + ⌈(Q(x)/scale − a)₊⌉)), a = core > 0.

    A unit that is added raises P by 0 … 1 and lowers Q by 0 … 1 (scale = 1): one ceiling moves by
    0 or 1, the other by 0 or −1, and their sum by at most 1. So with decay = ε it is ε-DP for every
    shift in T and in −T, T = of — but *not* for the others in their hull, nor for a product of
    several such laws under a shift that is spread over them (theory/bodies.md §3, §4). It is for
    shifts that are added or removed whole; `TwoSidedLaplace` is for the hull too. For one count it
    is `staircase`.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> law = TwoSidedStaircase(scale=1, of=Counts(queries=3), core="1.0926", decay=1)
    >>> round(law.variance, 5)
    4.66132
    """

    name: ClassVar[str] = "two-sided-staircase"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"of": OneSided, "core": Fraction, "decay": Fraction}
    )
    scale: Fraction
    of: OneSided
    core: Fraction
    decay: Fraction
    dimension: int

    def __init__(self, *, scale: Exact, of: OneSided, core: Exact, decay: Exact) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(
            self, "of", _validate.instance(of, OneSided, name="of", like="a one-sided set")
        )
        object.__setattr__(self, "core", exact(core, name="core"))
        powers = of.dimension + 3
        object.__setattr__(self, "decay", step_decay(decay, dimension=of.dimension, powers=powers))
        object.__setattr__(self, "dimension", of.dimension)
        if not SMALLEST_CORE <= self.core <= LARGEST_CORE:
            raise InvalidArgument(name="core", value=str(core)[:40], expected="1e-6 <= core <= 1e6")

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> OneSided | None:
        """What is added; what is removed is −T."""
        return sensitivity.additions(dimension=dimension)

    @classmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        return f"shifts of this {sensitivity.kind} sensitivity aren't all known as added or removed"

    def hides(self, sensitivity: Sensitivity) -> bool:
        """It does where all shifts lie in T or −T; that their hull does isn't enough."""
        added = sensitivity.additions(dimension=self.dimension)
        return added is not None and self.of.contains(added)

    @property
    def largest_loss(self) -> Fraction:
        return self.decay * math.ceil(1 / self.scale)

    def scaled(self, factor: Exact) -> Self:
        return type(self)(
            scale=self.scale * exact(factor, name="factor"),
            of=self.of,
            core=self.core,
            decay=self.decay,
        )

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        core = float(self.core)
        added, removed = self._sides(points_of(x, dimension=self.dimension))
        steps = np.ceil(np.maximum(added - core, 0)) + np.ceil(np.maximum(removed - core, 0))
        return -float(self.decay) * steps - self._log_mass

    def _log_moments(self) -> NDArray[np.float64]:
        """Return ln E A^j for A = a + k, k geometric: P(k >= n) = q^n."""
        powers = np.arange(self.dimension + 3)
        return log_step_sums(first=float(self.core), decay=float(self.decay), powers=powers)
