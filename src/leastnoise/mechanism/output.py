"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from leastnoise.errors import InvalidInput


def write_file(path: Path, content: str | bytes) -> None:
    """Write `content` to `path` atomically: a crash leaves the old file, or none, never half a one.

    The file has the permissions that any new file has; a text is UTF-8.

    Raises InvalidInput if the folder doesn't exist or can't be written to.
    """
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
