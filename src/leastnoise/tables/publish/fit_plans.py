"""The plans of several releases that meet one budget together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.errors import InvalidArgument, NotCertified, Refused
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.guarantees.budget import Budget
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.publish.release import Progress, Release

# Accounting is imported where it is used: it takes half a second.
# ruff: noqa: PLC0415


def fit_plans(
    releases: Sequence[tuple[Release, int]], budget: Budget, *, progress: Progress | None = None
) -> list[Plan]:
    """The plans of `releases` that together meet `budget`, with each ε times one common factor.

    Each release comes with the number of times that it is published. The δ of the specs stay the
    same. The factor is within .5 % of the largest that can be proved, if proofs of larger factors
    imply proofs of smaller ones. Raises Refused if no factor is proved, InvalidArgument for a spec
    whose ε isn't a number above 0, and the errors of `plan`.
    """
    from leastnoise.guarantees.exact import decimal_text
    from leastnoise.ledger.preregistered import Preregistered
    from leastnoise.numerics.bisection import Bisection

    for release, _ in releases:
        if (rho := release.spec.privacy.rho) is not None:
            expected = "specs with epsilon, as a rho can't be scaled"
            raise InvalidArgument(name="specs", value=f"rho={decimal_text(rho)}", expected=expected)
        if (given := release.spec.privacy.epsilon) == LEAST or not given:
            expected = "specs with a number above 0 for epsilon, whose proportions are kept"
            raise InvalidArgument(name="specs", value=given, expected=expected)
    counts = [count for _, count in releases]
    budgets = [(release.spec.budget, count) for release, count in releases]
    epsilon_sum = sum((part.epsilon * count for part, count in budgets), Fraction(0))
    delta_sum = sum((part.delta * count for part, count in budgets), Fraction(0))
    first = float(budget.epsilon / epsilon_sum)
    met: dict[int, list[Plan]] = {}
    # ratio of successive factors, and the largest number of steps from the factor of summed ε
    step, most = 1.005, 2000

    def exceeds(steps: int) -> bool:
        factor = first * step**steps
        plans = [release._scale(factor).plan() for release, _ in releases]  # noqa: SLF001 (the same class)
        certificates = [plan.certificate for plan in plans]
        whole = Preregistered(budget=budget, releases=zip(certificates, counts, strict=True))
        if whole.composes_by_sums and delta_sum > budget.delta:  # no ε can help
            raise Refused(
                f"The deltas of these releases add up to {decimal_text(delta_sum)}, which is "
                f"more than {decimal_text(budget.delta)}. Deltas must be summed if a release has "
                "groups that nobody listed, or quantiles. Give the specs a smaller delta."
            )
        try:
            whole.prove()
        except NotCertified:
            return True
        met[steps] = plans
        if progress is not None:
            progress(f"Proved with {factor:.4g} times the epsilon of each spec")
        return False

    Bisection().around(exceeds, 0, fails=-most, most=most)
    if not met:
        raise Refused(
            "No epsilon makes these releases meet the budget. Give the specs a smaller delta."
        )
    return met[max(met)]
