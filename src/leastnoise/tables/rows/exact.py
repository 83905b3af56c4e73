"""The exact integers of one release: all of them of the same rows, and with the same salt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, final

from leastnoise.entropy.source import SystemEntropy
from leastnoise.tables.rows import bounding, source, unlisted

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.rows.source import Source
    from leastnoise.tables.spec.model import Spec


@final
@dataclass(frozen=True, kw_only=True)
class ExactTotals:
    """What each draw of noise of a release hides; `tell` is told which is read."""

    found: Source
    spec: Spec
    salt: str = field(repr=False)
    tell: Callable[[str], object]

    @classmethod
    def of(cls, found: Source, spec: Spec, *, tell: Callable[[str], object]) -> Self:
        """Return those of a new release, with a fresh salt."""
        return cls(found=found, spec=spec, salt=bounding.new_salt(SystemEntropy()), tell=tell)

    def vector(self, layout: Layout) -> NDArray[np.int64]:
        """Return a block's exact integers, before noise."""
        self.tell(f"Reading and bounding for {layout.name}")
        with source.open_engine(self.found) as engine:
            return bounding.query_vector(engine, self.spec, layout, salt=self.salt)

    def groups(self, layout: Layout) -> list[tuple[Any, ...]]:
        """Return the totals of groups that nobody listed; no stage tells their number."""
        self.tell(f"Reading and bounding for {layout.name}")
        with source.open_engine(self.found) as engine:
            return unlisted.group_totals(engine, self.spec, layout, salt=self.salt)
