"""Change the small checker in one place at a time, and see if its tests notice.

    python -m benchmarks.check_mutations [FIRST_LINE LAST_LINE]

Each comparison, operator, condition and constant of `src/leastnoise_check.py` is changed once, in
memory, and tried on `tests.check.corpus`: golden statements, edits of them, and numbers that it has
to enclose. A change that survives is printed with the reason why the changed checker accepts
nothing false; `ALIKE` has the reasons by function and by changed text. A survivor without a reason
needs a test. All changes take about an hour: give lines to try only some.
"""

from __future__ import annotations

import ast
import contextlib
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any

from benchmarks.mutations import Mutation, mutations
from benchmarks.record import ROOT
from tests.check import corpus

SOURCE = ROOT / "src" / "leastnoise_check.py"
SECONDS, MEMORY = 15, 6 << 30  # CPU time of a case, and memory
ARITHMETIC = {"Ball", "exp", "pi", "normal", "bessel_k", "cap", "lattice", "require"}
LIMIT = "a limit of work: what is beyond it is refused or not checked, and true on either side"
WIDER = "the ball gets wider, or stays as it is"
SMALL_TERMS = "terms of at most a unit have x² <= n/3, so that the other condition ends the loop"
Case = Callable[[Any], Any]
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
    "read": {
        "len(value) <= 50_000": LIMIT,
        "50_000": LIMIT,
        "1": "no field has a limit above 1 that is at most 2",
    },
    "shape": {
        "dimension <= 10**6": LIMIT,
        "10": LIMIT,
        "10**6": LIMIT,
        "6": LIMIT,
        "most == cells": LIMIT,
        "most * dimension": LIMIT,
        "most * dimension <= 10**6": LIMIT,
        "dimension <= 10**6 and (most == cells or most * dimension <= 10**6)": LIMIT,
        "deepest - 1": LIMIT,
        "1": "a limit of nesting, or a default that only counts; all other ones are caught",
        "True": "the lengths were compared before",
    },
    "Ball": {
        "other.low > 0": "a division by 0 fails",
        "0": "a divisor of one unit is refused, too",
    },
    "exp": {
        "end < -1000 * UNIT": "no end is there exactly",
        "1000": "from -1001 on the series holds, too",
        "end <= UNIT << 17": LIMIT,
        "17": LIMIT,
        "0": WIDER,
        "1": WIDER,
        "2": WIDER,
    },
    "integral": {
        "total + Ball(-2, 2)": "from -2 to 2 is symmetric",
        "1": "terms below 2 units, each less than half the last, sum to less than 2 units",
        "square.high > n // 2 * UNIT": SMALL_TERMS,
        "n // 2": SMALL_TERMS,
        "2": SMALL_TERMS,
    },
    "rounded_up": {"1": "the fraction gets larger, and stays above the root"},
    "shifts_of": {
        "1": "a default that no kind uses; all other ones in this function are caught",
        "d > 1": "of one number the ball and the box are the same set",
    },
    "longest_image": {"q <= 20_000": LIMIT, "20_000": LIMIT},
    "bessel_k": {
        "1": "below 2 units each term is less than .01 of the last, or the ball gets wider",
        "cosh.high // UNIT + 1": "the rest is less than .01 cosh t, as z < 150, and cosh t > 2",
        "(zeroth + rest).over(64) + Ball(-1, 1)": "from -1 to 1 is symmetric",
        "(first + rest).over(64) + Ball(-1, 1)": "from -1 to 1 is symmetric",
    },
    "l2": {"d <= 500": LIMIT, "500": LIMIT, "40": LIMIT, "300": LIMIT},
    "cap": {"max(before.size(), g.size()) > 16": "at equality one more term is added"},
    "check_threshold": {
        "k <= 200": LIMIT,
        "200": LIMIT,
        "0": "the bound grows by one unit, or the lower end of the ball, which is not used",
    },
    "check_keys": {
        "0": "the lower end of the ball is not used",
        'bound.high > claim["delta"] * UNIT': "at equality it is not checked",
    },
    "check_quantiles": {
        "1000": LIMIT,
        "i + 1": "each level is counted once, in another order",
        "depth + 1": "depths are names, except 0",
        "1": "depths are names, except 0; all other ones in this function are caught",
    },
    "check_limit": {
        "0": "the lower end of the ball is not used",
        "12": LIMIT,
        "True": "the lengths were compared before",
    },
    "check_sum": {
        "min(left.values()) >= 0": "at equality a plan is rejected",
        'gaussian(square, left["epsilon"]).high <= left["delta"] * UNIT': (
            "at equality a plan is rejected"
        ),
    },
    "deviations": {
        "0": "a claim without a dimension has no law",
        "2": "cells have as many copies as bodies",
        "1": "any number above 1/20",
        "10_000": "the steps beyond are below the last digit",
    },
    "check_deviations": {
        "0": "a plan that lacks one of the two numbers is compared more often",
        "2": "there are two standard deviations of each number",
    },
    "laws_of": {"True": "the lengths are those of one list"},
    "check_statement": {"delta.high / UNIT": "the number in the text of a rejection"},
    "rows_of": {"1": LIMIT, "30": LIMIT},
    "content": {
        "path.is_symlink() or not path.is_file() or path.stat().st_size > most": (
            "tests.check.test_hostile has links and missing files"
        ),
        "path.stat().st_size > most": LIMIT,
    },
    "check_release": {
        "1": LIMIT,
        "30": LIMIT,
        "texts <= set(files)": "a release without tables has nothing to prove",
        "composed < planned": "a true sentence is printed",
        "True": "the lengths are those of one list",
    },
    "hull_of": {"1": "of one cell at most all move, whatever `most` is"},
    "truncated_steps": {
        "epsilon < decay": "at equality what is added is 0",
        "x <= gamma": "both formulas agree at gamma",
        "radius >= t": "at equality the side is 0",
    },
    "check_draw": {"delta.high / UNIT": "the number in the text of a rejection"},
    "lattice": {
        "shift * len(w)": LIMIT,
        "shift * len(w) <= 3 * 10**5": LIMIT,
        "10**5": LIMIT,
        "3": LIMIT,
        "10": LIMIT,
        "5": LIMIT,
    },
    "truncated_laplace": {"x > 0": "both formulas agree at 0"},
    "on_tree": {
        "1": LIMIT,
        "13": LIMIT,
        "16": LIMIT,
        "32": LIMIT,
        "2": LIMIT,
        "0": "it asks for a larger ε",
        "math.prod(branches) <= 1 << 16": LIMIT,
        "2**32": LIMIT,
    },
}


def changed(change: Mutation) -> ModuleType | None:
    """The module of the checker with a change; None if Python can't run it."""
    lines = SOURCE.read_bytes().split(b"\n")
    start, end = change.columns
    text = lines[change.line - 1]
    lines[change.line - 1] = text[:start] + change.new.encode() + text[end:]
    module = ModuleType("changed")
    try:
        with limited():  # the constants of a changed module may never be finished
            exec(compile(b"\n".join(lines), "changed", "exec"), module.__dict__)
    except Exception:  # noqa: BLE001 (whatever it raises, it is no checker)
        return None
    return module


def notices(module: ModuleType, cases: dict[str, Case], wanted: dict[str, Any]) -> str | None:
    """The first case whose outcome has changed; None if all outcomes are the same."""
    for name, case in cases.items():
        try:
            with limited():
                if case(module) != wanted[name]:
                    return name
        except (Exception, SystemExit) as error:  # noqa: BLE001 (any error is noticed)
            return f"{name}: {type(error).__name__}"
    return None


def traced(case: Case, checker: ModuleType) -> tuple[Any, set[int]]:
    """The outcome of a case, and the lines of the checker that it runs.

    For arithmetic, which runs often, these are all lines of each called function.
    """
    lines: set[int] = set()
    called: set[CodeType] = set()

    def enter(frame: FrameType, _event: str, _: object) -> Any:
        code = frame.f_code
        if code in called or code.co_filename != checker.__file__:
            return None
        if function_of(code.co_firstlineno) in ARITHMETIC:
            called.add(code)
            return None
        lines.add(frame.f_lineno)
        return enter

    sys.settrace(enter)
    try:
        outcome = case(checker)
    finally:
        sys.settrace(None)
    return outcome, lines.union(*({n for *_, n in code.co_lines() if n} for code in called))


@cache
def function_of(line: int) -> str:
    """The name of the outermost function or class around a line."""
    for node in tree().body:
        if node.lineno <= line <= (node.end_lineno or 0):
            return getattr(node, "name", "the module")
    return "the module"


@cache
def tree() -> ast.Module:
    """The parsed checker."""
    return ast.parse(SOURCE.read_text())


def statement_around(line: int) -> range | None:
    """The lines of the innermost statement around a line; None outside of functions."""
    if function_of(line) == "the module":
        return None
    statements = [node for node in ast.walk(tree()) if isinstance(node, ast.stmt)]
    around = [range(node.lineno, (node.end_lineno or 0) + 1) for node in statements]
    return min((lines for lines in around if line in lines), key=len)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Within the block, raise TimeoutError after `SECONDS` of CPU time: a loop may be endless."""

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

    cases, lines = corpus.cases(), {}
    wanted: dict[str, Any] = {}
    for name, case in cases.items():
        wanted[name], lines[name] = traced(case, leastnoise_check)
    counted: Counter[str] = Counter()
    for change in (change for change in mutations(SOURCE) if first <= change.line <= last):
        counted["changes"] += 1
        around = statement_around(change.line)
        tried = {
            name: case
            for name, case in cases.items()
            if around is None or not lines[name].isdisjoint(around)
        }
        module = changed(change)
        why = "refused" if module is None else notices(module, tried, wanted)
        name = why.partition(": ")[0] if why else ""
        if name in cases:  # most changes of a function show in the same case: try it first
            cases = {name: cases[name]} | cases
        if why is None:
            name = function_of(change.line)
            reason = ALIKE.get(name, {}).get(change.old, "NO REASON")
            counted[reason] += 1
            print(f"{name}, line {change.line}: {change.old} → {change.new}: {reason}", flush=True)
    print(dict(counted))


if __name__ == "__main__":
    main()
