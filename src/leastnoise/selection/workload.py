"""Linear questions about counts in public cells: which sums get noise, and what each answer has.

notation: W the questions, shape (m, n); A the strategy, shape (p, n); y = A x + noise. An answer is
W A⁺ y: all answers come from one estimate of the cells, and agree.
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
    Strategy,
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
    """Copy W to floats; raises InvalidArgument."""
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
        found = np.ldexp(np.array(given, dtype=np.float64), -bits)
        sizes = np.abs(found[found != 0])  # NaN, too
        fits = bool(((sizes >= LEAST_WEIGHT) & (sizes <= LARGEST_WEIGHT)).all())
    if not fits:
        value = "NaN, or a number out of range"
        expected = f"numbers that are 0 or from {LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g} in size"
        raise InvalidArgument(name=name, value=value, expected=expected)
    if not found.any(axis=1).all():
        expected = "rows with a number that isn't 0"
        raise InvalidArgument(name=name, value="a row of zeros", expected=expected)
    found.setflags(write=False)
    return found


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class WorkloadNoise:
    """Noise for the sums of cells that make the answers to `queries` least noisy, proved.

    `queries` is W, shape (questions, cells). With a `strategy` A the mechanism's noise is added to
    A x, without one to the cells x as they are. `rms_by_strategy` has the root mean square of the
    answers' standard deviations for each strategy that was tried. `bound`: no additive noise for
    this budget has less, as is proved (theory/marginals.md §8).

    Raises CertificateRejected where the mechanism's sensitivity isn't what A, a unit of `max_rows`
    rows and the neighbours make it, in exact numbers.
    """

    queries: Floats
    mechanism: Mechanism
    strategy: Strategy | None
    neighbours: Neighbours
    max_rows: int
    rms_by_strategy: Mapping[str, float] = field(default_factory=dict)
    bound: float = 0.0

    def __post_init__(self) -> None:
        """Check that the certificate is about A x."""
        certificate, cells = self.certificate, self.queries.shape[1]
        shape = (cells, cells) if self.strategy is None else self.strategy.numerators.shape
        known = _sensitivities(self.strategy, cells, self.neighbours, self.max_rows)
        stated = certificate.sensitivity in known and certificate.neighbours == self.neighbours
        if not stated or shape != (certificate.dimension, cells):
            raise CertificateRejected(
                "The certificate isn't about the sums that the strategy makes of the cells, or not "
                "about how far a unit moves them."
            )

    def __repr__(self) -> str:
        count = _words.count_noun(len(self.queries), "answer")
        said = f"{count} of rms {_words.number(self.rms)}, {noise_of(self.certificate)} noise"
        return _words.line("WorkloadNoise", f"{said}; {statement(self.certificate)}")

    def __str__(self) -> str:
        """Return a table, a line a strategy, and the bound."""
        ranked = sorted(self.rms_by_strategy.items(), key=lambda one: one[1])
        lines = [f"{name:<32}{_words.round_up(rms):>8}" for name, rms in ranked]
        bound = f"{'no additive noise has less than':<32}{_words.round_down(self.bound):>8}"
        return "\n".join([f"{'noise in':<32}{'rms':>8}", *lines, bound])

    @property
    def certificate(self) -> Certificate:
        """The proof: of noise in A x, whose sensitivity the strategy has in exact numbers."""
        return self.mechanism.certificate

    @cached_property
    def least_squares(self) -> LeastSquares:
        """The answers as sums of the noisy numbers."""
        return LeastSquares(queries=self.queries, strategy=self.strategy)

    @cached_property
    def std(self) -> Floats:
        """The standard deviation of each answer, before rounding, shape (questions,)."""
        return self.least_squares.find_stds(self.mechanism.variances)

    @cached_property
    def rms(self) -> float:
        """The root mean square of `std`."""
        return float(np.sqrt(np.mean(self.std**2)))

    def release(self, values: Values) -> Released:
        """Return noisy answers, shape (questions,), for the counts in the cells, shape (cells,).

        Every call spends the budget again. The noisy sums y are multiples of the mechanism's grid.
        The cells are estimated as A⁺ y, rounded to 2^−16 of that grid; each answer is W times the
        estimate, worked out exactly and rounded once, to the nearest double. All of it is
        post-processing. So answers add up as the questions do, and with noise in the cells alone
        they are whole where W is. Values are exact numbers as `Mechanism.release` takes them; NaN
        and ±inf count as 0.
        Raises InvalidArgument for another shape or type.
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
        """Prove the guarantee again, from A's numbers on; raises CertificateRejected.

        `certificate.verify()` does so but for the sensitivity, which it takes as stated.
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
    """Return the noise with the least total variance in linear `queries` about public cells.

    `queries` is W, shape (questions, cells), of up to 1,000 cells and 10,000 questions: ranges,
    cumulative counts, weighted sums. A unit adds 1 to one cell at most; with `max_rows` R, up to R
    to all cells together. Tried are noise in the cells alone (geometric, the truncated geometric
    noise of discrete-staircase, Laplace and Gaussian); Laplace noise in the answers, if W has
    numbers of 24 bits, and in cells and sums of them (a p-identity: McKenna et al. 2018); and, at
    δ > 0, Gaussian noise in the sums that are best for it. What has the least root mean square std
    is returned, with that of the others, and a proved bound that no additive noise is below. For
    1,000 cells it takes about a minute.

    With neighbours="replace-one" a unit may also move from cell to cell, or out of all cells. Sums
    are those for "add-remove" then, with their total as far as it is free; the bound is the same.
    Not promised: that the p-identity is the best one. The bound says how far it is from it at most.

    Raises InvalidArgument for a malformed argument, Refused if no noise serves the budget.

    >>> import numpy as np
    >>> found = workload(np.tri(50), epsilon=1)
    >>> round(found.rms, 1), round(found.rms_by_strategy["cells"], 1), round(found.bound, 1)
    (5.0, 6.9, 2.7)
    >>> found.release(np.full(50, 20)).values.shape
    (50,)
    """
    asked = read_queries(queries)
    budget = Budget(epsilon=epsilon, delta=delta)
    related = cast("Neighbours", _validate.one_of(neighbours, NEIGHBOURS, name="neighbours"))
    rows = _validate.whole(max_rows, name="max_rows", most=10**9)
    tries, prices = list_tries(asked, related, pure=not budget.delta)
    found: dict[str, WorkloadNoise] = {}
    reasons: list[Refused] = []
    for attempt in tries:
        try:
            one = _noise(asked, attempt, budget=budget, neighbours=related, max_rows=rows)
        except Refused as error:
            reasons.append(error)
            continue
        name = attempt.name
        if name not in found or one.rms < found[name].rms:
            found[name] = one
    best = min(found.values(), key=lambda one: rank(one.rms, one.strategy), default=None)
    if best is None:
        raise reasons[-1]
    if not 0 < best.rms < 1e100:
        value = _words.number(best.rms)
        raise Refused(f"An rms of {value} is out of range: give another epsilon.")
    return replace(
        best,
        rms_by_strategy={name: one.rms for name, one in found.items()},
        bound=least_rms(asked, prices, budget=budget, max_rows=rows),
    )


@final
@dataclass(frozen=True, kw_only=True)
class Try:
    """Noise of a `family` in the sums of a `strategy`, or in the cells themselves without one."""

    where: str
    strategy: Strategy | None
    family: str

    @property
    def name(self) -> str:
        """The name of the way; the families of noise in the cells share one."""
        return self.where if self.strategy is None else f"{self.where}, {self.family}"

    @property
    def norm(self) -> StrategyNorm:
        """The norm of shifts that the family hides."""
        return "l2" if self.family == "gaussian" else "l1"


def list_tries(
    queries: Floats, neighbours: Neighbours, *, pure: bool
) -> tuple[tuple[Try, ...], Floats]:
    """List the ways to make answers, with Gaussian noise unless `pure`; and prices of the cells.

    The prices prove a bound: see `least_rms`.
    """
    gram = np.asarray(queries.T @ queries, dtype=np.float64)
    sums, prices = gaussian_strategy(gram)
    tries = [Try(where="cells", strategy=None, family=name) for name in _IN_CELLS]
    if (answers := _as_strategy(queries)) is not None:
        tries.append(Try(where="answers", strategy=answers, family="laplace"))
    identity = _strategy(p_identity(queries, gram), "l1", neighbours)
    tries.append(Try(where="sums", strategy=identity, family="laplace"))
    if not pure:
        best = _strategy(sums, "l2", neighbours)
        tries.append(Try(where="sums", strategy=best, family="gaussian"))
    return tuple(tries), prices


def rank(rms: float, strategy: Strategy | None) -> float:
    """The figure by which ways are ranked: noise in the cells wins if others gain below 1e-6."""
    return rms * (1 if strategy is None else 1 + 1e-6)


def _as_strategy(queries: Floats) -> Strategy | None:
    """Return W times a power of two, so that noise is in the answers; None if W has more digits."""
    shift = BITS - math.frexp(float(np.abs(queries).max()))[1]
    scaled = np.ldexp(queries, shift)
    if len(queries) > MOST_SUMS or not np.array_equal(scaled, np.rint(scaled)):
        return None
    return Strategy(numerators=scaled.astype(np.int64))


def _strategy(matrix: Floats, norm: StrategyNorm, neighbours: Neighbours) -> Strategy:
    found = Strategy.within(matrix)
    return found.with_total(norm) if neighbours == "replace-one" else found


def _noise(
    queries: Floats, attempt: Try, *, budget: Budget, neighbours: Neighbours, max_rows: int
) -> WorkloadNoise:
    """Return a candidate, calibrated and proved; raises Refused."""
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
    strategy: Strategy | None, cells: int, neighbours: Neighbours, max_rows: int
) -> tuple[Sensitivity, ...]:
    """Return what is true of every shift of A x, or of the cells, by a unit."""
    if strategy is not None:
        norms: tuple[StrategyNorm, ...] = ("l1", "l2")
        return tuple(strategy.sensitivity(one, neighbours, max_rows) for one in norms)
    moved = 2 if neighbours == "replace-one" and cells > 1 else 1
    if max_rows == 1:
        return (Linf(1, l0=moved, whole=True),)
    return L1(moved * max_rows), RowCounts(max_rows, neighbours=neighbours)
