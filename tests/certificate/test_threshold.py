"""Certificates of groups that nobody listed, against all tables of a few units."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.unlisted import ThresholdCertificate, find_threshold
from leastnoise.errors import CertificateRejected, NotCertified
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.guarantees.structured import Within
from leastnoise.noise.lattice.law import DiscreteStaircase
from leastnoise.noise.steps.law import Geometric

_SILENT = None
Law = dict[int | None, float]


def masses(noise: DiscreteStaircase | Geometric) -> dict[int, float]:
    places = range(-60, 61)
    return {k: math.exp(float(noise.log_density([[float(k)]])[0])) for k in places}


def row(count: int, noise: dict[int, float], threshold: int, coin: float = 0.0) -> Law:
    """Return the law of what is published of a group with so many units: a number, or nothing."""
    if count == 0:
        return {_SILENT: 1.0}
    results: Law = {_SILENT: 0.0}
    for k, mass in noise.items():
        shown = 1.0 if count + k >= threshold else coin if count + k == threshold - 1 else 0.0
        for value, part in ((count + k, shown), (_SILENT, 1 - shown)):
            if part:
                results[value] = results.get(value, 0.0) + part * mass
    return results


def largest_delta(
    noise: dict[int, float],
    threshold: int,
    *,
    groups: int,
    epsilon: float,
    replaced: bool = False,
    coin: float = 0.0,
) -> float:
    """Return the largest δ(ε) over neighbours: one unit in at most so many groups."""
    counts = [0, 1, 2, threshold - 1, threshold, threshold + 3]
    laws = {n: row(n, noise, threshold, coin) for n in {*counts, *(n + 1 for n in counts)}}
    pairs = [(laws[n + 1], laws[n]) for n in counts]
    pairs += [(q, p) for p, q in pairs] if replaced else []
    most = 2 * groups if replaced else groups
    largest = 0.0
    for chosen in itertools.combinations_with_replacement(pairs, most):
        for sign in (False, True):
            joint = {(1.0, 1.0): 1}
            for p, q in ((b, a) if sign else (a, b) for a, b in chosen):
                values = {*p, *q}
                results: dict[tuple[float, float], int] = {}
                for (item, two), times in joint.items():
                    for value in values:
                        both = (item * p.get(value, 0.0), two * q.get(value, 0.0))
                        results[both] = results.get(both, 0) + times
                joint = results
            gap = sum(t * max(a - math.exp(epsilon) * b, 0.0) for (a, b), t in joint.items())
            largest = max(largest, gap)
    return largest


def proved(noise: Any, budget: Budget, *, groups: int, neighbours: Any) -> Certificate:
    proof = Certificate.prove(
        budget=budget, noise=noise, sensitivity=Integer(1), compositions=groups
    )
    return proof.about(neighbours).on_grid(1)


def least(
    noise: Certificate, budget: Budget, *, neighbours: Any = "add-remove"
) -> tuple[int, float]:
    threshold = find_threshold(
        budget=budget,
        noise=noise,
        reach=Fraction(1),
        coordinate=0,
        neighbours=neighbours,
        most=200,
    )
    with pytest.raises(NotCertified):
        ThresholdCertificate(
            budget=budget, noise=noise, threshold=threshold.threshold - 1, neighbours=neighbours
        ).prove()
    return int(threshold.threshold), float(threshold.chance_below)


_SMALL = DiscreteStaircase(scale=1, cells=1, masses=(16, 8, 4, 2, 1))
_FLAT = DiscreteStaircase(scale=1, cells=1, masses=(5, 4, 3, 2, 1))


@pytest.mark.parametrize("noise", [_SMALL, _FLAT])
@pytest.mark.parametrize(
    ("groups", "epsilon", "delta"),
    [(1, "0.7", "0.06"), (1, "0.7", "0.2"), (2, "1.4", "0.12"), (2, "0.8", "0.4")],
)
def test_no_table_of_a_few_units_needs_more(
    noise: DiscreteStaircase, groups: int, epsilon: str, delta: str
) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    claim = proved(noise, budget, groups=groups, neighbours="add-remove")
    threshold, coin = least(claim, budget)
    known = masses(noise)
    true = largest_delta(known, threshold, groups=groups, epsilon=float(epsilon), coin=coin)
    assert true <= float(delta) * (1 + 1e-9)
    # and where the threshold is one less, a table shows that it has to be refused, or nearly
    less = largest_delta(known, threshold - 1, groups=groups, epsilon=float(epsilon))
    assert less > 0.6 * float(delta)
    if groups == 1:  # nothing is lost: with the coin the statement is tight
        assert coin > 0
        assert true > 0.999 * float(delta)


def test_replaced_units_are_shown_through_the_table_without_either() -> None:
    budget = Budget(epsilon="1.4", delta="0.4")
    half = Budget(epsilon="0.7", delta="0.1")
    claim = proved(_SMALL, half, groups=1, neighbours="add-remove")
    threshold, coin = least(claim, budget, neighbours="replace-one")
    true = largest_delta(masses(_SMALL), threshold, groups=1, epsilon=1.4, replaced=True, coin=coin)
    assert true <= 0.4


@pytest.mark.parametrize(
    ("problem", "grid", "count", "std"),
    [
        (("discrete-staircase", Integer(1), 1, "1e-5"), "1", 12, 1.357),
        (("gaussian", L2(1), 3, "1e-5"), "1", 31, 6.462),
        (("geometric", Integer(1), 3, "0"), "1", 38, 4.224),
        (("gaussian", L2(1), 10, "1e-5"), "1", 58, 11.8),
        (("k-norm", Within(Box(bounds=[1, 1])), 1, "0"), "1/1024", 14, 2.001),
    ],
)
def test_how_many_units_a_group_needs(
    problem: tuple[str, Any, int, str], grid: str, count: int, std: float
) -> None:
    """The table of theory/workloads.md §1 at (1, 1e-5): published with probability ½ from here."""
    family, sensitivity, groups, delta = problem
    more: dict[str, Any] = {} if groups == 1 else {"compositions": groups}
    mechanism = ln.calibrate(family, epsilon=1, delta=delta, sensitivity=sensitivity, **more)
    claim = mechanism.certificate.about("add-remove").on_grid(Fraction(grid))
    budget = Budget(epsilon=1, delta="1e-5")
    assert mechanism.std[0] <= std
    ThresholdCertificate(budget=budget, noise=claim, threshold=Fraction(count)).prove()
    with pytest.raises(NotCertified):
        ThresholdCertificate(budget=budget, noise=claim, threshold=Fraction(count - 1)).prove()


def test_what_is_written_is_read_and_verified_again() -> None:
    budget = Budget(epsilon=1, delta="1e-5")
    mechanism = ln.calibrate("geometric", epsilon=1, sensitivity=Integer(1))
    claim = mechanism.certificate.about("add-remove").on_grid(1)
    proof = ThresholdCertificate(budget=budget, noise=claim, threshold=Fraction(13)).prove()
    again = ThresholdCertificate.from_json(proof.to_json())
    assert again.to_json() == proof.to_json()
    assert again.verify().upper <= 1e-5
    assert (again.groups, again.neighbours) == (1, "add-remove")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"threshold": "12"}, "Not proved: if 1 of a unit.s 1 groups"),
        ({"chance_below": "0.75"}, "Not proved: if 1 of a unit.s 1 groups"),
        ({"chance_below": "1"}, "expected 0 <= chance_below < 1"),
        ({"reach": "2"}, "Not proved: if 1 of a unit.s 1 groups"),
        ({"reach": "0"}, "expected reach > 0"),
        ({"coordinate": 1}, "no such coordinate"),
        ({"delta": "1e-6"}, "Not proved"),
        ({"epsilon": "0.9"}, "Not proved: if 0 of a unit.s 1 groups"),
        ({"neighbours": "replace-one"}, "Not proved"),
        ({"neighbours": "others"}, "neighbours"),
        ({"kind": "certificate"}, "of the kind 'threshold-certificate'"),
        ({"assumptions": []}, "other assumptions"),
        ({"more": 1}, "unknown field 'more'"),
    ],
)
def test_a_changed_certificate_is_rejected(change: dict[str, Any], says: str) -> None:
    mechanism = ln.calibrate("geometric", epsilon=1, sensitivity=Integer(1))
    claim = mechanism.certificate.about("add-remove").on_grid(1)
    proof = ThresholdCertificate(
        budget=Budget(epsilon=1, delta="1e-5"), noise=claim, threshold=Fraction(13)
    ).prove()
    record = proof.to_record() | change
    with pytest.raises(CertificateRejected, match=says):
        ThresholdCertificate.from_json(json.dumps(record)).verify()


def test_who_neighbours_are_has_to_be_said() -> None:
    built = ln.calibrate("geometric", epsilon=1, sensitivity=Integer(1)).certificate.on_grid(1)
    with pytest.raises(NotCertified, match="add-remove neighbours"):
        ThresholdCertificate(
            budget=Budget(epsilon=1, delta="1e-5"), noise=built, threshold=Fraction(13)
        ).prove()


def test_a_coarse_grid_counts_what_is_rounded_up_to_the_threshold() -> None:
    claim = Certificate.prove(
        budget=Budget(epsilon="0.7", delta="0.2"), noise=_SMALL, sensitivity=Integer(1)
    ).about("add-remove")
    proof = ThresholdCertificate(budget=claim.budget, noise=claim.on_grid(2), threshold=Fraction(4))
    known = masses(_SMALL)
    alone = sum(mass for k, mass in known.items() if 2 * math.floor((1 + k) / 2 + 0.5) >= 4)
    assert float(proof.chance_alone().mid()) == pytest.approx(alone, rel=1e-12)
