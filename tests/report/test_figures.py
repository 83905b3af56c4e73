from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from leastnoise.errors import InvalidArgument, InvalidInput
from leastnoise.report.figures import Figure, Line

FIGURE = Figure(
    title="Error against d",
    x_label="d",
    y_label="mse",
    lines=(
        Line(name="gaussian", x=[1, 10, 100], y=[1, 1, 1]),
        Line(name="no noise has less", x=[1, 10, 100], y=[0.2, 0.5, 0.9], dashed=True),
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


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    FIGURE.save(tmp_path / "a.svg")
    FIGURE.save(tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_terminal_shows_every_line() -> None:
    shown = FIGURE.text(width=80, height=20)
    assert all(line.name in shown for line in FIGURE.lines)
    assert max(map(len, shown.splitlines())) <= 80


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"\.svg"):
        FIGURE.save(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    with pytest.raises(InvalidInput, match=r"leastnoise\[report\]"):
        FIGURE.text()
