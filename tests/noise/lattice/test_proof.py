"""Proofs for laws with whole-number weights: by hand, and for whole-number queries."""

from __future__ import annotations

import json
from fractions import Fraction

import mpmath as mp
import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.balls.core import precision
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.lattice.law import DiscreteStaircase, Optimal
from leastnoise.noise.lattice.proof import delta_ball
from tests.grids import thin

LAW = DiscreteStaircase(scale=1, cells=1, masses=(4, 2, 1))


def test_by_hand() -> None:
    """Weights 1 2 4 2 1 of 10 shifted by 1 at ε = 0: gaps 1 1 2 0 0; at ε = ln 2 only the first."""
    assert prove_delta(LAW, Integer(1), Fraction(0)).interval.contains(Fraction(4, 10))
    almost = prove_delta(LAW, Integer(1), Fraction(7, 10)).interval  # ln 2 = 0.6931…
    assert almost.contains(Fraction(1, 10))
    with mp.workdps(30):
        exact = (1 + (2 - mp.exp("0.5")) + (4 - 2 * mp.exp("0.5"))) / 10
    interval = prove_delta(LAW, Integer(1), Fraction(1, 2)).interval
    assert interval.lower <= float(exact) <= interval.upper
    assert prove_delta(LAW, Integer(5), Fraction(3)).interval.lower == 1


def _tail_masses(kind: str) -> tuple[int, ...]:
    """Decreasing masses of a kind: powers of e^−½ with errors, powers of two, or equal ones."""
    with mp.workdps(90):
        steps = [int(mp.floor(2**200 * mp.exp(-mp.mpf(k) / 2))) for k in range(40)]
    masses = {
        "steps": steps,
        "a bit less": [mass - (1 << max(0, mass.bit_length() - 29)) for mass in steps],
        "a bit more": [mass + (1 << max(0, mass.bit_length() - 29)) for mass in steps],
        "powers of two": [1 << (40 - k) for k in range(41)],
        "equal": [7] * 20 + [3] * 5 + [0] * 3,
    }[kind]
    return tuple(masses)


@pytest.mark.grid
@pytest.mark.parametrize("shift", thin([1, 2, 5, 60], 2))
@pytest.mark.parametrize("epsilon", ["0", "1/2", "0.4999999", "0.693147", "-0.3", "-200", "30"])
@pytest.mark.parametrize("kind", ["steps", "a bit less", "a bit more", "powers of two", "equal"])
def test_places_that_are_ruled_out_add_nothing(kind: str, epsilon: str, shift: int) -> None:
    """The proof looks at some places only; here the whole sum, in more digits."""
    law = DiscreteStaircase(scale=1, cells=1, masses=_tail_masses(kind))
    right = list(law.masses)
    weights = right[:0:-1] + right
    with mp.workdps(300):
        factor = mp.exp(mp.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator)
        moved = [0] * shift + weights
        padded = weights + [0] * shift
        gaps = (max(a - factor * b, mp.mpf(0)) for a, b in zip(padded, moved, strict=True))
        whole = mp.fsum(gaps) / sum(weights)
        with precision(400):
            enclosed = delta_ball(law, shift=Fraction(shift), epsilon=Fraction(epsilon))
            middle, radius = (
                mp.mpf(str(x.str(100, radius=False))) for x in (enclosed, enclosed.rad())
            )
        assert abs(middle - whole) <= radius + mp.mpf(10) ** -90
        assert radius < 1e-90


def test_the_worst_whole_shift_counts_even_if_it_is_not_the_longest() -> None:
    law = DiscreteStaircase(scale=1, cells=1, masses=(4, 0, 4))
    assert prove_delta(law, Integer(2), Fraction(0)).interval.lower == 1


def test_between_the_lattice_points_there_is_no_privacy() -> None:
    law = DiscreteStaircase(scale=2, cells=1, masses=(4, 2, 1))  # on the even numbers
    assert prove_delta(law, Integer(1), Fraction(1)).interval.lower == 1
    fine = DiscreteStaircase(scale=1, cells=2, masses=(4, 4, 2, 2, 1, 1))
    assert prove_delta(fine, Integer(1), Fraction(7, 10)).interval.contains(Fraction(2, 24))


def test_needs_a_query_of_whole_numbers() -> None:
    with pytest.raises(NotApplicable, match="whole numbers"):
        prove_delta(LAW, L2(1), Fraction(1))
    with pytest.raises(InvalidArgument, match="whole"):
        Integer("1.5")
    assert Integer(1).radius("l2", dimension=2) is None


@pytest.mark.parametrize("law", [LAW, Optimal(scale=1, cells=1, masses=(4, 2, 1))])
def test_certificates_hold_their_masses_and_false_ones_are_rejected(
    law: DiscreteStaircase | Optimal,
) -> None:
    budget = Budget(epsilon="0.7", delta="0.1001")
    certificate = Certificate.prove(budget=budget, noise=law, sensitivity=Integer(1))
    read = Certificate.from_json(certificate.to_json())
    assert read == certificate
    read.verify()
    edits = [
        ("masses", [4, 1, 2]),
        ("masses", [4, 2, 1, 1.0]),
        ("masses", ["4", 2, 1]),
        ("masses", 4),
        ("masses", [4, True, 1]),
        ("cells", 2),
        ("scale", "0x1p-1"),
    ]
    for name, value in edits:
        record = json.loads(certificate.to_json())
        record["noise"]["parameters"][name] = value
        with pytest.raises(CertificateRejected):
            Certificate.from_json(json.dumps(record)).verify()
    if isinstance(law, DiscreteStaircase):
        record = json.loads(certificate.to_json())
        record["sensitivity"]["kind"] = "l2"
        with pytest.raises(CertificateRejected):
            Certificate.from_json(json.dumps(record)).verify()


def test_quantiles_are_lattice_points() -> None:
    assert [find_quantile(LAW, p) for p in (0.3, 0.5, 0.8, 0.81, 0.999)] == [0, 1, 1, 2, 2]
