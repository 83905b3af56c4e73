"""Verify a released directory from its own files, without data and without trust in any number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate, _words
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.records import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, Refused, SourceError
from leastnoise.ledger.check import Place, charged_account
from leastnoise.tables.layout import found_bounds
from leastnoise.tables.layout.layout import SpecLayout
from leastnoise.tables.layout.table_shape import TableShape
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish import output, seal
from leastnoise.tables.publish.table_checks import check_table, is_close
from leastnoise.tables.publish.write_tables import check_headers
from leastnoise.tables.results.table_files import read_table, table_path

if TYPE_CHECKING:
    from leastnoise.guarantees.exact import Interval
    from leastnoise.ledger.account import Account
    from leastnoise.tables.spec.model import Spec


@final
@dataclass(frozen=True, kw_only=True)
class VerifiedRelease:
    """A release whose certificate holds for its spec.

    Attributes:
        spec: The stored spec.
        certificate: The stored certificate, proved again.
        plan: The plan, made again from spec and certificate.
        delta: Enclosure of the total δ at the spec's ε.
        layouts: The keys and columns of each part of a query; the parts of one query stand side
            by side in its table.
        rows: Number of rows of each table.
        entry: Number of the ledger's entry, as the release states it; None without a ledger.
        release_number: Position in the series, from 1 on; None without a series. The certificate
            is about all releases of the series.
        link: Place in the chain of a series with running totals; None otherwise.
        account: The account that the ledger charged; None if no ledger was given.
        signed: True if a signature was checked, False if the release is unsigned, None if it is
            signed but no key was given.
        other_files: Files in the directory that don't belong to the release.
    """

    spec: Spec
    certificate: PlanCertificate
    plan: Plan
    delta: Interval
    layouts: tuple[TableShape, ...]
    rows: dict[str, int]
    entry: int | None
    release_number: int | None
    link: seal.Link | None
    account: Account | None
    signed: bool | None
    other_files: tuple[str, ...]

    @property
    def planned_releases(self) -> int:
        """The number of releases of the series; 1 without a series."""
        return self.plan.planned_releases

    def __repr__(self) -> str:
        queries = _words.count_noun(len(self.spec.query), "query", "queries")
        budget = self.spec.budget
        if self.release_number is not None:
            number = _words.name_release(self.release_number, self.planned_releases)
            queries += f", {number}, together"
        rho = self.spec.privacy.rho
        guarantee = f"{_words.format_guarantee(budget.epsilon, budget.delta, rho)} for each"
        return _words.line(
            "VerifiedRelease", f"{queries}, proved {guarantee} {self.spec.protected}"
        )


def verify_directory(
    path: str | Path, *, ledger: str | Path | None = None, key: str | Path | None = None
) -> VerifiedRelease:
    """Verify the release in a directory: prove its guarantee again and check its tables.

    Every layout, sensitivity and share of the budget is derived from the stored spec and compared
    with the certificate, which is then proved. The plan is made again and compared. In the tables
    these are checked:

    - columns and keys; for groups that nobody listed also that keys are distinct and in order, and
      that each published count that decides reaches its threshold,
    - the stated deviations of counts and sums, and intervals as far as they follow from values,
    - that quantiles are candidates,
    - that margins, levels and cumulative counts add up exactly, and that whole numbers among them
      follow from their intervals.

    Then the SHA-256 of each file is compared with the release's record. If bounds of columns were
    found, they have to follow from the published quantiles.

    Not promised: that the values came out of the mechanism, or that the spec names the true source.
    Without a key, someone may have replaced both a table and its SHA-256.

    Args:
        path: The directory.
        ledger: A ledger, which is proved again too, and has to contain the release.
        key: PEM file of a public Ed25519 key, by which the release has to be signed.

    Returns:
        The verified release.

    Raises:
        SourceError: The directory can't be read.
        InvalidInput: `key` is not a file with a public Ed25519 key.
        CertificateRejected: The release is false or damaged; names the reason.
        LedgerRejected: The ledger was edited, or the release is not in it.
    """
    folder = _validate.path(path, name="path")
    public = None if key is None else seal.public_key(_validate.path(key, name="key"))
    spec_layout = _read_spec(folder)
    spec = spec_layout.spec
    certificate = _read_certificate(folder)
    sealed = seal.Seal.read(folder)
    _check_charge(spec, sealed)
    if sealed.link is not None and sealed.release_number is not None:
        number, first = sealed.release_number, sealed.link.first
        if first > number:
            raise CertificateRejected(
                f"{seal.RECORD} is for release {number}, but its totals begin only at release "
                f"{first}."
            )
        spec_layout = spec_layout.at_release(number, first=first)
    plan = _rebuild_plan(folder, spec_layout, certificate)
    delta = certificate.verify()
    kind = spec.table_kind
    rows: dict[str, int] = {}
    for query in plan.by_query:
        rows[query.name] = check_table(folder / f"{query.name}.{kind}", query.parts)
        check_headers(folder, spec, query)
    for answered in plan.answered:
        answered.check(folder, kind)
    _check_found_bounds(plan, folder, kind)
    texts = [output.PLAN, output.CERTIFICATE, output.SPEC]
    files = dict.fromkeys(table_path(folder, name, kind).name for name in rows)
    sealed.check(folder, names=[*texts, *files])
    if spec.series is not None and spec.series.totals:
        from leastnoise.tables.publish import running_totals  # noqa: PLC0415 (SQLite)

        running_totals.check_link(plan, sealed, folder)
    if public is not None:
        seal.check_signature(folder, public)
    unchecked = None if seal.is_signed(folder) else False
    return VerifiedRelease(
        spec=spec,
        certificate=certificate,
        plan=plan,
        delta=delta,
        layouts=tuple(layout for query in plan.by_query for layout in query.layouts),
        rows=rows,
        entry=sealed.entry,
        release_number=sealed.release_number,
        link=sealed.link,
        account=None if ledger is None else _find_account(spec, certificate, sealed, ledger),
        other_files=seal.find_other_files(folder, sealed),
        signed=True if public is not None else unchecked,
    )


def _check_found_bounds(plan: Plan, folder: Path, kind: str) -> None:
    """Raise CertificateRejected unless the plan's found bounds follow from the published tables."""
    columns = found_bounds.columns_by_query(plan.spec)
    for part in (answer for answer in plan.quantiles if answer.name in columns):
        name = columns[part.name]
        stored = read_table(folder / f"{part.name}.{kind}", [part.layout])
        chosen = part.read_chosen(stored, kind)
        known = plan.spec.columns[name]
        if known.is_open or known.limits != found_bounds.pick_bounds(known, chosen):
            why = f"The bounds of {name!r} are not the bounds that {part.name} found."
            raise CertificateRejected(why)


def _check_charge(spec: Spec, sealed: seal.Seal) -> None:
    """Raise CertificateRejected if seal and spec disagree about a ledger or a series."""
    release_number = sealed.release_number
    if (spec.privacy.ledger is None) != (sealed.entry is None):
        raise CertificateRejected(f"Only one of {seal.RECORD} and the spec names a ledger.")
    if (spec.series is None) != (release_number is None):
        raise CertificateRejected(
            f"Only one of {seal.RECORD} and the spec says that the release is part of a series."
        )
    series = spec.series
    if (series is not None and series.totals) != (sealed.link is not None):
        raise CertificateRejected(
            f"The spec says totals = true, but {seal.RECORD} records no running totals."
            if sealed.link is None
            else f"{seal.RECORD} records running totals, but the spec doesn't say totals = true."
        )
    if release_number is not None and series is not None and release_number > series.releases:
        raise CertificateRejected(
            f"{seal.RECORD} names release {release_number:,}, but the series has only "
            f"{series.releases:,}."
        )


def _find_account(
    spec: Spec, certificate: PlanCertificate, sealed: seal.Seal, ledger: str | Path
) -> Account:
    """The account that the ledger charged for the release.

    Raises LedgerRejected for an edited ledger or a ledger without the release. Raises
    CertificateRejected if the release states no charge, or if the account has another name, unit or
    neighbours than the spec says.
    """
    if sealed.entry is None:
        raise CertificateRejected(
            "The release states that it was charged to no ledger, so no ledger can be checked."
        )
    position = None
    if spec.series is not None and sealed.release_number is not None:
        position = Place(
            release=sealed.release_number,
            releases=spec.series.releases,
            report=spec.report_rule,
            first=None if sealed.link is None else sealed.link.first,
            digest=None if sealed.link is None else sealed.link.digest,
        )
    account = charged_account(ledger, sealed.entry, certificate, position=position)
    named = spec.privacy.ledger.dataset if spec.privacy.ledger else None
    try:
        account.check_statement(
            certificate, unit=spec.unit_label, neighbours=spec.privacy.neighbours
        )
    except Refused as error:
        raise CertificateRejected(f"Entry {sealed.entry} of {ledger}: {error}") from None
    if named not in {None, account.dataset}:
        why = f"it belongs to the account {account.dataset!r}, but the spec names {named!r}"
        raise CertificateRejected(f"Entry {sealed.entry} of {ledger}: {why}.")
    return account


def _read_spec(folder: Path) -> SpecLayout:
    if not folder.is_dir():
        raise SourceError(f"Expected the directory of a release, found none at {folder}.")
    text = output.read_text(folder, output.SPEC)
    try:
        return spec_file.lay_out(spec_file.parse_toml(text))
    except InvalidInput as error:
        raise CertificateRejected(f"{output.SPEC} is not a valid spec. {error}") from None


def _read_certificate(folder: Path) -> PlanCertificate:
    text = output.read_text(folder, output.CERTIFICATE)
    try:
        return PlanCertificate.from_json(text)
    except InvalidInput:
        raise
    except ValueError:  # int() raises an error for thousands of digits
        raise CertificateRejected(
            f"{output.CERTIFICATE} has a number with too many digits."
        ) from None


def _rebuild_plan(folder: Path, spec_layout: SpecLayout, certificate: PlanCertificate) -> Plan:
    """Rebuild the plan from spec and certificate, and compare it with plan.json.

    Raises CertificateRejected if they differ, or if the certificate isn't about the spec.
    """
    try:
        plan = plan_as_certified(spec_layout, certificate)
        wanted = plan.to_record()
    except CertificateRejected:
        raise
    except (Refused, InvalidInput) as error:
        raise CertificateRejected(str(error)) from None
    try:
        stored = parse_object(output.read_text(folder, output.PLAN))
    except InvalidInput as error:
        raise CertificateRejected(f"{output.PLAN} is missing or unreadable. {error}") from None
    if not _are_alike(stored, wanted):
        raise CertificateRejected(
            f"{output.PLAN} differs from the plan that follows from the spec and the certificate."
        )
    return plan


def _are_alike(stored: Any, wanted: Any) -> bool:
    """True if two JSON values are equal, up to rounding of floats on different machines."""
    if type(stored) is not type(wanted):
        return False
    if isinstance(stored, dict):
        return stored.keys() == wanted.keys() and all(
            _are_alike(stored[k], wanted[k]) for k in stored
        )
    if isinstance(stored, list):
        return len(stored) == len(wanted) and all(map(_are_alike, stored, wanted))
    return is_close(stored, wanted) if isinstance(stored, float) else stored == wanted
