"""Today's version reads, proves and writes what earlier ones wrote."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.certificate.plan import read_certificate
from leastnoise.noise.registry import FAMILIES
from leastnoise.tables.layout import found_bounds
from leastnoise.tables.parse import spec_file
from leastnoise.tables.publish.draws import plan_with_bounds
from tests.golden.make import LEDGER, RELEASES, ROWS, SPECS, statements
from tests.golden.records import RECORDS
from tests.golden.replan import replace_sentences

STATEMENTS = statements()
NAMES = sorted(path.stem for path in SPECS.glob("*.toml"))


def test_a_statement_of_every_kind_is_kept() -> None:
    assert STATEMENTS.keys() == RECORDS.keys()
    laws = {json.loads(text).get("noise", {}).get("name") for text in STATEMENTS.values()}
    assert laws >= set(FAMILIES)


def mark(names: Iterable[str], dense: Collection[str]) -> list[Any]:
    """The names for `parametrize`; the names in `dense`, which take seconds, get the marker."""
    return [pytest.param(name, marks=pytest.mark.dense if name in dense else ()) for name in names]


@pytest.mark.parametrize("name", mark(STATEMENTS, {"gaussian-mixture", "matrix"}))
def test_a_statement_holds_and_is_written_alike(name: str) -> None:
    text = STATEMENTS[name]
    kept = json.loads(text)
    if name.startswith("lower bound"):
        bound = ln.LowerBound.from_json(text)
        bound.verify()
        assert json.loads(bound.to_json()) == kept
        return
    read = read_certificate(text)
    fresh = read.verify()
    if isinstance(read, ln.Certificate):  # a plan's names no interval
        assert read.delta.lower <= fresh.lower <= fresh.upper <= read.delta.upper
    assert json.loads(read.to_json()) == kept


@pytest.mark.parametrize(
    "name", mark((path.name for path in sorted(RELEASES.iterdir())), {"persons-without-signs"})
)
def test_a_release_verifies(name: str) -> None:
    verified = ln.verify_directory(RELEASES / name)
    assert verified.delta.certainly_at_most(verified.spec.budget.delta)


@pytest.mark.parametrize("name", mark(NAMES, {"replaced"}))
def test_a_spec_is_read_and_planned_alike(name: str, tmp_path: Path) -> None:
    shutil.copy(SPECS / f"{name}.toml", tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    release = ln.Release.from_toml(tmp_path / f"{name}.toml")
    text = (RELEASES / name / "spec.toml").read_text(encoding="utf-8")
    # what a release has found: its bounds and its ε, which its spec states
    columns = spec_file.loads(text).columns
    results = {name: item.limits for name, item in columns.items() if item.finds and item.limits}
    written = spec_file.dumps(found_bounds.set_found_bounds(release.spec, results))
    assert written.replace('"least"', '"4.32376"') == text
    kept = json.loads((RELEASES / name / "plan.json").read_text(encoding="utf-8"))
    plan = release.plan()
    plan = plan_with_bounds(release._layout, plan, results) if results else plan
    _check_like(plan.to_record(), kept)


_LONG = re.compile(r"-?[0-9.]{15,}(/[0-9]+)?|-?[0-9]+/[0-9]{6,}")
"""A number with many digits, found by a search; another machine finds other last digits."""


def _check_like(built: Any, kept: Any) -> None:
    """Compare JSON values: floats and long exact texts to eight digits.

    A search in floats ends at a slightly different point on another processor.
    """
    if isinstance(kept, dict):
        assert built.keys() == kept.keys()
        for key, value in kept.items():
            _check_like(built[key], value)
    elif isinstance(kept, list):
        assert len(built) == len(kept)
        for item, other in zip(built, kept, strict=True):
            _check_like(item, other)
    elif isinstance(kept, str) and _LONG.fullmatch(kept):
        assert float(Fraction(built)) == pytest.approx(float(Fraction(kept)), rel=1e-8)
    else:
        assert built == (pytest.approx(kept, rel=1e-8) if isinstance(kept, float) else kept)


@pytest.mark.dense
def test_a_ledger_holds_and_takes_more(tmp_path: Path) -> None:
    path = shutil.copy(LEDGER, tmp_path)
    checked = ln.check_ledger(path)
    assert checked.entries == 2
    assert checked.accounts["people"].charges == 1
    ledger = ln.Ledger(path)
    ledger.charge(read_certificate(STATEMENTS["geometric"]), unit="person")
    assert ln.check_ledger(path).accounts["people"].charges == 2
    users = ledger.to_arrow().to_pydict()["user"]
    assert users[0] == ""  # which entries of earlier states don't say


def test_replanning_replaces_sentences_alone() -> None:
    stored = {"notes": ["old"], "noisy_parts": [{"missing": ["old"], "std": 1.0, "scale": "1.5"}]}
    rebuilt = {"notes": ["new", "a"], "noisy_parts": [{"missing": [], "std": 1.0, "scale": "1.5"}]}
    assert replace_sentences(stored, rebuilt) == rebuilt
    for field, value in (("std", 1.1), ("std", 1), ("scale", "1.6")):
        other = rebuilt | {"noisy_parts": [rebuilt["noisy_parts"][0] | {field: value}]}
        with pytest.raises(ValueError, match=rf"plan.noisy_parts\[0\].{field} would change"):
            replace_sentences(stored, other)
    with pytest.raises(ValueError, match="other fields"):
        replace_sentences(stored, rebuilt | {"more": 1})
