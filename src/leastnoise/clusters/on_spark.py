"""A vector in a Spark frame with noise: written once as Parquet, and read back.

Spark commits one attempt of each task, and no other one is ever visible. A frame that adds noise
whenever it is asked would add two draws.
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
"""Types whose values a bigint and a double hold."""


def check(vector: Any, dimension: int) -> None:
    """Raise InvalidArgument unless `vector` has the two columns, of types that are exact.

    SourceError where positions are missing or twice.
    """
    found = {field.name: field.dataType.simpleString() for field in vector.schema.fields}
    if found.keys() != _EXACT.keys() or any(found[name] not in _EXACT[name] for name in found):
        shown = ", ".join(f"{name} {kind}" for name, kind in found.items())
        raise InvalidArgument(
            name="vector",
            value=f"a frame of {shown or 'no columns'}",
            expected=f"a Spark frame of two columns, {_COLUMNS}",
            hint="Cast a wider type, such as bigint, where a double holds all of its values.",
        )
    with hide_values("The vector"):
        if not _has_all_positions(vector, dimension):
            raise SourceError(
                f"Expected the positions 0 to {dimension - 1:,} once each; fill in 0."
            )


def release(vector: Any, draw: SharedDraw, folder: str) -> Any:
    """Return the frame that is read from the files in `folder`; see `release_vector`."""
    vector = vector.selectExpr("cast(position as bigint)", "cast(value as double)")
    # By the first algorithm no file is visible before all of its job has succeeded.
    once = {"mapreduce.fileoutputcommitter.algorithm.version": "1"}
    why = (
        f"The vector can't be released to {folder}. The folder must be new, and Spark's Python "
        "must have leastnoise and pyarrow."
    )
    with hide_values(why=why):
        noisy = vector.mapInArrow(_adding(draw), _COLUMNS)
        noisy.write.options(**once).mode("error").parquet(folder)
        released = vector.sparkSession.read.schema(_COLUMNS).parquet(folder)
        complete = _has_all_positions(released, draw.noise.dimension)
    if not complete:  # it was when it was checked, so it isn't the same twice
        raise SourceError(
            f"The vector has lost positions while it was read. Delete {folder}: which of them are "
            "there may tell what they were."
        )
    return released


def _has_all_positions(vector: Any, dimension: int) -> bool:
    """Return whether there are as many rows as positions, and each of these once."""
    counted = "count(position)", "count(distinct position)", "min(position)", "max(position)"
    found = vector.selectExpr("count(*)", *counted).first()
    return tuple(found) == (dimension, dimension, dimension, 0, dimension - 1)


def _adding(draw: SharedDraw) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def added(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415

        for batch in batches:
            values = batch.column("value").to_numpy(zero_copy_only=False)  # NULL is NaN
            columns = [batch.column("position"), pa.array(draw.add_to_part(values))]
            yield pa.RecordBatch.from_arrays(columns, names=["position", "value"])

    return added
