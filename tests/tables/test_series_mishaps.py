"""Series with running totals: killed writes, bad state files, edited folders, wrong accounts."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.errors import (
    CertificateRejected,
    InvalidInput,
    LeastnoiseError,
    LedgerRejected,
    Refused,
    SpecError,
)
from leastnoise.ledger import store
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.state import StateFile
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.publish.verify_series import verify_series
from tests.tables.register import (
    KILLED,
    edit,
    in_child,
    killed,
    make,
    put,
    release,
    release_in_child,
    spec_of,
    values,
)
from tests.tables.resealed import verify_resealed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path)
    return tmp_path


def killed_while_pages_are_written(folder: Path) -> int:
    """Kill a release that wrote only some changed pages of ledger and state into their files."""

    def work() -> None:
        usual = store.write_state

        def dies(connection: sqlite3.Connection, name: str, state: Any) -> None:
            usual(connection, name, state)
            connection.execute(f"PRAGMA {name}.cache_size = 1")
            connection.execute(f"CREATE TABLE {name}.filler (bytes)")
            for _ in range(200):
                connection.execute(f"INSERT INTO {name}.filler VALUES (randomblob(3000))")
            os._exit(KILLED)

        store.write_state = dies
        release(folder).run()

    return in_child(work)


@pytest.mark.dense
def test_a_release_that_is_killed_while_it_writes_pages_is_undone(folder: Path) -> None:
    release(folder).run()
    before = StateFile(path=folder / "weekly.state").read()
    assert killed_while_pages_are_written(folder) == KILLED
    journal = folder / "weekly.state-journal"
    assert journal.stat().st_mode & 0o777 == 0o600  # it has the sums, too
    assert StateFile(path=folder / "weekly.state").read() == before
    assert release(folder).run().release_number == 2
    verify_series(folder / "weekly", ledger=folder / "v.ledger")


@pytest.mark.dense
def test_a_restart_leaves_no_journal_of_the_lost_state(folder: Path) -> None:
    release(folder).run()
    assert killed_while_pages_are_written(folder) == KILLED
    (folder / "weekly.state").unlink()
    assert release(folder).restart() == 2
    assert release(folder).run().release_number == 2


def test_a_state_is_never_in_a_file_that_others_made(folder: Path) -> None:
    new = folder / "weekly.state.new"
    new.write_text("")
    new.chmod(0o644)
    with new.open() as opened:
        release(folder).run()
        assert (folder / "weekly.state").stat().st_mode & 0o777 == 0o600
        assert not opened.read()


def test_a_state_that_others_hold_is_not_called_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(folder).run()
    usual = sqlite3.connect
    monkeypatch.setattr(
        "leastnoise.ledger.state.sqlite3.connect",
        lambda *args, **given: usual(*args, **given | {"timeout": 0.01}),
    )
    with closing(usual(folder / "weekly.state", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Refused, match="Other processes are using the state"):
            release(folder).restart()


@pytest.mark.parametrize("path", ["weekly/", "weekly/."])
def test_the_state_is_beside_what_is_published(folder: Path, path: str) -> None:
    release(folder, output={"path": path, "format": "csv"}).run()
    assert (folder / "weekly.state").exists()
    assert {file.name for file in (folder / "weekly").iterdir()} == {"1"}


@pytest.mark.parametrize("state", ["weekly/s", "weekly/../weekly/a/s", "a\0b"])
def test_a_state_among_published_files_is_refused(folder: Path, state: str) -> None:
    with pytest.raises(SpecError) as refused:
        release(folder, series={"state": state})
    assert [key for key, _ in refused.value.problems] == ["series.state"]


@pytest.mark.dense
def test_a_folder_in_the_way_of_a_drawn_release_is_refused(folder: Path) -> None:
    release(folder).run()
    assert release_in_child(folder, killed("rename", after=False)) == KILLED
    shutil.copytree(folder / "weekly" / "1", folder / "weekly" / "2")
    with pytest.raises(Refused, match="has the name of the folder of release"):
        release(folder).run()
    shutil.rmtree(folder / "weekly" / "2")
    assert release(folder).run().release_number == 2
    verify_series(folder / "weekly", ledger=folder / "v.ledger")


def test_a_series_keeps_or_leaves_out_totals_to_its_end(folder: Path) -> None:
    plain = spec_of()
    plain["series"] = {"releases": 4, "each": "row", "report": "week"}
    Release(**plain, folder=folder).run()
    for work in (release(folder).run, release(folder).restart):
        with pytest.raises(Refused, match="began without totals"):
            work()
    other = {**plain, "series": plain["series"] | {"name": "other"}}
    raw = spec_of(series={"name": "other"}, output={"path": "other", "format": "csv"})
    (folder / "b").mkdir()
    make(folder / "b")
    Release(**raw, folder=folder / "b").run()
    with pytest.raises(Refused, match="was charged for another spec"):
        Release(**other, folder=folder / "b").run()


SUMS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a level less": lambda sums: sums["noise"][0].pop(),
    "a cell less": lambda sums: sums["totals"].pop(),
    "too large for a float": lambda sums: sums["totals"].__setitem__(0, 10**400),
    "a text": lambda sums: sums["noise"][0].__setitem__(0, "1"),
    "no sums": lambda sums: sums.clear(),
}


@pytest.mark.dense
@pytest.mark.parametrize("case", SUMS)
def test_sums_of_another_form_are_refused_before_the_draw(folder: Path, case: str) -> None:
    release(folder).run()
    with closing(sqlite3.connect(folder / "weekly.state")) as connection:
        ((text,),) = connection.execute("SELECT body FROM state").fetchall()
        body = json.loads(text)
        SUMS[case](body["sums"]["cases"])
        connection.execute("UPDATE state SET body = ?", (json.dumps(body),))
        connection.commit()
    with pytest.raises(InvalidInput, match="Delete the state"):
        release(folder).run()
    assert values(folder).keys() == {"1"}
    (folder / "weekly.state").unlink()
    assert release(folder).restart() == 2


def test_damaged_states_are_explained(folder: Path) -> None:
    release(folder).run()
    file = folder / "weekly.state"
    good = file.read_bytes()
    for index in range(0, len(good), 37):
        put(file, good[:index] + bytes([good[index] ^ 0xFF]) + good[index + 1 :])
        with suppress(LeastnoiseError):
            StateFile(path=file).read()


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}"])
def test_a_state_of_another_text_is_called_damaged(folder: Path, text: str) -> None:
    release(folder).run()
    file = folder / "weekly.state"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE state SET body = ?", (text,))
    with pytest.raises(InvalidInput, match="damaged, or is not a state file"):
        StateFile(path=file).read()


def test_a_join_by_another_column_is_another_plan(folder: Path) -> None:
    (folder / "place.csv").write_text("place,kind\na,x\nb,y\n")
    (folder / "week.csv").write_text("week,kind\n1,x\n2,y\n")
    types = spec_of()["data"]["types"] | {"kind": "text"}
    query = [{"name": "q", "statistics": ["count"], "group_by": {"kind": ["x", "y"]}}]

    def join_folders(on: str) -> Release:
        join = {"p": {"source": f"{on}.csv", "on": on, "public": True}}
        data = {"source": "rows.csv", "types": types, "join": join}
        return release(folder, data=data, query=query)

    join_folders("place").run()
    with pytest.raises(Refused, match="belongs to another plan"):
        join_folders("week").run()


@pytest.mark.parametrize(
    ("epsilon", "series", "why"),
    [
        ("0.001", {}, "epsilon is too small. Give another epsilon, or leave totals out."),
        ("700", {}, "computed as 0. Give another epsilon, or leave totals out."),
        pytest.param(
            "1",
            {"releases": 4000, "branches": [2] * 12},
            "no tree can be used .*12 levels",
            marks=pytest.mark.dense,
        ),
    ],
)
def test_where_no_tree_fits_the_advice_is_given_once(
    folder: Path, epsilon: str, series: dict[str, Any], why: str
) -> None:
    privacy = spec_of()["privacy"] | {"epsilon": epsilon, "ledger": {"path": "new.ledger"}}
    with pytest.raises(Refused, match=why) as refused:
        release(folder, series=series, privacy=privacy).plan()
    assert str(refused.value).count("Give") == 1


# Edited folders and ledgers.


def restarted(folder: Path) -> None:
    release(folder).run()
    (folder / "weekly.state").unlink()
    release(folder).restart()
    release(folder).run()


@pytest.mark.parametrize("number", [5, 9, 10**30])
def test_a_release_beyond_the_last_is_rejected(folder: Path, number: int) -> None:
    release(folder).run()
    edit(folder / "weekly" / "1", lambda record: record.update(release=number))
    with pytest.raises(CertificateRejected, match="names release"):
        verify_directory(folder / "weekly" / "1")


@pytest.mark.parametrize("totals", [True, False])
def test_a_record_and_a_spec_must_agree_on_running_totals(folder: Path, *, totals: bool) -> None:
    raw = spec_of()
    if not totals:
        raw["series"] = {"releases": 4, "each": "row", "report": "week"}
    directory = Release(**raw, folder=folder).run().path
    assert directory is not None
    chain = {"first": 1, "before": "", "digest": "0" * 64}
    edit(directory, lambda record: record.pop("chain") if totals else record.update(chain=chain))
    why = "records no running totals" if totals else "the spec doesn't say totals = true"
    with pytest.raises(CertificateRejected, match=why):
        verify_directory(directory)


def test_two_folders_of_one_release_are_rejected(folder: Path) -> None:
    release(folder).run()
    shutil.copytree(folder / "weekly" / "1", folder / "weekly" / "01")
    with pytest.raises(CertificateRejected, match="Two folders contain release"):
        verify_series(folder / "weekly")


def test_a_tree_that_the_ledger_does_not_know_is_rejected(folder: Path) -> None:
    """With the totals and the plan of a restart, but no restart in the ledger."""
    (folder / "b").mkdir()
    make(folder / "b")
    restarted(folder / "b")
    second = folder / "b" / "weekly" / "2"
    verify_directory(second, ledger=folder / "b" / "v.ledger")
    for _ in range(2):
        release(folder).run()
    directory = folder / "weekly" / "2"
    for name in ("plan.json", "spec.toml"):
        shutil.copy(second / name, directory / name)
    shutil.copy(
        directory / "cases.csv", directory / "cases_total.csv"
    )  # one leaf is a total of one
    edit(directory, lambda record: record["chain"].update(first=2))
    verify_resealed(directory)
    with pytest.raises(LedgerRejected, match="is not the charge of this release"):
        verify_directory(directory, ledger=folder / "v.ledger")


@pytest.mark.parametrize(
    "change", [("releases = 4", "releases = 8"), ('report = "week"', 'report = "month"')]
)
def test_another_report_column_than_was_charged_is_rejected(
    folder: Path, change: tuple[str, str]
) -> None:
    rows = (folder / "rows.csv").read_text().splitlines()
    later = [f"{row},1" for row in rows[1:]]
    (folder / "rows.csv").write_text("\n".join([f"{rows[0]},month", *later]))
    raw = spec_of()
    raw["data"]["types"]["month"] = "int"
    raw["series"] = {"releases": 4, "each": "row", "report": "week"}
    directory = Release(**raw, folder=folder).run().path
    assert directory is not None
    verify_directory(directory, ledger=folder / "v.ledger")
    spec = directory / "spec.toml"
    spec.write_text(spec.read_text().replace(*change))
    elsewhere = folder / "b"
    elsewhere.mkdir()
    shutil.copy(folder / "rows.csv", elsewhere)
    shutil.copy(spec, elsewhere)
    (directory / "plan.json").write_text(Release(elsewhere / "spec.toml").plan().to_json())
    verify_resealed(directory)
    with pytest.raises(LedgerRejected, match="is not the charge of this release"):
        verify_directory(directory, ledger=folder / "v.ledger")


# Accounts of persons in one release.


def of_persons(folder: Path, report: str, **series: Any) -> Release:
    each = {"releases": 4, "each": "person in one release", "report": report}
    raw = {
        "version": 1,
        "data": {"source": "rows.csv", "types": {"who": "int", "week": "int", "month": "int"}},
        "privacy": {"unit": "who", "epsilon": "1", "ledger": {"path": "p.ledger"}},
        "contribution": {"max_rows": 2},
        "series": each | series,
        "query": [{"name": "cases", "statistics": ["count"]}],
        "output": {"path": series.get("name", "out"), "format": "csv"},
    }
    return Release(**raw, folder=folder)


@pytest.mark.dense
@pytest.mark.parametrize("totals", [False, True])
def test_a_person_in_a_week_and_one_in_a_month_have_two_accounts(
    tmp_path: Path, totals: bool
) -> None:
    (tmp_path / "rows.csv").write_text("who,week,month\n1,1,1\n1,2,1\n")
    ledger = Ledger(tmp_path / "p.ledger")
    ledger.open_account("cases", unit="who in one release", budget=ln.Budget(epsilon=3))
    of_persons(tmp_path, "week").run()
    of_persons(tmp_path, "week", name="again", totals=totals).run()
    with pytest.raises(Refused, match="another unit"):
        of_persons(tmp_path, "month", name="monthly", totals=totals).run()


def test_a_table_of_persons_is_in_no_single_release(tmp_path: Path) -> None:
    raw = spec_of(
        series={"each": "person in one release"},
        privacy={"unit": "who", "epsilon": "1", "ledger": {"path": "p.ledger"}},
        contribution={"max_rows": 2},
        data={
            "source": "rows.csv",
            "types": {"who": "int", "week": "int", "home": "text"},
            "join": {"p": {"source": "persons.csv", "on": "who"}},
        },
    )
    raw["query"] = [{"name": "q", "statistics": ["count"], "group_by": {"home": ["a"]}}]
    with pytest.raises(SpecError) as refused:
        Release(**raw, folder=tmp_path)
    assert [key for key, _ in refused.value.problems] == ["data.join.p"]


def test_finishing_needs_no_rows(folder: Path) -> None:
    assert release_in_child(folder, killed("rename", after=False)) == KILLED
    (folder / "rows.csv").unlink()
    assert release(folder).run().release_number == 1
