"""The commands as a shell sees them: stdout, stderr and exit code of the real program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leastnoise as ln
from tests.cli.program import answer, run
from tests.problems import MINIMAL_SCALES, MinimalScale


@pytest.mark.dense
@pytest.mark.parametrize(
    "problem",
    [
        problem
        for problem in MINIMAL_SCALES
        if (problem.epsilon, problem.delta) in {("1", "1e-5"), ("1e-3", "1e-12"), ("20", "1e-15")}
        or problem.epsilon == "0"
    ],
    ids=lambda problem: problem.name,
)
def test_calibrate_prints_the_reference_scales(problem: MinimalScale) -> None:
    record = answer(
        "calibrate", "--noise", problem.family, "--epsilon", problem.epsilon,
        "--delta", problem.delta, "--dimension", str(problem.dimension),
    )  # fmt: skip
    assert record["certified"] is True
    assert record["scale"] == pytest.approx(float(problem.scale), rel=1e-9)
    assert (record["epsilon"], record["delta"]) == (problem.epsilon, problem.delta)
    assert record["delta_interval"][1] <= float(problem.delta)


def test_the_record_has_the_fields_that_were_agreed() -> None:
    record = answer("calibrate", "--noise", "l2", "--epsilon", "1", "--delta", "1e-5",
                   "--dimension", "7", "--sensitivity", "2.50")  # fmt: skip
    assert set(record) == {
        "noise", "dimension", "sensitivity", "epsilon", "delta", "compositions", "scale", "mse",
        "mae", "delta_interval", "certified", "seconds",
    }  # fmt: skip
    assert record["noise"] == {"name": "l2", "parameters": {}}
    assert record["sensitivity"] == {"kind": "l2", "bound": "2.50"}
    assert set(record["seconds"]) == {"search", "proof"}


def test_compare_ranks_l2_before_the_gaussian() -> None:
    record = answer("compare", "--epsilon", "1", "--delta", "1e-5", "--dimension", "7")
    ranked = [(item["noise"]["name"], round(item["mse"], 3)) for item in record["candidates"]]
    assert [item for item in ranked if item[0] in {"l2", "gaussian"}] == [
        ("l2", 48.814), ("gaussian", 97.423)
    ]  # fmt: skip
    assert record["lower_bound"] is None
    assert "laplace" in [item["name"] for item in record["skipped"]]


@pytest.mark.dense
def test_compare_says_what_cannot_serve() -> None:
    record = answer("compare", "--epsilon", "0", "--delta", "0.1", "--dimension", "1")
    assert "l2" in {item["name"] for item in record["skipped"]}


def test_compare_with_nothing_that_serves_is_refused() -> None:
    sample = ("--delta", "0.2", "--sampling-rate", "0.1")  # which hides all without noise
    done = run("compare", "--epsilon", "1", *sample, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "leastnoise: No noise family can serve this query. agreeing: it needs counts" in done.stderr
    )
    assert " cactus: A delta of" in done.stderr


@pytest.mark.parametrize(
    "again", [("--epsilon", "2"), ("--epsilon=1",), ("--norm", "l1"), ("--dimension", "3")]
)
def test_an_option_that_is_given_twice_exits_2(again: tuple[str, ...]) -> None:
    twice = ("--epsilon", "1", "--norm", "l2", "--dimension", "2", *again)
    done = run("calibrate", "--noise", "gaussian", "--delta", "1e-5", *twice)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{again[0].partition('=')[0]} to be given once" in done.stderr


def test_one_dimension_of_l2_is_laplace() -> None:
    record = answer("calibrate", "--noise", "l2", "--epsilon", "1", "--delta", "1e-5")
    assert record["noise"]["name"] == "laplace"
    assert record["scale"] == pytest.approx(0.99998000029999533, rel=1e-9)


def test_profile_is_a_list_of_intervals() -> None:
    record = answer("profile", "--noise", "l2", "--scale", "0.99", "--dimension", "7",
                   "--epsilon", "1", "--epsilon", "1.02")  # fmt: skip
    first, second = record["points"]
    assert first["epsilon"] == "1"
    low, high = first["delta_interval"]
    assert low <= 5.044387690030895335923e-9 <= high
    assert second["delta_interval"] == [0.0, 0.0]


def test_tables_for_people() -> None:
    for arguments in (
        ("calibrate", "--noise", "gaussian", "--epsilon", "1", "--delta", "1e-5"),
        ("compare", "--epsilon", "1", "--delta", "1e-5", "--dimension", "7"),
        ("profile", "--noise", "gaussian", "--scale", "3", "--epsilon", "1"),
    ):
        done = run(*arguments)
        assert done.returncode == 0
        assert "gaussian" in done.stdout


@pytest.mark.dense
def test_compare_counts_what_it_skips_and_says_why_if_asked() -> None:
    asked = ("compare", "--epsilon", "1", "--delta", "1e-5", "--dimension", "7")
    skipped = answer(*asked)["skipped"]
    short, long = run(*asked).stdout, " ".join(run(*asked, "--verbose").stdout.split())
    assert f"\n{len(skipped)} families are skipped; --verbose shows why.\n" in short
    assert "laplace" not in short
    assert [
        item for item in skipped if f"{item['name']} is skipped: {item['why']}." not in long
    ] == []
    assert "--verbose shows why" not in long


def test_calibrate_says_first_what_it_does_to_a_number() -> None:
    mechanism = ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1))
    shown = run("calibrate", "--noise", "gaussian", "--epsilon", "1", "--delta", "1e-5").stdout
    facts = [tuple(re.split(" {2,}", line.strip())) for line in shown.splitlines()]
    assert facts[:4] == [
        ("std", f"{mechanism.std[0]:.4g}"),
        ("95 % of the noise", f"±{mechanism.accuracy(0.95)[0]:.4g}"),
        ("noise", "gaussian"),
        ("scale", f"{float(mechanism.noise.scale):.12g}"),
    ]
    assert facts[0][1] == "3.731"  # of the Gaussian, the scale itself
    assert facts[-1] == ("Proved: δ ≤ 1e-5 at ε = 1. It is at least 9.999e-6.",)


def test_calibrate_of_unlike_coordinates_and_of_pure_noise() -> None:
    asked = ("--epsilon", "1", "--counting-queries", "--release-n", "--dimension", "3")
    shown = run("calibrate", "--noise", "l2", *asked).stdout
    low, high = re.findall(r"std of each number +(\S+) to (\S+)", shown)[0]
    record = answer("calibrate", "--noise", "l2", *asked)["variances"]
    assert (float(low), float(high)) == pytest.approx(
        (min(record) ** 0.5, max(record) ** 0.5), rel=1e-3
    )
    assert shown.endswith("Proved: δ = 0 at ε = 1.\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--epsilon", "-1"), "0 <= epsilon"),
        (("--epsilon", "nan"), "epsilon"),
        (("--epsilon", "inf"), "epsilon"),
        (("--epsilon", "1", "--delta", "1.5"), "Did you mean a percentage?"),
        (("--epsilon", "1", "--delta", "1"), "Did you mean a percentage?"),
        (("--epsilon", "1", "--dimension", "0"), "dimension"),
        (("--epsilon", "1", "--sensitivity", "-1"), "sensitivity > 0"),
        (("--epsilon", "1", "--sensitivity", "nan"), "sensitivity"),
        (("--epsilon", "1", "--norm", "l3"), "norm"),
        (("--epsilon", "1", "--loss", "rmse"), "Did you mean mse?"),
        (("--epsilon", "one"), "decimal"),
        ((), "--epsilon"),
        (("--epsilon", "1", "--dimension", "many"), "dimension"),
        (("--epsilon", "1", "--dimensions", "2"), "--dimension"),
        (("--epsilon", "1", "--compositions", "0"), "compositions >= 1"),
        (("--epsilon", "1", "--sampling-rate", "2"), "sampling-rate <= 1"),
    ],
)
@pytest.mark.parametrize("command", ["calibrate", "compare"])
def test_bad_arguments_exit_2_with_a_clear_word(
    command: str, arguments: tuple[str, ...], words: str
) -> None:
    name = ("--noise", "gaussian") if command == "calibrate" else ()
    done = run(command, *name, *arguments, "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_noise_names_the_nearest() -> None:
    done = run("calibrate", "--noise", "gausian", "--epsilon", "1")
    assert done.returncode == 2
    assert "Did you mean gaussian?" in done.stderr


def test_the_impossible_is_refused_with_exit_1() -> None:
    done = run("calibrate", "--noise", "gaussian", "--epsilon", "1", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "delta=0" in done.stderr


def test_budgets_for_many_releases(tmp_path: Path) -> None:
    budget = ("--noise", "gaussian", "--epsilon", "1", "--delta", "1e-5", "--compositions", "100")
    path = tmp_path / "c.json"
    record = answer("calibrate", *budget, "--certificate", str(path))
    assert record["compositions"] == 100
    assert record["scale"] == pytest.approx(37.3063163482, rel=1e-10)
    assert answer("verify", str(path))["verified"]
    together = answer("compose", f"{path}=100", "--epsilon", "1", "--delta", "1e-5")
    assert together["points"][0]["delta_interval"] == pytest.approx([1e-5, 1e-5], rel=1e-9)
    assert together["budgets"][0]["epsilon_interval"] == pytest.approx([1, 1], rel=1e-9)
    profile = ("--noise", "gaussian", "--scale", "37.3063163482", "--epsilon", "1")
    (point,) = answer("profile", *profile, "--compositions", "100")["points"]
    assert point["delta_interval"] == pytest.approx([1e-5, 1e-5], rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nothing.json", "--epsilon", "1"), 2),
        (("{path}",), 2),
        (("{path}=x", "--epsilon", "1"), 2),
        (("{path}=0", "--epsilon", "1"), 2),
        (("{path}", "--delta", "0"), 1),
    ],
)
def test_compositions_that_make_no_sense(
    tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    path = tmp_path / "c.json"
    answer(
        "calibrate", "--noise", "gaussian", "--epsilon", "1", "--delta", "1e-5",
        "--certificate", str(path),
    )  # fmt: skip
    done = run("compose", *(text.format(path=path) for text in arguments))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("leastnoise: ")


_COMMANDS = (
    "audit",
    "calibrate",
    "compare",
    "profile",
    "init",
    "schema",
    "release",
    "verify",
    "ledger",
    "demo",
)


def test_help_and_version() -> None:
    done = run("--help")
    assert done.returncode == 0
    for command in _COMMANDS:
        assert command in done.stdout
        assert run(command, "--help").returncode == 0
    assert run("--version").stdout.startswith("leastnoise 0")
    assert run("calibrat").returncode == 2


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "leastnoise", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, run("--version").stdout)


def test_certificates_verify_and_tampered_ones_do_not(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    process = run("calibrate", "--noise", "l2", "--epsilon", "1", "--delta", "1e-5",
               "--dimension", "7", "--certificate", str(path))  # fmt: skip
    assert process.returncode == 0
    good = run("verify", str(path), "--json")
    assert good.returncode == 0
    assert json.loads(good.stdout)["verified"] is True

    path.write_text(path.read_text().replace('"epsilon": "1"', '"epsilon": "0.9"'))
    bad = run("verify", str(path), "--json")
    assert bad.returncode == 1
    record = json.loads(bad.stdout)
    assert (record["verified"], record["delta_interval"]) == (False, None)
    assert "0.9" in record["reason"]
    first, advice = run("verify", str(path)).stderr.splitlines()
    assert first == f"leastnoise: not verified: {record['reason']}"
    assert advice.startswith("Ask the publisher for the original files.")


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe\x00", b"hello"])
def test_verify_of_what_is_no_certificate_exits_2(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "c.json"
    if content is not None:
        path.write_bytes(content)
    done = run("verify", str(path), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_verify_with_a_ledger_names_the_folder_that_is_missing(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    done = run("verify", missing, "--ledger", str(tmp_path / "ledger"))
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith(f"found none at {missing}.")


def test_certificate_into_a_missing_folder_exits_2(tmp_path: Path) -> None:
    done = run("calibrate", "--noise", "laplace", "--epsilon", "1",
               "--certificate", str(tmp_path / "no" / "c.json"))  # fmt: skip
    assert done.returncode == 2
    assert "Can't write" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_bound_is_shown_and_below_every_loss() -> None:
    record = answer("compare", "--epsilon", "1", "--delta", "0.01", "--loss", "mae", "--bound")
    bound = record["lower_bound"]
    assert (bound["loss"], bound["certified"], bound["scope"]) == ("mae", True, "real")
    assert 0.9060 < bound["value"] <= 0.90713
    assert all(item["mae"] >= bound["value"] for item in record["candidates"])
    shown = run("compare", "--epsilon", "1", "--delta", "0.01", "--loss", "mae")
    assert "above the best possible mae" in shown.stdout


@pytest.mark.slow
def test_designed_noise_takes_a_gap_and_a_time_limit() -> None:
    asked = ("--epsilon", "1", "--delta", "0.02", "--loss", "mae")
    effort = ("--gap", "0.02", "--time-limit", "20")
    record = answer("calibrate", "--noise", "optimal", *asked, *effort)
    assert record["certified"]
    bound = answer("compare", *asked, *effort, "--bound")["lower_bound"]
    assert bound["value"] <= record["mae"] <= 1.02 * bound["value"]
    for wrong in (("--gap", "2"), ("--gap", "0"), ("--time-limit", "-1")):
        assert run("calibrate", "--noise", "optimal", *asked, *wrong).returncode == 2
        assert run("calibrate", "--noise", "gaussian", *asked, *wrong).returncode == 2
    refused = run("calibrate", "--noise", "gaussian", *asked, "--gap", "0.01")
    assert "not designed" in refused.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--max-nonzero", "2"),
        ("--release-n",),
        ("--neighbours", "replace-one"),
        ("--l0", "2"),
        ("--counting-queries", "--norm", "l1"),
        ("--counting-queries", "--l0", "2"),
        ("--counting-queries", "--integer"),
        ("--counting-queries", "--dimension", "3", "--max-nonzero", "4"),
        ("--counting-queries", "--neighbours", "everyone"),
        ("--counting-queries", "--neighbours", "replace-one", "--release-n"),
    ],
)
def test_options_that_contradict_each_other_exit_2(options: tuple[str, ...]) -> None:
    done = run("compare", "--epsilon", "1", *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("leastnoise: Expected")


@pytest.mark.parametrize("again", [("--alpha", "1"), ("--param", "alpha=1")])
def test_a_parameter_that_is_set_twice_exits_2(again: tuple[str, ...]) -> None:
    budget = ("--epsilon", "1", "--delta", "1e-5", "--dimension", "3")
    done = run("calibrate", "--noise", "generalized-gamma", *budget, "--param", "alpha=2", *again)
    assert (done.returncode, done.stdout) == (2, "")
    assert "alpha to be set once" in done.stderr


@pytest.mark.dense
@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        ("--help", "numpy flint scipy pydantic duckdb rich"),
        ("calibrate --noise laplace --epsilon 1 --json", "scipy pydantic duckdb rich"),
        ("compare --epsilon 1 --delta 1e-5 --dimension 3 --norm l1 --json", "pydantic duckdb"),
        (
            "release nowhere.toml",
            "scipy duckdb narwhals leastnoise.selection leastnoise.calibration",
        ),
    ],
)
def test_commands_import_no_more_than_they_need(arguments: str, spared: str) -> None:
    """What is slow to import stays out of commands that have no need of it."""
    program = """
import sys
from leastnoise.cli.main import main
try:
    main()
except SystemExit:
    print("imported:", *sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments.split()],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = done.stdout.rpartition("imported:")[2].split()
    assert "click" in imported
    assert not set(spared.split()) & set(imported)
