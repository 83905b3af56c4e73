"""Tables of counts that add up, with one draw of whole-number noise on a tree of their cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, Refused
from leastnoise.tables.answers.sums.whole_counts import WholeCounts
from leastnoise.tables.noise.trees import find_tree, measure_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.certificate.plan import Block, Blocks
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise import Agreeing
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import NoiseError
    from leastnoise.workloads.base import Workload
    from leastnoise.workloads.tree import TreeStrategy
    from leastnoise.workloads.tree_search import Trees


@dataclass(frozen=True, kw_only=True)
class TreeSums(ABC):
    """The tables of a query, which are sums of the same counts, and their noise.

    `cells` is the layout of the counts in all groups. `noise` is of one group's tree; `claim` is
    about the noise of all groups.
    """

    cells: Layout
    budget: Budget
    claim: Certificate
    noise: Agreeing

    key: ClassVar[str]
    """The key of the spec that asks for these tables."""
    called: ClassVar[str]
    """The name of the tables, in the plural."""
    summed: ClassVar[str]
    """The name of the numbers of a table of sums."""

    @staticmethod
    @abstractmethod
    def trees(cells: Layout) -> Trees:
        """The trees that the noise may be drawn on."""

    @property
    @abstractmethod
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of the tables, the counts themselves first."""

    @property
    @abstractmethod
    def workload(self) -> Workload:
        """The tables as sums of the counts."""

    @property
    @abstractmethod
    def strategy(self) -> TreeStrategy:
        """The noise, with the tables as sums of the cells of its tree."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[tuple[str | None, NDArray[np.int64]]]:
        """Each level down which whole counts are found: the number of the node of each count.

        With the name of the table that has these nodes, if one is published.
        """

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the levels, the highest first, if levels have columns."""
        return ()

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The noise as JSON values, all of which a certificate can confirm."""

    @abstractmethod
    def in_words(self) -> list[str]:
        """The noise and what it is worth, in sentences."""

    @classmethod
    def of(cls, cells: Layout, budget: Budget, claims: Sequence[tuple[str, Block]]) -> Self:
        """The tables that are released as `claims` say, which are proved or not.

        Raises CertificateRejected unless they are one draw for these tables, with their budget.
        """
        where, claim = f"Query {cells.label!r}", claims[0][1]
        if len(claims) != 1 or not isinstance(claim, Certificate):
            raise CertificateRejected(f"{where}: its counts have one draw of noise.")
        noise = cls.trees(cells).read(claim, budget)
        tables = cls(cells=cells, budget=budget, claim=claim, noise=noise)
        strategy = tables.strategy
        if not all(strategy.variance(table).all() for table in range(len(strategy.tables))):
            raise CertificateRejected(f"{where}: its noise is 0 as a float.")  # a _std says none
        return tables

    @classmethod
    def find(cls, cells: Layout, budget: Budget, releases: int) -> Blocks:
        """The noise of the counts, proved, by its name in a certificate.

        Each release has an equal part of ε, and δ is left unspent. Raises Refused if there is none.
        """
        label = cells.label
        if not budget.epsilon:
            raise Refused(f"The query {label!r}: {cls.called} need epsilon > 0.")

        def read(claim: Certificate) -> object:
            return cls.of(cells, budget, [(label, claim)]).errors

        try:
            return ((label, find_tree(cls.trees(cells), budget, releases, read)),)
        except CertificateRejected as error:
            advice = f"Give a smaller epsilon, or leave {cls.key} out."
            raise Refused(f"{error} {advice}") from None

    @cached_property
    def errors(self) -> tuple[NoiseError, ...]:
        """The errors of each table, and of each row where they are unlike."""
        strategy = self.strategy
        tables = range(len(strategy.tables))
        return tuple(
            measure_table(strategy, table, groups=strategy.repeats(table)) for table in tables
        )

    @property
    def largest_std(self) -> float:
        """The largest standard deviation of a number."""
        return max(max(error.rows.std) if error.rows else error.std for error in self.errors)

    @cached_property
    def whole_counts(self) -> WholeCounts | None:
        """How whole counts, none below 0, follow from the noisy ones, if the spec asks for them."""
        if not self.cells.projected:
            return None
        names, tree = zip(*self.nodes, strict=True)
        too_high = {at.name: self.strategy.too_high(i) for i, at in enumerate(self.layouts)}
        return WholeCounts(tree=tree, names=names, too_high=too_high, columns=self.columns)
