"""Quantiles by chance in groups that nobody listed: keys are published, then quantiles of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.tables.answers.base import Topic, texts
from leastnoise.tables.answers.quantiles.by_chance import ByChance
from leastnoise.tables.answers.quantiles.publish import publish_in_groups
from leastnoise.tables.layout.layout import MAX_ROWS
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.results.table import Table
from tests.grids import thin
from tests.tables.quantiles import edit_of, restored
from tests.tables.resealed import verify_resealed
from tests.tables.unlisted import spec_of
from tests.tables.unlisted_ranks import CANDIDATES, ranks_spec

CODES = ["a", "b", "c", "d"]
SIZES = {"a": 600, "é": 500, "=1+1": 700, "10": 450, "9": 450}


def chance_spec(**changes: Any) -> dict[str, Any]:
    part = {"quantiles_by": "permute-and-flip"} | changes.pop("part", {})
    return ranks_spec(part=part, **changes)


def planned(raw: dict[str, Any]) -> Plan:
    return plan(spec_file.lay_out(raw))


def write_rows(folder: Path, sizes: dict[str, int]) -> None:
    codes = [code for code, size in sizes.items() for _ in range(size)]
    x = [float(CANDIDATES[number % 5]) for number in range(len(codes))]
    frame = pd.DataFrame({"person": range(len(codes)), "code": codes, "x": x, "sex": 1})
    frame.astype({"code": "str"}).to_parquet(folder / "rows.parquet")


LIMITS = [
    {"contribution": {"max_groups": 1, "max_rows_per_group": 1}},
    {"contribution": {"max_groups": 3, "max_rows_per_group": 2}},
    {"contribution": {"max_rows": 2}},
    {"privacy": {"neighbours": "replace-one"}},
    {"privacy": {"unit": "row"}},
]


@pytest.mark.parametrize("changes", thin(LIMITS, 2), ids=str)
def test_one_query_states_what_two_releases_state(changes: dict[str, Any]) -> None:
    def at(**budget: str) -> dict[str, Any]:
        return changes | {"privacy": changes.get("privacy", {}) | budget}

    both = planned(chance_spec(**at(epsilon="1", delta="1e-5")))
    (keys,), (quantiles,) = both.keys, both.quantiles
    assert isinstance(quantiles, ByChance)
    (alone,) = planned(spec_of(statistics=[], **at(epsilon="0.5", delta="1e-5"))).keys
    (listed,) = planned(chance_spec(by={"code": CODES}, **at(epsilon="0.5", delta="0"))).quantiles
    assert isinstance(listed, ByChance)
    assert keys.claim == alone.claim
    assert (keys.half, keys.nearly) == (alone.half, alone.nearly)
    assert quantiles.certificate == replace(listed.certificate, groups=MAX_ROWS)
    assert quantiles.errors == listed.errors
    assert both.certificate.verify().upper <= 1e-5


def test_a_count_decides_where_the_query_has_one() -> None:
    both = planned(
        chance_spec(
            statistics=["count_units", "median(x)", "quantile(x, 0.9)"],
            privacy={"epsilon": "3", "delta": "1e-6"},
        )
    )
    (alone,) = planned(
        spec_of(statistics=["count_units"], privacy={"epsilon": "1", "delta": "1e-6"})
    ).noisy_parts
    (count,), (quantiles,) = both.noisy_parts, both.quantiles
    assert count.certificate == alone.certificate
    assert count.budget == ln.Budget(epsilon=1, delta="1e-6")
    assert quantiles.budget == ln.Budget(epsilon=2, delta=0)
    assert not both.keys


@pytest.mark.dense
def test_quantiles_of_several_columns_have_a_draw_each() -> None:
    columns = {"x": {"candidates": CANDIDATES}, "sex": {"candidates": [1, 2]}}
    both = planned(chance_spec(statistics=["median(x)", "median(sex)"], columns=columns))
    spent = [part.budget.epsilon for part in (*both.keys, *both.quantiles)]
    assert spent == [Fraction(1, 3)] * 3


@pytest.mark.parametrize("counts", [[], ["count_units", "mean(x)"]], ids=str)
def test_a_given_share_goes_to_the_quantiles_of_all_columns(counts: list[str]) -> None:
    columns = {
        "x": {"candidates": CANDIDATES, "bounds": [0, 8]},
        "sex": {"candidates": [1, 2]},
    }
    both = planned(
        chance_spec(
            statistics=["median(x)", "quantile(x, 0.9)", *counts, "median(sex)"],
            columns=columns,
            part={"quantiles_share": "0.6"},
            privacy={"epsilon": "5", "delta": "1e-5"},
        )
    )
    assert [part.budget for part in (*both.keys, *both.noisy_parts)] == [
        ln.Budget(epsilon=2, delta="1e-5")
    ]
    assert [part.budget.epsilon for part in both.quantiles] == [2, 1]
    assert all(
        "The query groups spends 60 % of its ε on quantiles" in " ".join(part.in_words())
        for part in both.quantiles
    )
    assert both.certificate.budget == ln.Budget(epsilon=5, delta="1e-5")


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("counts", [[], ["count_units", "mean(x)"]], ids=str)
def test_a_release_verifies_and_tells_nothing_of_small_groups(
    tmp_path: Path, kind: str, counts: list[str]
) -> None:
    """Attack: many small groups more, and nothing but the drawn numbers is another."""
    raw = chance_spec(
        statistics=["median(x)", *counts, "quantile(x, 0.9)"],
        privacy={"epsilon": 20},
        columns={"x": {"candidates": CANDIDATES, "bounds": [0, 8]}},
        output={"path": "out", "format": kind},
    )
    listings: list[dict[str, Any]] = []
    for more in (0, 300):
        folder = tmp_path / str(more)
        folder.mkdir()
        write_rows(folder, SIZES | {f"s{number}": 1 for number in range(more)})
        stages: list[str] = []
        released = ln.Release(**raw, folder=folder).run(progress=stages.append)
        assert verify_directory(folder / "out").rows == {"groups": len(SIZES)}
        columns = released.tables["groups"].columns
        assert columns["code"] == sorted(SIZES, key=str.encode)
        assert set(columns["median_x"]) == {2}
        assert set(columns["quantile_x_0.9"]) <= {4, 8}
        assert len(set(columns["median_x_rows_95"])) == 1
        kept = {
            file.name: file.read_bytes()
            for file in (folder / "out").iterdir()
            if file.name not in {f"groups.{kind}", "release.json"}
        }
        listings.append({"stages": stages, "texts": kept, "repr": repr(released)})
    assert listings[0] == listings[1]


@pytest.mark.dense
def test_tables_without_rows_and_with_one_group(tmp_path: Path) -> None:
    by: dict[str, Any] = {"sex": [1, 2], "code": {"keys": "private", "longest": 8}}
    for number, sizes in enumerate([{}, {"a": 300}]):
        write_rows(tmp_path, sizes)
        raw = chance_spec(by=by) | {"output": {"path": f"out{number}", "format": "csv"}}
        columns = ln.Release(**raw, folder=tmp_path).run().tables["groups"].columns
        rows = [(1, code) for code in sizes]
        assert list(zip(columns["sex"], columns["code"], strict=True)) == rows
        assert verify_directory(tmp_path / f"out{number}").rows == {"groups": len(rows)}


def test_a_published_group_may_have_no_rows_for_its_quantile() -> None:
    (quantiles,) = planned(chance_spec(privacy={"epsilon": "200"})).quantiles
    assert isinstance(quantiles, ByChance)
    unit = 2**quantiles.layout.histogram.bits
    totals = [(0, "z", 3, 40 * unit), (0, "b", 1, 90 * unit), (0, "b", 4, 30 * unit)]
    published = Table(name="groups", columns={"code": ["a", "b", "z"]})
    stated = quantiles.may_state
    drawn = [
        publish_in_groups(quantiles.layout, quantiles.certificate, totals, published, stated=stated)
        for _ in range(40)
    ]
    assert all(table.columns["code"] == ["a", "b", "z"] for table in drawn)
    assert {tuple(table.columns["median_x"][1:]) for table in drawn} == {(1, 4)}
    of_none = {table.columns["median_x"][0] for table in drawn}
    assert len(of_none) > 1  # all alike with a probability of 5^-39


@pytest.mark.dense
@pytest.mark.parametrize(("part", "codes"), [({}, ["a", "b"]), ({"filter": "x >= 0"}, ["b"])])
def test_persons_without_a_value_count_for_a_key(
    tmp_path: Path, part: dict[str, Any], codes: list[str]
) -> None:
    write_rows(tmp_path, {"a": 300, "b": 300})
    frame = pd.read_parquet(tmp_path / "rows.parquet")
    frame.assign(x=frame["x"].where(frame["code"] != "a")).to_parquet(tmp_path / "rows.parquet")
    released = ln.Release(**chance_spec(part=part), folder=tmp_path).run()
    assert released.tables["groups"].columns["code"] == codes


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("published")
    write_rows(folder, SIZES)
    ln.Release(**chance_spec(privacy={"delta": "1e-5"}), folder=folder).run()
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


def _draw(record: Any, name: str) -> Any:
    (claim,) = (item["certificate"] for item in record["draws"] if item["name"] == name)
    return claim


def _replace(name: str, old: str, new: str) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def _of(label: str, **fields: Any) -> Callable[[Path], object]:
    return edit_of("certificate.json", lambda record: _draw(record, label).update(fields))


KEYS, QUANTILES = "groups", "groups.quantiles"
EDITS: list[tuple[Callable[[Path], object], str]] = [
    (_of(QUANTILES, rates=["1"]), "not chosen as the spec requires"),
    (_of(QUANTILES, groups=1), "not chosen as the spec requires"),
    (_of(QUANTILES, reach="1"), "not chosen as the spec requires"),
    (_of(QUANTILES, epsilon="0.6"), "not chosen as the spec requires"),
    (_of(KEYS, epsilon="0.6"), "the certificate's budget"),
    (_of(KEYS, delta="5e-6"), "the certificate's budget"),
    (_of(KEYS, groups=1), "number of groups"),
    (edit_of("certificate.json", lambda record: record["draws"].pop()), "have the same queries"),
    (edit_of("certificate.json", lambda record: record["draws"].reverse()), "order"),
    (_replace("groups.csv", "\n9,", "\n10,"), "aren't distinct"),
    (_replace("groups.csv", "\n9,2,", "\n9,3,"), "no candidate"),
    (_replace("spec.toml", "max_groups = 2", "max_groups = 3"), "number of groups"),
    (_replace("spec.toml", "max_rows_per_group = 1", "max_rows_per_group = 2"), "not chosen"),
    (_replace("spec.toml", '"permute-and-flip"', '"tree"'), "have the same queries"),
    (_replace("spec.toml", '"median(x)"', '"median(x)", "count"'), ""),
]  # fmt: skip


@pytest.mark.dense
@pytest.mark.parametrize("number", range(len(EDITS)))
def test_changes_are_rejected(published: dict[str, bytes], tmp_path: Path, number: int) -> None:
    assert verify_resealed(restored(published, tmp_path)).rows == {"groups": len(SIZES)}
    edit, says = EDITS[number]
    edit(tmp_path)
    with pytest.raises(CertificateRejected) as caught:
        verify_resealed(tmp_path)
    assert says in str(caught.value)


@pytest.mark.dense
def test_a_share_that_the_draws_do_not_have_is_rejected(tmp_path: Path) -> None:
    write_rows(tmp_path, SIZES)
    raw = chance_spec(privacy={"delta": "1e-5"}, part={"quantiles_share": "0.6"})
    ln.Release(**raw, folder=tmp_path).run()
    kept = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    halves = (_of(KEYS, epsilon="0.5"), _of(QUANTILES, epsilon="0.5", rates=["0.125"]))
    given = 'quantiles_share = "0.6"\n'
    edits = (
        [_replace("spec.toml", given, given.replace("6", "5"))],
        [_replace("spec.toml", given, "")],
        halves,  # which are proved and add up to the same ε
        halves[1:],
    )
    assert verify_resealed(tmp_path / "out").rows == {"groups": len(SIZES)}
    for several in edits:
        folder = restored(kept, tmp_path / "out")
        for edit in several:
            edit(folder)
        with pytest.raises(
            CertificateRejected, match=r"certificate's budget|not chosen as the spec"
        ):
            verify_resealed(folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"part": {"min_count": 5}}, "min_count: Expected count or count_units"),
        ({"part": {"round": True}}, "round: Expected count or count_units"),
        ({"part": {"prefer": "accuracy"}}, "prefer: Not used for quantiles alone"),
        ({"part": {"clipping": "0.05"}}, 'add "count" to the statistics'),
        (
            {"part": {"quantiles_by": None, "quantiles_share": "0.6"}},
            "quantiles_share: Not used: the query has nothing but quantiles",
        ),
        (
            {"statistics": ["count"], "part": {"quantiles_by": None, "quantiles_share": "0.6"}},
            "quantiles_share: Not used: it asks for no quantile",
        ),
        ({"part": {"quantiles_share": "1"}}, "quantiles_share: Expected a share below 1"),
        ({"privacy": {"delta": 0}}, "Needs delta > 0"),
        ({"contribution": {"max_groups": 2}}, "limits the rows of one person in a quantile"),
        ({"contribution": {"max_rows_per_group": 2}}, "number of unlisted groups"),
    ],
    ids=str,
)
def test_what_nothing_decides_or_bounds_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(chance_spec(**changes))
    assert says in str(caught.value)


@pytest.mark.dense
def test_the_plan_names_both_errors() -> None:
    both = planned(chance_spec(part={"assume": {"n": 500}}, privacy={"delta": "1e-9"}))
    (keys,), (quantiles,) = both.keys, both.quantiles
    (published, *_) = texts(keys.sentences({}), Topic.NOISE)
    assert published == (
        "The table groups publishes groups with their keys, but without a count of rows. A key "
        f"that {keys.half:,} persons have is published with a probability of at least ½, and a key "
        f"that {keys.nearly:,} persons have with a probability of at least 95 %."
    )
    (chosen,) = texts(keys.sentences({}), Topic.GROUPS)
    assert chosen.startswith("If keys are published without a count, chance decides which")
    (_, error) = quantiles.in_words()
    assert error.startswith("With probability 95 %, median_x is at most ")
    assert quantiles.where == "each published group"
    assert quantiles.layout.limits.startswith("counts for at most 2 rows in each quantile")
    record = both.to_record()
    assert [part["name"] for part in record["keys"] + record["quantiles"]] == ["groups"] * 2
