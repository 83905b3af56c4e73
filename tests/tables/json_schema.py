"""What a JSON Schema says of a value, in draft 7; a word that isn't known here is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def accepts(schema: Schema, value: Any) -> bool:
    return all(_WORDS[word](said, value, schema) for word, said in schema.items())


def _has_type(said: str, value: Any, schema: Schema) -> bool:
    return isinstance(value, _TYPES[said]) and isinstance(value, bool) == (said == "boolean")


def _others(said: Any, value: Any, schema: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    others = [value[name] for name in value if name not in schema.get("properties", {})]
    return all(accepts(said, one) for one in others) if said else not others


def _items(said: Any, value: Any, schema: Schema) -> bool:
    if not isinstance(value, list):
        return True
    inner = [said] * len(value) if isinstance(said, dict) else said
    return all(accepts(one, item) for one, item in zip(inner, value, strict=False))


def _any(said: Any, value: Any, schema: Schema) -> bool:
    return True


_WORDS: dict[str, Callable[[Any, Any, Schema], bool]] = {
    **dict.fromkeys(("$schema", "title", "description", "default"), _any),
    "type": _has_type,
    "const": lambda said, value, _: (type(value), value) == (type(said), said),
    "enum": lambda said, value, _: value in said,
    "anyOf": lambda said, value, _: any(accepts(one, value) for one in said),
    "pattern": lambda said, value, _: not isinstance(value, str) or bool(re.search(said, value)),
    "minLength": lambda said, value, _: not isinstance(value, str) or len(value) >= said,
    "maxLength": lambda said, value, _: not isinstance(value, str) or len(value) <= said,
    "minItems": lambda said, value, _: not isinstance(value, list) or len(value) >= said,
    "maxItems": lambda said, value, _: not isinstance(value, list) or len(value) <= said,
    "minimum": lambda said, value, _: not isinstance(value, int | float) or value >= said,
    "maximum": lambda said, value, _: not isinstance(value, int | float) or value <= said,
    "required": lambda said, value, _: not isinstance(value, dict) or set(said) <= set(value),
    "properties": lambda said, value, _: (
        not isinstance(value, dict)
        or all(accepts(said[name], value[name]) for name in said if name in value)
    ),
    "propertyNames": lambda said, value, _: (
        not isinstance(value, dict) or all(accepts(said, name) for name in value)
    ),
    "additionalProperties": _others,
    "items": _items,
}
