"""A weak guarantee needs consent: a question on a terminal, or --yes in scripts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import PROGRAM, run

SPEC = """\
version = 1
data = {{ source = "rows.csv", types = {{ x = "int" }} }}
privacy = {{ unit = "row", epsilon = "{epsilon}" }}
query = [{{ name = "all", statistics = ["count"]{more} }}]
output = {{ path = "out", format = "csv" }}
"""


def write(folder: Path, epsilon: str, more: str = "") -> None:
    (folder / "rows.csv").write_text("x\n1\n2\n")
    (folder / "spec.toml").write_text(SPEC.format(epsilon=epsilon, more=more))


@pytest.mark.dense
@pytest.mark.parametrize(
    ("epsilon", "more"), [("10.5", ""), ("least", ", accuracy = { std = 0.001 }")]
)
def test_a_script_has_to_say_that_a_weak_promise_is_meant(
    tmp_path: Path, epsilon: str, more: str
) -> None:
    write(tmp_path, epsilon, more)
    refused = run("release", "spec.toml", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is a weak promise" in refused.stderr
    assert "any one row" in refused.stderr
    assert "--yes" in refused.stderr
    assert not (tmp_path / "out").exists()
    assert run("release", "spec.toml", "--json", cwd=tmp_path).returncode == 1
    planned = run("release", "spec.toml", "--plan", cwd=tmp_path)
    assert (planned.returncode, "is a weak promise" in planned.stdout) == (0, True)
    assert run("release", "spec.toml", "--yes", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out" / "all.csv").exists()


@pytest.mark.parametrize(("population", "code"), [(1000, 0), (1001, 1)])
def test_a_delta_above_one_in_the_population_is_asked_about(
    tmp_path: Path, population: int, code: int
) -> None:
    write(tmp_path, "1")
    spec = tmp_path / "spec.toml"
    text = f'epsilon = "1", delta = "1e-3", population = {population}'
    spec.write_text(spec.read_text().replace('epsilon = "1"', text))
    done = run("release", "spec.toml", cwd=tmp_path)
    assert done.returncode == code
    assert (f"above 1 in {population:,}, it would allow" in done.stderr) == bool(code)
    assert (tmp_path / "out").exists() != bool(code)
    if code:
        assert run("release", "spec.toml", "--yes", cwd=tmp_path).returncode == 0


def test_up_to_10_nothing_is_asked_and_no_ledger_is_said(tmp_path: Path) -> None:
    write(tmp_path, "10")
    planned = run("release", "spec.toml", "--plan", cwd=tmp_path)
    done = run("release", "spec.toml", cwd=tmp_path)
    assert done.returncode == 0
    assert "weak promise" not in planned.stdout
    assert "No budget ledger: nothing adds up the budgets" in done.stdout
    assert "No budget ledger: nothing adds up the budgets" in planned.stdout


@pytest.mark.dense
@pytest.mark.parametrize(("text", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_somebody_at_a_terminal_is_asked(tmp_path: Path, text: str, code: int) -> None:
    write(tmp_path, "20")
    computed, theirs = os.openpty()
    try:
        os.write(computed, f"{text}\n".encode())
        done = subprocess.run(
            [PROGRAM, "release", "spec.toml"],
            cwd=tmp_path,
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        shown = os.read(computed, 10_000).decode()
    finally:
        os.close(computed)
        os.close(theirs)
    assert "Release it? [y/N]" in shown
    assert done.returncode == code
    assert (tmp_path / "out").exists() == (code == 0)
