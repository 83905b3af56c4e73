"""Queries whose tables are sums of the same cells: margins, cumulative counts, levels of keys.

One draw adds noise to the cells, or to sums of them. The published tables add up.
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
from leastnoise.errors import Refused
from leastnoise.tables.answers.base import Offer, Reads, Sentence, Topic
from leastnoise.tables.answers.noisy import NoisyAnswer, NoisyPart
from leastnoise.tables.answers.single import OfOneQuery
from leastnoise.tables.answers.sums.whole_counts import WHOLE_NOTE, bias_in_words
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.spec.query import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leastnoise.certificate.plan import Claim, Claims
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.answers.base import Reading
    from leastnoise.tables.answers.sums.whole_counts import WholeCounts
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import NoiseError

    Named = Sequence[tuple[str, Claim]]

AGREE = "All tables are sums of one estimate of the cells, and add up exactly."
FOR_THE_LARGEST = (
    f'The noise is chosen to make the largest standard deviation small (objective = "{LARGEST}").'
)


@dataclass(frozen=True, kw_only=True)
class Summed(NoisyAnswer):
    """The tables of one query, which are sums of the same cells, all from one draw.

    `cells` is the layout of the cells, and `budget` the query's share of the spec's budget. If
    several tables have noise, `certificate` is the one with the largest ε. Methods take the `index`
    of a published table.
    """

    cells: Layout
    budget: Budget

    key: ClassVar[str]
    """The key of a query that asks for these tables, and the key of their record in plan.json."""
    may_be_composed: ClassVar[bool] = False
    """True if `find` may find noise that has to be accounted for together with other draws.

    With `pure`, `find` never finds such noise.
    """
    row_name: ClassVar[str] = "rows"
    """The word for a table's rows, in a note that errors differ from row to row."""

    @staticmethod
    def owns(label: str, name: str) -> bool:
        """True if `name` names a certificate of noise in one table of the query with this label.

        False by default: the only certificate is named by the label itself.
        """
        return False

    @classmethod
    @abstractmethod
    def find(cls, cells: Layout, share: Budget, releases: int, *, pure: bool) -> Claims:
        """Find and prove the noise; `share` is the budget of all releases together.

        If `pure`, the noise spends no δ. Raises Refused if no noise is proved.
        """

    @classmethod
    def find_gaussian(cls, cells: Layout, share: Budget, releases: int) -> Claims:
        """Find and prove Gaussian noise for the query's tables, for a budget in ρ.

        Raises Refused if no such noise is proved; the default always raises it.
        """
        raise Refused(
            "Gaussian noise, which a budget in rho needs, isn't available for the tables of the "
            f"query {cells.label!r}. Give epsilon in place of rho."
        )

    @classmethod
    @abstractmethod
    def read(cls, cells: Layout, share: Budget, claims: Named, *, composed: bool = False) -> Self:
        """Read the tables with the noise that `claims` state, proved or not.

        Raises CertificateRejected for a claim that the spec doesn't imply. If `composed`, all draws
        of the release are proved together. Then tables that `may_be_composed` may spend more ε than
        their share.
        """

    @property
    @abstractmethod
    def layouts(self) -> tuple[Layout, ...]:
        """The layout of each table."""

    @property
    @abstractmethod
    def largest_std(self) -> float:
        """The largest standard deviation of a published number."""

    @property
    def whole_counts(self) -> WholeCounts | None:
        """The tree and the bias of whole counts ≥ 0; None unless the spec asks for such counts."""
        return None

    @abstractmethod
    def noise_errors(self, index: int) -> tuple[NoiseError, ...]:
        """The error of each number in a row of a table.

        If the rows have different errors, `NoiseError.rows` has them.
        """

    @abstractmethod
    def moves(self, index: int) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities of the sums in a table, or of the cells if noise is only there.

        Each of them bounds how far one unit can shift these numbers.
        """

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The noise as JSON values, which follow from spec and certificate."""

    @abstractmethod
    def in_words(self) -> list[str]:
        """Sentences about the noise and its standard deviations, for plan and command line."""

    def mark(self, index: int) -> dict[str, Any]:
        """The fields of a table's record in plan.json that may differ from table to table."""
        return {"unlike_rows": self.parts[index].has_unlike_rows}

    def dimension(self, index: int) -> int:
        """The number of sums in all rows of a table; a mean isn't one of them."""
        return self.layouts[index].dimension

    def plain(self, index: int, share: Budget) -> Baselines:
        """Plain noise in one table by itself, at this share of the budget."""
        return Baselines.of((self.layouts[index],), share, self.certificate.compositions)

    @property
    def labels(self) -> tuple[str]:
        """The label by which certificates name the query."""
        return (self.cells.label,)

    @cached_property
    def parts(self) -> tuple[NoisyPart, ...]:
        """A part for each table; the budget is split into equal shares."""
        share = self.budget.share(Fraction(1, len(self.layouts)))
        return tuple(
            SumPart(
                layout=layout,
                budget=share,
                baselines=self.plain(index, share),
                answered=self,
                index=index,
            )
            for index, layout in enumerate(self.layouts)
        )

    @property
    def reads(self) -> Reads:
        """The layout of the cells, from which all exact sums are computed."""
        return Reads(cells=(self.cells,))

    def describe_draw(self) -> Iterator[Sentence]:
        """The sentences of `in_words`, which are about the noise."""
        for text in self.in_words():
            yield Sentence(Topic.NOISE, text)


@final
@dataclass(frozen=True, kw_only=True)
class SumPart(NoisyPart):
    """The columns of one of the tables of sums."""

    answered: Summed

    has_coordinates: ClassVar[bool] = False

    @property
    def query(self) -> str:
        """The name of the query."""
        return self.answered.cells.name

    def _find_errors(self) -> tuple[NoiseError, ...]:
        return self.answered.noise_errors(self.index)

    @property
    def dimension(self) -> int:
        """The number of sums in all rows of the table; a mean isn't one of them."""
        return self.answered.dimension(self.index)

    @property
    def moves(self) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities of the sums in the table: see `Summed.moves`."""
        return self.answered.moves(self.index)

    @property
    def too_high(self) -> float | None:
        """An upper bound on the bias of the table's counts if they are made whole and ≥ 0.

        None unless the spec asks for such counts: see `sums.whole_counts`.
        """
        whole = self.answered.whole_counts
        return None if whole is None else whole.too_high[self.name]

    @property
    def has_unlike_rows(self) -> bool:
        """True if the table's rows have different errors; a plan shows their root mean square."""
        return self.noise_errors[0].rows is not None

    @property
    def which_numbers(self) -> str:
        """The words that say which numbers the list of errors is about, such as "in each cell"."""
        if not self.has_unlike_rows:
            return "in each cell"
        return f"all {self.answered.row_name}: root mean square, largest ±"

    @property
    def own_record(self) -> dict[str, Any]:
        """The field of plan.json about the noise of the query's tables."""
        answered = self.answered
        return {answered.key: {**answered.mark(self.index), **answered.to_record()}}

    def _noise_in_words(self, person: str) -> str:
        tables = _words.list_names(self.group, last="and")
        return (
            f", which is an equal share of the query's budget. The tables {tables} add up: totals "
            "that they share are equal"
        )

    def own_sentences(self) -> Iterator[Sentence]:
        """Sentences about the bias of whole counts, and about `objective = "largest"`."""
        if self.too_high is not None:
            yield Sentence(Topic.DETAIL, bias_in_words({f"the table {self.name}": self.too_high}))
            yield Sentence(Topic.PAGE, bias_in_words({"this table": self.too_high}))
            yield Sentence(Topic.WHOLE, WHOLE_NOTE)
        if self.answered.cells.largest:
            largest = _words.format_for_page(self.answered.largest_std)
            text = (
                f"{FOR_THE_LARGEST} In all tables that add up with this table, the largest is "
                f"{largest}."
            )
            yield Sentence(Topic.PAGE, text)


@final
@dataclass(frozen=True, kw_only=True)
class Sums(OfOneQuery):
    """The answer to a query for tables of sums; `kind` is the class of their plans."""

    kind: type[Summed]

    def owns(self, name: str) -> bool:
        """True if `name` is the name of a certificate of noise in a table of the query."""
        return self.kind.owns(self.label, name)

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the noise of all tables; Gaussian noise if the budget is in ρ.

        Raises Refused if no noise is proved.
        """
        tell(f"Finding and proving the noise of {self.label}")
        if self.layouts.spec.privacy.rho is not None:
            claims = self.kind.find_gaussian(self.layout, self.share, self.releases)
            yield Offer(index=self.query.index, claims=claims)
            return
        find = partial(self.kind.find, self.layout, self.share, self.releases)
        purely = partial(find, pure=True) if self.kind.may_be_composed else None
        yield Offer(index=self.query.index, claims=find(pure=False), purely=purely)

    def read(self, labels: Sequence[str], claims: Named, reading: Reading) -> Summed:
        """Read the tables with the noise that `claims` state.

        Raises CertificateRejected if a claim states something the spec does not imply.
        """
        composed = reading.certificate.rule == COMPOSED
        return self.kind.read(self.layout, self.share, claims, composed=composed)
