"""Separate environments for the libraries, since their requirements conflict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venv-side"
INSTALL_SECONDS = 1800
RELEASE_SECONDS = 3600


class CannotRunError(Exception):
    """A library that can't be installed or run here, with the reason."""


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library, the script that uses it, and the packages that the script needs."""

    name: str
    script: str
    requirements: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    java: bool = False

    @property
    def path(self) -> Path:
        return Path(__file__).with_name(f"{self.script}.py")


def install(library: Library) -> Path:
    """The path of Python in the library's environment, which is made if it doesn't exist."""
    if not library.requirements:
        return Path(sys.executable)
    if library.java and shutil.which("java") is None:
        raise CannotRunError("it needs Java (8, 11 or 17), which isn't installed here")
    folder = ENVIRONMENTS / library.script.removeprefix("with_")
    python = folder / "bin" / "python"
    marker, wanted = folder / ".complete", "\n".join(library.requirements)
    # The marker is written last, so that an install cut short is done again.
    if not marker.is_file() or marker.read_text(encoding="utf-8") != wanted:
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([sys.executable, "-m", "venv", "--clear", folder], INSTALL_SECONDS)
        _run([*pip, *library.requirements], INSTALL_SECONDS)
        marker.write_text(wanted, encoding="utf-8")
    return python


def ask_all(
    libraries: Iterable[Library], table: Path
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The answers by library, and the names of the libraries with their versions.

    A library that can't run is named with the reason on standard output, and left out.
    """
    answers: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for library in libraries:
        print(library.name, file=sys.stderr, flush=True)
        try:
            result = release(library, install(library), table)
        except CannotRunError as reason:
            print(f"{library.name} isn't in the table: {reason}.")
            continue
        answers[library.name] = result["answers"]
        names.append(f"{library.name} {result['version']}")
    return answers, names


def release(library: Library, python: Path, table: Path) -> dict[str, Any]:
    """Run the library's script on the table, and return the record that it prints."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "PYSPARK_PYTHON": str(python),
        "SIDE_BY_SIDE_STARTED": repr(time.time()),
    }
    module = f"benchmarks.side_by_side.{library.script}"
    text = _run(
        [python, "-m", module, table, *library.arguments],
        RELEASE_SECONDS,
        environment=environment,
        folder=table.parent,
    )
    return json.loads(text.splitlines()[-1])


def lines_of_code(path: Path) -> int:
    """Count a script's lines up to its marker, without its docstring, blank lines and comments."""
    code, marker, _ = path.read_text(encoding="utf-8").partition(
        "\n# What follows is the benchmark"
    )
    if not marker:
        raise ValueError(f"{path.name} doesn't say where its release ends.")
    lines = [line.strip() for line in code.split('"""', 2)[2].splitlines()]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def _run(
    command: list[str | Path],
    seconds: int,
    *,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    try:
        done = subprocess.run(  # noqa: PLW1510 -- the exit code is looked at below
            command, capture_output=True, text=True, timeout=seconds, env=environment, cwd=folder
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunError(f"not done after {seconds} s") from error
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise CannotRunError(([*done.stderr.strip().splitlines()] or ["no message"])[-1])
    return done.stdout
