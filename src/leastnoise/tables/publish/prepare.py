"""Prepare a release before it reads rows: rehearse all steps, and charge the ledger.

`Standing` is the state of a series in its ledger.
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
from leastnoise.tables.answers.kinds import lay_out_spec
from leastnoise.tables.layout import found_limits
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish import output
from leastnoise.tables.publish.seal import Seal, sha256_of
from leastnoise.tables.publish.table_checks import check_table
from leastnoise.tables.publish.write_tables import check_headers, write_tables
from leastnoise.tables.results.table import join_parts, key_names
from leastnoise.tables.rows import exact, integer_vectors
from leastnoise.tables.rows.left_out import count_cut_off
from leastnoise.tables.rows.source import open_engine
from leastnoise.tables.spec.values import LEAST, MAX_TEXT
from leastnoise.tables.statistics.base import LARGEST_WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leastnoise.ledger.ledger import Ledger
    from leastnoise.ledger.series import ChargedSeries, LedgerSeries
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.seal import SigningKey
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.spec.model import LedgerAccount, Query, Spec

_RESERVE = "rehearsal"
_ODD = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio. Its multiples modulo 2^64 have no pattern that compresses well."""


def write_texts(folder: Path, *, spec: Spec, plan: Plan, certificate: PlanCertificate) -> None:
    """Write the plan, its certificate and the spec, before any row is read.

    If the release finds bounds or a limit, `put_texts` writes plan and spec again later. Raises
    InvalidInput if `verify` could not read the texts, or would read another spec.
    """
    put_texts(folder, spec=spec, plan=plan, certificate=certificate)
    try:
        parse_object(output.read_text(folder, output.PLAN))
        PlanCertificate.from_json(output.read_text(folder, output.CERTIFICATE))
        stored = spec_file.loads(output.read_text(folder, output.SPEC))
    except (CertificateRejected, SourceError) as error:
        raise InvalidInput(
            f"The release would fail its own verification: {error} Nothing was spent."
        ) from error
    if stored != spec or [*map(_group_columns, stored.query)] != [*map(_group_columns, spec.query)]:
        raise InvalidInput(
            "The spec can't be stored, because the stored file would be read as another spec. "
            "Nothing was spent."
        )


def put_texts(folder: Path, *, spec: Spec, plan: Plan, certificate: PlanCertificate) -> None:
    """Write plan, certificate and spec without a check; raises OSError if the disk fails."""
    texts = {
        output.PLAN: plan.to_json(),
        output.CERTIFICATE: certificate.to_json(),
        output.SPEC: spec_file.dumps(spec),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _group_columns(query: Query) -> list[str]:
    """The grouping columns in order; equality of specs ignores the order."""
    return [*query.group_by]


def try_queries(source: Source, *, spec: Spec, plan: Plan) -> None:
    """Run every query on an empty table, for each limit that the release may find.

    Raises InvalidInput if the source can't be opened, or a query is too large for the engine.
    """
    finder = found_limits.finder_of(spec)
    plans = plan.with_limits or (plan,)
    reads = [answered.reads for known in plans for answered in known.answered]
    cells = [layout for read in reads for layout in read.cells]
    large = "has more keys, conditions or statistics than the engine can take"
    try:
        with open_engine(source, rehearsed=True) as engine:
            if finder is not None:
                counted = found_limits.layout_of(lay_out_spec(spec), finder)
                count_cut_off(engine, spec, finder, counted)
            integer_vectors.query_vectors(engine, spec, cells, salt="")
        for layout in (layout for read in reads for layout in read.groups):
            with open_engine(source, rehearsed=True) as engine:
                exact.group_totals(engine, spec, layout, salt="")
    except SourceError as error:
        raise InvalidInput(
            f"The queries can't be run: {error} Nothing was spent. If nothing is wrong with the "
            f"source, a query {large}. Split that query."
        ) from None
    except RecursionError:
        raise InvalidInput(f"A query {large}. Split that query. Nothing was spent.") from None


def try_tables(folder: Path, *, spec: Spec, plan: Plan, key: SigningKey | None = None) -> None:
    """Write every table with zeros, check it as `verify` does, and reserve space on the disk.

    Files with nearly the longest tables and a seal, each one block longer, reserve the space until
    `make_room` removes them. The length of a table of unlisted groups isn't known, so its file has
    no rows. Raises InvalidInput if a key or a name is too long for the format, or if the release
    would not verify. Also raises the errors of `write_tables`.
    """
    kind = spec.table_kind
    reserve = folder / _RESERVE
    reserve.mkdir()
    try:
        zeros: dict[str, Table] = {}
        for query in plan.by_query:
            # all groups get a row, since the number of published groups isn't known
            parts = [part.with_all_groups() for part in query.parts]
            tables = [table for part in parts for table in part.make_zeros()]
            zeros[query.name] = join_parts(query.layouts, tables)
        write_tables(reserve, plan, zeros.values())
        for query in plan.by_query:
            parts = [part.with_all_groups() for part in query.parts]
            check_table(reserve / f"{query.name}.{kind}", parts)
            check_headers(reserve, spec, query)
        for file in [*reserve.iterdir()]:
            file.unlink()  # else DuckDB would write a second file beside it
        longest = [_make_longest(zeros[query.name], query.layouts) for query in plan.by_query]
        write_tables(reserve, plan, longest)
    except CertificateRejected as error:
        raise InvalidInput(
            f"The release would fail its own verification: {error} Nothing was spent."
        ) from error
    texts = (output.PLAN, output.CERTIFICATE, output.SPEC)
    files = Seal.of(reserve, entry=None).files | {name: sha256_of(folder / name) for name in texts}
    release_number = None if spec.series is None else spec.series.releases
    largest_entry = 2**63 - 1  # the largest number of a ledger's entry
    seal = Seal(files=files, entry=largest_entry, release_number=release_number)
    seal.write(reserve, key)
    for file in reserve.iterdir():
        with file.open("ab") as opened:
            opened.write(bytes(2**12))  # one more block of the disk, since files take whole blocks
    output.sync_files(reserve)


def make_room(folder: Path) -> None:
    """Remove the files of `try_tables`, so that the release has their space."""
    shutil.rmtree(folder / _RESERVE)


def _make_longest(table: Table, parts: Sequence[TableShape]) -> Table:
    """The table with other numbers, which need nearly as much space in a file as any could.

    They are negative, have no pattern that compresses well, and use almost all digits of their
    type; most floats have a long exponent.
    """
    if not len(table):
        return table
    columns = dict(table.columns)
    values = [*columns][len(key_names(parts[0])) :]
    odd = (_ODD * count % 2**64 for count in itertools.count(1))
    for name in values:
        if isinstance(table.columns[name][0], str):
            continue  # a mark of suppression, shorter than the numbers that it replaces
        whole = isinstance(table.columns[name][0], int)
        bits = itertools.islice(odd, len(table))
        columns[name] = [
            -(number % LARGEST_WHOLE) if whole else _long_float(number) for number in bits
        ]
    return replace(table, columns=columns)


def _long_float(bits: int) -> float:
    """The float of these 64 bits, two of which are changed so that it is negative and finite."""
    return struct.unpack("<d", (bits & ~(1 << 62) | 1 << 63).to_bytes(8, "little"))[0]


# The ledger and the planner take half a second to import, so they are imported where they are used.
# ruff: noqa: PLC0415


@final
@dataclass(frozen=True, kw_only=True)
class Standing:
    """The state of a series in its ledger.

    By the spec, the series has `releases` in all, and `report` is the rule that assigns rows to
    releases (`Spec.report_rule`). `begun` is the ledger's record of the series; None before the
    first release.
    """

    series: LedgerSeries
    releases: int
    report: str
    begun: ChargedSeries | None

    @classmethod
    def find(cls, spec: Spec, folder: Path) -> Self | None:
        """The state of a spec's series; None without a series, or without a ledger.

        The ledger's path is relative to `folder`. Raises the errors of the ledger.
        """
        section, privacy = spec.series, spec.privacy
        if section is None or privacy.ledger is None:
            return None
        from leastnoise.ledger.series import LedgerSeries

        series = LedgerSeries(
            path=folder / privacy.ledger.path,
            name=section.name,
            unit=spec.unit_label,
            neighbours=privacy.neighbours,
            dataset=privacy.ledger.dataset,
        )
        return cls(
            series=series,
            releases=section.releases,
            report=spec.report_rule,
            begun=series.find(),
        )

    @classmethod
    def find_before_planning(cls, spec: Spec, folder: Path) -> Self | None:
        """The state of a spec's series, like `find`; None before the ledger exists.

        A plan needs no ledger.
        """
        account = spec.privacy.ledger
        known = account is not None and os.path.lexists(folder / account.path)
        return cls.find(spec, folder) if known else None

    @property
    def release_number(self) -> int:
        """Number of the next release, from 1 on."""
        return 1 if self.begun is None else self.begun.published + 1

    def in_words(self) -> str:
        """A sentence that says how many releases are published and how many are left."""
        published = self.release_number - 1
        left = self.releases - published
        return f"{published:,} of {self.releases:,} releases are published, and {left:,} left."

    def check_left(self) -> None:
        """Raise Refused if all releases were published."""
        if self.begun is not None:
            self.series.check_left(self.begun.published, self.releases)

    def folder(self, output: Path) -> Path:
        """The directory of the next release."""
        return self.folder_of(output, self.release_number)

    def folder_of(self, output: Path, number: int) -> Path:
        """The directory of a release, such as 01 to 52: leading zeros make names sort in order."""
        return output / f"{number:0{len(str(self.releases))}}"

    def plan(self, spec_layout: SpecLayout) -> Plan | None:
        """The plan that the ledger charged, for this spec; None before the first release.

        Raises Refused if the series was charged for another spec.
        """
        if self.begun is None:
            return None
        from leastnoise.tables.plan.make_plan import plan_as_certified

        try:
            self._check_same_rows(self.begun)
            return plan_as_certified(spec_layout, self.begun.certificate)
        except CertificateRejected as error:
            raise Refused(
                f"The series {self.series.name!r} was charged for another spec. {error} Undo the "
                "changes of the spec, or begin another series with another name in [series]. "
                "Nothing was read, charged or drawn."
            ) from None

    def _check_same_rows(self, begun: ChargedSeries) -> None:
        """Raise CertificateRejected unless the spec has as many releases as were charged.

        The rule that assigns rows to releases has to be unchanged, too. Otherwise a row could count
        in several releases.
        """
        if begun.releases != self.releases:
            why = f"It has {begun.releases:,} releases, the spec has {self.releases:,}."
            raise CertificateRejected(why)
        if begun.report != self.report:
            why = f"Its report column is {begun.report!r}, the spec has {self.report!r}."
            raise CertificateRejected(why)

    def publish(self, certificate: PlanCertificate, *, label: str) -> int:
        """Record the next release in the ledger; return the number of its entry.

        Raises the errors of the ledger.
        """
        return self.series.publish(
            certificate,
            index=self.release_number,
            releases=self.releases,
            report=self.report,
            label=label,
        )


@final
class _Statement(TypedDict):
    unit: str
    neighbours: str
    dataset: str | None


def check_account(spec: Spec, folder: Path, standing: Standing | None) -> None:
    """Raise, before planning, the ledger's errors that don't depend on the plan.

    A series that has begun is not checked, since nothing is charged.
    """
    account = spec.privacy.ledger
    if account is not None and not (standing and standing.begun):
        known = None if spec.privacy.epsilon == LEAST else spec.budget
        _ledger(account, folder).check_account(
            plan=account.plan, budget=known, **_statement(spec, account)
        )


def afford(spec: Spec, folder: Path, plan: Plan, standing: Standing | None) -> str | None:
    """The name of the filter that would admit the charge; None if no charge is due.

    Raises Refused if the ledger would not admit it, and the other errors of the ledger.
    """
    from leastnoise.tables.plan.plan import Plan

    certificate = _validate.instance(
        plan, Plan, name="plan", like="the result of plan()"
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
    """Enter the release in the ledger; return the number of its entry, or None without a ledger.

    The ledger is charged, unless it was charged before: for a preregistered plan, or for a series
    that has begun. Raises the errors of the ledger.
    """
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


def choose_label(spec: Spec, given: str | None) -> str:
    """The label of the ledger's entry: `given`, or a default from the spec.

    Raises InvalidArgument if `given` is malformed, or if the spec has no ledger.
    """
    if given is None:
        return (spec.report and spec.report.title) or ", ".join(query.name for query in spec.query)
    if spec.privacy.ledger is None:
        raise InvalidArgument(name="label", value=given, expected="a spec with a ledger")
    return _validate.text(given, name="label", longest=MAX_TEXT)


def _ledger(account: LedgerAccount, folder: Path) -> Ledger:
    from leastnoise.ledger.ledger import Ledger

    return Ledger(folder / account.path)


def _statement(spec: Spec, account: LedgerAccount) -> _Statement:
    privacy = spec.privacy
    return {
        "unit": spec.unit_label,
        "neighbours": privacy.neighbours,
        "dataset": account.dataset,
    }
