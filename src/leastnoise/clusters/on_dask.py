"""A dask array with noise: every block is written once, and only files are read after that.

A block that is asked for again, because its worker died, finds the file of the first attempt or
draws its noise anew; two draws are never both visible. The folder takes its name when it is whole.
"""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise.errors import InvalidArgument, LeastnoiseError, SourceError
from leastnoise.mechanism.reading import as_exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.mechanism.shared_draw import SharedDraw


def check(vector: Any, dimension: int) -> None:
    """Raise InvalidArgument unless `vector` is flat, of known sizes and exact numbers."""
    if vector.shape != (dimension,):  # unknown sizes are NaN, which equals nothing
        raise InvalidArgument(
            name="vector",
            value=f"a dask array of shape {vector.shape}",
            expected=f"a dask array of shape ({dimension},), one for each coordinate of the noise",
        )
    as_exact(np.empty(0, dtype=vector.dtype))


def sizes_of(vector: Any) -> list[int]:
    """Return how many coordinates each block has that isn't empty."""
    return [size for size in vector.chunks[0] if size]


def release(vector: Any, draws: Sequence[SharedDraw], folder: Path) -> Any:
    """Return the dask array that is read from the files in `folder`; see `release_vector`.

    There is a draw for each block that isn't empty.
    """
    from dask.base import compute  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    from dask.delayed import delayed  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    hidden = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    hidden.mkdir(mode=0o700)
    try:
        blocks = [
            block
            for block, size in zip(vector.to_delayed().ravel(), vector.chunks[0], strict=True)
            if size
        ]
        failures = compute(
            *(
                delayed(_Writer(hidden, draw), pure=False)(block, place)
                for place, (block, draw) in enumerate(zip(blocks, draws, strict=True))
            )
        )
        if any(failures):
            raise SourceError(f"The vector wasn't released: {next(filter(None, failures))}")
        for leftover in hidden.glob(".*"):  # of attempts whose worker died, or came second
            leftover.unlink()
        hidden.chmod(0o777 & ~_umask())
        hidden.rename(folder)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return _read(folder, sizes_of(vector))


def _umask() -> int:
    os.umask(mask := os.umask(0o077))
    return mask


@final
@dataclass(frozen=True, repr=False)
class _Writer:
    """What a worker does. It never raises: dask would print its arguments, which are the values."""

    __name__: ClassVar[str] = "add_noise"  # dask shows it in the place of a repr

    _folder: Path
    _draw: SharedDraw

    def __call__(self, values: Any, place: int) -> str | None:
        """Write the noisy values of a block to its file; return what went wrong."""
        file = self._folder / _name(place)
        try:
            if not file.exists():
                _write_once(file, self._draw.added_to(np.asarray(values)))
        except LeastnoiseError as error:
            return str(error)
        except OSError as error:
            return f"a worker can't write to {self._folder.parent}: {error.strerror}."
        return None


def _name(place: int) -> str:
    return f"{place:06}.npy"


def _write_once(file: Path, values: np.ndarray[Any, Any]) -> None:
    """Write a new file whole; where another attempt was first, that one stays."""
    mine = file.with_name(f".{uuid.uuid4().hex}")
    with mine.open("xb") as opened:
        np.save(opened, values)
        opened.flush()
        os.fsync(opened.fileno())
    try:
        os.link(mine, file)
    except FileExistsError:
        pass
    finally:
        mine.unlink()


def _read(folder: Path, sizes: Sequence[int]) -> Any:
    from dask import array  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    from dask.delayed import delayed  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    load = delayed(np.load)
    files = (load(str(folder / _name(place))) for place in range(len(sizes)))
    return array.concatenate(
        [array.from_delayed(file, (size,), float) for file, size in zip(files, sizes, strict=True)]
    )
