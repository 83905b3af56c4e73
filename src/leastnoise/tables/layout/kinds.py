"""The ways to answer a query. This is the one place that asks which of them a query has."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, final

from leastnoise.tables.spec.query import PrivateKeys
from leastnoise.tables.statistics.registry import known_statistics

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query


@final
class Kind(Enum):
    """A way to answer a query, except for its quantiles."""

    PLAIN = auto()
    """Noise in numbers of listed groups."""
    UNLISTED = auto()
    """Groups that nobody listed, published from a noisy count on."""
    KEYS = auto()
    """The keys that exist, without a number."""
    MARGINS = auto()
    """Cells and totals."""
    CUMULATIVE = auto()
    """Bins and their running sums."""
    LEVELS = auto()
    """Keys and the levels above them."""


def kind_of(spec: Spec, query: Query) -> Kind:
    """The way in which a query is answered."""
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    private = any(isinstance(keys, PrivateKeys) for keys in spec.groupings(query).values())
    if private and not any(statistic.of_all_groups for statistic in asked):
        return Kind.KEYS if is_about_keys(query) else Kind.UNLISTED
    return kind_of_sums(query)


def is_about_keys(query: Query) -> bool:
    """True if a query asks for nothing but which keys there are."""
    return not (query.statistics or query.histogram or query.conditions)


def kind_of_sums(query: Query) -> Kind:
    """The kind of tables that add up; PLAIN if the query has one table."""
    if query.margins:
        return Kind.MARGINS
    if query.histogram is not None and query.histogram.cumulative:
        return Kind.CUMULATIVE
    return Kind.PLAIN if query.hierarchy is None else Kind.LEVELS
