"""The interval of δ of two to four releases contains the exact one, for every composable family."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pytest

from leastnoise.accounting.proof.common_lattice import make_lower_parts, make_upper_parts
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls.convolution import composed_lower, composed_upper
from leastnoise.balls.core import float_above, float_below
from leastnoise.guarantees.sensitivity import L1, L2, Integer, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import FlippedHuber, Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.lattice.law import Cactus, DiscreteStaircase, Optimal
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.registry import registered_family
from leastnoise.noise.shells.law import OptimalRadial, SphericalStaircase
from leastnoise.noise.steps.law import Staircase, TruncatedStaircase, Tulap
from tests.accounting import direct
from tests.accounting.direct import Masses, Real, Step, mp, mpf

ONE = ShiftBounds.of(L2(1))
CASES = [("1", True), ("0.2", True), ("0.2", False)]


@dataclass(frozen=True, kw_only=True)
class Discrete:
    """A law of noise with finitely many losses, and the shifts that it hides."""

    noise: Noise
    masses: Callable[..., Masses]
    shifts: ShiftBounds = ONE


def stairs(gamma: str, radius: str | None, scale: str, *, count: int = 0) -> list[Step]:
    """Steps that end at γ, γ + 1, … and at the radius, or `count` steps if it is None."""
    first, unit = Fraction(gamma), Fraction(scale)
    if radius is None:
        ends = [first + k for k in range(count)]
    else:
        last = Fraction(radius)
        ends = [*(first + k for k in range(max(0, math.ceil(last - first)))), last]
    return [(end * unit, Fraction(1), level) for level, end in enumerate(ends)]


def cells(weights: tuple[int, ...], per_unit: str) -> list[Step]:
    """Steps of one cell each, the first of which is centred on 0; `weights` are their heights."""
    width = 1 / Fraction(per_unit)
    return [((2 * k + 1) * width / 2, Fraction(w), 0) for k, w in enumerate(weights)]


FALLS = (90, 61, 40, 22, 9, 3, 1)
DISCRETE = [
    Discrete(
        noise=Staircase(scale="1.3", gamma="0.4", decay="0.9"),
        masses=lambda shift="1": direct.masses_of_steps(
            stairs("0.4", None, "1.3", count=140), decay="0.9", shift=shift
        ),
    ),
    Discrete(
        noise=TruncatedStaircase(scale="1.3", gamma="0.4", radius="4.2", decay="0.9"),
        masses=lambda shift="1": direct.masses_of_steps(
            stairs("0.4", "4.2", "1.3"), decay="0.9", shift=shift
        ),
    ),
    Discrete(
        noise=TruncatedStaircase(scale=1, gamma="0.37", radius=3, decay="0.5", atom="0.01"),
        masses=lambda shift="1": direct.masses_of_steps(
            stairs("0.37", "3", "1"), decay="0.5", atom="0.01", shift=shift
        ),
    ),
    Discrete(
        noise=Tulap(scale="0.8", radius="3.3", decay="0.7"),
        masses=lambda shift="1": direct.masses_of_steps(
            stairs("0.5", "3.3", "0.8"), decay="0.7", shift=shift
        ),
    ),
    Discrete(
        noise=Cactus(scale="1.7", cells=2, masses=FALLS),
        masses=lambda: direct.masses_of_steps(cells(FALLS, "20/17")),
    ),
    Discrete(
        noise=Optimal(scale=1, cells=3, masses=FALLS),
        masses=lambda: direct.masses_of_steps(cells(FALLS, "3")),
    ),
    Discrete(
        noise=DiscreteStaircase(scale=2, cells=2, masses=FALLS),
        masses=lambda: direct.masses_of_lattice(FALLS, 2),
        shifts=ShiftBounds.of(Integer(2)),
    ),
    Discrete(
        noise=SphericalStaircase(scale="0.7", dimension=2, gamma="0.4", radius="4.3", decay=1),
        masses=lambda: direct.masses_of_shells(stairs("0.4", "4.3", "0.7"), dimension=2, decay="1"),
    ),
    Discrete(
        noise=SphericalStaircase(scale="1.1", dimension=7, gamma="0.8", radius="2.5", decay="0.3"),
        masses=lambda: direct.masses_of_shells(
            stairs("0.8", "2.5", "1.1"), dimension=7, decay="0.3"
        ),
    ),
    Discrete(
        noise=OptimalRadial(scale=1, dimension=3, cells=3, edges=(2, 4, 9), weights=(9, 4, 1)),
        masses=lambda: direct.masses_of_shells(
            [(Fraction(end, 3), Fraction(w), 0) for end, w in ((2, 9), (4, 4), (9, 1))], dimension=3
        ),
    ),
]


# Spheres of many steps take seconds each.
SAMPLED = [
    law
    for law in DISCRETE
    if registered_family(type(law.noise)).longest_is_worst
    and not isinstance(law.noise, SphericalStaircase)
]


@pytest.mark.dense
@pytest.mark.parametrize("law", DISCRETE, ids=lambda law: law.noise.name)
@pytest.mark.parametrize(("count", "epsilon"), [(2, "0.5"), (3, "0"), (3, "1.7")])
def test_finitely_many_losses(law: Discrete, count: int, epsilon: str) -> None:
    with mp.workdps(50):
        exact = direct.delta_of_masses([(law.masses(), count)], epsilon)
        part = Releases(noise=law.noise, shifts=law.shifts, compositions=count)
        interval = prove_composed((part,), Fraction(epsilon)).interval
        assert interval.lower <= exact <= interval.upper
        assert interval.upper - interval.lower <= 0.01 * exact


@pytest.mark.dense
@pytest.mark.parametrize("law", SAMPLED, ids=lambda law: law.noise.name)
def test_finitely_many_losses_of_samples(law: Discrete) -> None:
    with mp.workdps(50):
        masses = law.masses()
        exact = max(
            direct.delta_of_masses([(masses.sampled("0.2", removed=removed), 2)], "0.1")
            for removed in (True, False)
        )
        part = Releases(noise=law.noise, shifts=ONE, compositions=2, sampling_rate=Fraction("0.2"))
        interval = prove_composed((part,), Fraction("0.1")).interval
        assert interval.lower <= exact <= interval.upper
        assert interval.upper - interval.lower <= 0.02 * exact


def test_two_kinds_of_noise_together() -> None:
    item, other = DISCRETE[0], DISCRETE[3]
    with mp.workdps(50):
        exact = direct.delta_of_masses([(item.masses(), 2), (other.masses(), 1)], "0.8")
        parts = tuple(
            Releases(noise=law.noise, shifts=ONE, compositions=count)
            for law, count in ((item, 2), (other, 1))
        )
        interval = prove_composed(parts, Fraction("0.8")).interval
        assert interval.lower <= exact <= interval.upper
        assert interval.upper - interval.lower <= 0.02 * exact


@pytest.mark.slow
@pytest.mark.parametrize("law", DISCRETE[:4], ids=lambda law: law.noise.name)
def test_no_pair_of_shorter_shifts_leaks_more(law: Discrete) -> None:
    """The longest shift is said to be the worst of all sequences of shifts (theory/noise.md §1)."""
    part = Releases(noise=law.noise, shifts=ONE, compositions=2)
    upper = prove_composed((part,), Fraction("0.5")).interval.upper
    draw = random.Random(5)
    for _ in range(5):
        first, second = (str(Fraction(draw.randint(1, 100), 100)) for _ in range(2))
        pairs = [(law.masses(shift), 1) for shift in (first, second)]
        assert direct.delta_of_masses(pairs, "0.5") <= upper


def exact_of_two(name: str, *, rate: str, removed: bool) -> Real:
    if name.startswith("l2"):
        dimension = int(name.rpartition(" ")[2])
        return direct.delta_of_two_spherical("0.8", dimension, "0.2", rate=rate, removed=removed)
    line = {
        "laplace": lambda: direct.laplace("1"),
        "gaussian": lambda: direct.gaussian("1"),
        "truncated-laplace": lambda: direct.truncated_laplace("1.2", "3"),
        "flipped-huber": lambda: direct.flipped_huber("0.9", "0.8", "1.1"),
    }[name]()
    return direct.delta_of_two(line, "0.2", rate=rate, removed=removed)


NOISE: dict[str, Noise] = {
    "laplace": Laplace(scale=1),
    "gaussian": Gaussian(scale=1),
    "truncated-laplace": TruncatedLaplace(scale="1.2", radius=3),
    "flipped-huber": FlippedHuber(scale="0.9", alpha="0.8", gamma="1.1"),
    **{f"l2 in {d}": SphericalLaplace(scale="0.8", dimension=d) for d in (2, 3, 10)},
}

# δ(0.2) of two releases: of all of the data, and of samples of a fifth for a record that is removed
# and one that is added. What `exact_of_two` gives in 50 digits; the slow test works them out again.
DELTAS = {
    "laplace": (
        "0.410473993376131287768991352514",
        "0.0362155362593564072649933922117",
        "0.022530373731161185808374329223",
    ),
    "gaussian": (
        "0.472270545889986715681776689639",
        "0.0643813516098603734338272421064",
        "0.0249833069083376598272010832445",
    ),
    "truncated-laplace": (
        "0.384391996538279264430805484299",
        "0.0375732131752876581428304773568",
        "0.0158380229902590335368744043951",
    ),
    "flipped-huber": (
        "0.495280251432568787681071561085",
        "0.0668035500200939392294165985606",
        "0.0301124731014278449275014445723",
    ),
    "l2 in 2": (
        "0.402057340781732425303191346067",
        "0.0394787002776111283493527107582",
        "0.0179901995540118900833976948454",
    ),
    "l2 in 3": (
        "0.331002347307252341817233657346",
        "0.026484399608004166107664751774",
        "0.00899258482889478905795756161847",
    ),
    "l2 in 10": (
        "0.150731197229262166618358449775",
        "0.00364039364081340846202541458203",
        "0.000243183456124772480134427246788",
    ),
}


@pytest.mark.dense
@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize("case", range(3))
def test_densities(name: str, case: int) -> None:
    rate, removed = CASES[case]
    noise = NOISE[name]
    shifts = ShiftBounds.of(L1(1) if noise.norm == "l1" else L2(1))
    part = Releases(noise=noise, shifts=shifts, compositions=2, sampling_rate=Fraction(rate))
    epsilon = Fraction("0.2")
    if rate == "1":
        interval = prove_composed((part,), epsilon).interval
        low, high = interval.lower, interval.upper
    else:
        below = composed_lower(
            make_lower_parts((part,), points_per_std=64, removed=removed), epsilon
        )
        above = composed_upper(
            make_upper_parts((part,), points_per_std=64, removed=removed), epsilon
        )
        low, high = float_below(below), float_above(above)
    with mp.workdps(30):
        exact = mpf(DELTAS[name][case])
        assert low <= exact <= high
        assert high - low <= 0.02 * exact


@pytest.mark.slow
@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize("case", range(3))
def test_the_integrals_are_those(name: str, case: int) -> None:
    rate, removed = CASES[case]
    with mp.workdps(50):
        again = exact_of_two(name, rate=rate, removed=removed)
        assert abs(again - mpf(DELTAS[name][case])) <= mpf(10) ** -29 * again


@pytest.mark.parametrize("count", [1, 2])
def test_the_routes_agree_with_each_other(count: int) -> None:
    """Steps as a density on the line and as shells, and a Gaussian by its formula."""
    with mp.workdps(30):
        item = direct.masses_of_lattice((5, 3, 1), 1)
        cells_wide = direct.masses_of_steps(cells((5, 3, 1), "1"))
        results = [direct.delta_of_masses([(law, count)], "0.3") for law in (item, cells_wide)]
        assert abs(results[0] - results[1]) < mpf(10) ** -28
        mu = mp.sqrt(2)
        closed = mp.ncdf(mu / 2 - mpf("0.2") / mu) - mp.exp(mpf("0.2")) * mp.ncdf(
            -mu / 2 - mpf("0.2") / mu
        )
        assert abs(closed - mpf(DELTAS["gaussian"][0])) < mpf(10) ** -27
