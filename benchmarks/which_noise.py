"""The best noise for each of several queries, and its gain: a table and a picture.

    python -m benchmarks.which_noise

writes the table between the marks in docs/your-query.md, and docs/figures/which-noise.svg. Every
error in it is calibrated and proved; it takes about a minute.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import leastnoise as ln
from leastnoise._files import write_file
from leastnoise.report.figures import looks

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "your-query.md", DOCS / "figures" / "which-noise.svg"
FROM, TO = "<!-- from here: python -m benchmarks.which_noise -->", "<!-- to here -->"
EPSILONS = ("1", "5")


@final
@dataclass(frozen=True, kw_only=True)
class Query:
    """A query in a row of the table; usual Laplace noise for it has the sensitivity `l1`."""

    what: str
    link: str
    sensitivity: Any
    l1: Any
    dimension: int = 1
    delta: str = "1e-5"
    compositions: int = 1
    sampling_rate: str = "1"

    def budget(self, epsilon: str) -> dict[str, Any]:
        return {
            "epsilon": epsilon,
            "delta": self.delta,
            "dimension": self.dimension,
            "compositions": self.compositions,
            "sampling_rate": Fraction(self.sampling_rate),
        }


@final
@dataclass(frozen=True, kw_only=True)
class Row:
    """The best noise for a query at one ε, with its mse and the mse of the usual noises."""

    best: str
    mse: float
    laplace: float
    gaussian: float | None

    @property
    def family(self) -> str:
        return self.best.partition(" ")[0]


def _root(number: int) -> Fraction:
    """√number, rounded up to six decimals: a bound on the l1 norm of an l2 shift of length 1."""
    return Fraction(math.isqrt(number * 10**12 - 1) + 1, 10**6)


QUERIES = (
    Query(
        what="one real number",
        link="#one-number",
        sensitivity=ln.L2(1),
        l1=ln.L1(1),
    ),
    Query(
        what="one real number, δ = 0",
        link="#one-number",
        sensitivity=ln.L2(1),
        l1=ln.L1(1),
        delta="0",
    ),
    Query(
        what="one count",
        link="#one-number",
        sensitivity=ln.Integer(1),
        l1=ln.L1(1),
    ),
    *(
        Query(
            what=f"a vector of {d}, l2 sensitivity",
            link="#a-vector",
            sensitivity=ln.L2(1),
            l1=ln.L1(_root(d)),
            dimension=d,
        )
        for d in (2, 10, 100)
    ),
    Query(
        what="a vector of 10, l1 sensitivity",
        link="#a-vector",
        sensitivity=ln.L1(1),
        l1=ln.L1(1),
        dimension=10,
    ),
    Query(
        what="a vector of 10, l∞ sensitivity",
        link="#a-vector",
        sensitivity=ln.Linf(1, l0=10),
        l1=ln.L1(10),
        dimension=10,
    ),
    *(
        Query(
            what=f"{d} counting queries",
            link="#counting-queries",
            sensitivity=ln.CountingQueries(dimension=d),
            l1=ln.L1(d),
            dimension=d,
        )
        for d in (10, 50)
    ),
    Query(
        what="a histogram of 10 cells",
        link="#counting-queries",
        sensitivity=ln.Linf(1, whole=True),
        l1=ln.L1(1),
        dimension=10,
    ),
    Query(
        what="100 releases of a number",
        link="#many-releases-under-one-budget",
        sensitivity=ln.L2(1),
        l1=ln.L1(1),
        compositions=100,
    ),
    Query(
        what="100 releases of a vector of 10, l2",
        link="#many-releases-under-one-budget",
        sensitivity=ln.L2(1),
        l1=ln.L1(_root(10)),
        dimension=10,
        compositions=100,
    ),
    Query(
        what="DP-SGD: 1,000 steps, rate 0.01, 10 numbers",
        link="#dp-sgd",
        sensitivity=ln.L2(1),
        l1=ln.L1(_root(10)),
        dimension=10,
        compositions=1000,
        sampling_rate="0.01",
    ),
)


def row(query: Query, epsilon: str) -> Row:
    """The row of a query at one ε."""
    budget = query.budget(epsilon)
    comparison = ln.compare(**budget, sensitivity=query.sensitivity)
    usual = {
        name: ln.calibrate(name, **budget, sensitivity=sensitivity).mse
        for name, sensitivity in (("laplace", query.l1), ("gaussian", query.sensitivity))
        if name == "laplace" or query.delta != "0"
    }
    # Nothing is called better than usual noise for a gain that no reader would see.
    names = {
        candidate.label: candidate.mechanism.mse for candidate in comparison.candidates
    } | usual
    least = min(names.values())
    best = min(
        names, key=lambda name: (names[name] > 1.0005 * least, name not in usual, names[name])
    )
    return Row(best=best, mse=names[best], laplace=usual["laplace"], gaussian=usual.get("gaussian"))


def _less(mse: float, usual: float | None) -> str:
    """A text with the share by which `mse` is smaller than the `usual` mse."""
    if usual is None:
        return "impossible"
    gain = 1 - mse / usual
    if gain < 0.0005:
        return "–"
    digits = 1 if gain < 0.1 or gain > 0.95 else 0
    return f"{100 * gain:.{digits}f}\N{NO-BREAK SPACE}%"


def _cell(texts: list[str]) -> str:
    first, second = texts
    return first if first == second else f"{first}; {second}"


def line(query: Query, rows: list[Row]) -> str:
    """A line of the table, from the rows at both ε."""
    names = [f"[{row.best}](noise/{row.family}.md)" for row in rows]
    laplace = [_less(row.mse, row.laplace) for row in rows]
    gaussian = [_less(row.mse, row.gaussian) for row in rows]
    cells = (f"[{query.what}]({query.link})", *map(_cell, (names, laplace, gaussian)))
    return f"| {' | '.join(cells)} |"


def table(rows: dict[Query, list[Row]]) -> str:
    head = [
        "| query | best noise | less mse than Laplace | less mse than Gaussian |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *(line(query, result) for query, result in rows.items())])


def picture(rows: dict[Query, list[Row]]) -> bytes:
    """A picture (SVG) of errors at ε = 1, divided by the errors of the best noise."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = [row[0] for row in rows.values()]
    canvas = Figure(figsize=(6.4, 0.34 * len(rows) + 1.1), layout="constrained")
    axes = canvas.subplots()
    places = range(len(rows), 0, -1)
    colours = looks(["laplace", "gaussian", *(item.family for item in shown)])
    axes.axvline(1, color="black", linewidth=0.8)
    for name, mark in (("laplace", "o"), ("gaussian", "s")):
        points = [
            (getattr(item, name) / item.mse, index)
            for item, index in zip(shown, places, strict=True)
            if getattr(item, name) is not None
        ]
        x, y = zip(*points, strict=True)
        filled = colours[name][0] if name == "laplace" else "white"
        axes.plot(x, y, mark, color=colours[name][0], markerfacecolor=filled, label=name)
    axes.set_yticks(list(places), [query.what for query in rows])
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="mean squared error over that of the best noise", title="ε = 1")
    axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    axes.legend(fontsize="small", loc="lower right")
    with mpl.rc_context({"svg.hashsalt": "leastnoise", "svg.fonttype": "none"}):
        content = io.BytesIO()
        canvas.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def main() -> None:
    rows: dict[Query, list[Row]] = {}
    for query in QUERIES:
        rows[query] = [row(query, epsilon) for epsilon in EPSILONS]
        print(line(query, rows[query]), flush=True)
    before, _, rest = PAGE.read_text().partition(FROM)
    after = rest.partition(TO)[2]
    PAGE.write_text(f"{before}{FROM}\n\n{table(rows)}\n\n{TO}{after}")
    write_file(PICTURE, picture(rows))


if __name__ == "__main__":
    main()
