"""The steps from a laptop's frame to a cluster's table, as in docs/scale.md."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from leastnoise.cli.main import app
from leastnoise.tables.parse import spec_file

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def blocks(language: str) -> list[str]:
    matches = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [block for block in matches if ">>>" not in block]


def test_the_page(
    session: Any, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testfile(str(PAGE), module_relative=False, optionflags=flags).failed == 0
    (command,) = blocks("shell")
    program, *arguments = shlex.split(command.replace("--engine spark", f"--engine {engine}"))
    assert program == "leastnoise"
    app(arguments, standalone_mode=False)  # in this process, whose session of Spark it uses
    python, dask = blocks("python")
    exec(compile(dask, str(PAGE), "exec"), {})  # the page's own lines, as those below
    # Spark's own folder is where its session was started, and that session may be a server's.
    python = python.replace('"visits.parquet"', repr(str(tmp_path / "visits.parquet")))
    if engine != "spark":
        python = python.replace("builder.get", f"builder.remote({engine!r}).get")
    exec(compile(python, str(PAGE), "exec"), {})
    (toml,) = blocks("toml")
    text = (
        "version = 1\n"
        + toml
        + "[privacy]"
        + Path("plans.toml").read_text().partition("[privacy]")[2]
    )
    assert spec_file.loads(text).data.table == "health.visits"
