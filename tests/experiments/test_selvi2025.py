"""The tables in experiments/selvi2025 are what its script computes, and agree with its page."""

from __future__ import annotations

import csv
import itertools
import math

import pytest

from leastnoise.noise.question import Loss
from tests.experiments.scripts import FOLDER, script

RUN = script("selvi2025")
PAGE = FOLDER / "selvi2025" / "README.md"


def committed() -> list[dict[str, str]]:
    with (FOLDER / "selvi2025" / "losses.csv").open(encoding="utf-8", newline="") as file:
        items = list(csv.DictReader(file))
    return sorted(items, key=lambda cell: (float(cell["delta"]), float(cell["epsilon"])))


CELLS = committed()


def test_the_whole_grid_is_there_and_no_line_twice() -> None:
    keys = [(cell["delta"], cell["epsilon"], Loss.named(cell["loss"])) for cell in CELLS]
    assert sorted(keys) == sorted(itertools.product(RUN.DELTAS, RUN.EPSILONS, Loss))


def test_no_noise_is_below_the_proved_bound() -> None:
    for cell in CELLS:
        for name in (*RUN.MECHANISMS, "optimal"):
            assert 0 < float(cell["bound"]) <= float(cell[name]) * (1 + 1e-9), (name, cell)


@pytest.mark.slow
@pytest.mark.parametrize(("delta", "epsilon"), [("0.05", "0.5"), ("0.35", "1")])
def test_lines_are_computed_again(delta: str, epsilon: str) -> None:
    for known in CELLS:
        if (known["delta"], known["epsilon"]) != (delta, epsilon):
            continue
        cell = RUN.cell_of(delta, epsilon, Loss.named(known["loss"]))
        for name in RUN.MECHANISMS:
            assert float(cell[name]) == pytest.approx(float(known[name]), rel=1e-7), name
        # whatever they are computed with, no bound is above the loss of a law
        assert float(cell["bound"]) <= float(known["optimal"])
        assert float(known["bound"]) <= float(cell["optimal"])


def test_uniform_noise_is_the_best_for_tiny_epsilon() -> None:
    """The truncated staircase for ε → 0 is uniform on [−1/2δ, 1/2δ]: E|X| = 1/4δ, the optimum."""
    cell = next(
        c for c in CELLS if (c["delta"], c["epsilon"], c["loss"]) == ("0.005", "0.005", "mae")
    )
    ratio = math.expm1(0.005) / 0.005  # how far ε is from 0, with room
    assert float(cell["bound"]) <= 1 / (4 * 0.005)
    assert float(cell["truncated-staircase"]) < 1 / (4 * 0.005) * ratio


def test_the_page_follows_from_the_losses() -> None:
    """Every figure in it."""
    assert PAGE.read_text(encoding="utf-8") == RUN.page(CELLS)


def test_the_figures_of_the_page_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for loss, delta in itertools.product(Loss, RUN.SHOWN):
        name = RUN.drawing(loss, delta)
        assert f"({name})" in text
        assert (PAGE.parent / name).stat().st_size > 0
