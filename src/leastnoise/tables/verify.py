"""Check a released directory from what is in it: no data, and nothing taken on trust."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import duckdb

from leastnoise.certify.plan import PlanCertificate
from leastnoise.errors import CertificateRejected, InvalidInput, SourceError
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables import output, spec_file
from leastnoise.tables.columns import result_columns
from leastnoise.tables.layout import MAX_ROWS, MAX_UNITS, Layout, of_block
from leastnoise.tables.plan import block_budget, statement

if TYPE_CHECKING:
    from leastnoise.certify.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.interval import Interval
    from leastnoise.tables.spec import Spec


@final
@dataclass(frozen=True, kw_only=True)
class VerifiedRelease:
    """A release whose certificate holds for its spec; `delta` encloses the total δ at its ε."""

    spec: Spec
    certificate: PlanCertificate
    delta: Interval


def verify_directory(path: str | Path) -> VerifiedRelease:
    """Return the release in the directory `path`, proved again.

    Derives every layout, sensitivity and share of the budget from the stored spec, compares each
    block's certificate with them, proves all blocks and re-sums the budget, and checks that the
    tables have the columns and the rows that the spec says. Raises SourceError if the directory
    can't be read, CertificateRejected, with the reason, if anything in it is false.

    Not promised: that the tables came out of the mechanism, or that the source was what it says.
    """
    folder = Path(path)
    spec = _stored_spec(folder)
    certificate = _stored_certificate(folder)
    if certificate.budget != spec.budget:
        raise CertificateRejected("The certificate's budget is not the spec's.")
    layouts = [of_block(spec, query) for query in spec.query]
    if [name for name, _ in certificate.blocks] != [layout.name for layout in layouts]:
        raise CertificateRejected("The certificate's blocks are not the spec's queries.")
    for (_, block), layout, query in zip(certificate.blocks, layouts, spec.query, strict=True):
        _check_block(block, layout, block_budget(spec, query))
    _check_plan(folder, spec, certificate, layouts)
    delta = certificate.verify()
    kind = spec.output.format if spec.output else "parquet"
    for layout in layouts:
        _check_table(folder / f"{layout.name}.{kind}", layout)
    return VerifiedRelease(spec=spec, certificate=certificate, delta=delta)


def _stored_spec(folder: Path) -> Spec:
    if not folder.is_dir():
        raise SourceError(f"Expected the directory of a release, found none at {folder}.")
    try:
        return spec_file.read(folder / output.SPEC)
    except SourceError:
        raise
    except InvalidInput as error:
        raise CertificateRejected(f"{output.SPEC} is not a spec. {error}") from None


def _stored_certificate(folder: Path) -> PlanCertificate:
    try:
        text = (folder / output.CERTIFICATE).read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise SourceError(f"{folder} has no {output.CERTIFICATE}.") from None
    except (OSError, UnicodeDecodeError):
        raise SourceError(f"{folder / output.CERTIFICATE} can't be read.") from None
    return PlanCertificate.from_json(text)


def _check_block(block: Certificate, layout: Layout, share: Budget) -> None:
    where = f"Block {layout.name!r}"
    if block.dimension != layout.dimension:
        raise CertificateRejected(
            f"{where}: the spec has {layout.dimension} coordinates, "
            f"the certificate {block.dimension}."
        )
    if block.sensitivity not in layout.sensitivities:
        raise CertificateRejected(f"{where}: its sensitivity is not one that the spec implies.")
    if block.budget != share:
        raise CertificateRejected(f"{where}: its budget is not the share that its weight gives.")


def _check_plan(
    folder: Path, spec: Spec, certificate: PlanCertificate, layouts: list[Layout]
) -> None:
    """Compare plan.json, where people read scales and budgets, with what is proved."""
    try:
        record = json.loads((folder / output.PLAN).read_bytes())
        told = [{**block, "errors": None} for block in record["blocks"]]
        total = (record["epsilon"], record["delta"], record["unit"], record["caps"])
    except (OSError, ValueError, TypeError, KeyError):
        raise CertificateRejected(f"{output.PLAN} is missing or unreadable.") from None
    budget = spec.budget
    caps = {"rows": MAX_ROWS, "units": MAX_UNITS}
    proved = [
        statement(layout, block.budget, block) | {"errors": None}
        for layout, (_, block) in zip(layouts, certificate.blocks, strict=True)
    ]
    wanted = (decimal_text(budget.epsilon), decimal_text(budget.delta), spec.privacy.unit, caps)
    if told != proved or total != wanted:
        raise CertificateRejected(f"{output.PLAN} says other than what is certified.")


def _check_table(path: Path, layout: Layout) -> None:
    try:
        columns, rows = output.read_table(path)
    except (OSError, ValueError, duckdb.Error):
        raise CertificateRejected(f"The table {path.name} is missing or unreadable.") from None
    if columns != list(result_columns(layout)):
        raise CertificateRejected(f"The table {path.name} has other columns than the spec says.")
    if rows != layout.cells:
        raise CertificateRejected(
            f"The table {path.name} has {rows} rows, the spec says {layout.cells}."
        )
