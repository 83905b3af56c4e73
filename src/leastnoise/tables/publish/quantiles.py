"""The table of a block's quantiles: one candidate a group and a level, chosen as certified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise.mechanism.quantiles import choose_quantiles
from leastnoise.tables.publish.table_files import as_read
from leastnoise.tables.query.columns import result_columns
from leastnoise.tables.query.results import Table, key_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy
    from leastnoise.tables.plan.quantiles import QuantilePlan
    from leastnoise.tables.query.ranks import Ranks


def publish_quantiles(
    part: QuantilePlan, counts: NDArray[np.int64], *, entropy: Entropy | None = None
) -> Table:
    """Return the quantiles of each group from exact `counts`, shape (groups · candidates,).

    They are what `bounding.query_vector` gives for the part's `counted`. `entropy` is for tests.
    """
    layout, unit = part.layout, 2**part.layout.counted.bits
    chosen = [
        choose_quantiles(part.certificate, own, unit=unit, entropy=entropy)
        for own in counts.reshape(layout.cells, -1).tolist()
    ]
    return table_at(layout, chosen)


def table_at(layout: Ranks, chosen: Sequence[Sequence[int]]) -> Table:
    """Return the table in which each group has the candidates at these places, one a level."""
    values = layout.published
    columns: list[list[Any]] = [[values[at] for at in places] for places in zip(*chosen)]  # noqa: B905
    names = result_columns([layout])
    ordered = [column for _, column in sorted(zip(layout.places, columns, strict=True))]
    return Table(
        name=layout.name, columns=dict(zip(names, key_columns(layout) + ordered, strict=True))
    )


def chosen_in(
    layout: Ranks, columns: Mapping[str, Sequence[Any]], kind: str = "parquet"
) -> list[Fraction]:
    """Return the candidates that the one row of a table has, exactly, by rising level."""
    values = layout.candidates.values
    places = {float(value): at for at, value in enumerate(as_read(layout.published, kind))}
    return [values[places[float(columns[one.label][0])]] for one in layout.statistics]


def wrong_quantile(layout: Ranks, columns: Mapping[str, Sequence[Any]], kind: str) -> str | None:
    """Return the label of a quantile that is no candidate, or is below one of a lower level.

    `columns` are as `read_table` gives them. None if all may have been chosen.
    """
    places = {(type(value), value): at for at, value in enumerate(as_read(layout.published, kind))}
    least = [0] * len(next(iter(columns.values())))
    for asked in layout.statistics:
        told = columns[asked.label]
        known = [value if isinstance(value, int | float | str) else None for value in told]
        found = [places.get((type(value), value), -1) for value in known]
        if len(found) != len(least) or any(map(int.__lt__, found, least)):
            return asked.label
        least = found
    return None
