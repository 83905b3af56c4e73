"""Quantiles that are chosen by permute-and-flip among the candidates of a column.

Each candidate is cut into the same number of equal parts, and permute-and-flip chooses a part.

Notation: s is the number of rows between a part and the true rank. A draw of rate λ chooses, among
B parts, the part with the largest E − λs, for independent standard exponential numbers E. For any
probability β, the chosen part then has s <= t = ln(B/β)/λ with probability at least 1 − β. The
reason is that some part has s = 0. A part with s > t has to beat it, with probability at most
e^(−λt) = β/B, and there are at most B such parts (theory/release.md §10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.base import Sentence, Topic, expect_claim
from leastnoise.tables.answers.quantiles.by_tree import NEAREST
from leastnoise.tables.answers.quantiles.plan import Asking, QuantilePlan
from leastnoise.tables.answers.quantiles.publish import publish_by_chance, publish_in_groups
from leastnoise.tables.layout.layout import MAX_ROWS
from leastnoise.tables.spec.query import FLIP
from leastnoise.tables.statistics.quantiles import ROWS_95
from leastnoise.workloads.ranks import MISSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Totals
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.results.table import Table

_CHOSEN = (
    "No noise is added to a quantile{which}, and no interval is stated for its value. Its error is "
    "stated in rows, as a distance in ranks, because the distance in values depends on the data."
)
_MOST_PARTS = 4096
"""The largest number of parts of all candidates together, unless 2 for each are more.

Cutting a candidate into parts breaks ties between quantiles that are chosen one inside another.
More parts would only make errors larger.
"""


@final
@dataclass(frozen=True, kw_only=True)
class ByChance(QuantilePlan):
    """The plan of quantiles that permute-and-flip chooses; the certificate is about one release.

    `beside_trees` is True if the same release has quantiles by a tree.
    """

    certificate: QuantileCertificate
    beside_trees: bool = False

    chosen_by: ClassVar[str] = FLIP
    how: ClassVar[str] = "chosen by permute-and-flip"

    @staticmethod
    def find(layout: QuantileLayout, share: Budget, releases: int) -> QuantileCertificate:
        """The certificate of the choices of all quantiles, which follows from the spec alone."""
        return _claim(layout, share.epsilon / releases)

    @classmethod
    def read(cls, asked: Asking, claim: Claim) -> ByChance:
        """Read the plan. Reject any certificate that differs from the result of `find`."""
        layout, releases = asked.layout, asked.releases
        why = (
            f"Query {layout.label!r}: expected a certificate of the random choice of its quantiles."
        )
        claim = expect_claim(claim, QuantileCertificate, why)
        if claim != cls.find(layout, asked.share, releases):
            raise CertificateRejected(
                f"Query {layout.label!r}: in the certificate, the quantiles are not chosen as the "
                "spec requires."
            )
        whole = replace(claim.budget, epsilon=releases * claim.budget.epsilon)
        return cls(layout=layout, budget=whole, certificate=claim, beside_trees=asked.beside_trees)

    def rows_off(self, index: int) -> float:
        """A bound, with probability 95 %, on the error in rows of the quantile at `index`.

        A quantile may be chosen among the rows between earlier quantiles. So the bound is the sum
        of t (see the module) over the choices of `_path`, which share the 5 % equally.
        """
        claim = self.certificate
        path = list(_path(claim, index))
        missed = MISSED / len(path)
        parts = claim.candidates * claim.parts
        return sum(math.log(parts / missed) / float(claim.rates[draw]) for draw in path)

    def describe_draw(self) -> list[str]:
        """Sentences about the candidates, and about the rounds if choices depend on others."""
        claim, count = self.certificate, len(self.layout.statistics)
        if not claim.nested:
            return [NEAREST]
        depths = 1 + max(choice.depth for choice in claim.choices)
        column = self.layout.candidates.column
        rounds = f"The {count} quantiles of {column} are chosen in {depths} rounds"
        return [NEAREST, f"{rounds}, each between quantiles of the rounds before."]

    def describe_values(self) -> Iterator[Sentence]:
        """Sentences that explain why a quantile has no interval of values."""
        which = " that is chosen by chance" if self.beside_trees else ""
        yield Sentence(Topic.VALUES, _CHOSEN.format(which=which))

    def _on_page(self, rows: str, names: Mapping[str, str]) -> str:
        return (
            "No noise is added to a quantile: it is drawn at random from "
            f"{self.layout.candidates.cells:,} {self._ends_on_page}, and the candidates near the "
            f"true quantile are the most likely. {rows} There is no interval for the value of a "
            "quantile."
        )

    def own_record(self) -> dict[str, Any]:
        """The fields `parts` (per candidate) and `nested` (True if choices depend on others)."""
        return {"parts": self.certificate.parts, "nested": self.certificate.nested}

    @property
    def may_state(self) -> Mapping[str, float]:
        """The error of each quantile in rows, by the column that publishes it."""
        return {f"{error.statistic}{ROWS_95}": error.rows_95 for error in self.errors}

    def draw(self, totals: Totals) -> list[Table]:
        """Choose the quantiles of each group, with fresh randomness for each choice.

        Unlisted groups are those that an earlier draw of the query published.
        """
        layout, claim, stated = self.layout, self.certificate, self.may_state
        if not layout.unlisted:
            return [publish_by_chance(layout, claim, *totals.cells, stated=stated)]
        published = totals.drawn[layout.name]
        return [publish_in_groups(layout, claim, *totals.groups, published, stated=stated)]


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
    """Yield `index`, the index of the latest choice that bounds its rows, and so on from there.

    The last choice of this path is made among all rows.
    """
    choices = claim.choices
    at: int | None = index
    while at is not None:
        yield at
        ends = [end for end in (choices[at].below, choices[at].above) if end is not None]
        at = max(ends, key=lambda end: choices[end].depth, default=None)
