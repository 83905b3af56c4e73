"""Check Arrow columns before DuckDB reads them, because DuckDB doesn't check them itself.

DuckDB would read a decimal with too many digits as memory of other rows. It would read an index
past the end of a dictionary, or an offset past the end of texts, as memory of this process. A
single value that its type can't hold becomes a missing value. With wrong offsets it is unknown
which text belongs to which row, so the whole frame is refused. A frame is also refused if a view
(of `string_view`) is outside its buffers or doesn't match its first letters. No library writes such
views, so the memory is damaged.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.errors import SourceError
from leastnoise.tables.values.casts import DAY_NS, MOST_DIGITS
from leastnoise.tables.values.csv_lines import is_utf8

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_DAY_MS = DAY_NS // 10**6
_AT_ONCE = 2**16  # texts that are Python objects at the same time, at most
_DAMAGED = "The frame can't be read: offsets or lengths in it are wrong."


def _arrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415  # of an extra
        import pyarrow.compute  # noqa: PLC0415  # of an extra
    except ImportError:
        raise SourceError(
            "The values of the frame can't be checked without the package pyarrow. Install it with "
            "pip install pyarrow."
        ) from None
    return pa


@final
class CheckedStream:
    """The stream of a `frame`, with the columns at `positions` checked and all others NULL."""

    def __init__(self, frame: object, positions: Collection[int]) -> None:
        self._frame, self._positions = frame, positions

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream of the frame, in Arrow's C interface; DuckDB asks for its schema first."""
        pa, reader = _arrow(), _reader(self._frame)
        schema = _schema_at(reader.schema, self._positions)
        batches = self._batches(reader, schema)
        stream = pa.RecordBatchReader.from_batches(schema, batches)
        return stream.__arrow_c_stream__(requested_schema)

    def _batches(self, reader: Any, schema: Any) -> Iterator[Any]:
        pa = _arrow()
        for batch in reader:
            unused = _nulls(batch.num_rows)
            columns = [
                check_values(column) if position in self._positions else unused
                for position, column in enumerate(batch.columns)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def schema_of(frame: object) -> Any:
    """The Arrow schema of a frame; raises pyarrow's errors if it can't be read."""
    return _reader(frame).schema


def empty_column(field: Any) -> Any:
    """A table without rows that has one column, for a `field` of a schema."""
    return _arrow().schema([field]).empty_table()


def empty_table(frame: object, positions: Collection[int]) -> Any:
    """A table without rows, with a frame's columns.

    Columns not at `positions` get a type that DuckDB can read.
    """
    return _schema_at(schema_of(frame), positions).empty_table()


def _schema_at(schema: Any, positions: Collection[int]) -> Any:
    """Give every column that isn't at `positions` a type that DuckDB can read."""
    pa = _arrow()
    return pa.schema(
        [
            field if position in positions else pa.field(field.name, pa.int8())
            for position, field in enumerate(schema)
        ]
    )


def is_encoded_twice(kind: Any) -> bool:
    """True for a dictionary (or run-end encoding) of values that are themselves so encoded.

    DuckDB reads the inner indices as if they were values, or fails on a row.
    """
    inner = _encoded_type(kind)
    return inner is not None and _encoded_type(inner) is not None


def _encoded_type(kind: Any) -> Any:
    """The type of the values in a dictionary or run-end encoding; None for any other type."""
    pa = _arrow()
    if isinstance(kind, pa.BaseExtensionType):
        return _encoded_type(kind.storage_type)
    by_position = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return kind.value_type if by_position else None


def _reader(frame: object) -> Any:
    return _arrow().RecordBatchReader.from_stream(frame)


def _nulls(length: int) -> Any:
    pa = _arrow()
    return pa.nulls(length, pa.int8())


def check_values(values: Any) -> Any:
    """The array with NULL for each value that its type can't hold.

    Raises SourceError if the damage isn't limited to single values.
    """
    try:
        return _check_array(values)
    except _arrow().ArrowException:  # pyarrow's message quotes values
        raise SourceError(_DAMAGED) from None


def check_pandas_column(column: Any) -> Any:
    """Apply `check_values` to a pandas column that is stored by Arrow."""
    chunked = column.__arrow_array__()
    chunks = [check_values(chunk) for chunk in chunked.chunks]
    if all(chunk is before for chunk, before in zip(chunks, chunked.chunks, strict=True)):
        return column
    return type(column)(_arrow().chunked_array(chunks, chunked.type))


def _check_array(values: Any) -> Any:
    pa = _arrow()
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _check_array(values.storage))
    if pa.types.is_dictionary(kind):
        return _in_dictionary(values)
    if pa.types.is_run_end_encoded(kind):
        return _in_runs(values)
    if pa.types.is_decimal(kind):
        values = _decimals(values)
    elif pa.types.is_date64(kind):
        values = _days(values)
    elif kind in {pa.string(), pa.large_string(), pa.string_view()}:
        return _texts(values)
    values.validate(full=True)
    return values


def _texts(values: Any) -> Any:
    pa = _arrow()
    as_bytes = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    raw = values.view(as_bytes.get(values.type, pa.binary_view()))
    raw.validate(full=True)
    if _is_valid(values):
        return values
    # in slices, since all texts as Python objects could need too much memory
    starts = range(0, len(values), _AT_ONCE)
    return pa.concat_arrays(
        [_null_invalid_texts(values.slice(at, _AT_ONCE), raw.slice(at, _AT_ONCE)) for at in starts]
    )


def _null_invalid_texts(values: Any, raw: Any) -> Any:
    """Replace texts that aren't UTF-8 by NULL; `raw` has the bytes of the texts."""
    if _is_valid(values):
        return values
    right = [text if text is not None and is_utf8(text) else None for text in raw.to_pylist()]
    return _arrow().array(right, raw.type).view(values.type)


def _is_valid(values: Any) -> bool:
    try:
        values.validate(full=True)
    except _arrow().ArrowInvalid:
        return False
    return True


def _in_dictionary(values: Any) -> Any:
    pa = _arrow()
    known = _check_array(values.dictionary)
    indices = values.indices.cast(pa.int64(), safe=False)  # including unsigned integers of 64 bits
    indices = _null_unless(values.indices, *_between(indices, 0, len(known) - 1))
    return pa.DictionaryArray.from_arrays(indices, known, ordered=values.type.ordered)


def _in_runs(values: Any) -> Any:
    pa, ends, known = _arrow(), values.run_ends, _check_array(values.values)
    pa.RunEndEncodedArray.from_arrays(ends, _nulls(len(known))).validate(full=True)
    whole = pa.RunEndEncodedArray.from_arrays(ends, known, values.type)
    return whole.slice(values.offset, len(values))


def _decimals(values: Any) -> Any:
    pa, kind = _arrow(), values.type
    whole = {32: pa.int32(), 64: pa.int64()}.get(kind.bit_width)
    if whole is not None:
        most = 10**kind.precision - 1
        return _null_unless(values, *_between(values.view(whole), -most, most))
    # cast to the widest type: a value beyond its own type can't be compared
    digits = Decimal((0, (9,) * kind.precision, -kind.scale))
    wide = values.view(pa.decimal128(MOST_DIGITS, kind.scale))
    return _null_unless(values, *_between(wide, digits.copy_negate(), digits))


def _days(values: Any) -> Any:
    """Replace dates in milliseconds by NULL unless they are a whole number of days in 32 bits.

    Arrow allows only whole days, and a date of DuckDB has 32 bits.
    """
    pa = _arrow()
    passed = values.view(pa.int64())
    days = pa.compute.divide(passed, _DAY_MS)
    whole = pa.compute.equal(passed, pa.compute.multiply(days, _DAY_MS))
    return _null_unless(values, whole, *_between(days, -(2**31), 2**31 - 1))


def _between(values: Any, least: object, most: object) -> tuple[Any, Any]:
    pa = _arrow()
    return (
        pa.compute.greater_equal(values, pa.scalar(least, values.type)),
        pa.compute.less_equal(values, pa.scalar(most, values.type)),
    )


def _null_unless(values: Any, *conditions: Any) -> Any:
    """The `values`, with NULL where a condition is false."""
    pa = _arrow()
    if all(pa.compute.all(condition).as_py() is not False for condition in conditions):
        return values
    indices = pa.array(np.arange(len(values)))
    for condition in conditions:
        indices = pa.compute.if_else(condition, indices, None)
    return values.take(indices)
