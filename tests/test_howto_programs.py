"""The how-to pages' programs that call leastnoise run: in R, shells, dbt and Airflow."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from leastnoise.cli import main
from tests.cli.program import run
from tests.test_docs import FLAGS, ROOT, ROWS, Near

PIPELINES, R = (ROOT / f"docs/howto/{name}.md" for name in ("pipelines", "r"))
NOTEBOOK = ROOT / "docs/howto/visits.ipynb"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def _find_block(page: Path, language: str, name: str) -> str:
    (text,) = [text for text in _blocks(page, language) if f"# {name}\n" in text]
    return text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the spec of docs/tables.md and its rows."""
    (tmp_path / "spec.toml").write_text(_blocks(ROOT / "docs/tables.md", "toml")[0])
    (tmp_path / "visits.csv").write_text(ROWS)
    return tmp_path


def _shell(folder: Path, *command: str, path: str = PATH) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": path}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.dense
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs Rscript (r-base-core)")
def test_the_page_about_r(folder: Path) -> None:
    (folder / "visits.csv").unlink()
    (folder / "page.R").write_text("\n".join(_blocks(R, "r")))
    done = _shell(folder, "Rscript", "page.R")
    assert done.returncode == 0, done.stderr
    (shown,) = _blocks(R, "text")
    printed = done.stdout[done.stdout.index(shown.split("\n", maxsplit=1)[0].strip()) :]
    assert Near().check_output(shown, printed, FLAGS), done.stdout
    assert "mean_visits (1,000 values)" in done.stdout
    assert (folder / "visits.pdf").stat().st_size > 1000
    again = _shell(folder, "Rscript", "page.R")
    assert again.returncode != 0
    assert "leastnoise ended with exit code 2" in again.stderr
    assert "out-report.html exists already" in again.stderr


@pytest.mark.dense
def test_a_script_for_cron_publishes_once(folder: Path) -> None:
    (folder / "publish.sh").write_text(_find_block(PIPELINES, "sh", "publish.sh"))
    done = _shell(folder, "sh", "publish.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Published.\n")
    again = _shell(folder, "sh", "publish.sh")
    assert again.returncode == 2
    assert again.stderr.endswith("Malformed, or published already.\n")


@pytest.mark.dense
def test_dbt_builds_the_rows_of_a_release(folder: Path) -> None:
    programs = folder / "bin"  # a dbt that builds the model, as dbt-duckdb does
    programs.mkdir()
    (programs / "dbt").write_text('#!/bin/sh\n[ "$*" = "build --select visits" ]\n')
    (programs / "dbt").chmod(0o755)
    with duckdb.connect(str(folder / "warehouse.duckdb")) as warehouse:
        warehouse.execute(f"CREATE TABLE visits AS FROM read_csv('{folder / 'visits.csv'}')")
    rest = (folder / "spec.toml").read_text().partition("[privacy]")[2]
    data = _find_block(PIPELINES, "toml", "dbt.toml")
    (folder / "dbt.toml").write_text(f"{data}[privacy]{rest}")
    (folder / "dbt.sh").write_text(_find_block(PIPELINES, "sh", "dbt.sh"))
    done = _shell(folder, "sh", "dbt.sh", path=f"{programs}{os.pathsep}{PATH}")
    assert done.returncode == 0, done.stderr
    assert run("verify", "out", cwd=folder).returncode == 0


class _Task:
    """A stand-in for Airflow's task that runs a shell command, with what the page uses."""

    def __init__(self, command: str, options: dict[str, Any], tasks: list[_Task]) -> None:
        self.command, self.options = command, options
        tasks.append(self)

    def __rshift__(self, following: _Task) -> _Task:
        return following


@pytest.mark.dense
def test_the_tasks_of_airflow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[_Task] = []

    def bash(**options: Any) -> Callable[..., Any]:
        return lambda function: lambda: _Task(function(), options, tasks)

    sdk: Any = types.ModuleType("airflow.sdk")
    sdk.dag = lambda **_: lambda function: function
    sdk.task = types.SimpleNamespace(bash=bash)
    monkeypatch.setitem(sys.modules, "airflow", types.ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk", sdk)
    exec(_find_block(PIPELINES, "python", "dag.py"), {})
    release, verify = tasks
    assert release.options["retries"] == 0
    assert _shell(folder, "bash", "-c", verify.command).returncode == 2
    assert [_shell(folder, "bash", "-c", each.command).returncode for each in tasks] == [0, 0]
    assert _shell(folder, "bash", "-c", release.command).returncode == 2


def test_the_table_of_exit_codes_is_the_programs() -> None:
    listed = {
        int(code) for code in re.findall(r"^\| (\d+) \|", PIPELINES.read_text(), re.MULTILINE)
    }
    assert listed == {0, main.REFUSED, main.MALFORMED, main.INTERNAL, main.INTERRUPTED}


@pytest.mark.parametrize(
    ("error", "code"), [(RuntimeError("a row"), 70), (KeyboardInterrupt(), 130)]
)
def test_the_codes_of_accidents(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["leastnoise", "schema"])
    monkeypatch.setattr("leastnoise.tables.parse.spec_text.json_schema", fail)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code
    assert "a row" not in capsys.readouterr().err


def test_the_notebook_stores_published_values_alone() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            last = cell["source"][-1]
            shows = bool(cell["outputs"])
            compile("".join(cell["source"]), cell["id"], "exec")
            assert shows == bool(
                re.match(r"design\(|\)\.round|released\.|figure\.|ln\.verify", last)
            )
    assert [cell["id"] for cell in cells] == [f"cell-{index}" for index in range(len(cells))]
    assert len(NOTEBOOK.read_bytes()) < 50_000
