"""The repository's root has known files only, and none that an example wrote."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"benchmarks", "docs", "experiments", "src", "tests"}
FILES = {
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"),
    *("RELEASING.md", "SECURITY.md", "conftest.py", "constraints.txt", "mkdocs.yml"),
    "pyproject.toml",
}


def test_the_root_holds_known_files_alone() -> None:
    """Files that git knows or would add; names that begin with a dot are settings of tools."""
    if not (ROOT / ".git").exists():
        pytest.skip("a copy without a history")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]
    names = {path.partition("/")[0] for path in paths}
    assert {name for name in names if not name.startswith(".")} - FOLDERS - FILES == set()
