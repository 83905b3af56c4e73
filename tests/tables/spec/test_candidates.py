"""Public candidates: a grid has its stated numbers, on every machine."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from leastnoise.errors import SpecError
from leastnoise.tables.parse import spec_file
from leastnoise.tables.spec.column import MOST_CANDIDATES, list_candidates


def spec_of(candidates: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "columns": {"x": {"candidates": candidates}},
        "query": [{"name": "q", "statistics": ["median(x)"]}],
    }


def values_of(candidates: Any) -> tuple[Fraction, ...]:
    spec = spec_file.parse(spec_of(candidates))
    assert spec_file.loads(spec_file.dumps(spec)) == spec
    return list_candidates(spec.columns["x"].candidates)


def test_a_grid_by_steps_and_by_number_has_both_ends() -> None:
    steps = [Fraction(k, 10) for k in range(11)]
    assert [*values_of({"from": 0, "to": 1, "step": "0.1"})] == steps
    assert [*values_of({"from": 0, "to": 1, "number": 11})] == steps
    assert values_of([0, "1.5", 7]) == (0, Fraction(3, 2), 7)


def test_logarithms_are_rounded_to_six_digits() -> None:
    candidates = values_of({"from": "0.01", "to": 1_000_000, "number": 500, "scale": "log"})
    assert (candidates[0], candidates[-1], len(candidates)) == (Fraction(1, 100), 1_000_000, 500)
    with mpmath.workdps(40):
        for index, value in enumerate(candidates):
            exactly = mpmath.mpf("0.01") * mpmath.mpf(10) ** (mpmath.mpf(8) * index / 499)
            assert Fraction(mpmath.nstr(exactly, 6)) == value


@pytest.mark.dense
@pytest.mark.parametrize(
    ("candidates", "why"),
    [
        ({"from": 3, "to": 3, "step": 1}, "Expected `from` to be less than `to`"),
        ({"from": 0, "to": 3}, "exactly one of step"),
        ({"from": 0, "to": 3, "step": 1, "number": 4}, "exactly one of step"),
        ({"from": 0, "to": 3, "step": 2}, "multiple of `step`"),
        ({"from": 0, "to": 3, "step": 0}, "> 0"),
        ({"from": 0, "to": 10**9, "step": 1}, f"at most {MOST_CANDIDATES:,}"),
        ({"from": 0, "to": 3, "number": 1}, "2"),
        ({"from": 0, "to": 3, "number": 5, "scale": "log"}, "let from be above 0"),
        ({"from": 1, "to": 2, "number": 99_999, "scale": "log"}, "must still differ"),
        ({"from": 0, "to": 3, "by": 1}, "Unknown key"),
        ({"to": 3, "step": 1}, "Missing"),
        ([1], "2 to"),
        ([1, 1], "increasing"),
        ([2, 1], "increasing"),
        ([0, float("inf")], ""),
        ("data", ""),
    ],
)
def test_what_is_no_grid_is_refused_at_its_key(candidates: Any, why: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.parse(spec_of(candidates))
    assert any(
        key.startswith("columns.x.candidates") and why in message
        for key, message in caught.value.problems
    )
