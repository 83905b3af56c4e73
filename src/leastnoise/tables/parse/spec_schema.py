"""The JSON Schema of a spec, for editors: draft 7 without references, as they all read it.

It says of each value alone what the models of `spec` say. What needs two values, or the columns of
the source, only `leastnoise release SPEC --plan` can tell.
"""

from __future__ import annotations

from typing import Any

from leastnoise.tables.parse.key_files import SUFFIXES
from leastnoise.tables.parse.sql_queries import SQL
from leastnoise.tables.spec.model import Spec
from leastnoise.tables.statistics import registry

_DRAFT = "http://json-schema.org/draft-07/schema#"
_REFERENCE = "#/$defs/"
_SQL = (
    "The query as SQL, in place of statistics and filter. Example:\n\n"
    'sql = "select region, avg(income) from data where age >= 18 group by region"'
)
# Beside keys and edges; `key_files` reads it before the models see it.
_KEY_FILE = {
    "type": "object",
    "description": "A file of public keys, relative to the spec.",
    "properties": {
        "file": {
            "type": "string",
            "pattern": rf"({'|'.join(suffix.replace('.', '[.]') for suffix in SUFFIXES)})$",
        }
    },
    "required": ["file"],
    "additionalProperties": False,
}


_WITH_LEVELS = {
    **_KEY_FILE,
    "description": "A CSV of public keys and of what they are part of, relative to the spec.",
    "properties": {
        "file": {"type": "string", "pattern": "[.]csv$"},
        "levels": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    },
    "required": ["file", "levels"],
}


def json_schema() -> dict[str, Any]:
    """Return the schema that a spec's TOML satisfies, with its own keys."""
    raw = Spec.model_json_schema()
    definitions: dict[str, Any] = raw.pop("$defs")
    query = definitions["Query"]["properties"]
    query["statistics"]["items"]["pattern"] = registry.PATTERN
    query[SQL] = {"type": "string", "description": _SQL}
    query["group_by"]["anyOf"] = forms = query["group_by"].pop("oneOf")
    groupings = forms[0]["additionalProperties"]
    groupings["anyOf"] = [*groupings.pop("oneOf"), _KEY_FILE, _WITH_LEVELS]
    keys = definitions["Column"]["properties"]["keys"]
    keys["anyOf"] = [{part: keys.pop(part) for part in ("type", "items")}, _KEY_FILE]
    raw["properties"]["query"]["minItems"] = 1
    about = {"title": "leastnoise spec", "description": "A release of a table by leastnoise."}
    return {"$schema": _DRAFT} | _plain(raw, definitions) | about


def _plain(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without references, null (TOML has none) and what draft 7 has no word for."""
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix(_REFERENCE)]
        return _plain({**target, **{key: node[key] for key in node if key != "$ref"}}, definitions)
    found: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            found[key] = {name: _plain(inner, definitions) for name, inner in value.items()}
        elif key == "examples":  # as TOML, for people
            meaning = node["description"]
            found["description"] = f"{meaning[0].upper()}{meaning[1:]}. Example:\n\n{value[0]}"
        elif key in {"anyOf", "oneOf"}:
            kinds = [_plain(one, definitions) for one in value if one != {"type": "null"}]
            found |= {"anyOf": kinds} if len(kinds) > 1 else {**kinds[0], **found}
        elif key == "prefixItems":
            found["items"] = [_plain(one, definitions) for one in value]
        elif key in {"items", "additionalProperties", "propertyNames"}:
            found[key] = _plain(value, definitions) if isinstance(value, dict) else value
        elif key not in {"title", "discriminator"} and not (key == "default" and value is None):
            found[key] = value
    return found
