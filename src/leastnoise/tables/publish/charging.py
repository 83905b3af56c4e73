"""What a release asks of the ledger that its spec names, and where a series stands in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypedDict, final

from leastnoise import _validate
from leastnoise.errors import CertificateRejected, InvalidArgument, Refused
from leastnoise.tables.spec.values import LEAST, MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.ledger.series import Begun, Series
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.query.layout import LaidOut
    from leastnoise.tables.spec.model import LedgerAccount, Spec

# The ledger and what plans take half a second to import: done where they are used.
# ruff: noqa: PLC0415


@final
@dataclass(frozen=True, kw_only=True)
class Standing:
    """The next release of a series, which is at `place`, from 1 on, of so many `releases`.

    `begun` is what the ledger has of it; None before the first.
    """

    series: Series
    releases: int
    begun: Begun | None

    @classmethod
    def find(cls, spec: Spec, folder: Path) -> Self | None:
        """Return where the series of a spec in `folder` stands; None without a series.

        Raises what the ledger does.
        """
        asked, privacy = spec.series, spec.privacy
        if asked is None or privacy.ledger is None:
            return None
        from leastnoise.ledger.series import Series

        series = Series(
            path=folder / privacy.ledger.path,
            name=asked.name,
            unit=privacy.unit_label,
            neighbours=privacy.neighbours,
            dataset=privacy.ledger.dataset,
        )
        return cls(series=series, releases=asked.releases, begun=series.find())

    @classmethod
    def find_before_planning(cls, spec: Spec, folder: Path) -> Self | None:
        """Return the same; None, too, where there is no ledger yet: a plan needs none."""
        account = spec.privacy.ledger
        known = account is not None and os.path.lexists(folder / account.path)
        return cls.find(spec, folder) if known else None

    @property
    def place(self) -> int:
        """Which release is the next."""
        return 1 if self.begun is None else self.begun.published + 1

    def in_words(self) -> str:
        """Return how many were published, in a sentence."""
        made, left = self.place - 1, self.releases - self.place + 1
        return f"{made:,} of {self.releases:,} releases are published, and {left:,} left."

    def check_left(self) -> None:
        """Raise Refused if all releases were published."""
        if self.begun is not None:
            self.series.check_left(self.begun.published, self.begun.certificate.releases)

    def folder(self, output: Path) -> Path:
        """Return the directory of the next release: 01 to 52, so that they are in order."""
        return output / f"{self.place:0{len(str(self.releases))}}"

    def plan(self, laid: LaidOut) -> Plan | None:
        """Return the plan that was charged, for the spec as it is now; None before the first.

        Raises Refused if the spec says other than is proved.
        """
        if self.begun is None:
            return None
        from leastnoise.tables.plan.make_plan import plan_as_certified

        try:
            return plan_as_certified(laid, self.begun.certificate)
        except CertificateRejected as error:
            raise Refused(
                f"The series {self.series.name!r} was charged for another spec. {error} Undo what "
                "was changed, or give it another name in [series] to begin another. Nothing was "
                "read, charged or drawn."
            ) from None

    def publish(self, certificate: PlanCertificate, *, label: str) -> int:
        """Count the next release; return the number of its entry. Raises what the ledger does."""
        return self.series.publish(certificate, place=self.place, label=label)


@final
class _Statement(TypedDict):
    unit: str
    neighbours: str
    dataset: str | None


def check_account(spec: Spec, folder: Path, standing: Standing | None) -> None:
    """Raise what the ledger would say, as far as that is known before the noise is found."""
    account = spec.privacy.ledger
    if account is not None and not (standing and standing.begun):
        known = None if spec.privacy.epsilon == LEAST else spec.budget
        _ledger(account, folder).check_account(
            plan=account.plan, budget=known, **_statement(spec, account)
        )


def afford(spec: Spec, folder: Path, plan: Plan, standing: Standing | None) -> str | None:
    """Return the filter by which the ledger would admit a charge; None if none is due."""
    from leastnoise.tables.plan.plan import Plan

    certificate = _validate.instance(
        plan, Plan, name="plan", like="what plan() returns"
    ).certificate
    account = spec.privacy.ledger
    if account is None or account.plan is not None or (standing and standing.begun):
        return None
    return _ledger(account, folder).afford(certificate, **_statement(spec, account))


def charge(
    spec: Spec,
    folder: Path,
    certificate: PlanCertificate,
    *,
    standing: Standing | None,
    tell: Callable[[str], object],
    label: str,
) -> int | None:
    """Charge the ledger, if there is one; return the number of its entry."""
    account = spec.privacy.ledger
    if account is None:
        return None
    tell("Charging the ledger")
    if standing is not None:
        return standing.publish(certificate, label=label)
    ledger, statement = _ledger(account, folder), _statement(spec, account)
    if account.plan is None:
        return ledger.charge(certificate, label=label, **statement).number
    return ledger.use(certificate, plan=account.plan, label=label, **statement)


def label_of(spec: Spec, given: str | None) -> str:
    """Return what the ledger's entry says of a release; raises InvalidArgument."""
    if given is None:
        return (spec.report and spec.report.title) or ", ".join(one.name for one in spec.query)
    if spec.privacy.ledger is None:
        raise InvalidArgument(name="label", value=given, expected="a spec with a ledger")
    return _validate.text(given, name="label", longest=MAX_TEXT)


def _ledger(account: LedgerAccount, folder: Path) -> Ledger:
    from leastnoise.ledger.ledger import Ledger

    return Ledger(folder / account.path)


def _statement(spec: Spec, account: LedgerAccount) -> _Statement:
    privacy = spec.privacy
    return {
        "unit": privacy.unit_label,
        "neighbours": privacy.neighbours,
        "dataset": account.dataset,
    }
