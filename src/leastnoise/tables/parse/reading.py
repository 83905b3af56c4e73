"""From plain values to a `Spec` by pydantic, and its errors in our own words, each with its key.

One bad value doesn't hide what the checks of others would find: it is marked `UNREAD`, and the rest
is read. A spec with a problem never leaves `parse`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final, get_args, get_origin

from pydantic import ValidationError

from leastnoise import _validate
from leastnoise.errors import SpecError
from leastnoise.tables.spec.model import Spec
from leastnoise.tables.spec.values import UNREAD, Section

if TYPE_CHECKING:
    Problems = list[tuple[str, str]]

_MOST_HINTS = 100  # problems that are told with what may have been meant, which takes time
_ENTRIES = ("types", "group_by", "derive")  # whose entries are unread one by one
_EXPECTED = {
    "string_type": "Expected a text in quotes",
    "string_too_short": "Expected a text that isn't empty",
    "string_too_long": "Expected a text of at most {max_length:,} characters",
    "string_unicode": "Expected a text that UTF-8 can hold",
    "greater_than_equal": "Expected a number greater than or equal to {ge}",
    "less_than_equal": "Expected a number less than or equal to {le}",
    "int_type": "Expected a whole number",
    "bool_type": "Expected true or false",
    "tuple_type": "Expected a list",
    "dict_type": "Expected a table of keys",
    "too_short": "Expected {min_length} or more values",
    "too_long": "Expected at most {max_length} values",
    "missing": "Missing",
    "extra_forbidden": "Unknown key",
}
"""pydantic's kinds of errors in our words, with its own fields."""
_RENAMED = {"where": "conditions", "weight": "importance"}
"""Keys of earlier states of version 1."""


def read_model(raw: dict[str, Any], problems: Problems) -> Spec:
    """The spec in `raw`, in which every value that can't be read is a problem, and `UNREAD`.

    Raises SpecError if nothing can be read with such values left out.
    """
    try:
        return Spec.model_validate(raw)
    except ValidationError as error:
        items = error.errors(include_url=False)
    # a section that nobody knows stands before those that are missing: it may be one of them
    items.sort(key=lambda item: item["type"] != "extra_forbidden" or len(item["loc"]) > 1)
    told = Counter[tuple[str | int, ...]]()
    for item, place in [(item, _locate(item, raw)) for item in items]:
        told[place.path] += 1
        if told[place.path] <= _MOST_HINTS:
            hints = len(problems) < _MOST_HINTS
            problems.append((place.key, _message(item, place, hints=hints)))
        _mark_unread(raw, place, unknown=item["type"] == "extra_forbidden")
    try:
        return Spec.model_validate(raw)
    except ValidationError:
        raise SpecError(problems) from None


@final
@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where an error is: its `key`, and the `path` of what is unread, a part of it.

    `owner` has the field `name`, in which the error is. `section` is the model of the value there,
    None if it has no keys of its own.
    """

    key: str
    path: tuple[str | int, ...]
    is_whole: bool
    owner: type[Section]
    name: str
    section: type[Section] | None


def _locate(item: Any, raw: dict[str, Any]) -> _Place:
    """Find the place of an error. pydantic names forms of a value between its keys: "bands[]"."""
    value: Any = raw
    key, path, passed = "", (), ()
    owner, name, section, depth = Spec, "", Spec, 0  # the section is `depth` names further
    is_one_value = False  # which is unread as a whole
    for number, part in enumerate(item["loc"], start=1):
        is_missing = item["type"] == "missing" and number == len(item["loc"])
        if isinstance(value, list) and isinstance(part, int):
            value, key = value[part] if part < len(value) else None, f"{key}[{part}]"
        elif isinstance(value, dict) and (part in value or is_missing):
            value, key = value.get(part), f"{key}.{part}" if key else str(part)
        else:
            is_one_value |= part != "groups[]"
            continue
        passed = (*passed, part)
        if section is not None and depth == 0 and part in section.fields_by_key():
            owner, name = section, str(part)
            section, depth = _section_in(owner.fields_by_key()[name].annotation)
            fits = True
        else:
            depth -= 1
            fits = section is not None and depth <= 0
            fits |= name in _ENTRIES and len(passed) == len(path) + 1
        if fits and not is_one_value:
            path = passed
    here = section if depth <= 0 else None
    return _Place(key=key, path=path, is_whole=path == passed, owner=owner, name=name, section=here)


def _section_in(annotation: Any) -> tuple[type[Section] | None, int]:
    """The section that a field's value is made of, if it is one alone, and how many names deep."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, 0
    found = {_section_in(one) for one in get_args(annotation)} - {(None, 0)}
    if len(found) != 1:
        return None, 0
    ((section, depth),) = found
    return section, depth + (get_origin(annotation) in {dict, tuple})


def _mark_unread(raw: dict[str, Any], place: _Place, *, unknown: bool) -> None:
    """Take what is at the place out of `raw`, as far as it can't be read."""
    inner: Any = raw
    *above, last = place.path
    for part in above:
        inner = inner[part]
        if inner is UNREAD:
            return
    if unknown and place.is_whole:
        del inner[last]
    else:
        inner[last] = UNREAD


def _message(item: Any, place: _Place, *, hints: bool) -> str:
    """What is wrong there, and an example of what to write."""
    kind, value = item["type"], item["input"]
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind == "missing" and item["loc"][-1] == place.name:
        field = place.owner.fields_by_key()[place.name]
        return f"Missing: {field.description}. Write {_example(place)}"
    if kind == "model_type" and place.section is not None:
        return f"Expected a table of {', '.join(place.section.fields_by_key())}."
    if kind == "extra_forbidden" and place.section is not None:
        return f"Unknown key. {_known_keys(str(item['loc'][-1]), place.section, hints=hints)}"
    if kind == "literal_error":
        return f"Expected {item['ctx']['expected']}.{_got(value)}{_meant(item, value)}"
    known = _EXPECTED.get(kind)
    why = known.format(**item.get("ctx", {})) if known else item["msg"]
    return f"{why}.{_got(value)} Write it like {_example(place)}"


def _got(value: object) -> str:
    is_short = isinstance(value, str | int | float) and len(repr(value)) < 40
    return f" Got {value!r}." if is_short else ""


def _meant(item: Any, value: object) -> str:
    """Which of the possible texts may have been meant, to end a message."""
    if not isinstance(value, str):
        return ""
    allowed = item["ctx"]["expected"].replace(" or ", ",").split(",")
    hint = _validate.nearest(value, [choice.strip(" '") for choice in allowed])
    if any(word in value for word in ("replace", "change", "bounded")):
        hint += ' Where one person is replaced by another, write "replace-one".'
    return f" {hint.strip()}" if hint else ""


def _known_keys(name: str, section: type[Section], *, hints: bool) -> str:
    known = tuple(section.fields_by_key())
    if _RENAMED.get(name) in known:
        return f"It is called {_RENAMED[name]} now."
    near = _validate.nearest(name, known) if hints else ""
    return near or f"Known: {', '.join(known)}."


def _example(place: _Place) -> str:
    """TOML that gives a key, in one line."""
    (example,) = place.owner.fields_by_key()[place.name].examples or [""]
    header, *keys = str(example).split("\n")
    return f"{header} with {' and '.join(keys)}" if keys else header
