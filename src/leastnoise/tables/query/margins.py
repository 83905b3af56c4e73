"""A block whose totals are published, too: which tables those are, and what a unit moves in each.

All published tables are sums of one estimate of the cells. Noise is drawn into some tables of exact
sums (see `plan.margins`), which need not be published ones. A table is the set of the `group_by`
columns that it is by, as a bit mask: 0 is the total.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise.guarantees.sensitivity import L1, Integer, Sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.tables.query.axes import Bins
from leastnoise.tables.query.limits import OF_A_ROW, FirstCells, InBall, InCells
from leastnoise.tables.spec.query import PrivateKeys
from leastnoise.tables.statistics.registry import known_statistics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.limits import Bounding
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

MOST_COLUMNS = 6  # with which 64 tables may be measured
MOST_CELLS = 2**16
FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KINDS = ("count", "count_units")


def published_tables(query: Query) -> tuple[int, ...]:
    """Return the tables of a block with margins, the cells first; () of another."""
    columns = list(query.group_by)
    whole = 2 ** len(columns) - 1
    if query.margins is True:
        asked = [*range(whole)]
    else:
        asked = [sum(1 << columns.index(one) for one in by) for by in query.margins or ()]
    others = sorted(asked, key=lambda one: (-one.bit_count(), one))
    return (whole, *others) if asked else ()


def table_name(query: str, columns: Sequence[str], table: int) -> str:
    """Return what a table and its file are called; the cells' as the block."""
    if table == 2 ** len(columns) - 1:
        return query
    by = "_".join(one for i, one in enumerate(columns) if table >> i & 1)
    return f"{query}_by_{by}" if by else f"{query}_total"


def table_layout(layout: Layout, table: int) -> Layout:
    """Return the layout of one table of a block with margins, the cells' too."""
    columns = [axis.column for axis in layout.axes]
    axes = tuple(axis for i, axis in enumerate(layout.axes) if table >> i & 1)
    name = table_name(layout.name, columns, table)
    dropped = tuple(
        f"Rows are left out where {axis.column} is {axis.dropped}."
        for axis in layout.axes
        if axis not in axes and isinstance(axis, Bins) and axis.dropped
    )
    way = layout.bounding if len(axes) == len(columns) else _in_sums(layout)
    return replace(
        layout, name=name, axes=axes, bounding=way, missing=layout.missing + dropped, margins=()
    )


def in_one_cell(layout: Layout) -> bool:
    """Whether a unit adds 1 to one cell at most, and so to one number of every table."""
    way = layout.bounding
    return (layout.by_row and way == OF_A_ROW) or (isinstance(way, FirstCells) and way.most == 1)


def table_sensitivity(layout: Layout, table: int) -> Sensitivity:
    """Return what is true of every shift of one table's exact sums by one unit.

    Exact sums are those of the cells, as `layout` bounds a unit there, so that no unit adds more to
    a table in l1 norm than to the cells. A unit that replaces another takes as much away, but in
    the total, where a unit that adds at most T moves one number by T at most.
    """
    units = _units(layout, table)
    if in_one_cell(layout):
        one = table_layout(layout, table).cells == 1
        return Integer(1) if one else Linf(1, l0=units, whole=True)
    return L1(table_reach(layout, table))


def table_reach(layout: Layout, table: int) -> Fraction:
    """Return the most that one unit moves a table by in l1 norm."""
    return layout.bounding.l1(layout.numbers) * _units(layout, table)


def _units(layout: Layout, table: int) -> int:
    """Return how many units' rows change: two where one replaces another, but in a total."""
    several = table_layout(layout, table).cells > 1
    return 2 if layout.neighbours == "replace-one" and several else 1


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Return the way to bound a unit with the least l1 norm; a sentence if there is none."""
    bounded = [way for way in ways if not isinstance(way, InBall)]
    if not bounded:
        return (
            "Nothing in [contribution] bounds how many rows of one person are in tables with "
            "margins. Give max_rows, such as max_rows = 1."
        )
    way = min(bounded, key=lambda one: one.l1(shape.numbers))
    if shape.numbers.persons and not (isinstance(way, FirstCells) and way.most == 1):
        return (
            "A person in several groups would count several times in their total. Give max_groups "
            '= 1, or ask for "count" with margins and for count_units in another block.'
        )
    return way


def _in_sums(layout: Layout) -> Bounding:
    """Return how a unit is bounded in a number that may be a sum of all cells."""
    if in_one_cell(layout):
        return layout.bounding
    most: Fraction = layout.bounding.l1(layout.numbers)
    return InCells(per_cell=most, total=most, apart=True)


def problems(spec: Spec, query: Query, path: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the margins of a block."""
    if query.margins is not True and not isinstance(query.margins, tuple):
        return
    key, columns = f"{path}.margins", list(query.group_by)
    if not query.margins:
        yield key, "Expected at least one table, such as margins = true or [[]], the total."
    if not 2 <= len(columns) <= MOST_COLUMNS:
        yield key, f"Expected 2 to {MOST_COLUMNS} columns in group_by, got {len(columns)}."
    elif any(isinstance(one, PrivateKeys) for one in spec.groupings(query).values()):
        yield key, "Not used with keys that nobody listed: a total would tell of hidden groups."
    elif query.margins is not True:
        yield from _lists(query.margins, columns, key)
    yield from _others(spec, query, key)


def _lists(given: Sequence[Sequence[str]], columns: Sequence[str], key: str) -> Iterator[Any]:
    seen: set[frozenset[str]] = set()
    for place, by in enumerate(given):
        unknown = [one for one in by if one not in columns]
        if unknown:
            yield f"{key}[{place}]", f"Expected columns of group_by, got {unknown[0]!r}."
        elif len(set(by)) < len(by) or frozenset(by) in seen:
            yield f"{key}[{place}]", f"{list(by)!r} is given twice, or has a column twice."
        elif len(by) == len(columns):
            yield f"{key}[{place}]", "The table by all columns is published anyway. Leave it out."
        seen.add(frozenset(by))


def _others(spec: Spec, query: Query, key: str) -> Iterator[tuple[str, str]]:
    """Yield what doesn't go with margins."""
    yield from kept_apart(spec, query, key.removesuffix(".margins"), key=key, called="Margins")
    columns = list(query.group_by)
    if query.name and len(columns) <= MOST_COLUMNS:
        for name in file_names(query):
            if not FILE.fullmatch(name):
                why = f"A file would be called {name[:80]!r}. Names have 1 to 64 letters, digits, -"
                yield key, f"{why} or _: give columns such names in [derive]."


def kept_apart(
    spec: Spec, query: Query, path: str, *, key: str, called: str
) -> Iterator[tuple[str, str]]:
    """Yield what doesn't go with tables of sums, which are `called` so: margins, or levels."""
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    if query.histogram is not None or query.conditions:
        why = "Not used beside a histogram or conditions: give edges in group_by, or use another"
        yield key, f"{why} block."
    elif len(asked) != 1 or asked[0].kind not in _KINDS:
        why = 'are of one count: statistics = ["count"]. Use another block for others.'
        yield key, f"{called} {why}"
    yield from wrong_forms(query, path, called=called.lower())


def wrong_forms(query: Query, path: str, *, called: str) -> Iterator[tuple[str, str]]:
    """Yield what would be done to single numbers of tables that add up, which are `called` so."""
    why = f"Not used with {called}: sums wouldn't add up."
    for name in ("min_count", "top"):
        if getattr(query, name):
            yield f"{path}.{name}", why
    both = "Give round = true and clamp = true, for whole numbers that add up, none below 0."
    if query.round_to is not None:
        yield f"{path}.round_to", f"{why} {both}"
    if query.round != query.clamp:
        given, other = ("round", "clamp") if query.round else ("clamp", "round")
        alone = f"Not used with {called} without {other}: sums wouldn't add up."
        yield f"{path}.{given}", f"{alone} {both}"


def file_names(query: Query) -> list[str]:
    """Return the names of the tables that a block publishes, with margins or without."""
    columns = list(query.group_by)
    known = query.margins is True or all(set(by) <= set(columns) for by in query.margins or ())
    tables = published_tables(query) if known and len(columns) <= MOST_COLUMNS else ()
    return [table_name(query.name, columns, table) for table in tables] or [query.name]
