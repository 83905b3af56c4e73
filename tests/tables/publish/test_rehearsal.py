"""What can fail without rows fails before the budget is charged, and leaves nothing behind."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from leastnoise.errors import InvalidInput, LeastnoiseError, Refused, SourceError, SpecError
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.ledger import Ledger
from leastnoise.tables.publish import output
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.rows import integer_vectors

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
        (["count", "sum(x)"], ["-1e300", "1e300"], "1e-100"),
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


def test_a_mean_stays_in_range_however_much_noise_there_is(folder: Path) -> None:
    builder = release(
        folder,
        epsilon="1e-100",
        columns={"x": {"bounds": ["-1e300", "1e300"]}},
        query=[{"name": "q", "statistics": ["count", "mean(x)"]}],
    ).run()
    assert all(np.isfinite(values).all() for values in builder.tables["q"].columns.values())
    verify_directory(folder / "out")


@pytest.mark.dense
@pytest.mark.parametrize("bounds", [["-1e280", "1e280"], [0, "1e-289"], [10**9, 10**9 + 1]])
@pytest.mark.parametrize("epsilon", ["1e-9", "1", "50000"])
def test_numbers_in_range_are_finite_and_verify(
    folder: Path, bounds: list[Any], epsilon: str
) -> None:
    builder = release(
        folder,
        epsilon=epsilon,
        columns={"x": {"bounds": bounds}},
        query=[{"name": "q", "statistics": ["count", "sum(x)", "mean(x)"]}],
    ).run()
    columns = builder.tables["q"].columns
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
        ("rows.csv/out", "can't be created"),
        ("b.ledger", "The ledger"),
        ("b.ledger/out", "The ledger"),
        ("b.ledger-journal", "The ledger"),
        ("b.ledger-wal", "The ledger"),
        ("b.ledger-shm/a/b", "The ledger"),
        ("B.Ledger-Journal", "The ledger"),
        ("nowhere/../b.ledger-journal", "The ledger"),
        ("link/b.ledger-journal", "The ledger"),
        ("dangling/out", "can't be created"),
        ("dangling", "exists"),
        ("loop/out", "can't be created"),
        ("/proc/nothing/out", "can't be created"),
        ("x" * 250, "can't be created"),
        ("a\0b", "null character"),
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
    refuses(folder, InvalidInput, "The ledger", output={"path": "elsewhere/a.ledger-journal"})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_to_be_written_to(folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    refuses(folder, InvalidInput, "can't be created", output={"path": "locked/out"})


@pytest.mark.parametrize("name", [output.SPEC, output.PLAN, output.CERTIFICATE])
def test_what_is_too_long_to_be_verified(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(output.LARGEST, name, 250)  # of 10,000,000 bytes, which take seconds
    refuses(folder, InvalidInput, f"fail its own verification: .*{name} .*250 bytes")


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


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_every_hostile_key_verifies(folder: Path, kind: str) -> None:
    texts = ["\r", "a\rb", "\n", '"', ",", "", " ", "=1", "1", "\u2028", "\0", "x" * 4000]
    query = [{"name": "q", "statistics": ["count"], "group_by": {"town": texts}}]
    release(folder, query=query, output={"path": "out", "format": kind}).run()
    verify_directory(folder / "out")
    assert charges(folder) == 1


def test_a_key_that_no_field_can_hold(folder: Path) -> None:
    query = [{"name": "q", "statistics": ["count"], "group_by": {"town": ["a", "x" * 131_073]}}]
    refuses(folder, SpecError, r"town\[1\]: Expected a key of less than", query=query)


@pytest.mark.parametrize("there", ["nowhere", "a file", "full"])
def test_without_a_folder_for_temporary_files(
    folder: Path, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"nowhere": folder / "none", "a file": folder / "rows.csv", "full": Path("/proc")}
    monkeypatch.setattr(tempfile, "tempdir", str(wanted[there]))
    refuses(folder, InvalidInput, "folder or pipe for temporary files")


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

    def deep(*values: object, **others: object) -> None:
        raise RecursionError

    monkeypatch.setattr(integer_vectors, "rows_in_cells", deep)
    with pytest.raises(InvalidInput, match="more keys, conditions or statistics"):
        release(folder, **changes).run()
    assert charges(folder) == 1


def test_many_key_columns_are_refused(folder: Path) -> None:
    names = [f"c{index}" for index in range(33)]
    data = {"source": "rows.csv", "types": dict.fromkeys(names, "int")}
    query = [{"name": "q", "statistics": ["count"], "group_by": {name: [1] for name in names}}]
    refuses(folder, SpecError, "at most 32", data=data, query=query)


def test_a_column_called_row_is_asked_about_and_each_answer_is_kept(folder: Path) -> None:
    """Nine rows of one person: as rows they count 9, clipped to one row a person 1."""
    (folder / "rows.csv").write_text("row,x\n" + "7,1\n" * 9)
    changes: dict[str, Any] = {
        "data": {"source": "rows.csv", "types": {"row": "int", "x": "float"}},
        "epsilon": "1000",
    }
    refuses(folder, SpecError, 'also has a column "row"', **changes)
    privacy = {"unit": "row", "epsilon": "1000", "ledger": {"path": "b.ledger"}}
    each = {**changes, "privacy": {**privacy, "unit_is": "each-row"}}
    rows = release(folder, **each, output={"path": "each"}).run()
    assert rows.tables["q"].columns["count"][0] == pytest.approx(9, abs=0.5)
    assert rows.plan.unit == "row"
    column = {**changes, "privacy": {**privacy, "unit_is": "column"}}
    with pytest.raises(Refused, match="unit='column \"row\"'"):  # another account than that of rows
        release(folder, **column, contribution={"max_rows": 1}).run()
    del column["privacy"]["ledger"]
    persons = release(folder, **column, contribution={"max_rows": 1}).run()
    assert persons.tables["q"].columns["count"][0] == pytest.approx(1, abs=0.5)
    assert persons.plan.unit == 'column "row"'
    verify_directory(folder / "each")
    verify_directory(folder / "out")
    assert charges(folder) == 1


def test_unit_is_answers_no_other_question(folder: Path) -> None:
    privacy = {"unit": "who", "unit_is": "each-row", "epsilon": "1"}
    with pytest.raises(SpecError, match=r'only with unit = "row"'):
        release(folder, privacy=privacy, contribution={"max_rows": 1})


@pytest.mark.dense
@pytest.mark.parametrize("epsilon", ["150", "1000", "100000"])
def test_a_budget_that_needs_hardly_any_noise_cuts_no_value_off(folder: Path, epsilon: str) -> None:
    """A grid as fine as such noise would hold numbers near 0 alone."""
    (folder / "rows.csv").write_text("who,x,town\n" + "1,7,a\n" * 5000)
    where = {"some": {"x": {"min": 1}}, "all": {"x": {"max": 9}}}
    query = [
        {"name": "rows", "statistics": ["count"]},
        {"name": "sums", "statistics": ["sum(x)"], "group_by": {"town": ["a"]}},
        {"name": "where", "conditions": where},
    ]
    columns = {"x": {"bounds": [0, 7]}}
    released = release(folder, epsilon=epsilon, columns=columns, query=query).run()
    for name, label, truth in (("rows", "count", 5000), ("sums", "sum_x", 35_000)):
        result = released.tables[name].columns
        assert result[label][0] == pytest.approx(truth, abs=0.05)
        assert result[f"{label}_low"][0] <= truth <= result[f"{label}_high"][0]
        assert abs(result[label][0] - truth) <= 30 * result[f"{label}_std"][0]
    assert released.tables["where"].columns["count"] == pytest.approx([5000, 5000], abs=0.05)
    verify_directory(folder / "out")
