"""A series with running totals: its numbers, its state, and no period with two values."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    InvalidInput,
    Refused,
    SpecError,
)
from leastnoise.ledger.check import check_ledger
from leastnoise.ledger.state import State, StateFile
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.sampler import draw_cells
from leastnoise.tables.layout.periods import RunningSums
from leastnoise.tables.publish import verify_series as verify_series_module
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.publish.verify_series import sum_releases, verify_series
from leastnoise.workloads.tree import FirstLeaves, Nodes, TreeStrategy
from tests.cli.program import run
from tests.tables.register import (
    KILLED,
    edit,
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


def test_all_releases_add_up_and_are_charged_once(folder: Path) -> None:
    totals = np.zeros(2)
    for number in range(1, 5):
        released = release(folder).run()
        counts = np.array(released.tables["cases"].columns["count"])
        totals += counts
        assert released.release_number == number
        assert released.tables["cases_total"].columns["count"] == totals.tolist()
        assert (folder / "weekly.state").exists() == (number < 4)  # the last release deletes it
    every = verify_series(folder / "weekly", ledger=folder / "v.ledger")
    assert [result.release_number for result in every] == [1, 2, 3, 4]
    account = check_ledger(folder / "v.ledger").accounts["cases"]
    assert (account.spent.epsilon, account.charges) == (1, 1)
    with pytest.raises(Refused, match=r"has 4 releases, and all were published"):
        release(folder).run()


def test_the_state_is_secret_and_small(folder: Path) -> None:
    release(folder).run()
    file = folder / "weekly.state"
    assert file.stat().st_mode & 0o777 == 0o600
    text = repr(StateFile(path=file).read())
    assert "sums" not in text
    assert "noise" not in text


def test_the_length_of_the_state_says_nothing_about_its_noise() -> None:
    def length(*noise: tuple[int, int]) -> int:
        sums = RunningSums(noise=noise, totals=(7, 8), counts=(1, 2)).to_record()
        state = State.begin(plan="p", first=1, digest="", sums={"cases": sums})
        assert State.from_json(state.to_json()) == state
        return len(state.to_json())

    lengths = {length((0, 0), (0, 0)), length((-99_999, 5), (77, -3)), length((9, 10), (0, 400))}
    assert len(lengths) == 1


def test_the_plan_states_the_errors_of_theory() -> None:
    """theory/series.md, §5.1: the 4 × 13 tree, and fresh noise beside it."""
    noise = Agreeing(scale=1, branches=(4, 13), shares=("0.093", "0.333", "0.574"))
    tables = [Nodes(level=2), *(FirstLeaves(cells=cells) for cells in range(1, 53))]
    strategy = TreeStrategy(noise=noise, tables=tuple(tables))
    stds = [math.sqrt(strategy.variance(table)[0]) for table in range(53)]
    widths = [strategy.half_widths(table, [0.95])[0][0] for table in range(53)]
    known = {1: (2.23, 5), 4: (3.96, 8), 13: (3.11, 6), 20: (5.35, 11), 33: (5.95, 12)}
    known |= {46: (6.34, 13), 52: (5.22, 11)}
    for weeks, (std, width) in known.items():
        assert stds[weeks] == pytest.approx(std, abs=0.0051)
        assert widths[weeks] == width
    assert math.sqrt(np.square(stds[1:]).mean()) == pytest.approx(5.11, abs=0.0051)
    assert max(stds[1:]) == pytest.approx(6.34, abs=0.0051)


@pytest.mark.dense
def test_intervals_of_totals_hold_in_20_000_series() -> None:
    """The binomial error is .0015: six of them on each side, and an interval of one less fails."""
    noise = Agreeing(scale=1, branches=(4, 13), shares=("0.093", "0.333", "0.574"))
    totals = np.abs(draw_cells(noise, InsecureSeededEntropy(3), count=20_000).cumsum(axis=1))
    for weeks in (1, 4, 13, 20, 33, 46, 52):
        strategy = TreeStrategy(noise=noise, tables=(FirstLeaves(cells=weeks),))
        width = strategy.half_widths(0, [0.95])[0][0]
        inside = (totals[:, weeks - 1] <= width).mean()
        assert inside >= 0.95 - 0.01
        assert (totals[:, weeks - 1] <= width - 1).mean() < 0.95 + 0.01


def without_rows(folder: Path) -> None:
    (folder / "rows.csv").unlink()


def put_back(folder: Path, name: str) -> None:
    copy = (folder / name).read_bytes()
    release(folder).run()
    put(folder / name, copy)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda folder: (folder / "weekly.state").unlink(), "missing.*series restart"),
    "damaged": (
        lambda folder: (folder / "weekly.state").write_bytes(b"SQLite format 3\0" + bytes(99)),
        "damaged, or is not a state file.*series restart",
    ),
    "another file": (
        lambda folder: put(folder / "weekly.state", (folder / "v.ledger").read_bytes()),
        "damaged, or is not a state file",
    ),
    "readable by others": (lambda folder: (folder / "weekly.state").chmod(0o644), "chmod 600"),
    "older": (lambda folder: put_back(folder, "weekly.state"), "older than the ledger.*restart"),
    "newer than the ledger": (lambda folder: put_back(folder, "v.ledger"), "ledger is older than"),
    "a folder ahead": (lambda folder: (folder / "weekly" / "2").mkdir(), "ledger is older than"),
}


@pytest.mark.dense
@pytest.mark.parametrize("case", BAD)
def test_stores_that_do_not_fit_are_refused_before_a_row_is_read(folder: Path, case: str) -> None:
    break_it, why = BAD[case]
    release(folder).run()
    break_it(folder)
    without_rows(folder)
    before = values(folder)
    with pytest.raises(Refused, match=why):
        release(folder).run()
    assert values(folder) == before
    if case in {"newer than the ledger", "a folder ahead", "readable by others"}:
        with pytest.raises(Refused):
            release(folder).restart()
    else:
        if case in {"damaged", "another file"}:
            content = (folder / "weekly.state").read_bytes()
            with pytest.raises(Refused, match="Move that file away"):
                release(folder).restart()
            assert (folder / "weekly.state").read_bytes() == content
            (folder / "weekly.state").unlink()
        assert release(folder).restart() == 2 + (case == "older")


@pytest.mark.grid
@pytest.mark.parametrize(
    "given",
    [
        {"series": {"branches": [4]}},
        {"query": [{"name": "cases", "statistics": ["count"], "group_by": {"place": ["a", "c"]}}]},
        {"data": spec_of()["data"] | {"filter": "place <> 'b'"}},
        {"series": {"releases": 3}},
        {"privacy": spec_of()["privacy"] | {"epsilon": "0.5"}},
    ],
)
def test_a_changed_plan_is_refused(folder: Path, given: dict[str, Any]) -> None:
    release(folder).run()
    without_rows(folder)
    with pytest.raises(Refused, match="belongs to another plan"):
        release(folder, **given).run()
    with pytest.raises(Refused, match="belongs to another plan"):
        release(folder, **given).restart()


@pytest.mark.dense
def test_a_restart_begins_totals_anew_and_is_refused_while_the_state_is_good(folder: Path) -> None:
    first = release(folder).run()
    with pytest.raises(Refused, match="is good"):
        release(folder).restart()
    (folder / "weekly.state").unlink()
    assert release(folder).restart() == 2
    second = release(folder).run()
    assert second.tables["cases_total"].columns["count"] == second.tables["cases"].columns["count"]
    assert second.certificate == first.certificate
    assert "totals begin with release 2" in " ".join(str(second.plan).split())
    third = release(folder).run()
    assert verify_series(folder / "weekly", ledger=folder / "v.ledger")[2].link is not None
    assert check_ledger(folder / "v.ledger").accounts["cases"].charges == 1
    shown = run("series", "show", "spec.toml", cwd=write_spec(folder)).stdout
    assert "restarted before release 2" in " ".join(shown.split())
    assert third.release_number == 3


def write_spec(folder: Path) -> Path:
    (folder / "spec.toml").write_text(release(folder).to_toml())
    return folder


def test_the_commands_show_restart_and_verify(folder: Path) -> None:
    write_spec(folder)
    assert run("series", "show", "spec.toml", cwd=folder).returncode == 0
    assert run("release", "spec.toml", cwd=folder).returncode == 0
    assert run("release", "spec.toml", cwd=folder).returncode == 0
    assert run("series", "restart", "spec.toml", cwd=folder).returncode == 1
    shown = json.loads(run("series", "show", "spec.toml", "--json", cwd=folder).stdout)
    assert (shown["published"], shown["problem"]) == (2, None)
    verified = run("verify", "weekly", "--ledger", "v.ledger", cwd=folder)
    assert verified.returncode == 0, verified.stderr
    assert "releases 1 to 2 of 4" in verified.stdout
    (folder / "weekly.state").unlink()
    problem = json.loads(run("series", "show", "spec.toml", "--json", cwd=folder).stdout)["problem"]
    assert "is missing" in problem
    restarted = run("series", "restart", "spec.toml", cwd=folder)
    assert restarted.returncode == 0, restarted.stderr


@pytest.mark.dense
def test_a_complete_series_has_no_problem(folder: Path) -> None:
    """Also if the last release was killed before it deleted the state."""
    write_spec(folder)

    def shown() -> dict[str, Any]:
        return json.loads(run("series", "show", "spec.toml", "--json", cwd=folder).stdout)

    for _ in range(3):
        release(folder).run()
    assert release_in_child(folder, killed("table", after=False)) == KILLED
    assert (shown()["published"], shown()["problem"]) == (4, None)  # it is to be finished
    text = run("series", "show", "spec.toml", cwd=folder).stdout
    assert "will finish release 4" in " ".join(text.split())
    assert release_in_child(folder, killed("delete", after=False)) == KILLED
    assert (folder / "weekly.state").exists()
    assert shown()["problem"] is None
    StateFile(path=folder / "weekly.state").delete()
    assert shown()["problem"] is None
    assert "No release is left." in run("series", "show", "spec.toml", cwd=folder).stdout
    put(folder / "weekly.state", b"text")
    assert "damaged" in shown()["problem"]


@pytest.mark.dense
def test_sums_of_releases_have_the_interval_of_their_noise(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        release(folder).run()
    counts = {name: table["cases.csv"] for name, table in values(folder).items()}
    rows = {
        name: [line.split(",") for line in text.splitlines()[1:]] for name, text in counts.items()
    }
    noise = next(iter(verify_series(folder / "weekly"))).plan.noisy_parts[0].certificate.noise
    assert isinstance(noise, Agreeing)
    for first, last in ((1, 1), (2, 3), (2, 4), (1, 4)):
        (table,) = sum_releases(folder / "weekly", first, last)
        numbers = [str(number) for number in range(first, last + 1)]
        for row, key in enumerate(("a", "b")):
            assert table.columns["place"][row] == key
            assert table.columns["count"][row] == sum(float(rows[x][row][1]) for x in numbers)
        cells = draw_cells(noise, InsecureSeededEntropy(3), count=20_000)
        sums = cells[:, first - 1 : last].sum(axis=1)
        (std, _), low = table.columns["count_std"], table.columns["count_low"]
        assert std == pytest.approx(sums.std(), rel=0.05)
        width = table.columns["count"][0] - low[0]
        assert (np.abs(sums) <= width).mean() > 0.94
        assert (np.abs(sums) < width).mean() < 0.96
    with monkeypatch.context() as patch:  # asked for in vain: no release is verified
        patch.setattr(verify_series_module, "verify_folders", None)
        for first, last in ((3, 5), (3, 2), (0, 2), (1, 10**15)):
            with pytest.raises(InvalidArgument, match="consecutive releases, among 1 to 4"):
                sum_releases(folder / "weekly", first, last)
    shown = run("series", "sum", "weekly", "2", "3", "--json", cwd=folder)
    assert json.loads(shown.stdout)["cases_2_to_3"]["place"] == ["a", "b"]
    text = run("series", "sum", "weekly", "2", "3", cwd=folder)
    assert text.returncode == 0, text.stderr
    assert "cases_2_to_3" in text.stdout


@pytest.mark.dense
def test_no_sum_goes_across_a_restart(folder: Path) -> None:
    release(folder).run()
    (folder / "weekly.state").unlink()
    release(folder).restart()
    release(folder).run()
    release(folder).run()
    assert sum_releases(folder / "weekly", 2, 3)[0].name == "cases_2_to_3"
    with pytest.raises(InvalidArgument, match="restarted before release 2"):
        sum_releases(folder / "weekly", 1, 2)


# Edited folders.


LINKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no chain": lambda record: record.pop("chain"),
    "another digest": lambda record: record["chain"].update(digest="0" * 64),
    "another before": lambda record: record["chain"].update(before="0" * 64),
    "another first": lambda record: record["chain"].update(first=2),
    "first after": lambda record: record["chain"].update(first=9),
    "no number": lambda record: record["chain"].update(first="1"),
    "another release": lambda record: record.update(release=3),
}


@pytest.mark.grid
@pytest.mark.parametrize("case", LINKS)
def test_an_edited_chain_is_rejected(folder: Path, case: str) -> None:
    release(folder).run()
    release(folder).run()
    edit(folder / "weekly" / "2", LINKS[case])
    with pytest.raises(CertificateRejected):
        verify_series(folder / "weekly")


def test_edited_counts_are_rejected_though_the_seal_is_made_anew(folder: Path) -> None:
    release(folder).run()
    second = release(folder).run().path
    assert second is not None
    for name in ("cases", "cases_total"):
        text = (second / f"{name}.csv").read_text().splitlines()
        key, count, std, low, high = text[1].split(",")
        moved = [repr(float(number) + 1) for number in (count, low, high)]
        edited = [text[0], ",".join([key, moved[0], std, *moved[1:]]), *text[2:]]
        (second / f"{name}.csv").write_text("\n".join(edited) + "\n")
    with pytest.raises(CertificateRejected, match=r"in release\.json doesn't fit"):
        verify_resealed(second)


@pytest.mark.dense
def test_releases_of_two_series_or_with_gaps_do_not_verify(folder: Path, tmp_path: Path) -> None:
    for _ in range(3):
        release(folder).run()
    other = tmp_path / "other"
    other.mkdir()
    make(other)
    for _ in range(3):
        release(other).run()
    shutil.copytree(folder / "weekly", tmp_path / "mixed")
    shutil.rmtree(tmp_path / "mixed" / "2")
    with pytest.raises(CertificateRejected, match="releases between release"):
        verify_series(tmp_path / "mixed")
    shutil.copytree(other / "weekly" / "2", tmp_path / "mixed" / "2")
    with pytest.raises(CertificateRejected, match=r"doesn't continue release|aren't the totals"):
        verify_series(tmp_path / "mixed")
    shutil.rmtree(tmp_path / "mixed" / "1")
    with pytest.raises(CertificateRejected, match="folders of earlier releases are missing"):
        verify_series(tmp_path / "mixed")
    verify_directory(tmp_path / "mixed" / "2")  # by itself it is a release


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no unit": (spec_of({"each": None}), "series.each"),
    "delta": (spec_of(privacy=spec_of()["privacy"] | {"delta": "1e-6"}), "privacy.delta"),
    "no output": (spec_of(output=None), "output"),
    "a small tree": (spec_of({"branches": [3]}), "series.branches"),
    "a lonely child": (spec_of({"branches": [1, 4]}), "series.branches[0]"),
    "a mean": (
        spec_of(
            query=[{"name": "q", "statistics": ["mean(x)"]}],
            columns={"x": {"bounds": [0, 1]}},
            data={"source": "rows.csv", "types": {"week": "int", "x": "float"}},
        ),
        "query[0].statistics",
    ),
    "clamp": (spec_of(query=[spec_of()["query"][0] | {"clamp": True}]), "query[0].clamp"),
    "unlisted": (
        spec_of(
            query=[spec_of()["query"][0] | {"group_by": {"place": {"keys": "private"}}}],
        ),
        "query[0].group_by",
    ),
    "a name of two": (
        spec_of(query=[spec_of()["query"][0], spec_of()["query"][0] | {"name": "cases_total"}]),
        "query[1].name",
    ),
    "branches alone": (spec_of({"totals": False}), "series.branches"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_has_no_running_totals_is_refused(folder: Path, case: str) -> None:
    raw, key = WRONG[case]
    raw = {name: value for name, value in raw.items() if value is not None}
    raw["series"] = {name: value for name, value in raw["series"].items() if value is not None}
    with pytest.raises(SpecError) as refused:
        Release(**raw, folder=folder)
    assert key in {name for name, _ in refused.value.problems}


@pytest.mark.parametrize(("unit", "each"), [("row", "row"), ("who", "person in one release")])
def test_the_advised_unit_fits_the_unit_of_the_spec(folder: Path, unit: str, each: str) -> None:
    raw = spec_of(privacy=spec_of()["privacy"] | {"unit": unit})
    raw["series"].pop("each")
    with pytest.raises(SpecError) as refused:
        Release(**raw, folder=folder)
    assert dict(refused.value.problems)["series.each"].endswith(f'Write each = "{each}".')


def test_a_person_of_several_rows_has_as_much_more_noise(folder: Path) -> None:
    types = {"who": "int", "week": "int", "place": "text"}
    ledger = {"ledger": {"path": "other.ledger"}}
    series = {"each": "person in one release"}
    raw = spec_of(
        series,
        privacy={"unit": "who", "epsilon": "1"} | ledger,
        contribution={"max_rows": 3},
        data={"source": "rows.csv", "types": types},
    )
    (folder / "rows.csv").write_text("who,week,place\n1,1,a\n")
    three = Release(**raw, folder=folder).plan()
    item = release(folder, privacy={"unit": "row", "epsilon": "1/3"} | ledger).plan()
    (first,), (second,) = (plan.answered[0].parts[0].all_errors for plan in (three, item))
    assert first.std == pytest.approx(second.std, rel=0.02)


def test_the_state_file_reads_back(tmp_path: Path, folder: Path) -> None:
    release(folder).run()
    state = StateFile(path=folder / "weekly.state").read()
    copy = StateFile(path=tmp_path / "copy")
    copy.create(state)
    assert copy.read() == state
    copy.mark_published(replace(state, tag="0" * 64))  # another state: nothing changes
    assert copy.read() == state
    copy.delete()
    assert not copy.exists
    with pytest.raises(InvalidInput, match="missing"):
        copy.read()
