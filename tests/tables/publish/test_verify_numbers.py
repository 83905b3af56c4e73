"""The numbers of released tables: true ones verify, and inconsistent ones are rejected."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import CertificateRejected
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.resealed import verify_resealed
from tests.tables.test_release import make_rows, release

FORM = {"round": True, "clamp": True}
FALSE_FORMS: dict[str, list[Any]] = {
    "count": [1.5, 2.0, -1, 2**53 + 1],
    "count_low": [0.5, -1, 10**400],
    "count_high": [1e300, -1],
    "sum_x": [-0.5, -1.0, math.nan, math.inf],
    "sum_x_low": [-1e-300],
    "sum_x_high": [-3.0],
}
NO_NUMBERS = [None, "5", "1", True, {}, [], ""]


@pytest.fixture(scope="module")
def formed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with releases of whole numbers >= 0, in each format."""
    folder = make_rows(tmp_path_factory.mktemp("formed"))
    query = [
        {"name": "q", "statistics": ["count", "count(x)", "sum(x)", "mean(x)"], **FORM},
        {"name": "w", "conditions": {"all": {"x": {"min": 0}}, "none": {"x": {"min": 99}}}, **FORM},
        {"name": "h", "histogram": {"column": "x", "edges": [0, 99, "inf"]}, **FORM},
    ]
    # of a row and without δ, for which noise is soon found
    privacy = {"unit": "row", "epsilon": 1}
    changes: dict[str, Any] = {"privacy": privacy, "contribution": None, "query": query}
    for kind in ("csv", "json", "parquet"):
        release(folder, **changes, output={"path": kind, "format": kind}).run()
        verify_directory(folder / kind)
    return folder


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_rounded_counts_are_ints_wherever_they_are_read(formed: Path, kind: str) -> None:
    readers: dict[str, Any] = {"csv": pd.read_csv, "json": pd.read_json}
    for name in ("q", "w", "h"):
        frame = readers.get(kind, pd.read_parquet)(formed / kind / f"{name}.{kind}")
        counts = [frame[label] for label in frame if label in {"count", "count_units"}]
        assert counts[0].dtype == np.int64
        assert (counts[0] >= 0).all()
    assert abs(counts[0][0] - 20_000) < 1000


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("label", FALSE_FORMS)
def test_what_is_not_whole_or_negative_is_rejected(
    formed: Path, tmp_path: Path, kind: str, label: str
) -> None:
    directory = shutil.copytree(formed / kind, tmp_path / "made")
    file = directory / f"q.{kind}"
    true = pd.read_json(formed / "json" / "q.json").to_dict("records")
    for false in FALSE_FORMS[label] + (NO_NUMBERS if kind == "json" else []):
        if kind == "parquet" and false in (2**53 + 1, 10**400):
            continue  # as float64 no whole number, and past 64 bits
        records = [{**true[0], label: false}]
        if kind == "json":
            file.write_text(json.dumps(records))
        elif kind == "csv":
            file.write_text(",".join(records[0]) + "\n" + ",".join(map(str, records[0].values())))
        else:
            pd.DataFrame(records).to_parquet(file)
        with pytest.raises(CertificateRejected, match=r"q\."):
            verify_resealed(directory)
    if kind == "csv":
        file.write_text(",".join(true[0]) + "\n" + ",".join(map(str, true[0].values())) + "\n")
        verify_resealed(directory)


@pytest.mark.dense
@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("label", ["count", "sum_x", "mean_x"])
def test_intervals_that_value_and_noise_do_not_give_are_rejected(
    formed: Path, tmp_path: Path, label: str, end: str
) -> None:
    """A tenth wider or narrower, as with another query's noise; another's value."""
    directory = shutil.copytree(formed / "json", tmp_path / "made")
    (true,) = json.loads((directory / "q.json").read_text())
    name = f"{label}_{end}"
    width = abs(true[name] - true[label])
    away = max(width / 10, 4) if label == "count" else width / 10
    for moved in (true[name] + away, true[name] - away):
        false = round(moved) if label == "count" else moved
        (directory / "q.json").write_text(json.dumps([{**true, name: false}]))
        with pytest.raises(CertificateRejected, match=f"q.json has a {name} that doesn't fit"):
            verify_resealed(directory)
    (directory / "q.json").write_text(json.dumps([true]))
    verify_resealed(directory)


# of a mean within [0, 10]
FALSE_MEANS: dict[str, dict[str, Any]] = {
    "beyond its bounds": {"mean_x": 10.5},
    "far beyond": {"mean_x": 1e9, "mean_x_high": 1e9},
    "no number": {"mean_x": math.nan},
    "texts": {"mean_x": "hello", "mean_x_std": "world"},
    "no std": {"mean_x_std": math.nan},
    "a negative std": {"mean_x_std": -1.0},
    "no noise": {"mean_x_std": 0.0},
    "a std beyond half of its bounds": {"mean_x_std": 7.0},
    "outside its interval": {"mean_x": 4.0, "mean_x_low": 9.0, "mean_x_high": 10.0},
    "at a bound and outside": {"mean_x": 10.0, "mean_x_low": 3.0, "mean_x_high": 4.0},
    "reversed": {"mean_x": 5.0, "mean_x_std": 5.0, "mean_x_low": 9.0, "mean_x_high": 3.0},
    "of no rows": {"mean_x": 5.0, "mean_x_std": 5.0, "mean_x_low": 0.0, "mean_x_high": 10.0},
}


@pytest.mark.dense
@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("edit", FALSE_MEANS)
def test_means_that_fit_nothing_beside_them_are_rejected(
    formed: Path, tmp_path: Path, kind: str, edit: str
) -> None:
    directory = shutil.copytree(formed / kind, tmp_path / "made")
    (true,) = json.loads((formed / "json" / "q.json").read_text())
    if kind == "csv":
        (true,) = pd.read_csv(directory / "q.csv").to_dict("records")
    false = {**true, **FALSE_MEANS[edit]}
    if kind == "json":
        (directory / "q.json").write_text(json.dumps([false]))
    else:
        (directory / "q.csv").write_text(
            ",".join(false) + "\n" + ",".join(map(str, false.values()))
        )
    with pytest.raises(CertificateRejected, match=r"q\."):
        verify_resealed(directory)


@pytest.mark.dense
def test_the_mean_of_another_count_is_rejected(formed: Path, tmp_path: Path) -> None:
    """Everything follows from value and `_std`, but the count that stands beside them."""
    directory = shutil.copytree(formed / "json", tmp_path / "made")
    (true,) = json.loads((directory / "q.json").read_text())
    count = true["count_x"] // 2
    wide = true["count_x_high"] - true["count_x"]
    false = {**true, "count_x": count, "count_x_low": count - wide, "count_x_high": count + wide}
    moved = true["sum_x"] * (count / true["count_x"] - 1)  # so that it still is count times mean
    false |= {name: true[name] + moved for name in ("sum_x", "sum_x_low", "sum_x_high")}
    (directory / "q.json").write_text(json.dumps([false]))
    with pytest.raises(CertificateRejected, match="a mean_x_std that doesn't fit"):
        verify_resealed(directory)
