"""The derived columns and the filters of a spec, read against the columns of a source."""

from __future__ import annotations

from collections.abc import Mapping

from leastnoise.tables.expressions.computed import Computed
from leastnoise.tables.expressions.language import check_size, parse
from leastnoise.tables.expressions.tree import Expression, Type, substitute
from leastnoise.tables.expressions.typed import STAMPED

Problem = tuple[str, str]
_UNFIT: Mapping[Type, str] = {"null": "It is NULL in every row.", "timestamp": STAMPED}


def compute(
    derive: Mapping[str, str],
    filters: Mapping[str, str],
    types: Mapping[str, Type],
    unreadable: Mapping[str, str],
) -> tuple[Computed, list[Problem]]:
    """Return what is computed of columns of these `types`, and each problem with its key.

    `derive` has expressions by the names of their columns, which later ones may use; `filters` by
    their keys in the spec. Of the columns that are `unreadable` it is said why.
    """
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
        elif found is not None and found.type in _UNFIT:
            problems.append((key, _UNFIT[found.type]))
        elif found is not None:
            derived[name], known[name] = found, found.type
    holds: dict[str, Expression] = {}
    for key, text in filters.items():
        found = read(text, key)
        if found is not None and found.type == "bool":
            holds[text] = found
        elif found is not None:
            why = 'Expected what is true or not of a row, such as "age >= 18".'
            problems.append((key, why))
    return Computed(columns=derived, filters=holds), problems
