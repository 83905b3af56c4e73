"""Noise for a dask array. Each noisy block is written to a file once; later reads use the files.

If a worker dies, dask computes its block again. The second attempt keeps a file that the first
attempt wrote. Otherwise it draws new noise. So there are never two visible draws for a block. The
folder gets its final name only when it is complete.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise._files import umask
from leastnoise.errors import InvalidArgument, SourceError
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.values import flat
from leastnoise.tables.values import spill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.mechanism.shares import SharedDraw


def check(vector: Any, dimension: int) -> None:
    """Raise InvalidArgument unless `vector` has one axis of length `dimension`, and an exact type.

    A type is exact if a release reads its numbers without rounding. Blocks may have other types
    than the array declares, so each block is checked again when it is read.
    """
    if vector.shape != (dimension,):  # unknown sizes are NaN, which is unequal to all numbers
        raise InvalidArgument(
            name="vector",
            value=f"a dask array of shape {vector.shape}",
            expected=f"a dask array of shape ({dimension},), one for each coordinate of the noise",
        )
    meta = getattr(vector, "_meta", None)  # an empty block of the declared type
    as_exact(np.empty(0, dtype=vector.dtype) if meta is None else meta)


def sizes_of(vector: Any) -> list[int]:
    """The number of coordinates of each non-empty block."""
    return [size for size in vector.chunks[0] if size]


def release(vector: Any, draws: Sequence[SharedDraw], folder: Path) -> Any:
    """Write the noisy blocks to `folder`, and return a dask array that reads them.

    `draws` has one draw for each non-empty block. See `release_vector`. Raises SourceError if a
    worker fails or a file can't be written.
    """
    from dask.base import compute  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    from dask.delayed import delayed  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with _hidden_folder(folder) as working:
        sizes = sizes_of(vector)
        blocks = zip(vector.to_delayed().ravel(), vector.chunks[0], strict=True)
        filled = [block for block, size in blocks if size]
        writers = [
            delayed(_Writer(working, draw, size), pure=False)(block, index)
            for index, (block, draw, size) in enumerate(zip(filled, draws, sizes, strict=True))
        ]
        try:
            failures = compute(*writers)
        except Exception as error:  # noqa: BLE001 (a task of the user's, whose text may be values)
            why = f"its computation, or the cluster, failed with {type(error).__name__}."
            raise SourceError(f"The vector wasn't released: {why}") from None
        if any(failures):
            raise SourceError(f"The vector wasn't released: {next(filter(None, failures))}")
        _publish(working, folder, count=len(sizes))
    return _read(folder, sizes)


@contextmanager
def _hidden_folder(folder: Path) -> Iterator[Path]:
    """Yield a new hidden folder beside `folder`, and remove it afterwards if it still exists.

    Hidden folders of killed runs are removed first.
    """

    def make() -> Path:
        path = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
        path.mkdir(mode=0o700)
        return path

    names = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{32}}")
    spill.sweep(folder.parent, names, mode=0o700)
    path, descriptor = spill.claim_folder(make)
    owner = os.getpid()
    try:
        yield path
    finally:
        if os.getpid() == owner:  # not in a child process that was forked meanwhile
            shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _publish(working: Path, folder: Path, *, count: int) -> None:
    """Move the files of all `count` blocks from the folder `working` to `folder` at once.

    Files are first moved to a folder that no worker knows, so that late workers can't add files.
    Raises SourceError if the folder can't be written.
    """
    try:
        with _hidden_folder(folder) as whole:
            for index in range(count):
                (working / _name(index)).rename(whole / _name(index))
            whole.chmod(0o777 & ~umask())
            whole.rename(folder)
    except OSError as error:
        raise SourceError(f"{folder} can't be written to: {error.strerror}.") from None


@final
@dataclass(frozen=True, repr=False)
class _Writer:
    """The task of a worker: add noise to a block, and write it to a file.

    It never raises an error, because dask may print the arguments of a failed task: the values.
    """

    __name__: ClassVar[str] = "add_noise"  # dask shows this name instead of a repr

    _folder: Path
    _draw: SharedDraw
    _size: int

    def __call__(self, values: Any, index: int) -> str | None:
        """Write the noisy values of a block to its file; return the error as text, or None."""
        file = self._folder / _name(index)
        try:
            # raises for the types that `Mechanism.release` refuses, such as masked arrays
            block = flat(as_exact(values))
            if block.shape != (self._size,):  # the message omits the size, which is data
                return "a block has another size than its array says."
            if not file.exists():
                _write_once(file, self._draw.add_to_part(values))
        except InvalidArgument as error:  # the message names a type, never a value
            return f"in a block, {error}"
        except OSError as error:
            return f"a worker can't write to {self._folder.parent}: {error.strerror}."
        except Exception as error:  # noqa: BLE001 (its message may quote values)
            return f"a worker failed with {type(error).__name__}."
        return None


def _name(index: int) -> str:
    return f"{index:06}.npy"


def _write_once(file: Path, values: np.ndarray[Any, Any]) -> None:
    """Write a new file atomically; if the file exists, from another attempt, it stays unchanged."""
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
    files = (load(str(folder / _name(index))) for index in range(len(sizes)))
    return array.concatenate(
        [array.from_delayed(file, (size,), float) for file, size in zip(files, sizes, strict=True)]
    )
