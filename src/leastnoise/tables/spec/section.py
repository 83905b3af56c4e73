"""A table of keys in a spec: how pydantic reads one, and what is wrong with it, in our words."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from leastnoise import _validate

UNREAD: Any = object()
"""Stands where a spec has a value that can't be read, so that the rest is read all the same."""
_MOST_TOLD = 100  # problems of one key, and problems that suggest a key, which takes time
_TOLD = (
    "told"  # our kind of error; the last `within` parts of its place are inside the unread value
)
_ENTRIES = (
    "types",
    "group_by",
    "derive",
    "conditions",
)  # whose entries are unread one by one: see `entry`
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


def key(meaning: str, example: str, **options: Any) -> Any:
    """Declare a key of a spec: what it means, without a full stop, and TOML that gives it."""
    return Field(description=meaning, examples=[example], **options)


def entry(written: Any) -> WrapValidator:
    """Mark an entry of a table, which is `written` so: unread, it is None, and others are read."""
    return WrapValidator(_none_if_unread, json_schema_input_type=written)


def _none_if_unread(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    return None if value is UNREAD else read(value)


class Section(BaseModel):
    """A table of a spec, which holds its fields and nothing else, for good.

    A key that is None counts as absent. A field that is `UNREAD` becomes its default, or None if it
    has no default.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, frozen=True, extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, value: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        known = cls._fields()
        if value is UNREAD:
            value = {name: UNREAD for name, one in known.items() if one.is_required()}
        if isinstance(value, dict):
            value = {
                name: one
                for name, one in value.items()
                if one is not None and (one is not UNREAD or name in known)
            }
        try:
            return read(value)
        except ValidationError as error:
            raise cls._in_our_words(error) from None

    @field_validator("*", mode="wrap")
    @classmethod
    def _read_field(
        cls, value: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        if value is not UNREAD:
            return read(value)
        field = cls.model_fields[info.field_name or ""]
        if not field.is_required():
            return field.get_default(call_default_factory=True)
        try:
            return read(value)  # a section of unread fields
        except ValidationError:
            return None

    @classmethod
    def _fields(cls) -> dict[str, FieldInfo]:
        """The fields by the keys that a spec writes."""
        return {one.alias or name: one for name, one in cls.model_fields.items()}

    @classmethod
    def _in_our_words(cls, error: ValidationError) -> ValidationError:
        """The error with our messages; errors of sections within this section have them already."""
        told = Counter[int | str]()
        found: list[InitErrorDetails] = []
        for number, item in enumerate(error.errors(include_url=False)):
            place, said = item["loc"], item.get("ctx", {})
            if item["type"] != _TOLD:
                first, *form = place or ("",)
                told[first] += 1
                if told[first] > _MOST_TOLD:
                    continue
                within = len(form)
                if form and first in _ENTRIES:
                    within -= {"groups[]": 2, "names[]": 0}.get(str(form[0]), 1)
                why = cls._message(item, hint=number < _MOST_TOLD)
                said = {"why": why, "within": max(within, 0)}
            custom = PydanticCustomError(_TOLD, "{why}", said)
            found.append(InitErrorDetails(type=custom, loc=place, input=item["input"]))
        return ValidationError.from_exception_data(cls.__name__, found)

    @classmethod
    def _message(cls, item: Any, *, hint: bool) -> str:
        """What is wrong with this section, or one of its keys, and an example of what to write."""
        kind, place, value, fields = item["type"], item["loc"], item["input"], cls._fields()
        if kind == "value_error":
            return str(item["ctx"]["error"])
        if not place:
            return f"Expected a table of {', '.join(fields)}."
        if kind == "extra_forbidden" and len(place) == 1:
            return f"Unknown key. {_known(str(place[0]), tuple(fields), hint=hint)}"
        field = fields[place[0]]
        (example,) = field.examples or [""]
        header, *keys = str(example).split("\n")
        written = f"{header} with {' and '.join(keys)}" if keys else header
        if kind == "missing" and len(place) == 1:
            return f"Missing: {field.description}. Write {written}"
        is_short = isinstance(value, str | int | float) and len(repr(value)) < 40
        got = f" Got {value!r}." if is_short else ""
        if kind == "literal_error":
            allowed = item["ctx"]["expected"]
            return f"Expected {allowed}.{got}{_meant(allowed, value)}"
        why = _EXPECTED[kind].format(**item.get("ctx", {})) if kind in _EXPECTED else item["msg"]
        return f"{why}.{got} Write it like {written}"


def _known(name: str, known: tuple[str, ...], *, hint: bool) -> str:
    """Return a hint: the key that `name` may stand for, or all known keys."""
    return (hint and _validate.nearest(name, known)) or f"Known: {', '.join(known)}."


def _meant(allowed: str, value: object) -> str:
    """Which of the `allowed` texts may have been meant, to end a message."""
    if not isinstance(value, str):
        return ""
    choices = [choice.strip(" '") for choice in allowed.replace(" or ", ",").split(",")]
    hint = _validate.nearest(value, choices)
    if any(word in value for word in ("replace", "change", "bounded")):
        hint += ' Where one person is replaced by another, write "replace-one".'
    return f" {hint.strip()}" if hint else ""
