"""Named sums of public cells, such as age groups of ages: their cells and weights.

A CSV defines the sums, with a line for each part of a sum. The column `sum` has the name of the
sum; the columns of the cells have the keys of the part. An empty field, or a missing column, stands
for all keys. The bands (bins) of a column have two columns, such as `age_from` and `age_to`, and a
part may span several bands. The column `weight` is optional. Cells that are in the same sums with
the same weights are merged. Noise is added to merged cells, or to sums of them (see `search`).

No message quotes the contents of the CSV, since somebody may name a file of data by mistake.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise import _words
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import exact, root_above
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.guarantees.strategy import (
    LARGEST_WEIGHT,
    MOST_CELLS,
    MOST_QUESTIONS,
)
from leastnoise.tables.answers.base import QueryKind
from leastnoise.tables.layout.axes import Axis, Bins, KeyColumn, axes_of
from leastnoise.tables.layout.boundings.bounding import ONE_ROW
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.lay_out import lay_out_tree
from leastnoise.tables.spec.values import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Answer, Problem
    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.spec.values import Edge, Key
    from leastnoise.tables.statistics.registry import ParsedQuery

SUM, WEIGHT = "sum", "weight"
_MOST_READ = 100_000  # cells of a query
_MOST_TERMS = 1_000_000  # terms of all sums of a query together
_MOST_NUMBERS = 20_000_000  # sums times merged cells, in all queries: 160 MB
_LEAST_WEIGHT = Fraction(1, 10**9)
_LINE_END = re.compile("\r\n|\r|\n")
_INT = re.compile("[+-]?[0-9]{1,19}")
_OPEN = {"-inf": -math.inf, "inf": math.inf}


@final
class SumQueries(QueryKind):
    """Queries that publish named sums of their cells, but not the cells."""

    keys_of_sums: ClassVar[frozenset[str]] = frozenset({"sums"})

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of the sums of a query, and settings that can't be used with sums."""
        spec, query = parsed.spec, parsed.query
        wrong = [*_cell_problems(spec, query, f"{path}.sums"), *_form_problems(parsed, path)]
        yield from wrong
        if not wrong:
            yield from _csv_problems(spec, query, f"{path}.sums")

    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The layout of the cells, before they are merged."""
        return lay_out_tree(spec, query, asked, choose=choose_bounding)

    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """An answer to each query."""
        from leastnoise.tables.answers.weighted.answer import (  # noqa: PLC0415  (0.5 s)
            WeightedSums,
        )

        return [WeightedSums(layouts=layouts, query=query) for query in queries]


@final
@dataclass(frozen=True, kw_only=True)
class NamedSums(Axis):
    """The axis of a table with a row for each named sum, as the CSV `text` defines the sums.

    The sums are of cells, whose axes are `of`. This axis doesn't group the rows of the source.
    """

    adds_cells: ClassVar[bool] = True
    names: tuple[str, ...]
    text: str
    of: tuple[KeyColumn | Bins, ...]

    @property
    def cells(self) -> int:
        """The number of sums, each of which is a cell of this axis."""
        return len(self.names)

    @property
    def summed_cells(self) -> int:
        """The number of cells by the axes `of`, whether a sum contains them or not."""
        return math.prod(axis.cells for axis in self.of)

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The only key column, with the names of the sums."""
        return {self.column: self.names}


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class MergedSums:
    """Named sums of merged cells. Cells with the same weights in the same sums are merged.

    `places` has, for each cell, the index of its merged cell, or −1 if the cell is in no sum.
    `kinds` has pairs for each merged cell: the index of a sum that contains it, and its weight in
    that sum.
    """

    axis: NamedSums
    places: NDArray[np.int64]
    kinds: tuple[tuple[tuple[int, Fraction], ...], ...]

    @property
    def merged_cells(self) -> int:
        """The number of merged cells."""
        return len(self.kinds)

    @cached_property
    def queries(self) -> NDArray[np.float64]:
        """The weight of each merged cell in each sum, as floats; shape (sums, merged cells)."""
        queries = np.zeros((self.axis.cells, self.merged_cells))
        for kind, column in enumerate(self.kinds):
            for index, weight in column:
                queries[index, kind] = float(weight)
        return queries

    def merge(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up the counts of cells, shape (cells,), to the counts of merged cells."""
        counts = np.zeros(self.merged_cells, dtype=np.int64)
        np.add.at(counts, self.places[self.places >= 0], cells[self.places >= 0])
        return counts


@lru_cache(maxsize=8)
def read_sums(text: str, axes: tuple[Axis, ...]) -> MergedSums:
    """The sums that a CSV defines over the cells by these axes.

    Raises ValueError for a malformed CSV, for too many sums or cells, or if "" is a key. Raises
    TypeError if an axis has neither listed keys nor bands.
    """
    listed = tuple(axis for axis in axes if isinstance(axis, KeyColumn | Bins))
    if len(listed) < len(axes):
        raise TypeError("Named sums are possible only for groups by listed keys or by bands.")
    lines = _LINE_END.split(text)
    if not lines[-1]:  # the last line ends with a line end
        lines.pop()
    heads = _split(lines[0], 1) if lines else []
    _check_heads(heads, listed)
    if any("" in axis.values for axis in listed if isinstance(axis, KeyColumn)):
        raise ValueError(
            'An empty field stands for all keys, so no key may be "". Give the key "" a name in '
            "[derive]."
        )
    readers = [_reader(axis, heads) for axis in listed]
    weight_at = heads.index(WEIGHT) if WEIGHT in heads else None
    name_at = heads.index(SUM)
    sums: dict[str, dict[int, Fraction]] = {}
    left = _MOST_TERMS
    for number, line in enumerate(lines[1:], start=2):
        fields = _split(line, number)
        if len(fields) != len(heads):
            raise ValueError(
                f"Line {number:,} has {_words.count_noun(len(fields), 'field')}, but the first "
                f"line has {len(heads):,}."
            )
        try:
            weight = _weight("" if weight_at is None else fields[weight_at])
            places = [read(fields) for read in readers]
            left -= math.prod(map(len, places))
            if left >= 0:
                weights = sums.setdefault(_name(fields[name_at]), {})
                _add_cells(weights, _cells(listed, places), weight)
        except ValueError as error:
            raise ValueError(f"Line {number:,} {error}") from None
        if len(sums) > MOST_QUESTIONS or left < 0:
            most = f"{MOST_QUESTIONS:,} sums, of {_MOST_TERMS:,} cells together"
            raise ValueError(f"Expected at most {most}. Use two queries, or fewer keys.")
    if not sums:
        raise ValueError("Expected lines below the first line, one for each part of a sum.")
    return _merge(NamedSums(column=SUM, names=tuple(sums), text=text, of=listed), [*sums.values()])


def _merge(axis: NamedSums, sums: Sequence[Mapping[int, Fraction]]) -> MergedSums:
    columns: dict[int, list[tuple[int, Fraction]]] = {}
    for index, weights in enumerate(sums):
        for cell, weight in weights.items():
            columns.setdefault(cell, []).append((index, weight))
    kinds: dict[tuple[tuple[int, Fraction], ...], int] = {}
    places = np.full(math.prod(listed.cells for listed in axis.of), -1, dtype=np.int64)
    for cell in sorted(columns):
        places[cell] = kinds.setdefault(tuple(columns[cell]), len(kinds))
    if len(kinds) > MOST_CELLS:
        raise ValueError(
            f"Expected at most {MOST_CELLS:,} kinds of cells, got {len(kinds):,}. Two cells are "
            "of one kind if they are in the same sums with the same weights. Split the sums into "
            "two queries."
        )
    return MergedSums(axis=axis, places=places, kinds=tuple(kinds))


def _weight(field: str) -> Fraction:
    """The weight in a field; 1 for an empty field.

    Raises ValueError for a text that is no number, and for a number that is 0, too small or too
    large.
    """
    try:
        weight = exact(field or "1", name=WEIGHT)
    except InvalidArgument:
        raise ValueError("has a weight that isn't a number.") from None
    if not _LEAST_WEIGHT <= abs(weight) <= LARGEST_WEIGHT:
        size = "0.000000001 to 1,000,000,000"
        raise ValueError(
            f"has a weight whose absolute value isn't in {size}. Leave out cells of weight 0."
        )
    return weight


def _split(line: str, number: int) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        raise ValueError(
            f"Line {number:,} has an unclosed quote, or a field that is too long."
        ) from None


def _key_heads(axes: Sequence[KeyColumn | Bins]) -> list[str]:
    """The names of the columns that identify a cell in a published table."""
    return [name for axis in axes for name in axis.columns]


def _check_heads(heads: Sequence[str], axes: Sequence[KeyColumn | Bins]) -> None:
    known = [SUM, *_key_heads(axes), WEIGHT]
    if SUM not in heads:
        columns = ", ".join(known[:-1])
        raise ValueError(f"Expected a first line with the columns {columns}, and perhaps {WEIGHT}.")
    if len(set(heads)) < len(heads) or not set(heads) <= set(known):
        why = "Expected columns, each once, among"
        raise ValueError(
            f"{why} {', '.join(known)}. The first line names an unknown column, or one column "
            "twice."
        )


def _name(field: str) -> str:
    if not field or len(field.encode()) > MAX_TEXT:
        raise ValueError(f"has no name for its sum, or a name of more than {MAX_TEXT:,} bytes.")
    return field


def _cells(axes: Sequence[KeyColumn | Bins], places: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the indices of the cells at all combinations of the axes' indices in `places`."""
    for position in product(*places):
        cell = 0
        for axis, at in zip(axes, position, strict=True):
            cell = cell * axis.cells + at
        yield cell


def _add_cells(weights: dict[int, Fraction], cells: Iterator[int], weight: Fraction) -> None:
    for cell in cells:
        if cell in weights:
            raise ValueError("names a cell of its sum again. Name each cell of a sum once.")
        weights[cell] = weight


def _reader(axis: KeyColumn | Bins, heads: Sequence[str]) -> Any:
    """Return a function that reads the keys or bands that a line of the CSV names on `axis`.

    The function maps the line's fields to indices on `axis`.
    """
    at = [heads.index(name) if name in heads else None for name in axis.columns]
    if isinstance(axis, Bins):
        edges: Mapping[Edge, int] = {edge: index for index, edge in enumerate(axis.edges)}
        return lambda fields: _span(edges, *(_field(fields, index) for index in at))
    known = {(type(key), key): index for index, key in enumerate(axis.values)}
    kinds = tuple(dict.fromkeys(type(key) for key in axis.values))
    return lambda fields: _places(known, kinds, _field(fields, at[0]))


def _field(fields: Sequence[str], index: int | None) -> str:
    return "" if index is None else fields[index]


def _places(
    known: Mapping[tuple[type[Key], Key], int], kinds: Sequence[type[Key]], field: str
) -> Sequence[int]:
    """The index of a key, or all indices for an empty field; raises ValueError for other fields."""
    if not field:
        return range(len(known))
    for kind in kinds:
        key = _as_key(kind, field)
        if key is not None and (kind, key) in known:
            return (known[kind, key],)
    raise ValueError("has a key that group_by doesn't list.")


def _as_key(kind: type[Key], field: str) -> Key | None:
    if kind is bool:
        return {"true": True, "false": False}.get(field.lower())
    if kind is int:
        return int(field) if _INT.fullmatch(field) else None
    return field


def _span(edges: Mapping[Edge, int], low: str, high: str) -> Sequence[int]:
    """The indices of the bands from the edge `low` to the edge `high`.

    An empty field stands for the first or the last edge. Raises ValueError if an edge is unknown,
    or if there is no band between them.
    """
    ends = [_edge(edges, text, empty=e) for text, e in ((low, 0), (high, len(edges) - 1))]
    if ends[0] >= ends[1]:
        raise ValueError("has a band whose upper end isn't above its lower end.")
    return range(*ends)


def _edge(edges: Mapping[Edge, int], text: str, *, empty: int) -> int:
    if not text:
        return empty
    try:
        index = edges.get(_OPEN[text] if text in _OPEN else exact(text, name="edge"))
    except InvalidArgument:
        index = None
    if index is None:
        raise ValueError("has a bound that isn't one of the edges.")
    return index


def sums_layout(cells: Layout, sums: MergedSums) -> Layout:
    """The layout of the table of sums, given the layout of the cells."""
    dropped = tuple(
        f"Rows are left out where {axis.column} is {axis.dropped}."
        for axis in sums.axis.of
        if isinstance(axis, Bins) and axis.dropped
    )
    return replace(cells, axes=(sums.axis,), missing=cells.missing + dropped)


def merged_layout(cells: Layout, sums: MergedSums) -> Layout:
    """The layout of the merged cells, given the layout of the cells.

    A unit adds at most as much to all merged cells together as to all cells.
    """
    axis = KeyColumn(column=SUM, values=tuple(range(sums.merged_cells)))
    bounding = cells.bounding
    if not _adds_one(cells):
        most = bounding.l1(cells.numbers)
        bounding = InCells(per_cell=most, total=most, by_number=True)
    return replace(cells, axes=(axis,), bounding=bounding)


def list_moves(cells: Layout, sums: MergedSums) -> tuple[Sensitivity, ...]:
    """Alternative sensitivities of the merged cells' counts: each bounds all shifts by one unit.

    If a unit may add more than 1, or to several cells, its rows may count as fractions. It adds
    numbers x >= 0 whose sum is at most a limit R. If it is replaced by a unit that adds y, the
    squared l2 norm of the shift is |x − y|² <= |x|² + |y|² <= 2R².
    """
    if _adds_one(cells):
        return merged_layout(cells, sums).sensitivities
    most: Fraction = cells.bounding.l1(cells.numbers)
    if cells.neighbours == "add-remove" or sums.merged_cells == 1:
        return (L1(most),)
    return (L1(2 * most), L2(root_above(2 * most**2)))


def _adds_one(cells: Layout) -> bool:
    """True only if a unit adds at most 1, and to one cell alone."""
    bounding = cells.bounding
    in_one = isinstance(bounding, OnceInCells) and bounding.most == 1
    return in_one or (cells.by_row and bounding == ONE_ROW)


def sums_of(spec: Spec, query: Query) -> MergedSums:
    """The sums that the CSV of a query defines. Raises ValueError as `read_sums` does."""
    return read_sums(query.sums or "", axes_of(spec, query))


def rows_of(cells: Layout) -> int:
    """The largest total that one unit adds to all cells together, rounded up."""
    return math.ceil(cells.bounding.l1(cells.numbers))


def reach_of_a_cell(cells: Layout, sums: MergedSums) -> Fraction:
    """The most that one unit can add to a merged cell, for the merged cell where this is least.

    To a merged cell of n cells, a unit can add n times its limit for one cell, up to its limit for
    all cells together. Both limits are rounded down to multiples of 2^−bits.
    """
    bounding, scale = cells.bounding, 2**cells.bits
    alone = bounding.most if isinstance(bounding, InCells) else Fraction(1)
    together = int(np.bincount(sums.places[sums.places >= 0]).min())
    most = math.floor(bounding.l1(cells.numbers) * scale)
    return Fraction(min(most, together * math.floor(alone * scale)), scale)


def choose_bounding(ways: Sequence[Bounding], shape: Layout) -> Bounding | str:
    """Choose, among `ways` to bound a unit, the bounding with the smallest l1 norm of its shifts.

    Returns the problem as text if no bounding fits. `shape` is the layout to be bounded.
    """
    bounded = [bounding for bounding in ways if isinstance(bounding, OnceInCells | InCells)]
    if not bounded:
        return (
            "Nothing in [contribution] bounds how many rows of one person are in sums of cells. "
            "Give max_rows, such as max_rows = 1."
        )
    chosen = min(bounded, key=lambda bounding: bounding.l1(shape.numbers))
    if shape.numbers.persons and chosen.l1(shape.numbers) > 1:
        return (
            "A person in several cells would count several times in a sum of them. Give max_groups "
            '= 1, or ask for "count" with sums and for count_units in another query.'
        )
    return chosen


def _cell_problems(spec: Spec, query: Query, key: str) -> Iterator[Problem]:
    groupings = spec.groupings(query)
    if query.conditions:
        yield key, "Not allowed beside conditions: give group_by, or use another query."
    elif not groupings and query.histogram is None:
        yield key, "Expected the cells beside sums: group_by, or a histogram."
    if spec.has_unlisted_keys(query):
        yield key, "Not used with keys that nobody listed. List the keys of group_by."
    if query.keys_of_sums & {"margins", "levels"}:
        yield key, "Not allowed beside margins or levels: name their sums here, too."
    if "cumulative" in query.keys_of_sums:
        yield key, "Not allowed beside cumulative: name the running sums here."
    if reserved := {SUM, WEIGHT} & {*groupings}:
        why = "is a column of the CSV. Give the column of the source another name in [derive]."
        yield key, f"{min(reserved)!r} {why}"


def _form_problems(parsed: ParsedQuery, path: str) -> Iterator[Problem]:
    query = parsed.query
    asked = parsed.statistics
    if len(asked) != 1 or not (asked[0].adds_up and asked[0].counts):
        why = 'Sums are of one count: statistics = ["count"]. Use another query for others.'
        yield f"{path}.sums", why
    if query.objective:
        why = "Not available with sums: their noise always minimises the typical error."
        yield f"{path}.objective", why
    for name in ("min_count", "top", "round", "round_to", "clamp"):
        if getattr(query, name):
            yield f"{path}.{name}", "Not used with sums: they wouldn't agree. Leave it out."
    if query.accuracy is not None and query.accuracy.std is not None:
        why = "Each sum has its own std. Give half_width_95, which holds for every sum."
        yield f"{path}.accuracy.std", why


def _csv_problems(spec: Spec, query: Query, key: str) -> Iterator[Problem]:
    if any(keys is None for keys in spec.groupings(query).values()):  # a problem of group_by
        return
    cells = math.prod(axis.cells for axis in axes_of(spec, query))
    if cells > _MOST_READ:
        why = f"Expected at most {_MOST_READ:,} cells with sums, got {cells:,}. Give fewer keys."
        yield key, why
        return
    try:
        sums_of(spec, query)
        queries = _queries_with_sums(spec)
        if query is queries[-1]:
            yield from _size_problems(spec, queries, key)
    except ValueError as error:
        yield key, str(error)


def _queries_with_sums(spec: Spec) -> list[Query]:
    return [query for query in spec.query if query.keys_of_sums >= SumQueries.keys_of_sums]


def _size_problems(spec: Spec, queries: Sequence[Query], key: str) -> Iterator[Problem]:
    """Yield a problem if all queries with sums together have too many weights.

    Raises ValueError for a malformed CSV.
    """
    sums = [sums_of(spec, query) for query in queries]
    weights = sum(each.axis.cells * each.merged_cells for each in sums)
    if weights > _MOST_NUMBERS:
        why = f"all queries together, more than {_MOST_NUMBERS:,}. Give fewer, or use two specs."
        yield key, f"Sums times kinds of cells are {weights:,} in {why}"
