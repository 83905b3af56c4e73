"""Noise on a tree for tables with margins: the order of columns, its gain, and its errors."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.trees.levels import level_laws
from leastnoise.tables.answers.sums.chain import Chain, find_chain
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.answers.sums.publish_sums import publish_margins
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.margins import GROUP_BY, plan_of, spec_of, table_of, whole_of
from tests.tables.resealed import verify_resealed

AGES = {"edges": [*range(0, 101, 10)]}
LARGE = {"region": [*range(20)], "sex": ["f", "m"], "age": AGES}
SMALL = {"region": [*range(6)], "sex": ["f", "m"], "age": {"edges": [*range(0, 61, 10)]}}


def chain_of(whole: Margins) -> Chain:
    assert whole.chain is not None
    return whole.chain


@pytest.mark.dense
def test_the_figure_of_the_theory() -> None:
    whole = whole_of(plan_of(spec_of(group_by=LARGE)))
    assert chain_of(whole).order == (1, 2, 0)
    assert whole.compared["count"].own == pytest.approx(5.370, abs=0.001)
    assert whole.to_record()["chain"] == ["sex", "age", "region"]
    assert "correlated along the levels sex, age and region" in whole.in_words()[0]


@pytest.mark.grid
@pytest.mark.parametrize(
    "given",
    [
        {"unit": "who"},  # of two rows, which are shrunk
        {"privacy": {"epsilon": "0.05"}},  # of too wide laws
        {"group_by": SMALL | {"who": [0, 1]}},  # more than three columns, in all tables
        {"group_by": SMALL | {"who": [0, 1]}, "margins": [["region"], ["sex"]]},  # none in another
        {"group_by": {"region": [0, 1, 2], "sex": ["f", "m"]}},  # noise in the cells is the best
    ],
)
def test_where_there_is_none(given: dict[str, Any]) -> None:
    assert whole_of(plan_of(spec_of(**given))).chain is None


NESTED = [[*GROUP_BY, "who"], ["sex"], ["sex", "region"], ["sex", "region", "who"], []]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("group_by", "margins", "order", "most"),
    [
        (
            LARGE,
            [[*GROUP_BY], ["region"], ["region", "sex"], []],
            (0, 1, 2),
            3.92,
        ),  # the laws cross none
        (SMALL | {"who": [0, 1, 2]}, NESTED, (1, 0, 3, 2), 4.2),
        (SMALL | {"who": [0, 1, 2]}, [[*GROUP_BY, "who"], ["age"]], (2, 0, 1, 3), 3.9),
    ],
)
def test_nested_tables_are_levels_of_one_tree(
    group_by: dict[str, Any], margins: list[list[str]], order: tuple[int, ...], most: float
) -> None:
    """There may be any number of columns; a table that is a level has noise of one level."""
    whole = whole_of(plan_of(spec_of(group_by=group_by, margins=margins)))
    chain = chain_of(whole)
    assert chain.order == order
    laws = level_laws(chain.noise)
    for table in whole.cells.margins:
        assert chain.variance(table) == pytest.approx(laws[table.bit_count()].variance)
    assert whole.compared["count"].own <= most
    assert whole.compared["count"].own < min(
        whole.compared["count"].cells, whole.compared["count"].apart
    )


@pytest.mark.dense
def test_units_that_are_replaced_cost_two_moves() -> None:
    results = []
    for neighbours, epsilon in (("add-remove", 1), ("replace-one", 2)):
        cells = whole_of(plan_of(spec_of(group_by=SMALL, privacy={"neighbours": neighbours}))).cells
        results.append(find_chain(cells, Budget(epsilon=epsilon)))
    added, replaced = results
    assert added is not None
    assert replaced is not None
    assert added[0] == replaced[0]


def test_persons_that_are_counted_once() -> None:
    raw = spec_of(unit="who", statistics=["count_units"], group_by=SMALL)
    raw["contribution"] = {"max_groups": 1}
    assert whole_of(plan_of(raw)).chain is not None


def test_cells_are_placed_by_the_order() -> None:
    chain = chain_of(whole_of(plan_of(spec_of(group_by=LARGE))))
    cells = np.arange(400)
    placed = chain.strategy.place(cells)[0].reshape(chain.noise.branches)
    for at in itertools.product(range(20), range(2), range(10)):
        values = tuple(at[column] for column in chain.order)
        assert placed[values] == cells.reshape(20, 2, 10)[at]
    assert (chain.strategy.estimate([placed.reshape(-1).astype(float)]) == cells).all()


@pytest.mark.dense
@pytest.mark.parametrize("nested", [False, True])
def test_what_is_published_has_the_stated_errors(*, nested: bool) -> None:
    """The sampler of releases draws; all numbers of a table have one law."""
    more: dict[str, Any] = {"margins": NESTED} if nested else {}
    columns = SMALL | ({"who": [0, 1, 2]} if nested else {})
    plan = plan_of(spec_of(group_by=columns, **more))
    shape = (6, 2, 6, 3)[: len(columns)]
    truth = np.arange(math.prod(shape), dtype=np.int64) * 10**6
    bits = plan.noisy_parts[0].layout.bits
    draws = [publish_margins(whole_of(plan), plan.noisy_parts, truth << bits) for _ in range(400)]
    for index, part in enumerate(plan.noisy_parts):
        axes = tuple(i for i in range(len(shape)) if not table_of(part) >> i & 1)
        exact = truth.reshape(shape).sum(axis=axes).reshape(-1)
        errors = np.array([draw[index].columns["count"] for draw in draws]) - exact
        assert (errors == np.rint(errors)).all()
        # six standard deviations: of a mean square of 400 draws 67 % (Laplace), of a share 6.5 %
        assert np.mean(errors**2) == pytest.approx(part.noise_errors[0].std ** 2, rel=0.67)
        assert np.mean(np.abs(errors) <= part.noise_errors[0].half95) > 0.885


def released(folder: Path, **part: Any) -> Path:
    rows = pd.DataFrame({"who": [1, 2], "region": [1, 3], "sex": ["f", "m"], "age": [10, 40]})
    rows.to_csv(folder / "rows.csv", index=False)
    given: dict[str, Any] = {"group_by": SMALL} | part
    raw = spec_of(**given)
    raw["output"] = {"path": "out", "format": "csv"}
    Release(**raw, folder=folder).run()
    return folder / "out"


@pytest.mark.dense
def test_a_release_verifies(tmp_path: Path) -> None:
    assert len(verify_directory(released(tmp_path)).rows) == 8
    tmp_path.joinpath("out").rename(tmp_path / "first")
    nested = released(tmp_path, group_by=SMALL | {"who": [1, 2]}, margins=NESTED)
    assert len(verify_directory(nested).rows) == 5


@pytest.mark.dense
@pytest.mark.parametrize(
    ("statistic", "limits"),
    [
        ("count_units", {"max_groups": 1}),
        ("count_units", {"max_groups": 1, "max_rows_per_group": 1}),
        ("count_units", {"max_rows": 1, "l1": 1}),
        ("count_units", {"max_rows": 1, "l2": 1}),
        ("count", {"max_groups": 1, "max_rows_per_group": 1}),
        ("count", {"max_rows": 2, "max_rows_per_group": 1}),
        ("count", {"max_rows": 1, "l1": 1}),
        ("count", {"max_rows": 1, "l2": 1}),
    ],
)
def test_a_column_that_no_table_has_is_in_no_tree(
    tmp_path: Path, statistic: str, limits: dict[str, int]
) -> None:
    """These limits are about groups by every column, so that the cells keep such columns."""
    rows = pd.DataFrame(itertools.product([1, 2], range(20), [1, 2], [1, 2]), columns=[*"abcd"])
    rows.assign(who=rows.index).to_csv(tmp_path / "rows.csv", index=False)
    sizes = {"a": 2, "b": 60, "c": 2, "d": 2}
    raw = spec_of(
        unit="who",
        statistics=[statistic],
        group_by={name: [*range(1, size + 1)] for name, size in sizes.items()},
        margins=[[], ["a"], ["a", "b"]],
    )
    raw["data"]["types"] = dict.fromkeys(["who", *sizes], "int")
    raw |= {"contribution": limits, "output": {"path": "out", "format": "csv"}}
    release = Release(**raw, folder=tmp_path)
    whole = whole_of(release.plan())
    assert (len(whole.cells.axes), whole.chain) == (4, None)
    release.run()
    assert len(verify_directory(tmp_path / "out").rows) == 3


@pytest.mark.grid
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda b: b.update(name="people.1x2x3"), "noise has another tree"),
        (lambda b: b.update(name="people.2x3"), "doesn't list all columns"),
        (lambda b: b.update(name="people.2x3x1"), "plan.json"),  # region and age have six each
        (lambda b: b["certificate"]["sensitivity"].update(l0=2), "people"),
        (lambda b: b["certificate"].update(epsilon="2"), "people"),
        (lambda b: b["certificate"].update(epsilon="0.5"), "budget isn't the query's share"),
    ],
)
def test_certificates_that_are_edited(tmp_path: Path, change: Any, text: str) -> None:
    folder = released(tmp_path)
    path = folder / "certificate.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record["draws"][0])
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


@pytest.mark.parametrize("epsilon", [36, 60])
def test_noise_that_is_0_as_a_float_is_no_candidate(epsilon: int) -> None:
    """Geometric noise in the cells has a known std there: √(2q), q = e^(−ε)."""
    plan = plan_of(spec_of(privacy={"epsilon": epsilon}, margins=[[*GROUP_BY], []]))
    (cells,) = plan.noisy_parts[0].noise_errors
    assert plan.noisy_parts[0].certificate.noise.name == "geometric"
    assert cells.std == pytest.approx(math.sqrt(2) * math.exp(-epsilon / 2), rel=1e-3)


def test_an_epsilon_whose_noise_no_float_tells_from_0_is_refused() -> None:
    with pytest.raises(Refused, match="Lower epsilon"):
        plan_of(spec_of(privacy={"epsilon": 1000}))
