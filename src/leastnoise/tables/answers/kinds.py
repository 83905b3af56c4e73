"""The answers to the queries of a spec, by their kinds, and the certificates that are theirs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.base import JOIN
from leastnoise.tables.answers.plain.answer import list_plain
from leastnoise.tables.answers.quantiles.answer import list_quantiles
from leastnoise.tables.answers.sums.answer import LevelTables, MarginTables, RunningSums, Sums
from leastnoise.tables.answers.unlisted.groups import UnlistedGroups
from leastnoise.tables.answers.unlisted.keys import KeysAlone
from leastnoise.tables.layout.kinds import Kind
from leastnoise.tables.noise.shared_draws import list_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Block as Claim
    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.tables.answers.base import Answer, Answered, Reading
    from leastnoise.tables.layout.layout import LaidOut

    Named = list[tuple[str, Claim]]


def list_answers(laid: LaidOut) -> list[Answer]:
    """The answers to all queries of a spec, first the answers that share draws."""
    blocks = list_blocks(laid)
    shared = [block for block in blocks if block.ways[0].kind is Kind.PLAIN]
    alone = [
        _OF_ONE_QUERY[kind](laid=laid, block=block)
        for block in blocks
        if (kind := block.ways[0].kind) is not Kind.PLAIN
    ]
    return [*list_plain(laid, shared), *alone, *list_quantiles(laid, first=len(blocks))]


_OF_ONE_QUERY: Mapping[Kind, Callable[..., Answer]] = {
    Kind.UNLISTED: UnlistedGroups,
    Kind.KEYS: KeysAlone,
    Kind.MARGINS: partial(Sums, kind=MarginTables),
    Kind.CUMULATIVE: partial(Sums, kind=RunningSums),
    Kind.LEVELS: partial(Sums, kind=LevelTables),
}
"""The answer to a query that shares no draw, given the spec and the query."""


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
    if members != sorted(members) or any(places != sorted(places) for places in members):
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
        owners = [] if name in by_label else [answer for answer in answers if answer.owns(name)]
        labels = [*owners[0].labels] if owners else name.split(JOIN)
        if owners and draws and draws[-1][0] == labels:
            draws[-1][1].append((name, claim))
        else:
            draws.append((labels, [(name, claim)]))
    return draws
