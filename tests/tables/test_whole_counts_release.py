"""Releases of whole counts >= 0 that add up: they verify, and edited ones are rejected."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.report.page import report
from leastnoise.tables.answers.sums.publish_sums import add_up
from leastnoise.tables.answers.sums.publish_whole import find_whole_counts
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish.difference import subtract_releases
from leastnoise.tables.publish.try_limits import try_limits
from leastnoise.tables.publish.verify import verify_directory
from tests.tables import cumulative, margins, test_levels_release
from tests.tables.resealed import verify_resealed
from tests.tables.test_cumulative_release import released as release_cumulative
from tests.tables.test_levels_release import COUNTIES, STATES
from tests.tables.test_levels_release import released as release_levels
from tests.tables.test_margins_release import WIDE, write_rows
from tests.tables.test_margins_release import released as release_margins

BOTH: dict[str, Any] = {"round": True, "clamp": True}
TOTAL: dict[str, Any] = {"margins": [[*margins.GROUP_BY], []], **BOTH}
MEASURED: dict[str, Any] = WIDE | BOTH
SMALL: dict[str, Any] = {"privacy": {"epsilon": "0.2"}}
BLOCKS: dict[str, tuple[Callable[..., Path], dict[str, Any]]] = {
    "margins": (release_margins, BOTH),
    "total": (release_margins, TOTAL),
    "measured": (release_margins, MEASURED),
    "persons": (release_margins, {"unit": "who", **BOTH}),
    "levels": (release_levels, BOTH),
    "forest": (release_levels, {"levels": {"state": STATES}, **BOTH, **SMALL}),
    "cumulative": (release_cumulative, BOTH),
    "groups": (release_cumulative, {"group_by": {"region": [1, 0, 7]}, **BOTH, **SMALL}),
}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def move(path: Path, by: dict[int, int], *columns: str) -> None:
    rows = read(path)
    for row, moved in by.items():
        for column in columns or ("count",):
            rows[row][column] = str(int(rows[row][column]) + moved)
    write(path, rows)


@pytest.mark.dense
@pytest.mark.parametrize(  # each table in one format, each format for three tables
    ("name", "kind"), [*zip(BLOCKS, itertools.cycle(["csv", "json", "parquet"]), strict=False)]
)
def test_counts_are_whole_and_none_is_below_0(tmp_path: Path, name: str, kind: str) -> None:
    make, given = BLOCKS[name]
    folder = make(tmp_path, kind, **given)
    readers: Any = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}
    for table in verify_directory(folder).rows:
        frame = readers[kind](folder / f"{table}.{kind}")
        for column in ("count", "count_low", "count_high"):
            assert frame[column].dtype == np.int64
            assert (frame[column] >= 0).all()


@pytest.mark.dense
@pytest.mark.parametrize("name", ["margins", "measured", "forest", "groups"])
def test_tables_of_nobody_verify(tmp_path: Path, name: str) -> None:
    """Half of all noisy counts are below 0, and many intervals are [0, 0]."""
    make, given = BLOCKS[name]
    raw = {**given, "filter": "who < 0"}
    for draw in range(4):
        (folder := tmp_path / str(draw)).mkdir()
        verify_directory(make(folder, **raw))


def test_counts_tell_nothing_of_rows_that_noisy_numbers_do_not(tmp_path: Path) -> None:
    """Attack: a count that depends on the rows otherwise is no function of what intervals tell."""
    states = np.unique(STATES, return_inverse=True)[1]
    tree = [np.zeros(len(COUNTIES), dtype=np.int64), states, np.arange(len(COUNTIES))]
    for draw in range(20):
        (folder := tmp_path / str(draw)).mkdir()
        out = release_levels(folder, **BOTH, filter="who < 40")
        half = verify_directory(out).plan.noisy_parts[0].noise_errors[0].halves95
        table = pd.read_csv(out / "people.csv")
        high = table["count_high"].to_numpy()
        noisy = (high - half).astype(np.int64)
        if high.min() > 0 > noisy.min():  # else one tells no number, or there is none below 0
            assert find_whole_counts(noisy, 1, tree).tolist() == table["count"].tolist()
            return
    pytest.fail("no draw had a noisy count below 0")


@pytest.mark.grid
@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("total", {0: 1, 1: -1}),
        ("levels", {0: 1, 3: -1}),  # a2 and a1
        ("levels", {0: -1, 5: 1}),
    ],
)
def test_counts_that_are_moved_within_a_total(
    tmp_path: Path, name: str, by: dict[int, int]
) -> None:
    """Attack: all sums stay as they are, and so do intervals; one count is moved."""
    make, given = BLOCKS[name]
    folder = make(tmp_path, **given)
    move(folder / "people.csv", by)
    with pytest.raises(CertificateRejected, match="don't follow from the stated intervals"):
        verify_resealed(folder)


def test_a_total_that_does_not_follow_from_its_interval(tmp_path: Path) -> None:
    """Attack: all counts are 0, and add up."""
    folder = release_levels(tmp_path, **BOTH)
    for path in folder.glob("*.csv"):
        write(path, [row | {"count": "0"} for row in read(path)])
    with pytest.raises(CertificateRejected, match="don't follow from the stated intervals"):
        verify_resealed(folder)


def test_a_bin_that_is_moved_with_its_running_sum(tmp_path: Path) -> None:
    folder = release_cumulative(tmp_path, **BOTH)
    move(folder / "ages.csv", {0: 1, 1: -1})
    move(folder / "ages_cumulative.csv", {0: 1})
    with pytest.raises(CertificateRejected, match="don't follow from the stated intervals"):
        verify_resealed(folder)


@pytest.mark.dense
def test_noisy_numbers_that_are_known_to_within_1(tmp_path: Path) -> None:
    """Attack: the largest count is given to a cell of the same margins, of the lowest interval."""
    folder = release_margins(tmp_path, **MEASURED)
    rows = read(folder / "people.csv")
    largest = max(range(len(rows)), key=lambda i: int(rows[i]["count"]))
    groups = [(row["sex"], row["age_from"]) for row in rows]
    same = [i for i, group in enumerate(groups) if group == groups[largest]]
    lowest = min(same, key=lambda i: int(rows[i]["count_high"]))
    count = int(rows[largest]["count"])
    move(folder / "people.csv", {largest: -count, lowest: count})
    with pytest.raises(CertificateRejected, match="don't follow from the stated intervals"):
        verify_resealed(folder)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("columns", "by", "text"),
    [
        (("count",), 1, "isn't the sum"),
        (("count",), -10_000, "count below 0"),
        (("count_low", "count_high"), 1, "doesn't fit the ends in people"),
        (("count_low",), -1, "count_low"),
        (("count_high",), 1, "count_low"),
        (("count_high",), 40, "count_low"),
    ],
)
def test_numbers_that_are_edited(
    tmp_path: Path, columns: tuple[str, ...], by: int, text: str
) -> None:
    folder = release_levels(tmp_path, **BOTH)
    move(folder / "people_by_state.csv", {1: by}, *columns)
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


def test_a_count_that_is_no_whole_number(tmp_path: Path) -> None:
    folder = release_levels(tmp_path, **BOTH)
    rows = read(folder / "people.csv")
    rows[0]["count"] += ".0"
    write(folder / "people.csv", rows)
    with pytest.raises(CertificateRejected, match="has a count that isn't whole"):
        verify_resealed(folder)


def test_a_plan_with_another_bias(tmp_path: Path) -> None:
    folder = release_margins(tmp_path, **BOTH)
    record = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    record["noisy_parts"][0]["too_high"] /= 2
    (folder / "plan.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=r"plan\.json"):
        verify_resealed(folder)


def test_a_spec_that_asks_for_other_counts(tmp_path: Path) -> None:
    """Attack: noisy counts that happen to be whole and positive are no whole counts, or else."""
    folder = release_levels(tmp_path, **BOTH)
    path = folder / "spec.toml"
    raw = spec_file.parse_toml(path.read_text(encoding="utf-8"))
    del raw["query"][0]["round"], raw["query"][0]["clamp"]
    path.write_text(spec_file.dumps(spec_file.parse(raw)), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=r"plan\.json"):
        verify_resealed(folder)


@pytest.mark.parametrize(
    "spec_of", [margins.spec_of, test_levels_release.spec_of, cumulative.spec_of]
)
@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"round": True}, "round"),
        ({"clamp": True}, "clamp"),
        ({"round_to": 5}, "round_to"),
        ({"round_to": 5, "clamp": True}, "clamp"),
    ],
)
def test_half_of_it_is_refused_with_what_to_write(
    spec_of: Callable[..., dict[str, Any]], given: dict[str, Any], key: str
) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(spec_of(**given))
    text = dict(caught.value.problems)[f"query[0].{key}"]
    assert "sums wouldn't add up" in text
    assert "Give round = true and clamp = true" in text


def test_groups_are_still_not_left_out() -> None:
    given: dict[str, Any] = BOTH | {"top": 2}
    with pytest.raises(SpecError, match="wouldn't add up"):
        spec_file.lay_out(margins.spec_of(**given))


def test_sums_and_means_are_refused() -> None:
    with pytest.raises(SpecError):
        spec_file.lay_out(margins.spec_of(statistics=["count", "mean(age)"], **BOTH))


def test_a_total_below_0_makes_every_table_0() -> None:
    plan = margins.plan_of(margins.spec_of(**BOTH))
    whole = margins.whole_of(plan)
    truth = np.full((3, 2, 2), -2.0)
    truth[0] = 3.0
    noisy = {
        table: truth.sum(axis=whole.marginals.axes(7 & ~table)).reshape(-1)
        for table in whole.measured
    }
    tables = add_up(whole, plan.noisy_parts, noisy)
    assert all(set(table.columns["count"]) == {0} for table in tables)
    assert tables[0].columns["count_high"][0] > 3  # intervals are those of the noisy numbers
    again = add_up(whole, plan.noisy_parts, noisy)
    assert [item.columns for item in again] == [table.columns for table in tables]


@pytest.mark.grid
@pytest.mark.parametrize("huge", [2.0**40, 2.0**70, 1e300])
@pytest.mark.parametrize("epsilon", ["1", "1e-8"])
def test_counts_add_up_and_are_exact_however_large_the_noise_is(huge: float, epsilon: str) -> None:
    plan = margins.plan_of(margins.spec_of(privacy={"epsilon": epsilon}, **BOTH))
    whole = margins.whole_of(plan)
    noisy = {
        table: huge * np.linspace(-1, 2, whole.marginals.cells(table)) ** 3
        for table in whole.measured
    }
    cells, *_, total = add_up(whole, plan.noisy_parts, noisy)
    assert sum(cells.columns["count"]) == total.columns["count"][0] <= 2**53
    assert min(cells.columns["count"]) >= 0


def test_what_was_measured_stays_in_the_tables_of_the_tree() -> None:
    """Counts that are all large aren't moved, and intervals are around them."""
    plan = margins.plan_of(margins.spec_of(**MEASURED))
    whole = margins.whole_of(plan)
    truth = np.arange(100.0, 148.0).reshape(12, 2, 2)
    noisy = {
        table: truth.sum(axis=whole.marginals.axes(7 & ~table)).reshape(-1)
        for table in whole.measured
    }
    for part, table in zip(plan.noisy_parts, add_up(whole, plan.noisy_parts, noisy), strict=True):
        wanted = truth.sum(axis=whole.marginals.axes(7 & ~margins.table_of(part))).reshape(-1)
        assert table.columns["count"] == wanted.tolist()
        half = part.noise_errors[0].half95
        assert table.columns["count_low"] == [math.floor(item - half) for item in wanted]
        assert table.columns["count_high"] == [math.ceil(item + half) for item in wanted]


@pytest.mark.grid
@pytest.mark.parametrize("name", ["margins", "measured", "levels", "cumulative"])
def test_plans_and_pages_say_the_bias(tmp_path: Path, name: str) -> None:
    make, given = BLOCKS[name]
    folder = make(tmp_path, **given)
    plan = verify_directory(folder).plan
    text, record = str(plan), plan.to_record()
    page = report(folder)
    for part, item in zip(plan.noisy_parts, record["noisy_parts"], strict=True):
        assert part.too_high == item["too_high"] > 0
        assert f" in the table {part.name}" in text.replace("\n", " ")
    assert "whole counts are on average too high" in text.replace("\n", " ")
    assert "whole counts are on average too high" in page
    assert "outside its interval" in page
    assert any("outside its interval" in note for note in plan.notes)


def test_a_release_without_it_says_nothing_of_it() -> None:
    plan = margins.plan_of(margins.spec_of())
    assert all(part.too_high is None for part in plan.noisy_parts)
    assert "too_high" not in plan.to_record()["noisy_parts"][0]
    assert "too high" not in str(plan)


def test_two_releases_are_subtracted(tmp_path: Path) -> None:
    folders: list[Path] = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        folders.append(release_levels(tmp_path / name, **BOTH))
    result = subtract_releases(*folders).tables["people"]
    assert result.confidence == {"count": 0.9}
    before, after = (pd.read_csv(folder / "people.csv") for folder in folders)
    assert result.columns["count_low"] == (after["count_low"] - before["count_high"]).tolist()
    assert len(result) == len(COUNTIES)


@pytest.mark.dense
def test_limits_of_other_queries_are_tried_beside_it(tmp_path: Path) -> None:
    raw = margins.spec_of(unit="who", **BOTH)
    raw["query"].append({"name": "sexes", "statistics": ["count"], "group_by": {"sex": ["f", "m"]}})
    (tmp_path / "spec.toml").write_text(spec_file.dumps(spec_file.parse(raw)), encoding="utf-8")
    write_rows(tmp_path)
    result = try_limits(
        tmp_path / "spec.toml",
        name="max_rows",
        values=["1", "2"],
        sample=tmp_path / "rows.csv",
        progress=lambda _: None,
    )
    assert {trial.query for trial in result.trials} == {"sexes"}
