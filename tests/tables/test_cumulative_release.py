"""Releases with cumulative counts: they add up and verify, and edited ones are rejected."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.ledger import Ledger
from leastnoise.report.page import report
from leastnoise.tables.publish.difference import subtract_releases
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.try_limits import try_limits
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.cumulative import EDGES, spec_of
from tests.tables.resealed import change_csv, verify_resealed

SUMS = "ages_cumulative"
REGIONS = {"region": [1, 0]}


def write_rows(folder: Path) -> pd.DataFrame:
    random = np.random.default_rng(3)
    ages = random.integers(-20, 121, size=600)
    rows = pd.DataFrame({"who": range(600), "region": random.integers(3, size=600), "age": ages})
    rows.to_csv(folder / "rows.csv", index=False)
    return rows


def released(folder: Path, kind: str = "csv", **given: Any) -> Path:
    write_rows(folder)
    raw = spec_of(**given)
    raw["output"] = {"path": "out", "format": kind}
    Release(**raw, folder=folder).run()
    return folder / "out"


def tell(folder: Path, name: str, kind: str) -> list[list[float]]:
    """Return the numbers of a table without its keys, one list per row."""
    if kind == "parquet":
        frame = pd.read_parquet(folder / f"{name}.parquet")
    elif kind == "json":
        frame = pd.DataFrame(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    else:
        frame = pd.read_csv(folder / f"{name}.csv")
    return frame[["count", "count_std", "count_low", "count_high"]].to_numpy().tolist()


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("unit", ["row", "who"])
def test_cumulative_counts_are_the_sums_of_the_bins(tmp_path: Path, kind: str, unit: str) -> None:
    folder = released(tmp_path, kind, unit=unit, group_by=REGIONS)
    bins, sums = (tell(folder, name, kind) for name in ("ages", SUMS))
    for first in (0, 4):
        counts = [row[0] for row in bins[first : first + 4]]
        assert [row[0] for row in sums[first : first + 4]] == list(accumulate(counts))
        assert all(count.is_integer() for count in counts)
    assert sums[0][1:2] == pytest.approx(bins[0][1:2])
    assert len({row[1] for row in sums}) == 4  # a std for each edge
    assert verify_directory(folder).rows == {"ages": 8, SUMS: 8}


def test_what_is_counted_is_from_the_first_edge_on(tmp_path: Path) -> None:
    """Nearly without noise: who is younger than the first edge, or has no age, is in no count."""
    rows = pd.DataFrame({"who": range(9), "region": 1, "age": [-1, 0, 17, 18, 39, 40, 100, 101, 5]})
    rows["age"] = rows["age"].astype("Int64").mask(rows["who"] == 8)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    raw = spec_of(privacy={"epsilon": 30}, group_by=REGIONS)
    table = Release(**raw, folder=tmp_path).run().tables[SUMS]
    assert table.columns["count"] == [2, 4, 5, 6, 0, 0, 0, 0]
    assert table.columns["age_from"] == [0.0] * 8
    assert table.columns["age_to"] == [*map(float, EDGES[1:])] * 2
    raw = spec_of(privacy={"epsilon": 30}, edges=[float("-inf"), 18, float("inf")])
    whole = Release(**raw, folder=tmp_path).run().tables[SUMS]
    assert whole.columns["count"] == [3, 8]


@pytest.mark.dense
@pytest.mark.parametrize("rule", [{}, {"delta": "1e-6"}])
def test_beside_other_blocks(tmp_path: Path, rule: dict[str, Any]) -> None:
    write_rows(tmp_path)
    raw = spec_of(privacy=rule)
    raw["query"] += [
        {"name": "regions", "statistics": ["count"], "group_by": {"region": [0, 1, 2]}},
        spec_of(name="again", edges=range(0, 101, 10))["query"][0],
        {"name": "cells", "statistics": ["count"], "group_by": {"region": [0, 1], "who": [1, 2]},
         "margins": True},
    ]  # fmt: skip
    raw["output"] = {"path": "out", "format": "csv"}
    tables = Release(**raw, folder=tmp_path).run().tables
    assert list(tables)[:5] == ["ages", SUMS, "regions", "again", "again_cumulative"]
    assert set(verify_directory(tmp_path / "out").rows) == set(tables)


ALL = ("count", "count_low", "count_high")


@pytest.mark.dense
@pytest.mark.parametrize(
    ("place", "by", "text"),
    [
        ((SUMS, 2), dict.fromkeys(ALL, 1.0), "ages_cumulative.csv isn't the running sums"),
        (("ages", 5), dict.fromkeys(ALL, 1.0), "ages_cumulative.csv isn't the running sums"),
        (("ages", 7), dict.fromkeys(ALL, 0.5), "isn't a whole number"),
        ((SUMS, 1), {"count_std": 0.1}, "count_std that is not the standard deviation"),
        ((SUMS, 3), {"count_std": 1e-3}, "count_std that is not the standard deviation"),
        ((SUMS, 1), {"count_low": -1.0}, "count_low"),
        ((SUMS, 6), {"count_high": 1.0}, "count_high"),
        ((SUMS, 6), {"age_from": 1.0}, "other keys"),
        (("ages", 1), {"count_std": 0.1}, "count_std that is not the standard deviation"),
        (("ages", 1), {"count_low": 1.0}, "count_low"),
    ],
)
def test_tables_that_are_edited(
    tmp_path: Path, place: tuple[str, int], by: dict[str, float], text: str
) -> None:
    folder = released(tmp_path, group_by=REGIONS)
    change_csv(folder, *place, **by)
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


def test_a_row_that_is_taken_away(tmp_path: Path) -> None:
    folder = released(tmp_path)
    path = folder / f"{SUMS}.csv"
    path.write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[:-1]), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=rf"{SUMS}\.csv has"):
        verify_resealed(folder)


def edited(folder: Path, name: str, change: Any) -> None:
    record = json.loads((folder / name).read_text(encoding="utf-8"))
    change(record)
    (folder / name).write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.dense
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda b: b.update(name="ages.1"), "have the same queries"),
        (lambda b: b["certificate"]["noise"]["parameters"].update(branches=[8]), "shares|branches"),
        (
            lambda b: b["certificate"]["noise"]["parameters"].update(shares=["0", "0", "0", "1"]),
            "plan.json",
        ),
        (lambda b: b["certificate"].update(epsilon="2"), "share"),
        (lambda b: b["certificate"].update(epsilon="0.5"), "share"),
        (
            lambda b: b["certificate"]["sensitivity"].update(bound="2"),
            "sensitivity isn't the query's|coordinates",
        ),
        (lambda b: b["certificate"].update(dimension=4), "coordinates|dimension|cells"),
        (lambda b: b["certificate"].update(grid=None), "whole"),
        (lambda b: b["certificate"].update(compositions=2), "release"),
    ],
)
def test_certificates_that_are_edited(tmp_path: Path, change: Any, text: str) -> None:
    folder = released(tmp_path, group_by=REGIONS)
    edited(folder, "certificate.json", lambda record: change(record["draws"][0]))
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


def test_a_plan_or_a_spec_that_is_edited(tmp_path: Path) -> None:
    folder = released(tmp_path)
    spec = folder / "spec.toml"
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("cumulative = true", "cumulative = false"), encoding="utf-8")
    with pytest.raises(CertificateRejected):
        verify_resealed(folder)
    spec.write_text(text, encoding="utf-8")
    edited(
        folder,
        "plan.json",
        lambda record: record["noisy_parts"][1]["cumulative"].update(root_mean_square_std=1.0),
    )
    with pytest.raises(CertificateRejected, match=r"plan\.json"):
        verify_resealed(folder)


def test_two_releases_are_subtracted(tmp_path: Path) -> None:
    folders = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        folders.append(released(tmp_path / name, group_by=REGIONS))
    before, after = (tell(folder, SUMS, "csv") for folder in folders)
    result = subtract_releases(*folders).tables[SUMS]
    assert result.confidence == {"count": 0.9}
    for row, (item, other) in enumerate(zip(before, after, strict=True)):
        assert result.columns["count"][row] == other[0] - item[0]
        assert result.columns["count_std"][row] == pytest.approx(2**0.5 * item[1])
        assert result.columns["count_low"][row] == other[2] - item[3]


def test_a_page_says_bands_and_what_an_error_is(tmp_path: Path) -> None:
    page = report(released(tmp_path))
    assert "0 to below 40" in page
    assert "by age (cumulative)" in page
    assert "root mean square" in page


def test_a_series_of_two(tmp_path: Path) -> None:
    write_rows(tmp_path)
    raw = spec_of()
    raw["series"] = {"releases": 2}
    raw["privacy"]["ledger"] = {"path": "a.ledger", "dataset": "a"}
    raw["output"] = {"path": "out", "format": "csv"}
    Ledger(tmp_path / "a.ledger").open_account("a", unit="row", budget=Budget(epsilon=1))
    for _ in range(2):
        result = Release(**raw, folder=tmp_path).run()
        assert result.path is not None
        assert verify_directory(result.path).rows == {"ages": 4, SUMS: 4}


def test_limits_cannot_be_tried(tmp_path: Path) -> None:
    rows = write_rows(tmp_path)
    raw = spec_of(unit="who")
    (tmp_path / "spec.toml").write_text(Release(**raw, folder=tmp_path).to_toml(), encoding="utf-8")
    rows.to_csv(tmp_path / "sample.csv", index=False)
    with pytest.raises(Refused, match="cumulative counts"):
        try_limits(
            tmp_path / "spec.toml",
            name="max_rows",
            values=["1"],
            sample=tmp_path / "sample.csv",
            progress=lambda _: None,
        )
