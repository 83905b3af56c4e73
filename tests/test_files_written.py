from __future__ import annotations

from pathlib import Path

import pytest

from leastnoise._files import write_file
from leastnoise.errors import InvalidInput


def test_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write_file(path, "one")
    write_file(path, "two")
    assert path.read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_file(tmp_path / "made", b"\x00")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "made").read_bytes() == b"\x00"


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (folder, tmp_path / "none" / "c.json", tmp_path / "a\0b"):
        with pytest.raises(InvalidInput, match="Can't write"):
            write_file(path, "text")
    assert list(tmp_path.iterdir()) == [folder]
