"""The form of a spec: its fields, made from the JSON schema, and their values as texts.

The browser holds one text, or one truth value, per field. A text is read as people write it: lists
need no brackets, and words need no quotes. Any value may also be written as TOML.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Any

import tomli_w

from leastnoise.errors import InvalidInput, SpecError
from leastnoise.tables.parse import spec_file, spec_text
from leastnoise.tables.spec.source import DATABASES, FILES
from leastnoise.tables.statistics import registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Schema = Mapping[str, Any]

FIRST = {
    "data": ("source",),
    "privacy": ("unit", "epsilon", "delta"),
    "contribution": ("max_rows", "max_groups"),
    "columns": ("bounds", "keys", "edges"),
    "query": ("name", "statistics", "group_by"),
    "output": ("path", "format"),
}
"""The keys that most specs need, by section. The page folds all others."""
STARTING_TEXTS: dict[str, Any] = {
    "privacy": {"epsilon": "1"},
    "query": [{"name": "all", "statistics": "count"}],
    "output": {"path": "out", "format": "csv"},
}
_MOST_FILES = 500  # the largest number of file names that the page suggests
_REQUIRED = ("data", "privacy", "query")
_SCALARS = {"integer", "number", "string"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_TYPES = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))


def describe(folder: Path) -> dict[str, Any]:
    """The form as JSON values: sections with fields, and suggested statistics and files."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    return {
        "sections": [_section(name, node) for name, node in _sections()],
        "statistics": registry.FORMS,
        "files": [name for name in names if name.endswith((*FILES, *DATABASES))][:_MOST_FILES],
    }


def read_record(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the texts of a form to a spec, a dictionary as read from TOML.

    Raises SpecError for a section that the user writes as TOML lines, if the lines are malformed.
    """
    record: dict[str, Any] = {"version": 1}
    for name, node in _sections():
        kind = _kind_of_section(node)
        given = texts.get(name) or {}
        if kind == "lines":
            value: Any = _read_lines(str(given or ""), name)
        elif kind == "many":
            value = [_read_fields(item, node["items"]["properties"]) for item in given]
        elif kind == "named":
            fields = node["additionalProperties"]["properties"]
            value = {column: _read_fields(item, fields) for column, item in given.items()}
            value = {column: item for column, item in value.items() if item}
        else:
            value = _read_fields(given, node["properties"])
        if value or name in _REQUIRED:
            record[name] = value
    return record


def write_texts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the spec in `record` to texts of a form, for `read_record` to convert back.

    Raises SpecError for a key that no spec has, because saving would drop it. Also raises it for a
    section that isn't a table.
    """
    texts: dict[str, Any] = {}
    nodes = dict(_sections())
    for name, value in record.items():
        if name == "version":
            continue
        if (node := nodes.get(name)) is None:
            raise _unknown(name)
        kind = _kind_of_section(node)
        if kind == "lines" and isinstance(value, dict):
            texts[name] = tomli_w.dumps(value)
        elif kind == "many" and isinstance(value, list):
            fields = node["items"]["properties"]
            texts[name] = [
                _write_fields(item, fields, f"{name}[{index}]") for index, item in enumerate(value)
            ]
        elif kind == "named" and isinstance(value, dict):
            fields = node["additionalProperties"]["properties"]
            texts[name] = {
                column: _write_fields(item, fields, f"{name}.{column}")
                for column, item in value.items()
            }
        else:
            texts[name] = _write_fields(value, node.get("properties", {}), name)
    return texts


def write_toml(record: Mapping[str, Any]) -> str:
    """The text of a spec file; raises InvalidInput if it wouldn't read back as `record`."""
    text = spec_text.write(record)
    try:
        _ = text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            "A text in the spec has a damaged character (half of a surrogate pair). Type the text "
            "again."
        ) from None
    stored = spec_file.parse_toml(text)
    if stored != record or _group_columns(stored) != _group_columns(record):
        raise InvalidInput(
            "The spec can't be saved, because the saved file would be read as another spec."
        )
    return text


def _group_columns(record: Mapping[str, Any]) -> list[list[str]]:
    """The grouping columns of each query, in the order that equality of dictionaries ignores."""
    return [[*query.get("group_by", ())] for query in record["query"]]


def _sections() -> list[tuple[str, Schema]]:
    nodes = spec_text.json_schema()["properties"]
    return [(name, node) for name, node in nodes.items() if "const" not in node]


def _kind_of_section(node: Schema) -> str:
    if node.get("type") == "array":
        return "many"
    if "properties" in node:
        return "one"
    return "named" if "properties" in node["additionalProperties"] else "lines"


def _section(name: str, node: Schema) -> dict[str, Any]:
    kind = _kind_of_section(node)
    inner = {"many": node.get("items"), "named": node.get("additionalProperties")}.get(kind, node)
    fields = (inner or {}).get("properties", {})
    first = FIRST.get(name, ())
    return {
        "name": name,
        "kind": kind,
        "example": node["description"].partition("]\n")[2] if kind == "lines" else "",
        "description": node["description"].partition(" Example:\n\n")[0],
        "fields": [
            _field(key, fields[key], is_first=key in first)
            for key in sorted(fields, key=lambda key: first.index(key) if key in first else 99)
        ],
    }


def _field(key: str, node: Schema, *, is_first: bool) -> dict[str, Any]:
    _, _, example = node["description"].partition("Example:\n\n")
    kind, shown = _kind(node), ""
    try:
        value = tomllib.loads(example.partition("\n\n")[0])[key]
    except (tomllib.TOMLDecodeError, KeyError):
        value = None
    if value is not None and kind not in {"flag", "types"}:
        shown = _write(value, node)
    choices = node["additionalProperties"] if kind == "types" else node
    return {
        "name": key,
        "kind": kind,
        "description": node["description"].partition(" Example:\n\n")[0],
        "example": shown,
        "choices": choices.get("enum", []),
        "first": is_first,
    }


def _kind(node: Schema) -> str:
    """The kind of input for a value with this schema."""
    types = _types(node)
    if "enum" in node:
        return "choice"
    if types == {"boolean"}:
        return "flag"
    if types == {"object"} and "enum" in (node.get("additionalProperties") or {}):
        return "types"
    return "number" if len(types) > 1 and types <= _SCALARS else "text"


def _types(node: Schema) -> set[str]:
    """The JSON types that a value with this schema may have."""
    if "anyOf" in node:
        return set().union(*(_types(option) for option in node["anyOf"]))
    if "type" not in node:
        return {"string"} if "enum" in node else {"boolean"}
    return {node["type"]}


def _read_fields(texts: Mapping[str, Any], fields: Schema) -> dict[str, Any]:
    """Read the texts of a section; an empty text gives no value."""
    values: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in fields or not text or (isinstance(text, str) and not text.strip()):
            continue
        if isinstance(text, dict):  # types of columns
            value: Any = {column: kind for column, kind in text.items() if kind}
        else:
            value = text if isinstance(text, bool) else _read(text, fields[key])
        if value != {}:
            values[key] = value
    return values


def _read(text: str, node: Schema) -> Any:
    """Read one text as a value.

    A text that fits no allowed type stays a text, which the spec rejects.
    """
    types, kind = _types(node), _kind(node)
    if kind == "choice" or types == {"string"}:
        return text
    if kind == "number":  # a text stays exact
        return int(text) if _WHOLE.fullmatch(text.strip()) else text.strip()
    value = _read_toml(text)
    if value is not None and _fits(value, types):
        return value
    if value is not None and "array" in types and not isinstance(value, dict):
        return [value]
    return text if "string" in types else _read_unmarked(text, types)


def _read_unmarked(text: str, types: set[str]) -> Any:
    """Read a table that lacks braces, or a list that lacks brackets or quotes."""
    table = _read_toml(f"{{ {text} }}") if "object" in types else None
    if table is None and "array" in types:
        items = _read_toml(f"[{text}]")
        return _split(text) if items is None else items
    return text if table is None else table


def _fits(value: object, types: set[str]) -> bool:
    name = next((name for kind, name in _TYPES if isinstance(value, kind)), "object")
    return name in types or (name == "integer" and "number" in types)


def _read_toml(text: str) -> Any:
    """Read `text` as a TOML value; None if it is malformed or has a date, which no spec has."""
    try:
        values = spec_file.parse_toml(f"value = {text}")
    except SpecError:
        return None
    return values["value"] if len(values) == 1 and _is_plain(values["value"]) else None


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float)


def _split(text: str) -> list[Any]:
    """Split a list at commas outside quotes and parentheses."""
    parts, depth, quoted, before = [""], 0, False, ""
    for letter in text:
        quoted ^= letter == '"' and before != "\\"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
        before = letter
    words = [part.strip() for part in parts if part.strip()]
    return [(_read_toml(word) or word) if word.startswith('"') else word for word in words]


def _read_lines(text: str, name: str) -> dict[str, Any]:
    try:
        return spec_file.parse_toml(text)
    except SpecError as error:
        raise SpecError([(name, message) for _, message in error.problems]) from None


def _write_fields(values: object, fields: Schema, within: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise SpecError([(within, "Expected a table of key = value entries.")])
    if unknown := [key for key in values if key not in fields]:
        raise _unknown(f"{within}.{unknown[0]}")
    return {
        key: dict(value)
        if _kind(fields[key]) == "types" and isinstance(value, dict)
        else _write(value, fields[key])
        for key, value in values.items()
    }


def _write(value: Any, node: Schema) -> str | bool:
    """A text that `_read` converts back to `value`, if there is one; a flag stays a bool."""
    kind = _kind(node)
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind == "number" and isinstance(value, int | float | str):
        return str(value)
    whole = _inline(value)
    texts = [whole[1:-1].strip()] if isinstance(value, list | dict) else []
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        texts.insert(0, ", ".join(value))
    texts.insert(0, value if isinstance(value, str) else whole)
    texts = sorted(filter(None, texts), key=len)  # an empty text stands for no value
    return next((text for text in texts if repr(_read(text, node)) == repr(value)), whole)


def _inline(value: Any) -> str:
    """Write a value as TOML in one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, dict):
        pairs = [f"{_written({key: 0})[:-1]}{_inline(inner)}" for key, inner in value.items()]
        return f"{{ {', '.join(pairs)} }}"
    return _written({"value": value}).removeprefix("value = ")


def _written(table: dict[str, Any]) -> str:
    return tomli_w.dumps(table).removesuffix("\n")


def _unknown(key: str) -> SpecError:
    return SpecError([(key, "Unknown key, so the page would lose it. Correct the spec first.")])
