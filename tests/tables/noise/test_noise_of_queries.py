"""The noise of a query that hides one unit's shifts, and the error that its table states."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.classic.law import Gaussian
from leastnoise.selection.public import calibrate
from leastnoise.tables.answers.noisy import PARTS_NOTE
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.noise.errors import measure_error
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.summary import PURE_NOTE
from leastnoise.tables.publish.verify import verify_directory
from tests.attacks import test_limits
from tests.tables.test_release import make_rows, release


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_rows(tmp_path)


@pytest.mark.dense
def test_rounding_to_the_grid_is_in_the_error(folder: Path) -> None:
    plan = release(folder).plan()
    mechanism = plan.noisy_parts[0].mechanism
    coarse = mechanism.on_grid(2 * Fraction(2) ** round(math.log2(mechanism.noise.variance) / 2))
    grid, error = float(coarse.grid), measure_error(coarse.certificate)
    variance = coarse.noise.variance_at(0)
    assert error.std**2 == pytest.approx(variance + grid**2 / 12)
    assert error.std > 1.001 * math.sqrt(variance)
    fine = measure_error(mechanism.certificate)
    assert error.half95 - fine.half95 == pytest.approx(grid / 2, rel=1e-4)


@pytest.mark.grid
@pytest.mark.parametrize(("groups", "delta"), [(4, "0"), (5, "0"), (5, "1e-6")])
def test_a_limit_on_groups_gives_no_more_noise(groups: int, delta: str) -> None:
    """Noise for all six cells may be less than noise for five; so it has to be offered."""
    case = {
        "limits": {"max_rows_per_group": 5},
        "more": {"max_groups": groups},
        "cells": 6,
        "statistics": ["sum(x)"],
        "privacy": {"epsilon": 1, "delta": delta, "neighbours": "add-remove"},
    }
    test_limits.attack(case)


def test_overlapping_conditions_get_noise_in_their_shape_and_verify(folder: Path) -> None:
    where = {
        "low": {"x": {"below": 4}},
        "high": {"x": {"min": 3}},
        "plan": {"plan": {"among": [1, 2]}},
    }
    released = release(folder, query=[{"name": "who", "conditions": where}]).run()
    (part,) = released.plan.noisy_parts
    certificate = part.mechanism.certificate
    assert certificate.noise.name == "two-sided-staircase"
    assert certificate.geometry is None
    assert certificate.delta.upper == 0.0  # nothing of δ is spent
    table = released.tables["who"].columns
    assert table["condition"] == ["low", "high", "plan"]
    error = measure_error(certificate)
    assert error.std**2 == pytest.approx(part.mechanism.variances[0], rel=1e-6)
    spherical = calibrate(
        "l2", epsilon=1, delta="1e-6", sensitivity=L2(root_above(Fraction(3))), dimension=3
    )
    assert part.baselines.spherical == spherical.noise
    assert part.saved == pytest.approx(1 - 3 * part.mechanism.variances[0] / spherical.mse)
    plain = calibrate(
        "gaussian", epsilon=1, delta="1e-6", sensitivity=L2(root_above(Fraction(3))), dimension=3
    )
    assert part.errors[0].plain_gaussian_std == math.sqrt(plain.noise.variance)
    frame = pd.read_parquet(folder / "rows.parquet")
    for name, count in [
        ("low", frame["x"] < 4),
        ("high", frame["x"] >= 3),
        ("plan", frame["plan"] <= 2),
    ]:
        truth = len(set(frame.loc[count, "who"]))
        index = table["condition"].index(name)
        assert abs(table["count_units"][index] - truth) < 12 * error.std
        assert table["count_units_std"][index] == error.std
    assert verify_directory(folder / "out").delta.upper <= 1e-6


@pytest.mark.dense
def test_units_in_few_of_many_groups_get_noise_in_each_cell(folder: Path) -> None:
    """Steps take 2 % off Laplace noise, whose variance at ε/2 = 1/2 is 8: less is less."""
    many = [
        {
            "name": "who",
            "statistics": ["count_units"],
            "group_by": {"plan": list(range(40))},
        }
    ]
    (part,) = release(folder, query=many, contribution={"max_rows": 2}).plan().noisy_parts
    certificate = part.mechanism.certificate
    assert certificate.geometry == CellGeometry(count=40)
    assert certificate.sensitivity == Linf(1, l0=2, whole=True)
    assert part.mechanism.mse / 40 == pytest.approx(7.834, abs=5e-4)
    assert part.saved is not None
    assert part.saved > 0.5
    assert part.to_record()["saved_by_geometry"] == part.saved


def test_what_the_shape_saves_is_of_all_numbers_in_any_order(folder: Path) -> None:
    """A replaced person moves a lowered sum by twice as much as a count."""
    saved: list[float | None] = []
    for statistics in (["count", "count(x)", "sum(x)"], ["sum(x)", "count(x)", "count"]):
        query = [{"name": "all", "statistics": statistics}]
        privacy = {"unit": "who", "neighbours": "replace-one", "epsilon": "8"}
        more = {"contribution": {"max_rows": 1}, "columns": {"x": {"bounds": [-1, 1]}}}
        (part,) = release(folder, query=query, privacy=privacy, **more).plan().noisy_parts
        variances = part.mechanism.variances
        assert variances[0] != variances[-1]
        mean = sum(variances) / len(variances)
        assert part.saved == pytest.approx(1 - mean / part.baselines.spherical.variance)
        saved.append(part.saved)
    assert saved[0] == pytest.approx(saved[1])


def test_one_draw_for_all_is_not_said_to_be_split(folder: Path) -> None:
    privacy = {"unit": "who", "neighbours": "replace-one", "epsilon": "1"}
    query = [{"name": "all", "statistics": ["count_units", "sum(x)"]}]
    plan = release(folder, query=query, privacy=privacy, contribution={"max_rows": 2}).plan()
    assert len(plan.noisy_parts) == 2
    assert len(plan.answered) == 1
    assert PARTS_NOTE in plan.notes
    assert PURE_NOTE not in plan.notes
    assert plan.to_record()["notes"] == list(plan.notes)


def test_a_histogram_of_rows_gets_whole_numbers_in_each_cell(folder: Path) -> None:
    privacy = {"unit": "row", "epsilon": "1", "delta": "0.01"}
    queries = [{"name": "bins", "histogram": {"column": "x", "edges": [0, 2, 5, 10]}}]
    released = release(folder, query=queries, privacy=privacy, contribution=None).run()
    certificate = released.plan.noisy_parts[0].mechanism.certificate
    assert certificate.noise.name == "discrete-staircase"
    assert certificate.dimension == 3
    assert all(value % 1 == 0 for value in released.tables["bins"].columns["count"])
    verify_directory(folder / "out")


def test_counts_without_a_delta_are_whole_numbers(folder: Path) -> None:
    """Geometric noise: at a fourth of ε = 1, 5.6421 instead of 5.6495 of the staircase."""
    keys = {"plan": list(range(20))}
    query = [{"name": "cells", "importance": 1, "statistics": ["count"], "group_by": keys}]
    privacy = {"unit": "row", "epsilon": "0.25", "delta": "0"}
    released = release(folder, query=query, privacy=privacy, contribution=None).run()
    ((_, certificate),) = released.certificate.draws
    assert isinstance(certificate, Certificate)
    assert certificate.noise.name == "geometric"
    error = measure_error(certificate)
    assert error.std == pytest.approx(math.exp(-0.125) * math.sqrt(2) / -math.expm1(-0.25))
    assert error.std == pytest.approx(5.6421, abs=5e-5)
    assert error.half95.is_integer()
    assert all(value % 1 == 0 for value in released.tables["cells"].columns["count"])
    verify_directory(folder / "out")


def test_a_count_alone_is_answered_with_a_whole_number(folder: Path) -> None:
    queries = [{"name": "rows", "statistics": ["count"]}]
    privacy = {"unit": "row", "epsilon": "1", "delta": "0.01"}
    released = release(folder, query=queries, privacy=privacy, contribution=None).run()
    ((_, certificate),) = released.certificate.draws
    assert isinstance(certificate, Certificate)
    assert certificate.noise.name == "discrete-staircase"
    error = measure_error(certificate)
    assert error.std == math.sqrt(certificate.noise.variance)  # nothing is lost to the grid
    assert error.half95.is_integer()
    row = pd.read_csv(folder / "out" / "rows.csv").iloc[0]
    assert row["count"] % 1 == 0
    assert abs(row["count"] - 20_000) < 12 * error.std
    verify_directory(folder / "out")


@pytest.mark.dense
def test_plain_noise_is_handed_on_only_where_the_very_question_was_proved(folder: Path) -> None:
    query = [{"name": "n", "statistics": ["count"], "group_by": {"plan": [1, 2, 3]}}]
    (part,) = release(folder, query=query).plan().noisy_parts
    ways, budget = (part.layout,), part.budget
    offered, least = part.layout.sensitivities, part.layout.l2
    smallest = next(
        sensitivity for sensitivity in offered if sensitivity.radius("l2", dimension=3) == least
    )
    baselines = Baselines.of(ways, budget)
    assert baselines == part.baselines  # which the search had proved

    def wide(shifts: Sensitivity = smallest, budget: Budget = budget) -> Certificate:
        noise = Gaussian(scale=500, dimension=3)
        return Certificate.prove(budget=budget, noise=noise, sensitivity=shifts)

    assert Baselines.of(ways, budget, known=[wide()]).gaussian == wide().noise
    half = budget.share(Fraction(1, 2))
    others = [wide(L2(least / 2)), wide(budget=half), replace(wide())]  # copies start unproved
    assert Baselines.of(ways, budget, known=others) == baselines
    assert Baselines.of(ways, budget, 2, known=[wide()]) == Baselines.of(ways, budget, 2)


TABLES: dict[str, dict[str, Any]] = {
    "margins": {"statistics": ["count"], "group_by": {"a": [1, 2], "b": [1, 2]}, "margins": True},
    "largest": {
        "statistics": ["count"],
        "group_by": {"a": [1, 2], "b": [1, 2]},
        "margins": True,
        "objective": "largest",
    },
    "levels": {
        "statistics": ["count"],
        "group_by": {"a": {"keys": ["p", "q", "r"], "levels": {"up": ["s", "s", "t"]}}},
    },
    "cumulative": {"histogram": {"column": "x", "edges": [0, 1, 2, 3], "cumulative": True}},
}


@pytest.mark.grid
@pytest.mark.parametrize("epsilon", ["1e-9", "1e-12", "1e-300"])
@pytest.mark.parametrize("name", TABLES)
def test_an_epsilon_for_which_no_lattice_is_wide_enough(name: str, epsilon: str) -> None:
    """Tables that add up have huge noise then, or are refused: no argument is at fault but ε."""
    spec = spec_file.lay_out(
        {
            "version": 1,
            "data": {"source": "rows.parquet"},
            "privacy": {"unit": "row", "epsilon": epsilon},
            "columns": {"x": {"bounds": [0, 5]}},
            "query": [{"name": "q"} | TABLES[name]],
        }
    )
    if name in {"levels", "cumulative"} or epsilon == "1e-300":
        with pytest.raises(Refused, match=r"^The query 'q': "):
            plan(spec)
    else:
        assert min(error.std for error in plan(spec).noisy_parts[0].noise_errors) > 1 / float(
            epsilon
        )
