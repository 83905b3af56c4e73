"""The picture of every noise family: its density, and its error by ε, compared with usual noise.

    python -m benchmarks.family_pictures [NAME …]

writes docs/figures/families/NAME.svg, for all families or for the named families. Every point is
calibrated and proved, which takes a few minutes in all.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

import leastnoise as ln
from leastnoise.noise.base import Noise
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.report.figures import Figure, Line, save_side_by_side

FOLDER = Path(__file__).parents[1] / "docs" / "figures" / "families"
EPSILONS = (0.25, 0.5, 1, 1.5, 2, 3, 4, 5)
SHOWN = "1"  # the ε of the densities
POINTS = 241
REACH = 3.5  # half-width of densities, in standard deviations of the family's noise
LENGTHS = 2.5  # end of densities of lengths, in root mean squares of the length


@final
@dataclass(frozen=True, kw_only=True)
class Problem:
    """The problem in a family's picture. `rivals` maps each other noise to its sensitivity."""

    sensitivity: Any
    rivals: dict[str, Any]
    delta: str = "1e-2"
    dimension: int = 1
    along: tuple[int, ...] | None = (1,)  # the direction of the density; None: the density of ‖X‖
    title: str = "one number of sensitivity 1"
    epsilons: tuple[float, ...] = field(default=EPSILONS)

    def calibrated(self, name: str, epsilon: float | str) -> ln.Mechanism:
        sensitivity = self.rivals.get(name, self.sensitivity)
        return ln.calibrate(
            name,
            epsilon=epsilon,
            delta=self.delta,
            sensitivity=sensitivity,
            dimension=self.dimension,
        )


_ONE = ln.L2(1)
_SCALAR = Problem(sensitivity=_ONE, rivals={"gaussian": _ONE, "laplace": _ONE})
_WHOLE = Problem(
    sensitivity=ln.Integer(1),
    rivals={"gaussian": _ONE, "laplace": _ONE},
    title="a count",
)
_SEVEN = Problem(
    sensitivity=_ONE,
    rivals={"gaussian": _ONE, "l2": _ONE},
    delta="1e-5",
    dimension=7,
    along=None,
    title="a vector of 7 numbers, l2 sensitivity 1",
)
_TWO = Problem(
    sensitivity=_ONE,
    rivals={"gaussian": _ONE, "l2": _ONE},
    delta="1e-2",
    dimension=2,
    along=None,
    title="a vector of 2 numbers, l2 sensitivity 1",
    epsilons=(0.5, 1, 2, 3, 4),
)
_COUNTS = Problem(
    sensitivity=ln.CountingQueries(dimension=5),
    rivals={"gaussian": ln.CountingQueries(dimension=5), "laplace": ln.L1(5)},
    delta="1e-5",
    dimension=5,
    along=(1, 1, 1, 1, 1),
    title="5 counting queries",
)
_TREE = Problem(
    sensitivity=ln.RowCounts(1),
    rivals={},
    delta="0",
    dimension=10,
    title="a total and its 10 cells",
)
_BOX = Problem(
    sensitivity=ln.Linf(1, l0=2),
    rivals={"gaussian": ln.Linf(1, l0=2), "laplace": ln.L1(2)},
    dimension=2,
    along=(1, 0),
    title="2 numbers that move by 1 each",
)

PROBLEMS = {
    "agreeing": _TREE,
    **dict.fromkeys(
        (
            "cactus",
            "flipped-huber",
            "gaussian",
            "gaussian-mixture",
            "laplace",
            "optimal",
            "quasi-gaussian",
            "staircase",
            "truncated-laplace",
            "truncated-staircase",
            "tulap",
        ),
        _SCALAR,
    ),
    **dict.fromkeys(("discrete-staircase", "geometric"), _WHOLE),
    **dict.fromkeys(("generalized-gamma", "l2"), _SEVEN),
    **dict.fromkeys(("optimal-radial", "spherical-staircase"), _TWO),
    **dict.fromkeys(("k-norm", "two-sided-laplace", "two-sided-staircase"), _COUNTS),
    **dict.fromkeys(("k-staircase", "truncated-k-staircase"), _BOX),
}
"""The problem of every registered family."""


def picture(name: str) -> tuple[Figure, Figure]:
    """The figures of a family: densities at ε = 1, and the mse by ε."""
    problem = PROBLEMS[name]
    if name == "agreeing":
        return _tree_picture(problem)
    drawn = [name, *(rival for rival in problem.rivals if rival != name)]
    shown = {item: problem.calibrated(item, SHOWN).noise for item in drawn}
    budget = f"δ = {problem.delta}"
    density = Figure(
        title=f"Density, ε = {SHOWN}, {budget}: {problem.title}",
        x_label=_axis(problem),
        y_label="density",
        lines=tuple(_density(item, law, problem, shown[name]) for item, law in shown.items()),
    )
    error = Figure(
        title=f"Error against ε, {budget}",
        x_label="ε",
        y_label="mean squared error",
        lines=tuple(
            Line(
                name=item,
                x=problem.epsilons,
                y=_short([problem.calibrated(item, epsilon).mse for epsilon in problem.epsilons]),
            )
            for item in drawn
        ),
        log_x=True,
        log_y=True,
    )
    return density, error


def _tree_picture(problem: Problem) -> tuple[Figure, Figure]:
    """The figures of a tree: laws of the total and of a cell, and their errors by shares."""
    shares = [Fraction(root, 20) for root in range(19)]
    noises = [_tree_noise(problem, share) for share in shares]
    stds = [[level.std for level in level_laws(noise)] for noise in noises]
    best = level_laws(_tree_noise(problem, None))
    x = np.arange(-12, 13)
    laws = Figure(
        title=f"Probabilities, ε = {SHOWN}, δ = {problem.delta}: {problem.title}",
        x_label="noise",
        y_label="probability",
        lines=tuple(
            Line(name=name, x=_short(x), y=_short(law.probabilities[np.abs(x)]), marks=True)
            for name, law in (
                ("agreeing: total", best[0]),
                ("agreeing: cell", best[1]),
                ("cells alone: total", level_laws(noises[0])[0]),
            )
        ),
    )
    sums, apart = np.transpose(stds), _apart(shares[1:])
    errors = Figure(
        title=f"Errors by the root's share, ε = {SHOWN}, δ = {problem.delta}",
        x_label="standard deviation of a cell",
        y_label="standard deviation of the total",
        lines=(
            Line(name="agreeing", x=_short(sums[1]), y=_short(sums[0])),
            Line(name="each by itself (they disagree)", x=_short(apart[1]), y=_short(apart[0])),
        ),
        log_x=True,
        log_y=True,
    )
    return laws, errors


def _tree_noise(problem: Problem, root: Fraction | None) -> Agreeing:
    """The noise at ε = 1 with the root's share `root`; None takes the best share."""
    shape: dict[str, Any] = {"branches": (10,)}
    if root is not None:
        shape["shares"] = (root, 1 - root)
    noise = ln.calibrate(
        "agreeing",
        epsilon=SHOWN,
        sensitivity=problem.sensitivity,
        dimension=problem.dimension,
        parameters=shape,
    ).noise
    assert isinstance(noise, Agreeing)
    return noise


def _apart(shares: Iterable[Fraction]) -> NDArray[np.float64]:
    """The stds of separate geometric noise in a total and in its cells, if they divide ε = 1."""

    def std(epsilon: Fraction) -> float:
        sensitivity = ln.Integer(1)
        return math.sqrt(ln.calibrate("geometric", epsilon=epsilon, sensitivity=sensitivity).mse)

    return np.transpose([[std(share), std(1 - share)] for share in shares])


def _axis(problem: Problem) -> str:
    if problem.along is None:
        return "length of the noise"
    if problem.dimension == 1:
        return "noise"
    return f"noise, in the direction ({', '.join(map(str, problem.along))})"


def _density(name: str, law: Noise, problem: Problem, widest: Noise) -> Line:
    """The density of `law` over the range where `widest`, the pictured family, has its mass."""
    reach = REACH * math.sqrt(widest.variance)
    if problem.along is None:
        return _length(name, law, LENGTHS * math.sqrt(widest.mse))
    whole = law.for_whole_numbers
    ends = math.floor(reach)
    x = np.arange(-ends, ends + 1.0) if whole else np.linspace(-reach, reach, POINTS)
    y = _heights(law, x[:, None] * np.asarray(problem.along, float))
    return Line(name=name, x=_short(x), y=_short(y), marks=whole)


def _length(name: str, law: Noise, reach: float) -> Line:
    """The density of ‖X‖₂ of a spherical law: the sphere's surface times the density of X."""
    d = law.dimension
    r = np.linspace(0, reach, POINTS)[1:]
    points = np.zeros((r.size, d))
    points[:, 0] = r
    surface = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    return Line(name=name, x=_short(r), y=_short(surface * r ** (d - 1) * _heights(law, points)))


def _heights(law: Noise, points: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.exp(law.log_density(points))


def _short(values: Iterable[float]) -> list[float]:
    """The values with five digits: enough for a picture, and equal on all machines."""
    return [float(f"{value:.5g}") for value in values]


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or PROBLEMS:
        target = FOLDER / f"{name}.svg"
        save_side_by_side(picture(name), target, stacked=True)
        print(f"{target.name}: {target.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
