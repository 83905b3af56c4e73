"""What is wrong with a spec file, said with the file's name and line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


@contextmanager
def located(file: Path, *, elsewhere: Collection[str] = ()) -> Iterator[None]:
    """Let every problem of the spec in `file` start with FILE:LINE, where the line is known.

    Keys `elsewhere` were given by options, and are on no line.
    """
    from leastnoise import _files
    from leastnoise.errors import SourceError, SpecError

    try:
        yield
    except SpecError as error:
        from leastnoise.tables.read import spec_file, spec_lines

        try:
            text = _files.read_text(file, most=spec_file.LARGEST)
        except SourceError:  # the file went away meanwhile
            raise error from None
        found = spec_lines.lines(text, error.problems, elsewhere=elsewhere)
        places = ["" if line is None else f"{file}:{line}" for line in found]
        raise SpecError(error.problems, places=places) from None
