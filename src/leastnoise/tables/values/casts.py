"""Casts from a column of a file to each use of it; NULL for values that can't be cast.

A cast must not fail for any value that a file can hold: `StoredColumn` says which types can't be
used, since that isn't guaranteed for them.

Notation: a `use` is u (identifies a person), k (a key, by which rows are grouped) or v (a value).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from leastnoise.tables.spec.values import MAX_TEXT

if TYPE_CHECKING:
    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.expressions.tree import Type
    from leastnoise.tables.spec.values import ColumnType

# Integer types that fit in 64 bits, and the others.
_SMALL = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_LARGE = ("UBIGINT", "HUGEINT", "UHUGEINT")
TYPES: dict[str, ColumnType] = {
    **dict.fromkeys((*_SMALL, *_LARGE), "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("VARCHAR", "UUID", "DATE"), "text"),
    "BOOLEAN": "bool",
}
_TEXT_ALONE = ("UUID", "DATE", "BLOB")
# types of timestamps without a time zone
_STAMPS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_INSTANTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
DAY_NS = 86_400 * 10**9
_NOTHING = '"NULL"'  # type of a column without any value, as pandas writes it
_KEYS: dict[ColumnType, str] = {"int": "BIGINT", "text": "VARCHAR", "bool": "BOOLEAN"}

# Texts that every engine reads as a number or a bool; all others are missing. DuckDB would also
# accept 1_000 and +-1, and other engines 1d, digits of other alphabets, or " true".
_BLANK = r"[ \t\n\x0b\f\r]*"
WHOLE = rf"{_BLANK}[+-]?[0-9]+(\.0*)?{_BLANK}"  # pandas writes whole numbers beside a gap as 1.0
NUMBER = rf"{_BLANK}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?{_BLANK}"
TRUE = "[tT]([rR][uU][eE])?|[yY]([eE][sS])?|1"
FALSE = "[fF]([aA][lL][sS][eE])?|[nN][oO]?|0"
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_SHORT_DIGITS = 18  # digits of decimals that fit in 64 bits
MOST_DIGITS = 38  # digits of DuckDB's decimals, and so of a whole number that identifies a person
FIRST_DATE, LAST_DATE = (
    "0001-01-01",
    "9999-12-31",
)  # dates outside this range have different texts in different engines
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799  # these dates in seconds since 1970


@final
@dataclass(frozen=True, kw_only=True)
class StoredColumn:
    """A column as a file stores it: an SQL expression, and its DuckDB type without parameters.

    `exact_kind` is the type with parameters, which may differ between two files. `only` lists the
    types as which the engine can read the column, and `why` is the reason if it can't be used. For
    texts, `decimal` is the decimal mark of numbers.

    If a column has any `declarable_types()`, no value makes DuckDB's reader or a cast in this
    module fail. Columns of other types can't be used: times, Parquet timestamps in milliseconds
    (the reader raises an error past its range of microseconds), lists and structs (texts within
    them may not be UTF-8), and JSON. Only expressions use timestamps.
    """

    sql: str
    kind: str
    exact_kind: str = ""
    only: tuple[ColumnType, ...] = ("int", "float", "text", "bool")
    why: str = ""
    decimal: str = "."

    def declarable_types(self) -> tuple[ColumnType, ...]:
        """The types that a spec can declare for the column."""
        if self.kind == _NOTHING or (self.type is not None and self.kind not in _TEXT_ALONE):
            return self.only
        return ("text",) if self.kind in _TEXT_ALONE and "text" in self.only else ()

    @property
    def type(self) -> ColumnType | None:
        """The column type that is used if a spec declares none; None for types such as BLOB."""
        return TYPES.get(self.kind)

    @property
    def expression_type(self) -> Type | None:
        """The type in expressions that is used if a spec declares none.

        None for unusable columns.
        """
        if self.kind in _STAMPS:
            return "timestamp" if self.only else None
        if self.kind in _INSTANTS:
            return "instant" if self.only else None
        return "date" if self.kind == "DATE" else self.type


@final
@dataclass(frozen=True, kw_only=True)
class FileRows:
    """The rows of a file: SQL to follow FROM, its parameters, and columns by name."""

    sql: str
    columns: dict[str, StoredColumn]
    parameters: dict[str, Any] = field(default_factory=dict)

    def without_rows(self) -> FileRows:
        """The same columns without rows.

        DuckDB then reads nothing, while LIMIT 0 would read the file.
        """
        return replace(self, sql=f"(SELECT * FROM {self.sql} WHERE FALSE)")  # noqa: S608  # as it was


def stored_column(sql: str, kind: str) -> StoredColumn:
    """A column of a table or a frame; texts and blobs that are too long become NULL."""
    plain = re.split(r"[(\[]", kind, maxsplit=1)[0]
    if plain == _NOTHING:  # read nothing, since DuckDB can't read Polars' columns of this type
        return StoredColumn(sql="NULL", kind=plain, exact_kind=kind)
    if kind.endswith("]"):  # lists can't be read, and the type of their items may quote values
        return StoredColumn(sql=sql, kind=f"{plain}[]")
    if plain == "ENUM":  # the type lists values of rows, which no message may quote
        sql, plain, kind = f"{sql}::VARCHAR", "VARCHAR", "VARCHAR"
    if plain == "VARCHAR":
        sql = f"CASE WHEN strlen({sql}) <= {MAX_TEXT} THEN {sql} END"
    elif plain == "BLOB":
        sql = f"CASE WHEN octet_length({sql}) <= {MAX_TEXT} THEN {sql} END"
    return StoredColumn(sql=sql, kind=plain, exact_kind=kind)


def within_precision(sql: str, precision: int, scale: int) -> str:
    """SQL of a decimal that is NULL if it has more digits than its type."""
    digits = "9" * precision
    most = f"'{digits[: precision - scale]}.{digits[:scale]}'::DECIMAL({precision}, {scale})"
    # The clamp keeps casts safe: DuckDB splits a CASE in a filter, and may then cast a value that
    # the CASE leaves out.
    clamped = f"least(greatest({sql}, -{most}), {most})"
    return f"CASE WHEN {clamped} = {sql} THEN {clamped} END"


def casts_by_use(column: StoredColumn, wanted: ColumnType) -> dict[Use, str]:
    """SQL for each use of a column that is read as the type `wanted`.

    Texts are compared by their bytes, even if a database's column has another collation. A stored
    float that isn't finite is NULL in every use. A text can still give an infinite value or NaN:
    see `finite`.
    """
    if column.kind in {"FLOAT", "DOUBLE"}:
        column = replace(column, sql=finite(column.sql))
    if column.kind == "VARCHAR":
        column = replace(column, sql=f'({column.sql} COLLATE "binary")')
    casts: dict[Use, str] = {}
    if column.kind in {*_STAMPS, *_INSTANTS}:  # only expressions use a timestamp
        return casts
    # swapped, so that a number with a point is invalid
    if column.decimal == "," and wanted in {"int", "float"}:
        column = replace(column, sql=f"translate({column.sql}, ',.', '.,')")
    if wanted in {"int", "text"}:
        casts["u"] = _unit(column, wanted)
    if wanted in _KEYS:
        cast = f"TRY_CAST({column.sql} AS {_KEYS[wanted]})"
        casts["k"] = _text(column) if wanted == "text" else _whole(column, wanted, cast)
    if wanted != "text":
        # Cast straight to float64, so that a number past 64 bits is clamped instead of missing.
        inner = f"TRY_CAST({column.sql} AS BOOLEAN)" if wanted == "bool" else _nearest(column)
        number = f"TRY_CAST({inner} AS DOUBLE)"
        if column.kind == "VARCHAR" and wanted == "float":  # see NUMBER
            odd = f"contains({column.sql}, '_') OR contains({column.sql}, '+-')"
            number = f"CASE WHEN NOT ({odd}) THEN {number} END"
        casts["v"] = _whole(column, wanted, number)
    return casts


def finite(number: str) -> str:
    """SQL of a float that is NULL if it is infinite or NaN.

    The SQL uses no comparison, because DuckDB may decide comparisons by the minimum and maximum of
    a column, which ignore NaN in Parquet files. `connection` switches that off, but this guard
    doesn't depend on it.
    """
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def as_day(column: StoredColumn) -> str:
    """SQL of the day of a date or timestamp; NULL for days that engines write differently."""
    day = column.sql
    if column.kind == "TIMESTAMP_NS":  # a cast to a date rounds up before 1970
        passed = f"epoch_ns({day})"
        days = f"({passed} // {DAY_NS} - CAST({passed} % {DAY_NS} < 0 AS BIGINT))"
        day = f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"
    elif column.kind in _STAMPS:
        day = f"TRY_CAST({day} AS DATE)"
    return f"CASE WHEN {day} BETWEEN '{FIRST_DATE}' AND '{LAST_DATE}' THEN {day} END"


def as_seconds(column: StoredColumn) -> str:
    """SQL of a timestamp's whole seconds since 1970, rounded down; NULL where the day is NULL."""
    if column.kind in {"TIMESTAMP_NS", "TIMESTAMPTZ_NS"}:
        passed, size = f"epoch_ns({column.sql})", 10**9
    elif column.kind in _INSTANTS:
        passed, size = f"epoch_us({column.sql})", 10**6
    else:
        passed, size = f"epoch_us(TRY_CAST({column.sql} AS TIMESTAMP))", 10**6
    seconds = f"({passed} // {size} - CAST({passed} % {size} < 0 AS BIGINT))"
    inside = f"{seconds} BETWEEN {FIRST_SECOND} AND {LAST_SECOND}"
    return f"CASE WHEN {inside} THEN CAST({seconds} AS DOUBLE) END"


def _nearest(column: StoredColumn) -> str:
    """SQL of the column, changed so that a cast to float64 gives the nearest float, as on Spark.

    For a whole number of more than 64 bits, DuckDB's cast rounds twice; a cast from its digits
    gives the nearest float.
    """
    decimal = _DECIMAL.fullmatch(column.exact_kind)
    short = decimal is not None and (int(decimal[1]) <= _SHORT_DIGITS or int(decimal[2]) > 0)
    long = column.kind in {"HUGEINT", "UHUGEINT"} or (column.kind == "DECIMAL" and not short)
    return f"{column.sql}::VARCHAR" if long else column.sql


def _unit(column: StoredColumn, wanted: ColumnType) -> str:
    """SQL of the value that identifies a person; it never makes two different numbers equal."""
    if wanted == "text":
        return _text(column)
    if column.kind in _SMALL:
        return f"TRY_CAST({column.sql} AS BIGINT)"
    cast = f"TRY_CAST({column.sql} AS HUGEINT)"
    inside = f"{cast} BETWEEN -{'9' * MOST_DIGITS} AND {'9' * MOST_DIGITS}"
    if column.kind in {"FLOAT", "DOUBLE"}:  # the float 1e38 is a little less than 10^38
        inside = f"abs({column.sql}::DOUBLE) < 1e{MOST_DIGITS}::DOUBLE"
    return _whole(column, wanted, f"CASE WHEN {inside} THEN {cast} END")


def _text(column: StoredColumn) -> str:
    text = f"TRY_CAST({column.sql} AS VARCHAR)"
    if column.kind == "DATE":
        return f"CASE WHEN {column.sql} BETWEEN '{FIRST_DATE}' AND '{LAST_DATE}' THEN {text} END"
    return text


def _whole(column: StoredColumn, wanted: ColumnType, cast: str) -> str:
    """The `cast`, but NULL if an int is wanted and the column's value isn't a whole number."""
    if wanted != "int" or column.type in {"int", "bool"}:
        return cast
    if column.type == "float":
        return f"CASE WHEN {column.sql} = trunc({column.sql}) THEN {cast} END"
    return f"CASE WHEN regexp_full_match({column.sql}::VARCHAR, '{WHOLE}') THEN {cast} END"
