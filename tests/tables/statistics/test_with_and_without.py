"""A count beside a mean is the sum of rows with a value and without one, with less noise."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import leastnoise as ln
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected
from leastnoise.noise.draw import make_sampler
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout import components
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import NoisyPart
from leastnoise.tables.publish.difference import subtract_releases
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.rows import source
from leastnoise.tables.rows.exact import ExactTotals
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.declared import check_declared, gauge
from tests.tables.resealed import verify_resealed
from tests.tables.statistics.test_fieller import GROUPS

KEYS = ["a", "b"]
MEANS = ["count", "mean(x)"]


def raw_of(statistics: list[str], **more: Any) -> dict[str, Any]:
    columns = {name: {"bounds": bounds} for name, bounds in (("x", [0, 90]), ("y", [-5, 5]))}
    raw: dict[str, Any] = {
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, **more.pop("privacy", {})},
        "columns": {name: item | more.pop(name, {}) for name, item in columns.items()},
        "output": {"path": "out", "format": "json"},
    }
    if contribution := more.pop("contribution", None):
        raw["contribution"] = contribution
    query = {"name": "q", "statistics": statistics, "group_by": {"k": KEYS}}
    return raw | {"query": [query | more]}


def layout_of(raw: dict[str, Any]) -> Layout:
    spec = spec_file.parse({"version": 1} | raw)
    return lay_out_query(parse_query(spec, spec.query[0]))[0][0]


def block_of(raw: dict[str, Any]) -> NoisyPart:
    return plan(spec_file.lay_out({"version": 1} | raw)).noisy_parts[0]


def of_persons(**limits: int) -> dict[str, Any]:
    return {"privacy": {"unit": "u"}, "contribution": limits}


@pytest.mark.parametrize(
    ("statistics", "more", "made_of"),
    [
        (["count", "mean(x)"], {}, 2),
        (["mean(x)", "count", "sum(x)", "std(x)"], {}, 2),
        (["count", "count(x)"], {}, 2),
        (["count", "count(k)"], {}, 2),  # of texts
        (["count", "mean(y)", "sum(y)"], {}, 2),
        (["count", "count(x)", "ratio(sum(x), count(x))"], {}, 2),
        (["count"], {}, 1),
        (["count", "sum(x)"], {}, 1),  # it needs no count of values
        (["count", "mean(x)"], {"x": {"missing": "none"}}, 1),
        (["count", "mean(x)"], {"x": {"missing": 3}}, 1),
        (["count", "mean(x)", "mean(y)"], {}, 1),  # a row without x may have y
        (["count", "mean(x)", "mean(y)"], {"y": {"missing": "none"}}, 1),  # this one counts rows
        (["count", "mean(x)", "ratio(sum(x), count)"], {}, 1),
        (["count", "mean(x)"], {"min_count": 5}, 1),
        (["count", "mean(x)"], {"top": 1}, 1),
        (["count", "mean(x)"], {"privacy": {"neighbours": "replace-one"}}, 1),
        (["count", "mean(x)"], of_persons(max_rows=3), 2),
        (["count", "count_units", "mean(x)"], of_persons(max_rows=3), 2),
        (["count", "mean(x)"], of_persons(max_rows_per_group=3, max_groups=1), 2),
        (["count", "mean(x)"], of_persons(max_rows_per_group=3, max_rows=5), 2),
        (["count", "mean(x)"], of_persons(max_rows_per_group=3), 1),  # a person fills all cells
        (["count", "mean(x)"], of_persons(max_rows=3, l2=2), 1),
        (["count", "mean(x)"], of_persons(max_rows=3, l1=2), 1),
    ],
)
def test_which_counts_are_made_of_rows_with_a_value_and_rows_without(
    statistics: list[str], more: dict[str, Any], made_of: int
) -> None:
    layout = layout_of(raw_of(statistics, **more))
    assert len(layout.uses[statistics.index("count")]) == made_of
    # nothing is summed that no statistic is made of
    assert sorted({use for computed in layout.uses for use in computed}) == [
        *range(len(layout.components))
    ]


VALUES = [None, math.nan, math.inf, -7.0, 0.0, 31.0, 45.0, 90.0, 1e300]


@pytest.mark.parametrize("frame", [True, False])
def test_counts_without_noise_are_those_of_the_rows(tmp_path: Path, *, frame: bool) -> None:
    rng = np.random.default_rng(3)
    rows = [
        {"k": str(rng.choice([*KEYS, "c"])), "x": VALUES[rng.integers(len(VALUES))], "y": None}
        for _ in range(400)
    ]
    data = pl.DataFrame(rows, schema={"k": pl.String, "x": pl.Float64, "y": pl.Float64})
    data.write_parquet(tmp_path / "rows.parquet")
    raw = raw_of(["count", "count(x)", "mean(x)", "sum(x)"])
    part = block_of(raw)
    spec = spec_file.parse({"version": 1} | raw)
    rows_source = source.find_source(spec, tmp_path, frame_of(data) if frame else None)
    vector = ExactTotals.of(rows_source, spec, tell=lambda _: None).vector(part.layout)
    cells = vector.reshape(len(KEYS), -1) / 2.0**part.layout.bits
    uses = zip(part.layout.uses, part.layout.ingredients(part.noise_errors), strict=True)
    values = [
        asked.values(group_rows, [cells[:, use] for use in release])[0]
        for asked, (release, group_rows) in zip(part.layout.statistics, uses, strict=True)
    ]
    for index, key in enumerate(KEYS):
        group_rows = [row["x"] for row in rows if row["k"] == key]
        there = [min(max(x, 0.0), 90.0) for x in group_rows if x is not None and math.isfinite(x)]
        wanted = [len(group_rows), len(there), sum(there) / len(there), sum(there)]
        assert [release[index] for release in values] == pytest.approx(wanted, rel=1e-7)


@pytest.mark.dense
@pytest.mark.parametrize(
    "statistics", [["count", "mean(x)"], ["count", "count(x)"], ["std(x)", "count", "sum(x)"]]
)
def test_one_row_moves_a_cell_by_no_more_than_its_body_says(
    tmp_path: Path, statistics: list[str]
) -> None:
    """All tables of up to one row of a few values, each with one row more: in exact fractions."""
    raw = raw_of(statistics)
    spec = spec_file.parse({"version": 1} | raw)
    layout = layout_of(raw)
    totals: dict[tuple[Any, ...], list[int]] = {}
    kinds = [("a", None), ("a", math.nan), ("a", 0.0), ("a", 45.0), ("b", 90.0), ("b", None)]
    for rows in itertools.chain.from_iterable(
        itertools.combinations_with_replacement(kinds, n) for n in range(3)
    ):
        data = pl.DataFrame(
            {"k": [k for k, _ in rows], "x": [x for _, x in rows], "y": [0.0] * len(rows)},
            schema={"k": pl.String, "x": pl.Float64, "y": pl.Float64},
        )
        data.write_parquet(tmp_path / "rows.parquet")
        rows_source = source.find_source(spec, tmp_path)
        vector = ExactTotals.of(rows_source, spec, tell=lambda _: None).vector(layout)
        totals[tuple(map(repr, rows))] = vector.tolist()
    largest: list[Fraction] = []
    (body,) = layout.bodies
    for fewer, more in itertools.product(totals, totals):
        if len(more) == len(fewer) + 1 and any(
            more[:i] + more[i + 1 :] == fewer for i in range(len(more))
        ):
            moved = [
                Fraction(a - b, 2**layout.bits)
                for a, b in zip(totals[more], totals[fewer], strict=True)
            ]
            check_declared(moved, layout)
            largest.append(gauge(moved, body))
    assert set(largest) == {Fraction(1)}  # every row reaches it, and none is beyond


@pytest.mark.dense
@pytest.mark.parametrize("most", [3, 200, 100_000])
def test_rows_without_a_value_are_all_counted(tmp_path: Path, most: int) -> None:
    """Also of persons who may have so many rows that the integers of each have few bits."""
    raw = raw_of(MEANS, **of_persons(max_rows=most))
    part, spec = block_of(raw), spec_file.parse({"version": 1} | raw)
    rows = {"k": ["a"] * 999, "x": [None] * 999, "y": [0.0] * 999, "u": [*range(999)]}
    pl.DataFrame(rows, schema_overrides={"x": pl.Float64}).write_parquet(tmp_path / "rows.parquet")
    rows_source = source.find_source(spec, tmp_path)
    total = ExactTotals.of(rows_source, spec, tell=lambda _: None).vector(part.layout)
    release = 2**part.layout.bits / part.layout.components[-1].radius
    assert total[2] == 999 * release


def test_how_much_less_noise_it_is() -> None:
    """√6/ε in a count, 2/ε in what a mean is made of, where both had √(20/3)/ε."""
    errors = {(error.statistic, error.rows): error for error in block_of(raw_of(MEANS)).errors}
    alone = {
        (error.statistic, error.rows): error
        for error in block_of(raw_of(MEANS, x={"missing": "none"})).errors
    }
    assert errors["count", None].std == pytest.approx(math.sqrt(6), rel=2e-3)
    for rows in (100, 1_000):
        mean, where_none_is_missing = errors["mean_x", rows], alone["mean_x", rows]
        assert mean.std == pytest.approx(45 * math.sqrt(8) / rows, rel=2e-3)
        assert mean.std == pytest.approx(where_none_is_missing.std, rel=2e-3)
        half = where_none_is_missing.half_width_95
        assert mean.half_width_95 == pytest.approx(half, rel=2e-3)


BUDGETS: dict[str, dict[str, Any]] = {
    "pure": {},
    "steps": {"epsilon": 6},
    "truncated": {"delta": "1e-2"},
    "spherical": {"epsilon": "0.1", "delta": "1e-2"},
    "gaussian": {"epsilon": "0.1", "delta": "0.2"},
    "replace-one": {"neighbours": "replace-one"},
}
ASKED = [
    ["count", "mean(x)"],
    ["count(x)", "count"],
    ["sum(y)", "count", "var(y)", "mean(y)"],
    ["count", "mean(x)", "mean(y)"],
]


LIMITS = [{"max_rows": 3}, {"max_rows": 7, "max_rows_per_group": 5}, {"max_rows_per_group": 2}]
CASES = [(name, asked, None) for name in BUDGETS for asked in ASKED] + [
    (name, asked, limits)
    for name in BUDGETS
    for asked, limits in itertools.product(ASKED[:1], LIMITS)
]


@pytest.mark.dense
@pytest.mark.parametrize(("name", "statistics", "limits"), CASES)
def test_no_number_has_more_noise_than_with_all_rows_in_one_box(
    name: str,
    statistics: list[str],
    limits: dict[str, int] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = raw_of(statistics, privacy=BUDGETS[name])
    if limits:
        raw["privacy"]["unit"], raw["contribution"] = "u", limits
    errors = block_of(raw).errors
    monkeypatch.setattr(components, "split_row_count", lambda *_: None)
    before = block_of(raw).errors
    assert len(before) == len(errors)
    for old, new in zip(before, errors, strict=True):
        # noise in a ball pays for the root of the numbers, rounded down; all, for the grid
        in_ball = name in {"spherical", "gaussian"} and new.statistic == "count"
        room = 1 + (3e-4 if in_ball else 1e-6)
        assert new.std <= old.std * room
        assert new.half_width_95 <= old.half_width_95 * room


DRAWN = [name for name in BUDGETS if name != "replace-one"]
TRUE = {"count": 700.0, "mean_x": 30.0, "sum_x": 15_000.0}  # of 500 rows with a value, each 30


@pytest.mark.dense
@pytest.mark.parametrize("name", DRAWN)
def test_real_noise_is_as_large_as_said(name: str) -> None:
    raw = raw_of(["count", "mean(x)", "sum(x)"], privacy=BUDGETS[name])
    raw["query"][0]["group_by"] = {"k": [*range(GROUPS)]}
    part = block_of(raw)
    claim, layout = part.certificate, part.layout
    assert hasattr(claim.noise, "body") == (name not in {"spherical", "gaussian"})
    grid = claim.grid or Fraction(1)
    vectors = [
        make_sampler(claim.noise, grid=grid, entropy=InsecureSeededEntropy(seed))
        .draw(claim.dimension)
        .estimates.reshape(GROUPS, -1)
        for seed in range(8)
    ]
    counted, without = layout.components[0], layout.components[-1]
    assert (counted.kind, without.kind) == ("count", "without")
    true = [500.0, 500 * (30 - 45) / 45, 200 / float(without.radius)]
    cells = np.concatenate(vectors) * float(grid) + np.array(true)
    for asked, ingredients, uses in zip(
        layout.statistics, layout.ingredients(part.noise_errors), layout.uses, strict=True
    ):
        value, std, low, high = asked.values(ingredients, [cells[:, use] for use in uses])
        wanted = TRUE[asked.label]
        share = float(((low <= wanted) & (wanted <= high)).mean())
        error = (0.05 * 0.95 / len(value)) ** 0.5
        assert 0.95 - 4 * error < share < 0.96 + 4 * error
        spread = np.sqrt(np.mean((value - wanted) ** 2))
        assert spread == pytest.approx(float(np.mean(std)), rel=0.05)


def test_counts_of_two_queries_of_one_draw_have_the_noise_that_is_said() -> None:
    raw = raw_of(MEANS, group_by={"k": [*range(GROUPS)]})
    raw["query"].append({"name": "r", "statistics": MEANS, "group_by": {"k": ["a", "b"]}})
    plans = plan(spec_file.lay_out({"version": 1} | raw)).noisy_parts
    for part in plans:
        (ingredients, *_) = part.layout.ingredients(part.noise_errors)
        std, half = float(ingredients.noise[0].std), part.errors[0].half_width_95
        assert part.errors[0].std == pytest.approx(std * math.sqrt(1.5), rel=2e-3)
        assert 1.9 < half / part.errors[0].std < 2.1


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("with_and_without")
    rows = {"k": KEYS * 400, "x": [30.0, 30.0, None, math.nan] * 200, "y": [1.0] * 800}
    pl.DataFrame(rows, strict=False).write_parquet(folder / "rows.parquet")
    for name, neighbours in (("one", "add-remove"), ("two", "replace-one")):
        raw = raw_of(["count", "count(x)", "mean(x)"], privacy={"neighbours": neighbours})
        raw["output"]["path"] = name
        ln.Release(**raw, folder=folder).run()
    return folder


def test_a_release_verifies_and_a_count_with_another_interval_does_not(
    folders: Path, tmp_path: Path
) -> None:
    verify_directory(folders / "one")
    rows = json.loads((folders / "one" / "q.json").read_text())
    for row in rows:
        assert row["count_std"] == pytest.approx(math.sqrt(6), rel=2e-3)
        assert abs(row["count"] - 400) < 60
        assert abs(row["count_x"] - 200) < 60
    (tmp_path / "one").mkdir()
    for file in (folders / "one").iterdir():
        (tmp_path / "one" / file.name).write_bytes(file.read_bytes())
    rows[0]["count_low"] -= 2
    (tmp_path / "one" / "q.json").write_text(json.dumps(rows))
    with pytest.raises(CertificateRejected, match="a count_low that doesn't fit"):
        verify_resealed(tmp_path / "one")


@pytest.mark.dense
def test_counts_that_are_made_of_other_numbers_can_be_subtracted(folders: Path) -> None:
    difference = subtract_releases(folders / "one", folders / "two").tables["q"]
    assert difference.confidence["count"] == 0.95
    old, new = (json.loads((folders / name / "q.json").read_text()) for name in ("one", "two"))
    std = math.hypot(old[0]["count_std"], new[0]["count_std"])
    assert difference.columns["count_std"][0] == pytest.approx(std)
    half = (difference.columns["count_high"][0] - difference.columns["count_low"][0]) / 2
    assert 1.9 * std < half < 2.2 * std + 1
