"""Temporary folders: they are private, and removed after their run ended, in any way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from leastnoise.tables.values import spill

RUN = """
import time
from leastnoise.tables.values import spill
with spill.folder() as folder:
    (folder / "rows.tmp").write_text("secret")
    (folder / "deeper").mkdir()
    (folder / "deeper" / "link").symlink_to("/")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {result.name for result in folder.iterdir()}


def test_a_folder_is_private_and_goes_with_its_run(temporary: Path) -> None:
    def run() -> None:
        with spill.folder() as folder:
            assert folder.stat().st_mode & 0o777 == 0o700
            (folder / "rows.tmp").write_text("secret")
            raise KeyError

    with pytest.raises(KeyError):
        run()
    assert names(temporary) == set()


def test_the_next_run_removes_what_a_killed_one_left_and_nothing_of_one_that_lives(
    temporary: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        left = Path(run.stdout.readline().strip())
        with spill.folder():
            assert (left / "rows.tmp").exists()
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    assert names(temporary) == {left.name}
    with spill.folder() as folder:
        assert names(temporary) == {folder.name}


def test_a_child_that_was_forked_removes_no_folder_of_its_parent(temporary: Path) -> None:
    owner = os.getpid()
    child = -1

    def run() -> None:
        nonlocal child
        with spill.folder() as folder:
            (folder / "rows.tmp").write_text("secret")
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                assert (folder / "rows.tmp").read_text() == "secret"

    try:
        run()
    finally:
        if os.getpid() != owner:
            os._exit(0)
    assert names(temporary) == set()


def test_two_folders_at_once(temporary: Path) -> None:
    with spill.folder() as first, spill.folder() as second:
        assert names(temporary) == {first.name, second.name}


def test_what_is_not_a_folder_of_a_run_is_never_removed(temporary: Path) -> None:
    mine = temporary / "mine"
    mine.mkdir(mode=0o700)
    (mine / "kept").touch()
    (temporary / f"{spill.PREFIX}link").symlink_to(mine)
    (temporary / f"{spill.PREFIX}file").touch()
    (temporary / f"{spill.PREFIX}open").mkdir()
    (temporary / f"{spill.PREFIX}open").chmod(0o755)  # mkdtemp makes none such
    (temporary / "leastnoise-other").mkdir(mode=0o700)
    pipe = temporary / f"{spill.PREFIX}pipe"
    os.mkfifo(pipe)
    before = names(temporary)
    with spill.folder():
        pass
    assert names(temporary) == before
    assert names(mine) == {"kept"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_folders_of_other_users_are_left_alone(temporary: Path) -> None:
    theirs = temporary / f"{spill.PREFIX}theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 12345, 12345)
    with spill.folder():
        pass
    assert theirs.exists()


def test_a_folder_that_was_moved_is_removed_and_not_what_took_its_place(temporary: Path) -> None:
    moved, places = temporary / "moved", []

    def run() -> None:
        with spill.folder() as folder:
            (folder / "rows.tmp").write_text("secret")
            folder.rename(moved)
            folder.mkdir()
            (folder / "kept").touch()
            places.append(folder)

    with pytest.raises(OSError, match="not empty"):
        run()
    assert names(moved) == set()
    assert names(places[0]) == {"kept"}
