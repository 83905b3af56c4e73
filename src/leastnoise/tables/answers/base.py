"""The protocols of answers to queries; plan, release and `verify` are loops over answers.

An `Answer` stands for queries of a spec that are answered by the same method. It finds and proves
noise for them: one `Offer` for each draw. From a certificate it reads one `Answered` for each draw.
The `parts` of an `Answered` are the columns that the draw gives to published tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, final

from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.columns import find_wrong, stated_deviations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.certificate.plan import Claim, Claims, PlanCertificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.tables.layout.lay_out import Needs, Parts
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.layout.periods import OpenTotals
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.noise.budget_shares import DrawQuery
    from leastnoise.tables.noise.errors import Wish
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import Ends, NoiseError
    from leastnoise.tables.statistics.registry import ParsedQuery

    Problem = tuple[str, str]
    """The key of the spec that is wrong, and the reason."""
    Columns = Mapping[str, Sequence[Any]]
    """The columns of a published table, by name, with values as read from its file."""

SomeClaim = TypeVar("SomeClaim")
NO_NAMES: Mapping[str, str] = {}
"""No names for readers: each statistic is called by its label."""
KEYS_CHECKED = (
    "Keys that nobody listed come from the data. These keys are distinct, in order and of the "
    "right form."
)
JOIN = "+"
"""The separator of query names in the label of a shared draw. No query's name contains it."""


@final
class Topic(Enum):
    """The subject of a sentence. Plan, report and command line each show some of the topics."""

    DRAW = auto()
    """The queries that share a draw."""
    KEPT = auto()
    """The rounding of counts, and groups that are published only if their noisy counts are high."""
    NOISE = auto()
    """The noise or the chances of a draw, compared with others."""
    DETAIL = auto()
    """Details that a plan shows beside the numbers of one part."""
    WISH = auto()
    """An accuracy that the spec asks for."""
    VALUES = auto()
    """Quantiles: the meaning of their values, of their intervals and of totals."""
    PARTS = auto()
    """Queries that count both persons and rows: each kind of count has noise of its own."""
    GROUPS = auto()
    """Groups that are not published, because of their noisy counts or by chance."""
    SELECTED = auto()
    """The bias that published counts have, or lack, because groups or cells were selected."""
    WHOLE = auto()
    """Counts that are made whole numbers."""
    CHECKED = auto()
    """The checks that `verify` can and can't make of rows whose presence depends on the data."""
    PAGE = auto()
    """Notes for readers of the published table."""


class Sentence(NamedTuple):
    """A text for readers about a draw or a part, with its topic: one sentence, or a few."""

    topic: Topic
    text: str


def texts(sentences: Iterator[Sentence], *topics: Topic) -> list[str]:
    """The texts of the sentences on these topics, in the sentences' order, without duplicates."""
    return list(dict.fromkeys(text for topic, text in sentences if topic in topics))


@final
@dataclass(frozen=True, kw_only=True)
class Listing:
    """A table that a plan shows, with figures about one part.

    `heads` are the headings of the columns, and each of the `rows` has a text for each heading.
    """

    title: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@final
@dataclass(frozen=True, kw_only=True)
class Reads:
    """The layouts of the exact integers that one draw reads.

    Noise is added to these integers or to sums of them, or the probabilities of groups or quantiles
    depend on them. `cells` has the layouts of groups that the spec lists. `groups` has the layouts
    of groups whose keys are read from the data.
    """

    cells: tuple[Layout, ...] = ()
    groups: tuple[Layout, ...] = ()


@final
@dataclass(frozen=True, kw_only=True)
class Totals:
    """The exact integers that a `Reads` describes, as secret as the rows of the source.

    `cells` has an array for each layout in `Reads.cells`. `groups` has a list of rows for each
    layout in `Reads.groups`. Each row has the index of a cell by listed keys, then the unlisted
    keys and the integers of a group. For quantiles, these integers are a candidate's index and the
    candidate's count; candidates without rows of the source may be missing. `drawn` has the tables
    that earlier draws of this release published, by the labels of their parts. `memory` holds the
    running sums of a series with running totals; it is None for other releases.
    """

    cells: list[NDArray[np.int64]] = field(repr=False)
    groups: list[list[tuple[Any, ...]]] = field(repr=False)
    drawn: Mapping[str, Table] = field(default_factory=dict, repr=False)
    memory: OpenTotals | None = field(default=None, repr=False)


class Error(Protocol):
    """The error of a published statistic, as a plan states it."""

    @property
    def statistic(self) -> str:
        """The label of the statistic."""
        ...


@dataclass(frozen=True, kw_only=True)
class TablePart(ABC):
    """The plan, without data, of the columns that one draw gives to a published table.

    `budget` is the part's share of the spec's budget. In a series, it is for all releases together.
    """

    layout: TableShape
    budget: Budget

    section: ClassVar[str]
    """The key of plan.json that lists this part: one of `SECTIONS`."""

    @property
    def name(self) -> str:
        """The name of the table: the query's name, except for tables of sums."""
        return self.layout.name

    @property
    def query(self) -> str:
        """The name of the query."""
        return self.layout.name

    @property
    def label(self) -> str:
        """The name of the part, unique in a release: the query's name, perhaps with a suffix."""
        return self.layout.label

    @property
    def layouts(self) -> tuple[TableShape, ...]:
        """The layouts of the part's columns."""
        return (self.layout,)

    @property
    @abstractmethod
    def chosen_by(self) -> str:
        """The name of the noise, or of the method that chooses values."""

    @property
    def all_errors(self) -> Sequence[Error]:
        """The errors of the published statistics, each for all cells; empty if none is stated."""
        return ()

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """The accuracies that the spec asks for, each beside the plan's accuracy; empty if none."""
        return ()

    @property
    def why_no_difference(self) -> str | None:
        """The reason why two releases of this table can't be subtracted; None if they can.

        Messages put this reason after the query's name.
        """
        return None

    def check_range(self) -> None:  # noqa: B027 (most parts have no such number)
        """Raise Refused if a published number may be out of the range of float64."""

    @abstractmethod
    def list_rows(self, spec: Spec) -> list[tuple[str, str, str]]:
        """Rows of the plan's table: statistic, 95 % half-width, and comparison with plain noise."""

    @abstractmethod
    def listings(self, spec: Spec) -> Iterator[Listing]:
        """Tables that a plan shows, with figures about the part."""

    @abstractmethod
    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """All sentences about this part; `names` maps labels of statistics to names for readers."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The part as JSON values, which follow from spec and certificate."""

    # `verify` uses the members below to check the part's columns in a table. A release uses them,
    # too: before the ledger is charged, it writes and checks a table of zeros.

    @property
    def noisy(self) -> tuple[tuple[Layout, tuple[NoiseError, ...]], ...]:
        """Each layout whose numbers get noise, paired with the error of each number of a cell.

        Empty by default.
        """
        return ()

    @property
    def stated(self) -> Mapping[str, Ends]:
        """The values of columns that follow from the noise alone, such as `_std`, by column.

        A value is one number for all cells, or one number per cell.
        """
        return {
            label: std
            for layout, noise in self.noisy
            for label, std in stated_deviations(layout, noise).items()
        }

    @property
    def may_state(self) -> Mapping[str, float]:
        """Further columns and values as in `stated`; releases by earlier versions may lack them."""
        return {}

    def find_wrong(
        self, columns: Columns, numbers: Mapping[str, list[float]], kind: str
    ) -> str | None:
        """The first fault of the part's columns, as the end of a sentence; None without a fault.

        `columns` are the columns of a file of this `kind`, such as "csv"; `numbers` are these
        columns as floats.
        """
        wrong = (find_wrong(part, columns, numbers, kind) for part in self.noisy)
        return next((why for why in wrong if why is not None), None)

    @abstractmethod
    def with_all_groups(self) -> TablePart:
        """This part without the rules `min_count` and `top`, by which groups are left out."""

    @abstractmethod
    def make_zeros(self) -> list[Table]:
        """The columns that an empty source would give without noise; no row for unlisted groups.

        A release writes and checks them before it charges the ledger.
        """


SECTIONS = ("noisy_parts", "quantiles", "keys")
"""The keys of plan.json that list parts, in order."""


class Answered(Protocol):
    """The plan of one proved draw of noise, and of the queries that it answers.

    Only `draw` sees data.
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels by which certificates name the draw's queries."""
        ...

    @property
    def parts(self) -> tuple[TablePart, ...]:
        """The columns that the draw gives to published tables."""
        ...

    @property
    def split(self) -> Noise | None:
        """The noise that meets the draw's share of the budget by itself, before joint accounting.

        Joint accounting of all draws may allow less noise. None if it didn't, so that the draw has
        exactly the noise for its share.
        """
        ...

    @property
    def is_composed(self) -> bool:
        """True if the draw may be proved private together with other such draws.

        They are proved together if the rule of the release's certificate is `COMPOSED`.
        """
        ...

    @property
    def reads(self) -> Reads:
        """The layouts of the exact integers that the draw reads."""
        ...

    @property
    def stage(self) -> str:
        """The message about progress that a release shows during this draw."""
        ...

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """All sentences about the draw and its parts, for plan, page and command line."""
        ...

    def draw(self, totals: Totals) -> list[Table]:
        """Draw the noise, and return a table for each part. No other method sees data."""
        ...

    def check(self, folder: Path, kind: str) -> None:
        """Raise CertificateRejected if the published numbers of this draw contradict each other.

        `folder` has the tables as files of this `kind`, such as "csv". Each table was checked by
        itself before.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class AloneInDraw(TablePart):
    """A part that has a draw of its own, and so is also the `Answered` of this draw."""

    split: ClassVar[None] = None
    is_composed: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str]:
        """The label of the part, which is the only label."""
        return (self.label,)

    @property
    def parts(self) -> tuple[Self]:
        """The part itself, which is the only part."""
        return (self,)

    @property
    @abstractmethod
    def reads(self) -> Reads:
        """The layouts of the exact integers that the draw reads."""

    @property
    def stage(self) -> str:
        """The message about progress that a release shows during this draw."""
        return f"Choosing the {self.section} of {self.name}"

    @abstractmethod
    def draw(self, totals: Totals) -> list[Table]:
        """Draw noise, or choose by chance; return the part's columns as the only table."""

    def check(self, folder: Path, kind: str) -> None:
        """Accept the table, since the draw has no second table that it could contradict."""


@final
@dataclass(frozen=True, kw_only=True)
class Offer:
    """Noise that was found and proved for one draw.

    Draws are sorted by `index`: the index of the draw's first query, or a larger number for
    quantiles. `claims` are the draw's certificates with their names. `split` is as in `Answered`.
    `known` holds further certificates that the search proved, and that needn't be proved again.
    `purely` finds purely private noise (δ = 0) for the draw. It is called if the plan with `claims`
    can't be proved, and is None if no such noise is searched.
    """

    index: int
    claims: Claims
    split: Noise | None = None
    known: tuple[Certificate, ...] = ()
    purely: Callable[[], Claims] | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
    """The certificate of a release, proved or not, from which answers are read.

    `splits` holds `Answered.split` of each draw, by the labels of the draw's queries. If `splits`
    is None, each split is searched again. `known` holds certificates that were proved before, so
    that nothing is proved twice.
    """

    certificate: PlanCertificate
    splits: Mapping[tuple[str, ...], Noise | None] | None
    known: Sequence[Certificate]


def expect_claim(claim: Claim, kind: type[SomeClaim], why: str) -> SomeClaim:
    """Return the claim if it is of this kind.

    Otherwise raises CertificateRejected with the text `why`.
    """
    if not isinstance(claim, kind):
        raise CertificateRejected(why)
    return claim


class Answer(Protocol):
    """Queries of a spec that are answered by the same method."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels by which certificates name the answer's queries."""
        ...

    @property
    def shares_draws(self) -> bool:
        """True if one draw of noise may serve several of the queries."""
        ...

    def owns(self, name: str) -> bool:
        """True if `name` isn't a query's label, but names another certificate of these queries."""
        ...

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove noise for each draw; `tell` receives messages about progress.

        Raises Refused if no noise is proved.
        """
        ...

    def read(
        self, labels: Sequence[str], claims: Sequence[tuple[str, Claim]], reading: Reading
    ) -> Answered:
        """Read one draw: the queries with these `labels`, with the noise that `claims` state.

        Raises CertificateRejected if a claim states something the spec does not imply.
        """
        ...


class QueryKind(ABC):
    """A kind of query in a spec, with its layout, its answers, and its possible problems.

    It has no state. `kinds` lists all kinds, and finds the kind of a query.
    """

    keys_of_sums: ClassVar[frozenset[str]] = frozenset()
    """The keys in a query's section that ask for these sums of cells: see `Query.keys_of_sums`.

    If all keys of two kinds are given, the kind with more keys answers the query.
    """
    why_no_rho: ClassVar[str] = "its noise isn't Gaussian"
    """The reason why the noise has no exact ρ (zCDP), as the end of a sentence; "" if it has."""
    why_no_clipping: ClassVar[str] = ""
    """The reason why such a query can't have the key `clipping`; "" if it can.

    `clipping` asks for counts of persons over a limit and of values outside bounds.
    """
    why_no_sums: ClassVar[str] = ""
    """The reason why such a query can't ask for tables of sums; "" if another kind allows them."""

    def file_names(self, query: Query) -> list[str]:
        """The names of the tables that a query publishes, and of their files."""
        return [query.name]

    def problems(self, parsed: ParsedQuery, path: str) -> Iterator[Problem]:
        """Problems of a query that asks for this kind; `path` is the query's key in the spec."""
        yield from ()

    @abstractmethod
    def lay_out(self, spec: Spec, query: Query, asked: Needs) -> Parts:
        """The alternative layouts of each part of a query, which differ in how they bound a unit.

        `asked` has the query's statistics by their indices, each with the integers that it needs.
        Raises LayoutError if a part has no layout.
        """

    @abstractmethod
    def list_answers(self, layouts: SpecLayout, queries: Sequence[DrawQuery]) -> Sequence[Answer]:
        """The answers to queries of this kind, without their quantiles (see `list_quantiles`)."""
