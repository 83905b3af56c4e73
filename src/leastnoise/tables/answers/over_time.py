"""The protocol of an answer to a query with running totals, over the releases of a series."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leastnoise.tables.answers.base import Reads, TablePart
    from leastnoise.tables.layout.periods import RunningSums
    from leastnoise.tables.results.table import Table


class OverTime(ABC):
    """An answer to a query with running totals: one draw of noise for a whole series.

    The noise is on a tree whose leaves are the releases; a restart of the series begins another
    tree. Each release publishes its part of the noisy counts, and passes its `RunningSums` to the
    next release.
    """

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The labels by which certificates name the answer's queries."""

    @property
    @abstractmethod
    def parts(self) -> tuple[TablePart, ...]:
        """The columns that the draw gives to published tables."""

    @property
    @abstractmethod
    def reads(self) -> Reads:
        """The layouts of the exact integers that the draw reads."""

    @abstractmethod
    def start(self) -> RunningSums:
        """The running sums before the first release of a tree."""

    @abstractmethod
    def publish(self, sums: RunningSums) -> list[Table]:
        """The published table of each part for one release, given the release's running sums."""

    @abstractmethod
    def publish_range(self, first: int, last: int, counts: Sequence[int]) -> Table:
        """The table of sums over the releases from `first` to `last`, all of one tree.

        `counts` has, for each cell, the sum of the counts that these releases published. Raises
        NotApplicable or InvalidArgument if no 95 % interval is known.
        """

    @abstractmethod
    def read_numbers(self, folder: Path, kind: str) -> tuple[list[int], list[int]]:
        """Read the counts and the running totals from the tables of a folder, files of this `kind`.

        Raises CertificateRejected unless all are whole numbers.
        """
