"""Selvi, Liu & Wiesemann (2025): how far the known mechanisms are from the best additive noise.

    python experiments/selvi2025/run.py

writes losses.csv, the SVG figures and README.md beside itself, for one number of sensitivity 1.
Every loss is of noise that is proved private, and the lower bounds hold for any additive noise.
Lines that are in losses.csv already are not computed again; all of them take some ten minutes.
"""

from __future__ import annotations

import csv
import itertools
import math
import statistics
import textwrap
from pathlib import Path

from leastnoise.design.programs.effort import WORK, Effort
from leastnoise.design.programs.find import find_design
from leastnoise.design.programs.refine import Task
from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.question import Loss
from leastnoise.report.figures import Figure, Line
from leastnoise.selection.public import calibrate

HERE = Path(__file__).parent
# The ends are those of the paper's numerical study.
DELTAS = ("0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.35", "0.5", "0.75")
EPSILONS = ("0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "3", "4", "5")
MECHANISMS = (
    "gaussian",
    "quasi-gaussian",
    "laplace",
    "staircase",
    "flipped-huber",
    "cactus",
    "tulap",
    "truncated-laplace",
    "truncated-staircase",
)
FIELDS = ("delta", "epsilon", "loss", *MECHANISMS, "optimal", "bound")
SHOWN = ("0.005", "0.1", "0.5")  # δ of the figures
EFFORT = Effort(gap=0.005, work=WORK // 3)  # about 20 s
DRAWN = {Loss.MAE: "E|X|", Loss.MSE: "E X²"}

Cell = dict[str, str]


def cell_of(delta: str, epsilon: str, loss: Loss) -> Cell:
    """Compute one line of losses.csv; "inf" stands for a family that can't serve."""
    cell = {"delta": delta, "epsilon": epsilon, "loss": loss.value}
    for name in MECHANISMS:
        try:
            mechanism = calibrate(
                name, epsilon=epsilon, delta=delta, sensitivity=L2(1), loss=loss.value
            )
            cell[name] = f"{loss.of(mechanism):.9g}"
        except Refused as error:
            print(f"{name} at ({epsilon}, {delta}): {error}", flush=True)
            cell[name] = "inf"
    task = Task(budget=Budget(epsilon=epsilon, delta=delta), loss=loss)
    best = find_design(task, EFFORT)
    cell["optimal"] = f"{loss.of(best.law):.9g}" if best.law else "inf"
    cell["bound"] = f"{best.bound.value:.9g}" if best.bound else "0"
    return cell


def cells() -> list[Cell]:
    """Return every line, from losses.csv or computed and added to it."""
    path = HERE / "losses.csv"
    known: dict[tuple[str, ...], Cell] = {}
    if path.exists():
        with path.open(encoding="utf-8") as file:
            known = {(c["delta"], c["epsilon"], c["loss"]): c for c in csv.DictReader(file)}
    with path.open("a", newline="", encoding="utf-8") as file:
        out: csv.DictWriter[str] = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not known:
            out.writeheader()
        for delta, epsilon, loss in itertools.product(DELTAS, EPSILONS, Loss):
            key = (delta, epsilon, loss.value)
            if key not in known:
                known[key] = cell_of(delta, epsilon, loss)
                out.writerow(known[key])
                file.flush()
                print(*key, flush=True)
    return sorted(known.values(), key=lambda cell: (float(cell["delta"]), float(cell["epsilon"])))


def gap(cell: Cell, name: str) -> float:
    """Return the loss over the lower bound, minus 1, in per cent."""
    return 100 * (float(cell[name]) / float(cell["bound"]) - 1)


def percent(value: float) -> str:
    if math.isinf(value):
        return "none found"
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def best_known(cell: Cell) -> str:
    return min(MECHANISMS, key=lambda name: float(cell[name]))


def drawing(loss: Loss, delta: str) -> str:
    return f"{loss.value}_{delta}.svg"


def draw(found: list[Cell], loss: Loss, delta: str) -> None:
    """Draw the gaps at one δ."""
    part = [cell for cell in found if (cell["delta"], cell["loss"]) == (delta, loss.value)]
    x = [float(cell["epsilon"]) for cell in part]
    Figure(
        title=f"{DRAWN[loss]} above the proved lower bound, δ = {delta}",
        x_label="ε",
        y_label="per cent",
        lines=tuple(
            Line(name=item, x=x, y=[gap(cell, item) for cell in part], dashed=item == "optimal")
            for item in (*MECHANISMS, "optimal")
        ),
        log_x=True,
        log_y=True,
    ).save(HERE / drawing(loss, delta))


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(header)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def prose(text: str) -> list[str]:
    """Return a paragraph and the empty line after it."""
    return [*textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False), ""]


def section(found: list[Cell], loss: Loss) -> list[str]:
    part = [cell for cell in found if cell["loss"] == loss.value]
    rows = []
    for name in (*MECHANISMS, "optimal"):
        gaps = [gap(cell, name) for cell in part]
        worst = max(part, key=lambda cell, name=name: gap(cell, name))
        least = sum(best_known(cell) == name for cell in part)
        texts = map(percent, (min(gaps), statistics.median(gaps), max(gaps)))
        at = f"({worst['epsilon']}, {worst['delta']})"
        rows.append([name, *texts, at, "" if name == "optimal" else str(least)])
    header = [
        "noise",
        "least gap %",
        "median %",
        "largest %",
        "at (ε, δ)",
        "settings where it is best",
    ]
    known = [min(gap(cell, name) for name in MECHANISMS) for cell in part]
    worst = max(part, key=lambda cell: gap(cell, best_known(cell)))
    small = [c for c in part if float(c["epsilon"]) <= 1 and float(c["delta"]) <= 0.1]
    near = [gap(c, "truncated-staircase") for c in small]
    title = DRAWN[loss].replace("|", "∣")  # in tables
    return [
        f"## {title}",
        "",
        *table(header, rows),
        *prose(
            f"The best of them but `optimal` is within 1 % of the best possible at"
            f" {sum(x <= 1 for x in known)} of {len(part)} settings, and {max(known):.3g} % above"
            f" the bound where it is farthest: {best_known(worst)} at (ε, δ) ="
            f" ({worst['epsilon']}, {worst['delta']}). Where ε ≤ 1 and δ ≤ 0.1 the truncated"
            f" staircase is within {percent(max(near))} % throughout, and the Gaussian nowhere"
            f" within {percent(min(gap(c, 'gaussian') for c in small))} %."
        ),
        *table(
            [f"best mechanism, {title}: δ \\ ε", *EPSILONS],
            [
                [delta, *(f"{gap(c, best_known(c)):.2f}" for c in part if c["delta"] == delta)]
                for delta in DELTAS
            ],
        ),
        *(f"![{title}, δ = {delta}]({drawing(loss, delta)})\n" for delta in SHOWN),
    ]


def page(found: list[Cell]) -> str:
    """Return README.md."""
    optimal = [gap(cell, "optimal") for cell in found]
    lines = [
        "# Selvi, Liu & Wiesemann (2025): optimality gaps",
        "",
        *prose(
            "Generated by `python experiments/selvi2025/run.py`: for one number of sensitivity 1,"
            " how far the loss of each mechanism is above the proved lower bound on the loss of any"
            f" additive noise, at {len(DELTAS)} × {len(EPSILONS)} settings with ε from"
            f" {EPSILONS[0]} to {EPSILONS[-1]} and δ from {DELTAS[0]} to {DELTAS[-1]}. Losses and"
            " bounds are in [losses.csv](losses.csv), all of them proved."
        ),
        *prose(
            "The gap to the best possible noise is the one shown or a little less: the best"
            " possible is between the bound and `optimal`, noise from a linear program. These are"
            f" {percent(statistics.median(optimal))} % apart in the median and"
            f" {percent(max(optimal))} % at most; a setting took 20 seconds of work at most."
        ),
        *section(found, Loss.MAE),
        *section(found, Loss.MSE),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> None:
    result = cells()
    for loss, delta in itertools.product(Loss, SHOWN):
        draw(result, loss, delta)
    (HERE / "README.md").write_text(page(result), encoding="utf-8")


if __name__ == "__main__":
    main()
