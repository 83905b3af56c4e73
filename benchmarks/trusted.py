"""The lines that a sceptic has to read: one file, or the modules that `verify` imports.

    python -m benchmarks.trusted             # lines, by the new way and the old
    python -m benchmarks.trusted --releases  # which draws of the documentation's releases it proves

Lines include blanks, comments and docstrings; the one file is also counted without them. Each
certificate is verified in a separate process. The proof is in `noise`, `accounting` and `balls`.
The statement is in `certificate` and `guarantees`: sensitivities and bodies. The rest checks
arguments and writes errors.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leastnoise as ln
import leastnoise_check as checker

_CASES = {
    "gaussian": ("gaussian", 1),
    "l2": ("l2", 1),
    "truncated-staircase": ("truncated-staircase", 1),
    "gaussian-mixture": ("gaussian-mixture", 1),
    "generalized-gamma": ("generalized-gamma", 1),
    "laplace, 10 releases": ("laplace", 10),
    "l2, 10 releases": ("l2", 10),
}
_VERIFY = """
import sys
from pathlib import Path
from leastnoise.certificate.certificate import Certificate
Certificate.from_json(sys.stdin.read()).verify()
files = [
    module.__file__ for name, module in sys.modules.items()
    if name.split(".")[0] == "leastnoise" and module.__file__
]
for file in files:
    parts = Path(file).parts
    inside = parts[len(parts) - parts[::-1].index("leastnoise"):]
    print(inside[0], len(Path(file).read_text().splitlines()))
"""
_PROOF = ("balls", "accounting", "noise")
_STATEMENT = ("certificate", "guarantees")


def _certificate(family: str, releases: int) -> str:
    dimension = 1 if family in {"truncated-staircase", "gaussian-mixture"} else 3
    noise = ln.calibrate(
        family,
        epsilon="1",
        delta="1e-5",
        sensitivity=ln.L1(1) if family == "laplace" else ln.L2(1),
        dimension=dimension,
        compositions=releases,
    )
    return noise.certificate.to_json()


def _is_proved(text: str) -> bool:
    with contextlib.redirect_stdout(io.StringIO()):
        return bool(checker.check_certificate(checker.parse(text.encode())))


def print_lines() -> None:
    """Print a table with a line per certificate."""
    source = Path(checker.__file__).read_text()
    texts = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node)
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = source.splitlines()
    code = [
        line
        for number, line in enumerate(lines, 1)
        if number not in texts and line.strip() and not line.strip().startswith("#")
    ]
    print(f"leastnoise_check.py: {len(lines):,} lines, {len(code):,} of them code\n")
    print(
        f"{'certificate':<24}{'checker':>12}{'verify':>8}{'proof':>8}{'statement':>10}{'rest':>8}"
    )
    for name, (family, releases) in _CASES.items():
        text = _certificate(family, releases)
        done = subprocess.run(
            [sys.executable, "-c", _VERIFY], input=text, capture_output=True, text=True, check=True
        )
        read: Counter[str] = Counter()
        for package, count in (line.split() for line in done.stdout.splitlines()):
            read[package] += int(count)
        proof, statement = (sum(read[part] for part in parts) for parts in (_PROOF, _STATEMENT))
        rest = read.total() - proof - statement
        here = f"{len(lines):,}" if _is_proved(text) else "not checked"
        print(f"{name:<24}{here:>12}{read.total():>8,}{proof:>8,}{statement:>10,}{rest:>8,}")


def _specs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Write the files of the demo, the tutorial and the cookbook, and yield their specs by name."""
    from leastnoise.cli import demo
    from tests import test_docs

    pages = [*test_docs.COOKBOOK, test_docs.ROOT / "docs/tutorial.md"]
    for page in pages:
        for name, text in test_docs.files_of(page).items():
            Path(name).write_text(text)
            if name.endswith(".py") and name.startswith("make_"):
                table = Path(name.removeprefix("make_")).with_suffix(".csv")
                printed = subprocess.run([sys.executable, name], capture_output=True, check=True)
                table.write_bytes(printed.stdout)
    for table in ("randhie.csv", "visits.csv"):
        Path(table).unlink(missing_ok=True)
        Path(table).symlink_to(demo.find_table())
    yield "demo", tomllib.loads(demo.SPEC)
    yield "tutorial", tomllib.loads(Path("visits.toml").read_text())
    for page in test_docs.COOKBOOK:
        base, *_ = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
        for title, (answer, _) in test_docs._answers(page).items():  # noqa: SLF001  # noqa: SLF001
            yield f"{page.stem}: {title}", tomllib.loads(base + answer)


def print_releases() -> None:
    """Run the releases of demo, tutorial and cookbook; print the draws that aren't proved."""
    proved = draws = releases = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["LEASTNOISE_CACHE"] = folder
        for name, spec in _specs():
            out = Path(folder) / f"out{releases}"
            ln.Release(**spec | {"output": {"path": str(out), "format": "csv"}}).run()
            record = json.loads((out / "certificate.json").read_text())
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                whole = checker.check_release(out)
            for block in record["draws"]:
                good = _is_proved(json.dumps(record | {"draws": [block]}))
                draws, proved = draws + 1, proved + good
                if not good:
                    print(f"not proved: {name}, {block['name']}: {printed.getvalue()}")
            releases += 1
            if not whole:
                print(f"not all proved: {name}")
    share = 100 * proved / draws
    print(f"{proved} of {draws} draws of {releases} releases are proved: {share:.0f} %")


if __name__ == "__main__":
    print_releases() if "--releases" in sys.argv else print_lines()
