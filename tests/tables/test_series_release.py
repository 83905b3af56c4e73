"""A series of releases: one charge, independent noise in each, and no more than it states."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected, InvalidInput, LedgerRejected, Refused, SpecError
from leastnoise.ledger.check import check_ledger
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.series import LedgerSeries
from leastnoise.ledger.store import Store
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.publish.release import Release
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed

REGIONS = ["north", "south", "west"]
COUNTS = {"name": "regions", "statistics": ["count"], "group_by": {"region": REGIONS}}
DATA = {"source": "rows.csv", "types": {"who": "int", "region": "text", "x": "float"}}
X = {"x": {"bounds": [0, 10], "candidates": {"from": 0, "to": 10, "step": 1}}}


def spec_of(releases: int = 3, **given: Any) -> dict[str, Any]:
    privacy = {"unit": "row", "epsilon": "1", "ledger": {"path": "v.ledger"}}
    return {
        "data": DATA,
        "privacy": privacy | given.pop("privacy", {}),
        "series": {"releases": releases} | given.pop("series", {}),
        "query": [COUNTS],
        "output": {"path": "weekly", "format": "csv"},
    } | given


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = pd.DataFrame({"who": range(60), "region": (REGIONS * 20), "x": [2.0] * 60})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    ledger = Ledger(tmp_path / "v.ledger")
    ledger.open_account("visits", unit="row", budget=ln.Budget(epsilon=2, delta="1e-5"))
    return tmp_path


def release(folder: Path, **given: Any) -> Release:
    return Release(**spec_of(**given), folder=folder)


def published(folder: Path) -> int:
    kinds = [entry.body["kind"] for entry in Ledger(folder / "v.ledger").history()]
    return kinds.count("use")


@pytest.mark.dense
def test_each_release_is_the_next_and_none_is_one_too_many(folder: Path) -> None:
    for index in (1, 2, 3):
        result = release(folder).run()
        assert (result.release_number, result.path) == (index, folder / "weekly" / str(index))
        assert f"release {index} of 3, together, 1-DP" in repr(result)
    account = check_ledger(folder / "v.ledger").accounts["visits"]
    assert (account.spent.epsilon, account.charges) == (1, 1)
    tables = {(folder / f"weekly/{n}/regions.csv").read_text(encoding="utf-8") for n in (1, 2, 3)}
    assert len(tables) == 3  # fresh noise: equal ones by chance once in 10⁸
    (folder / "rows.csv").unlink()  # no row can be read any more
    with pytest.raises(Refused, match=r"has 3 releases, and all were published\. Nothing was read"):
        release(folder).run()
    assert published(folder) == 3


def test_each_release_is_proved_with_all_others(folder: Path) -> None:
    first, second = (release(folder).run().path for _ in range(2))
    assert first is not None
    assert second is not None
    mechanism = verify_directory(second, ledger=folder / "v.ledger")
    assert (mechanism.release_number, mechanism.entry, mechanism.certificate.releases) == (2, 4, 3)
    assert mechanism.account is not None
    assert "release 2 of 3, together, proved 1-DP" in repr(mechanism)
    # the same table as another release of the series: the ledger knows which it was
    record = json.loads((second / "release.json").read_text(encoding="utf-8"))
    for edit in ({"release": 1}, {"release": 3}, {"entry": 3}, {"entry": 2}):
        (second / "release.json").write_text(json.dumps(record | edit), encoding="utf-8")
        with pytest.raises(LedgerRejected, match="not the charge of this release"):
            verify_directory(second, ledger=folder / "v.ledger")
    for edit in ({"release": 4}, {"release": 0}, {"release": None}, {"entry": None}):
        (second / "release.json").write_text(json.dumps(record | edit), encoding="utf-8")
        with pytest.raises(CertificateRejected):
            verify_directory(second)


def test_a_certificate_of_fewer_releases_is_rejected(folder: Path) -> None:
    directory = release(folder).run().path
    assert directory is not None
    text = (directory / "spec.toml").read_text(encoding="utf-8")
    for edited in (text.replace("releases = 3", "releases = 4"), text.replace("= 3", "= 2")):
        assert edited != text
        (directory / "spec.toml").write_text(edited, encoding="utf-8")
        with pytest.raises(CertificateRejected, match="is for 3 releases, but the spec is for"):
            verify_resealed(directory)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "epsilon": lambda spec: spec["privacy"].update(epsilon="1.5"),
    "delta": lambda spec: spec["privacy"].update(delta="1e-6"),
    "releases": lambda spec: spec["series"].update(releases=4),
    "a group more": lambda spec: spec.update(
        query=[COUNTS | {"group_by": {"region": [*REGIONS, "east"]}}]
    ),
    "another query": lambda spec: spec["query"].append(COUNTS | {"name": "again"}),
    "another name": lambda spec: spec.update(query=[COUNTS | {"name": "others"}]),
    "neighbours": lambda spec: spec["privacy"].update(neighbours="replace-one"),
    "unit": lambda spec: spec.update(
        privacy=spec["privacy"] | {"unit": "who"}, contribution={"max_rows": 1}
    ),
    "a sum": lambda spec: spec.update(
        query=[COUNTS | {"statistics": ["sum(x)"]}], columns={"x": {"bounds": [0, 10]}}
    ),
}


@pytest.mark.dense
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_proved_cannot_change(folder: Path, change: str) -> None:
    release(folder).run()
    spec = spec_of()
    CHANGES[change](spec)
    (folder / "rows.csv").write_text("who,region,x\n", encoding="utf-8")
    later = Release(**spec, folder=folder)
    with pytest.raises(Refused, match=r"Nothing was (read, )?charged or drawn"):
        later.run()
    assert published(folder) == 1
    assert not (folder / "weekly/2").exists()


def test_the_file_and_what_rows_are_about_may_change(folder: Path) -> None:
    release(folder).run()
    shutil.copy(folder / "rows.csv", folder / "later.csv")
    data = DATA | {"source": "later.csv", "filter": "x > 1"}
    result = release(folder, data=data, columns={"region": {"label": "Region"}}).run()
    assert result.release_number == 2
    assert verify_directory(result.path or "", ledger=folder / "v.ledger").release_number == 2


def test_a_release_that_fails_after_the_charge_counts(folder: Path) -> None:
    def stop(stage: str) -> None:
        if stage.startswith("Reading and bounding"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release(folder).run(progress=stop)
    assert not (folder / "weekly").exists()
    result = release(folder).run()
    assert (result.release_number, result.path) == (2, folder / "weekly" / "2")
    check_ledger(folder / "v.ledger")


def test_a_ledger_of_before_publishes_nothing_twice(folder: Path) -> None:
    release(folder).run()
    shutil.copy(folder / "v.ledger", folder / "older")
    release(folder).run()
    shutil.copy(folder / "older", folder / "v.ledger")
    with pytest.raises(InvalidInput, match="exists"):
        release(folder).run()
    assert published(folder) == 1


def test_several_series_share_an_account_by_name(folder: Path) -> None:
    first = release(folder).run()
    with pytest.raises(Refused, match="charged for another spec"):
        release(folder, releases=2, query=[COUNTS | {"name": "others"}]).run()
    other = release(folder, releases=2, series={"name": "others"}, output=None).run()
    assert (first.release_number, other.release_number, other.path) == (1, 1, None)
    account = check_ledger(folder / "v.ledger").accounts["visits"]
    assert (account.spent.epsilon, account.charges) == (2, 2)
    with pytest.raises(Refused, match="Over budget"):
        release(folder, series={"name": "a third"}, output=None).run()


@pytest.mark.dense
@pytest.mark.parametrize("last", [False, True])
def test_the_next_call_removes_what_a_killed_release_left(folder: Path, last: bool) -> None:
    """A killed release counts as published, so that no later one has its name."""
    for _ in range(2 if last else 0):
        release(folder).run()

    def die(stage: str) -> None:
        if stage == "Writing the tables":
            os._exit(0)

    if (child := os.fork()) == 0:
        try:
            release(folder).run(progress=die)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len([*(folder / "weekly").glob(".*.partial")]) == 1
    if last:
        with pytest.raises(Refused, match="all were published"):
            release(folder).run()
    else:
        assert release(folder).run().release_number == 2
    assert not [*(folder / "weekly").glob(".*")]


def test_two_at_once_publish_no_release_twice(folder: Path) -> None:
    certificate = release(folder, releases=5).plan().certificate
    series = LedgerSeries(path=folder / "v.ledger", name="s", unit="row", neighbours="add-remove")

    def publish(place: int) -> int:
        try:
            return bool(series.publish(certificate, index=place))
        except Refused:
            return 0

    for index in range(1, 6):
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(publish, [index] * 8)) == 1
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(publish, [5, 6, 7, 0]))
    assert published(folder) == 5
    assert check_ledger(folder / "v.ledger").accounts["visits"].charges == 1


@pytest.mark.parametrize("place", [1, 0, -1, 4])
def test_uses_that_no_series_has_are_found_out(folder: Path, place: int) -> None:
    release(folder).run()
    path = folder / "v.ledger"
    with Store(path=path).appending() as (entries, log):
        log.append(entries[-1].body | {"release": place})
    with pytest.raises(LedgerRejected, match="has a release that entry"):
        check_ledger(path)


def test_it_needs_a_ledger_and_no_plan(folder: Path) -> None:
    alone = spec_of()
    del alone["privacy"]["ledger"]
    with pytest.raises(SpecError, match="leastnoise ledger init"):
        Release(**alone, folder=folder)
    with pytest.raises(SpecError, match="can't be part of a plan"):
        release(folder, privacy={"ledger": {"path": "v.ledger", "plan": 1}})
    for releases in (0, 1, 10_001, "52", 2.0):
        with pytest.raises(SpecError, match=r"series\.releases"):
            release(folder, series={"releases": releases})


def std(plan: Plan, part: int = 0) -> float:
    return plan.noisy_parts[part].errors[0].std


def test_losses_add_up_without_delta(folder: Path) -> None:
    plan = release(folder, releases=52).plan()
    alone = ln.calibrate("geometric", epsilon=1, sensitivity=ln.Integer(1), compositions=52)
    assert std(plan) == pytest.approx(alone.mse**0.5, rel=1e-12)
    (part,) = plan.noisy_parts
    assert part.certificate.compositions == 52
    plain = part.errors[0].plain_laplace_std
    assert plain == pytest.approx(52 * 2**0.5)
    assert plan.epsilon_of_one == pytest.approx(1 / 52)
    assert "All 52 releases together have 1-DP. One of them alone has 0.01924-DP." in str(plan)


@pytest.mark.slow  # five seconds: the shape of generalized gamma noise is searched
def test_three_counts_of_52_weeks_have_the_noise_of_their_composition(folder: Path) -> None:
    plan = release(folder, releases=52, privacy={"delta": "1e-6"}).plan()
    gaussian = ln.calibrate(
        "gaussian", epsilon=1, delta="1e-6", sensitivity=ln.L2(1), dimension=3, compositions=52
    )
    best = ln.least_noise(
        epsilon=1, delta="1e-6", sensitivity=ln.Linf(1, l0=1), dimension=3, compositions=52
    )
    assert std(plan) == pytest.approx((best.mse / 3) ** 0.5, rel=1e-9)
    assert std(plan) < (gaussian.mse / 3) ** 0.5
    plain = plan.noisy_parts[0].errors[0].plain_gaussian_std
    assert plain == pytest.approx((gaussian.mse / 3) ** 0.5, rel=1e-9)
    assert plan.epsilon_of_one is not None
    interval = ln.compose([(plan.noisy_parts[0].mechanism, 1)]).epsilon(delta="1e-6")
    assert interval.lower <= plan.epsilon_of_one <= interval.upper * (1 + 1e-9) < 0.16


@pytest.mark.dense
def test_what_is_chosen_and_counted_beside_it_spends_its_part_each_time(folder: Path) -> None:
    queries = [
        COUNTS,
        {"name": "middle", "statistics": ["median(x)"]},
        {"name": "found", "statistics": ["count"], "group_by": {"region": {"keys": "private"}}},
    ]
    given: dict[str, Any] = {"privacy": {"unit": "who", "delta": "1e-6"}, "query": queries}
    given |= {"contribution": {"max_rows": 2, "max_groups": 1}, "columns": X}
    shutil.copy(folder / "v.ledger", folder / "w.ledger")
    (folder / "v.ledger").unlink()
    Ledger(folder / "v.ledger").open_account(
        "visits", unit="who", budget=ln.Budget(epsilon=1, delta="1e-6")
    )
    mechanism = release(folder, releases=4, **given).run()
    parts = dict(mechanism.certificate.draws)
    assert {name: item.budget.epsilon * 12 for name, item in parts.items()} == {
        "regions": 4,  # a third, for all four
        "middle.quantiles": 1,
        "found": 1,
    }
    assert parts["found"].budget.delta * 12 == Fraction(1, 10**6)
    for part in (*mechanism.plan.noisy_parts, *mechanism.plan.quantiles):
        assert part.budget.epsilon == Fraction(1, 3)
    assert verify_directory(mechanism.path or "", ledger=folder / "v.ledger").delta.upper <= 1e-6


@pytest.mark.dense
def test_margins_of_a_series_agree_and_verify(folder: Path) -> None:
    by = {"region": REGIONS, "who": {"edges": [0, 30, 60]}}
    query = COUNTS | {"margins": True, "group_by": by}
    result = release(folder, releases=2, query=[query], privacy={"delta": "1e-6"}).run()
    verify_directory(result.path or "", ledger=folder / "v.ledger")
    total = result.tables["regions_total"].columns["count"]
    assert sum(result.tables["regions"].columns["count"]) == total[0]


def test_no_number_of_a_series_is_noisier_together_than_alone(folder: Path) -> None:
    queries = [COUNTS, {"name": "all", "statistics": ["count"]}]
    both = release(folder, releases=6, query=queries).plan()
    for index, query in enumerate(queries):
        half = release(folder, releases=6, query=[query], privacy={"epsilon": "0.5"}).plan()
        assert std(both, index) <= std(half) * (1 + 1e-9)


def test_frames_are_released_in_turn(folder: Path) -> None:
    rows = pd.DataFrame({"region": REGIONS * 20})
    given = spec_of(2) | {"data": rows, "output": None}
    places = [Release(**given, folder=folder).run().release_number for _ in range(2)]
    assert places == [1, 2]
