"""Queries whose tables are sums of the same cells: margins, cumulative counts, levels of keys.

One draw has noise for the cells, or for sums of them, and all tables add up.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

from leastnoise import _words
from leastnoise.certificate.plan import COMPOSED
from leastnoise.tables.answers.base import Offer, Reads, Sentence, Topic
from leastnoise.tables.answers.noisy import BlockPlan, NoisyAnswer
from leastnoise.tables.answers.single import OfOneQuery
from leastnoise.tables.answers.sums import publish_sums as summed
from leastnoise.tables.answers.sums.cumulative import Cumulative
from leastnoise.tables.answers.sums.levels import Levels
from leastnoise.tables.answers.sums.margin_queries import (
    layouts_read,
    measured_layout,
    table_layout,
    table_sensitivities,
)
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.answers.sums.measured import FOR_THE_LARGEST, find_measured
from leastnoise.tables.answers.sums.nested import NestedMargins, find_nested
from leastnoise.tables.answers.sums.nested_queries import table_sensitivity
from leastnoise.tables.answers.sums.publish_nested import check_nested, publish_nested
from leastnoise.tables.answers.sums.trees import TreeSums
from leastnoise.tables.answers.sums.whole_counts import WHOLE_NOTE, bias_in_words
from leastnoise.tables.noise.baselines import Baselines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leastnoise.certificate.plan import Block as Claim
    from leastnoise.certificate.plan import Blocks as Claims
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Reading, Totals
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.statistics.base import NoiseError

    Named = Sequence[tuple[str, Claim]]


@dataclass(frozen=True, kw_only=True)
class Summed(NoisyAnswer):
    """The tables of one query, all from the same draw."""

    whole: Margins | TreeSums | NestedMargins
    """The noise, and the errors in each table."""
    may_be_composed: ClassVar[bool] = False
    """True if its noise may be proved together with other draws, or without them."""

    @staticmethod
    def owns(label: str, name: str) -> bool:
        """True if a certificate of that name is about noise in a table of the query."""
        return False

    @staticmethod
    @abstractmethod
    def find(cells: Layout, share: Budget, releases: int, *, pure: bool) -> Claims:
        """The noise, proved. Raises Refused if there is none."""

    @classmethod
    @abstractmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool) -> Self:
        """The tables that are released as `claims` say; rejects any other statement."""

    @property
    @abstractmethod
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each table."""

    def plain(self, place: int, share: Budget) -> Baselines:
        """Plain noise in one table, with a share of the budget."""
        return Baselines.of((self.layouts[place],), share, self.certificate.compositions)

    @property
    def labels(self) -> tuple[str]:
        """The label of the query in certificates."""
        return (self.whole.cells.label,)

    @cached_property
    def parts(self) -> tuple[BlockPlan, ...]:
        """A part for each table, with an equal share of the budget."""
        share = self.whole.budget.share(Fraction(1, len(self.layouts)))
        return tuple(
            SumPart(
                layout=layout,
                budget=share,
                baselines=self.plain(place, share),
                answered=self,
                place=place,
            )
            for place, layout in enumerate(self.layouts)
        )

    @property
    def reads(self) -> Reads:
        """The cells."""
        return Reads(cells=(self.whole.cells,))

    def describe_draw(self) -> Iterator[Sentence]:
        """The noise, and how it compares with other ways to make these tables."""
        for text in self.whole.in_words():
            yield Sentence(Topic.NOISE, text)

    # Of one table, by its place.

    @abstractmethod
    def noise_errors(self, place: int) -> tuple[NoiseError, ...]:
        """The error of each number of a cell."""

    @abstractmethod
    def moves(self, place: int) -> tuple[Sensitivity, ...]:
        """Sets that each hold every shift of the table's coordinates by one unit."""

    @abstractmethod
    def table_record(self, place: int) -> dict[str, Any]:
        """The record of the noise in plan.json."""

    def dimension(self, place: int) -> int:
        """The number of coordinates of the table."""
        return self.layouts[place].dimension

    def unlike_rows(self, place: int) -> str:
        """The name of the rows of the table if their errors differ; else ""."""
        return ""


@final
@dataclass(frozen=True, kw_only=True)
class SumPart(BlockPlan):
    """One of the tables that add up."""

    answered: Summed

    has_coordinates: ClassVar[bool] = False

    @property
    def query(self) -> str:
        """The name of the query."""
        return self.answered.whole.cells.name

    def _find_errors(self) -> tuple[NoiseError, ...]:
        return self.answered.noise_errors(self.place)

    @property
    def dimension(self) -> int:
        """The number of coordinates that noise is added to."""
        return self.answered.dimension(self.place)

    @property
    def moves(self) -> tuple[Sensitivity, ...]:
        """Sets that each hold every shift of these coordinates by one unit."""
        return self.answered.moves(self.place)

    @property
    def too_high(self) -> float | None:
        """The largest bias of its whole counts: see `summed.whole_counts`."""
        whole = self.answered.whole.whole_counts
        return None if whole is None else whole.too_high[self.name]

    @property
    def has_unlike_rows(self) -> bool:
        """True if rows of the table have unlike errors, of which the root mean square is shown."""
        return bool(self.answered.unlike_rows(self.place))

    @property
    def which_numbers(self) -> str:
        """The head of the list of errors."""
        rows = self.answered.unlike_rows(self.place)
        return f"of all {rows}: root mean square, largest ±" if rows else "in each cell"

    @property
    def own_record(self) -> dict[str, Any]:
        """The record of the noise in plan.json."""
        return self.answered.table_record(self.place)

    def _noise_in_words(self, person: str) -> str:
        others = [label for label in self.group if label != self.label]
        return f", together with {_words.list_names(others)}, with which it adds up"

    def own_sentences(self) -> Iterator[Sentence]:
        """The bias of whole counts, and the largest standard deviation if that is the objective."""
        if self.too_high is not None:
            yield Sentence(Topic.DETAIL, bias_in_words({self.name: self.too_high}))
            yield Sentence(Topic.PAGE, bias_in_words({"this table": self.too_high}))
            yield Sentence(Topic.WHOLE, WHOLE_NOTE)
        whole = self.answered.whole
        if whole.cells.largest:
            largest, of = (
                _words.format_for_page(whole.largest_std),
                "of all tables that add up with it",
            )
            yield Sentence(Topic.PAGE, f"{FOR_THE_LARGEST} It is {largest}, {of}.")


@final
@dataclass(frozen=True, kw_only=True)
class Sums(OfOneQuery):
    """A query whose tables are of one `kind`."""

    kind: type[Summed]

    def owns(self, name: str) -> bool:
        """True if a certificate of that name is about noise in one of its tables."""
        return self.kind.owns(self.label, name)

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the noise of all its tables."""
        tell(f"Finding and proving the noise of {self.label}")
        find = partial(self.kind.find, self.layout, self.share, self.releases)
        purely = partial(find, pure=True) if self.kind.may_be_composed else None
        yield Offer(index=self.block.index, claims=find(pure=False), purely=purely)

    def read(self, labels: Sequence[str], claims: Named, reading: Reading) -> Summed:
        """Its tables, released as `claims` say; rejects any other statement."""
        composed = reading.certificate.rule == COMPOSED
        return self.kind.read(self.layout, self.share, claims, composed=composed)


@dataclass(frozen=True, kw_only=True)
class OfMeasuredTables(Summed):
    """Tables that are sums of one estimate, from noise in some measured tables."""

    whole: Margins | NestedMargins

    may_be_composed: ClassVar[bool] = True
    kind: ClassVar[type[Margins | NestedMargins]]

    @staticmethod
    def owns(label: str, name: str) -> bool:
        """Certificates name the query and the columns of a measured table, such as `q.1x3`."""
        return name.rpartition(".")[0] == label

    @classmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool) -> Self:
        """The tables, with the certificate that takes most of the budget."""
        whole = cls.kind.of(cells, share, claims, composed=composed)
        most = max(whole.measured.values(), key=lambda claim: claim.budget.epsilon)
        return cls(certificate=most, whole=whole)


@final
@dataclass(frozen=True, kw_only=True)
class MarginTables(OfMeasuredTables):
    """The cells and their totals: see `answers.sums.margins`."""

    whole: Margins

    kind: ClassVar[type[Margins | NestedMargins]] = Margins

    @staticmethod
    def find(cells: Layout, share: Budget, releases: int, *, pure: bool) -> Claims:
        """The noise of each measured table."""
        return find_measured(measured_layout(cells), share, pure=pure, releases=releases)

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each published table."""
        return tuple(table_layout(self.whole.cells, table) for table in self._tables)

    @property
    def _tables(self) -> tuple[int, ...]:
        return self.whole.cells.margins

    def plain(self, place: int, share: Budget) -> Baselines:
        """Plain noise in the measured numbers of one table."""
        drawn = table_layout(self.whole.drawn, self._tables[place])
        return Baselines.of((drawn,), share, self.certificate.compositions)

    def noise_errors(self, place: int) -> tuple[NoiseError, ...]:
        """The error of each number of a cell."""
        return self.whole.errors(self._tables[place])

    def dimension(self, place: int) -> int:
        """The number of measured numbers of the table."""
        return table_layout(self.whole.drawn, self._tables[place]).dimension

    def moves(self, place: int) -> tuple[Sensitivity, ...]:
        """Sets that each hold every shift of the measured numbers by one unit."""
        return table_sensitivities(self.whole.drawn, self._tables[place])

    def table_record(self, place: int) -> dict[str, Any]:
        """The record of the noise in plan.json."""
        return {"margins": self.whole.to_record()}

    @property
    def reads(self) -> Reads:
        """The measured numbers of cells or of listed tables, and the total if it is public."""
        # the total is of all rows, whatever cell is found for them
        total = (table_layout(self.whole.drawn, 0),) if self.whole.total_is_known else ()
        return Reads(cells=(*layouts_read(self.whole.cells), *total))

    def draw(self, totals: Totals) -> list[Table]:
        """The published tables."""
        if not self.whole.total_is_known:
            return summed.publish_margins(self.whole, self.parts, *totals.cells)
        *exact, rows = totals.cells
        total = int(rows[0]) >> self.whole.drawn.bits
        return summed.publish_margins(self.whole, self.parts, *exact, total=total)

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless all tables add up."""
        summed.check_sums(self.whole, folder, self.parts, kind)


@dataclass(frozen=True, kw_only=True)
class OnATree(Summed):
    """Tables of counts with whole noise on a tree of their cells."""

    whole: TreeSums

    kind: ClassVar[type[TreeSums]]

    @classmethod
    def find(cls, cells: Layout, share: Budget, releases: int, *, pure: bool) -> Claims:
        """The noise of the counts."""
        return cls.kind.find(cells, share, releases)

    @classmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool) -> Self:
        """The tables that are released as `claims` say."""
        whole = cls.kind.of(cells, share, claims)
        return cls(certificate=whole.claim, whole=whole)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each table."""
        return self.whole.layouts

    def noise_errors(self, place: int) -> tuple[NoiseError]:
        """The error of the count of a cell."""
        return (self.whole.errors[place],)

    def moves(self, place: int) -> tuple[Sensitivity]:
        """The shifts of all cells by one unit."""
        return (self.certificate.sensitivity,)

    def draw(self, totals: Totals) -> list[Table]:
        """All tables."""
        return summed.publish_on_tree(self.whole, self.parts, *totals.cells)

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless all tables are sums of whole counts."""
        summed.check_on_tree(self.whole, folder, self.parts, kind)


@final
@dataclass(frozen=True, kw_only=True)
class RunningSums(OnATree):
    """Bins, and their running sums: see `answers.sums.cumulative`."""

    whole: Cumulative

    kind: ClassVar[type[TreeSums]] = Cumulative

    def plain(self, place: int, share: Budget) -> Baselines:
        """Plain noise in the bins, summed, with the share of both tables."""
        releases, times = self.certificate.compositions, self.whole.plain_growth(place)
        return Baselines.of((self.layouts[place],), self.whole.budget, releases, summed=times)

    def table_record(self, place: int) -> dict[str, Any]:
        """The record of the noise in plan.json, and the place of the table."""
        return {"cumulative": {"sums": bool(place % 2), **self.whole.to_record()}}

    def unlike_rows(self, place: int) -> str:
        """The edges of running sums."""
        return "edges" if place % 2 else ""


@final
@dataclass(frozen=True, kw_only=True)
class LevelTables(OnATree):
    """Keys, and the levels above them: see `answers.sums.levels`."""

    whole: Levels

    kind: ClassVar[type[TreeSums]] = Levels

    def table_record(self, place: int) -> dict[str, Any]:
        """The record of the noise in plan.json, with a mark if the errors of rows differ."""
        unlike = bool(self.unlike_rows(place))
        return {"levels": {"unlike_rows": unlike, **self.whole.to_record()}}

    def unlike_rows(self, place: int) -> str:
        """Rows, if nodes of the table's level are unlike."""
        return "" if self.whole.errors[place].rows is None else "rows"


@final
@dataclass(frozen=True, kw_only=True)
class NestedTables(OfMeasuredTables):
    """Keys, their levels and other columns, with totals: see `answers.sums.nested`."""

    whole: NestedMargins

    kind: ClassVar[type[Margins | NestedMargins]] = NestedMargins

    @staticmethod
    def find(cells: Layout, share: Budget, releases: int, *, pure: bool) -> Claims:
        """The noise of each measured table."""
        return find_nested(cells, share, pure=pure, releases=releases)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each published table."""
        return self.whole.layouts

    def noise_errors(self, place: int) -> tuple[NoiseError]:
        """The error of the count of a cell."""
        return (self.whole.errors[place],)

    def moves(self, place: int) -> tuple[Sensitivity]:
        """The shifts of the numbers by one unit."""
        return (table_sensitivity(self.whole.cells, self.whole.nested.tables[place]),)

    def table_record(self, place: int) -> dict[str, Any]:
        """The record of the noise in plan.json, with a mark if the errors of rows differ."""
        unlike = bool(self.unlike_rows(place))
        return {"margins": {"unlike_rows": unlike, **self.whole.to_record()}}

    def unlike_rows(self, place: int) -> str:
        """Rows, if nodes of the table's level are unlike."""
        return "" if self.whole.errors[place].rows is None else "rows"

    def draw(self, totals: Totals) -> list[Table]:
        """The published tables."""
        return publish_nested(self.whole, self.parts, *totals.cells)

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected unless all tables add up."""
        check_nested(self.whole, folder, self.parts, kind)
