"""What a release does before it reads a row: tried but for rows and noise, then charged.

What it asks of the ledger that its spec names is here, and where a series stands in it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypedDict, final

from leastnoise import _validate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.records import parse_object
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    InvalidInput,
    Refused,
    SourceError,
)
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish import output
from leastnoise.tables.publish.seal import Seal, sum_of
from leastnoise.tables.publish.table_checks import check_table
from leastnoise.tables.results.table import joined, key_names
from leastnoise.tables.results.table_files import write_table
from leastnoise.tables.rows import bounding, exact
from leastnoise.tables.rows.source import open_engine
from leastnoise.tables.spec.values import LEAST, MAX_TEXT
from leastnoise.tables.statistics.base import LARGEST_WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leastnoise.ledger.ledger import Ledger
    from leastnoise.ledger.series import ChargedSeries, LedgerSeries
    from leastnoise.tables.layout.layout import LaidOut
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.seal import SigningKey
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.spec.model import LedgerAccount, Query, Spec

_RESERVE = "rehearsal"
_ODD = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: its multiples modulo 2^64 have no pattern that could be packed."""


def write_texts(folder: Path, *, spec: Spec, plan: Plan, certificate: PlanCertificate) -> None:
    """Write the plan, its certificate and the spec, which rows and noise change by bounds alone.

    Raises InvalidInput if `verify` couldn't read them again.
    """
    put_texts(folder, spec=spec, plan=plan, certificate=certificate)
    try:
        parse_object(output.read_text(folder, output.PLAN))
        PlanCertificate.from_json(output.read_text(folder, output.CERTIFICATE))
        stored = spec_file.loads(output.read_text(folder, output.SPEC))
    except (CertificateRejected, SourceError) as error:
        raise InvalidInput(f"The release would not verify: {error} Nothing was spent.") from error
    if stored != spec or list(map(_grouped, stored.query)) != list(map(_grouped, spec.query)):
        raise InvalidInput("The spec doesn't read back as it is. Nothing was spent.")


def put_texts(folder: Path, *, spec: Spec, plan: Plan, certificate: PlanCertificate) -> None:
    """Write them; raises OSError."""
    texts = {
        output.PLAN: plan.to_json(),
        output.CERTIFICATE: certificate.to_json(),
        output.SPEC: spec_file.dumps(spec),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _grouped(query: Query) -> list[str]:
    """Return what a query is grouped by, in order, which equal specs may differ in."""
    return [*query.group_by]


def try_queries(found: Source, *, spec: Spec, plan: Plan) -> None:
    """Ask every query of `found` as the release will, but of no row.

    Raises InvalidInput if it can't be opened, or a query is too large for the engine.
    """
    reads = [answered.reads for answered in plan.answered]
    cells = [layout for one in reads for layout in one.cells]
    large = "has more keys, conditions or statistics than the engine can take"
    try:
        with open_engine(found, rehearsed=True) as engine:
            bounding.query_vectors(engine, spec, cells, salt="")
        for layout in (layout for one in reads for layout in one.groups):
            with open_engine(found, rehearsed=True) as engine:
                exact.group_totals(engine, spec, layout, salt="")
    except SourceError as error:
        raise InvalidInput(
            f"The queries can't be asked: {error} Nothing was spent. Where nothing is wrong with "
            f"the source, a query {large}: split it."
        ) from None
    except RecursionError:
        raise InvalidInput(f"A query {large}. Split it. Nothing was spent.") from None


def try_tables(folder: Path, *, spec: Spec, plan: Plan, key: SigningKey | None = None) -> None:
    """Write every table as one of zeros, check it as `verify` does, and keep room for the release.

    Until `make_room` the disk then holds, in place of each table, one that is at least as long, and
    beside them a seal as long as theirs will be. A table of groups that nobody listed is written
    empty, since its length isn't known. Raises InvalidInput if a key or a name is more than the
    format, or the disk, can hold.
    """
    kind = spec.output.format if spec.output else "parquet"
    reserve = folder / _RESERVE
    reserve.mkdir()
    try:
        for query in plan.by_query:
            # every group's row: how many are published isn't known
            parts = [part.with_all_groups() for part in query.parts]
            tables = [table for part in parts for table in part.make_zeros()]
            zeros = joined(query.layouts, tables)
            written = write_table(zeros, reserve, kind)
            check_table(written, parts)
            if len(zeros):
                written.unlink()  # DuckDB would write beside it
                write_table(_longest(zeros, query.layouts), reserve, kind)
    except CertificateRejected as error:
        raise InvalidInput(f"The release would not verify: {error} Nothing was spent.") from error
    texts = (output.PLAN, output.CERTIFICATE, output.SPEC)
    files = Seal.of(reserve, entry=None).files | {name: sum_of(folder / name) for name in texts}
    place = None if spec.series is None else spec.series.releases
    largest_entry = 2**63 - 1  # of a ledger
    Seal(files=files, entry=largest_entry, place=place).write(reserve, key)
    for file in reserve.iterdir():
        with file.open("ab") as opened:
            opened.write(bytes(2**12))  # by which files take room on a disk
    output.sync_files(reserve)


def make_room(folder: Path) -> None:
    """Take away what `try_tables` wrote, so that the release has the room for itself."""
    shutil.rmtree(folder / _RESERVE)


def _longest(table: Table, parts: Sequence[TableShape]) -> Table:
    """Return the table with numbers that take at least as many letters, and bytes, as any others.

    They are all different, with no digit to spare and a long exponent.
    """
    columns = dict(table.columns)
    values = [*columns][len(key_names(parts[0])) :]
    odd = (_ODD * count % 2**64 for count in itertools.count(1))
    for name in values:
        whole = isinstance(table.columns[name][0], int)
        bits = itertools.islice(odd, len(table))
        columns[name] = [-(one % LARGEST_WHOLE) if whole else _long_float(one) for one in bits]
    return replace(table, columns=columns)


def _long_float(bits: int) -> float:
    """Return the float of these 64 bits, but for two: it is negative, and it is finite."""
    return struct.unpack("<d", (bits & ~(1 << 62) | 1 << 63).to_bytes(8, "little"))[0]


# The ledger and what plans take half a second to import: done where they are used.
# ruff: noqa: PLC0415


@final
@dataclass(frozen=True, kw_only=True)
class Standing:
    """The next release of a series, which is at `place`, from 1 on, of so many `releases`.

    `begun` is what the ledger has of it; None before the first.
    """

    series: LedgerSeries
    releases: int
    begun: ChargedSeries | None

    @classmethod
    def find(cls, spec: Spec, folder: Path) -> Self | None:
        """Return where the series of a spec in `folder` stands; None without a series.

        Raises what the ledger does.
        """
        asked, privacy = spec.series, spec.privacy
        if asked is None or privacy.ledger is None:
            return None
        from leastnoise.ledger.series import LedgerSeries

        series = LedgerSeries(
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
        return self.series.publish(certificate, index=self.place, label=label)


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
