"""Tables of counts that add up, with one draw of whole-number noise on trees of cells."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, Refused
from leastnoise.tables.answers.sums.answer import Summed
from leastnoise.tables.answers.sums.publish_sums import check_on_tree, publish_on_tree
from leastnoise.tables.answers.sums.whole_counts import WholeCounts
from leastnoise.tables.noise.trees import find_tree, measure_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Claims
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.noise import Agreeing
    from leastnoise.tables.answers.base import Totals
    from leastnoise.tables.answers.sums.answer import Named
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.statistics.base import NoiseError
    from leastnoise.workloads.base import Workload
    from leastnoise.workloads.tree import TreeStrategy
    from leastnoise.workloads.tree_search import Trees


@dataclass(frozen=True, kw_only=True)
class OnATree(Summed):
    """Tables with whole-number noise on trees of counts, one tree for each group of cells.

    `cells` is the layout of the counts in all groups. `noise` describes the tree of one group;
    `certificate` is about all groups.
    """

    noise: Agreeing

    called: ClassVar[str]
    """The name of the tables in messages, in the plural."""
    summed: ClassVar[str]
    """The word for a table of sums, used in messages."""
    advice: ClassVar[str] = ""
    """The next step for the user if the noise can't be used; "" for the usual advice."""

    @staticmethod
    @abstractmethod
    def trees(cells: Layout) -> Trees:
        """The candidate trees, of which the search for the noise chooses one for all groups."""

    @property
    @abstractmethod
    def strategy(self) -> TreeStrategy:
        """The noise of all groups' trees, with the published tables as sums of its cells."""

    @classmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool = False) -> Self:
        """Read the tables with the noise that `claims` state: one draw, with the share's whole ε.

        Raises CertificateRejected if a claim states something the spec does not imply, or if the
        variance of the noise is 0 as a float.
        """
        where, claim = f"Query {cells.label!r}", claims[0][1]
        if len(claims) != 1 or not isinstance(claim, Certificate):
            raise CertificateRejected(
                f"{where}: the certificate must state one draw of noise for all counts of the "
                "query "
                "together."
            )
        noise = cls.trees(cells).read(claim, share)
        tables = cls(cells=cells, budget=share, certificate=claim, noise=noise)
        strategy = tables.strategy
        if not all(strategy.variance(table).all() for table in range(len(strategy.tables))):
            raise CertificateRejected(
                f"{where}: the noise is so small that it is computed as 0."
            )  # otherwise `_std` would be 0
        return tables

    @classmethod
    def find(cls, cells: Layout, share: Budget, releases: int, *, pure: bool = True) -> Claims:
        """Find and prove the noise; return one pair of the query's label and a certificate.

        Each release has an equal part of ε. δ is left unspent, so that `pure` has no effect. Raises
        Refused if no noise is proved.
        """
        label = cells.label
        if not share.epsilon:
            raise Refused(f"The query {label!r}: {cls.called} need epsilon > 0.")

        def read(claim: Certificate) -> object:
            return cls.read(cells, share, [(label, claim)]).errors

        try:
            return ((label, find_tree(cls.trees(cells), share, releases, read)),)
        except CertificateRejected as error:
            advice = cls.advice or f"Give a smaller epsilon, or leave {cls.key} out."
            raise Refused(f"{error} {advice}") from None

    @cached_property
    def errors(self) -> tuple[NoiseError, ...]:
        """The error of each table's numbers.

        If the rows of a table differ, `NoiseError.rows` has the figures of each row.
        """
        strategy = self.strategy
        tables = range(len(strategy.tables))
        return tuple(
            measure_table(strategy, table, groups=strategy.count_groups(table)) for table in tables
        )

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a published number."""
        return max(max(error.rows.std) if error.rows else error.std for error in self.errors)

    def noise_errors(self, index: int) -> tuple[NoiseError]:
        """The error of the only number in a row of a table."""
        return (self.errors[index],)

    def moves(self, index: int) -> tuple[Sensitivity]:
        """The sensitivity of the cells, the same for every table."""
        return (self.certificate.sensitivity,)


@dataclass(frozen=True, kw_only=True)
class TreeSums(OnATree):
    """The tables of a query, all published at once: sums of counts with noise from one draw."""

    @property
    @abstractmethod
    def workload(self) -> Workload:
        """The published tables as sums of the counts in cells."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[tuple[str | None, NDArray[np.int64]]]:
        """For each level of the tree of whole counts: the name of its table, and each cell's node.

        The nodes of a level are the rows of its table. The name is None if no such table is
        published. The array has, for each cell, the index of the node that contains it.
        """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the levels' columns, the highest first; empty if levels have no columns."""
        return ()

    @cached_property
    def whole_counts(self) -> WholeCounts | None:
        """The tree and the bias of whole counts ≥ 0; None unless the spec asks for such counts."""
        if not self.cells.projected:
            return None
        names, tree = zip(*self.nodes, strict=True)
        too_high = {at.name: self.strategy.too_high(i) for i, at in enumerate(self.layouts)}
        return WholeCounts(tree=tree, names=names, too_high=too_high, columns=self.columns)

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise, and return all tables."""
        return publish_on_tree(self, self.parts, *totals.cells)

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless the tables pass `check_on_tree`."""
        check_on_tree(self, folder, self.parts, kind)
