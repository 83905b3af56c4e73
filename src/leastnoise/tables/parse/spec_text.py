"""A spec as text: its TOML, the lines of its keys, and its JSON Schema for editors.

The schema has the types of values in the models of `spec`, and simple limits on them. It is draft 7
without references, which all editors can read. Most checks that need two values, and all that need
the columns of the source, are made only by `leastnoise release SPEC --plan`.

In TOML every group_by keeps its order, because it is the order of the columns and rows of the
published table. Writers of TOML put tables, such as edges, after all lists.

Lines are looked up in a text that tomllib has read before, so that it is valid TOML. The reader
here only distinguishes keys, values and comments. Keys are spelled as in errors:
`query[0].group_by.plan[2]`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

import tomli_w
from pydantic.json_schema import GenerateJsonSchema

from leastnoise.tables.spec.model import Spec
from leastnoise.tables.spec.query import SQL
from leastnoise.tables.statistics import registry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pydantic.json_schema import JsonSchemaMode

_DRAFT = "http://json-schema.org/draft-07/schema#"
_REFERENCE = "#/$defs/"
_SQL = (
    "The query as SQL, instead of statistics and filter. Example:\n\n"
    'sql = "select region, avg(income) from data where age >= 18 group by region"'
)


def json_schema() -> dict[str, Any]:
    """The JSON schema of a spec in TOML."""
    about = {"title": "leastnoise spec", "description": "A release of a table by leastnoise."}
    return {"$schema": _DRAFT} | Spec.model_json_schema(schema_generator=_Draft7) | about


@final
class _Draft7(GenerateJsonSchema):
    """Generate a schema of draft 7, without references and titles.

    It leaves out null, since TOML doesn't have it.
    """

    def generate(self, schema: Any, mode: JsonSchemaMode = "validation") -> dict[str, Any]:
        result = super().generate(schema, mode)
        definitions = result.pop("$defs")
        privacy = definitions["Privacy"]
        privacy["required"].remove("epsilon")
        privacy["anyOf"] = [{"required": [name]} for name in ("epsilon", "rho")]
        query = definitions["Query"]["properties"]
        statistics = query["statistics"]
        statistics["items"]["pattern"] = registry.PATTERN
        statistics["description"] += f"\n\nEach is {registry.SPELLINGS}."
        query[SQL] = {"type": "string", "description": _SQL}
        result["properties"]["query"]["minItems"] = 1
        return _inline(result, definitions)

    def generate_inner(self, schema: Any) -> dict[str, Any]:
        result = super().generate_inner(schema)
        if examples := result.pop(
            "examples", None
        ):  # examples are TOML, which readers see in the description
            meaning = result["description"]
            first = (
                meaning[0].upper() if meaning[0].isascii() else meaning[0]
            )  # "ε".upper() would be the letter "Ε"
            text = f"{first}{meaning[1:]}. Example:\n\n{examples[0]}"
            result["description"] = text
        return result

    def nullable_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> dict[str, Any]:
        result = super().default_schema(schema)
        return {
            key: value for key, value in result.items() if key != "default" or value is not None
        }

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        return {"anyOf": super().tagged_union_schema(schema)["oneOf"]}

    def tuple_schema(self, schema: Any) -> dict[str, Any]:
        result = super().tuple_schema(schema)
        return {"items" if key == "prefixItems" else key: value for key, value in result.items()}


def _inline(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Replace each reference in a schema by its definition, and drop titles."""
    if isinstance(node, list):
        return [_inline(child, definitions) for child in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = definitions[node["$ref"].removeprefix(_REFERENCE)] | node
    named = not isinstance(node.get("title"), str)  # a property may have this name, too
    return {
        key: _inline(child, definitions)
        for key, child in node.items()
        if key != "$ref" and (named or key != "title")
    }


_QUERY = re.compile(r"^(?=\[\[query\]\]$)", re.MULTILINE)
_SECTION = re.compile(r"^\[(?!\[query\]\]$)|\Z", re.MULTILINE)  # values of lists are indented


def write(record: Mapping[str, Any]) -> str:
    """Write TOML that parses into `record`, which comes from `spec_file.to_dict`."""
    queries = [dict(query) for query in record["query"]]
    moved = {
        index: query.pop("group_by")
        for index, query in enumerate(queries)
        if _would_move(query.get("group_by"))
    }
    start, *texts = _QUERY.split(tomli_w.dumps({**record, "query": queries}))
    for index, group_by in moved.items():
        section = _SECTION.search(texts[index])
        end = section.start() if section else 0
        body, others = texts[index][:end].rstrip(), texts[index][end:]
        texts[index] = f"{body}\n\n[query.group_by]\n{''.join(_in_order(group_by))}\n{others}"
    return f"{start}{''.join(texts)}".rstrip() + "\n"


def _would_move(group_by: object) -> bool:
    """True if a list follows a table, since a writer of TOML would put the list first."""
    if not isinstance(group_by, dict):
        return False
    tables = [isinstance(value, dict) for value in group_by.values()]
    return tables != sorted(tables)


def _in_order(group_by: Mapping[str, Any]) -> list[str]:
    """The lines of a group_by section, in its order; tables are written as keys with dots."""
    lines: list[str] = []
    for name, value in group_by.items():
        if isinstance(value, dict):
            written = tomli_w.dumps({name: 0}).removesuffix(" = 0\n")
            lines += [f"{written}.{line}" for line in _in_order(value)]
        else:
            lines.append(tomli_w.dumps({name: value}))
    return lines


Parts = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}#\n]*")  # a number, a bool or a date
_STRING = re.compile(
    r"""
    ""\"(?:\\.|[^\\])*?"{3,5}    # a text of several lines may end in two quotes of its own
    | '''.*?'{3,5}
    | "(?:\\.|[^"\\])*"
    | '[^']*'
    """,
    re.DOTALL | re.VERBOSE,
)
_SYNTAX = re.compile(r"\(at line (\d+), column \d+\)")


def lines(
    text: str, problems: Sequence[tuple[str, str]], *, elsewhere: Collection[str] = ()
) -> list[int | None]:
    """The line of the TOML `text` for each problem, or None if it has no line.

    For a missing key it is the line of the key's table. Problems of the keys in `elsewhere`, which
    were given outside the file, have no line.
    """
    positions = _KeyPositions(text)
    numbers: list[int | None] = []
    for key, message in problems:
        wrong = _SYNTAX.search(message) if key == "TOML" else None
        if wrong:
            numbers.append(int(wrong[1]))
        elif key == "TOML" or key in elsewhere:
            numbers.append(None)
        else:
            numbers.append(positions.line(key))
    return numbers


@final
class _KeyPositions:
    """The positions of keys in a TOML text, which is parsed when a line is first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: list[int] = []  # positions of the ends of lines
        self._at = 0
        self._starts: dict[str, tuple[Parts, int | None]] = {}
        self._last: dict[Parts, int] = {}  # the index of the last [[table]] with a name
        self._is_read = False

    def line(self, key: str) -> int | None:
        """The line of `key`, or of the innermost table that contains it.

        None without such a line.
        """
        if not self._is_read:
            self._is_read = True
            self._ends = [match.start() for match in re.finditer("\n", self._text)]
            with suppress(RecursionError):  # nested too deep for this parser, and so for a spec
                self._read()
        while key and key not in self._starts:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        start = self._starts[key][1] if key else None
        return None if start is None else bisect_left(self._ends, start) + 1

    def _read(self) -> None:
        table: Parts = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Parts:
        """Read [a.b] or [[a.b]]; return the path of the table that it opens."""
        start, is_list = self._at, self._text.startswith("[[", self._at)
        self._at += 2 if is_list else 1
        names = self._names()
        self._at += 2 if is_list else 1
        parts: Parts = ()
        for depth, name in enumerate(names, start=1):
            parts = (*parts, name)
            self._note(parts, start)
            if is_list and depth == len(names):
                self._last[parts] = self._last.get(parts, -1) + 1
            if parts in self._last:
                parts = (*parts, self._last[parts])
                self._note(parts, start)
        return parts

    def _pair(self, table: Parts) -> None:
        """Read a line such as `key = value` of the given table."""
        start, parts = self._at, table
        for name in self._names():
            parts = (*parts, name)
            self._note(parts, start)
        self._at += 1
        self._skip(_SPACE)
        self._value(parts)

    def _names(self) -> list[str]:
        """Read the names of a key, which dots separate, and the blanks after it."""
        names: list[str] = []
        while True:
            start = self._skip(_SPACE)
            if self._text[start] in "\"'":
                self._skip(_STRING)
                names.append(tomllib.loads(f"name = {self._text[start : self._at]}")["name"])
            else:
                self._skip(_NAME)
                names.append(self._text[start : self._at])
            if self._text[self._skip(_SPACE)] != ".":
                return names
            self._at += 1

    def _value(self, parts: Parts) -> None:
        first = self._text[self._at]
        if first in "[{":
            self._container(parts, is_list=first == "[")
        else:
            self._skip(_STRING if first in "\"'" else _PLAIN)

    def _container(self, parts: Parts, *, is_list: bool) -> None:
        """Read a list or an inline table."""
        self._at += 1
        index = 0
        while (letter := self._text[self._skip(_BLANK)]) not in "]}":
            if letter == ",":
                self._at += 1
                index += 1
            elif is_list:
                self._note((*parts, index), self._at)
                self._value((*parts, index))
            else:
                self._pair(parts)
        self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> int:
        """Skip the text that matches here, if any; return the position."""
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _note(self, parts: Parts, start: int) -> None:
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
        known = self._starts.setdefault(key[1:], (parts, start))
        if known[0] != parts:  # ambiguous, because a name contains a dot or a bracket
            self._starts[key[1:]] = (known[0], None)
