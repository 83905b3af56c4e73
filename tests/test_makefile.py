"""What `make demo` and `make test` would do on a fresh machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def planned(folder: Path, target: str) -> str:
    arguments = ["make", "--dry-run", "--no-print-directory", target]
    computed = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        arguments, cwd=folder, env=computed, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_demo_installs_what_it_needs_alone(fresh: Path) -> None:
    first = planned(fresh, "demo")
    assert "-e .\n" in first
    assert "--no-deps statsmodels" in first
    assert "[demo,test]" not in first
    assert first.index("statsmodels") < first.index("touch .venv/.demo") < first.index("leastnoise")


def test_tests_add_to_what_the_demo_installed(fresh: Path) -> None:
    whole = planned(fresh, "test")
    assert "--no-deps statsmodels" not in whole  # all at once, on a fresh machine
    assert whole.index("[demo,test]") < whole.index("touch .venv/.demo") < whole.index("bin/pytest")
    (fresh / ".venv").mkdir()
    (fresh / ".venv" / ".demo").touch()
    assert "[demo,test]" in planned(fresh, "test")
    assert "pip install" not in planned(fresh, "demo")
    (fresh / ".venv" / ".complete").touch()
    assert "pip install" not in planned(fresh, "test")
