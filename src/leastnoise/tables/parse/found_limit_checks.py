"""Checks of limits that a release finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.tables.layout import found_bounds, found_limits
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.layout.found_limits import Finder
    from leastnoise.tables.parse.columns import Problem
    from leastnoise.tables.spec.model import Spec


def found_limit_problems(spec: Spec) -> Iterator[Problem]:
    """Yield the problems of limits that a release finds."""
    finders = [*found_limits.list_finders(spec)]
    for key, _ in finders[1:]:
        yield key, f"A release finds one limit, and {finders[0][0]} is found, too. Give a number."
    for key, finder in finders[:1]:
        yield from _of_query(finder, key)
        yield from _of_release(spec, key)
        if finder.finds.found not in {None, *finder.finds.candidates}:
            yield f"{key}.found", "Expected one of the candidates."


def _of_query(finder: Finder, key: str) -> Iterator[Problem]:
    """Yield the problems with other keys of the query whose limit is found."""
    query = finder.query
    if query is None and finder.name == "max_groups":
        why = "Groups are of one query: write contribution = { max_groups = { find = true, … } }"
        yield key, f"{why} in its [[query]]."
    if query is not None and query.clipping is not None:
        yield key, "Not allowed beside clipping, which counts by a known limit. Give a number."
    if query is not None and query.by is not None:
        yield key, "Not allowed beside by, which needs no limit. Leave it out."


def _of_release(spec: Spec, key: str) -> Iterator[Problem]:
    """Yield the problems of a found limit with the budget, a series and found bounds."""
    if spec.privacy.rho is not None:
        yield key, "Not used with rho: the choice of a limit has no rho. Give epsilon instead."
    elif spec.privacy.epsilon == LEAST:
        yield key, 'Not used with epsilon = "least": give privacy.epsilon, or a number.'
    elif not spec.privacy.epsilon:
        yield key, "Needs epsilon > 0: delta alone can't hide the chosen candidate."
    if spec.series is not None:
        why = "Not used in a series, whose noise is charged at its beginning."
        yield key, f"{why} Give a number."
    if found_bounds.columns_by_query(spec):
        yield key, "Not allowed beside bounds that are found. Give a number, or the bounds."
