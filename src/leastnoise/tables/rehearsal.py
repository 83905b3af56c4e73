"""A release but for its rows and its noise, tried before any budget is charged for it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.strict_json import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, SourceError
from leastnoise.tables import bounding, engines, output, spec_file
from leastnoise.tables.results import table_of
from leastnoise.tables.table_files import write_table
from leastnoise.tables.verify import check_table

if TYPE_CHECKING:
    from pathlib import Path

    from leastnoise.tables.plan import Plan
    from leastnoise.tables.source import Source
    from leastnoise.tables.spec import Spec

_EMPTY = "rehearsal"


def write_texts(folder: Path, *, spec: Spec, plan: Plan, certificate: PlanCertificate) -> None:
    """Write the plan, its certificate and the spec, none of which the rows or the noise change.

    Raises InvalidInput if `verify` couldn't read them again.
    """
    texts = {
        output.PLAN: plan.to_json(),
        output.CERTIFICATE: certificate.to_json(),
        output.SPEC: spec_file.dumps(spec),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    try:
        parse_object(output.read_text(folder, output.PLAN))
        PlanCertificate.from_json(output.read_text(folder, output.CERTIFICATE))
        same = spec_file.loads(output.read_text(folder, output.SPEC)) == spec
    except (CertificateRejected, SourceError) as error:
        raise InvalidInput(f"The release would not verify: {error} Nothing was spent.") from error
    if not same:
        raise InvalidInput("The spec doesn't read back as it is. Nothing was spent.")


def try_queries(found: Source, *, spec: Spec, plan: Plan) -> None:
    """Ask every query of `found` as the release will, but of no row.

    Raises InvalidInput if it can't be opened, or a query is too large for the engine.
    """
    large = "has more keys, conditions or statistics than the engine can take"
    try:
        for block in plan.blocks:
            with engines.opened(found, rehearsed=True) as engine:
                bounding.query_vector(engine, spec, block.layout)
    except SourceError as error:
        raise InvalidInput(
            f"{error} It was tried without rows; if nothing else is wrong, a query {large}: split "
            "it. Nothing was spent."
        ) from None
    except RecursionError:
        raise InvalidInput(f"A query {large}. Split it. Nothing was spent.") from None


def try_tables(folder: Path, *, spec: Spec, plan: Plan) -> None:
    """Write every table as one of zeros, check it as `verify` does, and take it away again.

    Raises InvalidInput if a key or a name is more than the format, or the disk, can hold.
    """
    kind = spec.output.format if spec.output else "parquet"
    empty = folder / _EMPTY
    empty.mkdir()
    try:
        for block in plan.blocks:
            noise = block.noise_error
            zeros = table_of(block.layout, np.zeros(block.layout.dimension), noise)
            check_table(write_table(zeros, empty, kind), block.layout, noise)
    except CertificateRejected as error:
        raise InvalidInput(f"The release would not verify: {error} Nothing was spent.") from error
    finally:
        shutil.rmtree(empty, ignore_errors=True)
