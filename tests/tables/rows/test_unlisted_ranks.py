"""Rows at each candidate of unlisted groups, against plain Python, also over all limits."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import source
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.rows.integer_vectors import query_vector
from leastnoise.tables.rows.unlisted_ranks import candidate_totals
from tests.tables.containers import containers
from tests.tables.expressions.rows import random_rows
from tests.tables.reference import SALT
from tests.tables.rows.test_unlisted import hashed, is_key
from tests.tables.unlisted import rows
from tests.tables.unlisted_ranks import CANDIDATES, candidates_of, layout_of, ranks_spec


def nearest(x: float) -> int:
    """The position of the nearest candidate; the larger one if two are equally near."""
    return max(range(len(CANDIDATES)), key=lambda at: (-abs(CANDIDATES[at] - x), at))


def by_hand(
    frame: pd.DataFrame, *, groups: int | None, most: int, sexes: list[int] | None
) -> dict[tuple[Any, ...], int]:
    stored: dict[Any, Counter[int]] = defaultdict(Counter)
    for number, (person, code, x, sex) in enumerate(frame.itertuples(index=False, name=None)):
        if not is_key(code) or (sexes and sex not in sexes) or not math.isfinite(x):
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


def weights_by_hand(
    frame: pd.DataFrame, *, most: int, bits: int, sexes: list[int] | None
) -> dict[tuple[Any, ...], int]:
    """The rows of each group and candidate, in parts of 2^-bits of a row, person by person."""
    stored: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for person, code, x, sex in frame.itertuples(index=False, name=None):
        if not is_key(code) or (sexes and sex not in sexes) or not math.isfinite(x):
            continue
        if not pd.isna(person):
            stored[int(person)].append((sexes.index(sex) if sexes else 0, code, nearest(x)))
    totals: Counter[tuple[Any, ...]] = Counter()
    for keys in stored.values():
        weight = 2**bits
        if len(keys) > most:
            weight = math.floor(most * 2**bits * (1 - 2.0**-40) / len(keys))
        for key in keys:
            totals[key] += weight
    return dict(totals)


@pytest.mark.dense
@pytest.mark.parametrize("sexes", [None, [3, 1]])
@pytest.mark.parametrize(("groups", "most"), [(1, 1), (2, 3), (40, 9)])
def test_rows_of_a_person_over_the_limit_count_for_less_in_every_group(
    tmp_path: Path, sexes: list[int] | None, groups: int, most: int
) -> None:
    by: dict[str, Any] = {"code": {"keys": "private", "longest": 8}}
    raw = ranks_spec(
        part={"quantiles_by": "permute-and-flip"},
        by=({"sex": sexes} if sexes else {}) | by,
        contribution={"max_groups": groups, "max_rows_per_group": most},
    )
    bits = layout_of(raw).bits
    for seed, count in ((1, 400), (2, 40), (3, 0)):
        frame = rows(count, seed=seed)
        frame.to_parquet(tmp_path / "rows.parquet")
        expected = weights_by_hand(frame, most=groups * most, bits=bits, sexes=sexes)
        assert candidates_of(raw, tmp_path) == expected


def test_listed_and_published_groups_have_the_same_rows(tmp_path: Path) -> None:
    frame = rows(400, seed=4)
    frame = frame[frame["code"].map(is_key)]
    frame.to_parquet(tmp_path / "rows.parquet")
    part = {"quantiles_by": "permute-and-flip"}
    codes = sorted(set(frame["code"]), key=str.encode)
    listed = ranks_spec(by={"code": codes}, part=part)
    spec, layout = spec_file.lay_out(listed).spec, layout_of(listed)
    with source.open_engine(source.find_source(spec, tmp_path, None)) as engine:
        vector = query_vector(engine, spec, layout, salt=SALT).reshape(len(codes), -1)
    counts = candidates_of(ranks_spec(part=part), tmp_path)
    assert counts
    assert {(codes.index(code), at): rows for (_, code, at), rows in counts.items()} == {
        (int(group), int(at)): int(vector[group, at])
        for group, at in zip(*vector.nonzero(), strict=True)
    }


@pytest.mark.dense
@pytest.mark.parametrize("how", ["tree", "permute-and-flip"])
def test_infinite_values_are_missing_in_listed_and_unlisted_groups(
    tmp_path: Path, how: str
) -> None:
    odd = [math.inf, -math.inf, math.nan, None, 1e9, -1e9, 3.0, 3.5]
    stored: list[dict[str, Any]] = [
        row | {"who": number, "t": "ns"[number % 3 == 0], "x": odd[number % len(odd)]}
        for number, row in enumerate(random_rows(Random(8), 48))
    ]
    expected: Counter[tuple[Any, ...]] = Counter()
    for row in stored:
        if row["x"] is not None and math.isfinite(row["x"]):
            expected[0, row["t"], nearest(row["x"])] += 1
    for container in containers(stored, tmp_path):
        frame = None if container.frame is None else frame_of(container.frame)
        for keys in ({"keys": "private", "longest": 8}, ["n", "s"]):
            raw = ranks_spec(
                by={"t": keys},
                part={"quantiles_by": how},
                privacy={"unit": "row"},
                data=dict(container.data),
            )
            spec, layout = spec_file.lay_out(raw).spec, layout_of(raw)
            with source.open_engine(source.find_source(spec, tmp_path, frame)) as engine:
                if isinstance(keys, dict):
                    totals = candidate_totals(engine, spec, layout, salt=SALT)
                    counts = {tuple(row[:-1]): int(row[-1]) for row in totals}
                else:
                    vector = query_vector(engine, spec, layout, salt=SALT).reshape(2, -1)
                    places = [(int(at), int(of)) for at, of in zip(*vector.nonzero(), strict=True)]
                    counts = {(0, keys[at], of): int(vector[at, of]) for at, of in places}
            assert counts == expected, container.name
