"""Figures of a comparison: two of noise for a vector, and two of noise for one number.

Errors as the dimension grows, or as ε changes; how far the noise reaches, or its densities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise.base import Noise
from leastnoise.report.figures import Figure, Line
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.constructions import BALL

MOST_DIMENSIONS = 10**6  # of a figure: densities are evaluated at points that long
_POINTS = 400  # of a radius' density
# Of densities, in standard deviations of the noise that has the least; of those of a radius, in
# units of (its root mean square)/√d, which are as much for l2.
_REACH = 4


def dimensions_around(asked: int, *, least: int) -> list[int]:
    """Return about eight dimensions, `asked` one of them, evenly spaced in their logarithm.

    They go from `least` (at least 2, unless 1 is asked) to 100, or ten times `asked` if that is
    more. Raises InvalidArgument beyond a million.
    """
    if asked > MOST_DIMENSIONS:
        raise InvalidArgument(
            name="dimension", value=asked, expected=f"dimension <= {MOST_DIMENSIONS:,} with --plot"
        )
    first = max(least, min(asked, 2))
    last = max(100, first, min(10 * asked, MOST_DIMENSIONS))
    others = np.geomspace(first, last, 7)
    return sorted({asked, *(round(float(one)) for one in others)})


def error_figure(found: Mapping[int, Comparison]) -> Figure:
    """Return the loss of each noise over the Gaussian's, and the proved bounds, by dimension.

    Raises Refused if no Gaussian serves.
    """
    first = next(iter(found.values()))
    loss = first.loss
    return Figure(
        title=f"Error ({loss}) against the dimension, {budget_text(first)}",
        x_label="dimension",
        y_label=f"{loss} / {loss} of the Gaussian",
        lines=relative_errors(found, baseline="gaussian"),
        log_x=True,
        log_y=True,
    )


def relative_errors(
    found: Mapping[int, Comparison] | Mapping[float, Comparison], *, baseline: str
) -> tuple[Line, ...]:
    """Return a line a noise, of losses over that of the noise `baseline`, and the proved bounds.

    Raises Refused where there is no such noise.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    proved: list[tuple[float, float]] = []
    for x, comparison in sorted(found.items()):
        losses = {one.label: comparison.loss.of(one.mechanism) for one in comparison.candidates}
        if baseline not in losses:
            needs = ", which needs delta > 0" if baseline == "gaussian" else ""
            raise Refused(f"Errors are drawn relative to those of {baseline} noise{needs}.")
        for label, loss in losses.items():
            lines.setdefault(label, []).append((x, loss / losses[baseline]))
        if comparison.best_possible is not None:
            proved.append((x, comparison.best_possible.value / losses[baseline]))
    drawn = [_line(name, points) for name, points in lines.items()]
    if proved:
        drawn.append(_line("no noise has less (proved)", proved, bound=True))
    return tuple(drawn)


def budget_text(found: Comparison) -> str:
    """Return the budget of the noise that is compared: "ε = 1, δ = 1e-5"."""
    budget = found.mechanisms[0].certificate.budget
    return f"ε = {decimal_text(budget.epsilon)}, δ = {decimal_text(budget.delta)}"


def _line(name: str, points: Sequence[tuple[float, float]], *, bound: bool = False) -> Line:
    x, y = zip(*points, strict=True)
    return Line(name=name, x=x, y=y, bound=bound)


def radius_figure(found: Comparison) -> Figure | None:
    """Return the densities of ‖X‖₂ of those candidates whose law is spherical; None if none is."""
    laws = {
        one.label: one.mechanism.noise
        for one in found.candidates
        if one.construction == BALL and _is_spherical(one.mechanism.noise)
    }
    if not laws:
        return None
    radii = _radii(list(laws.values()))
    return Figure(
        title=f"Density of the radius ‖X‖₂, {budget_text(found)}",
        x_label="‖X‖₂",
        y_label="density",
        lines=tuple(
            Line(name=label, x=radii.tolist(), y=radial_density(law, radii).tolist())
            for label, law in laws.items()
        ),
    )


def _is_spherical(noise: Noise) -> bool:
    has_density = not noise.for_whole_numbers
    return has_density and (noise.norm == "l2" or noise.dimension == 1)


def _radii(laws: Sequence[Noise]) -> NDArray[np.float64]:
    roots = [math.sqrt(law.mse) for law in laws]
    width = _REACH / math.sqrt(laws[0].dimension)
    low, high = max(0.0, min(roots) * (1 - width)), max(roots) * (1 + width)
    middles = (np.arange(_POINTS) + 0.5) / _POINTS  # never 0, where a density may have a pole
    return low + (high - low) * middles


def radial_density(noise: Noise, radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density of ‖X‖₂ at `radii` > 0, shape (n,), for a spherical law.

    It is S r^(d−1) f at distance r, S = 2π^(d/2)/Γ(d/2) the area of the unit sphere.
    """
    d = noise.dimension
    log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
    point = np.zeros(d)
    log_densities = np.empty(len(radii))
    for index, radius in enumerate(radii):  # one point of R^d at a time: d may be a million
        point[0] = radius
        log_densities[index] = noise.log_density(point)
    return np.exp(log_sphere + (d - 1) * np.log(radii) + log_densities)


def epsilons_around(asked: Fraction) -> list[Fraction]:
    """Return from an eighth of `asked` to eight times it, none above both 20 and `asked`.

    Beyond 20 hardly any family serves.
    """
    factors = [Fraction(2) ** power for power in range(-3, 4)]
    return [asked * one for one in factors if one <= 1 or asked * one <= 20]


def error_by_epsilon(found: Mapping[Fraction, Comparison]) -> Figure:
    """Return the loss of each noise over the Gaussian's, or at δ = 0 Laplace's, by ε.

    Proved bounds are marks. Raises Refused where there is no such noise to measure by.
    """
    first = next(iter(found.values()))
    delta = first.mechanisms[0].certificate.budget.delta
    baseline = "gaussian" if delta else "laplace"
    return Figure(
        title=f"Error ({first.loss}) against ε, δ = {decimal_text(delta)}",
        x_label="ε",
        y_label=f"{first.loss} / {first.loss} of {baseline} noise",
        lines=relative_errors({float(x): one for x, one in found.items()}, baseline=baseline),
        log_x=True,
        log_y=True,
    )


def density_figure(found: Comparison) -> Figure:
    """Return the densities of the best five, of Laplace's and of the Gaussian: more look alike.

    Noise on the whole numbers has marks at its probabilities.
    """
    laws = {
        one.label: one.mechanism.noise
        for place, one in enumerate(found.candidates)
        if place < 5 or one.label in {"gaussian", "laplace"}
    }
    discrete = any(law.for_whole_numbers for law in laws.values())
    reach = _REACH * min(law.mse for law in laws.values()) ** 0.5
    return Figure(
        title=f"Density of the noise, {budget_text(found)}",
        x_label="noise added to the number",
        y_label="density, or probability (points)" if discrete else "density",
        lines=tuple(_density(name, law, reach) for name, law in laws.items()),
    )


def _density(name: str, law: Noise, reach: float) -> Line:
    if law.for_whole_numbers:
        x = np.arange(-np.floor(reach), np.floor(reach) + 1)
    else:
        x = np.linspace(-reach, reach, 601)
    density = np.exp(law.log_density(x[:, None]))
    return Line(
        name=name,
        x=x.tolist(),
        y=density.tolist(),
        marks=law.for_whole_numbers,
    )
