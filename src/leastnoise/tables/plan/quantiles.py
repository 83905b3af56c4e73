"""What a plan says of quantiles: their part of the budget, and how far off they are, in ranks.

notation: λ the rate of a draw, B the candidates' parts that it chooses among. The one that is
chosen is off by s rows; P(s > ln(B/β)/λ) <= β, since some candidate is off by none and each other
one has to beat it (theory/release.md §10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.query.ranks import share_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.query.layout import LaidOut
    from leastnoise.tables.query.ranks import Ranks

NAME = "permute-and-flip"
QUANTILES_NOTE = (
    "No noise is added to a quantile, and no interval of values exists for it: it is off by at "
    "most so many rows, and how far apart their values lie is data."
)
_MISSED = 0.05
_MOST_PARTS = 4096
"""Candidates of fewer are cut into parts for nested draws: more parts than ties need do harm."""


@final
@dataclass(frozen=True, kw_only=True)
class RankError:
    """By how many rows of its group a quantile is off, at most, with probability 95 %.

    Where it is chosen between two others it counts how far off these are. Rows that share a part of
    a candidate with a chosen one come on top. `sizes` are numbers of rows that may be in a group.
    """

    statistic: str
    rows_95: float
    sizes: tuple[int, ...]

    def in_words(self) -> str:
        """Return it as a sentence."""
        shares = [
            f"{100 * self.rows_95 / size:.2g} % of {size:,}"
            for size in self.sizes
            if size > self.rows_95
        ]
        compared = f" ({_words.in_turn(shares, 'or')})" if shares else ""
        return (
            f"{self.statistic}: with 95 %, at most {self.rows_95:,.3g} rows of its group from the "
            f"true rank{compared}."
        )


@final
@dataclass(frozen=True, kw_only=True)
class QuantilePlan:
    """The quantiles of one column in a query: how they are chosen, and their share of the budget.

    Nothing is added to them, so that all of the budget that they spend is ε. Of a series
    `certificate` is about one release, and `budget` that of all.
    """

    layout: Ranks
    budget: Budget
    certificate: QuantileCertificate

    @property
    def name(self) -> str:
        """The name of the query and of its table."""
        return self.layout.name

    @property
    def errors(self) -> tuple[RankError, ...]:
        """How far off each quantile is, in ranks."""
        claim = self.certificate
        found: list[RankError] = []
        for place, asked in enumerate(self.layout.statistics):
            path = list(_path(claim, place))
            missed = _MISSED / len(path)
            parts = claim.candidates * claim.parts
            rows = [math.log(parts / missed) / float(claim.rates[one]) for one in path]
            found.append(
                RankError(statistic=asked.label, rows_95=sum(rows), sizes=self.layout.sizes)
            )
        return tuple(found)

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, all of which a certificate can confirm."""
        layout, claim = self.layout, self.certificate
        axis = layout.candidates
        return {
            "name": layout.name,
            "part": layout.part,
            "statistics": [one.label for one in layout.statistics],
            "cells": layout.cells,
            "epsilon": decimal_text(self.budget.epsilon),
            "candidates": axis.cells,
            "least_candidate": layout.published[0],
            "largest_candidate": layout.published[-1],
            "parts": claim.parts,
            "nested": claim.nested,
            "reach": decimal_text(claim.reach),
            "bounding": None if layout.by_row else layout.counted.bounding.to_record(),
            "bits": layout.counted.bits,
            "chosen_by": NAME,
            "missing": list(layout.missing),
            "errors": [{"statistic": one.statistic, "rows_95": one.rows_95} for one in self.errors],
            **({"filters": list(layout.filters)} if layout.filters else {}),
        }

    def in_words(self) -> list[str]:
        """Return how they are chosen and how far off they are, in sentences."""
        claim, count = self.certificate, len(self.layout.statistics)
        said = ["A value counts at the nearest candidate, one outside at the first or the last."]
        if claim.nested:
            depths = 1 + max(one.depth for one in claim.choices)
            said.append(
                f"The {count} quantiles of {self.layout.candidates.column} are chosen in {depths} "
                "rounds, each between those of the rounds before."
            )
        return [*said, *(one.in_words() for one in self.errors)]


def plan_quantiles(laid: LaidOut) -> tuple[QuantilePlan, ...]:
    """Return the plans of all quantiles of a release, in the order of the spec.

    The spec decides them alone. Raises Refused for more levels than can be chosen together, or if
    there is no ε for them.
    """
    found: list[QuantilePlan] = []
    times = laid.spec.releases
    for query, parts, ranks in zip(laid.spec.query, laid.queries, laid.ranks, strict=True):
        shares = share_parts(parts, ranks)[len(parts) :]
        for layout, own in zip(ranks, shares, strict=True):
            share = laid.spec.budget.share(laid.spec.share(query) * own)
            try:
                claim = _claim(layout, share.epsilon / times)
            except InvalidArgument as error:
                raise Refused(f"The query {layout.label!r}: {error}") from None
            whole = replace(claim.budget, epsilon=times * claim.budget.epsilon)
            found.append(QuantilePlan(layout=layout, budget=whole, certificate=claim))
    return tuple(found)


def _claim(layout: Ranks, epsilon: Fraction) -> QuantileCertificate:
    cells = layout.candidates.cells
    return QuantileCertificate.best(
        epsilon=epsilon,
        levels=tuple(one.level for one in layout.statistics),
        candidates=cells,
        parts=max(2, 1 << (_MOST_PARTS // cells).bit_length() - 1) if cells <= _MOST_PARTS else 2,
        groups=layout.cells,
        reach=layout.reach,
        neighbours=layout.neighbours,
    )


def _path(claim: QuantileCertificate, place: int) -> Iterator[int]:
    """Yield a draw, and those before it that it rests on, one of each depth."""
    choices = claim.choices
    at: int | None = place
    while at is not None:
        yield at
        ends = [one for one in (choices[at].below, choices[at].above) if one is not None]
        at = max(ends, key=lambda one: choices[one].depth, default=None)
