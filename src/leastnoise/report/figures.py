"""Line figures: SVG, PNG and PDF files by matplotlib, and the terminal by plotext."""

from __future__ import annotations

import importlib
import io
import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from leastnoise._files import write_file
from leastnoise.errors import InvalidArgument, InvalidInput
from leastnoise.noise.registry import FAMILIES

TERMINAL = "-"
"""The target that stands for the terminal where a file could be named."""

_MARKERS = "•×+o*#"  # told apart without colours
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Told apart by the colour-blind (Okabe & Ito 2008)."""
_WIDE = 1e3  # of a logarithmic axis, which has room for powers of ten alone
_NARROW, _LETTERS = 4.6, 44  # inches of a narrow figure, and letters of a line of its titles
_STYLES = ("-", "--", "-.", ":")
_NEWER = {"agreeing"}  # families that look as those before them don't, whose figures are kept
_METADATA = {".svg": {"Date": None}, ".png": {"Software": None}, ".pdf": {"CreationDate": None}}
"""By the ending of a file: neither a date nor a version, so that a figure that didn't change makes
no difference."""


@final
@dataclass(frozen=True, kw_only=True)
class Line:
    """A named line through points, or the points alone: `marks`, or those of a proved `bound`."""

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
            draw = plot.scatter if line.marks or line.bound else plot.plot
            draw(list(line.x), list(line.y), label=line.name, marker=marker)
        return str(plot.uncolorize(plot.build()))


def save_side_by_side(
    figures: Sequence[Figure], path: str | Path, *, stacked: bool = False
) -> None:
    """Write figures to `path`, an SVG, PNG or PDF file; the same figures give the same bytes.

    `stacked` puts them one below the other, with one legend, so narrow that their letters can be
    read on a phone. Raises InvalidArgument for another suffix, InvalidInput if matplotlib isn't
    installed or the file can't be written.
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
            alone = "o" if len(line.x) == 1 else None  # a line through one point can't be seen
            style = "--" if line.dashed else style
            axes.plot(
                line.x, line.y, style, color=colour, marker=alone, label=line.name, linewidth=1.4
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
        # Beside the axes, where no line can be under it.
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


def _between_powers(value: float, place: int | None = None) -> str:
    """Return 2·10^n and 5·10^n as decimals, and nothing for other ticks between powers of ten."""
    del place
    first = f"{value:e}"[0]
    return f"{value:g}" if first in "25" else ""


def looks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a style for each name: those of a family are the same in all figures."""
    every = [(colour, style) for style in _STYLES for colour in _COLOURS]
    families = sorted(FAMILIES, key=lambda name: (name in _NEWER, name))
    of_families = dict(zip(families, itertools.cycle(every), strict=False))
    found = {name: of_families[name] for name in names if name in of_families}
    free = itertools.chain(
        [one for one in every if one not in found.values()], itertools.cycle(every)
    )
    return found | {name: next(free) for name in dict.fromkeys(names) if name not in found}


def check_target(target: str) -> None:
    """Raise what drawing on `target`, a file or TERMINAL, would raise, before there is a figure.

    InvalidArgument for a file that isn't SVG, PNG or PDF, InvalidInput if its folder doesn't exist
    or the library isn't installed.
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
