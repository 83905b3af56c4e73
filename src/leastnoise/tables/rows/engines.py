"""Which engine reads the rows of a source: the one place where engines are chosen.

Before noise they all have the same integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.errors import SourceError
from leastnoise.tables.rows import engine_duckdb
from leastnoise.tables.rows.inputs import Input, by_name
from leastnoise.tables.spec.source_names import POLARS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from leastnoise.tables.rows.engine import Engine
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.rows.spark_rows import SparkRows
    from leastnoise.tables.values.casts import Held


def columns_of(rows: Input | SparkRows) -> dict[str, Held]:
    """Return each column of the rows by name; reads the header or the metadata alone.

    Raises SourceError if there is nothing readable, no room for temporary files, or a name twice.
    """
    columns = engine_duckdb.columns_of(rows) if isinstance(rows, Input) else rows.columns()
    return by_name(columns, rows.name)


def opened(
    found: Source, *, threads: int | None = None, rehearsed: bool = False
) -> AbstractContextManager[Engine]:
    """Return an engine over the columns of `found`, to be used in a `with`.

    DuckDB takes so many `threads`, or as many as there are. Where it is `rehearsed`, all is done
    as for the rows, but none is read, and the engine has none. Raises SourceError, which never
    quotes data, if the rows can't be read.
    """
    if not isinstance(found.rows, Input):
        from leastnoise.tables.rows import engine_spark  # noqa: PLC0415  # of an extra

        rows = found.rows.without_rows() if rehearsed else found.rows
        return engine_spark.opened(rows, columns=found.columns, computed=found.computed)
    if found.engine == POLARS:
        try:
            from leastnoise.tables.rows import engine_polars  # noqa: PLC0415  # of an extra
        except ImportError:
            raise SourceError("Polars isn't here: pip install leastnoise[polars].") from None
        return engine_polars.opened(
            found.rows, columns=found.columns, computed=found.computed, rehearsed=rehearsed
        )
    return engine_duckdb.opened(
        found.rows,
        columns=found.columns,
        computed=found.computed,
        threads=threads,
        rehearsed=rehearsed,
    )
