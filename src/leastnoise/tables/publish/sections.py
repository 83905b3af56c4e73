"""Build sections of a spec from the arguments of Python functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise.tables.spec.values import as_table_name

if TYPE_CHECKING:
    from leastnoise.tables.spec.column import Column
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query


def query_section(
    names: tuple[str, ...],
    statistics: Sequence[str],
    columns: Mapping[str, Mapping[str, Any]],
    *,
    private: Mapping[str, Any],
) -> dict[str, Any]:
    """The query section for statistics by the columns `names`.

    `private` has the groups of columns with private keys, and `columns` the sections of the others.
    """
    if not names:
        return {"name": "all", "statistics": statistics}
    table = as_table_name("_".join(["by", *names]))
    grouped: Any = names
    if any(name in private for name in names):
        grouped = {
            name: private.get(name) or _groups_of_column(columns.get(name, {})) for name in names
        }
    return {"name": table, "statistics": statistics, "group_by": grouped}


def _groups_of_column(column: Mapping[str, Any]) -> Any:
    return {"edges": column["edges"]} if "edges" in column else column["keys"]


def path_section(path: object) -> object:
    """The section that contains a path; any other value, such as a section, stays unchanged."""
    return {"path": str(path)} if isinstance(path, str | Path) else path


def is_private(groups: object) -> bool:
    """True if the keys of these groups come from the data: for "private", or a table with `keys`.

    The value of `keys` is checked later.
    """
    if isinstance(groups, Mapping):
        return "keys" in groups
    return isinstance(groups, str) and groups == "private"


def column_section(groups: object) -> dict[str, Any]:
    """The part of a column's section that describes public groups: keys or edges."""
    if isinstance(groups, Mapping) and "edges" in groups:
        return {str(key): value for key, value in groups.items()}
    return {"keys": groups}


def column_facts(spec: Spec, name: str) -> tuple[Column, list[Query]]:
    """A column of a spec, and the queries that find its bounds."""
    column = spec.columns[name]
    finds = column.finds
    return column, [
        query for query in spec.query if finds is not None and query.name == finds.query
    ]
