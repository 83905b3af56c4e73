"""Which tables of a block with margins get noise, how much each, and what other ways would have.

The search is about the layout of the measured numbers, as `margin_queries.measured_layout` has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.calibration import find_gaussian
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.mechanism.rounding import default_grid
from leastnoise.noise.question import Question
from leastnoise.selection.public import find_candidate
from leastnoise.tables.answers.noisy import FINEST_GRID
from leastnoise.tables.answers.sums.chain import draw_name, find_chain
from leastnoise.tables.answers.sums.margin_queries import (
    always_counts,
    contrasts_sensitivity,
    in_one_cell,
    made_of,
    marginals_of,
    measured_layout,
    table_layout,
    table_reaches,
    table_sensitivities,
)
from leastnoise.tables.layout.layout import MAX_DIMENSION
from leastnoise.tables.layout.limits import InCells
from leastnoise.tables.noise.joint_budget import scale_together
from leastnoise.tables.spec.query import LARGEST
from leastnoise.workloads.marginal import (
    best_shares,
    choose_loss,
    gaussian_information,
    geometric_mean_std,
    log_variance,
    pure_information,
    whole_parts,
)
from leastnoise.workloads.marginal_bounds import (
    bound,
    bound_of_largest,
    gaussian_optimum,
    gaussian_optimum_of_largest,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.mechanism.mechanism import Mechanism
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import Component
    from leastnoise.workloads.marginal import Information, Marginals, Shares

    Claims = tuple[tuple[str, Certificate], ...]
    Way = Callable[[Layout, Budget, Shares, int], list[Certificate] | None]
    Kind = tuple[Way, Information, list[Information]]
    """How noise is found; what it tells of a table, over all numbers, and of each number."""

    Floats = NDArray[np.float64]

_GAINS = 1e-3  # of ln(variance): a chain of the cells alone is no less, but in the last digits
_CONTRASTS = "contrasts-"
_PARTS = 10**6  # of the shares of contrasts, of which there may be hundreds
_LEAST_PART = 2e-6
_MOST_EPSILON = 400  # of geometric noise: its variance is e^-400 then
_GEOMETRIC_MEAN = "geometric mean of the tables' standard deviations"
_COMPARED = (
    "{of} {what} is {own:.4g}. With noise in the cells alone it is {cells:.4g}; with a share for "
    "each table, which don't add up, {apart:.4g}."
)
_BOUND = " No additive noise has less than {bound:.4g}."
FOR_THE_LARGEST = (
    f'The noise is chosen to make the largest standard deviation small (objective = "{LARGEST}").'
)


@final
@dataclass(frozen=True, kw_only=True)
class Compared:
    """The geometric mean of the standard deviations that a statistic has in the published tables.

    Or the largest of them, where that is the objective. And of other ways to make these tables, for
    the same budget. `cells`: noise in the cells alone, summed; `apart`: a share for each table, in
    which they don't agree; `bound`: no additive noise has less, as is proved, or None where nothing
    is proved. Tables without noise are left out.
    """

    own: float
    cells: float
    apart: float
    bound: float | None

    def in_words(self, of: str, *, largest: bool) -> str:
        """Return it as two sentences, after what it is `of`."""
        what = "largest standard deviation" if largest else _GEOMETRIC_MEAN
        said = _COMPARED if self.bound is None else _COMPARED + _BOUND
        return said.format(of=of, what=what, **vars(self))


def pure_family(cells: Layout) -> str:
    """Return the family of purely private noise in its tables."""
    if cells.numbers.each > 1:
        return "k-norm"
    return "geometric" if in_one_cell(cells) else "laplace"


def weights_of(cells: Layout, one: Component) -> Floats:
    """Return the coefficients of the measured numbers in one that is published."""
    return np.array(made_of(cells, one), dtype=float)


def find_variances(marginals: Marginals, information: Floats) -> Floats:
    """Return the variance of each measured number in each published table, of 1/variances."""
    return np.array([marginals.variances(marginals.carried @ one) for one in information])


def measured_name(cells: Layout, table: int, *, contrasts: bool = False) -> str:
    """Return what a certificate calls the noise of a table: by columns 1 and 3 it is `block.1x3`.

    Of its contrasts alone it is `block.contrasts-1x3`.
    """
    name = draw_name(cells, [i for i in range(len(cells.axes)) if table >> i & 1])
    label, _, by = name.rpartition(".")
    return f"{label}.{_CONTRASTS}{by}" if contrasts else name


def has_contrasts(cells: Layout) -> bool:
    """True if noise may be in contrasts: of one number of a cell, by columns of several keys."""
    return in_one_cell(cells) and min(marginals_of(cells).sizes, default=2) > 1


def find_measured(cells: Layout, budget: Budget, *, pure: bool, releases: int = 1) -> Claims:
    """Return the noise of each measured table, proved; the names are as certificates have them.

    That with the least Σ ln(variance) of the published tables, or least largest variance. Purely
    private noise, whose ε add up, or, unless `pure`, Gaussian noise in all tables where that has
    less: then it is by tight composition that all `releases` together meet the `budget`. Or that of
    a chain, if all of these have more by `_GAINS`. Raises Refused if no noise serves one.
    """
    if cells.numbers.counts and budget.epsilon > _MOST_EPSILON * releases:
        raise Refused(
            f"The query {cells.label!r}: beyond epsilon = {_MOST_EPSILON} noise in counts with "
            "margins is 0 as a float. Lower epsilon."
        )
    marginals = marginals_of(cells).with_noise()
    weights = None if cells.largest else [1.0] * len(marginals.tables)
    _, total = choose_loss(largest=cells.largest)
    offers: list[tuple[float, Way, Shares]] = []
    with_contrasts = has_contrasts(cells) and bool(budget.delta) and not pure
    for way, information, each in list_kinds(cells, budget, releases, pure=pure):
        if way is _gaussian and with_contrasts and cells.neighbours == "add-remove":
            continue  # noise in contrasts is the best of Gaussian noise
        shares = best_shares(marginals, weights, information)
        value = total(log_variance(marginals, shares, weights, one) for one in each)
        offers.append((value, way, shares))
    if with_contrasts:
        log_variances, shares = _best_contrasts(cells, marginals)
        sigma = float(find_gaussian(budget).scale) * releases**0.5
        value = total(2 * math.log(sigma) + one for one in log_variances)
        offers.append((value, _contrasts, shares))
    # a tree's numbers are whole, and don't add up to a total that is known
    on_a_tree = marginals.is_small and not marginals.total_is_known
    chain = find_chain(cells, budget, releases) if on_a_tree else None
    if chain is not None:
        along, claim = chain
        variances = [along.variance(table) for table in cells.margins]
        least = min((value for value, *_ in offers), default=math.inf)
        # beyond ε = 35 they are 0 as floats, and tell nothing
        if min(variances) > 0 and total(map(math.log, variances)) < least - _GAINS:
            grid = max(default_grid(claim.noise), FINEST_GRID)
            return ((draw_name(cells, along.order), claim.on_grid(grid)),)
    for _, way, shares in sorted(offers, key=lambda one: one[0]):
        found = way(cells, budget, shares, releases)
        if found is not None:
            return tuple(
                (measured_name(cells, table, contrasts=way is _contrasts), claim)
                for table, claim in zip(shares, found, strict=True)
            )
    raise Refused(
        f"The query {cells.label!r}: no noise is proved for tables with margins at this part of "
        "the budget. Raise epsilon."
    )


def _best_contrasts(cells: Layout, marginals: Marginals) -> tuple[list[float], Shares]:
    """Return ln v_B of the published tables, for σ = 1, and each table's share of 1/σ².

    Of Gaussian noise in contrasts, with the least sum or the least largest of these.
    """
    reaches = [contrasts_sensitivity(cells, table).bound for table in marginals.every]
    sizes = [marginals.cells(table) for table in marginals.every]
    pairs = zip(reaches, sizes, strict=True)
    costs = np.array([float(reach) ** 2 * size or 1.0 for reach, size in pairs])
    if cells.largest:
        theta = gaussian_optimum_of_largest(marginals, costs)
    else:
        theta = gaussian_optimum(marginals, [1.0] * len(marginals.tables), costs)
    parts = theta * costs / marginals.cells(marginals.whole)
    shares = whole_parts(np.maximum(parts, _LEAST_PART * (parts > 0)), marginals.every, _PARTS)
    return np.log(marginals.variances(theta)).tolist(), shares


def _pure(cells: Layout, budget: Budget, shares: Shares, times: int) -> list[Certificate]:
    """Return noise that is purely private in each table, at its share of ε."""
    family, whole = pure_family(cells), replace(budget, delta=Fraction(0))
    return [
        put_on_grid(
            cells,
            find_noise(
                cells,
                family,
                table_sensitivities(cells, table)[0],
                whole.share(share),
                dimension=table_layout(cells, table).dimension,
                times=times,
            ),
        )
        for table, share in shares.items()
    ]


def _gaussian(
    cells: Layout, budget: Budget, shares: Shares, times: int
) -> list[Certificate] | None:
    """Return Gaussian noise in tables that meets the budget together; None if that isn't proved.

    Of 1/variance each table has its share, where a unit moves all by as much.
    """
    moves = {
        table: (
            table_sensitivities(cells, table)[-1],
            table_layout(cells, table).dimension,
            _l2_reach(cells, table),
        )
        for table in shares
    }
    return compose_gaussians(cells, budget, shares, moves, times=times)


def _contrasts(
    cells: Layout, budget: Budget, shares: Shares, times: int
) -> list[Certificate] | None:
    """Return Gaussian noise in contrasts, as `_gaussian` does in tables."""
    marginals, moves = marginals_of(cells), dict[int, tuple["Sensitivity", int, float]]()
    for table in shares:
        ball = contrasts_sensitivity(cells, table)
        moves[table] = ball, marginals.contrasts(table), float(ball.bound)
    return compose_gaussians(cells, budget, shares, moves, times=times)


def compose_gaussians(
    cells: Layout,
    budget: Budget,
    shares: Shares,
    moves: Mapping[int, tuple[Sensitivity, int, float]],
    *,
    times: int,
) -> list[Certificate] | None:
    """Return Gaussian noise for what a unit moves: a set of shifts, of so many numbers, its radius.

    None if one draw alone would have all of the budget, or nothing is proved.
    """
    if len(shares) == 1:
        return None
    try:
        alone = tuple(
            find_noise(
                cells,
                "gaussian",
                moves[table][0],
                budget.share(share),
                dimension=moves[table][1],
                times=times,
            )
            for table, share in shares.items()
        )
    except Refused:
        return None
    wanted = [moves[table][2] / math.sqrt(share) for table, share in shares.items()]
    own = [float(one.noise.scale) for one in alone]
    scaled = scale_together(budget, alone, [a / b for a, b in zip(wanted, own, strict=True)])
    return None if scaled is None else [put_on_grid(cells, one) for one in scaled]


def find_noise(
    cells: Layout,
    family: str,
    moves: Sensitivity,
    budget: Budget,
    *,
    dimension: int,
    times: int,
) -> Mechanism:
    """The noise of a family for what a unit moves in one table. Raises Refused if none serves."""
    question = Question(
        budget=budget, sensitivities=(moves,), dimension=dimension, compositions=times
    )
    try:
        return find_candidate(family, question).mechanism
    except (Refused, InvalidArgument) as error:
        raise Refused(f"The query {cells.label!r}: {error}") from None


def put_on_grid(cells: Layout, made: Mechanism) -> Certificate:
    """The certificate of noise in a table of the query, with the grid that releases round to."""
    stated = made.certificate.about(cells.neighbours)
    return stated.on_grid(max(default_grid(made.noise), FINEST_GRID))


def list_kinds(cells: Layout, budget: Budget, releases: int, *, pure: bool) -> list[Kind]:
    """Return the kinds of noise that there are, where each release has its part of a budget."""
    tables, kinds = marginals_of(cells).every, list["Kind"]()
    if budget.epsilon:
        epsilon = float(budget.epsilon / releases)
        reaches = np.array([table_reaches(cells, table) for table in tables])
        whole = np.full(len(tables), in_one_cell(cells))
        each = [pure_information(epsilon, own, whole=whole) for own in reaches.T]
        every = np.exp(np.log(reaches).mean(axis=1))
        kinds.append((_pure, pure_information(epsilon, every, whole=whole), each))
    if budget.delta and not pure:
        sigma = float(find_gaussian(budget).scale) * releases**0.5
        reaches = np.array([_l2_reach(cells, table) for table in tables])
        every = gaussian_information(sigma, reaches)
        kinds.append((_gaussian, every, [every] * cells.numbers.each))
    return kinds


def _l2_reach(cells: Layout, table: int) -> float:
    """Return the most that a unit moves a table by."""
    ball = table_sensitivities(cells, table)[-1]
    # a unit is in one of cells that are too many for a vector, and their number is all the same
    dimension = min(table_layout(cells, table).dimension, MAX_DIMENSION)
    radius = ball.radius("l2", dimension=dimension)
    return float(radius or math.inf)


def compare_ways(
    cells: Layout, budget: Budget, releases: int, variances: Floats
) -> dict[str, Compared]:
    """Return each statistic that adds up, by its label, beside other ways; in its own units.

    `cells` is the layout of the published numbers, `variances` of the measured ones in each table.
    """
    drawn, published = measured_layout(cells), marginals_of(measured_layout(cells))
    marginals = published.with_noise()
    variances = variances[:, [published.has_noise(one) for one in published.tables]]
    count = len(marginals.tables)
    kinds = [each for *_, each in list_kinds(drawn, budget, releases, pure=False)]
    tables = [marginals.places[one] for one in marginals.tables]
    last = np.zeros(len(marginals.every))
    shared = last.copy()
    last[-1], shared[tables] = 1, 1 / count
    alone = [find_variances(marginals, np.array([one(last)[0] for one in each])) for each in kinds]
    apart = [1 / np.array([one(shared)[0][tables] for one in each]) for each in kinds]
    part = budget.share(Fraction(1, releases))
    single = budget if budget.delta else part  # at δ = 0 losses add up in a series
    add, count = (np.max, 1) if cells.largest else (np.sum, count)
    found: dict[str, Compared] = {}
    for asked, uses in zip(cells.statistics, cells.uses, strict=True):
        one = cells.components[uses[0]]
        if asked.adds_up:
            squares = weights_of(cells, one) ** 2
            values = [
                min(float(add(np.log(squares @ own))) for own in ways)
                for ways in ([variances], alone, apart)
            ]
            stds = [float(one.radius) * geometric_mean_std(own, count) for own in values]
            log = _log_bound(cells, marginals, one, single)
            least = None if log is None else float(one.radius) * geometric_mean_std(log, count)
            found[asked.label] = Compared(own=stds[0], cells=stds[1], apart=stds[2], bound=least)
    return found


def _log_bound(
    cells: Layout, marginals: Marginals, number: Component, budget: Budget
) -> float | None:
    """Return a bound on Σ ln v of the published tables, or on the largest; None without one.

    Noise hides a shift of one cell by `reach`, unless a unit is replaced and always counts: then it
    hides that two cells move, by `reach` and −`reach`, and says nothing of the total.
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
