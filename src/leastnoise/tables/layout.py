"""From a query block to its public layout: which integers are summed, and how far one unit moves.

Nothing here looks at data: verification derives the same layout from the stored spec alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, final

from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Linf
from leastnoise.tables import statistic
from leastnoise.tables.statistic import Statistic

if TYPE_CHECKING:
    from leastnoise.tables.spec import Key, Predicate, Query, Spec

MAX_BITS = 22
MIN_BITS = 8
MAX_DIMENSION = 10**7

# Public caps, on the record of every plan. Row sums are at most 2^40 · 2^22 < 2^63, and totals at
# most 2^34 · C · 2^bits, where C · 2^bits < 2^26.5 because ΣI² < 2^53: no int64 can wrap around.
MAX_ROWS = 2**40
MAX_UNITS = 2**34
EXACT_SQUARES = 2**53
_INT64 = 2**63

ComponentKind = Literal["count", "units", "value"]


@final
@dataclass(frozen=True, kw_only=True)
class Component:
    """One scalar per row, in [−1, 1]: 1, "this unit is here", or (x − centre) / radius."""

    kind: ComponentKind
    column: str = ""
    centre: Fraction = Fraction(0)
    radius: Fraction = Fraction(1)


@final
@dataclass(frozen=True, kw_only=True)
class KeyColumn:
    """A column that rows are grouped by, and its public values."""

    column: str
    values: tuple[Key, ...]


@final
@dataclass(frozen=True, kw_only=True)
class Bins:
    """A histogram's column and its increasing edges."""

    column: str
    edges: tuple[Fraction, ...]


@final
@dataclass(frozen=True, kw_only=True)
class Condition:
    """A named condition: a public predicate for each of some columns, all of which must hold."""

    name: str
    predicates: tuple[tuple[str, Predicate], ...]


class TooFineError(ValueError):
    """The block has too many coordinates, or too large a clip, for exact integer sums."""


@final
@dataclass(frozen=True, kw_only=True)
class Layout:
    """The public shape of a block.

    Its vector has `dimension` = cells · components coordinates, cell by cell; cells run through
    the keys, the last key fastest, then the bins. The integer I stands for I·2^(−bits).
    `uses` names the components of each statistic by position; a mean has its value's, then the
    count's. `clip_squared` is C²; with `by_row` nothing is clipped, as a row is within C anyway.

    With `conditions` a cell is a condition, and a unit may be in several. Where `at_most` is set a
    unit adds 1 to the first `at_most` of the cells that it is in, and 0 to the others.
    """

    name: str
    by_row: bool
    statistics: tuple[Statistic, ...]
    keys: tuple[KeyColumn, ...]
    bins: Bins | None
    conditions: tuple[Condition, ...]
    at_most: int | None
    components: tuple[Component, ...]
    uses: tuple[tuple[int, ...], ...]
    clip_squared: Fraction
    bits: int

    @property
    def cells(self) -> int:
        """Number of rows of the result."""
        if self.conditions:
            return len(self.conditions)
        bins = len(self.bins.edges) - 1 if self.bins else 1
        return bins * math.prod(len(key.values) for key in self.keys)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.cells * len(self.components)

    @property
    def clip_integer(self) -> int:
        """The largest integer that is at most C²·4^bits: the clip, in integers."""
        return math.floor(self.clip_squared * 4**self.bits)

    @property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """What is true of the query: every shift by one unit lies in each of these balls.

        A row touches one cell with at most m components in [−1, 1], so its l1 norm is at most m
        and its l2 norm at most √m. A person's vector is only known to be in the l2 ball of C, but
        where a unit adds 1 to a few cells more is known. One count alone moves by whole numbers: a
        person adds their rows or, past a whole C, C.
        """
        whole = self._whole_shift()
        if whole is not None:
            return (Integer(whole),)
        if self.at_most == 1:
            return (Linf(1, whole=True),)
        if self.at_most is not None:
            counting = CountingQueries(dimension=self.cells, max_nonzero=self.at_most)
            return (counting, Linf(1, l0=self.at_most, whole=True))
        l2 = L2(root_above(self.clip_squared))
        if not self.by_row:
            return (l2,)
        l1 = L1(len(self.components))
        return (l1,) if len(self.components) == 1 else (l2, l1)

    def _whole_shift(self) -> int | None:
        """Return how far one unit moves a block that is one count; None for any other block."""
        clip = root_above(self.clip_squared)
        if self.dimension > 1 or self.components[0].kind == "value" or clip < 1:
            return None
        if self.components[0].kind == "units":
            return 1
        return int(clip) if clip.denominator == 1 else None


def of_block(spec: Spec, query: Query) -> Layout:
    """Return the layout of `query`; raises TooFineError if exact sums can't have 8 bits."""
    by_row = spec.privacy.by_row
    statistics = _statistics(query, by_row=by_row)
    keys = tuple(KeyColumn(column=name, values=values) for name, values in query.group_by.items())
    bins = (
        Bins(column=query.histogram.column, edges=query.histogram.edges)
        if query.histogram
        else None
    )
    needs = [_needs(spec, asked, by_row=by_row) for asked in statistics]
    # Distinct ones only, in order of first use: statistics share the count.
    components = tuple(dict.fromkeys(component for need in needs for component in need))
    shape = Layout(
        name=query.name,
        by_row=by_row,
        statistics=statistics,
        keys=keys,
        bins=bins,
        conditions=tuple(
            Condition(name=name, predicates=tuple(predicates.items()))
            for name, predicates in query.where.items()
        ),
        at_most=None,
        components=components,
        uses=tuple(tuple(components.index(one) for one in need) for need in needs),
        clip_squared=Fraction(len(components)),
        bits=MAX_BITS,
    )
    if shape.dimension > MAX_DIMENSION:
        raise TooFineError(
            f"Expected at most {MAX_DIMENSION:,} coordinates, got {shape.dimension:,}. "
            "Split the query, or use fewer keys."
        )
    at_most = _at_most(spec, query, shape)
    if at_most is not None:
        return replace(shape, at_most=at_most, clip_squared=Fraction(at_most), bits=0)
    if by_row:
        return shape
    squared = _clip_squared(spec, shape)
    return replace(shape, clip_squared=squared, bits=_bits(squared, shape.dimension))


def _statistics(query: Query, *, by_row: bool) -> tuple[Statistic, ...]:
    if query.where and not by_row:
        return (Statistic(kind="count_units"),)
    if query.histogram or query.where:
        return (Statistic(kind="count"),)
    return tuple(statistic.parse(text) for text in query.statistics)


def _at_most(spec: Spec, query: Query, shape: Layout) -> int | None:
    """Return in how many cells a unit counts, where all that it adds to a cell is 0 or 1.

    A row is in one cell, or in some of the conditions; a person of R rows in R cells at most. One
    cell alone is left to what is known of a single number.
    """
    if query.where:
        return query.max_conditions or len(query.where)
    if len(shape.components) != 1 or shape.cells == 1:
        return None
    if shape.by_row:
        return 1 if shape.components[0].kind == "count" else None
    most = spec.contribution.max_rows if spec.contribution else None
    if most is None or shape.components[0].kind != "units":
        return None
    return min(most, shape.cells)


def _needs(spec: Spec, asked: Statistic, *, by_row: bool) -> tuple[Component, ...]:
    """Return the scalars that a statistic is made of."""
    if asked.kind == "count_units" and not by_row:
        return (Component(kind="units"),)
    if not asked.column:  # where a row is a unit, distinct units are rows
        return (Component(kind="count"),)
    low, high = _bounds(spec, asked.column)
    if asked.kind == "sum":
        return (Component(kind="value", column=asked.column, radius=max(abs(low), abs(high))),)
    centre, radius = (low + high) / 2, (high - low) / 2
    value = Component(kind="value", column=asked.column, centre=centre, radius=radius)
    return (value, Component(kind="count"))


def _bounds(spec: Spec, column: str) -> tuple[Fraction, Fraction]:
    bounds = spec.columns[column].bounds
    if bounds is None:
        raise KeyError(column)  # the checks of the spec come first
    return bounds


def _clip_squared(spec: Spec, shape: Layout) -> Fraction:
    """Return C², from `l2` or as the largest squared norm that max_rows rows can have.

    notation: R rows, K cells, m' components that add up over rows (count, sum, mean), m'' that
    don't (count_units, 0 or 1 of them), r_i rows in the i-th of the j cells that a unit touches.
    Its squared norm is at most m'·Σr_i² + j·m'' with Σr_i = R, r_i >= 1. For fixed j, Σr_i² is
    convex, so largest at a corner: (R−j+1)² + (j−1). As a function of j that is convex too
    (m' times a square plus linear terms), so the largest value is at j = 1 or j = min(R, K).
    Fewer rows give less: both terms grow with R.
    """
    contribution = spec.contribution
    if contribution is None:
        raise KeyError("contribution")  # the checks of the spec come first
    if contribution.l2 is not None:
        return contribution.l2**2
    rows = contribution.max_rows or 1
    once = sum(component.kind == "units" for component in shape.components)
    additive = len(shape.components) - once

    def largest(touched: int) -> int:
        return additive * ((rows - touched + 1) ** 2 + touched - 1) + touched * once

    return Fraction(max(largest(1), largest(min(rows, shape.cells))))


def _bits(squared: Fraction, dimension: int) -> int:
    """Return the most fixed-point bits, up to 22, for which ΣI² and all totals are exact.

    A coordinate is clamped to ±C·2^bits, so d·(C·2^bits)² < 2^53 bounds ΣI².
    """
    for bits in range(MAX_BITS, MIN_BITS - 1, -1):
        if dimension * squared * 4**bits < EXACT_SQUARES:
            break
    else:
        raise TooFineError(
            f"{dimension:,} coordinates with a clip of C² = {float(squared):.6g} can't be summed "
            f"exactly with {MIN_BITS} bits. Split the query, or lower max_rows or l2."
        )
    if squared * 4**bits < 4**MIN_BITS:
        raise TooFineError(
            f"Expected l2 >= 2^-{bits - MIN_BITS}, got C² = {float(squared):.6g}. A row is at most "
            "1 in each statistic: such a clip would leave nothing of it."
        )
    # Implied by the caps above; checked, because wrapping around would void the sensitivity.
    if MAX_ROWS * 2**bits >= _INT64 or MAX_UNITS**2 * squared * 4**bits >= _INT64**2:
        raise TooFineError("The totals may pass 64 bits. Lower max_rows or l2.")
    return bits
