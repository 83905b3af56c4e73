"""The page's plans have the command line's numbers and errors; only the newest one is shown."""

from __future__ import annotations

import copy
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from leastnoise.cli.design_page import form, planner
from leastnoise.cli.design_page.planner import Planner, answer
from tests.cli.program import run
from tests.grids import thin

ROWS = "person,plan,visits\n" + "".join(f"{i // 2},{i % 3 + 1},{i % 7}\n" for i in range(300))
TEXTS: dict[str, Any] = {
    "data": {
        "source": "visits.csv",
        "types": {"person": "int", "plan": "int", "visits": "int"},
    },
    "privacy": {"unit": "person", "epsilon": "1", "delta": "1e-6"},
    "contribution": {"max_rows": "2"},
    "columns": {"plan": {"keys": "1, 2, 3"}, "visits": {"bounds": "0, 30"}},
    "query": [{"name": "by_plan", "statistics": "count, mean(visits)", "group_by": "plan"}],
    "output": {"path": "out", "format": "csv"},
}


def edit(**sections: dict[str, Any]) -> dict[str, Any]:
    """A form's texts, with other values in the given sections."""
    texts = copy.deepcopy(TEXTS)
    for name, values in sections.items():
        texts[name] |= values
    return texts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "visits.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _of_command(folder: Path, texts: dict[str, Any], *options: str) -> Any:
    (folder / "spec.toml").write_text(form.write_toml(form.read_record(texts)))
    return run("release", "spec.toml", "--plan", *options, cwd=folder)


@pytest.mark.parametrize("epsilon", thin(["1", "0.25"], 1))
def test_a_plan_has_the_numbers_of_the_command_line(folder: Path, epsilon: str) -> None:
    texts = edit(privacy={"epsilon": epsilon})
    shown, printed = answer(texts, Path()), _of_command(folder, texts).stdout
    assert shown["plan"]["guarantee"][:-1] in printed
    for row in shown["plan"]["rows"]:
        for text in row:
            assert text in printed
    flat = " ".join(printed.split())
    for sentence in shown["plan"]["sentences"]:
        assert " ".join(sentence.split()) in flat
    assert not (folder / "out").exists()


def test_no_row_is_read(folder: Path) -> None:
    before = answer(TEXTS, Path())
    (folder / "visits.csv").write_text("person,plan,visits\n")
    assert answer(TEXTS, Path()) == before
    assert "error" not in before


@pytest.mark.grid
@pytest.mark.parametrize(
    "change",
    [
        {"privacy": {"unit": "person", "epsilon": "-1"}},
        {"data": {"source": "missing.csv"}},
        {"data": {"types": {"person": "int"}}},
        {"columns": {"visits": {"bounds": "0"}}},
        {"privacy": {"ledger": 'path = "missing.ledger"'}},
        {"privacy": {"epsilon": "0", "delta": "0"}},
    ],
)
def test_errors_are_those_of_the_command_line(folder: Path, change: dict[str, Any]) -> None:
    texts = edit(**change)
    shown, printed = answer(texts, Path()), _of_command(folder, texts)
    if "plan" in shown:  # a plan that the ledger refuses
        (error,) = {*shown["plan"]["sentences"]} & {printed.stderr.strip()[len("leastnoise: ") :]}
    else:
        error = shown["error"]
    for line in error.splitlines():
        assert line.strip() in printed.stderr
    assert all(error.count(message) for _, message in shown["problems"])


def test_columns_are_those_of_the_header(folder: Path) -> None:
    (folder / "hostile.csv").write_text("<b>;c\n")
    shown = answer(TEXTS, Path())
    assert [column["name"] for column in shown["columns"]] == ["person", "plan", "visits"]
    assert all(column["needed"] for column in shown["columns"])
    shown = answer({"data": {"source": "hostile.csv"}, "derive": 'year = "1"'}, Path())
    assert shown["delimiter"] == ";"
    assert shown["columns"][-1] == {"name": "year", "shown": "year", "kind": "computed"}
    assert "first line" in shown["hint"]


def test_a_joined_table_is_not_taken_for_a_source_that_is_missing(folder: Path) -> None:
    (folder / "plans.csv").write_text("plan,price\n")
    joined = 'plans = { source = "plans.csv", on = "plan" }'
    shown = answer({"data": {"source": "missing.csv", "join": f"{{ {joined} }}"}}, Path())
    assert [column["name"] for column in shown["columns"]] == ["plan", "price"]
    assert not any(column["needed"] for column in shown["columns"])
    assert not shown["hint"]


def test_an_unforeseen_error_quotes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret of row 7")

    monkeypatch.setattr(planner, "_plan", fail)
    shown = answer(TEXTS, Path())
    assert shown["error"].startswith("Internal error (RuntimeError at test_planner.py:")
    assert "secret" not in json.dumps(shown)


@pytest.mark.dense
def test_one_process_plans_again_and_again_even_if_it_was_ended(folder: Path) -> None:
    plans = Planner(folder)
    first = plans.plan(TEXTS)
    process = plans._process
    second = plans.plan(edit(privacy={"epsilon": "2"}))
    assert plans._process is process
    assert first is not None
    assert second is not None
    assert first["plan"]["rows"][0][3] != second["plan"]["rows"][0][3]
    plans.stop()
    assert plans.plan(TEXTS) == first
    plans.close()


def test_a_newer_request_ends_a_long_plan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_PATIENCE", 0.01)
    plans, begun, stopped = Planner(folder), threading.Event(), threading.Event()

    def ask(_: Planner, texts: str) -> dict[str, Any]:
        if texts == "long":
            begun.set()
            assert stopped.wait(60)
            return {}  # as if the process had ended
        return {"of": texts}

    monkeypatch.setattr(Planner, "_ask", ask)
    monkeypatch.setattr(Planner, "stop", lambda _: stopped.set())
    answers: list[object] = []
    long = threading.Thread(target=lambda: answers.append(plans.plan("long")))
    long.start()
    assert begun.wait(60)
    assert plans.plan("new") == {"of": "new"}
    long.join()
    assert answers == [None]


def test_a_process_that_dies_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Planner, "_ask", lambda *_: {})
    shown = Planner(folder).plan(TEXTS)
    assert shown is not None
    assert shown["error"].startswith("Internal error")
