"""Releases that are fixed before the first of them is made: they compose tightly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, final

from leastnoise import _validate
from leastnoise._record import field, instance_of, record, takes
from leastnoise.accounting.proof.composed import bound_composed
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import Block, PlanCertificate
from leastnoise.certificate.records import exact_fields, parse_object, read_budget, typed
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.sensitivity import common_neighbours
from leastnoise.ledger.filters import Certified, Cost
from leastnoise.noise.question import ProvedDelta, Releases

_FIELDS = ("kind", "epsilon", "delta", "releases")


def _checked_releases(
    releases: Iterable[tuple[Certified, int]], *, name: str
) -> tuple[tuple[Certified, int], ...]:
    like = "pairs of a certificate and a count"
    found = tuple(
        (require_certificate(release, name=name), _validate.whole(count, name="count"))
        for release, count in _validate.pairs(releases, name=name, like=like)
    )
    if not found:
        raise InvalidArgument(name=name, value="none", expected="at least one release")
    return found


@final
@record()
class Preregistered:
    """The statement: each of `releases`, made at most as often as its count says, meets `budget`.

    All together, in any order, with queries chosen before or after seeing earlier outputs; their
    noise is fixed here. They may be interleaved with other charges of the same account: the whole
    is one interactive mechanism, and those compose as others do (Haney et al. 2023).

    Raises InvalidArgument without a release, or for a count below 1.
    """

    budget: Budget = field(converter=instance_of(Budget, like="a Budget"))
    releases: tuple[tuple[Certified, int], ...] = field(converter=takes(_checked_releases))

    @property
    def cost(self) -> Cost:
        """The cost of the whole: the stated budget, and the sum of what each costs as zCDP."""
        total = self._sum()
        return replace(total, epsilon=self.budget.epsilon, delta=self.budget.delta)

    def prove(self) -> None:
        """Prove every release, and that all meet the budget; raises NotCertified if they don't.

        Raises CertificateRejected if a release doesn't hold. Sums of budgets are tried first, then
        the composition of the laws (theory/accounting.md §1 A).
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
                why=f"The releases need epsilon={decimal_text(total.epsilon)} and delta="
                f"{decimal_text(total.delta)} by sums, and nothing tighter is proved: {error}",
            ) from error
        proved = ProvedDelta.within(enclosure)
        if not proved.certainly_at_most(self.budget.delta):
            raise NotCertified(
                interval=None,
                why=f"Not proved: at epsilon={decimal_text(self.budget.epsilon)} the releases "
                f"together have a delta of up to {proved.interval.upper!r}, asked was "
                f"{decimal_text(self.budget.delta)}.",
            )

    def index_of(self, release: Certified) -> int | None:
        """Return the place of `release` among the releases, None if it isn't one of them."""
        wanted = release.to_json()
        for index, (one, _) in enumerate(self.releases):
            if one.to_json() == wanted:
                return index
        return None

    @property
    def by_sums_alone(self) -> bool:
        """True if budgets only add up, as for groups that nobody listed and for quantiles."""
        blocks = [block for release, _ in self.releases for block in blocks_of(release)]
        return not all(isinstance(block, Certificate) for block in blocks)

    def _sum(self) -> Cost:
        total = Cost()
        for release, count in self.releases:
            total += Cost.of(release).times(count)
        return total

    def _parts(self) -> Iterator[Releases]:
        for release, count in self.releases:
            for block in blocks_of(release):
                if not isinstance(block, Certificate):  # as `by_sums_alone` says
                    why = "unlisted groups and quantiles are charged by sums of budgets alone"
                    raise NotApplicable(family="noise", why=why)
                one = block.releases
                yield one.times(count)

    def to_json(self) -> str:
        """Return the plan as JSON text; every number is exact."""
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
        """Read what `to_json` wrote, not yet proved; raises CertificateRejected."""
        fields = exact_fields(parse_object(text), _FIELDS, where="plan")
        if fields["kind"] != "preregistered":
            raise CertificateRejected("Expected the releases of a plan.")
        releases = [
            exact_fields(one, ("count", "certificate"), where="release")
            for one in typed(fields["releases"], list, where="releases")
        ]
        try:
            return cls(
                budget=read_budget(fields),
                releases=tuple((_certified(one["certificate"]), one["count"]) for one in releases),
            )
        except ValueError as error:
            raise CertificateRejected(str(error)) from error


def require_certificate(value: object, *, name: str = "release") -> Certified:
    """Return `value` if it is a certificate of either kind; raises InvalidArgument."""
    like, hint = "a Certificate or a PlanCertificate", "A mechanism has one: mechanism.certificate."
    return _validate.instance(
        value, (Certificate, PlanCertificate), name=name, like=like, hint=hint
    )


def blocks_of(release: Certified) -> tuple[Block, ...]:
    """Return the certificates of a release's draws of noise."""
    if isinstance(release, PlanCertificate):
        return tuple(block for _, block in release.blocks)
    return (release,)


def verify_once(release: Certified) -> None:
    """Prove `release`, but for what was proved in this process; raises CertificateRejected."""
    if isinstance(release, PlanCertificate) and all(one.proved for one in blocks_of(release)):
        PlanCertificate.prove(
            budget=release.budget, blocks=release.blocks, releases=release.releases
        )
    elif not (isinstance(release, Certificate) and release.proved):
        release.verify()


def _certified(record: Any) -> Certified:
    if isinstance(record, dict) and record.get("kind") == "plan-certificate":
        return PlanCertificate.from_record(record)
    return Certificate.from_record(record)
