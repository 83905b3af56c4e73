"""Queries with margins: the published tables, and how far one unit shifts each of them.

All published tables are sums of one estimate of the cells. If there are too many cells to estimate
(`Marginals.is_small` is false), the tables are estimated together without cells. Noise is added to
some tables of exact sums, which are called measured and need not be published (see
`answers.sums.margins`). A table is identified by the set of its columns, as a bit mask: 0 is the
total.

A query may both sum values and count them. Then each value is centred at the middle of its bounds
and divided by their half-width, the radius. So no noise is spent on impossible shifts: a row may
shift the measured sum and the count of its cell to any corner of a box. The sum of values is
radius·(measured sum) + middle·(count).
"""

from __future__ import annotations

import operator
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.exact import float_at_least, root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.answers.sums.problems import (
    excluded_problems,
    listed_problems,
    name_problems,
)
from leastnoise.tables.layout.axes import Bins
from leastnoise.tables.layout.boundings.bounding import ONE_ROW
from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.lay_out import find_bits, list_boundings, shape_of
from leastnoise.tables.layout.layout import LayoutError
from leastnoise.tables.layout.unit_groups import groups_of_unit
from leastnoise.tables.statistics.base import Component, centred_value, count_of
from leastnoise.workloads.contrasts import squared_reach
from leastnoise.workloads.marginal import MOST_CELLS, MOST_COLUMNS, Marginals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.registry import ParsedQuery

MOST_LISTED = 30  # columns of a query whose `margins` list the tables
NO_TABLE = "Expected at least one table, such as margins = true or [[]], the total."
MOST_TABLES = 1024  # listed tables and their sums, all tables by fewer columns
_LIMITS_OF_GROUPS = ("max_groups", "max_rows_per_group", "l1", "l2")


def published_tables(query: Query) -> tuple[int, ...]:
    """The tables that `margins` lists, or all if `margins = true`; those by most columns first."""
    columns, listed = list(query.group_by), query.listed_tables
    tables: Iterable[int] = range(2 ** len(columns))
    if listed is not None:
        tables = [sum(1 << columns.index(column) for column in by) for by in listed]
    return tuple(sorted(tables, key=lambda table: (-table.bit_count(), table)))


def table_name(query: str, columns: Sequence[str], by: Sequence[str]) -> str:
    """The name of the table `by` some of the query's `columns`, and of its file."""
    if len(by) == len(columns):
        return query
    return f"{query}_by_{'_'.join(by)}" if by else f"{query}_total"


def keep_listed(spec: Spec, query: Query, layout: Layout, tables: Sequence[int]) -> Layout:
    """Restrict a layout to `tables` as its margins, and its cells to the columns of these tables.

    Tables by more columns aren't measured, since that would only add noise. A row still counts only
    if it is in a group of every column of the query. No column is dropped if the spec limits a
    person's groups, the rows in a group, or an l1 or l2 norm: these limits are about groups by
    every column.
    """
    listed = reduce(operator.or_, tables)
    kept = [i for i in range(len(layout.axes)) if listed >> i & 1]
    limits = [getattr(spec.limits(query), name, None) for name in _LIMITS_OF_GROUPS]
    if len(kept) == len(layout.axes) or any(limit is not None for limit in limits):
        return replace(layout, margins=tuple(tables))
    moved = [sum(1 << new for new, i in enumerate(kept) if table >> i & 1) for table in tables]
    axes = tuple(layout.axes[i] for i in kept)
    groups = groups_of_unit(spec, axes)
    return replace(
        layout, axes=axes, within=layout.axes, margins=tuple(moved), groups_of_unit=groups
    )


def table_layout(layout: Layout, table: int) -> Layout:
    """The layout of one table of a query with margins, given the layout of its cells."""
    axes = tuple(axis for i, axis in enumerate(layout.axes) if table >> i & 1)
    columns = [axis.column for axis in layout.grouped]
    name = table_name(layout.name, columns, [axis.column for axis in axes])
    dropped = tuple(
        f"Rows are left out where {axis.column} is {axis.dropped}."
        for axis in layout.grouped
        if axis not in axes and isinstance(axis, Bins) and axis.dropped
    )
    bounding = layout.bounding if len(axes) == len(layout.axes) else _in_sums(layout)
    return replace(
        layout,
        name=name,
        axes=axes,
        bounding=bounding,
        missing=layout.missing + dropped,
        margins=(),
    )


def measured_components(spec: Spec, components: Sequence[Component]) -> tuple[Component, ...]:
    """The components whose sums get noise: values are centred if they are counted, too.

    All `components` can be computed from the measured components.
    """
    measured = [
        centred_value(spec, component.column)
        if component.of_values and count_of(spec, component.column) in components
        else component
        for component in components
    ]
    return tuple(dict.fromkeys(measured))


def measured_layout(layout: Layout) -> Layout:
    """The layout of the cells' measured numbers, given the layout of their published numbers."""
    return replace(layout, components=layout.measured, uses=())


def places_of(layout: Layout, component: Component) -> tuple[int, int | None]:
    """The index of the measured component that gives `component`, and the index of its count.

    The count is of the rows with a value of the same column, if these are counted; otherwise it is
    of all rows. Its index is None if `component` is itself a count, or if there is no such count.
    """
    if not component.of_values:
        return layout.measured.index(component), None
    kinds = [(other.of_values, other.column) for other in layout.measured]
    counts = [kind for kind in ((False, component.column), (False, "")) if kind in kinds]
    return kinds.index((True, component.column)), kinds.index(counts[0]) if counts else None


def find_coefficients(layout: Layout, component: Component) -> tuple[Fraction, ...]:
    """The coefficients with which the measured components add up to `component`.

    The measured component has centre c and radius r, and `component` has c′ and r′. For a value x,
    (x − c′)/r′ = (r/r′)·(x − c)/r + (c − c′)/r′, and the last term is the coefficient of the count.
    """
    index, count = places_of(layout, component)
    coefficients, measured = [Fraction(0)] * len(layout.measured), layout.measured[index]
    coefficients[index] = measured.radius / component.radius
    if count is not None:
        coefficients[count] = (measured.centre - component.centre) / component.radius
    return tuple(coefficients)


def total_coefficients(layout: Layout) -> list[tuple[Fraction, ...]]:
    """For each measured number, the coefficients that give a plain count, or a plain sum of values.

    A plain sum is of values that are neither centred nor scaled. Each tuple has a coefficient for
    every measured number of a cell.
    """
    coefficients: list[tuple[Fraction, ...]] = []
    for measured in layout.measured:
        plain = (
            replace(measured, centre=Fraction(0), radius=Fraction(1))
            if measured.of_values
            else measured
        )
        coefficients.append(find_coefficients(layout, plain))
    return coefficients


def in_one_cell(layout: Layout) -> bool:
    """True only if cells have one count each, and a unit adds 1 to the count of at most one cell.

    Then a unit adds 1 to at most one number of every table.
    """
    bounding, numbers = layout.bounding, layout.numbers
    if not numbers.counts or numbers.each > 1:
        return False
    return _is_of_a_row(layout) or (isinstance(bounding, OnceInCells) and bounding.most == 1)


def always_counts(layout: Layout, number: Component) -> bool:
    """True only if every row is in a cell, and `number` isn't a count of a column's values."""
    return layout.keeps_every_row and not (number.kind == "count" and number.column)


def total_is_known(layout: Layout) -> bool:
    """True if the total is public, so that it needs no noise.

    Then it is the number of rows: the only number is a count of rows, every row is in a cell, and a
    unit is a row that another row replaces.
    """
    return (
        _is_of_a_row(layout)
        and layout.neighbours == "replace-one"
        and layout.components == (Component(kind="count"),)
        and layout.keeps_every_row
    )


def _is_of_a_row(layout: Layout) -> bool:
    return layout.by_row and layout.bounding == ONE_ROW


def marginals_of(layout: Layout) -> Marginals:
    """The published tables as a `Marginals`, which computes their estimates."""
    sizes = tuple(axis.cells for axis in layout.axes)
    return Marginals(sizes=sizes, tables=layout.margins, total_is_known=total_is_known(layout))


def tables_read(layout: Layout) -> tuple[int, ...]:
    """The tables whose exact sums are computed from the rows; all other tables are sums of these.

    If there are few cells, the cells are the only such table. Otherwise these are the listed tables
    that are no sums of another listed table.
    """
    marginals = marginals_of(layout)
    if marginals.has_cells:
        return (marginals.whole,)
    return tuple(
        table
        for table in layout.margins
        if not any(table & wider == table != wider for wider in layout.margins)
    )


def layouts_read(layout: Layout) -> list[Layout]:
    """The layouts of `tables_read`. Each counts only rows that are in a group of every column."""
    drawn = measured_layout(layout)
    tables = tables_read(layout)
    if tables == (2 ** len(drawn.axes) - 1,):
        return [drawn]
    return [replace(table_layout(drawn, table), within=drawn.grouped) for table in tables]


def too_large(layout: Layout) -> str | None:
    """The reason why a query is too large for margins; None if it isn't.

    Queries with many columns or cells (not `Marginals.is_small`) have margins of one count of rows
    only, and each of their columns needs at least two keys.
    """
    marginals = marginals_of(layout)
    if marginals.is_small:
        return None
    largest = max(map(marginals.cells, marginals.tables))
    if largest > MOST_CELLS:
        expected = f"Expected at most {MOST_CELLS:,} cells with margins, got {largest:,}"
        return f"{expected} in one table. Use fewer keys."
    if len(marginals.every) > MOST_TABLES:
        expected = f"Expected at most {MOST_TABLES:,} tables with all tables by fewer columns"
        return f"{expected}, got {len(marginals.every):,}. List fewer."
    if layout.projected or not in_one_cell(layout) or not layout.by_row:
        return (
            f"Margins of more than {MOST_COLUMNS} columns, or of more than {MOST_CELLS:,} cells "
            "together, are of one count of rows, not made whole. Use fewer columns, or keys."
        )
    if min(marginals.sizes) == 1:
        return "A column with one key has no effect in tables without cells. Leave it out."
    return None


def contrasts_sensitivity(layout: Layout, table: int) -> L2:
    """The l2 sensitivity of a table's contrasts, for a unit in at most one cell.

    Contrasts are the part of a table that tables by fewer columns lack: see `workloads.contrasts`.
    """
    sizes = [axis.cells for axis in table_layout(layout, table).axes]
    square = squared_reach(sizes, replaced=layout.neighbours == "replace-one")
    return L2(Fraction(float_at_least(root_above(square))))


def table_sensitivities(layout: Layout, table: int) -> tuple[Sensitivity, ...]:
    """Alternative sensitivities of a table's exact sums: each bounds all shifts by one unit.

    With one number in a cell, `table_sensitivity` is the only sensitivity. With several numbers,
    the first says that shifts are in `table_body`, and the last is a ball. They hold for every
    table, since a bounding limits Σ_j M_j over the cells j. Here M_j is the largest size of a
    unit's numbers in cell j. A table's cells are sums of the query's cells, so Σ_j M_j over the
    table's cells is no larger.
    """
    if layout.numbers.each > 1:
        return table_layout(layout, table).sensitivities
    return (table_sensitivity(layout, table),)


def table_body(layout: Layout, table: int) -> Body:
    """The hull of boxes, one for each cell of a table, that holds every shift by one unit.

    Each cell has to have several numbers.
    """
    return table_layout(layout, table).bodies[0]


def table_sensitivity(layout: Layout, table: int) -> Sensitivity:
    """The sensitivity of a table with one number in each cell: it bounds all shifts by one unit.

    Cells of a table are sums of the query's cells. So a unit adds no more to a table, in l1 norm,
    than to the cells, for which `layout` bounds a unit. Replacing a unit also takes away as much.
    In a total that no row lowers, the two shifts partly cancel: the total moves by no more than one
    unit can add.
    """
    units = _units(layout, table)
    if in_one_cell(layout):
        single = table_layout(layout, table).cells == 1
        return Integer(1) if single else Linf(1, l0=units, whole=True)
    return L1(table_reach(layout, table))


def table_reaches(layout: Layout, table: int) -> list[float]:
    """For each measured component, the reach of a unit in a table, as `pure_information` takes it.

    With one number in a cell, the reach is `table_reach`. With q > 1 numbers in a cell, the noise
    of a cell has the shape of a box. The variance of a number is then (q + 1)(q + 2)/3·(bound/ε)²,
    where the bound is the half-width of the box in this number. The reach is the l1 norm for which
    Laplace noise has the same variance, 2·(reach/ε)².
    """
    each = layout.numbers.each
    if each == 1:
        return [float(table_reach(layout, table))]
    body = table_body(layout, table)
    box = body.bodies[0] if isinstance(body, Cells) else body
    if not isinstance(box, Box):
        raise TypeError("a unit moves the numbers of a cell within no box")
    return [float(bound) * ((each + 1) * (each + 2) / 6) ** 0.5 for bound in box.bounds]


def table_reach(layout: Layout, table: int) -> Fraction:
    """A bound on the l1 norm by which one privacy unit shifts the exact numbers of a table."""
    return layout.bounding.l1(layout.numbers) * _units(layout, table)


def _units(layout: Layout, table: int) -> int:
    """The number of units that change a table at once: 2 if a unit replaces another, else 1.

    For a table of one cell that no row lowers, 1 is enough: replacing a unit moves the cell by no
    more than adding a unit.
    """
    several = table_layout(layout, table).cells > 1 or bool(layout.numbers.lowered)
    return 2 if layout.neighbours == "replace-one" and several else 1


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Choose, among `ways` to bound a unit, the bounding whose shifts have the smallest l1 norm.

    Balls are left out, and for several numbers in a cell also bounds on the l1 norm of all numbers.
    Returns the problem as text if no bounding fits. `shape` is the layout to be bounded.
    """
    # With several numbers in a cell, the set of shifts is a box. A bound on the l1 norm of all
    # numbers is weaker, and no noise fits it.
    several = shape.numbers.each > 1
    bounded = [
        chosen
        for chosen in ways
        if not isinstance(chosen, InBall)
        and not (several and isinstance(chosen, InCells) and chosen.by_number)
    ]
    if not bounded:
        return (
            "Nothing in [contribution] bounds how many rows of one person are in tables with "
            "margins. Give max_rows, such as max_rows = 1."
        )
    chosen = min(bounded, key=lambda bounding: bounding.l1(shape.numbers))
    if shape.numbers.persons and not (isinstance(chosen, OnceInCells) and chosen.most == 1):
        return (
            "A person in several groups would count several times in their total. Give max_groups "
            '= 1, or ask for "count" with margins and for count_units in another query.'
        )
    return chosen


def _in_sums(layout: Layout) -> Bounding:
    """The bounding of a unit in sums of cells: one sum may hold all that the unit adds."""
    bounding = layout.bounding
    if in_one_cell(layout) or _is_of_a_row(layout):
        return bounding
    if layout.numbers.each > 1 and isinstance(bounding, InCells):
        total = bounding.all_cells(layout.numbers)
        return replace(bounding, per_cell=total, total=total)
    most: Fraction = bounding.l1(layout.numbers)
    return InCells(per_cell=most, total=most, by_number=True)


@final
class MarginQueries(QueryKind):
    """Queries with margins: they publish tables of sums by sets of their columns."""

    why_no_rho: ClassVar[str] = ""
    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"margins"})

    def file_names(self, query: Query) -> list[str]:
        """The names of the published tables, and of their files."""
        return file_names(query)

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of the margins of a query."""
        spec, query = parsed.spec, parsed.query
        key, columns, listed = f"{path}.margins", list(query.group_by), query.listed_tables
        if listed == ():
            yield key, NO_TABLE
        most = MOST_COLUMNS if listed is None else MOST_LISTED
        if not 2 <= len(columns) <= most:
            hint = " List the tables." if 2 < len(columns) <= MOST_LISTED else ""
            yield key, f"Expected 2 to {most} columns in group_by, got {len(columns)}.{hint}"
        elif spec.has_unlisted_keys(query):
            yield key, "Not used with keys that nobody listed: a total would tell of hidden groups."
        elif listed is not None:
            yield from listed_problems(listed, columns, key)
        yield from _other_problems(parsed, key)

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the cells, which lists the published tables as its `margins`.

        Raises LayoutError if the query is `too_large`, if it has too many columns or cells for
        `min_count`, or if no bounding fits.
        """
        statistics, needs = zip(*asked.values(), strict=True)
        components = tuple(dict.fromkeys(component for need in needs for component in need))
        whole = shape_of(spec, query, statistics, [*asked], needs, components, part="")
        whole = replace(whole, min_count=None, decides=None, suppressed_below=query.min_count)
        measured = measured_components(spec, components)
        whole = keep_listed(spec, query, whole, published_tables(query))
        whole = replace(whole, measured=measured, projected=query.clamp)
        shape = measured_layout(whole)
        if why := too_large(shape):
            raise LayoutError(why)
        if query.min_count is not None and not marginals_of(shape).is_small:
            why = f"Cells are suppressed in margins of at most {MOST_COLUMNS} columns that have at"
            why += f" most {MOST_CELLS:,} cells together."
            raise LayoutError(f"{why} Use fewer columns or keys, or leave min_count out.")
        bounding = choose_bounding(list_boundings(spec, query, shape), shape)
        if isinstance(bounding, str):
            raise LayoutError(bounding)
        total = table_layout(replace(shape, bounding=bounding), 0)
        bits = min(find_bits(shape, bounding), find_bits(total, total.bounding))
        return ((replace(whole, bounding=bounding, bits=bits),),)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.sums.answer import Sums  # noqa: PLC0415
        from leastnoise.tables.answers.sums.margins import Margins  # noqa: PLC0415 (0.5 s)

        return [Sums(layouts=layouts, query=query, kind=Margins) for query in queries]


def _other_problems(parsed: ParsedQuery, key: str) -> Iterator[Problem]:
    """Problems of a query's statistics and other settings, if it has margins."""
    spec, query = parsed.spec, parsed.query
    asked = parsed.statistics
    others = [statistic.label for statistic in asked if not statistic.has_margins]
    if others or not asked:
        why = 'are of counts, sums and means: statistics = ["count", "sum(x)", "mean(x)"]. Use'
        yield key, f"Margins {why} another query for {others[0] if others else 'others'}."
    elif len(asked) > 1 and not spec.privacy.by_row and any(x.kind == "count_units" for x in asked):
        yield (
            key,
            (
                "A query with margins that has count_units of persons can't have other statistics. "
                "Use "
                "two queries."
            ),
        )
    path, counts = key.removesuffix(".margins"), all(statistic.counts for statistic in asked)
    listed = query.listed_tables
    every = set(query.group_by)
    whole = listed is None or any(set(by) == every for by in listed)
    if query.clamp and not whole:
        why = "Whole counts, none below 0, are found from the cells: list the table by all columns"
        yield key, f"{why}, {list(query.group_by)!r}, too."
    yield from excluded_problems(
        query, path, key=key, called="Margins", counts=counts, suppresses=True
    )
    hint = "give columns such names in [derive]."
    yield from name_problems(query, file_names(query), key, hint=hint)


def file_names(query: Query) -> list[str]:
    """The names of the tables that a query publishes, with margins or without."""
    columns, listed = list(query.group_by), query.listed_tables
    known = all(set(by) <= set(columns) for by in listed or ())
    most = MOST_COLUMNS if listed is None else MOST_LISTED
    tables = published_tables(query) if known and len(columns) <= most else ()
    return [
        table_name(query.name, columns, [name for i, name in enumerate(columns) if table >> i & 1])
        for table in tables
    ] or [query.name]
