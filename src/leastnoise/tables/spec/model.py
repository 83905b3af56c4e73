"""The spec of a release, strict and exact: the result of reading TOML or Python arguments.

The models check one value at a time. Each field has the meaning and an example of its key, for
error messages and the JSON Schema: see `section`. The module `query` has the sections of a query.
`parse.checks` compares several values, and `parse.spec_file` reads text and lists every problem.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, final

from pydantic import BeforeValidator, Field, PlainValidator

from leastnoise import _words
from leastnoise.errors import LeastnoiseError
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.tables.spec.column import Column
from leastnoise.tables.spec.contribution import Contribution, Limits
from leastnoise.tables.spec.query import Bands, Grouping, Hierarchy, PrivateKeys, Query
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
    PublicCount,
    Sources,
    Text,
    Written,
    as_tuple,
    read_delta,
    read_epsilon,
    read_rho,
    read_version,
)

Branches = Annotated[
    tuple[Annotated[int, Field(ge=2, le=10_000)], ...],
    BeforeValidator(as_tuple),
    Field(min_length=1, max_length=12),
]
_UNIT_OF_SERIES = re.compile(r" in (?:one release|at most [\d,]+ releases?)$")


@final
class Data(Section):
    """The source of the rows: files, or a `table` of a database or of Spark's catalog.

    No type or format is guessed from the rows. CSV, workbooks and SQLite need `types`. By default a
    CSV is UTF-8, its fields are separated by commas (in a .tsv by tabs), its decimal mark is a
    point, and its first line has the column names; `encoding`, `delimiter`, `decimal` and `header`
    change that. A text that is invalid in the encoding is missing. A workbook is read from the
    sheet that `table` names, else from its only sheet. Statistical files have their own types.

    `engine` names the reader: "duckdb" (the default), "spark" for the session of this process, or
    the address of a Spark Connect server, such as "sc://localhost:15002".
    """

    forms: ClassVar[dict[str, str]] = {
        "source": 'a text in quotes such as "visits.parquet", or a list of texts'
    }

    source: Sources | None = key(
        "a file, a pattern, a folder, a list of these, or a database; relative to the spec",
        'source = "visits.parquet"',
        default=None,
    )
    table: Text | None = key(
        "the table of a database, or the sheet of a workbook", 'table = "visits"', default=None
    )
    filter: Expression | None = key(
        "the condition on rows that the release is about",
        "filter = \"age >= 18 and region <> 'north'\"",
        default=None,
    )
    engine: Text | None = key(
        "the engine that reads the rows: duckdb or spark", 'engine = "duckdb"', default=None
    )
    encoding: Encoding | None = ENCODING
    delimiter: Delimiter | None = DELIMITER
    decimal: Decimal | None = DECIMAL
    header: Header | None = HEADER
    types: dict[str, Annotated[ColumnType, entry(ColumnType)]] = key(
        "the type of each used column; needed for CSV, workbooks and SQLite, which have no types",
        'types = { person = "int", visits = "float" }',
        default_factory=dict,
    )
    join: dict[Text, Join] = key(
        "tables of which at most one row is joined to each row",
        'join = { persons = { source = "persons.parquet", on = "person" } }',
        default_factory=dict,
    )

    @property
    def sources(self) -> tuple[str, ...]:
        """The files, patterns, folders or database of the source; () without a source."""
        return (self.source,) if isinstance(self.source, str) else self.source or ()

    @property
    def join_sentences(self) -> tuple[str, ...]:
        """For each table that is joined to the rows, a text of a few sentences about it."""
        return tuple(join.in_words(name) for name, join in self.join.items())


@final
class LedgerAccount(Section):
    """The ledger file that a release is charged to, relative to the spec.

    `dataset` names the account, if the ledger has several. A release of a preregistered plan is
    charged with that plan; then `plan` is the number of the plan's entry in the ledger.
    """

    path: Text = key("the ledger's file, relative to the spec", 'path = "visits.ledger"')
    dataset: Text | None = key(
        "the account, if the ledger has several", 'dataset = "visits"', default=None
    )
    plan: Annotated[int, Field(ge=1)] | None = key(
        "the ledger's entry of the plan that includes this release", "plan = 1", default=None
    )


@final
class Privacy(Section):
    """The protected unit and the budget. `unit` is a column, or "row".

    Neighbouring tables differ by one unit that is added or removed, or by one unit whose rows are
    all replaced, so that the number of units stays the same. If a column is called "row", `unit_is`
    decides between that column and each row as the unit.

    `rho` is a budget of zero-concentrated differential privacy. Then all noise is Gaussian, and
    `epsilon` is the ε that follows at `delta`.
    """

    unit: Text = key(
        'the column that identifies a person, or "row" if each row is a person', 'unit = "person"'
    )
    unit_is: Literal["column", "each-row"] | None = key(
        'the meaning of unit = "row" if a column is called row: "column" or "each-row"',
        'unit_is = "column"',
        default=None,
    )
    unit_name: Text | None = key(
        "the name of the protected unit in sentences",
        'unit_name = "person"',
        default=None,
    )
    population: PublicCount | None = key(
        "the number of protected units, if that is public: delta should be below 1 / population",
        "population = 45000",
        default=None,
    )
    neighbours: Neighbours = key(
        "the neighbouring tables: one person is added or removed, or one is replaced",
        'neighbours = "add-remove"',
        default="add-remove",
    )
    epsilon: Annotated[Epsilon, PlainValidator(read_epsilon, json_schema_input_type=Written)] = key(
        'ε of the whole release, or "least" if every query has an accuracy', 'epsilon = "1"'
    )
    delta: Annotated[Fraction, PlainValidator(read_delta, json_schema_input_type=Written)] = key(
        "δ of the whole release", 'delta = "1e-6"', default=Fraction(0)
    )
    rho: Annotated[Fraction, PlainValidator(read_rho, json_schema_input_type=Written)] | None = key(
        "ρ of the whole release (zCDP), in place of epsilon; delta is where the report states ε",
        'rho = "0.1"',
        default=None,
    )
    ledger: LedgerAccount | None = key(
        "the ledger to charge", 'ledger = { path = "visits.ledger" }', default=None
    )

    @classmethod
    def complete(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Add ε to the section if only ρ is given: the ε that follows from ρ and δ.

        If no ε follows, it is 1, and the checks of the spec report the problem.
        """
        if "rho" not in value or "epsilon" in value:
            return value
        try:
            epsilon = epsilon_of_rho(read_rho(value["rho"]), read_delta(value.get("delta", 0)))
        except ValueError:  # the error of another key, which is reported by itself
            epsilon = None
        return value | {"epsilon": epsilon or Fraction(1)}

    @property
    def implied(self) -> frozenset[str]:
        """The keys of the budget that follow from others: `epsilon` if ρ is given."""
        return frozenset() if self.rho is None else frozenset({"epsilon"})

    @property
    def by_row(self) -> bool:
        """True if every row is a unit of its own."""
        return self.unit == "row" and self.unit_is != "column"

    @property
    def unit_label(self) -> str:
        """The name of the unit in plans and ledgers.

        The label "row" means that each row is a unit. So a column called row has the label
        `column "row"`, and likewise a column called "a in one release", as the unit of a series.
        """
        named_alike = _UNIT_OF_SERIES.search(self.unit) is not None
        is_column = named_alike or (self.unit == "row" and not self.by_row)
        return f'column "{self.unit}"' if is_column else self.unit

    @property
    def person(self) -> str:
        """The name of the unit in sentences: `unit_name`, or else its label."""
        return self.unit_label if self.unit_name is None else self.unit_name


def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction | None:
    """The ε of Gaussian noise with this ρ at this δ; None if δ or ε is 0, or ε is too large."""
    from leastnoise.accounting.zcdp import budget_of_rho  # noqa: PLC0415  (0.1 s)

    if not delta:
        return None
    try:
        return budget_of_rho(rho, delta).epsilon or None
    except LeastnoiseError:
        return None


@final
class Series(Section):
    """Releases that meet the budget together, such as one a week.

    Each has fresh noise; with `totals`, one draw of noise serves all releases. The ledger is
    charged once, with the first release, and counts the releases. `name` distinguishes several
    series of one account.

    A unit may have rows in all releases, unless `max_releases` or `each` limits this. With `each` a
    unit has rows in one release only: a unit is one row, or all rows of a person in one release.
    Then the noise of one release hides a unit (theory/series.md, Theorem 4). `report` names the
    column that says which release counts a row; other releases ignore the row (Theorem 14₀).
    """

    releases: Annotated[int, Field(ge=2, le=10_000)] = key(
        "the number of releases", "releases = 52"
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
    totals: bool = key(
        "the flag that publishes running totals, with one draw of noise for all releases",
        "totals = true",
        default=False,
    )
    branches: Branches | None = key(
        "the tree of the releases: 4 quarters of 13 weeks, say",
        "branches = [4, 13]",
        default=None,
    )
    state: Text | None = key(
        "the secret file that is kept from release to release, if not OUTPUT.state",
        'state = "weekly.state"',
        default=None,
    )
    name: Text = key(
        "the series's name in the ledger, if an account has several",
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
        """The condition that the report column has this number, as an expression."""
        name = (self.report or "").replace('"', '""')
        return f'"{name}" = {release}'

    def unit_of(self, unit: str) -> str:
        """The unit that the whole series protects, if each release protects `unit`."""
        if self.each == "person in one release":
            return f"{unit} in one release"
        if self.max_releases is not None:
            return f"{unit} in at most {_words.count_noun(self.max_releases, 'release')}"
        return unit


@final
class Output(Section):
    """The directory of a release, which must not exist yet, and the format of its tables.

    For a series, `path` has a directory for each release, named by its number, such as 01.
    `report` asks the command line to add a page about the release.

    `xlsx` is a workbook with a cover sheet and a sheet for each table. `sdmx-csv` has a line for
    each statistic of each group, and needs the `agency` of its structures. The header of a CSV has
    the names of columns or, with `headers = "both"`, also their labels.
    """

    path: Text = key("a directory that doesn't exist yet, relative to the spec", 'path = "out"')
    format: Literal["parquet", "csv", "json", "xlsx", "sdmx-csv"] = key(
        "the format of the tables", 'format = "csv"', default="parquet"
    )
    headers: Literal["names", "both"] | None = key(
        "the header of a CSV: names of columns, or names and labels",
        'headers = "both"',
        default=None,
    )
    agency: Text | None = key(
        "the agency of the structures in SDMX-CSV", 'agency = "OFFICE"', default=None
    )
    report: bool = key(
        "true, to let `leastnoise release` also write a page", "report = true", default=False
    )

    @property
    def kind(self) -> str:
        """The suffix of the tables' files, such as "csv"."""
        return "csv" if self.format == "sdmx-csv" else self.format


@final
class About(Section):
    """The introduction of the release's page, written by the publisher."""

    title: Text | None = key("the title of the page", 'title = "Visits to doctors"', default=None)
    publisher: Text | None = key("the publisher", 'publisher = "The office"', default=None)
    contact: Text | None = key(
        "the contact for questions", 'contact = "statistics@example.org"', default=None
    )
    text: Text | None = key(
        "a description, in paragraphs", 'text = "Results of a survey."', default=None
    )


@final
class Spec(Section):
    """A whole release, as a value. Create one with `spec_file.loads` or `spec_file.parse`.

    `derive` has columns that are computed from other columns: from one row, or over all rows of a
    unit.
    """

    version: Annotated[int, PlainValidator(read_version, json_schema_input_type=Literal[1])] = key(
        "the version of this format", "version = 1"
    )
    data: Data = key("the source of the rows", '[data]\nsource = "visits.parquet"')
    privacy: Privacy = key(
        "the protected unit and the budget", '[privacy]\nunit = "person"\nepsilon = "1"'
    )
    contribution: Contribution | None = key(
        "the limits on one person's contribution", "[contribution]\nmax_rows = 5", default=None
    )
    derive: dict[Text, Annotated[Expression, entry(Expression)]] = key(
        "columns that are computed from others, in a row or over the rows of a person",
        '[derive]\nmonth = "month(visited)"',
        default_factory=dict,
    )
    series: Series | None = key(
        "the series to which this release belongs",
        "[series]\nreleases = 52",
        default=None,
    )
    columns: dict[str, Column] = key(
        "public facts about columns",
        "[columns.visits]\nbounds = [0, 30]",
        default_factory=dict,
    )
    query: Annotated[tuple[Query, ...], BeforeValidator(as_tuple)] = key(
        "the queries, one per published table", '[[query]]\nname = "all"\nstatistics = ["count"]'
    )
    output: Output | None = key(
        "the directory of the release", '[output]\npath = "out"', default=None
    )
    report: About | None = key(
        "the introduction of the release's page",
        '[report]\ntitle = "Visits to doctors"',
        default=None,
    )

    @property
    def compositions(self) -> int:
        """The most releases that one unit can change: 1 without a series."""
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
        """The rule that assigns rows to releases; "" without a report column.

        The rule is the name of the report column. If the column is derived, the rule is instead the
        expression of each derived column down to this one.
        """
        column = None if self.series is None else self.series.report
        if column is None or column not in self.derive:
            return column or ""
        names = [*self.derive]
        before = names[: names.index(column) + 1]  # a derived column may use the columns before it
        return "; ".join(f"{name} = {self.derive[name]}" for name in before)

    @property
    def budget(self) -> Budget:
        """The budget of the whole release or series; raises RuntimeError if ε isn't known yet."""
        if self.privacy.epsilon == LEAST:
            raise RuntimeError("the least epsilon has to be found first")
        return Budget(epsilon=self.privacy.epsilon, delta=self.privacy.delta)

    @property
    def table_kind(self) -> str:
        """The file suffix of the tables; "parquet" if the spec has no output."""
        return "parquet" if self.output is None else self.output.kind

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the columns that have one."""
        return {
            name: column.label for name, column in self.columns.items() if column.label is not None
        }

    def limits(self, query: Query) -> Limits:
        """The limits that the spec gives for one person in `query`.

        A limit of the query replaces the common limit of the same name. Other common limits still
        hold.
        """
        common = {} if self.contribution is None else self.contribution.limits.given
        of_query = {} if query.contribution is None else query.contribution.limits.given
        known: dict[str, Any] = {**common, **of_query}
        return Limits(**known)

    def filters(self, query: Query) -> tuple[str, ...]:
        """The conditions on the rows of `query`: the common conditions, then the query's filter."""
        of_series = None if self.series is None else self.series.condition
        conditions = (of_series, self.data.filter, query.filter)
        return tuple(text for text in conditions if text is not None)

    def groupings(self, query: Query) -> dict[str, Grouping]:
        """The keys, bands or private keys of each column by which `query` groups.

        A column has () if the query only names it, and its section gives neither keys nor edges.
        """
        if isinstance(query.group_by, dict):
            return {
                name: groups.keys if isinstance(groups, Hierarchy) else groups
                for name, groups in query.group_by.items()
            }
        known = {name: self.columns.get(name, Column()) for name in query.group_by}
        return {
            name: Bands(edges=column.edges) if column.edges else column.keys
            for name, column in known.items()
        }

    def has_unlisted_keys(self, query: Query) -> bool:
        """True if the keys of some column of the query's groups come from the data."""
        return any(isinstance(keys, PrivateKeys) for keys in self.groupings(query).values())

    def share(self, query: Query) -> Fraction:
        """The share of the budget for `query`: its importance over the sum of all importances."""
        return query.importance / sum(other.importance for other in self.query)
