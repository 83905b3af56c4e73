"""The components that statistics sum: centred values, and counts with or without a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.tables.layout.boundings.base import Numbers
from leastnoise.tables.layout.boundings.bounding import Bounding
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.statistics.base import Component, Statistic
from leastnoise.tables.statistics.quotients import Ratio
from leastnoise.tables.statistics.totals import Sum

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

_ROOT_BITS = 8  # `find_bits` leaves at least 8 bits, so that a row's integer times w is whole


def center_sums(
    spec: Spec,
    query: Query,
    asked: Sequence[tuple[Statistic, tuple[Component, ...]]],
    *,
    in_norm: bool,
) -> list[tuple[Component, ...]]:
    """Choose the components of each statistic, with sums centred where that needs less noise.

    A sum can be centred only if the query counts its rows, or all rows, anyway: the sum then
    follows from the count and the sum of value − centre. A row moves the count by 1. It moves the
    centred sum by at most 1 in either direction, in units of the radius of the bounds. So a row can
    reach every corner of the box that contains both shifts. With a value counted from 0, a row
    reaches only two edges of that box, so that part of it is wasted. For values in [0, B] and
    k-norm noise on the box, a sum computed from the count and a centred sum has a std of √2·B/ε. A
    sum from 0 has a std of 2·B/ε.

    A replaced row moves a centred sum by up to 2, but a sum of values ≥ 0 by up to 1 only. So
    values that are never negative are then summed from 0, unless a mean sums them centred anyway.
    With `min_count` or `top` no sum is centred, because noise that chooses the published groups
    would bias it. Nor is a sum that a ratio uses, a sum whose bounds a release finds, or a sum of a
    query whose limits are norms (`in_norm`).
    """
    needs = [components for _, components in asked]
    summed = {statistic for components in needs for statistic in components}
    if query.min_count is not None or query.top is not None or in_norm:
        return needs
    parts = (
        part for statistic, _ in asked if isinstance(statistic, Ratio) for part in statistic.parts
    )
    divided = {part.column for part in parts if isinstance(part, Sum)}
    replaces = spec.privacy.neighbours == "replace-one"
    for index, (statistic, components) in enumerate(asked):
        if (
            isinstance(statistic, Sum)
            and statistic.column not in divided
            and not components[0].separate
        ):
            for count, value in statistic.centred_components(spec):
                worse = replaces and not components[0].lowers and value not in summed
                if count in summed and value.centre and not worse:
                    needs[index] = (count, value)
                    break
    return needs


def split_row_count(  # noqa: PLR0917 (one call)
    spec: Spec,
    query: Query,
    needs: Sequence[tuple[Component, ...]],
    boundings: Sequence[Bounding],
    numbers: Numbers,
) -> list[tuple[Component, ...]] | None:
    """Split the count of all rows into rows with and without a value; None if it isn't split.

    Let q numbers of a cell be about the values of one column: their count c, and their sums. Let m
    be the number of rows without a value, and w the root √q, rounded down to a multiple of 2^−8.

    A row moves the q numbers, each by up to 1, or m by 1, and never both. The count of all rows is
    c + m. So the body of a cell is the hull of a box of q numbers and a segment, instead of a box
    of q + 1 numbers. For noise with the same law in the same dimension, variances in the hull are
    smaller than in the box (`Cells.second_moments`). A number has (q + 1)/(q + 3) of its variance
    in the box; c + m has (q² + 3q + 8)/(q² + 5q + 6) of it, at most 1. m is measured in units of
    1/w. That changes nothing in the hull, but the ball around it has radius √q instead of √(q + 1).
    Spherical noise for a ball of radius r has variance r²·σ². So c has variance q·σ², and c + m has
    (q + q/w²)·σ². With w = √q that is (q + 1)·σ², as for the box; rounding w adds at most 3·10^-4
    of the std. A person with R rows moves R times the body of all cells, or R times its ball.

    The split isn't used where other bodies have less noise: for a replaced row, and for cells that
    a person can fill at the same time. Nor is it used with limits on norms, which are about the
    count of all rows, nor with `min_count` or `top`. Nor is it used beside values of several
    columns, or beside values that count as 0 if they are missing.
    """
    rows = Component(kind="count")
    others = {
        component for components in needs for component in components if components != (rows,)
    }
    columns = {component.needed for component in others}
    if any(
        not isinstance(bounding, InCells) or bounding.by_number or bounding.fills(numbers)
        for bounding in boundings
    ):
        return None
    replaces = spec.privacy.neighbours == "replace-one"
    if replaces or query.min_count is not None or query.top is not None:
        return None
    if len(columns) != 1 or (rows,) not in needs or any(component.filled for component in others):
        return None
    needed = columns.pop()
    if len(needed) != 1:
        return None
    count = Component(kind="count", column=min(needed))
    if count not in others:
        return None
    root = Fraction(math.isqrt(len(others) * 4**_ROOT_BITS), 2**_ROOT_BITS)
    without = Component(kind="without", column=count.column, radius=1 / root)
    return [(count, without) if components == (rows,) else components for components in needs]
