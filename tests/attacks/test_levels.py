"""Published counts of keys with levels tell no more about a row than the guarantee allows.

As for cumulative counts, the exact cells are those that a release reads, and the law of its noise
is enumerated from the definition. Only noisy cells and their sums are published.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.tables.answers.sums.level_queries import key_tree
from leastnoise.tables.answers.sums.levels import Levels
from leastnoise.tables.rows import integer_vectors, source
from tests.noise.trees.oracle import enumerated

_EPSILON = 2
_REACH, _INNER = 8, 3  # of the noise that is enumerated, and of outputs that are looked at
_KEYS, _STATES = ["p", "r", "q", "s"], ["x", "y", "x", "x"]
_ROWS = ((), ("s", "r", "t"))
_MOVED = (*_KEYS, "t")  # t is no key
_SLACK = 1e-6


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("nation", "shares"),
    [(False, ("0", "0.4", "0.6")), (True, ("0.3", "0.3", "0.4")), (True, None)],
)
@pytest.mark.parametrize("unit", ["row", "who"])
def test_no_unit_changes_chances_by_more_than_promised(
    tmp_path: Path, neighbours: Any, *, nation: bool, unit: str, shares: Any
) -> None:
    file = tmp_path / "rows.parquet"
    pd.DataFrame({"who": [1], "k": ["p"]}).to_parquet(file)
    levels = {"state": _STATES, **({"nation": ["n"] * 4} if nation else {})}
    grouped = {"k": {"keys": _KEYS, "levels": levels}}
    release = ln.Release(
        data={"source": "rows.parquet"},
        privacy={"unit": unit, "epsilon": _EPSILON, "neighbours": neighbours},
        query=[{"name": "q", "statistics": ["count"], "group_by": grouped}],
        folder=tmp_path,
        **({} if unit == "row" else {"contribution": {"max_rows": 1}}),  # pyright: ignore
    )
    level = release.plan().noisy_parts[0].answered
    assert isinstance(level, Levels)
    layout = level.cells
    order = key_tree(layout).order
    noise = level.noise
    if shares is not None:  # what a verifier takes as well
        mechanism = ln.calibrate(
            "agreeing",
            epsilon=_EPSILON,
            sensitivity=ln.RowCounts(1, neighbours=neighbours),
            dimension=4,
            parameters={"branches": noise.branches, "shares": shares},
        )
        claims = [("q", mechanism.certificate.on_grid(1))]
        noise = Levels.read(layout, level.budget, claims).noise
    _, weights = enumerated(noise, _REACH)
    log_law = np.log(weights).reshape([2 * _REACH + 1] * 4)
    result = source.find_source(release.spec, tmp_path)

    def cells(rows: tuple[str, ...]) -> tuple[int, ...]:
        frame = pd.DataFrame({"who": range(len(rows)), "k": pd.Series(rows, dtype="str")})
        frame.to_parquet(file)
        with source.open_engine(result, threads=1) as engine:
            vector = integer_vectors.query_vector(engine, release.spec, layout, salt="")
        assert not (vector % 2**layout.bits).any()
        return tuple((vector >> layout.bits)[order].tolist())

    losses = [0.0]
    for rows in _ROWS:
        computed, units = cells(rows), [cells((*rows, entry)) for entry in _MOVED]
        pairs = [(computed, unit) for unit in units]
        if neighbours == "replace-one":
            pairs = [*itertools.combinations(units, 2)]
        for item, other in pairs:
            ends = [(_REACH - _INNER - a + b, _REACH + _INNER + 1 - a + b)
                    for a, b in zip(item, other, strict=True)]  # fmt: skip
            inner = [slice(_REACH - _INNER, _REACH + _INNER + 1)] * 4
            shifted = log_law[tuple(itertools.starmap(slice, ends))]
            losses.append(float(np.abs(log_law[tuple(inner)] - shifted).max()))
    assert max(losses) <= _EPSILON * (1 + _SLACK)
    assert max(losses) > 0.98 * _EPSILON  # and hardly any of it is left over
