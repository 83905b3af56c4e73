"""The answers to all queries of a spec, and their draws, read from a release's certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.base import JOIN
from leastnoise.tables.answers.kinds import KINDS, kind_of, quantile_kind
from leastnoise.tables.answers.quantiles.answer import list_quantiles
from leastnoise.tables.noise.budget_shares import list_draw_queries
from leastnoise.tables.statistics.registry import parse_queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leastnoise.certificate.plan import Claim, PlanCertificate
    from leastnoise.tables.answers.base import Answer, Answered, QueryKind, Reading
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.noise.budget_shares import DrawQuery

    Named = list[tuple[str, Claim]]


def list_answers(layouts: SpecLayout) -> list[Answer]:
    """The answers to all queries of a spec.

    Answers whose queries may share draws come first, then the other answers in the spec's order,
    and the answers to quantiles last.
    """
    queries, places = list_draw_queries(layouts), dict[str, int]()
    by_kind: dict[QueryKind, list[DrawQuery]] = {kind: [] for kind in KINDS}
    parsed_queries = parse_queries(layouts.spec)
    kinds = {parsed.query.name: kind_of(parsed) for parsed in parsed_queries}
    for query in queries:
        places[query.label] = query.index
        by_kind[kinds[query.name]].append(query)
    answers = [answer for kind in KINDS for answer in kind.list_answers(layouts, by_kind[kind])]
    answers.sort(key=lambda answer: (not answer.shares_draws, places[answer.labels[0]]))
    plans = [quantile_kind(parsed).find_plan_type() for parsed in parsed_queries]
    return [*answers, *list_quantiles(layouts, plans, first=len(queries))]


def read_answers(layouts: SpecLayout, reading: Reading) -> Iterator[Answered]:
    """Match certificates to answers; yield the `Answered` of each draw, in the certificate's order.

    Raises CertificateRejected for a certificate that states something the spec does not imply. Each
    query has to be in exactly one draw. Draws, and the queries in each draw, have to be in the
    order of the spec, with all quantiles last.
    """
    answers = list_answers(layouts)
    by_label = {label: answer for answer in answers for label in answer.labels}
    order = [query.label for query in list_draw_queries(layouts)]
    order += [label for label in by_label if label not in order]
    draws = _by_draw(answers, by_label, reading.certificate)
    if sorted(label for labels, _ in draws for label in labels) != sorted(order):
        raise CertificateRejected("The certificate and the spec don't have the same queries.")
    members = [[order.index(label) for label in labels] for labels, _ in draws]
    if members != sorted(members) or any(places != sorted(places) for places in members):
        raise CertificateRejected(
            "The certificate lists the queries in another order than the spec."
        )
    for labels, claims in draws:
        answer = by_label[labels[0]]
        if len(labels) > 1 and not (answer.shares_draws and {*labels} <= {*answer.labels}):
            name = JOIN.join(labels)
            raise CertificateRejected(
                f"In the certificate, the queries {name!r} share one draw of noise, but in the "
                "spec they don't."
            )
        yield answer.read(labels, claims, reading)


def _by_draw(
    answers: Sequence[Answer], by_label: Mapping[str, Answer], certificate: PlanCertificate
) -> list[tuple[list[str], Named]]:
    """Group the certificates by draw.

    Each item has the labels of the draw's queries, and its certificates with their names.
    """
    draws: list[tuple[list[str], Named]] = []
    for name, claim in certificate.draws:
        owners = [] if name in by_label else [answer for answer in answers if answer.owns(name)]
        labels = [*owners[0].labels] if owners else name.split(JOIN)
        if owners and draws and draws[-1][0] == labels:
            draws[-1][1].append((name, claim))
        else:
            draws.append((labels, [(name, claim)]))
    return draws
