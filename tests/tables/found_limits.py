"""A limit that a release finds: rows, a spec, and a certificate with small plans."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import leastnoise as ln
from leastnoise.certificate.limits import LimitCertificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.guarantees.budget import Budget

CANDIDATES = (1, 2, 5, 10)


def finds(
    share: str = "0.1", candidates: Sequence[int] = CANDIDATES, **more: Any
) -> dict[str, Any]:
    return {"find": True, "share": share, "candidates": [*candidates]} | more


@cache
def small_plan() -> PlanCertificate:
    """A plan of one Laplace draw with ε = 9/10."""
    proved = ln.calibrate("laplace", epsilon="0.9", sensitivity=ln.L1(1)).certificate
    return PlanCertificate.prove(budget=Budget(epsilon="0.9", delta=0), draws=(("q", proved),))


def claimed(
    noise: Sequence[int | Fraction], candidates: Sequence[int] = CANDIDATES
) -> LimitCertificate:
    """The certificate of a choice of a limit with ε = 1/10, followed by a plan with ε = 9/10."""
    return LimitCertificate.best(
        budget=Budget(epsilon=1, delta=0),
        epsilon=Fraction(1, 10),
        candidates=candidates,
        noise=[*map(Fraction, noise)],
        plans=[small_plan()] * len(candidates),
        neighbours="add-remove",
    )


def cut_off(sizes: Sequence[int], candidates: Sequence[int] = CANDIDATES) -> list[int]:
    """For each candidate limit, the number of rows that it cuts off from units of these sizes."""
    return [sum(max(0, size - most) for size in sizes) for most in candidates]
