"""One release of a vector that lies on a cluster."""

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
    """Write `vector` with fresh noise to a new `folder`, and return what is read from there.

    `vector` is a dask array of shape (dimension,), or a Spark frame (classic or Connect) with the
    columns `position`, 0 to dimension − 1, each once, and `value`. What is returned is the same
    kind: a dask array over the .npy files of the folder, which all workers must reach, or a Spark
    frame over its Parquet files. The noise is that of `Mechanism.release`, exactly. It is drawn
    where the parts of the vector are, from the entropy of each machine's own system, once: what is
    read from the folder never changes. What l2 noise shares, its radius, goes to the workers with
    the work, and is as secret as the values. Every call spends the budget again.

    Raises InvalidArgument for another vector, NotApplicable for noise other than gaussian, l2 and
    laplace (and generalized-gamma on dask, which says how large its parts are) and for a geometry,
    SourceError if the folder exists or can't be written to, and, where positions are missing or
    twice, before anything is written.

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
            hint="Mechanism.release takes arrays, release_chunks what no memory holds.",
        )
    if is_spark:
        on_spark.check(vector, mechanism.noise.dimension)
        return on_spark.release(vector, SharedDraw.of(certificate, mechanism.grid), path)
    on_dask.check(vector, mechanism.noise.dimension)
    target = _new_folder(path)
    draws = SharedDraw.in_parts(certificate, mechanism.grid, on_dask.sizes_of(vector))
    return on_dask.release(vector, draws, target)


def _path(folder: object) -> str:
    """Return the path, or an address such as s3a://bucket/folder, which no Path keeps."""
    path = os.fspath(folder) if isinstance(folder, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise InvalidArgument(
            name="folder", value=show_value(folder), expected="folder to be a new one's path"
        )
    return path


def _new_folder(path: str) -> Path:
    """Return that folder, which isn't there yet; raises SourceError."""
    folder = Path(path).absolute()
    if folder.exists() or folder.is_symlink():
        raise SourceError(f"{path} exists already: name a new folder.")
    if not folder.parent.is_dir() or not os.access(folder.parent, os.W_OK):
        raise SourceError(f"{path} can't be made: there is no folder {folder.parent} to write to.")
    return folder
