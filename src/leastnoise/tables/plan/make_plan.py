"""Make a plan: find and prove each draw of noise, and then all draws together."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.limits import LimitCertificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.errors import CertificateRejected, NotCertified, Refused
from leastnoise.tables.answers.base import JOIN, Reading
from leastnoise.tables.answers.kinds import lay_out_spec
from leastnoise.tables.answers.match_certificates import list_answers, read_answers
from leastnoise.tables.layout import found_limits
from leastnoise.tables.layout.layout import LayoutError
from leastnoise.tables.plan.plan import Plan
from leastnoise.tables.plan.total_rho import scale_to_rho

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leastnoise.noise.base import Noise
    from leastnoise.tables.answers.base import Offer
    from leastnoise.tables.layout.found_limits import Finder
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.spec.model import Spec

    Splits = Mapping[tuple[str, ...], Noise | None]
    """The noise of each draw before all were scaled down, by the labels of its queries."""


def plan(
    layout: SpecLayout, *, progress: Callable[[str], object] | None = None, check: bool = True
) -> Plan:
    """Plan a release: find and prove the noise of each query.

    Each query has its own draw at its share of the budget, or it shares a draw with other queries.
    Draws of plain queries (`answers.plain`) may be accounted for together. If each of these draws
    then needs less noise, their noise is scaled down until they just meet their shares together. No
    query gets more noise in a shared draw than in a draw of its own. With a budget in ρ each query
    has Gaussian noise for its part of ρ.

    `progress` is called with each stage in words. Raises Refused if no noise is proved for a query,
    or, with `check`, if a number may be out of the range of float64.
    """
    tell = progress or (lambda _: None)
    if (finder := found_limits.finder_of(layout.spec)) is not None:
        return _plan_found_limit(layout.spec, finder, tell, check=check)
    offers = [offer for answer in list_answers(layout) for offer in answer.find(tell)]
    privacy = layout.spec.privacy
    if privacy.rho is not None:
        offers = scale_to_rho(offers, privacy.rho, privacy.neighbours)
    try:
        result = _prove(layout, offers)
    except NotCertified:  # Gaussian noise in margins can't be composed with the other noise
        purely = [
            replace(offer, claims=offer.purely()) if offer.purely else offer for offer in offers
        ]
        result = _prove(layout, purely)
    if check:
        check_range(result)
    return result


def _plan_found_limit(
    spec: Spec, finder: Finder, tell: Callable[[str], object], *, check: bool
) -> Plan:
    """Plan a release that finds a limit: the choice of the limit, and a plan for each candidate."""
    plans: list[Plan] = []
    for limit in finder.finds.candidates:
        tell(f"Planning with {finder.label} = {limit:,}")
        plans.append(plan(_lay_out_fixed(spec, finder, limit), progress=tell, check=check))
    claim = LimitCertificate.best(
        budget=spec.budget,
        epsilon=found_limits.epsilon_of_choice(spec, finder),
        candidates=finder.finds.candidates,
        noise=[_total_noise(fixed, finder) for fixed in plans],
        plans=[fixed.certificate for fixed in plans],
        neighbours=spec.privacy.neighbours,
    )
    certificate = PlanCertificate.prove(budget=spec.budget, draws=((finder.label, claim),))
    known = tuple(
        Plan(
            spec=found_limits.set_found_limit(spec, finder, limit),
            answered=fixed.answered,
            certificate=certificate,
        )
        for limit, fixed in zip(finder.finds.candidates, plans, strict=True)
    )
    return replace(known[-1], spec=spec, with_limits=known)


def _lay_out_fixed(spec: Spec, finder: Finder, limit: int) -> SpecLayout:
    """The layout of the second step of a release that finds a limit.

    Raises Refused if this limit allows no layout.
    """
    try:
        return lay_out_spec(found_limits.fix_limit(spec, finder, limit))
    except LayoutError as error:
        why = f"With {finder.label} = {limit:,}: {error} Choose other candidates."
        raise Refused(why) from None


def _total_noise(fixed: Plan, finder: Finder) -> Fraction:
    """The mean total noise of the plan's parts to which the limit applies.

    The total noise of a part is its number of cells times the mean std of its components. If the
    limit applies only to quantiles, half the 95 % bound on their errors in rows replaces the std.
    The result affects only the quality of the choice, not its privacy. It is rounded to six digits,
    so that the certificate stays short. Raises Refused if no error depends on the limit.
    """

    def is_limited(name: str) -> bool:
        return finder.query is None or name == finder.query.name

    errors = [
        (part.layout.cells, [error.std for error in part.noise_errors])
        for part in fixed.noisy_parts
        if is_limited(part.query)
    ] or [
        (part.layout.cells, [error.rows_95 / 2 for error in part.errors])
        for part in fixed.quantiles
        if is_limited(part.layout.name)
    ]
    if not errors:
        why = f"No number in the tables has an error that depends on {finder.label}."
        raise Refused(f"{why} Give a number for the limit in place of find = true.")
    sums = [cells * math.fsum(of_part) / len(of_part) for cells, of_part in errors]
    return Fraction(f"{math.fsum(sums) / len(sums):.6g}")


def check_range(whole: Plan) -> None:
    """Raise Refused if a number of a plan may be out of the range of float64."""
    for part in whole.parts:
        part.check_range()


def _prove(layout: SpecLayout, offers: Sequence[Offer]) -> Plan:
    """Prove the plan with the offered noise.

    Raises NotCertified if no proof shows that all draws together meet the budget.
    """
    ordered = sorted(offers, key=lambda offer: offer.index)
    certificate = PlanCertificate.prove(
        budget=layout.spec.budget,
        draws=tuple(claim for offer in ordered for claim in offer.claims),
        releases=layout.spec.compositions,
        rho=layout.spec.privacy.rho,
    )
    splits = {tuple(offer.claims[0][0].split(JOIN)): offer.split for offer in ordered}
    known = [proved for offer in ordered for proved in offer.known]
    return _read_plan(layout, certificate, splits, known=known)


def plan_as_certified(
    layout: SpecLayout, certificate: PlanCertificate, splits: Splits | None = None
) -> Plan:
    """Derive the plan of a spec from its certificate, which may be proved or only claimed.

    The plan follows from spec and certificate alone, so that `verify` can derive it again. `splits`
    has the noise of draws before joint accounting reduced it. If it is None, this noise is searched
    again. Raises CertificateRejected unless the certificate is about this spec, and Refused if a
    number may be out of the range of float64.
    """
    whole = _read_plan(layout, certificate, splits)
    check_range(whole)
    return whole


def _read_plan(
    layout: SpecLayout,
    certificate: PlanCertificate,
    splits: Splits | None,
    *,
    known: Sequence[Certificate] = (),
) -> Plan:
    """Derive the plan from the certificate without checking the range of its numbers.

    `known` has certificates that were proved before, so that they aren't proved again. Raises
    CertificateRejected unless the certificate is about this spec.
    """
    if certificate.budget != layout.spec.budget:
        raise CertificateRejected("The certificate is for another budget than the spec states.")
    if certificate.rho != layout.spec.privacy.rho:
        raise CertificateRejected("The certificate is for another rho than the spec states.")
    if (finder := found_limits.finder_of(layout.spec)) is not None:
        claim = _read_choice(layout.spec, finder, certificate)
        # Any candidate could have been chosen, so the plan of each has to fit the spec. A plan with
        # too little noise for its candidate would break the guarantee.
        seconds = {
            limit: _read_plan(_lay_out_fixed(layout.spec, finder, limit), fixed, splits)
            for limit, fixed in zip(finder.finds.candidates, claim.plans, strict=True)
        }
        answered = seconds[finder.finds.limit].answered
        return Plan(spec=layout.spec, answered=answered, certificate=certificate)
    _check_releases(certificate, layout.spec.compositions)
    reading = Reading(certificate=certificate, splits=splits, known=known)
    answered = tuple(read_answers(layout, reading))
    return Plan(spec=layout.spec, answered=answered, certificate=certificate)


def _read_choice(spec: Spec, finder: Finder, certificate: PlanCertificate) -> LimitCertificate:
    """The certificate of the choice of a limit.

    Raises CertificateRejected unless budget, ε of the choice, neighbours and candidates are as in
    the spec.
    """
    names = [name for name, _ in certificate.draws]
    claim = certificate.draws[0][1] if names == [finder.label] else None
    if not isinstance(claim, LimitCertificate):
        raise CertificateRejected(
            f"Expected a certificate of the choice of {finder.label}, and of nothing else."
        )
    stated = (claim.budget, claim.spent, claim.neighbours, claim.candidates)
    wanted = (
        spec.budget,
        found_limits.epsilon_of_choice(spec, finder),
        spec.privacy.neighbours,
        tuple(map(Fraction, finder.finds.candidates)),
    )
    if stated != wanted or certificate.releases != 1:
        raise CertificateRejected(
            f"In the certificate, {finder.label} is not chosen as the spec requires."
        )
    return claim


def _check_releases(certificate: PlanCertificate, releases: int) -> None:
    """Raise CertificateRejected unless the certificate and all noise are for this many releases.

    A certificate for fewer releases would promise too little. For more releases, the noise would be
    larger than the spec needs.
    """
    draws = [(f"The noise of query {name!r}", draw) for name, draw in certificate.draws]
    about = {name: draw.compositions for name, draw in draws if isinstance(draw, Certificate)}
    for name, stated in {"The certificate": certificate.releases, **about}.items():
        if stated != releases:
            statement = f"{name} is for {_words.count_noun(stated, 'release')}"
            raise CertificateRejected(f"{statement}, but the spec is for {releases:,}.")
