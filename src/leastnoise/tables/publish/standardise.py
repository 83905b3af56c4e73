"""Directly standardised rates from a release, in which counts of cases and of persons have noise.

Notation: a is a band, w_a its weight, and ρ_a its rate without noise; A is the number of bands.

An interval holds each ρ_a with probability 1 − 0.05/A (`fieller`). By Bonferroni all intervals hold
together with probability 95 % or more. Then Σ w_a ρ_a lies between Σ w_a times the lower ends and
Σ w_a times the upper ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise import _validate
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.exact import exact_where
from leastnoise.tables.publish.difference import read_numbers
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.results.table import Table, key_columns, key_names
from leastnoise.tables.statistics.base import SUFFIXES, Floats, FourColumns
from leastnoise.tables.statistics.quotients import Ratio

if TYPE_CHECKING:
    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import Ingredients

_OUTSIDE = 0.05
_LARGEST = 10**15  # more than any population, and far from an overflow


def standardise_rates(
    directory: str | Path, *, query: str, weights: Mapping[str, Sequence[Any]]
) -> Table:
    """Weight the ratios of a release by a standard population; sum them over the bands of a column.

    The release is verified first. The rates are post-processing and cost no budget. Each interval
    holds the rate without noise with probability 95 % or more. With many bands it is wider than
    necessary.

    Args:
        directory: Directory of the release.
        query: Name of a query with one statistic `ratio(…, …)`. If the query also publishes both
            parts, over the same rows, then intervals of small groups are narrower.
        weights: A column of the query's groups, with a weight from 0 to 10^15 for each of its keys
            or bands in order, such as `{"age": ["0.22", "0.61", "0.17"]}`. Give the shares of the
            standard population, which sum to 1, or these shares times 100,000 for a rate per
            100,000. Weights are used as they are: with `[1, 1]` the rate is the sum of two rates.

    Returns:
        A table of the remaining keys, and the columns `rate`, `rate_std`, `rate_low`, `rate_high`.

    Raises:
        SourceError: The directory can't be read.
        CertificateRejected: The release doesn't verify.
        InvalidArgument: The query, the column or the weights don't fit the release.
        Refused: The published numbers don't determine the rates: noise chooses the groups, numbers
            are rounded, clamped or made to add up, or the joint law of the noise isn't known.
    """
    folder = _validate.path(directory, name="directory")
    query = _validate.text(query, name="query")
    given = _validate.table(weights, name="weights")
    release = verify_directory(folder)
    parts = {plan.name: plan.noisy_parts for plan in release.plan.by_query}
    if query not in parts:
        names = list(parts)
        raise InvalidArgument(
            name="query",
            value=query,
            expected="a query of the release",
            hint=_validate.nearest(query, names) or f"It has {', '.join(names)}.",
        )
    part, ratio, ingredients = _find_ratio(parts[query], query)
    axis, factors = _read_weights(given, part.layout)
    numbers = read_numbers(folder, release, parts[query])
    both = _find_parts(part, ratio, ingredients, numbers)
    probability = 1 - _OUTSIDE / len(factors)
    ends = ratio.accept(ingredients, both, probability=probability)
    if ends is None:
        raise Refused(
            f"The rates of {query} can't be weighted, because the joint distribution of their "
            "noise isn't known."
        )
    value, std = (numbers[f"{ratio.label}{suffix}"] for suffix in SUFFIXES[:2])
    low, high = np.minimum(ends[0], value), np.maximum(ends[1], value)
    shape = [grouped.cells for grouped in part.layout.axes]

    def scale(cells: Floats) -> Floats:
        """The number of each cell times the weight of its band, with 0 · ∞ = 0.

        The result has a row for each group of the other columns, and a column for each band.
        """
        bands = np.moveaxis(cells.reshape(shape), axis, -1)
        scaled = np.multiply(bands, factors, out=np.zeros(bands.shape), where=factors > 0)
        return scaled.reshape(-1, len(factors))

    rates = (
        scale(value).sum(axis=1),
        np.hypot.reduce(scale(std), axis=1),  # no square of a large number
        scale(low).sum(axis=1),
        scale(high).sum(axis=1),
    )
    return _as_table(part.layout, axis, rates)


def _find_ratio(parts: Sequence[NoisyPart], query: str) -> tuple[NoisyPart, Ratio, Ingredients]:
    """Find the only ratio of a query. Returns its part, the ratio and the ratio's ingredients.

    Raises InvalidArgument unless there is one ratio, and Refused if rates don't follow from it.
    """
    ratios = [
        (part, statistic, ingredients)
        for part in parts
        for statistic, ingredients in zip(
            part.layout.statistics, part.layout.ingredients(part.noise_errors), strict=True
        )
        if isinstance(statistic, Ratio)
    ]
    if len(ratios) != 1:
        raise InvalidArgument(
            name="query",
            value=query,
            expected="a query with one ratio",
            hint=f"The query has {len(ratios)} ratios. Ask for one ratio, such as "
            "ratio(sum(case), count).",
        )
    part, ratio, ingredients = ratios[0]
    layout = part.layout
    if layout.decides is not None or layout.listed_cells is None or layout.conditions:
        raise Refused(
            f"The rates of {query} can be weighted only if the spec lists all groups of the query, "
            "and all are published."
        )
    if layout.clamp or layout.multiple or layout.projected or not part.has_coordinates:
        raise Refused(
            f"The rates of {query} can't be weighted, because the query's numbers are rounded, "
            "clamped or made to add up."
        )
    return part, ratio, ingredients


def _find_parts(
    part: NoisyPart, ratio: Ratio, ingredients: Ingredients, numbers: Mapping[str, Floats]
) -> list[Floats]:
    """The noisy numerator and denominator of the ratio, in the units of their components.

    They are the published sums or counts if the query has both; else they are recovered from the
    ratio and its standard deviation.
    """
    layout = part.layout
    published = {
        item.components: (statistic.label, item.unit)
        for statistic, item in zip(
            layout.statistics, layout.ingredients(part.noise_errors), strict=True
        )
    }
    pairs = [published.get((component,)) for component in ingredients.components]
    if None not in pairs:
        return [numbers[label] / unit for label, unit in filter(None, pairs)]
    return [*ratio.recover(ingredients, numbers[ratio.label], numbers[f"{ratio.label}_std"])]


def _read_weights(given: Mapping[str, Any], layout: Layout) -> tuple[int, Floats]:
    """The index of the weighted column among the query's axes, and its weights.

    Raises InvalidArgument for another column, or malformed weights.
    """
    columns = [axis.column for axis in layout.axes]
    if len(given) != 1 or next(iter(given)) not in columns:
        raise InvalidArgument(
            name="weights",
            value=list(given),
            expected=f"one of the columns {', '.join(columns)} with its weights",
        )
    ((column, values),) = given.items()
    axis = columns.index(column)
    listed = _validate.items(values, name="weights", like="numbers, such as [0.2, 0.8]")
    factors = [
        float(
            exact_where(
                value,
                name="weight",
                holds=lambda factor: 0 <= factor <= _LARGEST,
                expected="0 <= weight <= 10^15",
            )
        )
        for value in listed
    ]
    if len(factors) != layout.axes[axis].cells:
        raise InvalidArgument(
            name="weights",
            value=factors,
            expected=f"{layout.axes[axis].cells} numbers, one for each group of {column}",
        )
    if not any(factors):
        raise InvalidArgument(name="weights", value=factors, expected="at least one weight > 0")
    return axis, np.array(factors)


def _as_table(layout: Layout, axis: int, rates: FourColumns) -> Table:
    """The table of rates, with the keys of all axes except the weighted `axis`."""
    names, keys = key_names(layout), key_columns(layout)
    inner = 1
    for later in layout.axes[axis + 1 :]:
        inner *= later.cells
    cells = layout.axes[axis].cells
    first = [row for row in range(layout.cells) if row // inner % cells == 0]
    columns: dict[str, list[Any]] = {
        name: [column[row] for row in first]
        for name, column in zip(names, keys, strict=True)
        if name not in layout.axes[axis].columns
    }
    columns |= {
        f"rate{suffix}": numbers.tolist() for suffix, numbers in zip(SUFFIXES, rates, strict=True)
    }
    return Table(name=f"{layout.name}_standardised", columns=columns)
