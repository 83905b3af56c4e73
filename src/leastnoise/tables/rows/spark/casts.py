"""Casts from a column of a Spark frame to each use of it; `values.casts` has these for DuckDB."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, final

from leastnoise.tables.values.casts import (
    FALSE,
    FIRST_DATE,
    FIRST_SECOND,
    LAST_DATE,
    LAST_SECOND,
    MAX_TEXT,
    MOST_DIGITS,
    NUMBER,
    TRUE,
    WHOLE,
    StoredColumn,
)

if TYPE_CHECKING:
    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.spec.values import ColumnType

_KINDS = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "void": '"NULL"',
}
"""Spark's names of types, and DuckDB's names."""
_IN_FILES = {kind: name for name, kind in _KINDS.items() if name != "void"} | {
    "UTINYINT": "smallint",
    "USMALLINT": "int",
    "UINTEGER": "bigint",
    "UBIGINT": "decimal(20,0)",
}
_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}  # grouping by these is faster in Spark
_WHOLE_DECIMAL = r"-?[0-9]+(\.0*)?|0E-[0-9]+"


def stored_column(kind: str) -> StoredColumn:
    """A column of Spark's type `kind`.

    Floats and decimals can't be read as texts, because engines write them differently.
    """
    plain = kind.split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    # a text type may be followed by a collation
    plain = "string" if plain in {"char", "varchar"} else plain
    duckdb_kind = (
        "DECIMAL" if plain == "decimal" else _KINDS.get(plain, plain.split("<")[0].upper())
    )
    return StoredColumn(sql="", kind=duckdb_kind, only=readable_types(duckdb_kind))


def readable_types(kind: str) -> tuple[ColumnType, ...]:
    """The types as which Spark reads a column of DuckDB's type `kind`; empty if it can't."""
    if kind in {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}:
        return ("text",)
    if kind in {"FLOAT", "DOUBLE", "DECIMAL"}:
        return ("int", "float", "bool")
    return ("int", "float", "text", "bool") if kind in {*_KINDS.values(), *_IN_FILES} else ()


def spark_type(kind: str) -> str | None:
    """Spark's name of a type that DuckDB finds in a file; None if Spark has no such type."""
    if kind.startswith("DECIMAL("):
        return kind.lower()
    return _IN_FILES.get(kind)


@final
class Casts:
    """Casts of Spark columns; `functions` is the module of classic Spark or Spark Connect."""

    def __init__(self, functions: Any) -> None:
        self._f = functions

    def casts_by_use(self, column: Any, kind: str, wanted: ColumnType) -> dict[Use, Any]:
        """Columns for each use of a column of the type `kind`; see `casts.casts_by_use`."""
        kind = stored_column(kind).kind
        if kind.startswith("TIMESTAMP"):  # only expressions use a timestamp
            return {}
        if kind in {"FLOAT", "DOUBLE"}:
            column = self._finite(column)
        if kind == "VARCHAR":
            column = self._text(column)
        casts: dict[Use, Any] = {}
        if wanted == "int":
            wide = f"decimal({MOST_DIGITS},0)"
            casts["u"] = self._whole(column, kind, "bigint" if kind in _SMALL else wide)
            casts["k"] = self._whole(column, kind, "bigint")
        if wanted == "text":
            casts["u"] = casts["k"] = self._as_text(column, kind)
        if wanted == "bool":
            casts["k"] = self._truth(column, kind)
        if wanted != "text":
            casts["v"] = self._number(column, kind, wanted)
        return casts

    def _finite(self, number: Any) -> Any:
        """The number, or NULL for infinities and NaN, which Spark sorts above all numbers."""
        return self._f.when(self._f.abs(number) <= sys.float_info.max, number)

    def _text(self, column: Any) -> Any:
        """The text if it is UTF-8 and not too long, else NULL; Spark compares it by bytes."""
        f = self._f
        plain = f.collate(column, "UTF8_BINARY")  # a column's own collation may ignore case
        return f.when(f.octet_length(plain) <= MAX_TEXT, f.try_validate_utf8(plain))

    def _as_text(self, column: Any, kind: str) -> Any:
        if kind != "DATE":
            return column.try_cast("string")
        return self.as_day(column).cast("string")

    def as_day(self, column: Any) -> Any:
        """The day of a date or timestamp; NULL outside the years 1 to 9999.

        Engines write other days as different texts.
        """
        f, column = self._f, column.cast("date")
        first, last = (f.lit(day).cast("date") for day in (FIRST_DATE, LAST_DATE))
        return f.when(column.between(first, last), column)

    def as_seconds(self, column: Any, kind: str) -> Any:
        """A timestamp's whole seconds since 1970, rounded down; NULL where the day is NULL."""
        f = self._f
        if stored_column(kind).kind != "TIMESTAMP":  # a timestamp with a time zone is an instant
            seconds = f.unix_seconds(column)
            inside = seconds.between(FIRST_SECOND, LAST_SECOND)
            return f.when(inside, seconds.cast("double"))
        days = f.datediff(self.as_day(column), f.lit("1970-01-01").cast("date")).cast("double")
        clock = f.hour(column) * 3600 + f.minute(column) * 60 + f.second(column)
        return days * 86_400.0 + clock.cast("double")

    def _matches(self, column: Any, pattern: str) -> Any:
        return self._f.rlike(column, self._f.lit(rf"\A(?:{pattern})\z"))

    def _whole(self, column: Any, kind: str, target: str) -> Any:
        f = self._f
        if kind == "VARCHAR":
            digits = f.regexp_extract(column, "[+-]?[0-9]+", 0)
            return f.when(self._matches(column, WHOLE), digits.try_cast(target))
        if kind in {"FLOAT", "DOUBLE"} and target == "bigint":  # Spark casts 2^63 to 2^63 - 1
            number = column.cast("double")
            column = f.when((number >= -(2.0**63)) & (number < 2.0**63), number)
        return self._if_whole(column, kind, column.try_cast(target))

    def _if_whole(self, column: Any, kind: str, cast: Any) -> Any:
        """The `cast`, but NULL where the `column` has a number that isn't whole.

        `kind` is the column's DuckDB type. Only floats and decimals are tested.
        """
        f = self._f
        if kind in {"FLOAT", "DOUBLE"}:
            return f.when(column.cast("double") % f.lit(1.0) == 0.0, cast)
        if kind == "DECIMAL":  # compared as texts, since arithmetic may lose the last digit
            return f.when(self._matches(column.cast("string"), _WHOLE_DECIMAL), cast)
        return cast

    def _truth(self, column: Any, kind: str) -> Any:
        f = self._f
        if kind != "VARCHAR":
            return column.try_cast("boolean")
        truth = f.when(self._matches(column, TRUE), f.lit(True))  # noqa: FBT003  # a column of them
        return truth.when(self._matches(column, FALSE), f.lit(False))  # noqa: FBT003

    def _number(self, column: Any, kind: str, wanted: ColumnType) -> Any:
        f = self._f
        if wanted == "bool":
            return self._truth(column, kind).cast("double")
        if kind == "VARCHAR":
            pattern = WHOLE if wanted == "int" else NUMBER
            number = f.when(self._matches(column, pattern), column.try_cast("double"))
            return self._finite(number)
        number = column.try_cast("double")
        return self._if_whole(column, kind, number) if wanted == "int" else number
