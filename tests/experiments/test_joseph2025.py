"""The tables in experiments/joseph2025 are what its script computes; its page agrees."""

from __future__ import annotations

import math
import re

import pytest

from tests.experiments.scripts import FOLDER, numbers, script, table

RUN = script("joseph2025")


@pytest.mark.parametrize("dimension", [1, 7, 100])
def test_figure_1_is_computed_again(dimension: int) -> None:
    committed = table("joseph2025", "figure1.csv")[str(dimension)]
    assert numbers(committed) == pytest.approx(numbers(RUN.figure_1(dimension)), rel=1e-8)


def test_figure_1_has_the_published_peak() -> None:
    rows = table("joseph2025", "figure1.csv").values()
    gains = {d: 1 - l2 / min(la, g) for d, la, g, l2, _, _ in map(numbers, rows)}
    assert max(gains, key=gains.__getitem__) == 7
    assert gains[7] == pytest.approx(0.499, abs=1e-3)
    assert gains[1] == pytest.approx(0, abs=1e-8)


def test_the_pure_guarantee_is_that_of_the_reference_scale() -> None:
    """The reference σ for d = 7 is 0.933639567 (reference value, 12 digits agree)."""
    *_, sigma, pure = numbers(table("joseph2025", "figure1.csv")["7"])
    assert sigma == pytest.approx(0.933639567, abs=1e-9)
    assert pure == pytest.approx(1 / 0.933639567, rel=1e-8)


@pytest.mark.parametrize("dimension", [1, 20])
def test_figure_4_is_computed_again(dimension: int) -> None:
    """The simulation as well: its seed is fixed."""
    committed = table("joseph2025", "figure4.csv")[str(dimension)]
    assert numbers(committed) == pytest.approx(numbers(RUN.figure_4(dimension)), rel=1e-8)


def test_algorithm_3_is_never_below_the_least_scale_and_within_one_percent() -> None:
    for row in table("joseph2025", "figure4.csv").values():
        _, empirical, theirs, least = numbers(row)
        assert 0 <= theirs / least - 1 < 0.01
        assert empirical == pytest.approx(least, rel=0.07)


def test_algorithm_3_refuses_a_scale_below_the_least() -> None:
    least = RUN.l2_sigma(7, RUN.BUDGET)
    check = RUN.algorithm3.check_approximate_dp
    assert not check(7, least * (1 - 1e-6), 1.0, 1e-5)
    assert check(7, least * 1.004, 1.0, 1e-5)


def test_algorithm_3_agrees_with_the_closed_form_for_one_number() -> None:
    sigma = RUN.algorithm3.least_sigma(1, 1.0, 0.01, tolerance=1e-12)
    assert sigma == pytest.approx(1 / (1 - 2 * math.log1p(-0.01)), rel=1e-11)


def test_the_best_family_is_between_the_bound_and_l2() -> None:
    errors = table("joseph2025", "figure1.csv")
    for row in table("joseph2025", "beyond.csv").values():
        dimension, mse, bound = numbers(row)
        assert bound < mse <= numbers(errors[str(int(dimension))])[3]


def test_times_are_there_for_the_same_dimensions() -> None:
    five, six = table("joseph2025", "figure5.csv"), table("joseph2025", "figure6.csv")
    assert list(five) == list(six) == [str(d) for d in RUN.TIMED]
    assert all(min(numbers(row)) > 0 for row in (*five.values(), *six.values()))


def test_every_figure_that_the_page_shows_is_there() -> None:
    page = (FOLDER / "joseph2025" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\((\w+\.\w+)\)", page)
    assert len(shown) == 6
    assert all((FOLDER / "joseph2025" / name).is_file() for name in shown)
