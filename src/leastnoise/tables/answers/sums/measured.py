"""The search for noise in tables with margins: the measured tables, and the noise in each.

The argument `cells` is the layout of the measured numbers: see `margin_queries.measured_layout`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.calibration import find_gaussian
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.mechanism.rounding import default_grid
from leastnoise.noise.question import Question
from leastnoise.selection.public import find_candidate
from leastnoise.tables.answers.noisy import FINEST_GRID
from leastnoise.tables.answers.sums.chain import draw_name, find_chain
from leastnoise.tables.answers.sums.margin_queries import (
    contrasts_sensitivity,
    find_coefficients,
    in_one_cell,
    marginals_of,
    table_layout,
    table_reaches,
    table_sensitivities,
)
from leastnoise.tables.layout.layout import MAX_DIMENSION
from leastnoise.tables.noise.joint_scaling import scale_together
from leastnoise.workloads.marginal import (
    best_shares,
    choose_loss,
    gaussian_information,
    log_variance,
    pure_information,
    whole_parts,
)
from leastnoise.workloads.marginal_bounds import (
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
    Moves = Mapping[int, tuple[Sensitivity, int, float]]
    """For each table: the set of shifts by one unit, the number of coordinates, the l2 norm."""
    Search = Callable[[Layout, Budget, Shares, int], list[Certificate] | None]
    """A function that proves noise, given the layout, the budget, shares and number of releases."""
    Kind = tuple[Search, Information, list[Information]]
    """A kind of noise: its `Search`, and two estimates of 1/variance in tables at given shares.

    The first estimate is a mean over the measured numbers; the second has one for each number.
    """

    Floats = NDArray[np.float64]

_GAINS = 1e-3  # in ln(variance): a smaller gain of a chain over other noise may be a rounding error
_CONTRASTS = "contrasts-"
_PARTS = 10**6  # parts into which shares are divided: there may be hundreds of contrasts
_LEAST_PART = 2e-6
_MOST_EPSILON = 400  # for geometric noise, whose variance is e^-400 at this ε
_NOT_PROVED = (
    "The query {label!r}: no noise is proved for tables with margins at this part of the budget. "
    "Raise epsilon."
)


def pure_family(cells: Layout) -> str:
    """The family of purely private noise that suits these tables."""
    if cells.numbers.each > 1:
        return "k-norm"
    return "geometric" if in_one_cell(cells) else "laplace"


def weights_of(cells: Layout, number: Component) -> Floats:
    """The coefficients, as floats, with which measured numbers add up to a published number."""
    return np.array(find_coefficients(cells, number), dtype=float)


def find_variances(marginals: Marginals, information: Floats) -> Floats:
    """The variance of each measured number in each published table.

    `information` has 1/variance of the noise; shape (measured numbers, tables of `every`).
    """
    return np.array([marginals.variances(marginals.carried @ row) for row in information])


def measured_name(cells: Layout, table: int, *, contrasts: bool = False) -> str:
    """The name of a certificate of noise in a table: `query.1x3` for the table by columns 1 and 3.

    If noise is in the table's contrasts, the name is `query.contrasts-1x3`.
    """
    name = draw_name(cells, marginals_of(cells).axes(table))
    label, _, by = name.rpartition(".")
    return f"{label}.{_CONTRASTS}{by}" if contrasts else name


def has_contrasts(cells: Layout) -> bool:
    """True if noise can be added to contrasts: see `contrasts_sensitivity`.

    A unit has to be in at most one cell, and every column must have at least two keys.
    """
    return in_one_cell(cells) and min(marginals_of(cells).sizes, default=2) > 1


def find_measured(cells: Layout, budget: Budget, *, pure: bool, releases: int = 1) -> Claims:
    """Find and prove the noise of each measured table. Returns pairs of a name and a certificate.

    There are three kinds of candidates:

    - Purely private noise in tables, whose ε add up.
    - Gaussian noise in tables or in contrasts, unless `pure`. All together meet the budget by tight
      composition.
    - Noise on a tree along one order of the columns, if it beats the others by more than `_GAINS`.

    The best candidate has the smallest Σ ln(variance) over the published tables, or the smallest
    largest variance if the layout says `largest`. If it isn't proved, the next candidate is tried.
    All `releases` together meet the `budget`. Raises Refused for an ε that `check_epsilon` refuses,
    and if no candidate is proved.
    """
    check_epsilon(cells, budget, releases, counts=cells.numbers.counts)
    marginals = marginals_of(cells).with_noise()
    _, total = choose_loss(largest=cells.largest)
    offers = _list_offers(cells, budget, releases, pure=pure)
    # a tree's numbers are whole, and can't be adjusted to a known total
    on_a_tree = marginals.is_small and not marginals.total_is_known
    offer = find_chain(cells, budget, releases) if on_a_tree else None
    if offer is not None:
        chain, claim = offer
        variances = [chain.variance(table) for table in cells.margins]
        least = min((value for value, *_ in offers), default=math.inf)
        # beyond ε = 35 variances may be 0 as floats, and can't be compared
        if min(variances) > 0 and total(map(math.log, variances)) < least - _GAINS:
            grid = max(default_grid(claim.noise), FINEST_GRID)
            return ((draw_name(cells, chain.order), claim.on_grid(grid)),)
    search, shares, claims = prove_best(cells, budget, offers, releases)
    in_contrasts = search is _contrasts
    names = (measured_name(cells, table, contrasts=in_contrasts) for table in shares)
    return tuple(zip(names, claims, strict=True))


def find_gaussian_tables(cells: Layout, budget: Budget, *, releases: int) -> Claims:
    """Find and prove Gaussian noise of each measured table, or of its contrasts.

    The result is as in `find_measured`. Raises Refused if no such noise is proved.
    """
    offers = _list_offers(cells, budget, releases, pure=False)
    _, search, shares = min((offer for offer in offers if offer[1] is not _pure), key=itemgetter(0))
    in_contrasts = search is _contrasts
    moves = _contrast_moves(cells, shares) if in_contrasts else _table_moves(cells, shares)
    claims = compose_gaussians(cells, budget, shares, moves, times=releases, single=True)
    if claims is None:
        raise Refused(_NOT_PROVED.format(label=cells.label))
    names = (measured_name(cells, table, contrasts=in_contrasts) for table in shares)
    return tuple(zip(names, claims, strict=True))


def _list_offers(
    cells: Layout, budget: Budget, releases: int, *, pure: bool
) -> list[tuple[float, Search, Shares]]:
    """The candidates of `find_measured` except trees: objective, search, and shares of tables.

    The smallest objective is best: Σ ln(variance) over the published tables and the measured
    numbers, or the largest ln(variance).
    """
    marginals = marginals_of(cells).with_noise()
    weights = None if cells.largest else [1.0] * len(marginals.tables)
    _, total = choose_loss(largest=cells.largest)
    offers: list[tuple[float, Search, Shares]] = []
    with_contrasts = has_contrasts(cells) and bool(budget.delta) and not pure
    for search, information, of_numbers in list_kinds(cells, budget, releases, pure=pure):
        if search is _gaussian and with_contrasts and cells.neighbours == "add-remove":
            continue  # with add-remove neighbours, noise in contrasts is the best Gaussian noise
        shares = best_shares(marginals, weights, information)
        value = total(log_variance(marginals, shares, weights, number) for number in of_numbers)
        offers.append((value, search, shares))
    if with_contrasts:
        log_variances, shares = _best_contrasts(cells, marginals)
        sigma = float(find_gaussian(budget).scale) * releases**0.5
        value = total(2 * math.log(sigma) + variance for variance in log_variances)
        offers.append((value, _contrasts, shares))
    return offers


def check_epsilon(cells: Layout, budget: Budget, releases: int, *, counts: bool = True) -> None:
    """Raise Refused if noise in counts would be too small for floats.

    `counts` is True if all noisy numbers are counts. Otherwise nothing is checked.
    """
    if counts and budget.epsilon > _MOST_EPSILON * releases:
        raise Refused(
            f"The query {cells.label!r}: with epsilon above {_MOST_EPSILON * releases:,}, noise in "
            "counts with margins would be too small to be computed. Lower epsilon."
        )


def prove_best(
    cells: Layout, budget: Budget, offers: Iterable[tuple[float, Search, Shares]], releases: int
) -> tuple[Search, Shares, list[Certificate]]:
    """Prove the offers until a proof succeeds, the offer with the smallest objective first.

    Returns the search and the shares of this offer, and the certificate of each table. If no offer
    is proved, raises the first Refused of a search, or else a Refused of its own.
    """
    reasons: list[Refused] = []
    for _, search, shares in sorted(offers, key=itemgetter(0)):
        try:
            claims = search(cells, budget, shares, releases)
        except Refused as error:
            reasons.append(error)
            continue
        if claims is not None:
            return search, shares, claims
    raise reasons[0] if reasons else Refused(_NOT_PROVED.format(label=cells.label))


def _best_contrasts(cells: Layout, marginals: Marginals) -> tuple[list[float], Shares]:
    """The best Gaussian noise in contrasts: ln v_B of each published table B, and shares.

    Contrasts are defined at `contrasts_sensitivity`. v_B is the variance of a number of table B, if
    noise with a standard deviation of 1 is enough to hide a shift of l2 norm 1. The best noise
    minimizes Σ ln v_B or, if the layout says `largest`, the largest v_B. The share of a measured
    table is its fraction of Σ (r/σ)² over tables. Here r is the l2 norm by which a unit shifts the
    table's contrasts, and σ the standard deviation of their noise.
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
    """Prove purely private noise in each table, at the table's share of ε.

    The budget is for `times` releases. Raises Refused if the noise isn't proved.
    """
    moves = {
        table: (table_sensitivities(cells, table)[0], table_layout(cells, table).dimension, 0.0)
        for table in shares
    }
    return find_pure(cells, pure_family(cells), budget, shares, moves, times=times)


def _gaussian(
    cells: Layout, budget: Budget, shares: Shares, times: int
) -> list[Certificate] | None:
    """Prove Gaussian noise in tables, all within the budget together.

    Returns a certificate for each table in `shares`, in this order; None if they aren't proved. The
    budget is for `times` releases. The share of a table is its fraction of Σ (r/σ)² over tables.
    Here r is the l2 norm by which a unit shifts the table, and σ the standard deviation of its
    noise.
    """
    return compose_gaussians(cells, budget, shares, _table_moves(cells, shares), times=times)


def _table_moves(cells: Layout, tables: Iterable[int]) -> Moves:
    return {
        table: (
            table_sensitivities(cells, table)[-1],
            table_layout(cells, table).dimension,
            _l2_reach(cells, table),
        )
        for table in tables
    }


def _contrasts(
    cells: Layout, budget: Budget, shares: Shares, times: int
) -> list[Certificate] | None:
    """Prove Gaussian noise in the contrasts of tables, all within the budget together.

    Shares are as in `_gaussian`, with the l2 norm of a shift of the contrasts. Returns a
    certificate for each table in `shares`, in this order; None if they aren't proved.
    """
    return compose_gaussians(cells, budget, shares, _contrast_moves(cells, shares), times=times)


def _contrast_moves(cells: Layout, tables: Iterable[int]) -> Moves:
    marginals, moves = marginals_of(cells), dict[int, tuple["Sensitivity", int, float]]()
    for table in tables:
        ball = contrasts_sensitivity(cells, table)
        moves[table] = ball, marginals.contrasts(table), float(ball.bound)
    return moves


def find_pure(  # noqa: PLR0917 (two calls)
    cells: Layout, family: str, budget: Budget, shares: Shares, moves: Moves, *, times: int
) -> list[Certificate]:
    """Prove noise of one purely private family in each table, at the table's share of ε.

    The budget is for `times` releases. Raises Refused if no noise is proved for a table.
    """
    whole = replace(budget, delta=Fraction(0))
    noise = (
        find_noise(
            cells,
            family,
            moves[table][0],
            whole.share(share),
            dimension=moves[table][1],
            times=times,
        )
        for table, share in shares.items()
    )
    return [put_on_grid(cells, mechanism) for mechanism in noise]


def compose_gaussians(
    cells: Layout,
    budget: Budget,
    shares: Shares,
    moves: Moves,
    *,
    times: int,
    single: bool = False,
) -> list[Certificate] | None:
    """Prove Gaussian noise in each table, so that all tables together meet the budget.

    `shares` and `times` are as in `_gaussian`. None if the noise isn't proved. A single table needs
    no composition: then the result is None, too, unless `single` is True.
    """
    if len(shares) == 1 and not single:
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
    scales = [float(mechanism.noise.scale) for mechanism in alone]
    ratios = [a / b for a, b in zip(wanted, scales, strict=True)]
    scaled = scale_together(budget, alone, ratios)
    return None if scaled is None else [put_on_grid(cells, mechanism) for mechanism in scaled]


def find_noise(
    cells: Layout,
    family: str,
    moves: Sensitivity,
    budget: Budget,
    *,
    dimension: int,
    times: int,
) -> Mechanism:
    """Find and prove noise of one family in a table with the sensitivity `moves`.

    The budget is for `times` releases. Raises Refused if no noise is proved.
    """
    question = Question(
        budget=budget, sensitivities=(moves,), dimension=dimension, compositions=times
    )
    try:
        return find_candidate(family, question).mechanism
    except (Refused, InvalidArgument) as error:
        raise Refused(f"The query {cells.label!r}: {error}") from None


def put_on_grid(cells: Layout, mechanism: Mechanism) -> Certificate:
    """The certificate of noise in a table, after rounding to a grid that suits the query."""
    certificate = mechanism.certificate.about(cells.neighbours)
    return certificate.on_grid(max(default_grid(mechanism.noise), FINEST_GRID))


def list_kinds(cells: Layout, budget: Budget, releases: int, *, pure: bool) -> list[Kind]:
    """The kinds of noise in tables to try, with the 1/variance that each has in one release.

    Purely private noise needs ε > 0. Gaussian noise needs δ > 0, and isn't tried if `pure`.
    """
    tables, kinds = marginals_of(cells).every, list["Kind"]()
    if budget.epsilon:
        epsilon = float(budget.epsilon / releases)
        reaches = np.array([table_reaches(cells, table) for table in tables])
        whole = np.full(len(tables), in_one_cell(cells))
        of_numbers = [pure_information(epsilon, column, whole=whole) for column in reaches.T]
        mean = np.exp(np.log(reaches).mean(axis=1))
        kinds.append((_pure, pure_information(epsilon, mean, whole=whole), of_numbers))
    if budget.delta and not pure:
        sigma = float(find_gaussian(budget).scale) * releases**0.5
        reaches = np.array([_l2_reach(cells, table) for table in tables])
        information = gaussian_information(sigma, reaches)
        kinds.append((_gaussian, information, [information] * cells.numbers.each))
    return kinds


def _l2_reach(cells: Layout, table: int) -> float:
    """A bound on the l2 norm by which one unit shifts a table; infinite if none is known."""
    ball = table_sensitivities(cells, table)[-1]
    # the norm doesn't depend on the number of cells, which may be too large for a vector
    dimension = min(table_layout(cells, table).dimension, MAX_DIMENSION)
    radius = ball.radius("l2", dimension=dimension)
    return float(radius or math.inf)
