"""Pipes: one reader gets every byte, and a writer doesn't wait for a reader that never comes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leastnoise.tables.values import pipe

BLOCKS = [b"a" * 200_000, b"", b"b\n" * 100_000]


def test_a_reader_gets_all_blocks_once(tmp_path: Path) -> None:
    with pipe.open_pipe(iter(BLOCKS), tmp_path / "p") as path:
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_bytes() == b"".join(BLOCKS)
        with pytest.raises(FileNotFoundError):
            path.read_bytes()  # it would get nothing, or a part
    assert list(tmp_path.iterdir()) == []


def test_no_blocks_are_an_empty_file(tmp_path: Path) -> None:
    with pipe.open_pipe(iter([]), tmp_path / "p") as path:
        assert path.read_bytes() == b""


def test_nobody_needs_to_read(tmp_path: Path) -> None:
    with pipe.open_pipe(iter(BLOCKS), tmp_path / "p"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_early_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="not read to its end"),
        pipe.open_pipe(iter(BLOCKS), tmp_path / "p") as it,
    ):
        _read_some(it)


def test_a_reader_that_stays_without_reading_holds_nobody_up(tmp_path: Path) -> None:
    stays: list[int] = []
    with (
        pytest.raises(OSError, match="not read to its end"),
        pipe.open_pipe(iter(BLOCKS), tmp_path / "p") as it,
    ):
        stays.append(_open_and_read_some(it))
    os.close(stays[0])


def test_blocks_that_can_not_be_made_are_no_shorter_file(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise OSError(5, "disk")

    with (
        pytest.raises(OSError, match="not read to its end"),
        pipe.open_pipe(broken(), tmp_path / "p") as path,
    ):
        assert path.read_bytes() == b"a"


def _open_and_read_some(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    os.read(descriptor, 5)
    return descriptor


def _read_some(path: Path) -> None:
    with path.open("rb") as file:
        file.read(5)
