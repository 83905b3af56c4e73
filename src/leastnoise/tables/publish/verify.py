"""Check a released directory from what is in it: no data, and nothing taken on trust."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate, _words
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.records import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, Refused, SourceError
from leastnoise.ledger.check import charged_account
from leastnoise.tables.layout import finding
from leastnoise.tables.layout.layout import LaidOut
from leastnoise.tables.layout.table_shape import TableShape
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish import output, seal
from leastnoise.tables.publish.table_checks import check_table, is_close
from leastnoise.tables.results.table_files import read_table

if TYPE_CHECKING:
    from leastnoise.guarantees.exact import Interval
    from leastnoise.ledger.account import Account
    from leastnoise.tables.spec.model import Spec


@final
@dataclass(frozen=True, kw_only=True)
class VerifiedRelease:
    """A release whose certificate holds for its spec; `delta` encloses the total δ at its ε.

    `plan` is the one that was made again. `layouts` say what each table holds, those of one query's
    parts side by side, and `rows` how many rows it has. `entry` is the number that its ledger's
    entry has, as the release says, and `account` what that ledger charged, if it was given.
    Of a series `place` is which of its releases it is, and the certificate is about all of them.
    `signed` says whether a signature was checked; it is None if there is one that wasn't. `others`
    are files in the directory that aren't of the release.
    """

    spec: Spec
    certificate: PlanCertificate
    plan: Plan
    delta: Interval
    layouts: tuple[TableShape, ...]
    rows: dict[str, int]
    entry: int | None
    place: int | None
    account: Account | None
    signed: bool | None
    others: tuple[str, ...]

    def __repr__(self) -> str:
        queries = _words.count_noun(len(self.spec.query), "query", "queries")
        budget = self.spec.budget
        if self.place is not None:
            queries += f", {_words.name_release(self.place, self.certificate.releases)}, together"
        said = f"{_words.format_guarantee(budget.epsilon, budget.delta)} for each"
        return _words.line(
            "VerifiedRelease", f"{queries}, proved {said} {self.spec.privacy.person}"
        )


def verify_directory(
    path: str | Path, *, ledger: str | Path | None = None, key: str | Path | None = None
) -> VerifiedRelease:
    """Return the release in the directory `path`, proved again.

    Derives every layout, sensitivity and share of the budget from the stored spec, compares each
    block's certificate with them, proves all blocks and all together, makes the plan again and
    compares it, and checks the columns and keys of the tables, the stated deviations of counts and
    sums, that quantiles are candidates, the intervals as far as value and noise say them, of groups
    that nobody listed that each row reaches the threshold and that keys are distinct and in order,
    that margins, levels and cumulative counts add up exactly, that whole ones of these follow from
    their intervals, and that no file was changed since (by the SHA-256 that the release wrote).
    With a `ledger` all of that is proved again too, and the release has to be in it; with a `key`,
    a PEM file of a public Ed25519 key, the release has to be signed by it. Raises SourceError if
    the directory can't be read, CertificateRejected, with the reason, if anything in it is false,
    and what `check_ledger` does.

    Not promised: that the values of the tables came out of the mechanism, that the source was what
    it says, or, without a key, that nobody wrote both a table and its SHA-256 anew.
    """
    folder = _validate.path(path, name="path")
    public = None if key is None else seal.public_key(_validate.path(key, name="key"))
    laid = _stored_spec(folder)
    spec = laid.spec
    certificate = _stored_certificate(folder)
    plan = _planned(folder, laid, certificate)
    delta = certificate.verify()
    kind = spec.output.format if spec.output else "parquet"
    rows: dict[str, int] = {}
    for query in plan.by_query:
        rows[query.name] = check_table(folder / f"{query.name}.{kind}", query.parts)
    for answered in plan.answered:
        answered.check(folder, kind)
    _check_found(plan, folder, kind)
    sealed = seal.Seal.read(folder)
    texts = [output.PLAN, output.CERTIFICATE, output.SPEC]
    sealed.check(folder, names=[*texts, *(f"{name}.{kind}" for name in rows)])
    _check_charge(spec, sealed)
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
        place=sealed.place,
        account=None if ledger is None else _charged(spec, certificate, sealed, ledger),
        others=seal.others(folder, sealed),
        signed=True if public is not None else unchecked,
    )


def _check_found(plan: Plan, folder: Path, kind: str) -> None:
    """Raise CertificateRejected unless found bounds are those that the tables say, by the rule."""
    columns = finding.columns_by_query(plan.spec)
    for part in (one for one in plan.quantiles if one.name in columns):
        name = columns[part.name]
        told = read_table(folder / f"{part.name}.{kind}", [part.layout])
        chosen = part.read_chosen(told, kind)
        known = plan.spec.columns[name]
        if known.is_open or known.limits != finding.bounds_from(known, chosen):
            why = f"The bounds of {name!r} are not those that {part.name} has found."
            raise CertificateRejected(why)


def _check_charge(spec: Spec, sealed: seal.Seal) -> None:
    """Reject a seal unless it says a ledger's entry, and a place in a series, as the spec does."""
    place = sealed.place
    if (spec.privacy.ledger is None) != (sealed.entry is None):
        raise CertificateRejected(f"{seal.RECORD} and the spec differ in whether a ledger is used.")
    if (spec.series is None) != (place is None):
        raise CertificateRejected(
            f"{seal.RECORD} and the spec differ in whether it is of a series."
        )
    if place is not None and place > spec.releases:
        raise CertificateRejected(
            f"{seal.RECORD} names release {place:,}, but the series has {spec.releases:,}."
        )


def _charged(
    spec: Spec, certificate: PlanCertificate, sealed: seal.Seal, ledger: str | Path
) -> Account:
    """Return the account that was charged; raises CertificateRejected if none was."""
    if sealed.entry is None:
        raise CertificateRejected("The release says that no ledger was charged for it.")
    account = charged_account(ledger, sealed.entry, certificate, index=sealed.place)
    named = spec.privacy.ledger.dataset if spec.privacy.ledger else None
    try:
        account.check_statement(
            certificate, unit=spec.privacy.unit_label, neighbours=spec.privacy.neighbours
        )
    except Refused as error:
        raise CertificateRejected(f"Entry {sealed.entry} of {ledger}: {error}") from None
    if named not in {None, account.dataset}:
        why = f"it is of the account {account.dataset!r}, the spec names {named!r}"
        raise CertificateRejected(f"Entry {sealed.entry} of {ledger}: {why}.")
    return account


def _stored_spec(folder: Path) -> LaidOut:
    if not folder.is_dir():
        raise SourceError(f"Expected the directory of a release, found none at {folder}.")
    text = output.read_text(folder, output.SPEC)
    try:
        return spec_file.lay_out(spec_file.parse_toml(text))
    except InvalidInput as error:
        raise CertificateRejected(f"{output.SPEC} is not a spec. {error}") from None


def _stored_certificate(folder: Path) -> PlanCertificate:
    text = output.read_text(folder, output.CERTIFICATE)
    try:
        return PlanCertificate.from_json(text)
    except InvalidInput:
        raise
    except ValueError:  # a number of thousands of digits
        raise CertificateRejected(
            f"{output.CERTIFICATE} holds a number that is too long."
        ) from None


def _planned(folder: Path, laid: LaidOut, certificate: PlanCertificate) -> Plan:
    """Return the plan that spec and certificate make; plan.json, which people read, says the same.

    Raises CertificateRejected unless it does, and unless the certificate is about the spec.
    """
    try:
        plan = plan_as_certified(laid, certificate)
        wanted = plan.to_record()
    except CertificateRejected:
        raise
    except (Refused, InvalidInput) as error:
        raise CertificateRejected(str(error)) from None
    try:
        told = parse_object(output.read_text(folder, output.PLAN))
    except InvalidInput as error:
        raise CertificateRejected(f"{output.PLAN} is missing or unreadable. {error}") from None
    if not _alike(told, wanted):
        raise CertificateRejected(f"{output.PLAN} says other than what is certified.")
    return plan


def _alike(told: Any, wanted: Any) -> bool:
    """Say whether two JSON values are the same, floats but for the machine."""
    if type(told) is not type(wanted):
        return False
    if isinstance(told, dict):
        return told.keys() == wanted.keys() and all(_alike(told[k], wanted[k]) for k in told)
    if isinstance(told, list):
        return len(told) == len(wanted) and all(map(_alike, told, wanted))
    return is_close(told, wanted) if isinstance(told, float) else told == wanted
