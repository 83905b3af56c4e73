"""What a spec says of a column, and how its bounds are found where nobody knows them."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, final

from pydantic import Discriminator, PlainValidator, Tag

from leastnoise.tables.spec.candidates import Candidates, list_candidates
from leastnoise.tables.spec.values import (
    NONE,
    SKIP,
    Bounds,
    Edges,
    Keys,
    Missing,
    Number,
    Section,
    Share,
    Text,
    Written,
    key,
    read_missing,
)


def _read_find(value: object) -> bool:
    """Return True; raises ValueError for anything else."""
    if value is not True:
        raise ValueError("Expected find = true; bounds that are known are written [low, high].")
    return True


_True = Annotated[bool, PlainValidator(_read_find, json_schema_input_type=Literal[True])]


@final
class FindBounds(Section):
    """Bounds that a release finds: two quantiles of the column, among its public candidates.

    A query of its own chooses them, with `share` of the whole budget: reading a spec puts that
    query in the place of `share`, `levels` and `candidates`, and names it in `query`. What is known
    in public, `low` or `high`, isn't looked for. `found` is what a release has found.
    """

    find: _True = key("that the release finds them", "bounds = { find = true }")
    share: Share | None = key(
        "the part of the whole budget that finds them", 'share = "0.02"', default=None
    )
    levels: Bounds | None = key(
        "the levels of the two quantiles", 'levels = ["0.01", "0.99"]', default=None
    )
    low: Number | None = key("the lower bound, if it is known", "low = 0", default=None)
    high: Number | None = key("the upper bound, if it is known", "high = 100", default=None)
    candidates: Candidates | None = key(
        "the public numbers that a bound may be, if the column has none",
        "candidates = { from = 0, to = 1000000, step = 1000 }",
        default=None,
    )
    query: Text | None = key(
        "what the query that finds them is called", 'query = "income_bounds"', default=None
    )
    found: Bounds | None = key(
        "what a release has found, which it writes itself", "found = [0, 52000]", default=None
    )


def _tag(value: object) -> str:
    """Return a tag that no key has."""
    return "find[]" if isinstance(value, dict | FindBounds) else "pair[]"


BoundsOrFind = Annotated[
    Annotated[FindBounds, Tag("find[]")] | Annotated[Bounds, Tag("pair[]")], Discriminator(_tag)
]


@final
class Column(Section):
    """What the public knows of a column.

    `bounds` clamp each value; what they are may be found. `missing` says what NULL, NaN, infinities
    and unreadable values do: "skip", the default, leaves them out of sums and means; a number
    replaces them, and "none" is the promise that there are none: one that is there after all counts
    as the middle of `bounds`. Histograms drop them, unless it is a number. By its public `keys`, or
    the bands between `edges`, a query groups that names the column alone. Quantiles are among the
    `candidates`. `label` is what plans and pages call it.
    """

    bounds: BoundsOrFind | None = key(
        "public bounds, which values are clamped to, or how they are found",
        "bounds = [0, 30]",
        default=None,
    )
    missing: Annotated[Missing, PlainValidator(read_missing, json_schema_input_type=Written)] = key(
        'what NULL, NaN and unreadable values do: "skip", a number that they become, or "none" '
        "for the promise that there are none",
        'missing = "skip"',
        default=SKIP,
    )
    keys: Keys = key(
        "the public keys, or a file of them, for queries that group by its name",
        'keys = ["north", "south"]',
        default=(),
    )
    edges: Edges = key(
        "the edges of its bands, for queries that group by its name",
        "edges = [0, 18, 65]",
        default=(),
    )
    candidates: Candidates | None = key(
        "the public numbers that a quantile may be: a grid, or a list",
        "candidates = { from = 0, to = 150000, step = 100 }",
        default=None,
    )
    label: Text | None = key(
        "what the column is called in words", 'label = "Doctor visits"', default=None
    )

    @property
    def number(self) -> Fraction | None:
        """The number that a missing value becomes wherever it is used; None without one."""
        return None if isinstance(self.missing, str) else self.missing

    @property
    def counts_as(self) -> Fraction | None:
        """What a missing value counts as in sums and means, None where it is left out."""
        if self.missing == NONE and self.limits is not None:
            return sum(self.limits, Fraction(0)) / 2
        return self.number

    @property
    def finds(self) -> FindBounds | None:
        """How its bounds are found; None where they are known, or there are none."""
        return self.bounds if isinstance(self.bounds, FindBounds) else None

    @property
    def is_open(self) -> bool:
        """Whether its bounds are still to be found."""
        return self.finds is not None and self.finds.found is None

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """What values are clamped to: before bounds are found, the widest that they may be."""
        found = None if self.finds is None else self.finds.found
        return self.widest if found is None else found

    @property
    def widest(self) -> tuple[Fraction, Fraction] | None:
        """What is known of the bounds before the rows are read; None without any."""
        if not isinstance(self.bounds, FindBounds):
            return self.bounds
        known, values = self.bounds, self.ends
        if not values:
            return None
        low = values[0] if known.low is None else known.low
        return low, values[-1] if known.high is None else known.high

    @property
    def ends(self) -> tuple[Fraction, ...]:
        """The candidates among which its bounds are found; () without any."""
        own = None if self.finds is None else self.finds.candidates
        given = self.candidates if own is None else own
        return () if given is None else list_candidates(given)
