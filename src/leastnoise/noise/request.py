"""What a search is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.loss import Loss


@final
@dataclass(frozen=True, kw_only=True)
class Request:
    """What a law of some family is wanted for, with a worst shift of 1.

    `loss` is what parameters minimise that the family's source leaves open; `fixed` holds those
    that the user has set. `shift` is the length that is called 1 here; it matters to noise on whole
    numbers alone.
    """

    budget: Budget
    dimension: int = 1
    loss: Loss = Loss.MSE
    shift: Fraction = Fraction(1)
    fixed: Mapping[str, Fraction | int] = field(default_factory=dict)
    sensitivity: Sensitivity | None = None
    """All shifts, where the law takes their shape."""
