"""One more limit never needs more noise: noise that hides 20 groups hides 10."""

from __future__ import annotations

from typing import Any

import pytest

from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.least_epsilon import find_plan


def stds(limits: dict[str, Any], statistics: list[str], cells: int = 20) -> list[float]:
    """Return the standard deviations of counts by region at (1, 1e-6)."""
    raw = {
        "version": 1,
        "data": {"source": "rows.csv", "types": {"who": "int", "region": "int", "x": "float"}},
        "privacy": {"unit": "who", "epsilon": "1", "delta": "1e-6"},
        "contribution": limits,
        "columns": {"x": {"bounds": [0, 10], "missing": 0}},
        "query": [{"name": "q", "statistics": statistics, "group_by": {"region": [*range(cells)]}}],
    }
    plan = find_plan(spec_file.lay_out(raw))[1]
    return [error.std for part in plan.noisy_parts for error in part.errors]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("limits", "more"),
    [
        ({"max_rows": 20}, {"max_groups": 10}),
        ({"max_rows": 20, "max_rows_per_group": 1}, {"max_groups": 10}),
        ({"max_rows_per_group": 1}, {"max_rows": 10}),
    ],
)
def test_in_fewer_groups_noise_for_all_groups_serves_too(
    limits: dict[str, int], more: dict[str, int]
) -> None:
    (before,) = stds(limits, ["count_units"])
    (after,) = stds(limits | more, ["count_units"])
    assert after <= before * (1 + 1e-9)
    assert after == pytest.approx(7.669, abs=0.001)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_norm_that_limits_on_rows_imply_changes_nothing(norm: str) -> None:
    """Sums are about the middle of their bounds as before, whose noise is less."""
    asked = ["count", "sum(x)"]
    limits = {"max_rows": 2}
    assert stds(limits | {norm: 1000}, asked, cells=3) == stds(limits, asked, cells=3)
