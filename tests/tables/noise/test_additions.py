"""Counts of several queries in one draw: a unit raises all of them, which needs less noise."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.together import Jointly
from leastnoise.guarantees.units import Added
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.tables.noise.budget_shares import list_draw_queries
from leastnoise.tables.noise.estimates import log_of_additions
from leastnoise.tables.noise.shared_draws import find_layouts
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed

TWO_CELLS = {"statistics": ["count"], "group_by": {"g": [0, 1]}}
SIX = [{"name": f"b{i}", **TWO_CELLS} for i in range(6)]


def release(folder: Path, query: list[dict[str, Any]], **given: Any) -> Release:
    rows = np.arange(3000)
    pd.DataFrame({"who": rows, "g": rows % 2, "x": rows % 7}).to_parquet(folder / "rows.parquet")
    settings: dict[str, Any] = {"privacy": {"unit": "row", "epsilon": 3}} | given
    output = {"path": "out", "format": "csv"}
    return Release(
        data={"source": "rows.parquet"}, query=query, output=output, folder=folder, **settings
    )


def stds(plan: Plan) -> list[float]:
    return [part.noise_errors[0].std for part in plan.noisy_parts]


@pytest.mark.dense
def test_six_blocks_of_two_cells(tmp_path: Path) -> None:
    """1.47 was asked for; without signs it is 1.836, and a sixth of the budget gives 2.80."""
    plan = release(tmp_path, SIX).plan()
    ((name, certificate),) = plan.certificate.draws
    assert name == "b0+b1+b2+b3+b4+b5"
    assert isinstance(certificate, Certificate)
    assert certificate.noise.name == "two-sided-staircase"
    assert stds(plan) == pytest.approx([1.4055] * 6, abs=5e-5)


@pytest.mark.dense
def test_rows_and_persons_of_one_query(tmp_path: Path) -> None:
    """A person adds up to 2 to the rows of two cells, and 1 to the persons of both."""
    query = [{**TWO_CELLS, "name": "b", "statistics": ["count", "count_units"]}]
    limits: dict[str, Any] = {
        "privacy": {"unit": "who", "epsilon": 1},
        "contribution": {"max_rows": 2},
    }
    ((name, certificate),) = release(tmp_path, query, **limits).plan().certificate.draws
    assert name == "b.rows+b.persons"
    assert isinstance(certificate, Certificate)
    cells = Counts(queries=2, most=1, bound=2), Counts(queries=2)
    assert certificate.sensitivity == Added(Jointly(parts=cells, radii=[1, 1], exponent=None))


def test_a_unit_that_is_replaced_may_raise_one_and_lower_another(tmp_path: Path) -> None:
    privacy = {"unit": "row", "epsilon": 3, "neighbours": "replace-one"}
    plan = release(tmp_path, SIX, privacy=privacy).plan()
    claims = [claim for _, claim in plan.certificate.draws]
    assert not any(
        isinstance(claim, Certificate) and isinstance(claim.sensitivity, Added) for claim in claims
    )
    assert all(not part.layout.additions for part in plan.noisy_parts)


@pytest.mark.parametrize("statistics", [["count", "sum(x)"], ["sum(x)"]])
def test_sums_may_be_lowered_by_who_is_added(tmp_path: Path, statistics: list[str]) -> None:
    query = [{**TWO_CELLS, "name": "b", "statistics": statistics}]
    given = {"columns": {"x": {"bounds": [-1, 1], "missing": "none"}}}
    (part,) = release(tmp_path, query, **given).plan().noisy_parts
    assert part.layout.additions == ()


@pytest.mark.dense
def test_what_is_released_together_verifies(tmp_path: Path) -> None:
    result = release(tmp_path, SIX).run()
    for table in result.tables.values():
        assert list(table.columns["count"]) == pytest.approx(
            [1500] * 2, abs=15
        )  # ten standard deviations
    assert verify_directory(tmp_path / "out").certificate == result.certificate


@pytest.mark.dense
def test_of_what_is_true_the_least_is_taken(tmp_path: Path) -> None:
    """With 4 of 5 cells a cube says more than a simplex; an l1 norm of 1 more than ten rows do."""
    query = [
        {"name": name, "statistics": ["count"], "group_by": {"x": [*range(cells)]}}
        for name, cells in (("a", 1), ("b", 5), ("c", 2))
    ]
    who: dict[str, Any] = {"privacy": {"unit": "who", "epsilon": 1}}
    estimates = [
        stds(release(tmp_path, query, contribution=given, **who).plan())
        for given in (
            {"max_rows_per_group": 2, "max_groups": 5},
            {"max_rows_per_group": 2, "max_groups": 4},
            {"l1": 1},
            {"l1": 1, "max_rows": 10},
        )
    ]
    assert estimates[1] == pytest.approx(estimates[0], rel=1e-9)
    assert estimates[3] == pytest.approx(estimates[2], rel=1e-9)


@pytest.mark.dense
def test_many_alike_blocks_are_alike(tmp_path: Path) -> None:
    query = [{**TWO_CELLS, "name": f"b{i}", "group_by": {"x": [*range(8)]}} for i in range(8)]
    plan = release(tmp_path, query, privacy={"unit": "row", "epsilon": 1}).plan()
    assert stds(plan) == pytest.approx([8.689] * 8, abs=5e-4)


@pytest.mark.dense
def test_a_block_that_would_lose_does_not_keep_others_apart(tmp_path: Path) -> None:
    """All four together the conditions would have 6.1, and they have 5.74 alone."""
    query = [
        {"name": "five", "conditions": {f"c{i}": {"x": {"min": i}} for i in range(5)}},
        *(
            {"name": f"b{i}", "statistics": ["count"], "group_by": {"x": [*range(cells)]}}
            for i, cells in enumerate((10, 2, 2))
        ),
    ]
    plan = release(tmp_path, query, privacy={"unit": "row", "epsilon": 1}).plan()
    assert [name for name, _ in plan.certificate.draws] == ["five+b1+b2", "b0"]


TWO = Counts(queries=2, most=1)


@pytest.mark.parametrize(
    ("parts", "known"),
    [
        ([TWO, Counts(queries=3, most=1)], True),
        ([Counts(queries=2), TWO], False),  # in another order
        ([TWO.times("0.5"), Counts(queries=3, most=1)], False),
        ([TWO, Counts(queries=3)], True),  # a cube holds the simplex
        ([TWO, Counts(queries=3, most=2)], False),  # nobody says so
        ([TWO], False),
    ],
)
def test_layouts_are_found_for_what_is_true_of_them(parts: list[Counts], known: bool) -> None:
    """Without the plan beside it: a certificate and a plan might be edited together."""
    query = [
        {"name": name, "statistics": ["count"], "group_by": {"x": [*range(cells)]}}
        for name, cells in (("a", 2), ("b", 3))
    ]
    layout = spec_file.lay_out(
        {
            "version": 1,
            "data": {"source": "x.csv", "types": {"x": "int"}},
            "privacy": {"unit": "row", "epsilon": 1},
            "query": query,
        }
    )
    asked = Added(Jointly(parts=parts, radii=[1] * len(parts), exponent=None))
    assert (find_layouts(list_draw_queries(layout), asked) is not None) == known


def _bound(parts: list[Any]) -> None:
    parts[1]["bound"] = "0.5"


def _cube(parts: list[Any]) -> None:  # of two cells a row is in one
    parts[1]["most"] = 2


def _one_less(parts: list[Any]) -> None:
    del parts[1]


@pytest.mark.dense
@pytest.mark.parametrize("edit", [_bound, _cube, _one_less])
def test_what_a_unit_adds_is_what_the_spec_implies(
    tmp_path: Path, edit: Callable[[list[Any]], None]
) -> None:
    release(tmp_path, SIX).run()
    file = tmp_path / "out" / "certificate.json"
    record = json.loads(file.read_text())
    certificate = record["draws"][0]["certificate"]
    for of in (certificate["sensitivity"]["of"], certificate["noise"]["parameters"]["of"]):
        edit(of["parts"])
        of["radii"] = of["radii"][: len(of["parts"])]
    file.write_text(json.dumps(record))
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path / "out")


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize(
    "parts",
    [
        [Counts(queries=2, most=1)] * 3,
        [Counts(queries=3), Counts(queries=5, most=1, bound=4)],
        [Counts(queries=1, bound=2), Counts(queries=4, bound="0.5")],
    ],
)
def test_the_estimates_are_those_of_the_law(parts: list[Counts], epsilon: str) -> None:
    """The law's own moments, in balls, say the same for the best number of cores."""
    of, e = Jointly(parts=parts, radii=[1] * len(parts), exponent=None), Fraction(epsilon)
    d = of.dimension
    laws = [
        TwoSidedStaircase(scale=1, of=of, core=core * d / float(e), decay=e)
        if e > 2
        else TwoSidedLaplace(scale=1 / e, of=of, core=core * d)
        for core in np.geomspace(0.01, 2.0, 24).tolist()
    ]
    best = min(laws, key=lambda law: law.variance).variances
    firsts = np.cumsum([0] + [part.queries for part in parts[:-1]])
    estimates = log_of_additions(parts, float(e))
    assert estimates == pytest.approx([math.log(best[first]) for first in firsts], rel=1e-9)
