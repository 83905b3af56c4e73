"""Errors that are known before a charge cost nothing, as a rehearsal takes a release's steps."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.errors import InvalidInput, SourceError, SpecError
from leastnoise.tables.publish import output
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.publish.test_rehearsal import COUNT, charges, folder, release

__all__ = ["folder"]


BOTH = [
    {"name": "small", "statistics": ["count"], "group_by": {"k": [1, 2]}},
    {"name": "capital", "statistics": ["count"], "group_by": {"K": [1, 2]}},
]


@pytest.mark.dense
@pytest.mark.parametrize("where", ["k.parquet", "k.csv", "of parquet", "of csv"])
def test_names_that_differ_in_capitals(folder: Path, where: str) -> None:
    table = pa.table([[1, 1], [2, 2]], names=["k", "K"])
    for index in ("k", "of parquet/1", "of parquet/2", "of csv/1", "of csv/2"):
        (folder / index).parent.mkdir(exist_ok=True)
        if "csv" not in index:
            pq.write_table(table, folder / f"{index}.parquet")
        if "parquet" not in index:
            (folder / f"{index}.csv").write_text("k,K\n1,2\n1,2\n")
    types = {"types": {"k": "int", "K": "int"}} if "csv" in where else {}
    data = {"source": where, **types}
    released = release(folder, data=data, query=BOTH, epsilon="1000").run()
    rows = 4 if "of" in where else 2
    assert released.tables["small"].columns["count"] == pytest.approx([rows, 0], abs=0.5)
    assert released.tables["capital"].columns["count"] == pytest.approx([0, rows], abs=0.5)
    assert charges(folder) == 1


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["a frame", "a query", "a table", "a reader"])
def test_a_column_that_can_hold_nothing(folder: Path, kind: str) -> None:
    nothing = pl.DataFrame({"x": [1.0, 2.0], "town": [None, None]})
    frames: dict[str, Any] = {
        "a frame": nothing,
        "a query": nothing.lazy(),
        "a table": nothing.to_arrow(),
        "a reader": nothing.to_arrow().to_reader(),
    }
    data = {"source": frames[kind], "types": {"town": "text"}}
    query = [{"name": "q", "statistics": ["count"], "group_by": {"town": ["a"]}}]
    released = release(folder, data=data, query=query, epsilon="1000").run()
    assert released.tables["q"].columns["count"] == pytest.approx([0], abs=0.5)
    assert charges(folder) == 1


_ONCE = pa.array(["a", "b"]).dictionary_encode()
_PLACES, _ENDS = pa.array([0, 1], pa.int8()), pa.array([1, 2], pa.int32())
_RUNS = pa.RunEndEncodedArray.from_arrays(_ENDS, pa.array(["a", "b"]))
TWICE: dict[str, Any] = {
    "a dictionary of a dictionary": pa.DictionaryArray.from_arrays(_PLACES, _ONCE),
    "a dictionary of runs": pa.DictionaryArray.from_arrays(_PLACES, _RUNS),
    "runs of a dictionary": pa.RunEndEncodedArray.from_arrays(_ENDS, _ONCE),  # places, to DuckDB
}


@pytest.mark.grid
@pytest.mark.parametrize("built", ["a table", "a reader", "pandas"])
@pytest.mark.parametrize("kind", TWICE)
def test_a_column_that_is_encoded_twice(folder: Path, kind: str, built: str) -> None:
    columns = {"x": pa.array([1.0, 2.0]), "town": TWICE[kind]}

    def data() -> dict[str, Any]:
        table = pa.table(columns)
        if built == "pandas":
            arrow = pd.arrays.ArrowExtensionArray
            return {"source": pd.DataFrame({name: arrow(item) for name, item in columns.items()})}
        return {"source": table.to_reader() if built == "a reader" else table}

    query = [{"name": "q", "statistics": ["count"], "group_by": {"town": ["a"]}}]
    with pytest.raises(SpecError, match="'town' holds dictionaries or runs within others"):
        release(folder, data=data(), query=query).run()
    assert charges(folder) == 0
    release(folder, data=data()).run()  # who doesn't ask for it isn't told
    assert charges(folder) == 1


@pytest.mark.dense
def test_a_reader_that_was_read(folder: Path) -> None:
    reader = pa.table({"x": [1.0, 2.0]}).to_reader()
    data: dict[str, Any] = {"source": reader}
    release(folder, data=data).run()
    assert charges(folder) == 1
    with pytest.raises(InvalidInput, match=r"read already.* Nothing was spent"):
        release(folder, data=data, output={"path": "again"}).run()
    assert charges(folder) == 1


def test_no_row_is_looked_at_before_the_charge(folder: Path) -> None:
    """What fails on a row fails after it: else an error would tell of rows for nothing."""

    def batches() -> Any:
        raise ValueError("secret")
        yield

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64()}), batches())
    rows = pa.table({"x": [f"{index}a" * 50 for index in range(5000)]})
    pq.write_table(rows, folder / "x.parquet", compression="none", use_dictionary=False)
    content = bytearray((folder / "x.parquet").read_bytes())
    content[4:200] = b"\xff" * 196  # the head of the first page, and no metadata
    (folder / "x.parquet").write_bytes(content)
    by_text = [{"name": "q", "statistics": ["count"], "group_by": {"x": ["a"]}}]
    sources: list[tuple[Any, Any]] = [(reader, COUNT), ("x.parquet", by_text)]
    for index, (where, query) in enumerate(sources, start=1):
        with pytest.raises(SourceError, match="can't be read") as caught:
            release(folder, data={"source": where}, query=query).run()
        assert "secret" not in str(caught.value)
        assert "spent" not in str(caught.value)
        assert charges(folder) == index


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("rounded", [False, True])
def test_the_rehearsal_takes_as_much_room_as_the_release(
    folder: Path, kind: str, rounded: bool
) -> None:
    room: dict[str, int] = {}

    def looked(stage: str) -> None:
        if stage == "Charging the ledger":
            (kept,) = folder.glob(".out.*.partial/rehearsal")
            room.update({file.name: file.stat().st_size for file in kept.iterdir()})

    query = [
        {"name": "q", "statistics": ["count", "mean(x)"], "group_by": {"who": list(range(3000))}},
        {"name": "one", "statistics": ["count"], "round": rounded},
    ]
    columns = {"x": {"bounds": [-1, 3]}}
    out = {"path": "out", "format": kind}
    release(folder, query=query, columns=columns, output=out).run(progress=looked)
    taken = {file.name: file.stat().st_size for file in (folder / "out").iterdir()}
    assert room.keys() == taken.keys() - {output.PLAN, output.CERTIFICATE, output.SPEC}
    assert not {name for name in room if room[name] < taken[name]}


SMALL_DISK = """
import sys
from pathlib import Path
from leastnoise.errors import InvalidInput
from leastnoise.ledger.ledger import Ledger
from leastnoise.tables.publish.release import Release
folder, disk = Path(sys.argv[1]), Path(sys.argv[2])
keys = list(range(2000))
for blocks in map(int, sys.argv[3:]):
    (disk / "filler").write_bytes(bytes(0))
    import os
    free = os.statvfs(disk).f_bavail
    (disk / "filler").write_bytes(bytes(4096 * (free - blocks)))
    before = Ledger(folder / "b.ledger").accounts()["rows"].charges
    try:
        Release(
            data={"source": "rows.csv", "types": {"who": "int"}},
            privacy={"unit": "row", "epsilon": "1", "ledger": {"path": "b.ledger"}},
            query=[{"name": "q", "statistics": ["count"], "group_by": {"who": keys}}],
            output={"path": str(disk / f"out{blocks}"), "format": "csv"},
            folder=folder,
        ).run()
        done = True
    except InvalidInput:
        done = False
    spent = Ledger(folder / "b.ledger").accounts()["rows"].charges - before
    print("done" if done else "refused", spent, flush=True)
"""


@pytest.mark.dense
def test_a_disk_that_is_too_small_by_a_block_costs_nothing(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=8m none {disk}"
    if subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False
    ).returncode:
        pytest.skip("no small disk can be made here")
    sizes = [str(size) for size in (*range(22, 29), *range(54, 63))]  # where either can just be
    command = shlex.join([sys.executable, "-c", SMALL_DISK, str(folder), str(disk), *sizes])
    run = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount} && {command}"],
        capture_output=True,
        text=True,
        check=True,
    )
    result = run.stdout.split("\n")[:-1]
    assert set(result) == {"refused 0", "done 1"}


def test_a_child_that_was_forked_takes_nothing_away(folder: Path) -> None:
    """It unwinds what its parent is in the middle of, and ends."""

    def forks(stage: str) -> None:
        child = os.fork() if stage == "Charging the ledger" else None
        if child == 0:
            raise KeyboardInterrupt
        if child is not None:
            os.waitpid(child, 0)

    if (child := os.fork()) == 0:  # so that the copy of this test ends with its parent's copy
        owner = os.getpid()
        try:
            release(folder).run(progress=forks)
        except KeyboardInterrupt:
            os._exit(0)
        finally:
            os._exit(0 if os.getpid() != owner or (folder / "out").is_dir() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    verify_directory(folder / "out")


LEFT = """
import sys, time
from leastnoise.tables.publish.release import Release
def wait(stage):
    if stage == "Charging the ledger":
        print("here", flush=True)
        time.sleep(60)
Release.from_toml(sys.argv[1]).run(progress=wait)
"""


@pytest.mark.dense
def test_the_next_release_removes_what_a_killed_one_left(folder: Path) -> None:
    (folder / "spec.toml").write_text(release(folder).to_toml())
    command = [sys.executable, "-c", LEFT, str(folder / "spec.toml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        # of another name, and of one that lives
        (folder / ".other.1-0.partial").mkdir()
        release(folder, output={"path": "beside"}).run()
        assert len(list(folder.glob(".out.*"))) == 1
        child.kill()
    (left,) = folder.glob(".out.*")
    release(folder).run()
    assert not left.exists()
    assert {file.name for file in folder.glob(".*")} == {".other.1-0.partial"}
