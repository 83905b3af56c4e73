"""Noise in the shape of a body on the command line: options, records, and words for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import answer, run

QUERIES = ("--counting-queries", "--dimension", "3")
OF = {"kind": "counts", "queries": 3, "most": 3, "bound": "1"}
RECORDS = {
    "k-norm": {"body": {"kind": "signed", "of": OF}},
    "k-staircase": {"body": {"kind": "signed", "of": OF}},
    "two-sided-staircase": {"of": OF},
    "two-sided-laplace": {"of": OF},
}


@pytest.mark.parametrize("name", RECORDS)
def test_calibrate_writes_the_body_exactly(name: str, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    record = answer(
        "calibrate", "--noise", name, *QUERIES, "--epsilon", "1", "--certificate", str(file)
    )
    noise = record["noise"]
    assert noise["name"] == name
    ((key, body),) = RECORDS[name].items()
    assert noise["parameters"][key] == body
    assert record["delta_interval"] == [0.0, 0.0]
    assert record["certified"] is True
    assert len(record["variances"]) == 3
    assert sum(record["variances"]) == pytest.approx(record["mse"])
    assert json.loads(file.read_text())["noise"]["parameters"][key] == body
    verified = run("verify", str(file), "--json")
    assert json.loads(verified.stdout)["verified"] is True


def test_compare_puts_null_where_an_error_is_unknown() -> None:
    record = answer("compare", *QUERIES, "--epsilon", "1", "--release-n")
    by_name = {item["noise"]["name"]: item for item in record["candidates"]}
    assert by_name["two-sided-staircase"]["mae"] is None
    assert by_name["k-norm"]["mae"] > 0
    text = run("compare", *QUERIES, "--epsilon", "1", "--release-n").stdout
    assert "unknown" in text


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("k-norm", ()),
        ("k-staircase", ("--param", "gamma=0.5", "--param", "decay=1")),
        ("two-sided-staircase", ("--param", "core=1", "--param", "decay=1")),
        ("two-sided-laplace", ("--param", "core=1")),
    ],
)
def test_profile_takes_the_body_from_the_sensitivity(name: str, shape: tuple[str, ...]) -> None:
    record = answer(
        "profile", "--noise", name, "--scale", "1", *shape, *QUERIES,
        "--epsilon", "0.5", "--epsilon", "1",
    )  # fmt: skip
    first, last = (point["delta_interval"] for point in record["points"])
    assert 0 <= first[0] <= first[1] < 0.288  # randomised response: (1 − e^(−1/2))·e/(1 + e)
    assert last == [0.0, 0.0]
    assert (first[0] > 0) == (name == "k-norm")


def test_a_body_is_no_parameter_that_is_typed() -> None:
    done = run(
        "calibrate", "--noise", "k-norm", *QUERIES, "--epsilon", "1", "--param", "body=1", "--json"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "single number" in done.stderr


def test_what_cannot_serve_is_refused_by_name() -> None:
    done = run("calibrate", "--noise", "two-sided-laplace", "--dimension", "3", "--epsilon", "1")
    assert done.returncode == 1
    assert "two-sided-laplace does not apply" in done.stderr


def test_people_read_of_an_unknown_error(tmp_path: Path) -> None:
    file, plan = tmp_path / "one.json", tmp_path / "plan.json"
    asked = ("--noise", "two-sided-laplace", *QUERIES, "--release-n", "--epsilon", "1")
    done = run("calibrate", *asked, "--certificate", str(file))
    assert done.returncode == 0, done.stderr
    assert "unknown" in done.stdout
    fitted = run(
        "compose", f"{file}=2", "--fit", str(plan), "--epsilon", "3", "--delta", "1e-6"
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr
    assert "unknown" in fitted.stdout
    assert run("verify", str(plan)).returncode == 0
