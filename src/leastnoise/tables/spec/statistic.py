"""The statistics that a query block may ask for, and their spelling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise import _validate

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Query

KINDS = ("count", "count_units", "sum", "mean")
_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*(.*?)\s*\))?\s*", re.DOTALL)


@final
@dataclass(frozen=True, kw_only=True)
class Statistic:
    """`count` (rows), `count_units` (distinct persons), or what is asked of a column's values.

    `count(column)` of rows that have one, `sum(column)`, `mean(column)`.
    """

    kind: str
    column: str = ""

    @property
    def counts(self) -> bool:
        """True of counts, which are whole and not negative before noise."""
        return self.kind in {"count", "count_units"}

    @property
    def label(self) -> str:
        """The name of its column in a result, such as count, count_units or mean_<column>."""
        return f"{self.kind}_{self.column}" if self.column else self.kind


def counted(query: Query, *, by_row: bool) -> Statistic | None:
    """Return what a histogram or conditions count; None for a block that lists its statistics."""
    if query.where and not by_row:
        return Statistic(kind="count_units")
    return Statistic(kind="count") if query.histogram is not None or query.where else None


def parse(text: str) -> Statistic:
    """Return the statistic that `text` spells; raises ValueError saying how to spell it.

    >>> parse("mean(mdvis)")
    Statistic(kind='mean', column='mdvis')
    """
    match = _CALL.fullmatch(text)
    kind, column = (match[1], match[2]) if match else (text, None)
    if kind not in KINDS:
        hint = _validate.nearest(kind, KINDS)
        raise ValueError(
            "Expected count, count_units, count(column), sum(column) or mean(column), "
            f"got {text[:40]!r}.{' ' if hint else ''}{hint}"
        )
    if kind == "count_units" and column is not None:
        raise ValueError(f"Expected {kind} without a column, got {text[:40]!r}.")
    if not column and (kind in {"sum", "mean"} or column is not None):
        raise ValueError(f"Expected {kind}(column), got {text[:40]!r}. Name the column.")
    return Statistic(kind=kind, column=column or "")
