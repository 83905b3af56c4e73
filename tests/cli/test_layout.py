"""Output for people fits 80 columns, on a terminal and in a file, and no word is broken.

Each command is run at 80 columns and at 400, and must print the same words.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leastnoise.cli import records, terminal
from leastnoise.tables.results.table import Table
from tests.cli.program import run, run_in_terminal

SPEC = """\
version = 1
data = { source = "rows.csv", types = { person = "int", x = "int", town = "text" } }
privacy = { unit = "person", epsilon = "1", delta = "1e-6", ledger = { path = "b.ledger" } }
contribution = { max_rows = 2 }
columns = { x = { bounds = [0, 20] } }

[[query]]
name = "by_town"
statistics = ["count", "mean(x)", "sum(x)"]
group_by = { town = ["Llanfairpwllgwyngyll", "Ash [in the] wold"] }
accuracy = { std = 2, statistic = "count" }

[[query]]
name = "x_in_bins"
histogram = { column = "x", edges = [0, 5, 10, 20] }

[output]
path = "out"
format = "csv"
"""
BOLD = re.compile(r"\x1b\[[01]m")  # the heads of tables, on a terminal
RULE = re.compile("[─ ]+")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger, a release, a certificate and a plan of three releases."""
    folder = tmp_path_factory.mktemp("layout")
    rows = "".join(f"{i},{i % 20},Llanfairpwllgwyngyll\n" for i in range(90))
    (folder / "rows.csv").write_text("person,x,town\n" + rows)
    (folder / "spec.toml").write_text(SPEC)
    commands = (
        ("ledger", "init", "b.ledger", "--dataset", "visits-of-every-year-that-there-were-any",
         "--unit", "person", "--epsilon", "20", "--delta", "1e-5", "--filter", "zcdp"),
        ("release", "spec.toml"),
        ("calibrate", "--noise", "gaussian", "--epsilon", "1", "--delta", "1e-5", "--certificate",
         "a-certificate-with-a-long-name.json"),
        ("compose", "a-certificate-with-a-long-name.json=3", "--epsilon", "1", "--delta", "1e-5",
         "--fit", "plan.json"),
    )  # fmt: skip
    for command in commands:
        done = run(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


BUDGET = ("--epsilon", "1", "--delta", "1e-5")
COMMANDS = [
    ("--help",),
    ("compare", "--help"),
    ("ledger", "--help"),
    ("ledger", "init", "--help"),
    ("calibrate", "--noise", "gaussian", *BUDGET),
    ("calibrate", "--noise", "generalized-gamma", *BUDGET, "--dimension", "4"),
    ("calibrate", "--noise", "k-norm", "--epsilon", "1", "--counting-queries", "--dimension", "4"),
    ("compare", *BUDGET, "--dimension", "7"),
    ("compare", *BUDGET, "--dimension", "7", "--verbose"),
    ("compare", "--epsilon", "1", "--counting-queries", "--dimension", "10", "--verbose"),
    ("profile", "--noise", "l2", "--scale", "0.99", "--dimension", "7", "--epsilon", "1"),
    ("compose", "a-certificate-with-a-long-name.json=3", *BUDGET),
    ("compose", "a-certificate-with-a-long-name.json=3", *BUDGET, "--fit", "again.json"),
    ("verify", "a-certificate-with-a-long-name.json"),
    ("verify", "plan.json"),
    ("verify", "out"),
    ("verify", "out", "--ledger", "b.ledger"),
    ("release", "spec.toml", "--plan"),
    ("release", "spec.toml", "--plan", "--verbose"),
    ("ledger", "show", "b.ledger"),
    ("ledger", "history", "b.ledger"),
    ("ledger", "check", "b.ledger"),
]


@pytest.mark.dense
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_80_columns_hold_every_word(folder: Path, command: tuple[str, ...]) -> None:
    in_terminal = run_in_terminal(*command, cwd=folder)
    in_file = run(*command, cwd=folder, columns=80)
    roomy = run(*command, cwd=folder, columns=400)
    assert in_terminal.returncode == in_file.returncode == roomy.returncode == 0
    assert BOLD.sub("", in_terminal.stdout) == in_file.stdout
    assert in_file.stdout.strip()
    assert [line for line in in_file.stdout.splitlines() if len(line) > 80] == []
    assert words(in_file.stdout) == words(roomy.stdout)


def words(text: str) -> set[str]:
    """The words of `text`, without the rules of its tables."""
    return set(RULE.sub(" ", text).split())


def table(names: int) -> Table:
    """A released table with `names` statistics, whose numbers have many digits."""
    columns: dict[str, tuple[object, ...]] = {"place": ("Llanfairpwllgwyngyll", "Ash in the wold")}
    for index in range(names):
        name = f"count_of_{index}"
        for part, value in (("", 123456.7), ("_std", 1.0), ("_low", 120000.1), ("_high", 130000.9)):
            columns[name + part] = (value, -value)
    return Table(name="a_table", columns=columns)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("statistics", [1, 2, 3, 9])
def test_released_tables(
    statistics: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    for columns in ("80", "400"):
        monkeypatch.setenv("COLUMNS", columns)
        records.print_released(table(statistics))
        shown.append(capsys.readouterr().out)
    narrow, roomy = shown
    assert [line for line in narrow.splitlines() if len(line) > 80] == []
    assert words(narrow) == words(roomy)
    assert narrow.count("120000.1 to 130000.9") == statistics  # an interval stays on its line


def test_a_path_that_no_line_holds_stays_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = "/".join(["a-folder"] * 12)
    terminal.print_table("A title", ("file", "noise"), [(path, "l2")])
    assert path in capsys.readouterr().out


def test_names_move_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_table("a\x1b[1A", ("b\x1b[2K",), [("c\x1b]0;d\x07",)])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["x", "x "])
@pytest.mark.parametrize("columns", ["80", "400"])
def test_a_cell_of_a_million_letters_is_cut_where_it_is_seen(
    text: str, columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its columns were made narrower letter by letter: a label of a ledger took ten seconds."""
    monkeypatch.setenv("COLUMNS", columns)
    cells = [(text * (10**6 // len(text)), "1"), (text * (1000 // len(text)), "2")]
    terminal.print_table("A title", ("label", "number"), cells)
    shown = capsys.readouterr().out
    assert shown.count("x") == (2000 + 1000) // len(text)
    assert shown.count("…") == 1
    terminal.print_table("A title", ("x" * 10**6,), [("1",)])
    shown = capsys.readouterr().out
    assert shown.count("x") == 2000
    assert shown.count("…") == 1


@pytest.mark.parametrize("columns", [60, 80, 400])
def test_facts_fill_a_line_and_not_more(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal.print_facts([("the noise", "a " * 1000), ("delta", "0")])
    lines = capsys.readouterr().out.splitlines()
    assert columns - 1 <= max(map(len, lines)) <= columns
