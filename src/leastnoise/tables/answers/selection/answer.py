"""The largest groups: permute-and-flip selects them, and then their counts get fresh noise.

Notation: k of B groups are selected in k rounds r = 1 … k. In a round, each remaining count gets an
independent standard exponential number divided by λ, the rate of the round. The group with the
largest sum is selected.

For any t, with probability at least 1 − Σ_(r<=k) (B − r)/2·e^(−λt), no omitted count exceeds a
selected count by more than t; these are counts without noise. Otherwise some round r selected a
group although the largest remaining group exceeds it by more than t. Each of the B − r other groups
wins in this way with probability at most e^(−λt)/2 (theory/release.md §12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.errors import CertificateRejected, InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.selection import select_largest
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.answers.base import Offer, Reads, Sentence, Topic, expect_claim
from leastnoise.tables.answers.noisy import (
    FINEST_GRID,
    NoisyAnswer,
    NoisyPart,
    check_draw,
    describe_selected,
)
from leastnoise.tables.answers.selection.layout import candidates_of
from leastnoise.tables.answers.single import OfOneQuery
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.noise.draw_search import search_draws
from leastnoise.tables.noise.errors import noise_errors
from leastnoise.tables.noise.shared_draws import find_layouts
from leastnoise.tables.results.table import describe_kept_groups, key_columns, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.tables.answers.base import Reading, Totals
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.statistics.base import NoiseError

_PART = ".selection"
"""The suffix of the selection's certificate, after the label of the query."""
_SHARE = Fraction(1, 2)
"""The share of a query's ε that pays for the selection of groups."""
_MISSED = 0.05

_ROUNDS = (
    "Permute-and-flip selects {top:,} of the {groups:,} groups of {name}, with ε = {each} for "
    "each, whatever number of groups a {person} is in. With probability 95 %, no group left out "
    "has a count more than {gap:,} above the count of a selected group. So the {top:,} largest are "
    "selected if the next count is lower by more than {gap:,}."
)
_FRESH = (
    "The counts of selected groups have noise that was drawn after the selection, for half of the "
    "query's ε. So the selection doesn't bias them, and the interval of each selected group "
    "contains the count without noise with probability 95 %."
)
_CHECKED = (
    "Groups that selection leaves out are not in the table, so that nobody can check that their "
    "counts are lower."
)
_NO_DIFFERENCE = ": chance selects its groups, so that two releases may have different groups."


@final
@dataclass(frozen=True, kw_only=True)
class Selection(OfOneQuery):
    """The answer to a query that selects the largest groups."""

    @property
    def name_of_selection(self) -> str:
        """The name of the certificate of the selection."""
        return f"{self.label}{_PART}"

    @property
    def share_of_counts(self) -> Budget:
        """The share of the budget for the noise in counts, for all releases together."""
        share = self.share
        return Budget(epsilon=share.epsilon * (1 - _SHARE), delta=share.delta)

    def owns(self, name: str) -> bool:
        """True if `name` is the name of the certificate of this query's selection."""
        return name == self.name_of_selection

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Find and prove the rounds of the selection, and the noise in counts.

        Raises Refused if `_find_selection` does, or if no noise is proved.
        """
        selection = self._find_selection()
        spec = self.layouts.spec
        share = self.share_of_counts
        changed = {"epsilon": share.epsilon, "delta": share.delta}
        privacy = spec.privacy.model_copy(update=changed)
        (query,) = (query for query in spec.query if query.name == self.layout.name)
        alone = replace(
            self.layouts,
            spec=spec.model_copy(update={"privacy": privacy, "query": (query,)}),
            queries=((self.query.layouts,),),
            quantiles=((),),
        )
        ((_, mechanism, _),), known = search_draws(alone, progress=tell)
        stated = Mechanism(mechanism.certificate.about(spec.privacy.neighbours))
        claim = stated.on_grid(max(stated.grid, FINEST_GRID)).certificate
        claims = ((self.label, claim), (self.name_of_selection, selection))
        yield Offer(index=self.query.index, claims=claims, known=tuple(known))

    def _find_selection(self) -> SelectionCertificate:
        """The certificate of the selection in one release, which follows from the spec alone.

        Raises Refused if the query's share of ε is too small, or has too many digits.
        """
        layout = self.layout
        try:
            return SelectionCertificate.best(
                epsilon=self.share_of_one.epsilon * _SHARE,
                rounds=layout.cells,
                candidates=candidates_of(layout).cells,
                neighbours=layout.neighbours,
            )
        except InvalidArgument as error:
            raise Refused(
                f"The query {self.label!r} can't select groups: its part of ε is too small, or "
                f"has too many digits. Give the query a larger epsilon with few digits. {error}"
            ) from None

    def read(
        self, labels: Sequence[str], claims: Sequence[tuple[str, Claim]], reading: Reading
    ) -> Selected:
        """Read the draw from the certificates of the counts' noise and of the selection.

        Raises CertificateRejected if a certificate states something the spec does not imply.
        """
        where = f"Query {self.label!r}"
        if [name for name, _ in claims] != [self.label, self.name_of_selection]:
            why = "it needs a certificate of its noise, and one of its selection"
            raise CertificateRejected(f"{where}: {why}.")
        (_, drawn), (_, selection) = claims
        why = f"{where}: expected a certificate of noise for its counts."
        drawn = expect_claim(drawn, Certificate, why)
        why = f"{where}: expected a certificate of the selection of its groups."
        selection = expect_claim(selection, SelectionCertificate, why)
        if selection != self._find_selection():
            raise CertificateRejected(
                f"{where}: in the certificate, the groups aren't selected as the spec requires."
            )
        layouts = find_layouts((self.query,), drawn.sensitivity)
        if layouts is None:
            raise CertificateRejected(
                f"{where}: the certificate's sensitivity doesn't follow from the spec."
            )
        neighbours = self.layouts.spec.privacy.neighbours
        check_draw(drawn, layouts, self.share_of_counts, neighbours, where=where)
        return Selected(
            certificate=drawn,
            selection=selection,
            layout=layouts[0],
            budget=self.share,
            baselines=Baselines.of(
                self.query.layouts, self.share_of_counts, self.releases, known=reading.known
            ),
            person=self.layouts.spec.privacy.person,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Selected(NoisyAnswer):
    """The plan of a query that selects groups, and then adds noise to their counts.

    `certificate` is about the noise in counts, `selection` about the rounds of one release.
    `budget` is the share of the budget for both, for all releases together. `baselines` are plain
    noise for the counts. `person` is the spec's word for a unit.
    """

    selection: SelectionCertificate
    layout: Layout
    budget: Budget
    baselines: Baselines
    person: str

    @property
    def labels(self) -> tuple[str]:
        """The label by which certificates name the query."""
        return (self.layout.label,)

    @cached_property
    def parts(self) -> tuple[NoisyPart]:
        """The counts of the selected groups, which are the only part."""
        part = SelectedCounts(
            layout=self.layout, budget=self.budget, baselines=self.baselines, answered=self
        )
        return (part,)

    @property
    def reads(self) -> Reads:
        """The layout of the exact counts of all groups, from which the groups are selected."""
        return Reads(cells=(candidates_of(self.layout),))

    @property
    def gap(self) -> int:
        """A bound on each omitted group's count minus each selected group's, both without noise.

        With probability 95 %, the bound holds for all pairs of groups at once.
        """
        claim = self.selection
        pairs = claim.rounds * (2 * claim.candidates - claim.rounds - 1) / 4
        return math.floor(math.log(pairs / _MISSED) / float(claim.rate)) + 1

    def draw(self, totals: Totals) -> list[Table]:
        """Select groups and add noise to their counts; return the table, sorted by keys."""
        ((part,), (counts,)) = self.parts, totals.cells
        selected = sorted(select_largest(self.selection, counts.tolist()))
        exact = ScaledIntegers(numerators=counts[selected], bits=self.layout.bits)
        noisy = Mechanism(self.certificate).release(exact).values
        keys = _keys_of(self.layout, selected)
        return [table_of(self.layout, noisy, part.noise_errors, keys=keys)]

    def in_words(self) -> str:
        """Sentences about the rounds, and about the gap between omitted and selected counts."""
        claim = self.selection
        return _ROUNDS.format(
            top=claim.rounds,
            name=self.layout.name,
            groups=claim.candidates,
            each=_words.round_up(claim.spent / claim.rounds),
            person=self.person,
            gap=self.gap,
        )

    def describe_draw(self) -> Iterator[Sentence]:
        """Sentences about the selection, and about the noise that is drawn after it."""
        yield Sentence(Topic.NOISE, self.in_words())
        yield Sentence(Topic.SELECTED, _FRESH)
        yield Sentence(Topic.CHECKED, _CHECKED)


@final
@dataclass(frozen=True, kw_only=True)
class SelectedCounts(NoisyPart):
    """The counts of the selected groups."""

    answered: Selected

    has_coordinates: ClassVar[bool] = False
    why_no_difference: ClassVar[str] = _NO_DIFFERENCE
    which_numbers: ClassVar[str] = "in each selected group"

    def _find_errors(self) -> tuple[NoiseError, ...]:
        return noise_errors(self.certificate, self.layout)

    @property
    def own_record(self) -> dict[str, Any]:
        """The field of plan.json about the selection."""
        answered = self.answered
        claim = answered.selection
        record = {
            "candidates": claim.candidates,
            "rounds": claim.rounds,
            "epsilon": decimal_text(claim.budget.epsilon),
            "rate": decimal_text(claim.rate),
            "gap_95": answered.gap,
        }
        return {"selection": record}

    def sentences(self, names: Mapping[str, str]) -> Iterator[Sentence]:
        """Sentences about rounding, `min_count`, the selection, and the wished accuracy."""
        for text in describe_kept_groups(self.layout):
            yield Sentence(Topic.KEPT, text)
        if self.layout.min_count is not None:
            yield from describe_selected()
        yield Sentence(Topic.PAGE, _on_page(self.answered))
        for wish in self.wishes:
            yield Sentence(Topic.WISH, wish.in_words())

    def _noise_in_words(self, person: str) -> str:
        selection = f", of which {decimal_text(_SHARE)} of ε selects the groups"
        return f"{selection}{super()._noise_in_words(person)}"

    def with_all_groups(self) -> Self:
        """This part without the rule `min_count`, so that all selected groups are published."""
        return replace(self, layout=replace(self.layout, min_count=None))

    def make_zeros(self) -> list[Table]:
        """The columns without noise for an empty source, for a check before any data are read.

        The groups with the longest keys stand for the selected groups, so that the file is as large
        as possible.
        """
        columns = key_columns(candidates_of(self.layout))
        lengths = [sum(len(str(key)) for key in keys) for keys in zip(*columns, strict=True)]
        longest = sorted(range(len(lengths)), key=lambda index: -lengths[index])
        keys = _keys_of(self.layout, sorted(longest[: self.layout.cells]))
        zeros = np.zeros(self.layout.dimension)
        return [table_of(self.layout, zeros, self.noise_errors, keys=keys)]


def _keys_of(layout: Layout, selected: Sequence[int]) -> list[list[Any]]:
    """The key columns of the groups at these indices among all groups."""
    return [[column[index] for index in selected] for column in key_columns(candidates_of(layout))]


def _on_page(answered: Selected) -> str:
    """The page's sentences about the selected groups."""
    claim = answered.selection
    return (
        f"These groups were selected among {claim.candidates:,} by chance, most likely the "
        "largest. With probability 95 %, no group that isn't shown has a count more than "
        f"{answered.gap:,} above a shown group's. The noise of their counts was drawn afterwards."
    )
