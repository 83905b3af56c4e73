"""Linear queries about counts in public cells: the sums that get noise, and the answers' errors.

Notation: x lists the counts in the n cells. W is the matrix of m queries, shape (m, n), and A the
strategy, the matrix of the p sums that get noise, shape (p, n). y = A x + noise, and A⁺ is the
pseudoinverse of A. The answers are W A⁺ y: they all come from one estimate of the cells, and so are
consistent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

import numpy as np

from leastnoise import _validate, _words
from leastnoise.certificate.subject import noise_of, statement
from leastnoise.design.bounds.variance_bound import least_rms
from leastnoise.errors import CertificateRejected, InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, NEIGHBOURS, Neighbours, Sensitivity
from leastnoise.guarantees.strategy import (
    BITS,
    LARGEST_WEIGHT,
    LEAST_WEIGHT,
    MOST_CELLS,
    MOST_QUESTIONS,
    MOST_SUMS,
    StrategyMatrix,
)
from leastnoise.guarantees.structured import Linf
from leastnoise.guarantees.units import RowCounts
from leastnoise.mechanism.mechanism import Mechanism, Released
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.values import ScaledIntegers, flat, fractions_of
from leastnoise.noise.question import Question
from leastnoise.selection.public import find_candidate
from leastnoise.workloads.matrix import LeastSquares
from leastnoise.workloads.matrix_search import gaussian_strategy, p_identity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.exact import Exact
    from leastnoise.guarantees.strategy import StrategyNorm
    from leastnoise.mechanism.reading import Values

    Floats = NDArray[np.float64]

_IN_CELLS = ("geometric", "discrete-staircase", "laplace", "gaussian")


def read_queries(queries: ArrayLike) -> Floats:
    """Copy the queries to a matrix of floats, which can't be written to.

    Raises InvalidArgument unless they are a matrix of numbers within the limits, and each row has a
    number that isn't 0.
    """
    name = "queries"
    hint = "Give an array of shape (questions, cells), such as numpy.tri(12)."
    try:
        exact = as_exact(queries)
    except InvalidArgument as error:
        raise InvalidArgument(
            name=name, value=error.value, expected="a matrix of numbers", hint=hint
        ) from None
    given = flat(exact)
    if given.ndim != 2 or not given.size:
        value = f"an array of shape {given.shape}"
        expected = "a matrix with rows and columns"
        raise InvalidArgument(name=name, value=value, expected=expected, hint=hint)
    for count, most, what in zip(
        given.shape, (MOST_QUESTIONS, MOST_CELLS), ("rows", "columns"), strict=True
    ):
        if count > most:
            expected = f"at most {most:,} {what}"
            raise InvalidArgument(name=name, value=f"{count:,} {what}", expected=expected)
    bits = exact.bits if isinstance(exact, ScaledIntegers) else 0
    with np.errstate(all="ignore"):
        matrix = np.ldexp(np.array(given, dtype=np.float64), -bits)
        sizes = np.abs(matrix[matrix != 0])  # includes NaN
        fits = bool(((sizes >= LEAST_WEIGHT) & (sizes <= LARGEST_WEIGHT)).all())
    if not fits:
        value = "NaN, or a number out of range"
        expected = f"numbers that are 0 or from {LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g} in size"
        raise InvalidArgument(name=name, value=value, expected=expected)
    if not matrix.any(axis=1).all():
        expected = "rows with a number that isn't 0"
        raise InvalidArgument(name=name, value="a row of zeros", expected=expected)
    matrix.setflags(write=False)
    return matrix


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class WorkloadNoise:
    """Proved noise for answers to linear `queries`.

    The noise is added to sums of the cells, the rows of a matrix A, or to the cells themselves.

    Attributes:
        queries: The matrix of the queries, shape (questions, cells).
        mechanism: The mechanism that adds noise to the sums or the cells.
        strategy: The matrix A of the sums that get noise; None for noise in the cells.
        neighbours: "add-remove" or "replace-one".
        max_rows: Largest number of rows of one unit.
        rms_by_strategy: Root mean square of the answers' standard deviations, for each strategy
            that can serve.
        bound: Lower bound on the root mean square for any additive noise with this budget
            (theory/marginals.md §8).

    Raises:
        CertificateRejected: The mechanism's sensitivity doesn't follow from A, `max_rows` and the
            neighbours, in exact numbers.

    """

    queries: Floats
    mechanism: Mechanism
    strategy: StrategyMatrix | None
    neighbours: Neighbours
    max_rows: int
    rms_by_strategy: Mapping[str, float] = field(default_factory=dict)
    bound: float = 0.0

    def __post_init__(self) -> None:
        """Check that the certificate is about the strategy's sums, or else about the cells.

        Raises CertificateRejected otherwise.
        """
        certificate, cells = self.certificate, self.queries.shape[1]
        shape = (cells, cells) if self.strategy is None else self.strategy.numerators.shape
        known = _sensitivities(self.strategy, cells, self.neighbours, self.max_rows)
        stated = certificate.sensitivity in known and certificate.neighbours == self.neighbours
        if not stated or shape != (certificate.dimension, cells):
            raise CertificateRejected(
                "The certificate doesn't fit the strategy: it is for other sums, or for another "
                "sensitivity of the sums."
            )

    def __repr__(self) -> str:
        count = _words.count_noun(len(self.queries), "answer")
        text = f"{count} with rms {_words.number(self.rms)}, {noise_of(self.certificate)} noise"
        return _words.line("WorkloadNoise", f"{text}; {statement(self.certificate)}")

    def __str__(self) -> str:
        """Format a table with one line per strategy, and the bound."""
        ranked = sorted(self.rms_by_strategy.items(), key=lambda item: item[1])
        lines = [f"{name:<32}{_words.round_up(rms):>8}" for name, rms in ranked]
        bound = f"{'no additive noise has less than':<32}{_words.round_down(self.bound):>8}"
        return "\n".join([f"{'noise in':<32}{'rms':>8}", *lines, bound])

    @property
    def certificate(self) -> Certificate:
        """The certificate; the exact sensitivity of the sums follows from the `strategy`."""
        return self.mechanism.certificate

    @cached_property
    def least_squares(self) -> LeastSquares:
        """The least-squares answers, as weighted sums of the noisy numbers."""
        return LeastSquares(queries=self.queries, strategy=self.strategy)

    @cached_property
    def std(self) -> Floats:
        """The standard deviation of each answer before rounding, shape (questions,)."""
        return self.least_squares.find_stds(self.mechanism.variances)

    @cached_property
    def rms(self) -> float:
        """The root mean square of `std`."""
        return float(np.sqrt(np.mean(self.std**2)))

    def release(self, values: Values) -> Released:
        """Release noisy answers. Every call spends the budget again.

        The noisy sums are multiples of the mechanism's grid. The cells are estimated from them by
        least squares, rounded to 2^−16 of that grid. Each answer is a query of the estimated cells,
        computed exactly and rounded once, to the nearest double. All of this is post-processing. So
        answers add up like the queries. They are whole if the cells have geometric or
        discrete-staircase noise, and the queries' weights are whole.

        Args:
            values: Counts in the cells, shape (cells,), in the forms that `Mechanism.release`
                accepts. NaN and ±inf count as 0.

        Returns:
            The noisy answers, shape (questions,).

        Raises:
            InvalidArgument: `values` has another shape or type.

        """
        exact = as_exact(values)
        shape, cells = flat(exact).shape, self.queries.shape[1]
        if shape != (cells,) and not (shape == () and cells == 1):
            raise InvalidArgument(
                name="values",
                value=f"an array of shape {shape}",
                expected=f"values of shape ({cells},), one for each cell",
            )
        sums = self.least_squares.sum_cells(fractions_of(exact))
        released = self.mechanism.release(np.array(sums, dtype=object))
        answers = self.least_squares.answer(released.values, self.mechanism.grid)
        return replace(released, values=answers)

    def verify(self) -> None:
        """Prove the guarantee again, starting from the numbers of the strategy's matrix.

        `certificate.verify()` proves the same, except that it trusts the stated sensitivity.

        Raises:
            CertificateRejected: Some part is false or not proved.

        """
        self.__post_init__()
        self.certificate.verify()


def workload(
    queries: ArrayLike,
    *,
    epsilon: Exact,
    delta: Exact = 0,
    neighbours: Neighbours = "add-remove",
    max_rows: int = 1,
) -> WorkloadNoise:
    """Find noise with the least total variance for linear queries about public cells.

    Tries noise in the cells: geometric, discrete-staircase, Laplace and Gaussian. Tries Laplace
    noise in the answers, if there are at most 2,048 and the queries' numbers are whole numbers of
    at most 24 bits times one power of two. Tries Laplace noise in cells and sums of cells (a
    p-identity). For δ > 0 it also tries Gaussian noise in nearly the best sums. Returns the
    strategy with the smallest root-mean-square standard deviation, the figures of the others, and a
    proved bound that no additive noise is below. The p-identity may not be the best one; the bound
    limits how much better another can be. For 1,000 cells it takes about a minute.

    Args:
        queries: The matrix of queries, shape (questions, cells), at most 10,000 questions and 1,000
            cells: ranges, cumulative counts, weighted sums.
        epsilon: Privacy budget ε ≥ 0.
        delta: Privacy budget δ, 0 ≤ δ < 1.
        neighbours: With "add-remove" a unit adds its rows to the cells; with "replace-one" it may
            also move its rows to other cells or out of all cells.
        max_rows: Largest number of rows of one unit.

    Returns:
        The noise, with the figures of all strategies.

    Raises:
        InvalidArgument: An argument is malformed.
        Refused: No noise can serve the budget, or the errors would be out of range.

    Source:
        McKenna et al. (2018) for p-identities; theory/marginals.md §8 for the bound.

    Examples:
        >>> import numpy as np
        >>> noise = workload(np.tri(50), epsilon=1)
        >>> round(noise.rms, 1), round(noise.rms_by_strategy["cells"], 1), round(noise.bound, 1)
        (5.0, 6.9, 2.7)
        >>> noise.release(np.full(50, 20)).values.shape
        (50,)

    """
    asked = read_queries(queries)
    budget = Budget(epsilon=epsilon, delta=delta)
    related = cast("Neighbours", _validate.one_of(neighbours, NEIGHBOURS, name="neighbours"))
    rows = _validate.whole(max_rows, name="max_rows", most=10**9)
    attempts, prices = list_attempts(asked, related, pure=not budget.delta)
    candidates: dict[str, WorkloadNoise] = {}
    reasons: list[Refused] = []
    for attempt in attempts:
        try:
            noise = _noise(asked, attempt, budget=budget, neighbours=related, max_rows=rows)
        except Refused as error:
            reasons.append(error)
            continue
        name = attempt.name
        if name not in candidates or noise.rms < candidates[name].rms:
            candidates[name] = noise
    best = min(
        candidates.values(),
        key=lambda noise: figure_of_merit(noise.rms, noise.strategy),
        default=None,
    )
    if best is None:
        raise reasons[-1]
    if not 0 < best.rms < 1e100:
        value, change = _words.number(best.rms), "larger" if best.rms else "smaller"
        raise Refused(
            f"The best noise has a root mean square of {value}, which is out of range. Use a "
            f"{change} epsilon."
        )
    return replace(
        best,
        rms_by_strategy={name: noise.rms for name, noise in candidates.items()},
        bound=least_rms(asked, prices, budget=budget, max_rows=rows),
    )


@final
@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A candidate: noise of a `family` in the sums of a `strategy` (None: in the cells).

    `where` is "cells", "answers" or "sums".
    """

    where: str
    strategy: StrategyMatrix | None
    family: str

    @property
    def name(self) -> str:
        """The name of the strategy; all families of noise in the cells share one."""
        return self.where if self.strategy is None else f"{self.where}, {self.family}"

    @property
    def norm(self) -> StrategyNorm:
        """The norm that measures how far one unit moves the sums."""
        return "l2" if self.family == "gaussian" else "l1"


def list_attempts(
    queries: Floats, neighbours: Neighbours, *, pure: bool
) -> tuple[tuple[Attempt, ...], Floats]:
    """The kinds of noise to try for these queries, and a price for each cell.

    `queries` is the matrix W. From the prices, `least_rms` proves a lower bound on the root mean
    square of any additive noise. Gaussian noise in sums is tried unless δ is 0 (`pure`).
    """
    gram = np.asarray(queries.T @ queries, dtype=np.float64)
    sums, prices = gaussian_strategy(gram)
    attempts = [Attempt(where="cells", strategy=None, family=name) for name in _IN_CELLS]
    if (answers := _as_strategy(queries)) is not None:
        attempts.append(Attempt(where="answers", strategy=answers, family="laplace"))
    identity = _strategy(p_identity(queries, gram), "l1", neighbours)
    attempts.append(Attempt(where="sums", strategy=identity, family="laplace"))
    if not pure:
        best = _strategy(sums, "l2", neighbours)
        attempts.append(Attempt(where="sums", strategy=best, family="gaussian"))
    return tuple(attempts), prices


def figure_of_merit(rms: float, strategy: StrategyMatrix | None) -> float:
    """The number that ranks candidates: `rms`, increased by 1e-6 (relative) with a `strategy`.

    So noise in sums or answers is chosen over noise in the cells only if it reduces the root mean
    square by more than that.
    """
    return rms * (1 if strategy is None else 1 + 1e-6)


def _as_strategy(queries: Floats) -> StrategyMatrix | None:
    """The strategy that adds noise to the answers themselves: the queries times a power of two.

    None if their numbers have too many digits, or if there are too many queries.
    """
    shift = BITS - math.frexp(float(np.abs(queries).max()))[1]
    scaled = np.ldexp(queries, shift)
    if len(queries) > MOST_SUMS or not np.array_equal(scaled, np.rint(scaled)):
        return None
    return StrategyMatrix(numerators=scaled.astype(np.int64))


def _strategy(matrix: Floats, norm: StrategyNorm, neighbours: Neighbours) -> StrategyMatrix:
    strategy = StrategyMatrix.within(matrix)
    return strategy.with_total(norm) if neighbours == "replace-one" else strategy


def _noise(
    queries: Floats, attempt: Attempt, *, budget: Budget, neighbours: Neighbours, max_rows: int
) -> WorkloadNoise:
    """Calibrate and prove a candidate; raises Refused if its noise can't serve the budget."""
    strategy = attempt.strategy
    question = Question(
        budget=budget,
        sensitivities=_sensitivities(strategy, queries.shape[1], neighbours, max_rows),
        dimension=queries.shape[1] if strategy is None else len(strategy.numerators),
        stated_neighbours=neighbours,
    )
    return WorkloadNoise(
        queries=queries,
        mechanism=find_candidate(attempt.family, question).mechanism,
        strategy=strategy,
        neighbours=neighbours,
        max_rows=max_rows,
    )


def _sensitivities(
    strategy: StrategyMatrix | None, cells: int, neighbours: Neighbours, max_rows: int
) -> tuple[Sensitivity, ...]:
    """The sensitivities that hold for the sums of a `strategy`, or for the cells if it is None."""
    if strategy is not None:
        norms: tuple[StrategyNorm, ...] = ("l1", "l2")
        return tuple(strategy.sensitivity(norm, neighbours, max_rows) for norm in norms)
    moved = 2 if neighbours == "replace-one" and cells > 1 else 1
    if max_rows == 1:
        return (Linf(1, l0=moved, whole=True),)
    return L1(moved * max_rows), RowCounts(max_rows, neighbours=neighbours)
