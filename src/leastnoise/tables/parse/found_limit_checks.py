"""Checks of limits that a release finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.layout import found_bounds, found_limits
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.parse.columns import Problem
    from leastnoise.tables.spec.model import Spec


def found_limit_problems(spec: Spec) -> Iterator[Problem]:
    """Yield the problems of limits that a release finds."""
    finders = [*found_limits.list_finders(spec)]
    for key, _ in finders[1:]:
        yield key, f"A release finds one limit, and {finders[0][0]} is found, too. Give a number."
    for key, finder in finders[:1]:
        if finder.name == "max_groups" and finder.query is None:
            why = (
                "Groups are of one query: write contribution = { max_groups = { find = true, … } }"
            )
            yield key, f"{why} in its [[query]]."
        if finder.query is not None and finder.query.clipping is not None:
            yield key, "Not used beside clipping, which counts by a known limit. Give a number."
        if spec.privacy.epsilon == LEAST:
            yield key, 'Not used with epsilon = "least": give privacy.epsilon, or a number.'
        elif not spec.privacy.epsilon:
            yield key, "Needs epsilon > 0: delta alone can't hide the chosen candidate."
        if spec.series is not None:
            yield (
                key,
                "Not used in a series, whose noise is charged at its beginning. Give a number.",
            )
        if found_bounds.columns_by_query(spec):
            yield key, "Not used beside bounds that are found. Give a number, or the bounds."
        finds = finder.finds
        if finds.found is not None and finds.found not in finds.candidates:
            yield f"{key}.found", "Expected one of the candidates."
