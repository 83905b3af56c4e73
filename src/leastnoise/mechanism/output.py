"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from leastnoise.errors import InvalidInput


def write_file(path: Path, text: str) -> None:
    """Write `text` to `path` atomically: a crash leaves the old file, or none, never half a one.

    Raises InvalidInput if the folder doesn't exist or can't be written to.
    """
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a path that holds a NUL
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise InvalidInput(f"Can't write {path}: {reason}.") from error
