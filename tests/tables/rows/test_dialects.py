"""CSV dialects that a spec describes give the same integers as a plain CSV file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise.errors import SourceError, SpecError
from tests.tables.integers import integers

TYPES = {"who": "int", "town": "text", "x": "float", "n": "int"}
FIELDS = st.tuples(
    st.integers(1, 5).map(str),
    st.sampled_from(["a", "é", '"a"', "", "b"]),
    st.one_of(
        st.decimals(-9, 9, places=3).map(str),
        st.floats(-9, 9).map(repr),
        st.sampled_from(["", "7", "-.5", "3.", "1_0", "1..5", "nan"]),
    ),
    st.sampled_from(["1", "2.0", "3.5", "-4", "", "1e2"]),
)
SEPARATORS = {",": "csv", ";": "csv", "|": "csv", "\t": "tsv"}


def raw_spec(data: dict[str, Any]) -> dict[str, Any]:
    query = {
        "name": "q",
        "statistics": ["count", "sum(x)", "sum(n)", "sum(z)"],
        "group_by": {"town": ["a", "é"]},
        "filter": "x < 8",
    }
    return {
        "version": 1,
        "data": data,
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 3},
        "derive": {"z": "x * 2 + n"},
        "columns": {name: {"bounds": [-8, 8]} for name in "xnz"},
        "query": [query],
    }


def written(
    rows: list[tuple[str, ...]], between: str, decimal: str, *, header: bool, quoted: bool
) -> str:
    lines = [list(TYPES)] if header else []
    for who, town, *numbers in rows:
        lines.append([who, town, *(number.replace(".", decimal) for number in numbers)])
    quote = '"%s"' if quoted or decimal == between else "%s"
    # an empty field in quotes is a text, and no missing one
    return "".join(
        between.join(quote % number if number and '"' not in number else number for number in line)
        + "\n"
        for line in lines
    )


@pytest.mark.dense
@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    rows=st.lists(FIELDS, min_size=1, max_size=12),
    between=st.sampled_from(list(SEPARATORS)),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "latin-1"]),
    header=st.booleans(),
    quoted=st.booleans(),
    packed=st.booleans(),
)
def test_the_integers_are_those_of_the_plain_file(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    rows: list[tuple[str, ...]],
    between: str,
    decimal: str,
    encoding: str,
    header: bool,
    quoted: bool,
    packed: bool,
) -> None:
    folder = tmp_path_factory.mktemp("dialects")
    plain = written(rows, ",", ".", header=True, quoted=False)
    (folder / "plain.csv").write_text(plain, encoding="utf-8")
    expected = integers(raw_spec({"source": "plain.csv", "types": TYPES}), folder)
    text = written(rows, between, decimal, header=header, quoted=quoted).encode(encoding)
    name = f"rows.{SEPARATORS[between]}{'.gz' if packed else ''}"
    (folder / name).write_bytes(gzip.compress(text) if packed else text)
    data: dict[str, Any] = {"source": name, "types": TYPES, "encoding": encoding}
    data |= {"decimal": decimal} | ({} if header else {"header": list(TYPES)})
    data |= {"delimiter": between} if between in ";|" else {}
    assert integers(raw_spec(data), folder) == expected


@pytest.mark.dense
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,5", 1.5),
        ("1.5", None),
        ("1.234,5", None),
        ("1,234.5", None),
        (",5", 0.5),
        ("1,5e0", 1.5),
    ],
)
def test_a_point_is_no_decimal_comma(tmp_path: Path, text: str, value: float | None) -> None:
    """It could be one of thousands: what isn't written as told is missing, and never another."""
    totals: list[dict[str, list[int]]] = []
    for name, written, decimal in (
        ("a", text, ","),
        ("b", "" if value is None else str(value), "."),
    ):
        (tmp_path / f"{name}.csv").write_text(f"who;town;x;n\n1;a;{written};1\n")
        data = {"source": f"{name}.csv", "types": TYPES, "delimiter": ";", "decimal": decimal}
        raw = raw_spec(data)
        del raw["query"][0]["filter"]
        totals.append(integers(raw, tmp_path))
    assert totals[0] == totals[1]


@pytest.mark.dense
def test_a_release_says_how_its_file_is_written_and_verifies(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\ta\t1,5\t2\n", encoding="latin-1")
    (tmp_path / "towns.csv").write_text("a;7,5\n")
    dialect = {"decimal": ",", "encoding": "latin-1", "header": ["who", "town", "x", "n"]}
    raw = raw_spec({"source": "a.tsv", "types": TYPES | {"rent": "float"}, **dialect})
    joined = {"source": "towns.csv", "on": "town", "public": True, "delimiter": ";"}
    raw["data"]["join"] = {"towns": {**joined, "decimal": ",", "header": ["town", "rent"]}}
    raw["columns"]["rent"] = {"bounds": [0, 10]}
    raw["query"][0]["statistics"] = ["count", "sum(rent)", "sum(x)"]
    raw["output"], raw["privacy"]["epsilon"] = {"path": "out"}, 10_000
    del raw["derive"], raw["columns"]["z"]
    release = ln.Release(**raw, folder=tmp_path)
    record = str(release.plan().to_record())
    assert "Numbers are read with a decimal comma" in record
    assert "latin-1, or can't be read as the type of its column, counts as missing." in record
    table = release.run().tables["q"]
    assert [round(float(table.columns[f"sum_{name}"][0]), 1) for name in ("rent", "x")] == [
        7.5,
        1.5,
    ]
    text = (tmp_path / "out" / "spec.toml").read_text(encoding="utf-8")
    assert 'decimal = ","' in text
    ln.verify_directory(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ({"delimiter": ":"}, r"data\.delimiter: Expected"),
        ({"delimiter": ";;"}, r"data\.delimiter"),
        ({"decimal": ";"}, r"data\.decimal"),
        ({"header": False}, r"data\.header: Expected the names of all columns in order"),
        ({"header": []}, r"data\.header"),
        (
            {"source": "rows.parquet", "delimiter": ";"},
            r"data\.delimiter: Used with CSV files only",
        ),
        ({"source": "rows.parquet", "header": ["who"]}, r"data\.header: Used with CSV files only"),
    ],
)
def test_what_can_not_be_told_is_refused_with_its_key(text: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        ln.Release(**raw_spec({"source": "rows.csv", "types": TYPES, **text}))


def test_a_header_that_is_not_as_told_is_refused_with_the_key_that_helps(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("who;town;x;n\n")
    raw = raw_spec({"source": "rows.csv", "types": TYPES})
    with pytest.raises(SpecError, match=r'name it in \[data\]: delimiter = ";"'):
        integers(raw, tmp_path)
    (tmp_path / "rows.csv").write_text("1,Ada,7,8\n")
    with pytest.raises(SpecError, match=r"header = \[") as caught:
        integers(raw, tmp_path)
    assert "Ada" not in str(caught.value)
    raw["data"]["header"] = ["who", "town", "x", "x"]
    with pytest.raises(SourceError, match="names 'x' more than once"):
        integers(raw, tmp_path)
