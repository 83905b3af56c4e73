"""Releases from a spec to files: what is published, what is refused, and that they verify."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.certificate.plan import COMPOSED, RULE
from leastnoise.errors import InvalidInput, SourceError, SpecError
from leastnoise.guarantees.sensitivity import Integer
from leastnoise.selection.public import compare, least_noise
from leastnoise.tables.plan.summary import JOINT_NOTE, PURE_NOTE, SPLIT_NOTE
from leastnoise.tables.publish import output
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory

QUERIES = [
    {
        "name": "by_plan",
        "importance": 2,
        "statistics": ["count", "count_units", "mean(x)"],
        "group_by": {"plan": [1, 2, 9]},
    },
    {"name": "bins", "histogram": {"column": "x", "edges": [0, 2, 5, 10]}},
]


def make_rows(folder: Path) -> Path:
    """Write a table of rows into `folder`; return the folder."""
    rng = np.random.default_rng(1)  # makes the table, no noise
    frame = pd.DataFrame({"who": np.arange(20_000) // 4, "plan": rng.integers(1, 4, 20_000)})
    frame["x"] = rng.integers(0, 11, 20_000).astype(float)
    frame.to_parquet(folder / "rows.parquet")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_rows(tmp_path)


def release(folder: Path, **changes: Any) -> Release:
    sections: dict[str, Any] = {
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 4},
        "columns": {"x": {"bounds": [0, 10]}},
        "query": QUERIES,
        "output": {"path": "out", "format": "csv"},
    }
    return Release(**{**sections, **changes}, folder=folder)


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_what_is_written_is_what_is_returned_and_verifies(folder: Path, kind: str) -> None:
    stages: list[str] = []
    mechanism = release(folder, output={"path": "a/out", "format": kind}).run(
        progress=stages.append
    )
    out = folder / "a" / "out"
    assert mechanism.path == out
    names = {f"by_plan.{kind}", f"bins.{kind}", "plan.json", "certificate.json", "spec.toml"}
    names |= {"release.json"}
    assert {file.name for file in out.iterdir()} == names
    assert [file.name for file in (folder / "a").iterdir()] == ["out"]
    readers: dict[str, Any] = {"csv": pd.read_csv, "json": pd.read_json}
    for name, table in mechanism.tables.items():
        read = readers.get(kind, pd.read_parquet)(out / f"{name}.{kind}")
        pd.testing.assert_frame_equal(read, pd.DataFrame(table.columns), check_dtype=False)
    verified = verify_directory(out)
    assert verified.certificate == mechanism.certificate
    assert verified.delta.upper <= 1e-6
    assert not any("20" in stage or "5000" in stage for stage in stages)  # never a row count
    assert json.loads((out / "plan.json").read_text())["caps"] == {"rows": 2**34, "units": 2**34}


@pytest.mark.grid
@pytest.mark.parametrize("statistics", [["count", "median(x)"], ["count"]])
def test_bands_before_listed_keys_are_the_first_columns_and_verify(
    folder: Path, statistics: list[str]
) -> None:
    query: dict[str, Any] = {"name": "q", "statistics": statistics}
    query |= {"group_by": {"x": {"edges": [0, 4, 10]}, "plan": [1, 2]}}
    query |= {} if len(statistics) > 1 else {"margins": True}
    columns = {"x": {"candidates": {"from": 0, "to": 10, "step": 1}}}
    tables = release(folder, query=[query], columns=columns).run().tables
    assert list(tables["q"].columns)[:3] == ["x_from", "x_to", "plan"]
    assert verify_directory(folder / "out").rows["q"] == 4


@pytest.mark.dense
def test_answers_are_near_the_truth_by_as_much_as_they_say(folder: Path) -> None:
    frame = pd.read_parquet(folder / "rows.parquet")
    result = release(folder, output=None).run()
    assert result.path is None
    columns = result.tables["by_plan"].columns
    # max_rows is what the persons have, so nothing is clipped; 8 deviations don't come by chance
    for cell, plan in enumerate((1, 2, 9)):
        values = frame.loc[frame["plan"] == plan, "x"].to_numpy(dtype=float)
        answer = {name: column[cell] for name, column in columns.items()}
        assert 0 < abs(answer["count"] - len(values)) < 8 * answer["count_std"]
        if plan != 9:
            assert abs(answer["mean_x"] - values.mean()) < 8 * answer["mean_x_std"]
    assert result.plan.noisy_parts[0].errors[0].std == columns["count_std"][0]


@pytest.mark.dense
def test_two_runs_draw_fresh_noise(folder: Path) -> None:
    built = release(folder, output=None)
    assert built.run().tables["bins"] != built.run().tables["bins"]


@pytest.mark.dense
def test_the_plan_reads_no_row(folder: Path) -> None:
    plan = release(folder).plan()
    pd.read_parquet(folder / "rows.parquet")[:0].to_parquet(folder / "rows.parquet")
    assert release(folder).plan() == plan
    first, persons, second = plan.noisy_parts  # the persons of a query are a part of it
    # in each of three plans rows, values and the sum of these; and persons
    assert [noisy_part.layout.dimension for noisy_part in plan.noisy_parts] == [9, 3, 3]
    assert sum(noisy_part.budget.epsilon for noisy_part in plan.noisy_parts) == 1
    assert first.budget.epsilon + persons.budget.epsilon == 2 * second.budget.epsilon
    assert first.group == persons.group  # one draw in the shape of both
    assert first.mechanism.noise.name == "k-staircase"
    worse = first.errors[0].plain_gaussian_std
    assert worse is not None
    assert worse > first.errors[0].std
    assert [len(part.errors) for part in plan.noisy_parts] == [4, 1, 1]
    assert not (folder / "out").exists()


@pytest.mark.dense
def test_a_plan_is_the_same_with_a_cold_and_a_warm_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Designs are kept between runs; that must change nothing but the time."""
    monkeypatch.setenv("LEASTNOISE_CACHE", str(folder / "designs"))
    privacy = {"unit": "row", "epsilon": "2", "delta": "1e-3"}
    query = [{"name": "one", "statistics": ["count"], "group_by": {"plan": [1, 2]}}]
    asked = {"privacy": privacy, "query": query, "contribution": None}
    cold = release(folder, **asked).plan()
    compare(epsilon="2", delta="1e-3", sensitivity=Integer(1), bound=True, time_limit=1)
    assert any((folder / "designs").rglob("*.*"))
    assert release(folder, **asked).plan() == cold
    assert release(folder, **asked).run().plan == cold


@pytest.mark.slow
def test_four_draws_meet_the_budget_together_and_none_is_worse_for_it(folder: Path) -> None:
    units = {"name": "n", "statistics": ["count_units"], "group_by": {"plan": [1, 2, 9]}}
    # of a ball alone nothing is known that a body would be fitted to
    mechanism = release(folder, query=[*QUERIES, units], contribution={"l2": 6}).run()
    assert mechanism.certificate.rule == COMPOSED
    assert sum(part.budget.epsilon for part in mechanism.plan.noisy_parts) == 1
    assert sum(item.budget.epsilon for _, item in mechanism.certificate.draws) > Fraction("1.05")
    for part in mechanism.plan.noisy_parts:
        split = least_noise(
            epsilon=part.budget.epsilon,
            delta=part.budget.delta,
            sensitivity=part.layout.sensitivities,
            dimension=part.layout.dimension,
        )
        assert part.mechanism.mse < 0.9 * split.mse
        assert part.relative_to_split == pytest.approx(0.85421, rel=2e-3)
        assert part.to_record()["error_relative_to_split"] == part.relative_to_split
        assert part.mechanism.certificate.budget.delta == part.budget.delta
    assert JOINT_NOTE in mechanism.plan.notes
    verified = verify_directory(folder / "out")
    assert verified.certificate == mechanism.certificate
    assert 0.9e-6 < verified.delta.upper <= 1e-6


@pytest.mark.slow
def test_a_block_of_integer_noise_or_a_pure_budget_keeps_the_split(folder: Path) -> None:
    record = {"name": "n", "statistics": ["count_units"]}
    # of a ball alone nothing is known that one body for both would be fitted to
    plan = release(folder, query=[QUERIES[1], record], contribution={"l2": 6}).plan()
    assert len(plan.answered) == 2
    assert plan.certificate.rule == RULE
    assert SPLIT_NOTE in plan.notes
    assert all(part.relative_to_split is None for part in plan.noisy_parts)
    assert sum(item.budget.epsilon for _, item in plan.certificate.draws) == 1
    pure = release(folder, privacy={"unit": "who", "epsilon": "0.5"}).plan()
    assert PURE_NOTE in pure.notes
    assert pure.certificate.rule == RULE


@pytest.mark.dense
def test_an_empty_table_has_the_same_rows_as_a_full_one(folder: Path) -> None:
    full = release(folder, output=None).run().tables["by_plan"]
    pd.read_parquet(folder / "rows.parquet")[:0].to_parquet(folder / "rows.parquet")
    empty = release(folder, output=None).run().tables["by_plan"]
    assert list(empty.columns) == list(full.columns)
    assert empty.columns["plan"] == full.columns["plan"]
    assert max(map(abs, empty.columns["count"])) < 1000


@pytest.mark.slow
def test_pure_budgets_and_units_of_a_row(folder: Path) -> None:
    pure = release(folder, privacy={"unit": "who", "epsilon": "0.5"}, output=None).run()
    assert pure.plan.noisy_parts[0].baselines.gaussian is None
    assert pure.plan.noisy_parts[0].errors[0].plain_gaussian_std is None
    privacy = {"unit": "row", "epsilon": "0.5", "delta": "1e-9"}
    by_row = release(folder, privacy=privacy, contribution=None)
    by_row.run()
    assert set(verify_directory(folder / "out").rows) == {
        "bins",
        "by_plan",
    }


@pytest.mark.parametrize("there", ["directory", "file", "link"])
def test_an_existing_output_is_refused_before_anything_is_read(folder: Path, there: str) -> None:
    out = folder / "out"
    if there == "directory":
        out.mkdir()
    elif there == "file":
        out.touch()
    else:
        out.symlink_to(folder / "nowhere")
    (folder / "rows.parquet").unlink()  # a read would be another error
    stages: list[str] = []
    with pytest.raises(InvalidInput, match=r"exists\. Choose another output\.path"):
        release(folder).run(progress=stages.append)
    assert stages == []


def test_a_refused_release_leaves_nothing(folder: Path) -> None:
    with pytest.raises(SourceError):
        release(
            folder, data={"source": "none.csv", "types": {"who": "int", "plan": "int", "x": "int"}}
        ).run()
    with pytest.raises(SpecError, match=r"Did you mean plan\?"):
        release(
            folder, query=[{"name": "q", "statistics": ["count"], "group_by": {"plam": [1]}}]
        ).run()
    (folder / "file").touch()
    with pytest.raises(InvalidInput, match="can't be created"):
        release(folder, output={"path": "file/out"}).run()
    assert {file.name for file in folder.iterdir()} == {"rows.parquet", "file"}


KILLED = """
import os, sys, time
from pathlib import Path
from leastnoise.tables.publish import output, prepare  # prepare keeps the real one
from leastnoise.tables.publish.release import Release
from leastnoise.tables.results import table_files
stop, folder = int(sys.argv[1]), Path(sys.argv[2])
steps = 0
def wait():
    global steps
    steps += 1
    if steps == stop:
        print("here", flush=True)
        time.sleep(60)
real_table, real_sync, real_text = table_files.write_table, output._files.sync, Path.write_text
def table(*args):
    real_table(*args); wait()
def sync(path):
    wait(); real_sync(path)
def text(self, data, **more):
    real_text(self, data[: len(data) // 2], **more); wait(); return real_text(self, data, **more)
table_files.write_table, output._files.sync, Path.write_text = table, sync, text
Release.from_toml(folder / "release.toml").run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 2, 4, 5, 8, 10, 11, 12, 13, 19, 20])
def test_a_kill_in_mid_write_leaves_no_half_output(folder: Path, stop: int) -> None:
    # A directory synced, 3 texts cut in half; in the rehearsal a text, 3 files and a directory
    # synced; 2 tables, a text; 6 files and 2 directories synced around the rename.
    pure = {"unit": "who", "epsilon": 1, "delta": 0}  # whose noise is found in no time
    (folder / "release.toml").write_text(release(folder, privacy=pure).to_toml())
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(stop), str(folder)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    if (folder / "out").exists():
        assert stop == 20  # after the rename, all of it is there
        verify_directory(folder / "out")
    else:
        assert stop < 20
        result = Release.from_toml(folder / "release.toml").run()  # what is left over is in no way
        assert result.path is not None
        verify_directory(result.path)


def test_a_file_that_can_not_be_written_publishes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *args: Any, **more: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InvalidInput, match="No space left"):
        release(folder).run()
    assert {file.name for file in folder.iterdir()} == {"rows.parquet"}


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "a/" + "x" * 300 + "/b"])
def test_output_paths_that_can_not_be_are_refused_before_anything_is_read(
    folder: Path, path: str
) -> None:
    stages: list[str] = []
    with pytest.raises(InvalidInput, match="Nothing was spent"):
        release(folder, output={"path": path}).run(progress=stages.append)
    assert stages == []


@pytest.mark.parametrize("name", ["x" * 300 + ".parquet", "x\0.parquet"])
def test_a_bad_source_is_not_blamed_on_the_output(folder: Path, name: str) -> None:
    with pytest.raises(SourceError, match="found none"):
        release(folder, data={"source": name}).run()


def test_what_fails_in_the_block_is_not_blamed_on_the_output(folder: Path) -> None:
    with pytest.raises(OSError, match="mine"), output.new_directory(folder / "out"):
        raise OSError(5, "mine")
    assert {file.name for file in folder.iterdir()} == {"rows.parquet"}


def test_a_directory_that_appears_meanwhile_is_not_replaced(folder: Path) -> None:
    with output.new_directory(folder / "first") as working:
        (working / "file").touch()
    with pytest.raises(InvalidInput, match="appeared"):
        _while_it_appears(folder / "out")
    assert list((folder / "out").iterdir()) == []
    assert {file.name for file in folder.iterdir()} == {"rows.parquet", "first", "out"}


def _while_it_appears(path: Path) -> None:
    with output.new_directory(path) as working:
        (working / "file").touch()
        path.mkdir()
