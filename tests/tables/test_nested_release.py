"""Keys with levels and other columns: plans, releases that add up, edits, and refusals."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.report.page import report
from leastnoise.tables.answers.sums.nested import NestedMargins, noise_name
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.margins import read
from tests.tables.resealed import change_csv, verify_resealed

# regions with 1, 4 and 2 towns, in no order
TOWNS = ["b1", "c1", "a1", "b2", "b3", "c2", "b4"]
REGIONS = {"region": [town[0] for town in TOWNS]}
TWO = {**REGIONS, "part": ["x" if town[0] == "b" else "y" for town in TOWNS]}
LEVELS = {"keys": TOWNS, "levels": REGIONS}
SEX, AGES = ["f", "m"], range(0, 90, 9)
AGE = {"edges": [*AGES, 90]}
REPLACED = {"neighbours": "replace-one"}
LISTED = [[], ["region"], ["sex"], ["town", "sex", "age"]]
ORDERS = [
    {"town": LEVELS, "sex": SEX, "age": AGE},
    {"sex": SEX, "town": LEVELS, "age": AGE},
    {"age": AGE, "sex": SEX, "town": LEVELS},
]


def spec_of(*, unit: str = "row", privacy: Any = None, rows: int = 1, **query: Any) -> Any:
    given = {"name": "people", "statistics": ["count"], "group_by": ORDERS[0], "margins": True}
    raw: dict[str, Any] = {
        "version": 1,
        "data": {
            "source": "rows.parquet",
            "types": {"town": "text", "sex": "text", "age": "int", "who": "int"},
        },
        "privacy": {"unit": unit, "epsilon": 1, **(privacy or {})},
        "query": [given | query],
    }
    if unit != "row":
        raw["contribution"] = {"max_rows": rows}
    return raw


def plan_of(raw: Any) -> Plan:
    return find_plan(spec_file.lay_out(raw))[1]


def whole_of(plan: Plan) -> NestedMargins:
    answered = plan.noisy_parts[0].answered
    assert isinstance(answered, NestedMargins)
    return answered


def rows_of(count: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "town": random.choice([*TOWNS, "none"], count),
            "sex": random.choice(SEX, count),
            "age": random.integers(0, 95, count),
            "who": np.arange(count),
        }
    )


def released(folder: Path, kind: str = "csv", **given: Any) -> Path:
    rows_of().to_parquet(folder / "rows.parquet")
    raw = spec_of(**given)
    raw["output"] = {"path": "out", "format": kind}
    Release(**raw, folder=folder).run()
    return folder / "out"


def labels(level: str | None, columns: list[str]) -> list[tuple[str, str, int]]:
    """The labels of each cell in a table by a level and some columns."""
    cells = [(town, sex, age) for town in TOWNS for sex in SEX for age in AGES]
    tops: dict[str, dict[str, str]] = {"town": {town: town for town in TOWNS}} | {
        name: dict(zip(TOWNS, above, strict=True)) for name, above in TWO.items()
    }
    return [
        (
            tops[level][town] if level else "",
            sex if "sex" in columns else "",
            age if "age" in columns else -1,
        )
        for town, sex, age in cells
    ]


def sum_matrix(rows: list[tuple[str, str, int]], level: str | None, columns: list[str]) -> Any:
    shown = labels(level, columns)
    return np.array([[float(row == cell) for cell in shown] for row in rows])


def rows_in(table: pd.DataFrame) -> list[tuple[str, str, int]]:
    """The labels of a published table's rows, in their order."""
    level = next((name for name in ("town", "region", "part") if name in table), None)
    return [
        (
            str(row[level]) if level else "",
            str(row["sex"]) if "sex" in table else "",
            int(row["age_from"]) if "age_from" in table else -1,
        )
        for row in table.to_dict("records")
    ]


def by_of(table: pd.DataFrame) -> tuple[str | None, list[str]]:
    level = next((name for name in ("town", "region", "part") if name in table), None)
    return level, [name for name in ("sex", "age") if name in table or f"{name}_from" in table]


def test_all_tables_are_published_by_name() -> None:
    assert [part.name for part in plan_of(spec_of()).noisy_parts] == [
        "people",
        "people_by_region_sex_age",
        "people_by_town_sex",
        "people_by_town_age",
        "people_by_sex_age",
        "people_by_region_sex",
        "people_by_region_age",
        "people_by_town",
        "people_by_sex",
        "people_by_age",
        "people_by_region",
        "people_total",
    ]
    two = spec_of(group_by=ORDERS[1] | {"town": {"keys": TOWNS, "levels": TWO}})
    names = [part.name for part in plan_of(two).noisy_parts]
    assert len(names) == 16
    assert "people_by_sex_part_age" in names
    listed = spec_of(group_by=ORDERS[2], margins=[[], ["sex", "region"], ["age", "town", "sex"]])
    assert [part.name for part in plan_of(listed).noisy_parts] == [
        "people",
        "people_by_sex_region",
        "people_total",
    ]


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("order", ORDERS)
def test_counts_without_much_noise_are_those_of_the_rows(
    tmp_path: Path, kind: str, order: Any
) -> None:
    """A table at ε = 300 has noise of .02 or less: every count is next to the true one."""
    folder = released(tmp_path, kind, privacy={"epsilon": 300}, group_by=order)
    verify_directory(folder)
    rows = rows_of()
    rows = rows[(rows["town"] != "none") & (rows["age"] <= 90)]
    cells = Counter(
        (town, sex, min(age // 9, 9) * 9)
        for town, sex, age in zip(rows["town"], rows["sex"], rows["age"], strict=True)
    )
    vector = np.array([float(cells[cell]) for cell in labels("town", ["sex", "age"])])
    names = [path.stem for path in folder.glob(f"people*.{kind}")]
    assert len(names) == 12
    for name in names:
        table = read(folder, name, kind)
        wanted = sum_matrix(rows_in(table), *by_of(table)) @ vector
        assert np.abs(table["count"] - wanted).max() < 0.4
        assert (table["count_low"] <= table["count"]).all()


@pytest.mark.dense
@pytest.mark.parametrize(
    ("order", "privacy"),
    [
        (ORDERS[0], REPLACED),
        (ORDERS[1], {}),
        (ORDERS[2], {"epsilon": "0.05", "delta": "0.001"}),
        ({"sex": SEX, "town": LEVELS}, {}),
    ],
)
def test_errors_of_rows_are_those_of_dense_least_squares(
    tmp_path: Path, order: Any, privacy: Any
) -> None:
    """The law of the noise from the certificate, tables and rows by name alone."""
    margins = LISTED if privacy in ({}, REPLACED) and "age" in order else True
    folder = released(tmp_path, privacy=privacy, group_by=order, margins=margins)
    verify_directory(folder)
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    measured = plan["noisy_parts"][0]["margins"]["measured"]
    assert len(measured) > 1 or "age" not in order
    matrices, stds = [], []
    for given in measured:
        level = next((name for name in ("town", "region") if name in given["by"]), None)
        columns = [name for name in given["by"] if name in ("sex", "age")]
        rows = [*dict.fromkeys(labels(level, columns))]
        matrices.append(sum_matrix(rows, level, columns))
        stds += [given["std"]] * len(rows)
    noisy = np.vstack(matrices)
    scaled = noisy / np.array(stds)[:, None]
    covariance = np.linalg.pinv(scaled.T @ scaled)
    drawn = _draw(measured[0]["noise"], np.array(stds))
    errors = drawn @ (covariance @ noisy.T / np.array(stds) ** 2).T
    for part in plan["noisy_parts"]:
        table = read(folder, part["name"], "csv")
        sums = sum_matrix(rows_in(table), *by_of(table))
        wanted = np.sqrt(np.diag(sums @ covariance @ sums.T))
        np.testing.assert_allclose(table["count_std"], wanted, rtol=1e-6)
        halves = (table["count_high"] - table["count"]).to_numpy(dtype=float)
        inside = (np.abs(errors @ sums.T) <= halves + 1e-9).mean(axis=0)
        # of 20,000 draws the part inside is off by .0015: 6 of these
        assert (inside > 0.95 - 0.01).all()
        assert (inside < 0.975).all() or measured[0]["noise"] == "geometric"
        if measured[0]["noise"] == "geometric":
            assert all(float(count).is_integer() for count in table["count"])


def _draw(noise: str, stds: np.ndarray) -> np.ndarray:
    """20,000 draws of independent noise with these standard deviations."""
    random, size = np.random.default_rng(3), (20_000, len(stds))
    if noise == "geometric":
        chance = 1 - np.exp(-2 * np.arcsinh(1 / (2**0.5 * stds)))
        return random.geometric(chance, size) - random.geometric(chance, size).astype(float)
    if noise == "laplace":
        return random.laplace(size=size) * stds / 2**0.5
    return random.normal(size=size) * stds


@pytest.mark.dense
@pytest.mark.parametrize("unit", ["row", "who"])
def test_all_tables_add_up_exactly(tmp_path: Path, unit: str) -> None:
    folder = released(tmp_path, unit=unit, group_by={"sex": SEX, "town": LEVELS, "age": AGE})
    cells = read(folder, "people", "csv")
    tops = dict(zip(TOWNS, REGIONS["region"], strict=True))
    for path in folder.glob("people_*.csv"):
        table = read(folder, path.stem, "csv")
        sums: Counter[Any] = Counter()
        for (town, sex, age), count in zip(rows_in(cells), cells["count"], strict=True):
            names = {"town": town, "region": tops[town], None: ""}
            level, columns = by_of(table)
            index = names[level], sex if "sex" in columns else "", age if "age" in columns else -1
            sums[index] += Fraction(count)
        assert [sums[row] for row in rows_in(table)] == [*map(Fraction, table["count"])]
    assert "levels" in report(folder) or "region" in report(folder)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("place", "by", "why"),
    [
        (("people_by_region", 1), 1.0, "by_region.csv isn't the sum of people.csv"),
        (("people_total", 0), 1.0, "total.csv isn't the sum"),
        (("people", 5), 1.0, "isn't the sum of people.csv"),
        (("people", 5), 2.0**-22, "multiple"),
        (("people_by_sex_age", 2), 1.0, "by_sex_age.csv isn't the sum"),
    ],
)
def test_tables_that_are_edited(tmp_path: Path, place: Any, by: float, why: str) -> None:
    folder = released(tmp_path)
    name, row = place
    change_csv(folder, name, row, count=by, count_low=by, count_high=by)
    with pytest.raises(CertificateRejected, match=why):
        verify_resealed(folder)


def test_errors_that_are_edited(tmp_path: Path) -> None:
    folder = released(tmp_path)
    change_csv(folder, "people_by_town", 2, count_std=0.1)
    with pytest.raises(CertificateRejected, match="count_std"):
        verify_resealed(folder)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda parts: parts[0].update(name="people.9"), "table of the spec"),
        (lambda parts: parts[0].update(name="other.1"), "queries"),
        (lambda parts: parts.reverse(), "wrong order"),
        (lambda parts: parts.pop(), "Not every table of"),
        (lambda parts: parts[0]["certificate"].update(epsilon="0.9"), "spend more|proved"),
        (lambda parts: parts[0]["certificate"]["sensitivity"].update(l0=2), "sensitivity|proved"),
        (lambda parts: parts[-1]["certificate"].update(grid=None), "must state the grid"),
        (
            lambda parts: parts[-1]["certificate"].update(dimension=7),
            "number of coordinates|proved",
        ),
    ],
)
def test_certificates_that_are_edited(tmp_path: Path, change: Any, why: str) -> None:
    folder = released(tmp_path, margins=LISTED)
    path = folder / "certificate.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record["draws"])
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=why):
        verify_resealed(folder)


def test_noise_of_two_families_isexpect_rejected() -> None:
    pure, both = (
        whole_of(plan_of(spec_of(margins=margins, privacy={"epsilon": "0.05", "delta": delta})))
        for delta, margins in (("0", LISTED), ("0.001", True))
    )
    assert {claim.noise.name for claim in pure.measured.values()} == {"laplace"}
    assert {claim.noise.name for claim in both.measured.values()} == {"gaussian"}
    table = next(table for table in both.measured if table in pure.measured)
    claims = [
        (noise_name(both.cells, at), (pure if at == table else both).measured[at])
        for at in both.measured
    ]
    with pytest.raises(CertificateRejected, match="several families"):
        NestedMargins.read(both.cells, both.budget, claims, composed=True)


def expect_rejected(whole: NestedMargins, claims: Any, why: str) -> None:
    with pytest.raises(CertificateRejected, match=why):
        NestedMargins.read(whole.cells, whole.budget, claims, composed=False)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("sizes", "bound"), [([150] * 20, 3.538), ([5 + 10 * i for i in range(20)] + [1000], None)]
)
def test_thousands_of_towns(sizes: list[int], bound: float | None) -> None:
    """Measured: 8.80."""
    towns = [
        (f"{region}.{i}", f"{region}") for region, size in enumerate(sizes) for i in range(size)
    ]
    keys = {"keys": [town for town, _ in towns], "levels": {"region": [top for _, top in towns]}}
    group_by = {"town": keys, "sex": SEX, "age": {"edges": [*range(0, 101, 10)]}}
    compared = whole_of(plan_of(spec_of(group_by=group_by))).compared["count"]
    assert compared.own < 8.85
    assert compared.cells > 24.9
    assert compared.apart == pytest.approx(16.97, abs=0.01)
    assert compared.bound == (bound and pytest.approx(bound, abs=1e-3))


@pytest.mark.dense
def test_the_largest_error_is_smaller_if_asked_for() -> None:
    typical, largest = (
        whole_of(plan_of(spec_of(objective=objective))) for objective in (None, "largest")
    )
    assert largest.largest_std < typical.largest_std
    assert largest.compared["count"].own == pytest.approx(largest.largest_std)


def test_a_list_of_coarse_tables_needs_no_cells(tmp_path: Path) -> None:
    """Towns by no other column, regions by sex: nothing is measured by town and sex."""
    folder = released(tmp_path, margins=[["town"], ["region", "sex"], ["sex"]])
    verify_directory(folder)
    towns, regions = (
        read(folder, name, "csv") for name in ("people_by_town", "people_by_region_sex")
    )
    assert sum(map(Fraction, towns["count"])) == sum(map(Fraction, regions["count"]))


@pytest.mark.dense
def test_a_series_and_the_least_epsilon() -> None:
    once = whole_of(plan_of(spec_of(margins=LISTED)))
    raw = spec_of(margins=LISTED)
    raw["series"] = {"name": "weekly", "releases": 4}
    raw["privacy"]["ledger"] = {"path": "people.ledger"}
    series = whole_of(plan_of(raw))
    assert series.compared["count"].own == pytest.approx(4 * once.compared["count"].own, rel=0.001)
    least = spec_of(privacy={"epsilon": "least"}, accuracy={"half_width_95": 50})
    plan = plan_of(least)
    assert max(part.errors[0].half_width_95 for part in plan.noisy_parts) == pytest.approx(
        50, rel=0.01
    )


@pytest.mark.parametrize(
    ("change", "key", "why"),
    [
        ({"margins": [["town", "region"]]}, "margins[0]", 'Remove "region"'),
        ({"margins": [["town", "colour"]]}, "margins[0]", "or their levels, got 'colour'"),
        ({"margins": [["sex"], ["sex"]]}, "margins[1]", "twice"),
        ({"margins": False}, "group_by.town.levels", "margins = true"),
        ({"round": True, "clamp": True}, "round", "Remove round"),
        ({"clamp": True}, "clamp", "Remove clamp"),
        ({"statistics": ["count", "mean(age)"]}, "margins", "one count"),
        ({"accuracy": {"std": 2}}, "accuracy.std", "a std each"),
        ({"group_by": {"town": LEVELS}}, "margins", "every level gets a table"),
        ({"group_by": {"town": LEVELS, "region": SEX}}, "group_by.town.levels.region", "another"),
        (
            {"group_by": {"town": LEVELS, "sex": LEVELS}},
            "group_by.sex.levels",
            "Only one column may have levels",
        ),
        (
            {"group_by": {"town": LEVELS, "sex": LEVELS}, "margins": False},
            "group_by.sex.levels",
            "Only one column may have levels",
        ),
        (
            {"group_by": {"town": LEVELS} | {f"c{i}": SEX for i in range(5)}},
            "margins",
            "at most 64 tables",
        ),
        ({"group_by": {"town": LEVELS, "s x": SEX}}, "margins", "A file would be called"),
    ],
)
def test_what_does_not_go_with_levels_and_margins(change: Any, key: str, why: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(spec_of(**change))
    assert why in dict(caught.value.problems)[f"query[0].{key}"]


def test_a_person_in_several_cells_is_refused() -> None:
    with pytest.raises(SpecError, match="max_rows = 1"):
        spec_file.lay_out(spec_of(unit="who", rows=3))
