"""A certificate for a limit on rows or groups that permute-and-flip chooses among candidates.

Notation: c_1 < … < c_m are the candidates, and n_u is the number of rows or groups of unit u. N_j
is the size of the noise of the release with the limit c_j, a public number; λ is the rate.

f(j) = N_j + Σ_u max(0, n_u − c_j) is the error with the limit c_j: the noise plus the rows or
groups that the limit cuts off. The score is s(j) = max(0, max_i (f(j) − f(i)) / |c_j − c_i|): how
far f(j) exceeds another candidate's error, divided by the distance of the two limits. s(j) = 0
exactly if f(j) is the smallest error. Permute-and-flip publishes the candidate with the largest E_j
− λ·s(j), where the E_j are independent standard exponentials. After that the release follows the
plan of that candidate (theory/release.md §13).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

from leastnoise._record import field, record, takes
from leastnoise.certificate.of_tables import TableCertificate
from leastnoise.certificate.records import require_type
from leastnoise.errors import CertificateRejected, InvalidArgument, show_value
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.guarantees.fields import FractionField, FractionsField
from leastnoise.guarantees.sensitivity import Neighbours

if TYPE_CHECKING:
    from leastnoise.certificate.plan import PlanCertificate

_ASSUMPTION = (
    "candidates, their noise and their plans are public and fixed before the rows are read; the "
    "number of a unit's rows or groups depends on its own rows alone"
)
MOST_CANDIDATES = 12
SENSITIVITY = 1
"""The most by which one unit, added, removed or replaced, changes a score."""


def _check_numbers(values: Iterable[Any], *, name: str) -> tuple[Fraction, ...]:
    numbers = tuple(exact(value, name=name) for value in values)
    if not 2 <= len(numbers) <= MOST_CANDIDATES:
        expected = f"2 to {MOST_CANDIDATES} numbers"
        raise InvalidArgument(name=name, value=len(numbers), expected=expected)
    return numbers


def _check_plans(plans: Iterable[Any], *, name: str) -> tuple[Any, ...]:
    from leastnoise.certificate.plan import PlanCertificate  # noqa: PLC0415  (it imports this)

    listed = tuple(plans)
    if not all(isinstance(plan, PlanCertificate) for plan in listed):
        raise InvalidArgument(name=name, value=show_value(listed), expected="plan certificates")
    return listed


@final
@record()
class LimitCertificate(TableCertificate):
    """The statement that choosing a limit, and then releasing by its plan, meets `budget`.

    The choice is 2λ-private, because one unit changes a score by at most 1 (`SENSITIVITY`). The
    second step is chosen after the first was published, so that their ε add up (Dwork & Roth 2014,
    Theorem 3.16; theory/accounting.md §1 A). `plans` has the proof of the second step for each
    candidate.
    """

    kind: ClassVar[str] = "limit-certificate"
    assumption: ClassVar[str] = _ASSUMPTION
    candidates: FractionsField = field(converter=takes(_check_numbers))
    noise: FractionsField = field(converter=takes(_check_numbers))
    rate: FractionField = field(converter=takes(exact))
    plans: tuple[Any, ...] = field(converter=takes(_check_plans))

    def _check_together(self) -> None:
        if any(low >= high for low, high in pairwise(self.candidates)):
            value = show_value(self.candidates)
            raise InvalidArgument(name="candidates", value=value, expected="increasing numbers")
        if not len(self.candidates) == len(self.noise) == len(self.plans):
            value = show_value((len(self.noise), len(self.plans)))
            expected = "a noise and a plan for each candidate"
            raise InvalidArgument(name="plans", value=value, expected=expected)
        if self.rate <= 0:
            raise InvalidArgument(name="rate", value=show_value(self.rate), expected="above 0")

    @classmethod
    def best(
        cls,
        *,
        budget: Budget,
        epsilon: Fraction,
        candidates: Sequence[int],
        noise: Sequence[Fraction],
        plans: Sequence[PlanCertificate],
        neighbours: Neighbours,
    ) -> Self:
        """The certificate with the largest rate for a choice that is `epsilon`-private."""
        return cls(
            budget=budget,
            neighbours=neighbours,
            candidates=tuple(map(Fraction, candidates)),
            noise=tuple(noise),
            rate=epsilon / (2 * SENSITIVITY),
            plans=tuple(plans),
        )

    @property
    def spent(self) -> Fraction:
        """The ε of the choice."""
        return 2 * SENSITIVITY * self.rate

    def scores(self, cut_off: Sequence[int]) -> list[Fraction]:
        """The score of each candidate limit, which the module's docstring defines.

        `cut_off` lists, for each limit, the number of rows or groups that it cuts off from all
        units.
        """
        totals = [noise + beyond for noise, beyond in zip(self.noise, cut_off, strict=True)]
        pairs = list(zip(self.candidates, totals, strict=True))
        return [
            max(
                Fraction(0),
                *((total - other) / abs(most - at) for at, other in pairs if at != most),
            )
            for most, total in pairs
        ]

    def _delta(self) -> tuple[float, str]:
        """An upper bound on δ, and the reason if the statement isn't proved, otherwise "".

        The bound is the largest δ of a plan, or 1 if the statement isn't proved.
        """
        worst = 0.0
        for most, plan in zip(self.candidates, self.plans, strict=True):
            where = f"The plan of the limit {decimal_text(most)}"
            if any(isinstance(claim, LimitCertificate) for _, claim in plan.draws):
                return 1.0, f"{where} chooses a limit again."
            try:  # first, since a plan about several relations has no neighbours
                worst = max(worst, plan.verify().upper)
            except CertificateRejected as error:
                return 1.0, f"{where}: {error}"
            if plan.releases != 1 or plan.neighbours not in {None, self.neighbours}:
                return 1.0, f"{where} is about other releases or neighbours."
            spent = self.spent + plan.budget.epsilon
            if spent > self.budget.epsilon or plan.budget.delta > self.budget.delta:
                return 1.0, (
                    f"{where} and the choice spend epsilon={decimal_text(spent)} and "
                    f"delta={decimal_text(plan.budget.delta)}, more than the budget."
                )
        return worst, ""

    @staticmethod
    def write_field(value: Any) -> Any:
        """The JSON value of a field; a list of nested objects for `plans`."""
        if _are_plans(value):
            return [json.loads(plan.to_json()) for plan in value]
        return TableCertificate.write_field(value)

    @staticmethod
    def read_field(value: object, kind: Any, *, where: str) -> Any:
        """Read the output of `write_field`.

        Raises CertificateRejected for malformed values, for too many plans, and for a plan that
        chooses a limit again.
        """
        if where != "plans":
            return TableCertificate.read_field(value, kind, where=where)
        from leastnoise.certificate.plan import PlanCertificate  # noqa: PLC0415  (it imports this)

        records = require_type(value, list, where=where)
        if len(records) > MOST_CANDIDATES or any(map(_chooses_limit, records)):
            raise CertificateRejected(
                f"Expected at most {MOST_CANDIDATES} plans in the certificate. None of these plans "
                "may choose a limit itself."
            )
        return tuple(PlanCertificate.from_record(plan) for plan in records)


def _are_plans(value: object) -> bool:
    from leastnoise.certificate.plan import PlanCertificate  # noqa: PLC0415  (it imports this)

    return isinstance(value, tuple) and any(isinstance(item, PlanCertificate) for item in value)


def _chooses_limit(plan: object) -> bool:
    """True if the record of a plan has a draw that chooses a limit."""
    draws = plan.get("draws") if isinstance(plan, dict) else None
    listed = [draw for draw in draws if isinstance(draw, dict)] if draws.__class__ is list else []
    certificates = [draw.get("certificate") for draw in listed]
    return any(
        isinstance(certificate, dict) and certificate.get("kind") == LimitCertificate.kind
        for certificate in certificates
    )
