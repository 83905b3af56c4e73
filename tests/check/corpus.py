"""Statements and numbers with which the small checker is tested.

A changed copy of the checker is tested on all of them: `python -m benchmarks.check_mutations`.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from tests.attacks import edits
from tests.check import calibrated
from tests.check.folders import folders
from tests.check.numbers import CALLS, LONG_CALLS, Computation, computations, ends_of_call
from tests.check.plans import plans
from tests.check.thresholds import thresholds

GOLDEN = Path(__file__).parent.parent / "golden"
RELEASE = GOLDEN / "releases/rows"
EDITS = 12
"""The number of random edits of each statement; its name is the seed."""
_NAMED = ("epsilon", "delta", "scale", "bound", "threshold", "reach", "decay", "rates", "rate")
_FINE = (1 - 1e-7, 1 + 1e-7)


@cache
def statements() -> dict[str, Any]:
    """Certificates by name: of golden statements, of selections, and of golden releases."""
    lines = (GOLDEN / "statements.jsonl").read_text().splitlines()
    records = {entry["name"]: entry["record"] for entry in map(json.loads, lines)}
    known = {k: r for k, r in records.items() if r["kind"].endswith("certificate")}
    for relation in NEIGHBOURS:
        selection = SelectionCertificate.best(
            epsilon=Fraction(1, 2), rounds=10, candidates=2000, neighbours=relation
        )
        known[f"selection, {relation}"] = selection.to_record()
    for folder in releases():
        known[f"release {folder.name}"] = json.loads((folder / "certificate.json").read_text())
    return known


def geometries() -> dict[str, tuple[dict[str, Any], str]]:
    """Certificates with an edited geometry of four counts, and the verdicts on them, by name."""
    record = statements()["ellipse"] | {"delta": "0.5", "delta_interval": ["0", "1"]}
    return {
        f"geometry, {name}": (record | {"geometry": record["geometry"] | edited}, verdict)
        for name, edited, verdict in (
            ("as it was", {}, "proved"),
            ("of five queries", {"queries": 5}, "rejected"),
            ("a total that nobody adds", {"total": "1"}, "rejected"),
            ("an offset without a total", {"offset": "1/2"}, "rejected"),
            ("nearly singular", {"shared": "-0.2499"}, "proved"),
            ("singular", {"shared": "-1/4"}, "rejected"),
        )
    }


def fields() -> dict[str, tuple[dict[str, Any], str]]:
    """Certificates with edited fields, and the verdicts on them, by name."""
    gaussian, loose = statements()["gaussian"], {"delta": "0.9", "delta_interval": ["0", "1"]}
    rows = calibrated.records()["gaussian, 3 rows in 2 add-remove"]
    ball = _with_parameters(calibrated.records()["l2, l2 of 3"], scale="9")  # a draw's loss is 1/3
    little = _with_parameters(ball, scale="0.005")
    ball |= {"compositions": 3, "delta_interval": ["0", "0"], "epsilon": "1"}
    number = {"dimension": 1, "noise": {"name": "l2", "parameters": {"scale": "9"}}}
    sides, stairs = (statements()[name] for name in ("two sides", "staircase"))
    steps = stairs | {"epsilon": "0.5"} | loose
    pure, body = calibrated.records()["laplace, l1 of 1"], statements()["body, product"]
    hull = body["sensitivity"]["hull"]
    lattice = statements()["discrete-staircase"] | loose
    short = statements()["truncated-staircase"] | loose
    return {
        "field, three draws of l2 noise": (ball, "proved"),
        "field, three draws, less ε": (ball | {"epsilon": "0.99"}, "not checked"),
        "field, little l2 noise": (little, "not checked"),
        "field, three draws, a loss of 2": (
            _with_parameters(ball, scale="4.5") | {"epsilon": "2"}, "proved",
        ),
        "field, three draws, a loss above 2": (
            _with_parameters(ball, scale="4.4") | {"epsilon": "2"}, "not checked",
        ),
        "field, l2 noise of a single number": (ball | number, "rejected"),
        "field, a staircase with δ above 0": (steps, "not checked"),
        "field, the smallest core": (_with_parameters(sides, core="0.000001"), "proved"),
        "field, a smaller core": (_with_parameters(sides, core="0.000000999"), "rejected"),
        "field, an interval below δ": (
            gaussian | {"delta_interval": gaussian["delta_interval"][:1] * 2}, "rejected",
        ),
        "field, ε below 0": (gaussian | {"epsilon": "-1"}, "rejected"),
        "field, a δ above 1": (gaussian | {"delta": "1.5"}, "rejected"),
        "field, a tiny δ": (pure | {"delta": "1e-299"}, "proved"),
        "field, a δ that is too tiny": (pure | {"delta": "1e-305"}, "rejected"),
        "field, a scale of 0": (_with_parameters(gaussian, scale="0"), "rejected"),
        "field, a tiny scale": (_with_parameters(gaussian, scale="1e-150"), "not checked"),
        "field, a number for bodies": (
            body | {"sensitivity": {"kind": "within", "hull": hull | {"bodies": 5}}}, "rejected",
        ),
        "field, a radius of half a shift": (_with_parameters(short, radius="0.5"), "not checked"),
        "field, a smaller radius": (_with_parameters(short, radius="0.4"), "not checked"),
        "field, weights of 1": (_with_parameters(lattice, masses=[1, 1, 1]), "proved"),
        "field, a first weight of 0": (_with_parameters(lattice, masses=[0, 1, 1]), "rejected"),
        "field, no grid": (gaussian | {"grid": None}, "proved"),
        "field, a grid of 0": (gaussian | {"grid": "0"}, "rejected"),
        "field, a grid of 3": (gaussian | {"grid": "3"}, "rejected"),
        "field, a δ of 1": (gaussian | {"delta": "1"}, "rejected"),
        "field, other neighbours": (rows | {"neighbours": "replace-one"}, "rejected"),
    }  # fmt: skip


def _with_parameters(record: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A copy of a certificate with changed parameters of its noise."""
    noise = record["noise"]
    return record | {"noise": noise | {"parameters": noise["parameters"] | changed}}


def releases() -> list[Path]:
    """The folders of golden releases."""
    return sorted(path.parent for path in (GOLDEN / "releases").glob("*/release.json"))


def verdict(checker: Any, text: str) -> str:
    """The verdict on a text: "proved", "rejected", "not checked" or "no JSON"."""
    return verdict_and_lines(checker, text)[0]


def verdict_and_lines(checker: Any, text: str) -> tuple[str, str]:
    """The verdict on a text, and the lines that are printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            record = checker.parse(text.encode("utf-8", "surrogatepass"))
            verdict = "proved" if checker.check_certificate(record) else "not checked"
        except checker.Rejected:
            verdict = "rejected"
        except checker.NotChecked:
            verdict = "not checked"
        except (ValueError, RecursionError):
            verdict = "no JSON"
    return verdict, printed.getvalue()


@contextlib.contextmanager
def listed_ends(checker: Any) -> Iterator[list[str]]:
    """Within the block, list the ends of the interval of each proved δ, in units of 2^−512."""
    ends: list[str] = []

    def listed(proof: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def prove(claim: Any) -> Any:
            delta = proof(claim)
            ends.append(f"{delta.low} {delta.high}")
            return delta

        return prove

    proofs = {kind: listed(proof) for kind, proof in checker.PROOFS.items()}
    with mock.patch.object(checker, "PROOFS", proofs):
        yield ends


def verdict_on_files(checker: Any, files: dict[str, bytes]) -> str:
    """The verdict on a release that has these files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        try:
            return "proved" if checker.check_release(Path(folder)) else "not checked"
        except checker.Rejected:
            return "rejected"


def run(checker: Any, *arguments: object) -> tuple[int, str]:
    """The exit code of the checker's command, and what it prints."""
    command = ["leastnoise-check", *map(str, arguments)]
    with mock.patch("sys.argv", command), contextlib.redirect_stdout(io.StringIO()) as printed:
        code = checker.main()
    return code, printed.getvalue()


def runs(checker: Any) -> list[tuple[int, str]]:
    """Exit codes and output: of wrong usage, of a release, and of texts with each verdict."""
    known = statements()
    plan = known["release zcdp"] | {"epsilon": "19.9"}
    outcomes = [run(checker), run(checker, "-h"), run(checker, RELEASE, RELEASE)]
    outcomes.append(run(checker, RELEASE))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        for record in (known["gaussian"], known["cactus"], plan, {}, [], float("inf")):
            path.write_text(json.dumps(record))
            outcomes.append(run(checker, path))
        path.write_text("")
        outcomes.append(run(checker, path))
    return outcomes


def texts() -> Iterator[tuple[str, str]]:
    """Yield names and texts of edited statements: tiny changes of numbers, and random edits.

    In certificates of calibrated noise only the scale is edited: it gets too small by 10^-7.
    """
    for name, record in calibrated.records().items():
        edit = (("noise", "parameters", "scale"), "scale", (_FINE[0], "hex"))
        yield f"{name} {_FINE[0]}", edits.applied(record, edit)
    for name, record in (statements() | calibrated.without_law()).items():
        for path in edits._paths(record):
            value = edits.at(record, path)
            if path[-1] in _NAMED and isinstance(value, str) and "release" not in name:
                for factor in _FINE:
                    edit = (path, "scale", (factor, "hex"))
                    yield f"{name} {path} {factor}", edits.applied(record, edit)
        random = Random(name)
        for number in range(EDITS):
            yield f"{name} {number}", edits.applied(record, edits.draw_case(random, record))


def compared() -> dict[str, dict[str, Any]]:
    """Records by name on which the checker in JavaScript has to agree to the last digit."""
    known = plans() | thresholds() | geometries() | fields()
    return statements() | {name: record for name, (record, _) in known.items()}


def cases() -> dict[str, Callable[[Any], Any]]:
    """Functions by name that apply a checker to one case; they return a verdict or numbers."""

    def check_case(text: str) -> Callable[[Any], Any]:
        return lambda checker: verdict(checker, text)

    def of_record(record: Any) -> Callable[[Any], Any]:
        return lambda checker: verdict_and_lines(checker, json.dumps(record))

    def with_ends(record: Any) -> Callable[[Any], Any]:
        def outcome(checker: Any) -> Any:
            with listed_ends(checker) as ends:
                return *verdict_and_lines(checker, json.dumps(record)), ends

        return outcome

    def of_call(call: str) -> Callable[[Any], Any]:
        return lambda checker: ends_of_call(checker, *call.split())

    def of_folder(folder: Path) -> Callable[[Any], Any]:
        def outcome(checker: Any) -> tuple[bool, str]:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                proved = checker.check_release(folder)
            return proved, printed.getvalue()

        return outcome

    records = calibrated.records() | calibrated.swapped() | calibrated.without_law()
    steps = calibrated.false_steps() | calibrated.quantiles()
    records |= {name: record for name, (record, _) in steps.items()}

    def of_files(files: dict[str, bytes]) -> Callable[[Any], Any]:
        return lambda checker: verdict_on_files(checker, files)

    def of_numbers(part: Computation) -> Callable[[Any], Any]:
        return lambda checker: list(part(checker))

    known = {name: of_record(record) for name, record in records.items()}
    known |= {name: with_ends(record) for name, record in compared().items()}
    known |= {call: of_call(call) for call in CALLS + LONG_CALLS}
    known |= {f"folder, {name}": of_files(files) for name, (files, _) in folders().items()}
    known |= {f"folder {folder.name}": of_folder(folder) for folder in releases()}
    known["runs of the command"] = runs
    known["deviations"] = lambda checker: list(deviations(checker))
    known |= {f"numbers, {name}": of_numbers(part) for name, part in computations().items()}
    return known | {f"edited {name}": check_case(text) for name, text in texts()}


_BOX = {"scale": Fraction(3, 2), "body": ("box", 2, (Fraction(1), Fraction(2)))}
LAWS = [
    ("gaussian", {"scale": Fraction(3)}, 1),
    ("discrete-staircase", {"scale": Fraction(5, 2), "cells": 2, "masses": (3, 2, 1)}, 1),
    ("k-norm", _BOX, 60),
    ("k-norm", _BOX, 61),
    *(
        ("k-staircase", _BOX | {"gamma": Fraction(2, 3), "decay": decay}, 2)
        for decay in (Fraction(1, 20), Fraction(3, 40), Fraction(1))
    ),
]
"""Laws whose scale, grid and masses all change the standard deviation: names, parameters, d."""


def deviations(checker: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and the checker's standard deviations, to nine digits.

    The laws are the golden laws, and `LAWS`.
    """
    for (name, parameters, dimension), grid in itertools.product(LAWS, (Fraction(1, 4), None)):
        claim = {"name": name, "p": parameters, "d": dimension, "geometry": None, "grid": grid}
        yield f"std {name}, {dimension}", [float(f"{x:.9g}") for x in checker.deviations(claim)]
    for name, record in statements().items():
        if record["kind"] == "certificate":
            with contextlib.suppress(checker.Rejected, checker.NotChecked):
                claim = checker.read_claim(record)
                yield f"std {name}", [float(f"{x:.9g}") for x in checker.deviations(claim)]
