"""Streams of files, one for each release of a series, and the change of all releases by one unit.

Files differ: rows come late, disappear, come back, and are edited. Persons have more rows than the
limits admit. Only the number of a row and its week never change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, Self, final

import pandas as pd

from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.engine import Engine

Row = tuple[int, int, int | None, str | None]
"""The number of a row, its person, the week in which it is reported, and its place."""
Files = list[list[Row]]
Stream = list[list[float]]
"""The counts of each release before noise, by place."""

RELEASES, PERSONS, PLACES = 4, 3, ["north", "south", "west"]
WEEKS = [1, 2, 3, 4, None, 0, 5]
"""The weeks of rows; only the first four have a release."""
LIMITS = {"max_rows": 4, "max_rows_per_group": 2}


def spec_of(unit: str, *, totals: bool, engine: str = "duckdb") -> dict[str, Any]:
    """The spec of a series whose unit is "row" or "person in one release"."""
    series: dict[str, Any] = {"releases": RELEASES, "each": unit, "report": "week"}
    return {
        "version": 1,
        "data": {"source": "rows.parquet", "engine": engine},
        "privacy": {
            "unit": "row" if unit == "row" else "person",
            "epsilon": 1,
            "ledger": {"path": "a.ledger"},
        },
        "series": series | ({"totals": True, "branches": [2, 2]} if totals else {}),
        "query": [{"name": "q", "statistics": ["count"], "group_by": {"place": PLACES}}],
        "output": {"path": "out", "format": "csv"},
    } | ({} if unit == "row" else {"contribution": LIMITS})


def draw_files(draw: Random) -> Files:
    """The file of each release."""
    files: Files = [[] for _ in range(RELEASES)]
    number = 0
    for person in range(PERSONS):
        for week in WEEKS:
            for site in _draw_places(draw):
                number += 1
                for file in files:
                    if draw.random() < 0.75:
                        file.append(_edit(draw, (number, person, week, site)))
    for file in files:
        draw.shuffle(file)
    return files


def _draw_places(draw: Random) -> list[str]:
    """The places of a person's rows of a week.

    Often weeks have the same places: fractions add up.
    """
    if draw.random() < 0.5:
        return PLACES * 3
    return [draw.choice(PLACES) for _ in range(draw.randrange(8))]


def _edit(draw: Random, row: Row) -> Row:
    """The row in one file: sometimes with another person, with another place or without a place."""
    number, person, week, index = row
    if draw.random() < 0.1:
        person = draw.randrange(PERSONS)
    if draw.random() < 0.2:
        index = draw.choice([*PLACES, "elsewhere", None])
    return number, person, week, index


def without(files: Files, is_of_unit: Callable[[Row], bool]) -> Files:
    """The files without the rows of a unit."""
    return [[row for row in file if not is_of_unit(row)] for file in files]


@final
class Counters:
    """The counts before noise of each release, read from files that a test writes."""

    def __init__(self, raw: dict[str, Any], folder: Path, files: Files) -> None:
        spec_layout = spec_file.lay_out(raw)
        ((layouts,),) = spec_layout.queries
        self._spec, self._layout = spec_layout.spec, layouts[0]
        self._folder, self._files = folder, files
        self._engines, self._stack = list[Engine](), ExitStack()

    def __enter__(self) -> Self:
        for release, rows in enumerate(self._files, start=1):
            (self._folder / str(release)).mkdir(exist_ok=True)
            self._write(release, rows)
            result = source.find_source(self._spec, self._folder / str(release), release=release)
            self._engines.append(self._stack.enter_context(source.open_engine(result, threads=1)))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def count(self, files: Files) -> Stream:
        """The counts of each release, from its file among `files`."""
        stream: Stream = []
        for release, (engine, rows) in enumerate(zip(self._engines, files, strict=True), start=1):
            if rows != self._files[release - 1]:
                self._write(release, rows)
            vector = integer_vectors.query_vector(engine, self._spec, self._layout, salt="")
            stream.append([float(number) / 2**self._layout.bits for number in vector])
        self._files = files
        return stream

    def _write(self, release: int, rows: list[Row]) -> None:
        frame = pd.DataFrame(rows, columns=["number", "person", "week", "place"])
        types = {"number": "Int64", "person": "Int64", "week": "Int64", "place": "string"}
        frame.astype(types).to_parquet(self._folder / str(release) / "rows.parquet")


def shift_of(first: Stream, second: Stream) -> dict[int, float]:
    """The l1 distance of each release between two streams; only releases that differ."""
    sizes = {
        release: sum(abs(a - b) for a, b in zip(before, after, strict=True))
        for release, (before, after) in enumerate(zip(first, second, strict=True), start=1)
    }
    return {release: size for release, size in sizes.items() if size}
