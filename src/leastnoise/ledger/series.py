"""A series of releases in a ledger: charged as a whole with the first, then counted one by one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import InvalidInput, LedgerRejected, Refused
from leastnoise.ledger.account import Books, signed, spending
from leastnoise.ledger.filters import Cost
from leastnoise.ledger.preregistered import verify_once
from leastnoise.ledger.store import Store, matches


@final
@dataclass(frozen=True, kw_only=True)
class Begun:
    """A series that was charged: its certificate, and how many of its releases were published."""

    certificate: PlanCertificate
    published: int


@final
@dataclass(frozen=True, kw_only=True)
class LedgerSeries:
    """The series called `name` in the ledger `path`, about such persons and neighbours.

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
        return Begun(certificate=certificate, published=books.published(number))

    def publish(self, release: PlanCertificate, *, place: int, label: str = "") -> int:
        """Count one release as the one at `place`, from 1 on; return the number of its entry.

        With the first all are charged. When this returns it is on the disk, and the noise may be
        drawn; it counts as published whatever happens then. Raises Refused if the series is charged
        for another certificate, or the next of its releases isn't at `place`; else what
        `Ledger.charge` does. Then nothing was charged or counted.
        """
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
                number = log.append(body | {"series": self.name, "label": label}, certificate=text)
            elif not matches(entries[number - 1], text):
                raise Refused(
                    f"The series {self.name!r} was charged for another certificate. Nothing was "
                    "charged or drawn."
                )
            else:
                made = books.published(number)
            self.check_left(made, release.releases)
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
