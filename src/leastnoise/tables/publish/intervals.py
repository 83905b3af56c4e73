"""The numbers of a published table: whether they fit each other and the law of the noise.

`_low` and `_high` of a count or a sum follow from the value; where it was rounded or clamped, they
are between those of the least and of the largest number that gives it. A mean's depend on the noisy
count n, too, which its `_std` shows: half·√(σ_S² + r²·σ_n²)/n with r = (value − middle)/half,
unless that is `half`, its largest, or the value is at a bound. Then only the bounds are known.
Where that count is published beside the mean, the `_std` has to be that of this count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.tables.query.columns import SUFFIXES
from leastnoise.tables.query.results import LARGEST_WHOLE, numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.noise_error import NoiseError

    Column = NDArray[np.float64]

_CLOSE = 1e-6  # relative: floats of another machine, and n by way of the `_std`
_ROUNDING = 4e-15  # relative, of a value that was computed in a few steps
_AMPLIFIED = 1e-12  # that, after a division by a count that noise may have brought near 0
_NEAR = 1e-4  # where a mean's interval depends on n or S beyond what the table shows


def wrong_number(
    layout: Layout, columns: Mapping[str, Sequence[float]], noise: Sequence[NoiseError]
) -> str | None:
    """Return the label of a number that doesn't fit the others of its cell and the noise, or None.

    A count or a sum may be any number, and only its `_low` and `_high` can be wrong.
    """
    told = {label: np.array(column, dtype=float) for label, column in columns.items()}
    for place, asked in enumerate(layout.statistics):
        value, std, low, high = (told[f"{asked.label}{suffix}"] for suffix in SUFFIXES)
        with np.errstate(all="ignore"):
            if asked.kind == "mean":
                wrong = _wrong_mean(layout, place, told, noise)
                if wrong is not None:
                    return f"{asked.label}{wrong}"
                ends = _of_means(layout, place, (value, std), noise)
            else:
                ends = _of_totals(layout, place, value, noise)
            for suffix, end, limits in zip(("_low", "_high"), (low, high), ends, strict=True):
                least, most, scale = limits
                slack = _CLOSE * scale
                if not ((end >= least - slack) & (end <= most + slack)).all():
                    return f"{asked.label}{suffix}"
    return None


def _of_totals(
    layout: Layout, place: int, value: Column, noise: Sequence[NoiseError]
) -> list[tuple[Column, Column, Column]]:
    """Return the least and the largest `_low` of each value, and their scale; then of `_high`."""
    asked, unit = layout.statistics[place], float(layout.components[layout.uses[place][0]].radius)
    rounded = layout.round and asked.counts
    away = 0.5 if rounded else 0.0
    ends: list[list[Column]] = []
    scale = np.abs(value)
    for moved in (value - away, value + away):
        _, _, low, high = _numbers(layout, place, [moved / unit], noise)
        scale = np.maximum(scale, (high - low) / 2)
        ends.append([low, high])
    found: list[tuple[Column, Column, Column]] = []
    for index, rounding in ((0, np.floor), (1, np.ceil)):
        slack = _CLOSE * scale if rounded else 0.0
        least, most = ends[0][index] - slack, ends[1][index] + slack
        if layout.clamp:  # 0 stands for every negative number
            least = np.where(value == 0, 0.0, np.maximum(least, 0.0))
            most = np.maximum(most, 0.0)
        if rounded:
            known = np.abs(value) + scale < LARGEST_WHOLE
            least = np.where(known, rounding(least), -np.inf)
            most = np.where(known, rounding(most), np.inf)
        found.append((least, most, np.zeros_like(scale) if rounded else scale))
    return found


def _wrong_mean(
    layout: Layout, place: int, told: Mapping[str, Column], noise: Sequence[NoiseError]
) -> str | None:
    """Return the suffix of a number that no mean has beside the others, or None."""
    label, uses = layout.statistics[place].label, layout.uses[place]
    middle, half = _span(layout, place)
    value, std, low, high = (told[f"{label}{suffix}"] for suffix in SUFFIXES)
    slack = _CLOSE * half + _ROUNDING * abs(middle)
    limits = {
        "": (value, middle - half, middle + half),
        "_std": (std, 0.0, half),
        "_low": (low, middle - half, value),
        "_high": (high, value, middle + half),
    }
    for suffix, (number, least, most) in limits.items():
        if not ((number >= least - slack) & (number <= most + slack)).all():
            return suffix
    counts = [
        told[asked.label]
        for asked, others in zip(layout.statistics, layout.uses, strict=True)
        if others == uses[1:]
    ]
    fits = [_fits(layout, place, (value, std, count), noise) for count in counts]
    return None if (std > 0).all() and all(fits) else "_std"


def _of_means(
    layout: Layout, place: int, told: tuple[Column, Column], noise: Sequence[NoiseError]
) -> list[tuple[Column, Column, Column]]:
    """Return what `_of_totals` does, from values and their `_std`."""
    value, std = told
    middle, half = _span(layout, place)
    ratio = (value - middle) / half
    of_total, of_count = (noise[index].std for index in layout.uses[place])
    count = half * np.hypot(of_total, ratio * of_count) / std
    _, _, low, high = _numbers(layout, place, [ratio * count, count], noise)
    step = count * (1 + _NEAR), count * (1 - _NEAR)
    others = [_numbers(layout, place, [ratio * n, n], noise) for n in step]
    known = (std < half * (1 - _NEAR)) & (np.abs(ratio) < 1 - _NEAR)
    found: list[tuple[Column, Column, Column]] = []
    for index, end in ((2, low), (3, high)):
        # its change with n: a relative error of 1e-9 in n is 1e-5 of this
        change = np.maximum(np.abs(others[0][index] - end), np.abs(others[1][index] - end))
        least = np.where(known, end - change, middle - half)
        most = np.where(known, end + change, middle + half)
        scale = half + _AMPLIFIED / _CLOSE * abs(middle)
        found.append((least, most, np.full_like(value, scale)))
    return found


def _fits(
    layout: Layout, place: int, told: tuple[Column, Column, Column], noise: Sequence[NoiseError]
) -> bool:
    """Whether values and `_std` of means are those of the count that is published beside them."""
    value, std, count = told
    middle, half = _span(layout, place)
    of_total, of_count = (noise[index].std for index in layout.uses[place])
    deviation = half * np.hypot(of_total, (value - middle) / half * of_count)
    away = 0.5 if layout.round else 0.0
    least, most = (
        np.where(n > 0, np.minimum(deviation / n, half), half) for n in (count + away, count - away)
    )
    room = _CLOSE + _ROUNDING * abs(middle) / half
    fits = (std >= least * (1 - room)) & (std <= most * (1 + room))
    none = (count + away <= 0) & (np.abs(value - middle) > _CLOSE * half + _ROUNDING * abs(middle))
    return bool((fits & ~none).all())


def _span(layout: Layout, place: int) -> tuple[float, float]:
    """Return the middle of a mean's bounds, and half their width."""
    component = layout.components[layout.uses[place][0]]
    return float(component.centre), float(component.radius)


def _numbers(
    layout: Layout, place: int, parts: list[Column], noise: Sequence[NoiseError]
) -> list[NDArray[np.float64]]:
    """Return value, std, low and high of one statistic from its noisy numbers."""
    cells = np.zeros((parts[0].size, len(layout.components)))
    for index, part in zip(layout.uses[place], parts, strict=True):
        cells[:, index] = part
    size = len(SUFFIXES)
    return numbers(layout, cells, noise)[place * size : (place + 1) * size]
