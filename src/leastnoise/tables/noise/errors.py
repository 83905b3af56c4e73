"""The errors that the noise of a query causes, and the accuracy that the query asks for.

`check_range` makes sure that no published number leaves the range of float64. `parse.query_checks`
checks the accuracy in a spec; this module decides if a plan reaches it.
"""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise.errors import Refused
from leastnoise.mechanism.accuracy import half_width, standard_deviation
from leastnoise.mechanism.rounding import LARGEST_RESULT
from leastnoise.tables.statistics.base import NoiseError, Statistic
from leastnoise.tables.statistics.registry import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.noise.baselines import Baselines

PROBABILITIES = (0.95, 1 - 0.05 / 2, 1 - 0.05 / 3)
"""The probabilities of the half-widths of a `NoiseError`."""


def measure_error(certificate: Certificate, coordinate: int = 0) -> NoiseError:
    """The standard deviation and half-widths of one coordinate of a certificate's noise."""
    halves = [half_width(certificate, probability, coordinate) for probability in PROBABILITIES]
    std = standard_deviation(certificate, coordinate)
    return NoiseError(std=std, half95=halves[0], half975=halves[1], half983=halves[2])


def noise_errors(
    certificate: Certificate, layout: Layout, first: int = 0
) -> tuple[NoiseError, ...]:
    """The error of each component of a layout; it is the same in every cell.

    The reason is that geometries and bodies treat all cells of a query alike. `first` is the index
    of the layout's first coordinate in the draw.
    """
    error_by_std: dict[float, NoiseError] = {}
    errors: list[NoiseError] = []
    for coordinate in range(first, first + len(layout.components)):
        std = standard_deviation(certificate, coordinate)
        if std not in error_by_std:  # coordinates with the same std have the same law
            error_by_std[std] = measure_error(certificate, coordinate)
        # publication of a group depends on its noise, so no exact law is stated
        drawn = (certificate, coordinate) if layout.rows_are_public else None
        errors.append(replace(error_by_std[std], drawn=drawn))
    return tuple(errors)


def rounded_rows(layout: Layout, noise: Sequence[NoiseError]) -> int | None:
    """The number of rows in a cell from which on rounding may reach 1 % of the noise.

    The noise is measured by the smallest 95 % half-width of a sum of values. Each value is rounded
    to a multiple of 2^(−bits) of the largest value. In the worst case, all rows are rounded by the
    most in the same direction. The result is rounded down to two digits, so that it doesn't depend
    on a machine's floats. None if no values are summed.
    """
    pairs = zip(layout.components, noise, strict=True)
    widths = [error.half95 for component, error in pairs if component.of_values]
    if not widths:
        return None
    rows = math.floor(min(widths) * 2 ** (layout.bits + 1) / 100)
    unit = 10 ** max(len(str(rows)) - 2, 0)
    return rows // unit * unit


def variances(certificate: Certificate, layout: Layout, first: int = 0) -> list[float]:
    """The variance of the noise in each component of a layout, which is the same in every cell.

    `first` is the index of the layout's first coordinate in the draw.
    """
    coordinates = range(first, first + len(layout.components))
    return [standard_deviation(certificate, coordinate) ** 2 for coordinate in coordinates]


@final
@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """The error of one published statistic in a cell, in the statistic's units.

    If the error depends on the size of a group, as for a mean, it is a bound for a group of `rows`
    values; otherwise `rows` is None. A half-width is infinite if noise may make the denominator of
    a ratio 0. The last two fields are the std with plain Laplace and with plain Gaussian noise;
    None if that noise isn't applicable.
    """

    statistic: str
    rows: int | None
    std: float
    half_width_95: float
    plain_laplace_std: float | None
    plain_gaussian_std: float | None

    def to_record(self) -> dict[str, Any]:
        """The error as JSON values; null stands for infinity."""
        return {key: None if value == math.inf else value for key, value in vars(self).items()}


def expected_errors(
    layout: Layout,
    noise: Sequence[NoiseError],
    baselines: Baselines,
    *,
    label: str | None = None,
) -> tuple[ExpectedError, ...]:
    """The errors that a plan shows, or only the errors of the statistic with this `label`.

    `noise` has the error of each component.
    """
    plain = [
        None if law is None else math.sqrt(law.variance) * baselines.summed
        for law in (baselines.laplace, baselines.gaussian)
    ]
    expected: list[ExpectedError] = []
    for statistic, ingredients in zip(layout.statistics, layout.ingredients(noise), strict=True):
        if label not in {None, statistic.label}:
            continue
        stds = [error.std for error in ingredients.noise]
        for rows in layout.assumed if statistic.needs_size else (None,):
            laplace, gaussian = (
                None
                if std is None
                else statistic.expected_std(ingredients, [std] * len(stds), rows)
                for std in plain
            )
            expected.append(
                ExpectedError(
                    statistic=statistic.label,
                    rows=rows,
                    std=statistic.expected_std(ingredients, stds, rows),
                    half_width_95=statistic.expected_half_width(ingredients, rows),
                    plain_laplace_std=laplace,
                    plain_gaussian_std=gaussian,
                )
            )
    return tuple(expected)


def check_range(
    layout: Layout,
    certificate: Certificate,
    baselines: Baselines,
    errors_of: Callable[[], Sequence[NoiseError]],
) -> None:
    """Raise Refused if a published number could overflow or underflow.

    For a statistic of values, the message names the bounds of its columns.

    `errors_of` returns the error of each component, or raises OverflowError. The check holds for
    all data and all draws. A noisy number is at most LARGEST_RESULT·g for the grid g; a geometry in
    d dimensions multiplies it by at most √d times a deviation (Cauchy & Schwarz; see
    `Geometry.deviations`). Totals are monotone in each number. Means and variances stay in their
    bounds. A ratio is largest at the smallest denominator above 0. So it is enough to try both ends
    and one step for each number. The error of an unbounded statistic may be infinite, but not its
    value.
    """
    try:
        noise = [replace(error, rows=None) for error in errors_of()]
        step = float(certificate.grid or 0)
        if certificate.geometry is not None:
            step *= float(certificate.geometry.deviations.max()) * math.sqrt(certificate.dimension)
        errors = expected_errors(layout, noise, baselines)
    except OverflowError:
        raise Refused(
            f"The noise of {layout.name!r} is out of the range of float64. Raise the budget."
        ) from None
    largest = step * LARGEST_RESULT
    ends = (-largest, step, largest)
    for statistic, ingredients in zip(layout.statistics, layout.ingredients(noise), strict=True):
        drawn = np.array([*itertools.product(ends, repeat=len(ingredients.components))]).T
        with np.errstate(all="ignore"):
            value, *others = statistic.values(ingredients, [*drawn])
        shown = [*value, *itertools.chain.from_iterable(others)]
        for error in errors:
            if error.statistic == statistic.label:
                shown += [error.std, error.half_width_95]
                shown += [error.plain_laplace_std or 0.0, error.plain_gaussian_std or 0.0]
        if statistic.is_open(ingredients):
            shown = [*value, *(0.0 if math.isinf(number) else number for number in shown)]
        vanishes = statistic.unit(ingredients) * step < sys.float_info.min
        if vanishes or not all(map(math.isfinite, shown)):
            raise Refused(_explain_overflow(layout, statistic))


def _explain_overflow(layout: Layout, statistic: Statistic) -> str:
    why = f"{statistic.label} of {layout.name!r} could be out of the range of float64, "
    if statistic.counts:
        return why + "because the budget is so small. Raise epsilon or delta."
    columns = [part.column for part in statistic.parts if part.of_values]
    bounds = _words.join_names([f"columns.{column}.bounds" for column in columns], "and")
    return why + (
        f"with the noise that this budget needs at {bounds}. Give "
        f"{_words.join_names(columns, 'and')} in another unit, so that its bounds are nearer to 1."
    )


@final
@dataclass(frozen=True, kw_only=True)
class Wish:
    """The largest error that a query accepts (`wished`), and the error of the plan (`actual`).

    `measure` is "half_width_95" or "std". The error of a statistic that depends on the size of a
    group, such as a mean, is for a group of `rows` values. The actual error may be infinite.
    """

    statistic: str
    rows: int | None
    measure: str
    wished: float
    actual: float

    def to_record(self) -> dict[str, Any]:
        """The wish as JSON values; null stands for an infinite error."""
        return {
            "statistic": self.statistic,
            "rows": self.rows,
            "measure": self.measure,
            "wished": self.wished,
            "found": self.actual if math.isfinite(self.actual) else None,
        }

    @property
    def met(self) -> bool:
        """True if the actual error is at most the wished error."""
        return self.actual <= self.wished

    def in_words(self) -> str:
        """A sentence about the wish, for a plan."""
        group = "" if self.rows is None else f" of {self.rows:,} values"
        measure = "95 % of the noise within ±" if self.measure == "half_width_95" else "std"
        actual = f"it is {self.actual:.4g}" if math.isfinite(self.actual) else "nothing bounds it"
        verdict = "met" if self.met else f"not met, {actual}"
        return (
            f"Wished accuracy of {self.statistic}{group} ({measure} {self.wished:.6g}): {verdict}."
        )


def wished_statistic(layout: Layout) -> str | None:
    """The label of the only statistic that a query's `accuracy` is about; None without one."""
    accuracy = layout.accuracy
    if accuracy is None or accuracy.statistic is None:
        return None
    return parse(accuracy.statistic).label


def wishes(layout: Layout, errors: Sequence[ExpectedError]) -> tuple[Wish, ...]:
    """A `Wish` for each error that the query's `accuracy` limits; empty without `accuracy`."""
    accuracy = layout.accuracy
    if accuracy is None:
        return ()
    only = wished_statistic(layout)
    compared: list[Wish] = []
    for error in errors:
        if only in {None, error.statistic}:
            for measure in ("half_width_95", "std"):
                wished = getattr(accuracy, measure)
                if wished is not None:
                    compared.append(
                        Wish(
                            statistic=error.statistic,
                            rows=error.rows,
                            measure=measure,
                            wished=float(wished),
                            actual=getattr(error, measure),
                        )
                    )
    return tuple(compared)
