"""Mutation tests: change one expression of src at a time, and find a test that notices.

`python -m benchmarks.mutations --count 60 --seed 1` draws lines over all packages, and changes a
comparison, an operator, a constant or a condition in each. In a copy of the repository it runs the
tests that enter the function (`benchmarks.record`). Tests that `make test` always runs come first,
then dense tests, then slow tests of the same files. It prints the first kind with a test that
fails. A change that no test notices survives. It needs a test, unless its effect can't be observed.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from benchmarks.record import PYTEST, ROOT, Record, copy, enclosing, environment, file_of, read

SOURCES = ROOT / "src" / "leastnoise"
_HERE = "not attack and not engines"
KINDS = {
    "quick": f"not slow and not dense and {_HERE}",
    "dense": f"dense and not slow and {_HERE}",
    "slow": f"slow and {_HERE}",
}
LONGEST = {"quick": 1800, "dense": 1800, "slow": 600}  # seconds: a change may make a loop endless
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
    """A change of one expression of a file, on one line: its `old` and its `new` text."""

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
    """Yield all changes of a file's expressions in functions, except annotations and messages."""
    text = path.read_bytes()
    lines = text.split(b"\n")
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (inner for part in function.body for inner in ast.walk(part)):
            if isinstance(node, ast.expr) and node.lineno == node.end_lineno:
                for new in _changed(node):
                    start, end = node.col_offset, node.end_col_offset or 0
                    columns, old = (start, end), lines[node.lineno - 1][start:end].decode()
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


def draw_values(count: int, seed: str) -> list[Mutation]:
    """Draw `count` random changes; packages take turns in a random order."""
    random = Random(seed)
    packages: dict[str, list[Mutation]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        packages.setdefault(path.relative_to(SOURCES).parts[0], []).extend(mutations(path))
    pools = [packages[name] for name in sorted(packages) if packages[name]]
    order = random.sample(pools, len(pools))
    return [random.choice(order[index % len(order)]) for index in range(count)]


def first_failure(mutation: Mutation, record: Record) -> tuple[str, str]:
    """The kind of the first tests that notice a change, and the failing test; or "survives"."""
    tests = record.entering(enclosing(mutation.path, mutation.line))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copy(root)
        mutation.apply(root)
        (root / "chosen.json").write_text(json.dumps([tests, list(record.seconds)]))
        files = [
            fromkey for fromkey in dict.fromkeys(map(file_of, tests)) if (root / fromkey).exists()
        ]
        for kind, marked in KINDS.items():
            if files and (result := _failure(root, [*files, "-m", marked], kind)) is not None:
                return kind, result
    return "survives", f"{len(tests)} tests enter it"


def _failure(root: Path, arguments: list[str], kind: str) -> str | None:
    computed = environment(root) | {"CHOSEN": str(root / "chosen.json")}
    try:
        done = subprocess.run(
            [*PYTEST, "-x", *arguments], cwd=root, env=computed,
            capture_output=True, text=True, timeout=LONGEST[kind], check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"(no end within {LONGEST[kind]} s)"
    if done.returncode in {0, pytest.ExitCode.NO_TESTS_COLLECTED}:
        return None
    match = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return match[1] if match else f"(pytest ended with {done.returncode})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--skip", type=int, default=0, help="of the drawn changes, the first ones")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    for mutation in draw_values(asked.count, asked.seed)[asked.skip :]:
        kind, test = first_failure(mutation, read())
        counts[kind] += 1
        print(f"{kind:<9} {mutation}\n          {test}", flush=True)
    print(", ".join(f"{kind}: {counts[kind]}" for kind in (*KINDS, "survives")))


if __name__ == "__main__":
    main()
