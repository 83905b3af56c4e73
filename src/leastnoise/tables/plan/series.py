"""What a plan says of a series: what its releases have together, and what one of them has."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise.accounting.composition import Composition
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.exact import printed_at_least

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.tables.plan.plan import Plan

EACH_NOTE = (
    "Limits are those of each release: all together protect who is in every one of them as well."
)


def find_epsilon_of_one(certificate: PlanCertificate) -> float:
    """Return an ε that one release of the series has alone, at the δ of all, rounded up.

    Losses add up at δ = 0; else it is the least that is proved of its draws together, and that of
    the whole series where none is.
    """
    budget, blocks = certificate.budget, [block for _, block in certificate.blocks]
    draws = [block for block in blocks if isinstance(block, Certificate)]
    others = [block.budget for block in blocks if not isinstance(block, Certificate)]
    apart = sum((one.epsilon for one in others), Fraction(0))
    if not budget.delta:
        pure = sum((draw.budget.epsilon for draw in draws), Fraction(0)) / certificate.releases
        return printed_at_least(apart + pure)
    left = budget.delta - sum((one.delta for one in others), Fraction(0))
    parts = tuple(draw.one_release for draw in draws)
    try:
        own = Composition(parts=parts).epsilon(delta=left).upper if parts else 0.0
    except (NotApplicable, InvalidArgument):
        return printed_at_least(budget.epsilon)
    return printed_at_least(min(apart + Fraction(own), budget.epsilon))


def list_sentences(plan: Plan) -> Iterator[str]:
    """Yield what a series promises, in sentences."""
    one = plan.epsilon_of_one
    if one is None:
        return
    alone = _words.private(Fraction(one), plan.budget.delta)
    yield f"{whole(plan)} One of them alone has {alone}. {EACH_NOTE}"


def whole(plan: Plan) -> str:
    """Return what the release has, or all of a series together, in a sentence."""
    guarantee, releases = _words.private(plan.budget.epsilon, plan.budget.delta), plan.releases
    if releases == 1:
        return f"The whole release has {guarantee}."
    return f"All {releases:,} releases together have {guarantee}."


def to_record(plan: Plan) -> dict[str, Any]:
    """Return it as JSON values; {} of one release."""
    if plan.releases == 1:
        return {}
    return {"series": {"releases": plan.releases, "epsilon_of_one": plan.epsilon_of_one}}
