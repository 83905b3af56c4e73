"""Line figures: SVG files by matplotlib, and the terminal by plotext."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from leastnoise.errors import InvalidArgument, InvalidInput

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
        """Write the figure to `path`, an SVG file; the same figure gives the same bytes.

        Raises InvalidArgument for another suffix, InvalidInput if matplotlib isn't installed.
        """
        path = Path(path)
        if path.suffix.lower() != ".svg":
            raise InvalidArgument(name="plot", value=path.name, expected="a file ending in .svg")
        matplotlib = _library("matplotlib")
        canvas = _library("matplotlib.figure").Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = canvas.add_subplot()
        for line in self.lines:
            style = "--" if line.dashed else "-"
            axes.plot(line.x, line.y, style, label=line.name, linewidth=1.4)
        axes.set(title=self.title, xlabel=self.x_label, ylabel=self.y_label)
        axes.set_xscale("log" if self.log_x else "linear")
        axes.set_yscale("log" if self.log_y else "linear")
        axes.grid(visible=True, linewidth=0.4, alpha=0.5)
        axes.legend(fontsize="small")
        # Neither a date nor random identifiers: a figure that didn't change makes no difference.
        with matplotlib.rc_context({"svg.hashsalt": "leastnoise", "svg.fonttype": "none"}):
            canvas.savefig(path, format="svg", metadata={"Date": None})

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


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise InvalidInput(
            f"Figures need {package}. Install it: pip install 'leastnoise[report]'"
        ) from None
