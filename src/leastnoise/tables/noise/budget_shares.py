"""The queries of a release that need noise, and their shares of the budget.

A query's share is its importance divided by the sum of importances (`Spec.share`). Parts of a query
divide its share (`share_parts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.guarantees.budget import Budget
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.layout import share_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.counts import Counts
    from leastnoise.tables.layout.layout import Layout, SpecLayout

    Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, kw_only=True)
class DrawQuery:
    """A query, or a part of a query, that needs noise.

    `share` is its share of ε, and `of_delta` its share of δ. `layouts` has one layout for each way
    to bound a unit. `index` is its position in the result of `list_draw_queries`.
    """

    index: int
    layouts: tuple[Layout, ...]
    share: Fraction
    of_delta: Fraction

    @property
    def persons(self) -> bool:
        """True if some layout lets a unit add 0 or 1 to every cell."""
        return self.counting is not None

    @cached_property
    def counting(self) -> Layout | None:
        """The first layout in which a unit may add 0 or 1 to every cell; None without one."""
        return next((layout for layout in self.layouts if _fills_cells(layout)), None)

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.layouts[0].name

    @property
    def label(self) -> str:
        """The label in certificates."""
        return self.layouts[0].label

    @property
    def numbers(self) -> int:
        """The number of the query's coordinates."""
        return self.layouts[0].dimension

    @cached_property
    def shaped(self) -> tuple[Body, Layout] | None:
        """The body of shifts with the least second moment, and its layout; None without a body."""
        pairs = [(body, layout) for layout in self.layouts for body in layout.bodies]
        return min(pairs, key=lambda pair: pair[0].second_moment, default=None)

    @cached_property
    def additions(self) -> tuple[tuple[Counts, Layout], ...]:
        """Alternative sets of counts that one unit adds, each with its layout."""
        layout_by_counts = {
            added: layout for layout in reversed(self.layouts) for added in layout.additions
        }
        return tuple(layout_by_counts.items())

    @cached_property
    def moment(self) -> float:
        """The mean square of a coordinate of a uniform random point in the query's body.

        It is averaged over the coordinates; ∞ without a body.
        """
        return math.inf if self.shaped is None else self.shaped[0].second_moment / self.numbers


def _fills_cells(layout: Layout) -> bool:
    return isinstance(layout.bounding, OnceInCells) and layout.bounding.most >= layout.cells


def list_draw_queries(spec_layout: SpecLayout) -> tuple[DrawQuery, ...]:
    """List the queries of a release that need noise; the parts of a query are adjacent."""
    queries = list[DrawQuery]()
    laid_out = zip(spec_layout.spec.query, spec_layout.queries, spec_layout.quantiles, strict=True)
    for query, parts, quantiles in laid_out:
        for layouts, part in zip(parts, share_parts(parts, quantiles), strict=False):
            whole = spec_layout.spec.share(query)
            # the quantiles of published groups are chosen without δ
            of_delta = whole if layouts[0].unlisted else whole * part
            queries.append(
                DrawQuery(
                    index=len(queries), layouts=layouts, share=whole * part, of_delta=of_delta
                )
            )
    return tuple(queries)


def share_budget(budget: Budget, queries: Iterable[DrawQuery]) -> Budget:
    """The sum of these queries' shares of the budget."""
    several = tuple(queries)
    of_epsilon = sum((query.share for query in several), Fraction(0))
    of_delta = sum((query.of_delta for query in several), Fraction(0))
    return Budget(epsilon=budget.epsilon * of_epsilon, delta=budget.delta * of_delta)
