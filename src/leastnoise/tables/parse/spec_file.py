"""TOML and dictionaries to a `Spec` and back; every problem found is listed at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError

from leastnoise import _files, _validate
from leastnoise.errors import InvalidArgument, SourceError, SpecError
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.parse import added_queries, checks, named_files, spec_text, sql_queries
from leastnoise.tables.query.layout import LaidOut
from leastnoise.tables.spec.column import Column
from leastnoise.tables.spec.model import Spec
from leastnoise.tables.spec.query import Query
from leastnoise.tables.spec.values import LARGEST_SPEC
from leastnoise.tables.statistics import registry

if TYPE_CHECKING:
    from pathlib import Path

Model = TypeVar("Model", bound=BaseModel)
Problems = list[tuple[str, str]]

_PLAIN = {bool, float, int, str}
DEEPEST = 12  # lists and tables in each other: twice what any key of a spec has
_MOST_HINTS = 100  # problems that are told with what may have been meant, which takes time
_ENTRIES = ("types", "group_by", "derive")
_EXPECTED = {
    "string_type": "Expected a text in quotes",
    "string_too_short": "Expected a text that isn't empty",
    "int_type": "Expected a whole number",
    "bool_type": "Expected true or false",
    "tuple_type": "Expected a list",
    "dict_type": "Expected a table of keys",
    "too_short": "Expected {min_length} or more values",
    "too_long": "Expected at most {max_length} values",
    "missing": "Missing",
    "extra_forbidden": "Unknown key",
}
"""What pydantic's kinds of errors are called here, with its own fields."""


def read(
    path: Path, *, assume: int | None = None, engine: str | None = None, sql: str | None = None
) -> LaidOut:
    """Return the spec in the TOML file `path`, laid out.

    With `assume`, for means of groups of that size, with `engine` read by that in place of its own,
    with `sql` of that query, which is the only one. Raises SourceError if the file
    can't be read, SpecError listing every problem it has.
    """
    if not os.path.lexists(path):  # os.path, because a Path raises for what can't be one
        raise SourceError(f"Expected a spec file, found none at {path}.")
    raw = parse_toml(_files.read_text(path, most=LARGEST_SPEC))
    if engine is not None and isinstance(raw.get("data"), dict):
        raw["data"]["engine"] = engine
    if sql is not None:
        if "query" in raw:
            raise SpecError([("query", "Not used with a query of SQL beside the spec.")])
        raw["query"] = [{"name": "result", "sql": sql}]
    if assume is None:
        return lay_out(raw, folder=path.parent)
    problems: Problems = []
    plain = sql_queries.translated(raw, problems)
    found = lay_out(raw if problems else _assuming(plain, assume), folder=path.parent)
    if all(query.assume is None for query in found.spec.query):
        raise InvalidArgument(
            name="assume",
            value=f"n={assume}",
            expected="no assumed size, as no query's error depends on it",
        )
    return found


def loads(text: str, *, folder: Path | None = None) -> Spec:
    """Return the spec that the TOML `text` spells; raises SpecError listing every problem.

    Files of keys are read from `folder`, and none without it.
    """
    return parse(parse_toml(text), folder=folder)


def parse_toml(text: str) -> dict[str, Any]:
    """Return what the TOML `text` says, which may be no spec; raises SpecError."""
    too_deep = SpecError([("TOML", "A number is too long, or values are nested too deep.")])
    if spec_text.has_long_names(text, 2 * DEEPEST):
        raise too_deep
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError([("TOML", f"{error}.")]) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or brackets in brackets
        raise too_deep from None


def _assuming(raw: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return a spec in which every block assumes groups of so many rows that has to."""
    blocks, changed = raw.get("query"), list[Any]()
    for block in blocks if isinstance(blocks, list) else []:
        asked = block.get("statistics") if isinstance(block, dict) else None
        sized = isinstance(asked, list) and any(map(_needs_size, asked))
        changed.append(block | {"assume": {"n": rows}} if sized else block)
    return raw | {"query": changed} if changed else raw


def _needs_size(text: object) -> bool:
    try:
        return isinstance(text, str) and registry.parse(text).needs_size
    except ValueError:  # said later, with its key
        return False


def parse(raw: Mapping[str, Any], *, folder: Path | None = None) -> Spec:
    """Return the spec that `lay_out` reads."""
    return lay_out(raw, folder=folder).spec


def lay_out(raw: Mapping[str, Any], *, folder: Path | None = None) -> LaidOut:
    """Return the spec in the nested dictionary `raw`, and the layouts of its queries.

    Files of keys are read from `folder`, and none without it. Raises SpecError listing every
    problem.
    """
    problems: Problems = []
    raw = {key: _plain_value(key, value) for key, value in raw.items()}
    raw = named_files.resolved(sql_queries.translated(raw, problems), folder, problems)
    partial = added_queries.with_candidates(_fields(Spec, raw, "", problems))
    found = checks.check(partial, unread={key for key, _ in problems})
    for with_more in (added_queries.with_counts, added_queries.with_queries):
        if not isinstance(found, LaidOut):
            break
        spec, keys = with_more(found.spec)
        found = checks.check(spec) if keys else found
        if not isinstance(found, LaidOut):
            found = [(keys.get(key.partition("]")[0] + "]", key), why) for key, why in found]
    if isinstance(found, LaidOut):
        return found
    problems += found
    # What is missing only because the section around it is, is told with the section.
    absent = {key for key, message in problems if message.startswith("Missing: ")}
    raise SpecError(
        [one for one in problems if absent.isdisjoint(checks.around(one[0], marks="."))]
    )


def _plain_value(key: Any, value: Any) -> Any:
    """Return a section without numpy's types and paths; raises SpecError where it is too deep."""
    try:
        return _in_plain_types(value, DEEPEST)
    except RecursionError:
        why = f"Values are nested more than {DEEPEST} deep, as none of a spec are."
        raise SpecError([(str(key), why)]) from None


def _in_plain_types(value: Any, left: int = DEEPEST) -> Any:
    """Return a nested value with lists for arrays, texts for paths, Python's own ints and bools.

    Raises RecursionError for more than `left` lists and tables in each other.
    """
    if left < 0:
        raise RecursionError
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {
            _in_plain_types(key): _in_plain_types(inner, left - 1) for key, inner in value.items()
        }
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and value.ndim:
        return [_in_plain_types(inner, left - 1) for inner in value]  # no tolist(): float64
    if isinstance(value, (list, tuple)):
        return [_in_plain_types(inner, left - 1) for inner in value]
    if isinstance(value, (np.bool_, np.str_)):
        return value.item()
    whole = str(value) if isinstance(value, PurePath) else _validate.as_int(value)
    return value if whole is None else whole


def _columns(raw: object, problems: Problems) -> dict[str, Column]:
    if not isinstance(raw, Mapping):
        problems.append(("columns", "Expected a table of columns."))
        return {}
    problems += [
        (f"columns.{name!r}", "Expected a column's name, a text.")
        for name in raw
        if not _is_text(name)
    ]
    return {
        name: _fields(Column, column, f"columns.{name}", problems)
        for name, column in raw.items()
        if _is_text(name)
    }


def _queries(raw: object, problems: Problems) -> tuple[Query, ...]:
    if not isinstance(raw, (list, tuple)):
        problems.append(("query", "Expected a list of queries: write [[query]]."))
        return ()
    return tuple(
        _fields(Query, block, f"query[{index}]", problems) for index, block in enumerate(raw)
    )


def _fields(model: type[Model], raw: object, path: str, problems: Problems) -> Model:
    """Return `model` with every field that can be read; the rest have their default, or None.

    Field by field, and not the model at once, so that a bad field doesn't hide what the checks
    of the others would find. A model with a problem never leaves `parse`.
    """
    if not isinstance(raw, Mapping):
        problems.append((path, f"Expected a table of {', '.join(model.model_fields)}."))
        raw = {}
    else:
        _unknown_keys(raw, model, path, problems)
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        key, value = f"{path}.{name}" if path else name, raw.get(name)
        absent = value is None
        if absent and field.is_required():
            problems.append((key, _missing(model, name)))
        if name in _SEVERAL and not absent:
            values[name] = _SEVERAL[name](value, problems)
        elif name in _SEVERAL and field.is_required():
            values[name] = ()
        elif (nested := _model_of(model, name)) and (field.is_required() or not absent):
            values[name] = _fields(nested, {} if absent else value, key, problems)
        elif not absent:
            values[name] = _value(model, name, raw, problems, path=path)
        elif field.is_required():
            values[name] = None
    return model.model_construct(**values)


@cache
def _model_of(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """Return the model that a field's value is, None if it is none, or several by name."""
    annotation: Any = model.model_fields[name].annotation
    if get_origin(annotation) in {dict, tuple}:
        return None
    kinds = get_args(annotation) or (annotation,)
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)


_SEVERAL: dict[str, Callable[[object, Problems], object]] = {"columns": _columns, "query": _queries}
"""What reads a section of several tables, each of which is a model."""


def _value(
    model: type[BaseModel], name: str, raw: Mapping[str, Any], problems: Problems, *, path: str
) -> Any:
    field, adapter, value = model.model_fields[name], _adapter(model, name), raw[name]
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        where = f"{path}.{name}" if path else name
        hint = f"Write it like {_example(model, name)}"
        items = error.errors()
        problems += [
            (_dotted(where, item["loc"]), _message(item, hint)) for item in items[:_MOST_HINTS]
        ]
        if name in _ENTRIES and isinstance(value, Mapping):
            # One bad entry doesn't make the others bad. The error names some keys in its own way.
            tags = name == "group_by"  # the first part is which of two forms was meant
            bad = {item["loc"][tags] for item in items if len(item["loc"]) > tags}
            named = {key: entry for key, entry in value.items() if _is_text(key)}
            good = {key: entry for key, entry in named.items() if key not in bad}
            return adapter.validate_python(good) | {key: None for key in named if key in bad}
    except UnicodeEncodeError:  # of an error's message, which quotes the value
        problems.append((f"{path}.{name}" if path else name, "Expected text that UTF-8 can hold."))
    return None if field.is_required() else field.get_default(call_default_factory=True)


@cache
def _adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return what reads one field of a model; making it takes a hundred times as long as using."""
    field = model.model_fields[name]
    annotation: Any = field.annotation
    for note in field.metadata:
        annotation = Annotated[annotation, note]
    return TypeAdapter(annotation, config={"strict": True})


def _is_text(name: object) -> bool:
    """Say whether `name` is a text that UTF-8 can hold, without half of a surrogate pair."""
    return isinstance(name, str) and not any(0xD800 <= ord(letter) < 0xE000 for letter in name)


def _dotted(path: str, location: tuple[int | str, ...]) -> str:
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not any(mark in part for mark in "[]()"):  # those are pydantic's own names of types
            path += f".{part}"
    return path


def _message(item: Any, example: str) -> str:
    """Return pydantic's message in the house's wording, with an `example` of what to write."""
    if item["type"] == "value_error":
        return str(item["ctx"]["error"])
    value = item["input"]
    got = (
        f" Got {value!r}." if isinstance(value, (str, int, float)) and len(repr(value)) < 40 else ""
    )
    if item["type"] == "literal_error" and isinstance(value, str):
        allowed = item["ctx"]["expected"]
        choices = [choice.strip(" '") for choice in allowed.replace(" or ", ",").split(",")]
        hint = _validate.nearest(value, choices)
        return f"Expected {allowed}.{got}{' ' if hint else ''}{hint}{_why(value)}"
    known = _EXPECTED.get(item["type"])
    why = known.format(**item.get("ctx", {})) if known else item["msg"]
    return f"{why}.{got} {example}"


def _why(value: str) -> str:
    if "replace" in value or "change" in value or "bounded" in value:
        return ' Where one person is replaced by another, write "replace-one".'
    return ""


def _missing(model: type[BaseModel], key: str) -> str:
    """Return what an error says of a key that has to be there and isn't."""
    return f"Missing: {model.model_fields[key].description}. Write {_example(model, key)}"


def _example(model: type[BaseModel], key: str) -> str:
    """Return TOML that gives a key, in one line."""
    (example,) = model.model_fields[key].examples or [""]
    header, *keys = example.split("\n")
    return f"{header} with {' and '.join(keys)}" if keys else header


_RENAMED = {"where": "conditions", "weight": "importance"}
"""Keys of earlier states of version 1."""


def _unknown_keys(
    raw: Mapping[str, Any], model: type[BaseModel], path: str, problems: Problems
) -> None:
    known = tuple(model.model_fields)
    for name in raw:
        if name not in known:
            near = len(problems) < _MOST_HINTS and _validate.nearest(str(name), known)
            hint = near or f"Known: {', '.join(known)}."
            if (new := _RENAMED.get(str(name))) in known:
                hint = f"It is called {new} now."
            problems.append((f"{path}.{name}" if path else str(name), f"Unknown key. {hint}"))


def to_dict(spec: Spec) -> dict[str, Any]:
    """Return the normalised spec as plain values; fractions become exact ints or texts.

    Floats are left only where an edge is −∞ or ∞, which TOML has words for.
    """
    return _plain(spec)


def dumps(spec: Spec) -> str:
    """Return TOML that reads back as an equal spec, every group_by in its order."""
    return spec_text.write(to_dict(spec))


def _says_none(section: BaseModel, name: str) -> bool:
    """Whether a section says that it has none of these: `statistics = []` asks for keys alone."""
    return name == "statistics" and name in section.model_fields_set


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        model = type(value).model_fields
        fields = {field.alias or name: getattr(value, name) for name, field in model.items()}
        return {
            name: _plain(inner)
            for name, inner in fields.items()
            if inner is not False  # 0 == False, and is kept
            and (inner not in (None, (), {}) or _says_none(value, name))
        }
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, Fraction):
        small_integer = value.denominator == 1 and abs(value) < 2**53
        return int(value) if small_integer else decimal_text(value)
    return value
