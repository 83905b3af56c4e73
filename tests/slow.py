"""The slow and dense tests that run before anything lands, and their processor times.

A dense test takes .4 seconds or more, or is one of many that try the same property (see
`tests.grids`). `make test` (`--share`) runs a share of the dense tests. `make test-gate` (`--gate`)
runs a share of the slow tests and a larger share of the dense ones.

A share is the tests of every package that changed since the last landed state, and a tenth of all
others, chosen by the hash of the commit. One commit's choice is the same on every machine; another
commit has another choice. Of the dense tests the gate first takes one of every test function of the
changed packages and one of half the other functions. The commit chooses the half, the case of a
grid, and which functions go first: where time is short, one of a changed package goes before
another twice as often. Each page of the documentation counts as a function.

A bound limits the processor time of a share. It's estimated beforehand from the times that each
file took when `make test-slow` last ran whole (slow_seconds.csv). The summary of a run says what a
bound leaves out.

The last landed state is the commit where HEAD left the remote's default branch. If that is unknown,
as in a clone of HEAD alone, it's the commit that `.ci/landed` names. If the history lacks this
commit too, every package counts as changed.
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
from tests.engines import spark

ROOT = Path(__file__).parents[1]
TIMES = ROOT / "tests" / "slow_seconds.csv"
SHARE_SECONDS = {"dense": 10.0}  # processor time; two cores share the work
GATE_SECONDS = {"slow": 120.0, "dense": 480.0}
LONGEST = 60.0  # seconds of one slow test; the summary names each test that takes longer
_UNKNOWN = 10.0  # a test of a file that was never timed
_SHARE = 0.1  # of the tests of packages that didn't change
_FUNCTIONS = 0.5  # of the functions of packages that didn't change: 99 % run in seven gates
_TOOK = "processor seconds"
_MARKERS = ("slow", "dense")
_HEADER = ("marker", "file", "tests", "seconds")
_SEVERAL = {  # tests that belong to several packages
    "engines": {"tables", "clusters"},
    "experiments": {"design", "noise"},
    "statistical": {"audit", "entropy", "noise"},
}
_PACKAGING = {"pyproject.toml", "constraints.txt"}
_OF_ALL = "conftest.py"  # at the root: it affects every test
_DENSE_EXAMPLES = {  # docstrings that compute for seconds
    "leastnoise.audit.audit.audit_mechanism",
    "leastnoise.learn.steps.StepAccountant",
    "leastnoise.learn.steps.noise_multiplier",
}
_PAGES = "tests/test_docs.py"  # each of its tests is about one page
_BEFORE = pytest.StashKey[float]()
_SUMMARY, _MARKED = pytest.StashKey[list[str]](), pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slow", "slow and dense tests")
    group.addoption("--gate", action="store_true", help="shares of slow and dense tests")
    group.addoption("--share", action="store_true", help="a share of the dense tests, all others")
    group.addoption("--gate-seconds", type=float, help="processor time of each share, at most")
    group.addoption("--write-slow-seconds", action="store_true", help=f"write {TIMES.name}")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.name in _DENSE_EXAMPLES:
        item.add_marker("dense")


@final
@dataclass(frozen=True, kw_only=True)
class Choice:
    """The chosen tests, and lines of text about the choice."""

    tests: frozenset[str]
    lines: tuple[str, ...]


def choose(
    tests: Sequence[str],
    *,
    changed: set[str] | None,
    commit: str,
    seconds: float,
    times: Mapping[str, float],
    marker: str = "slow",
    functions_first: bool = False,
) -> Choice:
    """Choose from `tests`, given by node id. `changed` are packages; None counts all as changed.

    With `functions_first`, one test of every function of changed packages and of half the other
    functions comes first. Then follow a tenth of the tests of unchanged packages and the tests of
    changed ones. All are in the order of their hashes, until the time is used up. `times` has the
    seconds of one test by file.
    """
    ranks = {test: _rank(test, commit) for test in tests}
    ordered = sorted(tests, key=lambda test: ranks[test])
    of_changed = [test for test in ordered if changed is None or _packages(test) & changed]
    names = set(of_changed)
    others = [test for test in ordered if test not in names]
    tenth = [test for test in others if ranks[test] < _SHARE]
    first = one_of_each_function(of_changed, others, commit) if functions_first else []
    taken, spent = set[str](), 0.0
    for test in (*first, *tenth, *of_changed):
        more = 0.0 if test in taken else _seconds(test, times)
        if spent + more <= seconds:
            taken.add(test)
            spent += more
    lines = [f"{len(taken)} of {len(tests)} {marker} tests, about {spent:.0f} s of processor time"]
    if functions_first:
        lines.append(_of_functions(names, others, taken))
    lines.append(f"of what didn't change: {len(taken.intersection(others))} of {len(others)}")
    lines += _by_package(of_changed, taken, times)
    return Choice(tests=frozenset(taken), lines=tuple(lines))


def one_of_each_function(changed: Iterable[str], others: Iterable[str], commit: str) -> list[str]:
    """A test of every changed function and of half the others, those that go first in front."""
    ranks = {
        test: _rank(_function(test), commit) * share
        for tests, share in ((changed, _FUNCTIONS), (others, 1.0))
        for test in one_of_every_function(tests, commit)
    }
    return sorted(
        (test for test in ranks if ranks[test] < _FUNCTIONS), key=lambda test: ranks[test]
    )


def one_of_every_function(tests: Iterable[str], commit: str) -> set[str]:
    """One case of every test function: the case with the smallest rank at this commit."""
    ordered = sorted(tests, key=lambda test: _rank(test, commit), reverse=True)
    return set({_function(test): test for test in ordered}.values())


def _of_functions(changed: Iterable[str], others: Iterable[str], taken: Iterable[str]) -> str:
    """How many functions run a test, of changed packages and of the others."""
    run = {_function(test) for test in taken}
    counts = [
        f"{len(run & functions)} of {len(functions)}"
        for functions in ({_function(test) for test in tests} for tests in (changed, others))
    ]
    return f"functions that run a test: {counts[0]} of what changed, {counts[1]} of the others"


def _by_package(tests: Iterable[str], taken: set[str], times: Mapping[str, float]) -> Iterator[str]:
    every, run, left = Counter[str](), Counter[str](), Counter[str]()
    for test in tests:
        name = _package(_file(test))
        every[name] += 1
        run[name] += test in taken
        left[name] += 0 if test in taken else round(1000 * _seconds(test, times))
    for name, count in sorted(every.items()):
        more = f"; left out: about {left[name] / 1000:.0f} s" if run[name] < count else ""
        yield f"{name}: {run[name]} of {count}{more}"


def _rank(test: str, commit: str) -> float:
    """A pseudorandom number in [0, 1), determined by the commit and the test."""
    digest = hashlib.sha256(f"{commit} {test}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def _function(test: str) -> str:
    return test if _file(test) == _PAGES else test.partition("[")[0]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _seconds(test: str, times: Mapping[str, float]) -> float:
    return times.get(_file(test), _UNKNOWN)


def _packages(test: str) -> set[str]:
    """The packages that a test belongs to."""
    name = _package(_file(test))
    return {name, *_SEVERAL.get(name, ())}


def _package(path: str) -> str:
    """The package of a source or test file; a file outside all packages is a package itself."""
    if path in _PACKAGING:
        return "test_packaging"
    if path.startswith("docs/") or path == "README.md":
        return "test_docs"
    parts = Path(path).parts
    inside = parts[2:] if parts[:2] == ("src", "leastnoise") else parts[1:]
    return Path(inside[0]).stem if inside else path


def changed_packages(base: str, root: Path = ROOT) -> set[str] | None:
    """The packages whose files differ from `base`, committed or not, and those with new files.

    None if every package changed, or if git can't tell.
    """
    differ = _git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    if differ is None or new is None:
        return None
    names = {*differ.split("\0"), *new.split("\0")}
    if _OF_ALL in names:
        return None
    prefixes = ("src/leastnoise/", "tests/", "experiments/", "docs/", "README.md")
    known = {name for name in names if name.startswith(prefixes) or name in _PACKAGING}
    return {"experiments" if name.startswith("experiments/") else _package(name) for name in known}


def head() -> str:
    """The commit at HEAD, which determines the choice; "" without a history."""
    return _git(ROOT, "rev-parse", "HEAD") or ""


def landed(root: Path = ROOT) -> str | None:
    """The last landed commit below HEAD; None if it is unknown."""
    head = _git(root, "rev-parse", "HEAD")
    record = root / ".ci" / "landed"
    recorded = record.read_text(encoding="ascii").strip() if record.exists() else ""
    for name in ("origin/HEAD", "origin/main", recorded):
        base = _git(root, "merge-base", "HEAD", name) if name else ""
        if base and base != head:
            return base
    return None


def _git(root: Path, *arguments: str) -> str | None:
    """The output of git; None if it fails, as in a copy without a history."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def read_times(path: Path = TIMES, marker: str = "slow") -> dict[str, float]:
    """The seconds of one test with this marker, by file; empty if the file is missing."""
    return {
        name: float(seconds) / int(tests)
        for (kind, name), (tests, seconds) in _lines(path).items()
        if kind == marker
    }


def _lines(path: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """The lines of the file of times: pairs (tests, seconds) by marker and file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["marker"], row["file"]): (row["tests"], row["seconds"])
            for row in csv.DictReader(file)
        }


def marker_of(item: pytest.Item) -> str | None:
    """The marker "slow" or "dense", or None; a test with both counts as slow."""
    return next((marker for marker in _MARKERS if item.get_closest_marker(marker)), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep shares of the marked tests. With trylast this runs after -m has left out tests."""
    gate = config.getoption("--gate")
    if not (gate or config.getoption("--share")):
        return
    base = landed()
    changed = changed_packages(base) if base else None
    bound = config.getoption("--gate-seconds")
    since = f"changed since {base}"
    if changed is None:
        since = "everything counts as changed" if base else "no landed commit is known"
    markers = [marker_of(item) for item in items]
    marked = Counter(markers)
    summary, chosen = [since], set[str]()
    bounds = GATE_SECONDS if gate else SHARE_SECONDS
    for marker, seconds in bounds.items():
        choice = choose(
            [item.nodeid for item, mark in zip(items, markers, strict=True) if mark == marker],
            changed=changed,
            commit=head(),
            seconds=seconds if bound is None else float(str(bound)),
            times=read_times(marker=marker),
            marker=marker,
            functions_first=bool(gate) and marker == "dense",
        )
        chosen |= choice.tests
        summary += choice.lines if marked[marker] else ()
    config.stash[_MARKED] = sum(marked[marker] for marker in bounds)
    config.stash[_SUMMARY] = summary
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item, mark in zip(items, markers, strict=True):
        out = mark in bounds and item.nodeid not in chosen
        (left if out else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass a worker's choice to the process that reports.

    A run that chooses none of the marked tests is no error; a run that collects none is one.
    """
    stash = session.config.stash
    output = getattr(session.config, "workeroutput", None)
    if _SUMMARY in stash and output is not None:
        output["gate"], output["gate marked"] = stash[_SUMMARY], stash[_MARKED]
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and stash.get(_MARKED, 0):
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})
    if summary := output.get("gate"):
        node.config.stash[_SUMMARY], node.config.stash[_MARKED] = summary, output["gate marked"]


def _processor_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    others = program.processor_seconds + spark.processor_seconds()
    return others + sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_BEFORE] = _processor_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown" and marker_of(item) and _BEFORE in item.stash:
        took = _processor_seconds() - item.stash[_BEFORE]
        item.user_properties.append((_TOOK, (marker_of(item), took)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the choice, and the processor time of slow and dense tests."""
    times = {name: _times_of(terminalreporter.stats.values(), name) for name in _MARKERS}
    lines = list(config.stash.get(_SUMMARY, []))
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
    """The processor seconds of each test with the marker that ran, by node id."""
    return {
        report.nodeid: value[1]
        for some in stats
        for report in some
        if getattr(report, "when", None) == "teardown"
        for name, value in report.user_properties
        if name == _TOOK and value[0] == marker
    }


def write_times(times: Mapping[str, float], path: Path = TIMES, *, marker: str = "slow") -> None:
    """Write the seconds that the tests of each file took together; keep lines of other files.

    `make test-slow` runs no test of tests/engines: their lines come from another run. Lines of
    files that no longer exist are dropped.
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
