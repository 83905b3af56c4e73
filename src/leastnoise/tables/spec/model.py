"""The spec of a release: what TOML and the Python twin both become, strict and exact.

The models check one value at a time. What needs two values is in `checks`; how text becomes a
`Spec`, with every problem listed, is in `spec_file`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational, Real
from typing import Annotated, ClassVar, Literal, final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
)

from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.guarantees.sensitivity import Neighbours

ColumnType = Literal["int", "float", "text", "bool"]
Encoding = Literal["utf-8", "latin-1", "windows-1252"]
UTF_8: Literal["utf-8"] = "utf-8"
Key = int | str | bool
Edge = Fraction | float
"""An edge of bins; a float only for −∞ and ∞, which leave an end open."""
LEAST: Literal["least"] = "least"
Epsilon = Fraction | Literal["least"]
"""An ε, or that the least is to be found with which all blocks have their `accuracy`."""
SKIP: Literal["skip"] = "skip"
NONE: Literal["none"] = "none"
Missing = Fraction | Literal["skip", "none"]
"""A number that missing values become, or that they are left out, or that there are none."""
MAX_TEXT = 2**12
"""Bytes; a longer text is missing, since a query holds 2,048 rows at a time."""
_OPEN = {"-inf": -math.inf, "inf": math.inf}
MAX_ROWS_BOUND = 2**20


def _version(value: object) -> int:
    if type(value) is not int or value != 1:  # True == 1.0 == 1
        raise ValueError("Expected version = 1, the only one that there is.")
    return value


def _number(value: object) -> Fraction:
    return exact(value, name="value")  # pyright: ignore[reportArgumentType]


def _epsilon(value: object) -> Epsilon:
    if isinstance(value, str) and value == LEAST:
        return LEAST
    # Each of the pair is checked beside a harmless partner, so that both can be reported at once.
    return Budget(epsilon=value, delta="0.5").epsilon  # pyright: ignore[reportArgumentType]


def _delta(value: object) -> Fraction:
    return Budget(epsilon=1, delta=value).delta  # pyright: ignore[reportArgumentType]


def _positive(value: object) -> Fraction:
    number = _number(value)
    if number <= 0:
        raise ValueError(f"Expected a number > 0, got {decimal_text(number)}.")
    return number


def _missing(value: object) -> Missing:
    for word in (SKIP, NONE):
        if isinstance(value, str) and value == word:
            return word
    try:
        return _number(value)
    except ValueError:
        raise ValueError(
            'Expected "skip", a number that missing values become, or "none", the promise that no '
            "value is missing."
        ) from None


def _edge(value: object) -> Edge:
    # Also of numpy's float32; a text of an int would be long.
    if isinstance(value, str | Real) and not isinstance(value, Rational) and str(value) in _OPEN:
        return _OPEN[str(value)]
    return _number(value)


def _key(value: object) -> Key:
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, str) and not any(0xD800 <= ord(letter) < 0xE000 for letter in value):
        return value
    hint = (
        " Floats that print alike differ: group by a whole number or a text, or give edges."
        if isinstance(value, float)
        else ""
    )
    raise ValueError(f"Expected a key that is an int of 64 bits, a text or a bool.{hint}")


def _listed(value: object) -> object:
    """Let a list be given for a tuple, and nothing else."""
    return tuple(value) if isinstance(value, list) else value


def _grouping(value: object) -> str:
    """Return a tag that no key has."""
    if isinstance(value, PrivateKeys) or (isinstance(value, dict) and "keys" in value):
        return "private[]"
    return "bands[]" if isinstance(value, dict | Bands) else "keys[]"


# What follows a validator is for the JSON Schema alone.
_Written = int | float | str
Number = Annotated[Fraction, PlainValidator(_number, json_schema_input_type=_Written)]
Positive = Annotated[Fraction, PlainValidator(_positive, json_schema_input_type=_Written)]
Text = Annotated[str, Field(min_length=1, max_length=4096)]
Bounds = Annotated[tuple[Number, Number], BeforeValidator(_listed)]
OneEdge = Annotated[Edge, PlainValidator(_edge, json_schema_input_type=_Written)]
Edges = Annotated[tuple[OneEdge, ...], BeforeValidator(_listed)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Sources = Annotated[tuple[Text, ...], Field(min_length=1), BeforeValidator(_listed)]
PublicKey = Annotated[Key, PlainValidator(_key, json_schema_input_type=Key)]
RowLimit = Annotated[int, Field(ge=1, le=MAX_ROWS_BOUND)]
Keys = Annotated[tuple[PublicKey, ...], BeforeValidator(_listed)]


class _Section(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, frozen=True, extra="forbid")


@final
class Data(_Section):
    """Where the rows are: a file, a pattern or a folder of files, or a list of these.

    Or a database, whose `table` they are; or, without a source, a table of Spark's catalog.

    `types` is required for CSV: types are declared, never sniffed; nor is its `encoding`, which is
    UTF-8 unless it is said, and texts that aren't in it are missing. `engine` says what reads the
    rows: "duckdb" (the default), "polars", "spark" for the session of this process, or the address
    of a Spark Connect server, such as "sc://localhost:15002".
    """

    source: Text | Sources | None = None
    table: Text | None = None
    engine: Text | None = None
    encoding: Encoding | None = None
    types: dict[str, ColumnType] = Field(default_factory=dict)


@final
class LedgerAccount(_Section):
    """The budget file that a release is charged to, relative to the spec.

    `dataset` names the account, if there are several; `plan` is the entry of a plan that the
    release is part of, and that was charged when it was registered.
    """

    path: Text
    dataset: Text | None = None
    plan: Annotated[int, Field(ge=1)] | None = None


@final
class Privacy(_Section):
    """Whom the guarantee protects, and how far. `unit` is a column, or "row".

    Neighbouring tables differ by one unit that is there or not, or by one whose rows are all
    replaced by another's, so that the number of units is the same. Where a column is called row,
    `unit_is` says which of the two is meant.
    """

    unit: Text
    unit_is: Literal["column", "each-row"] | None = None
    neighbours: Neighbours = "add-remove"
    epsilon: Annotated[Epsilon, PlainValidator(_epsilon, json_schema_input_type=_Written)]
    delta: Annotated[Fraction, PlainValidator(_delta, json_schema_input_type=_Written)] = Fraction(
        0
    )
    ledger: LedgerAccount | None = None

    @property
    def by_row(self) -> bool:
        """True if every row is a unit of its own."""
        return self.unit == "row" and self.unit_is != "column"

    @property
    def unit_label(self) -> str:
        """What plans and ledgers call the unit: a column called row isn't "row", which is rows."""
        return 'column "row"' if self.unit == "row" and not self.by_row else self.unit


@final
class Contribution(_Section):
    """What one person can add at most: any of these limits, all of which hold.

    Rows in all, groups of one block that they are in, and rows in each group; or the l1 or l2 norm
    of all that they add to a block.
    """

    max_rows: RowLimit | None = None
    max_groups: RowLimit | None = None
    max_rows_per_group: RowLimit | None = None
    l1: Positive | None = None
    l2: Positive | None = None


@final
class Column(_Section):
    """What the public knows of a column.

    `bounds` clamp each value. `missing` says what NULL, NaN, infinities and unreadable values do:
    "skip", the default, leaves them out of sums and means; a number replaces them, and "none" is
    the promise that there are none: one that is there after all counts as the middle of `bounds`.
    Histograms drop them, unless it is a number.
    """

    bounds: Bounds | None = None
    missing: Annotated[Missing, PlainValidator(_missing, json_schema_input_type=_Written)] = SKIP

    @property
    def number(self) -> Fraction | None:
        """The number that a missing value becomes wherever it is used; None without one."""
        return None if isinstance(self.missing, str) else self.missing

    @property
    def counts_as(self) -> Fraction | None:
        """What a missing value counts as in sums and means, None where it is left out."""
        if self.missing == NONE and self.bounds is not None:
            return sum(self.bounds, Fraction(0)) / 2
        return self.number


@final
class Histogram(_Section):
    """Counts of rows per bin [a, b), the last one closed; values outside are dropped.

    The first edge may be −∞ and the last one ∞, which no value is.
    """

    column: Text
    edges: Edges


@final
class Bands(_Section):
    """Groups by a number: the bands [a, b) between edges, as the bins of a histogram."""

    edges: Edges


@final
class PrivateKeys(_Section):
    """Groups that nobody listed: their keys are data, and published where noise lets them.

    A text of more than `longest` bytes, in UTF-8, is no key: its row counts as one without.
    """

    keys: Literal["private"]
    longest: Annotated[int, Field(ge=1, le=MAX_TEXT)] | None = None


Grouping = Annotated[
    Annotated[Keys, Tag("keys[]")]
    | Annotated[Bands, Tag("bands[]")]
    | Annotated[PrivateKeys, Tag("private[]")],
    Discriminator(_grouping),
]


@final
class Predicate(_Section):
    """What a column's value must be: within these public numbers, or among these public keys."""

    min: Number | None = None
    max: Number | None = None
    below: Number | None = None
    among: Keys = ()


@final
class Accuracy(_Section):
    """How far off a block's numbers may be: one of the two, in their own units.

    `half_width_95` is that of intervals that hold 95 % of the noise, `std` its standard deviation.
    Of all statistics, or of one.
    """

    half_width_95: Positive | None = None
    std: Positive | None = None
    statistic: Text | None = None


@final
class Assumed(_Section):
    """What a mean's error is worked out for: groups of `n` values."""

    n: Annotated[int, Field(ge=1, le=2**34)]


@final
class Query(_Section):
    """One block: one vector query and one draw of noise, with `weight` of the budget.

    `accuracy` says which errors would do, `assume` of how many values in a group where they depend
    on that. `where` names conditions, each a predicate on every column that it lists; of one unit
    at most `max_conditions` are counted. With `round` the counts are published whole, with `clamp`
    counts and sums are published as 0 where the noise makes them negative.
    """

    name: Text
    weight: Positive = Fraction(1)
    accuracy: Accuracy | None = None
    assume: Assumed | None = None
    statistics: Texts = ()
    group_by: dict[str, Grouping] = Field(default_factory=dict)
    histogram: Histogram | None = None
    where: dict[Text, dict[Text, Predicate]] = Field(default_factory=dict)
    max_conditions: Annotated[int, Field(ge=1)] | None = None
    round: bool = False
    clamp: bool = False


@final
class Output(_Section):
    """A directory that must not exist yet, and the format of its tables.

    `report` asks the command line for a page about the release beside it.
    """

    path: Text
    format: Literal["parquet", "csv", "json"] = "parquet"
    report: bool = False


@final
class Spec(_Section):
    """A whole release, as a value. Make one with `spec_file.read` or `spec_file.parse`."""

    version: Annotated[int, PlainValidator(_version, json_schema_input_type=Literal[1])]
    data: Data
    privacy: Privacy
    contribution: Contribution | None = None
    columns: dict[str, Column] = Field(default_factory=dict)
    query: Annotated[tuple[Query, ...], BeforeValidator(_listed)]
    output: Output | None = None

    @property
    def budget(self) -> Budget:
        """The budget of the whole release; RuntimeError where its ε is still to be found."""
        if self.privacy.epsilon == LEAST:
            raise RuntimeError("the least epsilon has to be found first")
        return Budget(epsilon=self.privacy.epsilon, delta=self.privacy.delta)

    def share(self, query: Query) -> Fraction:
        """Return the part of the budget that `query` spends: w / Σw, exactly."""
        return query.weight / sum(block.weight for block in self.query)
