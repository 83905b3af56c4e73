"""Dots with whiskers: every end is on the chart, and a dot stands where its value is."""

from __future__ import annotations

import re

import pytest

from leastnoise.report.dot_chart import Dot, dot_chart
from tests.report.test_page import read


def test_a_chart_reaches_every_end() -> None:
    dots = [Dot(label="a", value=-3, low=-8.5, high=2)]
    chart = dot_chart("t", dots, unit="count", from_zero=True)
    shown = re.findall(r'class="tick"[^>]*>([-\d,.]+)<', chart)
    ticks = [float(item.replace(",", "")) for item in shown]
    assert min(ticks) <= -8.5
    assert max(ticks) >= 2

    def draw_values(value: float, low: float, high: float) -> str:
        dot = Dot(label="a", value=value, low=low, high=high)
        return dot_chart("t", [dot], unit="x", from_zero=True)

    assert dot_chart("t", [], unit="count", from_zero=True) == ""
    assert draw_values(1e308, -1e308, 1e308) == ""
    assert draw_values(0, 0, 5e-324) == ""
    for value in (0.0, 1e-290, 1e300):
        read(draw_values(value, value, value))


def test_counts_begin_at_0_and_means_need_not() -> None:
    dots = [Dot(label="a", value=105, low=100, high=110)]
    places: list[float] = []
    for from_zero in (True, False):
        chart = dot_chart("t", dots, unit="x", from_zero=from_zero)
        ticks = re.findall(r'class="tick" x="([\d.]+)%"[^>]*>([\d,]+)<', chart)
        assert (ticks[0] == ("0.00", "0")) == from_zero
        (dot,) = re.findall(r'class="dot" cx="([\d.]+)%"', chart)
        ends = re.findall(r'class="whisker" x1="([\d.]+)%" x2="([\d.]+)%"', chart)[0]
        assert float(ends[0]) < float(dot) < float(ends[1])
        # a dot stands between the ticks as its value does between their numbers
        first, last = (float(ticks[end][1]) for end in (0, -1))
        assert float(dot) == pytest.approx(100 * (105 - first) / (last - first), abs=0.01)
        places.append(float(dot))
    assert places[0] > places[1]


def test_nothing_is_left_of_the_axis_or_right_of_it() -> None:
    """The first tick may be below the smallest end, and the last above the largest."""
    for low, high in ((3.0, 9.3), (-7.2, -1.1), (-3.0, 8.8), (1010.0, 1019.0)):
        dots = [Dot(label="a", value=(low + high) / 2, low=low, high=high)]
        chart = dot_chart("", dots, unit="", from_zero=False)
        places = [float(text) for text in re.findall(r'x1="(-?[\d.]+)%"', chart)]
        assert len(places) > 5
        assert min(places) == 0
        assert max(places) == 100


def test_whiskers_have_a_cap_at_each_end() -> None:
    chart = dot_chart("t", [Dot(label="a", value=1, low=0, high=2)], unit="x", from_zero=True)
    (middle,) = map(int, re.findall(r'class="dot" cx="[^"]*" cy="(\d+)"', chart))
    heights = re.findall(r'class="whisker"[^>]* y1="(\d+)" y2="(\d+)"', chart)
    line, *caps = [sorted(int(end) - middle for end in height) for height in heights]
    assert line == [0, 0]
    assert len(caps) == 2
    assert all(low == -high < 0 for low, high in caps)


@pytest.mark.parametrize(
    ("label", "small"), [("a", False), ("a label of two lines, or more", True)]
)
def test_letters_are_small_only_beside_a_label_of_two_lines(label: str, *, small: bool) -> None:
    dots = [Dot(label=item, value=1, low=0, high=2) for item in ("b", label)]
    chart = dot_chart("t", dots, unit="x", from_zero=True)
    assert ('class="small"' in chart) == small
