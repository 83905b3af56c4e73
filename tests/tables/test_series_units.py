"""A series charged for one release: each row is in the release that its report column names."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise.errors import Refused, SpecError
from leastnoise.ledger.check import check_ledger
from leastnoise.ledger.ledger import Ledger
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.cli.program import run
from tests.grids import thin
from tests.tables.integers import integers

KEYS = ["a", "b", "c"]
COUNT = {"name": "cases", "statistics": ["count"], "group_by": {"place": KEYS}}
TYPES = {"who": "int", "week": "int", "place": "text", "x": "float"}
ROW = {"unit": "row", "epsilon": "1", "ledger": {"path": "v.ledger"}}
PERSON = ROW | {"unit": "who"}
EACH_ROW = {"each": "row", "report": "week"}
REPORTED = {"each": "person in one release", "report": "week"}


def spec_of(series: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"source": "rows.csv", "types": TYPES},
        "privacy": ROW,
        "series": {"releases": 52} | series,
        "query": [COUNT],
        "output": {"path": "weekly", "format": "csv"},
    } | given


def of_persons(series: dict[str, Any] = REPORTED, **given: Any) -> dict[str, Any]:
    return spec_of(series, privacy=PERSON, contribution={"max_rows": 2}) | given


def write(folder: Path, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=[*TYPES])
    frame.to_csv(folder / "rows.csv", index=False)
    return frame


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, [(n, 1 + n % 4, KEYS[n % 3], 1.0) for n in range(240)])
    return tmp_path


def counts_of(raw: dict[str, Any], folder: Path, **given: Any) -> list[float]:
    """The counts of a release before noise, as numbers of rows."""
    (whole,) = integers(raw, folder, **given).values()
    ((ways,),) = Release(**raw, folder=folder)._layout.queries
    return [value / 2 ** ways[0].bits for value in whole]


def open_account(folder: Path, unit: str) -> None:
    Ledger(folder / "v.ledger").open_account("cases", unit=unit, budget=ln.Budget(epsilon=1))


def test_a_week_has_the_noise_of_one_release_and_the_year_one_charge(folder: Path) -> None:
    open_account(folder, "row")
    releases = [Release(**spec_of(EACH_ROW), folder=folder).run() for _ in range(3)]
    plan = releases[0].plan
    assert plan.certificate.releases == 1
    q = math.exp(-1)
    (error,) = plan.noisy_parts[0].errors
    assert error.std == pytest.approx(math.sqrt(2 * q) / (1 - q), rel=1e-9)  # 1.36
    account = check_ledger(folder / "v.ledger").accounts["cases"]
    assert (account.spent.epsilon, account.charges) == (1, 1)
    assert [release.release_number for release in releases] == [1, 2, 3]
    assert len({mechanism.certificate for mechanism in releases}) == 1


@pytest.mark.grid
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "floats with NaN"])
def test_a_release_counts_the_rows_of_its_number_and_no_other(tmp_path: Path, kind: str) -> None:
    rows = [(n, 1 + n % 5, KEYS[n % 3], 1.0) for n in range(90)]
    rows += [(100, None, "a", 1.0), (101, 0, "a", 1.0), (102, 53, "a", 1.0), (103, -2, "a", 1.0)]
    frame = write(tmp_path, rows)
    frame["week"] = frame["week"].astype("Int64")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    raw, given = spec_of(EACH_ROW), None
    if kind == "parquet":
        frame.to_parquet(tmp_path / "rows.parquet")
    elif kind == "frame":
        given = frame
    elif kind == "floats with NaN":
        weeks = pa.array([float(row[1]) if row[1] is not None else math.nan for row in rows])
        table = pa.table({"who": frame["who"], "place": frame["place"], "week": weeks})
        pq.write_table(table, tmp_path / "rows.parquet")
    if kind in {"parquet", "floats with NaN"}:
        raw["data"] = {"source": "rows.parquet"}
    for release in (1, 2, 5, 6, 52):
        counts = counts_of(raw, tmp_path, frame=given, release=release)
        known = [sum(row[1] == release and row[2] == key for row in rows) for key in KEYS]
        assert counts == known


def random_stream(draw: random.Random) -> list[tuple[int, int, str, float]]:
    return [
        (draw.randrange(6), draw.randrange(1, 5), draw.choice(KEYS), draw.random())
        for _ in range(draw.randrange(5, 40))
    ]


def stream_of(raw: dict[str, Any], folder: Path, files: list[list[tuple[Any, ...]]]) -> list[Any]:
    """The counts before noise of all releases, one from each of `files`."""
    results: list[Any] = []
    for number, rows in enumerate(files, 1):
        results.append(counts_of(raw, folder, frame=write(folder, rows), release=number))
    return results


def moved(first: list[Any], second: list[Any]) -> dict[int, int]:
    """The l1 distance of two streams in each release in which they differ, by its number."""
    both = zip(first, second, strict=True)
    shifts = {
        number: sum(abs(a - b) for a, b in zip(item, other, strict=True))
        for number, (item, other) in enumerate(both, 1)
    }
    return {number: shift for number, shift in shifts.items() if shift}


@pytest.mark.dense
@pytest.mark.parametrize("seed", thin(range(6), 1))
def test_a_unit_moves_one_release_by_its_limit_whatever_rows_do(tmp_path: Path, seed: int) -> None:
    """Rows come late, disappear and are edited; what a unit says its release is stays as it is."""
    draw = random.Random(seed)
    rows = random_stream(draw)
    person, week = draw.randrange(6), draw.randrange(1, 5)
    # each week's file has what was shown by then: some rows come late, some are gone, some edited
    files = [
        [
            (row[0], row[1], draw.choice(KEYS) if draw.random() < 0.3 else row[2], row[3])
            for row in rows
            if draw.random() < 0.8
        ]
        for _ in range(4)
    ]
    raw = of_persons({**REPORTED, "releases": 4})
    without = [[row for row in file if (row[0], row[1]) != (person, week)] for file in files]
    shift = moved(stream_of(raw, tmp_path, files), stream_of(raw, tmp_path, without))
    assert shift.keys() <= {week}
    assert all(size <= 2 for size in shift.values())
    item = draw.randrange(len(rows))
    of_rows = spec_of({**EACH_ROW, "releases": 4})
    numbered = [[(index, *row[1:]) for index, row in enumerate(rows)] for _ in range(4)]
    less = [[row for row in file if row[0] != item] for file in numbered]
    shift = moved(stream_of(of_rows, tmp_path, numbered), stream_of(of_rows, tmp_path, less))
    assert shift == {rows[item][1]: 1}


def test_persons_of_one_release_have_an_account_of_their_own(folder: Path) -> None:
    open_account(folder, "who")
    with pytest.raises(Refused, match="unit='who', but the release has unit='who in one release'"):
        Release(**of_persons(), folder=folder).run()
    (folder / "v.ledger").unlink()
    open_account(folder, "who in one release")
    result = Release(**of_persons(), folder=folder).run()
    assert result.path is not None
    proved = verify_directory(result.path, ledger=folder / "v.ledger")
    assert "for each who in one release" in repr(proved)
    plain = {name: value for name, value in of_persons().items() if name != "series"}
    with pytest.raises(Refused, match="unit='who in one release', but the release has unit='who'"):
        Release(**plain | {"output": {"path": "once"}}, folder=folder).run()
    # a column that is called like such a unit is another unit
    named = "who in one release"
    plain["privacy"] = PERSON | {"unit": named}
    plain["data"] = {"source": "rows.csv", "types": TYPES | {named: "int"}}
    frame = pd.read_csv(folder / "rows.csv")
    frame.assign(**{named: frame["who"]}).to_csv(folder / "rows.csv", index=False)
    with pytest.raises(Refused, match="the release has unit='column \"who in one release\"'"):
        Release(**plain | {"output": {"path": "once"}}, folder=folder).run()


def test_a_person_in_at_most_k_releases_is_charged_for_k(folder: Path) -> None:
    open_account(folder, "who in at most 4 releases")
    few = of_persons({"max_releases": 4})
    mechanism = Release(**few, folder=folder).run()
    assert mechanism.path is not None
    assert mechanism.certificate.releases == 4
    other = PERSON | {"ledger": {"path": "other.ledger"}}
    four = Release(**of_persons({"releases": 4}, privacy=other), folder=folder).plan()
    assert mechanism.plan.noisy_parts[0].errors[0].std == four.noisy_parts[0].errors[0].std
    sentences = "\n".join(map(str, str(mechanism.plan).split("\n")))
    assert "promised to each who whose rows count in at most 4 releases" in sentences
    proved = verify_directory(mechanism.path, ledger=folder / "v.ledger")
    assert proved.planned_releases == 52
    account = check_ledger(folder / "v.ledger").accounts["cases"]
    assert account.spent.epsilon == 1


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "persons of rows": (spec_of(REPORTED), "series.each"),
    "rows of persons": (of_persons(EACH_ROW), "series.each"),
    "no column": (spec_of({"each": "row"}), "series.report"),
    "replace-one": (spec_of(EACH_ROW, privacy=ROW | {"neighbours": "replace-one"}), "series.each"),
    "k of replace-one": (
        spec_of({"max_releases": 2}, privacy=ROW | {"neighbours": "replace-one"}),
        "series.max_releases",
    ),
    "both": (spec_of({**EACH_ROW, "max_releases": 2}), "series.max_releases"),
    "more than all": (spec_of({"max_releases": 53}), "series.max_releases"),
    "none": (spec_of({"max_releases": 0}), "series.max_releases"),
    "another unit": (spec_of({"each": "person", "report": "week"}), "series.each"),
    "a column without a type": (spec_of({"each": "row", "report": "weeks"}), "series.report"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_unit_that_the_releases_cannot_have_is_refused(folder: Path, case: str) -> None:
    raw, key = WRONG[case]
    with pytest.raises(SpecError) as refused:
        Release(**raw, folder=folder)
    assert key in {name for name, _ in refused.value.problems}


def test_the_advice_about_a_ledger_names_unit_and_delta_of_the_series(folder: Path) -> None:
    raw = of_persons(REPORTED)
    raw["privacy"] = {"unit": "who", "epsilon": "1", "delta": "1e-6"}
    with pytest.raises(SpecError) as refused:
        Release(**raw, folder=folder)
    advice = dict(refused.value.problems)["privacy.ledger"]
    assert '--unit "who in one release" --epsilon 10 --delta 1e-6, with' in advice


def test_the_report_column_is_a_number(folder: Path) -> None:
    open_account(folder, "row")
    raw = spec_of({"each": "row", "report": "place"})
    with pytest.raises(SpecError, match=r"series\.report"):
        Release(**raw, folder=folder).run()
    assert check_ledger(folder / "v.ledger").accounts["cases"].charges == 0


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "the report column": lambda spec: spec["series"].update(report="who"),
    "a derived report column": lambda spec: spec.update(
        derive={"again": "week + 1"}, series=spec["series"] | {"report": "again"}
    ),
    "releases": lambda spec: spec["series"].update(releases=51),
    "no report column": lambda spec: spec.update(series={"releases": 52}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_release_of_a_row_cannot_change(folder: Path, change: str) -> None:
    open_account(folder, "row")
    Release(**spec_of(EACH_ROW), folder=folder).run()
    raw = json.loads(json.dumps(spec_of(EACH_ROW)))
    CHANGES[change](raw)
    with pytest.raises(Refused, match="charged for another spec"):
        Release(**raw, folder=folder).run()
    assert len([*(folder / "weekly").iterdir()]) == 1
    Release(**spec_of(EACH_ROW), folder=folder).run()  # the series goes on


def test_a_derived_report_column_keeps_its_expression(folder: Path) -> None:
    open_account(folder, "row")
    derived = spec_of({"each": "row", "report": "number"}, derive={"number": "week + 1"})
    assert Release(**derived, folder=folder).run().release_number == 1
    for other in ({"number": "week + 2"}, {"week2": "week", "number": "week2 + 1"}):
        with pytest.raises(Refused, match="Its report column is 'number = week \\+ 1'"):
            Release(**derived | {"derive": other}, folder=folder).run()
    counts = counts_of(derived, folder, release=3)
    assert counts == [20, 20, 20]  # of week 2


def test_an_entry_with_other_releases_is_found_out(folder: Path) -> None:
    open_account(folder, "row")
    result = Release(**spec_of(EACH_ROW), folder=folder).run()
    assert result.entry is not None
    entries = Ledger(folder / "v.ledger").history()
    (begun,) = [entry.body for entry in entries if entry.body["kind"] == "series"]
    assert (begun["releases"], begun["report"]) == (52, "week")
    assert check_ledger(folder / "v.ledger").entries == 3


@pytest.mark.dense
def test_the_sentences_name_the_unit_and_the_condition(folder: Path) -> None:
    open_account(folder, "who in one release")
    (folder / "spec.toml").write_text(Release(**of_persons(), folder=folder).to_toml())
    planned = run("release", "spec.toml", "--plan", cwd=folder)
    released = run("release", "spec.toml", cwd=folder)
    assert released.returncode == 0, released.stderr
    shown = run("verify", "weekly/01", cwd=folder).stdout
    plan = json.loads((folder / "weekly" / "01" / "plan.json").read_text(encoding="utf-8"))
    assert plan["unit"] == "who in one release"
    assert plan["series"] == {
        "releases": 52,
        "epsilon_of_one": None,
        "each": "person in one release",
        "report": "week",
    }
    for text in (" ".join(planned.stdout.split()), " ".join(shown.split())):
        for sentence in (
            "The rows of one who in one release change the probability",
            "with rows in j releases, ε is j times as large.",
            "No row may ever be shown with two values of week.",
            "only rows where week is the number of the release count.",
        ):
            assert sentence in text
