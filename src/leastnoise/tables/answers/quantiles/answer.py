"""Answers to queries for quantiles: each finds its certificate, or reads a plan from it.

A quantile is one of the column's candidates. It is chosen by chance, or read off noisy counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.tables.answers.base import Offer
from leastnoise.tables.answers.quantiles.by_chance import ByChance
from leastnoise.tables.answers.quantiles.plan import QuantilePlan
from leastnoise.tables.layout.layout import share_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Reading
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout


@final
@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """The answer to the quantiles of one column in a query.

    `kind` is the class of the plan: quantiles chosen by chance, or read off a tree. `index` is the
    index of the quantiles' draw in the release. `beside_trees` is True if the same release has
    quantiles by a tree.
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

        Raises CertificateRejected if the certificate states something the spec does not imply, and
        Refused if the errors of its noise aren't known.
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

    `kinds` has the class of plans for each query. `first` is the index of the first answer's draw
    in the release.
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
