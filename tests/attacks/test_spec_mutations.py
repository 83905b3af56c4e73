"""Every hostile value of every key of a spec raises a SpecError that names a key.

Nothing is written and nothing is charged: the command line is run with a ledger beside it.
"""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import math
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

import leastnoise as ln
from leastnoise.cli.main import main
from leastnoise.errors import InvalidArgument, SpecError

SPEC: dict[str, Any] = {
    "version": 1,
    "data": {
        "source": "rows.csv",
        "types": {"who": "int", "plan": "int", "x": "float", "note": "text"},
    },
    "privacy": {
        "unit": "who",
        "neighbours": "add-remove",
        "epsilon": "1",
        "delta": 1e-6,
        "ledger": {"path": "b.ledger", "dataset": "visits", "plan": 1},
    },
    "contribution": {"max_rows": 5},
    "columns": {"x": {"bounds": [0, "0.1"], "missing": 0}},
    "query": [
        {
            "name": "by_plan",
            "importance": 2,
            "accuracy": {"half_width_95": 5, "statistic": "count"},
            "assume": {"n": 100},
            "round": True,
            "clamp": True,
            "statistics": ["count", "mean(x)", "sum(x)"],
            "group_by": {"plan": [1, 2, 3], "note": ["a", "b"], "x": {"edges": [0, "0.5", 2]}},
        },
        {
            "name": "bins",
            "histogram": {"column": "x", "edges": [0, 1, 5.5, math.inf]},
            "accuracy": {"std": 3},
        },
        {
            "name": "conditions",
            "max_conditions": 2,
            "conditions": {
                "often": {"x": {"min": "0.1", "below": 3}, "plan": {"among": [1, 2]}},
                "noted": {"note": {"among": ["y"]}},
            },
        },
    ],
    "output": {"path": "out", "format": "csv"},
}
IN_TOML = [
    *(0, -1, 2, True, "", "k", "\0", "\r\n", [], [1], [[1]], ["k"], [True], {}, {"k": 1}),
    *({"k": {}}, {"": {}}, math.nan, math.inf, -math.inf, 1e308, 1e-320, 2**63, 10**400, "1e400"),
    *("x" * 5000, [{}], {"k": [{}]}, dt.date(2020, 1, 1), dt.time(1)),
]
IN_PYTHON = [
    *(None, "\ud800", {"\ud800": 1}, {1: 2}, {None: {}}, b"x", (), (1,), object(), 1j, ...),
    *({"a", "b"}, frozenset(), [None], [object()], {"k": {1: 2}}, {"k": {"\ud800": 1}}, int),
]

Place = tuple[str | int, ...]


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Yield the path of every value in a spec."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


PLACES = list(places(SPEC))


def mutants(place: Place, values: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield specs in which the value at `place` is replaced, left out or has a new sibling."""
    *above, last = place

    def container(raw: Any) -> Any:
        for key in above:
            raw = raw[key]
        return raw

    for value in values:
        raw = copy.deepcopy(SPEC)
        container(raw)[last] = value
        yield raw
    raw = copy.deepcopy(SPEC)
    del container(raw)[last]
    yield raw
    raw = copy.deepcopy(SPEC)
    if isinstance(last, str):
        container(raw)["unknown"] = container(raw)[last]
    else:
        container(raw).append(container(raw)[last])
    yield raw


@pytest.mark.dense
@pytest.mark.parametrize("place", PLACES, ids=lambda index: ".".join(map(str, index)))
def test_every_key_with_every_hostile_value_in_python(place: Place) -> None:
    for raw in mutants(place, IN_TOML + IN_PYTHON):
        try:
            release = ln.Release(**raw)
        except SpecError as error:
            assert all(key for key, _ in error.problems)  # noqa: PT017
            continue
        except TypeError:
            assert len(place) == 1  # a keyword of Release itself that is missing or unknown
            continue
        assert release.spec == ln.Release(**tomllib.loads(release.to_toml())).spec


def test_a_value_of_no_possible_type_is_named() -> None:
    """What is wrong whatever the other keys say is told where it stands."""
    for site in PLACES:
        *above, last = site
        raw = copy.deepcopy(SPEC)
        inner: Any = raw
        for key in above:
            inner = inner[key]
        inner[last] = dt.time(1)
        with pytest.raises(SpecError) as caught:
            ln.Release(**raw)
        name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in site)[1:]
        keys = [key for key, _ in caught.value.problems]
        assert any(name.startswith(key) or key.startswith(name) for key in keys), (name, keys)
        assert len(keys) <= 3, keys  # and what follows from it isn't told again


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rows.csv").write_text("who,plan,x,note\n1,1,1,a\n")
    account = {"unit": "who", "budget": ln.Budget(epsilon=9, delta="1e-3")}
    ln.Ledger(tmp_path / "b.ledger").open_account("visits", **account)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def released(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the exit code of `leastnoise release` with this spec."""
    Path("spec.toml").write_text(text)
    monkeypatch.setattr(sys, "argv", ["leastnoise", "release", "spec.toml"])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


@pytest.mark.dense
def test_the_command_line_ends_with_2_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = itertools.cycle([2, "k", [], [1], {}, math.nan, 10**400, [[{}]]])
    tried = 0
    for site in PLACES:
        raw = next(mutants(site, [next(hostile)]))
        try:
            ln.Release(**raw)
        except SpecError:
            assert released(tomli_w.dumps(raw), monkeypatch) == 2
            shown = capsys.readouterr()
            assert shown.out == ""
            assert shown.err.startswith("leastnoise: The spec has ")
            tried += 1
    assert tried > 0.9 * len(PLACES)
    assert {file.name for file in folder.iterdir()} == {"rows.csv", "b.ledger", "spec.toml"}
    assert ln.Ledger("b.ledger").accounts()["visits"].charges == 0


def test_what_stands_twice_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tomli_w.dumps(SPEC).splitlines(keepends=True)
    for index, line in enumerate(lines):
        if " = " in line and not line.startswith((" ", "]")) and not line.endswith("[\n"):
            assert released("".join([*lines[:index], line, *lines[index:]]), monkeypatch) == 2
            assert "TOML: " in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.parametrize("value", [2, b"spec.toml", None, "\ud800", "a\0b", ["spec.toml"]])
def test_what_is_no_path_is_an_invalid_argument(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="path"):
        ln.Release.from_toml(value)
    with pytest.raises(InvalidArgument, match="folder"):
        ln.Release(**SPEC, folder=value)
