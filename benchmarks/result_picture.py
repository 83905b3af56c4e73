"""The picture of a result on the home page: the tutorial's table, with the truth beside it.

    python -m benchmarks.result_picture

releases the spec of docs/tutorial.md anew and writes docs/figures/result.svg. The table is public,
so the truth may be shown.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import leastnoise as ln
from leastnoise._files import write_file
from leastnoise.cli import demo
from tests.test_docs import TYPED, files_of

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "result.svg"
TITLES = {"count": "persons in the study", "mean_mdvis": "visits to a doctor, mean"}
COLOUR = "#004c80"


def published() -> dict[str, list[float]]:
    """The columns of the tutorial's table, from one release."""
    spec = tomllib.loads(files_of(TYPED)["visits.toml"])
    spec["data"]["source"] = str(demo.find_table())
    del spec["output"]
    (table,) = ln.Release(**spec).run().tables.values()
    return table.columns


def truth() -> dict[str, list[float]]:
    """The same numbers without noise, with visits cut off at 20 as in the spec."""
    visits: dict[int, list[int]] = defaultdict(list)
    with demo.find_table().open() as file:
        for row in csv.DictReader(file):
            visits[int(row["year"])].append(min(int(row["mdvis"]), 20))
    years = [visits[year] for year in sorted(visits)]
    return {
        "count": [len(year) for year in years],
        "mean_mdvis": [sum(year) / len(year) for year in years],
    }


def main() -> None:
    shown, true = published(), truth()
    canvas = Figure(figsize=(7.2, 2.9), layout="constrained")
    for axes, (name, title) in zip(canvas.subplots(1, 2), TITLES.items(), strict=True):
        low, high = (shown[f"{name}_{end}"] for end in ("low", "high"))
        values = shown[name]
        whiskers = [
            [value - end for value, end in zip(values, low, strict=True)],
            [end - value for value, end in zip(values, high, strict=True)],
        ]
        beside = [year + 0.15 for year in shown["year"]]
        axes.plot(beside, true[name], "x", color="#b34700", label="truth")
        axes.errorbar(
            shown["year"], values, whiskers, fmt="o", color=COLOUR, label="published", capsize=4
        )
        axes.set(title=title, xlabel="year of the study")
        axes.grid(visible=True, linewidth=0.4, alpha=0.5)
        axes.legend(fontsize="small", loc="best")
    with mpl.rc_context({"svg.hashsalt": "leastnoise", "svg.fonttype": "none"}):
        content = io.BytesIO()
        canvas.savefig(content, format="svg", metadata={"Date": None})
    write_file(PICTURE, content.getvalue())


if __name__ == "__main__":
    main()
