"""The errors of tables with margins, which are sums of noisy and rounded numbers."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.mechanism.accuracy import Term, deviation_of_sum, half_widths_of_sum
from leastnoise.tables.answers.sums.margin_queries import find_coefficients, places_of
from leastnoise.tables.answers.sums.measured import weights_of
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.statistics.base import NoiseError
from leastnoise.tables.statistics.fieller import UP_TO_1

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.tables.answers.sums.margins import Margins
    from leastnoise.tables.statistics.base import Component

    Floats = NDArray[np.float64]

_MOVED = 3  # half grid steps: ½ by rounding a cell, and 1 so that cells add up to a known total


def find_errors(margins: Margins, table: int) -> tuple[NoiseError, ...]:
    """The error of each published number in a row of a table, including the rounding to a grid.

    `table` is the bit mask of the table's columns. The noise has to be in tables or in contrasts,
    not on a tree. A table without noise, a public total, has an error of 0.
    """
    if not margins.marginals.has_noise(table):
        return (NoiseError(std=0.0, half95=0.0, half975=0.0, half983=0.0),)
    return tuple(_error(margins, table, number) for number in margins.cells.components)


def _error(margins: Margins, table: int, number: Component) -> NoiseError:
    weights, steps = weights_of(margins.cells, number), _list_steps(margins, number)
    summed = _roundings(margins, table)
    if margins.contrasts:
        return _contrasts_error(margins, table, math.fsum(steps), summed)
    terms = _terms(margins, table, weights)
    widths = [width + sum(steps) * summed / 2 for width in half_widths_of_sum(terms, PROBABILITIES)]
    std = math.hypot(deviation_of_sum(terms), *(x * math.sqrt(summed / 12) for x in steps))
    return NoiseError(
        std=std,
        half95=widths[0],
        half975=widths[1],
        half983=widths[2],
        beside_count=_beside_count(margins, table, number, summed),
    )


def _roundings(margins: Margins, table: int) -> int:
    """The largest number of roundings to the grid that add up in one number of a table.

    If the cells are estimated and rounded, this is the number of cells in a row of the table.
    Otherwise it is the number of rows of the table: see `round_together`.
    """
    numbers = margins.marginals.cells(table)
    if not margins.marginals.is_small:
        return numbers
    return margins.marginals.cells(margins.marginals.whole) // numbers


def _contrasts_error(margins: Margins, table: int, step: float, roundings: int) -> NoiseError:
    """The error of a number that is a sum of Gaussian noise in contrasts.

    Consider one measured table: its r contrasts have noise of standard deviation s, which gives the
    number noise of standard deviation d. Rounding the contrasts to a grid g moves the number by at
    most (g/2)·√r·d/s (Cauchy-Schwarz), and adds (g·d/s)²/12 to its variance. The number is also a
    sum of `roundings` numbers that are rounded to a grid of this `step`.
    """
    index = margins.cells.margins.index(table)
    std = math.sqrt(float(margins.variances[0][index]))
    shifts, deviations = [step * roundings / 2], [std, step * math.sqrt(roundings / 12)]
    for part, claim in margins.measured.items():
        at = margins.marginals.places[part]
        deviation = math.sqrt(float(margins.marginals.spread[index, at] / margins.theta[0][at]))
        counted = float(claim.grid or 0) * deviation / math.sqrt(claim.noise.variance)
        shifts.append(counted / 2 * math.sqrt(claim.dimension))
        deviations.append(counted / math.sqrt(12))
    half95, half975, half983 = (
        NormalDist().inv_cdf((1 + probability) / 2) * std + math.fsum(shifts)
        for probability in PROBABILITIES
    )
    std = math.hypot(*deviations)
    return NoiseError(std=std, half95=half95, half975=half975, half983=half983)


def _beside_count(
    margins: Margins, table: int, number: Component, summed: int
) -> tuple[float, ...]:
    """The field `NoiseError.beside_count` of the sum in a mean; empty for any other number.

    The field has a half-width of X − a·Y for each a of `UP_TO_1`. Here X is the error of the sum,
    and Y the error of the count that divides it. `summed` is the result of `_roundings`.
    To save time, half-widths are computed for every second a. The values between get the half-width
    of the next larger a.
    """
    pairs = zip(margins.cells.statistics, margins.cells.uses, strict=True)
    uses = [components for asked, components in pairs if asked.kind == "mean"]
    count = next(
        (components[1] for components in uses if margins.cells.components[components[0]] == number),
        None,
    )
    if count is None:
        return ()
    over = margins.cells.components[count]
    widths: list[float] = []
    for ratio in UP_TO_1[::2]:
        terms = _terms(
            margins,
            table,
            weights_of(margins.cells, number) - ratio * weights_of(margins.cells, over),
        )
        step = sum(_list_steps(margins, number)) + ratio * sum(_list_steps(margins, over))
        widths.append(half_widths_of_sum(terms, PROBABILITIES[:1])[0] + step * summed / 2)
    return tuple(widths[(index + 1) // 2] for index in range(len(UP_TO_1)))


def _terms(margins: Margins, table: int, weights: Floats) -> list[Term]:
    """The noise in a weighted sum of a row's measured numbers, as independent terms.

    `table` is the table of the row. `weights` has the weight of each measured number.
    """
    return [
        Term(
            certificate=margins.measured[measured],
            coefficient=1.0,
            times=times,
            weights=tuple((weights * coefficients).tolist()),
        )
        for measured, equal in _coefficients(margins, table).items()
        for times, coefficients in equal
    ]


def _list_steps(margins: Margins, number: Component) -> list[float]:
    """The steps of the rounding grids whose roundings add up in one `number` of a cell.

    They are in the unit of `number`. Empty if nothing is rounded. If cells are also shifted so that
    they add up to a public total, the step is increased to cover this shift (`_MOVED`).
    """
    if margins.is_whole:
        return []
    index, _ = places_of(margins.cells, number)
    if margins.total_is_known and margins.marginals.is_small:
        return [_MOVED * float(margins.grids[index])]
    if number.centre or not number.of_values:
        return [float(margins.grids[index])]
    weights = zip(find_coefficients(margins.cells, number), margins.grids, strict=True)
    steps = [
        margins.steps[index] / number.radius,
        *(abs(coefficient) * grid for coefficient, grid in weights),
    ]
    return list(map(float, steps))


def _coefficients(margins: Margins, table: int) -> dict[int, list[tuple[int, Floats]]]:
    """The coefficients of noisy numbers in the estimate of a number of `table`, by measured table.

    A measured table has a list of pairs: the number of its noisy numbers with the same coefficient,
    then this coefficient. It is an array with a value for every measured component.
    """
    whole = margins.marginals.whole
    if margins.is_whole:  # all coefficients are 1; computed ones would have rounding errors
        return {whole: [(margins.marginals.cells(whole & ~table), np.ones(1))]}
    each = [
        margins.marginals.coefficients(information, table) for information in margins.information
    ]
    return {
        measured: [
            (alike[0][1], np.array([coefficient for coefficient, _ in alike]))
            for alike in zip(*(information[measured] for information in each), strict=True)
        ]
        for measured in margins.measured
    }
