"""One release of a vector that is stored on a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from leastnoise import _validate
from leastnoise.clusters import on_dask, on_spark
from leastnoise.errors import InvalidArgument, SourceError, show_value
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.shares import SharedDraw


def release_vector(mechanism: Mechanism, vector: Any, folder: str | os.PathLike[str]) -> Any:
    """Write a vector with fresh noise to a new folder, and return a vector that reads it.

    The noise is exactly the noise of `Mechanism.release`. It is drawn once, on the machines that
    store the parts, from the entropy of each machine's own system. All later reads of the folder
    give the same numbers. A random number that coordinates share, such as the radius of l2 noise,
    is sent to the workers with their tasks. It is as secret as the values. Every call spends the
    budget again.

    Args:
        mechanism: A mechanism with gaussian, l2 or laplace noise, or on dask generalized-gamma,
            without a geometry.
        vector: A dask array of shape (dimension,), or a Spark frame (classic or Connect) with the
            columns `position` (each of 0 to dimension − 1 once) and `value`.
        folder: Path of a folder that doesn't exist yet, and that all workers can reach.

    Returns:
        A dask array over the folder's .npy files, or a Spark frame over its Parquet files.

    Raises:
        InvalidArgument: `vector` has another type or shape, or `folder` is no path.
        NotApplicable: The noise isn't supported, or it has a geometry.
        SourceError: The folder exists or can't be written to, or a worker fails. Or positions are
            missing or duplicate, which is found before anything is written.

    Examples:
        >>> import dask.array  # doctest: +SKIP
        >>> import leastnoise as ln
        >>> noise = ln.calibrate("l2", epsilon=1, sensitivity=ln.L2(1), dimension=10**6)
        >>> ln.release_vector(noise, dask.array.zeros(10**6), "released")  # doctest: +SKIP
    """
    like = "a Mechanism, such as calibrate() returns"
    mechanism = _validate.instance(mechanism, Mechanism, name="mechanism", like=like)
    certificate, path = mechanism.certificate, _path(folder)
    kind = type(vector).__module__
    is_spark = kind.startswith("pyspark.sql.") and type(vector).__name__ == "DataFrame"
    if not is_spark and not kind.startswith("dask.array"):
        raise InvalidArgument(
            name="vector",
            value=show_value(vector),
            expected="vector to be a dask array or a Spark frame",
            hint="For arrays use Mechanism.release, or release_chunks if they don't fit in memory.",
        )
    if is_spark:
        on_spark.check(vector, mechanism.noise.dimension)
        return on_spark.release(vector, SharedDraw.of(certificate, mechanism.grid), path)
    on_dask.check(vector, mechanism.noise.dimension)
    target = _new_folder(path)
    draws = SharedDraw.in_parts(certificate, mechanism.grid, on_dask.sizes_of(vector))
    return on_dask.release(vector, draws, target)


def _path(folder: object) -> str:
    """The path of the folder, which may be an address such as s3a://bucket/folder.

    Raises InvalidArgument unless it is the text of a path.
    """
    path = os.fspath(folder) if isinstance(folder, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise InvalidArgument(
            name="folder",
            value=show_value(folder),
            expected="folder to be the path of a new folder",
        )
    return path


def _new_folder(path: str) -> Path:
    """The path of the new folder. Raises SourceError if it exists or can't be created."""
    folder = Path(path).absolute()
    if folder.exists() or folder.is_symlink():
        raise SourceError(f"{path} exists already. Name a new folder.")
    if not folder.parent.is_dir() or not os.access(folder.parent, os.W_OK):
        raise SourceError(
            f"{path} can't be created, because {folder.parent} is not a folder in which you may "
            "write."
        )
    return folder
