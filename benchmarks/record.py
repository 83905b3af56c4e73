"""A record of the tests that enter each function of src, made by running them on a marked copy.

`python -m benchmarks.record` writes build/entered.json. A test can notice a change of a function
only if it enters the function. If a cache keeps a result, only the first test that needs it enters
the function. So the record may miss a test, but every test in it enters the function.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.entered import IMPORT

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "build" / "entered.json"
SOURCES = Path("src/leastnoise")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "entered", "-p", "no:cacheprovider"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """The tests that enter each function "path::Class.function", and the seconds of each test."""

    tests: dict[str, list[str]]
    seconds: dict[str, float]

    def entering(self, function: str) -> list[str]:
        """The tests that enter a function, file by file, the quickest first.

        If the function runs at import, all tests enter it. Then these are the tests of its package.
        """
        result = self.tests.get(function, [])
        package = Path(function).parts[2].partition(".")[0]
        near = (f"tests/{package}", f"src/leastnoise/{package}") if IMPORT in result else ()
        files = {item for item in result if "::" not in item}
        tests = {item for item in result if "::" in item}
        tests |= {text for text in self.seconds if text.startswith(near) or file_of(text) in files}
        total = Counter[str]()
        for test in tests:
            total[file_of(test)] += round(1000 * self.seconds.get(test, 0.0))
        return sorted(
            tests,
            key=lambda item: (total[file_of(item)], file_of(item), self.seconds.get(item, 0.0)),
        )


def file_of(test: str) -> str:
    return test.partition("::")[0]


def functions(tree: ast.Module, path: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Each function of a file with its name, an outer function before those inside it."""

    def inside(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, ast.FunctionDef]]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            below = (*names, child.name) if named else names
            if isinstance(child, ast.FunctionDef):
                yield f"{path}::{'.'.join(below)}", child
            yield from inside(child, below)

    yield from inside(tree, ())


def enclosing(path: Path, line: int) -> str:
    """The name of the innermost function around a line of `path`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    around = functions(tree, path.relative_to(ROOT).as_posix())
    return [name for name, item in around if item.lineno <= line <= (item.end_lineno or line)][-1]


def copy(root: Path) -> None:
    """Copy all files that git tracks or doesn't ignore into `root`, and the plugin `entered`."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    for name in filter(lambda name: (ROOT / name).is_file(), listed):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    (root / ".venv").symlink_to(ROOT / ".venv")
    shutil.copy2(ROOT / "benchmarks/entered.py", root / "src/entered.py")


def environment(root: Path) -> dict[str, str]:
    """The variables of a process that runs the tests of the copy in `root`."""
    return os.environ | {"PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}


def mark(root: Path) -> list[str]:
    """Insert a call into each function below `root` that notes its number; return their names."""
    names: list[str] = []
    for path in sorted((root / SOURCES).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        marks = [(_start(tree.body, futures=True), "from entered import enter as _enter")]
        for name, function in functions(tree, path.relative_to(root).as_posix()):
            marks.append((_start(function.body), f"_enter({len(names)})"))
            names.append(name)
        lines = text.encode().split(b"\n")
        for (line, column), call in sorted(marks, reverse=True):
            before, after = lines[line][:column], lines[line][column:]
            separator = b"; " if before.strip() else b"\n" + before
            lines[line] = before + call.encode() + separator + after
        path.write_bytes(b"\n".join(lines))
    return names


def _start(body: list[ast.stmt], *, futures: bool = False) -> tuple[int, int]:
    """The line and column of the first statement after the docstring, or of a lone docstring."""
    rest = [
        item
        for item in body
        if not (futures and isinstance(item, ast.ImportFrom) and item.module == "__future__")
    ]
    has_docstring = isinstance(rest[0], ast.Expr) and isinstance(rest[0].value, ast.Constant)
    first = rest[1] if has_docstring and len(rest) > 1 else rest[0]
    line = min([first.lineno, *(item.lineno for item in getattr(first, "decorator_list", []))])
    return line - 1, first.col_offset


def make(arguments: list[str]) -> Record:
    """Run the tests that aren't slow, or the tests that `arguments` select, on a marked copy."""
    with tempfile.TemporaryDirectory() as folder:
        root, notes = Path(folder) / "copy", Path(folder) / "notes"
        root.mkdir()
        notes.mkdir()
        copy(root)
        names = mark(root)
        command = [*PYTEST, "-n", "2", "--dist", "worksteal", *arguments]
        subprocess.run(
            command, cwd=root, env=environment(root) | {"ENTERED": str(notes)}, check=False
        )
        tests: dict[str, set[str]] = defaultdict(set)
        seconds: dict[str, float] = {}
        for path in notes.glob("*.notes"):
            for line in path.read_text(encoding="utf-8").splitlines():
                test, value = json.loads(line)
                if value < 0:
                    seconds[test] = -1 - value
                else:
                    tests[names[value]].add(test)
    return Record(tests={name: sorted(some) for name, some in tests.items()}, seconds=seconds)


def read() -> Record:
    """The stored record; without one, a new record."""
    if not RECORD.exists():
        main([])
    return Record(**json.loads(RECORD.read_text(encoding="utf-8")))


def main(arguments: list[str]) -> None:
    record = make(arguments)
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(vars(record)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
