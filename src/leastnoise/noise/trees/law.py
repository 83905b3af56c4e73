"""Noise on the cells of a tree with little noise in sums: parameters, density and moments.

Notation: v is a node of the tree, l is its level (0 for the root, L for the cells), and w_v =
shares[l] is its share. For noise z, z_v is the sum of z over the cells below v. For a shift s, s_v
is the sum of s over the cells below v. P is a probability.
"""

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
"""The largest ratio of the scale to a share > 0.

With it draws of cells stay below 2^46, so sums of 2^16 draws fit an int64.
"""
_NEAR = 1e-9  # relative distance to an integer below which a number counts as an integer


def _check_branches(branches: Iterable[int], *, name: str) -> tuple[int, ...]:
    numbers = _validate.wholes(branches, name=name, most=MOST_CELLS)
    if not 1 <= sum(numbers) <= MOST_LEVELS * MOST_CELLS:
        raise _no_tree(numbers)
    return numbers


def _check_tree(branches: tuple[int, ...], shares: int) -> None:
    """Raise InvalidArgument unless `branches` describe an allowed tree, before the tree is built.

    `shares` is the number of shares, one more than the number of levels below the root.
    """
    levels = shares - 1
    if len(branches) == levels:
        if levels <= MOST_LEVELS and math.prod(branches) <= MOST_CELLS:
            return
        raise _no_tree(branches)
    children = split_branches(branches, levels)
    if children is None:
        expected = f"{len(branches) + 1} shares: one for each level of {branches[:12]} and the root"
        raise InvalidArgument(name="shares", value=f"{shares} shares", expected=expected)
    if not 1 <= levels <= MOST_LEVELS or max(int(counts.sum()) for counts in children) > MOST_CELLS:
        raise _no_tree(branches)


def _no_tree(branches: tuple[int, ...]) -> InvalidArgument:
    return InvalidArgument(
        name="branches",
        value=f"{len(branches):,} numbers, {list(branches[:MOST_LEVELS])}",
        expected=f"1 to {MOST_LEVELS} levels and at most {MOST_CELLS:,} cells: one number for each "
        "level, or one for each node above the cells",
    )


def _check_shares(shares: Iterable[Exact], *, name: str, record: Agreeing) -> tuple[Fraction, ...]:
    """The shares as Fractions; raises InvalidArgument if `record` can't have them."""
    like = "numbers, such as [0, '0.3', '0.7']"
    numbers = tuple(
        exact(share_given, name=name)
        for share_given in _validate.items(shares, name=name, like=like)
    )
    _check_tree(record.branches, len(numbers))
    if min(numbers) < 0 or sum(numbers) > 1 or not numbers[-1]:
        raise InvalidArgument(
            name=name,
            value=", ".join(str(share)[:20] for share in numbers),
            expected="shares >= 0 with sum at most 1, and a share > 0 for the cells",
        )
    if any(0 < share * WIDEST < record.scale for share in numbers):
        expected = "each share 0, or at least scale/2^32"
        raise InvalidArgument(name=name, value=f"{float(min(numbers)):.3g}", expected=expected)
    return numbers


@final
@record()
class Agreeing(VectorNoise):
    """Integer noise z on the cells of a tree, with P(z) ∝ e^(−Σ_v w_v|z_v|/scale) over all nodes v.

    z_v is the sum of z over the cells below node v, and w_v is the share of the node's level. The
    noise is added to integers, so all sums of the released cells are integers and consistent.
    Independent Laplace noise on each node, with the same shares of ε, wouldn't be consistent.

    Level 0 is the root. A node of level l − 1 has b_l = branches[l − 1] children, and the nodes of
    level l have the share w_l = shares[l]. The cells are the last level in row-major order: the
    first branching is the slowest index. If nodes of one level have different numbers of children,
    `branches` lists a number for each node above the cells instead, level by level. So (2, 3, 1) is
    a root with two children, which have three cells and one cell. A row of one cell moves one
    number of each level by 1, so it moves the exponent by at most Σ_l w_l/scale. With Σ w_l = 1 and
    scale = R/ε the noise is ε-DP for units that add or remove R rows. A row that moves to another
    cell may cost up to twice as much: see `cost`.

    Args:
        scale: Scale > 0, at most 2^32 times the smallest share that is not 0.
        branches: Numbers of children, for each level or for each node above the cells.
        shares: Shares w_0, …, w_L >= 0 with sum at most 1, and w_L > 0.

    Raises:
        InvalidArgument: The branches or shares are malformed, or the tree has more than 12 levels
            or 65,536 cells.

    Source:
        theory/noise.md §11.

    Examples:
        >>> from leastnoise.noise.trees.levels import node_laws
        >>> law = Agreeing(scale=1, branches=(2, 10, 20), shares=(0, "0.2", "0.1", "0.7"))
        >>> law.dimension, [round(laws[0].std, 2) for laws in node_laws(law)]
        (400, [8.78, 6.21, 5.88, 1.91])
    """

    name: ClassVar[str] = "agreeing"
    form: ClassVar[str] = "rows"
    lists_to_set: ClassVar[tuple[str, ...]] = ("branches", "shares")
    scale: FractionField = field(converter=SCALE)
    branches: IntsField = field(converter=takes(_check_branches))
    shares: FractionsField = field(converter=takes(_check_shares, of_record=True))
    dimension: int = derived(lambda law: law.shape.cells)

    @property
    def even(self) -> bool:
        """True if `branches` have one number for each level: all nodes of a level are alike."""
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
        values = cls._parameters(parameters, tuple(cls.parameter_kinds))
        law = cls(scale=scale, **values)
        if check_sensitivity(sensitivity) and law.dimension != dimension:
            raise other_tree(law.branches, dimension)
        return law

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Rows | None:
        """The moves of rows that one unit can make; None if the sensitivity states none."""
        return sensitivity.rows(dimension=dimension)

    @classmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        return (
            f"it needs counts that move by whole rows, each in one cell; {sensitivity.kind} "
            "sensitivities don't state that; declare RowCounts(n) if a unit has at most n rows"
        )

    @classmethod
    def radius_of(cls, sensitivity: Sensitivity, *, dimension: int) -> Fraction:
        """The most rows that a unit can move. Raises NotApplicable if no rows are stated."""
        return Fraction(cls.rows_of(sensitivity, dimension).most)

    @classmethod
    def rows_of(cls, sensitivity: Sensitivity, dimension: int) -> Rows:
        """The rows that one unit can add, remove or move between cells.

        Args:
            sensitivity: The sensitivity of the query.
            dimension: Number of cells.

        Returns:
            The moves.

        Raises:
            NotApplicable: The sensitivity states no rows.
        """
        rows = cls.form_of(sensitivity, dimension=dimension)
        if rows is None:
            raise NotApplicable(family=cls.name, why=cls.no_form(sensitivity))
        return rows

    def worst_shift(self, sensitivity: Sensitivity) -> Fraction:
        """The largest Σ_v w_v|s_v| over all shifts s of `sensitivity`.

        Raises NotApplicable unless the sensitivity is stated as moves of rows.
        """
        return self.cost(self.rows_of(sensitivity, self.dimension))

    def hides(self, sensitivity: Sensitivity) -> bool:
        rows = sensitivity.rows(dimension=self.dimension)
        return rows is not None and self.cost(rows) <= 1

    def cost(self, rows: Rows) -> Fraction:
        """The exact maximum of Σ_v w_v|s_v| over all shifts s that the moves `rows` can make.

        v runs over all nodes, w_v is the share of its level, and s_v is the sum of s over the cells
        below v. A row that is added to one cell, or removed, costs the sum of all shares. A row
        that moves from one cell to another costs twice the shares of the levels below their lowest
        common ancestor. That is at most twice the sum of the shares from the first level with
        several nodes on.

        Args:
            rows: The moves that a unit makes.

        Returns:
            The maximum; the noise hides the moves if it is at most 1.
        """
        cost_of_move = sum(self.shares, Fraction(0))
        if rows.replaced and self.dimension > 1:
            first_branching = next(
                level for level, nodes in enumerate(self.shape.nodes) if nodes > 1
            )
            cost_of_move = max(cost_of_move, 2 * sum(self.shares[first_branching:], Fraction(0)))
        return rows.most * cost_of_move

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
        """The logarithm of the probability of x; −inf for x that are not integers.

        See `Noise.log_density`.
        """
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
        """The logarithm of the normaliser.

        It is the value for independent cells, plus ln κ of each node above the cells. κ is the
        share of candidates that the sampler keeps at a node (see `levels`).
        """
        rates, shape = rates_of(self), self.shape
        logs = -self.dimension * math.log(math.tanh(rates[-1] / 2))
        for level, acceptance in enumerate(solve(self.branches, rates).acceptance):
            positions = zip(shape.positions[level], shape.count(level), strict=True)
            logs += sum(nodes * math.log(acceptance[kind]) for (_, kind), nodes in positions)
        return logs

    @property
    def variances(self) -> NDArray[np.float64]:
        return self._of_cells([law.variance for law in cell_laws(self)])

    @property
    def mean_abses(self) -> NDArray[np.float64]:
        return self._of_cells([law.mean_abs for law in cell_laws(self)])

    def _of_cells(self, by_position: list[float]) -> NDArray[np.float64]:
        return np.array(by_position)[self.shape.positions_of[-1]]


def other_tree(branches: tuple[int, ...], dimension: int) -> InvalidArgument:
    """The error for a tree whose number of cells differs from the number of values."""
    return InvalidArgument(
        name="branches",
        value=" × ".join(map(str, branches)),
        expected=f"a tree with {dimension:,} cells, one for each number of the query",
    )
