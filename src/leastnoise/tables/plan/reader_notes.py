"""Notes for readers of published tables: limits, rows left out, and how groups were selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.answers.base import Topic, texts
from leastnoise.tables.layout import found_bounds, found_limits
from leastnoise.tables.plan.summary import (
    describe_counts,
    limits_of_persons,
    limits_of_values,
    rows_in_no_group,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.tables.answers.base import TablePart
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.spec.model import Spec


def describe_selection(parts: Sequence[TablePart], names: Mapping[str, str]) -> list[str]:
    """Notes for readers of a table, and sentences on its rounding and the selection of its groups.

    `names` maps the labels of statistics to names for readers.
    """
    sentences = [sentence for part in parts for sentence in part.sentences(names)]
    return [
        text
        for topic in (Topic.PAGE, Topic.KEPT, Topic.WHOLE, Topic.SELECTED)
        for text in texts(iter(sentences), topic)
    ]


def describe_limits(spec: Spec, layouts: Sequence[TableShape], *, where: str) -> list[str]:
    """Sentences on limits and on rows that are left out; `where` is text such as "on this page"."""
    person = spec.privacy.person

    def label_of(column: str) -> str:
        return spec.labels.get(column, column)

    lines = [] if spec.privacy.by_row else limits_of_persons(layouts, person)
    lines += limits_of_values(spec, layouts)
    lines += spec.data.join_sentences
    lines += rows_in_no_group(spec, layouts)
    lines += [f"The column {name} is computed as {text}." for name, text in spec.derive.items()]
    for layout in layouts:
        lines += [f"In {layout.name}, only rows where {text} count." for text in layout.filters]
        lines += [
            f"In {layout.name}, rows are left out where {label_of(axis.column)} is {axis.dropped}."
            for axis in layout.axes
            if axis.dropped
        ]
    lines += [sentence for layout in layouts for sentence in layout.missing]
    if not spec.privacy.by_row:
        lines.append(f"Rows that don't say which {person} they belong to are left out.")
        lines.append(
            "Rows beyond the limits above are left out or count for less. Values beyond the limits "
            "are moved to the limits."
        )
    finds = found_bounds.columns_by_query(spec) or found_limits.finder_of(spec) is not None
    others = "all limits, except those that the release found itself,"
    chosen = others if finds else "these limits"
    unknown = (
        "The effect of the limits is not published, to protect people who are beyond the limits."
    )
    lines.append(
        f"The guarantee assumes that {chosen} were chosen without looking at the rows. "
        f"{' '.join(describe_counts(layouts)) or unknown} "
        f"Errors and 95 % intervals {where} are about the noise only."
    )
    return list(dict.fromkeys(lines))  # the parts of a query have the same lines
