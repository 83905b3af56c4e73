"""Vectors on dask and Spark are recognised and checked; tests/engines has real clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.clusters import on_spark
from leastnoise.errors import InvalidArgument, SourceError
from tests.subjects import gaussian


def frame(types: Mapping[str, str]) -> Any:
    """A Spark frame of which only the schema is known."""

    def field(name: str, kind: str) -> Any:
        return SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda: kind))

    fields = [field(name, kind) for name, kind in types.items()]
    return SimpleNamespace(schema=SimpleNamespace(fields=fields))


def test_a_dask_array_is_looked_at_and_another_vector_is_refused(tmp_path: Path) -> None:
    array = type("Array", (), {"__module__": "dask.array.core", "shape": (1, 2)})()
    for vector, expected in (
        (array, r"a dask array of shape \(1,\)"),
        ([0.0], "vector to be a dask array or a Spark frame"),
    ):
        with pytest.raises(InvalidArgument, match=expected):
            ln.release_vector(gaussian(), vector, tmp_path / "new")


def test_a_spark_frame_has_two_columns_of_exact_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_spark, "_has_all_positions", lambda vector, dimension: True)
    on_spark.check(frame({"position": "int", "value": "double"}), 3)
    for types in (
        {"position": "int", "value": "bigint"},
        {"position": "double", "value": "double"},
        {"position": "int"},
        {"position": "int", "value": "double", "more": "int"},
    ):
        with pytest.raises(InvalidArgument, match="a Spark frame of two columns"):
            on_spark.check(frame(types), 3)


@pytest.mark.parametrize("folder", ["there", "link"])
def test_a_folder_that_is_there_is_refused_and_so_is_a_link_to_none(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    array = type("Array", (), {"__module__": "dask.array.core", "shape": (1,), "dtype": float})()
    with pytest.raises(SourceError, match="exists already"):
        ln.release_vector(gaussian(), array, tmp_path / folder)
