"""Statements and numbers with which the small checker is tested.

The true numbers come from Arb and from the proofs of leastnoise. They are computed once, so that a
changed copy of the checker is tested in seconds: `python -m benchmarks.check_mutations`.
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

from flint import acb, arb, ctx

from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.noise.classic import proof as classic
from leastnoise.noise.classic.law import Gaussian, TruncatedLaplace
from leastnoise.noise.lattice import proof as in_lattice
from leastnoise.noise.lattice.law import DiscreteStaircase
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.radial.proof import spherical_laplace
from leastnoise.noise.steps import proof as in_steps
from leastnoise.noise.steps.law import TruncatedStaircase
from tests.attacks import edits
from tests.check import calibrated
from tests.check.folders import folders
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
    gaussian = statements()["gaussian"]
    rows = calibrated.records()["gaussian, 3 rows in 2 add-remove"]
    ball = json.loads(json.dumps(calibrated.records()["l2, l2 of 3"]))
    ball["noise"]["parameters"]["scale"] = "9"  # one draw has a loss of 1/3
    ball |= {"compositions": 3, "delta_interval": ["0", "0"], "epsilon": "1"}
    number = {"dimension": 1, "noise": {"name": "l2", "parameters": {"scale": "9"}}}
    return {
        "field, three draws of l2 noise": (ball, "proved"),
        "field, three draws, less ε": (ball | {"epsilon": "0.99"}, "not checked"),
        "field, l2 noise of a single number": (ball | number, "rejected"),
        "field, an interval below δ": (
            gaussian | {"delta_interval": gaussian["delta_interval"][:1] * 2}, "rejected",
        ),
        "field, no grid": (gaussian | {"grid": None}, "proved"),
        "field, a grid of 0": (gaussian | {"grid": "0"}, "rejected"),
        "field, a grid of 3": (gaussian | {"grid": "3"}, "rejected"),
        "field, a δ of 1": (gaussian | {"delta": "1"}, "rejected"),
        "field, other neighbours": (rows | {"neighbours": "replace-one"}, "rejected"),
    }  # fmt: skip


def images() -> Iterator[tuple[dict[str, Any], dict[str, Any], Fraction]]:
    """Counting queries, geometries, and the longest image of a shift, from all corners."""
    b, total = Fraction(3, 2), Fraction(5, 7)
    for neighbours, n in (("add-remove", 0), ("add-remove", 1), ("replace-one", 0)):
        for q, k in ((1, 1), (3, 1), (4, 2), (5, 3), (6, 4), (6, 6)):
            for shared, offset in ((Fraction(-1, 8), Fraction(-1, 3)), (Fraction(2), Fraction(1))):
                replaced = neighbours == "replace-one"
                lengths = []
                for v in itertools.product((-b, 0, b) if replaced else (0, b), repeat=q):
                    if max(v.count(b), v.count(-b)) <= k:
                        image = [x + shared * sum(v) + offset * n for x in v]
                        lengths.append(sum(x * x for x in image) + n * total**2)
                queries = {"dimension": q, "bound": b, "max_nonzero": k, "with_total": bool(n)}
                geometry = {"shared": shared, "offset": offset, "total": n * total}
                yield queries | {"neighbours": neighbours}, geometry, max(lengths)


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


def verdict_on_files(checker: Any, files: dict[str, bytes]) -> str:
    """The verdict on a release that has these files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        try:
            return "proved" if checker.check_release(Path(folder)) else "not checked"
        except checker.Rejected:
            return "rejected"


def exit_code(checker: Any, *arguments: object) -> int:
    """The exit code of the checker's command."""
    command = ["leastnoise-check", *map(str, arguments)]
    with mock.patch("sys.argv", command), contextlib.redirect_stdout(io.StringIO()):
        return checker.main()


def exit_codes(checker: Any) -> list[int]:
    """The exit codes of wrong usage, of a release, and of texts with each of the verdicts."""
    known = statements()
    plan = known["release zcdp"] | {"epsilon": "19.9"}
    codes = [exit_code(checker), exit_code(checker, "-h"), exit_code(checker, RELEASE, RELEASE)]
    codes.append(exit_code(checker, RELEASE))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        for record in (known["gaussian"], known["cactus"], plan, {}, [], float("inf")):
            path.write_text(json.dumps(record))
            codes.append(exit_code(checker, path))
        path.write_text("")
        codes.append(exit_code(checker, path))
    return codes


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


@cache
def truths() -> dict[tuple[str, Fraction, Fraction], tuple[int, int]]:
    """Values of functions times 2^512, rounded down and up, by Arb with more bits.

    The key is the name of a function and its two arguments.
    """
    halves = [Fraction(n, 2) for n in (-1, 0, 1, 12, 41)]
    ends = ((1, Fraction(1, 2)), (-2, 1), (3, Fraction(1, 4)), (-1, 1), (2, Fraction(3, 4)))
    known: dict[tuple[str, Fraction, Fraction], arb] = {}
    with ctx.workprec(1200):

        def real(x: Fraction) -> arb:
            return arb(x.numerator) / x.denominator

        known["mass", Fraction(0), Fraction(0)] = (arb.pi() / 2).sqrt()
        for x in ROOTS:
            known["sqrt", x, Fraction(0)] = real(x).sqrt()
        for x in EXPONENTS:
            known["exp", x, Fraction(0)] = real(x).exp()
        for x in DEVIATIONS:
            known["normal", x, Fraction(0)] = (-real(x) / arb(2).sqrt()).erfc() / 2
        for x in ARGUMENTS:
            for order in (0, 1):
                known["bessel_k", x, Fraction(order)] = real(x).bessel_k(arb(order))
        for m, (c, w) in zip(halves, ends, strict=True):
            known["cap", m, Fraction(c)] = _cap(real(m), c, real(Fraction(w)))
            CAPS[m] = Fraction(c), Fraction(w)
        scaled = {key: value * 2**512 for key, value in known.items()}
        return {
            key: (int(value.lower().floor().unique_fmpz()), int(value.upper().ceil().unique_fmpz()))
            for key, value in scaled.items()
        }


ROOTS = [Fraction(0), Fraction(2), Fraction(1, 3), Fraction(10**6)]
EXPONENTS = [Fraction(x) for x in (0, -3, 20, -999, -1001, -(10**6))] + [Fraction(1, 3)]
DEVIATIONS = [Fraction(x) for x in (0, -3, 9, 39, -39)] + [Fraction(1, 3), Fraction(-77, 3)]
ARGUMENTS = [Fraction(1, 10**4), Fraction(1, 2), Fraction(9), Fraction(120)]
CAPS: dict[Fraction, tuple[Fraction, Fraction]] = {}


@cache
def laws() -> list[tuple[str, tuple[Any, ...], arb]]:
    """The names of the checker's laws, arguments, and δ as leastnoise's proofs enclose it."""
    half, unit, third = Fraction(1, 2), Fraction(1), Fraction(1, 3)
    known: list[tuple[str, tuple[Any, ...], arb]] = []
    with ctx.workprec(400):
        cut = [
            (unit, 3, unit),
            (unit, 3, third),
            (2 * unit, half, half),
            (unit, half, unit),
        ]
        cut += [(unit, Fraction(3, 5), third), (unit, Fraction(11, 20), third)]
        for t, a, e in cut:
            law = TruncatedLaplace(scale=1, radius=a)
            delta = classic.truncated_laplace_delta_ball(law, shift=t, epsilon=e)
            known.append(("truncated_laplace", (t, Fraction(a), e), delta))
        for t, r, e, w in ((unit, 4, unit, 0), (half, "3.3", third, "0.01"), (unit, "0.7", unit, 0),
                           (unit, "0.6", third, 0), (half, "0.4", third, 0)):  # fmt: skip
            steps = TruncatedStaircase(scale=1, gamma="0.3", radius=r, decay=1, atom=w)
            p = {
                "gamma": steps.gamma,
                "radius": steps.radius,
                "decay": unit,
                "atom": steps.atom,
            }
            delta = in_steps.step_delta_ball(steps, shift=t, epsilon=e)
            known.append(("truncated_steps", (t, p, e), delta))
        for masses in ((9, 5, 2, 1), (9, 5, 7, 1), (3,)):
            for shift in (1, 2, 3, 9):
                weights = DiscreteStaircase(scale=2, cells=2, masses=masses)
                p = {"masses": masses, "cells": 2, "scale": Fraction(2)}
                delta = in_lattice.delta_ball(weights, shift=Fraction(shift), epsilon=third)
                known.append(("lattice", (Fraction(shift), p, third), delta))
        for d in (2, 3, 4, 9, 40):
            ball = SphericalLaplace(scale=half, dimension=d)
            delta = spherical_laplace.delta_ball(ball, shift=unit, epsilon=third)
            known.append(("l2", (4 * unit, d, third), delta))
        for r in (half, unit, 3 * unit):
            delta = classic.gaussian_delta_ball(Gaussian(scale=1), shift=r, epsilon=third)
            known.append(("gaussian", (r * r, third), delta))
    return known


def _cap(m: arb, c: int, w: arb) -> arb:
    """∫₀^w e^(cy) (y(2 − y))^m dy, with y = u² so that nothing is singular."""
    odd = int((2 * m + 1).unique_fmpz())  # type: ignore[arg-type]

    def integrand(u: acb, _: bool) -> acb:
        return 2 * (c * u * u).exp() * u**odd * ((2 - u * u).log() * m).exp()

    return acb.integral(integrand, acb(0), acb(w.sqrt())).real


def _exactly(checker: Any, ball: Any, truth: Fraction, units: int) -> tuple[bool, bool]:
    inside = Fraction(ball.low, checker.UNIT) <= truth <= Fraction(ball.high, checker.UNIT)
    return inside, ball.high - ball.low <= units


def _ball(checker: Any, name: str, x: Fraction, more: Fraction) -> Any:
    of = checker.Ball.of
    if name == "mass":
        return checker.MASS
    if name == "sqrt":
        return of(x).sqrt()
    if name == "cap":
        return checker.cap(x, of(more), of(CAPS[x][1]))
    return getattr(checker, name)(of(x))


def numbers(checker: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of a computation, and True if the checker's ball is correct and tight."""
    of, values = checker.Ball.of, [Fraction(n, d) for n in (-7, -1, 0, 2, 5) for d in (1, 3, 7)]
    of_both_orders = cache(lambda x: checker.bessel_k(of(x)))
    for a in values:
        yield f"of {a}", _exactly(checker, of(a), a, 1)
        yield f"over {a}", _exactly(checker, of(a).over(3), a / 3, 2)
        yield f"size {a}", of(a).size() >= abs(a) * checker.UNIT > of(a).size() - 2
        for b in values:
            yield f"{a} + {b}", _exactly(checker, of(a) + of(b), a + b, 3)
            yield f"{a} - {b}", _exactly(checker, of(a) - of(b), a - b, 3)
            yield f"{a} * {b}", _exactly(checker, of(a) * of(b), a * b, 20)
            if b > 0:
                yield f"{a} / {b}", _exactly(checker, of(a) / of(b), a / b, 200)
    for square in (Fraction(9, 4), Fraction(2), Fraction(1, 3), Fraction(10**40 + 1)):
        above = checker.rounded_up(square) / square - 1
        yield (
            f"root {square}",
            (above >= 0, above < Fraction(1, 2**58), square == Fraction(9, 4) or above > 0),
        )
        yield f"exact root {square}", checker.rounded_up(square**2) == square**2
    for queries, geometry, longest in images():
        yield f"image {queries} {geometry}", checker.longest_image(queries, geometry) == longest
    for name, given, delta in laws():
        with ctx.workprec(600):
            ball = getattr(checker, name)(*given)
            ends = [arb(end) / checker.UNIT for end in (ball.low, ball.high)]
            near = [bool(abs(end - delta) < arb(2) ** -300) for end in ends]
        yield f"{name} {given}", (*near, ball.low <= ball.high)
    for (name, x, more), (low, high) in truths().items():
        given = name, x, more
        ball = of_both_orders(x)[int(more)] if name == "bessel_k" else _ball(checker, *given)
        near = ball.high - ball.low < max(1, high.bit_length()) << 100
        yield f"{name} {x} {more}", (ball.low <= low, high <= ball.high, near)


def cases() -> dict[str, Callable[[Any], Any]]:
    """Functions by name that apply a checker to one case; they return a verdict or numbers."""

    def check_case(text: str) -> Callable[[Any], Any]:
        return lambda checker: verdict(checker, text)

    def of_record(record: Any) -> Callable[[Any], Any]:
        return lambda checker: verdict_and_lines(checker, json.dumps(record))

    def of_folder(folder: Path) -> Callable[[Any], Any]:
        def outcome(checker: Any) -> tuple[bool, str]:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                proved = checker.check_release(folder)
            return proved, printed.getvalue()

        return outcome

    records = statements() | calibrated.records() | calibrated.swapped() | calibrated.without_law()
    steps = calibrated.false_steps() | calibrated.quantiles() | plans() | geometries() | fields()
    steps |= thresholds()
    records |= {name: record for name, (record, _) in steps.items()}

    def of_files(files: dict[str, bytes]) -> Callable[[Any], Any]:
        return lambda checker: verdict_on_files(checker, files)

    known = {name: of_record(record) for name, record in records.items()}
    known |= {f"folder, {name}": of_files(files) for name, (files, _) in folders().items()}
    known |= {f"folder {folder.name}": of_folder(folder) for folder in releases()}
    known["exit codes"] = exit_codes
    known["deviations"] = lambda checker: list(deviations(checker))
    known["numbers"] = lambda checker: list(numbers(checker))
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
