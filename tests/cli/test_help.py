"""Help and errors as somebody meets them who types the program's name for the first time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leastnoise.audit.audit import DETECTORS
from leastnoise.design.programs.find import fine_gap, plain_gap
from leastnoise.design.programs.refine import Task
from leastnoise.guarantees.budget import Budget
from tests.cli.program import run

COMMANDS = [
    (*group, command)
    for group, names in (
        ((), ("calibrate", "compare", "profile", "compose", "init", "schema", "release", "verify",
              "report", "difference", "standardise", "limits", "design", "demo",
              "ledger")),
        (("ledger",), ("init", "show", "history", "check", "register")),
    )
    for command in names
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_names_types_in_words(command: tuple[str, ...]) -> None:
    shown = run(*command, "-h", columns=80)
    assert shown.returncode == 0
    assert shown.stdout == run(*command, "--help", columns=80).stdout
    assert not re.search(r"<\w|\{|[a-z](…|\.\.\.)$", shown.stdout, re.MULTILINE)
    assert f"leastnoise {' '.join(command)}" in shown.stdout
    assert "-h, --help" in shown.stdout
    narrow = run(*command, "-h", columns=60).stdout
    assert not re.search(r"\w-$|\[default:$", narrow, re.MULTILINE)  # a name or value, broken
    assert narrow.isascii() or not re.search("[\u2011\u00a0]", narrow)


def test_options_are_in_groups_with_their_choices() -> None:
    shown = run("calibrate", "--help", columns=80).stdout
    groups = re.findall(r"^(\w+):$", shown, re.MULTILINE)
    assert groups == ["Noise", "Budget", "Query", "Search", "Output", "Other"]
    of = {name: shown.partition(f"{name}:\n")[2].partition("\n\n")[0] for name in groups}
    assert "--noise NAME" in of["Noise"]
    assert "--epsilon NUMBER" in of["Budget"]
    assert "--norm l2|l1|linf" in of["Query"]
    assert "--neighbours add-remove|replace-one" in of["Query"]
    assert "--loss mse|mae" in of["Search"]
    assert "--certificate FILE" in of["Output"]
    assert "--help" in of["Other"]


def test_the_gap_that_is_left_out_is_the_one_of_the_search() -> None:
    gap, gap_above, fine, fine_above = (
        search(Task(budget=Budget(epsilon=epsilon), loss="mse"))
        for search, epsilon in ((plain_gap, 5), (plain_gap, 6), (fine_gap, 2), (fine_gap, 3))
    )
    assert fine < fine_above == gap
    for command in ("calibrate", "compare"):
        shown = " ".join(run(command, "--help", columns=80).stdout.split())
        assert f"If left out: {gap:g}, or {gap_above:g} for epsilon > 5;" in shown
        assert f"compare --bound takes {fine:g} up to epsilon = 2." in shown


def test_a_query_is_declared_alike_everywhere() -> None:
    declared = {
        run(command, "--help", columns=80).stdout.partition("Query:\n")[2].partition("\n\n")[0]
        for command in ("calibrate", "compare", "profile", "audit")
    }
    assert len(declared) == 1
    assert "--counting-queries" in declared.pop()


def test_each_detector_of_an_audit_is_named() -> None:
    shown = run("audit", "--help", columns=200).stdout
    assert all(name in shown for name in DETECTORS)


def test_every_summary_is_whole() -> None:
    for group in ((), ("ledger",)):
        shown = run(*group, "--help", columns=80).stdout
        listed = shown.partition("Commands:\n")[2].partition("\n\n")[0]
        summaries = re.sub(r"\n {4,}", " ", listed).splitlines()
        assert len(summaries) >= 5
        assert [text for text in summaries if not text.endswith(".") or text.endswith("..")] == []


@pytest.mark.parametrize("command", [(), ("ledger",)])
def test_nothing_asked_is_answered_by_help(command: tuple[str, ...]) -> None:
    done = run(*command, columns=80)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == run(*command, "--help", columns=80).stdout


COMPARE = ("compare", "--delta", "1e-5")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("compare", "--epsilom", "1"), "No such option: --epsilom. Did you mean --epsilon?"),
        (("--verson",), "No such option: --verson. Did you mean --version?"),
        (("compare", "--qqq"), "No such option: --qqq.\n"),
        (("compare",), "Missing option '--epsilon'.\nHelp: leastnoise compare --help"),
        (("compare", "--epsilon"), "'--epsilon' requires an argument"),
        (("verify",), "Missing argument 'FILE|FOLDER'"),
        (("verify", "a", "b"), "unexpected extra argument"),
        (("calibrat",), "No such command 'calibrat'. Did you mean 'calibrate'?"),
        (("ledger", "shw", "x"), "Did you mean 'show'?"),
        ((*COMPARE, "--epsilon", "1e400"), "1e-300 <= |epsilon| <= 1e300, got --epsilon='1e400'"),
        ((*COMPARE, "--epsilon", "nan"), "a finite epsilon, got --epsilon=nan"),
        ((*COMPARE, "--epsilon", "-1"), "got --epsilon=-1. Common budgets"),
        ((*COMPARE, "--epsilon=-1"), "got --epsilon=-1. Common budgets"),
        ((*COMPARE, "--epsilon", "1,5"), "got --epsilon='1,5'. Write it with a point: 1.5."),
        ((*COMPARE, "--epsilon", "1,500"), "got --epsilon='1,500'. Write no comma."),
        (("compare", "--epsilon", "1", "--delta", "50%"), "'50%'. Write the percentage as 0.5."),
        ((*COMPARE, "--epsilon", "1", "--sampling-rate", "5 %"), "Write the percentage as 0.05."),
        ((*COMPARE, "--epsilon", "1", "--sensitivity", "-1"), "got --sensitivity=-1"),
        ((*COMPARE, "--epsilon", "1", "--dimension", "1.5"), "whole number, got --dimension='1.5'"),
        ((*COMPARE, "--epsilon", "1", "--dimension", "1e3"), "Write it like --dimension 3."),
        ((*COMPARE, "--epsilon", "1", "--dimension", "-1"), "dimension >= 1"),
        ((*COMPARE, "--epsilon", "1", "--gap", "1,5"), "--gap='1,5'. Write it with a point: 1.5."),
        ((*COMPARE, "--epsilon", "1", "--gap", "nan"), "a number, got --gap='nan'"),
        ((*COMPARE, "--epsilon", "1", "--gap", "1e400"), "gap"),
        ((*COMPARE, "--epsilon", "1", "--norm", "l22"), "--norm='l22'. Did you mean l2?"),
        (("ledger", "init", "x", "--dataset", "d", "--unit", "row", "--epsilon", "1", "--filter",
          "sum"), "got --filter='sum'. Did you mean sums?"),
        (("verify", "nowhere"), "found none at nowhere"),
        (("verify", "empty"), "empty is empty"),
        (("verify", "."), "no spec.toml"),
        (("release", "nowhere"), "found none at nowhere"),
        (("release", "empty"), "Missing: the version"),
        (("release", "."), "it is a folder"),
        (("compose", ".", "--epsilon", "1"), "it is a folder"),
        (("compose", "empty", "--epsilon", "1"), "empty is empty"),
        (("report", "empty"), "release"),
        (("ledger", "show", "empty"), "empty"),
        (("ledger", "show", "nowhere"), "nowhere"),
        (("init", "nowhere.csv"), "none at nowhere.csv"),
        (("init", "empty.csv"), "empty.csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_mistake_is_named_with_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "empty.csv").write_text("")
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("leastnoise: ")
    assert text in done.stderr
