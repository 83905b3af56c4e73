"""What a spec says of a column: its bounds, found where nobody knows them, and its candidates.

The candidates of quantiles are public: a list of numbers, or a grid that names them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, final

from flint import arb
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    model_validator,
)

from leastnoise.balls.core import AMPLE_BITS, ball, precision
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.spec.section import Section, key
from leastnoise.tables.spec.values import (
    NONE,
    SKIP,
    Bounds,
    Edges,
    KeysOrFile,
    Missing,
    Number,
    Positive,
    Share,
    Text,
    Written,
    as_tuple,
    read_missing,
)

MOST_CANDIDATES = 100_000
_LARGEST = Fraction(2) ** 1000


@final
class Grid(Section):
    """Numbers from one to another, both ends among them: by steps, or so many of them.

    On a scale of logarithms each is the one before times one factor, rounded to six digits.
    """

    first: Number = key("the least candidate", "from = 0", alias="from")
    last: Number = key("the largest candidate", "to = 150000", alias="to")
    step: Positive | None = key("how far they are apart", "step = 100", default=None)
    number: Annotated[int, Field(ge=2, le=MOST_CANDIDATES)] | None = key(
        "how many there are, both ends among them", "number = 1000", default=None
    )
    scale: Literal["linear", "log"] = key(
        "whether equal steps or equal factors lie between them", 'scale = "log"', default="linear"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.first >= self.last:
            raise ValueError("Expected from below to, such as { from = 0, to = 100, step = 1 }.")
        if (self.step is None) == (self.number is None):
            raise ValueError("Expected step or number, one of the two.")
        if self.scale == "log" and (self.number is None or self.first <= 0):
            raise ValueError('Expected number, and from above 0, with scale = "log".')
        if self.step is not None and (self.last - self.first) % self.step:
            raise ValueError("Expected to to be a whole number of steps above from.")
        if self.count > MOST_CANDIDATES:
            raise ValueError(f"Expected at most {MOST_CANDIDATES:,} candidates.")
        check_candidates(self.values)
        return self

    @property
    def count(self) -> int:
        """How many candidates there are."""
        if self.step is not None:
            return int((self.last - self.first) / self.step) + 1
        return self.number or 0

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The candidates, in order."""
        last = self.count - 1
        if self.scale == "log":
            inner = (self._factor(Fraction(place, last)) for place in range(1, last))
            return (self.first, *inner, self.last)
        width = self.last - self.first
        return tuple(self.first + width * Fraction(place, last) for place in range(last + 1))

    def _factor(self, part: Fraction) -> Fraction:
        """Return from·(to/from)^part, rounded to six digits in balls: alike on every machine."""
        with precision(AMPLE_BITS):
            exactly = ball(self.first) * (ball(self.last / self.first).log() * ball(part)).exp()
            digits = (exactly.log() / arb(10).log()).mid().floor().unique_fmpz()
            places = 6 - 1 - int(digits or 0)  # six digits of each
            whole = (exactly * arb(10) ** places + arb(0.5)).floor().unique_fmpz()
        if whole is None or digits is None:
            raise ValueError("A candidate lies between two of six digits. Choose another number.")
        return int(whole) * Fraction(10) ** -places


def check_candidates(values: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return the candidates; raises ValueError unless they increase, also as float64."""
    if not 2 <= len(values) <= MOST_CANDIDATES:
        raise ValueError(f"Expected 2 to {MOST_CANDIDATES:,} candidates, got {len(values):,}.")
    if max(map(abs, values)) >= _LARGEST:
        raise ValueError("Expected candidates below 2^1000.")
    for left, right in pairwise(values):
        if float(left) >= float(right):
            raise ValueError(
                f"Expected increasing candidates, got {decimal_text(right)[:40]} after "
                f"{decimal_text(left)[:40]}, or closer ones than are told apart."
            )
    return values


def _tag_of_candidates(value: object) -> str:
    """Return a tag that no key has."""
    return "grid[]" if isinstance(value, dict | Grid) else "list[]"


Listed = Annotated[tuple[Number, ...], BeforeValidator(as_tuple), AfterValidator(check_candidates)]
Candidates = Annotated[
    Annotated[Grid, Tag("grid[]")] | Annotated[Listed, Tag("list[]")],
    Discriminator(_tag_of_candidates),
]


def list_candidates(given: Any) -> tuple[Fraction, ...]:
    """Return the numbers of what a column gives as `candidates`, in order."""
    if given is None:
        raise KeyError("candidates")  # the checks of the spec come first
    return given.values if isinstance(given, Grid) else given


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
    keys: KeysOrFile = key(
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

    @model_validator(mode="after")
    def _share_candidates(self) -> Self:
        """Let those of the bounds be candidates of the column, which has no others."""
        if self.finds is None or self.finds.candidates is None or self.candidates is not None:
            return self
        bounds = self.finds.model_copy(update={"candidates": None})
        return self.model_copy(update={"bounds": bounds, "candidates": self.finds.candidates})

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
