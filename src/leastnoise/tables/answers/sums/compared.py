"""Standard deviations of sums, compared with other strategies and with a proved lower bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.tables.answers.sums.margin_queries import (
    always_counts,
    marginals_of,
    measured_layout,
)
from leastnoise.tables.answers.sums.measured import find_variances, list_kinds, weights_of
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.workloads.marginal import geometric_mean_std
from leastnoise.workloads.marginal_bounds import bound, bound_of_largest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import Component
    from leastnoise.workloads.marginal import Marginals

    Floats = NDArray[np.float64]

_GEOMETRIC_MEAN = "geometric mean of the tables' standard deviations"
_COMPARED = (
    "{subject} is {own:.4g}. With noise in the cells alone, the {short} would be {cells:.4g}. With "
    "separate noise in each table, the {short} would be {apart:.4g}, but the tables wouldn't add "
    "up."
)
_BOUND = " With any additive noise for this budget, the {short} is at least {bound:.4g}."


@final
@dataclass(frozen=True, kw_only=True)
class Compared:
    """The standard deviation of one statistic, for several strategies with the same budget.

    Each field is the geometric mean of the standard deviations of the tables with noise, or the
    largest of them if that is the objective. In the mean, the root mean square over rows stands for
    a table whose rows differ. `own` is for this plan. `cells` is for noise in the cells only, which
    are then summed. `apart` is for independent noise in each table, with an equal share of the
    budget for each; such tables don't add up. `bound` is a proved lower bound for any additive
    noise; None if unknown.
    """

    own: float
    cells: float
    apart: float
    bound: float | None

    def in_words(self, statistic: str, *, largest: bool) -> str:
        """Sentences that compare the standard deviations.

        `statistic` is the label of the statistic, or "" if it needs no label. `largest` is true if
        the fields are the largest standard deviations.
        """
        what = "largest standard deviation" if largest else _GEOMETRIC_MEAN
        short = what if largest else "geometric mean"
        subject = f"The {what} of {statistic}" if statistic else f"The {what}"
        text = _COMPARED if self.bound is None else _COMPARED + _BOUND
        return text.format(subject=subject, short=short, **vars(self))


def compare_ways(
    cells: Layout, budget: Budget, releases: int, variances: Floats
) -> dict[str, Compared]:
    """The plan's standard deviation of each statistic that adds up, beside other strategies'.

    Returns a `Compared` by the statistic's label. `cells` is the layout of the published numbers.
    Standard deviations are in the statistic's units. All `releases` together have the `budget`.
    `variances` has the plan's variances of
    measured numbers; shape (measured numbers, published tables).
    """
    drawn, published = measured_layout(cells), marginals_of(measured_layout(cells))
    marginals = published.with_noise()
    variances = variances[:, [published.has_noise(table) for table in published.tables]]
    count = len(marginals.tables)
    kinds = [of_numbers for *_, of_numbers in list_kinds(drawn, budget, releases, pure=False)]
    tables = [marginals.places[table] for table in marginals.tables]
    last = np.zeros(len(marginals.every))
    shared = last.copy()
    last[-1], shared[tables] = 1, 1 / count
    alone = [
        find_variances(marginals, np.array([information(last)[0] for information in kind]))
        for kind in kinds
    ]
    apart = [
        1 / np.array([information(shared)[0][tables] for information in kind]) for kind in kinds
    ]
    part = budget.share(Fraction(1, releases))
    single = budget if budget.delta else part  # at δ = 0 the losses of a series' releases add up
    add, count = (np.max, 1) if cells.largest else (np.sum, count)
    compared: dict[str, Compared] = {}
    for asked, uses in zip(cells.statistics, cells.uses, strict=True):
        number = cells.components[uses[0]]
        if asked.adds_up:
            squares = weights_of(cells, number) ** 2
            logs = [
                min(float(add(np.log(squares @ rows))) for rows in ways)
                for ways in ([variances], alone, apart)
            ]
            radius, log = float(number.radius), _log_bound(cells, marginals, number, single)
            stds = [radius * geometric_mean_std(value, count) for value in logs]
            least = None if log is None else radius * geometric_mean_std(log, count)
            compared[asked.label] = Compared(own=stds[0], cells=stds[1], apart=stds[2], bound=least)
    return compared


def _log_bound(
    cells: Layout, marginals: Marginals, number: Component, budget: Budget
) -> float | None:
    """A lower bound on Σ ln v over the tables with noise, or on the largest ln v; None if unknown.

    The bound is on the largest if the layout says `largest`. v is the variance of `number` in a
    table, divided by the squared radius of the number, with any additive noise for the `budget`.
    Such noise has to hide a shift of one cell by the most that a unit can move the number. If units
    are replaced and always count, the bound uses a weaker fact: the noise has to hide opposite
    shifts of two cells.
    """
    reach = cells.bounding.most if isinstance(cells.bounding, InCells) else Fraction(1)
    if cells.neighbours == "replace-one" and always_counts(cells, number):
        marginals = replace(marginals, total_is_known=True)
        with_noise = marginals.with_noise()
        if not with_noise.tables or (with_noise != marginals and not cells.largest):
            return None
        marginals = with_noise
    if cells.largest:
        return bound_of_largest(marginals, budget=budget, reach=reach)
    return bound(marginals, [Fraction(1)] * len(marginals.tables), budget=budget, reach=reach)
