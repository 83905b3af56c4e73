"""A certificate for a release of several blocks under one budget."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Self, final

from leastnoise import _validate, _words
from leastnoise._record import derived, field, instance_of, one_of, record, takes, whole
from leastnoise.accounting.proof.composed import bound_composed, prove_composed
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.certificate.records import (
    VERSION,
    check_header,
    exact_fields,
    parse_object,
    read_budget,
    typed,
)
from leastnoise.certificate.unlisted import KeysCertificate, ThresholdCertificate
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    NotApplicable,
    NotCertified,
)
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval, decimal_text
from leastnoise.guarantees.sensitivity import Neighbours, common_neighbours
from leastnoise.noise.question import ProvedDelta, Releases

RULE = "basic composition: epsilons and deltas add up"
COMPOSED = "tight composition: all draws of noise together, their laws fixed in advance"
_FIELDS = ("kind", "version", "epsilon", "delta", "rule", "blocks")
_RELEASES = "releases"  # a field of those alone that are about several

Block = Certificate | ThresholdCertificate | QuantileCertificate | KeysCertificate
"""A draw of noise that is published, or is where it reaches a threshold; or what is chosen."""
Blocks = tuple[tuple[str, Block], ...]


def _checked_blocks(blocks: Blocks, *, name: str) -> Blocks:
    like = "pairs of a name and a Certificate"
    return tuple(
        (
            _validate.text(block, name=name),
            _validate.instance(
                certificate,
                (Certificate, ThresholdCertificate, QuantileCertificate, KeysCertificate),
                name=name,
                like=like,
            ),
        )
        for block, certificate in _validate.pairs(blocks, name=name, like=like)
    )


@final
@record()
class PlanCertificate:
    """The statement: releasing all `blocks` together, `releases` times, meets `budget`.

    `blocks` are pairs of a name and the certificate of its one noise draw: what that draw is worth
    alone. By the `rule` RULE, basic composition (Dwork & Roth 2014, Theorem 3.16): Σεᵢ <= ε and
    Σδᵢ <= δ, in exact fractions. By COMPOSED the blocks' budgets may add up to more: the laws of
    all draws together have δ(ε) <= δ (theory/accounting.md §1 A). Blocks of groups that nobody
    listed, and of chosen quantiles, have no such law: by either rule they count with their own
    budgets, and the other draws together meet what these leave.

    Of a series the certificate of a draw is about as many `compositions` as there are `releases`,
    and its budget that of all of them; blocks without a law count as often with their own budgets.
    """

    budget: Budget = field(converter=instance_of(Budget, like="a Budget"))
    blocks: Blocks = field(converter=takes(_checked_blocks))
    rule: str = field(converter=one_of((RULE, COMPOSED)), default=RULE)
    releases: int = field(converter=whole(), default=1)
    version: int = derived(lambda _: VERSION)

    def __repr__(self) -> str:
        said = _words.format_guarantee(self.budget.epsilon, self.budget.delta)
        blocks = _words.count_noun(len(self.blocks), "query", "queries")
        blocks += "" if self.releases == 1 else f", {self.releases:,} releases"
        how = self.rule.partition(":")[0]
        return _words.line("PlanCertificate", f"{blocks} together {said} by {how}; see verify()")

    @property
    def neighbours(self) -> Neighbours | None:
        """The neighbours that the statement is about; see `Certificate.neighbours`.

        Raises NotApplicable if the blocks are about different ones.
        """
        return common_neighbours(block.neighbours for _, block in self.blocks)

    @classmethod
    def prove(cls, *, budget: Budget, blocks: Blocks, releases: int = 1) -> Self:
        """Return the certificate, by sums if they do; raises NotCertified if nothing does."""
        plan = cls(budget=budget, blocks=blocks, releases=releases)
        if why := plan._why_not_all():
            raise NotCertified(interval=None, why=why)
        try:
            _ = plan.neighbours
        except NotApplicable as error:
            raise NotCertified(interval=None, why=str(error)) from error
        why = plan._why_not_sums()
        if not why:
            return plan
        plan = replace(plan, rule=COMPOSED)
        try:
            left = _left(plan)
            proved = ProvedDelta.within(bound_composed(_draws(blocks), left.epsilon))
        except (NotApplicable, InvalidArgument) as error:
            raise NotCertified(interval=None, why=f"{why} {error}") from error
        if not proved.certainly_at_most(left.delta):
            upper = proved.interval.upper
            why += f" Together their delta is up to {upper!r} at that epsilon."
            raise NotCertified(interval=None, why=why)
        return plan

    def verify(self) -> Interval:
        """Prove every block and the rule again; return an enclosure of the total δ spent.

        Raises CertificateRejected, naming the block, if any part is false or not proved.
        """
        names = [name for name, _ in self.blocks]
        if not names or len(set(names)) != len(names):
            raise CertificateRejected("A plan needs at least one query, and a name for each.")
        if why := self._why_not_all():
            raise CertificateRejected(why)
        try:
            _ = self.neighbours
        except NotApplicable as error:
            raise CertificateRejected(str(error)) from error
        if self.rule == RULE and (why := self._why_not_sums()):
            raise CertificateRejected(why)
        total_lower = total_upper = Fraction(0)
        for name, certificate in self.blocks:
            try:
                fresh = certificate.verify()
            except CertificateRejected as error:
                raise CertificateRejected(f"Query {name!r}: {error}") from error
            times = times_spent(self, certificate)
            total_lower += times * Fraction(fresh.lower)
            total_upper += times * Fraction(fresh.upper)
        return _outward(total_lower, total_upper) if self.rule == RULE else self._composed()

    def _composed(self) -> Interval:
        """Prove the draws together; raises CertificateRejected if they need more than is left."""
        try:
            left = _left(self)
            proved = prove_composed(_draws(self.blocks), left.epsilon)
        except (NotApplicable, InvalidArgument) as error:
            raise CertificateRejected(str(error)) from error
        found = proved.interval
        if not proved.certainly_at_most(left.delta):
            raise CertificateRejected(
                f"The queries together have delta in [{found.lower!r}, {found.upper!r}] at epsilon="
                f"{decimal_text(left.epsilon)}; the certificate claims {decimal_text(left.delta)}."
            )
        apart = self.budget.delta - left.delta  # of blocks without a law, each of them verified
        return _outward(Fraction(found.lower), Fraction(found.upper) + apart)

    def _why_not_all(self) -> str:
        """Return which draw isn't about all releases of a series; "" if each is."""
        if self.releases == 1:  # a plan of draws that are used so often, whoever counts that
            return ""
        for name, block in self.blocks:
            if isinstance(block, Certificate) and block.compositions != self.releases:
                told = _words.count_noun(block.compositions, "release")
                return f"Query {name!r} is about {told}, the series has {self.releases:,}."
        return ""

    def _why_not_sums(self) -> str:
        """Return why budgets don't add up to this; "" if they do.

        Of blocks of one sample they never do: what one tells of who is in it is there for the next.
        """
        several = len(self.blocks) > 1
        if several and any(block.sampling_rate != 1 for _, block in self.blocks):
            return "Basic composition isn't true of several draws of one sample."
        for part in ("epsilon", "delta"):
            spent = sum(
                (
                    times_spent(self, block) * getattr(block.budget, part)
                    for _, block in self.blocks
                ),
                Fraction(0),
            )
            if spent > getattr(self.budget, part):
                return (
                    f"The queries spend {part}={decimal_text(spent)} in all, more than "
                    f"{decimal_text(getattr(self.budget, part))}."
                )
        return ""

    def to_json(self) -> str:
        """Return the certificate as JSON text; every number is exact."""
        record = ({} if self.releases == 1 else {_RELEASES: self.releases}) | {
            "kind": "plan-certificate",
            "version": self.version,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "rule": self.rule,
            "blocks": [
                {"name": name, "certificate": block.to_record()} for name, block in self.blocks
            ],
        }
        return json.dumps(record, indent=2)

    @classmethod
    def from_json(cls, text: str) -> PlanCertificate:
        """Read what `to_json` wrote; raises like `Certificate.from_json`."""
        return cls.from_record(parse_object(text))

    @classmethod
    def from_record(cls, record: object) -> PlanCertificate:
        """Read the JSON values that `to_json` writes as text; see `from_json`."""
        several = isinstance(record, dict) and _RELEASES in record
        known = (*_FIELDS, _RELEASES) if several else _FIELDS
        fields = exact_fields(record, known, where="plan certificate")
        check_header(fields, kind="plan-certificate")
        if fields["rule"] not in (RULE, COMPOSED):
            raise CertificateRejected("Unknown composition rule.")
        blocks = typed(fields["blocks"], list, where="blocks")
        releases = typed(fields.get(_RELEASES, 1), int, where=_RELEASES)
        if several and releases < 2:
            raise CertificateRejected("A series has 2 releases at least.")
        try:
            budget = read_budget(fields)
        except ValueError as error:
            raise CertificateRejected(str(error)) from error
        return cls(
            budget=budget,
            blocks=tuple(_block_of(block) for block in blocks),
            rule=fields["rule"],
            releases=releases,
        )


def read_certificate(text: str) -> Certificate | PlanCertificate:
    """Read either kind of certificate from JSON; raises like `Certificate.from_json`."""
    record = parse_object(text)
    if record.get("kind") == "plan-certificate":
        return PlanCertificate.from_record(record)
    return Certificate.from_record(record)


def times_spent(plan: PlanCertificate, block: Block) -> int:
    """Return how often a block's own budget is spent: that of a draw is one of all releases."""
    return 1 if isinstance(block, Certificate) else plan.releases


def _left(plan: PlanCertificate) -> Budget:
    """Return what blocks without a law leave; raises InvalidArgument if that is none."""
    epsilon, delta = plan.budget.epsilon, plan.budget.delta
    for _, block in plan.blocks:
        if not isinstance(block, Certificate):
            epsilon -= plan.releases * block.budget.epsilon
            delta -= plan.releases * block.budget.delta
    return Budget(epsilon=epsilon, delta=delta)


def _draws(blocks: Sequence[tuple[str, Block]]) -> tuple[Releases, ...]:
    """Return the draws of all blocks that have a law.

    Raises NotApplicable if there are none, and for those of one sample, which aren't of several.
    """
    draws = [block for _, block in blocks if isinstance(block, Certificate)]
    for block in draws:
        if block.sampling_rate != 1:
            why = "several draws of one sample aren't proved under subsampling"
            raise NotApplicable(family=block.noise.name, why=why)
    if not draws:
        why = "thresholds and chosen quantiles aren't composed more tightly than by sums"
        raise NotApplicable(family="noise", why=why)
    return tuple(block.releases for block in draws)


def _block_of(record: object) -> tuple[str, Block]:
    fields = exact_fields(record, ("name", "certificate"), where="block")
    name = typed(fields["name"], str, where="block.name")
    own = fields["certificate"]
    kind = own.get("kind") if isinstance(own, dict) else None
    for one in (ThresholdCertificate, KeysCertificate, QuantileCertificate):
        if kind == one.kind:
            return name, one.from_record(own)
    return name, Certificate.from_record(own)


def _outward(lower: Fraction, upper: Fraction) -> Interval:
    """Round both ends outward (a float sum of them would round to nearest)."""
    low, high = float(lower), float(upper)
    if Fraction(low) > lower:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < upper:
        high = math.nextafter(high, math.inf)
    return Interval(low, high)
