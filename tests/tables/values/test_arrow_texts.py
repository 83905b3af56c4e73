"""Arrow's texts: those that aren't UTF-8 are missing, and all others are unchanged."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from leastnoise.errors import SourceError
from leastnoise.tables.values import arrow_values

SLICE = 2**16
BAD = (b"\xff", b"a\xc3", b"\xed\xa0\x80" * 20)
KINDS: dict[str, tuple[Any, Any]] = {
    "string": (pa.binary(), pa.string()),
    "large_string": (pa.large_binary(), pa.large_string()),
    "string_view": (pa.binary_view(), pa.string_view()),
}


def texts(count: int, bad: dict[int, bytes]) -> list[bytes | None]:
    """Texts as bytes: short, long and missing ones, and the `bad` ones by position."""
    good = [None, b"", b"a", "é".encode(), b"of more than twelve bytes"]
    return [bad.get(index, good[index % 5]) for index in range(count)]


def by_hand(given: list[bytes | None]) -> list[str | None]:
    return [None if text is None or text in BAD else text.decode() for text in given]


@pytest.mark.dense
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, SLICE, SLICE + 1, 3 * SLICE + 5])
def test_the_texts_of_all_slices_are_those_of_the_whole(kind: str, count: int) -> None:
    stored, wanted = KINDS[kind]
    random = Random(f"{kind}{count}")
    edges = {0, SLICE - 1, SLICE, count - 1}
    for places in (set(), {count - 1}, edges, set(random.sample(range(count), min(count, 50)))):
        given = texts(count, {index: random.choice(BAD) for index in places})
        for start in (0, 1, 7):
            array = pa.array([b"\xff"] * start + given, stored).view(wanted).slice(start)
            checked = arrow_values.check_values(array)
            checked.validate(full=True)
            assert checked.type == wanted
            assert checked.to_pylist() == by_hand(given)


@pytest.mark.parametrize("kind", KINDS)
def test_one_text_makes_no_objects_of_all_others(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one person could take all of the memory, after the charge."""
    stored, wanted = KINDS[kind]
    looked_at: list[bytes] = []

    def noted(text: bytes) -> bool:
        looked_at.append(text)
        return is_utf8(text)

    is_utf8 = arrow_values.is_utf8
    monkeypatch.setattr(arrow_values, "is_utf8", noted)
    given = texts(5 * SLICE, {3 * SLICE + 2: b"\xff"})
    checked = arrow_values.check_values(pa.array(given, stored).view(wanted))
    assert checked.to_pylist() == by_hand(given)
    assert 0 < len(looked_at) <= SLICE


@pytest.mark.parametrize("wrong", ["buffer", "place", "prefix"])
def test_a_view_of_no_text_refuses_the_frame(wrong: str) -> None:
    """It is one value's alone, but no library makes it: that memory is damaged."""
    text = b"of more than twelve bytes"
    places = {"buffer": (text[:4], 7, 0), "place": (text[:4], 0, 99), "prefix": (b"none", 0, 0)}
    views = [struct.pack("<i4sii", len(text), text[:4], 0, 0)]
    views.append(struct.pack("<i4sii", len(text), *places[wrong]))
    buffers = [None, pa.py_buffer(b"".join(views)), pa.py_buffer(text)]
    array = pa.Array.from_buffers(pa.string_view(), 2, buffers)
    with pytest.raises(SourceError, match="offsets or lengths in it are wrong"):
        arrow_values.check_values(array)
    assert arrow_values.check_values(array.slice(0, 1)).to_pylist() == [text.decode()]
