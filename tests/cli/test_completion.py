"""Completion as shells ask for it: in a real bash, and in zsh and fish if installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from leastnoise.noise.registry import FAMILIES
from tests.cli.program import PROGRAM

# Loads click's script as docs/index.md says and asks as the shell does at a TAB; outside of one,
# bash has no compopt, by which the script hands names of files over to the shell.
BASH = """
set -e
eval "$(_LEASTNOISE_COMPLETE=bash_source leastnoise)"
compopt() { COMPREPLY=("$@"); }
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_leastnoise_completion leastnoise
printf '%s\\n' "${COMPREPLY[@]}"
"""
FILES = ["-o", "default"]


def bash(folder: Path, *words: str) -> list[str]:
    """Return what bash completes the last of `words` with."""
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", "leastnoise", *words],
        cwd=folder, env=_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return [splitline for splitline in done.stdout.splitlines() if splitline]


def _environment() -> dict[str, str]:
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


@pytest.mark.dense
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cal",), ["calibrate"]),
        (("ledger", "re"), ["register"]),
        (("compare", "--eps"), ["--epsilon"]),
        (("compare", "--norm", ""), ["l2", "l1", "linf"]),
        (("compare", "--epsilon", "1", "--loss", "ma"), ["mae"]),
        (("compare", "--neighbours", "rep"), ["replace-one"]),
        (("ledger", "init", "b.ledger", "--filter", "z"), ["zcdp"]),
        (("release", "--engine", "d"), ["duckdb"]),
        (("calibrate", "--noise", ""), sorted(FAMILIES)),
        (("calibrate", "--epsilon", "1", "--epsilon", "2", "--noise", "l"), ["l2", "laplace"]),
        (("verify", ""), FILES),
        (("calibrate", "--certificate", ""), FILES),
        (("compose", "one.json=2", ""), FILES),
        (("compare", "--epsilon", ""), []),
    ],
    ids=lambda value: " ".join(value) or "nothing",
)
def test_bash_completes(tmp_path: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert bash(tmp_path, *words) == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes(tmp_path: Path) -> None:
    script = (
        "_LEASTNOISE_COMPLETE=fish_source leastnoise | source; "
        "complete --do-complete 'leastnoise calibrate --noise gaussian-'"
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=True, env=_environment(),
    )  # fmt: skip
    assert done.stdout.split() == ["gaussian-mixture"]


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("zsh", {"COMP_WORDS": "leastnoise compare --norm l", "COMP_CWORD": "3"}),
        ("fish", {"COMP_WORDS": "leastnoise compare --norm ", "COMP_CWORD": "l"}),
    ],
)
def test_what_other_shells_are_told(shell: str, asked: dict[str, str]) -> None:
    """What their scripts ask the program, without the shell."""
    environment = _environment() | asked | {"_LEASTNOISE_COMPLETE": f"{shell}_complete"}
    done = subprocess.run(
        [str(PROGRAM)], env=environment, capture_output=True, text=True, check=True
    )
    assert [name for name in ("l2", "l1", "linf") if name not in done.stdout] == []
