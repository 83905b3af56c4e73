"""Answers to queries for quantiles, and the plan of quantiles that are chosen by chance.

A quantile is one of the column's candidates. It is chosen by chance, or read off noisy counts.
Chance chooses among parts of candidates: each candidate is cut into the same number of parts.

notation: a draw of rate λ chooses among B parts, and the chosen part is s rows off the true rank.
Then P(s > ln(B/β)/λ) <= β, since some part is 0 rows off, and any other part has to beat it
(theory/release.md §10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.tables.answers.base import Offer, Sentence, Topic, expect_claim
from leastnoise.tables.answers.quantiles.by_tree import NEAREST
from leastnoise.tables.answers.quantiles.plan import Asking, QuantilePlan
from leastnoise.tables.answers.quantiles.publish import publish_by_chance, publish_in_groups
from leastnoise.tables.layout.layout import MAX_ROWS, share_parts
from leastnoise.tables.spec.query import FLIP
from leastnoise.tables.statistics.quantiles import ROWS_95
from leastnoise.workloads.ranks import MISSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Reading, Totals
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.results.table import Table

_CHOSEN = (
    "A quantile{which} has no added noise and no interval of values. Its error is bounded in rows "
    "only, because the distance between the values of two rows depends on the data."
)
_MOST_PARTS = 4096
"""The most parts of all candidates together.

Parts break ties in nested draws. More parts would only make errors larger.
"""


@final
@dataclass(frozen=True, kw_only=True)
class ByChance(QuantilePlan):
    """Quantiles that are chosen by permute-and-flip; the certificate is about one release.

    `beside_trees` is True if the same release has quantiles by a tree.
    """

    certificate: QuantileCertificate
    beside_trees: bool = False

    chosen_by: ClassVar[str] = FLIP
    how: ClassVar[str] = "permute-and-flip"

    @staticmethod
    def find(layout: QuantileLayout, share: Budget, releases: int) -> QuantileCertificate:
        """The certificate of the choices of all quantiles, which follows from the spec alone."""
        return _claim(layout, share.epsilon / releases)

    @classmethod
    def read(cls, asked: Asking, claim: Claim) -> ByChance:
        """Read the quantiles. Reject any certificate that differs from the result of `find`."""
        layout, releases = asked.layout, asked.releases
        why = (
            f"Query {layout.label!r}: expected a certificate of the random choice of its quantiles."
        )
        claim = expect_claim(claim, QuantileCertificate, why)
        if claim != cls.find(layout, asked.share, releases):
            raise CertificateRejected("The quantiles are not chosen as the spec implies.")
        whole = replace(claim.budget, epsilon=releases * claim.budget.epsilon)
        return cls(layout=layout, budget=whole, certificate=claim, beside_trees=asked.beside_trees)

    def rows_off(self, index: int) -> float:
        """A bound, with probability 95 %, on the error in rows of the quantile at `index`."""
        claim = self.certificate
        path = list(_path(claim, index))
        missed = MISSED / len(path)
        parts = claim.candidates * claim.parts
        return sum(math.log(parts / missed) / float(claim.rates[draw]) for draw in path)

    def describe_draw(self) -> list[str]:
        """Sentences about the candidates, and about the rounds in which quantiles are chosen."""
        claim, count = self.certificate, len(self.layout.statistics)
        if not claim.nested:
            return [NEAREST]
        depths = 1 + max(choice.depth for choice in claim.choices)
        column = self.layout.candidates.column
        rounds = f"The {count} quantiles of {column} are chosen in {depths} rounds"
        return [NEAREST, f"{rounds}, each between quantiles of the rounds before."]

    def describe_values(self) -> Iterator[Sentence]:
        """A sentence that explains why a quantile has no interval of values."""
        which = " that is chosen by chance" if self.beside_trees else ""
        yield Sentence(Topic.VALUES, _CHOSEN.format(which=which))

    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        return (
            f"No noise is added to a quantile: it is chosen by chance among "
            f"{self.layout.candidates.cells:,} {self._ends_on_page}, most likely a candidate near "
            f"the true rank. With 95 % its error in rows of its group is at most: {rows}. No "
            "interval of values exists."
        )

    def own_record(self) -> dict[str, Any]:
        """The fields `parts` (how many a candidate has) and `nested` (choices in rounds)."""
        return {"parts": self.certificate.parts, "nested": self.certificate.nested}

    @property
    def may_state(self) -> Mapping[str, float]:
        """The error of each quantile in rows, by the column that publishes it."""
        return {f"{error.statistic}{ROWS_95}": error.rows_95 for error in self.errors}

    def draw(self, totals: Totals) -> list[Table]:
        """Choose the quantiles of each group, with fresh randomness for each choice.

        Unlisted groups are the groups of the query's other part, which was drawn before.
        """
        layout, claim, stated = self.layout, self.certificate, self.may_state
        if not layout.unlisted:
            return [publish_by_chance(layout, claim, *totals.cells, stated=stated)]
        published = totals.drawn[layout.name]
        return [publish_in_groups(layout, claim, *totals.groups, published, stated=stated)]


@final
@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """The answer to the quantiles of one column in a query.

    `kind` is the class of their plans, which chooses them by chance or reads them off a tree.
    `index` is the index of their draw in the release. `beside_trees` is True if the same release
    has quantiles by a tree.
    """

    index: int
    layout: QuantileLayout
    share: Budget
    releases: int
    kind: type[QuantilePlan]
    beside_trees: bool

    shares_draws: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str]:
        """The label by which certificates name the quantiles."""
        return (self.layout.label,)

    def owns(self, name: str) -> bool:
        """False: the only certificate is named by the label of the quantiles."""
        return False

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the noise on a tree, or the rates of the random choices.

        Raises Refused if no certificate is possible, such as with ε = 0 or too many levels.
        """
        try:
            claim = self.kind.find(self.layout, self.share, self.releases)
        except (InvalidArgument, NotApplicable) as error:
            raise Refused(f"The query {self.layout.label!r}: {error}") from None
        yield Offer(index=self.index, claims=((self.layout.label, claim),))

    def read(
        self,
        labels: Sequence[str],
        claims: Sequence[tuple[str, Claim]],
        reading: Reading,
    ) -> QuantilePlan:
        """The plan of the quantiles, read from their certificate.

        Raises CertificateRejected if the certificate states something the spec does not imply.
        """
        ((_, claim),) = claims
        try:
            return self.kind.read(self, claim)
        except (InvalidArgument, NotApplicable) as error:
            raise Refused(f"The query {self.layout.label!r}: {error}") from None


def list_quantiles(
    layouts: SpecLayout, kinds: Sequence[type[QuantilePlan]], *, first: int
) -> Iterator[Quantiles]:
    """The answers to all quantiles of a spec, in the order of the spec.

    `kinds` has the class of plans for each query. `first` is the index of the first answer's draw.
    """
    used = {kind for kind, several in zip(kinds, layouts.quantiles, strict=True) if several}
    for query, kind, parts, several in zip(
        layouts.spec.query, kinds, layouts.queries, layouts.quantiles, strict=True
    ):
        shares = share_parts(parts, several)[len(parts) :]
        for layout, part in zip(several, shares, strict=True):
            yield Quantiles(
                index=first,
                layout=layout,
                share=layouts.spec.budget.share(layouts.spec.share(query) * part),
                releases=layouts.spec.compositions,
                kind=kind,
                beside_trees=used != {ByChance},
            )
            first += 1


def _claim(layout: QuantileLayout, epsilon: Fraction) -> QuantileCertificate:
    cells = layout.candidates.cells
    return QuantileCertificate.best(
        epsilon=epsilon,
        levels=tuple(asked.level for asked in layout.statistics),
        candidates=cells,
        parts=max(2, 1 << (_MOST_PARTS // cells).bit_length() - 1) if cells <= _MOST_PARTS else 2,
        groups=MAX_ROWS if layout.unlisted else layout.cells,
        reach=layout.reach,
        neighbours=layout.neighbours,
    )


def _path(claim: QuantileCertificate, index: int) -> Iterator[int]:
    """Yield a choice's index, and indices of earlier choices on which it depends, latest first."""
    choices = claim.choices
    at: int | None = index
    while at is not None:
        yield at
        ends = [end for end in (choices[at].below, choices[at].above) if end is not None]
        at = max(ends, key=lambda end: choices[end].depth, default=None)
