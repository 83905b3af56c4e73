"""A series of releases in a ledger: charged as a whole with the first, then counted one by one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import InvalidInput, LedgerRejected, Refused
from leastnoise.ledger.account import Books, signed, spending
from leastnoise.ledger.filters import Cost
from leastnoise.ledger.preregistered import verify_once
from leastnoise.ledger.store import Store, matches

if TYPE_CHECKING:
    from collections.abc import Mapping


RELEASES, REPORT = "releases", "report"
"""Fields of an entry that begins a series, where they say more than its certificate."""


def releases_of(body: Mapping[str, Any], certificate: PlanCertificate) -> int:
    """The number of releases of the series that an entry begins."""
    return body.get(RELEASES, certificate.releases)


def _rows_of(body: Mapping[str, Any], certificate: PlanCertificate) -> tuple[int, str]:
    """The number of releases in the entry of a series, and the rule that gives rows to them."""
    return releases_of(body, certificate), body.get(REPORT, "")


@final
@dataclass(frozen=True, kw_only=True)
class Begun:
    """A series that was charged: its certificate, and the number of releases published so far.

    `releases` is the number of releases in all, and `report` the rule that gives each row its
    release: see `Spec.report_rule`.
    """

    certificate: PlanCertificate
    published: int
    releases: int
    report: str


@final
@dataclass(frozen=True, kw_only=True)
class LedgerSeries:
    """The series called `name` in the ledger `path`, for this unit and these neighbours.

    A `dataset` has at most one series of a name.
    """

    path: Path
    name: str
    unit: str
    neighbours: str
    dataset: str | None = None

    def find(self) -> Begun | None:
        """Return what was charged for it; None if it hasn't begun.

        Raises Refused for another unit or neighbours than the account's; else what
        `Ledger.accounts` does.
        """
        entries = self._store.read()
        books = Books.of(entries)
        account = books.account(self.dataset)
        account.check_persons(unit=self.unit, neighbours=self.neighbours)
        number = books.series.get((account.dataset, self.name))
        if number is None:
            return None
        text = self._store.certificate(number)
        if not matches(entries[number - 1], text):
            raise LedgerRejected(f"Entry {number}: its certificate was edited.")
        try:
            certificate = PlanCertificate.from_json(text)
        except (InvalidInput, Refused) as error:
            raise LedgerRejected(f"Entry {number}: {error}") from error
        releases, report = _rows_of(entries[number - 1].body, certificate)
        published = books.published(number)
        return Begun(certificate=certificate, published=published, releases=releases, report=report)

    def publish(
        self,
        release: PlanCertificate,
        *,
        place: int,
        releases: int | None = None,
        report: str = "",
        label: str = "",
    ) -> int:
        """Count the release with the number `place`, from 1 on; return the number of its entry.

        The series has this many `releases` in all: those of the certificate, if None. `report` is
        the rule that gives each row its release: see `Spec.report_rule`. With the first release the
        whole series is charged. When this returns, the entry is on the disk and the noise may be
        drawn; the release counts as published whatever happens then.

        Raises Refused if the series was charged for another certificate, number of releases or
        rule, or if another release is the next; else what `Ledger.charge` does. Then nothing was
        charged or counted.
        """
        releases = release.releases if releases is None else releases
        verify_once(release)  # may take long, and needs no lock
        cost, text = Cost.of(release), release.to_json()
        PlanCertificate.from_json(text)  # as `find` will
        with self._store.appending() as (entries, log):
            books = Books.of(entries)
            account = books.account(self.dataset)
            account.check_statement(release, unit=self.unit, neighbours=self.neighbours)
            number = books.series.get((account.dataset, self.name))
            made = 0
            if number is None:
                rule = account.admit(cost)
                body = spending("series", account, rule, cost)
                body |= {"series": self.name, "label": label}
                body |= {} if releases == release.releases else {RELEASES: releases}
                body |= {REPORT: report} if report else {}
                number = log.append(body, certificate=text)
            elif _rows_of(entries[number - 1].body, release) != (releases, report):
                raise Refused(
                    f"The series {self.name!r} was charged for other releases or another report "
                    "column. Nothing was charged or drawn."
                )
            elif not matches(entries[number - 1], text):
                raise Refused(
                    f"The series {self.name!r} was charged for another certificate. Nothing was "
                    "charged or drawn."
                )
            else:
                made = books.published(number)
            self.check_left(made, releases)
            if place != made + 1:
                raise Refused(
                    f"Release {place} of the series {self.name!r} isn't the next: another process "
                    f"published some meanwhile, and {made:,} are. Nothing was charged or drawn."
                )
            return log.append(
                {
                    "kind": "use",
                    "dataset": account.dataset,
                    "plan": number,
                    "release": place,
                    "label": label,
                    **signed(),
                }
            )

    def check_left(self, made: int, releases: int) -> None:
        """Raise Refused if all of its releases were published."""
        if made >= releases:
            raise Refused(
                f"The series {self.name!r} has {releases:,} releases, and all were published. "
                "Nothing was read, charged or drawn. To begin another give it another name in "
                "[series]: it is charged anew."
            )

    @property
    def _store(self) -> Store:
        return Store(path=self.path)
