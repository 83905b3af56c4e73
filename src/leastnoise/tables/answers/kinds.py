"""The list of all kinds of queries, and the only module that finds the kind of a query."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from leastnoise.tables.answers.plain.layout import PlainQueries
from leastnoise.tables.answers.quantiles.layout import (
    QuantilesByChance,
    QuantilesByTree,
    QuantilesOfUnlisted,
)
from leastnoise.tables.answers.selection.layout import SelectionQueries
from leastnoise.tables.answers.sums.cumulative_queries import CumulativeQueries, CumulativeTotals
from leastnoise.tables.answers.sums.level_queries import LevelQueries
from leastnoise.tables.answers.sums.margin_queries import MarginQueries
from leastnoise.tables.answers.sums.nested_queries import NestedQueries
from leastnoise.tables.answers.sums.series_queries import SeriesQueries
from leastnoise.tables.answers.unlisted.layout import KeyQueries, UnlistedQueries
from leastnoise.tables.answers.weighted.questions import SumQueries
from leastnoise.tables.layout.lay_out import reads_tree
from leastnoise.tables.layout.layout import SpecLayout
from leastnoise.tables.statistics.base import Statistic
from leastnoise.tables.statistics.registry import parse_queries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.answers.base import Problem, QueryKind
    from leastnoise.tables.answers.quantiles.layout import QuantileKind
    from leastnoise.tables.layout.lay_out import Parts
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.registry import ParsedQuery

PLAIN, UNLISTED, KEYS = PlainQueries(), UnlistedQueries(), KeyQueries()
SERIES, SELECTION = SeriesQueries(), SelectionQueries()
KINDS: tuple[QueryKind, ...] = (
    PLAIN,
    UNLISTED,
    KEYS,
    MarginQueries(),
    CumulativeQueries(),
    CumulativeTotals(),
    LevelQueries(),
    NestedQueries(),
    SumQueries(),
    SERIES,
    SELECTION,
)
BY_CHANCE, BY_TREE, OF_UNLISTED = QuantilesByChance(), QuantilesByTree(), QuantilesOfUnlisted()
_RANKS = "quantiles are chosen by a mechanism whose noise isn't Gaussian"


def kind_of(parsed: ParsedQuery) -> QueryKind:
    """The kind of a query. It answers all statistics of the query except quantiles."""
    spec, query = parsed.spec, parsed.query
    if spec.series is not None and spec.series.totals:
        return SERIES
    if query.by is not None:
        return SELECTION
    kind = next(kinds_of_sums(query), PLAIN)
    if not spec.has_unlisted_keys(query):
        return kind
    if any(statistic.of_all_groups for statistic in parsed.statistics):
        return kind
    counted = any(isinstance(statistic, Statistic) for statistic in parsed.statistics)
    read_off = bool(query.statistics) and reads_tree(spec, query)
    return UNLISTED if counted or read_off or query.histogram or query.conditions else KEYS


def quantile_kind(parsed: ParsedQuery) -> QuantileKind:
    """The kind of the answers to a query's quantiles: by chance or by a tree."""
    spec, query = parsed.spec, parsed.query
    if not reads_tree(spec, query):
        return BY_CHANCE
    return OF_UNLISTED if spec.has_unlisted_keys(query) else BY_TREE


def kinds_of_sums(query: Query) -> Iterator[QueryKind]:
    """The kinds of tables of sums that a query asks for: at most one in a valid spec."""
    given = query.keys_of_sums
    asked = [kind for kind in KINDS if kind.keys_of_sums and kind.keys_of_sums <= given]
    for kind in asked:
        if not any(kind.keys_of_sums < other.keys_of_sums for other in asked):
            yield kind


def sum_problems(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    """Problems of the tables of sums for which a query asks.

    The query's own kind may exclude such tables. Then its problems are yielded, too, and a table of
    sums is itself a problem.
    """
    kind_of_query = kind_of(parsed)
    first = (kind_of_query,) if kind_of_query.why_no_sums else ()
    sums = [*kinds_of_sums(parsed.query)]
    for kind in (*first, *sums):
        yield from kind.problems(parsed, path)
    if first and sums:
        yield path, kind_of_query.why_no_sums


def why_no_clipping(parsed: ParsedQuery) -> str:
    """The reason why a query's kind or its tables of sums exclude `clipping`; "" if they don't.

    Other reasons may forbid `clipping`, too: see `parse.added_queries`.
    """
    kinds = (*kinds_of_sums(parsed.query), kind_of(parsed))
    return next((kind.why_no_clipping for kind in kinds if kind.why_no_clipping), "")


def why_no_rho(parsed: ParsedQuery) -> str:
    """The reason why a query's noise has no exact ρ (zCDP), to end a sentence; "" if it has."""
    return _RANKS if parsed.quantiles else kind_of(parsed).why_no_rho


def file_names(parsed: ParsedQuery) -> list[str]:
    """The names of the tables that a query publishes, and of their files."""
    totals = (SERIES,) if kind_of(parsed) is SERIES else ()
    return next(chain(totals, kinds_of_sums(parsed.query)), PLAIN).file_names(parsed.query)


def lay_out_query(parsed: ParsedQuery) -> Parts:
    """The alternative layouts of each part of a query, without its quantiles.

    The layouts of a part differ in how they bound a unit, but have the same cells. `lay_out_ranks`
    lays out quantiles. Raises LayoutError if a part has no layout.
    """
    spec = parsed.spec
    by_row = spec.privacy.by_row
    asked = {
        index: (statistic, statistic.components(spec, by_row=by_row))
        for index, statistic in enumerate(parsed.statistics)
        if isinstance(statistic, Statistic)
    }
    return kind_of(parsed).lay_out(spec, parsed.query, asked)


def lay_out_ranks(parsed: ParsedQuery) -> tuple[QuantileLayout, ...]:
    """The layouts of the quantiles of a query, one for each column."""
    return quantile_kind(parsed).lay_out(parsed.spec, parsed.query)


def lay_out_spec(spec: Spec) -> SpecLayout:
    """The layouts of all queries of a spec, which must have no problems.

    Raises LayoutError if a part of a query has no layout.
    """
    queries = parse_queries(spec)
    return SpecLayout(
        spec=spec,
        queries=tuple(map(lay_out_query, queries)),
        quantiles=tuple(map(lay_out_ranks, queries)),
    )
