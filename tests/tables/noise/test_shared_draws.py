"""Queries that share a draw: against all partitions, in releases, and in edited releases."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.accuracy import half_width_of_quotient
from leastnoise.selection.public import least_noise
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed

CONDITIONS = [{"name": f"c{i}", "conditions": {"it": {"x": {"min": i}}}} for i in range(3)]
BINS = {"name": "bins", "histogram": {"column": "x", "edges": [0, 2, 5]}}


def release(
    folder: Path,
    query: list[dict[str, Any]],
    *,
    limits: int = 3,
    columns: dict[str, Any] | None = None,
    **privacy: Any,
) -> Release:
    frame = pd.DataFrame({"who": np.arange(3000) // 3, "x": np.arange(3000) % 7 * 1.0})
    frame.to_parquet(folder / "rows.parquet")
    return Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "who", "epsilon": 1, "delta": "1e-5"} | privacy,
        contribution={"max_rows": limits},
        columns=columns or {},
        query=query,
        output={"path": "out", "format": "csv"},
        folder=folder,
    )


def variances(plan: Plan) -> dict[str, float]:
    return {part.name: part.noise_errors[0].std ** 2 for part in plan.noisy_parts}


def test_noise_that_is_0_as_a_float_is_planned_block_by_block(tmp_path: Path) -> None:
    query = [BINS, {"name": "rows", "statistics": ["count"]}]
    plan = release(tmp_path, query, epsilon=10**4, delta="1e-6").plan()
    assert 0 in variances(plan).values()
    assert [part.group for part in plan.noisy_parts] == [("bins",), ("rows",)]


def test_three_conditions_are_three_counting_queries(tmp_path: Path) -> None:
    """theory/bodies.md §3: 4.6613 each, where 18 is what a third of the budget takes for one."""
    plan = release(tmp_path, CONDITIONS).plan()
    assert list(variances(plan).values()) == pytest.approx([4.66132] * 3, rel=1e-5)
    ((name, certificate),) = plan.certificate.draws
    assert name == "c0+c1+c2"
    assert certificate.budget == plan.budget
    assert plan.to_record()["noisy_parts"][0]["drawn_with"] == ["c1", "c2"]
    assert len(plan.answered) == 1


@pytest.mark.dense
def test_what_is_drawn_together_is_released_apart_and_verifies(tmp_path: Path) -> None:
    result = release(tmp_path, [CONDITIONS[0], BINS, CONDITIONS[1]]).run()
    assert [name for name, _ in result.certificate.draws] == ["c0+bins+c1"]
    assert list(result.tables) == ["c0", "bins", "c1"]
    for name, true in (("c0", 1000), ("c1", 1000)):  # each has three of the seven values
        (row,) = result.tables[name].rows
        assert abs(row[1] - true) < 60
        assert row[2] == pytest.approx(math.sqrt(variances(result.plan)[name]), rel=1e-6)
    assert list(result.tables["bins"].columns["count"]) == pytest.approx([857, 1714], abs=300)
    assert verify_directory(tmp_path / "out").certificate == result.certificate


def members(release: Release) -> list[tuple[int, ...]]:
    """The indices of the parts that share each draw."""
    plan = release.plan()
    return [tuple(map(plan.parts.index, answer.parts)) for answer in plan.answered]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("queries", "weights", "together"),
    [
        ([1, 1, 1], [1, 1, 1], [(0, 1, 2)]),
        ([20, 4], [1, 1], [(0,), (1,)]),  # theory/bodies.md §7
        ([1, 1], [9, 1], [(0,), (1,)]),  # the first would have more noise than alone
        ([1, 1, 2, 5, 8, 8], [1] * 6, [(0, 1, 2), (3, 4, 5)]),
        ([3], [1], [(0,)]),
    ],
)
def test_the_best_partition_of_persons(
    tmp_path: Path, queries: list[int], weights: list[int], together: list[tuple[int, ...]]
) -> None:
    query = [
        {"name": f"b{i}", "importance": weight}
        | {"conditions": {f"c{j}": {"x": {"min": j}} for j in range(count)}}
        for i, (count, weight) in enumerate(zip(queries, weights, strict=True))
    ]
    assert members(release(tmp_path, query)) == together


def rows_of(name: str, cells: int, *, sums: int = 0, weight: int = 1) -> dict[str, Any]:
    """A query with a count of rows and `sums` sums."""
    statistics = ["count", *(f"sum(x{i})" for i in range(sums))]
    keys = list(range(cells))
    return {"name": name, "importance": weight, "statistics": statistics, "group_by": {"who": keys}}


def of_rows(folder: Path, query: list[dict[str, Any]], **privacy: Any) -> Release:
    frame = pd.DataFrame({"who": np.arange(3000) // 3, "x0": 1.0, "x1": -1.0, "x": 0.0})
    frame.to_parquet(folder / "rows.parquet")
    return Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "who", "epsilon": 1, "delta": "1e-6"} | privacy,
        contribution={"max_rows": 3},
        columns={name: {"bounds": [-1, 1]} for name in ("x0", "x1")},
        query=query,
        output={"path": "out", "format": "csv"},
        folder=folder,
    )


ALIKE = [rows_of("a", 3, sums=1), rows_of("b", 3, sums=1), rows_of("c", 30)]
UNLIKE = [
    rows_of("a", 4, sums=1, weight=3),
    rows_of("b", 4, sums=1, weight=2),
    rows_of("c", 2, weight=3),
]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("query", "together"), [(ALIKE, [(0, 1), (2,)]), (UNLIKE, [(0, 1), (2,)]), (ALIKE[::2], None)]
)
def test_the_best_partition_of_rows(
    tmp_path: Path, query: list[dict[str, Any]], together: list[tuple[int, ...]] | None
) -> None:
    """Queries that are alike gain; a large one beside a small one doesn't."""
    assert members(of_rows(tmp_path, query)) == (together or [(0,), (1,)])


@pytest.mark.slow
@pytest.mark.parametrize("query", [ALIKE[:2], UNLIKE[:2]], ids=["alike", "unlike"])
def test_rows_of_a_draw_have_less_noise_than_their_shares_give(
    tmp_path: Path, query: list[dict[str, Any]]
) -> None:
    """Sampled: each query's own standard deviation and interval, which differ."""
    plan = of_rows(tmp_path, query).plan()
    ((name, certificate),) = plan.certificate.draws
    assert name == "a+b"
    drawn = plan.noisy_parts[0].mechanism
    assert isinstance(certificate, Certificate)
    assert drawn.noise == certificate.noise
    noisy = np.array([drawn.release(np.zeros(drawn.noise.dimension)).values for _ in range(1500)])
    for part in plan.noisy_parts:
        alone = least_noise(
            epsilon=part.budget.epsilon,
            sensitivity=part.layout.sensitivities,
            dimension=part.layout.dimension,
        )
        error = part.noise_errors[0]
        assert error.std**2 < alone.noise.variance * (1 + 1e-9)
        lay_out_query = noisy[:, part.first : part.first + part.layout.dimension]
        # six standard deviations of 1,500 draws: of a mean square 35 % (Laplace), of a share 3.4 %
        assert np.mean(lay_out_query**2) == pytest.approx(error.std**2, rel=0.35)
        assert (np.abs(lay_out_query) <= error.half95).mean() == pytest.approx(0.95, abs=0.034)


@pytest.mark.dense
def test_rows_drawn_together_are_released_and_verify(tmp_path: Path) -> None:
    result = of_rows(tmp_path, UNLIKE).run()
    assert [name for name, _ in result.certificate.draws] == ["a+b", "c"]
    stds = [result.tables[name].columns["count_std"][0] for name in "ab"]
    assert stds[0] < stds[1]
    assert verify_directory(tmp_path / "out").certificate == result.certificate


def _radii(hull: dict[str, Any]) -> None:
    hull["radii"][0] = "1.1"


def _exponent(hull: dict[str, Any]) -> None:
    hull["exponent"] = "8"


def _bounds(hull: dict[str, Any]) -> None:
    hull["bodies"][1]["bodies"][0]["bounds"] = ["2", "2"]


def _one_body_less(hull: dict[str, Any]) -> None:
    del hull["bodies"][1], hull["radii"][1]


@pytest.mark.dense
@pytest.mark.parametrize("edit", [_radii, _exponent, _bounds, _one_body_less])
def test_a_smaller_body_than_the_spec_implies_is_rejected(
    tmp_path: Path, edit: Callable[[dict[str, Any]], None]
) -> None:
    of_rows(tmp_path, UNLIKE[:2]).run()
    file = tmp_path / "out" / "certificate.json"
    record = json.loads(file.read_text())
    certificate = record["draws"][0]
    certificate = certificate.get("certificate", certificate)
    edit(certificate["sensitivity"]["hull"])
    if "noise" in certificate and "body" in certificate["noise"].get("parameters", {}):
        edit(certificate["noise"]["parameters"]["body"])
    file.write_text(json.dumps(record))
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("weights", [(1, 1), (2, 1), (5, 1)])
def test_no_block_has_more_noise_than_its_own_share_gives(
    tmp_path: Path, weights: tuple[int, int]
) -> None:
    query = [
        condition | {"importance": w} for condition, w in zip(CONDITIONS, weights, strict=False)
    ]
    plan = release(tmp_path, query).plan()
    for part in plan.noisy_parts:
        alone = least_noise(
            epsilon=part.budget.epsilon,
            delta=part.budget.delta,
            sensitivity=part.layout.sensitivities,
            dimension=part.layout.dimension,
        )
        assert part.mechanism.noise.variance <= alone.noise.variance * (1 + 1e-9)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("epsilon", "delta", "together"),
    [
        ("2", "0", True),
        ("8", "0", True),
        pytest.param("8", "1e-6", True, marks=pytest.mark.slow),  # noise is designed
        ("14", "0", False),
    ],
)
def test_counts_that_whole_numbers_serve_better_are_drawn_apart(
    tmp_path: Path, epsilon: str, delta: str, together: bool
) -> None:
    """Steps that keep signs have .0256 at ε = 8, where whole numbers alone have .0380."""
    pd.DataFrame({"who": [1, 2]}).to_parquet(tmp_path / "rows.parquet")
    query = [rows_of(name, 2) for name in ("a", "b")]
    result = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": epsilon, "delta": delta},
        query=query,
        folder=tmp_path,
    )
    for part in result.plan().noisy_parts:
        assert (len(part.group) > 1) == together
        (counts,) = part.layout.sensitivities
        alone = least_noise(
            epsilon=part.budget.epsilon,
            delta=part.budget.delta,
            sensitivity=counts,
            dimension=2,
        )
        assert part.noise_errors[0].std ** 2 <= alone.variances[0] * (1 + 1e-9)


def test_rows_are_drawn_together_as_well(tmp_path: Path) -> None:
    raw = release(tmp_path, CONDITIONS[:2])
    by_row = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": 1},
        query=CONDITIONS[:2],
        folder=tmp_path,
    ).plan()
    assert variances(by_row) == pytest.approx(variances(raw.plan()), rel=1e-9)


EDITS = {
    "another order": ("c0+c1", "c1+c0"),
    "a part left out": ("c0+c1", "c0"),
    "a part twice": ("c0+c1", "c0+c1+c1"),
    "no part": ("c0+c1", "c0+c7"),
    "one name": ("c0+c1", "c0c1"),
}


@pytest.mark.grid
@pytest.mark.parametrize("edit", EDITS)
def test_what_is_said_of_a_draw_must_be_true(tmp_path: Path, edit: str) -> None:
    release(tmp_path, CONDITIONS[:2]).run()
    old, new = EDITS[edit]
    file = tmp_path / "out" / "certificate.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path / "out")


def test_noise_for_fewer_queries_is_rejected(tmp_path: Path) -> None:
    release(tmp_path, CONDITIONS[:2]).run()
    file = tmp_path / "out" / "certificate.json"
    record = json.loads(file.read_text())
    (part,) = record["draws"]
    certificate = part.get("certificate", part)
    assert certificate["sensitivity"]["max_nonzero"] == 2
    certificate["sensitivity"]["max_nonzero"] = 1
    file.write_text(json.dumps(record))
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path / "out")


def test_a_person_moves_all_blocks_of_a_draw_by_what_is_certified(tmp_path: Path) -> None:
    """The largest shift over all the ways in which a person's rows meet three conditions."""
    certificate = release(tmp_path, CONDITIONS).plan().certificate.draws[0][1]
    assert isinstance(certificate, Certificate)
    sensitivity = certificate.sensitivity
    added = sensitivity.additions(dimension=3)
    assert added is not None
    for moved in itertools.product((0, 1), repeat=3):
        assert added.holds(moved)


@pytest.mark.dense
def test_each_block_of_a_draw_has_its_own_intervals(tmp_path: Path) -> None:
    """The intervals of two means in one draw, from published values and each coordinate's law."""
    values = np.random.default_rng(1).integers(-3, 4, 4000) / 3  # makes the table, no noise
    pd.DataFrame({"g": 1, "x": values, "y": values}).to_parquet(tmp_path / "rows.parquet")
    release = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": 1},
        columns={name: {"bounds": [-1, 1], "missing": "none"} for name in "xy"},
        query=[
            {"name": name, "importance": weight, "group_by": {"g": [1, 2]}}
            | {"statistics": ["count", f"mean({column})"], "clamp": False}
            for name, weight, column in (("a", 3, "x"), ("b", 2, "y"))
        ],
        folder=tmp_path,
    )
    result = release.run()
    assert len(result.plan.answered) == 1
    draw = result.plan.noisy_parts
    halves = draw[0].mechanism.accuracy(0.95)
    half_widths = {part.name: halves[part.first] for part in draw}
    assert half_widths["b"] > 1.2 * half_widths["a"]
    for part, column in zip(draw, "xy", strict=True):
        table = result.tables[part.name].columns
        count, mean = table["count"][0], table[f"mean_{column}"][0]
        for end in ("low", "high"):
            a = table[f"mean_{column}_{end}"][0]
            places = part.first, part.first + 1
            next_ratio = math.ceil(abs(a) * 16) / 16
            width = half_width_of_quotient(part.certificate, 0.95, places, next_ratio)
            assert width is not None
            assert width >= half_widths[part.name] * (1 - 1e-9)
            assert abs(mean - a) * count == pytest.approx(width, rel=1e-6)


@pytest.mark.dense
@pytest.mark.parametrize("groups", [3000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_three_queries_over_many_groups_are_planned(tmp_path: Path, groups: int) -> None:
    """The errors of two numbers of a cell, of one draw over all groups, hardly change with them."""
    by = {"group_by": {"who": list(range(groups))}}
    query = [
        {"name": "a", "statistics": ["count", "mean(x)"], **by},
        {"name": "b", "statistics": ["mean(x)"], **by},
        {"name": "c", "statistics": ["sum(x)"], **by},
    ]
    few = [raw | {"group_by": {"who": list(range(1000))}} for raw in query]
    columns = {"x": {"bounds": [0, 10], "missing": 0}}
    first, other = (
        release(tmp_path, asked, epsilon=1, delta=0, limits=1, columns=columns).plan()
        for asked in (query, few)
    )
    if groups == 3000:  # of still more, no two are planned together
        assert any(len(part.group) > 1 for part in first.noisy_parts)
    for part, beside in zip(first.noisy_parts, other.noisy_parts, strict=True):
        for error, near in zip(part.noise_errors, beside.noise_errors, strict=True):
            assert error.half95 == pytest.approx(near.half95, rel=1e-2)
