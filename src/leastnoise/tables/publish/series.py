"""Where a series stands: which of its releases is the next, and with what noise."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

from leastnoise.errors import CertificateRejected, Refused

if TYPE_CHECKING:
    from pathlib import Path

    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.ledger.series import Begun, Series
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.query.layout import LaidOut
    from leastnoise.tables.spec.model import Spec

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
        from leastnoise.tables.plan.planning import plan_as_certified

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
