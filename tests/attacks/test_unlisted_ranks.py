"""Quantiles in unlisted groups: no person moves the counts further than the noise hides.

Small tables are compared with those without a person, or with other rows of that person. Rows at
each candidate are counted as in a release. A person moves groups that others are in, too, by at
most m rows each, in at most k groups. A group in only one of the tables is published with the
certificate's probability; all of them together with at most δ.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

from leastnoise.tables.answers.quantiles.by_tree import ByTreeAndThreshold
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from tests.tables.unlisted_ranks import candidates_of, ranks_spec

_CODES = ["a", "b", "c", "d"]
Rows = list[tuple[int, str, float]]


def _rows_of(random: Random, person: int) -> Rows:
    """The rows of a person, often far over their limits, and often all at one value."""
    count = random.choice([1, 2, 3, 7, 30])
    codes, values = random.choice([_CODES, _CODES[:1]]), random.choice([[0.0, 1, 2, 8], [4.0]])
    return [(person, random.choice(codes), random.choice(values)) for _ in range(count)]


@pytest.mark.dense
@pytest.mark.parametrize("limits", [(1, 1), (2, 3)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_person_over_the_limits_moves_what_is_hidden(
    tmp_path: Path, limits: tuple[int, int], neighbours: str
) -> None:
    groups, most = limits
    raw = ranks_spec(
        contribution={"max_groups": groups, "max_rows_per_group": most},
        privacy={"epsilon": 2, "delta": "0.01", "neighbours": neighbours},
    )
    (planned,) = plan(spec_file.lay_out(raw)).quantiles
    assert isinstance(planned, ByTreeAndThreshold)
    claim, replaced = planned.claim, neighbours == "replace-one"
    noise = claim.noise.noise

    def shown(rows: int) -> Fraction:
        """The probability that a group of a few rows, all of them one person's, is published."""
        at, chance = claim.threshold - rows - Fraction(1, 2), claim.chance_below
        tails = [Fraction(float(claim.beyond(t).upper())) for t in (at, at - 1)]
        return (1 - chance) * tails[0] + chance * tails[1]

    def count(rows: Rows) -> dict[tuple[Any, ...], int]:
        frame = pd.DataFrame(rows, columns=["person", "code", "x"]).assign(sex=1)
        frame.astype({"person": "int64"}).to_parquet(tmp_path / "rows.parquet")
        return candidates_of(raw, tmp_path)

    random, worst, reached = Random(6), Fraction(0), 0
    for persons in (1, 2, 3, 5):
        rows = [row for person in range(persons) for row in _rows_of(random, person)]
        rows += [(0, code, x) for code in _CODES for x in (0.0, 1, 2, 8)] if persons == 2 else []
        others = [row for row in rows if row[0]]
        between = count(others)
        sides = [count(rows)]
        sides += [count(others + _rows_of(random, 0)) for _ in range(3 if replaced else 0)]
        for side in sides:  # replaced persons move both sides from the table without either
            moved, without = Counter[str](), Counter[str]()
            for key in side.keys() | between.keys():
                moved[key[1]] += abs(side.get(key, 0) - between.get(key, 0))
                without[key[1]] += between.get(key, 0)
            moved = +moved
            reached = max(reached, sum(moved.values()))
            assert len(moved) <= groups
            assert max(moved.values()) <= most
            silent, loss = Fraction(1), Fraction(0)
            for code, shift in moved.items():
                if without[code]:
                    loss += shift / noise.scale
                else:
                    silent *= 1 - shown(shift)
            assert loss <= claim.budget.epsilon / (1 + replaced)
            worst = max(worst, 1 - silent)
    bound = planned.budget.delta
    if replaced:
        bound /= 1 + Fraction(271828, 100000)  # e^(ε/2), ε = 2
    assert reached == groups * most  # the limits are reached
    assert bound * Fraction(9, 10) < worst <= bound * Fraction(100001, 100000)
