"""Designs kept on disk between runs: they take seconds to find and milliseconds to prove again.

Nothing in a cached file is believed: its bound is proved from its witness, and its law's δ is
evaluated again. A file that is damaged, or says something false, is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path

from leastnoise._files import write_file
from leastnoise.errors import LeastnoiseError

_VERSION = 1


def directory() -> Path:
    """Return the platform's folder for a user's caches, with leastnoise's own in it.

    `LEASTNOISE_CACHE` overrides it.
    """
    if chosen := os.environ.get("LEASTNOISE_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "leastnoise"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "leastnoise"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "leastnoise"


def load(key: str) -> dict[str, object] | None:
    """Return the record that was stored under `key`, or None if there is none to be read."""
    try:
        path = _path(key)
        if path.stat().st_size > 20_000_000:
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError, RecursionError):  # RuntimeError: no home folder
        return None
    matches = isinstance(record, dict) and record.get("key") == key
    return record if matches and record.get("version") == _VERSION else None


def store(key: str, record: dict[str, object]) -> None:
    """Store `record` under `key`, whole or not at all; a disk that can't be written is no error."""
    with contextlib.suppress(OSError, RuntimeError, LeastnoiseError):
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(record | {"key": key, "version": _VERSION}))


def _path(key: str) -> Path:
    return directory() / f"design-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
