"""A private folder for what doesn't fit in memory, and the removal of those that were left behind.

A run that is killed can't remove its folder. Whoever owns a folder holds a lock on it for as long
as they live, so the next run of the same user can tell: what can be locked belongs to nobody. A
child that was forked meanwhile has the folder of its parent in its memory, and never removes it.
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
_PRIVATE = stat.S_IRWXU  # what mkdtemp makes


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield an empty folder that only this user can enter, and remove it afterwards.

    The folders of this user's runs that have ended without removing theirs are removed first.
    Raises OSError if no folder can be made.
    """
    if fcntl is None:
        with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
            yield Path(name)
        return
    sweep(Path(tempfile.gettempdir()), re.compile(f"{PREFIX}.*"), mode=_PRIVATE)
    path, descriptor = claimed(lambda: Path(tempfile.mkdtemp(prefix=PREFIX)))
    owner = os.getpid()
    try:
        yield path
    finally:
        try:
            if os.getpid() == owner:
                _remove(path, descriptor)
        finally:
            os.close(descriptor)


def claimed(make: Callable[[], Path]) -> tuple[Path, int]:
    """Return a folder that `make` makes, and a descriptor that holds a lock on it until it closes.

    Raises OSError if none can be made.
    """
    for _ in range(100):
        path = make()
        # Another run may take it for abandoned before it is locked, and remove it.
        with contextlib.suppress(FileNotFoundError):
            descriptor = _opened(path)
            if _lock(descriptor, wait=True) and _is_at(path, descriptor):
                return path, descriptor
            os.close(descriptor)
    raise OSError("No temporary folder can be locked.")


def sweep(parent: Path, names: re.Pattern[str], *, mode: int | None = None) -> None:
    """Remove the folders of those `names` that runs of this user that have ended left in `parent`.

    Of that `mode` alone, if there is one. Where a file system can't tell who holds a lock, nothing
    is removed.
    """
    if fcntl is None:  # pragma: no cover
        return
    try:
        found = [entry.path for entry in os.scandir(parent) if names.fullmatch(entry.name)]
    except OSError:
        return
    for name in found:
        # Gone meanwhile, a link, another user's, or not to be removed: no concern of this run.
        with contextlib.suppress(OSError):
            descriptor = _opened(Path(name))
            try:
                if _is_mine(descriptor, mode) and _lock(descriptor, wait=False):
                    _remove(Path(name), descriptor)
            finally:
                os.close(descriptor)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _is_mine(descriptor: int, mode: int | None) -> bool:
    found = os.fstat(descriptor)
    return found.st_uid == os.geteuid() and mode in {None, stat.S_IMODE(found.st_mode)}


def _is_at(path: Path, descriptor: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    return False


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock the folder for as long as the descriptor is open; say whether that could be done."""
    if fcntl is None:  # pragma: no cover
        return wait
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        # Held by a run that lives, or a file system without locks: there nothing is swept.
        return wait
    return True


def _remove(path: Path, descriptor: int) -> None:
    """Remove the folder, going by its descriptor: whatever `path` now leads to is left alone."""
    for inner, folders, files, at in os.fwalk(".", topdown=False, dir_fd=descriptor):
        del inner
        for name in files:
            os.unlink(name, dir_fd=at)
        for name in folders:
            # A link to a folder is listed as one, but isn't.
            if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=at)
            else:
                os.rmdir(name, dir_fd=at)
    path.rmdir()
