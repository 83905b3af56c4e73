"""Check a released directory from what is in it: no data, and nothing taken on trust."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate, _words
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.certificate.strict_json import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, Refused, SourceError
from leastnoise.ledger.check import charged_account
from leastnoise.tables.plan import together
from leastnoise.tables.plan.joint import split_noise
from leastnoise.tables.plan.plan import JOIN
from leastnoise.tables.plan.plan_record import block_record, plan_record
from leastnoise.tables.plan.plan_search import share_of
from leastnoise.tables.publish import output, seal
from leastnoise.tables.publish.table_checks import Part, check_table, is_close
from leastnoise.tables.query.baselines import Baselines
from leastnoise.tables.query.layout import Layout
from leastnoise.tables.query.noise_error import check_range, noise_errors
from leastnoise.tables.read import spec_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.interval import Interval
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.ledger.account import Account
    from leastnoise.noise.base import Noise
    from leastnoise.tables.spec.model import Spec


@final
@dataclass(frozen=True, kw_only=True)
class VerifiedRelease:
    """A release whose certificate holds for its spec; `delta` encloses the total δ at its ε.

    `layouts` say what each table holds, those of one query's parts side by side. `entry` is the
    number that its ledger's entry has, as the release says, and `account` what that ledger charged,
    if it was given. `signed` says whether a signature was checked; it is None if there is one that
    wasn't. `others` are files in the directory that aren't of the release.
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
        share = share_of(spec, draw.blocks)
        if certificate.rule == COMPOSED:  # its ε is what the noise is worth alone, its δ the share
            share = replace(share, epsilon=draw.certificate.budget.epsilon)
        _check_draw(draw, share, spec.privacy.neighbours)
    _check_plan(folder, spec, certificate, draws)
    delta = certificate.verify()
    kind = spec.output.format if spec.output else "parquet"
    tables: dict[str, list[Part]] = {query.name: [] for query in spec.query}
    for draw in draws:
        for layout, first in zip(draw.layouts, draw.firsts, strict=True):
            noise = noise_errors(draw.certificate, layout, first)
            tables[layout.name].append((layout, noise))
    for name, parts in tables.items():
        check_table(folder / f"{name}.{kind}", parts)
    sealed = seal.Seal.read(folder)
    texts = [output.PLAN, output.CERTIFICATE, output.SPEC]
    sealed.check(folder, names=[*texts, *(f"{name}.{kind}" for name in tables)])
    if public is not None:
        seal.check_signature(folder, public)
    unchecked = None if seal.is_signed(folder) else False
    return VerifiedRelease(
        spec=spec,
        certificate=certificate,
        delta=delta,
        layouts=tuple(part for parts in tables.values() for part, _ in parts),
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
    """One draw of noise: its certificate, and the blocks that it serves with their layouts."""

    certificate: Certificate
    blocks: tuple[together.Block, ...]
    layouts: tuple[Layout, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """What its blocks are called."""
        return tuple(block.label for block in self.blocks)

    @property
    def firsts(self) -> tuple[int, ...]:
        """The first coordinate of each block in the draw."""
        ends = itertools.accumulate(layout.dimension for layout in self.layouts)
        return (0, *ends)[: len(self.layouts)]


def _draws(spec: Spec, certificate: PlanCertificate) -> list[_Draw]:
    """Return the certified draws; raises CertificateRejected unless each query is in one of them.

    Each in the order of the spec, as are the draws by their first.
    """
    blocks = together.blocks_of(spec)
    labels = [block.label for block in blocks]
    groups = [name.split(JOIN) for name, _ in certificate.blocks]
    if sorted(label for group in groups for label in group) != sorted(labels):
        raise CertificateRejected("The certificate's blocks are not the spec's queries.")
    members = [tuple(labels.index(label) for label in group) for group in groups]
    if members != sorted(members) or any(one != tuple(sorted(one)) for one in members):
        raise CertificateRejected("The certificate's blocks are not in the spec's order.")
    served = [tuple(blocks[index] for index in group) for group in members]
    return [
        _Draw(certificate=block, blocks=own, layouts=_layouts(own, block))
        for own, (_, block) in zip(served, certificate.blocks, strict=True)
    ]


def _layouts(blocks: Sequence[together.Block], certificate: Certificate) -> tuple[Layout, ...]:
    """Return the layouts under which a unit moves the blocks as their certificate says."""
    layouts = together.layouts_for([block.ways for block in blocks], certificate.sensitivity)
    if layouts is None:
        where = JOIN.join(block.label for block in blocks)
        raise CertificateRejected(
            f"Block {where!r}: its sensitivity is not one that the spec implies."
        )
    return layouts


def _check_draw(draw: _Draw, share: Budget, neighbours: Neighbours) -> None:
    block, where = draw.certificate, f"Block {JOIN.join(draw.labels)!r}"
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
    shown: list[tuple[int, Layout, dict[str, Any]]] = []
    for draw in draws:
        composed = certificate.rule == COMPOSED
        split = _split(draw.certificate, share_of(spec, draw.blocks)) if composed else None
        for block, layout, first in zip(draw.blocks, draw.layouts, draw.firsts, strict=True):
            share = share_of(spec, (block,))
            try:
                baselines = Baselines.of(block.ways, share)
                check_range(layout, draw.certificate, baselines, first)
            except (Refused, InvalidInput) as error:
                raise CertificateRejected(str(error)) from None
            record = block_record(
                layout,
                group=draw.labels,
                first=first,
                certificate=draw.certificate,
                share=share,
                baselines=baselines,
                split=split,
            )
            shown.append((block.index, layout, record))
    shown.sort(key=lambda one: one[0])
    layouts, blocks = [layout for _, layout, _ in shown], [record for *_, record in shown]
    if not _alike(told, plan_record(certificate, spec.privacy.unit_label, layouts, blocks)):
        raise CertificateRejected(f"{output.PLAN} says other than what is certified.")


def _split(block: Certificate, share: Budget) -> Noise:
    try:
        return split_noise(block, share)
    except Refused as error:
        raise CertificateRejected(f"No split to compare with: {error}") from None


def _alike(told: Any, wanted: Any) -> bool:
    """Say whether two JSON values are the same, floats but for the machine."""
    if type(told) is not type(wanted):
        return False
    if isinstance(told, dict):
        return told.keys() == wanted.keys() and all(_alike(told[k], wanted[k]) for k in told)
    if isinstance(told, list):
        return len(told) == len(wanted) and all(map(_alike, told, wanted))
    return is_close(told, wanted) if isinstance(told, float) else told == wanted
