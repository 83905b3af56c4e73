"""Answers to queries for named sums of cells, all computed from one noisy estimate of the cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.design.bounds.variance_bound import as_integers
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.strategy import StrategyMatrix, SumsOfCells
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.tables.answers.base import Offer, Reads, Sentence, Topic
from leastnoise.tables.answers.noisy import NoisyAnswer, NoisyPart
from leastnoise.tables.answers.single import OfOneQuery
from leastnoise.tables.answers.weighted.errors import find_errors
from leastnoise.tables.answers.weighted.questions import (
    list_moves,
    merged_layout,
    reach_of_a_cell,
    rows_of,
    sums_layout,
    sums_of,
)
from leastnoise.tables.answers.weighted.search import (
    find_bound,
    find_noise,
    is_alike,
    variances,
)
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.results.table import table_of
from leastnoise.tables.results.table_files import read_table
from leastnoise.workloads.matrix import LeastSquares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Reading, Totals
    from leastnoise.tables.answers.weighted.named_sums import MergedSums
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.statistics.base import NoiseError

    Floats = NDArray[np.float64]

_DETERMINED = 1e-6  # relative rounding error allowed if a strategy determines the sums
_FITS = 3
"""The number of times that `agree` fits the cells, each time with better scales."""
_REFINED = 6
"""The number of refinements of a fit; each leaves at most a thousandth of the residual."""
_FINE_BITS = 120
"""Binary digits after the point of fitted cells."""
_RESIDUAL = 2.0**-44
"""The largest accepted residual of a sum, relative to its terms; published sums have 53 bits."""
_ROWS = "sums"


@final
@dataclass(frozen=True, kw_only=True)
class WeightedSums(OfOneQuery):
    """The answer to a query that names sums of its cells."""

    @cached_property
    def sums(self) -> MergedSums:
        """The named sums of the query; cells with the same weights in all sums are merged."""
        spec = self.layouts.spec
        (query,) = (query for query in spec.query if query.name == self.layout.name)
        return sums_of(spec, query)

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the noise of all sums."""
        tell(f"Finding and proving the noise of {self.label}")
        pure = replace(self.share, delta=Fraction(0))
        purely = partial(self._find, pure) if self.share.delta and self.share.epsilon else None
        yield Offer(index=self.query.index, claims=self._find(self.share), purely=purely)

    def _find(self, share: Budget) -> tuple[tuple[str, Certificate]]:
        claim = find_noise(self.layout, self.sums, share, releases=self.releases)
        return ((self.label, claim),)

    def read(
        self, labels: Sequence[str], claims: Sequence[tuple[str, Claim]], reading: Reading
    ) -> AnsweredSums:
        """Read the sums with the noise that `claims` state.

        Raises CertificateRejected if a claim states something the spec does not imply.
        """
        ((name, claim),) = claims
        where = f"Query {name!r}"
        if not isinstance(claim, Certificate):
            raise CertificateRejected(
                f"{where}: the certificate must state one draw of noise for all sums of the query "
                "together."
            )
        strategy = check_draw(claim, self.layout, self.sums, self.share, where=where)
        ways = LeastSquares(queries=self.sums.queries, strategy=strategy)
        check_determined(ways, where=where)
        answered = AnsweredSums(
            certificate=claim, cells=self.layout, budget=self.share, sums=self.sums, ways=ways
        )
        try:
            smallest = min(answered.stds.tolist())
            _ = answered.error
        except (NotApplicable, OverflowError) as error:
            raise CertificateRejected(f"{where}: {error}") from None
        if not smallest > 0:  # a `_std` of 0 would claim the exact value
            raise CertificateRejected(f"{where}: the noise is so small that it is computed as 0.")
        return answered


def check_draw(
    claim: Certificate, cells: Layout, sums: MergedSums, share: Budget, *, where: str
) -> StrategyMatrix | None:
    """The strategy matrix of a claim about noise in sums of cells; None for noise in the cells.

    Raises CertificateRejected if the certificate states something the spec does not imply.
    """
    moves, strategy = claim.sensitivity, None
    if isinstance(moves, SumsOfCells):
        strategy = moves.strategy
        fits = moves == SumsOfCells.of(strategy, moves.norm, cells.neighbours, rows_of(cells))
        fits &= strategy.numerators.shape[1] == sums.merged_cells
    else:
        fits = moves in list_moves(cells, sums)
    numbers = sums.merged_cells if strategy is None else len(strategy.numerators)
    delta_left = share.delta if claim.budget.delta else Fraction(0)
    checks = (
        (fits, "the certificate's sensitivity doesn't follow from the spec"),
        (claim.dimension == numbers, "the certificate's noise is for another number of sums"),
        (
            claim.budget == replace(share, delta=delta_left),
            "the certificate's budget isn't the query's share",
        ),
        (
            claim.neighbours == cells.neighbours,
            f"expected a certificate for {cells.neighbours} neighbours",
        ),
        (
            claim.sampling_rate == 1,
            "the certificate is for random samples of rows, but the release uses all rows",
        ),
        (
            claim.grid is not None,
            "the certificate must state the grid to which the published numbers are rounded",
        ),
        (is_alike(claim), "the certificate's noise is not the same in all sums"),
    )
    for fit, why in checks:
        if not fit:
            raise CertificateRejected(f"{where}: {why}.")
    return strategy


def check_determined(ways: LeastSquares, *, where: str) -> None:
    """Raise CertificateRejected unless the noisy numbers determine all named sums.

    Rounding errors of floats are allowed, up to `_DETERMINED` of a sum's largest weight.
    """
    if ways.strategy is None:
        return
    missed = np.abs(ways.of_noise @ ways.strategy.matrix - ways.queries).max(axis=1)
    if (missed > _DETERMINED * np.abs(ways.queries).max(axis=1)).any():
        raise CertificateRejected(
            f"{where}: the noisy numbers of the certificate don't determine all sums of the query."
        )


@final
@dataclass(frozen=True, kw_only=True)
class AnsweredSums(NoisyAnswer):
    """The plan of named sums of cells, with one draw of noise.

    `ways` has the weights of the sums and the strategy: the sums of cells to which noise is added,
    or None for noise in the cells.
    """

    cells: Layout
    budget: Budget
    sums: MergedSums
    ways: LeastSquares

    @property
    def labels(self) -> tuple[str]:
        """The label by which certificates name the query."""
        return (self.cells.label,)

    @cached_property
    def parts(self) -> tuple[NoisyPart]:
        """The columns of the only table."""
        squares = self.ways.queries**2
        rms = math.sqrt(float(squares.sum()) / len(squares))
        merged = (merged_layout(self.cells, self.sums),)
        plain = Baselines.of(merged, self.budget, self.certificate.compositions, summed=rms)
        layout = sums_layout(self.cells, self.sums)
        part = SumsPart(layout=layout, budget=self.budget, baselines=plain, answered=self)
        return (part,)

    @property
    def reads(self) -> Reads:
        """The layout of the cells, from which the numbers that get noise are computed."""
        return Reads(cells=(self.cells,))

    @cached_property
    def stds(self) -> Floats:
        """The standard deviation of each sum."""
        return self.ways.find_stds(variances(self.certificate))

    @cached_property
    def error(self) -> NoiseError:
        """The errors of all sums as one record, in which each row has an error of its own."""
        return find_errors(self.certificate, self.ways, self.stds)

    @property
    def has_whole_cells(self) -> bool:
        """True if whole-number noise is added to the merged cells."""
        return self.ways.strategy is None and self.certificate.noise.for_whole_numbers

    @property
    def noisy_numbers(self) -> str:
        """The count of noisy numbers as text, such as "12 cells" or "5 sums of cells"."""
        numbers = len(self.ways.of_noise.T)
        if self.ways.strategy is None:
            return _words.count_noun(numbers, "cell")
        return _words.count_noun(numbers, "sum of cells", "sums of cells")

    def describe_draw(self) -> Iterator[Sentence]:
        """Sentences about the noise, the standard deviations, and a lower bound if it is known."""
        name, error, largest = self.cells.name, self.error, max(self.stds.tolist())
        noise = self.certificate.noise.name
        text = (
            f"In {name}, {noise} noise is added to {self.noisy_numbers}. All sums are computed "
            "from one noisy estimate of the cells, so they are consistent. Their standard "
            f"deviations have the root mean square {error.std:.4g} and the maximum {largest:.4g}. "
            "The stated ± is the largest. Plain noise means Laplace or Gaussian noise that is "
            "added to each cell before the cells are summed."
        )
        if self.bound is not None:
            text += (
                " With this budget, no additive noise has a root mean square below "
                f"{self.bound:.4g}."
            )
        yield Sentence(Topic.NOISE, text)

    @property
    def bound(self) -> float | None:
        """A lower bound on the root-mean-square std of the sums, for any additive noise.

        None if no bound is proved. The proof is for noise that hides an added unit. If units are
        replaced and every row is in a sum, the total of all cells is public. Then noise needn't
        hide an added unit, and the result is None.
        """
        every = self.cells.keeps_every_row and bool((self.sums.places >= 0).all())
        if every and self.cells.neighbours == "replace-one":
            return None
        reach = reach_of_a_cell(self.cells, self.sums)
        return find_bound(self.sums, self.budget, reach, self.certificate.compositions)

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise, and return the table of sums."""
        (exact,) = totals.cells
        counts = self.sums.merge(exact).tolist()
        cells = [Fraction(number, 1 << self.cells.bits) for number in counts]
        released = Mechanism(self.certificate).release(
            np.array(self.ways.sum_cells(cells), dtype=object)
        )
        grid = self.certificate.grid or Fraction(0)
        (part,) = self.parts
        answers = self.ways.answer(released.values, grid)
        return [table_of(part.layout, answers, part.noise_errors)]

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless some values of the cells give the published sums.

        Sums with whole weights of whole noisy cells also have to be whole.
        """
        (part,) = self.parts
        columns = read_table(folder / f"{part.name}.{kind}", [part.layout])
        label = part.layout.statistics[0].label
        published = np.array([float(number) for number in columns[label]])
        queries = self.ways.queries
        whole = (queries == np.rint(queries)).all(axis=1) & self.has_whole_cells
        if (published != np.rint(published))[whole].any():
            raise CertificateRejected(
                f"The table {part.name}.{kind} has a sum that isn't a whole number."
            )
        if not agree(queries, published, grid=float(self.certificate.grid or 0)):
            raise CertificateRejected(
                f"The sums in the table {part.name}.{kind} contradict each other."
            )


def agree(queries: Floats, sums: Floats, *, grid: float) -> bool:
    """True only if some values of the cells give these `sums`, up to small rounding errors.

    A sum may be off by 2^−44 of the total of its terms' sizes and of the noise's `grid`. `queries`
    has the weights, shape (sums, cells). Cells are fitted by least squares in floats; the residuals
    of the sums are computed exactly. Since sums and cells may differ in size, they are scaled:
    first by their largest weights, then by the sizes of the fitted cells.
    """
    numbers, bits = as_integers(queries)
    weights = np.array([list(map(int, row)) for row in numbers.tolist()], dtype=object)
    unit = 1 << bits + _FINE_BITS
    exact_sums = [int(Fraction(number) * unit) for number in sums.tolist()]
    wanted = np.array(exact_sums, dtype=object)
    sizes = np.abs(queries)
    of_sums = sizes.max(axis=1)
    of_cells = (sizes / of_sums[:, None]).max(axis=0)
    for _ in range(_FITS):
        inverse = np.linalg.pinv(queries / of_sums[:, None] / of_cells, rcond=1e-14)
        cells, left = np.zeros(len(of_cells), dtype=object), sums
        for _ in range(_REFINED):
            moved = inverse @ (left / of_sums) / of_cells
            steps = [round(Fraction(move) * (1 << _FINE_BITS)) for move in moved.tolist()]
            cells = cells + np.array(steps, dtype=object)
            missed = (wanted - weights @ cells).tolist()
            left = np.array([float(Fraction(number, unit)) for number in missed])
            fitted = np.array([float(Fraction(cell, 1 << _FINE_BITS)) for cell in cells.tolist()])
            room = sizes @ np.abs(fitted) + grid
            if (np.abs(left) <= _RESIDUAL * room).all():
                return True
        of_sums, of_cells = room, 1 / (np.abs(fitted) + grid + 1e-300)
    return False


@final
@dataclass(frozen=True, kw_only=True)
class SumsPart(NoisyPart):
    """The table of named sums."""

    answered: AnsweredSums

    has_coordinates: ClassVar[bool] = False
    has_unlike_rows: ClassVar[bool] = True
    which_numbers: ClassVar[str] = f"all {_ROWS}: root mean square, largest ±"

    def _find_errors(self) -> tuple[NoiseError]:
        return (self.answered.error,)

    @property
    def dimension(self) -> int:
        """The number of noisy numbers, from which all sums are computed."""
        return self.certificate.dimension

    @property
    def moves(self) -> tuple[Sensitivity, ...]:
        """The sensitivity of the noisy numbers, alone in a tuple.

        It bounds all shifts by one unit. For noise in sums of cells, it is a ball.
        """
        moves = self.certificate.sensitivity
        return (moves.ball if isinstance(moves, SumsOfCells) else moves,)

    @property
    def own_record(self) -> dict[str, Any]:
        """The field of plan.json about the noisy numbers, the sums' errors and a lower bound."""
        answered = self.answered
        return {
            "sums": {
                "kinds_of_cells": answered.sums.merged_cells,
                "noise_in": "cells" if answered.ways.strategy is None else "sums of cells",
                "root_mean_square_std": answered.error.std,
                "largest_std": max(answered.stds.tolist()),
                "bound": answered.bound,
            }
        }

    def _numbers_in_words(self) -> str:
        sums = _words.count_noun(self.layout.cells, "sum")
        return f"{sums}, computed after noise is added to {self.answered.noisy_numbers}"
