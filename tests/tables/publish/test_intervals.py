"""Whatever is drawn, the numbers of the table that it becomes fit each other and the noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leastnoise.tables.publish.table_checks import wrong_number
from leastnoise.tables.query.layout import lay_out_query
from leastnoise.tables.query.results import table_of
from leastnoise.tables.read.spec_file import parse
from leastnoise.tables.statistics.base import NoiseError

CELLS = 2_000
BOUNDS = [[0, 10], [-1, 1], [1e9, 1e9 + 1], [-1e-9, 3e9]]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("form", [{}, {"round": True}, {"clamp": True, "round": True}])
def test_tables_of_any_draw_fit_their_noise(bounds: list[float], form: dict[str, bool]) -> None:
    query = {
        "name": "q",
        "statistics": ["count", "count(x)", *([] if form else ["sum(x)"]), "mean(x)"],
        "group_by": {"k": list(range(CELLS))},
        **form,
    }
    spec = parse(
        {
            "version": 1,
            "data": {"source": "rows.parquet"},
            "privacy": {"unit": "row", "epsilon": 1},
            "columns": {"x": {"bounds": bounds}},
            "query": [query],
        },
        folder=Path(),
    )
    ((layout,),) = lay_out_query(spec, spec.query[0])
    random = np.random.default_rng(7)
    noise = [
        NoiseError(std=std, half95=2 * std, half975=2.3 * std, half983=2.5 * std)
        for std in random.uniform(0.5, 20, len(layout.components))
    ]
    sizes = 10.0 ** random.uniform(-3, 7, (CELLS, 1))
    vector = sizes * random.uniform(-1, 1, (CELLS, len(layout.components)))
    vector[: CELLS // 2] = np.abs(vector[: CELLS // 2])
    table = table_of(layout, vector.ravel(), noise)
    told = {name: column for name, column in table.columns.items() if name != "k"}
    assert wrong_number(layout, told, noise) is None
    again = {name: [float(f"{one:.17g}") for one in column] for name, column in told.items()}
    assert wrong_number(layout, again, noise) is None
    again["mean_x_std"][0] *= 1.001
    assert wrong_number(layout, again, noise) is not None
