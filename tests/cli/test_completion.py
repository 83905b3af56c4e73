"""Completion as shells ask for it: in a real bash, and in zsh and fish where there are any."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from leastnoise.noise.registry import FAMILIES
from tests.cli.program import PROGRAM, run

# Loads what --show-completion prints and asks as the shell does at a TAB.
BASH = """
set -e
_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 leastnoise --show-completion bash > completion.sh
source ./completion.sh
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_leastnoise_completion leastnoise
printf '%s\\n' "${COMPREPLY[@]}"
complete -p leastnoise
"""


def bash(folder: Path, *words: str) -> tuple[list[str], str]:
    """Return what bash completes the last of `words` with, and how it would go on without any."""
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", "leastnoise", *words],
        cwd=folder, env=_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    *found, rule = done.stdout.splitlines()
    return [one for one in found if one], rule


def _environment() -> dict[str, str]:
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


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
        (("verify", ""), []),  # files are for the shell
        (("calibrate", "--certificate", ""), []),
    ],
    ids=lambda value: " ".join(value) or "nothing",
)
def test_bash_completes(tmp_path: Path, words: tuple[str, ...], expected: list[str]) -> None:
    found, rule = bash(tmp_path, *words)
    assert found == expected
    assert "-o default" in rule  # where nothing is found bash offers files


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_completes(tmp_path: Path) -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "leastnoise calibrate --noise gau"}
    done = subprocess.run(
        ["zsh", "-fc", "_LEASTNOISE_COMPLETE=complete_zsh leastnoise"],
        cwd=tmp_path, env=_environment() | asked, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert '"gaussian"' in done.stdout


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes(tmp_path: Path) -> None:
    script = (
        "leastnoise --show-completion fish | source; "
        "complete --do-complete 'leastnoise calibrate --noise gaussian-'"
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=True,
        env=_environment() | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert done.stdout.split() == ["gaussian-mixture"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_what_other_shells_are_told(tmp_path: Path, shell: str) -> None:
    """What their scripts ask the program, without the shell."""
    asked = {
        "_LEASTNOISE_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "leastnoise compare --norm l",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [str(PROGRAM)], env=_environment() | asked, capture_output=True, text=True, check=True
    )
    assert [name for name in ("l2", "l1", "linf") if name not in done.stdout] == []


def test_completion_is_installed_where_bash_reads_it(tmp_path: Path) -> None:
    environment = _environment() | {
        "HOME": str(tmp_path),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    command = [str(PROGRAM), "--install-completion", "bash"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    script = tmp_path / ".bash_completions" / "leastnoise.sh"
    assert "complete_bash" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert "--install-completion" in run("--help").stdout
