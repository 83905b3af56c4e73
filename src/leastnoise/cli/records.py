"""The JSON records that commands print, and the rich tables for people."""

from __future__ import annotations

import io
import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import IO, TYPE_CHECKING, Any, cast, final

import typer

if TYPE_CHECKING:
    from leastnoise.selection.comparison import Candidate
    from leastnoise.tables.plan import Plan
    from leastnoise.tables.results import Table

_MOST_ROWS = 50
_MOST_VARIANCES = 1000


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    typer.echo(json.dumps(record, indent=2))


def print_sentences(sentences: Sequence[str]) -> None:
    """Write each from a new line on; none is broken within a word or a path.

    What isn't printable is written as ?: names in a release could move the cursor otherwise.
    """
    for said in sentences:
        sentence = "".join(letter if letter.isprintable() else "?" for letter in said)
        lines = textwrap.wrap(
            sentence, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        typer.echo("\n".join(lines))


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = ""
) -> None:
    """Print a table on stdout: text columns to the left, numbers to the right."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, since a plain str would be read as markup, and public keys may hold brackets.
    table = Table(caption=Text(note), box=SIMPLE)
    rows = list(rows)
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in rows)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    console.print(Text(title, style="italic"))  # a table's own title is broken at the table's width
    console.print(table)


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the stage a long command is at, on stderr; never a row count.

    It never raises: that nobody can see a stage any more is no reason to lose what was charged.
    """
    from rich.console import Console

    with Console(file=cast("IO[str]", _Forgiving(sys.stderr))).status("Starting") as status:
        yield lambda stage: status.update(f"{stage} …")


@final
class _Forgiving:
    """A stream that may be closed, full or missing, and says nothing of it."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream or io.StringIO()

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_NEIGHBOURS = {
    "add-remove": "Neighbouring tables differ by one {unit} that is there or not.",
    "replace-one": "Neighbouring tables differ by one {unit} that is replaced by another.",
}


def print_plan(plan: Plan, *, least: bool = False, needed: Fraction | None = None) -> None:
    """Print what a release will hold and how large its errors will be, a table a query.

    `least` says that its ε was searched; `needed` is the ε with which all accuracies would be met,
    if this plan misses one.
    """
    from leastnoise.tables.layout import Bins

    for block in plan.blocks:
        noise, budget = block.mechanism.noise, block.mechanism.certificate.budget
        geometry = block.mechanism.certificate.geometry
        fitted = ""
        if block.saved is not None:
            how = f"fitted by {geometry.kind}" if geometry else "shaped by what one unit can do"
            fitted = f", {how}: {100 * block.saved:.0f} % less variance than "
            fitted += f"{block.baselines.spherical.name} noise as it is"
        if block.relative_to_split is not None:
            fitted += f"; {100 * (1 - block.relative_to_split):.0f} % less error than {noise.name} "
            fitted += "noise that meets its share of the budget alone"
        rows = [
            (
                error.statistic + (f" of {error.rows:,} rows" if error.rows else ""),
                f"{error.std:.4g}",
                f"{error.half_width_95:.4g}",
                *map(_std, (error.plain_laplace_std, error.plain_gaussian_std)),
            )
            for error in block.errors
        ]
        layout = block.layout
        if not layout.by_row:
            typer.echo(f"Each {plan.unit} {layout.bounding.in_words(layout.numbers)}.")
        print_table(
            f"{block.name}: {layout.cells:,} cells, dimension {layout.dimension:,}, "
            f"ε = {float(budget.epsilon):.4g}, δ = {float(budget.delta):.4g}, "
            f"{noise.name} noise of scale {float(noise.scale):.6g}{fitted}",
            ("in each cell", "std", "95 % ±", "Laplace (l1)", "Gaussian (l2)"),
            rows,
        )
        for axis in layout.axes:
            if isinstance(axis, Bins) and axis.dropped:
                typer.echo(f"Rows are dropped where {axis.column} is {axis.dropped}.")
        for wish in block.wishes:
            typer.echo(wish.in_words())
    typer.echo(_NEIGHBOURS[plan.blocks[0].layout.neighbours].format(unit=plan.unit))
    epsilon, delta = float(plan.budget.epsilon), float(plan.budget.delta)
    found = ", the least found with which every accuracy is met" if least else ""
    typer.echo(f"For the whole release ε = {epsilon:.5g} and δ = {delta:.4g}{found}.")
    if needed is not None:
        typer.echo(f"At these weights, epsilon = {float(needed):.5g} would meet every accuracy.")
    for note in plan.notes:
        typer.echo(note)
    typer.echo()


def _std(value: float | None) -> str:
    return "impossible" if value is None else f"{value:.4g}"


def print_released(table: Table, *, truth: Sequence[Sequence[str]] = ()) -> None:
    """Print a released table, each statistic beside its 95 % interval.

    `truth`, a row a row and a value a statistic, is for public data alone.
    """
    columns = {name: list(map(_short, values)) for name, values in table.columns.items()}
    shown: list[tuple[str, list[str]]] = []
    parts = ("_std", "_low", "_high")
    found = {name for name in columns if all(f"{name}{part}" in columns for part in parts)}
    hidden_columns = {f"{name}{part}" for name in found for part in parts}
    statistics = 0
    for name, values in columns.items():
        if name in found:
            shown.append((name, values))
            ends = zip(columns[f"{name}_low"], columns[f"{name}_high"], strict=True)
            shown.append(("95 %", [f"{low} to {high}" for low, high in ends]))
            if truth:
                shown.append(("truth", [row[statistics] for row in truth]))
            statistics += 1
        elif name not in hidden_columns:
            shown.append((name, values))
    rows = list(zip(*(values for _, values in shown), strict=True))
    hidden = len(rows) - _MOST_ROWS
    note = f"… and {hidden:,} more rows in the file" if hidden > 0 else ""
    print_table(table.name, [title for title, _ in shown], rows[:_MOST_ROWS], note=note)


def _short(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


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
    from leastnoise.certificate.kinds import record_of
    from leastnoise.noise.body_noise import VectorNoise

    mechanism = found.mechanism
    certificate = mechanism.certificate
    exactly = certificate.to_record()["noise"]["parameters"]
    parameters = {
        name: float(value) if isinstance(value, Fraction) else exactly[name]
        for name, value in mechanism.noise.parameters.items()
    }
    record = {
        "noise": {"name": mechanism.noise.name, "parameters": parameters},
        "dimension": certificate.dimension,
        "sensitivity": record_of(certificate.sensitivity) | {"bound": sensitivity},
        "epsilon": epsilon,
        "delta": delta,
        "compositions": certificate.compositions,
        "scale": float(mechanism.noise.scale),
        "mse": mechanism.mse,
        "mae": found.mae,
        "delta_interval": [certificate.delta.lower, certificate.delta.upper],
        "certified": certificate.proved,
        "seconds": {"search": found.search_seconds, "proof": found.proof_seconds},
    }
    if certificate.sampling_rate != 1:
        record["sampling_rate"] = float(certificate.sampling_rate)
    if found.note is not None:
        record["note"] = found.note
    if certificate.geometry is not None:
        record["geometry"] = {"name": found.construction} | record_of(certificate.geometry)
    unlike = certificate.geometry is not None or isinstance(mechanism.noise, VectorNoise)
    if unlike and certificate.dimension <= _MOST_VARIANCES:
        record["variances"] = mechanism.variances.tolist()
    return record
