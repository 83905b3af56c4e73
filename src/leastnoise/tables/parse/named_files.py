"""Files of public keys and of sums that a spec names; they are read once, with the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise import _files
from leastnoise.errors import SourceError
from leastnoise.tables.spec.section import UNREAD
from leastnoise.tables.spec.values import LARGEST_SPEC

if TYPE_CHECKING:
    from pathlib import Path


def read_named_files(
    raw: dict[str, Any], folder: Path | None, problems: list[tuple[str, str]]
) -> dict[str, Any]:
    """Replace the names of files in the plain spec `raw` by the keys or sums in these files.

    Paths are relative to `folder`; without a folder no file is read, and each file is a problem. A
    file that can't be used adds a problem, and is replaced by `UNREAD`.
    """
    queries, columns, data = raw.get("query"), raw.get("columns"), raw.get("data")
    types = data.get("types") if isinstance(data, dict) else None
    known = types if isinstance(types, dict) else {}

    def read(column: object, entry: Any, key: str, *, levels: bool = False) -> Any:
        if not (isinstance(column, str) and isinstance(entry, dict) and "file" in entry):
            return entry
        # a spec without such files needs no import of DuckDB
        from leastnoise.tables.parse.key_files import (  # noqa: PLC0415
            find_type_in_source,
            read_keys,
        )

        try:
            kind = known.get(column) or find_type_in_source(data, column, folder)
            return read_keys(entry, column, kind, folder, levels=levels)
        except (SourceError, ValueError) as error:
            problems.append((f"{key}.file", str(error)))
            return UNREAD

    plain = dict(raw)
    if isinstance(columns, dict):
        plain["columns"] = {
            name: {**column, "keys": read(name, column["keys"], f"columns.{name}.keys")}
            if isinstance(column, dict) and "keys" in column
            else column
            for name, column in columns.items()
        }
    if not isinstance(queries, list):
        return plain
    plain["query"] = [*queries]
    for index, query in enumerate(queries):
        sums = query.get("sums") if isinstance(query, dict) else None
        if isinstance(sums, dict) and sums.keys() == {"file"}:
            query = {**query, "sums": _read_sums(sums["file"], folder, index, problems)}  # noqa: PLW2901
            plain["query"][index] = query
        groups = query.get("group_by") if isinstance(query, dict) else None
        if isinstance(groups, dict):
            key = f"query[{index}].group_by"
            read_groups = {
                name: read(name, entry, f"{key}.{name}", levels=True)
                for name, entry in groups.items()
            }
            plain["query"][index] = {**query, "group_by": read_groups}
    return plain


def _read_sums(
    name: object, folder: Path | None, index: int, problems: list[tuple[str, str]]
) -> Any:
    """Read the text of a CSV file of sums; `UNREAD` and a problem if it can't be used."""
    why = ""
    if folder is None:
        why = "Files are read only if the spec is a file. Write the CSV's text here."
    elif not isinstance(name, str) or not name.lower().endswith(".csv"):
        why = "Expected the path of a file ending in .csv."
    else:
        try:
            text = _files.read_bytes(folder / name, most=LARGEST_SPEC).decode("utf-8-sig")
            if text:
                return text
            why = f"The file {name} is empty."
        except SourceError as error:
            why = str(error)
        except UnicodeDecodeError:
            why = "Expected UTF-8 text. Save the file as UTF-8."
    problems.append((f"query[{index}].sums.file", why))
    return UNREAD
