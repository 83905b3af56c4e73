"""The search for noise in named sums: in the cells, in the named sums, or in other sums of cells.

A proof is tried for every candidate, and the best proved candidate is taken. If noise is in sums of
cells, the certificate contains these sums (the strategy matrix), from which its sensitivity
follows.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.design.bounds.variance_bound import least_rms
from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.strategy import SumsOfCells
from leastnoise.mechanism.accuracy import standard_deviation
from leastnoise.mechanism.rounding import default_grid
from leastnoise.noise.question import Question
from leastnoise.noise.registry import registered_family
from leastnoise.selection.public import find_candidate
from leastnoise.selection.workload import Attempt, figure_of_merit, list_attempts
from leastnoise.tables.answers.noisy import FINEST_GRID
from leastnoise.tables.answers.weighted.errors import check_known
from leastnoise.tables.answers.weighted.questions import list_moves, rows_of
from leastnoise.workloads.matrix import LeastSquares
from leastnoise.workloads.matrix_search import gaussian_strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity
    from leastnoise.guarantees.strategy import StrategyMatrix
    from leastnoise.tables.answers.weighted.named_sums import MergedSums
    from leastnoise.tables.layout.layout import Layout

    Floats = NDArray[np.float64]

MOST_LETTERS = 6_000_000
"""The largest number of letters of a strategy matrix in a certificate.

A file may have 10 million letters.
"""
_MOST_BOUNDED = 300
"""The largest number of merged cells for which a lower bound is proved, which takes time."""


def find_noise(cells: Layout, sums: MergedSums, budget: Budget, *, releases: int) -> Certificate:
    """Find, among the candidates, the proved noise with the smallest root-mean-square std of sums.

    Noise in sums of cells has to be better than noise in the cells by more than 1e-6
    (`figure_of_merit`). All `releases` together meet the budget. Raises Refused if no noise is
    proved whose half-widths are known.
    """
    best: tuple[float, Certificate] | None = None
    why = "no noise is proved for this part of the budget. Raise epsilon"
    for attempt in _list_tries(sums, cells.neighbours, pure=not budget.delta):
        try:
            certificate = _prove(cells, sums, attempt, budget=budget, releases=releases)
            ways = LeastSquares(queries=sums.queries, strategy=attempt.strategy)
            check_known(certificate, ways)
        except (Refused, NotApplicable) as error:
            why = str(error).removesuffix(".")
            continue
        stds = ways.find_stds(variances(certificate))
        figure = figure_of_merit(float(np.sqrt(np.mean(stds**2))), attempt.strategy)
        if stds.min() > 0 and stds.max() < 1e100 and (best is None or figure < best[0]):
            best = figure, certificate
    if best is None:
        raise Refused(f"The query {cells.label!r}: {why}.")
    return best[1]


def variances(certificate: Certificate) -> Floats:
    """The variance of each noisy number, including its rounding to the grid; all are equal."""
    variance = standard_deviation(certificate) ** 2
    return np.full(certificate.dimension, variance)


def is_alike(certificate: Certificate) -> bool:
    """True only if noisy numbers have the same law, and are independent or jointly spherical."""
    noise, geometry = certificate.noise, certificate.geometry
    family = registered_family(type(noise))
    if geometry is None:
        return family.spherical or family.independent or noise.dimension == 1
    return isinstance(geometry, CellGeometry) and noise.dimension == 1


def _prove(
    cells: Layout, sums: MergedSums, attempt: Attempt, *, budget: Budget, releases: int
) -> Certificate:
    """Find and prove noise of the attempt's family, in the cells or in sums of its strategy.

    Raises Refused if no noise is proved, or unless `is_alike` holds for it.
    """
    strategy = attempt.strategy
    question = Question(
        budget=budget,
        sensitivities=(
            list_moves(cells, sums)
            if strategy is None
            else (_moves_of_sums(cells, strategy, attempt),)
        ),
        dimension=sums.merged_cells if strategy is None else len(strategy.numerators),
        compositions=releases,
        stated_neighbours=cells.neighbours,
    )
    mechanism = find_candidate(attempt.family, question).mechanism
    if not is_alike(mechanism.certificate):
        raise Refused("the noise of cells isn't alike")
    grid = max(default_grid(mechanism.noise), FINEST_GRID)
    return mechanism.certificate.about(cells.neighbours).on_grid(grid)


def _moves_of_sums(cells: Layout, strategy: StrategyMatrix, attempt: Attempt) -> Sensitivity:
    moves = SumsOfCells.of(strategy, attempt.norm, cells.neighbours, rows_of(cells))
    if sum(map(len, moves.rows)) > MOST_LETTERS:
        raise Refused("the certificate would be too long. Use fewer sums or cells")
    return moves


@lru_cache(maxsize=8)
def _list_tries(sums: MergedSums, neighbours: Neighbours, *, pure: bool) -> tuple[Attempt, ...]:
    tries, _ = list_attempts(sums.queries, neighbours, pure=pure)
    return tries


@lru_cache(maxsize=8)
def find_bound(sums: MergedSums, budget: Budget, reach: Fraction, releases: int) -> float | None:
    """A proved lower bound on the root-mean-square std of the sums, for any additive noise.

    The bound is for units that can add `reach` to any merged cell. None if there are too many
    merged cells.
    """
    if sums.merged_cells > _MOST_BOUNDED:
        return None
    single = budget if budget.delta else budget.share(Fraction(1, releases))
    queries = sums.queries
    _, prices = gaussian_strategy(np.asarray(queries.T @ queries, dtype=np.float64))
    return least_rms(queries, prices, budget=single, max_rows=reach)
