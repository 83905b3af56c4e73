"""The spec of a release: what TOML and the Python twin both become, strict and exact.

The models check one value at a time; what each key means, and TOML that gives it, stands with its
field, for errors and for the JSON Schema: see `section`. The sections of a query are in `query`;
`parse.checks` has what needs two values, and `parse.spec_file` reads text, and lists every problem.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Literal, final

from pydantic import BeforeValidator, Field, PlainValidator

from leastnoise import _words
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.tables.spec.column import Column
from leastnoise.tables.spec.query import Bands, Grouping, Hierarchy, Query
from leastnoise.tables.spec.section import Section, entry, key
from leastnoise.tables.spec.source import (
    DECIMAL,
    DELIMITER,
    ENCODING,
    HEADER,
    Decimal,
    Delimiter,
    Header,
    Join,
)
from leastnoise.tables.spec.values import (
    LEAST,
    ColumnType,
    Encoding,
    Epsilon,
    Expression,
    Positive,
    PublicCount,
    RowLimit,
    Sources,
    Text,
    Written,
    as_tuple,
    read_delta,
    read_epsilon,
    read_version,
)

_UNIT_OF_SERIES = re.compile(r" in (?:one release|at most [\d,]+ releases?)$")


@final
class Data(Section):
    """Where the rows are: files, or a `table` of a database or of Spark's catalog.

    `types` is required for CSV: types are declared, never sniffed. Nor is it sniffed how a CSV is
    written: in UTF-8, its fields apart by commas or (in a .tsv) tabs, its numbers with a point, its
    first line the names of its columns, unless `encoding`, `delimiter`, `decimal` or `header` say
    otherwise. Texts that aren't in its encoding are missing. `engine` says what reads the rows:
    "duckdb" (the default), "spark" for the session of this process, or the address of a Spark
    Connect server, such as "sc://localhost:15002".
    """

    source: Sources | None = key(
        "a file, a pattern, a folder, a list of these, or a database, relative to the spec",
        'source = "visits.parquet"',
        default=None,
    )
    table: Text | None = key("the table of a database", 'table = "visits"', default=None)
    filter: Expression | None = key(
        "what is true of the rows that the release is about",
        "filter = \"age >= 18 and region <> 'north'\"",
        default=None,
    )
    engine: Text | None = key(
        "what reads the rows: duckdb or spark", 'engine = "duckdb"', default=None
    )
    encoding: Encoding | None = ENCODING
    delimiter: Delimiter | None = DELIMITER
    decimal: Decimal | None = DECIMAL
    header: Header | None = HEADER
    types: dict[str, Annotated[ColumnType, entry(ColumnType)]] = key(
        "the type of each column that is used, for CSV and SQLite, which say none",
        'types = { person = "int", visits = "float" }',
        default_factory=dict,
    )
    join: dict[Text, Join] = key(
        "tables of which at most one row stands beside each row",
        'join = { persons = { source = "persons.parquet", on = "person" } }',
        default_factory=dict,
    )

    @property
    def sources(self) -> tuple[str, ...]:
        """The texts of the source; () without one."""
        return (self.source,) if isinstance(self.source, str) else self.source or ()

    @property
    def joined(self) -> tuple[str, ...]:
        """What stands beside each row, a sentence each."""
        return tuple(one.in_words(name) for name, one in self.join.items())


@final
class LedgerAccount(Section):
    """The budget file that a release is charged to, relative to the spec.

    `dataset` names the account, if there are several; `plan` is the entry of a plan that the
    release is part of, and that was charged when it was registered.
    """

    path: Text = key("the ledger's file, relative to the spec", 'path = "visits.ledger"')
    dataset: Text | None = key(
        "the account, if the ledger has several", 'dataset = "visits"', default=None
    )
    plan: Annotated[int, Field(ge=1)] | None = key(
        "the number of the plan that this release is part of", "plan = 1", default=None
    )


@final
class Privacy(Section):
    """Whom the guarantee protects, and how far. `unit` is a column, or "row".

    Neighbouring tables differ by one unit that is there or not, or by one whose rows are all
    replaced by another's, so that the number of units is the same. Where a column is called row,
    `unit_is` says which of the two is meant.
    """

    unit: Text = key(
        'the column that identifies a person, or "row" if each row is one', 'unit = "person"'
    )
    unit_is: Literal["column", "each-row"] | None = key(
        'which is meant, if a column is called "row"', 'unit_is = "column"', default=None
    )
    unit_name: Text | None = key(
        "what one of those who are protected is called in words",
        'unit_name = "person"',
        default=None,
    )
    population: PublicCount | None = key(
        "how many of them there are, if that is public: delta is to be below 1 in so many",
        "population = 45000",
        default=None,
    )
    neighbours: Neighbours = key(
        "which tables nobody can tell apart: with one person more, or with one replaced",
        'neighbours = "add-remove"',
        default="add-remove",
    )
    epsilon: Annotated[Epsilon, PlainValidator(read_epsilon, json_schema_input_type=Written)] = key(
        'ε of the whole release, or "least" if every query has an accuracy', 'epsilon = "1"'
    )
    delta: Annotated[Fraction, PlainValidator(read_delta, json_schema_input_type=Written)] = key(
        "δ of the whole release, 0 if it isn't given", 'delta = "1e-6"', default=Fraction(0)
    )
    ledger: LedgerAccount | None = key(
        "the ledger to charge", 'ledger = { path = "visits.ledger" }', default=None
    )

    @property
    def by_row(self) -> bool:
        """True if every row is a unit of its own."""
        return self.unit == "row" and self.unit_is != "column"

    @property
    def unit_label(self) -> str:
        """The name of the unit in plans and ledgers.

        A column called row isn't "row", which stands for rows. A column that is called like the
        unit of a series isn't that unit either.
        """
        named_alike = _UNIT_OF_SERIES.search(self.unit) is not None
        return f'column "{self.unit}"' if named_alike or self._is_column_row else self.unit

    @property
    def _is_column_row(self) -> bool:
        return self.unit == "row" and not self.by_row

    @property
    def person(self) -> str:
        """What people who read of it call the unit."""
        return self.unit_label if self.unit_name is None else self.unit_name


@final
class Contribution(Section):
    """What one person can add at most: any of these limits, all of which hold.

    Rows in all, groups of one query that they are in, and rows in each group; or the l1 or l2 norm
    of all that they add to a query.
    """

    max_rows: RowLimit | None = key("the most rows of one person", "max_rows = 5", default=None)
    max_groups: RowLimit | None = key(
        "the most groups of a query that one person is in", "max_groups = 2", default=None
    )
    max_rows_per_group: RowLimit | None = key(
        "the most rows of one person in one group", "max_rows_per_group = 1", default=None
    )
    l1: Positive | None = key(
        "the largest l1 norm of what one person adds to a query", "l1 = 3", default=None
    )
    l2: Positive | None = key(
        "the largest l2 norm of what one person adds to a query", "l2 = 3", default=None
    )

    @property
    def counted(self) -> dict[str, int]:
        """The limits of rows and groups, which a person is over or not whatever is summed."""
        known = {
            "max_rows": self.max_rows,
            "max_groups": self.max_groups,
            "max_rows_per_group": self.max_rows_per_group,
        }
        return {name: most for name, most in known.items() if most is not None}


@final
class Series(Section):
    """Releases that meet the budget together, each with fresh noise: say, one a week.

    The ledger is charged once, with the first release, and counts the releases. `name` tells
    several series of one account apart.

    A unit may have rows in all releases, unless `max_releases` or `each` says less. With `each`
    the unit is what is reported in one release: a row, or all rows of a person in that release.
    Then the noise of one release hides it (theory/series.md, Theorem 4). `report` names the column
    with the number of the release that counts a row; other releases never look at that row
    (Theorem 14₀).
    """

    releases: Annotated[int, Field(ge=2, le=10_000)] = key(
        "how many releases there will be", "releases = 52"
    )
    each: Literal["row", "person in one release"] | None = key(
        "the unit that is protected, if it is in one release only",
        'each = "person in one release"',
        default=None,
    )
    max_releases: Annotated[int, Field(ge=1, le=10_000)] | None = key(
        "the most releases that count rows of one person, if not all",
        "max_releases = 4",
        default=None,
    )
    report: Text | None = key(
        "the column with the number of the release that counts a row",
        'report = "week"',
        default=None,
    )
    name: Text = key(
        "what the ledger calls it, if an account has several",
        'name = "weekly 2027"',
        default="series",
    )

    @property
    def compositions(self) -> int:
        """The most releases that one unit can change."""
        if self.each is not None:
            return 1
        return self.releases if self.max_releases is None else self.max_releases

    @property
    def condition(self) -> str | None:
        """The condition on the rows of a release, for readers; None without a report column."""
        return None if self.report is None else f"{self.report} is the number of the release"

    def condition_of(self, release: int) -> str:
        """The same condition for the release with this number, as an expression."""
        name = (self.report or "").replace('"', '""')
        return f'"{name}" = {release}'

    def unit_of(self, unit: str) -> str:
        """The unit that the series protects, where each release by itself protects `unit`."""
        if self.each == "person in one release":
            return f"{unit} in one release"
        if self.max_releases is not None:
            return f"{unit} in at most {_words.count_noun(self.max_releases, 'release')}"
        return unit


@final
class Output(Section):
    """A directory that must not exist yet, and the format of its tables.

    Of a series it holds those of the releases, each called by its number: 01 to 52.
    `report` asks the command line for a page about the release beside it.
    """

    path: Text = key("a directory that doesn't exist yet, relative to the spec", 'path = "out"')
    format: Literal["parquet", "csv", "json"] = key(
        "the format of the tables", 'format = "csv"', default="parquet"
    )
    report: bool = key(
        "whether `leastnoise release` writes a page, too", "report = true", default=False
    )


@final
class About(Section):
    """What the page about the release says of it first, in its publisher's own words."""

    title: Text | None = key("the title of the page", 'title = "Visits to doctors"', default=None)
    publisher: Text | None = key("who publishes it", 'publisher = "The office"', default=None)
    contact: Text | None = key("whom to ask", 'contact = "statistics@example.org"', default=None)
    text: Text | None = key(
        "what it is about, in paragraphs", 'text = "What a survey found."', default=None
    )


@final
class Spec(Section):
    """A whole release, as a value. Make one with `spec_file.read` or `spec_file.parse`.

    `derive` names columns that are computed from those of the source, a row at a time.
    """

    version: Annotated[int, PlainValidator(read_version, json_schema_input_type=Literal[1])] = key(
        "the version of this format", "version = 1"
    )
    data: Data = key("where the rows are", '[data]\nsource = "visits.parquet"')
    privacy: Privacy = key(
        "whom the guarantee protects, and how far", '[privacy]\nunit = "person"\nepsilon = "1"'
    )
    contribution: Contribution | None = key(
        "what one person can add at most", "[contribution]\nmax_rows = 5", default=None
    )
    derive: dict[Text, Annotated[Expression, entry(Expression)]] = key(
        "columns that are computed from others, a row at a time",
        '[derive]\nmonth = "month(visited)"',
        default_factory=dict,
    )
    series: Series | None = key(
        "of how many releases this is one",
        "[series]\nreleases = 52",
        default=None,
    )
    columns: dict[str, Column] = key(
        "what the public knows of columns",
        "[columns.visits]\nbounds = [0, 30]",
        default_factory=dict,
    )
    query: Annotated[tuple[Query, ...], BeforeValidator(as_tuple)] = key(
        "what is published, a query a table", '[[query]]\nname = "all"\nstatistics = ["count"]'
    )
    output: Output | None = key(
        "the directory of the release", '[output]\npath = "out"', default=None
    )
    report: About | None = key(
        "what the page about the release says of it",
        '[report]\ntitle = "Visits to doctors"',
        default=None,
    )

    @property
    def compositions(self) -> int:
        """The number of releases that one unit can change: 1 without a series."""
        return 1 if self.series is None else self.series.compositions

    @property
    def unit_label(self) -> str:
        """The name of the protected unit in plans and ledgers."""
        label = self.privacy.unit_label
        return label if self.series is None else self.series.unit_of(label)

    @property
    def protected(self) -> str:
        """The name of the protected unit for readers, such as "person in one release"."""
        person = self.privacy.person
        return person if self.series is None else self.series.unit_of(person)

    @property
    def report_rule(self) -> str:
        """The rule that gives each row its release: a column and what it is derived from, or ""."""
        column = None if self.series is None else self.series.report
        if column is None or column not in self.derive:
            return column or ""
        names = [*self.derive]
        before = names[: names.index(column) + 1]  # a derived column may use those before it
        return "; ".join(f"{name} = {self.derive[name]}" for name in before)

    @property
    def budget(self) -> Budget:
        """The budget of the whole release, or series; RuntimeError where its ε isn't known yet."""
        if self.privacy.epsilon == LEAST:
            raise RuntimeError("the least epsilon has to be found first")
        return Budget(epsilon=self.privacy.epsilon, delta=self.privacy.delta)

    @property
    def labels(self) -> dict[str, str]:
        """What columns are called in words, those that are called so."""
        return {name: one.label for name, one in self.columns.items() if one.label is not None}

    def filters(self, query: Query) -> tuple[str, ...]:
        """The conditions on the rows that `query` is about: of all queries, then of this one."""
        of_series = None if self.series is None else self.series.condition
        every = (of_series, self.data.filter, query.filter)
        return tuple(text for text in every if text is not None)

    def groupings(self, query: Query) -> dict[str, Grouping]:
        """Return what rows are grouped by, by column: no keys where a column should say them."""
        if isinstance(query.group_by, dict):
            return {
                name: one.keys if isinstance(one, Hierarchy) else one
                for name, one in query.group_by.items()
            }
        known = {name: self.columns.get(name, Column()) for name in query.group_by}
        return {
            name: Bands(edges=column.edges) if column.edges else column.keys
            for name, column in known.items()
        }

    def share(self, query: Query) -> Fraction:
        """Return the part of the budget that `query` spends: w / Σw, exactly."""
        return query.importance / sum(block.importance for block in self.query)
