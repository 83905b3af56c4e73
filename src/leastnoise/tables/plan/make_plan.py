"""The making of a plan: each draw of noise is found and proved, then all of them together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import CertificateRejected, NotCertified
from leastnoise.tables.answers.base import JOIN, Reading
from leastnoise.tables.answers.match_certificates import list_answers, read_answers
from leastnoise.tables.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leastnoise.noise.base import Noise
    from leastnoise.tables.answers.base import Offer
    from leastnoise.tables.layout.layout import SpecLayout

    Splits = Mapping[tuple[str, ...], Noise | None]
    """The noise of each draw before all were scaled down, by the labels of its queries."""


def plan(
    laid: SpecLayout, *, progress: Callable[[str], object] | None = None, check: bool = True
) -> Plan:
    """Return the plan of a spec: for each query the proved noise with the least variance.

    Each query has noise for its share of the budget, or several queries have one draw. Or the noise
    of all queries meets the budget together, scaled down by one factor, where that is less for each
    of them. No query has more noise in a draw with others than it would get alone.

    `progress` is told the stages. Raises Refused if no noise can serve a query, or, with `check`,
    if its numbers may be out of the range of float64.
    """
    tell = progress or (lambda _: None)
    offers = [offer for answer in list_answers(laid) for offer in answer.find(tell)]
    try:
        made = _proved(laid, offers)
    except NotCertified:  # Gaussian noise in margins, beside noise that isn't composed with it
        purely = [
            replace(offer, claims=offer.purely()) if offer.purely else offer for offer in offers
        ]
        made = _proved(laid, purely)
    if check:
        check_range(made)
    return made


def check_range(made: Plan) -> None:
    """Raise Refused if a number of a plan may be out of the range of float64."""
    for part in made.parts:
        part.check_range()


def _proved(laid: SpecLayout, offers: Sequence[Offer]) -> Plan:
    """The plan with this noise; raises NotCertified if it doesn't meet the budget."""
    ordered = sorted(offers, key=lambda offer: offer.index)
    certificate = PlanCertificate.prove(
        budget=laid.spec.budget,
        blocks=tuple(claim for offer in ordered for claim in offer.claims),
        releases=laid.spec.compositions,
    )
    splits = {tuple(offer.claims[0][0].split(JOIN)): offer.split for offer in ordered}
    known = [proved for offer in ordered for proved in offer.known]
    return _as_certified(laid, certificate, splits, known=known)


def plan_as_certified(
    laid: SpecLayout, certificate: PlanCertificate, splits: Splits | None = None
) -> Plan:
    """Return the plan of a spec that is released as `certificate` says, proved or not.

    All of it follows from the two, so that `verify` makes it again. Without `splits` these are
    found again where they are needed. Raises CertificateRejected unless the certificate is about
    this spec, Refused if its numbers may be out of the range of float64.
    """
    made = _as_certified(laid, certificate, splits)
    check_range(made)
    return made


def _as_certified(
    laid: SpecLayout,
    certificate: PlanCertificate,
    splits: Splits | None,
    *,
    known: Sequence[Certificate] = (),
) -> Plan:
    """The plan that `plan_as_certified` returns, before its range is checked.

    `known` was proved in search of `splits`.
    """
    if certificate.budget != laid.spec.budget:
        raise CertificateRejected("The certificate's budget is not the spec's.")
    _check_releases(certificate, laid.spec.compositions)
    reading = Reading(certificate=certificate, splits=splits, known=known)
    answered = tuple(read_answers(laid, reading))
    return Plan(spec=laid.spec, answered=answered, certificate=certificate)


def _check_releases(certificate: PlanCertificate, releases: int) -> None:
    """Raise CertificateRejected unless all of it is about so many releases.

    A certificate about more releases would need more noise.
    """
    draws = [(f"Query {name!r}", draw) for name, draw in certificate.blocks]
    about = {name: draw.compositions for name, draw in draws if isinstance(draw, Certificate)}
    for name, stated in {"The certificate": certificate.releases, **about}.items():
        if stated != releases:
            statement = f"{name} is about {_words.count_noun(stated, 'release')}"
            raise CertificateRejected(f"{statement}, the spec has {releases:,}.")
