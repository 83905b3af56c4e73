"""The way from a laptop's frame to a cluster's table, as docs/scale.md has it."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    command = command.replace("--engine spark", f"--engine {engine}")
    done = subprocess.run(
        command, shell=True, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
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
