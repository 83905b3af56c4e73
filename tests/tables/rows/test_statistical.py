"""Files of SPSS, Stata and SAS: the same rows, whatever file holds them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import MissingLibrary, SourceError, SpecError
from leastnoise.tables.rows import starter
from leastnoise.tables.rows.duckdb import statistical
from tests.tables.integers import integers
from tests.tables.statistical_files import compare_statistical

pyreadstat = pytest.importorskip("pyreadstat")
pytest.importorskip("openpyxl")


@pytest.mark.dense
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 30))]
)
def test_a_random_spec_has_the_integers_of_plain_python(tmp_path: Path, seed: int) -> None:
    compare_statistical(seed, tmp_path)


def counts(folder: Path, source: str | list[str], group_by: Any, **data: Any) -> list[int]:
    """The exact integers of a count of rows by `group_by`."""
    spec = {
        "version": 1,
        "data": {"source": source, **data},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "statistics": ["count"], "group_by": group_by}],
    }
    (vector,) = integers(spec, folder).values()
    return list(vector)


LABELS = {1: "North", 2: "South", 9: "Refused"}


def write_labelled(folder: Path, values: list[float | None]) -> list[str]:
    frame = pd.DataFrame({"region": pd.Series(values, dtype="float64")})
    labels = {"region": LABELS}
    pyreadstat.write_sav(frame, folder / "a.sav", variable_value_labels=labels)
    pyreadstat.write_dta(frame, folder / "a.dta", variable_value_labels=labels)
    return ["a.sav", "a.dta"]


def test_value_labels_are_a_column_of_texts(tmp_path: Path) -> None:
    for name in write_labelled(tmp_path, [1, 2, 2, 9, None, 3]):
        labelled = counts(tmp_path, name, {"region_label": ["North", "South", "Refused"]})
        assert labelled == counts(tmp_path, name, {"region": [1, 2, 9]}, types={"region": "int"})
        assert labelled[1] == 2 * labelled[0] == 2 * labelled[2] > 0
        (tmp_path / "more").mkdir()
        write_labelled(tmp_path / "more", [2, 2])
        both = counts(tmp_path, [name, f"more/{name}"], {"region_label": ["North", "South"]})
        assert both == [labelled[0], 4 * labelled[0]]
        shutil.rmtree(tmp_path / "more")


def test_a_column_with_the_name_of_the_labels_is_itself(tmp_path: Path) -> None:
    frame = pd.DataFrame({"region": [1.0, 2.0], "region_label": ["x", "y"]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels={"region": LABELS})
    item, none = counts(tmp_path, "a.sav", {"region_label": ["x", "North"]})
    assert item > none == 0


def test_user_missing_values_are_missing(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 8.0, 97.0, 99.0], "t": ["a", "NA", "b", ""]})
    pyreadstat.write_sav(
        frame, tmp_path / "a.sav", missing_ranges={"x": [8, {"lo": 90, "hi": 99}], "t": ["NA"]}
    )
    item, *others = counts(tmp_path, "a.sav", {"x": [1, 8, 97, 99]}, types={"x": "int"})
    assert item > 0 == sum(others)
    item, missing, other = counts(tmp_path, "a.sav", {"t": ["a", "NA", "b"]})
    assert item == other > missing == 0
    frame = pd.DataFrame({"x": [1.0, "a", "z", None]}, dtype=object)
    pyreadstat.write_dta(frame, tmp_path / "a.dta", missing_user_values={"x": ["a", "z"]})
    (item, every) = counts(tmp_path, "a.dta", {"x": {"edges": [1, 2, 1e6]}})
    assert item > every == 0


def test_a_text_in_another_encoding_is_missing_and_moves_no_other(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"t": ["né", "nO", "né"]}), tmp_path / "a.sav")
    plain = counts(tmp_path, "a.sav", {"t": ["né", "nO"]})
    assert plain[0] == 2 * plain[1] > 0
    content = (tmp_path / "a.sav").read_bytes()
    at = content.index("né".encode())
    (tmp_path / "a.sav").write_bytes(content[:at] + b"n\xff\xff" + content[at + 3 :])
    keys = ["né", "nO", "n\ufffd\ufffd", "n\xff\xff"]
    assert counts(tmp_path, "a.sav", {"t": keys}) == [plain[1], plain[1], 0, 0]


def test_encoding_is_that_of_the_file_or_of_the_spec(tmp_path: Path) -> None:
    pyreadstat.write_xport(pd.DataFrame({"t": ["xyz", "b"]}), tmp_path / "a.xpt")
    content = (tmp_path / "a.xpt").read_bytes()
    (tmp_path / "a.xpt").write_bytes(content.replace(b"xyz", b"x\xe9z"))
    assert counts(tmp_path, "a.xpt", {"t": ["xéz", "b"]})[0] == 0
    item, other = counts(tmp_path, "a.xpt", {"t": ["xéz", "b"]}, encoding="latin-1")
    assert item == other > 0
    with pytest.raises(SpecError, match="CSV files only"):
        counts(tmp_path, "a.xpt", {"t": ["b"]}, delimiter=";")


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_chunks_are_the_same_rows(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"x": [float(i % 5) for i in range(23)], "t": ["a", "b"] * 11 + ["a"]})
    write = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[kind]
    getattr(pyreadstat, write)(frame, tmp_path / f"a.{kind}")
    groups = {"x": [0, 1, 2, 3, 4], "t": ["a", "b"]}
    whole = counts(tmp_path, f"a.{kind}", groups, types={"x": "int"})
    for values in (2, 8, 46):
        monkeypatch.setattr(statistical, "_VALUES_IN_CHUNK", values)
        assert counts(tmp_path, f"a.{kind}", groups, types={"x": "int"}) == whole


def test_whole_numbers_of_stata_are_ints(tmp_path: Path) -> None:
    frame = pd.DataFrame({"k": pd.Series([1, 2, None, 2], dtype="Int32")})
    pyreadstat.write_dta(frame, tmp_path / "a.dta")
    item, two = counts(tmp_path, "a.dta", {"k": [1, 2]})
    assert two == 2 * item > 0
    assert "#   k: int" in starter.text([str(tmp_path / "a.dta")], table=None, folder=tmp_path)


def test_a_damaged_file_is_named_without_its_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"t": ["secret"] * 1000})
    pyreadstat.write_sav(frame, tmp_path / "a.sav")
    content = (tmp_path / "a.sav").read_bytes()
    (tmp_path / "a.sav").write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"a\.sav can't be read: it may be damaged") as error:
        counts(tmp_path, "a.sav", {"t": ["b"]})
    assert "secret" not in str(error.value)
    (tmp_path / "b.dta").write_bytes(b"nothing")
    with pytest.raises(SourceError, match=r"b\.dta can't be read"):
        counts(tmp_path, "b.dta", {"t": ["b"]})


def test_a_missing_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyreadstat.write_sav(pd.DataFrame({"t": ["a"]}), tmp_path / "a.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'leastnoise\[stat\]'"):
        counts(tmp_path, "a.sav", {"t": ["a"]})


def test_files_of_several_kinds_are_refused(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"t": ["a"]}), tmp_path / "a.sav")
    (tmp_path / "a.csv").write_text("t\na\n")
    with pytest.raises(SourceError, match=r"several kinds: \.csv, \.sav"):
        counts(tmp_path, ["a.sav", "a.csv"], {"t": ["a"]}, types={"t": "text"})


def test_a_workbook_beside_a_csv_in_a_folder_is_no_source(tmp_path: Path) -> None:
    pd.DataFrame({"t": ["a"]}).to_excel(tmp_path / "codebook.xlsx", index=False)
    item = counts(tmp_path.parent, tmp_path.name, {"t": ["a"]}, types={"t": "text"})
    (tmp_path / "a.csv").write_text("t\na\na\n")
    two = counts(tmp_path.parent, tmp_path.name, {"t": ["a"]}, types={"t": "text"})
    assert two[0] == 2 * item[0] > 0
    assert counts(tmp_path, "*.xlsx", {"t": ["a"]}, types={"t": "text"}) == item


def test_a_release_reads_no_row_before_the_charge(tmp_path: Path) -> None:
    """A file whose rows are damaged fails only when they are read."""
    pyreadstat.write_sav(pd.DataFrame({"t": ["secret"] * 1000}), tmp_path / "a.sav")
    content = (tmp_path / "a.sav").read_bytes()
    (tmp_path / "a.sav").write_bytes(content[: len(content) // 2])
    release = ln.Release(
        data={"source": "a.sav"},
        privacy={"unit": "row", "epsilon": 1},
        query=[{"name": "q", "statistics": ["count"], "group_by": {"t": ["a"]}}],
        folder=tmp_path,
    )
    assert release.plan()
    with pytest.raises(SourceError):
        release.run()


SAS_ROWS = [
    ("a", 1.5, "1960-01-01", "1960-01-01"),
    ("Ä", -0.0, "1959-12-31", "1959-12-31"),
    (None, None, None, None),
    ("a", None, "2020-01-31", "2020-01-31"),  # x is .A
    (" b", 0.1, "9999-12-31", "1960-01-01"),
    ("x", 1e300, None, None),  # a day in the year 10000, and one before the year 1
]
"""The rows in rows.sas7bdat, a file that ReadStat's writer in C wrote."""


@pytest.mark.dense
@pytest.mark.parametrize("row", range(6))
def test_a_file_of_sas_has_the_rows_that_were_written(row: int) -> None:
    text, number, day, instant = SAS_ROWS[row]
    conditions = ["t is null" if text is None else f"t = '{text}'"]
    conditions.append("x is null" if number is None else f"x = {number!r}")
    conditions.append("d is null" if day is None else f"d = date '{day}'")
    conditions.append("date(at) is null" if instant is None else f"date(at) = date '{instant}'")
    folder = Path(__file__).parent
    groups = {"who": list(range(6))}
    for condition in conditions:
        data = {"filter": f"who = {row} and {condition}", "types": {"who": "int"}}
        vector = counts(folder, "rows.sas7bdat", groups, **data)
        assert [bool(number) for number in vector] == [at == row for at in range(6)], condition


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_no_number_in_a_column_of_days_makes_a_release_fail(kind: str, tmp_path: Path) -> None:
    numbers = [0.0, 1e70, -1e70, 0.5, -0.25, 2.0**-200, 86_399.999999999, None, 22_000.0]
    frame = pd.DataFrame({"d": pd.Series(numbers), "at": pd.Series(numbers)})
    formats = {
        "sav": ("DATE11", "DATETIME20"),
        "dta": ("%td", "%tc"),
        "xpt": ("DATE9", "DATETIME20"),
    }
    day, instant = formats[kind]
    write = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[kind]
    path = tmp_path / f"a.{kind}"
    getattr(pyreadstat, write)(frame, path, variable_format={"d": day, "at": instant})
    first = 1582 if kind == "sav" else 1960
    for derive in ("year(d)", "year(date(at))"):
        spec = {
            "data": {"source": path.name},
            "derive": {"y": derive},
            "privacy": {"unit": "row", "epsilon": 1},
            "query": [
                {"name": "q", "statistics": ["count"], "group_by": {"y": [first, first - 1, 1]}}
            ],
        }
        assert ln.Release(**spec, folder=tmp_path).run()
        item, before, none = integers({"version": 1, **spec}, tmp_path).popitem()[1]
        assert item > 0 == none
        assert (before > 0) == (kind != "sav")  # the calendar of SPSS begins in October


def test_spark_refuses_these_files_before_a_session_starts(tmp_path: Path) -> None:
    for name in ("a.sav", "a.dta", "a.sas7bdat", "a.xpt", "a.xlsx"):
        with pytest.raises(SourceError, match=r"can't be read by Spark\. Write it as Parquet"):
            counts(tmp_path, name, {"t": ["a"]}, types={"t": "text"}, engine="spark")
