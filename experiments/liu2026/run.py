"""Liu, Selvi & Wiesemann (2026), mixtures of Gaussians: Tables 1 to 7, Figures 1 and 2.

    python experiments/liu2026/run.py

writes table1.csv … table7.csv, the SVG figures and README.md beside itself, from published.csv, the
entries as printed, and losses.csv, which is completed first where it isn't whole. That takes
about half an hour from nothing, the rest some minutes.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from losses import Cell, Cells, complete
from page import Tables, page
from verdicts import BESIDE, IMPOSSIBLE, TABLES, UNREACHED, Row, least_leak, row_of

import leastnoise as ln
from leastnoise.noise.base import Noise
from leastnoise.noise.kernels.fit import gaussian_mixture_search
from leastnoise.noise.question import Loss, Question
from leastnoise.report.figures import Figure, Line

HERE = Path(__file__).parent
HEADER = (
    *("delta", "epsilon", "published", "ours", "most_possible"),
    *("published_loss", "our_loss", "lower_bound", "verdict"),
    *("leak_modes", "leak_sigma", "leak_shift", "leak_delta"),
)
FIGURE_1 = ln.Budget(epsilon="1", delta="0.1")
FIGURE_2_DELTAS = ("5e-7", "1e-4", "0.01", "0.25")


def published() -> list[Cell]:
    with (HERE / "published.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def settings(entries: list[Cell]) -> list[tuple[str, str]]:
    """Return every (δ, ε), rising."""
    results = {(entry["delta"], entry["epsilon"]) for entry in entries}
    return sorted(results, key=lambda pair: (float(pair[0]), float(pair[1])))


def line_of(row: Row) -> list[str]:
    """Return a row as it is written."""
    return [
        *(row.delta, row.epsilon, row.published, f"{row.ours:.3f}", f"{row.most_possible:.3f}"),
        "" if row.published == "NA" else f"{row.published_loss:.5g}",
        *(f"{row.our_loss:.9g}", f"{row.lower_bound:.9g}", row.verdict),
        *row.leak_texts(),
        *([] if row.beside is None else [f"{row.beside:.3f}"]),
    ]


def with_leak(table: int, row: Row) -> Row:
    if row.verdict not in {UNREACHED, IMPOSSIBLE}:
        return row
    return replace(row, leak=least_leak(table, row))


def modes_line(entry: Cell, known: Cells) -> list[str]:
    cell = known[entry["delta"], entry["epsilon"], Loss.MAE.value]
    same = int(entry["value"].rstrip("*")) == int(cell["modes"])
    verdict = "same" if same else "another"
    ours = (cell["modes"], cell["sigma"], cell["mixture"])
    return [entry["delta"], entry["epsilon"], entry["value"], *ours, verdict]


def write(name: str, rows: Sequence[Sequence[str]]) -> None:
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def figure_1() -> None:
    """Draw densities at (1, 0.1)."""
    laws: dict[str, Noise] = {}
    for name in ("gaussian", "truncated-laplace", "optimal", "quasi-gaussian"):
        mechanism = ln.calibrate(
            name,
            epsilon=FIGURE_1.epsilon,
            delta=FIGURE_1.delta,
            sensitivity=ln.L2(1),
            loss="mae",
        )
        laws[name] = mechanism.noise
    laws["gaussian-mixture"] = gaussian_mixture_search(Question(budget=FIGURE_1, loss=Loss.MAE))
    x = np.linspace(-3.5, 3.5, 1401)
    lines = []
    for name, law in laws.items():
        label = f"{name}: E|X| = {law.mean_abs:.4f}"
        density = np.exp(law.log_density(x[:, None]))
        lines.append(Line(name=label, x=x.tolist(), y=density.tolist()))
    Figure(
        title="Noise for ε = 1, δ = 0.1",
        x_label="x, in sensitivities",
        y_label="density",
        lines=tuple(lines),
    ).save(HERE / "figure1.svg")


def figure_2(rows: list[Row]) -> None:
    """Draw Table 2, as published and against the best benchmark."""
    panels: dict[str, tuple[str, Callable[[Row], float]]] = {
        "published": ("as published", lambda row: float(row.published)),
        "ours": ("the least losses", lambda row: row.beside or 0.0),
    }
    for name, (title, value) in panels.items():
        lines = []
        for delta in FIGURE_2_DELTAS:
            part = [row for row in rows if row.delta == delta]
            x = [float(row.epsilon) for row in part]
            lines.append(Line(name=f"δ = {delta}", x=x, y=[value(row) for row in part]))
        Figure(
            title=f"Best mixture over best benchmark, E|X|: {title}",
            x_label="ε",
            y_label="per cent",
            lines=(*lines, Line(name="as good", x=[0.1, 10.0], y=[0.0, 0.0], dashed=True)),
            log_x=True,
        ).save(HERE / f"figure2_{name}.svg")


def main() -> None:
    entries = published()
    known = complete(settings(entries))
    tables: Tables = {}
    for number in TABLES:
        rows = [row_of(number, e, known) for e in entries if e["table"] == str(number)]
        if number not in {2, 7}:  # they have the losses of Tables 1 and 4
            rows = [with_leak(number, row) for row in rows]
        header = [*HEADER, BESIDE[number]] if number in BESIDE else HEADER
        write(f"table{number}.csv", [header, *map(line_of, rows)])
        tables[number] = rows
    header = ["delta", "epsilon", "published", "ours", "sigma", "loss", "verdict"]
    modes = [modes_line(entry, known) for entry in entries if entry["table"] == "3"]
    write("table3.csv", [header, *modes])
    figure_1()
    figure_2(tables[2])
    lines = page(entries, known, tables)
    (HERE / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
