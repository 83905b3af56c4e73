"""JSON that is read strictly: no duplicate, missing or unknown fields, no wrong types."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from typing import Any, TypeVar

from leastnoise import _validate, _words
from leastnoise._validate import MOST_SHOWN
from leastnoise.errors import CertificateRejected, InvalidInput
from leastnoise.guarantees.exact import decimal_text, exact

_MAX_CHARACTERS = 10**7  # as many as are read of a file

T = TypeVar("T", str, int, list)


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object in `text`.

    Raises InvalidInput if `text` isn't JSON at all, CertificateRejected if it isn't an object or
    a field stands twice.
    """
    text = _validate.text(text, name="text", hint="Read the file first: JSON comes as a str.")
    if len(text) > _MAX_CHARACTERS:
        raise InvalidInput(f"The certificate is longer than {_MAX_CHARACTERS:,} characters.")
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):  # also a whole number of thousands of digits
        raise InvalidInput("The certificate is not JSON. Is it the file you meant?") from None
    if not isinstance(value, dict):
        raise CertificateRejected("A certificate is a JSON object.")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    counts = Counter(name for name, _ in pairs)
    if len(counts) != len(pairs):
        twice = sorted(name[:MOST_SHOWN] for name, count in counts.items() if count > 1)
        raise CertificateRejected(f"Duplicate field: {_words.listed(twice)}.")
    return dict(pairs)


def exact_fields(record: object, fields: Collection[str], *, where: str) -> dict[str, Any]:
    """Return `record` if it is an object with exactly `fields`."""
    if not isinstance(record, dict):
        raise CertificateRejected(f"{where} must be an object.")
    unknown = sorted(str(name)[:MOST_SHOWN] for name in set(record) - set(fields))
    missing = sorted(set(fields) - set(record))
    if unknown or missing:
        parts = [f"unknown field {name!r}" for name in unknown]
        parts += [f"missing field {name!r}" for name in missing]
        raise CertificateRejected(f"{where}: {_words.listed(parts, most=20)}.")
    return record


def typed(value: object, kind: type[T], *, where: str) -> T:
    """Return `value` if it is exactly a `kind` (a bool is no int)."""
    if type(value) is not kind:
        raise CertificateRejected(f"{where} must be {kind.__name__}, not {type(value).__name__}.")
    return value


def number_text(number: Fraction) -> str:
    """Return `number` exactly: a hex float if it is one, else a decimal or a ratio."""
    rounded = float(number)
    return rounded.hex() if Fraction(rounded) == number else decimal_text(number)


def number(value: object, *, where: str) -> Fraction:
    """Return the number that `number_text` or `decimal_text` wrote."""
    text = typed(value, str, where=where)
    try:
        value = Fraction(float.fromhex(text)) if "0x" in text else exact(text, name=where)
    except (ValueError, OverflowError) as error:  # InvalidArgument is a ValueError
        raise CertificateRejected(f"{where} is not a number: {text[:MOST_SHOWN]!r}.") from error
    # fromhex rounds digits that a double can't hold: only a float's own spelling is exact
    if "0x" in text and float(value).hex() != text:
        raise CertificateRejected(f"{where} is not spelled as a float is: {text[:MOST_SHOWN]!r}.")
    return value
