"""Options for a query's sensitivity: whole numbers, cells and counting queries."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.cli.program import answer, run


@pytest.mark.slow
def test_a_whole_number_query_gets_the_best_noise_on_whole_numbers() -> None:
    record = answer("compare", "--epsilon", "1", "--delta", "0.01", "--loss", "mae", "--integer")
    best = record["candidates"][0]
    assert best["noise"]["name"] == "discrete-staircase"
    assert best["mae"] == pytest.approx(0.7984977697, abs=1e-9)
    assert record["lower_bound"]["scope"] == "integer"
    assert best["sensitivity"] == {"kind": "integer", "bound": "1"}
    assert run("compare", "--epsilon", "1", "--integer", "--sensitivity", "1.5").returncode == 2


def test_a_count_without_a_delta(tmp_path: Path) -> None:
    path = tmp_path / "count.json"
    record = answer("compare", "--epsilon", "1", "--integer")["candidates"][0]
    assert record["noise"]["name"] == "geometric"
    assert record["mse"] == pytest.approx(2 / math.e / (1 - 1 / math.e) ** 2, rel=1e-12)
    item = answer(
        "calibrate", "--noise", "geometric", "--epsilon", "2", "--integer", "--sensitivity", "2",
        "--certificate", str(path),
    )  # fmt: skip
    assert item["noise"]["parameters"] == {"cells": 2, "core": 1, "decay": 2}
    assert item["mse"] == pytest.approx(1.6406335924475586, rel=1e-12)
    assert answer("verify", str(path))["verified"]
    at = ("--scale", "1", "--param", "cells=1", "--param", "core=1", "--param", "decay=1")
    for integer in (("--norm", "integer"), ("--integer",)):
        (known,) = answer("profile", "--noise", "geometric", *integer, *at, "--epsilon", "0.5")[
            "points"
        ]
        assert known["delta_interval"] == pytest.approx([0.28764913664496] * 2, rel=1e-12)


def test_noise_for_one_number_is_refused_for_several() -> None:
    for name in ("truncated-staircase", "discrete-staircase"):
        done = run("calibrate", "--noise", name, "--epsilon", "1", "--delta", "1e-5",
                   "--dimension", "2", "--json")  # fmt: skip
        assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.dense
def test_counting_queries_are_fitted_with_an_ellipse() -> None:
    budget = ("--epsilon", "1", "--delta", "1e-5", "--counting-queries", "--dimension", "5")
    record = answer("compare", *budget)["candidates"]
    plain = next(
        entry
        for entry in record
        if entry["noise"]["name"] == "gaussian" and "geometry" not in entry
    )
    assert plain["mse"] / 5 == pytest.approx(69.588, rel=1e-5)
    assert record[0]["noise"]["name"] == "two-sided-staircase"
    assert record[0]["variances"] == pytest.approx([8.1896] * 5, rel=1e-4)
    ellipse = next(
        entry
        for entry in record
        if entry["noise"]["name"] == "l2" and entry.get("geometry") is not None
    )
    assert ellipse["variances"][0] == pytest.approx(14.5424, rel=1e-5)
    counted = answer("compare", *budget, "--max-nonzero", "2", "--release-n")["candidates"]
    assert all(entry["dimension"] == 6 and entry["certified"] for entry in counted)
    assert {entry["geometry"]["name"] for entry in counted if "geometry" in entry} == {
        "ellipse",
        "algorithm-1",
    }
    item = answer("calibrate", "--noise", "gaussian", *budget, "--neighbours", "replace-one")
    assert item["sensitivity"]["neighbours"] == "replace-one"


def test_cells_of_a_histogram() -> None:
    options = ("--norm", "linf", "--integer", "--dimension", "30")
    item = answer(
        "calibrate", "--noise", "discrete-staircase", "--epsilon", "1", "--delta", "0.01", *options
    )
    assert item["geometry"] == {"name": "cells", "kind": "cells", "count": 30}
    assert item["mae"] == pytest.approx(30 * 0.7984977697, rel=1e-9)


@pytest.mark.dense
def test_cells_of_which_several_move(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    item = answer(
        "calibrate", "--noise", "laplace", "--epsilon", "1", "--delta", "1e-5", "--norm", "linf",
        "--l0", "2", "--dimension", "30", "--certificate", str(path),
    )  # fmt: skip
    assert item["geometry"]["kind"] == "cells"
    assert item["sensitivity"] == {"kind": "linf", "bound": "1", "l0": 2, "whole": False}
    assert 7.99 < item["variances"][0] < 8
    assert answer("verify", str(path))["verified"]
    path.write_text(path.read_text().replace('"l0": 2', '"l0": 3'))
    assert run("verify", str(path)).returncode == 1
