"""Plans against the standard ways, from closed forms of their own: none has less noise.

The objective is that of docs/tables.md: Σ weight·ln(variance), over numbers that are scaled to what
one row adds. No standard way may be better in it, unless one block would have more noise than its
own share of the budget gives it: a plan never does that.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from leastnoise.noise.quantiles import variance_of
from leastnoise.tables import spec_file
from leastnoise.tables.plan import Plan, plan

CLOSE = 1e-3  # of the objective: what scales are rounded up by, and coarse accounting


def drawn(random: Random) -> dict[str, Any]:
    query = [_block(random, i) for i in range(random.randint(1, 5))]
    return {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {
            "unit": "person",
            "epsilon": random.choice(("0.1", "0.5", "1", "3")),
            "delta": random.choice(("0", "1e-9", "1e-6", "1e-4")),
        },
        "contribution": random.choice(
            ({"max_rows": 1}, {"max_rows": 4}, {"max_rows_per_group": 2, "max_groups": 1})
        ),
        "columns": {name: {"bounds": [-1, 1]} for name in "xyz"},
        "query": query,
    }


def _block(random: Random, index: int) -> dict[str, Any]:
    block: dict[str, Any] = {"name": f"b{index}", "weight": random.choice((1, 1, 1, 2, 5))}
    if random.random() < 0.3:
        conditions = range(random.randint(1, 6))
        return block | {"where": {f"c{i}": {"x": {"min": i}} for i in conditions}}
    cells = random.choice((1, 2, 3, 3, 10, 40, 200))
    statistics = ["count", *(f"sum({name})" for name in "xyz"[: random.randint(0, 2)])]
    if random.random() < 0.2:
        statistics = ["count_units"]
    return block | {"statistics": statistics, "group_by": {"g": list(range(cells))}}


def norms(raw: dict[str, Any], block: dict[str, Any]) -> tuple[float, float]:
    """The l1 and l2 norms of all that a person adds to a block, by hand."""
    if "where" in block:
        count = len(block["where"])
        return count, math.sqrt(count)
    limits, cells = raw["contribution"], len(block["group_by"]["g"])
    if block["statistics"] == ["count_units"]:
        most = min(limits.get("max_rows", cells), limits.get("max_groups", cells), cells)
        return most, math.sqrt(most)
    rows = limits.get("max_rows", 2)
    q = len(block["statistics"])
    return q * rows, math.sqrt(q) * rows


def gaussian(epsilon: float, delta: float) -> float:
    """σ for a shift of 1, of Balle & Wang (2018), by bisection."""

    def delta_at(sigma: float) -> float:
        mu = 1 / sigma
        near, far = (math.erfc((s * mu / 2 + epsilon / mu) / math.sqrt(2)) / 2 for s in (-1, 1))
        return near - math.exp(epsilon) * far

    low, high = 1e-2, 1e7
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def standard(raw: dict[str, Any]) -> dict[str, list[float]]:
    """The variances of each block in the standard ways."""
    epsilon, delta = float(raw["privacy"]["epsilon"]), float(raw["privacy"]["delta"])
    weights = [block["weight"] for block in raw["query"]]
    shares = [weight / sum(weights) for weight in weights]
    sizes = [norms(raw, block) for block in raw["query"]]
    found = {
        "laplace": [2 * (l1 / (epsilon * w)) ** 2 for (l1, _), w in zip(sizes, shares, strict=True)]
    }
    if delta:
        found["gaussian apart"] = [
            (l2 * gaussian(epsilon * w, delta * w)) ** 2
            for (_, l2), w in zip(sizes, shares, strict=True)
        ]
        found["gaussian together"] = [
            (l2 * gaussian(epsilon, delta)) ** 2 / w
            for (_, l2), w in zip(sizes, shares, strict=True)
        ]
    return found


def check(seed: int) -> None:
    raw = drawn(Random(seed))  # of specs, not of noise
    made: Plan = plan(spec_file.parse(raw))
    ours = [variance_of(block.mechanism.noise, block.first) for block in made.blocks]
    weights = [block["weight"] / sum(b["weight"] for b in raw["query"]) for block in raw["query"]]

    def cost(variances: list[float]) -> float:
        return sum(w * math.log(v) for w, v in zip(weights, variances, strict=True))

    ways = standard(raw)
    apart = [
        min(one) for one in zip(*(ways[k] for k in ways if k != "gaussian together"), strict=True)
    ]
    for variance, least in zip(ours, apart, strict=True):
        assert variance <= least * (1 + CLOSE), (raw, ours, apart)
    joint = ways.get("gaussian together")
    if joint and all(a < b for a, b in zip(joint, apart, strict=True)):
        better = cost(ours) > cost(joint) + CLOSE
        assert not (better and _harms_nobody(raw, joint)), (raw, ours, joint)


def _harms_nobody(raw: dict[str, Any], joint: list[float]) -> bool:
    """Say whether no block has more noise in `joint` than its own share of the budget gives it."""
    total = sum(block["weight"] for block in raw["query"])
    for block, variance in zip(raw["query"], joint, strict=True):
        privacy = raw["privacy"] | {
            name: f"{float(raw['privacy'][name]) * block['weight'] / total:.12g}"
            for name in ("epsilon", "delta")
        }
        alone = plan(spec_file.parse(raw | {"privacy": privacy, "query": [block]})).blocks[0]
        if variance_of(alone.mechanism.noise, 0) < variance:
            return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_no_standard_way_has_less_noise(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 100))
def test_no_standard_way_has_less_noise_for_many_specs(seed: int) -> None:
    check(seed)
