"""Which slow tests the gate runs, with real git histories and real runs of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines import spark
from tests.slow import (
    ROOT,
    Choice,
    changed_packages,
    choose,
    landed,
    one_of_each_function,
    read_times,
    write_times,
)

TESTS = [f"tests/{name}/test_it.py::test_{i}" for name in ("noise", "tables") for i in range(500)]
PLENTY = 1e6


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *name, *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, *paths: str) -> str:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("a") as file:
            file.write("more\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "more")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    folder = tmp_path / "history"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    commit(folder, "src/leastnoise/noise/law.py", "src/leastnoise/errors.py")
    return folder


def test_of_what_changed_all_are_run_and_of_the_others_a_tenth() -> None:
    item, other = (
        choose(TESTS, changed={"tables"}, commit=commit, seconds=PLENTY, times={})
        for commit in ("a", "b")
    )
    for choice in (item, other):
        assert {test for test in TESTS if "tables" in test} <= choice.tests
        assert 20 < sum("noise" in test for test in choice.tests) < 80
    assert item.tests != other.tests
    again = choose(TESTS[::-1], changed={"tables"}, commit="a", seconds=PLENTY, times={})
    assert again.tests == item.tests


def test_what_they_take_is_bounded_and_what_is_left_out_is_said() -> None:
    times = {"tests/noise/test_it.py": 1.0, "tests/tables/test_it.py": 3.0}
    choice = choose(TESTS, changed={"tables"}, commit="a", seconds=300, times=times)
    tables = sum("tables" in test for test in choice.tests)
    noise = len(choice.tests) - tables
    assert noise > 20  # the tenth isn't given up for what changed
    assert 297 < noise + 3 * tables <= 300
    assert choice.lines[-1] == f"tables: {tables} of 500; left out: about {3 * (500 - tables)} s"


def test_without_a_landed_state_everything_counts_as_changed() -> None:
    choice = choose(TESTS, changed=None, commit="a", seconds=PLENTY, times={})
    assert choice.tests == set(TESTS)
    choice = choose(TESTS, changed=None, commit="a", seconds=1000, times={})
    assert len(choice.tests) == 100
    assert {test.split("/")[1] for test in choice.tests} == {"noise", "tables"}


def test_one_test_of_every_changed_function_comes_first() -> None:
    tests = [f"tests/noise/test_it.py::test_{name}[{i}]" for name in "abc" for i in range(50)]
    tests.append("tests/ledger/test_it.py::test_d")
    pages = [f"tests/test_docs.py::test_python_examples[{page}]" for page in "xy"]
    times = {"tests/noise/test_it.py": 1.0, "tests/ledger/test_it.py": 7.0, "tests/test_docs.py": 2}

    def of(commit: str, seconds: float) -> Choice:
        return choose(
            tests + pages, changed=None, commit=commit, seconds=seconds, times=times,
            functions_first=True,
        )  # fmt: skip

    few, other = of("a", 14), of("b", 14)
    for choice in (few, other):
        assert choice.tests >= set(pages)
        assert {test.partition("[")[0][-1] for test in choice.tests - set(pages)} == set("abcd")
        assert len(choice.tests) == 6
    assert few.tests != other.tests
    more = of("a", 34)
    assert few.tests < more.tests
    assert len(more.tests) == 26  # 14 seconds for the first six, and 20 tests of a second
    assert more.lines[:2] == (
        "26 of 153 slow tests, about 34 s of processor time",
        "functions that run a test: 6 of 6 of what changed, 0 of 0 of the others",
    )


def test_where_time_is_short_functions_of_what_changed_run_twice_as_often() -> None:
    tests = [
        f"tests/{name}/test_it.py::test_{i}" for name in ("noise", "tables") for i in range(99)
    ]
    times = {f"tests/{name}/test_it.py": 1.0 for name in ("noise", "tables")}
    runs = [
        choose(
            tests, changed={"tables"}, commit=commit, seconds=60, times=times, functions_first=True
        )
        for commit in "abcdefghijklmnopqrst"
    ]
    assert {len(choice.tests) for choice in runs} == {60}
    counts = [sum("tables" in test for test in choice.tests) for choice in runs]
    assert 760 < sum(counts) < 840  # 40 of 60
    assert len(set[str]().union(*(choice.tests for choice in runs))) == len(tests)


def test_half_the_functions_that_did_not_change_run_one_test_and_soon_each_does() -> None:
    others = [f"tests/noise/test_it.py::test_{i}[{case}]" for i in range(500) for case in range(3)]
    changed = [f"tests/tables/test_it.py::test_{i}[{case}]" for i in range(9) for case in range(3)]
    every = set[str]()
    for commit in "abcdefghijklmnopqrst":
        functions = [
            test.partition("[")[0] for test in one_of_each_function(changed, others, commit)
        ]
        assert len(functions) == len(set(functions))
        assert sum("tables" in function for function in functions) == 9
        assert 200 < len(functions) - 9 < 300
        every |= set(functions)
    assert len(every) == 509


def test_tests_of_several_packages_are_run_for_each() -> None:
    tests = [
        "tests/statistical/test_laws.py::test_a",
        "tests/test_packaging.py::test_b",
        "tests/engines/test_vectors_on_dask.py::test_c",
    ]
    for changed, expected in [("noise", 0), ("test_packaging", 1), ("tables", 2), ("clusters", 2)]:
        choice = choose(tests, changed={changed}, commit="a", seconds=PLENTY, times={})
        assert tests[expected] in choice.tests


def test_what_changed_is_told_by_folder(history: Path) -> None:
    base = git(history, "rev-parse", "HEAD")
    commit(
        history,
        "src/leastnoise/noise/classic/law.py",
        "tests/tables/test_plan.py",
        "tests/test_site.py",
        "experiments/wei2026/run.py",
        "constraints.txt",
        "docs/index.md",
        "README.md",
    )
    (history / "src/leastnoise/errors.py").write_text("not committed yet")
    assert changed_packages(base, history) == {
        *("errors", "experiments", "noise", "tables", "test_docs", "test_packaging", "test_site")
    }


def test_files_that_git_does_not_know_yet_are_changes(history: Path) -> None:
    base = git(history, "rev-parse", "HEAD")
    (history / ".gitignore").write_text("build\n")
    commit(history, "CHANGELOG.md")
    for path in ("tests/audit/test_new.py", "src/leastnoise/ledger/größe.py", "tests/learn/build"):
        (history / path).parent.mkdir(parents=True, exist_ok=True)
        (history / path).write_text("new")
    assert changed_packages(base, history) == {"audit", "ledger"}


@pytest.mark.parametrize("base", ["0" * 40, "no-branch"])
def test_a_state_that_git_cannot_compare_with_changes_everything(history: Path, base: str) -> None:
    assert changed_packages(base, history) is None


def test_what_every_test_is_run_with_is_of_every_package(history: Path) -> None:
    base = git(history, "rev-parse", "HEAD")
    commit(history, "conftest.py")
    assert changed_packages(base, history) is None


def test_the_landed_state_is_where_the_branch_left_the_remotes(
    history: Path, tmp_path: Path
) -> None:
    base = git(history, "rev-parse", "HEAD")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", str(history), str(clone))
    assert landed(clone) is None  # HEAD has landed, and nothing tells what was before
    commit(clone, "src/leastnoise/noise/law.py")
    assert landed(clone) == base
    commit(history, "README.md")  # the remote went on
    git(clone, "fetch")
    assert landed(clone) == base


def test_the_landed_state_is_recorded_for_a_clone_of_one_branch(
    history: Path, tmp_path: Path
) -> None:
    base = git(history, "rev-parse", "HEAD")
    (history / ".ci").mkdir()
    (history / ".ci" / "landed").write_text(f"{base}\n")
    commit(history, ".ci/more")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", str(history), str(clone))
    assert landed(clone) == base
    (clone / ".ci" / "landed").write_text("0" * 40)  # not in this history
    assert landed(clone) is None


def test_a_copy_without_a_history_has_no_landed_state(tmp_path: Path) -> None:
    assert landed(tmp_path) is None


def test_times_are_those_of_one_test_of_each_file(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    assert read_times(path) == {}
    write_times({"a.py::one": 1.0, "a.py::two": 2.0, "b.py::one": 5.0}, path)
    assert read_times(path) == {"a.py": 1.5, "b.py": 5.0}


def test_lines_of_files_that_were_not_run_stay(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    kept, again, gone = "tests/slow.py", "tests/test_slow.py", "tests/gone.py"  # the first is there
    write_times({f"{kept}::one": 1.0, f"{again}::one": 3.0, f"{gone}::one": 1.0}, path)
    write_times({f"{again}::one": 2.0, f"{again}::two": 4.0}, path)
    write_times({f"{again}::three": 9.0}, path, marker="dense")
    assert read_times(path) == {kept: 1.0, again: 3.0}
    assert read_times(path, "dense") == {again: 9.0}


@pytest.mark.dense
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_says_what_was_chosen_and_what_it_took(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest, time\n"
        "@pytest.mark.slow\n"
        "@pytest.mark.parametrize('i', range(30))\n"
        "def test_it(i):\n"
        "    end = time.process_time() + 0.01\n"
        "    while time.process_time() < end: pass\n"
    )

    def run(seconds: int) -> str:
        code, text = gate(tmp_path, "--gate", "-n", workers, "--gate-seconds", str(seconds))
        assert code == 0, text
        return text

    result = run(10**6)
    assert " of 30 slow tests, about " in result
    assert " s of processor time" in result
    assert "0 of 30 slow tests" in run(0)  # not a failure


@pytest.mark.dense
@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("asked", [("-m", "slwo"), ("nowhere.py",), ("-k", "nowhere"), ()])
def test_a_run_that_found_no_slow_test_fails(
    tmp_path: Path, workers: str, asked: tuple[str, ...]
) -> None:
    source = "import pytest\n@pytest.mark.slow\ndef test_it():\n    pass\n"
    if not asked:
        source = f"import pytest\npytest.importorskip('not_there_at_all')\n{source}"
    (tmp_path / "test_it.py").write_text(source)
    code, text = gate(tmp_path, "--gate", "-n", workers, *asked)
    assert code in {4, 5}, text


@pytest.mark.dense
@pytest.mark.parametrize(
    ("workers", "asked", "runs"),
    [
        ("0", ("--share", "--gate-seconds=0"), {"slow", "plain"}),
        ("1", ("--share", "--gate-seconds=0"), {"slow", "plain"}),
        ("0", ("--share", "--gate-seconds=1e9"), {"slow", "plain", "dense"}),
        ("0", ("--gate", "--gate-seconds=0"), {"plain"}),
        ("1", ("--gate", "--gate-seconds=0"), {"plain"}),
        ("0", ("--gate", "--gate-seconds=1e9"), {"slow", "plain", "dense"}),
        ("0", (), {"slow", "plain", "dense"}),
    ],
)
def test_a_share_leaves_out_tests_of_one_marker_alone(
    tmp_path: Path, workers: str, asked: tuple[str, ...], runs: set[str]
) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_plain():\n    open('plain', 'w')\n"
        "@pytest.mark.slow\n@pytest.mark.dense\ndef test_slow():\n    open('slow', 'w')\n"
        "@pytest.mark.dense\ndef test_dense():\n    open('dense', 'w')\n"
    )
    code, text = gate(tmp_path, "-n", workers, *asked)
    assert code == 0, text
    names = {"plain", "slow", "dense"}
    assert {path.name for path in tmp_path.iterdir()} & names == runs


@pytest.mark.dense
@pytest.mark.parametrize("workers", ["0", "2"])
def test_one_case_of_a_grid_is_not_dense(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.grid\n@pytest.mark.parametrize('i', range(9))\n"
        "def test_grid(i):\n    open(f'grid{i}', 'w')\n"
        "DENSE = [pytest.param(i, marks=pytest.mark.dense) for i in range(1, 9)]\n"
        "@pytest.mark.grid\n@pytest.mark.parametrize('i', [0, *DENSE])\n"
        "def test_thin(i):\n    open(f'thin{i}', 'w')\n"
        "@pytest.mark.parametrize('i', range(2))\n"
        "def test_plain(i):\n    open(f'plain{i}', 'w')\n"
    )
    asked = ("-p", "tests.grids", "-n", workers, "--share", "--gate-seconds=0")
    code, text = gate(tmp_path, *asked)
    assert code == 0, text
    names = {path.name for path in tmp_path.iterdir()}
    assert sum(name.startswith("grid") for name in names) == 1
    assert {name for name in names if name.startswith("thin")} == {"thin0"}
    assert {name for name in names if name.startswith("plain")} == {"plain0", "plain1"}


@pytest.mark.parametrize(
    ("kind", "grids", "others"),
    [
        ("connect", 1, {"single", "quick0"}),
        ("classic", 30, {"single", "quick0"}),
        ("none", 0, {"without"}),
    ],
)
def test_connect_runs_one_case_of_every_function(
    tmp_path: Path, kind: str, grids: int, others: set[str]
) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture\ndef session():\n    pass\n"
        "@pytest.mark.parametrize('i', range(30))\n"
        "def test_grid(session, i):\n    open(f'grid{i}', 'w')\n"
        "SLOW = [pytest.param(i, marks=pytest.mark.slow) for i in range(1, 30)]\n"
        "@pytest.mark.parametrize('i', [0, *SLOW])\n"
        "def test_quick(session, i):\n    open(f'quick{i}', 'w')\n"
        "def test_single(session):\n    open('single', 'w')\n"
        "def test_without():\n    open('without', 'w')\n"
    )
    code, text = gate(tmp_path, "-p", "tests.engines.plugin", "-m", "not slow", "--spark", kind)
    assert code == 0, text
    names = {path.name for path in tmp_path.iterdir()}
    assert sum(name.startswith("grid") for name in names) == grids
    assert {name for name in names if name.startswith(("quick", "single", "without"))} == others


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no /proc")
def test_what_java_takes_counts_while_it_runs() -> None:
    source = "import time\nwhile time.process_time() < 0.1: pass\nprint(flush=True)\ninput()"
    command = [sys.executable, "-c", source]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with spark.counted(process.pid):
            assert spark.processor_seconds() > 0.05
        process.communicate("\n")
    assert spark.processor_seconds() == 0


def gate(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest in `folder`, where git knows no commit; return its exit code and output."""
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  slow: takes minutes\n  dense: many\n  grid: cases alike\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "tests.slow", *arguments],
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "GIT_DIR": os.devnull,
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr
