"""The sections of a query: its statistics, its groups, and the form in which it is published."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, final

from pydantic import BeforeValidator, Discriminator, Field, Tag

from leastnoise.tables.spec.contribution import Contribution
from leastnoise.tables.spec.section import Section, entry, key, require_key
from leastnoise.tables.spec.values import (
    MAX_TEXT,
    Edges,
    Expression,
    KeyFile,
    Keys,
    Labels,
    Margins,
    Names,
    Number,
    Positive,
    PublicCount,
    Share,
    SumsText,
    Text,
    Texts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.spec.values import Key

SQL = "sql"
"""The key of a query in SQL; reading a spec replaces it by the other keys of a query."""
FLIP, TREE = "permute-and-flip", "tree"
QuantilesBy = Literal["permute-and-flip", "tree"]
"""The mechanism for quantiles."""
LARGEST = "largest"
Objective = Literal["largest"]
"""The objective of noise in tables that add up: the smallest largest standard deviation.

By default it is the smallest typical standard deviation.
"""
SELECTION = "selection"
By = Literal["selection"]
"""The mechanism that chooses the `top` groups before their counts get noise."""
SMALL_GROUPS, ACCURACY = "groups", "accuracy"
Preference = Literal["groups", "accuracy"]
"""The aim of noise for unlisted groups: to publish small groups, or to have small errors."""


@final
class Histogram(Section):
    """Counts of rows in bins [a, b); the last bin is closed. Values outside are dropped.

    The first edge may be −∞ and the last edge ∞; even then, infinite values are missing. With
    `cumulative` the running sums of the bins are published, too.
    """

    column: Text = key("the column of the bins", 'column = "visits"')
    edges: Edges = key("the edges of the bins [a, b), the last one closed", "edges = [0, 5, 30]")
    cumulative: bool = key(
        "true, to also publish the count below each edge: the exact sums of the bins",
        "cumulative = true",
        default=False,
    )


_FORMS = (
    'a list of keys such as ["a", "b"], a table for bands { edges = [0, 18, 65] }, for keys in a '
    'file { file = "keys.csv" }, or for keys that nobody listed { keys = "private" }'
)


@final
class Bands(Section):
    """Groups by a number: bands [a, b) between edges, like the bins of a histogram."""

    edges: Edges = key("the edges of the bands [a, b), the last one closed", "edges = [0, 18, 65]")

    @classmethod
    def complete(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the section unchanged; raise ValueError if it lacks the key `edges`.

        A misspelt `edges` raises no error here; pydantic reports it. A TOML table for groups is
        read as bands if it has neither `keys` nor `levels`.
        """
        return require_key(value, "edges", forms=_FORMS)


def _grouping(value: object) -> str:
    """The pydantic tag of the form in which a spec writes a column's groups.

    pydantic puts the tag into the location of an error. The [] at its end distinguishes the tag
    from keys of the spec.
    """
    if isinstance(value, Hierarchy) or (isinstance(value, dict) and "levels" in value):
        return "levels[]"
    if isinstance(value, PrivateKeys) or (isinstance(value, dict) and "keys" in value):
        return "private[]"
    return "bands[]" if isinstance(value, dict | Bands) else "keys[]"


def _group_by(value: object) -> str:
    """The pydantic tag of `group_by`: a list of names, or groups by column."""
    return "names[]" if isinstance(value, list | tuple) else "groups[]"


def _require_private(value: object) -> object:
    if value != "private":
        raise ValueError(
            'Expected keys = "private", for keys that nobody listed. To list keys, leave out '
            '"keys =", as in group_by = { plan = [1, 2, 3] }'
        )
    return value


@final
class PrivateKeys(Section):
    """Groups whose keys nobody lists: a key in the data is published if its noisy count is large.

    A text of more than `longest` bytes in UTF-8 is not a key: its row counts as a row without a
    key.
    """

    keys: Annotated[Literal["private"], BeforeValidator(_require_private)] = key(
        "private, if the keys are data: a group is published if its noisy count is large enough",
        'keys = "private"',
    )
    longest: Annotated[int, Field(ge=1, le=MAX_TEXT)] | None = key(
        "the most bytes of a key that is a text", "longest = 16", default=None
    )


@final
class Hierarchy(Section):
    """Public keys, and the values to which they belong at each level above, nearest level first.

    The tables by each level are published with the table by key, and are exact sums of it.
    """

    keys: Keys = key("the public keys", 'keys = ["001", "003"]')
    levels: dict[Text, Labels] = key(
        "the value to which each key belongs, by level, the nearest first",
        'levels = { state = ["AL", "AL"] }',
    )


MOVED = (
    "gives a value another parent than an earlier row. Each key must belong to one value of the "
    "first level, and each value to one value of the next level."
)


def find_conflict(levels: Sequence[Sequence[Key]]) -> int | None:
    """The index of the first row that contradicts an earlier row about a value's parent.

    `levels` are columns of equal length, the nearest level first. A value's parent is the value in
    the next column of the same row. None if no row contradicts an earlier row.
    """
    rows: list[int] = []
    for values, above in pairwise(levels):
        first: dict[Key, Key] = {}
        pairs = enumerate(zip(values, above, strict=True))
        rows += [row for row, (value, top) in pairs if first.setdefault(value, top) != top][:1]
    return min(rows, default=None)


@final
class LevelsFile(Section):
    """A CSV of public keys and the levels above them, relative to the spec."""

    file: Annotated[str, Field(pattern="[.]csv$")] = key(
        "the path of the CSV", 'file = "counties.csv"'
    )
    levels: Annotated[list[str], Field(min_length=1)] = key(
        "its columns of levels above the keys, the nearest first", 'levels = ["state"]'
    )


Grouping = Keys | Bands | PrivateKeys
"""The groups of a column: keys, keys with levels, bands, or private keys."""
_Given = Annotated[
    Annotated[Keys, Tag("keys[]")]
    | Annotated[Hierarchy, Tag("levels[]")]
    | Annotated[Bands, Tag("bands[]")]
    | Annotated[PrivateKeys, Tag("private[]")],
    Discriminator(_grouping),
]
GroupBy = Annotated[
    Annotated[dict[str, Annotated[_Given, entry(_Given | KeyFile | LevelsFile)]], Tag("groups[]")]
    | Annotated[Names, Tag("names[]")],
    Discriminator(_group_by),
]
"""The groups of each grouping column, or the names of columns whose sections give them."""


@final
class Predicate(Section):
    """A condition on a column's value: to be between public numbers, or among public keys."""

    min: Number | None = key("the smallest value that satisfies it", "min = 1", default=None)
    max: Number | None = key("the largest value that satisfies it", "max = 10", default=None)
    below: Number | None = key("a number that values must be below", "below = 100", default=None)
    among: Labels = key("the public keys that satisfy it", "among = [1, 2]", default=())


_Condition = dict[Text, Predicate]


@final
class Accuracy(Section):
    """The largest error that a query's numbers may have, in their units.

    It is a standard deviation `std`, or `half_width_95`: half the width of an interval that holds
    95 % of the noise. `statistic` names the only statistic that has to meet it. By default all have
    to, except quantiles.
    """

    half_width_95: Positive | None = key(
        "half the width of an interval that holds 95 % of the noise",
        "half_width_95 = 10",
        default=None,
    )
    std: Positive | None = key("the standard deviation", "std = 5", default=None)
    statistic: Text | None = key(
        "the only statistic to which it applies", 'statistic = "count"', default=None
    )


@final
class Assumed(Section):
    """The group size `n` for which the plan states errors that depend on it."""

    n: PublicCount = key("the number of values in a group", "n = 4000")


@final
class Query(Section):
    """One query: a table, or tables that add up, with a share of the budget by `importance`.

    Each of the named `conditions` is a predicate on every column that it lists. `round` publishes
    whole counts; `clamp` publishes 0 for negative counts and sums. Tables that add up never have
    one of these two keys without the other, and still add up.

    Groups whose published count is below `min_count` are left out, or suppressed in margins. `top`
    keeps the groups with the largest published counts. If `by` is "selection", the top groups are
    chosen by chance instead, before their counts get noise. If a query has several counts, the
    first one decides. `clipping` and `rest` are shares of the query's budget for additional
    queries, which replace these keys when the spec is read.
    """

    forms: ClassVar[dict[str, str]] = {
        "group_by": _FORMS,
        "margins": 'true, or a list of tables, each a list of columns: [["region"], []]',
    }
    elsewhere: ClassVar[dict[str, str]] = {
        limit: f"contribution = {{ {limit} = 3 }}"
        for limit in ("max_rows", "max_groups", "max_rows_per_group")
    }

    name: Text = key("the name of its table", 'name = "use_by_plan"')
    importance: Positive = key(
        "its weight when the budget is divided among queries",
        "importance = 2",
        default=Fraction(1),
    )
    contribution: Contribution | None = key(
        "limits on one person's contribution to this query, in place of those under [contribution]",
        "contribution = { max_groups = 1 }",
        default=None,
    )
    accuracy: Accuracy | None = key(
        "the largest error that its numbers may have",
        "accuracy = { half_width_95 = 10 }",
        default=None,
    )
    assume: Assumed | None = key(
        "the group size for which errors that depend on it are shown",
        "assume = { n = 4000 }",
        default=None,
    )
    filter: Expression | None = key(
        "the condition on rows that the query is about", 'filter = "visits > 0"', default=None
    )
    statistics: Texts = key(
        "the statistics of each group",
        'statistics = ["count", "mean(visits)"]',
        default=(),
    )
    group_by: GroupBy = key(
        'public keys by column, a file of keys, edges of bands, or keys = "private"; or names of '
        "columns whose keys or edges stand under [columns]",
        "group_by = { plan = [1, 2, 3] }",
        default_factory=dict,
    )
    quantiles_by: QuantilesBy | None = key(
        "the mechanism for quantiles: permute-and-flip (the default), or tree, for many quantiles "
        "and for intervals (the default for unlisted groups)",
        'quantiles_by = "tree"',
        default=None,
    )
    quantiles_share: Share | None = key(
        "the share of its budget for its quantiles, beside other statistics or private keys; by "
        "default in proportion to their number",
        'quantiles_share = "0.6"',
        default=None,
    )
    margins: Margins = key(
        "tables by fewer of the columns or by levels of their keys, which add up exactly: the "
        "listed ones, or all and the cells (true)",
        'margins = [["region"], []]',
        default=False,
    )
    sums: SumsText | None = key(
        "named sums of cells, published in place of the cells: a CSV with a line for each part of "
        "a sum, or a file of it",
        'sums = { file = "questions.csv" }',
        default=None,
    )
    objective: Objective | None = key(
        "largest, to minimise the largest standard deviation of counts that add up; by default the "
        "typical one",
        'objective = "largest"',
        default=None,
    )
    prefer: Preference | None = key(
        "the aim of noise for private keys: groups, to publish small groups (the default), or "
        "accuracy, for small errors",
        'prefer = "accuracy"',
        default=None,
    )
    histogram: Histogram | None = key(
        "counts of rows per bin",
        'histogram = { column = "visits", edges = [0, 5, 30] }',
        default=None,
    )
    conditions: dict[Text, Annotated[_Condition, entry(_Condition)]] = key(
        "named conditions, which may overlap",
        "conditions = { often = { visits = { min = 10 } } }",
        default_factory=dict,
    )
    max_conditions: Annotated[int, Field(ge=1)] | None = key(
        "the most conditions in which one person counts", "max_conditions = 2", default=None
    )
    round: bool = key("true, to publish whole counts", "round = true", default=False)
    round_to: PublicCount | None = key(
        "the number of which published counts are multiples", "round_to = 5", default=None
    )
    clamp: bool = key(
        "true, to publish negative counts and sums as 0", "clamp = true", default=False
    )
    min_count: PublicCount | None = key(
        "the smallest published count of a group that is kept; in margins, of a cell that isn't "
        "suppressed",
        "min_count = 10",
        default=None,
    )
    top: PublicCount | None = key(
        "the number of groups to keep, by largest published count", "top = 10", default=None
    )
    by: By | None = key(
        "selection, to choose the top groups before their counts get noise",
        'by = "selection"',
        default=None,
    )
    clipping: Share | None = key(
        "the share of its budget for counts of persons over a limit and values outside bounds",
        'clipping = "0.05"',
        default=None,
    )

    rest: Share | None = key(
        "the share of its budget for the count of persons, or rows, in no group",
        'rest = "0.05"',
        default=None,
    )

    @property
    def keys_of_sums(self) -> frozenset[str]:
        """The keys of this query that ask for tables of sums of its cells."""
        given = {
            "margins": self.margins is True or isinstance(self.margins, tuple),
            "cumulative": self.histogram is not None and self.histogram.cumulative,
            "levels": bool(self.hierarchies),
            "sums": self.sums is not None,
        }
        return frozenset(name for name, is_given in given.items() if is_given)

    @property
    def listed_tables(self) -> tuple[tuple[str, ...], ...] | None:
        """The tables that `margins` lists, each as its columns; () without margins.

        None if `margins` asks for all tables.
        """
        return None if self.margins is True else self.margins or ()

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The columns whose keys have levels, with these levels."""
        groups = self.group_by.items() if isinstance(self.group_by, dict) else ()
        return {name: keys for name, keys in groups if isinstance(keys, Hierarchy)}

    @property
    def hierarchy(self) -> tuple[str, Hierarchy] | None:
        """The first column whose keys have levels, with these levels; None without one."""
        return next(iter(self.hierarchies.items()), None)

    @property
    def multiple(self) -> int:
        """The step to which published counts are rounded; 0 if they are not rounded."""
        return self.round_to or int(self.round)
