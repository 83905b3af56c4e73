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
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.plan.count_trees import (
    MISSED,
    RankTree,
    find_noise,
    read_tree,
    tree_to_record,
)
from leastnoise.tables.query.noise_error import ExpectedError
from leastnoise.tables.query.ranks import share_parts
from leastnoise.tables.query.results import describe_kept_groups
from leastnoise.tables.spec.query import FLIP, TREE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.certificate.plan import Block, Blocks
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.query.layout import LaidOut, Layout
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.statistics.base import NoiseError

_CHOSEN = (
    "No noise is added to a quantile{which}, and no interval of values exists for it: it is off by "
    "at most so many rows, and how far apart their values lie is data."
)
_COUNTED = (
    "Quantiles by a tree are read off noisy counts of the rows at each candidate. Each is between "
    "its _low and its _high with 95 %, one at a time. These are the ends of what counts at a "
    "candidate: halfway to the next one, and open (-inf, inf) at the first and the last."
)
TOTAL_NOTE = (
    "Where no count is asked for, the total of a tree's counts decides which groups are there. It "
    "counts the rows that the quantiles are of, and stands in the table. It costs nothing, being "
    "in the same draw."
)
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

    All of the budget that they spend is ε. Of a series `budget` is that of all releases, and a
    QuantileCertificate about one. By a `tree` the certificate is that of its noise. Where the
    tree's total decides which groups are published, `total_error` is its error.
    """

    layout: Ranks
    budget: Budget
    certificate: QuantileCertificate | Certificate
    tree: RankTree | None = None
    total_error: NoiseError | None = None

    @property
    def name(self) -> str:
        """The name of the query and of its table."""
        return self.layout.name

    @property
    def errors(self) -> tuple[RankError, ...]:
        """How far off each quantile is, in ranks."""
        claim, asked = self.certificate, self.layout.statistics
        if self.tree is not None:
            rows = [self.tree.rows_95(one.level) for one in asked]
        elif isinstance(claim, QuantileCertificate):
            rows = [_rows_off(claim, place) for place in range(len(asked))]
        else:
            raise TypeError("noise of quantiles is that of a tree")
        return tuple(
            RankError(statistic=one.label, rows_95=off, sizes=self.layout.sizes)
            for one, off in zip(asked, rows, strict=True)
        )

    @property
    def count(self) -> tuple[Layout, tuple[NoiseError]] | None:
        """The layout of the tree's total and its error, where it decides; else None."""
        layout, error = self.layout.count, self.total_error
        return None if layout is None or error is None else (layout, (error,))

    @property
    def count_error(self) -> ExpectedError | None:
        """The error of the tree's total, where it decides which groups are published."""
        layout, error = self.layout.count, self.total_error
        if layout is None or error is None:
            return None
        return ExpectedError(
            statistic=layout.statistics[0].label,
            rows=None,
            std=error.std,
            half_width_95=error.half95,
            plain_laplace_std=None,
            plain_gaussian_std=None,
        )

    @property
    def all_errors(self) -> tuple[RankError | ExpectedError, ...]:
        """How far off each quantile is, and the tree's total where that decides."""
        return self.errors if self.count_error is None else (*self.errors, self.count_error)

    @property
    def chosen_by(self) -> str:
        """How they are found, as the spec calls it."""
        return FLIP if self.tree is None else TREE

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values, all of which a certificate can confirm."""
        layout, claim = self.layout, self.certificate
        axis = layout.candidates
        how: dict[str, Any] = {} if self.tree is None else {"tree": tree_to_record(self.tree.noise)}
        if isinstance(claim, QuantileCertificate):
            how = {"parts": claim.parts, "nested": claim.nested}
        return {
            "name": layout.name,
            "part": layout.part,
            "statistics": [one.label for one in layout.statistics],
            "cells": layout.cells,
            "epsilon": decimal_text(self.budget.epsilon),
            "candidates": axis.cells,
            "least_candidate": layout.published[0],
            "largest_candidate": layout.published[-1],
            **how,
            "reach": decimal_text(layout.reach),
            "bounding": None if layout.by_row else layout.counted.bounding.to_record(),
            "bits": layout.counted.bits,
            "chosen_by": self.chosen_by,
            "missing": list(layout.missing),
            "errors": [{"statistic": one.statistic, "rows_95": one.rows_95} for one in self.errors],
            **self._count_record(),
            **({"filters": list(layout.filters)} if layout.filters else {}),
        }

    def in_words(self) -> list[str]:
        """Return how they are chosen and how far off they are, in sentences."""
        claim, count = self.certificate, len(self.layout.statistics)
        said = ["A value counts at the nearest candidate, one outside at the first or the last."]
        if self.tree is not None:
            said.append(self.tree.in_words(self.layout.candidates.column))
        elif isinstance(claim, QuantileCertificate) and claim.nested:
            depths = 1 + max(one.depth for one in claim.choices)
            said.append(
                f"The {count} quantiles of {self.layout.candidates.column} are chosen in {depths} "
                "rounds, each between those of the rounds before."
            )
        if (error := self.count_error) is not None:
            said.append(
                f"{error.statistic} is the total of these counts: with 95 % it is off by at most "
                f"{error.half_width_95:,.4g} (std {error.std:.4g})."
            )
        return [*said, *self._kept(), *(one.in_words() for one in self.errors)]

    def _count_record(self) -> dict[str, Any]:
        """The total that decides which groups are published, as JSON values; empty without one."""
        if (error := self.count_error) is None:
            return {}
        count = {"statistic": error.statistic, "std": error.std}
        return {
            "count": {**count, "half_width_95": error.half_width_95},
            "published": self._kept(),
        }

    def _kept(self) -> list[str]:
        """Which groups the tree's total leaves in the table, in sentences."""
        return [] if self.layout.count is None else [*describe_kept_groups(self.layout.count)]


def plan_quantiles(laid: LaidOut, claims: Blocks | None = None) -> tuple[QuantilePlan, ...]:
    """Return the plans of all quantiles of a release, in the order of the spec.

    The noise of trees is that of the block of that name in `claims`, or else it is found. The spec
    decides all else. Raises Refused for more levels than can be chosen together, or if there is no
    ε for them; CertificateRejected if noise isn't for them.
    """
    given = dict(claims or ())
    found: list[QuantilePlan] = []
    times = laid.spec.releases
    for query, parts, ranks in zip(laid.spec.query, laid.queries, laid.ranks, strict=True):
        shares = share_parts(parts, ranks)[len(parts) :]
        for layout, own in zip(ranks, shares, strict=True):
            share = laid.spec.budget.share(laid.spec.share(query) * own)
            try:
                if layout.by_tree:
                    known = None if claims is None else given.get(layout.label)
                    found.append(_by_tree(layout, share, known, times))
                    continue
                claim = _claim(layout, share.epsilon / times)
            except (InvalidArgument, NotApplicable) as error:
                raise Refused(f"The query {layout.label!r}: {error}") from None
            whole = replace(claim.budget, epsilon=times * claim.budget.epsilon)
            found.append(QuantilePlan(layout=layout, budget=whole, certificate=claim))
    return tuple(found)


def _by_tree(layout: Ranks, share: Budget, known: Block | None, times: int) -> QuantilePlan:
    claim = find_noise(layout, share, times) if known is None else known
    if not isinstance(claim, Certificate):
        raise CertificateRejected(f"Query {layout.label!r}: its quantiles are by a tree's noise.")
    tree = read_tree(layout, claim, share)
    error = None if layout.count is None else tree.total_error()
    return QuantilePlan(
        layout=layout, budget=claim.budget, certificate=claim, tree=tree, total_error=error
    )


def quantiles_notes(parts: Sequence[QuantilePlan]) -> list[str]:
    """Return what is said of quantiles, of those by chance and of those by a tree."""
    trees = [one.tree is not None for one in parts]
    chosen = _CHOSEN.format(which=" that is chosen by chance" if any(trees) else "")
    decides = any(one.count is not None for one in parts)
    said = [*([] if all(trees) else [chosen]), *([_COUNTED] if any(trees) else [])]
    return [*said, TOTAL_NOTE] if decides else said


def _rows_off(claim: QuantileCertificate, place: int) -> float:
    path = list(_path(claim, place))
    missed = MISSED / len(path)
    parts = claim.candidates * claim.parts
    return sum(math.log(parts / missed) / float(claim.rates[one]) for one in path)


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
