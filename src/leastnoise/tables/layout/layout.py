"""The public layout of a query block: which integers are summed, and how far one unit moves.

`lay_out` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise.guarantees.exact import root_above
from leastnoise.tables.layout import replaced
from leastnoise.tables.layout.axes import Axis
from leastnoise.tables.layout.limits import (
    CHOSEN,
    IN_ONE_CELL,
    Bounding,
    FewGroups,
    FirstCells,
    InCells,
    Numbers,
)
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
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Accuracy
    from leastnoise.tables.statistics.base import NoiseError

MAX_BITS = 28
MAX_DIMENSION = 10**7

# Public caps, on the record of every plan. Row sums are at most 2^34 · 2^28 < 2^63, and totals at
# most 2^34 times the largest integer of one person, which `find_bits` keeps below 2^29: no int64
# wraps.
MAX_ROWS = 2**34
MAX_UNITS = 2**34
EXACT_SUMS = 2**53
INT64_END = 2**63
ASSUMED = (100, 1_000, 10_000)
"""Rows of a group: what a plan shows a mean's error for if the spec doesn't say."""
PERSON_COUNTS = frozenset({(A_PERSON,), (OVER_LIMITS,), (IN_NO_GROUP,)})
"""The components of a part that counts each person once, whatever their rows."""


class LayoutError(ValueError):
    """The block has no layout: no limit bounds a person in it, or exact sums have too few bits."""


@final
@dataclass(frozen=True, kw_only=True)
class Layout(TableShape):
    """The public shape of a query, or of one of its two parts: integers, and how a unit is bounded.

    The persons and the rows that a query counts side by side are two parts with noise of their own:
    a person adds at most 1 to a cell's `count_units`, and as much as `max_rows` to the others.

    Its vector has `dimension` = cells · components coordinates, cell by cell. The integer I stands
    for I·2^(−bits). `uses` names the components of each statistic by position; a mean has its
    value's, then that of the count that it is divided by, a variance the square's between them.
    With `by_row` nothing is bounded: a row is within `bounding` anyway.

    With `unlisted` columns nobody knows how many groups there are. It is then the shape of one row,
    which every group has, whatever public keys stand beside, and whose number at `counted` says
    whether it is published. With `accurate` its noise is chosen for small errors rather than to
    publish small groups.

    With `margins` these tables of sums of its cells are published, and noise is added to sums of
    the `measured` components, which all others are made of: see `margins`. With `projected` all
    numbers of tables that add up are found together, whole and none below 0: see `publish_sums`.
    With `largest` their noise makes the largest of their standard deviations small.

    With `conditions` a unit may be in several cells. `multiple` and `clamp` say what is done to the
    noisy numbers: see `results`. `accuracy` is what is wished of errors, those of means in groups
    of as many values as is `assumed`. `within` holds the axes that rows are grouped by where the
    result is by fewer `axes`, or has one row for all groups together.
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

    @property
    def limits(self) -> str:
        """What one unit can do, to end a sentence that begins with the unit."""
        if limits := [axis.limit for axis in self.axes if axis.limit]:
            return limits[0]
        words = self.bounding.in_words(self.numbers)
        if self.adds_cells and words == IN_ONE_CELL:
            words += ", and in every sum that contains it"
        return words.removesuffix(CHOSEN) if self.by_row else words

    @property
    def leaves_out(self) -> bool:
        """True if whoever is in too many cells is left out of some, and numbers tell of it."""
        way = self.bounding
        if isinstance(way, FewGroups):  # nobody knows how many groups there are
            return way.groups > 1 and bool(self.statistics)
        most = way.most if isinstance(way, FirstCells) else None
        most = way.first if isinstance(way, InCells) else most
        return most is not None and 1 < most < self.numbers.cells

    @property
    def grouped(self) -> tuple[Axis, ...]:
        """The axes that a row needs a group of each of; the result is by the `axes`."""
        return self.within or self.axes

    @property
    def clipped_record(self) -> dict[str, Any]:
        """What is counted of limits, and by which groups, as JSON values."""
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
        """The numbers that a person's bounding is about."""
        last = self.components[-1]
        return Numbers(
            cells=self.cells,
            each=len(self.components),
            counts=not any(one.of_values for one in self.components),
            persons=not self.by_row and self.components in PERSON_COUNTS,
            units=tuple(j for j, one in enumerate(self.components) if one.kind == "units"),
            lowered=tuple(j for j, one in enumerate(self.components) if one.lowers),
            rows=Component(kind="count") in self.components,
            without=1 / last.radius if last.kind == "without" else Fraction(0),
            values=tuple(
                sum(one.lowers for one in self.components if one.needed == counted.needed)
                for counted in self.components
                if counted.kind == "count" and counted.column
            ),
        )

    def ingredients(self, noise: Sequence[NoiseError]) -> tuple[Ingredients, ...]:
        """Return what it has for each of its statistics; `noise` holds an error a component."""
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
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """What is true of the query: every shift by one unit lies in each of these sets.

        Of `unlisted` groups, every shift of one row by a unit that is there or not.
        """
        way = self.bounding
        if self.neighbours == "replace-one" and not isinstance(way, FewGroups):
            return replaced.sensitivities(way, self.numbers)
        return way.sensitivities(self.numbers)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies that hold every shift by one unit, beside what signs say."""
        way = self.bounding
        if self.neighbours == "replace-one" and not isinstance(way, FewGroups):
            return replaced.bodies(way, self.numbers)
        return way.bodies(self.numbers)

    @property
    def additions(self) -> tuple[Counts, ...]:
        """Sets that hold what one unit adds, where that is counts; none where one is replaced."""
        way = self.bounding
        if self.neighbours == "replace-one" or not isinstance(way, FirstCells | InCells):
            return ()
        return way.additions(self.numbers)

    @property
    def l1(self) -> Fraction:
        """A bound on the l1 norm of every shift by one unit."""
        way, replaces = self.bounding, self.neighbours == "replace-one"
        if isinstance(way, FewGroups):
            return way.l1(self.numbers) * (2 if replaces else 1)
        return replaced.l1(way, self.numbers) if replaces else way.l1(self.numbers)

    @property
    def l2(self) -> Fraction:
        """The radius of the smallest ball that is known to hold every shift by one unit."""
        if isinstance(self.bounding, FewGroups):
            squared = self.bounding.squared(self.numbers)
            return root_above(squared * (2 if self.neighbours == "replace-one" else 1))
        balls = (one.radius("l2", dimension=self.dimension) for one in self.sensitivities)
        return min(radius for radius in balls if radius is not None)


@final
@dataclass(frozen=True, kw_only=True)
class SpecLayout:
    """A checked spec with the layouts of its queries, made once: what planning begins with.

    `queries` are what `lay_out_query` returns of each, `ranks` what `lay_out_ranks` does. No ε, δ
    or weight changes them.
    """

    spec: Spec
    queries: tuple[tuple[tuple[Layout, ...], ...], ...]
    quantiles: tuple[tuple[QuantileLayout, ...], ...]


def share_parts(
    parts: Sequence[tuple[Layout, ...]], ranks: Sequence[QuantileLayout]
) -> list[Fraction]:
    """The part of a query's budget that each of its parts has, then its quantiles.

    In proportion to the numbers of a cell that each publishes.
    """
    numbers = [len(ways[0].components) for ways in parts]
    numbers += [len(one.statistics) for one in ranks]
    return [Fraction(one, sum(numbers)) for one in numbers]
