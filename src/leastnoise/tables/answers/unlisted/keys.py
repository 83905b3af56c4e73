"""Queries that publish keys without any number, or with quantiles that chance chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.unlisted import KeysCertificate
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers.base import (
    KEYS_CHECKED,
    AloneInDraw,
    Listing,
    Offer,
    Reads,
    Sentence,
    Topic,
    expect_claim,
)
from leastnoise.tables.answers.single import OfOneQuery
from leastnoise.tables.answers.unlisted.publish import publish_keys
from leastnoise.tables.answers.unlisted.search import find_least, least_in_words, sizes_in_words
from leastnoise.tables.answers.unlisted.search_keys import NEARLY, find_keys
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.results.table import describe_kept_groups, publish_all, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.answers.base import Reading, Totals
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.model import Spec

KEYS_NOTE = (
    "If {only}, chance decides which keys are published: the more {units} have a key, the "
    "likelier it is published. Nothing is published about the other keys, so a key that isn't "
    "published may be frequent."
)


@final
@dataclass(frozen=True, kw_only=True)
class KeysAlone(OfOneQuery):
    """The answer to a query that publishes unlisted keys, without any number that has noise."""

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the probabilities with which keys are published."""
        tell(f"Finding and proving the chances of {self.label}")
        claim = find_keys(self.share_of_one, self.layout)
        yield Offer(index=self.query.index, claims=((self.label, claim),))

    def read(
        self,
        labels: Sequence[str],
        claims: Sequence[tuple[str, Claim]],
        reading: Reading,
    ) -> KeysPlan:
        """Read the plan from the certificate of the probabilities.

        Raises CertificateRejected if the certificate states something the spec does not imply.
        """
        ((name, claim),) = claims
        why = "expected a certificate of the chances by which its keys are published."
        claim = expect_claim(claim, KeysCertificate, f"Query {name!r}: {why}")
        check_keys(claim, self.layout, self.share_of_one, where=f"Query {name!r}")
        layout, several = self.layout, self.layouts
        with_quantiles = any(
            query.name == layout.name
            for query, quantiles in zip(several.spec.query, several.quantiles, strict=True)
            if quantiles
        )
        return KeysPlan(
            layout=layout, budget=self.share, claim=claim, with_quantiles=with_quantiles
        )


def check_keys(claim: KeysCertificate, layout: Layout, share: Budget, *, where: str) -> None:
    """Raise CertificateRejected unless the claim fits this layout and share of the budget.

    `where` begins the message.
    """
    bounding = layout.bounding
    fits = (
        (
            claim.budget == share,
            "the certificate's budget is not the share that follows from the query's importance",
        ),
        (
            isinstance(bounding, InUnlistedGroups) and claim.groups == bounding.groups,
            "the certificate is for units in another number of groups",
        ),
        (
            claim.neighbours == layout.neighbours,
            f"expected a certificate for {layout.neighbours} neighbours",
        ),
    )
    for fit, why in fits:
        if not fit:
            raise CertificateRejected(f"{where}: {why}.")


@final
@dataclass(frozen=True, kw_only=True)
class KeysPlan(AloneInDraw):
    """The plan of unlisted keys that chance publishes, by the chances that `claim` states.

    `with_quantiles` is True if the query has quantiles of the keys' groups; otherwise it publishes
    no number.
    """

    layout: Layout
    claim: KeysCertificate
    with_quantiles: bool

    section: ClassVar[str] = "keys"
    chosen_by: ClassVar[str] = "chance"
    why_no_difference: ClassVar[str] = ": keys have no numbers to subtract."

    @property
    def noisy(self) -> tuple[tuple[Layout, tuple[()]]]:
        """The layout of the keys, with an empty tuple since there are no numbers."""
        return ((self.layout, ()),)

    @property
    def half(self) -> int:
        """The smallest number of units with which a key is published with probability ½ or more."""
        return self.claim.first(Fraction(1, 2))

    @property
    def nearly(self) -> int:
        """The smallest number of units with which a key is published in 95 of 100 cases or more."""
        return self.claim.first(NEARLY)

    @property
    def least(self) -> int | None:
        """A number of units below which no mechanism publishes a key with probability ½.

        It holds for mechanisms that meet the budget of one release. None if no such number is
        known, as for replace-one neighbours.
        """
        return find_least(self.claim.budget, self.claim.neighbours)

    @property
    def reads(self) -> Reads:
        """The layout of the counts of units, for all keys that occur in the data."""
        return Reads(groups=(self.layout,))

    def draw(self, totals: Totals) -> list[Table]:
        """Toss a coin for each key that occurs in the data; return the table of published keys."""
        (keys,) = totals.groups
        return [publish_keys(self.layout, self.claim, keys)]

    def in_words(self) -> list[str]:
        """Sentences about the numbers of units from which keys are published."""
        lists = (
            "publishes groups with their keys, but without a count of rows"
            if self.with_quantiles
            else "lists keys without any numbers"
        )
        published = (
            f"The table {self.name} {lists}. A "
            f"{sizes_in_words(self._of_size, 'published', self.half, self.nearly)}"
        )
        if self.least is None:
            return [published]
        return [published, least_in_words(f"key of fewer than {self.least:,} {self._units}")]

    @property
    def _units(self) -> str:
        return "rows" if self.layout.by_row else "persons"

    @property
    def _of_size(self) -> str:
        return f"key that {{}} {self._units} have"

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """Sentences about the chances of keys, and about keys that are not published."""
        for text in describe_kept_groups(self.layout):
            yield Sentence(Topic.KEPT, text)
        for text in self.in_words():
            yield Sentence(Topic.NOISE, text)
        units = self._units
        only = "keys are" if self.with_quantiles else "only keys are"
        count = " without a count" if self.with_quantiles else ""
        note = KEYS_NOTE.format(only=f"{only} published{count}", units=units)
        yield Sentence(Topic.GROUPS, note)
        yield Sentence(Topic.CHECKED, KEYS_CHECKED)
        yield Sentence(
            Topic.PAGE,
            "Nobody listed these keys in advance. Chance decides which keys are shown. A "
            f"{sizes_in_words(self._of_size, 'shown', self.half, self.nearly)} The number of "
            f"{units} with a key is not published. A key that isn't shown may belong to few or "
            f"many {units}.",
        )

    def list_rows(self, spec: Spec) -> list[tuple[str, str, str]]:
        """One row, which says that no number is published."""
        return [("keys", "no number", "–")]

    def listings(self, spec: Spec) -> Iterator[Listing]:
        """A table of the numbers of units from which a key is published."""
        rows = [("chosen", str(self.half), str(self.nearly))]
        rows += [] if self.least is None else [("any mechanism", str(self.least), "")]
        epsilon, delta = map(_words.round_up, (self.budget.epsilon, self.budget.delta))
        yield Listing(
            title=f"{self.name}: a list of keys without numbers, for ε = {epsilon}, δ = {delta}.",
            heads=("size from which a key is published, with probability", "½", "95 %"),
            rows=rows,
        )

    def with_all_groups(self) -> KeysPlan:
        """The same part, since `min_count` and `top` can't be used with keys alone."""
        return replace(self, layout=publish_all(self.layout))

    def make_zeros(self) -> list[Table]:
        """The columns of the keys without rows, since the number of keys isn't known."""
        keys = [list[Any]() for axis in self.layout.axes for _ in axis.columns]
        return [table_of(self.layout, np.zeros(0), (), keys=keys)]

    def to_record(self) -> dict[str, Any]:
        """The part as JSON values, which follow from spec and certificate."""
        layout = self.layout
        return {
            "name": self.name,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "bounding": None if layout.by_row else layout.bounding.to_record(),
            "groups": self.claim.groups,
            "half": self.half,
            "nearly": self.nearly,
            "least_possible": self.least,
            "missing": list(layout.missing),
            **({"joined": list(layout.joined)} if layout.joined else {}),
            **({"filters": list(layout.filters)} if layout.filters else {}),
        }
