"""Two numbers of one cell together: their law against draws by rejection, and against one alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Box, Segment
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.bodies.together import Together
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.draw import find_difference, find_quantile
from tests.noise.bodies.examples import SCALE, rejected

DRAWS = 60_000
PAIR = Box(bounds=[1, "0.5"])
CELLS = Cells(bodies=[Box(bounds=[1, 2])], copies=[2])
BODIES: dict[str, tuple[Body, tuple[int, int]]] = {
    "two numbers": (PAIR, (0, 1)),
    "three numbers": (Box(bounds=[1, "0.5", 2]), (2, 0)),
    "two of three in a cell": (Cells(bodies=[Box(bounds=[1, 1, 1])], copies=[2]), (3, 5)),
    "a cell": (CELLS, (1, 0)),
    "beside another block": (
        Together(bodies=[Segment(bound=1), CELLS], radii=[1, 2], exponent=None),
        (3, 4),
    ),
}
LAWS: dict[str, Callable[[Body], BodyNoise]] = {
    "k-norm": lambda body: KNorm(scale=SCALE, body=body),
    "k-staircase": lambda body: KStaircase(scale=SCALE, body=body, gamma="0.4", decay="1.5"),
    "truncated-k-staircase": lambda body: TruncatedKStaircase(
        scale=SCALE, body=body, gamma="0.4", radius="2.9", decay="0.6"
    ),
}
CASES = {
    f"{name}, {where}": (make(body), places)
    for name, make in LAWS.items()
    for where, (body, places) in BODIES.items()
} | {
    f"k-norm, p = {p}": (
        KNorm(scale=SCALE, body=Together(bodies=[PAIR, CELLS], radii=[2, 3], exponent=p)),
        (2, 3),
    )
    for p in (1, "1.7")
}


@pytest.mark.dense
@pytest.mark.parametrize("name", CASES)
def test_against_draws_by_rejection(name: str) -> None:
    law, (i, j) = CASES[name]
    x = rejected(law, DRAWS, seed=len(name)) * SCALE
    for ratio in (0.0, 0.25, 1.0, 3.0):
        for probability in (0.5, 0.95):
            t = find_difference(law, probability, (i, j), ratio)
            assert t is not None
            share = (np.abs(x[:, i] - ratio * x[:, j]) <= t).mean()
            assert abs(share - probability) < 4.5 * (probability * (1 - probability) / DRAWS) ** 0.5


@pytest.mark.dense
@pytest.mark.parametrize("name", CASES)
def test_it_rises_with_the_ratio_and_its_ends_are_the_laws_of_one_number(name: str) -> None:
    law, (i, j) = CASES[name]
    ratios = [0.0, *(2.0**k for k in range(-6, 21))]
    half_widths = [find_difference(law, 0.95, (i, j), ratio) for ratio in ratios]
    widths = np.array(half_widths, dtype=np.float64)
    assert (np.diff(widths) >= -1e-9).all()
    a_ratio = widths[1:] / ratios[1:]
    assert (np.diff(a_ratio) <= 1e-9 * a_ratio[1:]).all()
    assert widths[0] == pytest.approx(find_quantile(law, 0.95, i))
    assert widths[-1] / ratios[-1] == pytest.approx(find_quantile(law, 0.95, j), rel=1e-5)


@pytest.mark.grid
@pytest.mark.parametrize("name", CASES)
def test_ratios_beyond_all_digits_are_no_more_than_a_millionth_off(name: str) -> None:
    law, (i, j) = CASES[name]
    for tiny in (1e-8, 3e-16, 5e-324):
        least = find_quantile(law, 0.95, i)
        assert (
            least * (1 - 1e-9)
            <= (find_difference(law, 0.95, (i, j), tiny) or 0.0)
            <= least * (1 + 1e-5)
        )
    for large in (1e8, 3e15, 1e300):
        least = find_quantile(law, 0.95, j) * large
        half_width = find_difference(law, 0.95, (i, j), large) or 0.0
        assert least * (1 - 1e-9) <= half_width <= least * (1 + 1e-5)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1 - 1e-4, 1 - 1e-9, 1.0, 1 + 1e-9, 1 + 1e-4, 4.0])
def test_laplace_noise_of_two_numbers(ratio: float) -> None:
    """P(|X − rY| <= t) = E over Y, whose tails are in closed form, by quadrature."""
    t = find_difference(Laplace(scale=1, dimension=2), 0.95, (0, 1), ratio)
    assert t is not None

    def beyond(y: float) -> float:
        ends = (t - ratio * y, t + ratio * y)
        tails = (math.exp(-end) / 2 if end > 0 else 1 - math.exp(end) / 2 for end in ends)
        return sum(tails) * math.exp(-y)

    edge = [t / ratio] if ratio else []
    outside, _ = quad(beyond, 0, 60, points=edge, limit=200)
    assert outside == pytest.approx(0.05, abs=1e-7)


def test_gaussians_are_added() -> None:
    law = Gaussian(scale=2, dimension=5)
    assert find_difference(law, 0.95, (0, 3), 0.75) == pytest.approx(1.25 * 3.919927969)


@pytest.mark.parametrize(
    ("law", "places"),
    [
        (KNorm(scale=1, body=CELLS), (1, 2)),
        (KNorm(scale=1, body=CELLS), (0, 3)),  # of one bound, times .5, and neither is alone
        (KNorm(scale=1, body=CELLS), (1, 1)),
        (KNorm(scale=1, body=Together(bodies=[PAIR, PAIR], radii=[2, 2], exponent=1)), (1, 2)),
        (KNorm(scale=1, body=Together(bodies=[PAIR, PAIR], radii=[2, 2], exponent=1)), (0, 2)),
        (KNorm(scale=1, body=Signed(of=Counts(queries=2))), (0, 1)),
    ],
)
def test_numbers_of_no_common_cell_have_no_known_law(law: Noise, places: tuple[int, int]) -> None:
    assert find_difference(law, 0.95, places, 0.5) is None


def beside(q: int, bound: str = "1.25") -> Cells:
    """A body whose cells have a box of q numbers and one more number; two such cells if q is 1."""
    parts = [Box(bounds=[2, *["0.5"] * (q - 1)]), Box(bounds=[bound])]
    return Cells(bodies=[Cells(bodies=parts, copies=[1, 1])], copies=[2 if q == 1 else 1])


ALONE = {
    f"{name}, {q}": (make(beside(q)), (q, 0)) for name, make in LAWS.items() for q in (1, 2, 3)
} | {
    f"k-norm, p = {p}": (
        KNorm(scale=SCALE, body=Together(bodies=[PAIR, beside(2)], radii=[2, 3], exponent=p)),
        (4, 2),
    )
    for p in (1, "1.7", None)
}


@pytest.mark.dense
@pytest.mark.parametrize("name", ALONE)
def test_a_number_alone_and_one_of_another_cell_against_draws(name: str) -> None:
    law, (alone, i) = ALONE[name]
    x = rejected(law, DRAWS, seed=len(name)) * SCALE
    for probability in (0.5, 0.9, 0.95):
        share_error = 4.5 * (probability * (1 - probability) / DRAWS) ** 0.5
        for places, ratio in (((alone, i), 0.625), ((i, alone), 1.6)):
            t = find_difference(law, probability, places, ratio)
            assert t is not None
            share = (np.abs(x[:, places[0]] - ratio * x[:, places[1]]) <= t).mean()
            assert abs(share - probability) < share_error
        for item in (alone, i):
            t = find_quantile(law, probability, item)
            assert abs((np.abs(x[:, item]) <= t).mean() - probability) < share_error
    assert find_difference(law, 0.95, (alone, i), 0.6) is None


@pytest.mark.parametrize("q", [1, 2, 3, 4])
def test_a_sum_of_a_number_and_of_one_alone_has_less_noise_than_a_number_with_all(q: int) -> None:
    """A count of all rows is no worse off if rows without a value are counted apart."""
    for make in LAWS.values():
        apart = Cells(
            bodies=[Cells(bodies=[Box(bounds=[1] * q), Box(bounds=[1])], copies=[1, 1])], copies=[3]
        )
        together = Cells(bodies=[Box(bounds=[1] * (q + 1))], copies=[3])
        for probability in (0.01, 0.3, 0.7, 0.95, 0.9999):
            half_width = find_difference(make(apart), probability, (0, q), 1.0)
            assert half_width is not None
            assert half_width <= find_quantile(make(together), probability) * (1 + 1e-9)
