"""Margins of many columns: noise is in contrasts, and rows are summed by table, without cells."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.calibration import find_gaussian
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.guarantees.budget import Budget
from leastnoise.tables.answers.sums.margin_queries import contrasts_sensitivity, layouts_read
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.answers.sums.publish_sums import publish_margins, round_together
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.spec.source import IN_MEMORY
from leastnoise.workloads.contrasts import BITS, numerators
from leastnoise.workloads.marginal import Marginals
from tests.tables.margins import plan_of, whole_of
from tests.tables.reference import SALT
from tests.tables.resealed import verify_resealed
from tests.workloads.test_contrasts import dense

SIZES = {"a": 5, "b": 2, "c": 3, "d": 2, "e": 40, "f": 30, "g": 4}
"""The numbers of keys by column; their 288,000 cells are too many to be stored."""
SMALL = {"a": 4, "b": 3, "c": 2}
LITTLE = {"epsilon": "0.1", "delta": "0.01"}
"""A budget at which Gaussian noise is the best, also for few tables."""


def spec_of(sizes: dict[str, int] = SIZES, *, way: int = 2, **given: Any) -> dict[str, Any]:
    """Return a spec of all tables by `way` of the columns."""
    privacy = {"unit": "row", "epsilon": 1, "delta": "1e-6"} | given.pop("privacy", {})
    query = {
        "name": "q",
        "statistics": ["count"],
        "group_by": {column: [*range(size)] for column, size in sizes.items()},
        "margins": [list(by) for by in itertools.combinations(sizes, way)],
    }
    return {
        "version": 1,
        "data": {"source": "rows.csv", "types": {**dict.fromkeys(sizes, "int"), "who": "int"}},
        "privacy": privacy,
        "query": [query | given],
    }


def rows_of(sizes: dict[str, int] = SIZES, count: int = 500) -> pd.DataFrame:
    """Return random rows; some have keys that aren't listed."""
    random = np.random.default_rng(8)
    return pd.DataFrame({
        **{column: random.integers(size + 1, size=count) for column, size in sizes.items()},
        "who": np.arange(count),
    })  # fmt: skip


def counts(rows: pd.DataFrame, sizes: dict[str, int], by: tuple[str, ...]) -> list[int]:
    """Return the number of rows in each cell of a table, if all their keys are listed."""
    kept = rows[np.all([rows[column] < size for column, size in sizes.items()], axis=0)]
    cells = np.zeros([sizes[column] for column in by], dtype=np.int64)
    np.add.at(cells, tuple(kept[column] for column in by), 1)
    return cells.reshape(-1).tolist()


def released(folder: Path, **given: Any) -> Release:
    rows_of().to_csv(folder / "rows.csv", index=False)
    raw = spec_of(**given) | {"output": {"path": "out", "format": "json"}}
    return Release(**raw, folder=folder)


def table(folder: Path, by: tuple[str, ...]) -> pd.DataFrame:
    path = folder / "out" / f"q_by_{'_'.join(by)}.json"
    return pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))


def test_rows_are_summed_by_listed_table() -> None:
    """Only rows with a listed key in every column count, whichever columns a table is by."""
    rows = rows_of()
    arranged = spec_file.lay_out(spec_of() | {"data": {"source": IN_MEMORY}})
    ((layout,),) = arranged.queries[0]
    layouts = layouts_read(layout)
    assert len(layouts) == 21
    assert len(integer_vectors.batches_of(layouts)) == 1
    with source.open_engine(source.find_source(arranged.spec, Path(), frame_of(rows))) as engine:
        vectors = integer_vectors.query_vectors(engine, arranged.spec, layouts, salt=SALT)
    for item, vector in zip(layouts, vectors, strict=True):
        by = tuple(axis.column for axis in item.axes)
        assert (vector >> layout.bits).tolist() == counts(rows, SIZES, by)


@pytest.mark.dense
def test_the_noise_of_many_columns_is_the_stated_one(tmp_path: Path) -> None:
    result = released(tmp_path).run()
    whole, rows = whole_of(result.plan), rows_of()
    assert whole.contrasts
    assert len(whole.measured) == 1 + 7 + 21
    errors: list[float] = []
    for part in result.plan.noisy_parts:
        columns = result.tables[part.name].columns
        truth = np.array(counts(rows, SIZES, tuple(axis.column for axis in part.layout.axes)))
        errors += ((np.array(columns["count"]) - truth) / part.errors[0].std).tolist()
    # sums of the same noise, in 2,004 contrasts: a standard deviation of the mean square is .03
    assert np.mean(np.square(errors)) == pytest.approx(1, abs=0.2)
    assert verify_directory(tmp_path / "out").delta.upper <= 1e-6


@pytest.mark.dense
def test_tables_of_many_columns_agree_exactly(tmp_path: Path) -> None:
    """Attack: a number moves with its interval, and doesn't fit the other tables."""
    released(tmp_path).run()
    for column in SIZES:
        pairs = [by for by in itertools.combinations(SIZES, 2) if column in by]
        sums = {tuple(table(tmp_path, by).groupby(column)["count"].agg(math.fsum)) for by in pairs}
        assert len(sums) == 1
    path = tmp_path / "out" / "q_by_c_d.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    for name in ("count", "count_low", "count_high"):
        records[0][name] += 2.0**-10
    path.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=r"don't have the same (sums by|total)"):
        verify_resealed(tmp_path / "out")


@pytest.mark.dense
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda b: b.__delitem__(-1), "Not every table of"),
        (lambda b: b.__delitem__(0), "Not every table of"),
        (lambda b: b.reverse(), "order|no table"),
        (lambda b: b[3].update(name="q.3"), "no table"),
        (lambda b: b[3].update(name=b[2]["name"]), "no table|twice|number of coordinates"),
        (
            lambda b: b[-1]["certificate"]["sensitivity"].update(bound="0.5"),
            "certificate's sensitivity",
        ),
        (
            lambda b: b[-1]["certificate"]["noise"]["parameters"].update(scale="1"),
            "differs from the plan that follows",
        ),
        (
            lambda b: b.append({**b[-1], "name": "q.contrasts-" + "x".join("1234567")}),
            "has too many cells for noise",
        ),
    ],
)
def test_certificates_that_are_edited(tmp_path: Path, change: Any, text: str) -> None:
    released(tmp_path).run()
    path = tmp_path / "out" / "certificate.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record["draws"])
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(tmp_path / "out")


def contrasts_of(whole: Margins, mask: int) -> list[list[Fraction]]:
    """Return a table's contrasts, to which noise is added, as exact coefficients of all cells."""
    summed = np.ones((1, 1), dtype=np.int64)
    for i, n in enumerate(whole.marginals.sizes):
        item = np.eye(n, dtype=np.int64) if mask >> i & 1 else np.ones((1, n), dtype=np.int64)
        summed = np.kron(summed, item)
    sizes = whole.sizes(mask)
    rows = (dense(tuple(sizes)) @ summed).tolist()
    pairs = zip(rows, numerators(sizes).tolist(), strict=True)
    return [[Fraction(factor * entry, 2**BITS) for entry in row] for row, factor in pairs]


@pytest.mark.dense
@pytest.mark.parametrize(
    "given", [{}, {"objective": "largest"}, {"margins": [["a", "b"], ["c"], []]}, {"margins": True}]
)
def test_privacy_and_errors_are_those_of_the_dense_strategy(given: dict[str, Any]) -> None:
    """One Gaussian draw in A x: the least σ that hides it, in fractions; and pinv's covariance."""
    plan = plan_of(spec_of(SMALL, privacy=LITTLE, **given))
    whole = whole_of(plan)
    assert whole.contrasts
    drawn = [
        (row, claim.noise.scale)
        for mask, claim in whole.measured.items()
        for row in contrasts_of(whole, mask)
    ]
    lengths = [sum((row[cell] / scale) ** 2 for row, scale in drawn) for cell in range(24)]
    sigma = Fraction(find_gaussian(Budget(epsilon="0.1", delta="0.01")).scale)
    assert float(max(lengths) * sigma**2) == pytest.approx(1, abs=2e-5)
    assert max(lengths) * sigma**2 < 1 + Fraction(1, 10**6)
    scaled = np.array([[float(item / scale) for item in row] for row, scale in drawn])
    covariance = np.linalg.pinv(scaled.T @ scaled)
    for part in plan.noisy_parts:
        columns = [axis.column for axis in part.layout.axes]
        summed = np.ones((1, 1))
        for column, n in SMALL.items():
            summed = np.kron(summed, np.eye(n) if column in columns else np.ones((1, n)))
        stds = np.sqrt(np.diag(summed @ covariance @ summed.T))
        assert stds.max() <= part.errors[0].std * (1 + 1e-9)
        assert stds.min() == pytest.approx(part.errors[0].std, rel=1e-4)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_unit_moves_contrasts_further_than_a_certificate_may_say(neighbours: Any) -> None:
    whole = whole_of(plan_of(spec_of(SMALL, privacy={"neighbours": neighbours})))
    for mask in whole.marginals.every:
        rows = np.array(contrasts_of(whole, mask), dtype=float)
        moves = [*rows.T]
        if neighbours == "replace-one":
            moves += [item - other for item, other in itertools.permutations(moves, 2)]
        most = max(float(np.linalg.norm(move)) for move in moves)
        radius = float(contrasts_sensitivity(whole.cells, mask).bound)
        assert most <= radius * (1 + 1e-12)
        assert most == pytest.approx(radius, rel=1e-6)


@pytest.mark.dense
def test_what_is_drawn_has_the_stated_errors() -> None:
    """The sampler of releases draws."""
    plan = plan_of(spec_of(SMALL, privacy=LITTLE))
    whole = whole_of(plan)
    truth = np.arange(24, dtype=np.int64) << whole.cells.bits
    draws = [publish_margins(whole, plan.noisy_parts, truth) for _ in range(600)]
    for index, part in enumerate(plan.noisy_parts):
        numbers = np.array([tables[index].columns["count"] for tables in draws])
        axes = [
            i
            for i, column in enumerate(SMALL)
            if column not in {a.column for a in part.layout.axes}
        ]
        exact = np.arange(24).reshape(4, 3, 2).sum(axis=tuple(axes)).reshape(-1)
        (error,) = part.noise_errors
        # of 600 draws: six standard deviations of the mean square are 35 % of it
        assert np.square(numbers - exact).mean() == pytest.approx(error.std**2, rel=0.36)
        assert (np.abs(numbers - exact) <= error.half95).mean() == pytest.approx(0.95, abs=0.055)


@pytest.mark.dense
@pytest.mark.parametrize("epsilon", ["0.1", "2"])
def test_a_total_that_is_public_has_no_noise(tmp_path: Path, epsilon: str) -> None:
    """The bands hold every row, and rows are replaced."""
    rows_of().to_csv(tmp_path / "rows.csv", index=False)
    raw = spec_of(
        privacy={"epsilon": epsilon, "delta": "0.01", "neighbours": "replace-one"},
        group_by={column: {"edges": ["-inf", 1, 2, 3, 4, 5, 6, "inf"]} for column in SIZES},
        margins=[*map(list, itertools.combinations(SIZES, 2)), []],
    )
    raw |= {"columns": {column: {"missing": 0} for column in SIZES}}
    raw |= {"output": {"path": "out", "format": "json"}}
    result = Release(**raw, folder=tmp_path).run()
    assert not whole_of(result.plan).marginals.is_small
    assert whole_of(result.plan).total_is_known
    *others, total = result.plan.noisy_parts
    assert total.errors[0].std == 0 < min(part.errors[0].std for part in others)
    sums = {math.fsum(table.columns["count"]) for table in result.tables.values()}
    assert sums == {500}
    assert set(verify_directory(tmp_path / "out").rows) == set(result.tables)


@pytest.mark.parametrize("size", [1e3, 1e15, 1e30])
def test_tables_are_rounded_together(size: float) -> None:
    """Each within as many half steps as it has numbers, and all agree to the last step."""
    tables = tuple(3 | 1 << i for i in range(2, 7))
    marginals = Marginals(sizes=(3, 4, 2, 5, 1, 3, 2**15), tables=tables[:-1])
    assert not marginals.is_small
    random = np.random.default_rng(2)
    components: dict[int, Any] = {}
    for part in marginals.every[:-1]:
        values = random.normal(size=[marginals.sizes[i] for i in marginals.axes(part)]) * size
        for axis in range(values.ndim):
            values -= values.mean(axis=axis, keepdims=True)
        components[part] = values
    rounded = round_together(marginals, components, 0.25)
    for part, steps in rounded.items():
        for i in marginals.axes(part):
            above = steps.sum(axis=marginals.axes(part).index(i))
            assert (above == rounded[part & ~(1 << i)]).all()
        if size < 1e4:
            estimate = marginals.table(components, part)
            assert np.abs(steps * 0.25 - estimate).max() <= 0.125 * steps.size * (1 + 1e-9)
        assert np.abs(steps).sum() < 2**53


@pytest.mark.dense
def test_the_shares_are_the_best_of_gaussian_noise() -> None:
    """The figures of 14 columns are from ResidualPlanner's closed form, computed separately."""
    sizes = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)  # of Adult, in Xiao et al.
    columns = {f"c{index}": size for index, size in enumerate(sizes)}
    privacy = {"epsilon": 1, "delta": "1e-9"}
    plan = plan_of(spec_of(columns, privacy=privacy))
    stds = [part.errors[0].std for part in plan.noisy_parts]
    assert len(stds) == 91
    assert math.exp(math.fsum(map(math.log, stds)) / 91) == pytest.approx(44.907, abs=0.002)
    largest = plan_of(spec_of(columns, privacy=privacy, objective="largest"))
    stds = [part.errors[0].std for part in largest.noisy_parts]
    assert max(stds) == pytest.approx(45.25, abs=0.01)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"privacy": {"unit": "who"}}, "are of one count of rows"),
        ({"statistics": ["count", "sum(a)"]}, "are of one count of rows"),
        ({"margins": True}, "2 to 6 columns in group_by, got 7. List the tables."),
        (
            {"group_by": {column: [*range(size)] for column, size in (SIZES | {"g": 1}).items()}},
            "A column with one key",
        ),
        ({"margins": [[*SIZES]]}, "65,536 cells with margins, got 288,000 in one table"),
    ],
)
def test_what_is_refused(given: dict[str, Any], text: str) -> None:
    raw = spec_of(**given) | {"columns": {"a": {"bounds": [0, 5]}}}
    if raw["privacy"]["unit"] == "who":
        raw["contribution"] = {"max_rows": 1}
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw)
    assert text in str(caught.value)


def test_too_many_tables_are_refused() -> None:
    many = {f"c{index}": 2 for index in range(20)}
    with pytest.raises(SpecError, match="at most 1,024 tables"):
        spec_file.lay_out(spec_of(many, way=3))
