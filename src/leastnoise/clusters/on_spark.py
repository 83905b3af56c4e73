"""Noise for a vector in a Spark frame: the sum is written once as Parquet, and read back.

Spark commits only one attempt of each task, and no other attempt is ever visible. A lazy frame
isn't used, since it would draw new noise each time it is evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise.errors import InvalidArgument, SourceError
from leastnoise.tables.rows.spark.engine import hide_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leastnoise.mechanism.shares import SharedDraw

_COLUMNS = "position bigint, value double"
_EXACT = {
    "position": {"tinyint", "smallint", "int", "bigint"},
    "value": {"double", "float", "tinyint", "smallint", "int"},
}
"""Spark types of the columns whose values convert exactly to bigint and to double."""


def check(vector: Any, dimension: int) -> None:
    """Raise InvalidArgument unless `vector` has the columns `position` and `value`, of exact types.

    Raises SourceError if positions are missing or duplicate.
    """
    types = {field.name: field.dataType.simpleString() for field in vector.schema.fields}
    if types.keys() != _EXACT.keys() or any(types[name] not in _EXACT[name] for name in types):
        shown = ", ".join(f"{name} {kind}" for name, kind in types.items())
        raise InvalidArgument(
            name="vector",
            value=f"a frame of {shown or 'no columns'}",
            expected=f"a Spark frame of two columns, {_COLUMNS}",
            hint="Cast a column of a wider type, such as bigint, to double if a double can hold "
            "all values of the column.",
        )
    with hide_values("The vector"):
        if not _has_all_positions(vector, dimension):
            raise SourceError(
                f"Expected each position from 0 to {dimension - 1:,} exactly once. Give missing "
                "positions the value 0."
            )


def release(vector: Any, draw: SharedDraw, folder: str) -> Any:
    """Write the noisy vector to `folder`, and return a frame that reads it.

    See `release_vector`. Raises SourceError if Spark fails, or if it read the vector twice with
    different results.
    """
    vector = vector.selectExpr("cast(position as bigint)", "cast(value as double)")
    # With the first algorithm no file is visible before the whole job has succeeded.
    once = {"mapreduce.fileoutputcommitter.algorithm.version": "1"}
    why = (
        f"The vector can't be released to {folder}. The folder must be new, and Spark's Python "
        "must have leastnoise and pyarrow."
    )
    with hide_values(why=why):
        noisy = vector.mapInArrow(_make_adder(draw), _COLUMNS)
        noisy.write.options(**once).mode("error").parquet(folder)
        released = vector.sparkSession.read.schema(_COLUMNS).parquet(folder)
        complete = _has_all_positions(released, draw.noise.dimension)
    # the positions were complete when checked, so two evaluations of the frame differ
    if not complete:
        raise SourceError(
            "The written vector doesn't have each position once: Spark read the vector twice, "
            f"with different results. Delete {folder}, because its list of positions may reveal "
            "values of the vector."
        )
    return released


def _has_all_positions(vector: Any, dimension: int) -> bool:
    """True if each position has exactly one row."""
    counted = "count(position)", "count(distinct position)", "min(position)", "max(position)"
    counts = vector.selectExpr("count(*)", *counted).first()
    return tuple(counts) == (dimension, dimension, dimension, 0, dimension - 1)


def _make_adder(draw: SharedDraw) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def add_noise(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415

        for batch in batches:
            # pyarrow turns NULL into NaN
            values = batch.column("value").to_numpy(zero_copy_only=False)
            columns = [batch.column("position"), pa.array(draw.add_to_part(values))]
            yield pa.RecordBatch.from_arrays(columns, names=["position", "value"])

    return add_noise
