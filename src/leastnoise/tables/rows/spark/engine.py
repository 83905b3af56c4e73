"""Rows on the user's own Spark session, classic or Connect.

What is computed once is checkpointed and not only persisted: where an executor dies, Spark computes
a persisted frame again, and a source that isn't the same twice (a sample, say) would then have one
person's size taken from other rows than those that are summed. A checkpoint that is lost is an
error.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import narwhals as nw

from leastnoise.tables.expressions.computed import NOTHING, Computed
from leastnoise.tables.expressions.spark_columns import Compiled, given, uses
from leastnoise.tables.rows.engine import Engine
from leastnoise.tables.rows.spark.casts import Casts
from leastnoise.tables.rows.spark.sources import functions_of, guarded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leastnoise.tables.rows.spark.sources import SparkRows
    from leastnoise.tables.spec.values import ColumnType, Key


@contextmanager
def open_engine(
    source: SparkRows, *, columns: Mapping[str, ColumnType], computed: Computed = NOTHING
) -> Iterator[Spark]:
    """Yield an engine over the `columns` (name to type) of the rows, and what is `computed`.

    Raises SourceError, which never quotes data, if Spark can't read them.
    """
    with guarded(source.name):
        yield Spark(source, columns, computed)


@final
class Spark(Engine):
    """An engine that `open_engine` makes."""

    def __init__(
        self,
        source: SparkRows,
        columns: Mapping[str, ColumnType],
        computed: Computed = NOTHING,
    ) -> None:
        self._session = source.frame.sparkSession
        self._f = functions_of(source.frame)
        super().__init__(nw.from_native(self._typed(source, columns, computed)), columns, computed)

    def _typed(
        self, source: SparkRows, columns: Mapping[str, ColumnType], computed: Computed
    ) -> Any:
        """Return the rows, each column cast for each use.

        Columns are called by their positions: to Spark capitals are alike, and a dot is a path.
        """
        kinds = dict(source.kinds)
        at = {name: f"c{place}" for place, (name, _) in enumerate(source.kinds)}
        casts = Casts(self._f)
        listed = {
            f"{use}{place}": cast
            for place, (name, wanted) in enumerate(columns.items())
            for use, cast in casts.by_use(self._f.col(at[name]), kinds[name], wanted).items()
        }
        stored = ["nothing", *listed]
        listed |= {
            f"d{place}": casts.as_day(self._f.col(at[name]))
            for place, name in enumerate(columns)
            if computed.inputs.get(name) == "date"
        }
        named = (cast.alias(name) for name, cast in listed.items())
        frame = source.frame.toDF(*at.values()).select(*named, self._f.lit(0).alias("nothing"))
        return self._beside(frame, stored, list(columns), computed)

    def _beside(
        self, frame: Any, stored: Sequence[str], columns: Sequence[str], computed: Computed
    ) -> Any:
        """Return the `stored` columns of a frame with what is computed beside."""
        if not computed.expressions:
            return frame.select(*stored)
        places = {name: place for place, name in enumerate(columns)}
        names = {name: f"g{places[name]}" for name in computed.inputs}
        compiled = Compiled(self._f, computed.expressions, names)
        for name, kind in computed.inputs.items():
            frame = frame.withColumn(names[name], given(self._f, kind, places[name]))
        found, count = [self._f.col(name) for name in stored], len(computed.columns)
        pairs = zip(computed.columns.values(), compiled.values[:count], strict=True)
        for place, (one, value) in enumerate(pairs, len(columns)):
            found += [cast.alias(f"{use}{place}") for use, cast in uses(one.type, value).items()]
        found += [value.alias(f"f{place}") for place, value in enumerate(compiled.values[count:])]
        return compiled.around(frame).select(*found)

    def materialise(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """It may spill, and is never computed again."""
        return nw.from_native(frame.to_native().localCheckpoint(eager=True))

    def keys(self, values: Sequence[Key], *, key: str, index: str) -> nw.LazyFrame[Any]:
        kind = "boolean" if isinstance(values[0], bool) else "bigint"
        kind = "string" if isinstance(values[0], str) else kind
        rows = [(value, place) for place, value in enumerate(values)]
        made = self._session.createDataFrame(rows, f"{key} {kind}, {index} bigint")
        return nw.from_native(self._f.broadcast(made))

    def counted(
        self, frame: nw.LazyFrame[Any], *, value: str, edges: Sequence[float], count: str
    ) -> nw.LazyFrame[Any]:
        """A binary search, in one list beside every row."""
        f, at = self._f, f"{count}_edges"
        beside = self._session.createDataFrame([([*edges],)], f"{at} array<double>")
        steps = [2**power for power in reversed(range(len(edges).bit_length()))]

        def more(found: Any, step: Any) -> Any:
            # The first edge has place 1, and past the last one there is NULL.
            reached = f.try_element_at(f.col(at), found + step) <= f.col(value)
            return found + f.when(reached, step).otherwise(f.lit(0))

        found = f.aggregate(f.array(*map(f.lit, steps)), f.lit(0), more).cast("bigint")
        joined = frame.to_native().crossJoin(f.broadcast(beside))
        return nw.from_native(joined.withColumn(count, found).drop(at))

    def readable(
        self, frame: nw.LazyFrame[Any], *, text: str, longest: int, without: str
    ) -> nw.LazyFrame[Any]:
        short = self._f.octet_length(text) <= longest
        return nw.from_native(frame.to_native().filter(short & ~self._f.col(text).rlike(without)))

    def hashed(
        self, frame: nw.LazyFrame[Any], *, columns: Sequence[str], salt: str, name: str
    ) -> nw.LazyFrame[Any]:
        f = self._f
        texts = [f.col(column).cast("string") for column in columns]
        parts = [
            part
            for text in texts
            for part in (f.octet_length(text).cast("string"), f.lit(":"), text)
        ]
        found = f.sha2(f.concat(f.lit(salt), *parts), 256)
        return nw.from_native(frame.to_native().withColumn(name, found))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in frame.to_native().collect()]
