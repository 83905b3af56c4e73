"""Blocks that share a draw: by all partitions by hand, as released, and as edited."""

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

from leastnoise.errors import CertificateRejected
from leastnoise.selection.search import least_noise
from leastnoise.tables.plan import Plan
from leastnoise.tables.release import Release
from leastnoise.tables.together import Counted, partition
from leastnoise.tables.verify import verify_directory

CONDITIONS = [{"name": f"c{i}", "where": {"it": {"x": {"min": i}}}} for i in range(3)]
BINS = {"name": "bins", "histogram": {"column": "x", "edges": [0, 2, 5]}}


def release(folder: Path, query: list[dict[str, Any]], **privacy: Any) -> Release:
    frame = pd.DataFrame({"who": np.arange(3000) // 3, "x": np.arange(3000) % 7 * 1.0})
    frame.to_parquet(folder / "rows.parquet")
    return Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "who", "epsilon": 1, "delta": "1e-5"} | privacy,
        contribution={"max_rows": 3},
        query=query,
        output={"path": "out", "format": "csv"},
        folder=folder,
    )


def variances(plan: Plan) -> dict[str, float]:
    return {block.name: block.mechanism.noise.variance for block in plan.blocks}


def test_three_conditions_are_three_counting_queries(tmp_path: Path) -> None:
    """theory/bodies.md §3: 4.6613 each, where 18 is what a third of the budget takes for one."""
    plan = release(tmp_path, CONDITIONS).plan()
    assert list(variances(plan).values()) == pytest.approx([4.66132] * 3, rel=1e-5)
    ((name, certificate),) = plan.certificate.blocks
    assert name == "c0+c1+c2"
    assert certificate.budget == plan.budget
    assert plan.to_record()["blocks"][0]["drawn_with"] == ["c1", "c2"]
    assert len(plan.draws) == 1


def test_what_is_drawn_together_is_released_apart_and_verifies(tmp_path: Path) -> None:
    made = release(tmp_path, [CONDITIONS[0], BINS, CONDITIONS[1]]).run()
    assert [name for name, _ in made.certificate.blocks] == ["c0+c1", "bins"]
    assert list(made.tables) == ["c0", "bins", "c1"]
    for name, true in (("c0", 1000), ("c1", 1000)):  # each has three of the seven values
        (row,) = made.tables[name].rows
        assert abs(row[1] - true) < 60
        assert row[2] == pytest.approx(math.sqrt(variances(made.plan)[name]), rel=1e-6)
    assert list(made.tables["bins"].columns["count"]) == pytest.approx([857, 1714], abs=300)
    assert verify_directory(tmp_path / "out").certificate == made.certificate


@pytest.mark.parametrize(
    ("queries", "shares", "together"),
    [
        ([1, 1, 1], [1, 1, 1], [(0, 1, 2)]),
        ([20, 4], [1, 1], [(0,), (1,)]),  # theory/bodies.md §7
        ([1, 1], [9, 1], [(0,), (1,)]),  # the first would have more noise than alone
        ([1, 1, 2, 5, 8, 8], [1] * 6, [(0, 1, 2), (3, 4, 5)]),
        ([3], [1], [(0,)]),
    ],
)
def test_the_best_partition(
    queries: list[int], shares: list[int], together: list[tuple[int, ...]]
) -> None:
    blocks = [
        Counted(index=i, queries=count, share=Fraction(share, sum(shares)))
        for i, (count, share) in enumerate(zip(queries, shares, strict=True))
    ]
    assert partition(blocks, Fraction(1)) == together


@pytest.mark.parametrize("weights", [(1, 1), (2, 1), (5, 1)])
def test_no_block_has_more_noise_than_its_own_share_gives(
    tmp_path: Path, weights: tuple[int, int]
) -> None:
    query = [one | {"weight": w} for one, w in zip(CONDITIONS, weights, strict=False)]
    plan = release(tmp_path, query).plan()
    for block in plan.blocks:
        alone = least_noise(
            epsilon=block.budget.epsilon,
            delta=block.budget.delta,
            sensitivity=block.layout.sensitivities,
            dimension=block.layout.dimension,
        )
        assert block.mechanism.noise.variance <= alone.noise.variance * (1 + 1e-9)


def test_rows_are_drawn_together_as_well(tmp_path: Path) -> None:
    raw = release(tmp_path, CONDITIONS[:2])
    by_row = Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": 1},
        query=CONDITIONS[:2],
        folder=tmp_path,
    ).plan()
    assert variances(by_row) == pytest.approx(variances(raw.plan()), rel=1e-9)


EDITS = {
    "another order": ("c0+c1", "c1+c0"),
    "a block left out": ("c0+c1", "c0"),
    "a block twice": ("c0+c1", "c0+c1+c1"),
    "no block": ("c0+c1", "c0+c7"),
    "one name": ("c0+c1", "c0c1"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_said_of_a_draw_must_be_true(tmp_path: Path, edit: str) -> None:
    release(tmp_path, CONDITIONS[:2]).run()
    old, new = EDITS[edit]
    file = tmp_path / "out" / "certificate.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(CertificateRejected):
        verify_directory(tmp_path / "out")


def test_noise_for_fewer_queries_is_rejected(tmp_path: Path) -> None:
    release(tmp_path, CONDITIONS[:2]).run()
    file = tmp_path / "out" / "certificate.json"
    record = json.loads(file.read_text())
    (block,) = record["blocks"]
    certificate = block.get("certificate", block)
    assert certificate["sensitivity"]["max_nonzero"] == 2
    certificate["sensitivity"]["max_nonzero"] = 1
    file.write_text(json.dumps(record))
    with pytest.raises(CertificateRejected):
        verify_directory(tmp_path / "out")


def test_a_person_moves_all_blocks_of_a_draw_by_what_is_certified(tmp_path: Path) -> None:
    """Of all the ways in which a person's rows meet three conditions."""
    sensitivity = release(tmp_path, CONDITIONS).plan().certificate.blocks[0][1].sensitivity
    added = sensitivity.additions(dimension=3)
    assert added is not None
    for moved in itertools.product((0, 1), repeat=3):
        assert added.holds(moved)
