"""Certificates of ordinary noise at many sensitivities, with bounds that aren't 1.

A checker that confuses a square with a product fails at a bound of 3. A checker that confuses "all
queries" with "some queries" fails at 2 of 3 queries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import leastnoise as ln
from leastnoise.certificate.limits import LimitCertificate
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.certificate.records import write_record
from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.certificate.unlisted import CERTAIN, KeysCertificate, bound_basic
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Sensitivity

GAUSSIAN, L2 = ("gaussian", "1e-5"), ("l2", "0.01")
PURE = [(name, "0") for name in ("laplace", "k-norm", "k-staircase", "two-sided-staircase")]
TREES = (([3], 3), ([2, 3], 6), ([2, 2, 2], 8), ([1, 4], 4))


def _counts() -> Iterator[tuple[str, Sensitivity, int]]:
    for neighbours in ("add-remove", "replace-one"):
        for queries, most in ((1, 1), (2, 1), (3, 1), (3, 2), (3, 3), (6, 2), (8, 3)):
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
    for d in (1, 2, 3):
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
    """The certificates of all families that apply to each sensitivity, by name."""
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


@cache
def without_law() -> dict[str, dict[str, Any]]:
    """Certificates without a noise law, by name: of keys, with the smallest δ, and of limits."""
    parts = (1, 20, 333, 667, 980, 999, 1000)
    known: dict[str, dict[str, Any]] = {}
    for neighbours in NEIGHBOURS:
        for groups in (1, 2):
            epsilon = 3 * groups * (1 + (neighbours == "replace-one"))
            keys = KeysCertificate(
                budget=Budget(epsilon=epsilon, delta="0.9"),
                chances=[CERTAIN * part // 1000 for part in parts],
                groups=groups,
                neighbours=neighbours,
            )
            delta = Fraction(bound_basic(keys.chances, groups, Fraction(3 * groups)))
            delta *= 1 if neighbours == "add-remove" else 1 + Fraction(math.exp(3 * groups))
            budget = Budget(epsilon=epsilon, delta=delta * (1 + Fraction(1, 10**9)))
            tight = replace(keys, budget=budget).prove()
            known[f"keys of {groups}, {neighbours}"] = tight.to_record()
    law = ln.calibrate("gaussian", epsilon="0.5", delta="1e-5", sensitivity=ln.L1(1)).certificate
    plan = PlanCertificate.prove(
        budget=Budget(epsilon="0.5", delta="1e-5"), draws=(("counts", law),)
    )
    for neighbours in NEIGHBOURS:
        limit = LimitCertificate.best(
            budget=Budget(epsilon="0.75", delta="1e-5"),
            epsilon=Fraction(1, 4),
            candidates=(2, 5, 10),
            noise=[Fraction(1), Fraction(5, 2), Fraction(5)],
            plans=[plan] * 3,
            neighbours=neighbours,
        ).prove()
        known[f"limit, {neighbours}"] = limit.to_record()
    return known


@cache
def false_steps() -> dict[str, tuple[dict[str, Any], str]]:
    """Edits of `without_law` and the verdicts on them: false, or true at the edge of a proof."""
    known: dict[str, tuple[dict[str, Any], str]] = {}
    keys = without_law()["keys of 1, add-remove"] | {"epsilon": "20"}
    for first, last in ((5, 9), (9, 5)):  # first: chance with a single person; last: chance to miss
        middle = [1 << 31, CERTAIN - (1 << 31)]
        keys["chances"] = [first, *middle, CERTAIN - last, CERTAIN]
        name = f"chances of {first} and 1 - {last}"
        known[f"{name}, δ exactly"] = keys | {"delta": f"9/{CERTAIN}"}, "proved"
        known[f"{name}, δ too small"] = keys | {"delta": f"8/{CERTAIN}"}, "rejected"
        several = keys | {"groups": 2, "delta": "1e-7"}
        known[f"{name}, two groups"] = several, "not checked"
    selection = SelectionCertificate.best(
        epsilon=Fraction(1), rounds=10, candidates=11, neighbours="add-remove"
    ).to_record()
    known["10 of 11 selected"] = selection, "proved"
    known["10 of 10 selected"] = selection | {"candidates": 10}, "rejected"
    limit = without_law()["limit, add-remove"]
    plan = limit["plans"][0]
    law = plan["draws"][0]["certificate"]
    two = {"candidates": ["2", "5"], "noise": ["1", "2.5"], "plans": [plan] * 2}
    again = plan | {"draws": [{"name": "a", "certificate": limit | two}]} | {"epsilon": "0.75"}
    twice = ln.calibrate(
        "gaussian", epsilon="0.5", delta="1e-5", sensitivity=ln.L1(1), compositions=2
    ).certificate
    series = PlanCertificate.prove(
        budget=Budget(epsilon="0.5", delta="1e-5"), draws=(("counts", twice),), releases=2
    )
    replaced = [{"name": "a", "certificate": law | {"neighbours": "replace-one"}}]
    other = records()["laplace, l1 of 1"]
    together = plan | {
        "rule": "tight composition: all draws of noise together, their laws fixed in advance",
        "draws": [*plan["draws"], {"name": "a", "certificate": other}],
    }
    for name, edits, verdict in (
        ("two limits", two, "proved"),
        ("limits that fall", {"candidates": ["5", "2", "10"]}, "rejected"),
        ("a noise too few", {"noise": ["1", "2.5"]}, "rejected"),
        ("a plan too few", {"plans": [plan] * 2}, "rejected"),
        ("a limit again", {"plans": [plan, plan, again], "epsilon": "9"}, "rejected"),
        ("other neighbours", {"plans": [plan, plan, plan | {"draws": replaced}]}, "rejected"),
        ("an unproved plan", {"plans": [plan, together, plan]}, "not checked"),
        ("a draw for a plan", {"plans": [plan, law, plan]}, "rejected"),
        ("a series", {"plans": [plan, plan, json.loads(series.to_json())]}, "rejected"),
        ("one limit", {name: two[name][:1] for name in two}, "rejected"),
    ):
        known[name] = limit | edits, verdict
    return known


@cache
def quantiles() -> dict[str, tuple[dict[str, Any], str]]:
    """Certificates of quantiles that spend ε exactly, their edits, and the verdicts, by name."""
    known: dict[str, tuple[dict[str, Any], str]] = {}
    several = ("0.1", "0.2", "0.4", "0.7", "0.95")
    for neighbours in NEIGHBOURS:
        for groups in (1, 2):
            for levels in (("0.3",), ("0.1", "0.7"), several):
                record = QuantileCertificate.best(
                    epsilon=Fraction(1),
                    levels=tuple(map(Fraction, levels)),
                    candidates=50,
                    parts=4,
                    groups=groups,
                    reach=Fraction(3),
                    neighbours=neighbours,
                ).to_record()
                name = f"{len(levels)} quantiles in {groups}, {neighbours}"
                known[name] = record, "proved"
                known[f"{name}, ε too small"] = record | {"epsilon": "0.999999999"}, "rejected"
                rates = record["rates"]
                for i in range(len(rates)):
                    changed = [
                        *rates[:i],
                        f"{float(Fraction(rates[i])) * 1.001:.9g}",
                        *rates[i + 1 :],
                    ]
                    known[f"{name}, rate {i}"] = record | {"rates": changed}, "rejected"
    lowest, short, higher = ["1e-9", *rates[1:]], rates[:-1], ["1e9", *rates[1:]]
    known["a lower rate"] = record | {"rates": lowest}, "proved"
    known["a rate too few"] = record | {"rates": short}, "rejected"
    known["a much higher rate"] = record | {"rates": higher}, "rejected"
    known["levels that fall"] = record | {"levels": [*several[::-1]]}, "rejected"
    known["equal levels"] = record | {"levels": ["0.1", "0.1", *several[2:]]}, "rejected"
    known["a level of 0"] = record | {"levels": ["0", *several[1:]]}, "rejected"
    known["a level of 1"] = record | {"levels": [*several[:-1], "1"]}, "rejected"
    known["no parts"] = record | {"parts": 0}, "rejected"
    return known


@cache
def swapped() -> dict[str, dict[str, Any]]:
    """Certificates with a replaced sensitivity: some are true, others have no proof."""

    def counts(bound: int, most: int, queries: int, **about: Any) -> Sensitivity:
        return ln.CountingQueries(bound=bound, max_nonzero=most, dimension=queries, **about)

    known = {}
    for name, sensitivity, length, d in (
        ("3 counts and their total", counts(1, 3, 3, with_total=True), 2, 4),
        ("8 of 24 replaced", counts(1, 8, 24, neighbours="replace-one"), 4, 24),
        ("8 of 10 replaced", counts(1, 8, 10, neighbours="replace-one"), 4, 10),
    ):
        law = ln.calibrate(
            "gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(length), dimension=d
        )
        record = json.loads(law.certificate.to_json())
        known[f"gaussian, {name}"] = record | {"sensitivity": write_record(sensitivity)}
    number, total = write_record(ln.L2(3)), write_record(counts(3, 2, 2, with_total=True))
    known["whole noise, any shift"] = records()["geometric, a whole number"] | {
        "sensitivity": number
    }
    known["laplace, 2 counts and their total"] = records()["laplace, l1 of 3"] | {
        "sensitivity": total
    }
    for name, shifts in (
        ("2 of 3 numbers", ln.Linf(3, l0=2)),
        ("l2 of 3", ln.L2(3)),
        ("3 rows that move", ln.RowCounts(3, neighbours="replace-one")),
    ):  # their longest l1 is above 3
        known[f"laplace, {name}"] = records()["laplace, l1 of 3"] | {
            "sensitivity": write_record(shifts)
        }
    few = records()["gaussian, 3 of 3 add-remove"]
    known["more queries than there are"] = few | {
        "sensitivity": few["sensitivity"] | {"max_nonzero": 4}
    }
    tree = records()["a tree of [2, 2, 2], add-remove"]
    known["a tree of other cells"] = tree | {"dimension": 9}
    noise = json.loads(json.dumps(tree["noise"]))
    noise["parameters"]["branches"] = [2] * 8  # one a node, and one more
    known["a tree with one branch too many"] = tree | {"noise": noise}
    replaced = records()["gaussian, 3 of 3 add-remove and the total"]
    known["a replaced total"] = replaced | {
        "sensitivity": replaced["sensitivity"] | {"neighbours": "replace-one"}
    }
    return known
