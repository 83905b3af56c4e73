"""Tables that omit groups or round counts, from published numbers only: true ones verify."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.report.page import report
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.results.table import Table, select_groups, table_of
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.resealed import verify_resealed
from tests.tables.unlisted import spec_of

NOISE = [NoiseError(std=1.0, half95=1.96, half975=2.24, half983=2.4)] * 9
SIZES = {"a": 0, "b": 50, "c": 200, "d": 400, "e": 400}
Records = list[dict[str, Any]]


def raw_of(**query: Any) -> dict[str, Any]:
    part = {"name": "q", "statistics": ["count"], "group_by": {"k": list(SIZES)}} | query
    return {
        "version": 1,
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "columns": {"x": {"bounds": [0, 8]}},
        "query": [{name: value for name, value in part.items() if value is not None}],
        "output": {"path": "out", "format": "json"},
    }


def layout(**query: Any) -> Layout:
    spec = spec_file.parse(raw_of(**query))
    return lay_out_query(parse_query(spec, spec.query[0]))[0][0]


def released(folder: Path, kind: str = "json", **query: Any) -> Path:
    rows = [(key, 1.0) for key, size in SIZES.items() for _ in range(size)]
    pd.DataFrame(rows, columns=["k", "x"]).to_parquet(folder / "rows.parquet")
    raw = raw_of(**query)
    raw["output"]["format"] = kind
    Release(**raw, folder=folder).run()
    verify_directory(folder / "out")
    return folder / "out"


def problems(**query: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        spec_file.parse(raw_of(**query))
    return dict(caught.value.problems)


@pytest.mark.parametrize("seed", range(20))
def test_the_rows_are_those_of_an_independent_choice(seed: int) -> None:
    drawn = random.Random(seed)
    least, top = drawn.choice([None, 3]), drawn.choice([None, 1, 2, 4])
    keys = list(range(6))
    shown = layout(group_by={"k": keys}, min_count=least, top=top, round=True)
    vector = np.array([drawn.uniform(-2, 6) for _ in keys])
    table = table_of(shown, vector, NOISE)
    columns = select_groups(shown, table).columns
    left = [
        row for row in zip(keys, table.columns["count"], strict=True) if row[1] >= (least or -9)
    ]
    if top is not None:  # the largest of those that are left, one by one
        best: list[tuple[int, int]] = []
        while left and len(best) < top:
            most = max(count for _, count in left)
            best.append(next(row for row in left if row[1] == most))
            left.remove(best[-1])
        left = best
    assert list(zip(columns["k"], columns["count"], strict=True)) == left
    assert set(map(len, columns.values())) == {len(left)}


@pytest.mark.parametrize("multiple", [1, 2, 5, 7, 100, 2**34])
def test_rounded_counts_are_the_nearest_multiples_and_their_intervals_hold_what_they_held(
    multiple: int,
) -> None:
    keys = list(range(400))
    vector = np.random.default_rng(multiple).uniform(-300, 300, size=len(keys))
    vector[:4] = [-(2.0**60), 2.0**60, 2.5, -0.0]
    drawn = table_of(layout(group_by={"k": keys}), vector, NOISE).columns
    shown = table_of(layout(group_by={"k": keys}, round_to=multiple), vector, NOISE).columns
    for name in ("count", "count_low", "count_high"):
        assert all(type(value) is int and value % multiple == 0 for value in shown[name])
    assert shown["count_std"] == drawn["count_std"]
    for index in range(2, len(keys)):
        value = drawn["count"][index]
        assert abs(shown["count"][index] - value) <= multiple / 2
        low, high = drawn["count_low"][index], drawn["count_high"][index]
        assert low - multiple < shown["count_low"][index] <= low
        assert high <= shown["count_high"][index] < high + multiple
    assert max(map(abs, shown["count"])) <= 2**53


def test_one_is_to_round() -> None:
    vector = np.array([0.3, 1.3, 2.3, 3.3, 4.3])
    tables = [table_of(layout(**form), vector, NOISE).columns for form in _WHOLE]
    assert tables[0] == tables[1]


_WHOLE: list[dict[str, Any]] = [{"round": True}, {"round_to": 1}]


def change(path: Path, edit: Callable[[Records], Records]) -> None:
    path.write_text(json.dumps(edit(json.loads(path.read_text()))))


def test_groups_below_are_not_there_and_others_are(tmp_path: Path) -> None:
    out = released(tmp_path, min_count=100, statistics=["count", "mean(x)"])
    kept = json.loads((out / "q.json").read_text())
    assert [row["k"] for row in kept] == ["c", "d", "e"]
    stated = json.loads((out / "plan.json").read_text())
    assert stated["noisy_parts"][0]["published"] == [
        "Groups are left out if their published count is below 100."
    ]
    assert any("min_count or top" in note for note in stated["notes"])
    assert "is below 100." in report(out)


EDITS: list[tuple[dict[str, Any], Callable[[Records], Records], str]] = [
    ({"min_count": 100}, lambda rows: [{**rows[0], "count": 99.0}, *rows[1:]], "below min_count"),
    ({"min_count": 100}, lambda rows: rows[::-1], "not in order"),
    ({"min_count": 100}, lambda rows: [rows[0], *rows], "aren't distinct"),
    ({"min_count": 100}, lambda rows: [{**rows[0], "k": "z"}], "not a key"),
    ({"min_count": 100}, lambda rows: [{**rows[0], "k": 3}], "not a key"),
    ({"top": 2}, lambda rows: rows[:1], "other than the 2 groups"),
    ({"top": 2}, lambda rows: [*rows, {**rows[1], "k": "a"}], "other than the 2 groups"),
    ({"top": 2}, lambda rows: rows[::-1], "not in order"),
    ({"top": 2}, lambda rows: [rows[0], rows[0]], "aren't distinct"),
    ({"top": 9}, lambda rows: rows[1:], "other than the 5 groups"),
    ({"top": 2, "min_count": 9}, lambda rows: [*rows, rows[1]], "other than the 2 groups"),
    ({"round_to": 5}, lambda rows: [{**rows[0], "count": 3}, *rows[1:]], "multiple of 5"),
    ({"round_to": 5}, lambda rows: [{**rows[0], "count_low": -11}, *rows[1:]], "multiple of 5"),
    ({"round_to": 5}, lambda rows: [{**rows[0], "count_high": 500}, *rows[1:]], "doesn't fit"),
    ({"round_to": 5}, lambda rows: [{**rows[0], "count": 5.0}, *rows[1:]], "multiple of 5"),
]


@pytest.mark.dense
@pytest.mark.parametrize(("query", "edit", "why"), EDITS)
def test_a_table_that_shows_otherwise_does_not_verify(
    tmp_path: Path, query: dict[str, Any], edit: Callable[[Records], Records], why: str
) -> None:
    out = released(tmp_path, **query)
    change(out / "q.json", edit)
    with pytest.raises(CertificateRejected, match=why):
        verify_resealed(out)


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize(
    "query",
    [
        {"min_count": 10**6},  # no group
        {"min_count": 10, "top": 2, "round_to": 5},
        {"top": 1, "group_by": None},
        {"min_count": 10**6, "group_by": None},
        {"top": 2, "statistics": ["mean(x)", "count(x)"]},
        {"top": 2, "statistics": None, "conditions": {n: {"x": {"min": m}} for n, m in _WHERE}}
        if (_WHERE := [("none", 3), ("all", 1), ("some", 0)])
        else {},
        {"min_count": 9, "statistics": None, "histogram": {"column": "x", "edges": [0, 1, "inf"]}},
    ],
)
def test_it_verifies_in_every_format(tmp_path: Path, kind: str, query: dict[str, Any]) -> None:
    if "conditions" in query:
        query = query | {"group_by": None}
    out = released(tmp_path, kind, **query)
    assert report(out)
    if query == {"min_count": 10, "top": 2, "round_to": 5} and kind == "csv":
        rows = list(csv.DictReader(io.StringIO((out / "q.csv").read_text())))
        assert {row["k"] for row in rows} == {"d", "e"}
        assert int(rows[0]["count"]) >= int(rows[1]["count"])


@pytest.mark.dense
def test_persons_beside_rows_and_the_first_count_decides(tmp_path: Path) -> None:
    rows = [(person, key) for person in range(60) for key in ("a", "b", "b")[: 1 + person % 3]]
    pd.DataFrame(rows, columns=["p", "k"]).to_parquet(tmp_path / "rows.parquet")
    raw = raw_of(statistics=["count_units", "count"], group_by={"k": ["a", "b", "c"]}, top=3)
    del raw["columns"]
    raw |= {"privacy": {"unit": "p", "epsilon": 9}, "contribution": {"max_rows": 3}}
    Release(**raw, folder=tmp_path).run()
    verified = verify_directory(tmp_path / "out")
    assert {layout.decides for layout in verified.layouts} == {"count_units"}
    counts = [row["count_units"] for row in json.loads((tmp_path / "out/q.json").read_text())]
    assert counts == sorted(counts, reverse=True)


def test_groups_that_nobody_listed_share_it(tmp_path: Path) -> None:
    sizes = {f"k{number}": 60 * number for number in range(1, 7)}
    rows = [(f"{key}-{i}", key, 1.0, 1) for key, size in sizes.items() for i in range(size)]
    frame = pd.DataFrame(rows, columns=["person", "code", "x", "sex"])
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of(part={"top": 3, "min_count": 200}, contribution={"max_groups": 1,
                  "max_rows_per_group": 1})  # fmt: skip
    raw["data"]["types"] = {"person": "text", "code": "text", "x": "float", "sex": "int"}
    Release(**raw, folder=tmp_path).run()
    assert verify_directory(tmp_path / "out").rows == {"groups": 3}
    file = tmp_path / "out/groups.csv"
    header, *lines = file.read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["k6", "k5", "k4"]
    file.write_text("\n".join([header, *reversed(lines)]) + "\n")
    with pytest.raises(CertificateRejected, match="not in order"):
        verify_resealed(tmp_path / "out")
    assert "reach the threshold are left out if their published count is below 200" in _plan(
        tmp_path / "out"
    )


def _plan(out: Path) -> str:
    return (out / "plan.json").read_text()


def test_what_has_no_use_is_refused() -> None:
    result = problems(statistics=["mean(x)"], min_count=3, top=2, round_to=5)
    assert set(result) == {f"query[0].{name}" for name in ("min_count", "top", "round_to")}
    assert "to choose the groups" in result["query[0].top"]
    assert "beside round" in problems(round=True, round_to=5)["query[0].round_to"]
    for name in ("min_count", "top", "round_to"):
        for value in (0, -1, 2.5, True, "10", 2**34 + 1):
            assert set(problems(**{name: value})) == {f"query[0].{name}"}


def test_a_table_without_a_choice_is_itself() -> None:
    table = Table(name="q", columns={"k": [1], "count": [2.0]})
    assert select_groups(layout(), table) is table
