from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from leastnoise.errors import InvalidArgument, InvalidInput
from leastnoise.noise.classic.law import Laplace
from leastnoise.noise.registry import FAMILIES
from leastnoise.report import figures
from leastnoise.report.figures import Figure, Line

FIGURE = Figure(
    title="Error against d",
    x_label="d",
    y_label="mse",
    lines=(
        Line(name="gaussian", x=[1, 10, 100], y=[1, 1, 1]),
        Line(name="no noise has less", x=[1, 10, 100], y=[0.2, 0.5, 0.9], marks=True),
    ),
    log_x=True,
)


def test_the_file_is_svg_with_the_names_in_it(tmp_path: Path) -> None:
    FIGURE.save(tmp_path / "a.svg")
    root = ET.fromstring((tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    text = "".join(root.itertext())
    assert all(line.name in text for line in FIGURE.lines)
    assert FIGURE.title in text


@pytest.mark.dense
@pytest.mark.parametrize(
    ("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, kind: str, start: bytes) -> None:
    for name in ("a", "b"):
        FIGURE.save(tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert (tmp_path / f"a.{kind}").read_bytes().startswith(start)


def test_what_is_known_at_points_alone_has_no_line_between_them(tmp_path: Path) -> None:
    ((colour, _),) = figures.looks([FIGURE.lines[1].name]).values()
    bound = replace(FIGURE.lines[1], marks=False, bound=True)
    points = replace(FIGURE, lines=(bound,))
    points.save(tmp_path / "a.svg")
    joined = replace(points, lines=(replace(bound, bound=False),))
    joined.save(tmp_path / "b.svg")
    marked, line = ((tmp_path / name).read_text() for name in ("a.svg", "b.svg"))
    assert marked.count("<use") == line.count("<use") + 4  # three, and that of the legend
    assert f"stroke: {colour}" in line
    assert f"stroke: {colour}" not in marked


def test_a_family_looks_the_same_in_every_figure_and_no_two_names_alike() -> None:
    alone = {name: figures.looks([name])[name] for name in FAMILIES}
    assert len(set(alone.values())) == len(alone)
    names = [*FAMILIES, *(f"line {index}" for index in range(28 - len(FAMILIES)))]
    together = figures.looks(names[::-1])
    assert {name: together[name] for name in FAMILIES} == alone
    assert len(set(together.values())) == len(names)
    assert len(figures.looks([str(index) for index in range(100)])) == 100


def test_the_terminal_shows_every_line() -> None:
    shown = FIGURE.text(width=80, height=20)
    assert all(line.name in shown for line in FIGURE.lines)
    assert max(map(len, shown.splitlines())) <= 80


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"\.svg"):
        FIGURE.save(tmp_path / "a.jpg")
    assert not list(tmp_path.iterdir())


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    with pytest.raises(InvalidInput, match=r"leastnoise\[report\]"):
        FIGURE.text()


def test_a_density_reaches_as_far_below_0_as_above() -> None:
    line = figures._density("laplace", Laplace(scale=1), 3.0)
    assert (line.x[0], line.x[-1]) == (-3.0, 3.0)
    assert line.y == pytest.approx([math.exp(-abs(x)) / 2 for x in line.x], rel=1e-12)
