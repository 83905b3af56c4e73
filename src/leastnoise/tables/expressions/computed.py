"""What an engine computes beside the columns of a source: derived columns, and filters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, final

from leastnoise.tables.expressions.tree import Column, Expression, Type, walk

if TYPE_CHECKING:
    from leastnoise.tables.spec.values import ColumnType

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
        return {node.name: node.type for node in nodes if isinstance(node, Column)}


NOTHING = Computed()
