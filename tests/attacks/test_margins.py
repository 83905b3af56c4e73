"""Published sums and means with margins tell no more about a unit than the guarantee allows.

Each table is compared with those that have one unit more, or one unit replaced. The cells' exact
numbers are those that a release reads. The noise in each table of their sums has a density ∝ e^(−Σ
over cells of max |x_j|/scale). All that is published follows from these noisy tables.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import leastnoise as ln
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.rows import integer_vectors, source

_EPSILON = 2
_SIZES = (20, 2)
_SLACK = 1e-6
_ROWS = ([], [(0, "f", 3.0), (1, "m", 30.0), (2, "m", -99.0)])
_NOWHERE = (99, "f", 0.0)
_MOVED = [
    [(0, "f", 0.0)],
    [(0, "f", 30.0)],
    [(0, "f", 30.0), (0, "f", 0.0)],
    [(0, "f", 30.0), (2, "m", 1e9), (1, "f", 0.0)],
    [(1, "m", -5.0), (1, "f", float("nan"))],
    [(2, "f", 12.25), (0, "m", 12.25)],
    [(2, "m", -1e9)] * 7,
    [(2, "m", 30.0)] * 7,
    [_NOWHERE],
]


class Published:
    """The measured tables of a release, exactly, and the density of the noise in them."""

    def __init__(self, folder: Path, **given: Any) -> None:
        pd.DataFrame({"who": [1], "r": [1], "s": ["f"], "x": [1.0]}).to_parquet(
            folder / "rows.parquet"
        )
        by = {"r": [*range(20)], "s": ["f", "m"]}
        query = {
            "name": "q",
            "group_by": by,
            "margins": True,
            "statistics": given.pop("statistics"),
            "objective": given.pop("objective", None),
        }
        release = ln.Release(
            data={"source": "rows.parquet"},
            columns={"x": {"bounds": [0, 30]} | given.pop("column", {})},
            query=[query],
            folder=folder,
            **given,
        )
        margin = release.plan().noisy_parts[0].answered
        assert isinstance(margin, Margins)
        self.whole: Margins = margin
        assert len(self.whole.measured) > 1
        self.spec, self.file = release.spec, folder / "rows.parquet"
        self.source = source.find_source(self.spec, folder)

    def tables(self, units: list[list[tuple[Any, ...]]]) -> list[NDArray[np.float64]]:
        """Return the numbers of each measured table, of shape (cells, numbers)."""
        rows = [(who, *row) for who, unit in enumerate(units) for row in unit]
        frame = pd.DataFrame(rows, columns=["who", "r", "s", "x"])
        kinds = {"who": "int64", "r": "int64", "s": "str", "x": "float64"}
        frame.astype(kinds).to_parquet(self.file)
        with source.open_engine(self.source, threads=1) as engine:
            vector = integer_vectors.query_vector(
                engine, self.spec, self.whole.measured_cells, salt=""
            )
        cells = (vector / 2.0**self.whole.measured_cells.bits).reshape(*_SIZES, -1)
        summed = []
        for table in self.whole.measured:
            axes = tuple(axis for axis in range(2) if not table >> axis & 1)
            summed.append(cells.sum(axis=axes).reshape(-1, cells.shape[-1]))
        return summed

    def loss(self, one: list[NDArray[np.float64]], other: list[NDArray[np.float64]]) -> float:
        """Return the largest |ln(p/q)| of two inputs' densities, over outputs near and far."""
        random, losses = np.random.default_rng(1), [0.0]
        for far in (0.0, 1.0, 1e3, -1e3):
            total = 0.0
            for claim, computed, beside in zip(
                self.whole.measured.values(), one, other, strict=True
            ):
                scale = _scales(claim)
                output = (
                    computed
                    + far * (computed - beside)
                    + random.laplace(size=computed.shape, scale=1e-3)
                )
                near, away = (
                    (np.abs(output - it) / scale).max(axis=1).sum() for it in (computed, beside)
                )
                total += float(away - near)
            losses.append(abs(total))
        return max(losses)


def _scales(claim: ln.Certificate) -> NDArray[np.float64]:
    """Return for each number of a cell the shift that divides the density by e."""
    noise = json.loads(claim.to_json())["noise"]["parameters"]
    body = noise.get("body", {"bounds": ["1"]})
    (box,) = body.get("bodies", [body])
    return float(claim.noise.scale) * np.array(list(map(float, box["bounds"])))


BOTH: dict[str, Any] = {"statistics": ["count", "sum(x)", "mean(x)"], "column": {"missing": "none"}}
THREE: dict[str, Any] = {"statistics": ["count", "mean(x)", "sum(x)"]}  # and the count of values
COUNTS: dict[str, Any] = {"statistics": ["count"], "objective": "largest"}
ALONE: dict[str, Any] = {"statistics": ["sum(x)"], "column": {"bounds": [-30, 30]}}


@pytest.mark.dense
@pytest.mark.parametrize(
    ("unit", "neighbours", "given"),
    [
        ("row", "add-remove", BOTH),
        ("who", "add-remove", THREE),
        ("who", "add-remove", ALONE),
        ("row", "replace-one", THREE),
        ("row", "replace-one", ALONE),
        ("who", "replace-one", BOTH),
        ("who", "add-remove", COUNTS),
    ],
)
def test_no_unit_changes_chances_by_more_than_promised(
    tmp_path: Path, neighbours: str, unit: str, given: dict[str, Any]
) -> None:
    limits = {} if unit == "row" else {"contribution": {"max_rows": 2}}
    privacy = {"unit": unit, "epsilon": _EPSILON, "neighbours": neighbours}
    published = Published(tmp_path, privacy=privacy, **limits, **given)
    moved = [item[:1] for item in _MOVED] if unit == "row" else _MOVED
    losses = [0.0]
    for rows in _ROWS:
        rest = [[row] for row in rows]
        computed = published.tables(rest)
        units = [published.tables([*rest, item]) for item in moved]
        pairs = [(computed, unit) for unit in units]
        if neighbours == "replace-one":
            pairs = [*itertools.combinations(units, 2)]
        losses += [published.loss(*pair) for pair in pairs]
    assert max(losses) <= _EPSILON * (1 + _SLACK)
    assert max(losses) > 0.9 * _EPSILON  # and little of it is left over
