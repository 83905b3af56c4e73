"""Line figures: SVG, PNG and PDF files by matplotlib, and text for the terminal by plotext."""

from __future__ import annotations

import importlib
import io
import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from leastnoise._files import write_file
from leastnoise.errors import InvalidArgument, InvalidInput, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise.base import Noise
from leastnoise.noise.registry import FAMILIES
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.constructions import BALL

TERMINAL = "-"
"""The target that stands for the terminal instead of a file."""

_MARKERS = "•×+o*#"  # distinguishable without colours
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Colours that the colour-blind can distinguish (Okabe & Ito 2008)."""
_WIDE = 1e3  # from this ratio on, a logarithmic axis only has room for powers of ten
_NARROW, _LETTERS = 4.6, 44  # inches of a narrow figure; letters in a line of its titles
_STYLES = ("-", "--", "-.", ":")
_NEWER = {"agreeing"}  # newer families come last, so that older families keep their colours
_METADATA = {".svg": {"Date": None}, ".png": {"Software": None}, ".pdf": {"CreationDate": None}}
"""Metadata by file suffix, without a date: an unchanged figure has the same bytes."""


@final
@dataclass(frozen=True, kw_only=True)
class Line:
    """A named line through points. With `marks`, or for a proved `bound`, only points are drawn."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    marks: bool = False
    bound: bool = False


@final
@dataclass(frozen=True, kw_only=True)
class Figure:
    """Lines over common axes."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False

    def save(self, path: str | Path) -> None:
        """Write the figure to `path`; see `save_side_by_side`."""
        save_side_by_side([self], path)

    def text(self, *, width: int = 100, height: int = 28) -> str:
        """The figure as text for a terminal. Raises InvalidInput without plotext."""
        plot = _library("plotext")
        plot.clear_figure()
        plot.theme("clear")
        plot.plotsize(width, height)
        plot.title(self.title)
        plot.xlabel(self.x_label)
        plot.ylabel(self.y_label)
        plot.xscale("log" if self.log_x else "linear")
        plot.yscale("log" if self.log_y else "linear")
        for line, marker in zip(self.lines, itertools.cycle(_MARKERS), strict=False):
            draw = plot.scatter if line.marks or line.bound else plot.plot
            draw(list(line.x), list(line.y), label=line.name, marker=marker)
        return str(plot.uncolorize(plot.build()))


def save_side_by_side(
    figures: Sequence[Figure], path: str | Path, *, stacked: bool = False
) -> None:
    """Write figures to an SVG, PNG or PDF file.

    The same figures give the same bytes with the same version of matplotlib.

    `stacked` puts the figures one below the other with one legend, narrow enough to be read on a
    phone. Raises InvalidArgument for another suffix, InvalidInput if matplotlib isn't installed or
    the file can't be written.
    """
    path = _file(path)
    matplotlib = _library("matplotlib")
    rows, columns = (len(figures), 1) if stacked else (1, len(figures))
    size = (_NARROW, 2.9 * rows + 0.3) if stacked else (7.6 * columns, 4.0)
    drawn_as = looks([line.name for figure in figures for line in figure.lines])
    canvas = _library("matplotlib.figure").Figure(figsize=size, layout="constrained")
    panels = canvas.subplots(rows, columns, squeeze=False).flat
    for figure, axes in zip(figures, panels, strict=True):
        for line in figure.lines:
            colour, style = drawn_as[line.name]
            if line.bound or line.marks:
                shape, colour = ("v", "black") if line.bound else ("o", colour)
                axes.plot(line.x, line.y, shape, color=colour, label=line.name, markersize=5)
                continue
            marker = "o" if len(line.x) == 1 else None  # a line through one point is invisible
            style = "--" if line.dashed else style
            axes.plot(
                line.x, line.y, style, color=colour, marker=marker, label=line.name, linewidth=1.4
            )
        title = textwrap.fill(figure.title, _LETTERS) if stacked else figure.title
        axes.set(title=title, xlabel=figure.x_label, ylabel=figure.y_label)
        axes.set_xscale("log" if figure.log_x else "linear")
        axes.set_yscale("log" if figure.log_y else "linear")
        for axis, log in ((axes.xaxis, figure.log_x), (axes.yaxis, figure.log_y)):
            if log:
                axis.set_major_formatter("{x:g}")
                low, high = axis.get_view_interval()
                axis.set_minor_formatter(_between_powers if high / low < _WIDE else "")
        axes.grid(visible=True, linewidth=0.4, alpha=0.5)
        # The legend is beside the axes, where it hides no line.
        if not stacked:
            corner = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
            axes.legend(fontsize="small", **corner)
    if stacked:
        shown: dict[str, Any] = {}
        for axes in canvas.axes:
            handles, names = axes.get_legend_handles_labels()
            shown = dict(zip(names, handles, strict=True)) | shown
        canvas.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=2)
    with matplotlib.rc_context({"svg.hashsalt": "leastnoise", "svg.fonttype": "none"}):
        content, kind = io.BytesIO(), path.suffix.lower()
        canvas.savefig(content, format=kind[1:], metadata=_METADATA[kind], dpi=150)
    write_file(path, content.getvalue())


def _between_powers(value: float, position: int | None = None) -> str:
    """Format ticks at 2 and 5 times a power of ten as decimals, and other ticks as "".

    Powers of ten have major ticks, which are formatted elsewhere.
    """
    del position
    first = f"{value:e}"[0]
    return f"{value:g}" if first in "25" else ""


def looks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The colour and line style of each name; a family has the same look in all figures."""
    every = [(colour, style) for style in _STYLES for colour in _COLOURS]
    families = sorted(FAMILIES, key=lambda name: (name in _NEWER, name))
    of_families = dict(zip(families, itertools.cycle(every), strict=False))
    known = {name: of_families[name] for name in names if name in of_families}
    free = itertools.chain(
        [look for look in every if look not in known.values()], itertools.cycle(every)
    )
    return known | {name: next(free) for name in dict.fromkeys(names) if name not in known}


def check_target(target: str) -> None:
    """Check early that figures can be drawn on `target`, a file or TERMINAL.

    Raises InvalidArgument for a file that isn't SVG, PNG or PDF, and InvalidInput if its folder
    doesn't exist or the library isn't installed.
    """
    if target == TERMINAL:
        _library("plotext")
        return
    if not _file(target).parent.is_dir():
        raise InvalidInput(f"Can't write {target}: its folder doesn't exist.")
    _library("matplotlib")


def _file(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix.lower() not in _METADATA:
        expected = "a file ending in .svg, .png or .pdf"
        raise InvalidArgument(name="plot", value=path.name, expected=expected)
    return path


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise InvalidInput(
            f"Figures need {package}. Install it: pip install 'leastnoise[report]'"
        ) from None


# Figures of a comparison: two of noise for a vector, and two of noise for one number.
#
# Errors by dimension or by ε; and densities of the radius or of the noise.


MOST_DIMENSIONS = (
    10**6
)  # largest dimension of a figure; densities are evaluated at points of this dimension
_POINTS = 400  # at which the density of a radius is evaluated
# Half-width of density figures, in standard deviations of the smallest noise; for a radius, in
# units of (its root mean square)/√d, which is about a standard deviation for l2.
_REACH = 4


def dimensions_around(dimension: int, *, least: int) -> list[int]:
    """About seven dimensions, evenly spaced on a logarithmic scale, and `dimension` itself.

    The first is `least`, or 2 if that is more and `dimension` isn't 1. The last is the largest of
    the first, 100, and the smaller of ten times `dimension` and a million. Raises InvalidArgument
    for a `dimension` beyond a million.
    """
    if dimension > MOST_DIMENSIONS:
        raise InvalidArgument(
            name="dimension",
            value=dimension,
            expected=f"dimension <= {MOST_DIMENSIONS:,} with --plot",
        )
    first = max(least, min(dimension, 2))
    last = max(100, first, min(10 * dimension, MOST_DIMENSIONS))
    others = np.geomspace(first, last, 7)
    return sorted({dimension, *(round(float(other)) for other in others)})


def error_figure(comparisons: Mapping[int, Comparison]) -> Figure:
    """Losses relative to Gaussian noise, and the proved bounds, by dimension.

    Raises Refused if Gaussian noise isn't applicable.
    """
    first = next(iter(comparisons.values()))
    loss = first.loss
    return Figure(
        title=f"Error ({loss}) against the dimension, {budget_text(first)}",
        x_label="dimension",
        y_label=f"{loss} / {loss} of the Gaussian",
        lines=relative_errors(comparisons, baseline="gaussian"),
        log_x=True,
        log_y=True,
    )


def relative_errors(
    comparisons: Mapping[int, Comparison] | Mapping[float, Comparison], *, baseline: str
) -> tuple[Line, ...]:
    """One line per noise with its losses relative to the noise `baseline`, and the proved bounds.

    Raises Refused if the baseline isn't applicable.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    proved: list[tuple[float, float]] = []
    for x, comparison in sorted(comparisons.items()):
        losses = {
            candidate.label: comparison.loss.of(candidate.mechanism)
            for candidate in comparison.candidates
        }
        if baseline not in losses:
            needs = ": it needs delta > 0" if baseline == "gaussian" else ""
            raise Refused(
                f"The figure shows errors relative to the errors of {baseline} noise, but that "
                f"noise can't serve{needs}."
            )
        for label, loss in losses.items():
            lines.setdefault(label, []).append((x, loss / losses[baseline]))
        if comparison.best_possible is not None:
            proved.append((x, comparison.best_possible.value / losses[baseline]))
    drawn = [_line(name, points) for name, points in lines.items()]
    if proved:
        bounds = [each.best_possible.bound for each in comparisons.values() if each.best_possible]
        noise = "noise" if bounds[0].scope == "real" else "noise on whole numbers"
        drawn.append(_line(f"no {noise} has less (proved)", proved, bound=True))
    return tuple(drawn)


def budget_text(comparison: Comparison) -> str:
    """The budget of the compared noise: "ε = 1, δ = 1e-5"."""
    budget = comparison.mechanisms[0].certificate.budget
    return f"ε = {decimal_text(budget.epsilon)}, δ = {decimal_text(budget.delta)}"


def _line(name: str, points: Sequence[tuple[float, float]], *, bound: bool = False) -> Line:
    x, y = zip(*points, strict=True)
    return Line(name=name, x=x, y=y, bound=bound)


def radius_figure(comparison: Comparison) -> Figure | None:
    """The densities of the l2 norm of spherical candidates' noise; None if none is spherical."""
    laws = {
        candidate.label: candidate.mechanism.noise
        for candidate in comparison.candidates
        if candidate.construction == BALL and _is_spherical(candidate.mechanism.noise)
    }
    if not laws:
        return None
    radii = _radii(list(laws.values()))
    return Figure(
        title=f"Density of the radius ‖X‖₂, {budget_text(comparison)}",
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
    middles = (np.arange(_POINTS) + 0.5) / _POINTS  # not 0, because a density may have a pole there
    return low + (high - low) * middles


def radial_density(noise: Noise, radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The density of the l2 norm of spherical noise at `radii` > 0, shape (n,).

    At the distance r it is S r^(d−1) f, where f is the density of the noise in R^d at a point at
    that distance, and S = 2π^(d/2)/Γ(d/2) the area of the unit sphere.
    """
    d = noise.dimension
    log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
    point = np.zeros(d)
    log_densities = np.empty(len(radii))
    for index, radius in enumerate(radii):  # one point of R^d at a time: d may be a million
        point[0] = radius
        log_densities[index] = noise.log_density(point)
    return np.exp(log_sphere + (d - 1) * np.log(radii) + log_densities)


def epsilons_around(epsilon: Fraction) -> list[Fraction]:
    """Powers of two times `epsilon`, from an eighth to eight times.

    Multiples above `epsilon` are left out if they exceed 20, where hardly any family is applicable.
    """
    factors = [Fraction(2) ** power for power in range(-3, 4)]
    return [epsilon * factor for factor in factors if factor <= 1 or epsilon * factor <= 20]


def error_by_epsilon(comparisons: Mapping[Fraction, Comparison]) -> Figure:
    """Losses relative to Gaussian noise, or at δ = 0 to Laplace noise, by ε.

    Proved bounds are marks. Raises Refused if that noise isn't applicable.
    """
    first = next(iter(comparisons.values()))
    delta = first.mechanisms[0].certificate.budget.delta
    baseline = "gaussian" if delta else "laplace"
    return Figure(
        title=f"Error ({first.loss}) against ε, δ = {decimal_text(delta)}",
        x_label="ε",
        y_label=f"{first.loss} / {first.loss} of {baseline} noise",
        lines=relative_errors(
            {float(epsilon): comparison for epsilon, comparison in comparisons.items()},
            baseline=baseline,
        ),
        log_x=True,
        log_y=True,
    )


def density_figure(comparison: Comparison) -> Figure:
    """The densities of the best five candidates, and of Laplace and Gaussian noise if it can serve.

    Noise on the whole numbers has marks at its probabilities.
    """
    laws = {
        candidate.label: candidate.mechanism.noise
        for rank, candidate in enumerate(comparison.candidates)
        if rank < 5 or candidate.label in {"gaussian", "laplace"}
    }
    discrete = any(law.for_whole_numbers for law in laws.values())
    reach = _REACH * min(law.mse for law in laws.values()) ** 0.5
    return Figure(
        title=f"Density of the noise, {budget_text(comparison)}",
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
