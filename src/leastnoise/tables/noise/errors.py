"""The error that the noise of a block causes, and the accuracy that the block asks for.

Every number stays in float64's range. `parse.query_checks` says whether a spec asks well for an
accuracy, and this module whether a plan has it.
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
"""Of the half-widths of a `NoiseError`."""


def measure_error(certificate: Certificate, coordinate: int = 0) -> NoiseError:
    """Return the error of one coordinate."""
    halves = [half_width(certificate, one, coordinate) for one in PROBABILITIES]
    std = standard_deviation(certificate, coordinate)
    return NoiseError(std=std, half95=halves[0], half975=halves[1], half983=halves[2])


def noise_errors(
    certificate: Certificate, layout: Layout, first: int = 0
) -> tuple[NoiseError, ...]:
    """Return the error of each component of a layout, whose first coordinate is `first`.

    Every cell is alike: a geometry and a body treat the cells of a block the same.
    """
    found: dict[float, NoiseError] = {}
    errors: list[NoiseError] = []
    for coordinate in range(first, first + len(layout.components)):
        std = standard_deviation(certificate, coordinate)
        if std not in found:  # numbers of one box with one bound have one law, others another std
            found[std] = measure_error(certificate, coordinate)
        # given that a group is published its noise has another law, for which there is room
        drawn = (certificate, coordinate) if layout.rows_are_public else None
        errors.append(replace(found[std], drawn=drawn))
    return tuple(errors)


def rounded_rows(layout: Layout, noise: Sequence[NoiseError]) -> int | None:
    """Return how many rows of a cell can be rounded alike, and be off by 1 % of an interval.

    Each value is rounded to a multiple of 2^(−bits) of the largest. Values that differ are off by
    far less together, since they are rounded either way. Rounded down to two digits, which another
    machine's floats give as well. None where no values are summed.
    """
    widths = [
        error.half95 for one, error in zip(layout.components, noise, strict=True) if one.of_values
    ]
    if not widths:
        return None
    rows = math.floor(min(widths) * 2 ** (layout.bits + 1) / 100)
    unit = 10 ** max(len(str(rows)) - 2, 0)
    return rows // unit * unit


def variances(certificate: Certificate, layout: Layout, first: int = 0) -> list[float]:
    """Return the variance of each component of a layout, whose first coordinate is `first`."""
    coordinates = range(first, first + len(layout.components))
    return [standard_deviation(certificate, one) ** 2 for one in coordinates]


@final
@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """The error of one number in a cell, in the statistic's own units.

    That of a mean, if its group has so many `rows`, is at most so large. A half-width is infinite
    where noise may make the denominator of a ratio 0.
    """

    statistic: str
    rows: int | None
    std: float
    half_width_95: float
    plain_laplace_std: float | None
    plain_gaussian_std: float | None

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, of which none is infinite: null stands for no bound."""
        return {key: None if one == math.inf else one for key, one in vars(self).items()}


def expected_errors(
    layout: Layout,
    noise: Sequence[NoiseError],
    baselines: Baselines,
    *,
    statistic: str | None = None,
) -> tuple[ExpectedError, ...]:
    """Return what `BlockPlan.errors` says, of one `statistic` alone if its label is given.

    `noise` holds an error a component.
    """
    plain = [
        None if one is None else math.sqrt(one.variance) * baselines.summed
        for one in (baselines.laplace, baselines.gaussian)
    ]
    found: list[ExpectedError] = []
    for asked, own in zip(layout.statistics, layout.ingredients(noise), strict=True):
        if statistic not in {None, asked.label}:
            continue
        stds = [one.std for one in own.noise]
        for rows in layout.assumed if asked.needs_size else (None,):
            laplace, gaussian = (
                None if one is None else asked.expected_std(own, [one] * len(stds), rows)
                for one in plain
            )
            found.append(
                ExpectedError(
                    statistic=asked.label,
                    rows=rows,
                    std=asked.expected_std(own, stds, rows),
                    half_width_95=asked.expected_half_width(own, rows),
                    plain_laplace_std=laplace,
                    plain_gaussian_std=gaussian,
                )
            )
    return tuple(found)


def check_range(
    layout: Layout,
    certificate: Certificate,
    baselines: Baselines,
    errors_of: Callable[[], Sequence[NoiseError]],
) -> None:
    """Raise Refused, naming the bounds, if a published number could overflow, or vanish.

    `errors_of` returns the error of each component, or raises OverflowError.
    Whatever the rows and the noise are. What is drawn is at most LARGEST_RESULT·g, and a geometry
    makes it at most √d·factor times as large (Cauchy & Schwarz). Totals are monotone in it, means
    and variances stay in their bounds, and a ratio is largest over the least denominator above 0,
    so that the ends and one step, of each number, are enough. What no bound holds may be infinite,
    but for the value.
    """
    try:
        noise = [replace(one, rows=None) for one in errors_of()]
        step = float(certificate.grid or 0)
        if certificate.geometry is not None:
            step *= float(certificate.geometry.deviations[0]) * math.sqrt(certificate.dimension)
        errors = expected_errors(layout, noise, baselines)
    except OverflowError:
        raise Refused(
            f"The noise of {layout.name!r} is out of the range of float64. Raise the budget."
        ) from None
    largest = step * LARGEST_RESULT
    ends = (-largest, step, largest)
    for asked, own in zip(layout.statistics, layout.ingredients(noise), strict=True):
        drawn = np.array([*itertools.product(ends, repeat=len(own.components))]).T
        with np.errstate(all="ignore"):
            value, *others = asked.values(own, [*drawn])
        shown = [*value, *itertools.chain.from_iterable(others)]
        for error in errors:
            if error.statistic == asked.label:
                shown += [error.std, error.half_width_95]
                shown += [error.plain_laplace_std or 0.0, error.plain_gaussian_std or 0.0]
        if asked.is_open(own):
            shown = [*value, *(0.0 if math.isinf(one) else one for one in shown)]
        vanishes = asked.unit(own) * step < sys.float_info.min
        if vanishes or not all(map(math.isfinite, shown)):
            raise Refused(_why_out_of_range(layout, asked))


def _why_out_of_range(layout: Layout, asked: Statistic) -> str:
    why = f"{asked.label} of {layout.name!r} could be out of the range of float64, "
    if asked.counts:
        return why + "since this budget needs so much noise. Raise epsilon or delta."
    columns = [one.column for one in asked.parts if one.of_values]
    bounds = _words.join_names([f"columns.{column}.bounds" for column in columns], "and")
    return why + (
        f"with the noise that this budget needs at {bounds}. Give "
        f"{_words.join_names(columns, 'and')} in another unit, so that its bounds are nearer to 1."
    )


@final
@dataclass(frozen=True, kw_only=True)
class Wish:
    """An error that a block may have at most, and the one that it has.

    `measure` is "half_width_95" or "std". The error of what depends on it, such
    as a mean, is that of a group of so many values, `rows`. It may be infinite.
    """

    statistic: str
    rows: int | None
    measure: str
    wished: float
    found: float

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values; null stands for no bound."""
        return vars(self) | {"found": self.found if math.isfinite(self.found) else None}

    @property
    def met(self) -> bool:
        """True if the error is as small as wished."""
        return self.found <= self.wished

    def in_words(self) -> str:
        """Return it as a sentence."""
        group = "" if self.rows is None else f" of {self.rows:,} values"
        measure = "95 % of the noise within ±" if self.measure == "half_width_95" else "std"
        found = f"it is {self.found:.4g}" if math.isfinite(self.found) else "nothing bounds it"
        verdict = "met" if self.met else f"not met, {found}"
        return f"Wished for {self.statistic}{group}: {measure} {self.wished:.6g}: {verdict}."


def wished_statistic(layout: Layout) -> str | None:
    """Return the label of the only statistic that a block's `accuracy` is about; None if of all."""
    asked = layout.accuracy
    return None if asked is None or asked.statistic is None else parse(asked.statistic).label


def wishes(layout: Layout, errors: Sequence[ExpectedError]) -> tuple[Wish, ...]:
    """Return what a block wishes of each of its errors; nothing if it has no `accuracy`."""
    asked = layout.accuracy
    if asked is None:
        return ()
    only = wished_statistic(layout)
    found: list[Wish] = []
    for error in errors:
        if only in {None, error.statistic}:
            for measure in ("half_width_95", "std"):
                wished = getattr(asked, measure)
                if wished is not None:
                    found.append(
                        Wish(
                            statistic=error.statistic,
                            rows=error.rows,
                            measure=measure,
                            wished=float(wished),
                            found=getattr(error, measure),
                        )
                    )
    return tuple(found)
