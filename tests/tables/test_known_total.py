"""Margins if rows are replaced and each is in a cell: the total is public, without noise."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.guarantees.budget import Budget
from leastnoise.tables.answers.sums.publish_sums import add_up
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.workloads.marginal import Marginals
from leastnoise.workloads.marginal_bounds import bound, bound_of_largest
from tests.tables.margins import plan_of, read, spec_of, whole_of

ONE = Budget(epsilon=1)
BANDS = {"edges": [-math.inf, 10, math.inf]}
REPLACED = {"neighbours": "replace-one"}


def bands(
    *, unit: str = "row", missing: float | str | None = 0, privacy: dict[str, Any] = REPLACED,
    **part: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return a spec of tables with margins by two columns' bands, which contain every row."""
    raw = spec_of(unit=unit, privacy=privacy, group_by={"a": BANDS, "b": BANDS}, **part)
    raw["data"]["types"] = {"who": "int", "a": "float", "b": "float"}
    if missing is not None:
        raw["columns"] = {"a": {"missing": missing}, "b": {"missing": missing}}
    return raw


@pytest.mark.dense
@pytest.mark.parametrize("delta", ["0", "1e-5"])
@pytest.mark.parametrize("objective", [None, "largest"])
def test_the_total_has_no_noise_and_the_others_have_less(delta: str, objective: str | None) -> None:
    given = {} if objective is None else {"objective": objective}
    known = plan_of(bands(privacy=REPLACED | {"delta": delta}, **given))
    shorter = {"a": BANDS, "b": {"edges": [0, 10, 20]}}
    raw = bands(privacy=REPLACED | {"delta": delta}, **given)
    raw["query"][0]["group_by"] = shorter
    unknown = plan_of(raw)
    stds = [[part.errors[0].std for part in plan.noisy_parts] for plan in (known, unknown)]
    assert stds[0][-1] == 0 < stds[1][-1]
    assert all(computed < other for computed, other in zip(*stds, strict=True))
    assert any("number of rows" in sentence for sentence in whole_of(known).in_words())
    result = whole_of(known).compared["count"]
    assert result.bound is not None
    assert result.bound <= result.own


def test_two_cells_hide_one_number() -> None:
    """x and n − x need the noise of x alone, which geometric noise has the least of."""
    marginals = Marginals(sizes=(2,), tables=(1,), total_is_known=True)
    least = math.log(1 / (2 * math.sinh(0.5) ** 2))
    assert bound(marginals, [Fraction(1)], budget=ONE) == pytest.approx(least)
    assert bound_of_largest(marginals, budget=ONE) == pytest.approx(least)


def test_the_bound_is_the_best_covariance_of_exchanged_cells() -> None:
    """Two attributes, dense: X with (e_i − e_j)ᵀX(e_i − e_j) <= 1, of any 3,000 the bound holds."""
    marginals = Marginals(sizes=(2, 3), tables=(3, 1, 2), total_is_known=True)
    least = math.log(1 / (2 * math.sinh(0.5) ** 2))
    value = bound(marginals, [Fraction(1)] * 3, budget=ONE) - 3 * least
    random, best = np.random.default_rng(7), math.inf
    # of symmetric X, θ of the three contrasts on the boundary is all that there is
    ranks = np.array([0, 1, 2, 2])
    for computed in random.dirichlet([1, 1, 1], size=3000):
        theta = np.array([math.inf, *(computed * 2.5 / ranks[1:])])
        best = min(best, float(np.log(marginals.variances(theta)).sum()))
    assert value <= best <= value + 0.01


@pytest.mark.parametrize(
    ("change", "proved"),
    [
        ({"unit": "who"}, False),  # a person's rows are all in cells, but how many there are?
        ({"missing": None}, True),
        ({"privacy": {"neighbours": "add-remove"}}, True),
        ({"filter": "a > 0"}, True),
    ],
)
def test_elsewhere_the_total_has_noise(change: dict[str, Any], *, proved: bool) -> None:
    whole = whole_of(plan_of(bands(**change)))
    assert not whole.total_is_known
    assert whole.noise_errors(whole.cells.margins.index(0))[0].std > 0
    assert (whole.compared["count"].bound is not None) == proved


def write(folder: Path) -> None:
    random = np.random.default_rng(3)
    rows = pd.DataFrame({"a": random.normal(10, 5, 1000), "b": random.normal(12, 9, 1000)})
    rows.loc[::7, "a"] = np.nan
    rows.loc[1::7, "b"] = np.inf
    rows.assign(who=np.arange(1000)).to_parquet(folder / "rows.parquet")


@pytest.mark.dense
@pytest.mark.parametrize("given", [{}, {"round": True, "clamp": True}])
def test_a_release_has_the_number_of_rows_and_verifies(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    write(tmp_path)
    raw = bands(**given)
    raw["data"]["source"] = "rows.parquet"
    raw["output"] = {"path": "out", "format": "json"}
    Release(**raw, folder=tmp_path).run()
    verify_directory(tmp_path / "out")
    total = read(tmp_path / "out", "people_total", "json")
    assert total["count"].tolist() == [1000]
    assert total["count_std"].tolist() == [0]
    assert total["count_low"].tolist() == total["count_high"].tolist() == [1000]
    for name in ("people", "people_by_a", "people_by_b"):
        assert math.fsum(read(tmp_path / "out", name, "json")["count"]) == 1000


@pytest.mark.dense
def test_draws_have_the_stated_errors() -> None:
    plan = plan_of(bands())
    whole = whole_of(plan)
    cells, draws = np.array([300, 20, 4, 0]), 3000
    noise = {
        table: np.random.default_rng(table).normal(
            0, math.sqrt(claim.noise.variance_at(0)), (draws, whole.marginals.cells(table))
        )
        for table, claim in whole.measured.items()
    }
    errors = []
    for index in range(draws):
        exact = {
            table: cells.reshape(2, 2).sum(
                axis=whole.marginals.axes(whole.marginals.every[-1] & ~table)
            ).reshape(-1)
            for table in noise
        }  # fmt: skip
        tables = add_up(
            whole,
            plan.noisy_parts,
            {table: exact[table] + computed[index] for table, computed in noise.items()},
            total=324,
        )
        assert tables[-1].columns["count"] == [324]
        assert sum(tables[0].columns["count"]) == 324
        errors.append(np.array(tables[0].columns["count"]) - cells)
    stated = plan.noisy_parts[0].errors[0].std
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(stated, rel=0.1)


@pytest.mark.dense
@pytest.mark.parametrize("margins", [[["a"]], [["a"], []]])
def test_no_cell_is_suppressed_alone_beside_a_public_total(
    tmp_path: Path, margins: list[list[str]]
) -> None:
    """If two cells add up to the number of rows, each follows from the other."""
    rows = pd.DataFrame({"a": [5.0] * 4 + [15.0] * 600, "b": 5.0, "who": 0})
    rows.to_parquet(tmp_path / "rows.parquet")
    raw = bands(margins=margins, min_count=100, privacy=REPLACED | {"epsilon": 24})
    raw["data"]["source"] = "rows.parquet"
    raw["output"] = {"path": "out", "format": "json"}
    Release(**raw, folder=tmp_path).run()
    verify_directory(tmp_path / "out")
    cells = read(tmp_path / "out", "people_by_a", "json")
    assert cells["suppressed"].tolist() == ["primary", "secondary"]
