"""Read regular files up to a size limit, and write files atomically."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from leastnoise.errors import InvalidInput, SourceError

LARGEST_CERTIFICATE = 10**7  # bytes: reading JSON of that size takes a second

# Opening a FIFO would block until there is a writer. Both flags are 0 on systems without them.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def read_text(path: Path, *, most: int, links: bool = True) -> str:
    """Read the UTF-8 text of the regular file `path`, of at most `most` bytes.

    The file is checked after it is opened, so that it cannot be exchanged between check and read.
    With `links=False` a symbolic link is refused, on systems with O_NOFOLLOW. Raises SourceError
    for a file that is missing, unreadable, not regular or longer than `most` bytes. It is also
    raised for text that isn't UTF-8.
    """
    try:
        return read_bytes(path, most=most, links=links).decode("utf-8")
    except UnicodeDecodeError:
        raise SourceError(f"{path} is not UTF-8 text.") from None


def read_certificate(path: Path) -> str:
    """Read the text of a certificate file.

    Raises SourceError like `read_text`, and for an empty file.
    """
    text = read_text(path, most=LARGEST_CERTIFICATE)
    if not text.strip():
        raise SourceError(f"{path} is empty. Give the path of a certificate.")
    return text


def read_bytes(path: Path, *, most: int, links: bool = True) -> bytes:
    """Read the bytes of a regular file, in any encoding; raises SourceError like `read_text`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _AT_ONCE | (0 if links else _NO_LINK))
        try:
            content = _read(descriptor, path, most=most)
        finally:
            os.close(descriptor)
    except SourceError:
        raise
    except FileNotFoundError:
        raise SourceError(f"Expected a file, found none at {path}.") from None
    except OSError as error:
        is_link = error.errno == errno.ELOOP and not links
        why = "it is a symbolic link" if is_link else error.strerror
        raise SourceError(f"{path} can't be read: {why}.") from None
    except ValueError:  # the path has a NUL, or half of a surrogate pair
        raise SourceError(
            "The path has a character that no file name can have. Give another path."
        ) from None
    if len(content) > most:
        raise SourceError(f"{path} can't be read: it has more than {most:,} bytes.")
    return content


def _read(descriptor: int, path: Path, *, most: int) -> bytes:
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or device"
        raise SourceError(f"{path} can't be read: it is {what}.")
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(most + 1)


def write_file(path: Path, content: str | bytes) -> None:
    """Write `content` to `path` atomically: after a crash `path` never has only a part of it.

    A crash may leave a temporary file in the same folder. Text is written as UTF-8. The permissions
    follow the umask, as for any new file.

    Raises InvalidInput if the file can't be written.
    """
    import tempfile  # noqa: PLC0415 (a slow import, needed only when a file is written)

    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(  # the length of the name doesn't depend on `path`
            dir=path.parent,
            prefix=".leastnoise-",
            delete=False,
        ) as file:
            temporary = Path(file.name)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
    except (OSError, ValueError) as error:  # ValueError for a path with a NUL
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) else "it is not a valid path"
        raise InvalidInput(f"Can't write {path}: {reason}.") from error


def try_file(path: Path) -> None:
    """Raise InvalidInput if a trial shows that no file can be written at `path`.

    A trial file of the same name is written to the nearest existing folder above `path`, and
    removed. If that folder already has an entry of this name, nothing is tried.
    """
    folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    trial = folder / path.name
    if not os.path.lexists(trial):
        write_file(trial, "")
        trial.unlink()


def umask() -> int:
    """The permission mask of the process. It can only be read by setting it, so it is set twice."""
    os.umask(mask := os.umask(0o077))
    return mask


def sync(path: Path) -> None:
    """Flush a file or a folder to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
