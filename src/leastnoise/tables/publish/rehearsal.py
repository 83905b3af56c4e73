"""A release but for its rows and its noise, tried before any budget is charged for it."""

from __future__ import annotations

import itertools
import shutil
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.records import parse_object
from leastnoise.errors import CertificateRejected, InvalidInput, SourceError
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish import output
from leastnoise.tables.publish.quantiles import table_at
from leastnoise.tables.publish.seal import Seal, sum_of
from leastnoise.tables.publish.table_checks import check_table
from leastnoise.tables.publish.table_files import write_table
from leastnoise.tables.query.columns import key_names
from leastnoise.tables.query.kept_groups import publish_all
from leastnoise.tables.query.results import joined, table_of
from leastnoise.tables.rows import bounding, unlisted
from leastnoise.tables.rows.source import open_engine
from leastnoise.tables.statistics.base import LARGEST_WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.seal import SigningKey
    from leastnoise.tables.query.columns import Part
    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.results import Table
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.spec.model import Query, Spec
    from leastnoise.tables.statistics.base import NoiseError

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
    large = "has more keys, conditions or statistics than the engine can take"
    try:
        for block in plan.blocks:
            with open_engine(found, rehearsed=True) as engine:
                if block.groups is None:
                    bounding.query_vector(engine, spec, block.layout, salt="")
                else:
                    unlisted.group_totals(engine, spec, block.layout, salt="")
        for part in plan.keys:
            with open_engine(found, rehearsed=True) as engine:
                unlisted.group_totals(engine, spec, part.layout, salt="")
        for part in plan.quantiles:
            with open_engine(found, rehearsed=True) as engine:
                bounding.query_vector(engine, spec, part.layout.counted, salt="")
    except SourceError as error:
        raise InvalidInput(
            f"The queries can't be asked: {error} Nothing was spent. Where nothing is wrong with "
            f"the source, a query {large}: split it."
        ) from None
    except RecursionError:
        raise InvalidInput(f"A query {large}. Split it. Nothing was spent.") from None


def try_tables(folder: Path, *, spec: Spec, plan: Plan, key: SigningKey | None = None) -> None:
    """Write every table as one of zeros, check it as `verify` does, and keep room for the release.

    In the place of each there is a longer table then, beside them a seal that is as long as theirs,
    until `make_room`. How long one of groups that nobody listed will be isn't known, and there is
    an empty one. Raises InvalidInput if a key or a name is more than the format, or the disk,
    can hold.
    """
    kind = spec.output.format if spec.output else "parquet"
    reserve = folder / _RESERVE
    reserve.mkdir()
    try:
        for query in plan.by_query:
            # every group's row: how many are published isn't known
            told = [(publish_all(part.layout), part.noise_errors) for part in query.blocks]
            told += [(part.layout, ()) for part in query.keys]
            if query.claim is not None or query.keys:
                written = write_table(_empty(*told[0]), reserve, kind)
                check_table(written, told, claim=query.claim)
                continue
            ranks = [part.layout for part in query.quantiles]
            least = [
                [[[0] * len(asked.suffixes) for asked in one.statistics]] * one.cells
                for one in ranks
            ]
            tables = [table_of(layout, np.zeros(layout.dimension), noise) for layout, noise in told]
            tables += map(table_at, ranks, least)
            zeros = joined(query.layouts, tables)
            written = write_table(zeros, reserve, kind)
            check_table(written, told, ranks=ranks)
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


def _empty(layout: Layout, noise: Sequence[NoiseError]) -> Table:
    """Return the table of a block in which no group is published."""
    keys = [list[Any]() for axis in layout.axes for _ in axis.columns]
    return table_of(layout, np.zeros(0), noise, keys=keys)


def _longest(table: Table, parts: Sequence[Part]) -> Table:
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
