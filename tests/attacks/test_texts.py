"""Long, deep and hostile texts end in our errors or an answer, in time; none is obeyed.

They are specs of many or nested keys, certificates of many or nested fields, laws at the ends of
their parameters, and names with control sequences of terminals.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tomli_w

import leastnoise as ln
from leastnoise.cli.main import main
from tests.attacks.guard import PARTS, Guard

Case = tuple[str, str, int, tuple[Any, ...]]

_HEAD = """version = 1
[privacy]
unit = "row"
epsilon = 1
[data]
source = "rows.csv"
[[query]]
name = "n"
statistics = ["count"]
"""
# What stands before, what is written many times, # being its number, and what stands behind.
_MANY: dict[str, tuple[str, str, str]] = {
    "keys": ("", "k# = 1\n", ""),
    "keys of a section": ("[contribution]\n", "k# = 1\n", ""),
    "columns": ("", "[columns.c#]\nbond = 1\n", ""),
    "bounds": ("", "[columns.c#]\nbounds = 1\n", ""),
    "queries": ("", "[[query]]\nname = 'a#'\n", ""),
    "types": ("[data.types]\n", "c# = 'flot'\n", ""),
    "statistics": ("[[query]]\nname = 'a'\nstatistics = [", "'sm(c#)',", "]"),
    "group keys": ("[query.group_by]\nx = [", "1.5,", "]"),
    "groups": ("[query.group_by]\n", "c# = [1]\n", ""),
    "edges": ("[[query]]\nname = 'a'\nhistogram = { column = 'x', edges = [", "1,", "] }"),
    "conditions": ("[query.conditions]\n", "c# = {}\n", ""),
    "names with dots": ("", "a.", "b = 1\n"),
    "a header with dots": ("[", "a.", "b]\n"),
    "headers": ("", "[a.b#.c]\n", ""),
    "a quoted name": ("'", "a.", "' = 1\n"),
    "lists": ("x = ", "[", "1"),
    "tables": ("x = ", "{a=", "1"),
    "quotes": ('x = "', '\\"', ""),
    "triple quotes": ('x = """', '\\"""', ""),
    "comments": ("", "# a.b.c 'd\n", ""),
}
_JSON: dict[str, tuple[str, str, str]] = {
    "fields": ("{", '"k#": 1, ', '"kind": "certificate"}'),
    "a field twice": ("{", '"k#": 1, ', '"k1": 2}'),
    "one field": ("{", '"k": 1, ', '"k": 2}'),
    "lists": ('{"kind": ', "[", "1}"),
    "objects": ("", '{"kind": ', "1"),
    "digits": ('{"kind": 1', "00000000", "}"),
    "draws": ('{"kind": "plan-certificate", "draws": [', "[],", "1]}"),
}
_ENDS = {
    "alpha": ("-0.999", "-0.5", "0", "1.5", "6"),
    "p": ("0.2", "0.7", "1.5", "1.99", "3"),
    "scale": ("1e-6", "0.01", "1", "1000", "1e6"),
    "dimension": (1, 2, 7, 50, 400),
    "epsilon": ("0", "0.001", "1", "10", "100"),
    "compositions": (1,),
}
_OBEYED = "\x1b\x07\x08\r\n\x9b\x85\u202e\u2066\u200f\u2028\u061c\ufeff\x00"
_COMMANDS = (
    ("release", "*.toml"), ("release", "*"), ("verify", "*"), ("verify", "*.json"), ("report", "*"),
    ("ledger", "show", "*"), ("ledger", "init", "*/*", "--dataset", "*"), ("compose", "*=2"),
    ("calibrate", "--noise", "*", "--epsilon", "*"), ("init", "*"), ("--*",), ("*",),
    ("ledger", "history", "b.ledger", "--dataset", "*"), ("release", "s.toml", "--engine", "*"),
)  # fmt: skip


def draw_case(random: Random) -> Case:
    kind = random.choice(("spec", "json", "law", "names", "names"))
    size = int(10 ** random.uniform(1, 4.5))
    if kind == "spec":
        return kind, random.choice([*_MANY]), size, ()
    if kind == "json":
        return kind, random.choice([*_JSON]), size, ()
    if kind == "law":
        return kind, "", 0, tuple(random.choice(values) for values in _ENDS.values())
    letters = [random.choice(_OBEYED + "a1[;m") for _ in range(random.randint(1, 12))]
    return kind, "".join(letters), random.randrange(len(_COMMANDS)), ()


def attack(case: Case) -> None:
    kind, text, size, more = case
    folder = Path(tempfile.mkdtemp())
    if kind == "spec":
        (folder / "s.toml").write_text(_HEAD + _grown(_MANY[text], size))
        message = _said("release", str(folder / "s.toml"), "--plan")
        assert len(message) < 100_000, f"{len(message):,} letters are told"
    elif kind == "json":
        (folder / "c.json").write_text(_grown(_JSON[text], size))
        message = _said("verify", str(folder / "c.json"))
        assert len(message) < 10_000, f"{len(message):,} letters are told"
    elif kind == "law":
        _prove(dict(zip(_ENDS, more, strict=True)))
    else:
        _name(folder, text, _COMMANDS[size])


def _grown(shape: tuple[str, str, str], size: int) -> str:
    before, item, after = shape
    return before + "".join(item.replace("#", str(i)) for i in range(size)) + after


def _said(*command: str) -> str:
    """Return what a command writes; raise AssertionError for an internal error."""
    stream = io.StringIO()
    sys.argv = ["leastnoise", *command]
    code: object = 0
    with contextlib.redirect_stderr(stream), contextlib.redirect_stdout(stream):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert code in (0, 1, 2), f"exit {code}: {stream.getvalue()[-300:]}"
    return stream.getvalue()


def _prove(asked: dict[str, Any]) -> None:
    """Verify a statement about the asked law; true or false, this must end."""
    names = ("alpha", "p", "scale", "dimension")
    with contextlib.suppress(ln.errors.LeastnoiseError):
        law = ln.noise.GeneralizedGamma(**{name: asked[name] for name in names})
        claim = ln.Certificate(
            budget=ln.Budget(epsilon=asked["epsilon"], delta="1e-5"),
            noise=law,
            sensitivity=ln.L2(1),
            delta=ln.Interval(0.0, 1.0),
            compositions=asked["compositions"],
        )
        claim.verify()


def _name(folder: Path, name: str, command: tuple[str, ...]) -> None:
    os_name = name.replace("\x00", "")
    spec = {"version": 1, name: {name: 1}, "columns": {name: {"bounds": name}}, "query": [{}]}
    for file, text in {
        f"{os_name}.toml": tomli_w.dumps(spec),
        f"{os_name}.json": json.dumps({name: 1, "kind": name}),
        "s.toml": _HEAD,
    }.items():
        (folder / file).write_text(text)
    with contextlib.suppress(OSError):
        ln.Ledger(folder / "b.ledger").open_account("a", unit="row", budget=ln.Budget(epsilon=1))
    with contextlib.chdir(folder):
        message = _said(*(part.replace("*", os_name) for part in command))
    seen = message.replace("\n", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert all(item.isprintable() for item in seen), ascii(message[:500])


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("texts", part, fewer=10)
