"""Type checkers other than ours accept the sources and a user's program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = Path(__file__).parent / "users_program.py"
_WRONG = """
import leastnoise as ln

ln.L2([1])
ln.Budget(epsilon=None)
ln.L2(1).bound = 2
text: str = ln.L2(1).bound
"""


def check(folder: Path, *arguments: str) -> tuple[str, int]:
    """What a type checker prints about files in a folder without our configuration."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT / "src"), "PYTHONPATH": _path()},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr, done.returncode


def _path() -> str:
    return os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.slow
@pytest.mark.parametrize(
    "checker",
    [
        ("mypy", "--strict", "--follow-imports=silent", "--cache-dir=cache"),
        ("pyright", "--pythonpath", sys.executable),
    ],
    ids=lambda checker: checker[0],
)
def test_a_users_program_is_accepted_and_its_mistakes_are_not(
    checker: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "wrong.py").write_text(_WRONG, encoding="utf-8")
    text, status = check(tmp_path, *checker, "program.py")
    assert status == 0, text
    text, status = check(tmp_path, *checker, "wrong.py")
    assert status == 1
    assert {line for line in range(1, 9) if f"wrong.py:{line}:" in text} == {4, 5, 6, 7}, text


@pytest.mark.slow
def test_pyright_accepts_the_sources() -> None:
    """Which `ty`, of `make lint`, checks in a twentieth of the time."""
    text, status = check(ROOT, "pyright", "--pythonpath", sys.executable)
    assert status == 0, text
