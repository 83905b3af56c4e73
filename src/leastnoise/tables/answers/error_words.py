"""The errors of statistics as texts in the tables of a plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leastnoise.tables.layout import found_bounds

if TYPE_CHECKING:
    from leastnoise.tables.noise.errors import ExpectedError
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import AnyStatistic

WIDEST = "(widest bounds)"


def half_width(error: ExpectedError) -> str:
    """The half-width of the 95 % interval as text, or "no bound" if it is infinite."""
    half = error.half_width_95
    return f"{half:,.4g}" if math.isfinite(half) else "no bound"


def bounds_of_error(spec: Spec, asked: AnyStatistic) -> str:
    """The remark " (widest bounds)" if the release itself finds a statistic's bounds; else "".

    A plan then shows the error for the widest bounds that the release may find.
    """
    return f" {WIDEST}" if found_bounds.has_open_bounds(spec, asked) else ""


def std_in_words(value: float | None) -> str:
    """A standard deviation as text; "impossible" if it is None."""
    return "impossible" if value is None else f"{value:.4g}"


def plain_in_words(error: ExpectedError) -> str:
    """The better plain noise as text: its name, and its std divided by the std of `error`.

    "impossible" if the budget allows no plain noise, and "–" if the ratio is infinite.
    """
    known = (("Laplace", error.plain_laplace_std), ("Gaussian", error.plain_gaussian_std))
    possible = [(std, name) for name, std in known if std is not None]
    if not possible:
        return "impossible"
    std, name = min(possible)
    times = std / error.std if error.std else math.inf
    return f"{name} {times:.2f}×" if math.isfinite(times) else "–"
