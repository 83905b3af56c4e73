"""Published cumulative counts tell no more about a row than the guarantee allows.

Each table is compared with those that have one row more, or one row replaced. The exact bins are
those that the release itself reads; the law of its noise is enumerated from the definition. Only
noisy bins and their sums are published.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import leastnoise as ln
from leastnoise.noise.trees.law import Agreeing
from leastnoise.tables.answers.sums.cumulative import Cumulative
from leastnoise.tables.rows import integer_vectors, source
from tests.noise.trees.oracle import enumerated

_EPSILON = 2
_REACH, _INNER = 8, 3  # of the noise that is enumerated, and of outputs that are looked at
_ROWS = ((), (-3, 10, 29, 30, 40))
_MOVED = (-1, 0, 9, 10, 19, 25, 30, 99)
_SLACK = 1e-6


class Published:
    """The bins of a release, exactly, and the law of the noise in them."""

    def __init__(self, folder: Path, *, by: bool, neighbours: str, **given: Any) -> None:
        pd.DataFrame({"x": [1], "k": [1]}).to_parquet(folder / "rows.parquet")
        query: dict[str, Any] = {"name": "q", "group_by": {"k": [1, 2]} if by else {}, **given}
        edges = [0, 10, 30] if by else [0, 10, 20, 30]
        query["histogram"] = {"column": "x", "edges": edges, "cumulative": True}
        release = ln.Release(
            data={"source": "rows.parquet"},
            privacy={"unit": "row", "epsilon": _EPSILON, "neighbours": neighbours},
            query=[query],
            folder=folder,
        )
        self.spec, plan = release.spec, release.plan()
        running = plan.noisy_parts[0].answered
        assert isinstance(running, Cumulative)
        self.layout, noise = running.cells, running.certificate.noise
        assert isinstance(noise, Agreeing)
        self.source, self.file = source.find_source(self.spec, folder), folder / "rows.parquet"
        assert noise.dimension == self.layout.cells
        self.log_law = _log_law(noise)

    def bins(self, rows: tuple[int, ...]) -> tuple[int, ...]:
        """The exact bins, as whole numbers."""
        frame = pd.DataFrame({"x": pd.Series(rows, dtype="int64")})
        frame["k"] = 1 + frame["x"] % 2
        frame.to_parquet(self.file)
        with source.open_engine(self.source, threads=1) as engine:
            vector = integer_vectors.query_vector(engine, self.spec, self.layout, salt="")
        assert not (vector % 2**self.layout.bits).any()
        return tuple((vector >> self.layout.bits).tolist())

    def largest_loss(self, moved: tuple[int, ...]) -> float:
        """Return the largest loss of outputs near to the one without noise."""
        inner = [slice(_REACH - _INNER, _REACH + _INNER + 1)] * len(moved)
        shifted = [
            slice(_REACH - _INNER - s, _REACH + _INNER + 1 - s)
            for s in moved
        ]  # fmt: skip
        losses = self.log_law[tuple(inner)] - self.log_law[tuple(shifted)]
        return float(np.abs(losses).max())


def _log_law(noise: Agreeing) -> NDArray[np.float64]:
    """Return ln of the probability of each vector of noise within the reach."""
    _, weights = enumerated(noise, _REACH)
    return np.log(weights).reshape([2 * _REACH + 1] * noise.dimension)


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("by", [False, True])
@pytest.mark.parametrize("objective", [None, "largest"])
def test_no_row_changes_chances_by_more_than_promised(
    tmp_path: Path, neighbours: str, by: bool, objective: str | None
) -> None:
    release = Published(tmp_path, by=by, neighbours=neighbours, objective=objective)
    losses = [0.0]
    for rows in _ROWS:
        computed = release.bins(rows)
        units = [release.bins((*rows, entry)) for entry in _MOVED]
        pairs = [(computed, unit) for unit in units]
        if neighbours == "replace-one":
            pairs = [*itertools.combinations(units, 2)]
        for item, other in pairs:
            moved = tuple(a - b for a, b in zip(item, other, strict=True))
            losses.append(release.largest_loss(moved))
    assert max(losses) <= _EPSILON * (1 + _SLACK)
    assert max(losses) > 0.99 * _EPSILON  # and no part of it is left over
