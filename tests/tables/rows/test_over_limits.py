"""Persons over a limit: what remains of their counts, sums and means."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from tests.tables.rows.test_bounding import exact, spec_of


@pytest.mark.parametrize("limits", [{"l1": 2}, {"l2": 2}, {"max_rows": 2}])
def test_one_count_stays_whole_however_it_is_limited(
    tmp_path: Path, limits: dict[str, Any]
) -> None:
    """Shrunk by a factor a little below 2/5, five rows would be no whole number."""
    pd.DataFrame({"person": [1] * 5, "plan": 1}).to_parquet(tmp_path / "rows.parquet")
    part = {"name": "n", "statistics": ["count"]}
    raw = spec_of(contribution=limits, columns={}, query=[part])
    layout, (count,) = exact(tmp_path, raw, 0)
    assert any(isinstance(sensitivity, ln.Integer) for sensitivity in layout.sensitivities)
    assert count == 2 << layout.bits


@pytest.mark.grid
@pytest.mark.parametrize(
    "limits",
    [
        {"max_rows": 5},
        {"max_rows_per_group": 2, "max_groups": 1},
        {"l1": 3},
        {"l2": 5},
        {"max_rows": 20},
    ],
)
def test_a_mean_of_persons_over_a_limit_stays_what_it_is(
    tmp_path: Path, limits: dict[str, Any]
) -> None:
    """Cut off one by one, a sum of 13 and a count of 20 would both be 5: a mean at its bound."""
    frame = pd.DataFrame({"person": np.arange(400) // 20, "plan": 1, "x": 0.65})
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of(
        contribution=limits,
        columns={"x": {"bounds": [0, 1]}},
        query=[{"name": "m", "statistics": ["mean(x)"], "group_by": {"plan": [1, 2]}}],
    )
    layout, (numerator, count, *others) = exact(tmp_path, raw, 0)
    assert 0.5 + 0.5 * numerator / count == pytest.approx(0.65, rel=1e-5)
    assert others == [0, 0]
    assert count > 0
    assert len(layout.components) == 2


def test_all_that_a_person_adds_is_shrunk_by_one_factor_where_a_norm_limits_it(
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame({"person": 1, "plan": [1] * 10 + [2]})
    frame.to_parquet(tmp_path / "rows.parquet")
    part = {"name": "n", "statistics": ["count"], "group_by": {"plan": [1, 2]}}
    for limits, size in (({"l2": 1}, math.sqrt(101)), ({"l1": 1}, 11)):
        raw = spec_of(contribution=limits, columns={}, query=[part])
        layout, (first, second) = exact(tmp_path, raw, 0)
        unit = 2**layout.bits
        assert [first / unit, second / unit] == pytest.approx([10 / size, 1 / size], abs=1e-5)
