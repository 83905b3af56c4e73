"""The JSON records that commands print, and the rich tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leastnoise.selection.comparison import Candidate
    from leastnoise.tables.plan import Plan
    from leastnoise.tables.results import Table

_MOST_ROWS = 50


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    sys.stdout.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = ""
) -> None:
    """Print a table on stdout: text columns to the left, numbers to the right."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, caption=note or None, box=SIMPLE, title_justify="left")
    rows = list(rows)
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the stage a long command is at, on stderr; never a row count."""
    from rich.console import Console

    with Console(stderr=True).status("Starting") as status:
        yield lambda stage: status.update(f"{stage} …")


def print_plan(plan: Plan) -> None:
    """Print what a release will hold and how large its errors will be."""
    from leastnoise.tables.plan import HEADER

    print_table("", HEADER, plan.rows, note="\n".join(plan.notes))


def print_released(table: Table, *, truth: Sequence[Sequence[str]] = ()) -> None:
    """Print a released table; `truth`, a row a row, is for public data alone."""
    columns = list(table.columns)
    rows = [[_short(value) for value in row] for row in table.rows]
    if truth:
        columns += ["truth"]
        rows = [[*row, ", ".join(true)] for row, true in zip(rows, truth, strict=True)]
    hidden = len(rows) - _MOST_ROWS
    note = f"… and {hidden:,} more rows in the file" if hidden > 0 else ""
    print_table(table.name, columns, rows[:_MOST_ROWS], note=note)


def _short(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def calibrated_record(
    found: Candidate, *, epsilon: str, delta: str, sensitivity: str
) -> dict[str, Any]:
    """Return what `calibrate --json` prints; the three texts are given back as they came."""
    mechanism = found.mechanism
    certificate = mechanism.certificate
    return {
        "noise": {"name": mechanism.noise.name, "parameters": {}},
        "dimension": certificate.dimension,
        "sensitivity": {"kind": certificate.sensitivity.kind, "bound": sensitivity},
        "epsilon": epsilon,
        "delta": delta,
        "compositions": certificate.compositions,
        "scale": float(mechanism.noise.scale),
        "mse": mechanism.mse,
        "mae": mechanism.mae,
        "delta_interval": [certificate.delta.lower, certificate.delta.upper],
        "certified": certificate.proved,
        "seconds": {"search": found.search_seconds, "proof": found.proof_seconds},
    }
