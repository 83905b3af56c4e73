from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leastnoise.design.bounds.lower_bound import LowerBound
from leastnoise.design.bounds.radial_bound import RadialWitness
from leastnoise.design.programs import find
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.find import VectorTask
from leastnoise.design.programs.refine import Task
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.question import Loss, Question

TASK = Task(budget=Budget(epsilon="1", delta="0.01"), loss=Loss.MAE)
USUAL = Effort()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEASTNOISE_CACHE", str(tmp_path / "designs"))
    return tmp_path / "designs"


def test_a_design_is_kept_and_proved_again(folder: Path) -> None:
    assert find.load_design(TASK) is None
    design = find.find_design(TASK)
    assert find.load_design(TASK) == design
    assert len(list(folder.iterdir())) == 1
    for other in (
        Task(budget=TASK.budget, loss=Loss.MSE),
        Task(budget=Budget(epsilon="1", delta="0.02"), loss=Loss.MAE),
        Task(budget=TASK.budget, loss=Loss.MAE, scope="integer"),
    ):
        assert find.load_design(other) is None


def test_what_was_found_before_changes_nothing(folder: Path) -> None:
    coarse = find.find_design(TASK, Effort(gap=0.05))
    fine = find.find_design(TASK, Effort(gap=0.002))
    assert fine.gap <= 0.002 < coarse.gap
    assert find.find_design(TASK, Effort(gap=0.05)) == coarse
    for path in folder.iterdir():
        path.unlink()
    assert find.find_design(TASK, Effort(gap=0.05)) == coarse


def test_a_clock_takes_what_is_fine_enough_and_else_goes_on(folder: Path) -> None:
    timed = Effort(gap=0.002, seconds=1e-3)
    design = find.find_design(TASK, Effort(gap=0.002))
    with pytest.raises(NotApplicable, match="effort"):
        find.find_design(TASK, timed)
    record = json.loads(next(folder.iterdir()).read_text())
    record.pop("key")
    find.store_record(find._key(TASK, timed), record)
    assert find.find_design(TASK, timed) == design


DAMAGES: dict[str, Callable[[Any], object]] = {
    "no bound": lambda r: r.pop("bound"),
    "a false bound": lambda r: r.update(
        bound=r["bound"].replace('"epsilon": "1"', '"epsilon": "2"')
    ),
    "a law that is not private": lambda r: r["masses"].__setitem__(0, 10 * r["masses"][0]),
    "masses of text": lambda r: r["masses"].__setitem__(0, "1"),
    "negative masses": lambda r: r["masses"].__setitem__(0, -1),
    "cells of text": lambda r: r.update(cells="1"),
    "another version": lambda r: r.update(version=0),
    "another key": lambda r: r.update(key="x"),
}


@pytest.mark.grid
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_ignored_and_replaced(folder: Path, damage: str) -> None:
    find.find_design(TASK)
    (path,) = folder.iterdir()
    record = json.loads(path.read_text())
    DAMAGES[damage](record)
    path.write_text(json.dumps(record))
    assert find.load_design(TASK) is None
    assert find.find_design(TASK).gap <= find.GAP
    assert find.load_design(TASK) is not None


@pytest.mark.grid
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000])
def test_what_is_no_record_is_ignored(folder: Path, content: bytes) -> None:
    find.find_design(TASK)
    (path,) = folder.iterdir()
    path.write_bytes(content)
    assert find.load_design(TASK) is None


def test_a_disk_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LEASTNOISE_CACHE", str(tmp_path / "file" / "below"))
    assert find.find_design(TASK).law is not None


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_the_platform_decides_the_folder(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", system)
    for name in ("LEASTNOISE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert find.cache_folder().name == "leastnoise"
    if system == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
        assert find.cache_folder() == Path("/somewhere/leastnoise")


@pytest.mark.parametrize(
    "wrong", [{"gap": 0.0}, {"gap": 5.0}, {"gap": float("nan")}, {"seconds": 0.0}]
)
def test_an_effort_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        Effort(**wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("folder")
def test_a_law_is_as_good_as_asked() -> None:
    question = Question(budget=TASK.budget, loss=TASK.loss)
    stages: list[str] = []
    find.optimal(question, effort=Effort(gap=0.05, progress=stages.append))
    coarse = find.load_design(TASK, Effort(gap=0.05))
    find.optimal(question, effort=Effort())
    usual = find.load_design(TASK)
    assert coarse is not None
    assert usual is not None
    assert stages
    assert usual.gap <= find.GAP < coarse.gap <= 0.05


def test_vectors_have_no_gap_to_ask_for() -> None:
    question = Question(budget=TASK.budget, dimension=2)
    with pytest.raises(InvalidArgument, match="no gap"):
        find.optimal_radial(question, effort=Effort(gap=0.01))


def test_a_bound_kept_under_another_problems_name_is_not_shown(folder: Path) -> None:
    """A true bound on the noise of a vector says nothing of one number's."""
    vector = VectorTask(budget=TASK.budget, dimension=3)
    witness = RadialWitness(
        dimension=3, cells=4, bits=0, ceiling=0, nodes=(0, 4), levels=(1,), prices=((0,), (0,))
    )
    bound = LowerBound.prove(
        loss=Loss.MSE, epsilon=vector.budget.epsilon, delta=vector.budget.delta, witness=witness
    )
    task = Task(budget=TASK.budget, loss=Loss.MSE)
    find.store_record(
        find._key(task, USUAL), {"bound": bound.to_json(), "masses": None, "cells": None}
    )
    assert find.load_design(task) is None
    plane = VectorTask(budget=TASK.budget, dimension=2)
    find.store_record(find._bound_key(plane, USUAL), {"bound": bound.to_json()})
    assert find.load_bound(plane, USUAL) is None
    find.store_record(find._bound_key(vector, USUAL), {"bound": bound.to_json()})
    assert find.load_bound(vector, USUAL) == bound


def test_a_bound_for_whole_numbers_is_none_for_all_noise(folder: Path) -> None:
    whole = Task(budget=TASK.budget, loss=Loss.MAE, scope="integer", steps=2)
    kept = find.find_design(whole)
    assert kept.bound is not None
    for other in (TASK, Task(budget=TASK.budget, loss=Loss.MAE, scope="integer", steps=3)):
        record = {"bound": kept.bound.to_json(), "masses": None, "cells": None}
        find.store_record(find._key(other, USUAL), record)
        assert find.load_design(other) is None
