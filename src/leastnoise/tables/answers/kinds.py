"""The one place that asks which kind of answer a query has, and matches certificates to answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.base import JOIN
from leastnoise.tables.answers.keys import KeysAlone
from leastnoise.tables.answers.plain import list_plain
from leastnoise.tables.answers.quantiles import list_quantiles
from leastnoise.tables.answers.sums import LevelTables, MarginTables, RunningSums, Sums
from leastnoise.tables.answers.unlisted import UnlistedGroups
from leastnoise.tables.plan.shared_draws import list_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Block as Claim
    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.tables.answers.base import Answer, Answered, Reading
    from leastnoise.tables.plan.shared_draws import Block
    from leastnoise.tables.query.layout import LaidOut

    Named = list[tuple[str, Claim]]


def list_answers(laid: LaidOut) -> list[Answer]:
    """The answers to all queries of a spec, those that share draws first."""
    blocks = list_blocks(laid)
    alone = {block.label: answer for block in blocks if (answer := _of_its_own(laid, block))}
    shared = [block for block in blocks if block.label not in alone]
    quantiles = list_quantiles(laid, first=len(blocks))
    return [*list_plain(laid, shared), *alone.values(), *quantiles]


def _of_its_own(laid: LaidOut, block: Block) -> Answer | None:
    """The answer to a query that shares no draw; None if it may share one."""
    layout = block.ways[0]
    if layout.unlisted:
        kind = UnlistedGroups if layout.statistics else KeysAlone
        return kind(laid=laid, block=block)
    if layout.margins:
        return Sums(laid=laid, block=block, kind=MarginTables)
    if layout.cumulative:
        return Sums(laid=laid, block=block, kind=RunningSums)
    if layout.hierarchy is not None:
        return Sums(laid=laid, block=block, kind=LevelTables)
    return None


def read_answers(laid: LaidOut, reading: Reading) -> Iterator[Answered]:
    """Match certificates to queries, and yield each draw in the order of the certificate.

    Raises CertificateRejected for a certificate that states something the spec does not imply, or
    unless each query is in one draw, in the order of the spec.
    """
    answers = list_answers(laid)
    by_label = {label: answer for answer in answers for label in answer.labels}
    order = [block.label for block in list_blocks(laid)]
    order += [label for label in by_label if label not in order]
    draws = _by_draw(answers, by_label, reading.certificate)
    if sorted(label for labels, _ in draws for label in labels) != sorted(order):
        raise CertificateRejected("The certificate's queries are not the spec's queries.")
    members = [[order.index(label) for label in labels] for labels, _ in draws]
    if members != sorted(members) or any(one != sorted(one) for one in members):
        raise CertificateRejected("The certificate's queries are not in the spec's order.")
    for labels, claims in draws:
        answer = by_label[labels[0]]
        if len(labels) > 1 and not (answer.shares_draws and {*labels} <= {*answer.labels}):
            name = JOIN.join(labels)
            raise CertificateRejected(f"Query {name!r}: not all of these share a draw.")
        yield answer.read(labels, claims, reading)


def _by_draw(
    answers: Sequence[Answer], by_label: Mapping[str, Answer], certificate: PlanCertificate
) -> list[tuple[list[str], Named]]:
    """The labels and the certificates of each draw; a draw may have several certificates."""
    draws: list[tuple[list[str], Named]] = []
    for name, claim in certificate.blocks:
        owners = [] if name in by_label else [one for one in answers if one.owns(name)]
        labels = [*owners[0].labels] if owners else name.split(JOIN)
        if owners and draws and draws[-1][0] == labels:
            draws[-1][1].append((name, claim))
        else:
            draws.append((labels, [(name, claim)]))
    return draws
