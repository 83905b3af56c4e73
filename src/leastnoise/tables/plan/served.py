"""Which blocks each certificate of a release serves, and whether it is about them.

A verifier has the spec and the certificate alone: whatever the two don't both say is rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.certificate.unlisted import KeysCertificate, ThresholdCertificate
from leastnoise.errors import CertificateRejected
from leastnoise.tables.plan import shared_draws
from leastnoise.tables.plan.summed.cumulative import Cumulative
from leastnoise.tables.plan.summed.levels import Levels
from leastnoise.tables.plan.summed.margins import Margins
from leastnoise.tables.query.layout import Layout
from leastnoise.tables.query.limits import FewGroups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from fractions import Fraction

    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.query.layout import LaidOut

JOIN = "+"  # between the names of blocks that share a draw; no name has it

Drawn = Certificate | ThresholdCertificate | KeysCertificate | Margins | Cumulative | Levels
Served = tuple[tuple[shared_draws.Block, ...], tuple[Layout, ...], Drawn]
"""The blocks of one draw of noise, a layout of each, and its certificate, or what adds up by it."""


def find_served(laid: LaidOut, certificate: PlanCertificate) -> Iterator[Served]:
    """Yield the blocks of each draw, their layouts, and its certificate.

    The blocks are in the order of the spec, as are the draws by their first. Raises
    CertificateRejected unless each query is in one of them, and the layouts bound a unit as it
    says.
    """
    blocks = shared_draws.list_blocks(laid)
    labels = [block.label for block in blocks]
    quantiles = {one.label for ranks in laid.ranks for one in ranks}
    drawn_blocks = _by_draw(blocks, certificate, quantiles)
    groups = [name.split(JOIN) for name, _ in drawn_blocks]
    if sorted(label for group in groups for label in group) != sorted(labels):
        raise CertificateRejected("The certificate's queries are not the spec's queries.")
    members = [tuple(labels.index(label) for label in group) for group in groups]
    if members != sorted(members) or any(one != tuple(sorted(one)) for one in members):
        raise CertificateRejected("The certificate's queries are not in the spec's order.")
    for group, (name, claims) in zip(members, drawn_blocks, strict=True):
        own = tuple(blocks[index] for index in group)
        if any(block.ways[0].adds_up for block in own):
            if len(own) != 1:
                why = "tables that add up share no draw with others."
                raise CertificateRejected(f"Query {name!r}: {why}")
            yield own, own[0].ways, _adding_up(own[0], laid, claims, certificate)
            continue
        ((_, drawn),) = claims
        if isinstance(drawn, KeysCertificate) or own[0].ways[0].keys_alone:
            if not (isinstance(drawn, KeysCertificate) and own[0].ways[0].keys_alone):
                why = "chances decide where keys are published alone, and nowhere else."
                raise CertificateRejected(f"Query {name!r}: {why}")
            yield own, own[0].ways, drawn
            continue
        nobody_listed = [bool(block.ways[0].unlisted) for block in own]
        if any(nobody_listed) != isinstance(drawn, ThresholdCertificate) or (
            any(nobody_listed) and len(own) > 1
        ):
            raise CertificateRejected(
                f"Query {name!r}: groups that nobody listed have a threshold, and others none."
            )
        noise = drawn.noise if isinstance(drawn, ThresholdCertificate) else drawn
        layouts = shared_draws.find_layouts(own, noise.sensitivity)
        if layouts is None:
            raise CertificateRejected(
                f"Query {name!r}: its sensitivity is not one that the spec implies."
            )
        yield own, layouts, drawn


def _adding_up(
    block: shared_draws.Block, laid: LaidOut, claims: Claims, certificate: PlanCertificate
) -> Margins | Cumulative | Levels:
    """Return the tables of a block that add up; raises CertificateRejected unless it is theirs."""
    layout, share = block.ways[0], shared_draws.share_budget(laid.spec.budget, (block,))
    if layout.cumulative:
        return Cumulative.of(layout, share, claims)
    if layout.hierarchy is not None:
        return Levels.of(layout, share, claims)
    return Margins.of(layout, share, claims, composed=certificate.rule == COMPOSED)


Claims = list[tuple[str, Certificate | ThresholdCertificate | KeysCertificate]]


def _by_draw(
    blocks: Sequence[shared_draws.Block], certificate: PlanCertificate, quantiles: AbstractSet[str]
) -> list[tuple[str, Claims]]:
    """Return the draws of a certificate by what they are for, those of a block's margins as one.

    But those of `quantiles`, which are matters of their own.
    """
    with_margins = {block.label for block in blocks if block.ways[0].margins}
    found: list[tuple[str, Claims]] = []
    for name, claim in certificate.blocks:
        if isinstance(claim, QuantileCertificate) or name in quantiles:
            continue
        label = name.rpartition(".")[0]
        if label in with_margins and found and found[-1][0] == label:
            found[-1][1].append((name, claim))
        else:
            found.append((label if label in with_margins else name, [(name, claim)]))
    return found


def check_groups(claim: ThresholdCertificate, layout: Layout, share: Budget, *, where: str) -> None:
    """Raise CertificateRejected unless it is about the rows of groups that this layout has."""
    way = layout.bounding
    fits = (
        (claim.budget == share, "its budget is not the share that its importance gives"),
        (claim.noise.dimension == layout.dimension, "its rows have other numbers than the spec's"),
        (
            isinstance(way, FewGroups) and claim.groups == way.groups,
            "it is about another number of groups that one unit is in",
        ),
        (claim.coordinate == layout.counted, "another number than the spec's decides"),
        (claim.reach == 1, "a unit adds 1 to the count that decides"),
        (claim.noise.grid is not None, "it has no grid, which every release is rounded to"),
        (_falls_by_bits(claim.chance_below), "no coin that is tossed has its chance"),
        (claim.neighbours == layout.neighbours, f"it isn't about {layout.neighbours} neighbours"),
    )
    for fit, why in fits:
        if not fit:
            raise CertificateRejected(f"{where}: {why}.")


def check_keys(claim: KeysCertificate, layout: Layout, share: Budget, *, where: str) -> None:
    """Raise CertificateRejected unless it is about the keys that this layout has."""
    way = layout.bounding
    fits = (
        (claim.budget == share, "its budget is not the share that its importance gives"),
        (
            isinstance(way, FewGroups) and claim.groups == way.groups,
            "it is about another number of groups that one unit is in",
        ),
        (claim.neighbours == layout.neighbours, f"it isn't about {layout.neighbours} neighbours"),
    )
    for fit, why in fits:
        if not fit:
            raise CertificateRejected(f"{where}: {why}.")


def _falls_by_bits(chance: Fraction) -> bool:
    return chance.denominator & (chance.denominator - 1) == 0


def check_draw(
    drawn: Certificate,
    layouts: Sequence[Layout],
    share: Budget,
    neighbours: Neighbours,
    *,
    where: str,
) -> None:
    """Raise CertificateRejected unless it is about one draw of noise for these layouts."""
    coordinates = sum(layout.dimension for layout in layouts)
    if drawn.dimension != coordinates:
        raise CertificateRejected(
            f"{where}: the spec has {coordinates} coordinates, the certificate {drawn.dimension}."
        )
    if drawn.budget != share:
        raise CertificateRejected(
            f"{where}: its budget is not the share that its importance gives."
        )
    if drawn.sampling_rate != 1:  # less noise would do for a sample, and no release is of one
        raise CertificateRejected(f"{where}: it is about samples, the release is of all rows.")
    if drawn.grid is None:
        raise CertificateRejected(f"{where}: it has no grid, which every release is rounded to.")
    if drawn.neighbours != neighbours:
        raise CertificateRejected(f"{where}: it isn't about {neighbours} neighbours, the spec is.")
