"""Releases of quantiles by a tree: their intervals, what verifies, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.sampler import draw_cells
from leastnoise.report.page import report
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.rows import integer_vectors, source
from tests.tables.quantiles import ROWS, claim_in, edit_of, ranks_of, restored, spec_of
from tests.tables.reference import SALT
from tests.tables.resealed import verify_resealed


def tree_spec(**changes: Any) -> dict[str, Any]:
    query = {
        "name": "q",
        "statistics": ["quantile(x, 0.9)", "count", "median(x)", "quantile(x, 0.1)"],
        "group_by": {"plan": [1, 2]},
        "quantiles_by": "tree",
    }
    return spec_of(by_row=True, query=[query], output={"path": "out", "format": "json"}) | changes


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_quantiles_by_a_tree_have_intervals(tmp_path: Path, neighbours: str) -> None:
    values = [10.0 * (index % 11) for index in range(4400)]
    pd.DataFrame({"plan": [1, 2] * 2200, "x": values}).to_parquet(tmp_path / "rows.parquet")
    raw = tree_spec(privacy={"unit": "row", "epsilon": 3, "neighbours": neighbours})
    released = ln.Release(**raw, folder=tmp_path).run()
    columns = released.tables["q"].columns
    ends = ["quantile_x_0.9", "quantile_x_0.9_low", "quantile_x_0.9_high"]
    assert list(columns)[:4] == ["plan", *ends]
    for level, true in (("quantile_x_0.1", 10), ("median_x", 50), ("quantile_x_0.9", 90)):
        assert columns[level] == [true, true]
        assert columns[f"{level}_low"] == [true - 5, true - 5]
        assert columns[f"{level}_high"] == [true + 5, true + 5]
    assert ln.verify_directory(tmp_path / "out").rows == {"q": 2}
    (claim,) = (item for name, item in released.certificate.draws if name == "q.quantiles")
    assert claim.neighbours == neighbours
    page = report(tmp_path / "out")
    assert "Each value is rounded to the nearest of 11 public candidates" in page
    assert "There is no interval for the value of a quantile" not in page
    (note,) = (note for note in released.plan.notes if "Quantiles by a tree" in note)
    assert "a true quantile lies between" in note
    frame = released.plan.to_polars()
    assert frame.filter(frame["rows_95"].is_not_null())["noise"].to_list() == ["tree"] * 3
    assert "agreeing" in " ".join(released.plan.quantiles[0].in_words())


_TREE_EDITS = {
    "no candidate": edit_of("q.json", lambda rows: rows[0].update(median_x=45)),
    "below its interval": edit_of(
        "q.json", lambda rows: rows[0].update(median_x=50, median_x_low=55.0, median_x_high=95.0)
    ),
    "above its interval": edit_of(
        "q.json", lambda rows: rows[0].update(median_x=50, median_x_low=5.0, median_x_high=45.0)
    ),
    "an end is a candidate": edit_of("q.json", lambda rows: rows[0].update(median_x_low=0)),
    "an open quantile": edit_of("q.json", lambda rows: rows[0].update(median_x=None)),
    "an end is a list": edit_of("q.json", lambda rows: rows[0].update(median_x_low=[])),
    "no end": edit_of("q.json", lambda rows: [row.pop("median_x_low") for row in rows]),
    "another tree": edit_of(
        "certificate.json", lambda item: claim_in(item)["noise"].update(branches=[2, 12])
    ),
    "a smaller scale": edit_of(
        "certificate.json", lambda item: claim_in(item)["noise"].update(scale="1/99")
    ),
    "a larger epsilon": edit_of(
        "certificate.json", lambda item: claim_in(item).update(epsilon="1")
    ),
    "gone": edit_of("certificate.json", lambda item: item["draws"].pop()),
    "twice": edit_of("certificate.json", lambda item: item["draws"].append(item["draws"][-1])),
    "its name": edit_of("certificate.json", lambda item: item["draws"][-1].update(name="alone")),
    "errors": edit_of(
        "plan.json", lambda item: item["quantiles"][0]["errors"][0].update(rows_95=1)
    ),
    "shares": edit_of("plan.json", lambda item: item["quantiles"][0]["tree"].update(shares=["1"])),
}


@pytest.fixture(scope="module")
def by_tree(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("trees")
    ROWS.to_parquet(folder / "rows.parquet")
    ln.Release(**tree_spec(), folder=folder).run()
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


@pytest.mark.parametrize("edit", _TREE_EDITS)
def test_attack_an_edited_tree_is_rejected(
    by_tree: dict[str, bytes], tmp_path: Path, edit: str
) -> None:
    verify_resealed(restored(by_tree, tmp_path))
    _TREE_EDITS[edit](tmp_path)
    with pytest.raises(CertificateRejected):
        verify_resealed(tmp_path)


def test_quantiles_are_by_a_tree_if_the_query_says_so_alone() -> None:
    def is_by_tree(**query: Any) -> bool:
        asked = [f"quantile(x, {(k + 1) / 100})" for k in range(99)]
        raw = spec_of(by_row=True, version=1, query=[{"name": "q", "statistics": asked} | query])
        return all(asked.with_ends for asked in ranks_of(raw).statistics)

    assert not is_by_tree()
    assert not is_by_tree(quantiles_by="permute-and-flip")
    assert is_by_tree(quantiles_by="tree")


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_ends_are_those_of_what_counts_at_a_candidate(tmp_path: Path, kind: str) -> None:
    values = [0.0] * 900 + [54.9] * 900 + [1e9] * 900
    pd.DataFrame({"x": values}).to_parquet(tmp_path / "rows.parquet")
    asked = ["quantile(x, 0.1)", "median(x)", "quantile(x, 0.9)"]
    query = [{"name": "q", "statistics": asked, "quantiles_by": "tree"}]
    raw = tree_spec(query=query, output={"path": "out", "format": kind})
    raw["privacy"] = {"unit": "row", "epsilon": 3}
    columns = ln.Release(**raw, folder=tmp_path).run().tables["q"].columns
    assert list(columns.values()) == [
        [0],
        [-math.inf],
        [5],
        [50],
        [45],
        [55],
        [100],
        [95],
        [math.inf],
    ]
    assert ln.verify_directory(tmp_path / "out").rows == {"q": 1}
    page = report(tmp_path / "out")
    assert (
        "halfway between two candidates. An interval around the first candidate begins at" in page
    )
    assert "−∞" in page


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"privacy": {"unit": "person", "epsilon": 1}, "contribution": {"max_rows": 1}}, "whole r"),
        ({"columns": {"x": {"candidates": {"from": 0, "to": 9, "number": 20_000}}}}, "at most 32,"),
    ],
)
def test_a_tree_that_cant_be_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out({"version": 1} | tree_spec(**changes))
    ((key, text),) = caught.value.problems
    assert key == "query[0]"
    assert why in text
    assert 'use quantiles_by = "permute-and-flip"' in text
    assert "unit = " not in text


def test_a_way_to_find_quantiles_is_not_used_without_them() -> None:
    raw = spec_of(version=1)
    raw["query"][1] = {"name": "alone", "statistics": ["count"], "quantiles_by": "tree"}
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw)
    ((key, why),) = caught.value.problems
    assert (key, why) == ("query[1].quantiles_by", "Not used: the query asks for no quantile.")


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_attack_a_row_changes_no_density_by_more_than_epsilon(
    tmp_path: Path, neighbours: str
) -> None:
    """Losses by the density itself, at draws, for each way that one row differs: and nearly ε."""
    raw = {"version": 1} | tree_spec(
        privacy={"unit": "row", "epsilon": 1, "neighbours": neighbours}
    )
    arranged = spec_file.lay_out(raw)
    part = plan(arranged).quantiles[0]
    layout, claim = part.layout, part.certificate
    assert isinstance(claim, Certificate)
    assert isinstance(claim.noise, Agreeing)
    padded = claim.dimension // layout.cells

    def counts(frame: pd.DataFrame) -> np.ndarray:
        frame.to_parquet(tmp_path / "rows.parquet")
        with source.open_engine(source.find_source(arranged.spec, tmp_path, None)) as engine:
            vector = integer_vectors.query_vector(
                engine, arranged.spec, layout.histogram, salt=SALT
            )
        return np.pad(vector.reshape(layout.cells, -1), ((0, 0), (0, padded - 11))).reshape(-1)

    before = counts(ROWS)
    others = [ROWS.drop(index=2)]
    if neighbours == "replace-one":
        changes = ({"x": 95.0}, {"plan": 1}, {"x": 1e9, "plan": 1}, {"plan": 3}, {"x": np.nan})
        others = [ROWS.copy() for _ in changes]
        for frame, change in zip(others, changes, strict=True):
            frame.loc[2, ["x", "plan"]] = pd.Series({"x": 45.0, "plan": 2} | change)
    noise = draw_cells(claim.noise, InsecureSeededEntropy(1), count=300)
    worst = 0.0
    for frame in others:
        shift = before - counts(frame)
        assert 0 < np.abs(shift).sum() <= 2
        computed, moved = claim.noise.log_density(noise), claim.noise.log_density(noise + shift)
        worst = max(worst, float(np.abs(computed - moved).max()))
    epsilon = float(part.budget.epsilon)
    assert 0.9 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.slow
def test_a_tree_is_composed_with_gaussian_noise_and_verifies(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet")
    raw = tree_spec(privacy={"unit": "row", "epsilon": 1, "delta": "1e-6"})
    for index in range(14):
        counted = {"name": f"c{index}", "statistics": ["count"], "group_by": {"plan": [1, 2, 3]}}
        raw["query"].append(counted)
    released = ln.Release(**raw, folder=tmp_path).run()
    assert released.certificate.rule == COMPOSED
    assert len(ln.verify_directory(tmp_path / "out").rows) == 15
