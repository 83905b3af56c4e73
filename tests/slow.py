"""Which slow and dense tests are run before anything lands, and what processor time they take.

A dense test takes .4 seconds or more, or is one of many that try the same property. `--share`
(`make test`) runs a share of the dense tests, `--gate` (`make test-gate`) a share of the slow ones
and all dense ones.

A share is the tests of every package that changed since the last landed state, and a tenth of all
others, by the hash of the commit: a commit's choice is the same on every machine, and another
commit's is another. What they take together is bounded beforehand, by what each file took when
`make test-slow` was last run whole (slow_seconds.csv); what is left out for that is said.

The last landed state is where HEAD left the remote's default branch; where that isn't known, as in
a clone of HEAD alone, the commit that `.ci/landed` names, and if that isn't in the history either,
every package counts as changed.
"""

from __future__ import annotations

import csv
import hashlib
import resource
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pytest

from tests.cli import program

ROOT = Path(__file__).parents[1]
TIMES = ROOT / "tests" / "slow_seconds.csv"
SECONDS = {"slow": 300.0, "dense": 10.0}  # of processor time, which two cores share
LONGEST = 60.0  # of one slow test; what takes longer is named
_UNKNOWN = 10.0  # a test of a file that was never timed
_SHARE = 0.1  # of the tests of what didn't change
_TOOK = "processor seconds"
_MARKERS = ("slow", "dense")
_HEADER = ("marker", "file", "tests", "seconds")
_SEVERAL = {  # tests that are of several packages
    "engines": {"tables", "clusters"},
    "experiments": {"design", "noise"},
    "statistical": {"audit", "entropy", "noise"},
}
_PACKAGING = {"pyproject.toml", "constraints.txt"}
_OF_ALL = "conftest.py"  # at the root: every test is run with it
_DENSE_EXAMPLES = {  # docstrings that compute for seconds
    "leastnoise.learn.steps.StepAccountant",
    "leastnoise.learn.steps.noise_multiplier",
}
_BEFORE = pytest.StashKey[float]()
_TOLD, _FOUND = pytest.StashKey[list[str]](), pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slow", "slow and dense tests")
    group.addoption("--gate", action="store_true", help="a share of the slow tests, all others")
    group.addoption("--share", action="store_true", help="a share of the dense tests, all others")
    group.addoption("--gate-seconds", type=float, help="processor time that a share may take")
    group.addoption("--write-slow-seconds", action="store_true", help=f"write {TIMES.name}")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.name in _DENSE_EXAMPLES:
        item.add_marker("dense")


@final
@dataclass(frozen=True, kw_only=True)
class Choice:
    """The tests that are run, and lines that say why these."""

    tests: frozenset[str]
    told: tuple[str, ...]


def choose(
    tests: Sequence[str],
    *,
    changed: set[str] | None,
    commit: str,
    seconds: float,
    times: Mapping[str, float],
    marker: str = "slow",
) -> Choice:
    """Return which of `tests`, by node id, are run; `changed` is None if nobody knows.

    First a tenth of the tests of what didn't change, then those of what did, each in the order of
    their hashes and as long as there is time; `times` are those of one test of each file.
    """
    ranks = {test: _rank(test, commit) for test in tests}
    ordered = sorted(tests, key=lambda test: ranks[test])
    mine = [test for test in ordered if changed is None or _packages(test) & changed]
    others = [test for test in ordered if test not in set(mine)]
    tenth = [test for test in others if ranks[test] < _SHARE]
    taken: set[str] = set()
    spent = 0.0
    for test in (*tenth, *mine):
        took = _took(test, times)
        if spent + took <= seconds:
            taken.add(test)
            spent += took
    told = [f"{len(taken)} of {len(tests)} {marker} tests, about {spent:.0f} s of processor time"]
    told.append(f"of what didn't change: {len(taken.intersection(others))} of {len(others)}")
    told += _by_package(mine, taken, times)
    return Choice(tests=frozenset(taken), told=tuple(told))


def _by_package(tests: Iterable[str], taken: set[str], times: Mapping[str, float]) -> Iterator[str]:
    every, run, left = Counter[str](), Counter[str](), Counter[str]()
    for test in tests:
        name = _package(_file(test))
        every[name] += 1
        run[name] += test in taken
        left[name] += 0 if test in taken else round(1000 * _took(test, times))
    for name, count in sorted(every.items()):
        more = f"; left out: about {left[name] / 1000:.0f} s" if run[name] < count else ""
        yield f"{name}: {run[name]} of {count}{more}"


def _rank(test: str, commit: str) -> float:
    """Return a number in [0, 1) that the commit draws for the test."""
    digest = hashlib.sha256(f"{commit} {test}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def _file(test: str) -> str:
    return test.partition("::")[0]


def _took(test: str, times: Mapping[str, float]) -> float:
    return times.get(_file(test), _UNKNOWN)


def _packages(test: str) -> set[str]:
    """Return the packages that a test is of."""
    name = _package(_file(test))
    return {name, *_SEVERAL.get(name, ())}


def _package(path: str) -> str:
    """Return the package that a file is of, source or test; a file that is of none is its own."""
    if path in _PACKAGING:
        return "test_packaging"
    if path.startswith("docs/") or path == "README.md":
        return "test_docs"
    parts = Path(path).parts
    inside = parts[2:] if parts[:2] == ("src", "leastnoise") else parts[1:]
    return Path(inside[0]).stem if inside else path


def changed_packages(base: str, root: Path = ROOT) -> set[str] | None:
    """Return what has other files than `base`: in commits, not committed yet, or new to git.

    None if that is every package, or if git doesn't say.
    """
    differ = _git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    if differ is None or new is None:
        return None
    names = {*differ.split("\0"), *new.split("\0")}
    if _OF_ALL in names:
        return None
    places = ("src/leastnoise/", "tests/", "experiments/", "docs/", "README.md")
    known = {name for name in names if name.startswith(places) or name in _PACKAGING}
    return {"experiments" if one.startswith("experiments/") else _package(one) for one in known}


def landed(root: Path = ROOT) -> str | None:
    """Return the last landed commit below HEAD; None if nothing tells."""
    head = _git(root, "rev-parse", "HEAD")
    record = root / ".ci" / "landed"
    recorded = record.read_text(encoding="ascii").strip() if record.exists() else ""
    for name in ("origin/HEAD", "origin/main", recorded):
        found = _git(root, "merge-base", "HEAD", name) if name else ""
        if found and found != head:
            return found
    return None


def _git(root: Path, *arguments: str) -> str | None:
    """Return what git says; None where it fails, as in a copy without a history."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def read_times(path: Path = TIMES, marker: str = "slow") -> dict[str, float]:
    """Return the seconds of one test with this marker, by file; nothing where none were written."""
    return {
        name: float(seconds) / int(tests)
        for (kind, name), (tests, seconds) in _lines(path).items()
        if kind == marker
    }


def _lines(path: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Return (tests, seconds) by marker and file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["marker"], row["file"]): (row["tests"], row["seconds"])
            for row in csv.DictReader(file)
        }


def _marker(item: pytest.Item) -> str | None:
    """Return "slow", "dense" or None; a test that is both is slow."""
    return next((one for one in _MARKERS if item.get_closest_marker(one)), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a share of the tests with a marker; trylast: after those that -m leaves out."""
    marker = "slow" if config.getoption("--gate") else "dense"
    if not (config.getoption("--gate") or config.getoption("--share")):
        return
    base = landed()
    changed = changed_packages(base) if base else None
    seconds = config.getoption("--gate-seconds")
    choice = choose(
        [item.nodeid for item in items if _marker(item) == marker],
        changed=changed,
        commit=_git(ROOT, "rev-parse", "HEAD") or "",
        seconds=SECONDS[marker] if seconds is None else float(str(seconds)),
        times=read_times(marker=marker),
        marker=marker,
    )
    since = f"changed since {base}"
    if changed is None:
        since = "everything counts as changed" if base else "no landed commit is known"
    config.stash[_FOUND] = sum(_marker(item) == marker for item in items)
    config.stash[_TOLD] = [since, *choice.told]
    kept, left = [], []
    for one in items:
        out = _marker(one) == marker and one.nodeid not in choice.tests
        (left if out else kept).append(one)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's choice to the process that reports.

    That none of the slow tests that were found is chosen is no error; that none was found is.
    """
    stash = session.config.stash
    output = getattr(session.config, "workeroutput", None)
    if _TOLD in stash and output is not None:
        output["gate"], output["gate found"] = stash[_TOLD], stash[_FOUND]
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and stash.get(_FOUND, 0):
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})
    if told := output.get("gate"):
        node.config.stash[_TOLD], node.config.stash[_FOUND] = told, output["gate found"]


def _processor_seconds() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    forked = program.processor_seconds
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime + forked


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_BEFORE] = _processor_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown" and _marker(item) and _BEFORE in item.stash:
        took = _processor_seconds() - item.stash[_BEFORE]
        item.user_properties.append((_TOOK, (_marker(item), took)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was chosen, and what slow tests took."""
    times = {one: _times_of(terminalreporter.stats.values(), one) for one in _MARKERS}
    lines = list(config.stash.get(_TOLD, []))
    for marker, each in times.items():
        if each:
            spent = sum(each.values())
            lines.append(f"{len(each)} {marker} tests took {spent:.0f} s of processor time")
        lines += [
            f"more than {LONGEST:.0f} s: {took:.0f} s, {test}"
            for test, took in sorted(each.items())
            if took > LONGEST
        ]
    if lines:
        terminalreporter.section("slow and dense tests")
        for line in lines:
            terminalreporter.write_line(line)
    if config.getoption("--write-slow-seconds"):
        for marker, each in times.items():
            write_times(each, marker=marker)


def _times_of(stats: Iterable[Iterable[Any]], marker: str) -> dict[str, float]:
    """Return the processor seconds of each test with the marker that was run, by node id."""
    return {
        report.nodeid: value[1]
        for some in stats
        for report in some
        if getattr(report, "when", None) == "teardown"
        for name, value in report.user_properties
        if name == _TOOK and value[0] == marker
    }


def write_times(times: Mapping[str, float], path: Path = TIMES, *, marker: str = "slow") -> None:
    """Write what the tests of each file took together; lines of files that weren't run stay.

    `make test-slow` runs none of tests/engines, whose lines are of another run. What is of a file
    that is gone is dropped.
    """
    if not times:
        return
    counts, sums = Counter[str](), Counter[str]()
    for test, took in times.items():
        name = _file(test)
        counts[name] += 1
        sums[name] += round(1000 * took)
    lines = {key: line for key, line in _lines(path).items() if (ROOT / key[1]).exists()}
    lines |= {(marker, name): (f"{counts[name]}", f"{sums[name] / 1000:.1f}") for name in counts}
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(_HEADER)
        rows.writerows((*key, *lines[key]) for key in sorted(lines))
