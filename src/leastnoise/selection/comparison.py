"""What a search over the noise families found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from leastnoise.noise.loss import Loss
from leastnoise.release.mechanism import Mechanism


@final
@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A proved mechanism, and the seconds that finding and proving it took."""

    mechanism: Mechanism
    search_seconds: float
    proof_seconds: float


@final
@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A noise family that can't serve, and why."""

    name: str
    why: str


@final
@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Every family: those that can serve, best first by `loss`, and those that can't."""

    loss: Loss
    candidates: tuple[Candidate, ...]
    skipped: tuple[Skipped, ...]

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The proved mechanisms, best first."""
        return tuple(candidate.mechanism for candidate in self.candidates)

    def __str__(self) -> str:
        """Return a table, a line a mechanism."""
        lines = [f"{'noise':<20}{'scale':>12}{'mse':>12}{'mae':>12}"]
        lines += [
            f"{m.noise.name:<20}{float(m.noise.scale):>12.6g}{m.mse:>12.6g}{m.mae:>12.6g}"
            for m in self.mechanisms
        ]
        lines += [f"{skipped.name:<20}skipped: {skipped.why}" for skipped in self.skipped]
        return "\n".join(lines)
