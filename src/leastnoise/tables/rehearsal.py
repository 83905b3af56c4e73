"""A release but for its rows and its noise, tried before any budget is charged for it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.strict_json import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, SourceError
from leastnoise.tables import bounding, engines, output, source, spec_file
from leastnoise.tables.results import joined, table_of
from leastnoise.tables.table_checks import check_table
from leastnoise.tables.table_files import write_table

if TYPE_CHECKING:
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
    """Ask every query of a file with the columns of `found` and without rows.

    Raises InvalidInput if there is no folder for temporary files, or a query is too large for the
    engine.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="leastnoise-") as folder:
            if (empty := source.without_rows(found, Path(folder))) is None:
                return
            for block in plan.blocks:
                with engines.opened(empty) as engine:
                    bounding.query_vector(engine, spec, block.layout)
    except OSError as error:
        raise InvalidInput(
            f"Temporary files can't be made: {error.strerror}. Nothing was spent."
        ) from None
    except (SourceError, RecursionError):
        raise InvalidInput(
            "A query has more keys, conditions or statistics than the engine can take, or there is "
            "too little memory. Split it. Nothing was spent."
        ) from None


def try_tables(folder: Path, *, spec: Spec, plan: Plan) -> None:
    """Write every table as one of zeros, check it as `verify` does, and take it away again.

    Raises InvalidInput if a key or a name is more than the format, or the disk, can hold.
    """
    kind = spec.output.format if spec.output else "parquet"
    empty = folder / _EMPTY
    empty.mkdir()
    try:
        for parts in plan.by_query:
            told = [(part.layout, part.noise_errors) for part in parts]
            zeros = joined(
                [layout for layout, _ in told],
                [table_of(layout, np.zeros(layout.dimension), noise) for layout, noise in told],
            )
            check_table(write_table(zeros, empty, kind), told)
    except CertificateRejected as error:
        raise InvalidInput(f"The release would not verify: {error} Nothing was spent.") from error
    finally:
        shutil.rmtree(empty, ignore_errors=True)
