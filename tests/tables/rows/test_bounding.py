"""The exact sums: against pandas, in any order, with any number of threads, for any person."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.spec.model import Spec
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.declared import check_declared
from tests.tables.integers import integers
from tests.tables.reference import SALT, vector

COLUMNS = {
    "x": {"bounds": [-2, 10], "missing": 1},
    "y": {"bounds": [0, 30]},
    "z": {"bounds": [-1, "2.5"], "missing": "none"},
    "w": {"bounds": [5, 30], "missing": "skip"},
    "k": {"missing": 7},
}
QUERIES: list[dict[str, Any]] = [
    {"name": "one", "statistics": ["count"]},
    {"name": "units", "statistics": ["count_units"], "group_by": {"plan": [1, 2, 9]}},
    {"name": "sums", "statistics": ["sum(x)", "sum(y)"]},
    {"name": "means", "statistics": ["count", "mean(x)", "mean(y)"], "group_by": {"plan": [3, 1]}},
    {
        "name": "cells",
        "statistics": ["count", "count_units", "sum(x)", "mean(x)"],
        "group_by": {"plan": [1, 2, 3], "town": ["a", "b'; DROP TABLE x"], "old": [True, False]},
    },
    {"name": "bins", "histogram": {"column": "y", "edges": [0, 1, 5, 5.5, 30]}},
    {
        "name": "grouped",
        "histogram": {"column": "k", "edges": [0, 2, 7, 9]},
        "group_by": {"town": ["b'; DROP TABLE x", "a"]},
    },
    {"name": "people", "statistics": ["count_units"]},
    {
        "name": "banded",
        "statistics": ["mean(x)", "count_units"],
        "group_by": {
            "y": {"edges": [0, 1, 5.5, 30]},
            "town": ["a", "b'; DROP TABLE x"],
            "k": {"edges": [-math.inf, 0, 7, 10]},
        },
    },
    {
        "name": "banded_bins",
        "group_by": {"k": {"edges": [1, 8]}, "plan": [2, 1]},
        "histogram": {"column": "x", "edges": [-2, 1, 3]},
    },
    {
        "name": "overlapping",
        "conditions": {
            "low": {"x": {"max": 1}},
            "plan one, low y": {"plan": {"among": [1, 4]}, "y": {"below": 5.5}},
            "old": {"old": {"among": [True]}},
            "high": {"y": {"min": 1}, "k": {"min": 5, "max": 8}},
            "in a": {"town": {"among": ["a", "b'; DROP TABLE x"]}},
        },
        "max_conditions": 2,
    },
    {"name": "all", "conditions": {"low": {"x": {"max": 1}}, "any": {"x": {"min": -1e300}}}},
    {
        "name": "values",
        "statistics": ["count", "count(y)", "mean(y)", "sum(y)", "mean(z)", "count(z)", "sum(w)"],
        "group_by": {"plan": [3, 1]},
    },
    {
        "name": "spreads",
        "statistics": ["var(x)", "mean(x)", "std(z)", "count", "std(w)", "var(y)", "count(y)"],
        "group_by": {"plan": [1, 3]},
    },
    {
        "name": "ratios",
        "statistics": ["ratio(sum(x), sum(y))", "ratio(sum(w), count)", "ratio(sum(x), count(z))"],
        "group_by": {"town": ["a", "b'; DROP TABLE x"]},
    },
    {"name": "spread", "statistics": ["std(x)", "var(x)"]},
    {"name": "some", "statistics": ["count(y)"], "group_by": {"plan": [3, 1, 2]}},
    {"name": "of_texts", "statistics": ["mean(w)", "count(town)", "count(k)", "sum(z)"]},
    {"name": "gaps", "conditions": {"w": {"w": {"min": 0}}, "z": {"z": {"min": -9}}}},
    {
        "name": "outside",
        "statistics": ["count_outside(x)", "count_outside(y)"],
        "group_by": {"town": ["a", "b'; DROP TABLE x"], "plan": [1, 2, 3]},
    },
    {"name": "one_outside", "statistics": ["count_outside(z)"]},
    {
        "name": "without",  # of rows, those without a value are counted apart
        "statistics": ["mean(w)", "count", "std(w)", "sum(w)"],
        "group_by": {"plan": [1, 2, 9]},
    },
    {"name": "without_text", "statistics": ["count", "count(town)"], "group_by": {"plan": [2, 1]}},
]


def spec_of(**changes: Any) -> dict[str, Any]:
    base = {
        "version": 1,
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "person", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 3},
        "columns": COLUMNS,
        "query": QUERIES,
    }
    return {**base, **changes}


def by_row() -> dict[str, Any]:
    spec = spec_of(privacy={"unit": "row", "epsilon": 1, "delta": "1e-6"})
    del spec["contribution"]
    return spec


def sometimes_null(values: Any, rng: np.random.Generator) -> Any:
    return pd.Series(values, dtype="Int64").mask(rng.random(len(values)) < 0.1)


def rows(count: int, seed: int) -> pd.DataFrame:
    """Rows of all kinds: many of one person, NULL, NaN, inf, values out of bounds, unknown keys."""
    rng = np.random.default_rng(seed)  # makes the table, no noise
    odd = [math.nan, math.inf, -math.inf, 1e300, -1e300, -0.0]
    x = np.where(rng.random(count) < 0.1, rng.choice(odd, count), rng.normal(3, 6, count))
    return pd.DataFrame(
        {
            "person": sometimes_null(rng.zipf(1.5, count) % 50, rng),
            "plan": sometimes_null(rng.integers(1, 5, count), rng),
            "town": rng.choice(np.array(["a", "b'; DROP TABLE x", "c", None], dtype=object), count),
            "old": rng.choice(np.array([True, False, None], dtype=object), count),
            "x": x,
            "y": rng.choice(np.array([0, 1, 5, 5.5, 29.99, 30, 31, -1, 2.5, math.nan]), count),
            "z": rng.choice(np.array([-1, 0, 0.7, 1.5, 2.5, math.nan, math.inf, 7]), count),
            "w": rng.choice(np.array([4, 5, 17.5, 30, 99, math.nan, -math.inf]), count),
            "k": sometimes_null(rng.integers(-1, 11, count), rng),
        }
    )


def layouts_of(raw: dict[str, Any], index: int) -> tuple[Layout, ...]:
    spec = spec_with(raw, index)
    return tuple(
        layout for part in lay_out_query(parse_query(spec, spec.query[0])) for layout in part
    )


def spec_with(raw: dict[str, Any], index: int) -> Spec:
    """The spec with one query alone, since reading all of them takes longer than a test."""
    return spec_file.parse(raw | {"query": [raw["query"][index]]})


def exact(
    folder: Path,
    raw: dict[str, Any],
    index: int,
    *,
    way: int = 0,
    threads: int | None = None,
) -> tuple[Layout, np.ndarray]:
    """The vector of a query before noise: the internal hook, used by tests alone."""
    spec = spec_with(raw, index)
    layout = layouts_of(raw, index)[way]
    rows_source = source.find_source(spec, folder)
    with source.open_engine(rows_source, threads=threads) as engine:
        return layout, integer_vectors.query_vector(engine, spec, layout, salt=SALT)


def check_moved(moved: list[int], layout: Layout) -> None:
    """Check that a shift is one that the layout's sensitivities all allow."""
    check_declared([Fraction(value, 2**layout.bits) for value in moved], layout)


def expected_of(frame: pd.DataFrame, raw: dict[str, Any], index: int, layout: Layout) -> list[int]:
    return vector(
        frame, raw, part_of(raw, index, layout), bits=layout.bits, **ways_of(raw, index, layout)
    )


def ways_of(raw: dict[str, Any], index: int, layout: Layout) -> dict[str, Any]:
    """How a layout bounds a person, and how the first layout of the query's part does."""
    first = next(item for item in layouts_of(raw, index) if item.part == layout.part)
    return {"way": layout.bounding.to_record(), "limits": first.bounding.to_record()}


def part_of(raw: dict[str, Any], index: int, layout: Layout) -> dict[str, Any]:
    """The query with the statistics of one of its parts."""
    query = raw["query"][index]
    if not layout.part:
        return query
    return query | {"statistics": [query["statistics"][site] for site in layout.places]}


LIMITS: list[dict[str, Any]] = [
    {"max_rows": 3},
    {"max_rows": 1},
    {"max_rows": 4, "max_rows_per_group": 2},
    {"max_rows_per_group": 2, "max_groups": 2},
    {"max_rows_per_group": 1},
    {"max_rows": 5, "max_groups": 2, "max_rows_per_group": 3, "l1": "4.5", "l2": "2.5"},
    {"l2": "1.7"},
    {"l1": "1.7"},
]


SPECS = [*(spec_of(contribution=limit) for limit in LIMITS), by_row()]


@pytest.mark.parametrize(
    ("raw", "index"),
    [
        # each query with a third of the limits, and each limit with a third of the queries
        pytest.param(
            raw, index, marks=pytest.mark.slow if (position + index) % 3 else pytest.mark.dense
        )
        for position, raw in enumerate(SPECS)
        for index in range(len(QUERIES))
    ],
)
def test_integers_are_those_of_an_independent_computation(
    tmp_path: Path, raw: dict[str, Any], index: int
) -> None:
    frame = rows(400, seed=index)
    frame.to_parquet(tmp_path / "rows.parquet")
    for index_of_layout in range(len(layouts_of(raw, index))):
        layout, vector = exact(tmp_path, raw, index, way=index_of_layout)
        assert vector.tolist() == expected_of(frame, raw, index, layout)
        assert any(vector)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(raw, marks=pytest.mark.slow if index % 4 else pytest.mark.dense)
        for index, raw in enumerate(SPECS)
    ],
)
def test_blocks_that_are_read_together_have_the_integers_of_each_alone(
    tmp_path: Path, raw: dict[str, Any]
) -> None:
    """Queries of the same cells, with other statistics, filters, limits of cells and conditions."""
    whole = [query for query in QUERIES if "conditions" not in query]
    again = [
        {**query, "name": f"{query['name']}_again", "filter": "x > 1", "statistics": ["count"]}
        for query in whole
        if "histogram" not in query
    ]
    by_plan = [
        {"name": f"plan{index}", "statistics": [asked], "group_by": {"plan": [1, 2, 9]}}
        for index, asked in enumerate(["sum(x)", "mean(y)", "count(w)", "count_units", "std(z)"])
    ]
    raw = raw | {"query": [*QUERIES, *again, *by_plan]}
    rows(400, seed=len(str(raw))).to_parquet(tmp_path / "rows.parquet")
    alone = integers(raw, tmp_path)
    assert integers(raw, tmp_path, together=True) == alone
    rows(400, seed=len(str(raw))).to_csv(tmp_path / "rows.csv", index=False)
    kinds = {"person": "int", "plan": "int", "town": "text", "old": "bool", "k": "int"}
    typed = {"source": "rows.csv", "types": kinds | dict.fromkeys("xyzw", "float")}
    assert integers(raw | {"data": typed}, tmp_path, together=True) == alone


def test_a_batch_has_few_numbers_and_all_places() -> None:
    layouts = [
        layout for index in range(len(QUERIES)) for layout in layouts_of(spec_of(), index)
    ] * 3
    batches = integer_vectors.batches_of(layouts)
    assert sorted(index for batch in batches for index in batch) == list(range(len(layouts)))
    assert any(len(batch) > 3 for batch in batches)
    for batch in batches:
        alike = {(layouts[index].filters, layouts[index].axes) for index in batch}
        numbers = {
            (layouts[index].components, layouts[index].bits, layouts[index].bounding)
            for index in batch
        }
        assert len(alike) == 1
        assert sum(len(components) for components, _, _ in numbers) <= 16 or len(numbers) == 1


def test_clipping_is_active_in_the_comparison(tmp_path: Path) -> None:
    # Otherwise the test above would say nothing about the clip.
    rows(400, seed=3).to_parquet(tmp_path / "rows.parquet")
    narrow, clipped = exact(tmp_path, spec_of(contribution={"l2": "1.7"}), 0)
    wide, free = exact(tmp_path, spec_of(contribution={"l2": 400}), 0)
    assert 0 < clipped[0] / 2**narrow.bits < 0.5 * free[0] / 2**wide.bits


@pytest.mark.dense
def test_any_order_and_any_number_of_threads_give_the_same_integers(tmp_path: Path) -> None:
    frame = rows(300_000, seed=1)
    frame["person"] = frame["person"] * 1000 + np.arange(len(frame)) % 977
    results = set()
    for threads, seed in ((1, 0), (2, 0), (8, 0), (2, 1), (8, 2)):
        shuffled = frame.sample(frac=1, random_state=seed) if seed else frame
        shuffled.to_parquet(tmp_path / "rows.parquet", row_group_size=20_000)
        parts = [exact(tmp_path, spec_of(), index, threads=threads)[1] for index in (3, 4, 5)]
        results.add(tuple(np.concatenate(parts).tolist()))
    assert len(results) == 1


@pytest.mark.dense
def test_an_empty_table_is_answered_like_any_other(tmp_path: Path) -> None:
    rows(5, seed=0)[:0].to_parquet(tmp_path / "rows.parquet")
    # pandas writes columns of objects without rows as null; the types are declared then
    kinds = {"person": "int", "plan": "int", "town": "text", "old": "bool"}
    kinds |= dict.fromkeys("xyzw", "float") | {"k": "int"}
    raw = spec_of(data={"source": "rows.parquet", "types": kinds})
    for index in range(len(QUERIES)):
        layout, vector = exact(tmp_path, raw, index)
        assert vector.tolist() == [0] * layout.dimension


def test_unit_of_text(tmp_path: Path) -> None:
    frame = rows(300, seed=2)
    frame["person"] = "p" + frame["person"].astype("string")
    frame.to_parquet(tmp_path / "rows.parquet")
    layout, vector = exact(tmp_path, spec_of(), 3)
    assert vector.tolist() == expected_of(frame, spec_of(), 3, layout)


ANY_NUMBER = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e300, 0.0, -2.0, 10.0, 30.0, 5e-324]),
    st.floats(-40, 40, width=32),
    st.none(),
)
ANY_ROW = st.fixed_dictionaries(
    {
        "plan": st.one_of(st.none(), st.integers(1, 10)),
        "town": st.sampled_from(["a", "b'; DROP TABLE x", "zzz", "", None]),
        "old": st.sampled_from([True, False, None]),
        "x": ANY_NUMBER,
        "y": ANY_NUMBER,
        "z": ANY_NUMBER,
        "w": ANY_NUMBER,
        "k": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(0, 9)),
    }
)
EXTREME = {"plan": 1, "town": "a", "old": True, "x": 10.0, "y": 30.0, "z": 2.5, "w": 30.0, "k": 1}
SCHEMA = {"person": "Int64", "plan": "Int64", "town": "string", "old": "boolean"}
SCHEMA |= dict.fromkeys("xyzw", "Float64") | {"k": "Int64"}


def _typed(records: list[dict[str, Any]]) -> pd.DataFrame:
    columns = {
        name: pd.array([row[name] for row in records], dtype=kind)  # pyright: ignore
        for name, kind in SCHEMA.items()
    }
    return pd.DataFrame(columns)


@pytest.mark.dense
@example(person=[EXTREME], repeats=40, index=3, contribution={"l2": "0.5"})
@example(person=[EXTREME], repeats=40, index=4, contribution={"max_rows": 3})
@settings(max_examples=24, deadline=None, derandomize=True)
@given(
    person=st.lists(ANY_ROW, min_size=1, max_size=12),
    repeats=st.sampled_from([1, 1, 40]),
    index=st.integers(0, len(QUERIES) - 1),
    contribution=st.sampled_from([*LIMITS, {"l2": "0.5"}, {"l2": "7"}]),
)
def test_no_person_moves_the_query_by_more_than_the_certified_sensitivity(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    person: list[dict[str, Any]],
    repeats: int,
    index: int,
    contribution: dict[str, Any],
) -> None:
    folder = tmp_path_factory.mktemp("person")
    others = [{"person": i % 3, **row} for i, row in enumerate(person[:5])]
    mine = [{"person": 99, **row} for row in person * repeats]
    raw = spec_of(contribution=contribution)
    for k in range(len(layouts_of(raw, index))):
        _typed([*others, *mine]).to_parquet(folder / "rows.parquet")
        layout, present = exact(folder, raw, index, way=k)
        _typed(others).to_parquet(folder / "rows.parquet")
        _, absent = exact(folder, raw, index, way=k)
        check_moved([int(a) - int(b) for a, b in zip(present, absent, strict=True)], layout)


@pytest.mark.dense
@example(row=EXTREME, index=2)
@example(row=EXTREME, index=3)
@example(row=EXTREME, index=4)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(row=ANY_ROW, index=st.integers(0, len(QUERIES) - 1))
def test_no_row_moves_the_query_by_more_than_the_certified_sensitivity(
    tmp_path_factory: pytest.TempPathFactory, row: dict[str, Any], index: int
) -> None:
    folder = tmp_path_factory.mktemp("row")
    other = {"person": 1, **row, "x": 3.0}
    _typed([other, {"person": None, **row}]).to_parquet(folder / "rows.parquet")
    layout, present = exact(folder, by_row(), index)
    _typed([other]).to_parquet(folder / "rows.parquet")
    moved = [int(v) for v in present - exact(folder, by_row(), index)[1]]
    check_moved(moved, layout)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("limits", "plans"),
    [
        pytest.param({"max_rows": 3}, [[1, 1, 1], [1, 2, 3], [1, 1, 2]], marks=pytest.mark.slow),
        ({"max_rows": 4, "max_rows_per_group": 2}, [[1, 1, 3, 3], [1, 1, 2, 3]]),
        ({"max_rows_per_group": 2, "max_groups": 2}, [[1, 1, 3, 3], [9, 3, 3]]),
        pytest.param(
            {"max_rows": 5, "max_groups": 2, "max_rows_per_group": 3},
            [[1, 1, 1, 3, 3], [2, 1]],
            marks=pytest.mark.slow,
        ),
        ({"max_rows_per_group": 1}, [[1, 2, 3, 9]]),
        ({"max_rows": 2, "max_groups": 1}, [[3, 3]]),
    ],
)
def test_a_person_within_all_limits_is_not_touched(
    tmp_path: Path, limits: dict[str, int], plans: list[list[int]]
) -> None:
    raw = spec_of(contribution=limits)
    for mine, index in itertools.product(plans, range(len(QUERIES))):
        if "plan" not in QUERIES[index].get("group_by", {}) and (
            len(mine) > limits.get("max_rows_per_group", 9)  # all in one group
        ):
            continue
        records = [EXTREME | {"person": 5, "plan": p} for p in mine]
        _typed(records).to_parquet(tmp_path / "rows.parquet")
        frame = _typed(records)
        for k in range(len(layouts_of(raw, index))):
            layout, result = exact(tmp_path, raw, index, way=k)
            query, ways = part_of(raw, index, layout), ways_of(raw, index, layout)
            free = vector(frame, raw, query, bits=layout.bits, within=True, **ways)
            assert result.tolist() == free


def test_the_hook_is_not_public() -> None:
    from leastnoise.tables.publish.release import Release  # noqa: PLC0415

    public = {name for name in vars(Release) if not name.startswith("_")}
    known = {"from_toml", "spec", "to_toml", "plan", "needed_epsilon", "afford", "run"}
    known |= {
        "restart",
        "standing",
        "target",
    }  # where the series stands, and which directory is next
    assert public == known
