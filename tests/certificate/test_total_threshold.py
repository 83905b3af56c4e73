"""Groups published by the total of a tree: the theorem in exact fractions, the certificate's δ.

The noise of the theorem's check is on two cells below a root, P(z) ∝ 2^−(|z₁| + |z₂| + |z₁ + z₂|).
A row moves one cell and the root, so that r rows cost r·ln 4, and e^ε is a whole number.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.unlisted import ThresholdCertificate, find_threshold
from leastnoise.errors import CertificateRejected, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.guarantees.units import RowCounts
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws

Cells = tuple[int, int]
Classes = dict[Fraction | None, tuple[Fraction, Fraction]]
_WINDOW = 14
_NONE: Cells = (0, 0)
# Σ_t 4^−|t| (|t| + 5/3), as 2^−|a| and 2^−|b| with a + b = t add up to 2^−|t| (|t| + 5/3)
_WHOLE = Fraction(5, 3) * Fraction(5, 3) + 2 * Fraction(4, 9)


def mass(z: Cells) -> Fraction:
    return Fraction(1, 2 ** (abs(z[0]) + abs(z[1]) + abs(z[0] + z[1]))) / _WHOLE


def shown(rows: int, threshold: int) -> Fraction:
    """P(rows + Z >= threshold) for the sum Z of both cells, exactly."""

    def at_least(t: int) -> Fraction:  # t > 0: Σ_{u >= t} 4^−u (u + 5/3)
        return Fraction(4, 3) / 4**t * (t + Fraction(5, 3) + Fraction(1, 3)) / _WHOLE

    t = threshold - rows
    return at_least(t) if t > 0 else 1 - at_least(1 - t)


def test_the_law_of_the_total_is_exact() -> None:
    points = list(itertools.product(range(-40, 41), repeat=2))
    assert 1 - sum(map(mass, points)) < Fraction(1, 10**9)
    for t in (-3, 0, 1, 4):
        total = sum((mass(z) for z in points if sum(z) >= t), Fraction(0))
        assert 0 <= shown(0, t) - total < Fraction(1, 10**9)


@cache
def classes(first: Cells, second: Cells, threshold: int) -> Classes:
    """The summed masses p, q of a group's outputs given `first` and `second`, by the ratio p/q.

    Outputs far from both counts are left out, so that sums over classes are lower bounds.
    """
    results: Classes = {}

    def add(p: Fraction, q: Fraction) -> None:
        if p or q:
            ratio = p / q if q else None
            before = results.get(ratio, (Fraction(0), Fraction(0)))
            results[ratio] = before[0] + p, before[1] + q

    silent = [1 - shown(sum(v), threshold) if v != _NONE else Fraction(1) for v in (first, second)]
    add(*silent)
    for w in itertools.product(range(-_WINDOW, _WINDOW + 1), repeat=2):
        if sum(w) >= threshold:
            both = [
                mass((w[0] - v[0], w[1] - v[1])) if v != _NONE else Fraction(0)
                for v in (first, second)
            ]
            add(*both)
    return results


def gap(pairs: list[tuple[Cells, Cells]], threshold: int, factor: int) -> Fraction:
    """Σ (P − e^ε·Q)₊ of groups that are published independently."""
    joint = [(Fraction(1), Fraction(1))]
    for first, second in pairs:
        each = classes(first, second, threshold).values()
        joint = [(p * a, q * b) for p, q in joint for a, b in each]
    return sum((max(p - factor * q, Fraction(0)) for p, q in joint), Fraction(0))


def largest_gap(threshold: int, *, groups: int, per_group: int, rows: int) -> Fraction:
    """The largest δ(ε) at ε = rows·ln 4 of all tables of a few rows and their neighbours."""
    added = [x for x in itertools.product(range(per_group + 1), repeat=2) if sum(x) <= per_group]
    others = [_NONE, (1, 0), (2, 1)]
    moves = [(v, (v[0] + x[0], v[1] + x[1]), sum(x)) for v in others for x in added if sum(x)]
    largest = Fraction(0)
    for count in range(1, groups + 1):
        for chosen in itertools.combinations_with_replacement(moves, count):
            if sum(cost for _, _, cost in chosen) > rows:
                continue
            pairs = [(with_unit, without) for without, with_unit, _ in chosen]
            for both in (pairs, [(b, a) for a, b in pairs]):
                largest = max(largest, gap(both, threshold, 4**rows))
    return largest


def stated(threshold: int, *, groups: int, per_group: int, rows: int) -> Fraction:
    """The largest 1 − ∏(1 − p(r_i)) of k groups with r_i <= m rows each, and R rows in all."""
    counts = itertools.product(range(per_group + 1), repeat=groups)
    kept = [chosen for chosen in counts if sum(chosen) <= rows]
    silent = [
        math.prod((1 - shown(r, threshold) for r in chosen if r), start=Fraction(1))
        for chosen in kept
    ]
    return 1 - min(silent)


@pytest.mark.grid
@pytest.mark.parametrize("threshold", [-1, 2, 6])
@pytest.mark.parametrize(
    "limits",
    [
        {"groups": 1, "per_group": 1, "rows": 1},
        {"groups": 1, "per_group": 2, "rows": 2},
        {"groups": 2, "per_group": 1, "rows": 2},
        {"groups": 2, "per_group": 2, "rows": 2},  # a limit on all rows of a unit
        {"groups": 2, "per_group": 2, "rows": 4},
    ],
    ids=str,
)
def test_the_theorem_in_exact_fractions(threshold: int, limits: dict[str, int]) -> None:
    largest, bound = largest_gap(threshold, **limits), stated(threshold, **limits)
    assert largest <= bound
    assert largest >= bound - Fraction(1, 10**5)  # and it is met: all groups are new
    if limits["groups"] < limits["rows"] == limits["groups"] * limits["per_group"]:
        # Trap: the chance of one row in place of all
        assert largest > 1 - (1 - shown(1, threshold)) ** limits["groups"]


def test_silence_about_a_group_may_cost_more_than_its_rows() -> None:
    """No condition on −ln(1 − p(r)) is needed: where it is above r·ln 4, δ covers it as well."""
    assert 1 - shown(1, -1) < Fraction(1, 4)
    silent = [(_NONE, (1, 0))]  # P is the law without the unit
    assert 0 < gap(silent, -1, 4) <= stated(-1, groups=1, per_group=1, rows=1)


# The certificate, whose noise is on real trees.


def prove_case(neighbours: Neighbours = "add-remove", *, rows: int = 2, groups: int = 3) -> Any:
    halved = Fraction(1, 2) if neighbours == "replace-one" else Fraction(1)
    noise = Agreeing(
        scale=Fraction(rows * groups) / halved,
        branches=(4, 5),
        shares=("0.1", "0.4", "0.5"),
    )
    certificate = Certificate.prove(
        budget=Budget(epsilon=halved, delta=0),
        noise=noise,
        sensitivity=RowCounts(rows, neighbours="add-remove"),
        compositions=groups,
    )
    return find_threshold(
        budget=Budget(epsilon=1, delta="1e-6"),
        noise=certificate.about("add-remove").on_grid(1),
        reach=Fraction(rows),
        coordinate=None,
        neighbours=neighbours,
        most=10**6,
    )


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_delta_by_a_second_computation(neighbours: Neighbours) -> None:
    """The law of the total by Fourier transforms, and δ = 1 − (1 − p)^k from its definition."""
    claim = prove_case(neighbours)
    (law, *_) = level_laws(claim.noise.noise)
    masses = law.probabilities

    def second(threshold: Fraction, chance: Fraction) -> float:
        first = int(threshold - claim.reach)
        alone = masses[first:].sum() + float(chance) * masses[first - 1]
        delta = -math.expm1(claim.groups * math.log1p(-alone))
        return delta * (1 + math.exp(0.5)) if neighbours == "replace-one" else delta

    assert claim.verify().upper <= 1e-6
    assert second(claim.threshold, claim.chance_below) == pytest.approx(1e-6, rel=1e-4)
    more = claim.chance_below + Fraction(1, 2**20)
    assert second(claim.threshold, more) > 1e-6 * (1 - 1e-8)
    assert second(claim.threshold - 1, Fraction(0)) > 1e-6


@pytest.mark.parametrize(
    "edit",
    [
        {"threshold": Fraction(20)},
        {"chance_below": 1 - Fraction(1, 2**20)},
        {"reach": Fraction(3)},
        {"coordinate": 0},
        {"budget": Budget(epsilon=1, delta="1e-7")},
        {"budget": Budget(epsilon="0.9", delta="1e-6")},
        {"neighbours": "replace-one"},
    ],
    ids=str,
)
def test_what_is_false_is_rejected(edit: dict[str, Any]) -> None:
    claim = prove_case()
    assert ThresholdCertificate.from_json(claim.to_json()) == claim
    with pytest.raises(CertificateRejected):
        replace(claim, **edit).verify()


@pytest.mark.parametrize("grid", [2, 4, 64])
def test_a_total_of_rounded_numbers_is_rejected(grid: int) -> None:
    """Rounding each number moves the total by up to half a step for each, which no tail covers."""
    claim = prove_case()
    rounded = replace(claim, noise=claim.noise.on_grid(grid), threshold=claim.threshold + 64)
    with pytest.raises(CertificateRejected, match="none is rounded"):
        rounded.verify()
    finer = replace(claim, noise=claim.noise.on_grid("1/2"), threshold=claim.threshold + 1)
    assert finer.verify().upper <= 1e-6


def test_a_noise_without_a_known_total_is_refused() -> None:
    wide = prove_case().noise.noise.scaled(10**5)
    noise = Certificate.prove(
        budget=Budget(epsilon="1e-5", delta=0),
        noise=wide,
        sensitivity=RowCounts(2, neighbours="add-remove"),
        compositions=3,
    )
    claim = replace(prove_case(), noise=noise.about("add-remove").on_grid(1))
    with pytest.raises(NotCertified, match="raise epsilon"):
        claim.prove()
