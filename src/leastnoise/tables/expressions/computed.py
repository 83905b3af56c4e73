"""Derived columns and filters, which an engine computes from the columns of a source."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, final

from leastnoise.tables.expressions.over_unit import units_of
from leastnoise.tables.expressions.tree import ColumnRef, Expression, Type, substitute, walk

if TYPE_CHECKING:
    from leastnoise.tables.spec.values import ColumnType

Problem = tuple[str, str]
Use = Literal["u", "k", "v"]
"""The purpose of a cast: "u" identifies a unit, "k" is a key of a group, "v" is a value."""
INPUT_CASTS: Mapping[Type, str] = {"float": "v", "date": "d", "timestamp": "s", "instant": "s"}
"""The prefix of the cast that expressions read, by type: "d" has days and "s" seconds.

All other types use "k".
"""
COLUMN_TYPES: Mapping[Type, ColumnType] = {
    "int": "int",
    "float": "float",
    "text": "text",
    "bool": "bool",
    "date": "text",  # of the form 2024-01-31, as in the keys of its groups
    "timestamp": "text",
    "instant": "text",
}


@final
@dataclass(frozen=True, kw_only=True)
class Computed:
    """Expressions that an engine computes: derived `columns` and `filters`, both by name."""

    columns: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    filters: Mapping[str, Expression] = field(default_factory=dict[str, Expression])

    def select(self, used: Collection[str]) -> Computed:
        """The same filters, with only the `used` derived columns."""
        kept = {name: expression for name, expression in self.columns.items() if name in used}
        return Computed(columns=kept, filters=self.filters)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions of the derived columns, then the filters."""
        return (*self.columns.values(), *self.filters.values())

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the derived columns, in the words of a spec."""
        return {name: COLUMN_TYPES[expression.type] for name, expression in self.columns.items()}

    @property
    def inputs(self) -> tuple[ColumnRef, ...]:
        """The source's columns that the expressions use; one entry for each type of use."""
        nodes = (node for expression in self.expressions for node in walk(expression))
        return tuple(dict.fromkeys(node for node in nodes if isinstance(node, ColumnRef)))

    @property
    def unit(self) -> str:
        """The source's column that stands after `over` in the expressions, the unit.

        It is "" if no expression is over a unit.
        """
        return next((name for expression in self.expressions for name in units_of(expression)), "")


NOTHING = Computed()


def compute(
    derive: Mapping[str, str],
    filters: Mapping[str, tuple[str, str]],
    types: Mapping[str, Type],
    unreadable: Mapping[str, str],
) -> tuple[Computed, list[Problem]]:
    """Read the expressions of a spec over columns of these `types`.

    `derive` has expressions by the names of their columns, which later expressions may use.
    `filters` is keyed by the filter's key in the spec, and has its name in layouts and its
    expression. `unreadable` has the reasons why columns can't be used. Returns the expressions, and
    each problem with its key.
    """
    # sqlglot takes 0.1 s to import
    from leastnoise.tables.expressions.language import check_size, parse  # noqa: PLC0415
    from leastnoise.tables.expressions.tree import STAMPED, ZONED  # noqa: PLC0415

    unfit: Mapping[Type, str] = {
        "null": "It is NULL in every row.",
        "timestamp": STAMPED,
        "instant": ZONED,
    }
    problems: list[Problem] = []
    derived: dict[str, Expression] = {}
    known = dict(types)

    def read(text: str, key: str) -> Expression | None:
        try:
            return check_size(substitute(parse(text, known, unreadable), derived))
        except ValueError as error:
            problems.append((key, str(error)))
            return None

    for name, text in derive.items():
        key = f"derive.{name}"
        expression = read(text, key)
        if name in types:
            problems.append((key, f"The source has a column {name!r}, too. Choose another name."))
        elif expression is not None and expression.type in unfit:
            problems.append((key, unfit[expression.type]))
        elif expression is not None:
            derived[name], known[name] = expression, expression.type
    holds: dict[str, Expression] = {}
    for key, (name, text) in filters.items():
        condition = read(text, key)
        if condition is not None and condition.type == "bool":
            holds[name] = condition
        elif condition is not None:
            why = 'Expected a condition, such as "age >= 18".'
            problems.append((key, why))
    return Computed(columns=derived, filters=holds), problems
