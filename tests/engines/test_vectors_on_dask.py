"""Vectors on dask with real workers: each coordinate's noise is drawn once; no value leaks."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise._files import umask
from leastnoise.clusters import on_dask
from leastnoise.errors import InvalidArgument, SourceError

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

SIZE, BLOCK = 4000, 1000


def noise(name: str = "l2", size: int = SIZE) -> ln.Mechanism:
    return ln.calibrate(name, epsilon=1, delta="1e-6", sensitivity=ln.L2(1), dimension=size)


def ones(size: int = SIZE) -> Any:
    from dask import array  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    return array.full(size, 2.0**20, chunks=BLOCK)


@contextmanager
def workers() -> Iterator[Any]:
    from distributed import Client, LocalCluster  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        LocalCluster(
            processes=True, host="127.0.0.1", silence_logs=logging.CRITICAL, **settings
        ) as it,
        Client(it) as client,
    ):
        yield client


@pytest.mark.parametrize("name", ["gaussian", "l2"])
def test_what_is_read_is_what_was_written(tmp_path: Path, name: str) -> None:
    released = ln.release_vector(noise(name), ones(), tmp_path / "out")
    first, second = released.compute(), released.compute()
    assert np.array_equal(first, second)
    errors = first - 2.0**20
    assert errors.std() == pytest.approx(noise(name).std[0], rel=0.15)
    assert np.array_equal(np.load(tmp_path / "out" / "000001.npy"), first[BLOCK : 2 * BLOCK])
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        f"00000{index}.npy" for index in range(4)
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert oct((tmp_path / "out").stat().st_mode)[-3:] == oct(0o777 & ~umask())[-3:]


def test_a_law_whose_coordinates_depend_on_each_other(tmp_path: Path) -> None:
    from dask import array  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    law = ln.noise.GeneralizedGamma(scale=3, alpha=SIZE - 1, p=1, dimension=SIZE)  # as l2 has it
    budget = ln.Budget(epsilon=3, delta="0.5")
    mechanism = ln.Mechanism(ln.Certificate.prove(budget=budget, noise=law, sensitivity=ln.L2(1)))
    vector = array.concatenate([ones(0), ones()])  # an empty block, too
    value = ln.release_vector(mechanism, vector, tmp_path / "out").compute()
    errors = value - 2.0**20
    for part in np.split(errors, 4):
        assert part.std() == pytest.approx(mechanism.std[0], rel=0.15)
    assert np.unique(errors).size > 0.99 * SIZE
    assert len(list((tmp_path / "out").iterdir())) == 4


def _dies_once(folder: str) -> Any:
    """A block that waits until the first one is written, keeps what it is, and kills its worker."""

    def block(values: Any, block_id: Any = None) -> Any:
        where = Path(folder)
        if block_id != (3,) or (where / "first.npy").exists():
            return values
        while not (written := list(where.glob(".out.*/000000.npy"))):
            time.sleep(0.01)
        (where / "first.npy").write_bytes(written[0].read_bytes())
        for pid in map(int, (where / "pids").read_text().split()):
            os.kill(pid, signal.SIGKILL)
        return values

    return block


def test_killed_workers_draw_no_second_noise(tmp_path: Path) -> None:
    with workers() as client:
        pids = client.run(os.getpid).values()
        (tmp_path / "pids").write_text(" ".join(map(str, pids)))
        vector = ones().map_blocks(_dies_once(str(tmp_path)), dtype=float)
        value = ln.release_vector(noise(), vector, tmp_path / "out").compute()
    assert np.array_equal(np.load(tmp_path / "first.npy"), value[:BLOCK])
    assert value.size == SIZE
    assert np.unique(value).size > SIZE * 0.99


KILLED = """
import sys, time
from pathlib import Path
from dask import array
import leastnoise as ln

def slow(values, block_id=None):
    if block_id == (3,):
        print("here", flush=True)
        time.sleep(60)
    return values

noise = ln.calibrate("l2", epsilon=1, delta="1e-6", sensitivity=ln.L2(1), dimension=4000)
vector = array.ones(4000, chunks=1000).map_blocks(slow, dtype=float)
ln.release_vector(noise, vector, Path(sys.argv[1]) / "out")
"""


def test_a_killed_release_leaves_no_half_vector(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "here\n"
    child.kill()
    child.wait()
    child.stdout.close()
    assert not (tmp_path / "out").exists()
    (leftover,) = tmp_path.iterdir()
    assert leftover.name.startswith(".out.")
    assert oct(leftover.stat().st_mode)[-3:] == "700"
    ln.release_vector(noise(), ones(), tmp_path / "out")  # it is in no way, and goes
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_what_fails_on_a_worker_tells_no_value(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()

    def removes(values: Any) -> Any:
        for folder in (tmp_path / "gone").glob(".*"):
            folder.rmdir()
        return values

    vector = ones(BLOCK).map_blocks(removes, dtype=float)
    with pytest.raises(SourceError, match="can't write to") as caught:
        ln.release_vector(noise(size=BLOCK), vector, tmp_path / "gone" / "out")
    text = str(caught.value) + "".join(capfd.readouterr())
    assert "1.04857" not in text
    assert "1048576" not in text
    assert not list((tmp_path / "gone").iterdir())


@pytest.mark.parametrize("name", ["gaussian", "l2"])
def test_a_block_of_another_size_is_refused(tmp_path: Path, name: str) -> None:
    """How many values there are is as secret as they are: it would be published without noise."""
    fewer = ones().map_blocks(lambda values: values[values > 2.0**21], dtype=float)
    with pytest.raises(SourceError, match="another size than its array says") as caught:
        ln.release_vector(noise(name), fewer, tmp_path / "out")
    assert str(caught.value).count("0") == 0
    assert not list(tmp_path.iterdir())


def test_an_error_of_any_kind_is_told_by_its_name_alone(tmp_path: Path) -> None:
    ragged = ones().map_blocks(lambda values: [[1048576.0], values], meta=np.empty(0))
    with pytest.raises(SourceError, match="a list of arrays") as caught:
        ln.release_vector(noise(), ragged, tmp_path / "out")
    assert "1048576" not in str(caught.value)


def test_masked_entries_are_refused_as_every_release_refuses_them(tmp_path: Path) -> None:
    """What is behind a mask was published, with noise, as if it had been asked for."""
    from dask import array  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    masking: Any = array.ma
    masked = masking.masked_greater(ones(), 1)
    with pytest.raises(InvalidArgument, match="masked") as direct:
        noise().release(np.ma.masked_greater(np.ones(SIZE), 0))
    with pytest.raises(InvalidArgument, match="masked") as there:
        ln.release_vector(noise(), masked, tmp_path / "out")
    assert str(there.value) == str(direct.value)
    # an array that doesn't say so, as one whose blocks are made by a function
    for hidden in (
        masked.map_blocks(lambda block: block, meta=np.empty(0)),
        ones().map_blocks(lambda block: np.ma.array(block, mask=True), meta=np.empty(0)),
    ):
        with pytest.raises(SourceError, match="masked") as caught:
            ln.release_vector(noise(), hidden, tmp_path / "out")
        assert str(direct.value) in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "block",
    [
        ["1"],
        [None],
        [1j],
        [np.longdouble(1)],
        [np.datetime64("2020-01-01")],
        [b"1"],
        [[1.0], [2.0]],
    ],
    ids=repr,
)
def test_types_that_no_release_takes_are_refused_in_blocks(tmp_path: Path, block: Any) -> None:
    vector = ones(BLOCK).map_blocks(
        lambda _: np.array(block * BLOCK)[:BLOCK], dtype=float, meta=np.empty(0)
    )
    with pytest.raises(SourceError):
        ln.release_vector(noise(size=BLOCK), vector, tmp_path / "out")


def test_what_a_task_of_the_graph_raises_is_told_by_its_name_alone(tmp_path: Path) -> None:
    def fails(values: Any) -> Any:
        raise KeyError(f"no such value: {values[0]}")

    vector = ones().map_blocks(fails, dtype=float, meta=np.empty(0))
    with pytest.raises(SourceError, match="failed with KeyError") as caught:
        ln.release_vector(noise(), vector, tmp_path / "out")
    assert "1048576" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not list(tmp_path.iterdir())


def test_what_a_late_worker_writes_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = on_dask._publish

    def late(working: Path, *others: Path, count: int) -> None:
        (working / ".late").write_bytes(b"a second draw")
        inner(working, *others, count=count)

    monkeypatch.setattr(on_dask, "_publish", late)
    ln.release_vector(noise(), ones(), tmp_path / "out")
    assert all(file.suffix == ".npy" for file in (tmp_path / "out").iterdir())
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_what_is_no_vector_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    vector = ones()
    unknown = vector[vector > 0]
    for wrong, why in [
        (ones(SIZE + 1), r"shape \(4000,\)"),
        (ones().reshape(40, 100), r"shape \(4000,\)"),
        (unknown, r"shape \(4000,\)"),
        (vector.astype("S3"), "numbers"),
        (np.zeros(SIZE), "a dask array or a Spark frame"),
    ]:
        with pytest.raises(InvalidArgument, match=why):
            ln.release_vector(noise(), wrong, tmp_path / "out")
    for folder, why in [
        ("there", "exists already"),
        ("no/where", "not a folder in which you may write"),
    ]:
        with pytest.raises(SourceError, match=why):
            ln.release_vector(noise(), vector, tmp_path / folder)
    for wrong in (None, 7, b"out", ""):
        with pytest.raises(InvalidArgument, match="folder"):
            ln.release_vector(noise(), vector, wrong)  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["there"]
