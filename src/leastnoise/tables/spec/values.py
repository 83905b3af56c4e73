"""The types of single values in a spec, which pydantic reads strictly and exactly."""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from numbers import Rational, Real
from typing import Annotated, Any, Literal, final

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainValidator, Tag

from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.tables.spec.section import UNREAD, Section, key

ColumnType = Literal["int", "float", "text", "bool"]
Encoding = Literal["utf-8", "latin-1", "windows-1252"]
UTF_8: Literal["utf-8"] = "utf-8"
Key = int | str | bool
Edge = Fraction | float
"""An edge of bins; a float only for −∞ and ∞."""
LEAST: Literal["least"] = "least"
Epsilon = Fraction | Literal["least"]
"""An ε, or "least" for the smallest ε with which all queries meet their `accuracy`."""
SKIP: Literal["skip"] = "skip"
NONE: Literal["none"] = "none"
Missing = Fraction | Literal["skip", "none"]
"""A number that replaces missing values, "skip" to leave them out, or "none".

"none" promises that no value is missing.
"""
LARGEST_SPEC = 10**7  # bytes of a spec, or of a file of keys, which already take seconds to read
MAX_TEXT = 2**12
"""The most bytes of a text; a longer one counts as missing.

The limit bounds memory, since the engine holds 2,048 rows of a column at a time.
"""
UNSEEN = (
    r"[\x{0}-\x{1F}\x{7F}-\x{9F}\x{AD}\x{61C}\x{200B}\x{200E}\x{200F}\x{2028}-\x{202E}"
    r"\x{2060}-\x{206F}\x{FEFF}\x{FFF9}-\x{FFFB}]"
)
"""Characters that no unlisted key may have: controls, line ends, marks of writing direction.

They are listed by code point, since engines know different versions of Unicode.
"""
_NO_TABLE_NAME, _LONGEST_NAME = re.compile(r"[^A-Za-z0-9_-]"), 64
SURROGATE = re.compile("[\ud800-\udfff]")
_OPEN = {"-inf": -math.inf, "inf": math.inf}
MAX_ROWS_BOUND = 2**20
MAX_RHO = 10_000


def read_version(value: object) -> int:
    """Check the version, which must be 1; raises ValueError for any other value."""
    if type(value) is not int or value != 1:  # True and 1.0 also equal 1
        raise ValueError("Expected version = 1, the only version.")
    return value


def _number(value: Any) -> Fraction:
    return exact(value, name="value")


def read_epsilon(value: Any) -> Epsilon:
    """Read ε as an exact number, or LEAST; raises ValueError if it is malformed or out of range."""
    if isinstance(value, str) and value == LEAST:
        return LEAST
    # Check ε and δ each with a valid partner, so that both can be reported at once.
    return Budget(epsilon=value, delta="0.5").epsilon


def read_delta(value: Any) -> Fraction:
    """Read δ as an exact number; raises ValueError if it is malformed or out of range."""
    return Budget(epsilon=1, delta=value).delta


def read_rho(value: Any) -> Fraction:
    """Read ρ as an exact number; raises ValueError if it is malformed or out of range."""
    rho = exact(value, name="rho")
    if not 0 < rho <= MAX_RHO:
        raise ValueError(f"Expected 0 < rho <= {MAX_RHO:,}, got {decimal_text(rho)}.")
    return rho


def _positive(value: object) -> Fraction:
    number = _number(value)
    if number <= 0:
        raise ValueError(f"Expected a number > 0, got {decimal_text(number)}.")
    return number


def read_missing(value: object) -> Missing:
    """Read the treatment of missing values: "skip", "none" or a number; ValueError for others."""
    for word in (SKIP, NONE):
        if isinstance(value, str) and value == word:
            return word
    try:
        return _number(value)
    except ValueError:
        raise ValueError(
            'Expected "skip", a number that replaces missing values, or "none" to promise that no '
            "value is missing."
        ) from None


def _edge(value: object) -> Edge:
    # Accepts numpy's float32, too. Ints are excluded, since their text could be long.
    if isinstance(value, str | Real) and not isinstance(value, Rational) and str(value) in _OPEN:
        return _OPEN[str(value)]
    return _number(value)


def _key(value: object) -> Key:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()  # keys have no type for dates: the text is the key
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, str) and (value.isascii() or not SURROGATE.search(value)):
        return value
    hint = (
        " Floats that print alike may differ: group by a whole number or a text, or give edges."
        if isinstance(value, float)
        else ""
    )
    raise ValueError(f"Expected a key that is an int of 64 bits, a text or a bool.{hint}")


def as_table_name(text: str) -> str:
    """A table name from `text`: at most 64 letters, digits, - and _, not beginning with - or _.

    Other characters become _. The name is "" if no character is left.
    """
    return _NO_TABLE_NAME.sub("_", text).lstrip("_-")[:_LONGEST_NAME]


def as_tuple(value: object) -> object:
    """Convert a list to a tuple, and `UNREAD` to ().

    Other values stay unchanged; pydantic refuses all but tuples later.
    """
    if value is UNREAD:
        return ()
    return tuple(value) if isinstance(value, list) else value


def _form(value: object) -> str:
    return "list[]" if isinstance(value, list | tuple) else "value[]"


def _share(value: object) -> Fraction:
    number = _positive(value)
    if number >= 1:
        raise ValueError(f"Expected a share below 1, got {decimal_text(number)}.")
    return number


def _check_edges(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """Return the edges; raise ValueError unless two or more are given, increasing as floats."""
    if len(edges) < 2:
        raise ValueError("Expected two or more edges.")
    for left, right in pairwise(edges):
        if left == right:
            raise ValueError(f"{float(left):g} is given twice.")
        if float(left) >= float(right):
            raise ValueError(
                f"Expected increasing edges, got {float(left):g} before {float(right):g}."
            )
    return edges


def _check_some(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    if not keys:
        raise ValueError("Expected at least one key.")
    return keys


def _check_distinct(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return the public keys; raise ValueError if any of them is given twice."""
    # Compare types, too, since True == 1 in Python.
    counts = Counter((type(value), value) for value in keys)
    if twice := [(value, times) for (_, value), times in counts.items() if times > 1]:
        (value, times), *others = twice
        more = " Others are given twice, too." if others else ""
        raise ValueError(f"The key {value!r} is given {times} times.{more}")
    return keys


# The argument after a validator is for the JSON Schema.
Written = int | float | str
Number = Annotated[Fraction, PlainValidator(_number, json_schema_input_type=Written)]
Positive = Annotated[Fraction, PlainValidator(_positive, json_schema_input_type=Written)]
Share = Annotated[Fraction, PlainValidator(_share, json_schema_input_type=Written)]
Text = Annotated[str, Field(min_length=1, max_length=4096)]
Bounds = Annotated[tuple[Number, Number], BeforeValidator(as_tuple)]
OneEdge = Annotated[Edge, PlainValidator(_edge, json_schema_input_type=Written)]
Edges = Annotated[tuple[OneEdge, ...], BeforeValidator(as_tuple), AfterValidator(_check_edges)]
Expression = Annotated[str, Field(min_length=1, max_length=4096)]
"""An expression over the columns of a row: see `expressions.language`."""
Texts = Annotated[tuple[Text, ...], BeforeValidator(as_tuple)]
Names = Annotated[tuple[Text, ...], Field(min_length=1), BeforeValidator(as_tuple)]
Sources = Annotated[
    Annotated[Text, Tag("value[]")] | Annotated[Names, Tag("list[]")], Discriminator(_form)
]
PublicKey = Annotated[Key, PlainValidator(_key, json_schema_input_type=Key)]
PublicCount = Annotated[int, Field(ge=1, le=2**34)]
"""A public number of rows or units, at most 2^34, which is the most that a release accepts."""
Margins = Annotated[
    Annotated[bool, Tag("value[]")]
    | Annotated[tuple[Texts, ...], BeforeValidator(as_tuple), Tag("list[]")],
    Discriminator(_form),
]
"""True for all tables by fewer columns, or a list of columns for each table."""
RowLimit = Annotated[int, Field(ge=1, le=MAX_ROWS_BOUND)]
Labels = Annotated[tuple[PublicKey, ...], BeforeValidator(as_tuple)]
Keys = Annotated[Labels, AfterValidator(_check_some), AfterValidator(_check_distinct)]
KEY_FILES = (".csv", ".txt", ".parquet")
"""Suffixes of files of public keys."""


@final
class KeyFile(Section):
    """A file of public keys, relative to the spec."""

    file: Annotated[str, Field(pattern=rf"({'|'.join(KEY_FILES).replace('.', '[.]')})$")] = key(
        "the path of the file, with one key per line", 'file = "regions.txt"'
    )


@final
class SumsFile(Section):
    """A CSV of named sums of cells, relative to the spec."""

    file: Annotated[str, Field(pattern="[.]csv$")] = key(
        "the path of the CSV", 'file = "questions.csv"'
    )


def _as_given(value: object) -> object:
    return value


SumsText = Annotated[
    str,
    Field(min_length=1, max_length=LARGEST_SPEC),
    BeforeValidator(_as_given, json_schema_input_type=str | SumsFile),
]
"""A CSV of named sums, as text; reading a spec replaces a file's name by its text."""
KeysOrFile = Annotated[
    tuple[PublicKey, ...],
    BeforeValidator(as_tuple, json_schema_input_type=tuple[PublicKey, ...] | KeyFile),
    AfterValidator(_check_distinct),
]
"""Public keys; reading a spec replaces a file's name by its keys."""
