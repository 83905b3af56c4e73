"""The public layout of a query: the integers that are summed, and how far one unit moves them.

`lay_out` builds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise.tables.layout.axes import Axis, Bins
from leastnoise.tables.layout.boundings.base import CHOSEN, Numbers
from leastnoise.tables.layout.boundings.bounding import Bounding
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.boundings.once_in_cells import IN_EVERY_CELL, IN_ONE_CELL, OnceInCells
from leastnoise.tables.layout.table_shape import TableShape
from leastnoise.tables.statistics.base import (
    A_PERSON,
    IN_NO_GROUP,
    OVER_LIMITS,
    Component,
    Ingredients,
    Statistic,
)

if TYPE_CHECKING:
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.counts import Counts
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.layout.boundings.base import UnitShifts
    from leastnoise.tables.layout.periods import Periods
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Accuracy
    from leastnoise.tables.statistics.base import NoiseError

MAX_BITS = 28
MAX_DIMENSION = 10**7

# Public caps, which every plan states. Sums over rows are at most 2^34 · 2^28 < 2^63, and totals at
# most 2^34 times the largest integer of one person, which `find_bits` keeps below 2^29. So no int64
# wraps around.
MAX_ROWS = 2**34
MAX_UNITS = 2**34
EXACT_SUMS = 2**53
INT64_END = 2**63
ASSUMED = (100, 1_000, 10_000)
"""Sizes of a group for which a plan shows the error of a mean, if the spec gives none."""
PERSON_COUNTS = frozenset({(A_PERSON,), (OVER_LIMITS,), (IN_NO_GROUP,)})
"""The components of parts that count each person once, whatever the person's rows."""


class LayoutError(ValueError):
    """A query has no layout, such as if no limit bounds a person, or if sums can't be exact."""


@final
@dataclass(frozen=True, kw_only=True)
class Layout(TableShape):
    """The public shape of a query, or of one of its two parts: its integers and their bounding.

    A query of listed groups that counts both persons and rows has two parts with separate noise.
    The reason is that a person adds at most 1 to a cell's `count_units`, and up to `max_rows` to
    the other numbers.

    The vector has `dimension` = cells · components coordinates, cell by cell. The integer I stands
    for I·2^(−bits). `uses` has, for each statistic, the positions of its components. For a mean
    these are the value and then the count that divides it; for a variance the square is between
    these two. With `by_row` a unit is a row, which is within `bounding` by itself, except in a
    query with `conditions`.

    With `unlisted` columns the number of groups isn't public. Then the layout is the shape of one
    group's row, even if there are public keys, too. The number at position `counted` decides on the
    group's publication. With `accurate`, noise is chosen for small errors rather than for
    publishing small groups.

    `margins` lists the published tables of sums of cells by number. It is a bit mask of the axes
    or, for keys with levels beside other columns, a number as in `workloads.nested`. Noise is added
    to sums of the `measured` components, from which all other sums follow: see
    `answers.sums.margins`. With `projected`, all numbers of tables that add up are fitted together,
    whole and never below 0: see `answers.sums.publish_sums`. With `largest`, noise is chosen to
    make the largest of the standard deviations small.

    With `conditions` a unit may be in several cells. Noisy counts are rounded to a `multiple`, and
    `clamp` raises negative counts and sums to 0: see `results`. `accuracy` is the error that the
    spec asks for; for means it is about groups of `assumed` values. `within` has the axes by which
    rows are grouped, if the result has fewer `axes` or a single row. By construction a unit is in
    at most `groups_of_unit` groups; None without such a bound. `periods` are the releases of a
    series whose running totals are published.
    """

    statistics: tuple[Statistic, ...]
    components: tuple[Component, ...]
    uses: tuple[tuple[int, ...], ...]
    bounding: Bounding
    bits: int
    multiple: int
    clamp: bool
    accuracy: Accuracy | None
    assumed: tuple[int, ...]
    counted: int | None = None
    margins: tuple[int, ...] = ()
    measured: tuple[Component, ...] = ()
    projected: bool = False
    largest: bool = False
    accurate: bool = False
    within: tuple[Axis, ...] = ()
    periods: Periods | None = None
    groups_of_unit: int | None = None

    @property
    def limits(self) -> str:
        """The limit of one unit, as a phrase after the unit's name, such as "is counted once"."""
        if limits := [axis.limit for axis in self.axes if axis.limit]:
            return limits[0]
        bounding, numbers = self.bounding, self.numbers
        if (
            self.selected is not None
        ):  # the rows of the table are the selected cells; a unit may be in any of all cells
            numbers = replace(numbers, cells=math.prod(axis.cells for axis in self.axes))
            if isinstance(bounding, OnceInCells) and bounding.most >= numbers.cells:
                return IN_EVERY_CELL
        words = bounding.in_words(numbers)
        if self.adds_cells and words == IN_ONE_CELL:
            words += ", and in every sum that contains it"
        return words.removesuffix(CHOSEN) if self.by_row or self._all_count else words

    @property
    def _all_count(self) -> bool:
        """True if it is known that a unit is in no more groups than its bounding allows.

        It is known by construction: see `groups_of_unit`.
        """
        known, most = self.groups_of_unit, self.bounding.most_groups
        return known is not None and (most is None or known <= most)

    @property
    def leaves_out(self) -> bool:
        """True if a unit may count in several cells, and bounding may drop it from others.

        That biases the numbers, so a plan warns of it.
        """
        most = self.bounding.most_groups
        if most is None or most == 1 or self._all_count:
            return False
        if isinstance(self.bounding, InUnlistedGroups):  # the number of groups isn't public
            return bool(self.statistics)
        return most < math.prod(axis.summed_cells for axis in self.axes)

    @property
    def grouped(self) -> tuple[Axis, ...]:
        """The axes by which rows are grouped; the result may have fewer `axes`."""
        return self.within or self.axes

    @property
    def keeps_every_row(self) -> bool:
        """True only if every row is in a cell, regardless of the row's values.

        False with any filter or joined table, or with a column that isn't cut into bins for all
        values.
        """
        dropped = any(not isinstance(axis, Bins) or axis.dropped for axis in self.grouped)
        return not (dropped or self.filters or self.joined)

    @property
    def clipped_record(self) -> dict[str, Any]:
        """The counts that `clipped` describes, and their groups, as JSON values."""
        groups = [
            {name: list(map(repr, values)) for name, values in axis.columns.items()}
            for axis in self.within
        ]
        return {"counts": list(self.clipped), "groups": groups}

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.cells * len(self.components)

    @property
    def numbers(self) -> Numbers:
        """The facts about this layout's numbers on which the effect of a unit depends."""
        last = self.components[-1]
        return Numbers(
            cells=self.cells,
            each=len(self.components),
            counts=not any(component.of_values for component in self.components),
            persons=not self.by_row and self.components in PERSON_COUNTS,
            units=tuple(
                j for j, component in enumerate(self.components) if component.kind == "units"
            ),
            lowered=tuple(j for j, component in enumerate(self.components) if component.lowers),
            rows=Component(kind="count") in self.components,
            without=1 / last.radius if last.kind == "without" else Fraction(0),
            values=tuple(
                sum(
                    component.lowers
                    for component in self.components
                    if component.needed == counted.needed
                )
                for counted in self.components
                if counted.kind == "count" and counted.column
            ),
        )

    def ingredients(self, noise: Sequence[NoiseError]) -> tuple[Ingredients, ...]:
        """For each statistic: its components, their errors, and the rounding of published numbers.

        `noise` has the error of each component.
        """
        return tuple(
            Ingredients(
                components=tuple(self.components[use] for use in uses),
                noise=tuple(noise[use] for use in uses),
                multiple=self.multiple,
                clamp=self.clamp,
                projected=self.projected,
            )
            for uses in self.uses
        )

    @property
    def _shifts(self) -> UnitShifts:
        """The shifts by one unit, for the relation `neighbours`."""
        replaces = self.neighbours == "replace-one"
        return self.bounding.replaced if replaces else self.bounding

    @property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities of the query; each of them bounds every shift by one unit.

        With `unlisted` groups, they are for one group's row, if a unit is added or removed.
        """
        return self._shifts.sensitivities(self.numbers)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """Alternative bodies; each of them contains every shift by one unit.

        Unlike `additions`, they don't use the signs of shifts. Empty if none is known.
        """
        return self._shifts.bodies(self.numbers)

    @property
    def additions(self) -> tuple[Counts, ...]:
        """Alternative sets; each of them contains the counts that one unit adds.

        Empty for replace-one neighbours, or if no such set is known.
        """
        return self._shifts.additions(self.numbers)

    @property
    def l1(self) -> Fraction:
        """A bound on the l1 norm of every shift by one unit."""
        return self._shifts.l1(self.numbers)

    @property
    def l2(self) -> Fraction:
        """The radius of the smallest ball that is known to hold every shift by one unit."""
        return self._shifts.l2(self.numbers)


@final
@dataclass(frozen=True, kw_only=True)
class SpecLayout:
    """A checked spec with the layouts of its queries, from which planning starts.

    For each query, `queries` has the parts that need noise, from `lay_out_query`. Each part is a
    tuple of alternative layouts, one for each bounding of a unit. For each query, `quantiles` has
    the layouts of the columns with quantiles, from `lay_out_ranks`. The layouts don't depend on ε,
    δ and the importances.
    """

    spec: Spec
    queries: tuple[tuple[tuple[Layout, ...], ...], ...]
    quantiles: tuple[tuple[QuantileLayout, ...], ...]

    def at_release(self, number: int, *, first: int) -> SpecLayout:
        """The layout of one release of a series with running totals.

        The tree of its noise begins at the release `first`.
        """
        queries = tuple(
            tuple(
                tuple(
                    layout
                    if layout.periods is None
                    else replace(
                        layout, periods=replace(layout.periods, release=number, first=first)
                    )
                    for layout in ways
                )
                for ways in parts
            )
            for parts in self.queries
        )
        return replace(self, queries=queries)


def share_parts(
    parts: Sequence[tuple[Layout, ...]], quantiles: Sequence[QuantileLayout]
) -> list[Fraction]:
    """The shares of a query's budget: first for its parts, then for the quantiles of each column.

    A share is proportional to the number of a cell's components, or of a column's quantiles. If the
    spec gives the quantiles a share, the rest is divided among the parts in the same proportion.
    """
    noisy = [len(layouts[0].components) for layouts in parts]
    chosen = [len(layout.statistics) for layout in quantiles]
    given = next((layout.share for layout in quantiles), None)
    if given is None:
        return [Fraction(number, sum(noisy + chosen)) for number in noisy + chosen]
    return [
        *((1 - given) * Fraction(number, sum(noisy)) for number in noisy),
        *(given * Fraction(number, sum(chosen)) for number in chosen),
    ]
