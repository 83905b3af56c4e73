"""Quantiles in a release: counted, chosen and verified; edited releases are rejected."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.report.page import report
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.rows import integer_vectors, source
from tests.tables.quantiles import ROWS, claim_in, edit_of, ranks_of, restored, spec_of
from tests.tables.reference import SALT
from tests.tables.resealed import verify_resealed


def counts(raw: dict[str, Any], folder: Path, place: int = 0) -> np.ndarray:
    arranged = spec_file.lay_out({"version": 1} | raw)
    layout = arranged.quantiles[place][0].histogram
    result = source.find_source(arranged.spec, folder, None)
    with source.open_engine(result) as opened:
        vector = integer_vectors.query_vector(opened, arranged.spec, layout, salt=SALT)
    return vector.reshape(-1, layout.axes[-1].cells)


def expected(frame: pd.DataFrame, *, plans: list[int] | None, most: float | None) -> np.ndarray:
    """The weight of rows by group and candidate, by loops that follow the definition."""
    result = np.zeros((len(plans or [1]), 11))
    weights: dict[Any, list[tuple[int, int]]] = {}
    for index, (person, group, x) in enumerate(frame.itertuples(index=False)):
        if not np.isfinite(x) or (plans and group not in plans):
            continue
        if most is not None and pd.isna(person):
            continue
        distances = [abs(x - candidate) for candidate in range(0, 101, 10)]
        nearest = max(at for at, far in enumerate(distances) if far == min(distances))
        cell = (plans.index(group) if plans else 0, nearest)
        weights.setdefault(person if most is not None else index, []).append(cell)
    for cells in weights.values():
        for cell in cells:
            result[cell] += 1 if most is None else min(1, most / len(cells))
    return result


@pytest.mark.grid
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("by_row", [False, True])
def test_rows_count_at_the_nearest_candidate(tmp_path: Path, place: int, by_row: bool) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of(by_row=by_row)
    layout = ranks_of(raw, place).histogram
    wanted = expected(ROWS, plans=None if place else [1, 2], most=None if by_row else 2)
    result = counts(raw, tmp_path, place)
    assert result.min() >= 0
    # each of six persons who are over a limit is cut off by a few parts in 2^28
    assert result / 2.0**layout.bits == pytest.approx(wanted, abs=1e-6)


def test_all_persons_add_no_more_than_the_reach_of_each(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "person": generator.integers(0, 150, 500),
            "plan": generator.integers(1, 4, 500),
            "x": generator.normal(50, 40, 500).round(generator.integers(0, 3)),
        }
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    for limits in ({"max_rows": 3}, {"l1": "1.5"}, {"max_groups": 1, "max_rows_per_group": 2}):
        raw = spec_of(contribution=limits)
        layout = ranks_of(raw)
        most = 150 * layout.reach * 2**layout.histogram.bits
        assert 0 < int(counts(raw, tmp_path).sum()) <= most


@pytest.mark.dense
def test_no_person_adds_more_than_the_reach(tmp_path: Path) -> None:
    frame = pd.DataFrame({"person": 1, "plan": [1, 2] * 40, "x": range(80)})
    frame.to_parquet(tmp_path / "rows.parquet")
    for limits, reach in (
        ({"max_rows": 3}, 3),
        ({"max_groups": 1, "max_rows_per_group": 5}, 5),
        ({"max_rows_per_group": 5}, 10),
        ({"max_rows": 30, "l1": "2.5"}, Fraction(5, 2)),
    ):
        raw = spec_of(contribution=limits)
        layout = ranks_of(raw)
        assert layout.reach == reach
        total = int(counts(raw, tmp_path).sum())
        assert 0.99 * reach < total / 2**layout.histogram.bits <= reach


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_release_is_near_the_truth_and_verifies(tmp_path: Path, kind: str) -> None:
    generator = np.random.default_rng(1)
    rows = pd.DataFrame({"person": range(3000), "plan": [1, 2, 2] * 1000, "x": 0.0})
    rows["x"] = generator.uniform(0, 100, 3000) / rows["plan"]
    rows.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of(
        privacy={"unit": "person", "epsilon": 50, "delta": "1e-6"},
        contribution={"max_rows": 1},
        columns={"x": {"candidates": {"from": 0, "to": 100, "number": 1001}, "bounds": [0, 100]}},
        output={"path": "out", "format": kind},
    )
    raw["query"][0]["statistics"] += ["mean(x)", *(f"quantile(x, {k / 10})" for k in (1, 3, 7))]
    stages: list[str] = []
    release = ln.Release(**raw, folder=tmp_path)
    released = release.run(progress=stages.append)
    columns = released.tables["q"].columns
    assert list(columns)[:4] == ["plan", "quantile_x_0.9", "quantile_x_0.9_rows_95", "count"]
    errors = {error.statistic: error.rows_95 for error in released.plan.quantiles[0].errors}
    assert len(errors) == 5
    for label, off in errors.items():
        assert columns[f"{label}_rows_95"] == [off, off]
    for level in (1, 3, 7, 9):
        near = [10 * level, 5 * level]
        assert columns[f"quantile_x_{level / 10}"] == pytest.approx(near, abs=6)
    assert columns["median_x"] == pytest.approx([50, 25], abs=6)
    assert released.plan.certificate.verify().upper <= 1e-6
    verified = ln.verify_directory(tmp_path / "out")
    assert verified.rows == {"q": 2, "alone": 1}
    page = report(tmp_path / "out")
    assert "it is drawn at random from 1,001 public candidates" in page
    assert "chosen partly by chance" in page
    assert "Choosing the quantiles of q" in stages
    frame = released.plan.to_polars()
    assert frame["rows_95"].drop_nulls().len() == 6
    assert sum(map(float, frame.unique("query")["epsilon"])) <= 50 * (1 + 1e-9)


_EDITS = {
    "no candidate": edit_of("q.json", lambda rows: rows[0].update(median_x=45)),
    "another type": edit_of("q.json", lambda rows: rows[0].update(median_x=50.0)),
    "none": edit_of("q.json", lambda rows: rows[0].update(median_x=None)),
    "a list": edit_of("q.json", lambda rows: rows[0].update(median_x=[50])),
    "falling": edit_of(
        "q.json", lambda rows: rows[0].update({"median_x": 100, "quantile_x_0.9": 0})
    ),
    "an interval": edit_of("q.json", lambda rows: [row.update(median_x_low=0) for row in rows]),
    "smaller errors": edit_of("q.json", lambda rows: rows[0].update(median_x_rows_95=0.5)),
    "an error less": edit_of("q.json", lambda rows: [row.pop("median_x_rows_95") for row in rows]),
    "rates": edit_of("certificate.json", lambda item: claim_in(item).update(rates=["1/8", "1"])),
    "smaller rates": edit_of(
        "certificate.json", lambda item: claim_in(item).update(rates=["1", "1"])
    ),
    "candidates": edit_of("certificate.json", lambda item: claim_in(item).update(candidates=12)),
    "reach": edit_of("certificate.json", lambda item: claim_in(item).update(reach="1")),
    "groups": edit_of("certificate.json", lambda item: claim_in(item).update(groups=1)),
    "levels": edit_of(
        "certificate.json", lambda item: claim_in(item).update(levels=["1/2", "4/5"])
    ),
    "gone": edit_of("certificate.json", lambda item: item["draws"].pop()),
    "twice": edit_of("certificate.json", lambda item: item["draws"].append(item["draws"][-1])),
    "its name": edit_of("certificate.json", lambda item: item["draws"][-1].update(name="alone")),
    "plan": edit_of("plan.json", lambda item: item["quantiles"][0].update(candidates=12)),
    "errors": edit_of(
        "plan.json", lambda item: item["quantiles"][0]["errors"][0].update(rows_95=1)
    ),
    "no plan": edit_of("plan.json", lambda item: item.pop("quantiles")),
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("quantiles")
    ROWS.to_parquet(folder / "rows.parquet")
    ln.Release(**spec_of(output={"path": "out", "format": "json"}), folder=folder).run()
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


@pytest.mark.dense
@pytest.mark.parametrize("edit", _EDITS)
def test_attack_an_edited_release_is_rejected(
    published: dict[str, bytes], tmp_path: Path, edit: str
) -> None:
    verify_resealed(restored(published, tmp_path))
    _EDITS[edit](tmp_path)
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path)


def test_earlier_releases_without_errors_in_ranks_verify(
    published: dict[str, bytes], tmp_path: Path
) -> None:
    restored(published, tmp_path)
    for name in ("q.json", "alone.json"):

        def without(rows: list[dict[str, Any]]) -> None:
            for row in rows:
                for column in [text for text in row if text.endswith("_rows_95")]:
                    del row[column]

        edit_of(name, without)(tmp_path)
    assert verify_resealed(tmp_path).rows == {"q": 2, "alone": 1}


def test_values_outside_count_at_the_ends(tmp_path: Path) -> None:
    rows = pd.DataFrame({"x": [-1e9] * 500 + [1e9] * 600})
    rows.to_parquet(tmp_path / "rows.parquet")
    query = {"name": "q", "statistics": [f"quantile(x, {level})" for level in (0.2, 0.4, 0.9)]}
    raw = spec_of(by_row=True, query=[query])
    raw["privacy"]["epsilon"] = 30
    columns = ln.Release(**raw, folder=tmp_path).run().tables["q"].columns
    results = {name: column for name, column in columns.items() if not name.endswith("rows_95")}
    assert results == {"quantile_x_0.2": [0], "quantile_x_0.4": [0], "quantile_x_0.9": [100]}


def test_shares_of_a_query_are_by_its_numbers_and_add_up() -> None:
    raw = spec_of(version=1)
    raw["query"][0]["importance"] = 3
    mechanism = plan(spec_file.lay_out(raw))
    (part,) = mechanism.noisy_parts
    first, second = mechanism.quantiles
    assert part.budget.epsilon == Fraction(3, 4) * Fraction(1, 3)
    assert first.budget.epsilon == Fraction(3, 4) * Fraction(2, 3)
    assert second.budget.epsilon == Fraction(1, 4)
    assert mechanism.certificate.verify().upper == 0
    assert any("no interval is stated for its value" in note for note in mechanism.notes)


def test_groups_that_counts_leave_out_have_no_quantile(tmp_path: Path) -> None:
    rows = pd.DataFrame({"plan": [1] * 900 + [2] * 30, "x": [20.0] * 900 + [70.0] * 30})
    rows.to_parquet(tmp_path / "rows.parquet")
    query = {
        "name": "q",
        "statistics": ["count", "median(x)"],
        "group_by": {"plan": [1, 2, 3]},
        "min_count": 300,
    }
    raw = spec_of(by_row=True, query=[query], output={"path": "out", "format": "csv"})
    raw["privacy"]["epsilon"] = 5
    columns = ln.Release(**raw, folder=tmp_path).run().tables["q"].columns
    assert (columns["plan"], columns["median_x"]) == ([1], [20])
    assert ln.verify_directory(tmp_path / "out").rows == {"q": 1}


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        ({"columns": {"x": {"bounds": [0, 1]}}}, "query[0].statistics[0]", "} to columns.x."),
        ({"contribution": {"l2": 3}}, "query[0]", "Give max_rows"),
        ({"contribution": {"max_groups": 3}}, "query[0]", "Give max_rows"),
        (
            {"privacy": {"unit": "person", "epsilon": 0, "delta": "1e-6"}},
            "query[0].statistics[0]",
            "needs epsilon > 0",
        ),
        (
            {"privacy": {"unit": "person", "epsilon": "least"}},
            "query[0].statistics[0]",
            "give privacy.epsilon",
        ),
    ],
)
def test_what_has_no_quantile_is_refused(changes: dict[str, Any], key: str, why: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out({"version": 1} | spec_of(**changes))
    assert any(at == key and why in text for at, text in caught.value.problems)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"group_by": {"plan": {"keys": "private"}}}, "unlisted groups"),
        ({"statistics": ["median(x)"], "accuracy": {"std": 3}}, "is in ranks"),
        ({"statistics": ["quantile(x)"]}, "Expected quantile(column, 0.9)"),
        ({"statistics": ["quantile(x, 1)"]}, "above 0 and below 1"),
        ({"statistics": ["quantile(x, most)"]}, "above 0 and below 1"),
        ({"statistics": ["median()"]}, "Expected median(column)"),
        ({"statistics": ["median(x)", "quantile(x, 0.50)"]}, "asked for twice"),
    ],
)
def test_a_block_that_says_it_wrongly_is_refused(part: dict[str, Any], why: str) -> None:
    raw = spec_of(version=1)
    raw["privacy"]["delta"] = "1e-6"
    raw["query"][0] |= part
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw)
    assert any(why in text for _, text in caught.value.problems)
