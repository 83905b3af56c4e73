"""Releases of tables with margins: they add up and verify, and edited ones are rejected."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.certificate.plan import COMPOSED
from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.sums.publish_sums import add_up
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.margins import GROUP_BY, plan_of, read, spec_of, table_of, whole_of
from tests.tables.resealed import verify_resealed

WIDE: dict[str, Any] = {
    "margins": [[*GROUP_BY], ["sex"], ["age"], []],
    "group_by": GROUP_BY | {"region": [*range(12)]},
    "privacy": {"epsilon": "0.3"},
}
"""A query in which noise is added to the cells and to the table by sex and age."""
SEXES = {"name": "sexes", "statistics": ["count"], "group_by": {"sex": ["f", "m"]}}


def write_rows(folder: Path) -> None:
    random = np.random.default_rng(5)
    rows = pd.DataFrame(
        {
            "who": np.arange(400) // 2,
            "region": random.integers(4, size=400),
            "sex": random.choice(["f", "m"], size=400),
            "age": random.integers(70, size=400),
        }
    )
    rows.to_csv(folder / "rows.csv", index=False)


def released(folder: Path, kind: str = "csv", **given: Any) -> Path:
    write_rows(folder)
    raw = spec_of(**given)
    raw["output"] = {"path": "out", "format": kind}
    Release(**raw, folder=folder).run()
    return folder / "out"


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("unit", ["row", "who"])
def test_totals_agree_exactly(tmp_path: Path, kind: str, unit: str) -> None:
    folder = released(tmp_path, kind, unit=unit)
    columns = {"region": ["region"], "sex": ["sex"], "age": ["age_from", "age_to"]}
    cells = read(folder, "people", kind)
    for size in range(3):
        for by in itertools.combinations(columns, size):
            keys = [item for column in by for item in columns[column]]
            text = read(folder, f"people_by_{'_'.join(by)}" if by else "people_total", kind)
            summed = cells.groupby(keys)["count"].agg(math.fsum) if by else [cells["count"].sum()]
            wanted = text.set_index(keys)["count"].sort_index() if by else text["count"]
            assert list(wanted) == list(summed)
    rows = verify_directory(folder).rows
    assert rows["people"] == 12
    assert rows["people_total"] == 1
    assert len(rows) == 8


@pytest.mark.dense
def test_several_blocks_with_margins_beside_others(tmp_path: Path) -> None:
    write_rows(tmp_path)
    raw = spec_of(privacy={"delta": "1e-6"}, margins=[[*GROUP_BY], ["sex"], []])
    raw["query"] += [SEXES, spec_of(name="again")["query"][0]]
    raw["output"] = {"path": "out", "format": "csv"}
    tables = Release(**raw, folder=tmp_path).run().tables
    assert list(tables)[:4] == ["people", "people_by_sex", "people_total", "sexes"]
    verified = verify_directory(tmp_path / "out")
    assert set(verified.rows) == set(tables)


@pytest.mark.dense
def test_gaussian_noise_in_tables_verifies_beside_another_block(tmp_path: Path) -> None:
    write_rows(tmp_path)
    raw = spec_of(**WIDE | {"margins": True, "privacy": {"epsilon": "0.1", "delta": "1e-2"}})
    raw["query"].append(SEXES)
    raw["output"] = {"path": "out", "format": "csv"}
    plan = Release(**raw, folder=tmp_path).run().plan
    assert plan.certificate.rule == COMPOSED
    whole = whole_of(plan)
    assert {mechanism.noise.name for mechanism in whole.measured.values()} == {"gaussian"}
    compared = whole.compared["count"]
    assert compared.own < min(compared.cells, compared.apart)
    assert verify_directory(tmp_path / "out").delta.upper <= 1e-2


def test_noise_that_never_comes_gives_the_truth() -> None:
    plan = plan_of(spec_of())
    whole = whole_of(plan)
    truth = np.arange(12.0).reshape(3, 2, 2)
    marginals = whole.marginals
    noisy = {
        table: truth.sum(axis=marginals.axes(7 & ~table)).reshape(-1) for table in whole.measured
    }
    for part, table in zip(plan.noisy_parts, add_up(whole, plan.noisy_parts, noisy), strict=True):
        wanted = truth.sum(axis=marginals.axes(7 & ~table_of(part))).reshape(-1)
        assert table.columns["count"] == wanted.tolist()


@pytest.mark.parametrize("huge", [2.0**40, 2.0**70, 1e300])
def test_tables_add_up_however_large_the_noise_is(huge: float) -> None:
    plan = plan_of(spec_of())
    whole = whole_of(plan)
    noisy = {
        table: huge * np.linspace(-1, 1, whole.marginals.cells(table)) ** 3
        for table in whole.measured
    }
    cells, *_, total = add_up(whole, plan.noisy_parts, noisy)
    assert math.fsum(cells.columns["count"]) == total.columns["count"][0]


@pytest.mark.dense
def test_what_is_drawn_has_the_stated_covariance_and_intervals() -> None:
    """Simulated from the laws of the certificates, by numpy alone."""
    plan = plan_of(spec_of(**WIDE))
    whole = whole_of(plan)
    random = np.random.default_rng(7)
    assert len(whole.measured) > 1  # else nothing is put together
    draws = 6_000
    noise: dict[int, Any] = {}
    for table, claim in whole.measured.items():
        p = -math.expm1(-float(claim.budget.epsilon))
        size = (draws, whole.marginals.cells(table))
        noise[table] = random.geometric(p, size) - random.geometric(p, size)
    drawn = [
        [
            table.columns["count"]
            for table in add_up(whole, plan.noisy_parts, {t: n[i] for t, n in noise.items()})
        ]
        for i in range(100)
    ]
    floats = {table: numbers.astype(float) for table, numbers in noise.items()}
    estimates = np.array([
        whole.marginals.estimate(whole.information[0], {t: n[i] for t, n in floats.items()})
        for i in range(draws)
    ])  # fmt: skip
    for part in plan.noisy_parts:
        axes = tuple(1 + i for i in whole.marginals.axes(7 & ~table_of(part)))
        numbers = estimates.sum(axis=axes).reshape(draws, -1)
        (error,) = part.noise_errors
        assert numbers.std(axis=0) == pytest.approx(error.std, rel=0.06)
        inside = (np.abs(numbers) <= error.half95).mean(axis=0)
        assert ((inside > 0.935) & (inside < 0.98)).all()
    for index, part in enumerate(plan.noisy_parts):
        axes = tuple(1 + i for i in whole.marginals.axes(7 & ~table_of(part)))
        wanted = estimates[:100].sum(axis=axes).reshape(100, -1)
        np.testing.assert_allclose([item[index] for item in drawn], wanted, atol=1e-3)


def test_cells_alone_stay_whole() -> None:
    raw = spec_of(margins=[[*GROUP_BY], ["region", "sex"]], group_by=GROUP_BY)
    plan = plan_of(raw)
    whole = whole_of(plan)
    assert list(whole.measured) == [7]
    assert whole.steps == (1,)
    for part in plan.noisy_parts:
        assert part.errors[0].half_width_95 == int(part.errors[0].half_width_95)


@pytest.mark.dense
def test_accuracies_and_the_least_epsilon() -> None:
    raw = spec_of(accuracy={"half_width_95": 10}, privacy={"epsilon": "least"})
    plan = plan_of(raw)
    widest = max(part.errors[0].half_width_95 for part in plan.noisy_parts)
    assert 9.8 < widest <= 10
    assert all(wish.met for part in plan.noisy_parts for wish in part.wishes)


def edit(folder: Path, name: str, change: Any) -> None:
    record = json.loads((folder / name).read_text(encoding="utf-8"))
    change(record)
    (folder / name).write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.dense
def test_a_total_that_is_edited_with_its_interval(tmp_path: Path) -> None:
    """Attack: value and ends move alike, and fit each other: but not the cells."""
    folder = released(tmp_path, "json", **WIDE)

    def moved(records: list[dict[str, Any]]) -> None:
        for name in ("count", "count_low", "count_high"):
            records[0][name] += 2.0**-18

    edit(folder, "people_total.json", moved)
    with pytest.raises(CertificateRejected, match=r"people_total.json isn't the sum"):
        verify_resealed(folder)


def claims_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    return record["draws"]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda b: b.reverse(), "order"),
        (lambda b: b.append(b[-1]), "no table|twice"),
        (lambda b: b.__delitem__(-1), "Not every table of"),
        (lambda b: b[0].update(name="people"), "no table"),
        (lambda b: b[0].update(name="people.9"), "no table"),
        (lambda b: b[0].update(name=b[1]["name"]), "number of coordinates"),
        (lambda b: b[0]["certificate"].update(epsilon="2"), "people"),
        (lambda b: b[1]["certificate"].update(epsilon="0.01"), "plan.json"),
        (lambda b: b[1]["certificate"]["sensitivity"].update(l0=2), "people"),
        (lambda b: b[1]["certificate"].update(dimension=2), "dimension"),
        (lambda b: b[1]["certificate"].update(grid=None), "must state the grid"),
        (lambda b: b[1]["certificate"]["noise"]["parameters"].update(cells=2), "people|function"),
    ],
)
def test_certificates_that_are_edited(tmp_path: Path, change: Any, text: str) -> None:
    folder = released(tmp_path, **WIDE)
    edit(folder, "certificate.json", lambda record: change(claims_of(record)))
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


def test_the_plan_says_what_was_measured_and_how_far_it_is_from_the_bound() -> None:
    plan = plan_of(spec_of())
    record = plan.noisy_parts[0].to_record()["margins"]
    assert [item["by"] for item in record["measured"]][-1] == ["region", "sex", "age"]
    assert sum(Fraction(item["epsilon"]) for item in record["measured"]) == 1
    others = record["compared"]["count"]
    assert others["bound"] < others["own"] <= min(others["cells"], others["apart"])
    stds = [part.errors[0].std for part in plan.noisy_parts]
    mean = math.exp(math.fsum(map(math.log, stds)) / len(stds))
    assert mean == pytest.approx(others["own"], rel=1e-6)


FOUR = {
    "who": [*range(2)],
    "region": [*range(5)],
    "age": [*range(10)],
    "sex": [*"abcdefghijklmnopqrst"],
}
PAIRS = [list(by) for size in range(3) for by in itertools.combinations(FOUR, size)]


def test_the_tables_that_are_listed_and_no_other() -> None:
    """The figure of docs/howto/margins.md, of a spec: eleven tables without the cells."""
    plan = plan_of(spec_of(group_by=FOUR, margins=PAIRS))
    assert len(plan.noisy_parts) == 11
    assert "people" not in [part.name for part in plan.noisy_parts]
    assert whole_of(plan).compared["count"].own == pytest.approx(8.76, abs=0.005)
    stds = [part.errors[0].std for part in plan.noisy_parts]
    assert math.exp(math.fsum(map(math.log, stds)) / 11) == pytest.approx(8.76, abs=0.005)


@pytest.mark.dense
def test_listed_tables_agree_where_none_is_by_all_columns(tmp_path: Path) -> None:
    """Attack: a number of one table moves with its interval, and fits no other table."""
    folder = released(tmp_path, "json", margins=[["region", "sex"], ["sex", "age"]])
    item, other = (read(folder, f"people_by_{by}", "json") for by in ("region_sex", "sex_age"))
    sums = [table.groupby("sex")["count"].agg(math.fsum) for table in (item, other)]
    assert list(sums[0]) == list(sums[1])
    assert not (folder / "people.json").exists()
    assert set(verify_directory(folder).rows) == {"people_by_region_sex", "people_by_sex_age"}

    def moved(records: list[dict[str, Any]]) -> None:
        for name in ("count", "count_low", "count_high"):
            records[0][name] += 2.0**-10

    edit(folder, "people_by_sex_age.json", moved)
    with pytest.raises(CertificateRejected, match="don't have the same sums by sex"):
        verify_resealed(folder)


@pytest.mark.dense
@pytest.mark.parametrize("margins", [True, [["r"], ["s"]], [["r"]], [["s"]], [[]]])
@pytest.mark.parametrize("limits", [{"max_groups": 2, "max_rows_per_group": 1}, {"max_rows": 2}])
def test_limits_are_about_the_groups_of_the_query(limits: dict[str, int], margins: Any) -> None:
    """A person within the limits of every column's groups counts whole, whatever is listed."""
    persons = [*range(1_000)]
    rows = pd.DataFrame({"who": persons * 2, "r": 1, "s": ["f"] * 1_000 + ["m"] * 1_000})
    tables = Release(
        data={"source": rows},
        privacy={"unit": "who", "epsilon": 50, "delta": "1e-6"},
        contribution=limits,
        query=[
            {
                "name": "q",
                "statistics": ["count"],
                "group_by": {"r": [1, 2], "s": ["f", "m"]},
                "margins": margins,
            }
        ],
    ).run()
    for table in tables.tables.values():
        assert sum(table.columns["count"]) == pytest.approx(2_000, abs=30)


@pytest.mark.grid
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("margins", [True, [["a"]], [["a", "b"], []]])
def test_a_column_with_one_key(margins: Any, neighbours: str) -> None:
    """It has no contrasts: of the first column alone a row that is replaced moves nothing."""
    plan = Release(
        data={"source": pd.DataFrame({"a": ["x"], "b": [0]})},
        privacy={"unit": "row", "epsilon": 1, "delta": "1e-9", "neighbours": neighbours},
        query=[
            {
                "name": "q",
                "statistics": ["count"],
                "group_by": {"a": ["x"], "b": [0, 1]},
                "margins": margins,
            }
        ],
    ).plan()
    assert all(0 < part.errors[0].std < 6 for part in plan.noisy_parts)
