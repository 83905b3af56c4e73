"""Certificates of ordinary noise at many sensitivities, with bounds that aren't 1.

A square that is mistaken for a product shows at a bound of 3, and "all of them" for "some of them"
at 2 of 3 queries.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import leastnoise as ln
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import Sensitivity

GAUSSIAN, L2 = ("gaussian", "1e-5"), ("l2", "0.01")
PURE = [(name, "0") for name in ("laplace", "k-norm", "k-staircase", "two-sided-staircase")]
TREES = (([3], 3), ([2, 3], 6), ([2, 2, 2], 8), ([1, 4], 4))


def _counts() -> Iterator[tuple[str, Sensitivity, int]]:
    for neighbours in ("add-remove", "replace-one"):
        for queries, most in ((1, 1), (2, 1), (3, 1), (3, 2), (3, 3), (6, 2)):
            for total in (False, True):
                if total and neighbours == "replace-one":
                    continue
                counts = ln.CountingQueries(
                    bound=3,
                    dimension=queries,
                    max_nonzero=most,
                    neighbours=neighbours,
                    with_total=total,
                )
                name = f"{most} of {queries} {neighbours}{' and the total' * total}"
                yield name, counts, queries + total


def _others() -> Iterator[tuple[str, Sensitivity, int]]:
    for d in (1, 3):
        yield f"l1 of {d}", ln.L1(3), d
        yield f"l2 of {d}", ln.L2(3), d
        for l0 in range(1, d + 1):
            for whole in (False, True):
                yield f"{l0} of {d} whole {whole}", ln.Linf(3, l0=l0, whole=whole), d
        for neighbours in ("add-remove", "replace-one"):
            yield f"3 rows in {d} {neighbours}", ln.RowCounts(3, neighbours=neighbours), d
    yield "a whole number", ln.Integer(3), 1


@cache
def records() -> dict[str, dict[str, Any]]:
    """A certificate of each family that applies to a sensitivity, by name."""
    known = {}
    for name, sensitivity, dimension in (*_counts(), *_others()):
        for noise, delta in (GAUSSIAN, L2, *PURE, ("geometric", "0"), ("staircase", "0")):
            try:
                mechanism = ln.calibrate(
                    noise, epsilon=1, delta=delta, sensitivity=sensitivity, dimension=dimension
                )
            except NotApplicable:
                continue
            known[f"{noise}, {name}"] = json.loads(mechanism.certificate.to_json())
    for neighbours in ("add-remove", "replace-one"):
        for branches, cells in TREES:
            levels = len(branches) + 1
            shape = {"branches": branches, "shares": [f"0.{n}" for n in range(1, levels + 1)]}
            mechanism = ln.calibrate(
                "agreeing",
                epsilon=1,
                sensitivity=ln.RowCounts(3, neighbours=neighbours),
                dimension=cells,
                parameters=shape,
            )
            name = f"a tree of {branches}, {neighbours}"
            known[name] = json.loads(mechanism.certificate.to_json())
    return known
