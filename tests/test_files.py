"""Files are opened without waiting, and paths are tried before the work whose result they get."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from leastnoise import _files
from leastnoise.errors import InvalidInput, SourceError


def test_a_pipe_is_refused_without_waiting_for_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def at_once(path: Any, flags: int) -> int:
        assert flags & os.O_NONBLOCK, "it would wait"
        return real(path, flags)

    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(_files.os, "open", at_once)
    with pytest.raises(SourceError, match="a pipe or device"):
        _files.read_bytes(tmp_path / "pipe", most=10)


def test_a_file_that_is_tried_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there"
    there.write_text("kept")
    written: list[Path] = []
    monkeypatch.setattr(_files, "write_file", lambda path, _: (written.append(path), path.touch()))
    for path in (there, tmp_path / "new", tmp_path / "no folder" / "below" / "file"):
        _files.try_file(path)
    assert written == [tmp_path / "new", tmp_path / "file"]
    assert sorted(tmp_path.iterdir()) == [there]
    assert there.read_text() == "kept"


def test_a_file_that_no_folder_takes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Can't write"):
        _files.try_file(Path("/proc/leastnoise"))
