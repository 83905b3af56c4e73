"""Change the small checker in one place at a time, and see if its tests notice.

    python -m benchmarks.check_mutations [FIRST_LINE LAST_LINE]

Each comparison, operator, condition and constant of `src/leastnoise_check.py` is changed once, in
memory, and tried on `tests.check.corpus`: golden statements, edits of them, and numbers that it has
to enclose. A change that survives is printed with the reason why nothing false is accepted, by
function and by the text that was changed (`ALIKE`). A survivor without a reason needs a test. All
changes take about an hour: give lines to try some.
"""

from __future__ import annotations

import ast
import contextlib
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from benchmarks.mutations import Mutation, mutations
from benchmarks.record import ROOT
from tests.check import corpus

SOURCE = ROOT / "src" / "leastnoise_check.py"
SECONDS, MEMORY = 40, 6 << 30  # CPU time and memory of one change
LIMIT = "a limit of work: what is beyond it is refused or not checked, and true on either side"
WIDER = "the ball gets wider, or stays as it is"
ALIKE: dict[str, dict[str, str]] = {
    "show": {"300": "how much is printed", "200": "how much is printed"},
    "number": {
        "len(text) <= 1300": LIMIT,
        "1300": LIMIT,
        "len(exponent) <= 4": LIMIT,
        "4": LIMIT,
        "longest <= 2000": LIMIT,
        "2000": LIMIT,
        "1": LIMIT,
        'set(spelled) <= set("+-.0123456789eE/")': "no number has all of these letters",
    },
    "read": {"len(value) <= 50_000": LIMIT, "50_000": LIMIT},
    "shape": {"dimension <= 10**6": LIMIT, "nesting <= 6": LIMIT, "6": LIMIT},
    "exp": {
        "end < -1000 * UNIT": "no end is there exactly",
        "end <= UNIT << 17": LIMIT,
        "0": WIDER,
        "1": WIDER,
        "2": WIDER,
    },
    "hull_of": {"1": "of one cell at most all move, whatever `most` is"},
    "truncated_laplace": {"x > 0": "both formulas agree at 0"},
    "on_tree": {
        "1": LIMIT,
        "13": LIMIT,
        "16": LIMIT,
        "32": LIMIT,
        "2": LIMIT,
        "0": "it asks for a larger ε",
        "math.prod(branches) <= 1 << 16": LIMIT,
    },
}


def changed(change: Mutation) -> ModuleType | None:
    """The checker with a change; None if Python refuses it."""
    lines = SOURCE.read_bytes().split(b"\n")
    start, end = change.columns
    text = lines[change.line - 1]
    lines[change.line - 1] = text[:start] + change.new.encode() + text[end:]
    module = ModuleType("changed")
    try:
        exec(compile(b"\n".join(lines), "changed", "exec"), module.__dict__)
    except Exception:  # noqa: BLE001 (whatever it raises, it is no checker)
        return None
    return module


def notices(module: ModuleType, wanted: list[tuple[str, Any]]) -> str | None:
    """The first outcome of the corpus that has changed; None if all are the same."""
    outcomes = corpus.outcomes(module)
    for name, outcome in wanted:
        try:
            if next(outcomes) != (name, outcome):
                return name
        except (Exception, SystemExit) as error:  # noqa: BLE001 (any error is noticed)
            return f"{name}: {type(error).__name__}"
    return None


def function_of(line: int) -> str:
    """The name of the outermost function or class around a line."""
    for node in ast.parse(SOURCE.read_text()).body:
        if node.lineno <= line <= (node.end_lineno or 0):
            return getattr(node, "name", "the module")
    return "the module"


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise TimeoutError after `SECONDS` of CPU time: a change may make a loop endless."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def main() -> None:
    """Print how many changes are noticed, and each that isn't."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    first, last = (int(text) for text in (sys.argv[1:] or ("1", "9999")))
    import leastnoise_check

    wanted = list(corpus.outcomes(leastnoise_check))
    counted: Counter[str] = Counter()
    for change in (change for change in mutations(SOURCE) if first <= change.line <= last):
        counted["changes"] += 1
        try:
            with limited():
                module = changed(change)
                why = "refused" if module is None else notices(module, wanted)
        except TimeoutError:
            why = "endless"
        if why is None:
            name = function_of(change.line)
            reason = ALIKE.get(name, {}).get(change.old, "NO REASON")
            counted[reason] += 1
            print(f"{name}, line {change.line}: {change.old} → {change.new}: {reason}", flush=True)
    print(dict(counted))


if __name__ == "__main__":
    main()
