"""The repr of every public object says in one line what it is, in words, and shows no rows."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import _words
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.rows.spark.engine import SparkRows
from tests.attacks import public

_SECRET = 8765309
_LONGEST = 120


@cache
def released() -> ln.ReleasedTables:
    return public.instance("Release", ln.Release).run()


def subtracted() -> ln.ReleaseDifference:
    again = released()
    while again.tables == released().tables:  # noise that comes out alike can't be told from a copy
        again = public.instance("Release", ln.Release).run()
    return ln.subtract_releases(released().path or "", again.path or "")


@cache
def compared() -> ln.Comparison:
    return ln.compare(
        epsilon=1,
        delta="1e-3",
        sensitivity=ln.L1(1),
        loss="mae",
        bound=True,
        gap=0.9,
        time_limit=60,
    )


@cache
def ledger_file() -> Path:
    ledger = ln.Ledger(public.instance("Ledger", ln.Ledger).path)
    ledger.charge(public.mechanism().certificate, unit="person")
    return Path(ledger.path)


def charge() -> Any:
    certificate = public.mechanism().certificate
    return public.instance("Ledger", ln.Ledger).charge(certificate, unit="person")


RETURNED: dict[str, Callable[[], Any]] = {
    "Account": lambda: ln.Ledger(ledger_file()).accounts()["a"],
    "Audit": lambda: public.instance("Audit", ln.Audit),
    "BestPossible": lambda: compared().best_possible,
    "Candidate": lambda: compared().candidates[0],
    "Charge": charge,
    "CheckedLedger": lambda: ln.check_ledger(ledger_file()),
    "Comparison": compared,
    "Converted": lambda: (
        ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1)).gdp
    ),
    "Finding": lambda: public.instance("Finding", ln.Finding),
    "JointNoise": lambda: ln.calibrate_jointly([(public.mechanism(), 3)], epsilon=1),
    "Plan": lambda: released().plan,
    "Released": lambda: public.mechanism().release([_SECRET]),
    "ReleaseDifference": subtracted,
    "ReleasedTables": released,
    "Skipped": lambda: compared().skipped[0],
    "VerifiedRelease": lambda: ln.verify_directory(released().path or ""),
    "WorkloadNoise": lambda: ln.workload([[1, 1], [0, 1]], epsilon=1),
}
CLASSES = [name for name in dir(ln) if inspect.isclass(getattr(ln, name))]
VALUES = (
    "Budget", "Converted", "CountingQueries", "Groups", "Integer", "Interval", "L1", "L2", "Linf",
    "RowCounts", "Vertices",
)  # fmt: skip


def made(name: str) -> Any:
    return RETURNED[name]() if name in RETURNED else public.instance(name, getattr(ln, name))


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_object_is_one_line(name: str) -> None:
    shown = repr(made(name))
    assert len(shown) <= _LONGEST
    assert shown.isprintable()
    assert str(_SECRET) not in shown
    assert shown.startswith(f"{name}(" if name in VALUES else f"<{name}: ")


def test_what_is_said() -> None:
    assert repr(public.mechanism()) == "<Mechanism: laplace noise of scale 1, 1-DP under L1(1)>"
    many = ln.calibrate(
        "gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(2), dimension=7, compositions=12
    )
    assert "(1, 1e-5)-DP under L2(2), dimension 7, for 12 releases>" in repr(many.certificate)
    read = ln.Certificate.from_json(many.certificate.to_json())
    assert repr(read).startswith("<Certificate: not yet verified: gaussian noise of scale")
    assert repr(many.compose(2)) == "<Composition: 2 draws of gaussian noise>"
    least = ln.Release(
        data={"source": "a.parquet"},
        privacy={"unit": "row", "epsilon": "least"},
        query=[{"name": "n", "statistics": ["count"], "accuracy": {"half_width_95": 10}}],
    )
    assert repr(least) == "<Release: 1 query, the least ε for each row: n>"


def test_an_account_says_what_its_filter_adds_up(tmp_path: Path) -> None:
    ledger = ln.Ledger(tmp_path / "two.ledger")
    budget = ln.Budget(epsilon=9, delta="1e-5")
    for rule in ("sums", "zcdp"):
        ledger.open_account(rule, unit="person", budget=budget, rule=rule)
        ledger.charge(public.mechanism().certificate, unit="person", dataset=rule)
    text = {name: repr(account) for name, account in ledger.accounts().items()}
    assert text["sums"] == "<Account: ε 1 and δ 0 spent of (9, 1e-5)-DP by 1 charge; sums>"
    assert text["zcdp"] == "<Account: ρ 0.5 spent of (9, 1e-5)-DP by 1 charge; zcdp>"


def test_hostile_names_stay_on_the_line(tmp_path: Path) -> None:
    ledger = ln.Ledger("\n\x1b[2J" + "a" * 150)
    assert len(repr(ledger)) == _LONGEST
    assert repr(ledger).isprintable()
    named = ln.Ledger(tmp_path / "b.ledger").open_account(
        "<" * 200, unit="person", budget=ln.Budget(epsilon=1)
    )
    assert len(repr(named)) == _LONGEST


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_no_row_of_a_source_is_shown(library: Any) -> None:
    frame = nw.from_dict({"person": [_SECRET], "x": [_SECRET]}, backend=library).to_native()
    release = ln.Release(
        data={"source": frame},
        privacy={"unit": "row", "epsilon": "1"},
        query=[{"name": "n", "statistics": ["count"]}],
    )
    for item in (release, frame_of(frame), SparkRows("the frame", frame)):
        assert str(_SECRET) not in repr(item)
    values = ScaledIntegers(numerators=np.array([_SECRET]), bits=0)
    assert str(_SECRET) not in repr(values)


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_budgets_are_rounded_up_and_bounds_down(value: Fraction) -> None:
    up, down = (
        Fraction(item(value).replace(",", "")) for item in (_words.round_up, _words.round_down)
    )
    assert down <= value <= up
    assert up - down <= value / 999


def test_messages_about_tables_call_a_query_a_query() -> None:
    """No text but a docstring says block, not even as a key of a record."""
    source = Path(inspect.getfile(ln)).parent
    for path in [*(source / "tables").rglob("*.py"), source / "certificate" / "plan.py"]:
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                text = str(node.value)
                shown = f"{path}:{node.lineno}: {text}"
                assert not re.search(r"\bblocks?\b", text, re.IGNORECASE), shown


@pytest.mark.parametrize("size", range(110, 116))
def test_a_line_is_cut_to_120_letters(size: int) -> None:
    shown = _words.line("Plan", "x" * size)
    assert len(shown) == min(size + len("<Plan: >"), _LONGEST)
    assert shown.endswith("x>" if size + len("<Plan: >") <= _LONGEST else "x…>")
