"""The public candidates of a column's quantiles: a list of numbers, or a grid that names them."""

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
    Tag,
    model_validator,
)

from leastnoise.balls.core import AMPLE_BITS, ball, precision
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.spec.values import Number, Positive, Section, as_tuple, key

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


def _tag(value: object) -> str:
    """Return a tag that no key has."""
    return "grid[]" if isinstance(value, dict | Grid) else "list[]"


Listed = Annotated[tuple[Number, ...], BeforeValidator(as_tuple), AfterValidator(check_candidates)]
Candidates = Annotated[
    Annotated[Grid, Tag("grid[]")] | Annotated[Listed, Tag("list[]")], Discriminator(_tag)
]


def list_candidates(given: Any) -> tuple[Fraction, ...]:
    """Return the numbers of what a column gives as `candidates`, in order."""
    if given is None:
        raise KeyError("candidates")  # the checks of the spec come first
    return given.values if isinstance(given, Grid) else given
