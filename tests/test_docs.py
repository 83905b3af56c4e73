"""Every example of the documentation runs: Python by doctest, console lines in a real shell."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise.cli import demo
from tests.cli import program

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TYPED = ROOT / "docs/tutorial.md"  # into one shell: tests/test_tutorial.py
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ROWS = "person,plan,visits\n" + "".join(f"{i // 2},{i % 3 + 1},{i % 7}\n" for i in range(100_000))
_OF_SHELLS = frozenset("|&;<>()$`*?[]~\\\n")
"""Characters that a shell doesn't read as text, in quotes or outside."""
COOKBOOK = sorted((ROOT / "docs/howto").glob("cookbook*.md"))
"""Pages that show the released numbers of one run; README.md shows some in a console."""


@pytest.fixture(scope="module")
def cookbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the cookbook, and the tables that its programs print."""
    folder = tmp_path_factory.mktemp("cookbook")
    for page in COOKBOOK:
        for name, text in files_of(page).items():
            (folder / name).write_text(text)
            if name.endswith(".py"):
                process = subprocess.run(
                    [sys.executable, folder / name], capture_output=True, check=True
                )
                (folder / name.removeprefix("make_")).with_suffix(".csv").write_bytes(
                    process.stdout
                )
    return folder


@pytest.fixture
def folder(tmp_path: Path, cookbook: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the spec of docs/tables.md and a table for it, and the files of other pages."""
    shutil.copytree(cookbook, tmp_path, dirs_exist_ok=True)
    (tmp_path / "randhie.csv").symlink_to(demo.find_table())
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/tables.md").read_text(), re.DOTALL)
    (tmp_path / "spec.toml").write_text(blocks[0])
    (tmp_path / "visits.csv").write_text(ROWS)
    pages = ("README.md", "docs/new-family.md", "docs/tutorial.md")
    for page in (*pages, "docs/howto/series.md", "docs/howto/register.md"):
        for name, text in files_of(ROOT / page).items():
            (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Near(doctest.OutputChecker):
    """Accepts numbers within a tenth of those shown, as releases differ by their noise."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or _alike(_words(want), _words(got))


def _words(text: str) -> list[str]:
    return [word for word in text.split() if word.strip("─") and word != "<BLANKLINE>"]


def _alike(wanted: list[str], found: list[str]) -> bool:
    if wanted[:1] == ["..."]:
        return any(_alike(wanted[1:], found[index:]) for index in range(len(found) + 1))
    if not wanted or not found:
        return wanted == found
    return _near(wanted[0], found[0]) and _alike(wanted[1:], found[1:])


def _near(wanted: str, found: str) -> bool:
    try:
        item, other = (float(text.strip("±×%,()[]").replace(",", "")) for text in (wanted, found))
    except ValueError:
        return wanted == found
    return abs(item - other) <= max(abs(item), abs(other)) / 10


def files_of(page: Path) -> dict[str, str]:
    """Return the Python and TOML files of a page, whose first line is their name."""
    blocks = re.findall(r"```(?:python|toml)\n(# (\S+)\n.*?)```", page.read_text(), re.DOTALL)
    return {name: text for text, name in blocks}


def commands_of(page: Path) -> list[tuple[str, str]]:
    """Return each console command and the output that the page shows below it."""
    results: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            results.append((command.partition("#")[0].strip(), output))
    return results


def _answers(page: Path) -> dict[str, tuple[str, str]]:
    """Return the lines of a spec and the result below them, by the title of their section."""
    matches = re.findall(
        r"^## ((?:(?!^## ).)*?)\n.*?```toml\n([^`]*)```\n\n```text\n(.*?)```",
        page.read_text(),
        re.DOTALL | re.MULTILINE,
    )
    return {title: (answer, shown) for title, answer, shown in matches}


def _checker(page: Path) -> doctest.OutputChecker:
    return Near() if page in COOKBOOK else doctest.OutputChecker()


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.dense
@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=_name)
def test_python_examples(page: Path, folder: Path) -> None:
    runner = doctest.DocTestRunner(_checker(page), optionflags=FLAGS)
    examples = doctest.DocTestParser().get_doctest(page.read_text(), {}, _name(page), str(page), 0)
    result = runner.run(examples)
    assert result.failed == 0
    assert result.attempted > 0


@pytest.mark.dense
@pytest.mark.parametrize(
    ("page", "title"), [(page, title) for page in COOKBOOK for title in _answers(page)]
)
def test_answers_of_the_cookbook(page: Path, title: str, folder: Path) -> None:
    base, *_ = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    answer, shown = _answers(page)[title]
    spec = tomllib.loads(base + answer)
    del spec["output"]
    tables = ln.Release(**spec).run().tables
    texts = [str(table).partition("\n\n")[2] for table in tables.values()]
    if len(texts) > 1:
        texts = [f"{name} {text}" for name, text in zip(tables, texts, strict=True)]
    assert Near().check_output(shown, "\n".join(texts), FLAGS), "\n".join(texts)


@pytest.mark.parametrize(
    ("wanted", "found", "good"),
    [
        ("a 100 to 110 ──", "a 101.5 to 109.0 ───", True),
        ("a 100 to 110", "a 120 to 110", False),
        ("a ... 110 ... b", "a 1 2 109 c b", True),
        ("a ... 110 ... b", "a 1 2 150 c b", False),
        ("a 1", "a 1 2", False),
    ],
)
def test_which_numbers_are_those_of_another_run(wanted: str, found: str, good: bool) -> None:
    assert Near().check_output(wanted, found, FLAGS) == good


def _run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell, or in a forked process if it needs no shell."""
    if command.startswith("leastnoise ") and not _OF_SHELLS.intersection(command):
        return program.run(*shlex.split(command)[1:])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120"}
    return subprocess.run(
        command, shell=True, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.dense
@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands_of(page) and page != TYPED], ids=_name
)
def test_console_examples(page: Path, folder: Path) -> None:
    checker = Near() if page.name == "README.md" else _checker(page)
    for command, shown in commands_of(page):
        if command.startswith("make "):
            continue  # these run this test
        done = _run(command)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert checker.check_output(shown, done.stdout, FLAGS) or not shown.strip(), done.stdout
