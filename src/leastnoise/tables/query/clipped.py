"""What the counts of what limits and bounds take away are counts of: for plans, and `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.query import finding
from leastnoise.tables.spec.model import Contribution
from leastnoise.tables.statistics.base import bounds_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import Statistic

_OVER = {
    "max_rows": "more than {most} rows",
    "max_groups": "rows in more than {most} groups",
    "max_rows_per_group": "more than {most} rows in a group",
}


def in_words(spec: Spec, statistics: Sequence[Statistic]) -> tuple[str, ...]:
    """Return a sentence for each of the `statistics` that is of all groups together."""
    return tuple(_in_words(spec, statistics))


def _in_words(spec: Spec, statistics: Sequence[Statistic]) -> Iterator[str]:
    for asked in statistics:
        if not asked.of_all_groups:
            continue
        if column := asked.parts[0].column:
            low, high = map(decimal_text, bounds_of(spec, column))
            outside = f"below {low} or above {high}"
            if finding.is_open(spec.columns[column]):
                outside = "outside the bounds that are found"
            yield f"{asked.label} counts values {outside}."
        else:
            limits = (spec.contribution or Contribution()).counted
            over = [_OVER[name].format(most=most) for name, most in limits.items()]
            yield f"{asked.label} counts each {spec.privacy.person} with {' or '.join(over)}."


def to_record(layout: Layout) -> dict[str, Any]:
    """Return what is counted, and by which groups, as JSON values; {} of another block."""
    if not layout.clipped:
        return {}
    groups = [
        {name: list(map(repr, values)) for name, values in axis.columns.items()}
        for axis in layout.within
    ]
    return {"clipped": {"counts": list(layout.clipped), "groups": groups}}
