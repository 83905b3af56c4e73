"""The sensitivity of sums of cells, which states the sums: radii, records, refusals."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.certificate.records import read_record, write_record
from leastnoise.errors import CertificateRejected, InvalidArgument, NotCertified
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours, Sensitivity
from leastnoise.guarantees.strategy import (
    BITS,
    STRATEGY_NORMS,
    StrategyMatrix,
    StrategyNorm,
    SumsOfCells,
)

RANDOM = np.random.default_rng(3)
STRATEGIES = [
    np.array([[0.5, 0, 0.25], [0, 0.5, -0.75], [0.5, 0.5, 0]]),
    RANDOM.uniform(-1, 1, size=(4, 3)),
    np.array([[0.0, 1.0]]),
]


def shifts(strategy: StrategyMatrix, neighbours: Neighbours, rows: int) -> list[list[Fraction]]:
    """What one unit of so many rows moves A x by, at all corners."""
    cells = strategy.numerators.shape[1]
    counts = [
        count for count in itertools.product(range(rows + 1), repeat=cells) if sum(count) <= rows
    ]
    pairs = itertools.product(counts, counts) if neighbours == "replace-one" else ()
    moved = [*counts, *(tuple(np.subtract(item, other)) for item, other in pairs)]
    return [strategy.image([Fraction(int(number)) for number in item]) for item in moved]


@pytest.mark.parametrize("matrix", STRATEGIES)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("norm", STRATEGY_NORMS)
def test_the_radius_is_the_longest_shift(
    matrix: Any, neighbours: Neighbours, rows: int, norm: StrategyNorm
) -> None:
    strategy = StrategyMatrix.within(matrix)
    sums = SumsOfCells.of(strategy, norm, neighbours, rows)
    radius = sums.radius(norm, dimension=len(matrix))
    assert radius == sums.bound
    assert sums.stated_neighbours == neighbours
    assert sums.coordinates == len(matrix)
    assert sums.radius(norm, dimension=len(matrix) + 1) is None
    order = 1 if norm == "l1" else 2
    longest = max(
        sum(abs(number) ** order for number in shift)
        for shift in shifts(strategy, neighbours, rows)
    )
    if norm == "l1":
        assert radius == longest
    else:
        assert longest <= radius**2 <= longest * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("matrix", STRATEGIES)
def test_it_is_written_and_read_back(matrix: Any) -> None:
    sums = SumsOfCells.of(StrategyMatrix.within(matrix), "l2", "replace-one", 7)
    record = json.loads(json.dumps(write_record(sums)))
    assert read_record(record, Sensitivity, where="sensitivity") == sums
    assert np.array_equal(sums.strategy.numerators, StrategyMatrix.within(matrix).numerators)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        "1 2",
        [""],
        ["1 2", "3"],
        ["1  2"],
        [" 1 2"],
        ["1 2 "],
        ["-0 1"],
        ["01 1"],
        ["+1 1"],
        ["1.0 1"],
        ["1e3 1"],
        ["١ 1"],
        ["1\t2"],
        ["1 2\n"],
        [f"{2**BITS + 1} 0"],
        [f"{-(2**BITS) - 1} 0"],
        ["1" * 9 + " 0"],
        ["0 0", "0 0"],
        [1, 2],
    ],
)
def test_other_rows_are_refused(rows: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"rows|numerators"):
        SumsOfCells(rows=rows, norm="l1")


@pytest.mark.parametrize(
    "change", [{"norm": "integer"}, {"neighbours": "x"}, {"max_rows": 0}, {"max_rows": "1"}]
)
def test_other_values_are_refused(change: Any) -> None:
    with pytest.raises(InvalidArgument):
        SumsOfCells(**{"rows": ["1 2"], "norm": "l1"} | change)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda c: c["sensitivity"]["rows"].__setitem__(2, "8388608 8388609"), "claims|delta"),
        (lambda c: c["sensitivity"]["rows"].pop(), None),
        (lambda c: c["sensitivity"].update(max_rows=2), "claims|delta"),
        (lambda c: c["sensitivity"].update(max_rows=True), "int"),
        (lambda c: c["sensitivity"].update(norm="l2"), None),
        (lambda c: c["sensitivity"].update(bound="1"), "unknown field"),
        (lambda c: c["sensitivity"].pop("max_rows"), "missing field"),
        (lambda c: c["sensitivity"].update(rows="8388608 0"), "list"),
        (lambda c: c["sensitivity"]["rows"].__setitem__(0, 8388608), "str"),
        (lambda c: c["noise"]["parameters"].update(scale="0x1.fff0000000000p-1"), "claims|delta"),
    ],
)
def test_a_certificate_with_less_noise_than_its_strategy_asks_for_is_rejected(
    change: Any, text: str | None
) -> None:
    strategy = StrategyMatrix.within(np.array([[0.5, 0], [0, 0.5], [0.5, 0.5]]))
    sums = SumsOfCells.of(strategy, "l1", "add-remove", 1)
    noise = ln.noise.Laplace(scale=1, dimension=3)
    certificate = ln.Certificate.prove(budget=ln.Budget(epsilon=1), noise=noise, sensitivity=sums)
    assert ln.Certificate.from_json(certificate.to_json()) == certificate
    record = json.loads(certificate.to_json())
    change(record)
    with pytest.raises((CertificateRejected, InvalidArgument), match=text):
        ln.Certificate.from_json(json.dumps(record)).verify()


def test_noise_for_the_strategy_alone_is_proved() -> None:
    strategy = StrategyMatrix.within(np.array([[0.5, 0], [0, 0.5], [0.5, 0.5]]))
    for neighbours, scale in (("add-remove", 1), ("replace-one", 1)):
        for rows in (1, 4):
            sums = SumsOfCells.of(strategy, "l1", neighbours, rows)  # pyright: ignore
            noise = ln.noise.Laplace(scale=scale * rows, dimension=3)
            ln.Certificate.prove(budget=ln.Budget(epsilon=1), noise=noise, sensitivity=sums)
            less = ln.noise.Laplace(scale=scale * rows * 0.999, dimension=3)
            with pytest.raises(NotCertified):
                ln.Certificate.prove(budget=ln.Budget(epsilon=1), noise=less, sensitivity=sums)
    assert math.isclose(SumsOfCells.of(strategy, "l2", "replace-one", 4).bound, 4 / math.sqrt(2))


def test_more_numbers_than_a_search_may_have_are_refused_before_they_are_read() -> None:
    rows = [["1" + " 1" * 1000], ["1 " * 400_000 + "1"], ["1"] * 2049]
    for long in rows:
        with pytest.raises(InvalidArgument, match="rows"):
            SumsOfCells(rows=long, norm="l1", neighbours="replace-one")
    with pytest.raises(InvalidArgument, match="1,000 columns"):
        StrategyMatrix(numerators=np.ones((1, 1001), dtype=np.int64))
    assert SumsOfCells(rows=["1" + " 1" * 999], norm="l1").coordinates == 1
