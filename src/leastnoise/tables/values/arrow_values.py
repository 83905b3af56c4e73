"""Arrow columns, checked before DuckDB reads them: it believes all that they say.

A decimal past its digits is read as memory of other rows, an index past its dictionary or an offset
past its texts as memory of this program. What one row holds and its type can't is a missing value.
Where offsets are wrong it can't be told whose texts they are: the whole frame is refused. So it is
for a view (of `string_view`) that lies outside its buffers, or isn't of the letters that it begins
with: it is one value's alone, but no library makes it of any row, so that this memory is damaged.
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
_AT_ONCE = 2**16  # texts that may be Python's objects at a time
_DAMAGED = "The frame can't be read: offsets or lengths in it are wrong."


def _arrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415  # of an extra
        import pyarrow.compute  # noqa: PLC0415  # of an extra
    except ImportError:
        raise SourceError(
            "The frame's values can't be checked without pyarrow: pip install pyarrow."
        ) from None
    return pa


@final
class Checked:
    """The stream of a `frame`, its columns at the `places` checked and the others NULL."""

    def __init__(self, frame: object, places: Collection[int]) -> None:
        self._frame, self._places = frame, places

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream; DuckDB asks for its schema first."""
        pa, reader = _arrow(), _reader(self._frame)
        schema = _schema_at(reader.schema, self._places)
        batches = self._batches(reader, schema)
        found = pa.RecordBatchReader.from_batches(schema, batches)
        return found.__arrow_c_stream__(requested_schema)

    def _batches(self, reader: Any, schema: Any) -> Iterator[Any]:
        pa = _arrow()
        for batch in reader:
            unused = _nulls(batch.num_rows)
            columns = [
                checked(column) if place in self._places else unused
                for place, column in enumerate(batch.columns)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def schema_of(frame: object) -> Any:
    """Arrow's schema of a frame; raises what pyarrow does if it can't read it."""
    return _reader(frame).schema


def no_rows_of(field: Any) -> Any:
    """A table of no row with one column, of a `field` of a schema."""
    return _arrow().schema([field]).empty_table()


def without_rows(frame: object, places: Collection[int]) -> Any:
    """A table of no row with a frame's columns, those not at the `places` of another type."""
    return _schema_at(schema_of(frame), places).empty_table()


def _schema_at(schema: Any, places: Collection[int]) -> Any:
    """A schema in which DuckDB can read all columns that aren't at the `places`."""
    pa = _arrow()
    return pa.schema(
        [
            field if place in places else pa.field(field.name, pa.int8())
            for place, field in enumerate(schema)
        ]
    )


def encoded_twice(kind: Any) -> bool:
    """Say whether a type is a dictionary or runs, and so are its values.

    DuckDB reads the inner places as if they were the values, or fails on any row.
    """
    inner = _encoded(kind)
    return inner is not None and _encoded(inner) is not None


def _encoded(kind: Any) -> Any:
    """Return the type of what a dictionary or runs hold; None for any other type."""
    pa = _arrow()
    if isinstance(kind, pa.BaseExtensionType):
        return _encoded(kind.storage_type)
    by_place = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return kind.value_type if by_place else None


def _reader(frame: object) -> Any:
    return _arrow().RecordBatchReader.from_stream(frame)


def _nulls(length: int) -> Any:
    pa = _arrow()
    return pa.nulls(length, pa.int8())


def checked(values: Any) -> Any:
    """Return the array of the same type with NULL for each value that its type can't have.

    Raises SourceError where it isn't one value that is wrong.
    """
    try:
        return _checked(values)
    except _arrow().ArrowException:  # quotes values
        raise SourceError(_DAMAGED) from None


def checked_column(column: Any) -> Any:
    """Return a column of pandas' that is Arrow's inside, `checked`."""
    found = column.__arrow_array__()
    chunks = [checked(chunk) for chunk in found.chunks]
    if all(chunk is before for chunk, before in zip(chunks, found.chunks, strict=True)):
        return column
    return type(column)(_arrow().chunked_array(chunks, found.type))


def _checked(values: Any) -> Any:
    pa = _arrow()
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _checked(values.storage))
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
    # else one text would make Python's objects of all others, and could take all of the memory
    starts = range(0, len(values), _AT_ONCE)
    return pa.concat_arrays(
        [_mended(values.slice(at, _AT_ONCE), raw.slice(at, _AT_ONCE)) for at in starts]
    )


def _mended(values: Any, raw: Any) -> Any:
    """Return texts, whose bytes are `raw`, with NULL for those that aren't UTF-8."""
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
    known = _checked(values.dictionary)
    places = values.indices.cast(pa.int64(), safe=False)  # of 64 bits without a sign, too
    places = _kept(values.indices, *_between(places, 0, len(known) - 1))
    return pa.DictionaryArray.from_arrays(places, known, ordered=values.type.ordered)


def _in_runs(values: Any) -> Any:
    pa, ends, known = _arrow(), values.run_ends, _checked(values.values)
    pa.RunEndEncodedArray.from_arrays(ends, _nulls(len(known))).validate(full=True)
    whole = pa.RunEndEncodedArray.from_arrays(ends, known, values.type)
    return whole.slice(values.offset, len(values))


def _decimals(values: Any) -> Any:
    pa, kind = _arrow(), values.type
    whole = {32: pa.int32(), 64: pa.int64()}.get(kind.bit_width)
    if whole is not None:
        most = 10**kind.precision - 1
        return _kept(values, *_between(values.view(whole), -most, most))
    # as the widest type, since a value past its own can't be compared
    digits = Decimal((0, (9,) * kind.precision, -kind.scale))
    wide = values.view(pa.decimal128(MOST_DIGITS, kind.scale))
    return _kept(values, *_between(wide, digits.copy_negate(), digits))


def _days(values: Any) -> Any:
    """Return dates, kept in milliseconds, that are whole days; DuckDB wraps those past 32 bits."""
    pa = _arrow()
    passed = values.view(pa.int64())
    days = pa.compute.divide(passed, _DAY_MS)
    whole = pa.compute.equal(passed, pa.compute.multiply(days, _DAY_MS))
    return _kept(values, whole, *_between(days, -(2**31), 2**31 - 1))


def _between(values: Any, least: object, most: object) -> tuple[Any, Any]:
    pa = _arrow()
    return (
        pa.compute.greater_equal(values, pa.scalar(least, values.type)),
        pa.compute.less_equal(values, pa.scalar(most, values.type)),
    )


def _kept(values: Any, *conditions: Any) -> Any:
    """Return `values`, but NULL where one of the `conditions` doesn't hold."""
    pa = _arrow()
    if all(pa.compute.all(condition).as_py() is not False for condition in conditions):
        return values
    places = pa.array(np.arange(len(values)))
    for condition in conditions:
        places = pa.compute.if_else(condition, places, None)
    return values.take(places)
