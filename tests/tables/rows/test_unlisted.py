"""The integers of groups that nobody listed: against plain Python, and one person moves few."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import exact, source
from tests.tables.hostile import unchecked_text
from tests.tables.reference import SALT
from tests.tables.unlisted import NONE, rows, spec_of


def totals(
    raw: dict[str, Any], folder: Path, *, engine: str = "duckdb"
) -> dict[tuple[Any, ...], list[int]]:
    raw = raw | {"data": raw["data"] | {"engine": engine}}
    spec_layout = spec_file.lay_out(raw)
    ((layout,),) = spec_layout.queries[0]
    with source.open_engine(source.find_source(spec_layout.spec, folder, None)) as opened:
        groups = exact.group_totals(opened, spec_layout.spec, layout, salt=SALT)
    width = len(layout.components)
    return {row[:-width]: [int(total) for total in row[-width:]] for row in groups}


def is_key(code: Any) -> bool:
    return isinstance(code, str) and code not in NONE


def hashed(*parts: Any) -> str:
    """Return the hash of a person and keys; the public cell comes first if there are several."""
    texts = [SALT, *(f"{len(str(part).encode())}:{part}" for part in parts)]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def by_hand(
    frame: pd.DataFrame, *, groups: int | None, most: int, bits: int, sexes: list[int] | None
) -> dict[tuple[Any, ...], list[int]]:
    """count_units, count and sum(x) of each group; x is clipped to [0, 8], and in units of 8."""
    item = 2**bits
    per_unit: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    for number, (person, code, x, sex) in enumerate(frame.itertuples(index=False, name=None)):
        if not is_key(code) or (sexes and sex not in sexes) or (groups and pd.isna(person)):
            continue
        cell = sexes.index(sex) if sexes else 0
        unit = int(person) if groups else number
        entry = per_unit[unit, cell, code]
        entry[0] += item
        if not pd.isna(x):
            entry[1] += math.floor(min(max(x, 0.0), 8.0) * (item / 8) + 0.5)
    entries: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for unit, cell, code in per_unit:
        entries[unit].append((cell, code))
    sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for unit, cells in entries.items():
        kept = sorted(cells, key=lambda key: hashed(unit, *(key if sexes else key[1:])))
        for key in kept[: groups or len(kept)]:
            count, total = per_unit[(unit, *key)]
            largest = max(abs(count), abs(total))
            if groups and largest > most * item:
                factor = (most * item * (1 - 2.0**-40)) / float(largest)
                count, total = int(count * factor), int(total * factor)
            for index, value in enumerate((item, count, total)):
                sums[key][index] += value
    return dict(sums)


@pytest.mark.dense
@pytest.mark.parametrize("sexes", [None, [3, 1]])
@pytest.mark.parametrize(("groups", "most"), [(1, 2), (2, 2), (5, 3), (40, 2), (None, 1)])
def test_integers_are_those_made_by_hand(
    tmp_path: Path, sexes: list[int] | None, groups: int | None, most: int
) -> None:
    for seed, count in ((1, 300), (2, 40), (3, 0)):
        frame = rows(count, seed=seed)
        frame.to_parquet(tmp_path / "rows.parquet")
        by: dict[str, Any] = {"code": {"keys": "private", "longest": 8}}
        limits = {"max_groups": groups, "max_rows_per_group": most}
        raw = spec_of(
            by=({"sex": sexes} if sexes else {}) | by,
            statistics=["count_units", "count", "sum(x)"],
            contribution=limits,
            privacy={"unit": "person" if groups else "row"},
        )
        ((layout,),) = spec_file.lay_out(raw).queries[0]
        expected = by_hand(frame, groups=groups, most=most, bits=layout.bits, sexes=sexes)
        if not groups:  # a row is a unit: both counts are one number
            expected = {key: [count, total] for key, (_, count, total) in expected.items()}
        assert totals(raw, tmp_path) == expected


@pytest.mark.parametrize("kind", ["int", "bool"])
def test_keys_of_other_types(tmp_path: Path, kind: str) -> None:
    values: list[Any] = (
        [None, True, False] if kind == "bool" else [None, -(2**63), 7, 70, 2**63 - 1]
    )
    drawn = random.Random(4)
    frame = pd.DataFrame(
        {
            "person": [drawn.randrange(9) for _ in range(80)],
            "code": pd.array(
                [drawn.choice(values) for _ in range(80)],
                dtype="boolean" if kind == "bool" else "Int64",
            ),
        }
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    raw = spec_of(by={"code": {"keys": "private"}}, contribution={"max_rows": 2})
    raw |= {"data": {"source": "rows.parquet"}, "columns": {}}
    raw["query"][0]["statistics"] = ["count_units"]
    persons: dict[int, set[Any]] = defaultdict(set)
    for person, code in frame.itertuples(index=False, name=None):
        if not pd.isna(code):
            persons[person].add(bool(code) if kind == "bool" else int(code))
    expected: Counter[tuple[int, Any]] = Counter()
    for person, codes in persons.items():
        text = str.lower if kind == "bool" else str
        first = sorted(codes, key=lambda code: hashed(person, text(str(code))))[:2]
        expected.update((0, code) for code in first)
    unit = 2 ** spec_file.lay_out(raw).queries[0][0][0].bits
    assert totals(raw, tmp_path) == {key: [n * unit] for key, n in expected.items()}


@pytest.mark.dense
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(
    "written", [{}, {"use_dictionary": False}, {"row_group_size": 1000, "write_statistics": False}]
)
def test_a_damaged_text_is_no_key_beside_a_real_question_mark(
    tmp_path: Path, last: bool, written: dict[str, Any]
) -> None:
    """DuckDB shows a question mark for a wrong byte: what is damaged alone must be found."""
    texts = [b"a", b"b", b"\xef\xbf\xbd"] * 1_000  # the last is U+FFFD, in UTF-8
    for some in ([], [b"a?", b"?", b"a?b"]):
        for damaged in ([], [b"a\xff"], [b"\xc3"] * 3, [b"a\xed\xa0\x80", b"\xe2\x82", b"a\x80b"]):
            codes = texts + some + damaged if last else damaged + some + texts
            table = pa.table({"code": unchecked_text(codes)})
            pq.write_table(table, tmp_path / "rows.parquet", **written)
            raw = spec_of(statistics=["count"], privacy={"unit": "row"})
            raw |= {"data": {"source": "rows.parquet"}, "columns": {}}
            unit = 2 ** spec_file.lay_out(raw).queries[0][0][0].bits
            counts = Counter(text.decode() for text in texts + some)
            expected = {(0, code): [count * unit] for code, count in counts.items()}
            assert totals(raw, tmp_path) == expected


@pytest.mark.dense
def test_one_person_moves_few_groups_by_little(tmp_path: Path) -> None:
    """Attack: leave out each person in turn, of tables in which all are over every limit."""
    frame = rows(160, seed=9).dropna(subset=["person"])
    raw = spec_of(
        statistics=["count_units", "count", "mean(x)"],
        contribution={"max_groups": 3, "max_rows_per_group": 2},
    )
    unit = 2 ** spec_file.lay_out(raw).queries[0][0][0].bits
    frame.to_parquet(tmp_path / "rows.parquet")
    whole = totals(raw, tmp_path)
    for person in frame["person"].unique():
        frame[frame["person"] != person].to_parquet(tmp_path / "rows.parquet")
        less = totals(raw, tmp_path)
        moved = {
            key: [a - b for a, b in zip(whole[key], less.get(key, [0] * 4), strict=True)]
            for key in whole
        }
        assert set(less) <= set(whole)
        changed = [shift for shift in moved.values() if any(shift)]
        assert len(changed) <= 3
        for units, *others in changed:
            assert units == unit  # persons are counted once, whatever their rows
            assert all(abs(value) <= 2 * unit for value in others)


@pytest.mark.grid
@pytest.mark.parametrize("groups", [1, 3, None])
def test_keys_alone_count_each_person_once(tmp_path: Path, groups: int | None) -> None:
    rows(400, seed=5).to_parquet(tmp_path / "rows.parquet")
    changes: dict[str, Any] = {
        "contribution": {"max_groups": groups},
        "privacy": {"unit": "person" if groups else "row"},
    }
    result = totals(spec_of(statistics=[], **changes), tmp_path)
    counted = "count_units" if groups else "count"
    assert result == totals(spec_of(statistics=[counted], **changes), tmp_path)
    assert result
