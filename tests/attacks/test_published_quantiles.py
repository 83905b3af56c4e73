"""Keys by chance, then quantiles by chance: one person is told of no more than is promised.

Small tables beside those without one person, or with other rows of that person: the persons with
each key and the rows at each candidate, as the release itself reads them, and the exact law of all
that is published then.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

from leastnoise.tables.answers.quantiles.by_chance import ByChance
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from tests.quantile_laws import largest_loss, permute_and_flip, score
from tests.tables.rows.test_unlisted import totals
from tests.tables.unlisted_ranks import CANDIDATES, candidates_of, ranks_spec

_CODES = ["a", "b", "c", "d"]
Rows = list[tuple[int, str, float]]
Counts = Mapping[tuple[Any, ...], int]


def _rows_of(random: Random, person: int) -> Rows:
    """The rows of a person, often far over their limits, and often all at one value."""
    count = random.choice([1, 2, 3, 7, 30])
    codes, values = random.choice([_CODES, _CODES[:1]]), random.choice([[0.0, 1, 2, 8], [4.0]])
    return [(person, random.choice(codes), random.choice(values)) for _ in range(count)]


def _chances(counts: Mapping[int, Fraction], quantiles: ByChance) -> list[float]:
    """The probability of each candidate in a published group with these rows."""
    (rate,), (level,) = quantiles.certificate.rates, quantiles.certificate.levels
    penalties = [float(rate * score(dict(counts), at, level)) for at in range(len(CANDIDATES))]
    return permute_and_flip(penalties)


@pytest.mark.dense
@pytest.mark.parametrize("limits", [(1, 1), (2, 2)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_person_is_told_of_beyond_the_promise(
    tmp_path: Path, limits: tuple[int, int], neighbours: str
) -> None:
    groups, most = limits
    raw = ranks_spec(
        part={"quantiles_by": "permute-and-flip"},
        contribution={"max_groups": groups, "max_rows_per_group": most},
        privacy={"epsilon": 2, "delta": "0.05", "neighbours": neighbours},
    )
    planned, replaced = plan(spec_file.lay_out(raw)), neighbours == "replace-one"
    (keys,), (quantiles,) = planned.keys, planned.quantiles
    assert isinstance(quantiles, ByChance)
    unit, reach = 2**quantiles.layout.histogram.bits, quantiles.layout.reach
    assert reach == groups * most

    def count(rows: Rows) -> tuple[Counts, Counts]:
        frame = pd.DataFrame(rows, columns=["person", "code", "x"]).assign(sex=1)
        frame.astype({"person": "int64"}).to_parquet(tmp_path / "rows.parquet")
        persons = {key: item >> keys.layout.bits for key, (item,) in totals(raw, tmp_path).items()}
        return persons, candidates_of(raw, tmp_path)

    def chances(counted: tuple[Counts, Counts], code: str) -> list[float]:
        of_code = {key[2]: Fraction(n, unit) for key, n in counted[1].items() if key[1] == code}
        return _chances(of_code, quantiles)

    def law(counted: tuple[Counts, Counts], code: str) -> list[float]:
        """The probabilities that a group is silent, and that each candidate is published for it."""
        shown = float(keys.claim.chance(counted[0].get((0, code), 0)))
        return [1 - shown, *(shown * chance for chance in chances(counted, code))]

    random, worst, of_choices, furthest = Random(6), 0.0, 0.0, Fraction(0)
    for persons in (1, 2, 3, 5, 8):
        rows = [row for person in range(persons) for row in _rows_of(random, person)]
        rows += [(0, code, x) for code in _CODES for x in (0.0, 1, 2, 8)] if persons == 2 else []
        others = [row for row in rows if row[0]]
        more = _rows_of(random, 0) if replaced else []
        one, other = count(rows), count(others + more)
        moved = sum(abs(one[1].get(key, 0) - other[1].get(key, 0)) for key in one[1] | other[1])
        furthest = max(furthest, Fraction(moved, unit))
        sides = [[dict(enumerate(chances(side, code))) for code in _CODES] for side in (one, other)]
        of_choices = max(of_choices, largest_loss(*sides))
        pairs = [(law(one, code), law(other, code)) for code in _CODES]
        pairs = [pair for pair in pairs if pair[0] != pair[1]]
        for several in (pairs, [pair[::-1] for pair in pairs]):
            gaps = (
                math.prod(p for p, _ in outcome) - math.exp(2) * math.prod(q for _, q in outcome)
                for outcome in itertools.product(
                    *(list(zip(p, q, strict=True)) for p, q in several)
                )
            )
            worst = max(worst, math.fsum(gap for gap in gaps if gap > 0))
    assert 0.99 * reach < furthest <= reach * (2 if replaced else 1)
    assert 0.05 / 40 < worst <= 0.05
    assert 0.2 < of_choices <= 1 + 1e-9  # half of ε
