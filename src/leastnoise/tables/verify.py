"""Check a released directory from what is in it: no data, and nothing taken on trust."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import duckdb

from leastnoise import _validate, _words
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.certificate.strict_json import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, Refused, SourceError
from leastnoise.ledger.check import charged_account
from leastnoise.tables import output, seal, spec_file, together
from leastnoise.tables.baselines import Baselines
from leastnoise.tables.columns import SUFFIXES, result_columns
from leastnoise.tables.intervals import wrong_interval
from leastnoise.tables.joint import split_noise
from leastnoise.tables.layout import Layout, of_block
from leastnoise.tables.noise_error import NoiseError, check_range
from leastnoise.tables.plan import JOIN, share_of
from leastnoise.tables.plan_record import block_record, plan_record
from leastnoise.tables.results import LARGEST_WHOLE, key_columns
from leastnoise.tables.table_files import as_read, read_table

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.interval import Interval
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.ledger.account import Account
    from leastnoise.noise.base import Noise
    from leastnoise.tables.spec import Spec

_WHOLE = re.compile("0|-?[1-9][0-9]{0,15}")  # as it is written
# Floats of another machine: a scale that is found again may be off by 1e-9.
_CLOSE = 1e-7


@final
@dataclass(frozen=True, kw_only=True)
class VerifiedRelease:
    """A release whose certificate holds for its spec; `delta` encloses the total δ at its ε.

    `layouts` say what each table holds. `entry` is the number that its ledger's entry has, as the
    release says, and `account` what that ledger charged, if it was given. `signed` says whether a
    signature was checked; it is None if there is one that wasn't. `others` are files in the
    directory that aren't of the release.
    """

    spec: Spec
    certificate: PlanCertificate
    delta: Interval
    layouts: tuple[Layout, ...]
    entry: int | None
    account: Account | None
    signed: bool | None
    others: tuple[str, ...]

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each table has, by name."""
        return {layout.name: layout.cells for layout in self.layouts}

    def __repr__(self) -> str:
        queries = _words.counted(len(self.spec.query), "query", "queries")
        budget = self.spec.budget
        said = f"{_words.private(budget.epsilon, budget.delta)} for each"
        return _words.line(
            "VerifiedRelease", f"{queries}, proved {said} {self.spec.privacy.unit_label}"
        )


def verify_directory(
    path: str | Path, *, ledger: str | Path | None = None, key: str | Path | None = None
) -> VerifiedRelease:
    """Return the release in the directory `path`, proved again.

    Derives every layout, sensitivity and share of the budget from the stored spec, compares each
    block's certificate with them, proves all blocks and all together, makes the plan again
    and compares it, and checks the columns and keys of the tables, the stated deviations of counts
    and sums, the intervals as far as value and noise say them, and that no file was changed since
    (by the SHA-256 that the release wrote). With a
    `ledger` all of that is proved again too, and the release has to be in it; with a `key`, a PEM
    file of a public Ed25519 key, the release has to be signed by it. Raises SourceError if the
    directory can't be read, CertificateRejected, with the reason, if anything in it is false, and
    what `check_ledger` does.

    Not promised: that the values of the tables came out of the mechanism, that the source was what
    it says, or, without a key, that nobody wrote both a table and its SHA-256 anew.
    """
    folder = _validate.path(path, name="path")
    public = None if key is None else seal.public_key(_validate.path(key, name="key"))
    spec = _stored_spec(folder)
    certificate = _stored_certificate(folder)
    if certificate.budget != spec.budget:
        raise CertificateRejected("The certificate's budget is not the spec's.")
    draws = _draws(spec, certificate)
    for draw in draws:
        share = share_of(spec, draw.members)
        if certificate.rule == COMPOSED:  # its ε is what the noise is worth alone, its δ the share
            share = replace(share, epsilon=draw.certificate.budget.epsilon)
        _check_draw(draw, share, spec.privacy.neighbours)
    _check_plan(folder, spec, certificate, draws)
    delta = certificate.verify()
    kind = spec.output.format if spec.output else "parquet"
    layouts = tuple(layout for draw in draws for layout in draw.layouts)
    for draw in draws:
        for layout, first in zip(draw.layouts, draw.firsts, strict=True):
            noise = NoiseError.of(draw.certificate, first)
            check_table(folder / f"{layout.name}.{kind}", layout, noise)
    sealed = seal.Seal.read(folder)
    texts = [output.PLAN, output.CERTIFICATE, output.SPEC]
    sealed.check(folder, names=[*texts, *(f"{layout.name}.{kind}" for layout in layouts)])
    if public is not None:
        seal.check_signature(folder, public)
    unchecked = None if seal.is_signed(folder) else False
    return VerifiedRelease(
        spec=spec,
        certificate=certificate,
        delta=delta,
        layouts=layouts,
        entry=sealed.entry,
        account=None if ledger is None else _charged(spec, certificate, sealed, ledger),
        others=seal.others(folder, sealed),
        signed=True if public is not None else unchecked,
    )


def _charged(
    spec: Spec, certificate: PlanCertificate, sealed: seal.Seal, ledger: str | Path
) -> Account:
    """Return the account that was charged; raises CertificateRejected if none was."""
    if sealed.entry is None:
        raise CertificateRejected("The release says that no ledger was charged for it.")
    account = charged_account(ledger, sealed.entry, certificate)
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


def _stored_spec(folder: Path) -> Spec:
    if not folder.is_dir():
        raise SourceError(f"Expected the directory of a release, found none at {folder}.")
    text = output.read_text(folder, output.SPEC)
    try:
        return spec_file.loads(text)
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


@final
@dataclass(frozen=True, kw_only=True)
class _Draw:
    """One draw of noise: its certificate, and the blocks that it serves by index and layout."""

    certificate: Certificate
    members: tuple[int, ...]
    layouts: tuple[Layout, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the blocks."""
        return tuple(layout.name for layout in self.layouts)

    @property
    def firsts(self) -> tuple[int, ...]:
        """The first coordinate of each block in the draw."""
        ends = itertools.accumulate(layout.dimension for layout in self.layouts)
        return (0, *ends)[: len(self.layouts)]


def _draws(spec: Spec, certificate: PlanCertificate) -> list[_Draw]:
    """Return the certified draws; raises CertificateRejected unless each query is in one of them.

    Each in the order of the spec, as are the draws by their first.
    """
    names = [query.name for query in spec.query]
    groups = [name.split(JOIN) for name, _ in certificate.blocks]
    if sorted(name for group in groups for name in group) != sorted(names):
        raise CertificateRejected("The certificate's blocks are not the spec's queries.")
    members = [tuple(names.index(name) for name in group) for group in groups]
    if members != sorted(members) or any(one != tuple(sorted(one)) for one in members):
        raise CertificateRejected("The certificate's blocks are not in the spec's order.")
    return [
        _Draw(certificate=block, members=group, layouts=_layouts(spec, group, block))
        for group, (_, block) in zip(members, certificate.blocks, strict=True)
    ]


def _layouts(spec: Spec, group: tuple[int, ...], block: Certificate) -> tuple[Layout, ...]:
    """Return the layouts under which a unit moves the blocks as their certificate says."""
    ways = [of_block(spec, spec.query[index]) for index in group]
    layouts = together.layouts_for(ways, block.sensitivity)
    if layouts is None:
        where = JOIN.join(spec.query[index].name for index in group)
        raise CertificateRejected(
            f"Block {where!r}: its sensitivity is not one that the spec implies."
        )
    return layouts


def _check_draw(draw: _Draw, share: Budget, neighbours: Neighbours) -> None:
    block, where = draw.certificate, f"Block {JOIN.join(draw.names)!r}"
    coordinates = sum(layout.dimension for layout in draw.layouts)
    if block.dimension != coordinates:
        raise CertificateRejected(
            f"{where}: the spec has {coordinates} coordinates, the certificate {block.dimension}."
        )
    if block.budget != share:
        raise CertificateRejected(f"{where}: its budget is not the share that its weight gives.")
    if block.sampling_rate != 1:  # less noise would do for a sample, and no release is of one
        raise CertificateRejected(f"{where}: it is about samples, the release is of all rows.")
    if block.compositions != 1:  # more noise than is needed does no harm, but isn't the plan's
        raise CertificateRejected(f"{where}: it is about several releases, there was one.")
    if block.grid is None:
        raise CertificateRejected(f"{where}: it has no grid, which every release is rounded to.")
    if block.neighbours != neighbours:
        raise CertificateRejected(f"{where}: it isn't about {neighbours} neighbours, the spec is.")


def _check_plan(folder: Path, spec: Spec, certificate: PlanCertificate, draws: list[_Draw]) -> None:
    """Compare plan.json, which people read, with what spec and certificate make of it."""
    try:
        told = parse_object(output.read_text(folder, output.PLAN))
    except InvalidInput as error:
        raise CertificateRejected(f"{output.PLAN} is missing or unreadable. {error}") from None
    records: dict[int, dict[str, Any]] = {}
    layouts: dict[int, Layout] = {}
    for draw in draws:
        composed = certificate.rule == COMPOSED
        split = _split(draw.certificate, share_of(spec, draw.members)) if composed else None
        for index, layout, first in zip(draw.members, draw.layouts, draw.firsts, strict=True):
            try:
                baselines = Baselines.of(layout, share_of(spec, (index,)))
                check_range(layout, draw.certificate, baselines, first)
            except (Refused, InvalidInput) as error:
                raise CertificateRejected(str(error)) from None
            layouts[index] = layout
            records[index] = block_record(
                layout,
                group=draw.names,
                first=first,
                certificate=draw.certificate,
                baselines=baselines,
                split=split,
            )
    shown = [layouts[index] for index in sorted(layouts)]
    blocks = [records[index] for index in sorted(records)]
    if not _alike(told, plan_record(certificate, spec.privacy.unit_label, shown, blocks)):
        raise CertificateRejected(f"{output.PLAN} says other than what is certified.")


def _split(block: Certificate, share: Budget) -> Noise:
    try:
        return split_noise(block, share)
    except Refused as error:
        raise CertificateRejected(f"No split to compare with: {error}") from None


def _alike(told: Any, wanted: Any) -> bool:
    """Say whether two JSON values are the same, floats within `_CLOSE`."""
    if type(told) is not type(wanted):
        return False
    if isinstance(told, dict):
        return told.keys() == wanted.keys() and all(_alike(told[k], wanted[k]) for k in told)
    if isinstance(told, list):
        return len(told) == len(wanted) and all(map(_alike, told, wanted))
    return _close(told, wanted) if isinstance(told, float) else told == wanted


def _close(told: float, wanted: float) -> bool:
    return math.isclose(told, wanted, rel_tol=_CLOSE)


def check_table(path: Path, layout: Layout, noise: NoiseError) -> None:
    """Check names, keys, rows and form, the `_std` of counts and sums, and all intervals.

    These are functions of values and noise (see `intervals`). The form: whole and not negative,
    where the spec says so.
    """
    try:
        columns = read_table(path, layout)
        deviations = {
            label: [float(value) for value in columns[label]]
            for label in _deviations(layout, noise)
            if label in columns
        }
    except SourceError as error:
        raise CertificateRejected(
            f"The table {path.name} is missing or unreadable. {error}"
        ) from None
    except (OSError, ValueError, TypeError, duckdb.Error):
        raise CertificateRejected(f"The table {path.name} is missing or unreadable.") from None
    if list(columns) != list(result_columns(layout)):
        raise CertificateRejected(f"The table {path.name} has other columns than the spec says.")
    rows = len(next(iter(columns.values())))
    if rows != layout.cells:
        raise CertificateRejected(
            f"The table {path.name} has other than the {layout.cells:,} rows that the spec says."
        )
    kind = path.suffix.removeprefix(".")
    keys = [as_read(column, kind) for column in key_columns(layout)]
    if not all(map(_same, list(columns.values())[: len(keys)], keys)):
        raise CertificateRejected(f"The table {path.name} has other keys than the spec says.")
    for label, std in _deviations(layout, noise).items():
        if not all(_close(value, std) for value in deviations[label]):
            raise CertificateRejected(f"The table {path.name} has another {label} than its noise.")
    _check_form(path, layout, columns)
    text = kind == "csv"
    told = {
        label: [_float(_number(value, text=text)) for value in column]
        for label, column in list(columns.items())[len(keys) :]
    }
    if (label := wrong_interval(layout, told, noise)) is not None:
        raise CertificateRejected(
            f"The table {path.name} has a {label} that isn't what its value and its noise say."
        )


def _check_form(path: Path, layout: Layout, columns: dict[str, list[Any]]) -> None:
    """Check that what the spec has rounded and clamped is whole, and isn't negative."""
    for asked in layout.statistics:
        for label in (f"{asked.label}{suffix}" for suffix in SUFFIXES if suffix != "_std"):
            found = [_number(value, text=path.suffix == ".csv") for value in columns[label]]
            if layout.round and asked.counts and not all(map(_is_whole, found)):
                raise CertificateRejected(f"The table {path.name} has a {label} that isn't whole.")
            if layout.clamp and asked.kind != "mean" and not all(0 <= x < math.inf for x in found):
                raise CertificateRejected(f"The table {path.name} has a {label} below 0.")


def _number(value: Any, *, text: bool) -> int | float:
    """Return the number that a field of a table holds, NaN for what is none."""
    if text and _WHOLE.fullmatch(value):
        return int(value)
    if text or type(value) is float:
        try:
            return float(value)
        except ValueError:
            return math.nan
    return value if type(value) is int else math.nan


def _float(number: float) -> float:
    """Return it as a float, NaN for a whole number that is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.nan


def _is_whole(number: float) -> bool:
    return isinstance(number, int) and abs(number) <= LARGEST_WHOLE


def _same(told: list[Any], wanted: list[Any]) -> bool:
    """Say whether two columns of public values are equal; True isn't 1 here, nor 1 1.0."""
    return told == wanted and list(map(type, told)) == list(map(type, wanted))


def _deviations(layout: Layout, noise: NoiseError) -> dict[str, float]:
    """Return the `_std` of each count and sum; a mean's depends on what was drawn."""
    return {
        f"{asked.label}_std": float(layout.components[uses[0]].radius) * noise.std
        for asked, uses in zip(layout.statistics, layout.uses, strict=True)
        if len(uses) == 1
    }
