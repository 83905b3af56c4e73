"""Cumulative counts by group with totals: the tables, their errors, and that they add up."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.tables.answers.sums.publish_sums import publish_on_tree
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.noise.trees.oracle import enumerated
from tests.tables.answers.sums.test_whole_counts import expected
from tests.tables.cumulative import plan_of, spec_of, whole_of
from tests.tables.resealed import change_csv, verify_resealed

BY: dict[str, Any] = {"region": [1, 2, 3], "who": [0, 1]}
NAMES = ["ages", "ages_by_region", "ages_by_who", "ages_total"]
ALL = [name + end for name in NAMES for end in ("", "_cumulative")]


def test_the_published_tables() -> None:
    plan = plan_of(spec_of(group_by=BY, margins=True))
    assert [part.name for part in plan.noisy_parts] == ALL
    assert [part.layout.cells for part in plan.noisy_parts] == [24, 24, 12, 12, 8, 8, 4, 4]
    some = plan_of(spec_of(group_by=BY, margins=[[], ["who", "region"]]))
    assert [part.name for part in some.noisy_parts] == [*ALL[:2], *ALL[-2:]]
    assert "sums of these over groups, exactly" in str(some)
    assert plan.noisy_parts[0].certificate == some.noisy_parts[0].certificate
    records = [part.to_record()["cumulative"]["sums"] for part in plan.noisy_parts]
    assert records == [False, True] * 4


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_errors_are_those_of_sums_of_independent_groups(neighbours: str) -> None:
    """One group is enumerated, and its law added up once for each group."""
    raw = spec_of(group_by=BY, margins=True, privacy={"epsilon": 3, "neighbours": neighbours})
    plan = plan_of(raw)
    noise = whole_of(plan).noise
    points, chances = enumerated(noise, 6)
    sums = [points[:, 0], *points.cumsum(axis=1)[:, :4].T]
    for index, part in enumerate(plan.noisy_parts):
        times = 24 // part.layout.cells
        (error,) = part.noise_errors
        for number, std, half in zip(
            sums[1:] if index % 2 else sums[:1],
            np.broadcast_to(error.stds, part.layout.cells),
            np.broadcast_to(error.halves95, part.layout.cells),
            strict=False,
        ):
            law = np.bincount(number + 24, weights=chances, minlength=49)
            summed = law
            for _ in range(times - 1):
                summed = np.convolve(summed, law)
            places = np.arange(len(summed)) - len(summed) // 2
            assert std == pytest.approx(math.sqrt(summed @ places**2.0), rel=2e-3)
            assert summed[np.abs(places) <= half].sum() >= 0.95 - 1e-4
            assert summed[np.abs(places) < half].sum() < 0.95 + 1e-4


def test_tables_are_sums_of_the_counts_that_they_name() -> None:
    """Without noise to speak of: every number is counted here, cell by cell."""
    plan = plan_of(spec_of(group_by=BY, margins=True, privacy={"epsilon": 25}))
    truth = np.arange(24, dtype=np.int64) ** 3
    bits = plan.noisy_parts[0].layout.bits
    tables = publish_on_tree(whole_of(plan), plan.noisy_parts, truth << bits)
    cells = truth.reshape(3, 2, 4)
    for table, axes in zip(tables[::2], [(), (1,), (0,), (0, 1)], strict=True):
        assert table.columns["count"] == cells.sum(axis=axes).reshape(-1).tolist()
    for table, axes in zip(tables[1::2], [(), (1,), (0,), (0, 1)], strict=True):
        sums = cells.sum(axis=axes).cumsum(axis=-1)
        assert table.columns["count"] == sums.reshape(-1).tolist()
    assert tables[2].columns["region"] == [region for region in (1, 2, 3) for _ in range(4)]


def released(folder: Path, **given: Any) -> Path:
    rows = pd.DataFrame({"who": [0, 1, 1], "region": [1, 3, 3], "age": [10, 40, 70]})
    rows.to_csv(folder / "rows.csv", index=False)
    raw = spec_of(group_by=BY, margins=True, **given)
    raw["output"] = {"path": "out", "format": "csv"}
    Release(**raw, folder=folder).run()
    return folder / "out"


@pytest.mark.dense
@pytest.mark.parametrize("given", [{}, {"round": True, "clamp": True}, {"objective": "largest"}])
def test_a_release_adds_up_and_verifies(tmp_path: Path, given: dict[str, Any]) -> None:
    folder = released(tmp_path, **given)
    assert list(verify_directory(folder).rows) == ALL
    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in ALL}
    cells = tables["ages"]["count"].to_numpy().reshape(3, 2, 4)
    assert tables["ages_by_region"]["count"].tolist() == cells.sum(axis=1).reshape(-1).tolist()
    total = cells.sum(axis=(0, 1))
    assert tables["ages_total_cumulative"]["count"].tolist() == total.cumsum().tolist()
    record = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["noisy_parts"][-1]
    assert record["name"] == "ages_total_cumulative"
    assert record["errors"][0]["std"] > 2 * tables["ages_cumulative"]["count_std"].mean()


@pytest.mark.grid
@pytest.mark.parametrize("name", ["ages_by_region", "ages_total", "ages_by_who_cumulative"])
def test_an_edited_total_is_found(tmp_path: Path, name: str) -> None:
    folder = released(tmp_path)
    change_csv(folder, name, 2, count=1e3, count_low=9e2, count_high=11e2)
    with pytest.raises(CertificateRejected, match=f"{name}.csv"):
        verify_resealed(folder)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"margins": True, "group_by": {}}, "need columns in group_by"),
        ({"margins": []}, "at least one table"),
        ({"margins": [[]]}, r"List the table by all columns, \['region', 'who'\], too"),
        ({"margins": [["age"], ["region", "who"]]}, "Expected columns of group_by, got 'age'"),
        ({"margins": [["who", "region"], ["region", "who"]]}, "given twice"),
        ({"margins": True, "name": "a" * 50}, "A file would be called"),
    ],
)
def test_what_does_not_go_with_it(given: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        plan_of(spec_of(**({"group_by": BY} | given)))


def test_the_bias_of_whole_counts_in_totals() -> None:
    """The noise of both groups is enumerated, without any rows."""
    given: dict[str, Any] = {"round": True, "clamp": True, "privacy": {"epsilon": 2}}
    plan = plan_of(spec_of(edges=[0, 40, 80], group_by={"region": [1, 2]}, margins=True, **given))
    whole = whole_of(plan)
    high = whole.whole_counts
    assert high is not None
    points, chances = enumerated(whole.noise, 5)
    both = np.concatenate(
        [np.repeat(points, len(points), axis=0), np.tile(points, (len(points), 1))], axis=1
    )
    cells = expected(high.tree, both, np.outer(chances, chances).reshape(-1), np.zeros(4))[-1]
    biases = [numbers.max() for numbers in whole.workload.add_up(cells)]
    for part, bias in zip(plan.noisy_parts, biases, strict=True):
        assert bias <= high.too_high[part.name] * 1.001
    of_group, of_total = biases[1::2]
    assert of_total == pytest.approx(2 * of_group)
    assert of_total > 0.9 * high.too_high["ages_total_cumulative"]


def test_persons_are_in_one_bin_of_one_group() -> None:
    raw = spec_of(group_by={"region": [1, 2, 3]}, margins=True, unit="who")
    assert len(plan_of(raw).noisy_parts) == 4
    raw["contribution"] = {"max_rows": 2}
    assert len(plan_of(raw).noisy_parts) == 4
    raw["query"][0]["statistics"] = ["count_units"]
    with pytest.raises(SpecError, match="use another query"):
        plan_of(raw)
