"""TOML and dictionaries to a `Spec` and back; every problem found is listed at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ValidationError

from leastnoise import _files, _validate
from leastnoise.errors import InvalidArgument, SourceError, SpecError
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.layout.layout import SpecLayout
from leastnoise.tables.parse import checks, named_files, spec_text
from leastnoise.tables.spec.model import Spec
from leastnoise.tables.spec.query import SQL, Assumed
from leastnoise.tables.spec.section import UNREAD
from leastnoise.tables.spec.values import LARGEST_SPEC, SURROGATE
from leastnoise.tables.statistics.registry import known_statistics

if TYPE_CHECKING:
    from pathlib import Path

    from leastnoise.tables.spec.query import Query

    Problems = list[tuple[str, str]]

_PLAIN = {bool, float, int, str}
DEEPEST = 12  # lists and tables in each other: twice what any key of a spec has
_LONGEST_KEY = 200  # characters, of a key that isn't one of a spec


def read(
    path: Path, *, assume: int | None = None, engine: str | None = None, sql: str | None = None
) -> SpecLayout:
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
    found = lay_out(raw, folder=path.parent, assume=assume)
    if assume is not None and all(query.assume is None for query in found.spec.query):
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


def parse(raw: Mapping[str, Any], *, folder: Path | None = None) -> Spec:
    """Return the spec that `lay_out` reads."""
    return lay_out(raw, folder=folder).spec


def lay_out(
    raw: Mapping[str, Any], *, folder: Path | None = None, assume: int | None = None
) -> SpecLayout:
    """The spec in the nested dictionary `raw`, and the layouts of its queries.

    Files of keys are read from `folder`, and none without it. With `assume`, what depends on the
    size of groups is for groups of so many rows. Raises SpecError listing every problem.
    """
    problems: Problems = []
    plain = _plain_value(raw, "", problems, DEEPEST + 1)
    if any(isinstance(query, dict) and SQL in query for query in _queries(plain)):
        from leastnoise.tables.parse import sql_queries  # noqa: PLC0415  (0.1 s)

        plain = sql_queries.translated(plain, problems)
    plain = named_files.resolved(plain, folder, problems)
    written = _read_model(plain, problems)
    if assume is not None:
        written = _with_assumed(written, Assumed(n=assume))
    found = checks.check(written, unread={key for key, _ in problems})
    if isinstance(found, SpecLayout):
        return found
    raise SpecError(problems + found)


def _read_model(plain: dict[str, Any], problems: Problems) -> Spec:
    """The spec that pydantic reads; what can't be read is a problem, and `UNREAD` in the spec.

    So one bad value doesn't hide what the checks would find of others. Raises SpecError if nothing
    can be read without it. A spec with a problem never leaves `parse`.
    """
    try:
        return Spec.model_validate(plain)
    except ValidationError as error:
        found = error.errors(include_url=False)
    # An unknown section stands before those that are missing: it may be one of them.
    sections = {(name,) for name in Spec.model_fields}
    found.sort(key=lambda one: one["loc"][:1] in sections)
    places = [_locate(one["loc"], one.get("ctx", {})["within"], plain) for one in found]
    for one, (key, unread) in zip(found, places, strict=True):
        problems.append((key, one["msg"]))
        inner: Any = plain
        for part in unread[:-1]:
            inner = inner if inner is UNREAD else inner[part]
        if inner is not UNREAD:
            inner[unread[-1]] = UNREAD
    try:
        return Spec.model_validate(plain)
    except ValidationError:
        raise SpecError(problems) from None


def _locate(
    place: tuple[int | str, ...], within: int, plain: dict[str, Any]
) -> tuple[str, list[int | str]]:
    """The key of an error's place, and the path of what is unread, `within` parts shorter.

    Between keys pydantic names the form that a value seems to have, such as "bands[]": a value of
    several forms is unread as a whole.
    """
    value: Any = plain
    key, unread, is_whole = "", list[int | str](), False
    for left, part in zip(range(len(place))[::-1], place, strict=True):
        if isinstance(value, list) and isinstance(part, int):
            value = value[part] if part < len(value) else None
            key += f"[{part}]"
        elif isinstance(value, dict) and (part in value or not (left or "[" in str(part))):
            value = value.get(part)
            key += f".{part}" if key else str(part)
        else:
            is_whole |= part != "groups[]"
            continue
        if left >= within and not is_whole:
            unread.append(part)
    return key, unread


def _queries(plain: Mapping[str, Any]) -> list[Any]:
    queries = plain.get("query")
    return queries if isinstance(queries, list) else []


def _with_assumed(spec: Spec, size: Assumed) -> Spec:
    """The spec in which every query assumes groups of this size whose errors depend on it."""
    queries: list[Query] = []
    for query in spec.query:
        asked = known_statistics(query, by_row=spec.privacy.by_row)
        sized = any(one.needs_size for one in asked)
        queries.append(query.model_copy(update={"assume": size}) if sized else query)
    return spec.model_copy(update={"query": tuple(queries)})


def _plain_value(value: Any, key: str, problems: Problems, left: int = DEEPEST) -> Any:
    """`value` with lists for arrays, texts for paths, and Python's own ints and bools.

    A name that is no text is a problem, and left out. Raises SpecError for more than `left` lists
    and tables in each other.
    """
    if left < 0:
        why = f"Values are nested more than {DEEPEST} deep, as none of a spec are."
        raise SpecError([(key[:_LONGEST_KEY], why)])
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for given, inner in value.items():
            name = given.item() if isinstance(given, np.str_) else given
            within = f"{key}." if key else ""
            if isinstance(name, str) and not SURROGATE.search(name):
                found[name] = _plain_value(inner, f"{within}{name}", problems, left - 1)
            else:
                why = "Expected a name that is a text, and that UTF-8 can hold."
                problems.append((f"{within}{name!r}"[:_LONGEST_KEY], why))
        return found
    is_array = isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    if isinstance(value, list | tuple) or (is_array and value.ndim):  # no tolist(): float64
        return [
            inner
            if type(inner) in _PLAIN
            else _plain_value(inner, f"{key}[{index}]", problems, left - 1)
            for index, inner in enumerate(value)
        ]
    if isinstance(value, np.bool_ | np.str_):
        return value.item()
    whole = str(value) if isinstance(value, PurePath) else _validate.as_int(value)
    return value if whole is None else whole


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
