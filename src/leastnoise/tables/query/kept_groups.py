"""Which groups of a table are published, by their published counts alone.

That is post-processing of noisy numbers, and costs nothing: the rows of the source decide of it
through these alone. No exit code and no message depends on it, but the number of rows does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leastnoise.tables.query.layout import Layout
from leastnoise.tables.query.results import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leastnoise.tables.query.ranks import Ranks


def publish_all(layout: Layout) -> Layout:
    """Return the layout of the table in which every group is published."""
    return replace(layout, min_count=None, top=None, decides=None)


def select(layout: Layout | Ranks, table: Table) -> Table:
    """Return what is published of a block's `table`, given the layout of any of its parts.

    Groups below `min_count` are left out; of the others the `top` are kept, the largest count
    first, equal ones in the order of their keys.
    """
    if not isinstance(layout, Layout) or layout.decides is None:
        return table
    counts = table.columns[layout.decides]
    kept = [place for place, count in enumerate(counts) if _reaches(layout, count)]
    if layout.top is not None:
        kept = sorted(kept, key=lambda place: -counts[place])[: layout.top]
    columns = {label: [found[place] for place in kept] for label, found in table.columns.items()}
    return Table(name=table.name, columns=columns)


def _reaches(layout: Layout, count: float) -> bool:
    """Whether a group of that published count isn't left out by `min_count`."""
    return layout.min_count is None or count >= layout.min_count


def wrong_rows(layout: Layout, told: Mapping[str, Sequence[float]]) -> str | None:
    """Return what is wrong with the rows that are there, to end a sentence; None if nothing is.

    `told` are the numbers of a table. The order of its rows is checked with their keys. Of the
    counts of groups that aren't there a table says nothing.
    """
    if layout.decides is None:
        return None
    counts = told[layout.decides]
    if not all(_reaches(layout, count) for count in counts):
        return f"a {layout.decides} below min_count, {layout.min_count:,}"
    most = layout.top if layout.unlisted else min(layout.top or layout.cells, layout.cells)
    exact = layout.min_count is None and not layout.unlisted
    if most is not None and (len(counts) > most or (exact and len(counts) < most)):
        return f"other than the {most:,} groups that the spec says"
    return None


def in_words(layout: Layout) -> Iterator[str]:
    """Yield how counts are rounded, and which groups are published, in sentences."""
    if layout.multiple > 1 and any(asked.counts for asked in layout.statistics):
        yield (
            f"Counts are published as multiples of {layout.multiple:,}, their intervals rounded "
            "outwards; the std is that of the noise before."
        )
    if layout.min_count is not None:
        which = "Of groups that reach the threshold those" if layout.unlisted else "Groups"
        least = f"{layout.decides} is below {layout.min_count:,}"
        yield f"{which} whose published {least} are left out."
    if layout.top is not None:
        yield f"The {layout.top:,} groups of the largest published {layout.decides} are kept."
