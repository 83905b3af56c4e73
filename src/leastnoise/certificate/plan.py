"""A certificate for several queries released under one budget."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Self, final, get_args

from leastnoise import _validate, _words
from leastnoise._record import (
    derived,
    field,
    instance_of,
    one_of,
    optional,
    record,
    takes,
    whole,
)
from leastnoise.accounting.proof.composed import (
    bound_composed,
    gaussian_square,
    is_gaussian,
    prove_composed,
)
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.limits import LimitCertificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.certificate.records import (
    VERSION,
    check_header,
    exact_fields,
    number,
    parse_object,
    read_budget,
    require_type,
)
from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.certificate.unlisted import KeysCertificate, ThresholdCertificate
from leastnoise.errors import (
    CertificateRejected,
    InvalidArgument,
    NotApplicable,
    NotCertified,
)
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval, decimal_text, exact
from leastnoise.guarantees.fields import FractionOrNoneField
from leastnoise.guarantees.sensitivity import Neighbours, common_neighbours
from leastnoise.noise.question import ProvedDelta, Releases

RULE = "basic composition: epsilons and deltas add up"
COMPOSED = "tight composition: all draws of noise together, their laws fixed in advance"
_FIELDS = ("kind", "version", "epsilon", "delta", "rule", "draws")
_RELEASES = "releases"  # a field of certificates about a series only
_RHO = "rho"  # a field of certificates about a budget in ρ only

OfTable = (
    ThresholdCertificate
    | QuantileCertificate
    | KeysCertificate
    | SelectionCertificate
    | LimitCertificate
)
"""A certificate without a noise law: of a threshold, quantiles, keys, groups or a limit."""
Claim = Certificate | OfTable
"""The certificate of one draw: of noise, of a choice, or of a limit and all draws after it."""
Claims = tuple[tuple[str, Claim], ...]
"""The certificate of each draw, with its name: the labels of the queries that the draw serves."""


def _check_draws(draws: Claims, *, name: str) -> Claims:
    like = "pairs of a name and a Certificate"
    return tuple(
        (
            _validate.text(label, name=name),
            _validate.instance(
                certificate,
                (Certificate, *get_args(OfTable)),
                name=name,
                like=like,
            ),
        )
        for label, certificate in _validate.pairs(draws, name=name, like=like)
    )


@final
@record()
class PlanCertificate:
    """The statement that releasing all queries together, `releases` times, meets `budget`.

    There are two rules. RULE is basic composition: the ε and the δ of all draws' budgets add up to
    at most the budget's ε and δ, in exact fractions. With COMPOSED they may add up to more, but the
    joint privacy loss of all draws has at most the budget's δ at its ε. Certificates for unlisted
    groups, keys, quantiles, limits and selected groups aren't about a noise law. Their budgets are
    always added up, and all other draws together meet the rest of the budget.

    In a series, the certificate of a draw covers all `releases`, and so does its budget. The
    budgets of certificates without a law count once per release.

    With `rho` the certificate also states that all releases together are ρ-zCDP. Then all noise is
    Gaussian. A draw with sensitivity Δ and standard deviation σ costs Δ²/(2σ²), and all draws
    together cost at most ρ.

    Args:
        budget: Budget of everything together.
        draws: Pairs of a draw's name and its certificate. A name lists the queries that it serves.
        rule: RULE or COMPOSED.
        releases: Number of releases of a series.
        rho: The parameter ρ of zero-concentrated differential privacy; None makes no such
            statement.

    Source:
        Dwork & Roth (2014), Theorem 3.16; theory/accounting.md §1 A. Bun & Steinke (2016),
        Proposition 1.6 and Lemma 1.7.
    """

    budget: Budget = field(converter=instance_of(Budget, like="a Budget"))
    draws: Claims = field(converter=takes(_check_draws))
    rule: str = field(converter=one_of((RULE, COMPOSED)), default=RULE)
    releases: int = field(converter=whole(), default=1)
    rho: FractionOrNoneField = field(converter=optional(takes(exact)), default=None)
    version: int = derived(lambda _: VERSION)

    def __repr__(self) -> str:
        guarantee = _words.format_guarantee(self.budget.epsilon, self.budget.delta, self.rho)
        queries = _words.count_noun(len(self.draws), "query", "queries")
        queries += "" if self.releases == 1 else f", {self.releases:,} releases"
        how = self.rule.partition(":")[0]
        text = f"{queries} together {guarantee} by {how}; see verify()"
        return _words.line("PlanCertificate", text)

    @property
    def neighbours(self) -> Neighbours | None:
        """The neighbours that the statement is about; see `Certificate.neighbours`.

        Raises NotApplicable if the queries are about different neighbours. None if no draw states
        any.
        """
        return common_neighbours(claim.neighbours for _, claim in self.draws)

    @classmethod
    def prove(
        cls, *, budget: Budget, draws: Claims, releases: int = 1, rho: Fraction | None = None
    ) -> Self:
        """Prove that the queries meet the budget: by RULE if possible, else by COMPOSED.

        With `rho` the rule is COMPOSED. RULE only adds up the budgets of the draws: their own
        certificates are not proved again, which `verify` does. The same holds for all draws without
        a noise law.

        Args:
            budget: Budget of everything together.
            draws: Pairs of a draw's name and its certificate.
            releases: Number of releases of a series.
            rho: The ρ that the draws meet together as well; None for no such statement.

        Returns:
            The certificate.

        Raises:
            NotCertified: Neither rule proves the budget, the draws exceed ρ, don't cover all
                releases or are about different neighbours, or there are no draws or two of one
                name.

        """
        plan = cls(budget=budget, draws=draws, releases=releases, rho=rho)
        if why := plan._why_not_names() or plan._why_not_series() or plan._why_not_rho():
            raise NotCertified(interval=None, why=why)
        try:
            _ = plan.neighbours
        except NotApplicable as error:
            raise NotCertified(interval=None, why=str(error)) from error
        why = plan._why_not_sums() if rho is None else ""
        if not why and rho is None:
            return plan
        plan = replace(plan, rule=COMPOSED)
        try:
            rest = _remaining_budget(plan)
            proved = ProvedDelta.within(bound_composed(_laws(draws), rest.epsilon))
        except (NotApplicable, InvalidArgument) as error:
            raise NotCertified(interval=None, why=f"{why} {error}") from error
        if not proved.certainly_at_most(rest.delta):
            upper = proved.interval.upper
            why += f" Together their delta is up to {upper!r} at that epsilon."
            raise NotCertified(interval=None, why=why)
        return plan

    def verify(self) -> Interval:
        """Prove every query's certificate and the rule again.

        Returns:
            An interval whose upper end bounds the δ of everything together at the budget's ε. With
            RULE, the interval contains the sum of the δ of all draws, each at its own ε.

        Raises:
            CertificateRejected: Some part is false or not proved; the message has the reason.

        """
        if why := self._why_not_names() or self._why_not_series() or self._why_not_rho():
            raise CertificateRejected(why)
        try:
            _ = self.neighbours
        except NotApplicable as error:
            raise CertificateRejected(str(error)) from error
        if self.rule == RULE and (why := self._why_not_sums()):
            raise CertificateRejected(why)
        total_lower = total_upper = Fraction(0)
        for name, certificate in self.draws:
            try:
                fresh = certificate.verify()
            except CertificateRejected as error:
                raise CertificateRejected(f"Query {name!r}: {error}") from error
            times = times_spent(self, certificate)
            total_lower += times * Fraction(fresh.lower)
            total_upper += times * Fraction(fresh.upper)

        if self.rule == RULE:
            return _round_outward(total_lower, total_upper)
        return self._verify_composed()

    def _verify_composed(self) -> Interval:
        """Prove that all draws with a noise law together meet the remaining budget.

        Raises CertificateRejected without a proof.
        """
        try:
            rest = _remaining_budget(self)
            proved = prove_composed(_laws(self.draws), rest.epsilon)
        except (NotApplicable, InvalidArgument) as error:
            raise CertificateRejected(str(error)) from error
        fresh = proved.interval
        if not proved.certainly_at_most(rest.delta):
            raise CertificateRejected(
                f"At epsilon={decimal_text(rest.epsilon)}, delta of all queries together is in "
                f"[{fresh.lower!r}, {fresh.upper!r}], but the certificate claims "
                f"{decimal_text(rest.delta)}."
            )
        without_law = self.budget.delta - rest.delta  # of draws that were each verified
        return _round_outward(Fraction(fresh.lower), Fraction(fresh.upper) + without_law)

    def _why_not_names(self) -> str:
        """The reason to reject the draws' names: no names, or two equal names; otherwise ""."""
        names = {name for name, _ in self.draws}
        if not names or len(names) < len(self.draws):
            return "A plan needs at least one query, and each query its own name."
        return ""

    def _why_not_series(self) -> str:
        """Name a draw that doesn't cover all releases of the series; "" if every draw does."""
        if self.releases == 1:  # a single release may have draws with several compositions
            return ""
        for name, claim in self.draws:
            if isinstance(claim, Certificate) and claim.compositions != self.releases:
                releases = _words.count_noun(claim.compositions, "release")
                return f"Query {name!r} is about {releases}, the series has {self.releases:,}."
        return ""

    def _why_not_rho(self) -> str:
        """The reason why the draws aren't proved to be ρ-zCDP together; "" if they are.

        It is "" without a `rho`, too.
        """
        if self.rho is None:
            return ""
        try:
            laws = [claim.releases for _, claim in self.draws if isinstance(claim, Certificate)]
        except NotApplicable as error:
            return str(error)
        if len(laws) < len(self.draws) or not is_gaussian(laws):
            return "Only Gaussian noise in all rows has a rho that is known exactly."
        spent = gaussian_square(laws, inner=False) / 2
        if spent > self.rho:
            return (
                f"The draws have rho={float(spent)!r} together, more than {decimal_text(self.rho)}."
            )
        return ""

    def _why_not_sums(self) -> str:
        """The reason why RULE doesn't prove the plan; "" if it does.

        RULE never holds for several draws from one sample: an earlier output may reveal who is in
        the sample.
        """
        several = len(self.draws) > 1
        if several and any(claim.sampling_rate != 1 for _, claim in self.draws):
            return "Basic composition doesn't hold for several draws from one sample."
        for part in ("epsilon", "delta"):
            spent = sum(
                (times_spent(self, claim) * getattr(claim.budget, part) for _, claim in self.draws),
                Fraction(0),
            )
            if spent > getattr(self.budget, part):
                return (
                    f"The queries spend {part}={decimal_text(spent)} in all, more than "
                    f"{decimal_text(getattr(self.budget, part))}."
                )
        return ""

    def to_json(self) -> str:
        """The certificate as JSON text.

        Returns:
            A JSON object, in which every number is exact.

        """
        optional_fields: dict[str, int | str] = {}
        if self.releases > 1:
            optional_fields |= {_RELEASES: self.releases}
        if self.rho is not None:
            optional_fields |= {_RHO: decimal_text(self.rho)}
        record = optional_fields | {
            "kind": "plan-certificate",
            "version": self.version,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "rule": self.rule,
            "draws": [
                {"name": name, "certificate": claim.to_record()} for name, claim in self.draws
            ],
        }
        return json.dumps(record, indent=2)

    @classmethod
    def from_json(cls, text: str) -> PlanCertificate:
        """Read the output of `to_json`, without proving it.

        Args:
            text: JSON text.

        Returns:
            The certificate.

        Raises:
            InvalidInput: The text isn't JSON, or is too long.
            CertificateRejected: Fields are unknown, missing, duplicate, or have wrong values.

        """
        return cls.from_record(parse_object(text))

    @classmethod
    def from_record(cls, record: object) -> PlanCertificate:
        """Read a parsed JSON object; see `from_json`.

        Args:
            record: The object that `json.loads` returns for the text of `to_json`.

        Returns:
            The certificate.

        Raises:
            CertificateRejected: Fields are unknown, missing, or have wrong values.

        """
        present = record if isinstance(record, dict) else {}
        several = _RELEASES in present
        known = (*_FIELDS, *(name for name in (_RELEASES, _RHO) if name in present))
        fields = exact_fields(record, known, where="plan certificate")
        check_header(fields, kind="plan-certificate")
        if fields["rule"] not in (RULE, COMPOSED):
            raise CertificateRejected("The certificate's composition rule is unknown.")
        draws = require_type(fields["draws"], list, where="draws")
        releases = require_type(fields.get(_RELEASES, 1), int, where=_RELEASES)
        if several and releases < 2:
            raise CertificateRejected("A series has at least 2 releases.")
        try:
            return cls(
                budget=read_budget(fields),
                draws=tuple(_read_draw(draw) for draw in draws),
                rule=fields["rule"],
                releases=releases,
                rho=number(fields[_RHO], where=_RHO) if _RHO in fields else None,
            )
        except ValueError as error:  # every InvalidArgument is one
            raise CertificateRejected(str(error)) from error


def read_certificate(text: str) -> Certificate | PlanCertificate:
    """Read a Certificate or a PlanCertificate from JSON. Raises like `Certificate.from_json`."""
    record = parse_object(text)
    if record.get("kind") == "plan-certificate":
        return PlanCertificate.from_record(record)
    return Certificate.from_record(record)


def times_spent(plan: PlanCertificate, claim: Claim) -> int:
    """The number of times that a draw's budget counts: 1 if it has a law, else once per release."""
    return 1 if isinstance(claim, Certificate) else plan.releases


def _remaining_budget(plan: PlanCertificate) -> Budget:
    """The budget that draws without a law leave.

    Raises InvalidArgument if it is negative, or 0 in both parts.
    """
    epsilon, delta = plan.budget.epsilon, plan.budget.delta
    for _, claim in plan.draws:
        if not isinstance(claim, Certificate):
            epsilon -= plan.releases * claim.budget.epsilon
            delta -= plan.releases * claim.budget.delta
    return Budget(epsilon=epsilon, delta=delta)


def _laws(draws: Claims) -> tuple[Releases, ...]:
    """The laws of all draws that have one.

    Raises NotApplicable if no draw has a law, or if a draw is from a sample.
    """
    claims = [claim for _, claim in draws if isinstance(claim, Certificate)]
    for claim in claims:
        if claim.sampling_rate != 1:
            why = "the losses of draws from a sample aren't proved together"
            raise NotApplicable(family=claim.noise.name, why=why)
    if not claims:
        why = (
            "thresholds, chosen quantiles and selected groups only compose by sums of their budgets"
        )
        raise NotApplicable(family="noise", why=why)
    return tuple(claim.releases for claim in claims)


def _read_draw(record: object) -> tuple[str, Claim]:
    fields = exact_fields(record, ("name", "certificate"), where="draw")
    name = require_type(fields["name"], str, where="draw.name")
    content = fields["certificate"]
    kind = content.get("kind") if isinstance(content, dict) else None
    for known in get_args(OfTable):
        if kind == known.kind:
            return name, known.from_record(content)
    return name, Certificate.from_record(content)


def _round_outward(lower: Fraction, upper: Fraction) -> Interval:
    """Round both ends outward; `float` would round to nearest."""
    low, high = float(lower), float(upper)
    if Fraction(low) > lower:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < upper:
        high = math.nextafter(high, math.inf)
    return Interval(low, high)
