"""From a noisy vector to a table: keys, statistics, and the error that the noise causes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown
from leastnoise.tables.query.columns import SUFFIXES, result_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from leastnoise._notebooks import Columns
    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.noise_error import NoiseError


LARGEST_WHOLE = 2**53


@final
@dataclass(frozen=True, kw_only=True)
class Table(Framed, Shown):
    """A named table: column names, and a list of values for each, of equal lengths.

    As a frame it has the same columns: those of the groups, and for each statistic its value,
    `_std`, `_low` and `_high` in the statistic's own units; see `table_of`.
    """

    name: str
    columns: dict[str, list[Any]]

    def __repr__(self) -> str:
        columns = _words.counted(len(self.columns), "column")
        return _words.line("Table", f"{_words.counted(len(self), 'row')}, {columns}; {self.name}")

    def _columns(self) -> Columns:
        return self.columns

    def _tables(self) -> dict[str, Columns]:
        return {self.name: self.columns}

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, in order."""
        return zip(*self.columns.values(), strict=True)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))


def table_of(layout: Layout, vector: NDArray[np.float64], noise: Sequence[NoiseError]) -> Table:
    """Return the result of a block, or of a part of it, from its noisy vector, shape (dimension,).

    `noise` holds an error a component. Post-processing of the vector and of public numbers. `_low`
    and `_high` hold the statistic without noise (clamped and clipped as the plan says) with
    probability 95 %, each by itself. `_std` is of the noise, before anything is rounded or clamped.
    """
    cells = vector.reshape(layout.cells, len(layout.components))
    found = iter(numbers(layout, cells, noise))
    values = key_columns(layout)
    for asked in layout.statistics:
        value, std, low, high = (next(found) for _ in SUFFIXES)
        if layout.clamp and asked.kind != "mean":
            value, low, high = map(_not_negative, (value, low, high))
        if layout.round and asked.counts:
            value, low, high = map(_whole, (np.rint(value), np.floor(low), np.ceil(high)))
        values += [column.tolist() for column in (value, std, low, high)]
    return Table(name=layout.name, columns=dict(zip(result_columns([layout]), values, strict=True)))


def joined(layouts: Sequence[Layout], tables: Sequence[Table]) -> Table:
    """Return the table of a block from those of its parts."""
    found = {label: values for table in tables for label, values in table.columns.items()}
    columns = {label: found[label] for label in result_columns(layouts)}
    return Table(name=layouts[0].name, columns=columns)


def _not_negative(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers, 0 for negative ones: what isn't negative stays between such ends."""
    return np.where(ends > 0, ends, 0.0)  # −0 becomes 0, too


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole numbers as ints of a size that any reader of JSON holds exactly.

    A true count is at most 2^34 (see `layout`), so that it stays between such ends.
    """
    return np.clip(values, -float(LARGEST_WHOLE), float(LARGEST_WHOLE)).astype(np.int64)


def numbers(
    layout: Layout, cells: NDArray[np.float64], noise: Sequence[NoiseError]
) -> list[NDArray[np.float64]]:
    """Return value, std, low and high of every statistic in turn, each of shape (n,).

    `cells` are noisy vectors of n cells, shape (n, components); `noise` an error a component.
    """
    columns: list[NDArray[np.float64]] = []
    for uses in layout.uses:
        parts, errors = [cells[:, index] for index in uses], [noise[index] for index in uses]
        component = layout.components[uses[0]]
        # A caller's np.seterr must not turn what was drawn into a warning, or an error.
        with np.errstate(all="ignore"):
            if len(parts) == 1:
                columns += _total(parts[0], errors[0], unit=float(component.radius))
            else:
                middle, half = float(component.centre), float(component.radius)
                columns += _mean(*parts, noise=errors, middle=middle, half=half)
    return columns


def mean_errors(
    total: NoiseError, count: NoiseError, *, rows: int, half: float
) -> tuple[float, float]:
    """Return at most what `_mean` says of a group in which it counts `rows`: std, and half-width.

    notation: n = rows, t and u = half975 of the total and of the count, ratio = S/n in [−1, 1]. The
    half-width is that of [S − t, S + t]/[n − u, n + u], cut off at ±1. It is widest where one end
    just meets a bound, S + t = n − u: (t + u)/(n + u) of `half` if S >= t there. Else it is widest
    at S = 0: t/(n − u).
    """
    n, t, u = float(rows), total.half975, count.half975
    widest = 1.0
    if n >= 2 * t + u:
        widest = (t + u) / (n + u)
    elif n > t + u:
        widest = t / (n - u)
    return mean_std(total.std, count.std, rows=rows, half=half), half * widest


def mean_std(total: float, count: float, *, rows: int, half: float) -> float:
    """Return at most the std that `_mean` states, from those of the total and of the count."""
    return half * min(math.hypot(total, count) / rows, 1.0)


def key_columns(layout: Layout) -> list[list[Any]]:
    """Return the columns that tell the groups apart, cell by cell."""
    if layout.conditions:
        return [[condition.name for condition in layout.conditions]]
    columns: list[list[Any]] = []
    inner = layout.cells
    for axis in layout.axes:
        outer, inner = layout.cells // inner, inner // axis.cells
        columns += [
            [value for value in values for _ in range(inner)] * outer
            for values in axis.columns.values()
        ]
    return columns


def _total(
    value: NDArray[np.float64], noise: NoiseError, *, unit: float
) -> tuple[NDArray[np.float64], ...]:
    """Return value, std, low and high of a count or a sum."""
    half = unit * noise.half95
    total = unit * value
    return total, np.full_like(total, unit * noise.std), total - half, total + half


def _mean(
    numerator: NDArray[np.float64],
    count: NDArray[np.float64],
    *,
    noise: Sequence[NoiseError],
    middle: float,
    half: float,
) -> tuple[NDArray[np.float64], ...]:
    """Return value, std, low and high of middle + half·S/n, all inside the bounds.

    notation: S = numerator, n = count, both noisy. Where n <= 0 the answer is the middle, by a rule
    that doesn't look further. std: delta method, half·√(σ_S² + (S/n)²σ_n²)/n, and at most `half`,
    since the value can't leave [middle − half, middle + half]. low, high: S and n each lie in an
    interval of 97.5 %, so both do with 95 % (Bonferroni), and S/n is between the corners of that
    box if it keeps n > 0; otherwise anything within the bounds is possible.
    """
    positive = count > 0
    divisor = np.where(positive, count, 1.0)
    ratio = np.where(positive, np.clip(numerator / divisor, -1.0, 1.0), 0.0)
    of_numerator, of_count = noise
    deviation = np.hypot(of_numerator.std, ratio * of_count.std) / divisor
    std = half * np.where(positive, np.minimum(deviation, 1.0), 1.0)
    t, u = of_numerator.half975, of_count.half975
    sure = count - u > 0
    least, most = np.where(sure, count - u, 1.0), count + u
    below, above = numerator - t, numerator + t
    low = np.where(sure, np.minimum(below / least, below / np.where(sure, most, 1.0)), -1.0)
    high = np.where(sure, np.maximum(above / least, above / np.where(sure, most, 1.0)), 1.0)
    ends = [middle + half * np.clip(end, -1.0, 1.0) for end in (low, high)]
    return middle + half * ratio, std, *ends
