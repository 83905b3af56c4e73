"""The lower bound of named sums: it is about shifts that a unit can cause, in one merged cell."""

from __future__ import annotations

from typing import Any

import pytest

from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from tests.tables.answers.weighted.test_answer import answered_in, laid_of

BANDS = ["a,0,9,", "b,9,16,", "c,16,,"]
DAYS = ["a,0,1,", "b,1,2,", "c,2,3,"]
PAIRS = ["a,0,2,", "b,2,4,", "c,4,6,"]


def bound_of(lines: list[str], **limits: Any) -> tuple[float, float]:
    raw = spec_file.to_dict(laid_of(lines, rows=1).spec) | {"contribution": limits}
    answered = answered_in(plan(spec_file.lay_out(raw)))
    assert answered.bound is not None
    return answered.bound, answered.error.std


@pytest.mark.parametrize(("limit", "fraction"), [("1.01", 1.01), ("2.5", 2.5), ("1/4", 0.25)])
def test_a_limit_of_a_fraction_of_a_row_is_not_rounded_up(limit: str, fraction: float) -> None:
    of_a_row, _ = bound_of(BANDS, max_rows=1)
    bound, std = bound_of(BANDS, l1=limit)
    assert bound <= std
    assert bound == pytest.approx(fraction * of_a_row, rel=1e-5)


@pytest.mark.parametrize(("lines", "most"), [(DAYS, 1), (PAIRS, 2), (BANDS, 2)])
def test_rows_in_different_cells_count_together_only_if_the_cells_are_merged(
    lines: list[str], most: int
) -> None:
    """A person has at most two rows, in different days."""
    bound, std = bound_of(lines, max_rows_per_group=1, max_groups=2)
    assert bound <= std
    assert bound == pytest.approx(bound_of(lines, max_rows=most)[0], rel=1e-5)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_bound_is_stated_if_the_total_is_public(neighbours: str) -> None:
    """If rows are replaced and all are in a sum, no noise is needed for the total."""
    edges = {"day": {"edges": ["-inf", 0, "inf"]}}
    layout = laid_of(["all,,,", "low,,0,"], group_by=edges, privacy={"neighbours": neighbours})
    raw = spec_file.to_dict(layout.spec)
    assert answered_in(plan(layout)).bound is not None  # rows without a value are in no sum
    known = spec_file.lay_out(raw | {"columns": {"day": {"missing": 0}}})
    bound = answered_in(plan(known)).bound
    assert (bound is None) == (neighbours == "replace-one")
