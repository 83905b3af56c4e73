"""Releases of margins with min_count: rows are suppressed, and false edits are rejected.

The ε is so large that a count's noise is below 1, except with probability below 1e-7.
"""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, Refused, SpecError
from leastnoise.report.page import report
from leastnoise.tables.publish.difference import subtract_releases
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.results.table import Table
from leastnoise.tables.results.table_files import read_table
from tests.tables.margins import plan_of, spec_of, sums_of
from tests.tables.resealed import change_csv, verify_resealed

EPSILON = {"epsilon": "24"}
SMALL = (0, "f", 15)
KINDS = ["csv", "json", "parquet", "xlsx", "sdmx-csv"]
MARGINS = [["region", "sex", "age"], ["region"], []]


def rows_of(*, small: int = 2) -> pd.DataFrame:
    """Rows: `small` of them in one cell, and in the others 40 to 60, more in higher regions."""
    cells = itertools.product(range(3), "fm", (15, 45))
    rows = pd.DataFrame(
        [
            (region, sex, age, index % 31)
            for region, sex, age in cells
            for index in range(small if (region, sex, age) == SMALL else 40 + 10 * region)
        ],
        columns=["region", "sex", "age", "x"],
    )
    return rows.assign(who=range(len(rows)))


def release(folder: Path, kind: str = "csv", spec: Any = spec_of, **given: Any) -> Path:
    folder.mkdir(exist_ok=True)
    rows_of().to_csv(folder / "rows.csv", index=False)
    raw = spec(**{"min_count": 10, "privacy": EPSILON} | given)
    raw["output"] = {"path": "out", "format": kind}
    if kind == "sdmx-csv":
        raw["output"]["agency"] = "XX"
    Release(**raw, folder=folder).run()
    return folder / "out"


def published(folder: Path, name: str, kind: str) -> dict[str, list[Any]]:
    """A table as `verify` reads it; missing numbers have the format's value for them."""
    layouts = {part.layout.name: part.layout for part in verify_directory(folder).plan.noisy_parts}
    file_kind = "csv" if kind == "sdmx-csv" else kind
    return read_table(folder / f"{name}.{file_kind}", [layouts[name]])


@pytest.mark.dense
@pytest.mark.parametrize("kind", KINDS)
def test_a_small_cell_and_its_box_are_suppressed(tmp_path: Path, kind: str) -> None:
    folder = release(tmp_path, kind)
    cells = published(folder, "people", kind)
    assert cells["suppressed"] == ["primary"] + ["secondary"] * 7 + [""] * 4
    blank = None if kind in {"json", "parquet"} else ""
    for name in ("count", "count_std", "count_low", "count_high"):
        assert cells[name][:8] == [blank] * 8
        assert all(math.isfinite(float(number)) for number in cells[name][8:])
    for name in ("people_by_region_sex", "people_by_sex_age", "people_total"):
        assert {*published(folder, name, kind)["suppressed"]} == {""}  # totals stay


@pytest.mark.dense
@pytest.mark.parametrize("kind", KINDS)
def test_everything_may_be_suppressed(tmp_path: Path, kind: str) -> None:
    folder = release(tmp_path, kind, min_count=10_000)
    assert published(folder, "people_total", kind)["suppressed"] == ["primary"]
    assert report(folder).count("<td>..<small>primary</small></td>") == 36


@pytest.mark.dense
@pytest.mark.parametrize(
    "given",
    [
        {"round": True, "clamp": True},
        {"spec": sums_of},
        {"spec": sums_of, "margins": MARGINS, "kind": "json"},
        {"unit": "who", "min_count": 60, "margins": [["region", "sex"], ["region"], ["age"]]},
    ],
)
def test_other_tables_that_add_up(tmp_path: Path, given: dict[str, Any]) -> None:
    name = "people_by_region_sex" if given.get("unit") else "people"
    marks = published(release(tmp_path, **given), name, given.get("kind", "csv"))["suppressed"]
    assert marks.count("primary") >= 1
    assert marks.count("") >= 1


def test_margins_of_one_line_hide_one_cell_more(tmp_path: Path) -> None:
    cells = published(release(tmp_path, margins=MARGINS), "people", "csv")
    assert cells["suppressed"] == ["primary", "", "secondary"] + [""] * 9  # in region 0


def rewrite(folder: Path, row: int, **values: str) -> None:
    """Replace fields of a row of the table of cells."""
    path = folder / "people.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[row] |= values
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def shown_like(folder: Path, row: int, value: int) -> dict[str, str]:
    """The fields of a row if it showed the count `value` with the std and width of row `row`."""
    cells = read_table(folder / "people.csv", [verify_directory(folder).plan.noisy_parts[0].layout])
    count, high = (float(cells[name][row]) for name in ("count", "count_high"))
    half = high - count
    ends = {"count_low": str(value - half), "count_high": str(value + half)}
    return {
        "count": str(float(value)),
        "count_std": cells["count_std"][row],
        "suppressed": "",
        **ends,
    }


@pytest.mark.dense
def test_verify_refuses_edits(tmp_path: Path) -> None:
    folder = release(tmp_path)
    path = folder / "people.csv"
    original = path.read_text(encoding="utf-8")
    edits: list[tuple[int, dict[str, str], str]] = [
        (1, shown_like(folder, 11, 40), "has a suppressed number that may follow"),
        (1, {"count": "40"}, "missing or unreadable"),
        (1, {"suppressed": "small"}, "missing or unreadable"),
        (1, {"suppressed": ""}, "missing or unreadable"),
        (11, {"suppressed": "secondary"}, "missing or unreadable"),
        (11, shown_like(folder, 11, 61), "isn't the sum of people.csv"),
        (
            11,
            dict.fromkeys(shown_like(folder, 11, 61), "") | {"suppressed": "secondary"},
            "may foll",
        ),
    ]
    for row, values, why in edits:
        rewrite(folder, row, **values)
        with pytest.raises(CertificateRejected, match=why):
            verify_resealed(folder)
        path.write_text(original, encoding="utf-8")
    assert verify_resealed(folder).rows["people"] == 12


def test_verify_refuses_a_small_count_that_is_shown(tmp_path: Path) -> None:
    folder = release(tmp_path, margins=[["sex"], []])
    for row, by in ((0, -256), (1, 256)):
        change_csv(folder, "people_by_sex", row, count=by, count_low=by, count_high=by)
    with pytest.raises(CertificateRejected, match="shows a count below min_count, 10"):
        verify_resealed(folder)


def test_the_report_shows_the_marks(tmp_path: Path) -> None:
    page = report(release(tmp_path))
    assert page.count("<td>..<small>primary</small></td>") == 1
    assert page.count("<td>..<small>secondary</small></td>") == 7
    assert (
        "Of 12 rows, 1 is suppressed as small (primary), and 7 to protect them (secondary)." in page
    )
    assert "published count is below 10 (primary)" in page
    assert "the noise alone protects" in page


@pytest.mark.dense
def test_a_workbook_has_empty_cells_and_marks(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(release(tmp_path, "xlsx") / "tables.xlsx")
    head, *rows = list(book["people"].values)[4:]
    assert head[-1] == "suppressed"
    assert [row[-1] for row in rows[:2]] == ["primary", "secondary"]
    assert {*rows[0][4:8]} == {None}
    assert isinstance(rows[-1][4], int | float)


def test_sdmx_has_codes_of_confidentiality(tmp_path: Path) -> None:
    text = (release(tmp_path, "sdmx-csv") / "people.csv").read_text(encoding="utf-8")
    lines = [*csv.DictReader(text.splitlines())]
    statuses = [(line["OBS_STATUS"], line["CONF_STATUS"]) for line in lines]
    assert statuses == [("Q", "A"), *[("Q", "D")] * 7, *[("E", "F")] * 4]
    assert [line["OBS_VALUE"] for line in lines[:8]] == [""] * 8


def test_sdmx_of_another_status_is_refused(tmp_path: Path) -> None:
    folder = release(tmp_path, "sdmx-csv")
    path = folder / "people.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(",Q,A,", ",E,A,"), encoding="utf-8")
    with pytest.raises(CertificateRejected, match="missing or unreadable"):
        verify_resealed(folder)


def test_frames_and_text_show_what_is_missing() -> None:
    raw = spec_of(min_count=10, privacy=EPSILON)
    raw["data"] = {"source": rows_of()[["region", "sex", "age"]]}
    tables: dict[str, Table] = Release(**raw).run().tables
    cells = tables["people"]
    frame = cells.to_pandas()
    assert frame["count"].isna().sum() == cells.to_polars()["count"].null_count() == 8
    assert frame.groupby("suppressed").size().to_dict() == {"": 4, "primary": 1, "secondary": 7}
    assert cells.to_arrow()["count"].null_count == 8
    first = str(cells).splitlines()[3].split()
    assert first[-3:] == ["..", "..", "primary"]


@pytest.mark.dense
def test_differences_of_such_tables_are_refused(tmp_path: Path) -> None:
    folders = [release(tmp_path / name, privacy={"epsilon": "2"}) for name in "ab"]
    with pytest.raises(Refused, match="noise decides which"):
        subtract_releases(*folders)


def test_the_plan_says_what_suppression_does() -> None:
    plan = plan_of(spec_of(min_count=10))
    assert "below 10 (primary)" in str(plan)
    assert "It costs no budget, and the noise alone protects." in " ".join(plan.notes)
    assert "below 10 (primary)" in plan.to_record()["noisy_parts"][0]["published"][0]
    assert plan.noisy_parts[0].errors == plan_of(spec_of()).noisy_parts[0].errors


LEVELS = {"keys": ["a", "b", "c"], "levels": {"part": ["x", "x", "y"]}}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"top": 3},
            "Give min_count, which suppresses small cells and keeps totals, or give top in",
        ),
        ({"min_count": 5, "statistics": ["sum(age)"]}, "Expected count or count_units"),
        (
            {"min_count": 5, "group_by": {"region": LEVELS}, "margins": False},
            "Leave it out, or give it in another query. With margins of columns without levels",
        ),
        (
            {"min_count": 5, "group_by": {"region": LEVELS, "sex": ["f", "m"]}},
            "Leave it out, or give it in another query. With margins of columns without levels",
        ),
        (
            {
                "min_count": 5,
                "group_by": {},
                "margins": False,
                "histogram": {"column": "age", "edges": [0, 1, 2], "cumulative": True},
            },
            "Not used with cumulative: sums wouldn't add up. Leave it out, or give it in another",
        ),
        (
            {"top": 5, "group_by": {"region": LEVELS}, "margins": False},
            "Not used with levels: sums wouldn't add up. Give top in another query.",
        ),
        (
            {
                "min_count": 5,
                "group_by": {name: [*range(100)] for name in "abc"},
                "margins": [["a", "b"], ["c"]],
            },
            "Cells are suppressed in margins of at most 6 columns",
        ),
    ],
)
def test_other_tables_are_refused(given: dict[str, Any], why: str) -> None:
    raw = spec_of(**given)
    raw["data"] = {"source": "rows.csv"}
    with pytest.raises(SpecError, match=why):
        plan_of(raw)
