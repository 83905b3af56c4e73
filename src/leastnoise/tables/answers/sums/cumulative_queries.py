"""A histogram with running sums: the number of rows below each edge.

Rows below an edge are counted from the first edge on. Rows below the first edge or above the last
edge are in no bin and in no sum. Nor are rows without a value, unless a number replaces it. Noise
is drawn for the bins: see `answers.sums.cumulative`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.answers.sums import margin_queries
from leastnoise.tables.answers.sums.margin_queries import (
    in_one_cell,
)
from leastnoise.tables.answers.sums.problems import (
    form_problems,
    listed_problems,
    name_problems,
    std_problems,
)
from leastnoise.tables.answers.sums.whole_rows import fewest_whole_rows
from leastnoise.tables.layout.axes import Bins, RunningBins
from leastnoise.tables.layout.lay_out import lay_out_tree
from leastnoise.workloads.marginal import MOST_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.registry import ParsedQuery

_SUFFIX = "_cumulative"
MOST_BINS = 1 << 15
"""The largest number of groups times bins; their trees have fewer than twice as many cells."""
_LONGEST = 64 - len(_SUFFIX)  # letters, so that the name of a table can be a file name


class RunningSumQueries(QueryKind):
    """Queries for bins and their running sums, in groups and, with margins, in sums of groups."""

    why_no_clipping: ClassVar[str] = "Not used with cumulative: use another query."

    def file_names(self, query: Query) -> list[str]:
        """The names of the published tables, and of their files."""
        columns = list(query.group_by)
        known = all(set(by) <= set(columns) for by in query.listed_tables or ())
        tables = list_tables(query) if known and len(columns) <= MOST_COLUMNS else ()
        names = [
            margin_queries.table_name(
                query.name, columns, [column for i, column in enumerate(columns) if table >> i & 1]
            )
            for table in tables
        ]
        return [name for bins in names or [query.name] for name in (bins, table_name(bins))]

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of a query with running sums."""
        spec, query = parsed.spec, parsed.query
        key = f"{path}.histogram.cumulative"
        if query.histogram is not None and len(query.histogram.edges or ()) == 2:
            yield key, "Not used with one bin, whose count is its only sum."
        if spec.has_unlisted_keys(query):
            yield key, "Not used with keys that nobody listed. List the keys of group_by."
        if "margins" in query.keys_of_sums:
            yield from _margin_problems(query, f"{path}.margins")
        yield from form_problems(query, path, called="cumulative")
        yield from std_problems(query, path, called="cumulative")
        if len(query.name) > _LONGEST:
            most = f"NAME{_SUFFIX}, may have {_LONGEST + len(_SUFFIX)}."
            why = f"Expected a name of at most {_LONGEST} letters: the name of its file, {most}"
            yield f"{path}.name", why
        elif query.listed_tables != ():
            hint = "give columns such names in [derive]."
            yield from name_problems(query, self.file_names(query), f"{path}.margins", hint=hint)

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the bins.

        Its `margins` are the sets of group columns by which tables of bins are published.
        """
        ((shape,),) = lay_out_tree(spec, query, asked, choose=choose_bounding, whole=True)
        return ((replace(shape, margins=list_tables(query)),),)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.sums.answer import Sums  # noqa: PLC0415
        from leastnoise.tables.answers.sums.cumulative import Cumulative  # noqa: PLC0415 (0.5 s)

        return [Sums(layouts=layouts, query=query, kind=Cumulative) for query in queries]


@final
class CumulativeQueries(RunningSumQueries):
    """Queries for bins and their running sums, without margins."""

    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"cumulative"})


@final
class CumulativeTotals(RunningSumQueries):
    """Queries for bins and their running sums, also in sums of groups by fewer columns."""

    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"cumulative", "margins"})


def table_name(query: str) -> str:
    """The name of the table of running sums, and of its file; `query` names the table of bins."""
    return query + _SUFFIX


def list_tables(query: Query) -> tuple[int, ...]:
    """The sets of group columns with a table of bins, as bit masks; all columns first."""
    every = (1 << len(query.group_by)) - 1
    return margin_queries.published_tables(query) or (every,)


def table_layouts(layout: Layout) -> tuple[Layout, ...]:
    """The layouts of bins and of running sums: by all columns first, then by fewer columns."""
    bins = layout.axes[-1]
    if not isinstance(bins, Bins):
        raise TypeError("running sums are sums of bins")
    last = len(layout.axes) - 1
    columns = [axis.column for axis in layout.axes[:-1]]
    layouts: list[Layout] = []
    for table in layout.margins:
        of_bins = margin_queries.table_layout(layout, table | 1 << last)
        by = [axis.column for axis in of_bins.axes[:-1]]
        of_bins = replace(of_bins, name=margin_queries.table_name(layout.name, columns, by))
        running = RunningBins(column=bins.column, bins=bins)
        of_sums = replace(
            of_bins, name=table_name(of_bins.name), axes=(*of_bins.axes[:-1], running)
        )
        layouts += [of_bins, of_sums]
    return tuple(layouts)


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Choose, among `ways` to bound a unit, a bounding that leaves the unit in one bin.

    If no such bounding exists, choose the bounding of `fewest_whole_rows`, unless persons are
    counted. Returns the problem as text if no bounding fits, or if there are too many bins. `shape`
    is the layout to be bounded.
    """
    if shape.cells > MOST_BINS:
        return (
            f"Expected at most {MOST_BINS:,} groups times bins with cumulative, got "
            f"{shape.cells:,}. Give fewer edges or keys."
        )
    for bounding in ways:
        if in_one_cell(replace(shape, bounding=bounding)):
            return bounding
    if shape.numbers.persons:
        return (
            "A person in several bins would count several times in a running sum. Give max_groups "
            '= 1, or ask for "count" with cumulative.'
        )
    if (bounding := fewest_whole_rows(ways, shape)) is None:
        return "Cumulative counts are of whole rows. Give max_rows in [contribution]."
    return bounding


def _margin_problems(query: Query, key: str) -> Iterator[Problem]:
    """Problems of the margins of a histogram: tables by some of its group columns."""
    columns, given = list(query.group_by), query.listed_tables
    if given == ():
        yield key, "Expected at least one table, such as margins = true."
    elif not 1 <= len(columns) <= MOST_COLUMNS:
        if columns:
            most = f"at most {MOST_COLUMNS} columns in group_by, got {len(columns)}"
            yield key, f"Expected {most}, as margins sum over each of them."
        else:
            yield key, "Margins of a histogram need columns in group_by."
    elif given is not None:
        yield from listed_problems(given, columns, key)
        if not any(set(by) == set(columns) for by in given):
            why = f"List the table by all columns, {columns!r}, too"
            yield key, f"{why}: the others are sums of its counts."
