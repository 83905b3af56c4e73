"""The factor of ε that fits all releases of a plan to a budget, or the reason why there is none."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import leastnoise as ln
from leastnoise.errors import Refused
from leastnoise.tables.publish.fit_plans import fit_plans
from leastnoise.tables.publish.release import Release


def release_of(statistics: list[str], delta: str, **group_by: Any) -> Release:
    query: dict[str, Any] = {"name": "q", "statistics": statistics}
    return Release(
        data=pl.DataFrame({"p": [1, 2], "town": ["a", "b"], "x": [1.0, 2.0]}),
        privacy={"unit": "p", "epsilon": "0.5", "delta": delta},
        contribution={"max_rows": 1},
        query=[query | ({"group_by": group_by} if group_by else {})],
    )


def test_deltas_that_add_up_to_too_much_are_refused_before_the_search() -> None:
    unlisted = release_of(["count"], "1e-6", town={"keys": "private"})
    stages: list[str] = []
    with pytest.raises(Refused, match="add up to 2e-5, which is more than 1e-5"):
        fit_plans([(unlisted, 20)], ln.Budget(epsilon=1, delta="1e-5"), progress=stages.append)
    assert stages == []


@pytest.mark.dense
def test_deltas_of_noise_alone_may_add_up_to_more_than_the_budget() -> None:
    """Noise whose law is known composes tightly: the sum of its deltas decides nothing."""
    listed = release_of(["count"], "1e-6", town=["a", "b"])
    (plan,) = fit_plans([(listed, 20)], ln.Budget(epsilon=1, delta="1e-5"))
    assert plan.budget.epsilon > 0
