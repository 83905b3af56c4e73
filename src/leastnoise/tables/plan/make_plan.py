"""The making of a plan: each draw of noise is found and proved, then all of them together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.certificate.unlisted import KeysCertificate, ThresholdCertificate
from leastnoise.errors import CertificateRejected, NotCertified, Refused
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.tables.plan import shared_draws
from leastnoise.tables.plan.joint_budget import split_noise
from leastnoise.tables.plan.keys import KeysPlan, find_keys
from leastnoise.tables.plan.plan import BlockPlan, Plan
from leastnoise.tables.plan.quantiles import QuantilePlan, plan_quantiles
from leastnoise.tables.plan.search_draws import search_draws
from leastnoise.tables.plan.served import JOIN, check_draw, check_groups, check_keys, find_served
from leastnoise.tables.plan.summed.cumulative import Cumulative, Step, find_running
from leastnoise.tables.plan.summed.levels import Level, Levels, find_levels
from leastnoise.tables.plan.summed.margins import Margin, Margins
from leastnoise.tables.plan.summed.measured import find_measured
from leastnoise.tables.plan.unlisted import FINEST_GRID, Groups, find_claims
from leastnoise.tables.query.baselines import Baselines
from leastnoise.tables.query.ranks import share_parts
from leastnoise.tables.query.summed import margins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leastnoise.certificate.plan import Blocks as Claims
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.tables.query.layout import LaidOut, Layout
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.spec.query import Query


def plan(
    laid: LaidOut, *, progress: Callable[[str], object] | None = None, check: bool = True
) -> Plan:
    """Return the plan of a spec: for each block the proved noise with the least variance.

    Each block's at its share of the budget, or several blocks' in one draw, or, where that is less
    for every one, all blocks' noise at the budget together, scaled down by one factor. No block has
    more noise in a draw with others than it would get alone.

    `progress` is told the stages. Raises Refused if no noise can serve a block, or, where that is
    to be checked, its numbers may be out of the range of float64.
    """
    tell = progress or (lambda _: None)
    listed, found = _listed(laid), list[_Drawn]()
    order = {block.label: block.index for block in shared_draws.list_blocks(laid)}
    draws, known = search_draws(listed, progress=progress) if listed else ([], [])
    for draw, mechanism, split in draws:
        stated = Mechanism(mechanism.certificate.about(laid.spec.privacy.neighbours))
        rounded = stated.on_grid(max(stated.grid, FINEST_GRID))
        claim = JOIN.join(draw.labels), rounded.certificate
        found.append((order[draw.labels[0]], (claim,), split))
    try:
        made = _proved(laid, [*found, *_drawn_apart(laid, tell, pure=False)], known)
    except NotCertified:  # Gaussian noise in margins, beside noise that isn't composed with it
        made = _proved(laid, [*found, *_drawn_apart(laid, tell, pure=True)], known)
    if check:
        check_range(made)
    return made


def check_range(made: Plan) -> None:
    """Raise Refused if a number of a plan may be out of the range of float64."""
    for block in made.blocks:
        block.check_range()


_Drawn = tuple[int, "Claims", "Noise | None"]
"""The index of a draw's first block, its certificates, and its noise before all was scaled down."""


def _drawn_apart(laid: LaidOut, tell: Callable[[str], object], *, pure: bool) -> Iterator[_Drawn]:
    """Yield the draws that none shares: of groups that nobody listed, and of tables that add up."""
    times = laid.spec.releases
    for block in shared_draws.list_blocks(laid):
        way, share = block.ways[0], shared_draws.share_budget(laid.spec.budget, (block,))
        if way.keys_alone:
            tell(f"Finding and proving the chances of {block.label}")
            claim = find_keys(share.share(Fraction(1, times)), way)
            yield block.index, ((block.label, claim),), None
        elif way.unlisted:
            tell(f"Finding and proving the threshold of {block.label}")
            one = share.share(Fraction(1, times))
            yield block.index, ((block.label, find_claims(way, one)[0]),), None
        elif way.margins:
            tell(f"Finding and proving the noise of {block.label}")
            drawn = margins.measured_layout(way)
            yield block.index, find_measured(drawn, share, pure=pure, releases=times), None
        elif way.cumulative:
            tell(f"Finding and proving the noise of {block.label}")
            yield block.index, find_running(way, share, releases=times), None
        elif way.hierarchy is not None:
            tell(f"Finding and proving the noise of {block.label}")
            yield block.index, find_levels(way, share, releases=times), None


def _proved(laid: LaidOut, drawn: list[_Drawn], known: Sequence[Certificate]) -> Plan:
    """Return the plan with these draws; raises NotCertified if they don't meet the budget."""
    ordered = sorted(drawn, key=lambda one: one[0])
    claims = tuple(claim for _, some, _ in ordered for claim in some)
    claims += tuple((one.layout.label, one.certificate) for one in plan_quantiles(laid))
    certificate = PlanCertificate.prove(
        budget=laid.spec.budget, blocks=claims, releases=laid.spec.releases
    )
    splits = [split for *_, split in ordered]
    return _as_certified(laid, certificate, splits, known=known)


def plan_as_certified(
    laid: LaidOut,
    certificate: PlanCertificate,
    splits: Sequence[Noise | None] | None = None,
) -> Plan:
    """Return the plan of a spec that is released as `certificate` says, proved or not.

    All of it follows from the two, so that `verify` makes it again. `splits` are those of each
    draw; without these they are found again where they are needed. Raises CertificateRejected
    unless the certificate is about this spec, Refused if its numbers may be out of the range of
    float64.
    """
    made = _as_certified(laid, certificate, splits)
    check_range(made)
    return made


def _as_certified(
    laid: LaidOut,
    certificate: PlanCertificate,
    splits: Sequence[Noise | None] | None,
    *,
    known: Sequence[Certificate] = (),
) -> Plan:
    """Return what `plan_as_certified` returns, before its range is checked.

    `known` is what was proved in search of `splits`.
    """
    spec = laid.spec
    if certificate.budget != spec.budget:
        raise CertificateRejected("The certificate's budget is not the spec's.")
    times = spec.releases
    _check_releases(certificate, times)
    composed = certificate.rule == COMPOSED
    found: dict[int, list[BlockPlan]] = {}
    keys: list[KeysPlan] = []
    for place, (blocks, layouts, drawn) in enumerate(find_served(laid, certificate)):
        stated = share = shared_draws.share_budget(spec.budget, blocks)
        where = f"Query {JOIN.join(one.label for one in blocks)!r}"
        if isinstance(drawn, Margins | Cumulative | Levels):
            found[blocks[0].index] = _of_sums(drawn)
            continue
        if isinstance(drawn, KeysCertificate):
            check_keys(drawn, layouts[0], share.share(Fraction(1, times)), where=where)
            keys.append(KeysPlan(layout=layouts[0], budget=share, claim=drawn))
            continue
        if isinstance(drawn, ThresholdCertificate):
            check_groups(drawn, layouts[0], share.share(Fraction(1, times)), where=where)
            found[blocks[0].index] = [_of_groups(drawn, layouts[0], share, times)]
            continue
        if composed:  # its ε is what the noise is worth alone, its δ the share
            stated = replace(share, epsilon=drawn.budget.epsilon)
        check_draw(drawn, layouts, stated, spec.privacy.neighbours, where=where)
        split = None
        if drawn.budget != share:  # less noise than that is worth: all were scaled down
            split = _split(drawn, share) if splits is None else splits[place]
        first = 0
        for block, layout in zip(blocks, layouts, strict=True):
            own = shared_draws.share_budget(spec.budget, (block,))
            listed = BlockPlan(
                layout=layout,
                group=tuple(one.label for one in blocks),
                first=first,
                budget=own,
                certificate=drawn,
                baselines=Baselines.of(block.ways, own, times, known=known),
                split=split,
            )
            found[block.index] = [listed]
            first += layout.dimension
    plans = tuple(block for _, some in sorted(found.items()) for block in some)
    return Plan(
        spec=spec,
        blocks=plans,
        quantiles=_chosen(laid, certificate),
        keys=tuple(keys),
        certificate=certificate,
    )


def _check_releases(certificate: PlanCertificate, releases: int) -> None:
    """Raise CertificateRejected unless all of it is about so many; for more it is more noise."""
    draws = [(f"Query {name!r}", one) for name, one in certificate.blocks]
    about = {name: one.compositions for name, one in draws if isinstance(one, Certificate)}
    for name, stated in {"The certificate": certificate.releases, **about}.items():
        if stated != releases:
            said = f"{name} is about {_words.counted(stated, 'release')}"
            raise CertificateRejected(f"{said}, the spec has {releases:,}.")


def _of_sums(drawn: Margins | Cumulative | Levels) -> list[BlockPlan]:
    """Return the plan of each table of those that add up."""
    if isinstance(drawn, Margins):
        return _of_margins(drawn)
    return _of_levels(drawn) if isinstance(drawn, Levels) else _of_running_sums(drawn)


def _of_groups(drawn: ThresholdCertificate, layout: Layout, share: Budget, times: int) -> BlockPlan:
    """Return the plan of groups that nobody listed."""
    return BlockPlan(
        layout=layout,
        group=(layout.label,),
        first=0,
        budget=share,
        certificate=drawn.noise,
        baselines=Baselines.of((layout,), share, times),
        groups=Groups.of(layout, drawn),
    )


def _of_margins(drawn: Margins) -> list[BlockPlan]:
    """Return the plan of each published table; plain noise has an equal share for each."""
    cells, tables = drawn.cells, [Margin(whole=drawn, table=one) for one in drawn.cells.margins]
    layouts = [margins.table_layout(cells, one.table) for one in tables]
    each = drawn.budget.share(Fraction(1, len(layouts)))
    most = max(drawn.measured.values(), key=lambda one: one.budget.epsilon)
    return [
        BlockPlan(
            layout=layout,
            group=tuple(one.name for one in layouts),
            first=0,
            budget=each,
            certificate=most,
            baselines=Baselines.of((one.drawn,), each, most.compositions),
            margin=one,
        )
        for layout, one in zip(layouts, tables, strict=True)
    ]


def _of_running_sums(drawn: Cumulative) -> list[BlockPlan]:
    """Return the plan of bins and of running sums; plain noise in the bins has all of ε and δ."""
    half, releases = drawn.budget.share(Fraction(1, 2)), drawn.claim.compositions
    return [
        BlockPlan(
            layout=layout,
            group=tuple(one.name for one in drawn.layouts),
            first=0,
            budget=half,
            certificate=drawn.claim,
            baselines=Baselines.of((layout,), drawn.budget, releases, summed=summed),
            running=Step(whole=drawn, sums=bool(place)),
        )
        for place, (layout, summed) in enumerate(zip(drawn.layouts, drawn.summed, strict=True))
    ]


def _of_levels(drawn: Levels) -> list[BlockPlan]:
    """Return the plan of each table; plain noise has an equal share for each."""
    each = drawn.budget.share(Fraction(1, len(drawn.layouts)))
    return [
        BlockPlan(
            layout=layout,
            group=tuple(one.name for one in drawn.layouts),
            first=0,
            budget=each,
            certificate=drawn.claim,
            baselines=Baselines.of((layout,), each, drawn.claim.compositions),
            level=Level(whole=drawn, table=table),
        )
        for table, layout in enumerate(drawn.layouts)
    ]


def _chosen(laid: LaidOut, certificate: PlanCertificate) -> tuple[QuantilePlan, ...]:
    """Return the plans of quantiles; raises CertificateRejected unless it is about them."""
    wanted = plan_quantiles(laid, certificate.blocks)
    labels = {one.layout.label for one in wanted}
    found = [
        (name, one)
        for name, one in certificate.blocks
        if isinstance(one, QuantileCertificate) or name in labels
    ]
    if found != [(one.layout.label, one.certificate) for one in wanted]:
        raise CertificateRejected("The quantiles are not chosen as the spec implies.")
    return wanted


def _split(drawn: Certificate, share: Budget) -> Noise:
    try:
        return split_noise(drawn, share)
    except Refused as error:
        raise CertificateRejected(f"No split to compare with: {error}") from None


def _listed(laid: LaidOut) -> LaidOut | None:
    """Return what noise is added to in public groups, at the budget that all else leaves.

    None if there is none. These are the same parts of the whole as before.
    """
    apart = [bool(one[0][0].unlisted or one[0][0].adds_up) if one else True for one in laid.queries]
    if not any(laid.ranks) and not any(apart):
        return laid
    kept = [
        (_without_ranks(query, parts, ranks), parts)
        for query, parts, ranks, alone in zip(
            laid.spec.query, laid.queries, laid.ranks, apart, strict=True
        )
        if not alone
    ]
    if not kept:
        return None
    left = laid.spec.budget.share(sum((laid.spec.share(query) for query, _ in kept), Fraction(0)))
    changed = {"epsilon": left.epsilon, "delta": left.delta}
    privacy = laid.spec.privacy.model_copy(update=changed)
    queries = tuple(query for query, _ in kept)
    spec = laid.spec.model_copy(update={"privacy": privacy, "query": queries})
    ranks: tuple[tuple[Ranks, ...], ...] = ((),) * len(kept)
    return replace(laid, spec=spec, queries=tuple(parts for _, parts in kept), ranks=ranks)


def _without_ranks(query: Query, parts: Sequence[Any], ranks: Sequence[Ranks]) -> Query:
    """Return a query that weighs as much as its parts that noise is added to."""
    own = sum(share_parts(parts, ranks)[: len(parts)], Fraction(0))
    return query.model_copy(update={"importance": query.importance * own})
