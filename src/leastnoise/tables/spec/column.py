"""The section of a column: its bounds, given or to be found, its keys and its candidates.

The candidates of quantiles are public: a list of numbers, or a grid that describes them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self, final

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
from leastnoise.tables.spec.section import Section, key, require_key
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
    """Numbers from `from` to `to`, both included: either a `step` apart, or `number` in all.

    On a logarithmic scale the numbers grow by a constant factor. The numbers between the two ends
    are then rounded to six digits.
    """

    first: Number = key("the smallest candidate", "from = 0", alias="from")
    last: Number = key("the largest candidate", "to = 150000", alias="to")
    step: Positive | None = key("the distance between candidates", "step = 100", default=None)
    number: Annotated[int, Field(ge=2, le=MOST_CANDIDATES)] | None = key(
        "the number of candidates, both ends included", "number = 1000", default=None
    )
    scale: Literal["linear", "log"] = key(
        "linear for equal steps, log for equal factors", 'scale = "log"', default="linear"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.first >= self.last:
            raise ValueError(
                "Expected `from` to be less than `to`, such as { from = 0, to = 100, step = 1 }."
            )
        if (self.step is None) == (self.number is None):
            raise ValueError(
                "Expected exactly one of step (distance between candidates) and number (how many "
                "candidates)."
            )
        if self.scale == "log" and (self.number is None or self.first <= 0):
            raise ValueError(
                'With scale = "log", give number in place of step, and let from be above 0.'
            )
        if self.step is not None and (self.last - self.first) % self.step:
            raise ValueError(
                "Expected the distance from `from` to `to` to be a multiple of `step`."
            )
        if self.count > MOST_CANDIDATES:
            raise ValueError(
                f"Expected at most {MOST_CANDIDATES:,} candidates. Give a larger `step` or "
                "a smaller `number`."
            )
        check_candidates(self.values)
        return self

    @property
    def count(self) -> int:
        """The number of values of the grid."""
        if self.step is not None:
            return int((self.last - self.first) / self.step) + 1
        return self.number or 0

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The values of the grid, in order."""
        last = self.count - 1
        if self.scale == "log":
            inner = (self._factor(Fraction(index, last)) for index in range(1, last))
            return (self.first, *inner, self.last)
        width = self.last - self.first
        return tuple(self.first + width * Fraction(index, last) for index in range(last + 1))

    def _factor(self, part: Fraction) -> Fraction:
        """The number from·(to/from)^part, rounded in balls to six digits, alike on all machines.

        Raises ValueError if it is too close to call which six digits are nearest.
        """
        with precision(AMPLE_BITS):
            exactly = ball(self.first) * (ball(self.last / self.first).log() * ball(part)).exp()
            digits = (exactly.log() / arb(10).log()).mid().floor().unique_fmpz()
            places = 6 - 1 - int(digits or 0)  # decimals for six digits
            whole = (exactly * arb(10) ** places + arb(0.5)).floor().unique_fmpz()
        if whole is None or digits is None:
            raise ValueError(
                "One of the candidates can't be rounded to six digits. Choose another `number`, "
                "the number of candidates."
            )
        return int(whole) * Fraction(10) ** -places


def check_candidates(values: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return the candidates; raise ValueError unless they can be candidates of a column.

    There have to be 2 to 100,000 candidates between −2^1000 and 2^1000, which still increase after
    rounding to floats.
    """
    if not 2 <= len(values) <= MOST_CANDIDATES:
        raise ValueError(f"Expected 2 to {MOST_CANDIDATES:,} candidates, got {len(values):,}.")
    if max(map(abs, values)) >= _LARGEST:
        raise ValueError("Expected candidates between -2^1000 and 2^1000.")
    for left, right in pairwise(values):
        if float(left) >= float(right):
            raise ValueError(
                f"Expected increasing candidates, got {decimal_text(right)[:40]} after "
                f"{decimal_text(left)[:40]}. Candidates must still differ after rounding to "
                "about 16 digits (float64)."
            )
    return values


def _tag_of_candidates(value: object) -> str:
    """The pydantic tag of candidates: a grid, or a list."""
    return "grid[]" if isinstance(value, dict | Grid) else "list[]"


Listed = Annotated[tuple[Number, ...], BeforeValidator(as_tuple), AfterValidator(check_candidates)]
Candidates = Annotated[
    Annotated[Grid, Tag("grid[]")] | Annotated[Listed, Tag("list[]")],
    Discriminator(_tag_of_candidates),
]


def list_candidates(given: Any) -> tuple[Fraction, ...]:
    """The numbers of a column's `candidates`, in order."""
    if given is None:
        raise KeyError("candidates")  # the checks of the spec exclude this
    return given.values if isinstance(given, Grid) else given


def _read_find(value: object) -> bool:
    """Check the key `find`, whose only value is `true`; raise ValueError for any other value."""
    if value is not True:
        raise ValueError("Expected find = true. Write known bounds as [low, high].")
    return True


_True = Annotated[bool, PlainValidator(_read_find, json_schema_input_type=Literal[True])]


_FORMS = (
    'known bounds as a pair [0, 30], or { find = true, share = "0.1", candidates = … } to let the '
    "release find them"
)


@final
class FindBounds(Section):
    """Bounds that a release finds: two quantiles of the column, among its public candidates.

    A query finds them, with `share` of the whole budget. Reading a spec adds this query, states its
    name as `query`, and drops `share` and `levels` here. A spec can also name one of its queries as
    `query`, without `share`. `candidates` become candidates of the column. A bound that is publicly
    known (`low` or `high`) isn't searched: then only the other quantile is chosen. `found` are the
    bounds that a release found; equal quantiles give neighbouring candidates.
    """

    find: _True = key("the flag that lets the release find the bounds", "bounds = { find = true }")
    share: Share | None = key(
        "the part of the whole budget for finding the bounds", 'share = "0.02"', default=None
    )
    levels: Bounds | None = key(
        "the levels of the two quantiles", 'levels = ["0.01", "0.99"]', default=None
    )
    low: Number | None = key("the lower bound, if it is known", "low = 0", default=None)
    high: Number | None = key("the upper bound, if it is known", "high = 100", default=None)
    candidates: Candidates | None = key(
        "the public candidates for bounds, if the column has no candidates",
        "candidates = { from = 0, to = 1000000, step = 1000 }",
        default=None,
    )
    query: Text | None = key(
        "the name of the query that finds the bounds", 'query = "income_bounds"', default=None
    )
    found: Bounds | None = key(
        "the bounds that a release found; it adds this key itself",
        "found = [0, 52000]",
        default=None,
    )

    @classmethod
    def complete(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Return the section unchanged; raise ValueError if it lacks the key `find`.

        A misspelt `find` raises no error here; pydantic reports it.
        """
        return require_key(value, "find", forms=_FORMS)


def _tag(value: object) -> str:
    """The pydantic tag of bounds: a pair, or a table that finds them."""
    return "find[]" if isinstance(value, dict | FindBounds) else "pair[]"


BoundsOrFind = Annotated[
    Annotated[FindBounds, Tag("find[]")] | Annotated[Bounds, Tag("pair[]")], Discriminator(_tag)
]


@final
class Column(Section):
    """Public facts about a column.

    In sums and means, `bounds` clamp each value; the release can find them. `missing` is the
    treatment of missing values: NULL, NaN, infinities and unreadable values. "skip", the default,
    leaves them out of sums and means. A number replaces them. "none" promises that no value is
    missing; in a sum or mean, a missing value then counts as the middle of `bounds`. Histograms
    drop missing values, unless a number replaces them.

    A query that groups by the column's name alone uses its public `keys`, or the bands between its
    `edges`. Quantiles are chosen among the `candidates`. `label` is the column's name in plans and
    pages.
    """

    forms: ClassVar[dict[str, str]] = {
        "bounds": _FORMS,
        "candidates": "a list of numbers, or a grid { from = 0, to = 100, step = 5 }",
    }

    bounds: BoundsOrFind | None = key(
        "public bounds that clamp values, or the way to find bounds",
        "bounds = [0, 30]",
        default=None,
    )
    missing: Annotated[Missing, PlainValidator(read_missing, json_schema_input_type=Written)] = key(
        'the treatment of NULL, NaN and unreadable values: "skip", a number that replaces them, or '
        '"none" to promise that no value is missing',
        'missing = "skip"',
        default=SKIP,
    )
    keys: KeysOrFile = key(
        "its public keys, or a file of keys, for queries that group by its name",
        'keys = ["north", "south"]',
        default=(),
    )
    edges: Edges = key(
        "the edges of its bands, for queries that group by its name",
        "edges = [0, 18, 65]",
        default=(),
    )
    candidates: Candidates | None = key(
        "the public candidates for quantiles: a grid, or a list",
        "candidates = { from = 0, to = 150000, step = 100 }",
        default=None,
    )
    label: Text | None = key(
        "the column's name in sentences", 'label = "Doctor visits"', default=None
    )

    @model_validator(mode="after")
    def _share_candidates(self) -> Self:
        """Move the candidates of the bounds to the column, if it has no candidates of its own."""
        if self.finds is None or self.finds.candidates is None or self.candidates is not None:
            return self
        bounds = self.finds.model_copy(update={"candidates": None})
        return self.model_copy(update={"bounds": bounds, "candidates": self.finds.candidates})

    @property
    def number(self) -> Fraction | None:
        """The number in `missing`, which replaces missing values; None if `missing` is a word."""
        return None if isinstance(self.missing, str) else self.missing

    @property
    def counts_as(self) -> Fraction | None:
        """The number as which a missing value counts in sums, means and quantiles.

        None if it is left out.
        """
        if self.missing == NONE and self.limits is not None:
            return sum(self.limits, Fraction(0)) / 2
        return self.number

    @property
    def finds(self) -> FindBounds | None:
        """The section of bounds that the release finds; None if the bounds are given or absent."""
        return self.bounds if isinstance(self.bounds, FindBounds) else None

    @property
    def is_open(self) -> bool:
        """True if the column's bounds are still to be found."""
        return self.finds is not None and self.finds.found is None

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """The bounds that clamp values; None without bounds.

        Before a release has found them, these are the widest bounds that it may find.
        """
        found_bounds = None if self.finds is None else self.finds.found
        return self.widest if found_bounds is None else found_bounds

    @property
    def widest(self) -> tuple[Fraction, Fraction] | None:
        """The given bounds, or the widest that a release may find; None without any."""
        if not isinstance(self.bounds, FindBounds):
            return self.bounds
        search, values = self.bounds, self.ends
        if not values:
            return None
        low = values[0] if search.low is None else search.low
        return low, values[-1] if search.high is None else search.high

    @property
    def ends(self) -> tuple[Fraction, ...]:
        """The candidates for bounds: from the bounds' section, else from the column; else ()."""
        candidates = None if self.finds is None else self.finds.candidates
        candidates = self.candidates if candidates is None else candidates
        return () if candidates is None else list_candidates(candidates)
