"""Certificates of published keys alone, against all tables of a few units in exact rationals."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.certificate.unlisted import CERTAIN, KeysCertificate, bound_delta
from leastnoise.errors import CertificateRejected, InvalidArgument, NotCertified
from leastnoise.guarantees.budget import Budget


def largest_delta(chances: Sequence[int], epsilon: Fraction, steps: Sequence[int]) -> Fraction:
    """Return the largest Σ (P − e^ε·Q)₊ over all counts; a step is a unit that comes, or goes."""
    with precision(128):
        factor = Fraction(float_above(ball(epsilon).exp()))
    pi = [Fraction(entry, CERTAIN) for entry in (0, *chances)]
    worst = Fraction(0)
    for counts in itertools.combinations_with_replacement(range(len(pi) - 1), len(steps)):
        for order in set(itertools.permutations(counts)):
            pairs = [(pi[n + 1], pi[n]) for n in order]
            pairs = [pair if s > 0 else pair[::-1] for pair, s in zip(pairs, steps, strict=True)]
            total = Fraction(0)
            for kept in itertools.product((0, 1), repeat=len(pairs)):
                p = q = Fraction(1)
                for (item, other), bit in zip(pairs, kept, strict=True):
                    p *= item if bit else 1 - item
                    q *= other if bit else 1 - other
                total += max(p - factor * q, Fraction(0))
            worst = max(worst, total)
    return worst


@pytest.mark.dense
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("rises", [True, False])
def test_no_table_of_units_has_more(groups: int, rises: bool) -> None:
    drawn = random.Random(groups)
    for epsilon in ("0", "0.3", "1", "2.5"):
        for _ in range(4):
            parts = [drawn.choice([1, 30, 300, 700, 999]) for _ in range(4)]
            parts = sorted(parts) if rises else parts
            chances = [CERTAIN * part // 1000 for part in parts] + [CERTAIN]
            fraction = Fraction(bound_delta(chances, groups, Fraction(epsilon), 9))
            ways = [(1,) * m for m in range(1, groups + 1)] + [(-1,) * groups]
            exact = max(largest_delta(chances, Fraction(epsilon), route) for route in ways)
            assert exact <= fraction
            if groups == 1:
                assert fraction <= exact + Fraction(1, 10**12)


def test_it_is_near_what_is_true() -> None:
    chances = [CERTAIN * part // 1000 for part in (1, 4, 12, 34, 90, 220, 500)]
    chances += [CERTAIN - chance for chance in chances[-2::-1]] + [CERTAIN]
    exact = largest_delta(chances, Fraction(2), (1, 1))
    assert exact <= Fraction(bound_delta(chances, 2, Fraction(2), 12)) < Fraction(11, 10) * exact


def test_a_key_of_one_unit_counts_in_full() -> None:
    for groups in (1, 2, 3):
        alone = 1 - (1 - Fraction(1, 2**10)) ** groups
        fraction = Fraction(bound_delta([CERTAIN >> 10, CERTAIN], groups, Fraction(50), 4))
        with precision(128):
            least = Fraction(float_below(ball(alone)))
        assert least <= fraction


def test_replaced_units_have_half_of_it() -> None:
    """Through the table without either: every pair of steps, in exact rationals."""
    chances = [CERTAIN * part // 100 for part in (2, 6, 15, 40, 70, 88, 95, 99)] + [CERTAIN]
    budget = Budget(epsilon=2, delta="0.25")
    proof = KeysCertificate(budget=budget, chances=chances, neighbours="replace-one").prove()
    assert largest_delta(chances, Fraction(2), (1, -1)) <= Fraction(proof.verify().upper)
    with pytest.raises(NotCertified, match="may exceed"):
        KeysCertificate(
            budget=Budget(epsilon=2, delta="0.05"), chances=chances, neighbours="replace-one"
        ).prove()


def prove_case() -> KeysCertificate:
    chances = [CERTAIN * part // 100 for part in (2, 5, 12, 25, 50, 80, 95)] + [CERTAIN]
    return KeysCertificate(
        budget=Budget(epsilon=2, delta="0.1"), chances=chances, groups=2, bits=8
    ).prove()


def test_it_reads_back_and_says_its_chances() -> None:
    proof = prove_case()
    assert KeysCertificate.from_json(proof.to_json()) == proof
    assert [proof.chance(0), proof.chance(5), proof.chance(99)] == [0, Fraction(1, 2), 1]
    assert (proof.first(Fraction(1, 2)), proof.first(Fraction(19, 20))) == (5, 8)
    assert 0 < proof.verify().upper <= 0.1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"delta": "0.04"}, "Not proved"),
        ({"epsilon": "1"}, "Not proved"),
        ({"groups": 3}, "Not proved"),
        ({"groups": 0}, "groups"),
        ({"bits": 15}, "bits"),
        ({"neighbours": "replace-one"}, "Not proved"),
        ({"neighbours": "others"}, "neighbours"),
        ({"chances": [CERTAIN]}, "Not proved"),
        ({"chances": []}, "chances"),
        ({"chances": [1, 2]}, "chances"),
        ({"chances": [-1, CERTAIN]}, "chances"),
        ({"chances": [1.0, CERTAIN]}, "chances"),
        ({"chances": [1] * 2**14 + [CERTAIN]}, "chances"),
        ({"chances": [1] * 2**13 + [CERTAIN], "groups": 256, "bits": 14}, "Too many"),
        ({"chances": [1] * 3 + [CERTAIN], "epsilon": "99999"}, "Too many"),
        (
            {"chances": [0, CERTAIN], "epsilon": "99999", "bits": 0, "neighbours": "replace-one"},
            "Not proved",
        ),
        ({"kind": "certificate"}, "of the kind 'keys-certificate'"),
        ({"assumptions": []}, "other assumptions"),
        ({"more": 1}, "unknown field 'more'"),
    ],
)
def test_a_changed_certificate_is_rejected(change: dict[str, Any], says: str) -> None:
    record = prove_case().to_record() | change
    with pytest.raises(CertificateRejected, match=says):
        KeysCertificate.from_json(json.dumps(record)).verify()


def test_a_table_that_never_publishes_for_certain_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="chances"):
        KeysCertificate(budget=Budget(epsilon=1, delta="1e-5"), chances=(1, CERTAIN - 1))
