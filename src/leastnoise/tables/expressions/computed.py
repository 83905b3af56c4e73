"""What an engine computes beside the columns of a source: derived columns, and filters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, final

from leastnoise.tables.expressions.tree import ColumnRef, Expression, Type, substitute, walk

if TYPE_CHECKING:
    from leastnoise.tables.spec.values import ColumnType

Problem = tuple[str, str]
Use = Literal["u", "k", "v"]
"""What a column is cast for: it names a person, or a group, or is a value."""
COLUMN_TYPES: Mapping[Type, ColumnType] = {
    "int": "int",
    "float": "float",
    "text": "text",
    "bool": "bool",
    "date": "text",  # as 2024-01-31, which is what the keys of its groups are
    "timestamp": "text",
}


@final
@dataclass(frozen=True, kw_only=True)
class Computed:
    """Expressions over the columns of a source: `columns` by name, `filters` by their text."""

    columns: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    filters: Mapping[str, Expression] = field(default_factory=dict[str, Expression])

    def only(self, used: Collection[str]) -> Computed:
        """Return it without the columns that nothing uses; filters look at none of them."""
        kept = {name: one for name, one in self.columns.items() if name in used}
        return Computed(columns=kept, filters=self.filters)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Those of the columns, then those of the filters."""
        return (*self.columns.values(), *self.filters.values())

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns, as those of a source are told."""
        return {name: COLUMN_TYPES[one.type] for name, one in self.columns.items()}

    @property
    def inputs(self) -> dict[str, Type]:
        """The columns of the source that the expressions look at, each with its type."""
        nodes = (node for one in self.expressions for node in walk(one))
        return {node.name: node.type for node in nodes if isinstance(node, ColumnRef)}


NOTHING = Computed()


def compute(
    derive: Mapping[str, str],
    filters: Mapping[str, tuple[str, str]],
    types: Mapping[str, Type],
    unreadable: Mapping[str, str],
) -> tuple[Computed, list[Problem]]:
    """Read the expressions of a spec over columns of these `types`.

    `derive` has expressions by the names of their columns, which later expressions may use.
    `filters` has, by the key in the spec, the name of a filter in layouts and its expression.
    `unreadable` has the reason why a column can't be used. Returns the expressions, and each
    problem with its key.
    """
    # sqlglot takes 0.1 s to import
    from leastnoise.tables.expressions.language import check_size, parse  # noqa: PLC0415
    from leastnoise.tables.expressions.tree import STAMPED  # noqa: PLC0415

    unfit: Mapping[Type, str] = {"null": "It is NULL in every row.", "timestamp": STAMPED}
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
        found = read(text, key)
        if name in types:
            problems.append((key, f"The source has a column {name!r}, too. Choose another name."))
        elif found is not None and found.type in unfit:
            problems.append((key, unfit[found.type]))
        elif found is not None:
            derived[name], known[name] = found, found.type
    holds: dict[str, Expression] = {}
    for key, (name, text) in filters.items():
        condition = read(text, key)
        if condition is not None and condition.type == "bool":
            holds[name] = condition
        elif condition is not None:
            why = 'Expected what is true or not of a row, such as "age >= 18".'
            problems.append((key, why))
    return Computed(columns=derived, filters=holds), problems
