"""Runs the attacks of one kind in a process of their own, so that none can hide by killing it.

A kind is a module `tests.attacks.test_<kind>` with two functions: `drawn(random)` returns a case, a
plain Python literal, and `attack(case)` makes it and raises if leastnoise gives way. A case is
drawn from (kind, seed, number) alone. To see one again:

    python -m tests.attacks.guard laws 1 4711

A case that hangs is ended by a limit on its processor time, one that waits by a limit on the time
that passes, and one that eats the memory by a limit on that.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, final

import pytest

from tests.attacks.pinned import MENDED
from tests.attacks.plugin import TRIED

CPU_SECONDS, SECONDS = 60, 300  # of one case, on a machine that is busy with others too
MEMORY = 6 << 30  # of address space, of which DuckDB reserves some
PARTS = 40  # of the long part, so that two processes end at about the same time
_SHOWN = 12  # failures of one part
_ROOT = Path(__file__).parent.parent.parent


@final
@dataclass(frozen=True, kw_only=True)
class Failure:
    """A case that leastnoise didn't withstand."""

    again: str
    why: str

    def __str__(self) -> str:
        return f"{self.why}\n    python -m tests.attacks.guard {self.again}"


@final
@dataclass(frozen=True, kw_only=True)
class Guard:
    """What the tests of one kind call; see the fixture `guard`."""

    request: pytest.FixtureRequest

    def quick(self, kind: str, count: int, *, share: int = 1) -> None:
        """Try the cases that were found once and mended, then the first few of seed 1."""
        self._withstood(kind, "mended", range(len(MENDED.get(kind, ()))), share=share)
        self._withstood(kind, "1", range(count), share=share)

    def part(self, kind: str, part: int, *, share: int = 1, fewer: int = 1) -> None:
        """Try one part of the long run.

        `share` is how many attacks a case makes, `fewer` by what a costly kind has less of them.
        """
        config = self.request.config
        count = -(-config.getoption("--attacks") // (share * fewer))
        cases = range(count * part // PARTS, count * (part + 1) // PARTS)
        self._withstood(kind, config.getoption("--attack-seed"), cases, share=share)

    def _withstood(self, kind: str, seed: str, cases: range, *, share: int = 1) -> None:
        failures = list(failed(kind, seed, cases))
        self.request.node.user_properties.append((TRIED, (kind, share * len(cases))))
        if failures:
            shown = "\n\n".join(map(str, failures[:_SHOWN]))
            pytest.fail(
                f"{len(failures)} of {len(cases)} attacks ({kind}) got through:\n\n{shown}",
                pytrace=False,
            )


def failed(kind: str, seed: str, cases: range) -> Iterator[Failure]:
    """Yield the cases of (kind, seed) that got through."""
    first = cases.start
    while first < cases.stop:
        command = [sys.executable, "-m", "tests.attacks.guard", kind, seed, str(first)]
        process = subprocess.Popen(
            [*command, str(cases.stop)], stdout=subprocess.PIPE, text=True, cwd=_ROOT
        )
        with process, process.stdout or open(os.devnull) as lines:
            for line in lines:
                number, why = json.loads(line)
                first = number + 1
                if why:
                    yield Failure(again=f"{kind} {seed} {number}", why=why)
        if process.returncode == 0:
            return
        # it died of the case after the last that it told of
        yield Failure(again=f"{kind} {seed} {first}", why=_death(process.returncode))
        first += 1


def _death(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"took more than {CPU_SECONDS} s of processor time"
    if code == -signal.SIGALRM:
        return f"was not done after {SECONDS} s"
    return f"ended the process: {signal.Signals(-code).name if code < 0 else f'exit {code}'}"


def case_of(kind: str, seed: str, number: int) -> Any:
    """Return the case that these three name."""
    if seed == "mended":
        return MENDED[kind][number]
    return importlib.import_module(f"tests.attacks.test_{kind}").drawn(
        Random(f"{kind} {seed} {number}")  # draws cases, no noise
    )


def _tell(report: int, kind: str, seed: str, cases: range) -> None:
    module = importlib.import_module(f"tests.attacks.test_{kind}")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in cases:
        # neither signal is handled: the case that meets one is the process's last
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        case = case_of(kind, seed, number)
        why = None
        try:
            module.attack(case)
        except Exception as error:  # noqa: BLE001 (whatever comes out is what was looked for)
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
            why = f"{type(error).__name__} at {place}: {str(error)[:600]}\n    case: {case!r:.3000}"
        os.write(report, (json.dumps([number, why]) + "\n").encode())


def main() -> None:
    """Try the cases first … stop − 1 of a kind and a seed, or one of them aloud."""
    kind, seed, first, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        # nobody's cache, and what is left behind in the temporary folder is seen
        os.environ["LEASTNOISE_CACHE"] = os.environ["TMPDIR"] = folder
        tempfile.tempdir = folder
        if not rest:
            case = case_of(kind, seed, int(first))
            sys.stdout.write(f"{case!r}\n")
            importlib.import_module(f"tests.attacks.test_{kind}").attack(case)
            return
        report = os.dup(1)
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)  # what commands print
            os.dup2(nothing.fileno(), 2)
        _tell(report, kind, seed, range(int(first), int(rest[0])))


if __name__ == "__main__":
    main()
