"""What is wrong with the tables that a spec joins to its rows, as far as the spec alone tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.spec.dialect import told_of
from leastnoise.tables.spec.source_names import (
    IN_MEMORY,
    is_csv,
    is_spark,
    needs_types,
    why_no_source,
    why_no_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.parse.column_uses import Problem
    from leastnoise.tables.spec.join import Join
    from leastnoise.tables.spec.model import Spec

ONLY_CSV = "Used with CSV alone. Leave it out: other sources say theirs."
ON_SPARK = "Spark reads no join: join the frames in Spark, and let the result be the source."


def join_problems(spec: Spec) -> Iterator[Problem]:
    """Yield what is wrong with the joins of a spec, each with its key."""
    if spec.data.join and is_spark(spec.data.engine):
        yield "data.join", ON_SPARK
    for name, join in spec.data.join.items():
        path = f"data.join.{name}"
        for source in join.sources:
            why = why_no_source(source)
            if source == IN_MEMORY:
                why = "A frame can't be joined: write it to a file."
            if why:
                yield f"{path}.source", why
        if why := why_no_table(join.sources, join.table):
            yield f"{path}.table", why
        for told in () if any(map(is_csv, join.sources)) else told_of(join):
            yield f"{path}.{told}", ONLY_CSV
        if any(map(needs_types, join.sources)) and not spec.data.types:
            why = (
                "Missing: a joined CSV or SQLite table needs the type of each column that is used."
            )
            yield "data.types", why
        if why := _why_not_on(spec, join):
            yield f"{path}.on", why


def _why_not_on(spec: Spec, join: Join) -> str | None:
    """Return why the column of a join doesn't keep the guarantee; None if it does."""
    if join.on in spec.derive:
        return f"{join.on!r} is derived, and joins come first: join by a column of the source."
    unit = spec.privacy.unit
    if join.public or not unit:
        return None
    public = "If the table is public, write public = true."
    if spec.privacy.by_row:
        return f"A row of it would be part of several rows, and each is to be protected. {public}"
    if join.on == unit:
        return None
    return (
        f"Joined by {join.on!r}, a row of it would stand beside rows of several of {unit!r}, and "
        f"one of them could change what others add. Join by {unit!r}. {public}"
    )
