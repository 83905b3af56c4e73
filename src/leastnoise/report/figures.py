"""Line figures: SVG files by matplotlib, and the terminal by plotext."""

from __future__ import annotations

import importlib
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from leastnoise.errors import InvalidArgument, InvalidInput
from leastnoise.mechanism.output import write_file

TERMINAL = "-"
"""The target that stands for the terminal where a file could be named."""

_MARKERS = "•×+o*#"  # told apart without colours


@final
@dataclass(frozen=True, kw_only=True)
class Line:
    """A named line through points; a bound is drawn dashed."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False


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
        """Write the figure to `path`, an SVG file; see `save_side_by_side`."""
        save_side_by_side([self], path)

    def text(self, *, width: int = 100, height: int = 28) -> str:
        """Return the figure as text for a terminal; raises InvalidInput without plotext."""
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
            plot.plot(list(line.x), list(line.y), label=line.name, marker=marker)
        return str(plot.uncolorize(plot.build()))


def save_side_by_side(figures: Sequence[Figure], path: str | Path) -> None:
    """Write figures to `path`, one SVG file; the same figures give the same bytes.

    Raises InvalidArgument for another suffix, InvalidInput if matplotlib isn't installed or the
    file can't be written.
    """
    path = _svg(path)
    matplotlib = _library("matplotlib")
    size = (6.4 * len(figures), 4.0)
    colours: dict[str, str] = {}  # the same name has the same colour in all of them
    canvas = _library("matplotlib.figure").Figure(figsize=size, layout="constrained")
    for figure, axes in zip(
        figures, canvas.subplots(1, len(figures), squeeze=False)[0], strict=True
    ):
        for line in figure.lines:
            style = "--" if line.dashed else "-"
            alone = "o" if len(line.x) == 1 else None  # a line through one point can't be seen
            colour = colours.setdefault(line.name, f"C{len(colours)}")
            axes.plot(
                line.x, line.y, style, color=colour, marker=alone, label=line.name, linewidth=1.4
            )
        axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        axes.set_xscale("log" if figure.log_x else "linear")
        axes.set_yscale("log" if figure.log_y else "linear")
        axes.grid(visible=True, linewidth=0.4, alpha=0.5)
        axes.legend(fontsize="small")
    # Neither a date nor random identifiers: a figure that didn't change makes no difference.
    with matplotlib.rc_context({"svg.hashsalt": "leastnoise", "svg.fonttype": "none"}):
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None})
    write_file(path, text.getvalue())


def check_target(target: str) -> None:
    """Raise what drawing on `target`, a file or TERMINAL, would raise, before there is a figure.

    InvalidArgument for a file that isn't SVG, InvalidInput if its folder doesn't exist or the
    library isn't installed.
    """
    if target == TERMINAL:
        _library("plotext")
        return
    if not _svg(target).parent.is_dir():
        raise InvalidInput(f"Can't write {target}: its folder doesn't exist.")
    _library("matplotlib")


def _svg(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix.lower() != ".svg":
        raise InvalidArgument(name="plot", value=path.name, expected="a file ending in .svg")
    return path


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise InvalidInput(
            f"Figures need {package}. Install it: pip install 'leastnoise[report]'"
        ) from None
