"""Releases of sums and means with margins: they add up and verify; edited ones are rejected."""

from __future__ import annotations

import itertools
import json
import math
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from leastnoise.certificate.plan import COMPOSED
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.answers.sums.publish_sums import add_up, publish_margins
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.margins import GROUP_BY, plan_of, read, sums_of, table_of, whole_of
from tests.tables.resealed import verify_resealed

WIDE: dict[str, Any] = {
    "margins": [["region", "sex", "age"], ["sex"], []],
    "group_by": GROUP_BY | {"region": [*range(12)]},
    "privacy": {"epsilon": "0.3"},
}
"""A query in which noise is added to the cells and to the table by sex."""
NAMES = ("people", "people_by_sex", "people_total")
BOUNDS = (-5, 30)
MIDDLE, RADIUS = 12.5, 17.5


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release; tests edit copies of it."""
    return released(tmp_path_factory.mktemp("wide"), **WIDE)


def write_rows(folder: Path) -> None:
    random = np.random.default_rng(5)
    rows = pd.DataFrame(
        {
            "who": np.arange(400) // 2,
            "region": random.integers(4, size=400),
            "sex": random.choice(["f", "m"], size=400),
            "age": random.integers(70, size=400),
            "x": np.where(random.random(400) < 0.1, np.nan, random.uniform(-7, 33, 400)),
        }
    )
    rows.to_csv(folder / "rows.csv", index=False)


def released(folder: Path, kind: str = "json", **given: Any) -> Path:
    write_rows(folder)
    raw = sums_of(**({"bounds": BOUNDS} | given))  # pyright: ignore
    raw["output"] = {"path": "out", "format": kind}
    Release(**raw, folder=folder).run()
    return folder / "out"


def total(column: Any) -> Fraction:
    return sum(map(Fraction, map(float, column)), Fraction(0))


@pytest.mark.dense
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("csv", {"missing": "skip", "statistics": ["count", "count(x)", "sum(x)", "mean(x)"]}),
        ("json", {"bounds": (0.1, 0.7)}),  # of which no float is a whole multiple
        ("parquet", {"unit": "who", "bounds": (1000, 1001)}),
        ("json", {"statistics": ["sum(x)"], "bounds": (-1e-9, 3e-9)}),
        ("csv", {"unit": "who", "missing": "10", "privacy": {"neighbours": "replace-one"}}),
    ],
)
def test_totals_agree_exactly(tmp_path: Path, kind: str, given: dict[str, Any]) -> None:
    given = {"margins": [["region", "sex", "age"], ["region", "sex"], ["sex"], []]} | given
    folder = released(tmp_path, kind, **given)
    cells = read(folder, "people", kind)
    labels = [item for item in ("count", "count_x", "sum_x") if item in cells]
    for by in (["region", "sex"], ["sex"], []):
        text = read(folder, f"people_by_{'_'.join(by)}" if by else "people_total", kind)
        for label in labels:
            parts = cells.groupby(by)[label].agg(total) if by else [total(cells[label])]
            wanted = text.set_index(by)[label].sort_index() if by else text[label]
            assert list(map(Fraction, wanted)) == list(parts)
        if "mean_x" in text:
            count = text["count_x" if "count_x" in text else "count"]
            low, high = given.get("bounds", BOUNDS)
            means = (text["sum_x"] / count).clip(low, high)[count > 0]
            # but for the rounding of 12 cells' sums, to 2^-18 of their bounds or 2^-20 of the noise
            room = 12 * 2**-17 * max(map(abs, (low, high))) / count[count > 0] + 1e-9
            assert (np.abs(text["mean_x"][count > 0] - means) <= room).all()
    assert verify_directory(folder).rows["people_total"] == 1


@pytest.mark.dense
@pytest.mark.parametrize("statistics", [["mean(x)"], ["count", "mean(x)", "sum(age)", "mean(age)"]])
def test_other_statistics_together(tmp_path: Path, statistics: list[str]) -> None:
    given = {"statistics": statistics, "margins": [["region", "sex"], []], "missing": "skip"}
    raw = sums_of(**given, group_by={"region": [0, 1, 2], "sex": ["f", "m"]})
    raw["columns"]["age"] = {"bounds": [0, 70], "missing": "none"}
    write_rows(tmp_path)
    raw["output"] = {"path": "again", "format": "csv"}
    tables = Release(**raw, folder=tmp_path).run().tables
    assert verify_directory(tmp_path / "again").rows == {"people": 6, "people_total": 1}
    means = tables["people_total"].columns
    assert BOUNDS[0] <= means["mean_x"][0] <= 30


def exact(whole: Margins, columns: dict[str, NDArray[Any]], table: int) -> dict[str, NDArray[Any]]:
    """Return a table's exact sums of each of `columns`, which are numbers per cell."""
    marginals = whole.marginals
    axes = marginals.axes(marginals.every[-1] & ~table)
    sizes = marginals.sizes
    return {name: item.reshape(sizes).sum(axis=axes).reshape(-1) for name, item in columns.items()}


def test_noise_that_never_comes_gives_the_truth() -> None:
    plan = plan_of(sums_of(bounds=BOUNDS, **WIDE))
    whole = whole_of(plan)
    assert list(whole.measured) == [2, 7]
    count = np.arange(1.0, 49)
    truth = {"count": count, "sum_x": count * np.linspace(-4, 29, 48)}
    centred = {"count": count, "value": (truth["sum_x"] - MIDDLE * count) / RADIUS}
    noisy = {
        table: np.stack([*exact(whole, centred, table).values()], axis=1).reshape(-1)
        for table in whole.measured
    }
    for index, table in enumerate(add_up(whole, plan.noisy_parts, noisy)):
        wanted = exact(whole, truth, table_of(plan.noisy_parts[index]))
        np.testing.assert_allclose(table.columns["count"], wanted["count"], atol=1e-3)
        np.testing.assert_allclose(table.columns["sum_x"], wanted["sum_x"], atol=1e-2)
        means = wanted["sum_x"] / wanted["count"]
        np.testing.assert_allclose(table.columns["mean_x"], means, atol=1e-2)


@pytest.mark.grid
@pytest.mark.parametrize("huge", [2.0**40, 2.0**70, 1e290])
def test_tables_add_up_however_large_the_noise_is(huge: float) -> None:
    plan = plan_of(sums_of(bounds=BOUNDS, margins=[[*GROUP_BY], []]))
    whole = whole_of(plan)
    noisy = {
        table: huge * np.linspace(-1, 1, 2 * whole.marginals.cells(table)) ** 3
        for table in whole.measured
    }
    cells, *_, item = add_up(whole, plan.noisy_parts, noisy)
    for label in ("count", "sum_x"):
        assert total(cells.columns[label]) == Fraction(item.columns[label][0])


def box_noise(random: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Any:
    """Draw noise of density ∝ e^(−max|x|/scale) in cells of shape[-1] numbers, by its definition.

    The largest size has the law Gamma(q); its position and sign are uniform, and the other numbers
    are uniform below it.
    """
    q = shape[-1]
    most = random.gamma(q, size=shape[:-1])[..., None]
    values = random.uniform(-1, 1, shape)
    which = random.integers(q, size=shape[:-1])[..., None]
    np.put_along_axis(values, which, random.choice([-1.0, 1.0], which.shape), axis=-1)
    return scale * most * values


def dense(whole: Margins) -> NDArray[np.float64]:
    """Return the matrix that estimates the cells from all measured numbers by least squares.

    Its shape is (cells, measured numbers); it solves the weighted normal equations.
    """
    sizes = whole.marginals.sizes
    every = np.eye(math.prod(sizes)).reshape(*sizes, -1)
    rows, weights = [], []
    for table, claim in whole.measured.items():
        axes = whole.marginals.axes(whole.marginals.every[-1] & ~table)
        rows.append(every.sum(axis=axes).reshape(-1, every.shape[-1]))
        weights += [1 / claim.noise.variance] * len(rows[-1])
    design, weighted = np.concatenate(rows), np.array(weights)
    return np.linalg.solve((design.T * weighted) @ design, design.T * weighted)


@pytest.mark.dense
def test_what_is_drawn_has_the_stated_errors() -> None:
    """Simulated by numpy from the noise's definition, estimated by a dense matrix."""
    plan = plan_of(sums_of(bounds=BOUNDS, **WIDE))
    whole, random, draws = whole_of(plan), np.random.default_rng(7), 4_000
    solved = dense(whole)
    noise = np.concatenate(
        [
            box_noise(random, float(claim.noise.scale), (draws, whole.marginals.cells(table), 2))
            for table, claim in whole.measured.items()
        ],
        axis=1,
    )
    count, value = np.moveaxis(np.einsum("cm,dmq->dcq", solved, noise), 2, 0)
    off = {"count": count, "sum_x": MIDDLE * count + RADIUS * value}
    sizes = whole.marginals.sizes
    for index, part in enumerate(plan.noisy_parts):
        axes = tuple(1 + i for i in whole.marginals.axes(7 & ~table_of(plan.noisy_parts[index])))
        for error in part.errors[:2]:
            numbers = off[error.statistic].reshape(draws, *sizes).sum(axis=axes).reshape(draws, -1)
            assert numbers.std(axis=0) == pytest.approx(error.std, rel=0.1)
            assert numbers.std() == pytest.approx(error.std, rel=0.03)
            inside = np.abs(numbers) <= error.half_width_95
            assert 0.945 < inside.mean() < 0.965


@pytest.mark.dense
@pytest.mark.parametrize("mean", [-4.9, 12.5, 25])
@pytest.mark.parametrize("given", [{}, {"privacy": {"neighbours": "replace-one", "epsilon": 1}}])
def test_published_intervals_hold(mean: float, given: dict[str, Any]) -> None:
    """The sampler of releases draws, at three places in the bounds; a cell has 60 values."""
    plan = plan_of(sums_of(bounds=BOUNDS, **WIDE | given))
    whole = whole_of(plan)
    bits, size = plan.noisy_parts[0].layout.bits, 60
    item = round((mean - MIDDLE) / RADIUS * 2**bits)
    cells = np.array([[size << bits, size * item]] * 48, dtype=np.int64).reshape(-1)
    stored: dict[str, list[bool]] = {"count": [], "sum_x": [], "mean_x": []}
    for tables in (publish_margins(whole_of(plan), plan.noisy_parts, cells) for _ in range(60)):
        for index, table in enumerate(tables):
            n = size * 48 // whole.marginals.cells(table_of(plan.noisy_parts[index]))
            truth = {"count": n, "sum_x": n * mean, "mean_x": mean}
            for label, value in truth.items():
                ends = zip(
                    table.columns[f"{label}_low"], table.columns[f"{label}_high"], strict=True
                )
                stored[label] += [low - 1e-5 <= value <= high + 1e-5 for low, high in ends]
    # 60·51 numbers, of which those of one draw depend on each other
    assert 0.93 < np.mean(stored["count"]) < 0.98
    assert 0.93 < np.mean(stored["sum_x"]) < 0.98
    assert np.mean(stored["mean_x"]) > 0.93


@pytest.mark.dense
def test_gaussian_noise_where_it_has_less(tmp_path: Path) -> None:
    given = WIDE | {"margins": True, "privacy": {"epsilon": "0.1", "delta": "1e-2"}}
    write_rows(tmp_path)
    raw = sums_of(**given, bounds=BOUNDS, statistics=["count", "sum(x)"])
    plan = Release(**raw, output={"path": "out"}, folder=tmp_path).run().plan
    whole = whole_of(plan)
    assert plan.certificate.rule == COMPOSED
    assert {mechanism.noise.name for mechanism in whole.measured.values()} == {"gaussian"}
    for compared in whole.compared.values():
        assert compared.own < min(compared.cells, compared.apart)
    assert verify_directory(tmp_path / "out").delta.upper <= 1e-2


def test_an_l1_norm_of_several_numbers_bounds_no_rows() -> None:
    raw = sums_of(unit="who", bounds=BOUNDS, margins=[[*GROUP_BY], []])
    whole = whole_of(plan_of(raw))
    tighter = whole_of(plan_of(raw | {"contribution": {"max_rows": 2, "l1": 1}}))
    assert tighter.measured == whole.measured
    with pytest.raises(SpecError, match=r"tables with margins. Give max_rows"):
        plan_of(raw | {"contribution": {"l1": 3}})


@pytest.mark.parametrize("form", [{"round": True, "clamp": True}, {"round": True}, {"round_to": 5}])
def test_counts_alone_are_made_whole(form: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as caught:
        plan_of(sums_of(**form))
    for name in form:
        assert f"{name}: Not used with margins: sums wouldn't add up. Counts" in str(caught.value)
    assert "Give round" not in str(caught.value)


def test_several_releases_together() -> None:
    raw = sums_of(
        bounds=BOUNDS, margins=[[*GROUP_BY], []], privacy={"ledger": {"path": "visits.ledger"}}
    )
    raw |= {"series": {"releases": 4}}
    whole = whole_of(plan_of(raw))
    assert sum(value.budget.epsilon for value in whole.measured.values()) <= 1
    assert {value.compositions for value in whole.measured.values()} == {4}
    item = whole_of(plan_of(sums_of(bounds=BOUNDS, margins=[[*GROUP_BY], []])))
    for label, compared in whole.compared.items():
        assert compared.own == pytest.approx(4 * item.compared[label].own, rel=1e-6)


def edit(folder: Path, name: str, change: Any) -> None:
    record = json.loads((folder / name).read_text(encoding="utf-8"))
    change(record)
    (folder / name).write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.dense
def test_a_sum_that_is_edited_with_its_interval(wide: Path, tmp_path: Path) -> None:
    """Attack: sum and ends move alike, and fit each other and the mean: but not the cells."""
    folder = shutil.copytree(wide, tmp_path / "out")

    def moved(records: list[dict[str, Any]]) -> None:
        step = 2.0**-10
        for name in ("sum_x", "sum_x_low", "sum_x_high"):
            records[0][name] += step

    edit(folder, "people_total.json", moved)
    with pytest.raises(CertificateRejected, match=r"isn't the sum of people.json in sum_x"):
        verify_resealed(folder)


@pytest.mark.dense
def test_a_mean_that_is_edited_alone(wide: Path, tmp_path: Path) -> None:
    """Attack: a mean within its interval, whose standard deviation mostly still fits its count."""
    folder = shutil.copytree(wide, tmp_path / "out")

    def moved(records: list[dict[str, Any]]) -> None:
        computed = records[0]
        computed["mean_x"] += (computed["mean_x_high"] - computed["mean_x"]) * 1e-4

    edit(folder, "people_total.json", moved)
    says = "a mean_x that isn't its sum over its count|a mean_x_std that doesn't fit its other"
    with pytest.raises(CertificateRejected, match=says):
        verify_resealed(folder)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda item: item.update(epsilon="0.01"), "plan.json"),
        (
            lambda item: item["sensitivity"]["hull"]["bodies"][0].update(bounds=["1/2", "1/2"]),
            "people",
        ),
        (
            lambda item: item["noise"]["parameters"]["body"]["copies"].__setitem__(0, 3),
            "6 coordinates",
        ),
        (
            lambda item: [
                part["bodies"][0].update(bounds=["1", "2"])
                for part in (item["sensitivity"]["hull"], item["noise"]["parameters"]["body"])
            ],
            "sensitivity doesn't follow from the spec",
        ),
        # noise for more than a unit can do is private, but its numbers aren't alike any more
        (
            lambda item: item["noise"]["parameters"]["body"]["bodies"][0].update(bounds=["1", "2"]),
            "hull of all that a unit",
        ),
    ],
)
def test_certificates_that_are_edited(wide: Path, tmp_path: Path, change: Any, text: str) -> None:
    folder = shutil.copytree(wide, tmp_path / "out")
    edit(folder, "certificate.json", lambda record: change(record["draws"][0]["certificate"]))
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


@pytest.mark.dense
def test_what_the_plan_compares() -> None:
    """What other ways have is what plans of them have; sums are nowhere below their bound."""
    raw = sums_of(bounds=BOUNDS, margins=True)
    plan = plan_of(raw)
    record = plan.noisy_parts[0].to_record()["margins"]["compared"]
    assert list(record) == ["count", "sum_x"]
    for index, (label, computed) in enumerate(record.items()):
        stds = [part.errors[index].std for part in plan.noisy_parts]
        assert math.exp(math.fsum(map(math.log, stds)) / 8) == pytest.approx(
            computed["own"], rel=1e-6
        )
        assert computed["bound"] < computed["own"] <= min(computed["cells"], computed["apart"])
        subject = f"The geometric mean of the tables' standard deviations of {label} is "
        assert subject in " ".join(whole_of(plan).in_words())
    # a sum in the cells alone is at least as noisy as Laplace noise for its largest value
    assert record["sum_x"]["bound"] == pytest.approx(30 * record["count"]["bound"])
    each = {"statistics": ["count", "mean(x)"], "group_by": GROUP_BY, "name": "q"}
    (cells,) = plan_of(sums_of(bounds=BOUNDS) | {"query": [each]}).noisy_parts
    count = cells.noise_errors[0].std
    sizes = [
        math.prod(combination)
        for k in range(4)
        for combination in itertools.combinations((3, 2, 2), k)
    ]
    mean = math.exp(math.fsum(0.5 * math.log(12 / size) for size in sizes) / 8)
    assert record["count"]["cells"] == pytest.approx(count * mean, rel=1e-6)
    assert record["count"]["apart"] == pytest.approx(8 * count, rel=1e-6)


@pytest.mark.dense
def test_bounds_that_are_found(tmp_path: Path) -> None:
    """They are those of a certificate that was proved before anything was known of them."""
    write_rows(tmp_path)
    raw = sums_of(
        margins=[["region", "sex"], []], group_by={"region": [0, 1, 2], "sex": ["f", "m"]}
    )
    candidates = {"from": -10, "to": 40, "step": 5}
    results = {"find": True, "share": "0.02", "candidates": candidates}
    raw |= {"columns": {"x": {"bounds": results}}, "output": {"path": "again", "format": "json"}}
    release = Release(**raw, folder=tmp_path).run()
    cells, item = (release.tables[name].columns for name in ("people", "people_total"))
    assert total(cells["sum_x"]) == Fraction(item["sum_x"][0])
    assert set(verify_directory(tmp_path / "again").rows) >= {"people", "people_total"}
