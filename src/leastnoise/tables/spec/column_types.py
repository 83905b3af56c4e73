"""Which types of columns serve which use: of a spec's declared types, and of a source's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.spec.model import Key, Predicate

Problem = tuple[str, str]
"""The key that is wrong, and what is wrong with it."""
_KEY_TYPES: dict[str, type] = {"int": int, "text": str, "bool": bool}


def unit_type(declared: str | None, column: str) -> Iterator[Problem]:
    """Yield a problem if a column of this type can't identify persons."""
    if declared in {"float", "bool"}:
        why = {
            "float": "floats that print alike differ, and would split a person in two. If it "
            'holds whole numbers, declare it "int" in data.types.',
            "bool": "a bool tells two persons apart, and makes one of all the others.",
        }[declared]
        message = f"Expected an int or text column, got the {declared} column {column!r}: {why}"
        yield "privacy.unit", message


def predicate_type(declared: str | None, predicate: Predicate, key: str) -> Iterator[Problem]:
    """Yield a problem if a column of this type can't be compared as the predicate says."""
    if predicate.among:
        yield from key_types(declared, predicate.among, f"{key}.among")
    else:
        yield from numeric_type(declared, key.rsplit(".", 1)[-1], key, "histogram")


def key_types(declared: str | None, keys: Sequence[Key], path: str) -> Iterator[Problem]:
    """Yield a problem for each key that isn't of the column's type."""
    if declared == "float":
        hint = "Give edges (in where, min and max), or, if it holds whole numbers, declare it "
        hint += '"int" in data.types.'
        yield path, f"Expected an int, text or bool column, got a float one. {hint}"
    elif declared is not None:
        for index, value in enumerate(keys):
            if type(value) is not _KEY_TYPES[declared]:
                yield f"{path}[{index}]", f"Expected {declared}, as the column is, got {value!r}."


def numeric_type(declared: str | None, column: str, key: str, use: str) -> Iterator[Problem]:
    """Yield a problem if a column of this type can't be used for `use`."""
    if (declared == "text" and use != "count") or (
        declared == "bool" and use in {"histogram", "bands"}
    ):
        yield key, f"Expected a number column for {use}, got the {declared} column {column!r}."
