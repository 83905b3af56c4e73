"""From a column of a Spark frame to what each use of it needs, as `casts` has it for DuckDB.

The same value gives the same person, group and number on both, with ANSI mode on or off. A column
is made of functions alone, and never of SQL text, whose escapes depend on the session.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, final

from leastnoise.tables.values.casts import (
    FALSE,
    FIRST_DATE,
    LAST_DATE,
    MAX_TEXT,
    MOST_DIGITS,
    NUMBER,
    TRUE,
    WHOLE,
    Held,
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
"""Spark's types by its names of them, and DuckDB's."""
_IN_FILES = {kind: name for name, kind in _KINDS.items() if name not in {"void", "timestamp"}} | {
    "UTINYINT": "smallint",
    "USMALLINT": "int",
    "UINTEGER": "bigint",
    "UBIGINT": "decimal(20,0)",
}
_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}  # in which groups are found sooner
_WHOLE_DECIMAL = r"-?[0-9]+(\.0*)?|0E-[0-9]+"


def held(kind: str) -> Held:
    """Return a column of Spark's type `kind`; of floats and decimals no text is the same twice."""
    plain = kind.split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    plain = "string" if plain in {"char", "varchar"} else plain  # with a collation, too
    found = "DECIMAL" if plain == "decimal" else _KINDS.get(plain, plain.split("<")[0].upper())
    return Held(sql="", kind=found, only=types_of(found))


def types_of(kind: str) -> tuple[ColumnType, ...]:
    """Return as what Spark reads a column of DuckDB's type `kind`: floats as no texts."""
    if kind in {"DATE", "TIMESTAMP"}:
        return ("text",)
    if kind in {"FLOAT", "DOUBLE", "DECIMAL"}:
        return ("int", "float", "bool")
    return ("int", "float", "text", "bool") if kind in {*_KINDS.values(), *_IN_FILES} else ()


def named(kind: str) -> str | None:
    """Return Spark's name of the type that DuckDB finds in a file; None if Spark has none."""
    if kind.startswith("DECIMAL("):
        return kind.lower()
    return _IN_FILES.get(kind)


@final
class Casts:
    """The casts; `functions` are those of Spark's Python library, classic or Connect."""

    def __init__(self, functions: Any) -> None:
        self._f = functions

    def by_use(self, column: Any, kind: str, wanted: ColumnType) -> dict[Use, Any]:
        """Columns for each use of one whose type is called `kind`; see `casts.by_use`."""
        kind = held(kind).kind
        if kind == "TIMESTAMP":  # of which expressions alone use the day
            return {}
        if kind in {"FLOAT", "DOUBLE"}:
            column = self._finite(column)
        if kind == "VARCHAR":
            column = self._text(column)
        found: dict[Use, Any] = {}
        if wanted == "int":
            wide = f"decimal({MOST_DIGITS},0)"
            found["u"] = self._whole(column, kind, "bigint" if kind in _SMALL else wide)
            found["k"] = self._whole(column, kind, "bigint")
        if wanted == "text":
            found["u"] = found["k"] = self._spelled(column, kind)
        if wanted == "bool":
            found["k"] = self._truth(column, kind)
        if wanted != "text":
            found["v"] = self._number(column, kind, wanted)
        return found

    def _finite(self, number: Any) -> Any:
        """A number that is NULL where it is infinite or NaN, which Spark holds for the largest."""
        return self._f.when(self._f.abs(number) <= sys.float_info.max, number)

    def _text(self, column: Any) -> Any:
        """Return a text that is UTF-8, not too long, and equal to no other one."""
        f = self._f
        plain = f.collate(column, "UTF8_BINARY")  # a column may say that capitals are alike
        return f.when(f.octet_length(plain) <= MAX_TEXT, f.try_validate_utf8(plain))

    def _spelled(self, column: Any, kind: str) -> Any:
        if kind != "DATE":
            return column.try_cast("string")
        return self.as_day(column).cast("string")

    def as_day(self, column: Any) -> Any:
        """Return a date, or a timestamp's: NULL for one whose text isn't the same everywhere."""
        f, column = self._f, column.cast("date")
        first, last = (f.lit(day).cast("date") for day in (FIRST_DATE, LAST_DATE))
        return f.when(column.between(first, last), column)

    def _matches(self, column: Any, pattern: str) -> Any:
        return self._f.rlike(column, self._f.lit(rf"\A(?:{pattern})\z"))

    def _whole(self, column: Any, kind: str, target: str) -> Any:
        f = self._f
        if kind == "VARCHAR":
            digits = f.regexp_extract(column, "[+-]?[0-9]+", 0)
            return f.when(self._matches(column, WHOLE), digits.try_cast(target))
        if kind in {"FLOAT", "DOUBLE"} and target == "bigint":  # a cast takes 2^63 for 2^63 - 1
            number = column.cast("double")
            column = f.when((number >= -(2.0**63)) & (number < 2.0**63), number)
        return self._if_whole(column, kind, column.try_cast(target))

    def _if_whole(self, column: Any, kind: str, cast: Any) -> Any:
        """Return `cast`, but NULL where a number isn't whole."""
        f = self._f
        if kind in {"FLOAT", "DOUBLE"}:
            return f.when(column.cast("double") % f.lit(1.0) == 0.0, cast)
        if kind == "DECIMAL":  # arithmetic may lose its last digit; a small one is written 1E-7
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
