"""The small checker never contradicts `verify`, about true or edited statements.

What `verify` rejects the checker doesn't accept, and what `verify` accepts it doesn't reject. It
may say "not checked", except of true statements of the kinds that it proves.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import leastnoise as ln
import leastnoise_check as checker
from tests.attacks import edits
from tests.attacks.guard import PARTS, Guard
from tests.check import calibrated
from tests.golden.records import QUICK

Case = tuple[str, Any]

JUDGED: list[tuple[dict[str, bytes], str]] = []
"""Files and the checker's verdicts, for `benchmarks.check_differential`."""
RELEASES = Path(__file__).parent.parent / "golden/releases"
_FILES = ("certificate.json", "plan.json", "release.json")
_FAMILIES = (
    ("laplace", "l1"), ("laplace", "linf"), ("gaussian", "l2"), ("gaussian", "linf"),
    ("gaussian", "counts"), ("l2", "l2"), ("l2", "counts"), ("staircase", "one"),
    ("geometric", "whole"), ("geometric", "cells"), ("discrete-staircase", "whole"),
    ("truncated-laplace", "one"), ("truncated-staircase", "one"), ("tulap", "one"),
    ("k-norm", "linf"), ("k-staircase", "linf"), ("k-staircase", "counts"),
    ("two-sided-staircase", "counts"), ("two-sided-laplace", "counts"),
)  # fmt: skip
_PURE = ("staircase", "geometric", "k-norm", "k-staircase", "two-sided-staircase",
         "two-sided-laplace")  # fmt: skip


def draw_case(random: Random) -> Case:
    kind = random.random()
    if kind < 0.2:
        family, shifts = random.choice(_FAMILIES)
        numbers = [random.randint(1, 9) for _ in range(6)]
        return "true", (family, shifts, numbers, random.random() < 0.5)
    if kind < 0.3:
        name = random.choice(sorted(folder.name for folder in RELEASES.iterdir()))
        file = random.choice(_FILES)
        record = json.loads((RELEASES / name / file).read_text())
        return "release", (name, file, edits.draw_case(random, record))
    if kind < 0.45:
        name = random.choice(sorted(folder.name for folder in RELEASES.iterdir()))
        return "plan", (name, edits.draw_case(random, _plan(name)))
    if kind < 0.5:
        name = random.choice(sorted(calibrated.without_law()))
        return "step", (name, edits.draw_case(random, _step(name)))
    base = random.choice(sorted(name for name in QUICK if not name.startswith("lower")))
    return base, edits.draw_case(random, _record(base))


def attack(case: Case) -> None:
    base, what = case
    if base == "true":
        _attack_true(*what)
    elif base == "release":
        _attack_release(*what)
    elif base == "step":
        name, edit = what
        _compare(edits.applied(_step(name), edit), plan=True)
    elif base == "plan":
        name, edit = what
        _compare(edits.applied(_plan(name), edit), plan=True)
    else:
        record = _record(base)
        _compare(edits.applied(record, what), plan=record["kind"] == "plan-certificate")


@cache
def _record(base: str) -> Any:
    return json.loads(QUICK[base]().to_json())


@cache
def _step(name: str) -> Any:
    """A plan's certificate with one draw: keys, or a limit that is found."""
    record = calibrated.without_law()[name]
    block = {"name": "a", "certificate": record}
    rule = "basic composition: epsilons and deltas add up"
    budget = {part: record[part] for part in ("epsilon", "delta")}
    return {"kind": "plan-certificate", "version": 1, **budget, "rule": rule, "draws": [block]}


@cache
def _plan(name: str) -> Any:
    return json.loads((RELEASES / name / "certificate.json").read_text())


def verdict(check: Any, given: Any) -> str:
    """Return "proved", "rejected" or "not checked"; any other exception is a bug of the checker."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return "proved" if check(given) else "not checked"
    except checker.Rejected:
        return "rejected"
    except checker.NotChecked:
        return "not checked"


def verdict_on_text(text: str) -> str:
    """Return the checker's verdict on a certificate; "rejected" where a text is no JSON."""
    content = text.encode("utf-8", "surrogatepass")
    try:
        outcome = verdict(checker.check_certificate, checker.parse(content))
    except (ValueError, RecursionError, checker.Rejected):
        outcome = "rejected"
    JUDGED.append(({"a.json": content}, outcome))
    return outcome


def _verified(text: str, *, plan: bool) -> bool:
    reader = ln.PlanCertificate if plan else ln.Certificate
    try:
        reader.from_json(text).verify()
    except ln.errors.LeastnoiseError:
        return False
    return True


def _compare(text: str, *, plan: bool) -> None:
    outcome = verdict_on_text(text)
    if outcome == "not checked":
        return
    accepted = _verified(text, plan=plan)
    assert accepted == (outcome == "proved"), (
        f"checker: {outcome}, verify: {accepted}, {text[:3000]}"
    )


def _attack_true(family: str, shifts: str, numbers: list[int], pure: bool) -> None:
    a, b, c, d, e, f = numbers
    bound = str(b / 4)
    sensitivity: Any = {
        "l1": ln.L1(bound),
        "l2": ln.L2(bound),
        "one": ln.L2(bound),
        "whole": ln.Integer(c),
        "linf": ln.Linf(bound, l0=1 if family == "laplace" else min(c, d)),
        "cells": ln.Linf(c, l0=1, whole=True),
        "counts": ln.CountingQueries(
            dimension=d,
            max_nonzero=min(c, d),
            neighbours="replace-one"
            if e % 3 == 0 and not family.startswith("two-sided")
            else "add-remove",
            with_total=e % 3 == 1 and f > 4,
        ),
    }[shifts]
    asked: dict[str, Any] = {} if shifts in {"one", "whole", "counts"} else {"dimension": d}
    delta = "0" if pure and family in _PURE else f"1e-{2 + e}"
    if family == "gaussian" and f > 6:
        asked["compositions"] = f
    try:
        mechanism = ln.calibrate(
            family, epsilon=str(a / 3)[:5], delta=delta, sensitivity=sensitivity, **asked
        )
    except ln.errors.LeastnoiseError:
        return
    text = mechanism.certificate.to_json()
    assert _verified(text, plan=False)
    outcome = verdict_on_text(text)
    assert outcome in {"proved", "not checked"}, text
    pure = json.loads(text)["delta_interval"][1] == "0x0.0p+0"
    if pure or family not in _PURE:
        assert outcome == "proved", text
    record, random = json.loads(text), Random(repr(numbers))
    for _ in range(3):
        _compare(edits.applied(record, edits.draw_case(random, record)), plan=False)
    if "neighbours" in record["sensitivity"]:
        for neighbours in ("add-remove", "replace-one"):
            record["sensitivity"]["neighbours"] = neighbours
            _compare(json.dumps(record), plan=False)


def _attack_release(name: str, file: str, edit: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(RELEASES / name, Path(folder) / name))
        record = json.loads((copy / file).read_text())
        (copy / file).write_text(edits.applied(record, edit))
        if file != "release.json":
            seal = json.loads((copy / "release.json").read_text())
            seal["files"][file] = checker.hashlib.sha256((copy / file).read_bytes()).hexdigest()
            (copy / "release.json").write_text(json.dumps(seal))
        try:
            outcome = verdict(checker.check_release, copy)
        except (ValueError, KeyError, TypeError, AttributeError):
            outcome = "no release"
        files = {path.name: path.read_bytes() for path in copy.iterdir()}
        JUDGED.append((files, outcome.replace("no release", "rejected")))
        if outcome == "no release":
            return
        if outcome == "not checked":
            return
        try:
            ln.verify_directory(copy)
        except ln.errors.LeastnoiseError:
            accepted = False
        else:
            accepted = True
        if outcome == "rejected":
            assert not accepted
        elif file == "certificate.json":  # it may fit the spec no more, which isn't compared
            assert accepted or _verified((copy / file).read_text(), plan=True)
        elif file == "release.json":  # whether the spec names a ledger isn't compared
            assert accepted or edit[0][0] == "entry"


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("checker", part)
