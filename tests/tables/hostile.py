"""Columns of every Arrow type that Parquet can hold, with values that break its readers.

The last value of each column is an ordinary value: 1, true, or the text "1".
"""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

_WORDS = [-(2**63), 2**63 - 1, 0, -1, 1]
_SHORT = [-(2**31), 2**31 - 1, 0, -1, 1]
_WIDE = [-(2**127), 2**127 - 1, 10**38, -(10**38), 0]
_BYTES = [b"\xff", b"1\xc3", b"1e999", b"\x00", b"1e-99999999999", b"x" * 5000, b"", b"1"]
_FLOATS = [float("nan"), float("inf"), float("-inf"), -0.0, 1.0]


def columns() -> dict[str, Any]:
    """The arrays, by a name for their type."""
    results = {**_numbers(), **_times(), **_texts(), **_nested()}
    results["bool"] = pa.array([None, False, True])
    results["null"] = pa.nulls(3)
    return results


def _raw(kind: Any, letter: str, values: list[int]) -> Any:
    """An array of unchecked values, as a file may hold them."""
    packed = pa.py_buffer(b"".join(struct.pack(f"<{letter}", value) for value in values))
    return pa.Array.from_buffers(kind, len(values), [None, packed])


def unchecked_text(values: list[bytes], kind: Any = None) -> Any:
    """An array of texts that need not be UTF-8."""
    large = kind == pa.large_string()
    plain = pa.array(values, type=pa.large_binary() if large else pa.binary())
    return pa.Array.from_buffers(kind or pa.string(), len(values), plain.buffers())


def _decimal(precision: int, scale: int) -> Any:
    """An array of decimals; most of them have more digits than their precision."""
    values = [*_WIDE, 10**scale]
    packed = pa.py_buffer(b"".join(value.to_bytes(16, "little", signed=True) for value in values))
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(values), [None, packed])


def _numbers() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        kind = pa.type_for_alias(name)
        least, bits = (0, kind.bit_width) if name[0] == "u" else (-1, kind.bit_width - 1)
        results[name] = pa.array([least * 2**bits, 2**bits - 1, 0, None, 1], kind)
    for name in ("float16", "float32", "float64"):
        results[name] = pa.array(_FLOATS, pa.type_for_alias(name))
    for precision, scale in ((38, 10), (38, 0), (38, 37), (20, 1), (18, 4), (9, 2), (5, 0)):
        results[f"decimal_{precision}_{scale}"] = _decimal(precision, scale)
    packed = pa.py_buffer(b"".join(v.to_bytes(32, "little", signed=True) for v in [2**255 - 1, 1]))
    results["decimal256"] = pa.Array.from_buffers(pa.decimal256(70, 2), 2, [None, packed])
    return results


def _times() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for unit in ("ms", "us", "ns"):  # Parquet has no seconds
        results[f"timestamp_{unit}"] = _raw(pa.timestamp(unit), "q", _WORDS)
        results[f"timestamp_utc_{unit}"] = _raw(pa.timestamp(unit, "UTC"), "q", _WORDS)
        results[f"duration_{unit}"] = _raw(pa.duration(unit), "q", _WORDS)
    for unit in ("us", "ns"):
        results[f"time_{unit}"] = _raw(pa.time64(unit), "q", _WORDS)
    results["time_ms"] = _raw(pa.time32("ms"), "i", _SHORT)
    results["date32"] = _raw(pa.date32(), "i", _SHORT)
    results["date64"] = _raw(pa.date64(), "q", _WORDS)
    return results


def _texts() -> dict[str, Any]:
    uuids = pa.array([b"\xff" * 16, b"\x00" * 16, b"1" * 16], pa.binary(16))
    json = unchecked_text([b"\xff", b"{", b'{"a": 1}', b"1"])
    return {
        "text": unchecked_text(_BYTES),
        "large_text": unchecked_text(_BYTES, pa.large_string()),
        "dictionary": pa.DictionaryArray.from_arrays(
            pa.array(list(range(len(_BYTES))), pa.int32()), unchecked_text(_BYTES)
        ),
        "binary": pa.array(_BYTES, pa.binary()),
        "fixed_binary": pa.array([b"\xff" * 4, b"1111"], pa.binary(4)),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), uuids),
        "json": pa.ExtensionArray.from_storage(pa.json_(pa.string()), json),
    }


def _nested() -> dict[str, Any]:
    wrong = unchecked_text([b"\xff", b"\xc3", b"1"])
    keys, values = pa.array(["a", "b", "c"]), pa.array([0, 1, 2, 3], pa.int32())
    return {
        "list": pa.ListArray.from_arrays(values, wrong),
        "struct": pa.StructArray.from_arrays([wrong], ["a"]),
        "map": pa.MapArray.from_arrays(values, keys, wrong),
    }
