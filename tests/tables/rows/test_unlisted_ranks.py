"""The whole rows at each candidate of unlisted groups: made by hand, from rows over all limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.tables.rows.test_unlisted import hashed, is_key
from tests.tables.unlisted import rows
from tests.tables.unlisted_ranks import CANDIDATES, candidates_of, ranks_spec


def nearest(x: float) -> int:
    """The position of the nearest candidate, the larger one in the middle of two."""
    return max(range(len(CANDIDATES)), key=lambda at: (-abs(CANDIDATES[at] - x), at))


def by_hand(
    frame: pd.DataFrame, *, groups: int | None, most: int, sexes: list[int] | None
) -> dict[tuple[Any, ...], int]:
    stored: dict[Any, Counter[int]] = defaultdict(Counter)
    for number, (person, code, x, sex) in enumerate(frame.itertuples(index=False, name=None)):
        if not is_key(code) or (sexes and sex not in sexes) or pd.isna(x):
            continue
        if groups and pd.isna(person):
            continue
        cell = sexes.index(sex) if sexes else 0
        stored[int(person) if groups else number, cell, code][nearest(x)] += 1
    of_unit: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for unit, *key in stored:
        of_unit[unit].append(tuple(key))
    totals: Counter[tuple[Any, ...]] = Counter()
    for unit, keys in of_unit.items():
        hashed_keys = [(hashed(unit, *(key if sexes else key[1:])), key) for key in keys]
        for _, key in sorted(hashed_keys)[: groups or len(keys)]:
            counts = stored[(unit, *key)]
            every = sum(counts.values())
            if groups and every > most:
                share = most * (1 - 2.0**-40) / every
                named = key if sexes else key[1:]
                order = sorted(counts, key=lambda at: hashed(unit, *named, at))
                whole = {at: int(counts[at] * share) for at in counts}
                left = most - sum(whole.values())
                for at in order[:left]:
                    whole[at] += 1
                counts = Counter(whole)
                assert sum(counts.values()) == most
            for at, count in counts.items():
                totals[(*key, at)] += count
    return {key: count for key, count in totals.items() if count}


@pytest.mark.dense
@pytest.mark.parametrize("sexes", [None, [3, 1]])
@pytest.mark.parametrize(("groups", "most"), [(1, 1), (2, 2), (5, 3), (40, 9), (None, 1)])
def test_whole_rows_are_those_made_by_hand(
    tmp_path: Path, sexes: list[int] | None, groups: int | None, most: int
) -> None:
    by: dict[str, Any] = {"code": {"keys": "private", "longest": 8}}
    raw = ranks_spec(
        by=({"sex": sexes} if sexes else {}) | by,
        contribution={"max_groups": groups, "max_rows_per_group": most},
        privacy={"unit": "person" if groups else "row"},
    )
    for seed, count in ((1, 400), (2, 40), (3, 0)):
        frame = rows(count, seed=seed)
        frame.to_parquet(tmp_path / "rows.parquet")
        expected = by_hand(frame, groups=groups, most=most, sexes=sexes)
        assert candidates_of(raw, tmp_path) == expected
