"""A histogram whose running sums are published, too: how many are below each edge.

What is below an edge is counted from the first one on: rows below that, above the last, or without
a value, are in no bin and in no sum. Noise is drawn for the bins (see `answers.sums.cumulative`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.answers.sums.margin_tables import in_one_cell, std_problems, wrong_forms
from leastnoise.tables.layout.axes import Bins, RunningBins
from leastnoise.tables.layout.lay_out import lay_out_in_one_cell
from leastnoise.tables.spec.query import PrivateKeys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import LaidOut, Layout
    from leastnoise.tables.layout.limits import Bounding
    from leastnoise.tables.noise.shared_draws import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

_SUFFIX = "_cumulative"
MOST_BINS = 1 << 15
"""Groups times bins: their trees have less than twice as many cells (`noise.trees`)."""
_LONGEST = 64 - len(_SUFFIX)  # of a name, so that a file can be called after it


@final
class CumulativeQueries(QueryKind):
    """Bins and their running sums."""

    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"cumulative"})
    why_no_clipping: ClassVar[str] = "Not used with cumulative: a person is in one bin at most."

    def file_names(self, query: Query) -> list[str]:
        """The names of the published tables, and of their files."""
        return [query.name, table_name(query.name)]

    def problems(self, spec: Spec, query: Query, path: str) -> Iterator[Problem]:
        """What doesn't go with running sums."""
        key = f"{path}.histogram.cumulative"
        if query.histogram is not None and len(query.histogram.edges or ()) == 2:
            yield key, "Not used with one bin, whose count is its only sum."
        if any(isinstance(one, PrivateKeys) for one in spec.groupings(query).values()):
            yield key, "Not used with keys that nobody listed. List the keys of group_by."
        yield from wrong_forms(query, path, called="cumulative")
        yield from std_problems(query, path, called="cumulative")
        if len(query.name) > _LONGEST:
            yield (
                f"{path}.name",
                f"Expected at most {_LONGEST} letters, as a file is NAME{_SUFFIX}.",
            )

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The bins."""
        return lay_out_in_one_cell(spec, query, asked, choose=choose_bounding)

    def list_answers(self, laid: LaidOut, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.sums.answer import (  # noqa: PLC0415  (0.5 s)
            RunningSums,
            Sums,
        )

        return [Sums(laid=laid, block=query, kind=RunningSums) for query in queries]


def table_name(query: str) -> str:
    """Return what the table of running sums, and its file, are called."""
    return query + _SUFFIX


def table_layouts(layout: Layout) -> tuple[Layout, Layout]:
    """Return the layouts of the two tables, given that of the block: bins and running sums."""
    *others, bins = layout.axes
    if not isinstance(bins, Bins):
        raise TypeError("running sums are those of bins")
    return layout, replace(
        layout,
        name=table_name(layout.name),
        axes=(*others, RunningBins(column=bins.column, bins=bins)),
    )


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Return the way that leaves a unit in one bin; a sentence if there is none."""
    if shape.cells > MOST_BINS:
        return (
            f"Expected at most {MOST_BINS:,} groups times bins with cumulative, got "
            f"{shape.cells:,}. Give fewer edges or keys."
        )
    for way in ways:
        if in_one_cell(replace(shape, bounding=way)):
            return way
    return (
        "A person may be in several bins, or count for a part of a row, and cumulative counts are "
        "of persons in one bin. Give max_rows = 1 in [contribution], or leave cumulative out."
    )
