"""The limits on one person's contribution, to a whole release or to one query."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from leastnoise.tables.spec.section import Section, key
from leastnoise.tables.spec.values import Positive, RowLimit

if TYPE_CHECKING:
    from fractions import Fraction


@final
class Contribution(Section):
    """The limits on the contribution of one person; all that are given hold.

    They limit a person's rows, the person's groups in one query, and the person's rows in each
    group; or the l1 or l2 norm of the person's additions to a query.
    """

    max_rows: RowLimit | None = key("the most rows of one person", "max_rows = 5", default=None)
    max_groups: RowLimit | None = key(
        "the most groups of a query in which one person counts", "max_groups = 2", default=None
    )
    max_rows_per_group: RowLimit | None = key(
        "the most rows of one person in one group", "max_rows_per_group = 1", default=None
    )
    l1: Positive | None = key(
        "the largest l1 norm of one person's contribution to a query", "l1 = 3", default=None
    )
    l2: Positive | None = key(
        "the largest l2 norm of one person's contribution to a query", "l2 = 3", default=None
    )

    @property
    def given(self) -> dict[str, int | Fraction]:
        """The limits that are given, by name."""
        return {name: most for name, most in self if most is not None}

    @property
    def counted(self) -> dict[str, int]:
        """The limits on rows and groups, which don't depend on the values that are summed."""
        names = ("max_rows", "max_groups", "max_rows_per_group")
        return {name: most for name in names if (most := getattr(self, name)) is not None}
