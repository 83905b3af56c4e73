"""The noise for one unit replaced by another, alone and for several queries in one draw."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.certificate.certificate import Certificate
from leastnoise.guarantees.bodies.together import Together
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from tests.tables.declared import gauge
from tests.tables.layout.test_replace_one import (
    QUERIES,
    TOWNS,
    Bounded,
    counting,
    differences,
    hostile_rows,
    raw_spec,
)


def deviations(limits: dict[str, Any] | None, query: list[dict[str, Any]], **more: Any) -> Any:
    layout = spec_file.lay_out(raw_spec(limits, query, **more))
    return {part.name: part.noise_errors[0].std for part in plan(layout).noisy_parts}


def by_towns(count: int, *statistics: str) -> dict[str, Any]:
    keys = [f"t{i}" for i in range(count)]
    return {"name": f"n{count}", "statistics": list(statistics), "group_by": {"town": keys}}


@pytest.mark.dense
@pytest.mark.parametrize(("towns", "variance"), [(2, 3.3090), (10, 6.3636), (50, 7.6169)])
def test_the_noise_of_a_replaced_row_in_many_cells(towns: int, variance: float) -> None:
    """theory/bodies.md §6: below the 8 of Laplace noise for twice a row, above the 2 of one.

    A cell of e^(−N) has (m + 1)(m + 2)/(mε²)·E[2p/((p + 1)(p + 2)) + 2j/((j + 1)(j + 2))], j of m
    cells below 0 with weight C(m, j)²; the staircase takes .7 % off that for m = 2.
    """
    weights = [math.comb(towns, j) ** 2 for j in range(towns + 1)]
    inner = sum(
        weight * (2 * p / ((p + 1) * (p + 2)) + 2 * j / ((j + 1) * (j + 2)))
        for j, weight in enumerate(weights)
        for p in [towns - j]
    )
    exponential = (towns + 1) * (towns + 2) / towns * inner / sum(weights)
    assert variance == pytest.approx(exponential, rel=8e-3)
    (std,) = deviations({"max_rows": 1}, [by_towns(towns, "count")]).values()
    assert std**2 == pytest.approx(variance, rel=1e-4)


def test_a_single_count_has_the_noise_of_one_that_is_added() -> None:
    (replaced,) = deviations({"max_rows": 3}, [QUERIES[0]]).values()
    (added,) = deviations({"max_rows": 3}, [QUERIES[0]], neighbours="add-remove").values()
    assert replaced == added


@pytest.mark.dense
def test_the_law_of_one_cell_is_that_of_the_draws() -> None:
    """A 95 % interval holds 95 % of the draws, for both laws; with .6 of its width it doesn't.

    The numbers of a draw depend on each other: six deviations of a share are at most 4.2 %.
    """
    from leastnoise.noise.draw import find_quantile  # noqa: PLC0415

    for name, cells in (("k-norm", 40), ("k-staircase", 3)):
        noise = ln.calibrate(name, epsilon=1, sensitivity=counting(cells, 1))
        zeros = np.zeros(cells)
        drawn = np.array([noise.release(zeros).values for _ in range(1000)])
        half = find_quantile(noise.noise, 0.95)
        assert abs((np.abs(drawn) <= half).mean() - 0.95) < 0.042
        assert (np.abs(drawn) <= 0.6 * half).mean() < 0.9


WHERE = [{"name": f"c{i}", "conditions": {"it": {"x": {"min": i}}}} for i in range(3)]


def test_conditions_are_drawn_together_in_a_box() -> None:
    """[−1, 1]³ with e^(−N): (d + 1)(d + 2)/3 = 6.67, where a third of ε each takes 18."""
    layout = spec_file.lay_out(raw_spec({"max_rows": 3}, WHERE))
    planned = plan(layout)
    ((name, certificate),) = planned.certificate.draws
    assert isinstance(certificate, Certificate)
    assert name == "c0+c1+c2"
    body = certificate.sensitivity.body(dimension=3)  # that of counting(3, 3), by whatever name
    assert body is not None
    assert all(body.holds(corner) for corner in itertools.product((-1, 1), repeat=3))
    assert not body.holds([1, 1, Fraction(10**6 + 1, 10**6)])
    assert planned.noisy_parts[0].mechanism.noise.variance == pytest.approx(20 / 3, rel=2e-3)


@pytest.mark.dense
def test_rows_drawn_together_hide_what_two_persons_differ_by(tmp_path: Path) -> None:
    towns = {"town": TOWNS}
    query = [
        {"name": name, "statistics": ["count", f"sum({x})"], "group_by": towns}
        for name, x in (("p", "x"), ("q", "z"))
    ]
    layout = spec_file.lay_out(raw_spec({"max_rows": 3}, query, delta="1e-9"))
    planned = plan(layout)
    ((_, certificate),) = planned.certificate.draws
    assert isinstance(certificate, Certificate)
    hull = getattr(certificate.sensitivity, "hull", None)
    assert isinstance(hull, Together)
    rows = hostile_rows(5, 7, most=9)
    parts = [
        list(differences(Bounded(tmp_path, raw_spec({"max_rows": 3}, [raw]), rows), part.layout))
        for part, raw in zip(planned.noisy_parts, query, strict=True)
    ]
    largest = Fraction(0)
    for first, second in zip(*parts, strict=True):
        gauges = [gauge(first, hull.bodies[0]), gauge(second, hull.bodies[1])]
        assert max(gauges) <= 1
        assert hull.holds([*first, *second])
        largest = max(largest, *gauges)
    assert largest > Fraction(99, 100)  # or the pairs above would show little
