"""`leastnoise audit`: a function or a command, three exit codes, and no output quoted."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.program import run

MODULE = """
import os, sys
import numpy as np

def laplace(value, count):
    return value + np.random.default_rng().laplace(0, 10, count)

def exact(value, count):  # two-sided geometric: 0.5-DP for a count
    p = -np.expm1(-0.5)
    generator = np.random.default_rng()
    return value + generator.geometric(p, count) - generator.geometric(p, count)

def one(value):
    return exact(value, 1)[0]

def plane(value, count):
    return value + exact(0, count)[:, None] * [1, 1]

def failing(value, count):
    raise ValueError("secret 987")

def leaving(value, count):
    sys.exit(0)

class Stop(BaseException):
    pass

def stopping(value, count):
    raise Stop("secret 987")

def closing(value, count):
    raise GeneratorExit("secret 987")

number = 3

if __name__ == "__main__":
    for output in exact(float(sys.argv[1]), int(sys.argv[2])):
        print(output)
"""
SMALL = ("--draws", "20000")


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mechanisms")
    (folder / "mechanisms.py").write_text(MODULE)
    (folder / "leaving.py").write_text("raise SystemExit(0)")
    (folder / "stopping.py").write_text("raise GeneratorExit('secret 987')")
    return folder


@pytest.mark.dense
def test_a_violation_is_exit_code_1(folder: Path) -> None:
    done = run("audit", "mechanisms:laplace", "--epsilon", "0.1", *SMALL, cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "precision: violation." in done.stdout
    asked = run("audit", "mechanisms:laplace", "--epsilon", "0.1", *SMALL, "--json", cwd=folder)
    assert asked.returncode == 1
    record = json.loads(asked.stdout)
    assert record["violated"]
    assert record["epsilon_lower"] > 3
    assert [item["detector"] for item in record["findings"] if item["verdict"] == "violation"] == [
        "precision"
    ]


@pytest.mark.dense
def test_nothing_found_is_exit_code_0(folder: Path) -> None:
    claim = ("--epsilon", "0.5", "--norm", "integer")
    done = run("audit", "mechanisms:exact", *claim, *SMALL, "--json", cwd=folder)
    assert done.returncode == 0, done.stdout
    assert not json.loads(done.stdout)["violated"]
    shown = run("audit", "mechanisms:exact", *claim, *SMALL, cwd=folder)
    assert "doesn't prove privacy" in shown.stdout
    assert run("audit", "mechanisms:exact", "--epsilon", "0.2", *SMALL, cwd=folder).returncode == 1


@pytest.mark.dense
def test_named_noise(folder: Path) -> None:
    """Geometric noise of ε = 0.5 is the discrete staircase with one cell; of ε = 0.4 it isn't."""
    for decay, code in (("0.5", 0), ("0.4", 1)):
        done = run(
            "audit", "mechanisms:exact", "--epsilon", "0.5", "--norm", "integer", "--noise",
            "geometric", "--scale", "1", "--param", "cells=1", "--param", "core=1", "--param",
            f"decay={decay}", "--detector", "noise", "--draws", "100000", cwd=folder,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.dense
@pytest.mark.parametrize(
    ("query", "code"),
    [
        (("--integer",), 0),
        (("--norm", "linf"), 0),
        (("--counting-queries",), 0),
        (("--counting-queries", "--sensitivity", "2"), 1),
        (("--counting-queries", "--neighbours", "replace-one"), 0),
    ],
)
def test_queries_are_declared_as_for_all_commands(
    folder: Path, query: tuple[str, ...], code: int
) -> None:
    done = run("audit", "mechanisms:exact", "--epsilon", "0.5", *query, *SMALL, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.dense
def test_inputs_one_output_a_call_and_vectors(folder: Path) -> None:
    asked = ("--epsilon", "0.2", "--norm", "integer", "--detector", "distinguishing")
    done = run("audit", "mechanisms:one", "--one-a-call", *asked, *SMALL, cwd=folder)
    assert done.returncode == 1
    vectors = ("--input", "0,0", "--input", "1,0", "--detector", "repeats", "--epsilon", "0.5")
    done = run("audit", "mechanisms:plane", *vectors, *SMALL, cwd=folder)
    assert done.returncode == 1
    assert "coordinates 0 and 1" in done.stdout


@pytest.mark.dense
def test_a_command(folder: Path) -> None:
    command = f"{shlex.quote(sys.executable)} mechanisms.py {{value}} {{count}}"
    asked = ("audit", "--command", command, *SMALL)
    assert run(*asked, "--epsilon", "0.5", cwd=folder).returncode == 0
    assert run(*asked, "--epsilon", "0.2", cwd=folder).returncode == 1


@pytest.mark.dense
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("mechanisms:failing",), "The function failed: ValueError at mechanisms.py"),
        (("mechanisms:leaving",), "The function failed: SystemExit at mechanisms.py"),
        (("mechanisms:stopping",), "The function failed: Stop at mechanisms.py"),
        (("mechanisms:closing",), "The function failed: GeneratorExit at mechanisms.py"),
        (("leaving:draw",), "can't be imported: SystemExit at leaving.py"),
        (("stopping:draw",), "can't be imported: GeneratorExit at stopping.py"),
        (("mechanisms:missing",), "name of a function"),
        (("mechanisms:number",), "name of a function"),
        (("nowhere:draw",), "can't be imported: ModuleNotFoundError"),
        (("mechanisms",), "such as noise.laplace:draw"),
        ((), "a function or a --command"),
        (("mechanisms:exact", "--command", "true"), "a function or a --command"),
        (
            ("--command", "yes secret987"),
            "Line 1 of the command's output has a text that can't be read as a number",
        ),
        (("--command", "yes 1", "--timeout", "0"), "--timeout"),
        (("mechanisms:exact", "--detector", "nose"), "Did you mean noise"),
        (("mechanisms:exact", "--noise", "laplace"), "--noise and --scale together"),
        (("mechanisms:exact", "--scale", "1"), "--noise and --scale together"),
        (("mechanisms:exact", "--input", "1"), "two neighbouring inputs"),
        (("mechanisms:exact", "--l0", "2"), "--norm linf beside it, got --l0=2"),
        (("mechanisms:exact", "--error", "2"), "error"),
        (("mechanisms:exact", "--delta", "5"), "Did you mean a percentage"),
    ],
)
def test_what_is_malformed_is_exit_code_2(
    arguments: tuple[str, ...], says: str, folder: Path
) -> None:
    done = run("audit", *arguments, "--epsilon", "1", "--draws", "1000", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("leastnoise: ")
    assert says in done.stderr
    assert "987" not in done.stderr


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_command_without_noise_breaks_the_sensitivity_s_claim(noise: str) -> None:
    """No sensitivity is exceeded, but outputs that are all alike have no centre with that noise."""
    asked = ("--epsilon", "0.1", "--detector", "sensitivity", "--noise", noise, "--scale", "10")
    inputs = ("--norm", "l2", "--input", "0", "--input", "1")
    done = run("audit", "--command", "yes 0", *asked, *inputs, *SMALL)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"no centre of {noise} noise of scale 10 fits" in " ".join(done.stdout.split())


@pytest.mark.dense
def test_a_command_that_ends_its_output_and_not_itself_is_stopped(tmp_path: Path) -> None:
    script = tmp_path / "hangs.sh"
    script.write_text("#!/bin/sh\necho 1\nexec >&-\nsleep 300\n")
    script.chmod(0o755)
    asked = ("--epsilon", "1", "--input", "0", "--input", "1", "--draws", "100", "--timeout", "1")
    done = run("audit", "--command", str(script), *asked)
    assert done.returncode == 2
    assert "more than 1 seconds" in done.stderr
