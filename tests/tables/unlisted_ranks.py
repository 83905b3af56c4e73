"""Specs with quantiles in unlisted groups, and the integers to which their trees add noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import source
from leastnoise.tables.rows.unlisted_ranks import candidate_totals
from tests.tables.reference import SALT
from tests.tables.unlisted import spec_of

CANDIDATES = [0, 1, 2, 4, 8]


def ranks_spec(**changes: Any) -> dict[str, Any]:
    """The spec of a release of medians of x by unlisted codes; arguments change its sections."""
    part = {"quantiles_by": "tree"} | changes.pop("part", {})
    statistics = changes.pop("statistics", ["median(x)"])
    columns = changes.pop("columns", {"x": {"candidates": CANDIDATES}})
    return spec_of(statistics=statistics, part=part, columns=columns, **changes)


def layout_of(raw: dict[str, Any]) -> Layout:
    ((quantiles,),) = spec_file.lay_out(raw).quantiles
    return quantiles.histogram


def candidates_of(
    raw: dict[str, Any], folder: Path, *, engine: str = "duckdb"
) -> dict[tuple[Any, ...], int]:
    """The number of rows by public cell, key and candidate; cells without rows are missing."""
    raw = raw | {"data": raw["data"] | {"engine": engine}}
    spec = spec_file.lay_out(raw).spec
    with source.open_engine(source.find_source(spec, folder, None)) as opened:
        totals = candidate_totals(opened, spec, layout_of(raw), salt=SALT)
    return {tuple(row[:-1]): int(row[-1]) for row in totals}
