"""Before noise, Spark has the same integers as DuckDB, whatever the bounds and rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leastnoise.tables.layout import found_limits
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import source
from leastnoise.tables.rows.left_out import count_cut_off
from tests.tables.found_limits import finds
from tests.tables.integers import integers
from tests.tables.rows.test_bounding import COLUMNS, LIMITS, QUERIES, by_row, rows, spec_of
from tests.tables.rows.test_clipped import GROUPS, OVER, over_spec
from tests.tables.rows.test_unlisted import totals as group_totals
from tests.tables.unlisted import rows as unlisted_rows
from tests.tables.unlisted import spec_of as unlisted_spec
from tests.tables.unlisted_ranks import candidates_of, ranks_spec

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

FEW = (3, len(LIMITS))  # all kinds of limits at once, and rows by themselves
SETS = [
    pytest.param(index, marks=() if index in FEW else pytest.mark.slow)
    for index in range(len(LIMITS) + 1)
]


@pytest.mark.parametrize("limits", SETS)
def test_every_block_and_every_limit(session: Any, tmp_path: Path, limits: int) -> None:
    rows(400, seed=limits).to_parquet(tmp_path / "rows.parquet")
    raw = by_row() if limits == len(LIMITS) else spec_of(contribution=LIMITS[limits])
    expected = integers(raw, tmp_path)
    assert any(any(vector) for vector in expected.values())
    assert integers(raw, tmp_path, engine="spark", together=True) == expected


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_whatever_the_session_says_of_errors_and_parts(
    session: Any, tmp_path: Path, ansi: str
) -> None:
    frame = rows(400, seed=1)
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of(contribution=LIMITS[6], query=QUERIES[1:5])
    expected = integers(raw, tmp_path)
    session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        parts = session.read.parquet(str(tmp_path / "rows.parquet")).repartition(5)
        assert integers(raw, tmp_path, frame=parts) == expected
    finally:
        session.conf.set("spark.sql.ansi.enabled", "true")


def test_no_rows_and_many_bins(session: Any, tmp_path: Path) -> None:
    edges = [index / 64 for index in range(1025)]
    query = {"name": "bins", "histogram": {"column": "y", "edges": edges}}
    for frame in (rows(300, seed=4), rows(300, seed=4)[:0]):
        frame.to_parquet(tmp_path / "rows.parquet")
        kinds = {"person": "int", "y": "float"}
        raw = spec_of(data={"source": "rows.parquet", "types": kinds}, query=[query, QUERIES[0]])
        raw["columns"] = {"y": COLUMNS["y"]}
        assert integers(raw, tmp_path, engine="spark") == integers(raw, tmp_path)


@pytest.mark.parametrize(
    "groups", [1, *(pytest.param(groups, marks=pytest.mark.dense) for groups in (3, None))]
)
def test_groups_that_nobody_listed(session: Any, tmp_path: Path, groups: int | None) -> None:
    unlisted_rows(400, seed=7).to_parquet(tmp_path / "rows.parquet")
    raw = unlisted_spec(
        statistics=["count_units", "count", "mean(x)"],
        by={"sex": [3, 1], "code": {"keys": "private", "longest": 8}},
        contribution={"max_groups": groups, "max_rows_per_group": 2},
        privacy={"unit": "person" if groups else "row"},
    )
    alone = raw | {"query": [raw["query"][0] | {"statistics": []}]}
    for asked in (raw, alone):
        expected = group_totals(asked, tmp_path)
        assert expected
        assert group_totals(asked, tmp_path, engine="spark") == expected


@pytest.mark.parametrize("limits", [(2, 3), pytest.param((None, 1), marks=pytest.mark.dense)])
@pytest.mark.parametrize("how", ["tree", "permute-and-flip"])
def test_rows_at_candidates_of_groups_that_nobody_listed(
    session: Any, tmp_path: Path, how: str, limits: tuple[int | None, int]
) -> None:
    groups, most = limits
    unlisted_rows(400, seed=8).to_parquet(tmp_path / "rows.parquet")
    raw = ranks_spec(
        part={"quantiles_by": how},
        by={"sex": [3, 1], "code": {"keys": "private", "longest": 8}},
        contribution={"max_groups": groups, "max_rows_per_group": most},
        privacy={"unit": "person" if groups else "row"},
    )
    expected = candidates_of(raw, tmp_path)
    assert expected
    assert candidates_of(raw, tmp_path, engine="spark") == expected


@pytest.mark.parametrize("groups", [GROUPS[2], pytest.param(GROUPS[4], marks=pytest.mark.dense)])
def test_persons_over_a_limit(session: Any, tmp_path: Path, groups: dict[str, Any]) -> None:
    rows(400, seed=9).to_parquet(tmp_path / "rows.parquet")
    raw = over_spec(OVER[3], groups)
    expected = integers(raw, tmp_path)
    assert any(any(vector) for vector in expected.values())
    assert integers(raw, tmp_path, engine="spark") == expected


def test_the_rows_of_a_release(session: Any, tmp_path: Path) -> None:
    frame = rows(400, seed=11)
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of(contribution=LIMITS[6], query=QUERIES[:2])
    raw["privacy"] = raw["privacy"] | {"ledger": {"path": "v.ledger"}}
    raw["derive"] = {"number": "abs(person) % 3 + 1"}
    raw["series"] = {"releases": 3, "each": "person in one release", "report": "number"}
    vectors = [integers(raw, tmp_path, release=number) for number in (1, 2, 3)]
    assert vectors[0] != vectors[1] != vectors[2]
    for number, expected in enumerate(vectors, 1):
        assert integers(raw, tmp_path, engine="spark", release=number) == expected


def test_persons_over_a_limit_count_in_whole_rows(session: Any, tmp_path: Path) -> None:
    rows(400, seed=7).to_parquet(tmp_path / "rows.parquet")
    edges = [0, 5, 10, 20, 30]
    query = {"name": "q", "histogram": {"column": "y", "edges": edges, "cumulative": True}}
    raw = spec_of(contribution={"max_rows": 3}, query=[query])
    expected = integers(raw, tmp_path)
    assert max(map(max, expected.values())) < 400  # whole rows, of 2^0 each
    assert any(any(vector) for vector in expected.values())
    assert integers(raw, tmp_path, engine="spark", together=True) == expected


def test_limits_of_single_queries_and_what_candidates_cut_off(session: Any, tmp_path: Path) -> None:
    rows(400, seed=9).to_parquet(tmp_path / "rows.parquet")
    computed = [{"max_groups": 1}, {"max_rows": 2}, {"l2": 2}]
    queries = [
        QUERIES[1] | {"name": f"q{index}", "contribution": limits}
        for index, limits in enumerate(computed)
    ]
    raw = spec_of(contribution={"max_rows": 5}, query=queries)
    assert integers(raw, tmp_path, engine="spark", together=True) == integers(raw, tmp_path)
    for name in ("max_rows", "max_groups"):
        result = spec_of(query=[QUERIES[1] | {"contribution": {name: finds()}}])
        assert cut_off(result, tmp_path, "spark") == cut_off(result, tmp_path, "duckdb")


def cut_off(raw: dict[str, Any], folder: Path, engine: str) -> list[int]:
    layouts = spec_file.lay_out(raw | {"data": raw["data"] | {"engine": engine}})
    finder = found_limits.finder_of(layouts.spec)
    assert finder is not None
    layout = found_limits.layout_of(layouts, finder)
    with source.open_engine(source.find_source(layouts.spec, folder)) as opened:
        return count_cut_off(opened, layouts.spec, finder, layout)
