"""Noise on the cells of a tree whose sums agree: parameters, density and moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import derived, field, record, takes
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.fields import FractionField, FractionsField, IntsField
from leastnoise.guarantees.sensitivity import Rows, check_sensitivity
from leastnoise.noise.base import SCALE, Parameter, points_of
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.trees.levels import cell_laws, rates_of, solve
from leastnoise.noise.trees.shape import TreeShape, shape_of, split_branches

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Sensitivity

MOST_CELLS = 1 << 16
MOST_LEVELS = 12
WIDEST = 1 << 32
"""The largest scale/share: draws of cells are below 2^46, and sums of 2^16 of them fit an int64."""
_NEAR = 1e-9  # relatively: what is so near to a whole number counts as one in a density


def _checked_branches(branches: Iterable[int], *, name: str) -> tuple[int, ...]:
    found = _validate.wholes(branches, name=name, most=MOST_CELLS)
    if not 1 <= sum(found) <= MOST_LEVELS * MOST_CELLS:
        raise _no_tree(found)
    return found


def _check_tree(branches: tuple[int, ...], shares: int) -> None:
    """Raise InvalidArgument unless `branches` are those of a tree that may be, before it is."""
    levels = shares - 1
    if len(branches) == levels:
        if levels <= MOST_LEVELS and math.prod(branches) <= MOST_CELLS:
            return
        raise _no_tree(branches)
    children = split_branches(branches, levels)
    if children is None:
        expected = f"{len(branches) + 1} shares: of the root, and of each level of {branches[:12]}"
        raise InvalidArgument(name="shares", value=f"{shares} shares", expected=expected)
    if not 1 <= levels <= MOST_LEVELS or max(int(one.sum()) for one in children) > MOST_CELLS:
        raise _no_tree(branches)


def _no_tree(branches: tuple[int, ...]) -> InvalidArgument:
    return InvalidArgument(
        name="branches",
        value=f"{len(branches):,} numbers, {list(branches[:MOST_LEVELS])}",
        expected=f"1 to {MOST_LEVELS} levels, of at most {MOST_CELLS:,} cells: a number for each "
        "level, or for each node above the cells",
    )


def _checked_shares(
    shares: Iterable[Exact], *, name: str, record: Agreeing
) -> tuple[Fraction, ...]:
    like = "numbers, such as [0, '0.3', '0.7']"
    found = tuple(exact(one, name=name) for one in _validate.items(shares, name=name, like=like))
    _check_tree(record.branches, len(found))
    if min(found) < 0 or sum(found) > 1 or not found[-1]:
        raise InvalidArgument(
            name=name,
            value=", ".join(str(share)[:20] for share in found),
            expected="shares >= 0 that sum to at most 1, that of the cells above 0",
        )
    if any(0 < share * WIDEST < record.scale for share in found):
        expected = "each share 0, or at least scale/2^32"
        raise InvalidArgument(name=name, value=f"{float(min(found)):.3g}", expected=expected)
    return found


@final
@record()
class Agreeing(VectorNoise):
    """Whole numbers z on the cells of a tree, P(z) ∝ e^(−Σ_v w_v|z_v|/scale), z_v the sum below v.

    notation: b_l = branches[l − 1], w_l = shares[l] of each node of level l, 0 the root. A node of
    level l − 1 has b_l children; the cells are the last level, in row-major order, so that the
    first branching is the slowest index. Where nodes of a level differ, `branches` hold a number
    for each node that has children instead, level by level: (2, 3, 1) is a root of two, which have
    three cells and one. A row of one cell moves one number of each level by 1,
    and the exponent by Σ_l w_l/scale at most: with Σ w_l = 1 and scale = R/ε the noise is ε-DP for
    units of R rows (theory/noise.md §11).

    It is added to whole numbers; all sums of what is released are whole, and agree. Noise on each
    node by itself costs the same shares.

    >>> from leastnoise.noise.trees.levels import node_laws
    >>> law = Agreeing(scale=1, branches=(2, 10, 20), shares=(0, "0.2", "0.1", "0.7"))
    >>> law.dimension, [round(own[0].std, 2) for own in node_laws(law)]
    (400, [8.78, 6.21, 5.88, 1.91])
    """

    name: ClassVar[str] = "agreeing"
    form: ClassVar[str] = "rows"
    lists_to_set: ClassVar[tuple[str, ...]] = ("branches", "shares")
    scale: FractionField = field(converter=SCALE)
    branches: IntsField = field(converter=takes(_checked_branches))
    shares: FractionsField = field(converter=takes(_checked_shares, of_record=True))
    dimension: int = derived(lambda law: law.shape.cells)

    @property
    def even(self) -> bool:
        """Whether `branches` have a number for each level, whose nodes are all alike then."""
        return len(self.branches) == len(self.shares) - 1

    @property
    def shape(self) -> TreeShape:
        """The tree, level by level."""
        return shape_of(self.branches, len(self.shares) - 1)

    @classmethod
    def made_for(
        cls,
        sensitivity: Sensitivity,
        *,
        dimension: int,
        scale: Exact,
        parameters: Mapping[str, Parameter],
    ) -> Self:
        found = cls._parameters(parameters, tuple(cls.parameter_kinds))
        law = cls(scale=scale, **found)
        if check_sensitivity(sensitivity) and law.dimension != dimension:
            raise other_tree(law.branches, dimension)
        return law

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Rows | None:
        """The single moves of cells that a unit makes."""
        return sensitivity.rows(dimension=dimension)

    @classmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        return (
            f"{sensitivity.kind} sensitivities don't say that counts of cells move by whole rows, "
            "each in one cell; declare RowCounts(1), or as many rows as a unit has"
        )

    @classmethod
    def radius_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Fraction:
        """Return the number of moves: of shares for which one costs 1; raises NotApplicable."""
        return Fraction(cls.rows_of(sensitivity, dimension).most)

    @classmethod
    def rows_of(cls, sensitivity: Sensitivity, dimension: int) -> Rows:
        """Return the moves that a unit makes; raises NotApplicable if it isn't said to be rows."""
        rows = cls.form_of(sensitivity, dimension=dimension)
        if rows is None:
            raise NotApplicable(family=cls.name, why=cls.no_form(sensitivity))
        return rows

    def worst_shift(self, sensitivity: Sensitivity) -> Fraction:
        """Return the most that Σ_v w_v|s_v| is for a shift s; raises NotApplicable without rows."""
        return self.cost(self.rows_of(sensitivity, self.dimension))

    def hides(self, sensitivity: Sensitivity) -> bool:
        rows = sensitivity.rows(dimension=self.dimension)
        return rows is not None and self.cost(rows) <= 1

    def cost(self, rows: Rows) -> Fraction:
        """Return the most that Σ_v w_v|s_v| is for the shifts s of `rows`, exactly.

        A move of one cell costs the shares of all levels, a move from a cell to another twice
        those below the lowest node that holds both: at most those below the first level that
        branches.
        """
        one = sum(self.shares, Fraction(0))
        if rows.replaced and self.dimension > 1:
            apart = next(level for level, nodes in enumerate(self.shape.nodes) if nodes > 1)
            one = max(one, 2 * sum(self.shares[apart:], Fraction(0)))
        return rows.most * one

    @property
    def for_whole_numbers(self) -> bool:
        return True

    @property
    def lattice_step(self) -> Fraction:
        return Fraction(1)

    @property
    def largest_loss(self) -> Fraction:
        return 1 / self.scale

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """Log P(X = x), −inf for what isn't whole; see `Noise.log_density`."""
        points = points_of(x, dimension=self.dimension)
        nearest = np.rint(points)
        whole = np.all(np.abs(points - nearest) <= _NEAR * (1 + np.abs(nearest)), axis=-1)
        exponents = np.zeros(whole.shape)
        for level, share in enumerate(self.shares):
            sums = np.add.reduceat(nearest, self.shape.starts(level), axis=-1)
            exponents += float(share / self.scale) * np.abs(sums).sum(axis=-1)
        return np.where(whole, -exponents - self._log_total, -np.inf)

    @property
    def _log_total(self) -> float:
        """Ln of the sum of all weights: of the cells by themselves, and what each node keeps."""
        rates, shape = rates_of(self), self.shape
        logs = -self.dimension * math.log(math.tanh(rates[-1] / 2))
        for level, kept in enumerate(solve(self.branches, rates).kept):
            places = zip(shape.places[level], shape.count(level), strict=True)
            logs += sum(nodes * math.log(kept[kind]) for (_, kind), nodes in places)
        return logs

    @property
    def variances(self) -> NDArray[np.float64]:
        return self._of_cells([one.variance for one in cell_laws(self)])

    @property
    def mean_abses(self) -> NDArray[np.float64]:
        return self._of_cells([one.mean_abs for one in cell_laws(self)])

    def _of_cells(self, by_place: list[float]) -> NDArray[np.float64]:
        return np.array(by_place)[self.shape.places_of[-1]]


def other_tree(branches: tuple[int, ...], dimension: int) -> InvalidArgument:
    """Return the error of a tree with another number of cells than there are numbers."""
    return InvalidArgument(
        name="branches",
        value=" × ".join(map(str, branches)),
        expected=f"as many cells as there are numbers, {dimension:,}",
    )
