"""Convert TOML and dictionaries to a `Spec` and back; all problems are listed at once."""

from __future__ import annotations

import os
import re
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
from leastnoise.tables.spec.section import UNREAD, Section
from leastnoise.tables.spec.source import is_csv
from leastnoise.tables.spec.values import LARGEST_SPEC, SURROGATE
from leastnoise.tables.statistics.registry import parse_queries

if TYPE_CHECKING:
    from pathlib import Path

    from leastnoise.tables.spec.query import Query

    Problems = list[tuple[str, str]]

_PLAIN = {bool, float, int, str}
DEEPEST = 12  # levels of nested lists and tables: twice the depth of any key of a spec
_LONGEST_KEY = 200  # characters of an unknown key that a message quotes
_TEXTS = re.compile(  # texts and comments; without an end they extend to the end of the file
    r"""
    ""\"(?:(?:\\.|[^\\])*?"{3,5}|.*)
    | '''(?:.*?'{3,5}|.*)
    | "(?:(?:\\.|[^"\\\n])*+"|.*)
    | '(?:[^'\n]*+'|.*)
    | \#[^\n]*+
    """,
    re.DOTALL | re.VERBOSE,
)


def read(
    path: Path, *, assume: int | None = None, engine: str | None = None, sql: str | None = None
) -> SpecLayout:
    """Read the spec in the TOML file `path`, and lay out its queries.

    Args:
        path: The file.
        assume: The size of groups for the errors of means, instead of the spec's own.
        engine: The engine, instead of the spec's own.
        sql: The only query, for a spec without queries.

    Raises:
        SourceError: The file can't be read.
        SpecError: The spec has problems; all are listed.
        InvalidArgument: `assume` is given, but no error depends on it.
    """
    if not os.path.lexists(path):  # os.path, because Path raises an error for an impossible path
        raise SourceError(f"Expected a spec file, found none at {path}.")
    if is_csv(path.name):
        raise SourceError(
            f"Expected a spec, got the CSV {path}. To start a spec: leastnoise init {path}"
        )
    raw = parse_toml(_files.read_text(path, most=LARGEST_SPEC))
    if engine is not None and isinstance(raw.get("data"), dict):
        raw["data"]["engine"] = engine
    if sql is not None:
        if "query" in raw:
            why = "The spec has queries, so no query in SQL can be given, too. Leave out either."
            raise SpecError([("query", why)])
        raw["query"] = [{"name": "result", "sql": sql}]
    layout = lay_out(raw, folder=path.parent, assume=assume)
    if assume is not None and all(query.assume is None for query in layout.spec.query):
        raise InvalidArgument(
            name="assume",
            value=f"n={assume}",
            expected="no assumed size, because no error depends on it",
        )
    return layout


def loads(text: str, *, folder: Path | None = None) -> Spec:
    """Parse the spec in the TOML `text`; raises SpecError with all problems.

    Files of keys and sums are read from `folder`; without it no file is read.
    """
    return parse(parse_toml(text), folder=folder)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse `text` as TOML; it needn't be a spec.

    Raises SpecError if it isn't TOML, has values nested too deep, or has a number that is too long.
    """
    too_deep = SpecError([("TOML", "A number is too long, or values are nested too deep.")])
    if _has_long_names(text, 2 * DEEPEST):
        raise too_deep
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        why = f'{error}. Quote texts with ", write 200000 without a separator, and name a key once.'
        raise SpecError([("TOML", why)]) from None
    except (
        ValueError,
        RecursionError,
    ):  # a number with thousands of digits, or too many nested brackets
        raise too_deep from None


def _has_long_names(text: str, most: int) -> bool:
    """True if a key in `text`, perhaps not TOML, has more than `most` names, joined by dots.

    For n names tomllib takes n² steps and opens n nested tables.
    """
    bare = _TEXTS.sub(lambda match: "" if match[0][0] == "#" else "s", text)
    name = r"[A-Za-z0-9_-]++[ \t]*+\.[ \t]*+"
    return re.search(rf"(?<![A-Za-z0-9_-])(?:{name}){{{most}}}", bare) is not None


def parse(raw: Mapping[str, Any], *, folder: Path | None = None) -> Spec:
    """The spec in the nested dictionary `raw`; see `lay_out`."""
    return lay_out(raw, folder=folder).spec


def lay_out(
    raw: Mapping[str, Any], *, folder: Path | None = None, assume: int | None = None
) -> SpecLayout:
    """Read the spec in the nested dictionary `raw`, and lay out its queries.

    Files of keys and sums are read from `folder`; without it no file is read. With `assume`, errors
    that depend on the size of groups are for groups of this size. Raises SpecError with all
    problems.
    """
    problems: Problems = []
    plain = _plain_value(raw, "", problems, DEEPEST + 1)
    queries = plain["query"] if isinstance(plain.get("query"), list) else []
    if any(isinstance(query, dict) and SQL in query for query in queries):
        from leastnoise.tables.parse import sql_queries  # noqa: PLC0415  (0.1 s)

        plain = sql_queries.translate_queries(plain, problems)
    plain = named_files.read_named_files(plain, folder, problems)
    written = _read_model(plain, problems)
    if assume is not None:
        written = _assume_size(written, Assumed(n=assume))
    layout = checks.check(written, unread={key for key, _ in problems})
    if isinstance(layout, SpecLayout):
        return layout
    raise SpecError(problems + layout)


def _read_model(plain: dict[str, Any], problems: Problems) -> Spec:
    """Validate the spec with pydantic.

    A value that can't be read adds a problem, and is replaced by `UNREAD` in `plain`. So a bad
    value doesn't hide problems of other values, which the checks find later. Raises SpecError if
    the spec can't be read without the bad values. `parse` never returns a spec with a problem.
    """
    try:
        return Spec.model_validate(plain)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    # An unknown section comes before missing sections, because it may be one of these, misspelt.
    sections = {(name,) for name in Spec.model_fields}
    errors.sort(key=lambda item: item["loc"][:1] in sections)
    locations = [_locate(item["loc"], item.get("ctx", {})["within"], plain) for item in errors]
    for item, (key, unread) in zip(errors, locations, strict=True):
        problems.append((key, item["msg"]))
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
    location: tuple[int | str, ...], within: int, plain: dict[str, Any]
) -> tuple[str, list[int | str]]:
    """The key of an error, and the path of the value to mark as unread.

    The path omits the last `within` parts of the location, which are inside that value. If a value
    may have several forms, pydantic inserts the name of its apparent form into the location, such
    as "bands[]". Such a value is marked as a whole; in a table `group_by` only the wrong entry is.
    """
    value: Any = plain
    key, unread, is_whole = "", list[int | str](), False
    for left, part in zip(range(len(location))[::-1], location, strict=True):
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


def _assume_size(spec: Spec, size: Assumed) -> Spec:
    """Assume groups of this size in every query whose errors depend on it."""
    queries: list[Query] = []
    for parsed in parse_queries(spec):
        sized = any(statistic.needs_size for statistic in parsed.statistics)
        queries.append(parsed.query.model_copy(update={"assume": size}) if sized else parsed.query)
    return spec.model_copy(update={"query": tuple(queries)})


def _plain_value(value: Any, key: str, problems: Problems, left: int = DEEPEST) -> Any:
    """Convert tuples and arrays to lists, paths to texts, and whole numbers of all types to ints.

    A key that isn't a text in UTF-8 is a problem, and left out. Raises SpecError for more than
    `left` levels of nested lists and tables.
    """
    if left < 0:
        why = f"Values are nested more than {DEEPEST} levels deep, which no spec needs."
        raise SpecError([(key[:_LONGEST_KEY], why)])
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        plain: dict[str, Any] = {}
        for given, inner in value.items():
            name = given.item() if isinstance(given, np.str_) else given
            within = f"{key}." if key else ""
            if isinstance(name, str) and not SURROGATE.search(name):
                plain[name] = _plain_value(inner, f"{within}{name}", problems, left - 1)
            else:
                why = "Expected a text as the name, without characters that UTF-8 can't encode."
                problems.append((f"{within}{name!r}"[:_LONGEST_KEY], why))
        return plain
    is_array = isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    if isinstance(value, list | tuple) or (is_array and value.ndim):  # tolist() would lose float64
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
    """The normalised spec as plain values; fractions become exact ints or texts.

    The only floats are the edges −∞ and ∞, which TOML can write.
    """
    return _plain(spec)


def dumps(spec: Spec) -> str:
    """Write TOML that parses into an equal spec, with every group_by in its order."""
    return spec_text.write(to_dict(spec))


def _is_explicit(section: BaseModel, name: str) -> bool:
    """True if this field of a section is written even if it is empty.

    That is so for `statistics = []` if the spec gives it, since it asks for keys alone.
    """
    return name == "statistics" and name in section.model_fields_set


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        model = type(value).model_fields
        fields = {field.alias or name: getattr(value, name) for name, field in model.items()}
        return {
            name: _plain(inner)
            for name, inner in fields.items()
            if inner is not False  # 0 == False, but 0 is kept
            and not (isinstance(value, Section) and name in value.implied)
            and (inner not in (None, (), {}) or _is_explicit(value, name))
        }
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, Fraction):
        small_integer = value.denominator == 1 and abs(value) < 2**53
        return int(value) if small_integer else decimal_text(value)
    return value
