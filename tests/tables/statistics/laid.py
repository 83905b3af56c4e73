"""A query's layout, and the numbers of one cell, for tests of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.statistics.base import FourColumns, Ingredients, NoiseError, Statistic
from leastnoise.tables.statistics.registry import parse_query


def layout(statistics: list[str], *, columns: dict[str, Any] | None = None, **query: Any) -> Layout:
    bounds = {"x": {"bounds": [10, 30]}, "y": {"bounds": [0, 8]}, "z": {"bounds": [-1, 1]}}
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-6"},
        "columns": bounds | (columns or {}),
        "query": [{"name": "q", "statistics": statistics, **query}],
    }
    spec = spec_file.parse(raw)
    return lay_out_query(parse_query(spec, spec.query[0]))[0][0]


def normal(std: float) -> NoiseError:
    """The error of normal noise in a simulation; no release has such noise."""
    halves = (std * float(norm.isf(0.05 / k / 2)) for k in (1, 2, 3))
    return NoiseError(std=std, **dict(zip(("half95", "half975", "half983"), halves, strict=True)))


def alone(text: str, *stds: float, **columns: Any) -> tuple[Statistic, Ingredients]:
    """A statistic, and its ingredients (the numbers it is computed from) with normal noise."""
    laid_out = layout([text], columns=columns)
    (asked,) = laid_out.statistics
    (ingredients,) = laid_out.ingredients([normal(std) for std in stds])
    return asked, ingredients


def grid(*ends: tuple[float, float], points: int) -> list[np.ndarray]:
    """The points of a grid on a box: for each axis, the coordinates of all points."""
    axes = [np.linspace(low, high, points) for low, high in ends]
    return [item.ravel() for item in np.meshgrid(*axes)]


def values(
    asked: Statistic, ingredients: Ingredients, numbers: Sequence[np.ndarray]
) -> FourColumns:
    """The four columns of a statistic, as a release computes them: without numpy's warnings."""
    with np.errstate(all="ignore"):
        return asked.values(ingredients, numbers)
