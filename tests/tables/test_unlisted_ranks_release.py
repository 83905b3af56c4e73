"""Releases of quantiles in groups that nobody listed: they verify, and edits are rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected, Refused, SpecError
from leastnoise.tables.answers.base import Topic, texts
from leastnoise.tables.answers.quantiles.by_tree import ByTreeAndThreshold
from leastnoise.tables.answers.quantiles.publish import publish_unlisted
from leastnoise.tables.answers.unlisted.search import publication_chance
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.grids import thin
from tests.tables.resealed import verify_resealed
from tests.tables.unlisted_ranks import CANDIDATES, ranks_spec

_GROUPS = 400  # a threshold that is off by one row is seen
COUNTS = {"count_x", "count_x_low", "count_x_high"}
SIZES = {"a": 600, "é": 500, "=1+1": 700, "10": 450, "9": 450}


def write_rows(folder: Path, sizes: dict[str, int]) -> None:
    codes = [code for code, size in sizes.items() for _ in range(size)]
    x = [CANDIDATES[number % 5] for number in range(len(codes))]
    frame = pd.DataFrame({"person": range(len(codes)), "code": codes, "x": x, "sex": 1})
    frame.sample(frac=1, random_state=1).to_parquet(folder / "rows.parquet")


def planned(**changes: Any) -> ByTreeAndThreshold:
    (result,) = plan(spec_file.lay_out(ranks_spec(**changes))).quantiles
    assert isinstance(result, ByTreeAndThreshold)
    return result


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_release_verifies_and_tells_nothing_of_small_groups(tmp_path: Path, kind: str) -> None:
    """Attack: many small groups more, and nothing but the drawn numbers is another."""
    raw = ranks_spec(output={"path": "out", "format": kind})
    listings: list[dict[str, Any]] = []
    for more in (0, 400):
        folder = tmp_path / str(more)
        folder.mkdir()
        write_rows(folder, SIZES | {f"s{number}": 1 for number in range(more)})
        stages: list[str] = []
        released = Release(**raw, folder=folder).run(progress=stages.append)
        assert verify_directory(folder / "out").rows == {"groups": len(SIZES)}
        columns = released.tables["groups"].columns
        assert columns["code"] == sorted(SIZES, key=str.encode)
        counts = zip(columns["count_x"], columns["code"], strict=True)
        assert all(abs(count - SIZES[code]) < 200 for count, code in counts)
        kept = {
            file.name: file.read_bytes()
            for file in (folder / "out").iterdir()
            if file.name not in {f"groups.{kind}", "release.json"}
        }
        listings.append({"stages": stages, "texts": kept, "repr": repr(released)})
    assert listings[0] == listings[1]


EDITS = [
    ("groups.csv", "\n9,", "\n10,", "aren't distinct"),
    ("groups.csv", "median_x,", "median_y,", "other columns"),
    ("certificate.json", '"compositions": 2', '"compositions": 1', "number of groups"),
    ("certificate.json", '"threshold": "', '"threshold": "-', "differs from the plan"),
    ("certificate.json", '"threshold": "', '"threshold": "1', "differs from the plan"),
    ("certificate.json", '"reach": "1"', '"reach": "2"', "a unit adds 1"),
    ("certificate.json", '"chance_below": "0.', '"chance_below": "1.', "differs from the plan"),
    ("certificate.json", '"coordinate": "sum"', '"coordinate": 0', "the total"),
    ("certificate.json", '"bound": "1"', '"bound": "2"', "sensitivity isn't the query's"),
    ("certificate.json", '"epsilon": "1"', '"epsilon": "2"', "budget"),
    ("certificate.json", '"dimension": 5', '"dimension": 6', "coordinates"),
    ("certificate.json", '"add-remove"', '"replace-one"', "neighbours"),
    ("spec.toml", "max_groups = 2", "max_groups = 1", "number of groups"),
    ("spec.toml", "max_rows_per_group = 1", "max_rows_per_group = 2", "a unit adds 2"),
    ("spec.toml", '"median(x)"', '"quantile(x, 0.4)"', ""),
    ("spec.toml", "candidates = [", "candidates = [-1, ", "fewer cells"),
    ("plan.json", '"half": ', '"half": 1', "differs from the plan that follows"),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("published")
    write_rows(folder, SIZES)
    Release(**ranks_spec(privacy={"delta": "1e-5"}), folder=folder).run()
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


@pytest.mark.dense
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[0]} {edit[2]}")
def test_changes_are_rejected(
    published: dict[str, bytes], tmp_path: Path, edit: tuple[str, str, str, str]
) -> None:
    for name, content in published.items():
        (tmp_path / name).write_bytes(content)
    name, old, new, says = edit
    file = tmp_path / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CertificateRejected) as caught:
        verify_resealed(tmp_path)
    assert says in str(caught.value)


@pytest.mark.dense
def test_rows_that_cannot_have_come_out_are_rejected(
    published: dict[str, bytes], tmp_path: Path
) -> None:
    for name, content in published.items():
        (tmp_path / name).write_bytes(content)
    assert verify_resealed(tmp_path).rows == {"groups": len(SIZES)}
    frame = pd.read_csv(tmp_path / "groups.csv", dtype={"code": str})
    too_low = frame["count_x"] - 20
    changes: list[tuple[dict[str, Any], str]] = [
        ({"median_x": frame["median_x"] + 0.5}, "no candidate"),
        ({"count_x_std": frame["count_x_std"] * 2}, "standard deviation"),
        ({name: frame[name] - too_low for name in frame if name in COUNTS}, "threshold"),
    ]
    for columns, says in changes:
        frame.assign(**columns).to_csv(tmp_path / "groups.csv", index=False)
        with pytest.raises(CertificateRejected, match=says):
            verify_resealed(tmp_path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"part": {"quantiles_by": "permute-and-flip", "prefer": "accuracy"}},
            "prefer: Not used for quantiles alone",
        ),
        ({"statistics": ["median(x)", "count"]}, "ask for count in another query"),
        (
            {
                "statistics": ["median(x)", "median(sex)"],
                "columns": {"x": {"candidates": [0, 1]}, "sex": {"candidates": [1, 2]}},
            },
            "ask for median_sex in another query",
        ),
        ({"part": {"prefer": "accuracy"}}, "prefer: Not used for quantiles"),
        ({"contribution": {"max_groups": 2}}, "rows of one person in an unlisted group"),
        ({"contribution": {"max_rows_per_group": 2}}, "number of unlisted groups"),
        ({"privacy": {"delta": 0}}, "Needs delta > 0"),
        ({"part": {"round": True}}, "Expected count"),
    ],
    ids=str,
)
def test_what_has_no_tree_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(ranks_spec(**changes))
    assert says in str(caught.value)


def test_unlisted_groups_have_a_tree_by_themselves() -> None:
    assert planned(part={"quantiles_by": None}).to_record() == planned().to_record()


def test_too_little_epsilon_is_refused() -> None:
    with pytest.raises(Refused, match="groups"):
        plan(spec_file.lay_out(ranks_spec(privacy={"epsilon": "1e-7"})))


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", thin(["add-remove", "replace-one"], 1))
def test_groups_come_out_as_often_as_the_plan_says(neighbours: str) -> None:
    plan = planned(privacy={"epsilon": 4, "delta": "1e-3", "neighbours": neighbours})
    (count,), sizes = plan.noisy, plan.sizes
    entropy = InsecureSeededEntropy(3)
    for rows in (sizes.half - 2, sizes.half, sizes.nearly):
        groups = [(0, f"{number:04}", number % 5, rows) for number in range(_GROUPS)]
        table = publish_unlisted(
            plan.layout, plan.claim, plan.tree, groups, count=count, entropy=entropy
        )
        chance = publication_chance(plan.claim, rows)
        spread = 5.5 * np.sqrt(_GROUPS * chance * (1 - chance))
        assert abs(len(table) - _GROUPS * chance) < spread
        least = float(plan.claim.threshold) - 1
        assert min(table.columns["count_x"]) >= least
        assert table.columns["code"] == sorted(table.columns["code"])


def test_quantiles_and_intervals_are_those_of_large_groups() -> None:
    plan = planned(statistics=["quantile(x, 0.3)", "median(x)"], privacy={"delta": "1e-3"})
    (count,) = plan.noisy
    rows = [100, 200, 300, 400, 500]
    groups = [(0, str(k), at, n) for k in range(400) for at, n in enumerate(rows)]
    table = publish_unlisted(
        plan.layout, plan.claim, plan.tree, groups, count=count,
        entropy=InsecureSeededEntropy(1),
    )  # fmt: skip
    columns = table.columns
    assert len(table) == 400
    assert set(columns["quantile_x_0.3"]) == {2}  # 450 of 1,500
    for label, value in (("quantile_x_0.3", 2), ("median_x", 4)):
        ends = zip(columns[f"{label}_low"], columns[f"{label}_high"], strict=True)
        assert sum(low <= value <= high for low, high in ends) >= 0.95 * 400
    ends = zip(columns["count_x_low"], columns["count_x_high"], strict=True)
    assert sum(low <= 1500 <= high for low, high in ends) >= 0.93 * 400


def test_no_group_is_no_row() -> None:
    plan = planned(privacy={"delta": "1e-3"})
    (count,), (zeros,) = plan.noisy, plan.make_zeros()
    table = publish_unlisted(plan.layout, plan.claim, plan.tree, [], count=count)
    assert table.columns == zeros.columns
    assert not any(table.columns.values())


def test_it_is_said_what_is_published() -> None:
    plan = planned(contribution={"max_groups": 2, "max_rows_per_group": 3})
    assert plan.claim.reach == 3
    assert plan.claim.groups == 2
    (threshold,) = texts(plan.sentences({}), Topic.NOISE)
    assert f"at least ½, and a group of {plan.sizes.nearly:,} with a prob" in threshold
    (groups,) = texts(plan.sentences({}), Topic.GROUPS)
    assert "Nothing is published about the other groups" in groups
    record = json.loads(json.dumps(plan.to_record()))
    assert record["unlisted"]["chosen"]["half"] == plan.sizes.half
    assert record["bounding"] == {"kind": "groups", "groups": 2, "per_group": 3}
    limits = plan.layout.limits
    assert limits == "is counted in at most 2 groups, with at most 3 rows in each"
    assert plan.layout.count is not None
    assert plan.layout.count.limits == limits
    assert plan.layout.count.leaves_out


@pytest.mark.dense
def test_other_groups_and_other_relations_are_released(tmp_path: Path) -> None:
    write_rows(tmp_path, SIZES)
    by: dict[str, Any] = {"sex": [1, 2], "code": {"keys": "private", "longest": 8}}
    wide = {"contribution": {"max_groups": 1, "max_rows_per_group": 1}}
    for number, changes in enumerate(
        [
            {"by": by, **wide},
            {"by": by, "privacy": {"unit": "row"}},
            {"privacy": {"neighbours": "replace-one", "epsilon": 4}, **wide},
            {"part": {"min_count": 480, "top": 2}, **wide},
        ]
    ):
        raw = ranks_spec(**changes) | {"output": {"path": f"out{number}", "format": "csv"}}
        table = Release(**raw, folder=tmp_path).run().tables["groups"]
        rows = verify_directory(tmp_path / f"out{number}").rows["groups"]
        assert rows == len(table) == (2 if "part" in changes else len(SIZES))
