"""Detect groups by both calendar year and ISO week; such a week may overlap two years."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.expressions.tree import Call, Expression, substitute, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def mixes_years(derive: Mapping[str, str], grouped: Collection[str]) -> bool:
    """True if the `grouped` columns use both week(d) and the calendar year of the same date d.

    That year may be year(d) or date_trunc('year', d).
    `derive` has expressions by the names of their columns, which later expressions may use.

    >>> mixes_years({"y": "year(d)", "w": "week(d)"}, ["y", "w"])
    True
    >>> mixes_years({"y": "isoyear(d)", "w": "week(d)"}, ["y", "w"])
    False
    """
    if not any(name in derive for name in grouped):
        return False
    from leastnoise.tables.expressions.language import parse  # noqa: PLC0415  (0.1 s)

    derived: dict[str, Expression] = {}
    for name, text in derive.items():
        derived[name] = substitute(parse(text), derived)
    weeks: set[Expression] = set()
    years: set[Expression] = set()
    for name in grouped:
        for node in walk(derived[name]) if name in derived else ():
            if isinstance(node, Call) and node.operator == "week":
                weeks.add(node.arguments[0])
            elif isinstance(node, Call) and "year" in {node.operator, node.unit}:
                years.add(node.arguments[0])
    return not weeks.isdisjoint(years)
