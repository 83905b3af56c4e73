"""A dask array with noise: every block is written once, and only files are read after that.

A block that is asked for again, because its worker died, finds the file of the first attempt or
draws its noise anew; two draws are never both visible. The folder takes its name when it is whole.
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
    """Raise InvalidArgument unless `vector` is flat, of known sizes and exact numbers.

    Its blocks may be of other types than it says: each is read by the same function, again.
    """
    if vector.shape != (dimension,):  # unknown sizes are NaN, which equals nothing
        raise InvalidArgument(
            name="vector",
            value=f"a dask array of shape {vector.shape}",
            expected=f"a dask array of shape ({dimension},), one for each coordinate of the noise",
        )
    meta = getattr(vector, "_meta", None)  # an empty block, of the type that they all have
    as_exact(np.empty(0, dtype=vector.dtype) if meta is None else meta)


def sizes_of(vector: Any) -> list[int]:
    """Return how many coordinates each block has that isn't empty."""
    return [size for size in vector.chunks[0] if size]


def release(vector: Any, draws: Sequence[SharedDraw], folder: Path) -> Any:
    """Return the dask array that is read from the files in `folder`; see `release_vector`.

    There is a draw for each block that isn't empty.
    """
    from dask.base import compute  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    from dask.delayed import delayed  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with _hidden(folder) as working:
        sizes = sizes_of(vector)
        blocks = zip(vector.to_delayed().ravel(), vector.chunks[0], strict=True)
        filled = [block for block, size in blocks if size]
        writers = [
            delayed(_Writer(working, draw, size), pure=False)(block, place)
            for place, (block, draw, size) in enumerate(zip(filled, draws, sizes, strict=True))
        ]
        try:
            failures = compute(*writers)
        except Exception as error:  # noqa: BLE001 (a task of the user's, whose text may be values)
            why = f"what makes it, or the cluster, failed with {type(error).__name__}."
            raise SourceError(f"The vector wasn't released: {why}") from None
        if any(failures):
            raise SourceError(f"The vector wasn't released: {next(filter(None, failures))}")
        _publish(working, folder, count=len(sizes))
    return _read(folder, sizes)


@contextmanager
def _hidden(folder: Path) -> Iterator[Path]:
    """Yield a new folder beside `folder` that is this run's, and remove it if it is still there.

    Those that killed runs left there are removed first.
    """

    def made() -> Path:
        path = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
        path.mkdir(mode=0o700)
        return path

    names = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{32}}")
    spill.sweep(folder.parent, names, mode=0o700)
    path, descriptor = spill.claim_folder(made)
    owner = os.getpid()
    try:
        yield path
    finally:
        if os.getpid() == owner:  # and not a child that was forked meanwhile
            shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _publish(working: Path, folder: Path, *, count: int) -> None:
    """Move the files of all blocks to `folder` at once, and nothing that a late worker may write.

    No worker knows the folder in which they are put together.
    """
    try:
        with _hidden(folder) as whole:
            for place in range(count):
                (working / _name(place)).rename(whole / _name(place))
            whole.chmod(0o777 & ~umask())
            whole.rename(folder)
    except OSError as error:
        raise SourceError(f"{folder} can't be written to: {error.strerror}.") from None


@final
@dataclass(frozen=True, repr=False)
class _Writer:
    """What a worker does. It never raises: dask may print arguments, which are the values."""

    __name__: ClassVar[str] = "add_noise"  # dask shows it in the place of a repr

    _folder: Path
    _draw: SharedDraw
    _size: int

    def __call__(self, values: Any, place: int) -> str | None:
        """Write the noisy values of a block to its file; return what went wrong."""
        file = self._folder / _name(place)
        try:
            # what `Mechanism.release` refuses by its type, such as what is masked, is refused here
            found = flat(as_exact(values))
            if found.shape != (self._size,):  # how many there are is a secret, too
                return "a block has another size than its array says."
            if not file.exists():
                _write_once(file, self._draw.add_to_part(values))
        except InvalidArgument as error:  # it names a type, and never a value
            return f"in a block, {error}"
        except OSError as error:
            return f"a worker can't write to {self._folder.parent}: {error.strerror}."
        except Exception as error:  # noqa: BLE001 (its message may quote values)
            return f"a worker failed with {type(error).__name__}."
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
