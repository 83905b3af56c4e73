"""The picture of every noise family: its density, and its error against ε, beside usual noise.

    python -m benchmarks.family_pictures [NAME …]

writes docs/figures/families/NAME.svg, of all families or of those that are named. Every point is
calibrated and proved: a few minutes in all.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

import leastnoise as ln
from leastnoise.report.figures import Figure, Line, save_side_by_side

FOLDER = Path(__file__).parents[1] / "docs" / "figures" / "families"
EPSILONS = (0.25, 0.5, 1, 1.5, 2, 3, 4, 5)
SHOWN = "1"  # the ε of the densities
POINTS = 241
REACH = 3.5  # of the densities, in standard deviations of the family's noise


@final
@dataclass(frozen=True, kw_only=True)
class Problem:
    """What a family is drawn for; `rivals` says which sensitivity each other noise protects."""

    sensitivity: Any
    rivals: dict[str, Any]
    delta: str = "1e-2"
    dimension: int = 1
    along: tuple[int, ...] = (1,)  # the direction in which the density is drawn
    title: str = "one number of sensitivity 1"
    epsilons: tuple[float, ...] = field(default=EPSILONS)

    def calibrated(self, name: str, epsilon: float | str) -> ln.Mechanism:
        sensitivity = self.sensitivity if name not in self.rivals else self.rivals[name]
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
    along=(1, 0, 0, 0, 0, 0, 0),
    title="a vector of 7 numbers, l2 sensitivity 1",
)
_TWO = Problem(
    sensitivity=_ONE,
    rivals={"gaussian": _ONE, "l2": _ONE},
    delta="1e-2",
    dimension=2,
    along=(1, 0),
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
_BOX = Problem(
    sensitivity=ln.Linf(1, l0=2),
    rivals={"gaussian": ln.Linf(1, l0=2), "laplace": ln.L1(2)},
    dimension=2,
    along=(1, 0),
    title="2 numbers that move by 1 each",
)

PROBLEMS = {
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
"""By family: every one that is registered has its problem here."""


def picture(name: str) -> tuple[Figure, Figure]:
    """Return the figures of a family: densities at ε = 1, and the mse against ε."""
    problem = PROBLEMS[name]
    drawn = [name, *(rival for rival in problem.rivals if rival != name)]
    shown = {one: problem.calibrated(one, SHOWN).noise for one in drawn}
    reach = REACH * float(np.sqrt(shown[name].variance))
    budget = f"δ = {problem.delta}"
    density = Figure(
        title=f"Density, ε = {SHOWN}, {budget}: {problem.title}",
        x_label="noise" if problem.dimension == 1 else f"noise, in the direction {_vector(problem)}",
        y_label="density",
        lines=tuple(_density(one, law, problem, reach) for one, law in shown.items()),
    )
    error = Figure(
        title=f"Error against ε, {budget}",
        x_label="ε",
        y_label="mean squared error",
        lines=tuple(
            Line(
                name=one,
                x=problem.epsilons,
                y=[problem.calibrated(one, epsilon).mse for epsilon in problem.epsilons],
            )
            for one in drawn
        ),
        log_x=True,
        log_y=True,
    )
    return density, error


def _vector(problem: Problem) -> str:
    return f"({', '.join(map(str, problem.along))})"


def _density(name: str, law: ln.noise.Noise, problem: Problem, reach: float) -> Line:
    """Return the density of `law` along the direction, in thousandths of its last digit."""
    whole = law.for_whole_numbers
    x = np.arange(-np.floor(reach), np.floor(reach) + 1) if whole else _places(reach)
    with np.errstate(divide="ignore"):
        y = np.exp(law.log_density(x[:, None] * np.asarray(problem.along, float)))
    return Line(name=name, x=_short(x), y=_short(y), marks=whole)


def _places(reach: float) -> NDArray[np.float64]:
    return np.linspace(-reach, reach, POINTS)


def _short(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or PROBLEMS:
        target = FOLDER / f"{name}.svg"
        save_side_by_side(picture(name), target, stacked=True)
        print(f"{target.name}: {target.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
