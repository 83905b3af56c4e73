"""A form's texts and the spec made from them: texts as people write them, and files read back."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from leastnoise.cli.design_page import form
from leastnoise.errors import SpecError
from leastnoise.tables.parse import spec_file, spec_text
from tests.grids import thin

ROOT = Path(__file__).parents[3]


def _specs() -> list[dict[str, Any]]:
    """All complete specs of the documentation and the golden files."""
    texts = [path.read_text() for path in (ROOT / "tests/golden").rglob("spec.toml")]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        texts += re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    records = [tomllib.loads(text) for text in texts if "\n[[query]]" in text]
    return [record for record in records if {"version", "data", "privacy"} <= {*record}]


@pytest.mark.grid
@pytest.mark.parametrize(
    "record", thin(_specs(), 10), ids=lambda record: record["query"][0]["name"]
)
def test_a_spec_survives_the_form(record: dict[str, Any]) -> None:
    back = form.read_record(form.write_texts(record))
    folder = ROOT / "docs"  # any: files of keys are not read for the same reason on both sides
    read = [_read(raw, folder) for raw in (record, back)]
    assert read[0] == read[1]
    assert tomllib.loads(form.write_toml(back)) == back


def _read(raw: dict[str, Any], folder: Path) -> object:
    try:
        return spec_file.parse(raw, folder=folder)
    except SpecError as error:
        return error.problems


def test_there_are_specs_to_try() -> None:
    assert len(_specs()) >= 15


def _query(**texts: str) -> dict[str, Any]:
    return form.read_record({"query": [texts]})["query"][0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("count, mean(visits)", ["count", "mean(visits)"]),
        ("count, quantile(x, 0.9)", ["count", "quantile(x, 0.9)"]),
        ('count, "mean(a, b)"', ["count", "mean(a, b)"]),
        ('["count"]', ["count"]),
        ("[]", []),
    ],
)
def test_lists_need_no_brackets(text: str, value: object) -> None:
    assert _query(statistics=text)["statistics"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plan", ["plan"]),
        ("plan, region", ["plan", "region"]),
        ("plan = [1, 2]", {"plan": [1, 2]}),
        ('{ plan = { keys = "private" } }', {"plan": {"keys": "private"}}),
    ],
)
def test_groups_are_names_or_a_table(text: str, value: object) -> None:
    assert _query(group_by=text)["group_by"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1, 2, 3", [1, 2, 3]),
        ("north, south", ["north", "south"]),
        ("5", [5]),
        ("2024-01-01, 2024-01-02", ["2024-01-01", "2024-01-02"]),
        ("1\nother = 2", ["1\nother = 2"]),
        ('{ file = "keys.csv" }', {"file": "keys.csv"}),
    ],
)
def test_keys_are_numbers_texts_or_a_file(text: str, value: object) -> None:
    assert form.read_record({"columns": {"a.b": {"keys": text}}})["columns"] == {
        "a.b": {"keys": value}
    }


def test_numbers_stay_exact_and_empty_fields_give_nothing() -> None:
    record = form.read_record(
        {
            "privacy": {"unit": " person", "epsilon": "0.1234567890123456789", "delta": ""},
            "contribution": {"max_rows": "  "},
            "columns": {"x": {"bounds": ""}},
            "output": {"report": True},
        }
    )
    assert record == {
        "version": 1,
        "data": {},
        "privacy": {"unit": " person", "epsilon": "0.1234567890123456789"},
        "query": [],
        "output": {"report": True},
    }


def test_what_fits_nothing_is_refused_with_the_words_of_the_spec() -> None:
    record = form.read_record({"contribution": {"max_rows": "many"}})
    with pytest.raises(SpecError, match=r"contribution.max_rows: Expected a whole number"):
        spec_file.parse(record)
    with pytest.raises(SpecError, match="derive: "):
        form.read_record({"derive": "month is"})


@pytest.mark.parametrize(
    ("record", "key"),
    [
        ({"querry": []}, "querry"),
        ({"data": {"sauce": "x.csv"}}, "data.sauce"),
        ({"columns": {"x": {"bound": [0, 1]}}}, "columns.x.bound"),
        ({"query": [{"name": "a", "stat": []}]}, r"query\[0\].stat"),
    ],
)
def test_a_key_that_the_page_would_lose_is_refused(record: dict[str, Any], key: str) -> None:
    with pytest.raises(SpecError, match=f"{key}: Unknown key"):
        form.write_texts(record)


def test_every_key_of_the_schema_has_a_field(tmp_path: Path) -> None:
    schema = spec_text.json_schema()["properties"]
    described = {section["name"]: section for section in form.describe(tmp_path)["sections"]}
    assert {*described} == {*schema} - {"version"}
    query = {field["name"] for field in described["query"]["fields"]}
    assert query == {*schema["query"]["items"]["properties"]}
    first = {(name, key) for name, keys in form.FIRST.items() for key in keys}
    fields = {
        (name, field["name"]) for name, section in described.items() for field in section["fields"]
    }
    assert first <= fields
    assert described["privacy"]["fields"][0]["example"] == "person"


def test_only_files_of_rows_are_suggested(tmp_path: Path) -> None:
    for name in ("b.csv", "a.parquet", "c.txt", "d.duckdb"):
        (tmp_path / name).touch()
    (tmp_path / "folder.csv").mkdir()
    assert form.describe(tmp_path)["files"] == ["a.parquet", "b.csv", "d.duckdb"]
