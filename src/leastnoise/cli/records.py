"""The JSON records that commands print, and the rich tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leastnoise.selection.comparison import Candidate


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
