"""The sections of a query in a spec: what is asked, of which groups, and how it is published."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, final

from pydantic import Discriminator, Field, Tag

from leastnoise.tables.spec.section import Section, entry, key
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
"""The key of a query that says it as SQL: reading a spec puts other keys in its place."""
FLIP, TREE = "permute-and-flip", "tree"
QuantilesBy = Literal["permute-and-flip", "tree"]
"""How quantiles are found."""
LARGEST = "largest"
Objective = Literal["largest"]
"""What the noise of tables that add up makes small; without it that is what is typical."""
SMALL_GROUPS, ACCURACY = "groups", "accuracy"
Preference = Literal["groups", "accuracy"]
"""What noise is chosen for where nobody listed the groups."""


@final
class Histogram(Section):
    """Counts of rows per bin [a, b), the last one closed; values outside are dropped.

    The first edge may be −∞ and the last one ∞, which no value is. With `cumulative` the running
    sums of the bins are published beside them.
    """

    column: Text = key("the column that is counted by", 'column = "visits"')
    edges: Edges = key("the edges of the bins [a, b), the last one closed", "edges = [0, 5, 30]")
    cumulative: bool = key(
        "also how many are below each edge, from the first one on: exactly the sums of the bins",
        "cumulative = true",
        default=False,
    )


@final
class Bands(Section):
    """Groups by a number: the bands [a, b) between edges, as the bins of a histogram."""

    edges: Edges = key("the edges of the bands [a, b), the last one closed", "edges = [0, 18, 65]")


def _grouping(value: object) -> str:
    """Return a tag that no key has."""
    if isinstance(value, Hierarchy) or (isinstance(value, dict) and "levels" in value):
        return "levels[]"
    if isinstance(value, PrivateKeys) or (isinstance(value, dict) and "keys" in value):
        return "private[]"
    return "bands[]" if isinstance(value, dict | Bands) else "keys[]"


def _group_by(value: object) -> str:
    """Return a tag that no key has."""
    return "names[]" if isinstance(value, list | tuple) else "groups[]"


@final
class PrivateKeys(Section):
    """Groups that nobody listed: their keys are data, and published where noise lets them.

    A text of more than `longest` bytes, in UTF-8, is no key: its row counts as one without.
    """

    keys: Literal["private"] = key(
        "that the keys are data: a group is published where its noisy count is large enough",
        'keys = "private"',
    )
    longest: Annotated[int, Field(ge=1, le=MAX_TEXT)] | None = key(
        "the most bytes of a text that is a key", "longest = 16", default=None
    )


@final
class Hierarchy(Section):
    """Public keys, and for each level above them what each key is part of, the nearest first.

    The tables by each level are published beside that by key, and are sums of it.
    """

    keys: Keys = key("the public keys", 'keys = ["001", "003"]')
    levels: dict[Text, Labels] = key(
        "what each key is part of, by level, the nearest first",
        'levels = { state = ["AL", "AL"] }',
    )


MOVED = (
    "puts a value into another one than before. Each key is part of one value of the first level, "
    "and each value of one of the next level."
)


def find_conflict(levels: Sequence[Sequence[Key]]) -> int | None:
    """The first row in which a value is part of another one than before; None if there is none.

    `levels` are columns of the same length, the nearest level first.
    """
    rows: list[int] = []
    for values, above in pairwise(levels):
        first: dict[Key, Key] = {}
        pairs = enumerate(zip(values, above, strict=True))
        rows += [row for row, (value, top) in pairs if first.setdefault(value, top) != top][:1]
    return min(rows, default=None)


@final
class LevelsFile(Section):
    """A CSV of public keys and of what they are part of, relative to the spec."""

    file: Annotated[str, Field(pattern="[.]csv$")] = key(
        "the path of the CSV", 'file = "counties.csv"'
    )
    levels: Annotated[list[str], Field(min_length=1)] = key(
        "its columns of what the keys are part of, the nearest first", 'levels = ["state"]'
    )


Grouping = Keys | Bands | PrivateKeys
"""What a column's rows are grouped by: its keys, whether or not these have levels."""
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
"""What there is of each column that rows are grouped by; or columns that say it themselves."""


@final
class Predicate(Section):
    """What a column's value must be: within these public numbers, or among these public keys."""

    min: Number | None = key("the least value that satisfies it", "min = 1", default=None)
    max: Number | None = key("the largest value that satisfies it", "max = 10", default=None)
    below: Number | None = key(
        "what values that satisfy it are less than", "below = 100", default=None
    )
    among: Labels = key("the public keys that satisfy it", "among = [1, 2]", default=())


_Condition = dict[Text, Predicate]


@final
class Accuracy(Section):
    """How far off a query's numbers may be: one of the two, in their own units.

    `half_width_95` is that of intervals that hold 95 % of the noise, `std` its standard deviation.
    Of all statistics, or of one.
    """

    half_width_95: Positive | None = key(
        "half of the width of an interval that holds 95 % of the noise",
        "half_width_95 = 10",
        default=None,
    )
    std: Positive | None = key("the standard deviation", "std = 5", default=None)
    statistic: Text | None = key("of which statistic alone", 'statistic = "count"', default=None)


@final
class Assumed(Section):
    """What the error of a mean, say, is worked out for: groups of `n` values."""

    n: PublicCount = key("how many values are in a group", "n = 4000")


@final
class Query(Section):
    """One query: a table, from one draw of noise with `importance` of the budget.

    `conditions` are by name, each a predicate on every column that it lists. With `round` counts
    are published whole, with `clamp` negative counts and sums as 0; tables that add up take both,
    and still do. Groups whose first published count is below `min_count` are left out, and of the
    others the `top` largest are kept. `clipping` and `rest` are parts of its budget for queries
    beside it: reading a spec puts these in their place.
    """

    name: Text = key("the name of its table", 'name = "use_by_plan"')
    importance: Positive = key(
        "how much its errors count beside other queries'", "importance = 2", default=Fraction(1)
    )
    accuracy: Accuracy | None = key(
        "how far off its numbers may be", "accuracy = { half_width_95 = 10 }", default=None
    )
    assume: Assumed | None = key(
        "for how many values in a group to show what errors depend on it",
        "assume = { n = 4000 }",
        default=None,
    )
    filter: Expression | None = key(
        "what is true of the rows that the query is about", 'filter = "visits > 0"', default=None
    )
    statistics: Texts = key(
        "what is computed from the rows of each group",
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
        "how quantiles are found: each by chance (without this), or all off noisy counts of the "
        "candidates, which is best for many and has intervals",
        'quantiles_by = "tree"',
        default=None,
    )
    margins: Margins = key(
        "tables by fewer of the columns or by levels of their keys, which add up exactly: the "
        "listed ones and no other, or all of them and the cells (true)",
        'margins = [["region"], []]',
        default=False,
    )
    sums: SumsText | None = key(
        "named sums of the cells, which are published in place of them: a CSV with a line for each "
        "part of a sum, or its file",
        'sums = { file = "questions.csv" }',
        default=None,
    )
    objective: Objective | None = key(
        "what the noise of counts that add up makes small: the largest standard deviation of all; "
        "without this the typical one",
        'objective = "largest"',
        default=None,
    )
    prefer: Preference | None = key(
        "what noise is chosen for where nobody listed the keys: to publish small groups (without "
        "this), or for small errors",
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
        "in how many of the conditions one person counts", "max_conditions = 2", default=None
    )
    round: bool = key("whether counts are published whole", "round = true", default=False)
    round_to: PublicCount | None = key(
        "of what published counts are multiples", "round_to = 5", default=None
    )
    clamp: bool = key(
        "whether negative counts and sums are published as 0", "clamp = true", default=False
    )
    min_count: PublicCount | None = key(
        "the least published count of a group that isn't left out", "min_count = 10", default=None
    )
    top: PublicCount | None = key(
        "how many groups are kept, those of the largest published counts", "top = 10", default=None
    )
    clipping: Share | None = key(
        "the part of its budget that counts persons over a limit and values outside their bounds",
        'clipping = "0.05"',
        default=None,
    )

    rest: Share | None = key(
        "the part of its budget that counts persons with a row in no group, or such rows",
        'rest = "0.05"',
        default=None,
    )

    @property
    def keys_of_sums(self) -> frozenset[str]:
        """The keys by which the query asks for tables of sums of its cells."""
        given = {
            "margins": self.margins is True or isinstance(self.margins, tuple),
            "cumulative": self.histogram is not None and self.histogram.cumulative,
            "levels": bool(self.hierarchies),
            "sums": self.sums is not None,
        }
        return frozenset(name for name, is_given in given.items() if is_given)

    @property
    def listed_tables(self) -> tuple[tuple[str, ...], ...] | None:
        """The tables that `margins` asks for, each by some columns; None if that is all tables."""
        return None if self.margins is True else self.margins or ()

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The columns whose keys have levels, and these levels."""
        groups = self.group_by.items() if isinstance(self.group_by, dict) else ()
        return {name: keys for name, keys in groups if isinstance(keys, Hierarchy)}

    @property
    def hierarchy(self) -> tuple[str, Hierarchy] | None:
        """The first column whose keys have levels, and these; None without one."""
        return next(iter(self.hierarchies.items()), None)

    @property
    def multiple(self) -> int:
        """What published counts are whole multiples of; 0 if they are as they were drawn."""
        return self.round_to or int(self.round)
