"""Releases that are fixed before the first of them is made, so that they compose tightly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, final

from leastnoise import _validate
from leastnoise._record import field, instance_of, record, takes
from leastnoise.accounting.proof.composed import bound_composed
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import Claim, PlanCertificate
from leastnoise.certificate.records import exact_fields, parse_object, read_budget, require_type
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.sensitivity import common_neighbours
from leastnoise.ledger.filters import Certified, Cost
from leastnoise.noise.question import ProvedDelta, Releases

_FIELDS = ("kind", "epsilon", "delta", "releases")


def _check_releases(
    releases: Iterable[tuple[Certified, int]], *, name: str
) -> tuple[tuple[Certified, int], ...]:
    like = "pairs of a certificate and a count"
    pairs = tuple(
        (require_certificate(release, name=name), _validate.whole(count, name="count"))
        for release, count in _validate.pairs(releases, name=name, like=like)
    )
    if not pairs:
        raise InvalidArgument(name=name, value="none", expected="at least one release")
    return pairs


@final
@record()
class Preregistered:
    """The statement that `releases`, each made at most as often as its count says, meet `budget`.

    The releases may be made in any order, and their queries may depend on earlier outputs; only
    their noise is fixed here. Other charges of the same account may come between them. All releases
    together are one interactive mechanism, and interactive mechanisms compose like others (Haney et
    al. 2023).

    Raises InvalidArgument if an argument is malformed, without a release, or for a count below 1.
    """

    budget: Budget = field(converter=instance_of(Budget, like="a Budget"))
    releases: tuple[tuple[Certified, int], ...] = field(converter=takes(_check_releases))

    @property
    def cost(self) -> Cost:
        """The cost of all releases: the stated budget, and the sum of the releases' zCDP costs."""
        total = self._sum()
        return replace(total, epsilon=self.budget.epsilon, delta=self.budget.delta)

    def prove(self) -> None:
        """Prove every release, and that together they meet the budget.

        Sums of budgets are tried first, then the composition of the laws (theory/accounting.md §1
        A). Raises NotCertified if neither meets the budget, or if the releases are about different
        neighbours. Raises CertificateRejected if a release doesn't hold.
        """
        for release, _ in self.releases:
            verify_once(release)
        try:
            common_neighbours(release.neighbours for release, _ in self.releases)
        except NotApplicable as error:
            raise NotCertified(interval=None, why=str(error)) from error
        total = self._sum()
        if total.epsilon <= self.budget.epsilon and total.delta <= self.budget.delta:
            return
        try:
            enclosure = bound_composed(tuple(self._parts()), self.budget.epsilon)
        except NotApplicable as error:
            raise NotCertified(
                interval=None,
                why=f"The sums of the releases' budgets are epsilon={decimal_text(total.epsilon)} "
                f"and delta={decimal_text(total.delta)}, and nothing tighter is proved: {error}",
            ) from error
        proved = ProvedDelta.within(enclosure)
        if not proved.certainly_at_most(self.budget.delta):
            raise NotCertified(
                interval=None,
                why=(
                    f"Not proved: at epsilon={decimal_text(self.budget.epsilon)} the releases "
                    f"together have a delta of up to {proved.interval.upper!r}. The budget allows "
                    "a "
                    f"delta of {decimal_text(self.budget.delta)}."
                ),
            )

    def index_of(self, release: Certified) -> int | None:
        """The index of `release` among the releases; None if it isn't among them."""
        wanted = release.to_json()
        for index, (planned, _) in enumerate(self.releases):
            if planned.to_json() == wanted:
                return index
        return None

    @property
    def composes_by_sums(self) -> bool:
        """True if only budgets can be added: for releases with unlisted groups or quantiles."""
        claims = [claim for release, _ in self.releases for claim in claims_of(release)]
        return not all(isinstance(claim, Certificate) for claim in claims)

    def _sum(self) -> Cost:
        total = Cost()
        for release, count in self.releases:
            total += Cost.of(release).times(count)
        return total

    def _parts(self) -> Iterator[Releases]:
        for release, count in self.releases:
            for claim in claims_of(release):
                if not isinstance(claim, Certificate):  # as `composes_by_sums` says
                    why = "unlisted groups and quantiles only compose by sums of budgets"
                    raise NotApplicable(family="noise", why=why)
                draws = claim.releases
                yield draws.times(count)

    def to_json(self) -> str:
        """The plan as JSON text; every number is exact."""
        record = {
            "kind": "preregistered",
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "releases": [
                {"count": count, "certificate": json.loads(release.to_json())}
                for release, count in self.releases
            ],
        }
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str) -> Preregistered:
        """Read the output of `to_json`, without proving it.

        Raises InvalidInput if it isn't JSON, and CertificateRejected if it isn't a plan.
        """
        fields = exact_fields(parse_object(text), _FIELDS, where="plan")
        if fields["kind"] != "preregistered":
            raise CertificateRejected(
                'Expected a file of the kind "preregistered", which lists the releases of a plan.'
            )
        releases = [
            exact_fields(entry, ("count", "certificate"), where="release")
            for entry in require_type(fields["releases"], list, where="releases")
        ]
        try:
            return cls(
                budget=read_budget(fields),
                releases=tuple(
                    (_read_certificate(entry["certificate"]), entry["count"]) for entry in releases
                ),
            )
        except ValueError as error:
            raise CertificateRejected(str(error)) from error


def require_certificate(value: object, *, name: str = "release") -> Certified:
    """Return `value` if it is a Certificate or a PlanCertificate; else raise InvalidArgument."""
    like, hint = "a Certificate or a PlanCertificate", "A mechanism has one: mechanism.certificate."
    return _validate.instance(
        value, (Certificate, PlanCertificate), name=name, like=like, hint=hint
    )


def claims_of(release: Certified) -> tuple[Claim, ...]:
    """The certificates of all draws of noise in a release."""
    if isinstance(release, PlanCertificate):
        return tuple(claim for _, claim in release.draws)
    return (release,)


def verify_once(release: Certified) -> None:
    """Prove `release`, unless all its certificates were proved earlier in this process.

    In that case only their composition is proved again. Raises CertificateRejected if `release`
    doesn't hold.
    """
    proved = all(claim.proved for claim in claims_of(release))
    if isinstance(release, PlanCertificate):
        proved = proved and _is_composed(release)
    if not proved:
        release.verify()


def _is_composed(plan: PlanCertificate) -> bool:
    """True if the budgets and laws of the draws prove exactly what the plan states."""
    try:
        composed = PlanCertificate.prove(
            budget=plan.budget, draws=plan.draws, releases=plan.releases, rho=plan.rho
        )
    except NotCertified:
        return False
    return composed == plan


def _read_certificate(record: Any) -> Certified:
    if isinstance(record, dict) and record.get("kind") == "plan-certificate":
        return PlanCertificate.from_record(record)
    return Certificate.from_record(record)
