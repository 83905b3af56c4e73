"""Releases that find a limit: against pandas; they verify, are charged, and keep their errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.certificate.limits import LimitCertificate
from leastnoise.errors import CertificateRejected, Refused, SpecError
from leastnoise.tables.layout import found_limits
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.rows import source
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.rows.left_out import count_cut_off
from leastnoise.tables.spec.source import IN_MEMORY
from tests.grids import thin
from tests.tables.found_limits import CANDIDATES, cut_off, finds
from tests.tables.resealed import verify_resealed

_RANDOM = np.random.default_rng(3)  # makes the rows, no noise
ROWS: Any = pd.DataFrame(
    {
        "who": _RANDOM.integers(0, 60, 400) ** 2 // 60,
        "drug": _RANDOM.integers(0, 12, 400),
        "town": _RANDOM.choice(["a", "b", "c", "d", "e", "f", "g"], 400),
    }
)
QUERY: dict[str, Any] = {
    "name": "q",
    "statistics": ["count"],
    "filter": "drug > 2",
    "group_by": {"drug": [*range(10)]},
}
MEDIANS: dict[str, Any] = {
    "statistics": ["median(drug)"],
    "group_by": {"town": [*"abcdefg"]},
    "quantiles_by": "permute-and-flip",
}


def raw(asked: dict[str, Any] = QUERY, **changes: Any) -> dict[str, Any]:
    types = {"who": "int", "drug": "int", "town": "text"}
    return {
        "version": 1,
        "data": {"source": "rows.csv", "types": types, "filter": "drug <> 4"},
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "columns": {"drug": {"candidates": [0, 2, 4, 6, 8]}},
        "contribution": {"max_rows": finds()},
        "query": [asked],
    } | changes


def in_query(name: str, **query: Any) -> dict[str, Any]:
    limits = {name: finds()} | ({} if name == "max_rows" else {"max_rows_per_group": 1})
    return raw(QUERY | {"contribution": limits} | query, contribution=None)


def sizes(name: str) -> pd.Series[Any]:
    """The number of rows or groups of each person in the query `name`, by pandas."""
    counted = ROWS[ROWS["drug"] != 4]
    if name == "all":
        return counted.groupby("who").size()
    counted = counted[(counted["drug"] > 2)]
    if name == "towns":
        return counted.groupby("who")["town"].nunique()
    counted = counted[counted["drug"] < 10]
    return (
        counted.groupby("who").size() if name == "q" else counted.groupby("who")["drug"].nunique()
    )


@pytest.mark.grid
@pytest.mark.parametrize("container", thin(["csv", "parquet", "frame"], 2))
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (raw(), "all"),
        (in_query("max_rows"), "q"),
        (in_query("max_groups"), "drugs"),
        (in_query("max_groups", group_by={"town": {"keys": "private"}}), "towns"),
        (in_query("max_rows", **MEDIANS | {"group_by": QUERY["group_by"]}), "q"),
        (in_query("max_groups", **MEDIANS), "towns"),
    ],
)
def test_what_is_cut_off_is_what_pandas_says(
    tmp_path: Path, container: str, spec: dict[str, Any], name: str
) -> None:
    frame = frame_of(ROWS) if container == "frame" else None
    if frame is None:
        kind = ROWS.to_csv if container == "csv" else ROWS.to_parquet
        kind(tmp_path / f"rows.{container}", index=False)
    where = IN_MEMORY if frame is not None else f"rows.{container}"
    layouts = spec_file.lay_out(spec | {"data": spec["data"] | {"source": where}})
    finder = found_limits.finder_of(layouts.spec)
    assert finder is not None
    rows = source.find_source(layouts.spec, tmp_path, frame)
    with source.open_engine(rows) as engine:
        counted = found_limits.layout_of(layouts, finder)
        totals = count_cut_off(engine, layouts.spec, finder, counted)
    largest = CANDIDATES[-1]
    assert totals == cut_off([min(int(size), largest) for size in sizes(name)])
    assert totals[0] > totals[1] > 0


def test_without_rows_nothing_is_cut_off(tmp_path: Path) -> None:
    ROWS[:0].to_csv(tmp_path / "rows.csv", index=False)
    layouts = spec_file.lay_out(raw())
    finder = found_limits.finder_of(layouts.spec)
    assert finder is not None
    with source.open_engine(source.find_source(layouts.spec, tmp_path)) as engine:
        assert count_cut_off(engine, layouts.spec, finder, None) == [0] * len(CANDIDATES)


def released(folder: Path, name: str, spec: dict[str, Any], **changes: Any) -> ln.ReleasedTables:
    ROWS.to_csv(folder / "rows.csv", index=False)
    sections = {key: value for key, value in (spec | changes).items() if key != "version"}
    return ln.Release(**sections, output={"path": name, "format": "csv"}, folder=folder).run()


@pytest.mark.dense
def test_the_release_follows_the_plan_of_the_limit_that_was_found(tmp_path: Path) -> None:
    spec = raw()
    result = released(tmp_path, "out", spec)
    verified = ln.verify_directory(tmp_path / "out")
    finder = found_limits.finder_of(verified.spec)
    assert finder is not None
    limit = finder.finds.found
    assert limit in CANDIDATES
    stored = json.loads((tmp_path / "out" / "plan.json").read_text())["found_limit"]
    assert stored == {
        "limit": "max_rows",
        "candidates": [*CANDIDATES],
        "share": "0.1",
        "found": limit,
    }
    fixed = raw(contribution={"max_rows": limit}, privacy=spec["privacy"] | {"epsilon": "0.9"})
    plan = ln.Release(
        **{key: fixed[key] for key in fixed if key != "version"}, folder=tmp_path
    ).plan()
    stds = [
        [error.std for part in known.noisy_parts for error in part.errors]
        for known in (plan, result.plan)
    ]
    assert stds[0] == stds[1]
    assert f"max_rows = {limit} was found among 1, 2, 5 and 10, with 10 % of the budget." in str(
        result.plan
    )
    assert (verified.delta.lower, verified.certificate.budget.epsilon) == (0, 1)


@pytest.mark.parametrize(("share", "units"), [("0.1", 88), ("0.02", 439)])
def test_the_plan_says_what_accuracy_the_share_buys(tmp_path: Path, share: str, units: int) -> None:
    """2·ln(20·4)/ε for four candidates, rounded up."""
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    spec = raw(contribution={"max_rows": finds(share)})
    plan = ln.Release(
        **{key: spec[key] for key in spec if key != "version"}, folder=tmp_path
    ).plan()
    assert f"the choice is as good as with {units} " in " ".join(str(plan).split())


@pytest.mark.grid
@pytest.mark.parametrize("of_query", [False, True])
def test_a_limit_of_medians_alone_is_chosen_by_their_errors_in_rows(
    tmp_path: Path, *, of_query: bool
) -> None:
    query = QUERY | MEDIANS
    spec = in_query("max_rows", **MEDIANS) if of_query else raw(query)
    result = released(tmp_path, "out", spec)
    ((name, claim),) = result.plan.certificate.draws
    assert isinstance(claim, LimitCertificate)
    assert name == ("q.max_rows" if of_query else "max_rows")
    for limit, noise in zip(CANDIDATES, claim.noise, strict=True):
        fixed = raw(query, contribution={"max_rows": limit})
        fixed["privacy"]["epsilon"] = "0.9"
        (quantiles,) = plan(spec_file.lay_out(fixed)).quantiles
        assert noise == pytest.approx(7 * quantiles.rows_off(0) / 2, rel=1e-5)
    assert claim.verify().upper <= 1e-6
    assert ln.verify_directory(tmp_path / "out").spec.contribution == result.plan.spec.contribution


@pytest.mark.dense
def test_keys_alone_have_no_error_to_choose_by() -> None:
    codes = {"statistics": [], "group_by": {"town": {"keys": "private"}}}
    with pytest.raises(Refused, match=r"No number .* depends on q.max_groups. Give a number"):
        plan(spec_file.lay_out(in_query("max_groups", **codes)))


def test_another_limit_in_the_files_is_rejected(tmp_path: Path) -> None:
    released(tmp_path, "out", raw())
    path = tmp_path / "out" / "spec.toml"
    text = path.read_text()
    (result,) = [line for line in text.splitlines() if line.startswith("found =")]
    other = next(most for most in CANDIDATES if f"found = {most}" != result)
    path.write_text(text.replace(result, f"found = {other}"))
    with pytest.raises(CertificateRejected):
        ln.verify_directory(tmp_path / "out")
    path.write_text(text)
    with pytest.raises(SpecError, match="Written by an earlier release"):
        ln.Release.from_toml(path)


def test_the_plan_of_a_limit_that_was_not_chosen_is_checked_too(tmp_path: Path) -> None:
    released(tmp_path, "out", raw())
    path = tmp_path / "out" / "certificate.json"
    record = json.loads(path.read_text())
    limit = json.loads((tmp_path / "out" / "plan.json").read_text())["found_limit"]["found"]
    plans = record["draws"][0]["certificate"]["plans"]
    for index, candidate in enumerate(CANDIDATES):
        if candidate != limit:  # too little noise for the largest candidates
            plans[index] = plans[0] if index else plans[1]
    path.write_text(json.dumps(record))
    with pytest.raises(CertificateRejected, match="sensitivity doesn't follow from the spec"):
        verify_resealed(tmp_path / "out")


def test_a_ledger_is_charged_before_the_limit_is_known(tmp_path: Path) -> None:
    budget = ln.Budget(epsilon=3, delta="1e-5")
    ln.Ledger(tmp_path / "b.ledger").open_account("rows", unit="who", budget=budget)
    privacy = raw()["privacy"] | {"ledger": {"path": "b.ledger"}}
    result = released(tmp_path, "out", raw(), privacy=privacy)
    verified = ln.verify_directory(tmp_path / "out", ledger=tmp_path / "b.ledger")
    assert result.entry == verified.entry == 2  # the account is the first


@pytest.mark.dense
def test_two_releases_have_a_difference(tmp_path: Path) -> None:
    released(tmp_path, "one", raw())
    released(tmp_path, "two", raw())
    difference = ln.subtract_releases(tmp_path / "one", tmp_path / "two")
    assert set(difference.tables) == {"q"}
    assert len(difference.notes) <= 1


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        (
            {"contribution": {"max_groups": finds(), "max_rows": 3}},
            "contribution.max_groups",
            "one",
        ),
        (
            {"contribution": {"max_rows": finds(found=7)}},
            "contribution.max_rows.found",
            "one of the candidates",
        ),
        (
            {
                "query": [QUERY | {"accuracy": {"std": 5}}],
                "privacy": {"unit": "who", "epsilon": "least"},
            },
            "contribution.max_rows",
            "least",
        ),
        (
            {"query": [QUERY | {"contribution": {"max_groups": finds()}}]},
            "query[0].contribution.max_groups",
            "finds one limit",
        ),
        (
            {"contribution": {"max_rows": finds(candidates=[2, 1])}},
            "contribution.max_rows.candidates",
            "increasing",
        ),
        (
            {"contribution": {"max_rows": {"find": False}}},
            "contribution.max_rows.find",
            "find = true",
        ),
        (
            {"contribution": {"max_rows": {"find": True, "candidates": [1, 2]}}},
            "contribution.max_rows.share",
            "issing",
        ),
    ],
)
def test_impossible_searches_are_problems_of_their_key(
    changes: dict[str, Any], key: str, why: str
) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.parse(raw(**changes))
    problems = dict(caught.value.problems)
    assert why in problems[key], problems


def test_a_series_and_found_bounds_are_refused() -> None:
    ledger = {"path": "b.ledger"}
    series = raw(series={"releases": 4}, privacy=raw()["privacy"] | {"ledger": ledger})
    with pytest.raises(SpecError, match="Not used in a series"):
        spec_file.parse(series)
    bounds = finds(share="0.1", candidates=[0, 5, 10])
    result = raw(QUERY | {"statistics": ["sum(drug)"]}, columns={"drug": {"bounds": bounds}})
    with pytest.raises(SpecError, match="Not allowed beside bounds that are found"):
        spec_file.parse(result)
