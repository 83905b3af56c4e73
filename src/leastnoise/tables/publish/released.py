"""What a release has made: tables that are safe to publish."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise._notebooks import Shown

if TYPE_CHECKING:
    from leastnoise._notebooks import Columns
    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.query.results import Table


@final
@dataclass(frozen=True, kw_only=True)
class ReleasedTables(Shown):
    """Tables that are safe to publish, by name, and the certificate that says why.

    `path` is the directory that holds them, if the spec has an output, and `entry` the number of
    the ledger's entry that was charged for them, if the spec has a ledger. Of a series `place` is
    which of its releases it is, from 1 on. Each table becomes a frame by its own `to_pandas`,
    `to_polars` or `to_arrow`.
    """

    tables: dict[str, Table]
    certificate: PlanCertificate
    plan: Plan
    path: Path | None
    entry: int | None = None
    place: int | None = None

    def __repr__(self) -> str:
        budget = self.certificate.budget
        said = f"{_words.private(budget.epsilon, budget.delta)} for each {self.plan.person}"
        tables = _words.counted(len(self.tables), "table")
        if self.place is not None:
            tables += f", {_words.one_of(self.place, self.plan.releases)}, together"
        return _words.line("ReleasedTables", f"{tables}, {said}: {_words.listed(self.tables)}")

    def __str__(self) -> str:
        """Return the tables as text, one below the other."""
        return "\n\n".join([repr(self), *map(str, self.tables.values())])

    def _tables(self) -> dict[str, Columns]:
        return {name: table.columns for name, table in self.tables.items()}
