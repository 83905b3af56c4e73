"""The errors of quantiles that a plan states, against their law and against draws."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.permute_and_flip import choose_quantiles
from leastnoise.tables.answers.quantiles.answer import Quantiles
from leastnoise.tables.answers.quantiles.by_chance import ByChance
from leastnoise.tables.answers.quantiles.plan import QuantilePlan
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from tests.quantile_laws import permute_and_flip

_DRAWS = 60


def planned(levels: list[str], *, candidates: int) -> QuantilePlan:
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "columns": {"x": {"candidates": {"from": 1, "to": candidates, "step": 1}}},
        "query": [
            {
                "name": "q",
                "statistics": [f"quantile(x, {level})" for level in levels],
                "quantiles_by": "permute-and-flip",
            }
        ],
    }
    (result,) = plan(spec_file.lay_out(raw)).quantiles
    return result


def claim_of(mechanism: QuantilePlan) -> QuantileCertificate:
    assert isinstance(mechanism, ByChance)
    return mechanism.certificate


@pytest.mark.parametrize(("level", "candidates"), [("0.5", 20), ("0.9", 50)])
def test_one_is_further_off_with_five_per_cent_at_most_and_nearly(
    level: str, candidates: int
) -> None:
    """The worst table: all candidates but the true one are just beyond the bound."""
    plan = planned([level], candidates=candidates)
    (error,) = plan.errors
    off = math.nextafter(error.rows_95, math.inf)
    rate = float(claim_of(plan).rates[0])
    chances = permute_and_flip([0.0] + [rate * off] * (candidates - 1))
    missed = 1 - chances[0]
    assert 0.02 < missed <= 0.05


@pytest.mark.dense
def test_several_are_off_by_what_is_said_of_each() -> None:
    levels = [Fraction(k, 10) for k in range(1, 10)]
    plan = planned([str(float(level)) for level in levels], candidates=500)
    assert claim_of(plan).parts == 8
    counts = [(index * 37) % 5 for index in range(500)]
    below = [0, *itertools.accumulate(counts)]
    entropy = InsecureSeededEntropy(1)
    missed = [0] * len(levels)
    for _ in range(_DRAWS):
        chosen = choose_quantiles(claim_of(plan), counts, entropy=entropy)
        for index, (position, level) in enumerate(zip(chosen, levels, strict=True)):
            wanted = level * below[-1]
            off = max(below[position] - wanted, wanted - below[position + 1])
            missed[index] += off > plan.errors[index].rows_95
    assert max(missed) <= 0.05 * _DRAWS
    depths = [choice.depth for choice in claim_of(plan).choices]
    assert max(depths) == 3
    assert plan.errors[depths.index(0)] == min(plan.errors, key=lambda item: item.rows_95)


def test_the_message_about_another_certificate_names_the_query() -> None:
    asked, other = planned(["0.9"], candidates=20), planned(["0.5"], candidates=20)
    quantiles = Quantiles(
        index=0,
        layout=asked.layout,
        share=asked.budget,
        releases=1,
        kind=ByChance,
        beside_trees=False,
    )
    assert ByChance.read(quantiles, claim_of(asked)).budget == asked.budget
    with pytest.raises(CertificateRejected, match=re.escape(f"Query {asked.label!r}: in the")):
        ByChance.read(quantiles, claim_of(other))
