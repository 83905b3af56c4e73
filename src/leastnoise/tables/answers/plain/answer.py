"""Queries of listed groups: noise in every number, in draws that queries may share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED
from leastnoise.errors import CertificateRejected, Refused
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.answers.base import JOIN, Offer, Reads, Sentence, Topic, expect_claim
from leastnoise.tables.answers.noisy import FINEST_GRID, NoisyAnswer, NoisyPart, check_draw
from leastnoise.tables.layout.layout import share_parts
from leastnoise.tables.noise import budget_shares, shared_draws
from leastnoise.tables.noise.baselines import Baselines
from leastnoise.tables.noise.draw_search import search_draws
from leastnoise.tables.noise.errors import noise_errors
from leastnoise.tables.noise.joint_scaling import split_noise
from leastnoise.tables.results.table import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leastnoise.certificate.plan import Claim
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.tables.answers.base import Reading, Totals
    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import NoiseError


@final
@dataclass(frozen=True, kw_only=True)
class Plain:
    """The answer to all queries of a spec that no other kind serves; some may share draws."""

    layouts: SpecLayout
    queries: tuple[budget_shares.DrawQuery, ...]

    shares_draws: ClassVar[bool] = True

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels by which certificates name the answer's queries."""
        return tuple(query.label for query in self.queries)

    def owns(self, name: str) -> bool:
        """False: certificates are named by the labels of their queries alone."""
        return False

    def find(self, tell: Callable[[str], object]) -> Iterator[Offer]:
        """Group the queries by draw, then find and prove noise for each draw.

        Raises Refused if no noise can serve a query.
        """
        listed = self._lay_out_alone()
        if listed is None:
            return
        draws, known = search_draws(listed, progress=tell)
        order = {query.label: query.index for query in self.queries}
        for draw, mechanism, split in draws:
            stated = Mechanism(mechanism.certificate.about(self.layouts.spec.privacy.neighbours))
            rounded = stated.on_grid(max(stated.grid, FINEST_GRID))
            claim = JOIN.join(draw.labels), rounded.certificate
            index = order[draw.labels[0]]
            yield Offer(index=index, claims=(claim,), split=split, known=tuple(known))

    def _lay_out_alone(self) -> SpecLayout | None:
        """The layouts of a spec with these queries only, whose budget is the sum of their shares.

        So each query keeps its share of the budget of the whole spec. Quantiles are left out. None
        if no query of the spec belongs to this answer.
        """
        layouts, labels = self.layouts, set(self.labels)
        kept = [
            (_without_ranks(query, parts, ranks), parts)
            for query, parts, ranks in zip(
                layouts.spec.query, layouts.queries, layouts.quantiles, strict=True
            )
            if parts and parts[0][0].label in labels
        ]
        no_ranks: tuple[tuple[QuantileLayout, ...], ...] = ((),) * len(kept)
        if layouts.quantiles == no_ranks:  # the spec has no other queries, and no quantiles
            return layouts
        if not kept:
            return None
        shares = sum((layouts.spec.share(query) for query, _ in kept), Fraction(0))
        left = layouts.spec.budget.share(shares)
        changed = {"epsilon": left.epsilon, "delta": left.delta}
        privacy = layouts.spec.privacy.model_copy(update=changed)
        queries = tuple(query for query, _ in kept)
        spec = layouts.spec.model_copy(update={"privacy": privacy, "query": queries})
        return replace(
            layouts, spec=spec, queries=tuple(parts for _, parts in kept), quantiles=no_ranks
        )

    def read(
        self, labels: Sequence[str], claims: Sequence[tuple[str, Claim]], reading: Reading
    ) -> Drawn:
        """Read the draw for the queries with these `labels`.

        Raises CertificateRejected if the certificate states something the spec does not imply.
        """
        spec = self.layouts.spec
        queries = tuple(query for query in self.queries if query.label in labels)
        ((name, claim),) = claims
        where = f"Query {name!r}"
        why = f"{where}: expected a certificate of noise without a threshold."
        claim = expect_claim(claim, Certificate, why)
        layouts = shared_draws.find_layouts(queries, claim.sensitivity)
        if layouts is None:
            raise CertificateRejected(
                f"{where}: the certificate's sensitivity doesn't follow from the spec."
            )
        share = stated = budget_shares.share_budget(spec.budget, queries)
        if reading.certificate.rule == COMPOSED:
            # the claim's ε is the cost of its noise if released alone; its δ is the share
            stated = replace(share, epsilon=claim.budget.epsilon)
        check_draw(claim, layouts, stated, spec.privacy.neighbours, where=where)
        split = None
        # less noise than its share needs: all noise was scaled down together
        if claim.budget != share and spec.privacy.rho is None:
            known = reading.splits
            split = _split(claim, share) if known is None else known[tuple(labels)]
        shares = tuple(budget_shares.share_budget(spec.budget, (query,)) for query in queries)
        baselines = tuple(
            Baselines.of(query.layouts, budget, spec.compositions, known=reading.known)
            for query, budget in zip(queries, shares, strict=True)
        )
        return Drawn(
            certificate=claim, split=split, layouts=layouts, budgets=shares, baselines=baselines
        )


@final
@dataclass(frozen=True, kw_only=True)
class Drawn(NoisyAnswer):
    """The plan of one draw of noise, whose vector has the numbers of the parts in turn.

    `layouts`, `budgets` and `baselines` have an item for each part: its layout, its share of the
    budget, and plain noise for comparison.
    """

    layouts: tuple[Layout, ...]
    budgets: tuple[Budget, ...]
    baselines: tuple[Baselines, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels by which certificates name the draw's queries."""
        return tuple(layout.label for layout in self.layouts)

    @cached_property
    def parts(self) -> tuple[NoisyPart, ...]:
        """A part for each layout."""
        three = zip(self.layouts, self.budgets, self.baselines, strict=True)
        return tuple(
            DrawnPart(layout=layout, budget=budget, baselines=plain, answered=self, index=index)
            for index, (layout, budget, plain) in enumerate(three)
        )

    @property
    def reads(self) -> Reads:
        """The layouts of all parts of the draw, whose integers get noise."""
        return Reads(cells=self.layouts)

    def draw(self, totals: Totals) -> list[Table]:
        """Add the noise of one draw to the numbers of all parts; return a table for each part."""
        bits = max(layout.bits for layout in self.layouts)
        # counts of persons are whole numbers, so that shifting them to more bits is exact
        exact = [
            vector << (bits - layout.bits)
            for layout, vector in zip(self.layouts, totals.cells, strict=True)
        ]
        integers = ScaledIntegers(numerators=np.concatenate(exact), bits=bits)
        noisy = Mechanism(self.certificate).release(integers).values
        ends = np.cumsum([layout.dimension for layout in self.layouts])[:-1]
        return [
            table_of(part.layout, numbers, part.noise_errors)
            for part, numbers in zip(self.parts, np.split(noisy, ends), strict=True)
        ]

    def describe_draw(self) -> Iterator[Sentence]:
        """A sentence that names the queries that share the draw; none for a single query."""
        queries = list(dict.fromkeys(layout.name for layout in self.layouts))
        if len(queries) > 1:
            together = f"The noise of {_words.join_names(queries)} is planned together"
            alone = "no query has more noise than it would have alone"
            yield Sentence(Topic.DRAW, f"{together}: {alone}.")


@final
@dataclass(frozen=True, kw_only=True)
class DrawnPart(NoisyPart):
    """A part whose numbers are coordinates of one draw."""

    answered: Drawn

    def _find_errors(self) -> tuple[NoiseError, ...]:
        return noise_errors(self.certificate, self.answered.layouts[self.index], self.first)

    @property
    def first(self) -> int:
        """The index of the part's first coordinate in the draw."""
        return sum(layout.dimension for layout in self.answered.layouts[: self.index])

    @property
    def saved(self) -> float | None:
        """The fraction of spherical noise's variance that this noise saves.

        This noise meets the draw's share of the budget by itself (see `Answered.split`). Spherical
        noise is for this part alone, at the part's share. None for noise such as spherical or
        Laplace noise: see `Baselines.find_saving`.
        """
        alone = self.certificate
        alone = alone if self.split is None else replace(alone, noise=self.split)
        return self.baselines.find_saving(alone, self.layout, self.first)


def _split(drawn: Certificate, share: Budget) -> Noise:
    try:
        return split_noise(drawn, share)
    except Refused as error:
        raise CertificateRejected(f"No split to compare with: {error}") from None


def _without_ranks(query: Query, parts: Sequence[Any], ranks: Sequence[QuantileLayout]) -> Query:
    """A copy of the query, with the importance of its noisy parts alone, not of its quantiles."""
    weight = sum(share_parts(parts, ranks)[: len(parts)], Fraction(0))
    return query.model_copy(update={"importance": query.importance * weight})
