"""Quantiles: public candidates, below which about a given share of the rows lies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, final

from leastnoise.errors import InvalidArgument, show_value
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.base import RANKED_COLUMN, ColumnIs, OneColumn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

MEDIAN = Fraction(1, 2)
ROWS_95 = "_rows_95"
"""Suffix of the column with a bound on a quantile's error in ranks, which holds with 95 %."""


@final
@dataclass(frozen=True, kw_only=True)
class Quantile(OneColumn):
    """The `level`-quantile of a column, chosen among its candidates without adding noise to it.

    Further columns state the quantile's uncertainty, with probability 95 %. If `with_ends` is true,
    they are the two ends of an interval for the quantile. Otherwise the only further column has a
    bound on the error in ranks: the number of rows between the candidate and the true rank. See
    `answers.quantiles.layout`.
    """

    level: Fraction = MEDIAN
    with_ends: bool = False

    kind: ClassVar[str] = "quantile"
    counts: ClassVar[bool] = False
    clamps: ClassVar[bool] = False
    needs_size: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = False
    ranked: ClassVar[bool] = True
    column_types = RANKED_COLUMN

    @classmethod
    def of(cls, column: str, level: str) -> Self:
        """The quantile at a level that is written as a decimal.

        Raises ValueError unless the level is above 0 and below 1.
        """
        try:
            parsed = exact(level, name="level")
        except InvalidArgument:
            parsed = Fraction(0)
        if not 0 < parsed < 1:
            why = "Expected a level above 0 and below 1, such as quantile(income, 0.9), got"
            raise ValueError(f"{why} {show_value(level)}.")
        return cls(column=column, level=parsed)

    @property
    def candidate_suffixes(self) -> tuple[str, ...]:
        """The suffixes of the columns whose values are candidates or lie between candidates."""
        return ("", "_low", "_high") if self.with_ends else ("",)

    @property
    def suffixes(self) -> tuple[str, ...]:
        return self.candidate_suffixes if self.with_ends else (*self.candidate_suffixes, ROWS_95)

    @property
    def label(self) -> str:
        if self.level == MEDIAN:
            return f"median_{self.column}"
        return f"{self.kind}_{self.column}_{decimal_text(self.level)}"

    def in_words(self, labels: Mapping[str, str]) -> str:
        name = labels.get(self.column)
        if name is None:
            return self.label
        kind = "median" if self.level == MEDIAN else f"{decimal_text(self.level)}-quantile"
        return f"{kind} of {name}"

    def problems(self, spec: Spec, query: Query) -> Iterator[str]:
        """Yield a problem for missing candidates, or for an ε that a quantile can't use."""
        del query
        known = spec.columns.get(self.column)
        if known is None or known.candidates is None:
            yield (
                f"The column {self.column!r} needs public candidates for a median or quantile. Add "
                f"candidates = {{ from = 0, to = 150000, step = 500 }} to columns.{self.column}."
            )
        if spec.privacy.epsilon == 0:
            yield f"{self.label} needs epsilon > 0: delta alone can't hide the chosen candidate."
        if spec.privacy.epsilon == LEAST:
            why = "has an error in ranks, which accuracy can't limit: give privacy.epsilon."
            yield f"{self.label} {why}"
