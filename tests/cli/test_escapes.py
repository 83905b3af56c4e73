"""No name in a hostile folder moves a terminal's cursor, turns its text or fakes a line of ours."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import _words
from leastnoise.tables.rows import starter
from tests.cli.program import run, run_in_terminal

SOURCE = Path(ln.__file__).parent
CODE = "\x1b]0;a\x07\x1b[2J\x9b1m\u202e\u2066\u200f"
LINE = "\nleastnoise: verified\r"
NAME = f"n{CODE}{LINE}"
OURS = re.compile(r"\x1b\[[01]m")  # the heads of tables
SPEC = {
    "version": 1,
    "data": {"source": "rows.parquet"},
    "privacy": {"unit": "row", "epsilon": 1, "ledger": {"path": "b.ledger", "dataset": "a"}},
    "query": [{"name": "q", "statistics": ["count"], "group_by": {"town": [NAME, "b"]}}],
    "output": {"path": "out", "format": "csv"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which files, columns, values, keys and accounts have a hostile name."""
    folder = tmp_path_factory.mktemp("names") / NAME
    folder.mkdir()
    town = pa.array([NAME] * 9 + ["b"])
    struct = pa.array([{NAME: 1}] * 10)
    rows = pa.table({"town": town, NAME: struct, f"{NAME}2": pa.array(range(10))})
    pq.write_table(rows, folder / "rows.parquet")
    (folder / "rows.csv").write_text(f'town,"{NAME}"\n1,2\n')
    (folder / "keys.csv").write_text(f'"{NAME}"\n1\n1\n')
    (folder / NAME).write_text(json.dumps({NAME: 1, "kind": NAME}))
    (folder / "twice").write_text(f'{{"{CODE}": 1, "{CODE}": 2}}'.replace("\x1b", "\\u001b"))
    ledger = ln.Ledger(folder / "b.ledger")
    ledger.open_account("a", unit="row", budget=ln.Budget(epsilon=9))
    noise = ln.calibrate("laplace", epsilon="0.1", sensitivity=ln.L1(1)).certificate
    ledger.charge(noise, unit="row", dataset="a", label=NAME)
    for name, spec in {
        "spec.toml": SPEC,
        f"{NAME}.toml": SPEC | {NAME: {NAME: NAME}, "columns": {NAME: {NAME: 1}}},
        "key.toml": SPEC | {"query": [{"name": NAME, "statistics": [f"sum({NAME})", NAME]}]},
        "path.toml": SPEC | {"output": {"path": f"{NAME}/{NAME}"}},
        "source.toml": SPEC | {"data": {"source": f"{NAME}.parquet"}},
        "column.toml": SPEC | {"privacy": {"unit": f"{NAME}3", "epsilon": 1}},
        "ledger.toml": SPEC | {"privacy": {"unit": "row", "epsilon": 1, "ledger": {"path": NAME}}},
        "account.toml": SPEC
        | {
            "privacy": {
                "unit": "row",
                "epsilon": 1,
                "ledger": {"path": "b.ledger", "dataset": NAME},
            }
        },
        "keys.toml": SPEC
        | {"query": [SPEC["query"][0] | {"group_by": {NAME: "keys.csv", "town": NAME}}]},
    }.items():
        (folder / name).write_text(tomli_w.dumps(spec))
    assert run("release", "spec.toml", cwd=folder).returncode == 0
    (folder / "out" / NAME).touch()
    return folder


COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("release", f"{name}.toml") for name in (
        "spec", NAME, "key", "path", "source", "column", "ledger", "account", "keys", CODE,
    )),
    ("release", "spec.toml", "--plan"),
    ("release", "spec.toml", "--engine", NAME),
    ("release", "spec.toml", "--sign", CODE),
    ("release", "spec.toml", "--assume", NAME),
    ("verify", "out"),
    ("verify", NAME),
    ("verify", "twice"),
    ("verify", f"{NAME}/{CODE}"),
    ("verify", "out", "--ledger", NAME),
    ("verify", "out", "--key", NAME),
    ("report", "out", "--output", f"{CODE}.html"),
    ("report", NAME),
    ("ledger", "show", NAME),
    ("ledger", "show", "b.ledger"),
    ("ledger", "history", "b.ledger"),
    ("ledger", "history", "b.ledger", "--dataset", NAME),
    ("ledger", "check", f"../{NAME}/b.ledger"),
    ("ledger", "init", f"{CODE}2", "--dataset", "a", "--unit", "row", "--epsilon", "1"),
    ("ledger", "init", "b.ledger", "--dataset", NAME, "--unit", NAME, "--epsilon", NAME),
    ("ledger", "register", "b.ledger", f"{NAME}.toml={NAME}", "--epsilon", "1"),
    ("ledger", "register", "b.ledger", f"{NAME}.toml", "--epsilon", "1"),
    ("init", "rows.parquet", "--output", f"{CODE}.toml"),
    ("init", "rows.csv", "--output", NAME),
    ("init", NAME),
    ("compose", NAME, "--epsilon", "1"),
    ("compose", f"{NAME}=2", "--epsilon", "1"),
    ("calibrate", "--noise", NAME, "--epsilon", "1"),
    ("calibrate", "--noise", "laplace", "--epsilon", NAME),
    ("calibrate", "--noise", "laplace", "--epsilon", "1", "--certificate", f"{CODE}3"),
    ("calibrate", f"--{NAME}"),
    ("profile", "--noise", "laplace", "--scale", "1", "--param", NAME, "--epsilon", "1"),
    ("compare", "--epsilon", "1", "--plot", f"{NAME}/{CODE}.svg"),
    ("audit", NAME),
    (NAME,),
    (f"--{NAME}",),
    ("verify", "out", NAME),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda item: " ".join(map(ascii, item))[:70])
def test_nothing_that_a_command_writes_is_obeyed(folder: Path, command: tuple[str, ...]) -> None:
    done = run_in_terminal(*command, cwd=folder)
    assert done.returncode in {0, 1, 2}, done.stderr
    for shown in (done.stdout, done.stderr):
        text = OURS.sub("", shown)
        assert all(letter.isprintable() or letter == "\n" for letter in text), ascii(text)
        assert "\nleastnoise: verified" not in text


def test_a_first_spec_holds_no_hidden_letter_and_no_line_of_others(folder: Path) -> None:
    for source in ("rows.parquet", "rows.csv"):
        target = folder / f"first-{source}.toml"
        assert run("init", source, "--output", target.name, cwd=folder).returncode == 0
        text = target.read_text()
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        assert "\nleastnoise: verified" not in text
        assert any(CODE in name for name in tomllib.loads(text)["data"].get("types", [CODE]))


def errors_of(kind: type[Exception]) -> list[type[Exception]]:
    """Return an exception class and all its subclasses."""
    return [kind, *(item for inner in kind.__subclasses__() for item in errors_of(inner))]


def test_no_error_carries_what_a_terminal_obeys() -> None:
    """Python's own report of an error ends on a terminal, too."""
    for kind in errors_of(ln.errors.LeastnoiseError):
        try:
            error = kind(NAME)
        except (TypeError, ValueError):  # it says itself what it is about
            continue
        assert str(error).isprintable()
    assert str(ln.errors.InvalidArgument(name=NAME, value=NAME, expected=NAME)).isprintable()
    assert str(ln.errors.OverBudget(dataset=NAME, rule=NAME, why=NAME)).isprintable()
    problems = [(NAME, NAME), ("query", NAME)]
    first, *lines = str(ln.errors.SpecError(problems, locations=[NAME, ""])).split("\n")
    assert first == "The spec has 2 problems:"
    assert len(lines) == 2
    assert all(map(str.isprintable, lines))


UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180d\u180f\u3164\ufe00\ufe0f\uffa0"
UNSEEN += "\U000e0100\U000e01ef"
"""Letters and marks to Unicode, which are to be shown as nothing (Default_Ignorable_Code_Point)."""


@pytest.mark.dense
@given(st.text() | st.text(st.sampled_from(UNSEEN + "a\u200d\u2764")))
def test_what_is_shown_is_seen(text: str) -> None:
    shown = _words.plain(text)
    assert len(shown) == len(text)
    for old, new in zip(text, shown, strict=True):
        category = unicodedata.category(new)
        assert category not in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
        assert category != "Cf" or new in "\u200c\u200d"
        assert new not in UNSEEN
        assert new == old or new in " ?"
    assert _words.plain(shown) == shown
    assert "<" not in _words.html(text)
    assert _words.plain(text, lines=True).replace("\n", " ") == shown


@pytest.mark.parametrize("letter", UNSEEN)
def test_a_letter_that_nobody_sees_hides_nowhere(letter: str) -> None:
    """Names that differ in it alone looked the same, and one of it alone like none."""
    assert _words.plain(letter) == _words.html(letter) == "?"
    assert _words.plain(f"a{letter}b\n", lines=True) == "a?b\n"
    assert letter not in _words.line("Plan", letter)
    assert letter not in str(ln.errors.InvalidArgument(name=letter, value=letter, expected=letter))
    written = starter._key(f"a{letter}b")
    assert written.isascii()
    assert tomllib.loads(f"{written} = 0") == {f"a{letter}b": 0}


def test_there_is_one_door_to_terminals_and_pages() -> None:
    """Whoever writes elsewhere has to give a reason here."""
    doors = {
        "click.echo(": {"cli/terminal.py"},
        "sys.stdout.write(": set[str](),
        "sys.stderr.write(": set[str](),
        ".isprintable()": {
            "_words.py",
            "_validate.py",  # what isn't printable is refused
            "tables/results/table_files.py",  # is quoted
        },
        "html import escape": {"_words.py"},
        "Console(": {"cli/terminal.py"},  # of texts that are `plain`
    }
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}
    for door, known in doors.items():
        results = {name for name, text in files.items() if door in text}
        assert results == known, door
