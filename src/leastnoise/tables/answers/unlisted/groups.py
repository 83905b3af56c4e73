"""Queries by unlisted keys: a group is published if its noisy count is high enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.unlisted import ThresholdCertificate
from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.base import (
    KEYS_CHECKED,
    Listing,
    Offer,
    Reads,
    Sentence,
    Topic,
    expect_claim,
)
from leastnoise.tables.answers.noisy import NoisyAnswer, NoisyPart
from leastnoise.tables.answers.single import OfOneQuery
from leastnoise.tables.answers.unlisted.publish import publish_groups
from leastnoise.tables.answers.unlisted.search import UnlistedPlan, find_claims, sizes_in_words
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.noise.errors import noise_errors
from leastnoise.tables.noise.shared_draws import find_layouts
from leastnoise.tables.results.table import table_of
from leastnoise.tables.spec.query import ACCURACY
from leastnoise.tables.statistics.base import CLOSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.answers.base import Columns, Reading, Totals
    from leastnoise.tables.answers.unlisted.search import GroupSizes
    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import NoiseError

GROUPS_NOTE = (
    "A group that nobody listed is published if its noisy count reaches the threshold. Nothing "
    "is published about the other groups. Near the threshold, published counts are biased "
    "upwards, because groups whose noise lowers the count are absent. Each group's interval "
    "contains the number without noise with probability 95 %, whether the group is published or "
    "not. Among published groups near the threshold, intervals may contain this number less often."
)

REACHED = (
    " If the count that decides about publication is in the table, this count reaches the "
    "threshold in each group."
)


@final
@dataclass(frozen=True, kw_only=True)
class UnlistedGroups(OfOneQuery):
    """The answer to a query by keys that the spec doesn't list."""

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the noise of one group's numbers, and the threshold.

        Raises Refused if no noise with a threshold is proved.
        """
        tell(f"Finding and proving the threshold of {self.label}")
        claim = find_claims(self.layout, self.share_of_one)[0]
        yield Offer(index=self.query.index, claims=((self.label, claim),))

    def read(
        self,
        labels: Sequence[str],
        claims: Sequence[tuple[str, Claim]],
        reading: Reading,
    ) -> ByThreshold:
        """Read the draw from the certificate of the noise and the threshold.

        Raises CertificateRejected if the certificate states something the spec does not imply.
        """
        ((name, claim),) = claims
        where = f"Query {name!r}"
        why = f"{where}: expected a certificate of noise with a threshold."
        claim = expect_claim(claim, ThresholdCertificate, why)
        layouts = find_layouts((self.query,), claim.noise.sensitivity)
        if layouts is None:
            raise CertificateRejected(
                f"{where}: the certificate's sensitivity doesn't follow from the spec."
            )
        (layout,) = layouts
        check_groups(claim, layout, self.share_of_one, where=where)
        return ByThreshold(
            certificate=claim.noise,
            layout=layout,
            budget=self.share,
            releases=self.releases,
            groups=UnlistedPlan.of(layout, claim),
        )


def _falls_by_bits(chance: Fraction) -> bool:
    return chance.denominator & (chance.denominator - 1) == 0


def check_groups(claim: ThresholdCertificate, layout: Layout, share: Budget, *, where: str) -> None:
    """Raise CertificateRejected unless the claim is about groups with this layout.

    The number of numbers in a group's row, the number that decides on publication, the limits on a
    unit's groups and the `share` of the budget have to be the spec's. `where` begins the message.
    """
    check_threshold(
        claim, layout.bounding, share, reach=1, neighbours=layout.neighbours, where=where
    )
    fits = (
        (
            claim.noise.dimension == layout.dimension,
            "its rows have another number of coordinates than the spec's",
        ),
        (
            claim.coordinate == layout.counted,
            "another number than the spec's decides on publication",
        ),
    )
    for fit, why in fits:
        if not fit:
            raise CertificateRejected(f"{where}: {why}.")


def check_threshold(
    claim: ThresholdCertificate,
    bounding: Bounding,
    share: Budget,
    *,
    reach: int,
    neighbours: Neighbours,
    where: str,
) -> None:
    """Raise CertificateRejected unless the claim fits the limits on a unit's groups, and the share.

    The claim must also have a grid, a `chance_below` that fair coins can give, the spec's
    `neighbours`, and this `reach`: the most that one unit adds to the count that decides on
    publication. `where` begins the message.
    """
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
            claim.reach == reach,
            (
                f"a unit adds {reach:,} to the count that decides about publication, but the "
                "certificate states another number"
            ),
        ),
        (
            claim.noise.grid is not None,
            "the certificate must state the grid to which the published numbers are rounded",
        ),
        (
            _falls_by_bits(claim.chance_below),
            "the certificate's chance_below is no multiple of a power of ½",
        ),
        (claim.neighbours == neighbours, f"expected a certificate for {neighbours} neighbours"),
    )
    for fit, why in fits:
        if not fit:
            raise CertificateRejected(f"{where}: {why}.")


@final
@dataclass(frozen=True, kw_only=True)
class ByThreshold(NoisyAnswer):
    """The plan of groups that are published if their noisy count reaches a threshold.

    The `certificate` is about the noise of one group's row. Noise is drawn afresh for each group.
    `groups` has the threshold, and the sizes from which groups are published with probability ½ and
    with probability 95 %.
    """

    layout: Layout
    budget: Budget
    releases: int
    groups: UnlistedPlan

    is_composed: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str]:
        """The label by which certificates name the query."""
        return (self.layout.label,)

    @cached_property
    def parts(self) -> tuple[NoisyPart]:
        """The columns of the table, which are the only part."""
        plain = Baselines.of((self.layout,), self.budget, self.releases)
        return (GroupRow(layout=self.layout, budget=self.budget, baselines=plain, answered=self),)

    @property
    def reads(self) -> Reads:
        """The layout of the exact integers of all groups that occur in the data."""
        return Reads(groups=(self.layout,))

    def draw(self, totals: Totals) -> list[Table]:
        """Draw noise for each group; return the table of groups that reach the threshold."""
        (part,), (groups,) = self.parts, totals.groups
        return [publish_groups(part.layout, self.groups.claim, groups, part.noise_errors)]


@final
@dataclass(frozen=True, kw_only=True)
class GroupRow(NoisyPart):
    """The columns of a table with a row for each published group."""

    answered: ByThreshold

    hides_groups: ClassVar[bool] = True
    which_numbers: ClassVar[str] = "in each group"

    def _find_errors(self) -> tuple[NoiseError, ...]:
        return noise_errors(self.certificate, self.answered.layout)

    def own_sentences(self) -> Iterator[Sentence]:
        """Sentences about the threshold, the published groups, and the bias of their counts."""
        for text in self.answered.groups.in_words():
            yield Sentence(Topic.NOISE, text)
        yield Sentence(Topic.GROUPS, GROUPS_NOTE)
        yield Sentence(Topic.CHECKED, f"{KEYS_CHECKED}{REACHED}")
        yield Sentence(Topic.PAGE, _on_page(self.answered.groups))

    @property
    def own_record(self) -> dict[str, Any]:
        """The field of plan.json about the threshold and the sizes of published groups."""
        return {"unlisted": self.answered.groups.to_record()}

    def _cells_in_words(self) -> str:
        layout = self.layout
        keys = _words.join_names([axis.column for axis in layout.unlisted])
        public = math.prod(axis.cells for axis in layout.axes)
        beside = f", beside {_words.count_noun(public, 'public cell')}" if public > 1 else ""
        return f"each published group by {_words.plain(keys)}{beside}"

    def listings(self, spec: Spec) -> Iterator[Listing]:
        """Tables of the errors, and of the sizes from which each noise would publish groups."""
        yield from super().listings(spec)
        groups = self.answered.groups
        offers = [
            (f"{groups.chosen.noise} (chosen)", groups.chosen),
            *((offer.noise, offer) for offer in groups.others),
            *([] if groups.plain is None else [("plain Laplace", groups.plain)]),
        ]
        yield Listing(
            title="Size from which a group is published, with probability ½ and 95 %",
            heads=("noise", "½", "95 %", "std of the count"),
            rows=[(name, str(x.half), str(x.nearly), f"{x.std:.4g}") for name, x in offers],
        )

    def find_wrong(
        self, columns: Columns, numbers: Mapping[str, list[float]], kind: str
    ) -> str | None:
        """The first fault of the columns, as the end of a sentence; None without a fault.

        A count that decides on publication and is below the threshold is a fault.
        """
        if why := super().find_wrong(columns, numbers, kind):
            return why
        layout, claim = self.layout, self.answered.groups.claim
        for asked, uses in zip(layout.statistics, layout.uses, strict=True):
            if asked.counts and uses == (claim.coordinate,):
                counts, step = numbers[asked.label], layout.multiple
                if why := find_below_threshold(claim, asked.label, counts, multiple=step):
                    return why
        return None

    def make_zeros(self) -> list[Table]:
        """The columns without rows, since the number of groups isn't known."""
        keys = [list[Any]() for axis in self.layout.axes for _ in axis.columns]
        return [table_of(self.layout, np.zeros(0), self.noise_errors, keys=keys)]


def find_below_threshold(
    claim: ThresholdCertificate, label: str, counts: Sequence[float], *, multiple: int = 0
) -> str | None:
    """Find a published count below the threshold. Returns the fault as the end of a sentence.

    None without such a count. Counts may be rounded to a `multiple`. If `claim.chance_below` isn't
    0, they may be one grid step below the threshold. Both are allowed for.
    """
    grid = claim.noise.grid if claim.chance_below else None
    least = float(claim.threshold - (grid or 0)) - multiple / 2
    least -= CLOSE * abs(least)
    if min(counts, default=least) >= least:
        return None
    return f"a {label} below the threshold, {float(claim.threshold):.6g}"


def _on_page(groups: UnlistedPlan) -> str:
    """The page's sentences about published groups, and about the bias of their counts."""
    preferred = " Noise was chosen for small errors rather than for small groups."
    return groups_on_page(groups.chosen) + (preferred if groups.preferred == ACCURACY else "")


def groups_on_page(chosen: GroupSizes) -> str:
    """The page's sentences about sizes of published groups, and about the bias of their counts."""
    of_size = "group whose count without noise is {}"
    sizes = sizes_in_words(of_size, "shown", chosen.half, chosen.nearly)
    return (
        "Nobody listed these groups in advance. No group with a noisy count below "
        f"{chosen.threshold:.6g} is shown. A {sizes} A group that isn't shown may be small, or "
        "empty. Near the threshold, shown counts are biased upwards."
    )
