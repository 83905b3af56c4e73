"""The table of groups that nobody listed: each drawn for itself, and published from a count on.

And the keys of every table whose rows aren't known before: their form and their order.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.certificate.unlisted import CERTAIN, CERTAIN_BITS
from leastnoise.entropy.source import Entropy, SystemEntropy
from leastnoise.mechanism.rounding import add_noise_to_rows
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.publish.table_files import as_read
from leastnoise.tables.query.axes import KeyColumn, Unlisted
from leastnoise.tables.query.results import table_of
from leastnoise.tables.rows.engine import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.certificate.unlisted import KeysCertificate, ThresholdCertificate
    from leastnoise.tables.query.axes import Axis
    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.results import Table
    from leastnoise.tables.query.table_shape import TableShape
    from leastnoise.tables.spec.values import ColumnType
    from leastnoise.tables.statistics.base import NoiseError

_INT = re.compile("0|-?[1-9][0-9]{0,18}")  # as a CSV holds it
_UNSEEN = re.compile(re.sub(r"\\x\{([0-9A-F]+)\}", lambda found: chr(int(found[1], 16)), UNSEEN))
_BOOLS = {"False": False, "True": True}
_KINDS: dict[ColumnType, type] = {"int": int, "text": str, "bool": bool}


def publish_groups(
    layout: Layout,
    claim: ThresholdCertificate,
    found: Sequence[tuple[Any, ...]],
    noise: Sequence[NoiseError],
    *,
    entropy: Entropy | None = None,
) -> Table:
    """Return the rows that may be published of what `rows.exact.group_totals` found, by key.

    Every group has a draw of its own, whatever becomes of it. `noise` holds an error a component.
    `entropy` is for tests.
    """
    ordered = sorted(found, key=lambda row: _place(layout, row))
    width = len(layout.components)
    totals = np.array([row[-width:] for row in ordered], dtype=np.int64).reshape(-1, width)
    exact = ScaledIntegers(numerators=totals, bits=layout.bits)
    grid = claim.noise.grid
    if grid is None:
        raise TypeError("what is published is rounded to a grid")
    source = entropy or SystemEntropy()
    noisy = add_noise_to_rows(claim.noise.noise, grid, exact, entropy=source)
    counts, least = noisy[:, claim.coordinate], float(claim.threshold)
    # every group tosses the coin, whatever its count: what is drawn doesn't depend on it
    heads = _coins(np.full(len(ordered), _parts(claim.chance_below)), source)
    shown = (counts >= least) | ((counts >= float(claim.threshold - grid)) & heads)
    keys = _key_columns(layout, [row for row, kept in zip(ordered, shown, strict=True) if kept])
    return table_of(layout, noisy[shown], noise, keys=keys)


def publish_keys(
    layout: Layout,
    claim: KeysCertificate,
    found: Sequence[tuple[Any, ...]],
    *,
    entropy: Entropy | None = None,
) -> Table:
    """Return the keys that chance lets through of what `rows.exact.group_totals` found.

    Every key tosses a coin of its own, whatever becomes of it. `entropy` is for tests.
    """
    most = len(claim.chances)
    ordered = sorted(found, key=lambda row: _place(layout, row))
    chances = np.array([0, *claim.chances], dtype=np.uint64)
    units = [min(row[-1] >> layout.bits, most) for row in ordered]
    heads = _coins(chances[np.array(units, dtype=np.int64)], entropy or SystemEntropy())
    keys = _key_columns(layout, [row for row, kept in zip(ordered, heads, strict=True) if kept])
    return table_of(layout, np.zeros(0), (), keys=keys)


def _parts(chance: Fraction) -> np.uint64:
    """Return a chance in parts of CERTAIN."""
    if CERTAIN % chance.denominator:
        raise TypeError("a coin falls by bits")
    return np.uint64(chance.numerator * (CERTAIN // chance.denominator))


def _coins(chances: NDArray[np.uint64], entropy: Entropy) -> NDArray[np.bool_]:
    """Return fresh coins that fall with these chances, each so many parts of CERTAIN."""
    return entropy.words(len(chances)) >> np.uint64(64 - CERTAIN_BITS) < chances


def sort_key(value: object) -> Any:
    """Return what keys are ordered by: texts by their bytes in UTF-8."""
    return value.encode() if isinstance(value, str) else value


def _place(layout: Layout, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what rows are ordered by: the columns in turn, public ones as the spec lists them."""
    keys, positions = iter(row[1:]), iter(_positions(layout, int(row[0])))
    return tuple(
        sort_key(next(keys)) if isinstance(axis, Unlisted) else next(positions)
        for axis in layout.axes
    )


def _positions(layout: Layout, cell: int) -> list[int]:
    """Return the place of a public cell on each public axis."""
    found: list[int] = []
    for axis in reversed([one for one in layout.axes if not isinstance(one, Unlisted)]):
        cell, place = divmod(cell, axis.cells)
        found.append(place)
    return found[::-1]


def _key_columns(layout: Layout, rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Return the columns that tell the groups apart, a value a row."""
    places = [_positions(layout, int(row[0])) for row in rows]
    columns: list[list[Any]] = []
    public = unlisted = 0
    for axis in layout.axes:
        if isinstance(axis, Unlisted):
            unlisted += 1
            columns.append([row[unlisted] for row in rows])
        else:
            columns += [[values[own[public]] for own in places] for values in axis.columns.values()]
            public += 1
    return columns


def wrong_keys(
    layout: TableShape,
    columns: Sequence[list[Any]],
    kind: str,
    *,
    counts: Sequence[float] | None = None,
) -> str | None:
    """Return what is wrong with the keys of such a table, to end a sentence; None if nothing is.

    They are of the type that the spec says, if it does, no longer than it lets them be, without
    control characters, public ones among them the spec's own; and rows are distinct and in order:
    that of their keys, or of falling `counts` and then of their keys.
    """
    left = list(columns)
    read: list[list[list[Any]]] = []
    if not columns:  # one cell, whose row `wrong_rows` has counted
        return None
    axes = layout.axes
    if layout.conditions:
        names = tuple(condition.name for condition in layout.conditions)
        axes = (KeyColumn(column="condition", values=names),)
    for axis in axes:
        own, left = left[: len(axis.columns)], left[len(axis.columns) :]
        ways = list(_ways(axis, own, kind))
        if not ways:
            return f"a {axis.column} that is no key of it"
        read.append(ways)
    for chosen in itertools.product(*read):
        rows = list(zip(*chosen, strict=True))
        order = rows if counts is None else list(zip((-one for one in counts), rows, strict=True))
        distinct = len(set(rows)) == len(rows)
        if distinct and all(one < other for one, other in itertools.pairwise(order)):
            return None
    return "keys that aren't distinct, or not in order"


def _ways(axis: Axis, columns: Sequence[list[Any]], kind: str) -> Iterator[list[Any]]:
    """Yield what the rows of an axis may be ordered by: a CSV doesn't say what is a number."""
    if isinstance(axis, Unlisted):
        for known in ("int", "bool", "text") if axis.kind is None else (axis.kind,):
            values = [_value(one, known, csv=kind == "csv") for one in columns[0]]
            if all(_fits(one, axis.longest) for one in values):
                yield list(map(sort_key, values))
        return
    public = zip(*(as_read(list(one), kind) for one in axis.columns.values()), strict=True)
    places = {tuple((type(part), part) for part in one): place for place, one in enumerate(public)}
    told = [tuple((type(part), part) for part in one) for one in zip(*columns, strict=True)]
    if all(one in places for one in told):
        yield [places[one] for one in told]


def _value(told: Any, known: ColumnType, *, csv: bool) -> Any:
    """Return the key of that type, None if it isn't of it."""
    if not csv:
        return told if type(told) is _KINDS[known] else None
    if known == "int":
        return int(told) if _INT.fullmatch(told) else None
    return _BOOLS.get(told) if known == "bool" else told


def _fits(value: Any, longest: int) -> bool:
    if isinstance(value, str):
        return len(value.encode()) <= longest and not _UNSEEN.search(value)
    return value is not None and -(2**63) <= value < 2**63
