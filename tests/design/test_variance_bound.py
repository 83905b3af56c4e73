"""The bound on the variance of one number: its proof, a linear program, noise that attains it."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import block_array, diags_array, eye_array, kron, vstack

import leastnoise as ln
from leastnoise.balls.core import ball, float_below, precision
from leastnoise.design.bounds.variance_bound import least_variance
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from tests.grids import thin

EPSILONS = ("0.1", "0.3", "1", "3", "8")
DELTAS = ("1e-12", "1e-8", "1e-5", "1e-3", "1e-2", "0.1")
OFFSETS = np.linspace(-0.5, 0.5, 41)  # of the points of a law from its centre


def prove_case(epsilon: object, delta: object) -> float:
    with precision():
        return float_below(least_variance(Budget(epsilon=str(epsilon), delta=str(delta))))


def truncated(epsilon: str, size: int) -> tuple[mp.mpf, mp.mpf]:
    """Return δ and the variance of noise ∝ e^(−ε|i|) on the `size` integers nearest to ¼.

    The noise is reflected with probability ½, and has the mean 0.
    """
    c = mp.exp(mp.mpf(epsilon))
    places = range((1 - size) // 2 + (size % 2 == 0), size // 2 + 1)
    whole = sum(c ** -abs(i) for i in places)
    law = {i: c ** -abs(i) / whole for i in places}
    mean = sum(i * mass for i, mass in law.items())
    beyond = sum(
        max(law.get(i, 0) - c * law.get(i + direction, 0), 0)
        for direction in (1, -1)
        for i in range(-size, size + 1)
    )
    square = sum((i - mean) ** 2 * mass for i, mass in law.items())
    return mp.mpf(beyond / 2), mp.mpf(square)


def program(epsilon: float, delta: float, reach: int) -> float:
    """Return in floats the least E X² of mixtures of laws on −reach … reach, moved by `OFFSETS`.

    The optimum is one law for all shifts of 1, so that no bound may be above it. Masses are in
    units of q^|k|, as tails are below the solver's tolerances.
    """
    places, c = np.arange(-reach, reach + 1), math.exp(epsilon)
    size, steps = len(places), np.arange(len(places) + 1)
    unit, edge = c ** -np.abs(places), c ** -np.abs(steps - reach - 0.5)
    left, right = eye_array(size + 1, size, k=-1), eye_array(size + 1, size)  # p_{k−1}, p_k
    count, over = len(OFFSETS), len(OFFSETS) * (size + 1)
    gaps = [
        kron(eye_array(count), diags_array(1 / edge) @ item @ diags_array(unit))
        for item in (left - c * right, right - c * left)
    ]
    spent = np.tile(edge, count)[None] / delta
    rows = vstack([
        block_array([[gaps[0], -eye_array(over), None], [gaps[1], None, -eye_array(over)]]),
        np.block([
            [np.zeros((1, count * size)), spent, 0 * spent],
            [np.zeros((1, count * size)), 0 * spent, spent],
        ]),
    ])  # fmt: skip
    squares = (places - OFFSETS[:, None]) ** 2 * unit
    solution = linprog(
        np.concatenate([squares.ravel(), np.zeros(2 * over)]),
        A_ub=rows.tocsr(),
        b_ub=np.concatenate([np.zeros(2 * over), np.ones(2)]),
        A_eq=np.concatenate([np.tile(unit, count), np.zeros(2 * over)])[None],
        b_eq=[1],
    )
    return float(solution.fun)


@pytest.mark.parametrize(
    ("epsilon", "delta", "reach"),
    thin([("1", "1e-8", 24), ("1", "1e-5", 16), ("1", "1e-2", 8), ("0.3", "1e-2", 16),
     ("4", "1e-2", 4), ("1", "0.1", 6), ("1", "0.5", 4), ("2", "0.9", 4)], 4),
)  # fmt: skip
def test_the_linear_program(epsilon: str, delta: str, reach: int) -> None:
    """It has these offsets alone, which costs it 2e-4 at most, and less the more there are."""
    excess = program(float(epsilon), float(delta), reach) / prove_case(epsilon, delta) - 1
    assert -1e-6 <= excess <= 5e-4  # the solver's tolerances are 1e-7


@pytest.mark.grid
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("0", "0.1"), ("0", "0.5"), ("0.1", "1e-3"), ("0.1", "0.1"), ("1", "1e-8"), ("1", "1e-3"),
     ("1", "0.1"), ("1", "0.5"), ("8", "1e-8"), ("8", "1e-3"), ("8", "0.5")],
)  # fmt: skip
def test_the_multipliers_of_the_proof(epsilon: str, delta: str) -> None:
    """The best u by trial, D(u) by trial, and each step of the proof at each offset."""
    loss, spent = max(float(epsilon), 1e-9), float(delta)  # ε = 0 is the limit
    c, q = math.exp(loss), math.exp(-loss)
    ratio = (c - 1 + 2 * spent) / (c + 1)
    reach = 3 + int(math.log(ratio / spent) / loss)
    places, offsets = np.arange(-reach, reach + 1), np.linspace(-0.5, 0.5, 401)
    squares = (places - offsets[:, None]) ** 2
    caps = np.linspace(0.5, reach - 1, 2000) ** 2
    most = [(np.maximum(cap - squares, 0) @ q ** np.abs(places)).max() for cap in caps]
    best = int(np.argmax(values := caps - ratio * np.array(most)))
    assert values[best] == pytest.approx(prove_case(epsilon, delta), rel=2e-4)
    cap, half = caps[best], (c - 1) / (c + 1)
    z = cap - half * most[best]
    price = most[best] / (c + 1)  # (u − z)/(e^ε − 1)
    assert z - 2 * spent * price == pytest.approx(values[best])
    at_zero = squares[:, reach].copy()
    for direction in (1, -1):
        beyond = np.full(len(offsets), price)  # λ_reach, where all further squares are above u
        for k in range(reach, 0, -1):
            nearer = q * (np.minimum(squares[:, reach + direction * k], cap) - z + beyond)
            # the coefficient of p_k, and 0 <= λ <= y
            assert (squares[:, reach + direction * k] - z >= c * nearer - beyond - 1e-9 * cap).all()
            beyond = nearer
            assert (beyond >= -1e-9 * cap).all()
            assert (beyond <= price * (1 + 1e-9)).all()
        at_zero += beyond
    assert (at_zero >= z - 1e-9 * cap).all()


@pytest.mark.grid
@pytest.mark.parametrize("epsilon", ["0", *EPSILONS])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 11, 12])
@pytest.mark.parametrize("part", ["0", "0.3", "1"])
def test_the_noise_that_has_it(epsilon: str, size: int, part: str) -> None:
    """Truncated geometric noise and its mixtures: no bound for real noise is above."""
    with mp.workdps(60):
        (delta, square), (less, wider) = (truncated(epsilon, size + i) for i in (0, 1))
        delta, square = (
            mp.nstr(mp.mpf(part) * item + (1 - mp.mpf(part)) * other, 50)
            for item, other in ((delta, less), (square, wider))
        )
    if mp.mpf(delta) < 1:  # one point alone is no noise
        with precision(200):
            bound = least_variance(Budget(epsilon=epsilon, delta=Fraction(delta)))
            distance = abs(bound / ball(Fraction(square)) - 1)
            assert distance < ball(Fraction(1, 10**30 if epsilon != "0" else 10**11))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_above_what_was_proved_before_and_falling_in_delta(epsilon: str) -> None:
    pure, half = prove_case(epsilon, 0), math.sinh(float(epsilon) / 2) ** 2
    before = pure
    for delta in DELTAS:
        interval, least = prove_case(epsilon, delta), float(delta)
        assert (1 - least) / (4 * (half + least)) < interval < before
        before = interval
    assert prove_case(epsilon, "1e-40") == pytest.approx(pure, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.2", "0.05"), ("1", "1e-5"), ("4", "1e-3")])
def test_below_noise_that_there_is(epsilon: str, delta: str) -> None:
    families = {
        "discrete-staircase": Integer(1), "geometric": Integer(1), "truncated-staircase": L1(1),
        "truncated-laplace": L1(1), "tulap": L1(1), "gaussian": L2(1),
    }  # fmt: skip
    for name, sensitivity in families.items():
        drawn = ln.calibrate(name, epsilon=epsilon, delta=delta, sensitivity=sensitivity)
        assert prove_case(epsilon, delta) <= drawn.noise.variance * (1 + 1e-9), name


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        ("0", "1e-200"),
        ("1e-300", "1e-10"),
        ("1e-9", "0.999"),
        ("100000", "1e-10"),
        ("100000", "0.5"),
        ("1e-3", "1e-300"),
    ],
)
def test_precise_wherever_a_budget_may_be(epsilon: str, delta: str) -> None:
    with precision():
        bound = least_variance(Budget(epsilon=epsilon, delta=delta))
        assert bound > 0
        assert bound.rad() < bound * ball(Fraction(1, 10**20))
