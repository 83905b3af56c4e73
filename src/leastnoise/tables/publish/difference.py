"""The difference between two releases, number by number, with the noise of each difference."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _validate, _words
from leastnoise._notebooks import Shown
from leastnoise.errors import CertificateRejected, NotApplicable, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.mechanism.accuracy import difference_half_width
from leastnoise.tables.answers.columns import numbers_of
from leastnoise.tables.publish.seal import Seal
from leastnoise.tables.publish.verify import VerifiedRelease, verify_directory
from leastnoise.tables.results.table import Table, key_columns, statistics_of
from leastnoise.tables.results.table_files import read_table
from leastnoise.tables.spec.column import Column
from leastnoise.tables.spec.contribution import Contribution, Limits
from leastnoise.tables.statistics.base import LARGEST_WHOLE, SUFFIXES
from leastnoise.tables.statistics.totals import Count, Sum, Total

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise._notebooks import Columns
    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import Ingredients, Statistic

CONVOLVED, UNION = 0.95, 0.9
"""Confidence levels of intervals: for known distributions of both noises, and otherwise.

In the second case, both published 95 % intervals hold at once with probability 90 % (a union
bound).
"""

_NoisyStatistic = tuple["NoisyPart", "Statistic", "Ingredients", list[int]]
"""A part of a query, one of its statistics, that statistic's ingredients, and their coordinates.

Coordinates are indices in the draw.
"""


@final
@dataclass(frozen=True, kw_only=True)
class ReleaseDifference(Shown):
    """The later release minus the earlier one: a table of differences for each query.

    `_std` is the root of the sum of both variances, since the two draws of noise are independent.
    Each interval from `_low` to `_high` holds the difference without noise with the probability in
    the table's `confidence`. That is 0.95 for counts and sums if the distributions of both noises
    are known. Otherwise it is 0.9, since each published interval holds with 0.95.

    Attributes:
        before: The earlier release, verified.
        after: The later release, verified.
        tables: The differences, by query.
    """

    before: VerifiedRelease
    after: VerifiedRelease
    tables: dict[str, Table]

    def __repr__(self) -> str:
        tables = _words.count_noun(len(self.tables), "table")
        return _words.line("ReleaseDifference", f"{tables}: {_words.list_names(self.tables)}")

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about differing contribution limits, which cause a part of the difference."""
        specs = [release.spec for release in (self.before, self.after)]
        common = [(spec.contribution or Contribution()).limits for spec in specs]
        notes = [f"{change}: a part of each difference is" for change in _changes(*common)]
        for query in specs[0].query:
            of_query = [
                (other.contribution or Contribution()).limits
                for spec in specs
                for other in spec.query
                if other.name == query.name
            ]
            notes += [
                f"In {query.name}, {change}: a part of its differences is"
                for change in _changes(*of_query)
            ]
        return tuple(f"{note} due to that limit." for note in notes)

    def _tables(self) -> dict[str, Columns]:
        return {name: table.columns for name, table in self.tables.items()}


def _changes(before: Limits, after: Limits) -> Iterator[str]:
    """Yield a clause about each limit that differs between the releases."""
    for name in before.given | after.given:
        values = [getattr(limits, name) for limits in (before, after)]
        if values[0] != values[1]:
            yield f"{name} is {_limit(values[0])} before and {_limit(values[1])} after"


def _limit(value: Fraction | None) -> str:
    return "not given" if value is None else decimal_text(Fraction(value))


def subtract_releases(before: str | Path, after: str | Path) -> ReleaseDifference:
    """Subtract the release in the directory `before` from the release in `after`.

    Both are verified first. The difference is post-processing and costs no further budget: the two
    releases together cost at most the sum of their budgets.

    Args:
        before: Directory of the earlier release.
        after: Directory of the later release.

    Returns:
        The differences, with standard deviations and intervals.

    Raises:
        SourceError: A directory can't be read.
        CertificateRejected: A release doesn't verify; names its directory.
        Refused: The releases can't be compared. Both need the same queries, keys, filters,
            statistics and bounds. Noise must not decide which groups a table has, because
            differences of the groups in both would be biased.
    """
    folders = [
        _validate.path(before, name="before"),
        _validate.path(after, name="after"),
    ]
    releases = [_verify(folder) for folder in folders]
    if Seal.read(folders[0]).files == Seal.read(folders[1]).files:
        raise Refused(
            "Both directories hold the same files, so they are one release with one draw of "
            "noise. If the directories hold two releases with equal numbers, each difference is "
            "0."
        )
    plans = [{query.name: query for query in release.plan.by_query} for release in releases]
    for name in sorted(plans[0].keys() ^ plans[1].keys()):
        raise Refused(f"The query {name!r} is in only one of the two releases.")
    tables: dict[str, Table] = {}
    for name, query in plans[0].items():
        for part in (*query.parts, *plans[1][name].parts):
            if part.why_no_difference is not None:
                raise Refused(f"The query {name!r}{part.why_no_difference}")
        both = (query.noisy_parts, plans[1][name].noisy_parts)
        if why := next(_find_mismatches(releases[0], releases[1], both), None):
            raise Refused(f"The query {name!r}{why}")
        numbers = [
            read_numbers(folder, release, parts)
            for folder, release, parts in zip(folders, releases, both, strict=True)
        ]
        tables[name] = _subtract(both, numbers)
    return ReleaseDifference(before=releases[0], after=releases[1], tables=tables)


def _verify(folder: Path) -> VerifiedRelease:
    try:
        return verify_directory(folder)
    except CertificateRejected as error:
        raise CertificateRejected(f"{folder} doesn't verify: {error}") from None


_Both = tuple[tuple["NoisyPart", ...], tuple["NoisyPart", ...]]


def _find_mismatches(before: VerifiedRelease, after: VerifiedRelease, both: _Both) -> Iterator[str]:
    """Yield the reasons why the tables of a query can't be subtracted.

    A reason is text that follows the query's name.
    """
    first, second = (parts[0].layout for parts in both)
    yield from _find_group_mismatches(first, second)
    if before.spec.derive != after.spec.derive:
        yield ": derived columns are computed differently in the two releases."
    drawn = [_statistics_by_label(parts) for parts in both]
    for label in sorted(drawn[0].keys() ^ drawn[1].keys()):
        yield f": {label} is in only one of the two releases."
    for label, (_, statistic, ingredients, _) in drawn[0].items():
        # a count or a sum means the same, whatever components it is computed from
        if (
            not isinstance(statistic, Count | Sum)
            and ingredients.components != drawn[1][label][2].components
        ):
            yield f": {label} has other bounds in the two releases, or counts missing values."
        for column in (part.column for part in statistic.parts):
            known = [release.spec.columns.get(column, Column()) for release in (before, after)]
            bounded = statistic.of_all_groups or isinstance(statistic, Sum)
            if bounded and known[0].limits != known[1].limits:
                yield f": the column {column!r} has other bounds in the two releases."
            if known[0].missing != known[1].missing:
                yield f": missing values of {column!r} are treated differently in the two releases."


def _find_group_mismatches(first: Layout, second: Layout) -> Iterator[str]:
    columns = [[axis.column for axis in layout.grouped] for layout in (first, second)]
    if columns[0] != columns[1]:
        yield " is grouped by other columns in the two releases."
    for axis, another in zip(first.grouped, second.grouped, strict=False):
        if axis != another:
            yield f": the column {axis.column!r} has other keys or edges in the two releases."
    if first.conditions != second.conditions:
        yield " has other conditions in the two releases."
    if first.filters != second.filters:
        yield " has other filters in the two releases."
    if first.joined != second.joined:
        yield " has other tables joined to its rows in the two releases."


def _statistics_by_label(parts: Sequence[NoisyPart]) -> dict[str, _NoisyStatistic]:
    """The statistics of a query by label, each with its part, its ingredients and coordinates."""
    return {
        statistic.label: (part, statistic, ingredients, [part.first + use for use in uses])
        for part in parts
        for statistic, ingredients, uses in zip(
            part.layout.statistics,
            part.layout.ingredients(part.noise_errors),
            part.layout.uses,
            strict=True,
        )
    }


def read_numbers(
    folder: Path, release: VerifiedRelease, parts: Sequence[NoisyPart]
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """The numbers of a table of a verified release, by column; `parts` are the table's parts."""
    kind = release.spec.table_kind
    layouts = [part.layout for part in parts]
    columns = read_table(folder / f"{parts[0].name}.{kind}", layouts)
    labels = [f"{statistic.label}{end}" for statistic in statistics_of(layouts) for end in SUFFIXES]
    numbers = numbers_of(
        [pair for part in parts for pair in part.noisy],
        {label: columns[label] for label in labels},
        kind,
    )
    return {label: np.array(values, dtype=np.float64) for label, values in numbers.items()}


def _subtract(
    both: _Both, published: Sequence[dict[str, np.ndarray[Any, np.dtype[np.float64]]]]
) -> Table:
    """The later table of a query minus the earlier table.

    `both` has the parts of the query, and `published` the columns of its tables: first of the
    earlier release, then of the later one.
    """
    layouts: list[Layout] = [part.layout for part in both[0]]
    names = [name for axis in layouts[0].axes for name in axis.columns]
    names += ["condition"] if layouts[0].conditions else []
    columns: dict[str, list[Any]] = dict(zip(names, key_columns(layouts[0]), strict=True))
    confidence: dict[str, float] = {}
    drawn = [_statistics_by_label(parts) for parts in both]
    for statistic in statistics_of(layouts):
        label = statistic.label
        value = published[1][label] - published[0][label]
        std = np.hypot(published[0][f"{label}_std"], published[1][f"{label}_std"])
        half = _half_width(drawn[0][label], drawn[1][label])
        if half is None:
            low = published[1][f"{label}_low"] - published[0][f"{label}_high"]
            high = published[1][f"{label}_high"] - published[0][f"{label}_low"]
        else:
            low, high = value - half, value + half
        confidence[label] = UNION if half is None else CONVOLVED
        for suffix, numbers in zip(SUFFIXES, (value, std, low, high), strict=True):
            columns[f"{label}{suffix}"] = numbers.tolist()
    return Table(name=layouts[0].name, columns=columns, confidence=confidence)


def _half_width(before: _NoisyStatistic, after: _NoisyStatistic) -> float | None:
    """The half-width t: the noise of a difference is within ±t with probability 95 %.

    Rounding of counts adds half a multiple for each release. None for statistics other than counts
    and sums, and if the distribution of the noise isn't known, as in tables that add up. Also None
    if a value may have been clamped, or clipped because the noise is very large.
    """
    half, ends = 0.0, []
    for part, statistic, ingredients, coordinates in (before, after):
        if not (part.has_coordinates and isinstance(statistic, Total)):
            return None
        if ingredients.clamp and statistic.clamps:
            return None
        # published counts are clipped at LARGEST_WHOLE, which noise must not reach
        if ingredients.multiple and ingredients.noise[0].std > LARGEST_WHOLE / 1000:
            return None
        half += ingredients.multiple / 2 if statistic.counts else 0.0
        weights = dict(reversed([*zip(coordinates, statistic.weights(ingredients), strict=True)]))
        ends.append((part.certificate, weights))
    try:
        return half + difference_half_width(ends[0], ends[1], CONVOLVED)
    except NotApplicable:
        return None
