"""Docstrings of the public API without a needed section: `python -m tests.public_docstrings`.

pydoclint compares the sections `Args` and `Returns` of a docstring with its signature. It checks
whole files; this script keeps the complaints about names that docs/api lists. `make lint` runs it.
`Raises` isn't compared, because docstrings also list errors that a called function raises. An
override needs no sections: the method that it overrides has them.
"""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import leastnoise

ROOT = Path(__file__).parent.parent
PENDING = ("leastnoise.tables",)
"""Packages whose public docstrings have no sections yet."""

_LISTED = re.compile(r"^::: (\S+)", re.MULTILINE)
_COMPLAINT = re.compile(r"^\s+(\d+): (DOC\d+): (?:Function|Method|Class) `([\w.]+)`:? ?(.*)")


def public_objects() -> Iterator[Any]:
    """Yield the classes and functions that docs/api lists, by name or with their module."""
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        for name in _LISTED.findall(page.read_text()):
            value = getattr(leastnoise, name.removeprefix("leastnoise."), None) or pydoc.locate(
                name
            )
            if value is None:
                raise ValueError(f"docs/api/{page.name} lists {name}, which doesn't exist.")
            if isinstance(value, ModuleType):
                names = getattr(value, "__all__", None) or vars(value)
                members = [getattr(value, each) for each in names if not each.startswith("_")]
                yield from (
                    member
                    for member in members
                    if getattr(member, "__module__", "").startswith(value.__name__)
                )
            else:
                yield value


def complaints() -> list[str]:
    """One line for each docstring of a public function or method that lacks a section."""
    names: dict[Path, set[str]] = {}
    for value in public_objects():
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if value.__module__.startswith(PENDING):
            continue
        module = importlib.import_module(value.__module__)
        of_file = names.setdefault(Path(str(module.__file__)), set())
        of_file.add(value.__qualname__)
        if inspect.isclass(value):
            of_file |= {f"{value.__qualname__}.{name}" for name in _methods(value)}
    done = subprocess.run(
        [sys.executable, "-m", "pydoclint.main", "--quiet", *_OPTIONS, *map(str, sorted(names))],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    lines: list[str] = []
    file = ROOT
    for line in (done.stdout + done.stderr).splitlines():
        if line and not line[0].isspace() and line.endswith(".py"):
            file = Path(line)
        elif (match := _COMPLAINT.match(line)) and match[3] in names.get(file, set()):
            where = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
            lines.append(f"{where}:{match[1]}: {match[2]} {match[3]}: {match[4][:200]}")
    return lines


_OPTIONS = (
    "--style=google",
    "--arg-type-hints-in-docstring=false",
    "--check-return-types=false",
    "--check-class-attributes=false",
    "--skip-checking-raises=true",
    "--skip-checking-short-docstrings=false",
)


def _methods(kind: type[Any]) -> Iterator[str]:
    for name, value in vars(kind).items():
        overrides = any(name in vars(base) for base in kind.__mro__[1:])
        if not (name.startswith("_") or overrides or isinstance(value, property | cached_property)):
            yield name


def main() -> int:
    """Print each complaint; return 1 if there is any."""
    lines = complaints()
    print(*lines, sep="\n")  # noqa: T201 (output of a script)
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
