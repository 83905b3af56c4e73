"""Sums beside a count are computed from it and from centred values: less noise, and exact."""

from __future__ import annotations

import json
import math
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import NoisyPart
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.rows import source
from leastnoise.tables.rows.exact import ExactTotals
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.resealed import verify_resealed
from tests.tables.statistics.test_fieller import GROUPS, drawn

KEYS = ["a", "b", "c"]
BOUNDS = {
    "x": [0, 90],
    "wide": [-10, 90],
    "hair": [-0.7, 0.1 * 7],  # with a middle above 0
    "far": [10, 20],
    "below": [-20, -10],
    "even": [-5, 5],
    "y": [0, 8],
}


def raw_of(statistics: list[str], **more: Any) -> dict[str, Any]:
    query = {"name": "q", "statistics": statistics, "group_by": {"k": KEYS}}
    missing, clip = more.pop("missing", "skip"), more.pop("contribution", None)
    raw: dict[str, Any] = {
        "data": {"source": "rows.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, **more.pop("privacy", {})},
        "columns": {
            name: {"bounds": bounds, "missing": bounds[0] if missing == "least" else missing}
            for name, bounds in BOUNDS.items()
        },
        "output": {"path": "out", "format": "json"},
    }
    if clip:
        raw["contribution"] = clip
    return raw | {"query": [query | more]}


def block_of(raw: dict[str, Any]) -> NoisyPart:
    return plan(spec_file.lay_out({"version": 1} | raw)).noisy_parts[0]


@pytest.mark.parametrize(
    ("statistics", "columns", "made_of"),
    [
        (["count", "sum(x)"], {}, 2),
        (["count", "sum(x)"], {"missing": "none"}, 2),
        (["count(x)", "sum(x)"], {}, 2),
        (["sum(x)", "mean(x)"], {}, 2),
        (["count", "sum(x)", "mean(x)"], {"missing": "least"}, 2),
        (["count", "sum(x)", "var(x)"], {"missing": "least"}, 2),
        # missing values count as rows, and not as values, outside of 0 too
        (["count", "sum(far)"], {}, 2),
        (["count", "sum(even)"], {}, 1),  # its middle is 0
        (["sum(x)"], {}, 1),
        (["count(y)", "sum(x)"], {}, 1),
        (["count", "sum(x)"], {"min_count": 5}, 1),  # noise would choose sums, too
        (["count", "sum(x)"], {"top": 2}, 1),
        (["count", "sum(x)", "ratio(sum(x), sum(y))"], {}, 1),  # of two sums
        (["count", "sum(x)"], {"privacy": {"neighbours": "replace-one"}}, 1),
        (["sum(x)", "mean(x)"], {"privacy": {"neighbours": "replace-one"}}, 2),
        (["count", "sum(wide)"], {"privacy": {"neighbours": "replace-one"}}, 2),
        (["count", "sum(x)"], {"privacy": {"unit": "u"}, "contribution": {"max_rows": 3}}, 2),
        (["count", "sum(x)"], {"privacy": {"unit": "u"}, "contribution": {"l1": 3}}, 1),
        (["count", "sum(x)"], {"privacy": {"unit": "u"}, "contribution": {"l2": 3}}, 1),
    ],
)
def test_which_sums_are_made_of_a_count_and_values_about_the_middle(
    statistics: list[str], columns: dict[str, Any], made_of: int
) -> None:
    spec = spec_file.parse({"version": 1} | raw_of(statistics, **columns))
    ((layout, *_),) = lay_out_query(parse_query(spec, spec.query[0]))
    index = next(i for i, statistic in enumerate(statistics) if statistic.startswith("sum"))
    assert len(layout.uses[index]) == made_of
    # nothing is summed that no statistic is made of
    assert sorted({use for computed in layout.uses for use in computed}) == [
        *range(len(layout.components))
    ]


@pytest.mark.dense
@pytest.mark.parametrize("missing", ["skip", "none", "least"])
@pytest.mark.parametrize("frame", [True, False])
def test_sums_without_noise_are_those_of_the_rows(
    tmp_path: Path, *, missing: Any, frame: bool
) -> None:
    """NULL, NaN, values outside bounds: as a loop over the rows has them, but for rounding."""
    rng = np.random.default_rng(5)
    rows: list[dict[str, Any]] = []
    for _ in range(300):
        row: dict[str, Any] = {"k": str(rng.choice([*KEYS, "other"]))}
        for name, (low, high) in BOUNDS.items():
            value = float(rng.uniform(low - 5, high + 5))
            gap = missing != "none" and rng.random() < 0.2
            row[name] = (None if rng.random() < 0.5 else math.nan) if gap else value
        rows.append(row)
    data = pl.DataFrame(rows)
    data.write_parquet(tmp_path / "rows.parquet")
    statistics = ["count", *(f"sum({name})" for name in BOUNDS)]
    raw = raw_of(statistics, missing=missing)
    spec = spec_file.parse({"version": 1} | raw)
    ((layout,),) = lay_out_query(parse_query(spec, spec.query[0]))
    rows_source = source.find_source(spec, tmp_path, frame_of(data) if frame else None)
    vector = ExactTotals.of(rows_source, spec, tell=lambda _: None).vector(layout)
    cells = vector.reshape(len(KEYS), -1) / 2.0**layout.bits
    part = block_of(raw)
    for position, ingredients in enumerate(layout.ingredients(part.noise_errors)):
        numbers = [cells[:, use] for use in layout.uses[position]]
        value = layout.statistics[position].values(ingredients, numbers)[0]
        for index, key in enumerate(KEYS):
            wanted = _by_hand(rows, key, statistics[position], missing)
            assert value[index] == pytest.approx(wanted, abs=300 * 45 * 2.0**-28)


def _by_hand(rows: list[dict[str, Any]], key: str, statistic: str, missing: Any) -> float:
    group_rows = [row for row in rows if row["k"] == key]
    if statistic == "count":
        return len(group_rows)
    name = statistic.removeprefix("sum(").removesuffix(")")
    low, high = BOUNDS[name]
    total = Fraction(0)
    for row in group_rows:
        value = row[name]
        if value is None or math.isnan(value):
            if missing == "skip":
                continue
            value = low
        total += Fraction(min(max(value, low), high))
    return float(total)


DRAWN: dict[str, dict[str, Any]] = {
    "k-staircase": {},
    "steps": {"epsilon": 5},
    "truncated": {"delta": "1e-2"},
    "replace-one": {"neighbours": "replace-one"},
    "laplace": {"neighbours": "replace-one"},
}
"""Settings by the noise that they get; in one cell alone, replaced rows get Laplace noise."""


@pytest.mark.dense
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("column", ["x", "far", "below", "even", "hair"])
def test_real_noise_is_as_large_as_said(name: str, column: str) -> None:
    raw = raw_of([f"sum({column})", f"mean({column})"], privacy=DRAWN[name])
    cells = 1 if name == "laplace" else GROUPS
    raw["query"][0]["group_by"] = {"k": [*range(cells)]}
    part = block_of(raw)
    assert (part.certificate.noise.name == "laplace") == (name == "laplace")
    draws = range(8 * GROUPS // cells)
    asked, ingredients, _ = drawn(part, 0, 0, cells)
    noise = np.concatenate([drawn(part, 0, seed, cells)[2] for seed in draws], axis=1)
    value, std, low, high = asked.values(ingredients, [*noise])
    share = float(((low <= 0) & (high >= 0)).mean())
    error = (0.05 * 0.95 / len(value)) ** 0.5
    assert 0.95 - 4 * error < share < 0.955 + 4 * error
    assert np.sqrt(np.mean(value**2)) == pytest.approx(std[0], rel=0.05)


@pytest.mark.parametrize(("column", "bound"), [("x", 90), ("far", 20), ("below", 20)])
def test_a_sum_beside_a_count_has_the_noise_that_it_has_alone(column: str, bound: int) -> None:
    """√2·B/ε of values in [0, B]: a count beside it used to cost as much again."""
    errors = {
        error.statistic: error for error in block_of(raw_of(["count", f"sum({column})"])).errors
    }
    assert errors[f"sum_{column}"].std == pytest.approx(math.sqrt(2) * bound, rel=1e-3)
    assert errors["count"].std == pytest.approx(2, rel=1e-3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sums")
    rows = {"k": KEYS * 400} | {name: [30.0] * 1200 for name in BOUNDS}
    pl.DataFrame(rows).write_parquet(folder / "rows.parquet")
    raw = raw_of(["count(x)", "sum(x)", "mean(x)"], privacy={"epsilon": 3})
    ln.Release(**raw, folder=folder).run()
    return folder / "out"


@pytest.mark.parametrize("label", ["count_x", "sum_x", "mean_x"])
def test_a_sum_that_isnt_its_count_times_its_mean_is_rejected(
    folder: Path, tmp_path: Path, label: str
) -> None:
    shutil.copytree(folder, tmp_path / "out")
    rows = json.loads((folder / "q.json").read_text())
    for row in rows:
        assert row["sum_x"] == pytest.approx(row["count_x"] * row["mean_x"], rel=1e-9)
    for end in ("", "_low", "_high"):
        rows[1][f"{label}{end}"] *= 1 + 1e-4
    (tmp_path / "out" / "q.json").write_text(json.dumps(rows))
    with pytest.raises(CertificateRejected, match=r"q\.json has a"):
        verify_resealed(tmp_path / "out")


EDITS: list[tuple[list[str], dict[str, Any], str, float]] = [
    (["count(x)", "sum(x)", "mean(x)"], {"clamp": True}, "sum_x", 0.0),  # not below 0 before that
    (["count(even)", "sum(even)", "mean(even)"], {}, "sum_even", 1.3),  # made of itself alone
    (["count(x)", "sum(x)", "mean(x)"], {"round_to": 1000}, "sum_x", 5.0),  # a count of 0, as told
    (["count(below)", "sum(below)", "mean(below)"], {}, "sum_below", 1.5),  # a mean at its end
]


@pytest.mark.grid
@pytest.mark.parametrize(("statistics", "more", "label", "factor"), EDITS)
def test_sums_that_cannot_be_are_rejected(
    *, tmp_path: Path, statistics: list[str], more: dict[str, Any], label: str, factor: float
) -> None:
    data = {"k": KEYS * 400, "x": [30.0] * 1200, "even": [3.0] * 1200, "below": [-5.0] * 1200}
    pl.DataFrame(data | {name: [1.0] * 1200 for name in BOUNDS.keys() - data.keys()}).write_parquet(
        tmp_path / "rows.parquet"
    )
    ln.Release(**raw_of(statistics, **more), folder=tmp_path).run()
    verify_directory(tmp_path / "out")
    path = tmp_path / "out" / "q.json"
    rows = json.loads(path.read_text())
    value = rows[0][label]
    for end in ("", "_low", "_high"):
        rows[0][f"{label}{end}"] += value * (factor - 1)
        if more.get("clamp"):
            rows[0][f"{label}{end}"] = max(rows[0][f"{label}{end}"], 0.0)
    path.write_text(json.dumps(rows))
    with pytest.raises(CertificateRejected, match=f"a {label} that doesn't fit"):
        verify_resealed(tmp_path / "out")
