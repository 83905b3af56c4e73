"""The base of answers to one query, which has a draw of its own."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from leastnoise.tables.noise.budget_shares import DrawQuery, share_budget

if TYPE_CHECKING:
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.layout.layout import Layout, SpecLayout


@dataclass(frozen=True, kw_only=True)
class OfOneQuery(ABC):
    """An answer to one query, which shares its draw with no other query."""

    layouts: SpecLayout
    query: DrawQuery

    shares_draws: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """The label by which certificates name the query."""
        return self.query.label

    @property
    def labels(self) -> tuple[str]:
        """The label of the query, alone in a tuple."""
        return (self.query.label,)

    @property
    def layout(self) -> Layout:
        """The first of the query's alternative layouts: see `DrawQuery.layouts`."""
        return self.query.layouts[0]

    @property
    def releases(self) -> int:
        """The number of releases that one unit can change, for which the budget is planned."""
        return self.layouts.spec.compositions

    @property
    def share(self) -> Budget:
        """The query's share of the budget."""
        return share_budget(self.layouts.spec.budget, (self.query,))

    @property
    def share_of_one(self) -> Budget:
        """The part of `share` for one release; all releases have equal parts."""
        return self.share.share(Fraction(1, self.releases))

    def owns(self, name: str) -> bool:
        """True if `name` isn't the query's label, but names a further certificate of the query.

        Always False here, where a query has one certificate, named by its label. Some subclasses
        override this.
        """
        return False
