"""What `make test` notices: one line of src is changed at a time, and the tests are run.

`python -m benchmarks.mutations --count 60 --seed 1` draws lines over all packages, in each a
comparison, an operator, a constant, a condition or a returned value, runs the tests in a copy of
the repository, and prints each change with the test that failed first. A change that no test
notices survives: it needs a test, unless it changes nothing that anybody could see.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "leastnoise"
LONGEST = 1800  # seconds that the tests may take: a change may well make a loop endless
_COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True)
class Mutation:
    """One expression of a file, on one line, and what takes its place."""

    path: Path
    line: int
    columns: tuple[int, int]  # in bytes of UTF-8, as ast counts
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Change the file's copy below `root`."""
        path = root / self.path.relative_to(ROOT)
        lines = path.read_bytes().split(b"\n")
        start, end = self.columns
        text = lines[self.line - 1]
        lines[self.line - 1] = text[:start] + self.new.encode() + text[end:]
        path.write_bytes(b"\n".join(lines))

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: `{self.old}` → `{self.new}`"


def mutations(path: Path) -> Iterator[Mutation]:
    """Every change that is tried of a file's expressions, but of annotations and of messages."""
    text = path.read_text(encoding="utf-8")
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (inner for part in function.body for inner in ast.walk(part)):
            if isinstance(node, ast.expr) and node.lineno == node.end_lineno:
                for new in _changed(node):
                    columns = (node.col_offset, node.end_col_offset or 0)
                    old = ast.get_source_segment(text, node) or ""
                    yield Mutation(path, node.lineno, columns, old, f"({ast.unparse(new)})")


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        yield ast.Compare(node.left, [_COMPARED[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        if not isinstance(node.right, ast.Constant | ast.Name | ast.Attribute | ast.Call):
            return
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)


def drawn(count: int, seed: str) -> list[Mutation]:
    """`count` changes, in turn of each package, of a line that is drawn of its files."""
    random = Random(seed)
    packages: dict[str, list[Mutation]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        packages.setdefault(path.relative_to(SOURCES).parts[0], []).extend(mutations(path))
    pools = [packages[name] for name in sorted(packages) if packages[name]]
    order = random.sample(pools, len(pools))
    return [random.choice(order[place % len(order)]) for place in range(count)]


def first_failure(mutation: Mutation, *, gate: bool) -> str | None:
    """Run the tests of a copy with the change; return the first that fails, or None."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _copy(root)
        mutation.apply(root)
        package = mutation.path.relative_to(SOURCES).parts[0].removesuffix(".py")
        near = [
            one for one in (f"tests/{package}", f"tests/test_{package}.py") if (root / one).exists()
        ]
        runs = [[*near, "--share"]] if near else []
        runs.append(["--share"])
        if gate:
            runs.append(["-m", "(slow or dense) and not engines", "--gate"])
        return next((found for one in runs if (found := _failure(root, one)) is not None), None)


def _copy(root: Path) -> None:
    """Put the committed tree into `root`, with this repository's environment."""
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(root, filter="data")
    (root / ".venv").symlink_to(ROOT / ".venv")


def _failure(root: Path, arguments: list[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "auto", "--dist", "worksteal"]
    own = {"PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=root,
            env=os.environ | own,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"(no end within {LONGEST} s)"
    if not done.returncode:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else f"(pytest ended with {done.returncode})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--skip", type=int, default=0, help="of the drawn changes, the first ones")
    parser.add_argument("--gate", action="store_true", help="run the gate's share as well")
    asked = parser.parse_args()
    found: Counter[str] = Counter()
    for mutation in drawn(asked.count, asked.seed)[asked.skip :]:
        test = first_failure(mutation, gate=asked.gate)
        found["survived" if test is None else "noticed"] += 1
        print(
            f"{'SURVIVES' if test is None else 'noticed'}  {mutation}\n  {test or ''}", flush=True
        )
    print(f"{found['noticed']} of {found.total()} changes noticed.")


if __name__ == "__main__":
    main()
