"""δ(ε) of steps on the whole numbers, against sums over the lattice and convolutions."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, NotApplicable, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Integer, ShiftBounds
from leastnoise.noise.lattice.law import DiscreteStaircase
from leastnoise.noise.question import Releases
from leastnoise.noise.steps.law import Geometric
from tests import whole_steps

LAWS = [
    Geometric(scale=1, cells=1, core=1, decay="0.5"),
    Geometric(scale=4, cells=4, core=2, decay="0.9"),
    Geometric(scale=5, cells=5, core=5, decay="0.5"),
    Geometric(scale=3, cells=3, core=1, decay="6"),
    Geometric(scale="1.5", cells=3, core=2, decay="1.1"),  # on halves of whole numbers
]
ROUNDING = 1e-28  # of sums that are 0
TIGHT = 1e-8  # relative: intervals of several releases; 4.3e-9 was met
EPSILONS = ["0", "0.2", "0.5", "0.9", "1.3", "6"]


@pytest.mark.dense
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.cells}-{law.core}")
@pytest.mark.parametrize("bound", [1, 3, 5, 11])
def test_delta_is_the_largest_sum_over_the_lattice(law: Geometric, bound: int) -> None:
    stride = int(law.cells / law.scale)
    for epsilon in EPSILONS:
        interval = prove_delta(law, Integer(bound), Fraction(epsilon)).interval
        with mp.workdps(30):
            first, largest = (
                float(whole_steps.delta(law, stride * v, mp.mpf(epsilon))) for v in (1, bound)
            )
        assert first <= largest * (1 + 1e-12) + ROUNDING
        assert interval.lower <= largest * (1 + 1e-15)
        assert interval.upper >= largest * (1 - 1e-15) - ROUNDING
        assert interval.upper - interval.lower <= 1e-15 * interval.upper


def test_purely_private_where_no_shift_passes_so_many_steps() -> None:
    for law in LAWS[:4]:
        for steps in (1, 2, 3):
            exactly = prove_delta(law, Integer(law.cells * steps), law.decay * steps)
            assert exactly.interval.upper == 0
            beyond = prove_delta(law, Integer(law.cells * steps + 1), law.decay * steps)
            assert beyond.interval.lower > 0


def test_between_the_lattice_points_there_is_no_privacy() -> None:
    even = Geometric(scale=2, cells=1, core=1, decay=1)
    assert prove_delta(even, Integer(1), Fraction(9)).interval.lower == 1
    part = Releases(noise=even, shifts=ShiftBounds.of(Integer(1)), compositions=3)
    assert Composition(parts=(part,)).delta(epsilon=9).lower > 1 - 1e-9


def test_needs_a_query_of_whole_numbers() -> None:
    with pytest.raises(NotApplicable, match="whole numbers"):
        prove_delta(LAWS[0], L2(1), Fraction(1))


def test_the_same_as_discrete_staircase_where_that_is_cut_off_far_out() -> None:
    """Another proof, of whole-number sums, of nearly the same law."""
    law = LAWS[1]
    with mp.workdps(40):
        masses = tuple(int(whole_steps.weight(law, k) * 2**100) for k in range(300))
    cut = DiscreteStaircase(scale=4, cells=4, masses=masses)
    for epsilon in EPSILONS[:4]:
        ours = prove_delta(law, Integer(3), Fraction(epsilon)).interval
        theirs = prove_delta(cut, Integer(3), Fraction(epsilon)).interval
        assert ours.upper == pytest.approx(theirs.upper, rel=1e-12, abs=1e-20)


def _convolved(law: Geometric, shift: int, releases: int, epsilon: Any) -> Any:
    """Return δ(ε) of several releases, by sums over losses, which are multiples of the decay.

    Each output's loss is computed from the masses; outputs of equal loss are merged.
    """
    far = whole_steps.last(law) - shift
    decay = mp.mpf(law.decay.numerator) / law.decay.denominator
    record: dict[int, Any] = {}
    for k in range(-far, far + 1):
        here, there = whole_steps.chance(law, k), whole_steps.chance(law, k - shift)
        loss = round(float(mp.log(here / there) / decay))
        record[loss] = record.get(loss, mp.mpf(0)) + here
    results = {0: mp.mpf(1)}
    for _ in range(releases):
        wider: dict[int, Any] = {}
        for a, p in results.items():
            for b, q in record.items():
                wider[a + b] = wider.get(a + b, mp.mpf(0)) + p * q
        results = wider
    return mp.fsum(p * max(mp.mpf(0), 1 - mp.exp(epsilon - decay * z)) for z, p in results.items())


@pytest.mark.grid
@pytest.mark.parametrize("law", LAWS[:4], ids=lambda law: f"{law.cells}-{law.core}")
@pytest.mark.parametrize(("bound", "releases"), [(1, 2), (3, 3), (4, 5)])
def test_several_releases_are_convolutions(law: Geometric, bound: int, releases: int) -> None:
    part = Releases(noise=law, shifts=ShiftBounds.of(Integer(bound)), compositions=releases)
    for epsilon in ("0", "0.7", "2"):
        interval = Composition(parts=(part,)).delta(epsilon=epsilon)
        with mp.workdps(30):
            exact = float(_convolved(law, bound, releases, mp.mpf(epsilon)))
        assert interval.lower <= exact * (1 + 1e-14)
        assert interval.upper >= exact * (1 - 1e-14)
        assert interval.upper - interval.lower <= TIGHT * exact + 1e-14


def _certificate() -> Certificate:
    return Certificate.prove(
        budget=Budget(epsilon="0.9", delta=0), noise=LAWS[1], sensitivity=Integer(4)
    )


def test_a_certificate_is_proved_again_from_its_fields() -> None:
    read = Certificate.from_json(_certificate().to_json())
    assert read.verify().upper == 0
    assert read.noise == LAWS[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("cells", 3), ("cells", 5), ("cells", 4.0), ("cells", "4"), ("cells", 2**60), ("core", 5),
     ("core", 0), ("core", True), ("decay", "0.9000001"), ("decay", "0"), ("scale", "3"),
     ("scale", "4.5"), ("scale", "2")],
)  # fmt: skip
def test_a_false_certificate_is_rejected(name: str, value: Any) -> None:
    record = json.loads(_certificate().to_json())
    record["noise"]["parameters"][name] = value
    with pytest.raises(CertificateRejected):
        Certificate.from_json(json.dumps(record)).verify()


@pytest.mark.parametrize(
    "edit", [{"kind": "l2"}, {"bound": "5"}, {"kind": "l1"}, {"kind": "linf", "l0": 1}]
)
def test_a_certificate_of_other_shifts_is_rejected(edit: dict[str, Any]) -> None:
    record = json.loads(_certificate().to_json())
    record["sensitivity"] |= edit
    with pytest.raises(CertificateRejected):
        Certificate.from_json(json.dumps(record)).verify()


def test_a_smaller_epsilon_is_not_proved() -> None:
    with pytest.raises(NotCertified):
        Certificate.prove(
            budget=Budget(epsilon="0.8999", delta=0), noise=LAWS[1], sensitivity=Integer(4)
        )


@pytest.mark.parametrize("rate", ["0.1", "0.7"])
def test_of_poisson_samples(rate: str) -> None:
    """A record removed: rate·δ of the whole data at ln(1 + (e^ε − 1)/rate)."""
    law, epsilon = LAWS[1], mp.mpf("0.05")
    part = Releases(
        noise=law,
        shifts=ShiftBounds.of(Integer(3)),
        sampling_rate=Fraction(rate),
        neighbours="add-remove",
    )
    interval = Composition(parts=(part,)).delta(epsilon="0.05")
    with mp.workdps(30):
        q = mp.mpf(rate)
        exact = float(q * whole_steps.delta(law, 3, mp.log1p(mp.expm1(epsilon) / q)))
    assert interval.lower <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-12) <= interval.upper <= exact * (1 + 1e-3)
