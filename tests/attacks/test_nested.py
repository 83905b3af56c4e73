"""Published counts by levels and other columns tell no more about a unit than promised.

Each table is compared with those that have one unit more, or one unit replaced. The exact cells are
those that a release reads, summed by name; the noise in each measured table has the certificate's
law. All that is published follows from these noisy tables.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import norm

import leastnoise as ln
from leastnoise.tables.answers.sums.nested import NestedMargins
from leastnoise.tables.answers.sums.nested_queries import columns_in_words
from leastnoise.tables.rows import integer_vectors, source

_TOWNS = {"p": "x", "r": "y", "q": "x", "s": "x"} | {f"o{i}": "xy"[i % 2] for i in range(60)}
_SEXES = ["f", "m"]
_ROWS: tuple[list[tuple[str, str]], ...] = ([], [("s", "f"), ("r", "m"), ("t", "f")])
_MOVED = [*itertools.product("prqs", _SEXES), ("t", "f"), ("p", "d")]  # t, d are no keys
_SLACK = 1e-6


class Published:
    """The measured tables of a release, exactly."""

    def __init__(self, folder: Path, unit: str, **privacy: Any) -> None:
        self.file = folder / "rows.parquet"
        pd.DataFrame({"who": [1], "k": ["p"], "sex": ["f"]}).to_parquet(self.file)
        keys = {"keys": [*_TOWNS], "levels": {"region": [*_TOWNS.values()]}}
        query = {
            "name": "q",
            "statistics": ["count"],
            "group_by": {"sex": _SEXES, "k": keys},
            "margins": [[], ["region"], ["sex"], ["k", "sex"]],
        }
        release = ln.Release(
            data={"source": "rows.parquet"},
            privacy={"unit": unit, **privacy},  # pyright: ignore
            query=[query],
            folder=folder,
            **({} if unit == "row" else {"contribution": {"max_rows": 1}}),  # pyright: ignore
        )
        answered = release.plan().noisy_parts[0].answered
        assert isinstance(answered, NestedMargins)
        self.whole, self.spec = answered, release.spec
        self.source = source.find_source(self.spec, folder)

    def tables(self, units: list[tuple[str, str]]) -> list[Counter[tuple[str, ...]]]:
        """The counts of each measured table, by the names of its keys."""
        rows = [(who, *row) for who, row in enumerate(units)]
        frame = pd.DataFrame(rows, columns=["who", "k", "sex"])
        frame.astype({"who": "int64", "k": "str", "sex": "str"}).to_parquet(self.file)
        layout = self.whole.cells
        with source.open_engine(self.source, threads=1) as engine:
            vector = integer_vectors.query_vector(engine, self.spec, layout, salt="")
        cells = dict(zip(itertools.product(_SEXES, _TOWNS), vector.tolist(), strict=True))
        tables: list[Counter[tuple[str, ...]]] = []
        for table in self.whole.measured:
            by, counts = columns_in_words(layout, table), Counter[tuple[str, ...]]()
            for (sex, town), count in cells.items():
                names = {"sex": sex, "k": town, "region": _TOWNS[town]}
                counts[tuple(names[name] for name in by)] += count >> layout.bits
            tables.append(counts)
        return tables

    def pairs(self, neighbours: str) -> Any:
        """The measured tables of every two neighbours among a few small data sets."""
        for rows in _ROWS:
            before, units = self.tables(rows), [self.tables([*rows, unit]) for unit in _MOVED]
            if neighbours == "replace-one":
                yield from itertools.combinations(units, 2)
            else:
                yield from ((before, after) for after in units)


@pytest.mark.dense
@pytest.mark.parametrize("unit", ["row", "who"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_pure_noise_hides_every_unit(tmp_path: Path, neighbours: str, unit: str) -> None:
    """Laplace noise of scale s: a unit that moves numbers by d in all has a loss of d/s at most."""
    published = Published(tmp_path, unit, epsilon=2, neighbours=neighbours)
    claims = published.whole.measured.values()
    losses = [
        sum(
            sum(abs(before[key] - after[key]) for key in before | after) / float(claim.noise.scale)
            for claim, before, after in zip(claims, *pair, strict=True)
        )
        for pair in published.pairs(neighbours)
    ]
    assert {claim.noise.name for claim in claims} == {"laplace"}
    assert max(losses) <= 2 * (1 + _SLACK)
    # and hardly any of it is left over
    assert max(losses) > (0.7 if neighbours == "replace-one" else 0.98) * 2


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_gaussian_noise_hides_every_unit(tmp_path: Path, neighbours: str) -> None:
    """All tables together are one Gaussian draw at the distance μ (Balle & Wang 2018)."""
    epsilon, delta = 0.02, 0.01
    published = Published(tmp_path, "row", epsilon=epsilon, delta=delta, neighbours=neighbours)
    claims = published.whole.measured.values()
    assert {claim.noise.name for claim in claims} == {"gaussian"}
    squares = [
        sum(
            sum((before[key] - after[key]) ** 2 for key in before | after) / claim.noise.variance
            for claim, before, after in zip(claims, *pair, strict=True)
        )
        for pair in published.pairs(neighbours)
    ]
    mu = math.sqrt(max(squares))
    spent = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert spent <= delta * (1 + _SLACK)
    # no unit that replaces another moves the total, and all other tables by two numbers
    assert spent > (0.7 if neighbours == "replace-one" else 0.95) * delta
