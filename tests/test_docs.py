"""Every example of the documentation runs: Python by doctest, console lines in a real shell."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ROWS = "person,plan,visits\n" + "".join(f"{i // 2},{i % 3 + 1},{i % 7}\n" for i in range(400))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the spec of docs/tables.md and a table for it, and the files of other pages."""
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/tables.md").read_text(), re.DOTALL)
    (tmp_path / "spec.toml").write_text(blocks[0])
    (tmp_path / "visits.csv").write_text(ROWS)
    for page in ("new-family.md", "tutorial.md", "howto/series.md"):
        for name, text in files_of(ROOT / "docs" / page).items():
            (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_of(page: Path) -> dict[str, str]:
    """Return the Python and TOML files of a page, whose first line is their name."""
    blocks = re.findall(r"```(?:python|toml)\n(# (\S+)\n.*?)```", page.read_text(), re.DOTALL)
    return {name: text for text, name in blocks}


def _commands(page: Path) -> list[tuple[str, str]]:
    """Return each console command and the output that the page shows below it."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command.partition("#")[0].strip(), output))
    return found


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=_name)
def test_python_examples(page: Path, folder: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.failed == 0
    assert result.attempted > 0


@pytest.mark.parametrize("page", [page for page in PAGES if _commands(page)], ids=_name)
def test_console_examples(page: Path, folder: Path) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
    }
    for command, shown in _commands(page):
        if command.startswith("make "):
            continue  # these run this test
        done = subprocess.run(
            command, shell=True, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert doctest.OutputChecker().check_output(shown, done.stdout, FLAGS) or not shown.strip()
