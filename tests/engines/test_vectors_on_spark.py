"""Vectors in Spark frames: each coordinate's noise is drawn once; no value leaks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.errors import InvalidArgument, SourceError

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

SIZE = 25_000


def noise(name: str = "l2", size: int = SIZE) -> ln.Mechanism:
    return ln.calibrate(name, epsilon=1, delta="1e-6", sensitivity=ln.L2(1), dimension=size)


def vector(session: Any, value: str = "1048576D") -> Any:
    return session.range(SIZE).selectExpr("id AS position", f"{value} AS value")


def values_of(frame: Any) -> np.ndarray[Any, Any]:
    rows = frame.orderBy("position").toPandas()
    assert rows["position"].tolist() == list(range(len(rows)))
    return rows["value"].to_numpy()


@pytest.mark.parametrize("name", ["gaussian", "l2"])
def test_what_is_read_is_what_was_written(session: Any, tmp_path: Path, name: str) -> None:
    released = ln.release_vector(noise(name), vector(session), tmp_path / "out")
    first, second = values_of(released), values_of(released)
    assert np.array_equal(first, second)
    assert (first - 2.0**20).std() == pytest.approx(noise(name).std[0], rel=0.05)
    assert np.array_equal(values_of(session.read.parquet(str(tmp_path / "out"))), first)


def test_no_value_is_an_error(session: Any, tmp_path: Path) -> None:
    odd = "CASE WHEN id = 0 THEN NULL WHEN id = 1 THEN double('NaN') ELSE double('inf') END"
    frame = session.range(3).selectExpr("int(id) AS position", f"{odd} AS value")
    result = values_of(ln.release_vector(noise(size=3), frame, tmp_path / "out"))
    assert np.abs(result[:2]).max() < 1000 * noise(size=3).std[0]
    assert np.isfinite(result).all()
    assert result[2] > 1e6


def test_what_is_no_vector_is_refused_and_nothing_is_written(session: Any, tmp_path: Path) -> None:
    good = vector(session)
    for wrong in (
        good.selectExpr("position", "value + 0", "value"),
        good.selectExpr("position", "string(value) AS value"),
        good.selectExpr("position", "bigint(value) AS value"),
        good.selectExpr("double(position) AS position", "value"),
    ):
        with pytest.raises(InvalidArgument, match="position bigint, value double"):
            ln.release_vector(noise(), wrong, tmp_path / "out")
    for wrong in (
        good.limit(SIZE - 1),
        good.where("position <> 7").union(good.where("position = 8")),
        good.selectExpr("position + 1 AS position", "value"),
        good.selectExpr("CASE WHEN position <> 7 THEN position END AS position", "value"),
    ):
        with pytest.raises(SourceError, match="each position from 0 to 24,999 exactly once"):
            ln.release_vector(noise(), wrong, tmp_path / "out")
    assert not list(tmp_path.iterdir())
    (tmp_path / "out").mkdir()
    with pytest.raises(SourceError, match="The folder must be new"):
        ln.release_vector(noise(), good, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_positions_that_are_lost_meanwhile(session: Any, tmp_path: Path) -> None:
    """Rows that aren't the same twice, here from a file that is replaced as it is asked for."""
    from pyspark.sql import functions  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    marker = str(tmp_path / "read")

    def fewer_later(position: int) -> int:
        try:
            open(marker, "x").close()
        except FileExistsError:
            with open(marker) as file:
                asked = len(file.read())
        else:
            asked = 0
        with open(marker, "a") as file:
            file.write(".")
        return position if asked < 3 else 0

    moved = functions.udf(fewer_later, "bigint").asNondeterministic()
    frame = session.range(3, numPartitions=1).select(
        moved("id").alias("position"), functions.lit(1.0).alias("value")
    )
    with pytest.raises(SourceError, match="Spark read the vector twice"):
        ln.release_vector(noise(size=3), frame, tmp_path / "out")


def test_killed_executors_draw_no_second_noise(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.engines.lose_vector", str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert (tmp_path / "killed").exists()
    record = json.loads(done.stdout.strip().splitlines()[-1])
    assert record["positions"] == list(range(1000))
    assert record["first"] == record["second"]
    assert "1048576" not in done.stderr
