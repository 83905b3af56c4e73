"""Bounds that a release finds: both stages together leak no more about a row than promised.

Tables of few and of many rows are compared with those that have one row more. The law of the bounds
is exact (`quantile_laws`, by definition), and so are the sums before noise for all possible bounds,
as the release itself reads them. The losses of both stages are added.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import leastnoise as ln
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout import found_bounds
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.statistics.registry import parse_query
from tests.quantile_laws import Law, mass_of, split_law

_CANDIDATES = (0, 10, 1000)
_VALUES = (-5.0, 7.0, 1e6)
_EPSILON = 1
_Rows = tuple[float, ...]
_Bounds = tuple[Fraction, Fraction]
Sums = NDArray[np.float64]


def _release(folder: Path, share: str) -> ln.Release:
    pd.DataFrame({"x": pd.Series([], dtype="float64")}).to_parquet(folder / "rows.parquet")
    bounds: dict[str, Any] = {"find": True, "share": share, "low": -10, "levels": ["0.1", "0.5"]}
    bounds["candidates"] = _CANDIDATES
    return ln.Release(
        data={"source": "rows.parquet"},
        privacy={"unit": "row", "epsilon": _EPSILON},
        columns={"x": {"bounds": bounds}},
        query=[{"name": "q", "statistics": ["sum(x)", "mean(x)"]}],
        folder=folder,
    )


class Both:
    """The two stages of a release, exactly."""

    def __init__(self, folder: Path, share: str) -> None:
        self.folder, self.release = folder, _release(folder, share)
        self.plan = self.release.plan()
        blocks = dict(self.plan.certificate.draws)
        claim = blocks["x_bounds.quantiles"]
        assert isinstance(claim, QuantileCertificate)
        self.claim, self.noise = claim, Mechanism(self.plan.noisy_parts[0].certificate)

    @cache  # noqa: B019 (it lives as long as its test)
    def law(self, rows: _Rows) -> dict[_Bounds, float]:
        """The probability of each pair of bounds for these rows."""
        nearest = [min(range(3), key=lambda at: (abs(x - _CANDIDATES[at]), -at)) for x in rows]
        levels, rates = self.claim.levels, self.claim.rates
        chosen: Law = split_law(mass_of(nearest, 1), levels, rates, 3)
        column, result = self.release.spec.columns["x"], dict[_Bounds, float]()
        for places, chance in chosen.items():
            pair = found_bounds.pick_bounds(
                column, [Fraction(_CANDIDATES[at]) for at in sorted(places)]
            )
            result[pair] = result.get(pair, 0.0) + chance
        return result

    def sums(self, rows: _Rows, bounds: _Bounds) -> Sums:
        """The numbers that noise is added to: each row is a unit, whose integers add up."""
        start = np.zeros(self.noise.certificate.dimension)
        return sum((self._of_row(row, bounds) for row in rows), start)

    @cache  # noqa: B019
    def _of_row(self, row: float, bounds: _Bounds) -> Sums:
        """What one row adds, as the release reads it with these bounds."""
        pd.DataFrame({"x": [row]}).to_parquet(self.folder / "rows.parquet")
        spec = found_bounds.set_found_bounds(self.release.spec, {"x": bounds})
        ((layout,),) = lay_out_query(parse_query(spec, spec.query[0]))
        result = source.find_source(spec, self.folder)
        with source.open_engine(result, threads=1) as engine:
            return integer_vectors.query_vector(engine, spec, layout, salt="") / 2**layout.bits

    def worst(self, sums: Callable[[_Rows, _Bounds], Sums]) -> float:
        """The largest sum of both stages' losses, over all neighbouring tables and all bounds."""
        dimension = self.noise.certificate.dimension
        points = np.random.default_rng(1).normal(size=(200, dimension)) / 4
        along = np.linspace(-1, 2, 61)[:, None]
        worst = 0.0
        for rows, more in _neighbours():
            item, other = self.law(rows), self.law(more)
            assert item.keys() == other.keys()
            for bounds, chance in item.items():
                first = math.log(chance / other[bounds])
                shift = sums(more, bounds) - sums(rows, bounds)
                density = self.noise.noise.log_density
                at = np.concatenate([points, along * shift])
                both = [density(at), density(at - shift), density(at + shift)]
                up, down = both[1] - both[0], both[2] - both[0]
                worst = max(worst, -first + float(up.max()), first + float(down.max()))
        return worst


def _neighbours() -> Iterator[tuple[_Rows, _Rows]]:
    for counts in itertools.product((0, 1, 2, 20), repeat=len(_VALUES)):
        rows = tuple(x for x, count in zip(_VALUES, counts, strict=True) for _ in range(count))
        for more in _VALUES:
            yield rows, tuple(sorted((*rows, more)))


@pytest.mark.dense
@pytest.mark.parametrize("share", ["0.1", "0.6"])
def test_both_stages_lose_no_more_than_is_promised(tmp_path: Path, share: str) -> None:
    both = Both(tmp_path, share)
    worst = both.worst(both.sums)
    assert 0.8 * _EPSILON <= worst <= _EPSILON * (1 + 1e-9)


@pytest.mark.dense
def test_it_would_be_seen_if_values_were_not_limited_to_what_was_found(tmp_path: Path) -> None:
    both = Both(tmp_path, "0.6")

    def naive(rows: _Rows, bounds: _Bounds) -> Sums:
        """Sums of values clipped to the widest bounds, in the units of the found bounds: a leak."""
        low, high = bounds
        radius, middle = float(high - low) / 2, float(high + low) / 2
        values = np.clip(np.array(rows), -10, _CANDIDATES[-1])
        parts = [
            values.sum() / float(max(-low, high)),
            (values - middle).sum() / radius,
            float(len(rows)),
        ]
        return np.array(parts)

    assert both.worst(naive) > 2 * _EPSILON


@pytest.mark.dense
def test_it_would_be_seen_if_bounds_had_half_of_their_noise(tmp_path: Path) -> None:
    both = Both(tmp_path, "0.6")
    rates = tuple(2 * rate for rate in both.claim.rates)
    object.__setattr__(both.claim, "rates", rates)
    assert both.worst(both.sums) > 1.1 * _EPSILON
