"""Counts in a series, and their running totals over its releases: one table each.

Noise is drawn once for all releases, and revealed release by release: see `answers.sums.series`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.answers.sums.whole_rows import fewest_whole_rows
from leastnoise.tables.layout.lay_out import lay_out_tree
from leastnoise.tables.layout.periods import Periods

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

_SUFFIX = "_total"
_LONGEST = 64 - len(
    _SUFFIX
)  # letters of a query's name, so that the table's name can be a file name
_EXCLUDED = ("min_count", "top", "by", "round_to", "round", "clamp", "conditions", "accuracy")
_ONE_COUNT = ({"count"}, {"count_units"})


@final
class SeriesQueries(QueryKind):
    """Queries for counts in public cells, and for their running totals over a series' releases."""

    why_no_clipping: ClassVar[str] = "Not used with running totals of a series."
    why_no_sums: ClassVar[str] = (
        "Not used with totals = true in [series]: margins, levels, cumulative counts and sums have "
        "other noise."
    )

    def file_names(self, query: Query) -> list[str]:
        """The names of both tables, and of their files."""
        return [query.name, total_name(query.name)]

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of a query in a series with running totals."""
        spec, query = parsed.spec, parsed.query
        why = "Not used with totals = true in [series]"
        if spec.has_unlisted_keys(query):
            yield f"{path}.group_by", f"{why}. List the keys: every release has the same cells."
        if query.histogram is None and {*query.statistics} not in _ONE_COUNT:
            yield f"{path}.statistics", f"{why} except for one count: count or count_units."
        for name in _EXCLUDED:
            if getattr(query, name):
                yield (
                    f"{path}.{name}",
                    f"{why}, whose counts and totals add up as they are drawn. Leave it out.",
                )
        if len(query.name) > _LONGEST:
            most = f"NAME{_SUFFIX}, may have {_LONGEST + len(_SUFFIX)}."
            why = f"Expected a name of at most {_LONGEST} letters: the name of its file, {most}"
            yield f"{path}.name", why

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the counts of one release."""
        if spec.series is None:
            raise TypeError("the series comes first")
        ((shape,),) = lay_out_tree(spec, query, asked, choose=choose_bounding, whole=True)
        periods = Periods(count=spec.series.releases, branches=spec.series.branches)
        return ((replace(shape, periods=periods),),)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.sums.answer import Sums  # noqa: PLC0415
        from leastnoise.tables.answers.sums.series import SeriesTotals  # noqa: PLC0415 (0.5 s)

        return [Sums(layouts=layouts, query=query, kind=SeriesTotals) for query in queries]


def total_name(query: str) -> str:
    """The name of the table of running totals, and of its file."""
    return query + _SUFFIX


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Choose, among `ways` to bound a unit, the bounding with which the unit moves the fewest rows.

    Returns the problem as text if no bounding fits. `shape` is the layout to be bounded.
    """
    if (bounding := fewest_whole_rows(ways, shape)) is None:
        return "Running totals are of whole counts. Give max_rows in [contribution]."
    return bounding
