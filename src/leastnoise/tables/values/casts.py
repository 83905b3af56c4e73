"""From a column as a file holds it to what each use of it needs; NULL where that can't be.

A cast must not fail for any value that a file can hold: see `Held` for what it may be given.

notation: a `use` is u (it names a person), k (rows are grouped by it) or v (it is a value).
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

# Those that a 64-bit integer holds, and the others.
_SMALL = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_LARGE = ("UBIGINT", "HUGEINT", "UHUGEINT")
TYPES: dict[str, ColumnType] = {
    **dict.fromkeys((*_SMALL, *_LARGE), "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("VARCHAR", "UUID", "DATE"), "text"),
    "BOOLEAN": "bool",
}
_TEXT_ALONE = ("UUID", "DATE", "BLOB")
_STAMPS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")  # none has a time zone
DAY_NS = 86_400 * 10**9
_NOTHING = '"NULL"'  # a column that can hold no value, as pandas writes one without any
_KEYS: dict[ColumnType, str] = {"int": "BIGINT", "text": "VARCHAR", "bool": "BOOLEAN"}

# What a text may be to be read as a number or a bool, on every engine; all else is missing.
# DuckDB alone would take 1_000 and +-1, and other engines 1d, other alphabets' digits, or " true".
_BLANK = r"[ \t\n\x0b\f\r]*"
WHOLE = rf"{_BLANK}[+-]?[0-9]+(\.0*)?{_BLANK}"  # pandas writes whole numbers beside a gap as 1.0
NUMBER = rf"{_BLANK}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?{_BLANK}"
TRUE = "[tT]([rR][uU][eE])?|[yY]([eE][sS])?|1"
FALSE = "[fF]([aA][lL][sS][eE])?|[nN][oO]?|0"
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_SHORT_DIGITS = 18  # of a decimal that 64 bits hold
MOST_DIGITS = 38  # of DuckDB's decimals, and so of a whole number that tells persons apart
FIRST_DATE, LAST_DATE = (
    "0001-01-01",
    "9999-12-31",
)  # others have different texts


@final
@dataclass(frozen=True, kw_only=True)
class Held:
    """A column of a file: SQL that stands for it, and DuckDB's type of it without parameters.

    `exactly` is the type with them, where two files could differ in them. `only` says as what the
    engine can read it, where that isn't as all, and `why` in words why it can't be used. Of texts
    `decimal` is what stands before the decimals of a number.

    Of the types that `read_as` lists no value fails in DuckDB's reader, or in one of the casts
    below. Others can't be used: among them times, timestamps in milliseconds of Parquet (whose
    reader raises past its microseconds), lists and structs (text within them may not be UTF-8), and
    JSON. Of a timestamp without a time zone expressions use the day.
    """

    sql: str
    kind: str
    exactly: str = ""
    only: tuple[ColumnType, ...] = ("int", "float", "text", "bool")
    why: str = ""
    decimal: str = "."

    def read_as(self) -> tuple[ColumnType, ...]:
        """Return the types that the column can be declared to have."""
        if self.kind == _NOTHING or (self.type is not None and self.kind not in _TEXT_ALONE):
            return self.only
        return ("text",) if self.kind in _TEXT_ALONE and "text" in self.only else ()

    @property
    def type(self) -> ColumnType | None:
        """The type to this library, None if it is an unusual one."""
        return TYPES.get(self.kind)

    @property
    def in_expressions(self) -> Type | None:
        """The type in row expressions where the spec declares none; None if it has none."""
        if self.kind in _STAMPS:
            return "timestamp" if self.only else None
        return "date" if self.kind == "DATE" else self.type


@final
@dataclass(frozen=True, kw_only=True)
class FileRows:
    """The rows of a file: SQL to follow FROM, its parameters, and columns by name."""

    sql: str
    columns: dict[str, Held]
    bound: dict[str, Any] = field(default_factory=dict)

    def none(self) -> FileRows:
        """The same columns without rows. DuckDB reads nothing for it, as it would for LIMIT 0."""
        return replace(self, sql=f"(SELECT * FROM {self.sql} WHERE FALSE)")  # noqa: S608  # as it was


def held(sql: str, kind: str) -> Held:
    """Return a column of a table or a frame, its values bounded where others would be trouble."""
    plain = re.split(r"[(\[]", kind, maxsplit=1)[0]
    if plain == _NOTHING:  # and nothing is asked of it: Polars' is one that DuckDB can't read
        return Held(sql="NULL", kind=plain, exactly=kind)
    if kind.endswith("]"):  # lists can't be read, and what they hold may have values in its name
        return Held(sql=sql, kind=f"{plain}[]")
    if plain == "ENUM":  # its values are rows' values: no message may have them
        sql, plain, kind = f"{sql}::VARCHAR", "VARCHAR", "VARCHAR"
    if plain == "VARCHAR":
        sql = f"CASE WHEN strlen({sql}) <= {MAX_TEXT} THEN {sql} END"
    elif plain == "BLOB":
        sql = f"CASE WHEN octet_length({sql}) <= {MAX_TEXT} THEN {sql} END"
    return Held(sql=sql, kind=plain, exactly=kind)


def within_precision(sql: str, precision: int, scale: int) -> str:
    """Return SQL of a decimal that is NULL where it has more digits than its type."""
    digits = "9" * precision
    most = f"'{digits[: precision - scale]}.{digits[:scale]}'::DECIMAL({precision}, {scale})"
    # The clamp is what a cast is safe with: DuckDB may cast a value that the CASE leaves out, as
    # it takes a CASE in a filter apart.
    clamped = f"least(greatest({sql}, -{most}), {most})"
    return f"CASE WHEN {clamped} = {sql} THEN {clamped} END"


def by_use(held: Held, wanted: ColumnType) -> dict[Use, str]:
    """SQL for each use that a column of the type `wanted` can have.

    Texts are compared by their bytes, whatever collation a database's column has. A float that
    isn't finite is NULL in every use. Only a text can still make a `v` infinite or NaN: see
    `finite`.
    """
    if held.kind in {"FLOAT", "DOUBLE"}:
        held = replace(held, sql=finite(held.sql))
    if held.kind == "VARCHAR":
        held = replace(held, sql=f'({held.sql} COLLATE "binary")')
    found: dict[Use, str] = {}
    if held.kind in _STAMPS:  # of which expressions alone use the day
        return found
    if held.decimal == "," and wanted in {"int", "float"}:  # a point becomes what no number has
        held = replace(held, sql=f"translate({held.sql}, ',.', '.,')")
    if wanted in {"int", "text"}:
        found["u"] = _unit(held, wanted)
    if wanted in _KEYS:
        cast = f"TRY_CAST({held.sql} AS {_KEYS[wanted]})"
        found["k"] = _text(held) if wanted == "text" else _whole(held, wanted, cast)
    if wanted != "text":
        # Straight to float64, so that a number past 64 bits is clamped and not missing.
        inner = f"TRY_CAST({held.sql} AS BOOLEAN)" if wanted == "bool" else _nearest(held)
        number = f"TRY_CAST({inner} AS DOUBLE)"
        if held.kind == "VARCHAR" and wanted == "float":  # see NUMBER
            odd = f"contains({held.sql}, '_') OR contains({held.sql}, '+-')"
            number = f"CASE WHEN NOT ({odd}) THEN {number} END"
        found["v"] = _whole(held, wanted, number)
    return found


def finite(number: str) -> str:
    """SQL of a float that is NULL where it is infinite or NaN.

    It is no comparison: DuckDB decides comparisons by a column's minimum and maximum, which leave
    NaN out in Parquet files. `connection` switches that off, and this guard would hold without it.
    """
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def as_day(held: Held) -> str:
    """Return SQL of a date, or of a timestamp's: NULL where its text isn't the same everywhere."""
    day = held.sql
    if held.kind == "TIMESTAMP_NS":  # whose cast rounds up before 1970
        passed = f"epoch_ns({day})"
        days = f"({passed} // {DAY_NS} - CAST({passed} % {DAY_NS} < 0 AS BIGINT))"
        day = f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"
    elif held.kind in _STAMPS:
        day = f"TRY_CAST({day} AS DATE)"
    return f"CASE WHEN {day} BETWEEN '{FIRST_DATE}' AND '{LAST_DATE}' THEN {day} END"


def _nearest(held: Held) -> str:
    """Return SQL whose cast to float64 is the nearest one, as it is for all others, and on Spark.

    DuckDB adds two rounded halves of a whole number of more than 64 bits; of its digits it makes
    the nearest.
    """
    found = _DECIMAL.fullmatch(held.exactly)
    short = found is not None and (int(found[1]) <= _SHORT_DIGITS or int(found[2]) > 0)
    long = held.kind in {"HUGEINT", "UHUGEINT"} or (held.kind == "DECIMAL" and not short)
    return f"{held.sql}::VARCHAR" if long else held.sql


def _unit(held: Held, wanted: ColumnType) -> str:
    """Return SQL that is the same for the same person alone: no two numbers become one."""
    if wanted == "text":
        return _text(held)
    if held.kind in _SMALL:
        return f"TRY_CAST({held.sql} AS BIGINT)"
    cast = f"TRY_CAST({held.sql} AS HUGEINT)"
    inside = f"{cast} BETWEEN -{'9' * MOST_DIGITS} AND {'9' * MOST_DIGITS}"
    if held.kind in {"FLOAT", "DOUBLE"}:  # the float 1e38 is a little less than 10^38
        inside = f"abs({held.sql}::DOUBLE) < 1e{MOST_DIGITS}::DOUBLE"
    return _whole(held, wanted, f"CASE WHEN {inside} THEN {cast} END")


def _text(held: Held) -> str:
    text = f"TRY_CAST({held.sql} AS VARCHAR)"
    if held.kind == "DATE":
        return f"CASE WHEN {held.sql} BETWEEN '{FIRST_DATE}' AND '{LAST_DATE}' THEN {text} END"
    return text


def _whole(held: Held, wanted: ColumnType, cast: str) -> str:
    """Return `cast`, but NULL where an int is wanted and the column holds no whole number.

    A cast alone would round 3.7 to 4, and make one person of two.
    """
    if wanted != "int" or held.type in {"int", "bool"}:
        return cast
    if held.type == "float":
        return f"CASE WHEN {held.sql} = trunc({held.sql}) THEN {cast} END"
    return f"CASE WHEN regexp_full_match({held.sql}::VARCHAR, '{WHOLE}') THEN {cast} END"
