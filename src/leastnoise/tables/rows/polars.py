"""Rows on Polars, streamed: DuckDB reads and casts them, as it does for itself.

So what a value is, and what can't be read, is the same on both; Polars bounds and sums.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import polars as pl
from polars.io.plugins import register_io_source

from leastnoise.errors import SourceError
from leastnoise.tables.expressions.computed import NOTHING, Computed
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import duckdb

    from leastnoise.tables.rows.duckdb.inputs import Input
    from leastnoise.tables.spec.values import ColumnType, Key

_ROWS_AT_ONCE = 2**19  # smaller batches cost more by themselves
_KINDS: dict[str, pl.DataType | type[pl.DataType]] = {
    "BIGINT": pl.Int64,
    "HUGEINT": pl.Decimal(38, 0),
    "VARCHAR": pl.String,
    "BOOLEAN": pl.Boolean,
    "DOUBLE": pl.Float64,
    "INTEGER": pl.Int32,
}
"""What casts can give, and what it is to Polars."""


@contextmanager
def open_engine(
    source: Input,
    *,
    columns: Mapping[str, ColumnType],
    computed: Computed = NOTHING,
    rehearsed: bool = False,
) -> Iterator[Polars]:
    """Yield an engine over the `columns` (name to type) of the rows, and more; see `duckdb`'s."""
    try:
        with duckdb_engine.open_engine(
            source, columns=columns, computed=computed, rehearsed=rehearsed
        ) as reader:
            yield Polars(reader, columns, computed)
    except pl.exceptions.PolarsError:  # whose messages may quote values
        raise SourceError(f"{source.name} can't be read by Polars.") from None


@final
class Polars(Engine):
    """An engine that `open_engine` makes."""

    def __init__(
        self, reader: Engine, columns: Mapping[str, ColumnType], computed: Computed = NOTHING
    ) -> None:
        super().__init__(_streamed(reader), columns, computed)
        self._reader = reader

    def settle(self, columns: Collection[str]) -> None:
        self._reader.settle(columns)
        self._frame = _streamed(self._reader)

    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """It is in memory."""
        return nw.from_native(_collected(frame).lazy())

    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        kind = pl.Boolean if isinstance(values[0], bool) else pl.Int64
        kind = pl.String if isinstance(values[0], str) else kind
        places = pl.Series(index, range(len(values)), dtype=pl.Int64)
        return nw.from_native(
            pl.DataFrame([pl.Series(key, list(values), dtype=kind), places]).lazy()
        )

    def counted(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """A binary search."""
        found = pl.lit(pl.Series(edges, dtype=pl.Float64)).search_sorted(
            pl.col(value), side="right"
        )
        places = pl.when(pl.col(value).is_null()).then(0).otherwise(found).cast(pl.Int64)
        return nw.from_native(frame.to_native().with_columns(places.alias(count)))

    def readable(
        self, frame: nw.LazyFrame[Any], *, text: str, longest: int, without: str
    ) -> nw.LazyFrame[Any]:
        short = pl.col(text).str.len_bytes() <= longest
        return nw.from_native(frame.to_native().filter(short & ~pl.col(text).str.contains(without)))

    def hashed(
        self, frame: nw.LazyFrame[Any], *, columns: Sequence[str], salt: str, name: str
    ) -> nw.LazyFrame[Any]:
        """Polars has no such hash of its own."""
        texts = [pl.col(column).cast(pl.String) for column in columns]
        parts = [part for text in texts for part in (text.str.len_bytes(), pl.lit(":"), text)]
        found = pl.concat_str([pl.lit(salt), *parts]).map_elements(
            lambda text: hashlib.sha256(text.encode()).hexdigest(), return_dtype=pl.String
        )
        return nw.from_native(frame.to_native().with_columns(found.alias(name)))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        return _collected(frame).rows()


def _collected(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    return frame.to_native().collect(engine="streaming")


def _streamed(reader: Engine) -> nw.LazyFrame[Any]:
    """Return a frame that reads DuckDB's in batches."""
    relation: duckdb.DuckDBPyRelation = reader.frame.to_native()
    kinds = zip(relation.columns, map(str, relation.types), strict=True)
    schema = {name: _KINDS[kind] for name, kind in kinds}

    def batches(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        at_once: int | None,
    ) -> Iterator[pl.DataFrame]:
        del at_once
        wanted = relation if columns is None else relation.select(*columns)
        if rows is not None:
            wanted = wanted.limit(rows)
        for batch in wanted.to_arrow_reader(_ROWS_AT_ONCE):
            frame = pl.DataFrame(batch)
            yield frame if predicate is None else frame.filter(predicate)

    return nw.from_native(register_io_source(batches, schema=schema))
