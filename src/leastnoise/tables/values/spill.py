"""A private folder for data that doesn't fit in memory, and the removal of abandoned folders.

A run that is killed can't remove its folder. While a run is alive, it locks its folder. So if a
later run of the same user can lock a folder, the folder is abandoned. A forked child inherits the
folder of its parent, and never removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows, where nothing is swept
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PREFIX = "leastnoise-spill-"
_PRIVATE = stat.S_IRWXU  # the mode of folders from mkdtemp


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield an empty folder that only this user can enter, and remove it afterwards.

    Folders of earlier runs of this user that were killed are removed first. Raises OSError if no
    folder can be created.
    """
    if fcntl is None:
        with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
            yield Path(name)
        return
    sweep(Path(tempfile.gettempdir()), re.compile(f"{PREFIX}.*"), mode=_PRIVATE)
    path, descriptor = claim_folder(lambda: Path(tempfile.mkdtemp(prefix=PREFIX)))
    owner = os.getpid()
    try:
        yield path
    finally:
        try:
            if os.getpid() == owner:
                _remove(path, descriptor)
        finally:
            os.close(descriptor)


def claim_folder(make: Callable[[], Path]) -> tuple[Path, int]:
    """Create a folder by `make`, and lock it. Returns the folder and a descriptor.

    The folder is locked until the descriptor is closed. Raises OSError if no folder can be created.
    """
    for _ in range(100):
        path = make()
        # Before it is locked, another run may consider it abandoned and remove it.
        with contextlib.suppress(FileNotFoundError):
            descriptor = _open_folder(path)
            if _lock(descriptor, wait=True) and _is_at(path, descriptor):
                return path, descriptor
            os.close(descriptor)
    raise OSError("No temporary folder can be locked. Set TMPDIR to a folder on a local disk.")


def sweep(parent: Path, names: re.Pattern[str], *, mode: int | None = None) -> None:
    """Remove the folders in `parent` that match `names` and belong to ended runs of this user.

    With `mode`, only folders that have this mode are removed.
    """
    if fcntl is None:  # pragma: no cover
        return
    try:
        paths = [entry.path for entry in os.scandir(parent) if names.fullmatch(entry.name)]
    except OSError:
        return
    for name in paths:
        # It may be gone, a link, another user's, or not removable: skip it.
        with contextlib.suppress(OSError):
            descriptor = _open_folder(Path(name))
            try:
                if _is_mine(descriptor, mode) and _lock(descriptor, wait=False):
                    _remove(Path(name), descriptor)
            finally:
                os.close(descriptor)


def _open_folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _is_mine(descriptor: int, mode: int | None) -> bool:
    status = os.fstat(descriptor)
    return status.st_uid == os.geteuid() and mode in {None, stat.S_IMODE(status.st_mode)}


def _is_at(path: Path, descriptor: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    return False


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock the folder until the descriptor is closed; return True if the caller may go on.

    It may go on after a success or, with `wait`, on a file system without locks.
    """
    if fcntl is None:  # pragma: no cover
        return wait
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        # locked by a live run, or a file system without locks, where nothing is swept
        return wait
    return True


def _remove(path: Path, descriptor: int) -> None:
    """Remove the folder's content by its descriptor, then the folder at `path`.

    So another folder that is now at `path` keeps its content.
    """
    for inner, folders, files, at in os.fwalk(".", topdown=False, dir_fd=descriptor):
        del inner
        for name in files:
            os.unlink(name, dir_fd=at)
        for name in folders:
            # fwalk lists a link to a folder as a folder.
            if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=at)
            else:
                os.rmdir(name, dir_fd=at)
    path.rmdir()
