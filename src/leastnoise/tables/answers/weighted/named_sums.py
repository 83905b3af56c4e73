"""Named sums of public cells, such as age groups of ages, and the CSV that defines them.

The CSV has a line for each part of a sum. The column `sum` has the name of the sum; the columns of
the cells have the keys of the part. An empty field, or a missing column, stands for all keys. The
bands (bins) of a column have two columns, such as `age_from` and `age_to`, and a part may span
several bands. The column `weight` is optional. Cells that are in the same sums with the same
weights are merged.

No message quotes the contents of the CSV, since somebody may name a file of data by mistake.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise import _words
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import exact
from leastnoise.guarantees.strategy import LARGEST_WEIGHT, MOST_CELLS, MOST_QUESTIONS
from leastnoise.tables.layout.axes import Axis, Bins, KeyColumn
from leastnoise.tables.spec.values import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from leastnoise.tables.spec.values import Edge, Key

SUM, WEIGHT = "sum", "weight"
_MOST_TERMS = 1_000_000  # terms of all sums of a query together
_LEAST_WEIGHT = Fraction(1, 10**9)
_LINE_END = re.compile("\r\n|\r|\n")
_INT = re.compile("[+-]?[0-9]{1,19}")
_OPEN = {"-inf": -math.inf, "inf": math.inf}


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
