"""Workbooks and SDMX-CSV: other programs read the numbers and texts that were written."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

import pandas as pd
import pytest

import leastnoise as ln
import leastnoise_check
from leastnoise.errors import CertificateRejected, InvalidInput, MissingLibrary, SpecError
from leastnoise.report.page import report
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.results import workbook
from leastnoise.tables.results.workbook import Cover, TableSheet, read_sheet, write_workbook
from tests.grids import thin
from tests.tables.resealed import verify_resealed

pytest.importorskip("xlsxwriter")
openpyxl = pytest.importorskip("openpyxl")
HEADER = 4  # of pandas: the row with the names of columns
TEXTS = [
    *("=1+1", "+1", "-1", "@SUM(1)", "'=1", "\t=1", "=cmd|' /C calc'!A0", "1", "1.0", "true", ""),
    *(" a ", "a\nb", "a\rb", "\x00", "\x1f", "_x0041_", "_x005F_", "ax005F_b", "\ufffe", "\uffff"),
    *("<r><t>x</t></r>", "<r>", "&amp;", "inf", "\U0001f600", "\u2028", "é" * 4000, "NULL", "#N/A"),
]
NUMBERS = [0.1 + 0.2, 1 / 3, -0.0, 1e308, -5e-324, 2.0**53, 1e15, 123456789012345.0, float("inf")]
WHOLE = [2**53 + 1, -(2**63), 10**15, 10**15 - 1, 0]


def sheet(columns: dict[str, list[Any]], keys: int, name: str = "q") -> TableSheet:
    return TableSheet(
        name=name,
        description="A table.",
        note="Noise.",
        columns=columns,
        keys=keys,
        labels=[f"{column} in words" for column in columns],
        formats=["General"] * len(columns),
    )


COVER = Cover(title="=Title", author="The office", sections={"Notes": ["+1", "x" * 40_000]})


def written(folder: Path, *sheets: TableSheet) -> Path:
    write_workbook(folder / "tables.xlsx", COVER, sheets)
    return folder / "tables.xlsx"


def read(path: Path, name: str = "q", most: int | None = None) -> dict[str, list[Any]]:
    return read_sheet(path.read_bytes(), name, most_rows=most, most_bytes=2**24)[0]


def test_texts_and_numbers_read_back(tmp_path: Path) -> None:
    columns = {"k": TEXTS, "x": (NUMBERS * 4)[: len(TEXTS)]}
    path = written(tmp_path, sheet(columns, 1), sheet({"w": WHOLE, "b": [True] * 5}, 2, "other"))
    stored = read(path)
    assert stored["k"] == TEXTS
    assert [float(x) for x in stored["x"]] == columns["x"]
    assert str(stored["x"][NUMBERS.index(-0.0)]) == "0"
    other = read(path, "other")
    assert other["w"] == [str(2**53 + 1), str(-(2**63)), str(10**15), 10**15 - 1, 0]
    assert other["b"] == [True] * 5
    assert workbook.values_in_cells(WHOLE) == other["w"]
    assert [type(value) for value in workbook.values_in_cells(NUMBERS)] == [
        float, float, int, float, float, float, float, int, str,
    ]  # fmt: skip


def test_no_cell_is_a_formula_and_other_readers_see_the_numbers(tmp_path: Path) -> None:
    finite = NUMBERS[:-1] * 4
    path = written(tmp_path, sheet({"k": TEXTS, "x": finite[: len(TEXTS)]}, 1))
    book = openpyxl.load_workbook(path)
    kinds = {cell.data_type for page in book for row in page.iter_rows() for cell in row}
    assert kinds <= {"s", "n", "inlineStr"}
    assert b"<f>" not in b"".join(ZipFile(path).read(name) for name in ZipFile(path).namelist())
    frame = pd.read_excel(path, sheet_name="q", header=HEADER)
    assert frame["x"].tolist() == finite[: len(TEXTS)]
    assert frame["k"].tolist()[:4] == TEXTS[:4]
    assert book["About"]["A1"].value == "=Title"


@pytest.mark.dense
def test_the_same_contents_are_the_same_bytes(tmp_path: Path) -> None:
    """Dates, time zones and the modes of new files are no part of a workbook."""
    contents = []
    for zone, mask in (("UTC", 0o022), ("Asia/Tokyo", 0o077)):
        old = os.umask(mask)
        folder = tmp_path / zone.replace("/", "")
        folder.mkdir()
        os.environ["TZ"] = zone
        time.tzset()
        try:
            contents.append(written(folder, sheet({"k": ["a"], "x": [1.5]}, 1)).read_bytes())
        finally:
            os.umask(old)
            os.environ.pop("TZ")
            time.tzset()
        if len(contents) == 1:
            time.sleep(2)  # the clock of a zip file
    assert contents[0] == contents[1]


def test_a_long_table_is_continued_on_further_sheets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "_MOST_ROWS", 15)
    values = list(range(35))
    path = written(tmp_path, sheet({"k": values}, 1), sheet({"k": [7]}, 1, "Q 2"))
    assert openpyxl.load_workbook(path).sheetnames == ["About", "q", "q 2", "q 3", "q 4", "Q 2 2"]
    assert read(path)["k"] == values
    assert read(path, most=12)["k"] == values[:13]
    assert read(path, "Q 2")["k"] == [7]


def test_names_of_sheets_are_valid() -> None:
    names = ["x" * 64, "X" * 64, "about", "History", "a"]
    built = workbook.sheet_names(names)
    assert all(0 < len(name) <= 31 for name in built)
    assert len({name.casefold() for name in built} | {"about", "history"}) == len(built) + 2


def test_a_cell_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at most 32,767 characters"):
        written(tmp_path, sheet({"k": ["é" * 32_768]}, 1))


def test_a_missing_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'leastnoise\[xlsx\]'"):
        written(tmp_path, sheet({"k": ["a"]}, 1))


def test_a_folder_that_is_missing_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        written(tmp_path / "missing", sheet({"k": ["a"]}, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<v>1.5</v>", "<f>1+.5</f><v>1.5</v>"),
        ("<v>1.5</v>", "<v>1.5</v><v>2</v>"),
        ('t="inlineStr"', 't="d"'),
        ("<t>a</t>", "<t>_xD800_</t>"),
        ("</sheetData>", "</sheetDat>"),
        ("UTF-8", "unknown-8"),
    ],
)
def test_a_workbook_of_another_form_is_a_value_error(tmp_path: Path, old: str, new: str) -> None:
    path = written(tmp_path, sheet({"k": ["a"], "x": [1.5]}, 1))
    with ZipFile(path) as book, ZipFile(tmp_path / "new.xlsx", "w") as target:
        for name in book.namelist():
            text = book.read(name)
            target.writestr(name, text.replace(old.encode(), new.encode()))
    with pytest.raises(ValueError, match=r"unexpected kind|surrogates|not a workbook"):
        read(tmp_path / "new.xlsx")


def test_any_damage_is_a_value_error_or_changes_nothing_else(tmp_path: Path) -> None:
    content = written(tmp_path, sheet({"k": ["a"], "x": [1.5]}, 1)).read_bytes()
    random = Random(1)
    outcomes = set()
    for _ in range(1000):
        damaged = bytearray(content)
        for _ in range(random.choice([1, 1, 4])):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        try:
            read_sheet(bytes(damaged), "q", most_rows=9, most_bytes=2**20)
            outcomes.add("read")
        except (ValueError, OSError):
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_a_long_sheet_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, sheet({"k": ["a"]}, 1))
    with pytest.raises(ValueError, match="too long"):
        read_sheet(path.read_bytes(), "q", most_rows=None, most_bytes=100)
    with pytest.raises(ValueError, match="not a workbook"):
        read_sheet(b"x", "q", most_rows=None, most_bytes=100)


PEOPLE = pd.DataFrame(
    {
        "person": range(600),
        "region": ["north", "=1+1", "-2"] * 200,
        "code": [2**60, 2**60 + 1, 5] * 200,
        "income": [100.0 * (20 + i % 80) for i in range(600)],
    }
)


def release(folder: Path, query: list[Any] | None = None, **output: Any) -> ln.Release:
    candidates = {"from": 0, "to": 15000, "step": 100}
    return ln.Release(
        data=PEOPLE,
        privacy={"unit": "person", "epsilon": 2, "delta": "1e-6"},
        contribution={"max_rows": 1},
        columns={
            "income": {"bounds": [0, 15000], "label": "Income", "candidates": candidates},
            "region": {"label": "Region of residence"},
        },
        query=query
        or [
            {
                "name": "by_region",
                "statistics": ["count", "mean(income)", "var(income)"],
                "group_by": {"region": ["north", "=1+1", "-2"]},
            },
            {
                "name": "bands",
                "statistics": ["count"],
                "round": True,
                "group_by": {"income": {"edges": ["-inf", 3000, "6000.5", "inf"]}},
            },
            {"name": "codes", "statistics": ["count"], "group_by": {"code": [2**60, 2**60 + 1, 5]}},
            {
                "name": "unlisted",
                "statistics": ["count"],
                "group_by": {"code": {"keys": "private"}},
            },
            {"name": "all", "statistics": ["median(income)", "count_units"]},
            {
                "name": "crossed",
                "statistics": ["count"],
                "group_by": {"region": ["north", "=1+1", "-2"], "code": [5, 2**60]},
                "margins": True,
            },
        ],
        output={"path": "out", **output},
        report={"title": "Incomes", "publisher": "The office"},
        folder=folder,
    )


FORMATS = [
    {"format": "xlsx"},
    {"format": "csv", "headers": "both"},
    {"format": "sdmx-csv", "agency": "OFFICE.UNIT"},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Path]]:
    """One release of all queries by format: its result and its folder, which no test changes."""

    @functools.cache
    def run_once(name: str) -> tuple[Any, Path]:
        (output,) = [output for output in FORMATS if output["format"] == name]
        folder = tmp_path_factory.mktemp(name)
        return release(folder, **output).run(), folder / "out"

    return run_once


@pytest.mark.dense
@pytest.mark.parametrize("name", thin(["xlsx", "sdmx-csv", "csv"], 1))
def test_a_release_verifies_and_has_a_page(name: str, run: Any) -> None:
    released, folder = run(name)
    tables = released.tables
    verified = verify_directory(folder)
    assert verified.rows == {name: len(table) for name, table in tables.items()}
    assert "Region of residence" in report(folder)


@pytest.mark.grid
@pytest.mark.parametrize("output", FORMATS, ids=lambda output: output["format"])
def test_the_small_checker_reads_deviations_of_each_csv(
    output: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = {"name": "q", "statistics": ["count"], "group_by": {"region": ["north", "-2"]}}
    release(tmp_path, [query], **output).run()
    assert leastnoise_check.check_release(tmp_path / "out")
    out = capsys.readouterr().out
    assert ("the tables in tables.xlsx" in out) == (output["format"] == "xlsx")
    stated = 1 if output["format"] == "xlsx" else 3
    assert f"CHECKED: {stated} standard deviations of counts" in out


@pytest.mark.dense
def test_pandas_reads_the_numbers_of_a_released_workbook(run: Any) -> None:
    released, folder = run("xlsx")
    path = folder / "tables.xlsx"
    book = pd.read_excel(path, sheet_name=None, header=HEADER, dtype={"code": str})
    assert [*book] == ["About", *released.tables]
    for name, table in released.tables.items():
        frame = book[name]
        assert list(frame.columns) == list(table.columns)
        for column, values in table.columns.items():
            wanted = list(map(str, values)) if column == "code" else values
            assert frame[column].tolist() == wanted, (name, column)
    cover = "\n".join(map(str, openpyxl.load_workbook(path)["About"]["A"]))
    texts = [cell.value for cell in openpyxl.load_workbook(path)["About"]["A"]]
    assert cover
    assert texts[0] == "Incomes"
    assert "Protected: the presence or absence of any one person." in texts
    assert "Values of Income below 0 count as 0, and values above 15,000 as 15,000." in texts
    labels = [cell.value for cell in openpyxl.load_workbook(path)["by_region"][4]]
    assert labels[:3] == [
        "Region of residence",
        "count of rows",
        "count of rows (standard deviation of the noise)",
    ]
    assert labels[5] == "mean of Income"


@pytest.mark.dense
def test_libreoffice_reads_the_numbers_of_a_released_workbook(run: Any, tmp_path: Path) -> None:
    if shutil.which("soffice") is None:
        pytest.skip("needs soffice, of Debian's package libreoffice-calc-nogui")
    released, folder = run("xlsx")
    filters = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
    command = ["soffice", f"-env:UserInstallation=file://{tmp_path}/home", "--headless"]
    command += ["--convert-to", filters, "--outdir", str(tmp_path / "converted")]
    subprocess.run([*command, str(folder / "tables.xlsx")], check=True, capture_output=True)
    for name, table in released.tables.items():
        path = tmp_path / f"converted/tables-{name}.csv"
        frame = pd.read_csv(path, header=HEADER, dtype={"code": str, "region": str})
        assert list(frame.columns) == list(table.columns)
        for column, values in table.columns.items():
            if column in {"code", "region"}:
                assert frame[column].tolist() == list(map(str, values))
            else:
                assert frame[column].tolist() == pytest.approx(values, rel=1e-13)


@pytest.mark.dense
@pytest.mark.grid
@pytest.mark.parametrize("name", ["xlsx", "csv", "sdmx-csv"])
def test_an_edited_table_is_rejected(name: str, run: Any, tmp_path: Path) -> None:
    _, folder = run(name)
    if name == "xlsx":
        edits = [
            ("95 % from", "95 % to"),
            ("by_region", "by_regiom"),
            ("<v>3000</v>", "<v>3001</v>"),
        ]
    elif name == "csv":
        edits = [("95 % from", "95 % to"), ("north,", "south,"), ("region: ", "region:: ")]
    else:
        edits = [(",E,", ",A,"), ("north,", "south,"), ("STD_DEV", "STD"), ("(1.0)", "(2.0)")]
    for old, new in edits:
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        if name == "xlsx":
            path = copy / "tables.xlsx"
            book = {part: ZipFile(path).read(part) for part in ZipFile(path).namelist()}
            with ZipFile(path, "w") as target:
                for part, content in book.items():
                    target.writestr(part, content.replace(old.encode(), new.encode()))
        else:
            path = copy / "by_region.csv"
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new))
        with pytest.raises(CertificateRejected):
            verify_resealed(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("output", "query", "why"),
    [
        ({"format": "xlsx", "headers": "both"}, {}, "output.headers"),
        ({"format": "csv", "agency": "X"}, {}, "output.agency"),
        ({"format": "sdmx-csv"}, {}, "output.agency: Missing"),
        ({"format": "sdmx-csv", "agency": "a b"}, {}, "an identifier of SDMX"),
        (
            {"format": "sdmx-csv", "agency": "A"},
            {"group_by": {"place of birth": ["a"]}},
            "no SDMX dimension may have",
        ),
        (
            {"format": "sdmx-csv", "agency": "A"},
            {"group_by": {"OBS_VALUE": ["a"]}},
            "means something else in SDMX-CSV",
        ),
        ({"headers": "both", "format": "csv"}, {"group_by": {"a: b": ["a"]}}, "from its label"),
    ],
)
def test_what_a_format_cannot_hold_is_a_problem_of_the_spec(
    output: dict[str, str], query: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=why):
        release(tmp_path, [{"name": "q", "statistics": ["count"], **query}], **output)


def test_sdmx_tools_read_the_observations(run: Any) -> None:
    pysdmx_io = pytest.importorskip("pysdmx.io")
    released, folder = run("sdmx-csv")
    for name, table in released.tables.items():
        (dataset,) = pysdmx_io.read_sdmx(folder / f"{name}.csv", validate=False).data
        frame = dataset.data
        assert dataset.short_urn == f"Dataflow=OFFICE.UNIT:{name}(1.0)"
        assert {*frame["OBS_STATUS"]} == {"E"}
        assert {*frame["CONF_STATUS"]} == {"F"}
        for statistic in frame["STATISTIC"].unique():
            of_statistic = frame[frame["STATISTIC"] == statistic]
            assert of_statistic["OBS_VALUE"].astype(float).tolist() == table.columns[statistic]
            if f"{statistic}_std" in table.columns:
                stds = of_statistic["STD_DEV"].astype(float).tolist()
                assert stds == table.columns[f"{statistic}_std"]
