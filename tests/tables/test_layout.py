"""Layouts: dimension, clip and bits, against brute force over every way to spread the rows."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.errors import SpecError
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Linf
from leastnoise.tables import spec_file
from leastnoise.tables.layout import Layout, of_block


def layout(
    statistics: list[str], *, keys: int = 1, unit: str = "u", clip: dict[str, Any] | None = None
) -> Layout:
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": unit, "epsilon": 1, "delta": "1e-6"},
        "columns": {"a": {"bounds": [-1, 3]}, "b": {"bounds": [-2, 2]}},
        "query": [{"name": "q", "statistics": statistics, "group_by": {"k": list(range(keys))}}],
    }
    if unit != "row":
        raw["contribution"] = clip or {"max_rows": 3}
    spec = spec_file.parse(raw)
    return of_block(spec, spec.query[0])


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("keys", [1, 2, 4, 9])
@pytest.mark.parametrize(
    ("statistics", "additive", "once"),
    [
        (["count"], 1, 0),
        (["count_units"], 0, 1),
        (["count", "count_units"], 1, 1),
        (["mean(a)", "count", "sum(a)", "count_units"], 3, 1),
        (["mean(b)", "sum(b)"], 2, 0),  # symmetric bounds: one scalar serves both
    ],
)
def test_clip_is_the_largest_norm_of_max_rows_rows(
    *, rows: int, keys: int, statistics: list[str], additive: int, once: int
) -> None:
    found = layout(statistics, keys=keys, clip={"max_rows": rows})
    assert found.dimension == keys * (additive + once)
    brute = max(
        sum(additive * spread.count(cell) ** 2 + once for cell in set(spread))
        for spread in itertools.combinations_with_replacement(range(keys), rows)
    )
    assert found.clip_squared == brute
    sensitivity, *others = found.sensitivities
    if found.dimension == 1 and statistics in (["count"], ["count_units"]):
        assert sensitivity == Integer(1 if once else rows)
        return
    if statistics == ["count_units"]:  # 0 or 1 in each of at most so many cells
        most = min(rows, keys)
        cells = Linf(1, l0=most, whole=True)
        counting = CountingQueries(dimension=keys, max_nonzero=most)
        assert found.sensitivities == ((cells,) if most == 1 else (counting, cells))
        return
    assert not others
    assert isinstance(sensitivity, L2)
    assert 0 <= sensitivity.bound**2 / brute - 1 <= Fraction(1, 2**59)


@pytest.mark.parametrize(
    ("statistics", "clip", "sensitivity"),
    [
        (["count"], {"l2": 3}, Integer(3)),
        (["count"], {"l2": "2.5"}, L2("2.5")),  # a person of three rows adds two and a half
        (["count_units"], {"l2": "2.5"}, Integer(1)),
        (["count_units"], {"l2": "0.5"}, L2("0.5")),
        (["sum(a)"], {"l2": 3}, L2(3)),
    ],
)
def test_one_count_moves_by_whole_numbers(
    statistics: list[str], clip: dict[str, Any], sensitivity: Sensitivity
) -> None:
    assert layout(statistics, keys=1, clip=clip).sensitivities == (sensitivity,)
    grouped = layout(statistics, keys=2, clip=clip)
    assert not any(isinstance(one, Integer) for one in grouped.sensitivities)


def test_rows_as_units() -> None:
    assert layout(["count"], unit="row", keys=1).sensitivities == (Integer(1),)
    counts = layout(["count", "count_units"], unit="row", keys=5)
    assert counts.sensitivities == (Linf(1, whole=True),)
    assert layout(["sum(a)"], unit="row", keys=5).sensitivities == (L1(1),)
    found = layout(["count", "mean(a)"], unit="row", keys=5)
    assert found.sensitivities == (L2(root_above(Fraction(2))), L1(2))
    assert found.bits == 22


@pytest.mark.parametrize(("keys", "rows"), [(1, 1), (10, 5), (1000, 100), (100_000, 10)])
def test_squares_and_totals_stay_exact(keys: int, rows: int) -> None:
    found = layout(["count", "sum(a)"], keys=keys, clip={"max_rows": rows})
    most = math.isqrt(found.clip_integer)
    assert found.dimension * most**2 < 2**53
    assert 2**40 * 2**found.bits < 2**63
    assert 2**34 * most < 2**63
    finer = found.dimension * found.clip_squared * 4 ** (found.bits + 1)
    assert found.bits == 22 or finer >= 2**53  # no bit is wasted


@pytest.mark.parametrize("clip", [{"max_rows": 2**20}, {"l2": "1e30"}, {"l2": "1e-9"}])
def test_what_can_not_be_summed_exactly_is_refused(clip: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"query\[0\]"):
        layout(["count", "sum(a)"], keys=3, clip=clip)
