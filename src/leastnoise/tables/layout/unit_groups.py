"""The groups in which one unit can be by construction, and the limits that follow from them.

No guarantee depends on this: bounding enforces every limit on every unit, whatever its rows
contain. A wrong statement here would only make bounding leave out rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from leastnoise.tables.expressions.over_unit import constant_per_unit
from leastnoise.tables.layout.axes import Unlisted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.layout.axes import Axis
    from leastnoise.tables.spec.contribution import Limits
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query


def has_one_value(spec: Spec, column: str) -> bool:
    """True only if each unit has one value of `column` by construction.

    That holds for the column that names the unit, for columns joined by it, and for values computed
    over all rows of the unit. It also holds for columns derived from such values alone.
    """
    unit = spec.privacy.unit
    if spec.privacy.by_row or not unit:
        return False
    joins = (join for join in spec.data.join.values() if join.on == unit)
    constant = {unit, *(name for join in joins for name in join.columns)}
    if column in constant or column not in spec.derive:
        return column in constant
    from leastnoise.tables.expressions.language import parse  # noqa: PLC0415  (0.1 s)

    names = [*spec.derive]
    for name in names[: names.index(column) + 1]:  # a derived column may use the columns before it
        try:
            expression = parse(spec.derive[name] or "")  # None if the value couldn't be read
        except ValueError:  # the checks of the spec report this problem
            continue
        if constant_per_unit(expression, constant.__contains__):
            constant.add(name)
    return column in constant


def groups_of_unit(spec: Spec, axes: Sequence[Axis]) -> int | None:
    """The most groups by these `axes` in which a unit can be by construction.

    A unit may have several values in some of the columns; the result is the product of their
    numbers of groups. None if a unit may have several values in every column, so that nothing
    follows. Also None if such a column has unlisted keys.
    """
    several = [axis for axis in axes if not has_one_value(spec, axis.column)]
    if len(several) == len(axes) or any(isinstance(axis, Unlisted) for axis in several):
        return None
    return math.prod(axis.cells for axis in several)


def limits_of(spec: Spec, query: Query, axes: Sequence[Axis]) -> Limits:
    """The limits of one unit in `query`, whose rows are grouped by the `axes`.

    These are the limits of the spec. If a unit can't be in as many groups by construction,
    `max_groups` is lowered, or set if the spec doesn't give it.
    """
    limits, groups = spec.limits(query), groups_of_unit(spec, axes)
    if groups is None:
        return limits
    if limits.max_groups is not None and limits.max_groups <= groups:
        return limits
    return replace(limits, max_groups=groups)
