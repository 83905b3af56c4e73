"""What can fail without rows fails before the budget is charged, and leaves nothing behind."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from leastnoise.errors import InvalidInput, LeastnoiseError, SourceError, SpecError
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.ledger import Ledger
from leastnoise.tables import bounding, output
from leastnoise.tables.release import Release
from leastnoise.tables.verify import verify_directory

COUNT = [{"name": "q", "statistics": ["count"]}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("who,x,town\n" + "".join(f"{i},{i},a\n" for i in range(9)))
    Ledger(tmp_path / "b.ledger").open_account("rows", unit="row", budget=Budget(epsilon=100_000))
    return tmp_path


def release(folder: Path, *, epsilon: str = "1", **changes: Any) -> Release:
    sections: dict[str, Any] = {
        "data": {"source": "rows.csv", "types": {"who": "int", "x": "float", "town": "text"}},
        "privacy": {"unit": "row", "epsilon": epsilon, "ledger": {"path": "b.ledger"}},
        "query": COUNT,
        "output": {"path": "out", "format": "json"},
    }
    return Release(**{**sections, **changes}, folder=folder)


def charges(folder: Path) -> int:
    return Ledger(folder / "b.ledger").accounts()["rows"].charges


def refuses(folder: Path, error: type[LeastnoiseError], why: str, **changes: Any) -> None:
    before = sorted(folder.rglob("*"))
    with pytest.raises(error, match=why):
        release(folder, **changes).run()
    assert charges(folder) == 0
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("statistics", "bounds", "epsilon"),
    [
        (["mean(x)"], ["1e-300", "1.0000001e-300"], "1"),
        (["sum(x)"], [0, "1e-299"], "1"),
        (["sum(x)"], [0, "1e300"], "1e-9"),
        (["count", "sum(x)"], ["-1e300", 0], "1"),
        (["count", "mean(x)"], ["-1e300", "1e300"], "1e-100"),
        (["sum(x)"], [0, "1e180"], "1e-120"),
    ],
)
def test_numbers_out_of_range_are_refused_by_their_bounds(
    folder: Path, statistics: list[str], bounds: list[Any], epsilon: str
) -> None:
    columns = {"x": {"bounds": bounds}}
    query = [{"name": "q", "statistics": statistics}]
    why = r"columns\.x\.bounds"
    refuses(folder, LeastnoiseError, why, epsilon=epsilon, columns=columns, query=query)


@pytest.mark.parametrize("bounds", [["-1e280", "1e280"], [0, "1e-289"], [10**9, 10**9 + 1]])
@pytest.mark.parametrize("epsilon", ["1e-9", "1", "50000"])
def test_numbers_in_range_are_finite_and_verify(
    folder: Path, bounds: list[Any], epsilon: str
) -> None:
    made = release(
        folder,
        epsilon=epsilon,
        columns={"x": {"bounds": bounds}},
        query=[{"name": "q", "statistics": ["count", "sum(x)", "mean(x)"]}],
    ).run()
    columns = made.tables["q"].columns
    assert all(np.isfinite(values).all() for values in columns.values())
    assert all(min(columns[name]) > 0 for name in columns if name.endswith("_std"))
    verify_directory(folder / "out")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("o/..", "name of a new directory"),
        ("..", "name of a new directory"),
        (".", "exists"),
        ("/", "name of a new directory"),
        ("rows.csv", "exists"),
        ("rows.csv/out", "can't be made"),
        ("b.ledger", "in the way of the ledger"),
        ("b.ledger/out", "in the way of the ledger"),
        ("b.ledger-journal", "in the way of the ledger"),
        ("b.ledger-wal", "in the way of the ledger"),
        ("b.ledger-shm/a/b", "in the way of the ledger"),
        ("B.Ledger-Journal", "in the way of the ledger"),
        ("nowhere/../b.ledger-journal", "in the way of the ledger"),
        ("link/b.ledger-journal", "in the way of the ledger"),
        ("dangling/out", "can't be made"),
        ("dangling", "exists"),
        ("loop/out", "can't be made"),
        ("/proc/nothing/out", "can't be made"),
        ("x" * 250, "can't be made"),
        ("a\0b", "NUL"),
    ],
)
def test_output_paths_that_can_not_be(folder: Path, path: str, why: str) -> None:
    (folder / "link").symlink_to(folder)
    (folder / "dangling").symlink_to(folder / "none")
    (folder / "loop").symlink_to(folder / "loop")
    stages: list[str] = []
    with pytest.raises(InvalidInput, match=why):
        release(folder, output={"path": path}).run(progress=stages.append)
    assert stages == []
    assert charges(folder) == 0
    names = {"rows.csv", "b.ledger", "link", "dangling", "loop"}
    assert {file.name for file in folder.iterdir()} == names


def test_the_names_of_a_ledger_behind_a_link_are_its_own(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "b.ledger").rename(folder / "elsewhere" / "a.ledger")
    (folder / "b.ledger").symlink_to(folder / "elsewhere" / "a.ledger")
    refuses(folder, InvalidInput, "in the way", output={"path": "elsewhere/a.ledger-journal"})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_to_be_written_to(folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    refuses(folder, InvalidInput, "can't be made", output={"path": "locked/out"})


@pytest.mark.parametrize("name", [output.SPEC, output.PLAN, output.CERTIFICATE])
def test_what_is_too_long_to_be_verified(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(output.LARGEST, name, 250)  # of 10,000,000 bytes, which take seconds
    refuses(folder, InvalidInput, f"not verify: .*{name} .*250 bytes")


def test_folders_made_for_a_refused_release_are_taken_away(folder: Path) -> None:
    (folder / "a").mkdir()
    source = {"source": "none.csv", "types": {"x": "int"}}
    refuses(folder, SourceError, "found none", data=source, output={"path": "a/b/../c/out"})
    release(folder, output={"path": "a/b/../c/out"}).run()
    verify_directory(folder / "a" / "c" / "out")


def test_a_column_without_a_name(folder: Path) -> None:
    query = [{"name": "q", "statistics": ["count"], "group_by": {"": ["a"]}}]
    types = {"": "text"}
    why = "a column with a name"
    refuses(folder, SpecError, why, query=query, data={"source": "rows.csv", "types": types})


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_every_hostile_key_verifies(folder: Path, kind: str) -> None:
    texts = ["\r", "a\rb", "\n", '"', ",", "", " ", "=1", "1", "\u2028", "\0", "x" * 131_073]
    query = [{"name": "q", "statistics": ["count"], "group_by": {"town": texts}}]
    release(folder, query=query, output={"path": "out", "format": kind}).run()
    verify_directory(folder / "out")
    assert charges(folder) == 1


@pytest.mark.parametrize("there", ["nowhere", "a file", "full"])
def test_without_a_folder_for_temporary_files(
    folder: Path, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"nowhere": folder / "none", "a file": folder / "rows.csv", "full": Path("/proc")}
    monkeypatch.setattr(tempfile, "tempdir", str(wanted[there]))
    refuses(folder, InvalidInput, "Temporary files can't be made")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_query_that_the_engine_can_not_take(
    folder: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any fault in how a query is asked shows before the charge, here one that is put there."""
    duckdb.sql(f"COPY (FROM read_csv('{folder}/rows.csv')) TO '{folder}/rows.parquet'")
    types = {"x": "float", "town": "text"}
    changes: dict[str, Any] = {"data": {"source": f"rows.{suffix}", "types": types}}
    release(folder, **changes, output={"path": "fine"}).run()
    assert charges(folder) == 1

    def deep(*values: object) -> None:
        raise RecursionError

    monkeypatch.setattr(bounding, "_in_cells", deep)
    with pytest.raises(InvalidInput, match="more keys, conditions or statistics"):
        release(folder, **changes).run()
    assert charges(folder) == 1


def test_many_key_columns_are_refused(folder: Path) -> None:
    names = [f"c{place}" for place in range(33)]
    data = {"source": "rows.csv", "types": dict.fromkeys(names, "int")}
    query = [{"name": "q", "statistics": ["count"], "group_by": {name: [1] for name in names}}]
    refuses(folder, SpecError, "at most 32", data=data, query=query)
