"""Run the attacks of one kind in a separate process, so that a crash is reported as a failure.

A kind is a module `tests.attacks.test_<kind>` with two functions: `draw_case(random)` returns a
case, a plain Python literal, and `attack(case)` makes the attack and raises an error if it
succeeds. A case is drawn from (kind, seed, number) alone. To repeat a case:

    python -m tests.attacks.guard laws 1 4711

Limits on processor time, on elapsed time and on memory end a case that hangs, waits or grows.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, final

import pytest

from tests.attacks.pinned import MENDED
from tests.attacks.plugin import TRIED

CPU_SECONDS, SECONDS = 60, 300  # limits for one case, on a busy machine
MEMORY = 6 << 30  # bytes of address space, of which DuckDB reserves some
PARTS = 40  # parts of the long run, so that two processes end at about the same time
_WORTH_A_START = 200  # the least number of attacks for which a process is started
_SHOWN = 12  # the most failures of one part that are printed
Batch = tuple[str, str, range]
"""A kind, a seed, and the numbers of the cases."""
_ROOT = Path(__file__).parent.parent.parent


@final
@dataclass(frozen=True, kw_only=True)
class Failure:
    """A case whose attack succeeded: `why` it is a failure, and the arguments to run it `again`."""

    again: str
    why: str

    def __str__(self) -> str:
        return f"{self.why}\n    python -m tests.attacks.guard {self.again}"


@final
@dataclass(frozen=True, kw_only=True)
class Guard:
    """The interface for tests: run attacks, and fail if one succeeds. See the fixture `guard`."""

    request: pytest.FixtureRequest

    def quick(self, **counts: int) -> None:
        """Try the cases that were mended, then the first `counts` cases of seed 1, by kind."""
        mended = [(kind, "mended", range(len(MENDED.get(kind, ())))) for kind in counts]
        self._withstood([*mended, *((kind, "1", range(count)) for kind, count in counts.items())])

    def part(self, kind: str, part: int, *, fewer: int = 1) -> None:
        """Try one part of the long run; a costly kind gets `fewer` times less attacks."""
        config = self.request.config
        most = -(-int(str(config.getoption("--attacks"))) // fewer)
        count = -(-most // _made_by(kind))
        parts = min(PARTS, 1 + most // _WORTH_A_START)
        cases = range(count * part // parts, min(count, count * (part + 1) // parts))
        self._withstood([(kind, str(config.getoption("--attack-seed")), cases)])

    def _withstood(self, batches: Sequence[Batch]) -> None:
        failures = list(failed(batches))
        for kind, _, cases in batches:
            count = len(cases) * _made_by(kind)
            self.request.node.user_properties.append((TRIED, (kind, count)))
        if failures:
            shown = "\n\n".join(map(str, failures[:_SHOWN]))
            count = sum(len(cases) for _, _, cases in batches)
            text = f"{len(failures)} of {count} cases got through:\n\n{shown}"
            # a lone surrogate would end the process that reports it
            pytest.fail(text.encode(errors="backslashreplace").decode(), pytrace=False)


def _made_by(kind: str) -> int:
    """The number of attacks in one case of this kind."""
    return getattr(importlib.import_module(f"tests.attacks.test_{kind}"), "IN_ONE", 1)


def failed(batches: Sequence[Batch]) -> Iterator[Failure]:
    """Run the batches in processes, and yield the cases whose attacks succeed."""
    left = [(kind, seed, cases) for kind, seed, cases in batches if cases]
    while left:
        texts = [(kind, seed, str(cases.start), str(cases.stop)) for kind, seed, cases in left]
        command = [sys.executable, "-m", "tests.attacks.guard", *itertools.chain(*texts)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        with process, process.stdout or open(os.devnull) as lines:
            for line in lines:
                yield from _told(json.loads(line), left)
        if not left:
            if process.returncode:
                raise RuntimeError(f"after its last case the guard {_death(process.returncode)}")
            return
        # it ended, be it with code 0, by the case after the last that it told of
        kind, seed, cases = left[0]
        yield from _told([kind, seed, cases.start, _death(process.returncode)], left)


def _told(line: Any, left: list[Batch]) -> Iterator[Failure]:
    """Yield the failure that a line reports, if any, and remove the reported case from `left`."""
    kind, seed, number, why = line
    cases = left[0][2]
    left[:1] = [(kind, seed, range(number + 1, cases.stop))] if number + 1 < cases.stop else []
    if why:
        yield Failure(again=f"{kind} {seed} {number}", why=why)


def _death(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"took more than {CPU_SECONDS} s of processor time"
    if code == -signal.SIGALRM:
        return f"was not done after {SECONDS} s"
    return f"ended the process: {signal.Signals(-code).name if code < 0 else f'exit {code}'}"


def case_of(kind: str, seed: str, number: int) -> Any:
    """The case with this kind, seed and number."""
    if seed == "mended":
        return MENDED[kind][number]
    return importlib.import_module(f"tests.attacks.test_{kind}").draw_case(
        Random(f"{kind} {seed} {number}")  # draws cases, no noise
    )


def _tell(report: int, kind: str, seed: str, cases: range) -> None:
    module = importlib.import_module(f"tests.attacks.test_{kind}")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in cases:
        # no handler is set for either signal, so the signal ends the process with this case
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        case = case_of(kind, seed, number)
        why = None
        try:
            module.attack(case)
        except BaseException as error:  # noqa: BLE001 (any error is a failure of this case)
            frames = traceback.extract_tb(error.__traceback__)
            text = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
            why = f"{type(error).__name__} at {text}: {str(error)[:600]}\n    case: {case!r:.3000}"
        os.write(report, (json.dumps([kind, seed, number, why]) + "\n").encode())


def main() -> None:
    """Try and print one case (kind, seed, number), or try batches (kind, seed, first, stop, …)."""
    kind, seed, first, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        # an empty cache, and a temporary folder in which files that are left behind can be seen
        os.environ["LEASTNOISE_CACHE"] = os.environ["TMPDIR"] = folder
        tempfile.tempdir = folder
        if not rest:
            case = case_of(kind, seed, int(first))
            sys.stdout.write(f"{case!r}\n")
            importlib.import_module(f"tests.attacks.test_{kind}").attack(case)
            return
        report = os.dup(1)
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)  # hides the output of commands
            os.dup2(nothing.fileno(), 2)
        given = sys.argv[1:]
        for kind, seed, start, stop in zip(*(given[i::4] for i in range(4)), strict=True):
            _tell(report, kind, seed, range(int(start), int(stop)))


if __name__ == "__main__":
    main()
