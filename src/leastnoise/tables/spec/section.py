"""The base class of a spec's sections: how pydantic reads them, with leastnoise's messages."""

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
"""Placeholder for a value that can't be read, so that the rest of the spec can be checked."""
# the most problems that are reported for one key, and that get a hint, which takes time to find
_MOST_PROBLEMS = 100
# An error with our message. Its `within` counts the last parts of its location that lie inside the
# value that couldn't be read.
_OUR_ERROR = "told"
_ENTRIES = ("types", "group_by", "derive", "conditions")  # keys whose single entries may be unread
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
"""leastnoise's message for each of pydantic's error types; pydantic gives the values in {}."""
_OTHER_NAMES = {
    "bigint": "int", "boolean": "bool", "decimal": "float", "double": "float", "integer": "int",
    "number": "float", "numeric": "float", "real": "float", "str": "text", "string": "text",
    "varchar": "text",
}  # fmt: skip
"""Names of column types in other programs, each with the type here that is probably meant."""
_TIMES = {"date", "datetime", "timestamp"}
_WRONG_FORM = {"string_type", "int_type", "bool_type", "tuple_type"}


def key(meaning: str, example: str, **options: Any) -> Any:
    """Declare a key of a spec: its meaning, without a full stop, and an example in TOML."""
    return Field(description=meaning, examples=[example], **options)


def entry(written: Any) -> WrapValidator:
    """A validator for the entries of a table: an entry that is `UNREAD` becomes None.

    `written` is the type of an entry in the JSON Schema.
    """
    return WrapValidator(_none_if_unread, json_schema_input_type=written)


def _none_if_unread(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    return None if value is UNREAD else read(value)


class Section(BaseModel):
    """A section of a spec: immutable; its only keys are its fields.

    A key that is None counts as absent. A field that is `UNREAD` becomes its default. Without a
    default it becomes None, an empty tuple, or a section of unread fields.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, frozen=True, extra="forbid")
    forms: ClassVar[dict[str, str]] = {}
    """Phrases that list all forms of a key, for keys whose values have several forms."""
    elsewhere: ClassVar[dict[str, str]] = {}
    """By key: correct TOML for keys that belong in a section inside this section."""

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, value: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        known = cls._fields()
        if value is UNREAD:
            value = {name: UNREAD for name, field in known.items() if field.is_required()}
        if isinstance(value, dict):
            value = {
                name: item
                for name, item in value.items()
                if item is not None and (item is not UNREAD or name in known)
            }
            value = cls.complete(value)
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
            return read(value)  # a section with unread fields
        except ValidationError:
            return None

    @classmethod
    def complete(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the keys of the section from the keys as given.

        Subclasses may add keys that follow from these, or raise ValueError if a key is missing.
        """
        return value

    @property
    def implied(self) -> frozenset[str]:
        """The names of keys that follow from others, and so are left out when a spec is written."""
        return frozenset()

    @classmethod
    def _fields(cls) -> dict[str, FieldInfo]:
        """The fields of the section, by their keys in a spec."""
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    @classmethod
    def _in_our_words(cls, error: ValidationError) -> ValidationError:
        """Replace pydantic's messages in an error by leastnoise's messages.

        Errors of sections within this section have leastnoise's messages already.
        """
        problems = Counter[int | str]()
        details: list[InitErrorDetails] = []
        for number, item in enumerate(error.errors(include_url=False)):
            location, context = item["loc"], item.get("ctx", {})
            if item["type"] != _OUR_ERROR:
                first, *form = location or ("",)
                problems[first] += 1
                if problems[first] > _MOST_PROBLEMS:
                    continue
                within = len(form)
                if form and first in _ENTRIES:
                    within -= {"groups[]": 2, "names[]": 0}.get(str(form[0]), 1)
                why = cls._message(item, hint=number < _MOST_PROBLEMS)
                context = {"why": why, "within": max(within, 0)}
            custom = PydanticCustomError(_OUR_ERROR, "{why}", context)
            details.append(InitErrorDetails(type=custom, loc=location, input=item["input"]))
        return ValidationError.from_exception_data(cls.__name__, details)

    @classmethod
    def _message(cls, item: Any, *, hint: bool) -> str:
        """The message that replaces `item`, one of pydantic's errors about a section or key.

        Only with `hint` does it search for the known key that an unknown key may mean.
        """
        kind, location, value, fields = item["type"], item["loc"], item["input"], cls._fields()
        if kind == "value_error":
            return str(item["ctx"]["error"])
        if not location:
            return f"Expected a table of {', '.join(fields)}."
        if kind == "extra_forbidden" and len(location) == 1:
            name = str(location[0])
            form = cls.elsewhere.get(name)
            fix = f"Write {form}" if form else _known(name, tuple(fields), hint=hint)
            return f"Unknown key. {fix}"
        field = fields[location[0]]
        (example,) = field.examples or [""]
        header, *keys = str(example).split("\n")
        written = f"{header} with {' and '.join(keys)}" if keys else header
        if kind == "missing" and len(location) == 1:
            return f"Missing: {field.description}. Write {written}"
        is_short = isinstance(value, str | int | float) and len(repr(value)) < 40
        got = f" Got {value!r}." if is_short else ""
        if kind == "literal_error":
            allowed = item["ctx"]["expected"]
            return f"Expected {allowed}.{got}{_meant(allowed, value)}"
        why, fix = item["msg"], f" Write it like {written}"
        if kind in _WRONG_FORM and str(location[-1]).endswith("[]") and location[0] in cls.forms:
            why, fix = f"Expected {cls.forms[location[0]]}", ""
        elif kind in _EXPECTED:
            why = _EXPECTED[kind].format(**item.get("ctx", {}))
        return f"{why}.{got}{fix}"


def require_key(value: dict[str, Any], name: str, *, forms: str) -> dict[str, Any]:
    """Return the table `value`; raise ValueError if it lacks the key `name`.

    The error quotes `forms`, a phrase that lists all forms of the value. A table with a misspelt
    `name` is returned, too: the error about its unknown key then suggests the right spelling.
    """
    if name in value or any(_validate.nearest(str(given), (name,)) for given in value):
        return value
    raise ValueError(f"Expected {forms}.")


def _known(name: str, known: tuple[str, ...], *, hint: bool) -> str:
    """A hint for an unknown key: the known key that is probably meant, else all known keys.

    Without `hint`, it lists all known keys.
    """
    return (hint and _validate.nearest(name, known)) or f"Known: {', '.join(known)}."


def _meant(allowed: str, value: object) -> str:
    """A hint at the text that `value` probably means, to end a message; "" without a guess.

    `allowed` is pydantic's list of the allowed texts, such as "'a', 'b' or 'c'".
    """
    if not isinstance(value, str):
        return ""
    choices = [choice.strip(" '") for choice in allowed.replace(" or ", ",").split(",")]
    if "text" in choices and value.casefold() in _TIMES:
        return ' Write "text"; in [derive], date(COLUMN) reads it as a date.'
    known = _OTHER_NAMES.get(value.casefold())
    hint = f"Did you mean {known}?" if known in choices else _validate.nearest(value, choices)
    if any(word in value for word in ("replace", "change", "bounded")):
        hint += ' If one person is replaced by another, write "replace-one".'
    return f" {hint.strip()}" if hint else ""
