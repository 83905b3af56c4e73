"""The tables in experiments/liu2026/table8: noise is recomputed, data and verdicts are checked."""

from __future__ import annotations

import hashlib
import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from benchmarks import learning_peers
from tests.experiments.scripts import FOLDER

HERE = FOLDER / "liu2026" / "table8"
SIZES = {  # N and d as in the paper's Table 8, but for the 160 rows of spect
    "adult": (45222, 57),
    "annealing": (898, 42),
    "breast-cancer": (683, 26),
    "dermatology": (366, 98),
    "ecoli": (336, 8),
    "spect": (267, 23),
}


@pytest.fixture(scope="module")
def scripts() -> Any:
    """The scripts, imported as if from their folder, which shares names with others' scripts."""
    names = ("page", "prepare", "run")
    kept = {name: sys.modules.pop(name, None) for name in names}
    sys.path.insert(0, str(HERE))
    results: dict[str, ModuleType] = {}
    try:
        for name in names:
            results[name] = __import__(name)
        yield type("Scripts", (), results)
    finally:
        sys.path.remove(str(HERE))
        for name, module in kept.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def lines() -> list[dict[str, str]]:
    head, *rows = (HERE / "errors.csv").read_text().splitlines()
    return [dict(zip(head.split(","), row.split(","), strict=True)) for row in rows]


@pytest.mark.parametrize("name", SIZES)
def test_the_data_are_those_of_their_source(name: str) -> None:
    folder = HERE / "data" / name
    matches = re.findall(
        r"\| (\S+) \| (\d+) \| ([0-9a-f]{64}) \|", (folder / "SOURCE.md").read_text()
    )
    assert matches
    for file, size, digest in matches:
        content = (folder / file).read_bytes()
        assert len(content) == int(size)
        assert hashlib.sha256(content).hexdigest() == digest


@pytest.mark.dense
@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_the_papers_and_rows_are_no_longer_than_said(scripts: Any, name: str) -> None:
    data = scripts.prepare.ALL[name]()
    assert data.features.shape == SIZES[name]
    assert np.abs(data.features).max() <= 1 + 1e-15
    assert set(np.unique(data.labels)) == {-1, 1}
    longest = (data.features**2).sum(axis=1).max()
    assert longest <= scripts.prepare.SQUARED_NORMS[name] + 1e-9


@pytest.mark.dense
def test_a_line_is_computed_again(scripts: Any) -> None:
    """Noise and splits are seeded: the first splits of a line give its errors, to the chance."""
    data = scripts.prepare.ecoli()
    for name in ("gaussian", "theorem 3.1", "leastnoise", "no noise"):
        (line,) = (x for x in lines() if (x["data"], x["method"]) == ("ecoli", name))
        again = scripts.run.line_of(data, name, 12)
        for field in ("updates", "releases", "scale", "epsilon"):
            assert again[field] == line[field]
        for which in ("in", "out"):
            spread = float(again[f"{which}_error"]) + float(line[f"{which}_error"])
            assert abs(float(again[which]) - float(line[which])) < 6 * spread


def test_the_page_is_that_of_the_errors(scripts: Any) -> None:
    assert (HERE / "README.md").read_text(encoding="utf-8") == scripts.page.page(lines())


def test_the_page_says_where_the_default_loses(scripts: Any) -> None:
    """The table compares errors in and out of sample with coordinates."""
    page = scripts.page.page(lines())
    assert "best of leastnoise" not in page
    assert "on ecoli and spect Gaussian noise" in page
    better = [
        line | {"in": "50", "out": "50"} if line["method"] == "gaussian" else line
        for line in lines()
    ]
    assert scripts.page._lost(better) == ""


def test_the_benchmark_has_the_same_splits_and_reads_a_set_once(
    scripts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = scripts.prepare.spect()
    inside, outside = scripts.prepare.split(len(data.labels), 3)
    result = learning_peers.split_of("spect", 3)
    assert (result.features == data.features[inside, 1:]).all()
    assert (result.answers == data.labels[outside]).all()
    monkeypatch.setattr(learning_peers.prepare, "ALL", {})
    assert len(learning_peers.split_of("spect", 4).labels) == len(inside)


def test_verdicts_follow_from_the_errors(scripts: Any) -> None:
    def line(inside: float, outside: float) -> dict[str, str]:
        return {"in": str(inside), "in_error": "0.1", "out": str(outside), "out_error": "0.1"}

    assert scripts.page._said(line(5, 5), line(5.3, 5), (5, 5)) == ["yes", "no"]
    assert scripts.page._said(line(5.1, 5.1), line(5, 5.3), (5, 5)) == ["yes", "no"]


def test_the_theorem_gives_more_noise_than_is_needed_and_its_epsilon_says_so() -> None:
    for name in SIZES:
        results = {x["method"]: x for x in lines() if x["data"] == name}
        assert float(results["theorem 3.1"]["scale"]) > float(results["gaussian"]["scale"])
        assert 1 < float(results["theorem 3.1"]["epsilon"]) < 5
