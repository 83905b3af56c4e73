"""The experiments' scripts and the tables that they wrote."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "experiments"


def script(experiment: str, name: str = "run") -> ModuleType:
    """The module of an experiment's script, imported as if it ran in its folder."""
    path = FOLDER / experiment / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{experiment}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their annotations
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def table(experiment: str, name: str) -> dict[str, list[str]]:
    """The rows of a committed CSV file, by their first column."""
    with (FOLDER / experiment / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return {row[0]: row for row in rows[1:]}


def numbers(row: list[str]) -> list[float]:
    """The entries of a row that are numbers, in order."""
    results = []
    for text in row:
        try:
            results.append(float(text))
        except ValueError:
            continue
    return results
