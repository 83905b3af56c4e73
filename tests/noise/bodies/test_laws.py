"""Laws on bodies: against theory/bodies.md's tables, each other, and their own densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counted, Counts
from leastnoise.guarantees.bodies.plain import Ball, Box, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.classic.law import Laplace
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.steps.law import Staircase
from leastnoise.numerics.searches import minimise
from tests.guarantees.bodies.examples import ONE_SIDED

POINTS = 100_000
# of some 120 comparisons with a normal error; 4.5 is met by chance in 1 of 1,200
MOST_DEVIATIONS = 4.5


def best(law: Callable[[float], VectorNoise], low: float, high: float) -> tuple[float, float]:
    """The parameter in [low, high] with the least variance, and this variance."""
    grid = [low + (high - low) * i / 12 for i in range(13)]
    optimum = minimise(lambda value: law(value).variance, grid, rounds=30)
    return optimum, law(optimum).variance


@pytest.mark.grid
@pytest.mark.parametrize(
    ("dimension", "ratios"),
    [
        (1, [0.959, 0.845, 0.687, 0.371, 0.042]),
        (2, [0.993, 0.949, 0.856, 0.587, 0.132]),
        (3, [0.999, 0.983, 0.932, 0.730, 0.240]),
        (5, [1.000, 0.998, 0.986, 0.883, 0.441]),
        (10, [1.000, 1.000, 1.000, 0.988, 0.744]),
    ],
)
def test_the_best_staircase_over_the_exponential(dimension: int, ratios: list[float]) -> None:
    body = Ball(bound=1, coordinates=dimension)
    for epsilon, ratio in zip((1, 2, 3, 5, 10), ratios, strict=True):
        plain = KNorm(scale=Fraction(1, epsilon), body=body).variance
        _, least = best(
            lambda gamma, e=epsilon: KStaircase(scale=1, body=body, gamma=gamma, decay=e), 1e-3, 1
        )
        assert least / plain == pytest.approx(ratio, abs=5.1e-4)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("queries", "epsilon", "variance", "core"),
    [
        (2, 0.3, 36.2224, 1.4845),
        (2, 1, 3.19339, 0.75486),
        (2, 2.5, 0.448828, 0.48405),
        (2, 6, 0.0369279, 0.20286),
        (3, 1, 4.66132, 1.0926),
        (3, 6, 0.0688501, 0.29784),
        (4, 0.3, 71.0087, 3.6997),
        (4, 2.5, 0.951104, 0.80483),
        (12, 1, 26.6042, 4.3080),
        (12, 6, 0.660766, 1.0308),
    ],
)
def test_count_staircases(queries: int, epsilon: float, variance: float, core: float) -> None:
    counts = Counts(queries=queries)
    result, least = best(
        lambda a: TwoSidedStaircase(scale=1, of=counts, core=a, decay=epsilon), 0.5 * core, 2 * core
    )
    assert least == pytest.approx(variance, rel=1e-5)
    assert result == pytest.approx(core, rel=1e-2)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("queries", "epsilon", "two_sided", "staircase"),
    [
        (10, 0.5, 81.8, 104),
        (2, 3, 0.2902, 0.3169),
        (5, 3, 0.845, 1.022),
        (20, 3, 6.47, 9.37),
        (3, 5, 0.1209, 0.1459),
        (10, 5, 0.742, 1.027),
        (5, 10, 0.029, 0.041),
    ],
)
def test_two_sided_beside_the_staircase_of_the_hull(
    queries: int, epsilon: float, two_sided: float, staircase: float
) -> None:
    counts = Counts(queries=queries)
    hull = Signed(of=counts)
    core = queries / 5 + 1 / epsilon
    _, result = best(
        lambda a: TwoSidedStaircase(scale=1, of=counts, core=a, decay=epsilon), 0.05, 3 * core
    )
    _, beside = best(
        lambda gamma: KStaircase(scale=1, body=hull, gamma=gamma, decay=epsilon), 1e-3, 1
    )
    assert result == pytest.approx(two_sided, rel=2e-2 if epsilon == 10 else 2e-3)
    assert beside == pytest.approx(staircase, rel=2e-2 if epsilon == 10 else 5e-3)


@pytest.mark.parametrize(("queries", "variance"), [(5, 8.190), (10, 20.40), (20, 58.81)])
def test_counts_at_one(queries: int, variance: float) -> None:
    counts = Counts(queries=queries)
    _, result = best(
        lambda a: TwoSidedStaircase(scale=1, of=counts, core=a, decay=1), 0.1, queries / 2
    )
    assert result == pytest.approx(variance, rel=3e-4)
    assert KNorm(scale=1, body=Signed(of=counts)).variance == pytest.approx(
        (queries + 2) * (queries + 3) / 6
    )


@pytest.mark.parametrize(("queries", "variance"), [(30, 115.4), (50, 281.7)])
def test_smooth_counts_at_one(queries: int, variance: float) -> None:
    counts = Counts(queries=queries)
    _, result = best(lambda b: TwoSidedLaplace(scale=1, of=counts, core=b), 0.0, queries)
    assert result == pytest.approx(variance, abs=0.06)


LAWS: list[VectorNoise] = [
    KNorm(scale="0.7", body=Box(bounds=[1, 2])),
    KNorm(scale="0.7", body=Ball(bound=2, coordinates=3)),
    KNorm(scale="0.7", body=Cells(bodies=[Segment(bound=1), Box(bounds=[1, 3])], copies=[1, 1])),
    *(
        law
        for body in (
            Signed(of=Counts(queries=3)),
            Signed(of=Counts(queries=3, most=2)),
            Signed(of=Counted(of=Counts(queries=2))),
            Differences(of=Counts(queries=3, most=1)),
        )
        for law in (
            KNorm(scale="0.7", body=body),
            KStaircase(scale="0.7", body=body, gamma="0.4", decay=2),
            TruncatedKStaircase(scale="0.7", body=body, gamma="0.4", radius="2.2", decay=1),
        )
    ),
    *(
        law
        for name, of in ONE_SIDED.items()
        if of.dimension <= 3 or name in ("2 of 4", "squares", "two cells with sums")
        for law in (
            TwoSidedStaircase(scale="0.7", of=of, core="0.6", decay="1.5"),
            TwoSidedLaplace(scale="0.7", of=of, core="0.8"),
        )
    ),
]


def label(law: VectorNoise) -> str:
    shape = getattr(law, "body", None) or getattr(law, "of", None)
    return f"{law.name}-{shape.kind if shape else ''}-{law.dimension}"


@pytest.mark.dense
@pytest.mark.parametrize("law", LAWS, ids=label)
def test_moments_are_those_of_the_density(law: VectorNoise) -> None:
    """∫ f = 1, ∫ x²f and ∫ |x| f by importance sampling: no volume, no gauge's moments."""
    rng = np.random.default_rng(8)
    spread = 1.6 * np.sqrt(law.variances)
    x = rng.laplace(size=(POINTS, law.dimension)) * spread
    log_proposal = -np.abs(x / spread).sum(axis=-1) - np.log(2 * spread).sum()
    weight = np.exp(law.log_density(x) - log_proposal)
    _agree(np.array([1.0]), weight[:, None])
    _agree(law.variances, weight[:, None] * x**2)
    try:
        stated = law.mean_abses
    except NotApplicable:
        return
    _agree(stated, weight[:, None] * np.abs(x))


def _agree(stated: np.ndarray, drawn: np.ndarray) -> None:
    deviation = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert (deviation < 0.05 * stated).all()  # else nothing has been compared
    assert (np.abs(drawn.mean(axis=0) - stated) <= MOST_DEVIATIONS * deviation).all()


def test_on_one_number_and_on_balls_they_are_known_laws() -> None:
    x = np.linspace(-7, 7, 57)[:, None] + 0.01
    body = Segment(bound=2)
    pairs: list[tuple[VectorNoise, Laplace | Staircase | SphericalLaplace]] = [
        (KNorm(scale="0.7", body=body), Laplace(scale="1.4", dimension=1)),
        (KStaircase(scale="0.7", body=body, gamma="0.3", decay=2),
         Staircase(scale="1.4", gamma="0.3", decay=2)),
        (TwoSidedStaircase(scale="0.7", of=Counts(queries=1, bound=2), core="0.3", decay=2),
         Staircase(scale="1.4", gamma="0.3", decay=2)),
        (KNorm(scale="0.7", body=Ball(bound=2, coordinates=5)),
         SphericalLaplace(scale="1.4", dimension=5)),
        (KNorm(scale="0.7", body=Cells(bodies=[body], copies=[4])),
         Laplace(scale="1.4", dimension=4)),
    ]  # fmt: skip
    for law, known in pairs:
        assert law.variance == pytest.approx(known.variance, rel=1e-12)
        assert law.mean_abs == pytest.approx(known.mean_abs, rel=1e-12)
        points = np.broadcast_to(x, (len(x), law.dimension)) * (1 + np.arange(law.dimension))
        assert law.log_density(points) == pytest.approx(known.log_density(points), rel=1e-12)


def test_a_core_of_nothing_is_the_hull() -> None:
    for of in ONE_SIDED.values():
        smooth = TwoSidedLaplace(scale="0.7", of=of, core=0)
        plain = KNorm(scale="0.7", body=Signed(of=of))
        assert smooth.variances == pytest.approx(plain.variances, rel=1e-11)
        x = np.random.default_rng(2).normal(size=(20, of.dimension))
        assert smooth.log_density(x) == pytest.approx(plain.log_density(x), rel=1e-11)


@pytest.mark.parametrize("law", LAWS, ids=label)
def test_scaling_multiplies_the_noise(law: VectorNoise) -> None:
    twice = law.scaled(2)
    assert twice.scale == Fraction(7, 5)
    assert twice.variances == pytest.approx(4 * law.variances)
    assert twice.mse == pytest.approx(4 * law.mse)
    x = np.random.default_rng(3).normal(size=(20, law.dimension))
    shrunk = law.log_density(x) - law.dimension * math.log(2)
    assert twice.log_density(2 * x) == pytest.approx(shrunk)


def test_many_cells_are_quick_and_compact() -> None:
    law = KNorm(scale=1, body=Cells(bodies=[Segment(bound=1)], copies=[10**6]))
    assert law.variance == pytest.approx(2)
    fewer = Cells(bodies=[Segment(bound=1)], copies=[50])
    steps = KStaircase(scale=1, body=fewer, gamma=1, decay=1)
    assert steps.variance == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda body, of: KNorm(scale=0, body=body),
        lambda body, of: KNorm(scale=1, body=of),
        lambda body, of: KStaircase(scale=1, body=body, gamma=0, decay=1),
        lambda body, of: KStaircase(scale=1, body=body, gamma="1.01", decay=1),
        lambda body, of: KStaircase(scale=1, body=body, gamma=1, decay="1e-4"),
        lambda body, of: KStaircase(scale=1, body=body, gamma=1, decay="1e7"),
        lambda body, of: TruncatedKStaircase(scale=1, body=of, gamma=1, radius=2, decay=1),
        lambda body, of: TruncatedKStaircase(scale=1, body=body, gamma=0, radius=2, decay=1),
        lambda body, of: TruncatedKStaircase(scale=1, body=body, gamma=1, radius=0, decay=1),
        lambda body, of: TruncatedKStaircase(scale=1, body=body, gamma=1, radius=2, decay=-1),
        lambda body, of: TwoSidedStaircase(scale=1, of=body, core=1, decay=1),
        lambda body, of: TwoSidedStaircase(scale=1, of=of, core=0, decay=1),
        lambda body, of: TwoSidedStaircase(scale=1, of=of, core="nan", decay=1),
        lambda body, of: TwoSidedStaircase(scale=1, of=of, core=1, decay=0),
        lambda body, of: TwoSidedStaircase(scale=1, of=Counts(queries=20_000), core=1, decay=1),
        lambda body, of: TwoSidedLaplace(scale=1, of=body, core=0),
        lambda body, of: TwoSidedLaplace(scale=1, of=of, core="-0.1"),
    ],
)
def test_refuses_bad_parameters(wrong: Callable[[Body, object], object]) -> None:
    counts = Counts(queries=3)
    with pytest.raises(InvalidArgument):
        wrong(Signed(of=counts), counts)
