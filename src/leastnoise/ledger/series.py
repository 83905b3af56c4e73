"""Series of releases in a ledger: the first release charges the whole series.

Later releases are counted, and cost nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import InvalidInput, LedgerRejected, Refused
from leastnoise.ledger.account import DIGEST, STATE, Books, ReleaseChain, make_charge_entry, stamp
from leastnoise.ledger.filters import Cost
from leastnoise.ledger.preregistered import verify_once
from leastnoise.ledger.store import Store, matches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leastnoise.ledger.state import State, StateFile
    from leastnoise.ledger.store import Entry, Log


IN_ONE_RELEASE = " in one release"
"""The end of a unit's name if the unit is all rows of a person in one release: `Series.unit_of`."""
RELEASES, REPORT = "releases", "report"
"""Optional fields of an entry that begins a series; its certificate does not imply their values."""


def releases_of(body: Mapping[str, Any], certificate: PlanCertificate) -> int:
    """The number of releases of the series that an entry begins."""
    return body.get(RELEASES, certificate.releases)


def rows_of(body: Mapping[str, Any], certificate: PlanCertificate) -> tuple[int, str]:
    """The number of releases of the series that an entry begins, and their rule for rows.

    The rule assigns rows to releases; it is "" without a report column.
    """
    return releases_of(body, certificate), body.get(REPORT, "")


@final
@dataclass(frozen=True, kw_only=True)
class ChargedSeries:
    """A charged series: its certificate, and the number of its releases that were published.

    `releases` is the total number of releases, and `report` the rule that assigns rows to releases:
    see `Spec.report_rule`. All other fields are as in `ReleaseChain`, and only for series with
    running totals.
    """

    certificate: PlanCertificate
    published: int
    releases: int
    report: str
    tag: str | None = None
    entry: int = 0
    digest: str = ""
    before: str = ""
    restarts: tuple[int, ...] = ()


@final
@dataclass(frozen=True, kw_only=True)
class LedgerSeries:
    """A series of releases in the ledger at `path`, for one unit and neighbour relation.

    Names of series are unique within a `dataset`.
    """

    path: Path
    name: str
    unit: str
    neighbours: str
    dataset: str | None = None

    def find(self) -> ChargedSeries | None:
        """The series as charged; None if it hasn't begun.

        Raises Refused if the account has another unit or other neighbours, and LedgerRejected if
        the series' certificate was edited. Also raises like `Ledger.accounts`.
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
            raise LedgerRejected(f"The certificate of entry {number} was edited.")
        try:
            certificate = PlanCertificate.from_json(text)
        except (InvalidInput, Refused) as error:
            raise LedgerRejected(f"Entry {number}: {error}") from error
        releases, report = rows_of(entries[number - 1].body, certificate)
        charged = ChargedSeries(
            certificate=certificate,
            published=books.published(number),
            releases=releases,
            report=report,
        )
        chain = books.chains.get(number)
        if chain is None:
            return charged
        return replace(
            charged,
            tag=chain.tag,
            entry=chain.entry,
            digest=chain.digest,
            before=chain.before,
            restarts=tuple(chain.restarts),
        )

    def publish(
        self,
        release: PlanCertificate,
        *,
        index: int,
        releases: int | None = None,
        report: str = "",
        label: str = "",
    ) -> int:
        """Count the release with number `index` (from 1) as published; return its entry's number.

        The series has `releases` in all; with None, as many as the certificate. `report` is the
        rule that gives each row its release: see `Spec.report_rule`. The first release charges the
        whole series. When this returns, the entry is on the disk and the noise may be drawn. The
        release counts as published even if it then fails.

        Raises Refused if the series was charged for another certificate, number of releases or
        rule, if `index` isn't next, or if no release is left. Also raises like `Ledger.charge`.
        Then nothing was charged or counted.
        """
        releases = release.releases if releases is None else releases
        verify_once(release)  # before the lock, because a proof may take long
        text = release.to_json()
        with self._store.appending() as (entries, log):
            books = Books.of(entries)
            account = books.account(self.dataset)
            account.check_statement(release, unit=self.unit, neighbours=self.neighbours)
            number = books.series.get((account.dataset, self.name))
            published = 0
            if number is None:
                more: dict[str, Any] = {}
                more |= {} if releases == release.releases else {RELEASES: releases}
                more |= {"label": label} | ({REPORT: report} if report else {})
                number = self._charge(entries, log, release, more)
            elif rows_of(entries[number - 1].body, release) != (releases, report):
                raise Refused(
                    f"The series {self.name!r} was charged for another number of releases, or with "
                    "another report column. Nothing further was charged, and nothing drawn."
                )
            elif not matches(entries[number - 1], text):
                raise Refused(
                    f"The series {self.name!r} was charged for another certificate than this "
                    "release has. Nothing further was charged, and nothing drawn."
                )
            else:
                published = books.published(number)
            self.check_left(published, releases)
            if index != published + 1:
                raise Refused(
                    f"Release {index} isn't the next release of the series {self.name!r}: the "
                    f"ledger counts {_words.count_noun(published, 'release')}. Another process may "
                    "have published a release. Nothing was charged or drawn."
                )
            return log.append(
                {
                    "kind": "use",
                    "dataset": account.dataset,
                    "plan": number,
                    "release": index,
                    "label": label,
                    **stamp(),
                }
            )

    def begin(
        self, release: PlanCertificate, *, releases: int, report: str, state: State, label: str
    ) -> None:
        """Charge a series with running totals, whose first state is already on the disk.

        Raises Refused if the series has begun; also raises like `Ledger.charge`.
        """
        verify_once(release)  # before the lock, because a proof may take long
        with self._store.appending() as (entries, log):
            books = Books.of(entries)
            account = books.account(self.dataset)
            account.check_statement(release, unit=self.unit, neighbours=self.neighbours)
            if (account.dataset, self.name) in books.series:
                raise Refused(
                    f"Another process has just begun the series {self.name!r}. Nothing was "
                    "charged or drawn. Start the release again."
                )
            more = {"label": label, RELEASES: releases, STATE: state.tag}
            self._charge(entries, log, release, more | ({REPORT: report} if report else {}))

    def _charge(
        self, entries: list[Entry], log: Log, release: PlanCertificate, more: dict[str, Any]
    ) -> int:
        """Charge the whole series, with `more` fields of its entry; return the entry's number.

        Raises OverBudget if the series doesn't fit, and Refused like `_check_same_releases`.
        """
        books, cost, text = Books.of(entries), Cost.of(release), release.to_json()
        PlanCertificate.from_json(text)  # checked, since `find` must be able to read it
        account = books.account(self.dataset)
        self._check_same_releases(entries, books, account.dataset, more.get(REPORT, ""))
        body = make_charge_entry("series", account, account.admit(cost), cost)
        return log.append(body | {"series": self.name} | more, certificate=text)

    def commit(self, file: StateFile, *, before: State, after: State, label: str) -> int:
        """Enter a drawn release in the ledger and in the state file, or in neither.

        Returns the number of the new entry.

        Raises Refused if the ledger or the state file has changed since `before`, for example by
        another process. Then nothing is entered.
        """
        with self._store.appending(kept=file.uri) as (entries, log):
            number, chain = self._chain(entries)
            published = Books.of(entries).published(number)
            if chain.tag != before.tag or published != before.position or not log.holds(before):
                raise Refused(
                    f"Another process has just changed the series {self.name!r}. This process "
                    "published nothing. Start the release again."
                )
            body = self._entry("use", entries, number, after, label)
            entry = log.append(body | {DIGEST: after.digest})
            log.keep(after)
            return entry

    def restart(self, state: State, *, expected: str | None, label: str) -> None:
        """Enter that a new tree begins with this state, which is already on the disk.

        Raises Refused if the ledger's tag is no longer the `expected` tag.
        """
        with self._store.appending() as (entries, log):
            number, chain = self._chain(entries)
            if chain.tag != expected:
                raise Refused(
                    f"Another process has just changed the series {self.name!r}. Nothing was "
                    "entered in the ledger. Start the command again."
                )
            log.append(self._entry("restart", entries, number, state, label))

    def _check_same_releases(
        self, entries: list[Entry], books: Books, dataset: str, report: str
    ) -> None:
        """Raise Refused if the account has a series with another report column.

        Only a unit "person in one release" is checked: a person in one week is another unit than a
        person in one month.
        """
        if not self.unit.endswith(IN_ONE_RELEASE):
            return
        for (owner, name), number in books.series.items():
            known = entries[number - 1].body.get(REPORT, "")
            if owner == dataset and known != report:
                raise Refused(
                    f"The account of {dataset!r} has the series {name!r}, whose report column is "
                    f"{known!r}. A series by {report!r} protects another unit, so open another "
                    "account for that series. Nothing was charged or drawn."
                )

    def _chain(self, entries: list[Entry]) -> tuple[int, ReleaseChain]:
        books = Books.of(entries)
        number = books.series.get((books.account(self.dataset).dataset, self.name))
        chain = None if number is None else books.chains.get(number)
        if number is None or chain is None:
            raise Refused(f"The ledger has no series {self.name!r} with running totals.")
        return number, chain

    def _entry(  # noqa: PLR0917 (only this class calls it)
        self, kind: str, entries: list[Entry], number: int, state: State, label: str
    ) -> dict[str, Any]:
        dataset = Books.of(entries).account(self.dataset).dataset
        named = {"kind": kind, "dataset": dataset, "plan": number, "release": state.position}
        return named | {"label": label, STATE: state.tag} | stamp()

    def check_left(self, published: int, releases: int) -> None:
        """Raise Refused if all releases of the series were published."""
        if published >= releases:
            raise Refused(
                f"The series {self.name!r} has {releases:,} releases, and all were published. "
                "Nothing was read, charged or drawn. To begin another series, choose another name "
                "in [series]; the new series is charged as well."
            )

    @property
    def _store(self) -> Store:
        return Store(path=self.path)
