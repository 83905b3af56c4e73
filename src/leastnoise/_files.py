"""Files: read if they are regular and never past a cap, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from leastnoise.errors import InvalidInput, SourceError

LARGEST_CERTIFICATE = 10**7  # bytes: reading as much JSON takes a second

# Of a FIFO, opening alone would wait for a writer. Both are 0 where the system has no such thing.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def read_text(path: Path, *, most: int, links: bool = True) -> str:
    """Return the text of the regular file `path`; `links` says whether it may be a symbolic link.

    The file that is checked is the one that is read, whatever takes its name meanwhile. Raises
    SourceError for none, a folder, a device, a pipe, more than `most` bytes and what isn't UTF-8.
    """
    try:
        return read_bytes(path, most=most, links=links).decode("utf-8")
    except UnicodeDecodeError:
        raise SourceError(f"{path} is not UTF-8 text.") from None


def read_certificate(path: Path) -> str:
    """Return the text of the file of a certificate; raises SourceError for an empty one, too."""
    found = read_text(path, most=LARGEST_CERTIFICATE)
    if not found.strip():
        raise SourceError(f"{path} is empty. Expected a certificate.")
    return found


def read_bytes(path: Path, *, most: int, links: bool = True) -> bytes:
    """Return the bytes of the regular file `path`; raises SourceError like `read_text`."""
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
    except ValueError:  # a NUL, or half of a surrogate pair
        raise SourceError("Expected a file, got a path that no file can have.") from None
    if len(content) > most:
        raise SourceError(f"{path} can't be read: it has more than {most:,} bytes.")
    return content


def _read(descriptor: int, path: Path, *, most: int) -> bytes:
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise SourceError(f"{path} can't be read: it is {what}.")
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(most + 1)


def write_file(path: Path, content: str | bytes) -> None:
    """Write `content` to `path` atomically: a crash leaves the old file, or none, never half a one.

    The file has the permissions that any new file has; a text is UTF-8.

    Raises InvalidInput if the folder doesn't exist or can't be written to.
    """
    import tempfile  # noqa: PLC0415 (it draws in much; paid for when a file is written)

    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent,
            prefix=".leastnoise-",
            delete=False,  # as long for any name
        ) as file:
            temporary = Path(file.name)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a path that holds a NUL
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise InvalidInput(f"Can't write {path}: {reason}.") from error


def try_file(path: Path) -> None:
    """Raise InvalidInput if `path`, which isn't there, can't be written, by writing an empty file.

    Where its folder isn't there either, the file is written to the nearest one above.
    """
    folder = next(one for one in path.absolute().parents if os.path.lexists(one))
    trial = folder / path.name
    if not os.path.lexists(trial):
        write_file(trial, "")
        trial.unlink()


def umask() -> int:
    """Return the process' mask of permissions, which can be read by setting it alone."""
    os.umask(mask := os.umask(0o077))
    return mask
