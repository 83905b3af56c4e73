"""Check a value against a JSON Schema of draft 7. An unknown keyword is an error."""

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
    return all(_WORDS[word](text, value, schema) for word, text in schema.items())


def _has_type(text: str, value: Any, schema: Schema) -> bool:
    return isinstance(value, _TYPES[text]) and isinstance(value, bool) == (text == "boolean")


def _others(text: Any, value: Any, schema: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    others = [value[name] for name in value if name not in schema.get("properties", {})]
    return all(accepts(text, other) for other in others) if text else not others


def _items(text: Any, value: Any, schema: Schema) -> bool:
    if not isinstance(value, list):
        return True
    inner = [text] * len(value) if isinstance(text, dict) else text
    return all(accepts(entry, item) for entry, item in zip(inner, value, strict=False))


def _any(text: Any, value: Any, schema: Schema) -> bool:
    return True


_WORDS: dict[str, Callable[[Any, Any, Schema], bool]] = {
    **dict.fromkeys(("$schema", "title", "description", "default"), _any),
    "type": _has_type,
    "const": lambda text, value, _: (type(value), value) == (type(text), text),
    "enum": lambda text, value, _: value in text,
    "anyOf": lambda text, value, _: any(accepts(item, value) for item in text),
    "pattern": lambda text, value, _: not isinstance(value, str) or bool(re.search(text, value)),
    "minLength": lambda text, value, _: not isinstance(value, str) or len(value) >= text,
    "maxLength": lambda text, value, _: not isinstance(value, str) or len(value) <= text,
    "minItems": lambda text, value, _: not isinstance(value, list) or len(value) >= text,
    "maxItems": lambda text, value, _: not isinstance(value, list) or len(value) <= text,
    "minimum": lambda text, value, _: not isinstance(value, int | float) or value >= text,
    "maximum": lambda text, value, _: not isinstance(value, int | float) or value <= text,
    "required": lambda text, value, _: not isinstance(value, dict) or set(text) <= set(value),
    "properties": lambda text, value, _: (
        not isinstance(value, dict)
        or all(accepts(text[name], value[name]) for name in text if name in value)
    ),
    "propertyNames": lambda text, value, _: (
        not isinstance(value, dict) or all(accepts(text, name) for name in value)
    ),
    "additionalProperties": _others,
    "items": _items,
}
