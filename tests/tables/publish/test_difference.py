"""Differences of two releases: against their tables, and how often their intervals hold."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, Refused, SourceError
from leastnoise.mechanism.accuracy import difference_half_width
from tests.cli.program import run

STATISTICS = ["count", "sum(x)", "mean(x)"]


def raw_of(name: str, **query: Any) -> dict[str, Any]:
    part = {"name": "q", "statistics": STATISTICS, "group_by": {"k": ["a", "b"]}} | query
    return {
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "columns": {"x": {"bounds": [0, 8]}},
        "query": [part],
        "output": {"path": name, "format": "json"},
    }


def released(folder: Path, name: str, *, change: Any = None, **query: Any) -> Path:
    if not (folder / "rows.parquet").exists():
        rows = [(key, 2.0) for key in "aab" for _ in range(300)]
        pd.DataFrame(rows, columns=["k", "x"]).to_parquet(folder / "rows.parquet")
    raw = raw_of(name, **query)
    if change is not None:
        change(raw)
    ln.Release(**raw, folder=folder).run()
    return folder / name


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory.mktemp("first"), "first")


def read(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "q.json").read_text())


@pytest.mark.dense
def test_differences_are_those_of_the_tables(first: Path, tmp_path: Path) -> None:
    def other(raw: dict[str, Any]) -> None:
        raw["privacy"]["epsilon"] = 3
        raw["output"]["format"] = "csv"

    second = released(tmp_path, "second", change=other)
    difference = ln.subtract_releases(first, second)
    columns = difference.tables["q"].columns
    assert columns["k"] == ["a", "b"]
    before, after = read(first), pd.read_csv(second / "q.csv").to_dict("records")
    assert difference.tables["q"].confidence == {"count": 0.95, "sum_x": 0.95, "mean_x": 0.9}
    plans = [release.plan.noisy_parts[0] for release in (difference.before, difference.after)]
    # of values in [0, 8] the sum is 4 times the count and 4 times what they are about 4; rows
    # without a value are counted in units of their own
    without = float(plans[0].layout.components[-1].radius)
    halves = {}
    for coordinate, (label, weights) in enumerate((("count", [1, without]), ("sum_x", [4, 4]))):
        by = dict(zip(plans[0].layout.uses[coordinate], weights, strict=True))
        ends = [(plan.certificate, by) for plan in plans]
        halves[label] = difference_half_width(ends[0], ends[1], 0.95)
    for index in range(2):
        old, new = before[index], after[index]
        for label in ("count", "sum_x", "mean_x"):
            value, std = columns[label][index], columns[f"{label}_std"][index]
            assert value == pytest.approx(new[label] - old[label], abs=1e-9)
            assert std == pytest.approx(
                math.sqrt(old[f"{label}_std"] ** 2 + new[f"{label}_std"] ** 2)
            )
        low, high = columns["mean_x_low"][index], columns["mean_x_high"][index]
        assert low == pytest.approx(new["mean_x_low"] - old["mean_x_high"])
        assert high == pytest.approx(new["mean_x_high"] - old["mean_x_low"])
        for label, half in halves.items():
            high, low = (columns[f"{label}_{end}"][index] for end in ("high", "low"))
            assert high - columns[label][index] == pytest.approx(half)
            assert columns[label][index] - low == pytest.approx(half)
            union = (old[f"{label}_high"] - old[f"{label}_low"]) / 2
            union += (new[f"{label}_high"] - new[f"{label}_low"]) / 2
            assert half < union  # which would hold 90 % alone


@pytest.mark.dense
def test_intervals_hold_as_often_as_they_say(tmp_path: Path) -> None:
    """500 cells of one release and of another, of the same rows: the true differences are 0."""
    keys = [f"{number:03d}" for number in range(500)]
    pd.DataFrame({"k": keys, "x": 2.0}).to_parquet(tmp_path / "rows.parquet")
    many = {"group_by": {"k": keys}, "statistics": ["count", "sum(x)"]}
    for form in ({}, {"round_to": 5}, {"clamp": True}):
        names = [f"{number}-{'-'.join(form)}" for number in range(2)]
        difference = ln.subtract_releases(
            *(released(tmp_path, name, **many, **form) for name in names)
        )
        for label, text in difference.tables["q"].confidence.items():
            columns = difference.tables["q"].columns
            low, high = (np.array(columns[f"{label}{end}"]) for end in ("_low", "_high"))
            share = ((low <= 0) & (high >= 0)).mean()
            assert share >= text - 4 * math.sqrt(text * (1 - text) / 500), (form, label)
            assert text == (0.9 if "clamp" in form else 0.95)


@pytest.mark.dense
def test_sums_are_the_same_numbers_whatever_they_are_made_of(tmp_path: Path) -> None:
    """A sum has noise of its own where records are replaced."""
    asked = {"statistics": ["count", "sum(x)"]}
    first = released(tmp_path, "first", **asked)
    second = released(
        tmp_path,
        "second",
        change=lambda raw: raw["privacy"].update(neighbours="replace-one"),
        **asked,
    )
    difference = ln.subtract_releases(first, second)
    made_of = [
        len(release.plan.noisy_parts[0].layout.uses[1])
        for release in (difference.before, difference.after)
    ]
    assert made_of == [2, 1]
    assert difference.tables["q"].confidence == {"count": 0.95, "sum_x": 0.95}


@pytest.mark.dense
def test_rows_are_not_subtracted_from_persons(tmp_path: Path) -> None:
    """Units are rows where a row is a unit."""
    pd.DataFrame({"k": ["a"] * 6, "x": 1.0, "who": [1, 1, 1, 2, 2, 2]}).to_parquet(
        tmp_path / "rows.parquet"
    )

    def persons(raw: dict[str, Any]) -> None:
        raw["privacy"]["unit"] = "who"
        raw["contribution"] = {"max_rows": 3}

    first = released(tmp_path, "first", statistics=["count_units"])
    second = released(tmp_path, "second", statistics=["count_units"], change=persons)
    with pytest.raises(Refused, match="count_units"):
        ln.subtract_releases(first, second)


@pytest.mark.dense
def test_margins_are_subtracted_by_their_own_intervals(tmp_path: Path) -> None:
    """Their error isn't that of one draw: values were made to add up."""
    rows = [(key, index) for key in "ab" for index in (1, 2) for _ in range(50)]
    pd.DataFrame(rows, columns=["k", "x"]).to_parquet(tmp_path / "rows.parquet")
    asked = {"group_by": {"k": ["a", "b"], "x": [1, 2]}, "statistics": ["count"]}
    item, other = (
        released(tmp_path, name, **asked, margins=[["k", "x"], ["k"], []]) for name in "pq"
    )
    difference = ln.subtract_releases(item, other)
    assert len(difference.tables) == 3
    for name, table in difference.tables.items():
        before, after = (json.loads((out / f"{name}.json").read_text()) for out in (item, other))
        assert table.confidence == {"count": 0.9}
        for index, low in enumerate(table.columns["count_low"]):
            assert low == pytest.approx(after[index]["count_low"] - before[index]["count_high"])


def _bounds(raw: dict[str, Any]) -> None:
    raw["columns"]["x"]["bounds"] = [0, 9]


def _candidates(raw: dict[str, Any]) -> None:
    raw["columns"]["x"]["candidates"] = {"from": 0, "to": 8, "step": 1}


def _missing(raw: dict[str, Any]) -> None:
    raw["columns"]["x"]["missing"] = 0


def _name_parts(raw: dict[str, Any]) -> None:
    raw["query"][0]["name"] = "p"


UNLIKE: list[tuple[dict[str, Any], Callable[[dict[str, Any]], None] | None, str]] = [
    ({"group_by": {"k": ["a", "c"]}}, None, "'q': the column 'k' has other keys"),
    ({"group_by": {"x": [2]}}, lambda raw: raw["data"].update(types={"x": "int"}), "other columns"),
    ({"group_by": {}}, None, "'q' is grouped by other columns"),
    ({"statistics": ["count", "sum(x)"]}, None, "mean_x is in only one"),
    ({"filter": "x > 0"}, None, "has other filters"),
    ({"min_count": 1}, None, "noise decides"),
    ({"statistics": [*STATISTICS, "median(x)"]}, _candidates, "the error of a difference"),
    ({}, _bounds, "the column 'x' has other bounds"),
    ({}, _missing, "missing"),
    ({}, _name_parts, "is in only one of the two releases"),
    ({}, lambda raw: raw.update(derive={"y": "x + 1"}), "derived columns"),
]


@pytest.mark.dense
@pytest.mark.parametrize(("query", "change", "why"), UNLIKE)
def test_tables_that_do_not_match_are_refused(
    *, first: Path, tmp_path: Path, query: dict[str, Any], change: Any, why: str
) -> None:
    if query.get("group_by") == {"x": [2]}:
        pd.DataFrame({"k": ["a"], "x": [2]}).to_parquet(tmp_path / "rows.parquet")
        change = None
    second = released(tmp_path, "second", change=change, **query)
    for pair in ((first, second), (second, first)):
        with pytest.raises(Refused, match=why):
            ln.subtract_releases(*pair)


@pytest.mark.dense
def test_other_joined_tables_are_refused(first: Path, tmp_path: Path) -> None:
    pd.DataFrame({"k": ["a"], "y": [1]}).to_parquet(tmp_path / "more.parquet")
    join = {"more": {"source": "more.parquet", "on": "k", "public": True}}
    second = released(tmp_path, "second", change=lambda raw: raw["data"].update(join=join))
    for pair in ((first, second), (second, first)):
        with pytest.raises(Refused, match="'q' has other tables joined"):
            ln.subtract_releases(*pair)


def test_what_does_not_verify_or_is_one_release_is_refused(first: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(first, tmp_path / "copy")
    with pytest.raises(Refused, match="one draw of noise"):
        ln.subtract_releases(first, copy)
    rows = read(copy)
    rows[0]["count"] += 1
    (copy / "q.json").write_text(json.dumps(rows))
    for pair in ((first, copy), (copy, first)):
        with pytest.raises(CertificateRejected, match="copy doesn't verify"):
            ln.subtract_releases(*pair)
    with pytest.raises(SourceError, match="none"):
        ln.subtract_releases(first, tmp_path / "none")


@pytest.mark.dense
def test_the_command_says_the_same(first: Path, tmp_path: Path) -> None:
    second = released(tmp_path, "second")
    done = run("difference", str(first), str(second), "--json")
    assert done.returncode == 0, done.stderr
    difference = ln.subtract_releases(first, second)
    (table,) = json.loads(done.stdout)["tables"]
    assert table["name"] == "q"
    assert table["confidence"] == difference.tables["q"].confidence
    columns = difference.tables["q"].columns
    assert table["rows"] == [
        dict(zip(columns, row, strict=True)) for row in difference.tables["q"].rows
    ]
    shown = run("difference", str(first), str(second)).stdout
    assert "95 % of noise" in shown
    assert "90 % of noise" in shown
    assert "variances add up" in shown
    refused = run("difference", str(first), str(first))
    assert refused.returncode == 1
    assert "one draw of noise" in refused.stderr


def _of_limits(folder: Path, name: str, **changes: Any) -> Path:
    rows = [(number % 400, key, 2.0) for number, key in enumerate("aab" * 200)]
    pd.DataFrame(rows, columns=["who", "k", "x"]).to_parquet(folder / "rows.parquet")
    raw = raw_of(name, statistics=["count_over_limits", "count_outside(x)"])
    raw["privacy"]["unit"] = "who"
    raw["contribution"] = {"max_rows": 2}
    ln.Release(**(raw | changes), folder=folder).run()
    return folder / name


@pytest.mark.dense
def test_limits_that_differ_are_said_and_what_is_counted_is_compared(tmp_path: Path) -> None:
    first = _of_limits(tmp_path, "first")
    second = _of_limits(tmp_path, "second", contribution={"max_rows": 3, "max_groups": 1})
    difference = ln.subtract_releases(first, second)
    assert [note.partition(":")[0] for note in difference.notes] == [
        "max_rows is 2 before and 3 after",
        "max_groups is not given before and 1 after",
    ]
    done = run("difference", str(first), str(second), "--json")
    assert json.loads(done.stdout)["notes"] == list(difference.notes)
    assert difference.notes[0][:30] in run("difference", str(first), str(second)).stdout
    third = _of_limits(tmp_path, "third", columns={"x": {"bounds": [0, 9]}})
    with pytest.raises(Refused, match="other bounds"):
        ln.subtract_releases(first, third)
    query = raw_of("", statistics=["count_over_limits", "count_outside(x)"])["query"]
    query[0]["group_by"] = {"k": ["a"]}
    fourth = _of_limits(tmp_path, "fourth", query=query)
    with pytest.raises(Refused, match="other keys"):
        ln.subtract_releases(first, fourth)
