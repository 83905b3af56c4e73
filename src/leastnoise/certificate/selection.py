"""A certificate for the largest groups, which permute-and-flip selects round by round.

No noise is added to any number. Each round publishes the remaining group with the largest λ·score +
E, where λ is a fixed rate and E a fresh exponential random number (McKenna & Sheldon 2020;
theory/release.md §12).
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Self, final

from leastnoise._record import field, record, takes, whole
from leastnoise.certificate.of_tables import TableCertificate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.sensitivity import Neighbours

_ASSUMPTION = (
    "the candidates are public and fixed before the rows are read; what a unit adds to each "
    "candidate's score depends on its own rows alone, and is 0 or 1"
)
MOST_ROUNDS = 1000


@final
@record()
class SelectionCertificate(TableCertificate):
    """The statement that selecting `rounds` of the `candidates` meets `budget`.

    Each round selects the remaining candidate with the largest λs + E. Here s, the score, is the
    number of units in the candidate, E a standard exponential that is drawn anew, and λ the `rate`.

    A round is λΔ-private, where Δ is the most by which the changes of two scores differ. If a unit
    is added or removed, scores change by 0 or 1 in the same direction: Δ = 1. If a unit replaces
    another, one score may rise and another fall: Δ = 2. The number of candidates that contain a
    unit doesn't matter. The privacy losses of all rounds add up.
    """

    kind: ClassVar[str] = "selection-certificate"
    assumption: ClassVar[str] = _ASSUMPTION
    rate: FractionField = field(converter=takes(exact))
    rounds: int = field(converter=whole(least=1, most=MOST_ROUNDS))
    candidates: int = field(converter=whole(least=2))

    def _check_together(self) -> None:
        if self.rate <= 0:
            raise InvalidArgument(name="rate", value=self.rate, expected="a rate above 0")
        if self.rounds >= self.candidates:
            why = f"fewer rounds than the {self.candidates:,} candidates"
            raise InvalidArgument(name="rounds", value=self.rounds, expected=why)

    @classmethod
    def best(
        cls, *, epsilon: Fraction, rounds: int, candidates: int, neighbours: Neighbours
    ) -> Self:
        """The certificate with the largest rate for pure ε-privacy."""
        return cls(
            budget=Budget(epsilon=epsilon, delta=0),
            neighbours=neighbours,
            rate=epsilon / (rounds * _largest_change(neighbours)),
            rounds=rounds,
            candidates=candidates,
        )

    @property
    def spent(self) -> Fraction:
        """The ε for which all rounds together are private."""
        return self.rounds * self.rate * _largest_change(self.neighbours)

    def _delta(self) -> tuple[float, str]:
        """The bound 0 on δ; or 1 and the reason if the ε of the rounds is above the budget's."""
        if self.spent <= self.budget.epsilon:
            return 0.0, ""
        return 1.0, (
            f"The rounds are {decimal_text(self.spent)}-private; the certificate claims epsilon="
            f"{decimal_text(self.budget.epsilon)}."
        )


def _largest_change(neighbours: Neighbours) -> int:
    """The most by which the changes of two scores differ between neighbours: Δ of a round."""
    return 1 if neighbours == "add-remove" else 2
