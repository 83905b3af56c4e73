"""Persons over a limit, and values outside bounds, before noise: against plain Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse import spec_file
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.integers import integers
from tests.tables.rows.test_bounding import exact, rows, spec_of

TOWNS = ["a", "b'; DROP TABLE x"]
OVER: list[dict[str, Any]] = [
    {"max_rows": 3},
    {"max_groups": 1, "max_rows_per_group": 2},
    {"max_groups": 2},
    {"max_rows": 8, "max_groups": 2, "max_rows_per_group": 3},
]
GROUPS: list[dict[str, Any]] = [
    {},
    {"town": TOWNS},
    {"town": TOWNS, "y": {"edges": [0, 5, 30]}},
    {"town": {"keys": "private"}},
    {"plan": [1, 2], "town": {"keys": "private", "longest": 1}},
]


def over_spec(limits: dict[str, Any], groups: dict[str, Any]) -> dict[str, Any]:
    query = {"name": "q", "statistics": ["count_over_limits"], "group_by": groups}
    return spec_of(contribution=limits, query=[query])


def over_limits(frame: pd.DataFrame, raw: dict[str, Any]) -> int:
    """The number of persons over a limit, counted row by row."""
    (query,), limits = raw["query"], raw["contribution"]
    rows_by_group: dict[Any, Counter[Any]] = {}
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        keys = [_key(row[name], size) for name, size in query["group_by"].items()]
        if None not in (row["person"], *keys):
            rows_by_group.setdefault(row["person"], Counter())[tuple(keys)] += 1
    sizes = [
        {
            "max_rows": each.total(),
            "max_groups": len(each),
            "max_rows_per_group": max(each.values()),
        }
        for each in rows_by_group.values()
    ]
    return sum(any(size[name] > most for name, most in limits.items()) for size in sizes)


def _key(value: Any, grouping: Any) -> Any:
    if isinstance(grouping, list):
        return value if value in grouping else None
    if "edges" in grouping:
        low, middle, high = grouping["edges"]
        return None if value is None or not low <= value <= high else value >= middle
    short = value is not None and len(value.encode()) <= grouping.get("longest", 4096)
    return value if short else None


@pytest.mark.dense
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("limits", OVER)
def test_persons_over_a_limit_are_counted_once(
    tmp_path: Path, limits: dict[str, Any], groups: dict[str, Any]
) -> None:
    frame = rows(400, seed=len(str(groups)))
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = over_spec(limits, groups)
    expected = over_limits(frame, raw)
    assert list(integers(raw, tmp_path).values()) == [[expected]]


def test_some_are_over_and_some_are_not() -> None:
    frame = rows(400, seed=2)
    counts = [over_limits(frame, over_spec(limits, GROUPS[2])) for limits in OVER]
    assert len({*counts}) > 2
    assert 0 < min(counts) < max(counts) < frame["person"].nunique()


def test_values_outside_are_those_that_bounds_clamp(tmp_path: Path) -> None:
    values = [-2.0000001, -2, 10, 10.0000001, float("nan"), float("inf"), None, 3, 1e300]
    pd.DataFrame({"person": range(9), "x": values}).to_parquet(tmp_path / "rows.parquet")
    query = {"name": "q", "statistics": ["count_outside(x)"]}
    columns = {"x": {"bounds": [-2, 10], "missing": 4}}
    layout, vector = exact(tmp_path, spec_of(query=[query], columns=columns), 0)
    assert vector.tolist() == [3 * 2**layout.bits]


def test_whoever_is_within_the_limits_is_counted_whole(tmp_path: Path) -> None:
    """Four rows of four: without this a bound that is too low would only be less accurate."""
    frame = pd.DataFrame({"person": [1] * 4 + [2], "x": [99.0] * 4 + [3.0], "y": [-7.0] * 5})
    frame.to_parquet(tmp_path / "rows.parquet")
    query = {"name": "q", "statistics": ["count_outside(x)", "count_outside(y)"]}
    columns = {name: {"bounds": [0, 10]} for name in "xy"}
    raw = spec_of(query=[query], contribution={"max_rows": 4}, columns=columns)
    layout, vector = exact(tmp_path, raw, 0)
    assert vector.tolist() == [4 * 2**layout.bits, 5 * 2**layout.bits]


PUBLIC = [
    *({"town": TOWNS}, {"town": TOWNS, "y": {"edges": [0, 5, 30]}}, {"old": [True]}),
    {"plan": [1, 2], "k": {"edges": [1, 4, 8]}},
]


def rest_spec(groups: dict[str, Any], **changes: Any) -> dict[str, Any]:
    query = {"name": "q", "statistics": ["count_in_no_group"], "group_by": groups}
    return spec_of(query=[query | changes.pop("part", {})], **changes)


def in_no_group(frame: pd.DataFrame, raw: dict[str, Any]) -> int:
    """The number of persons with a row in no group, or of such rows, counted row by row."""
    (query,), unit = raw["query"], raw["privacy"]["unit"]
    units: list[Any] = []
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        given = {"k": 7} | {name: value for name, value in row.items() if value is not None}
        keys = [_in_group(given.get(name), groups) for name, groups in query["group_by"].items()]
        if not all(keys) and (unit == "row" or row["person"] is not None):
            units.append(row["person"])
    return len(units) if unit == "row" else len(set(units))


def _in_group(value: Any, grouping: Any) -> bool:
    if isinstance(grouping, list):
        return value in grouping
    low, _, high = grouping["edges"]
    return value is not None and low <= value <= high


@pytest.mark.grid
@pytest.mark.parametrize("groups", PUBLIC)
@pytest.mark.parametrize("unit", ["person", "row"])
def test_rows_in_no_group_are_counted(tmp_path: Path, groups: dict[str, Any], unit: str) -> None:
    frame = rows(400, seed=len(str(groups)))
    frame.to_parquet(tmp_path / "rows.parquet")
    limits = None if unit == "row" else {"max_rows": 3}
    raw = rest_spec(groups, privacy={"unit": unit, "epsilon": 1}, contribution=limits)
    expected = in_no_group(frame, raw)
    assert 0 < expected < len(frame)
    (layout,) = lay_out_query(parse_query(spec := spec_file.parse(raw), spec.query[0]))[0]
    wanted = [expected << layout.bits]
    assert list(integers(raw, tmp_path).values()) == [wanted]


@pytest.mark.dense
def test_each_row_is_in_a_cell_or_in_none(tmp_path: Path) -> None:
    """The count by groups and the count of the rest are of all rows together."""
    frame = rows(400, seed=3)
    frame.to_parquet(tmp_path / "rows.parquet")
    for groups in PUBLIC:
        total = 0
        for part in ({}, {"statistics": ["count"]}):
            privacy = {"unit": "row", "epsilon": 1}
            raw = rest_spec(groups, privacy=privacy, contribution=None, part=part)
            (vector,) = integers(raw, tmp_path).values()
            total += sum(vector)
        assert total == 400 << 28


@pytest.mark.dense
@pytest.mark.parametrize("unit", ["person", "row"])
def test_one_unit_moves_the_count_of_the_rest_by_one(tmp_path: Path, unit: str) -> None:
    frame = rows(200, seed=4)
    limits = None if unit == "row" else {"max_rows": 3}
    raw = rest_spec(PUBLIC[1], privacy={"unit": unit, "epsilon": 1}, contribution=limits)
    (layout,) = lay_out_query(parse_query(spec := spec_file.parse(raw), spec.query[0]))[0]
    assert layout.l1 == 1
    units = frame.index if unit == "row" else frame["person"]
    frame.to_parquet(tmp_path / "rows.parquet")
    ((whole,),) = integers(raw, tmp_path).values()
    moved: set[int] = set()
    for item in units.dropna().unique()[:8]:
        frame[units != item].to_parquet(tmp_path / "rows.parquet")
        ((without,),) = integers(raw, tmp_path).values()
        moved.add(whole - without)
    assert moved <= {0, 1 << layout.bits}
    assert max(moved) > 0
