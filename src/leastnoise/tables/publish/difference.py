"""What changed between two releases: the difference of each number, and the noise that is in it."""

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
from leastnoise.tables.spec.model import Contribution
from leastnoise.tables.statistics.base import LARGEST_WHOLE, SUFFIXES
from leastnoise.tables.statistics.totals import Count, Sum, Total

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise._notebooks import Columns
    from leastnoise.tables.answers.noisy import BlockPlan
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.base import Ingredients, Statistic

CONVOLVED, UNION = 0.95, 0.9
"""How often an interval holds: by both laws of noise, or as both of the two intervals hold."""

_Drawn = tuple["BlockPlan", "Statistic", "Ingredients", list[int]]
"""A block's part, a statistic of it, what that is made of, and the coordinates of these."""


@final
@dataclass(frozen=True, kw_only=True)
class ReleaseDifference(Shown):
    """The later release less the earlier one, a table a query, with the same columns as theirs.

    `_std` is the root of the sum of both variances, since both draws of noise are independent.
    `_low` and `_high` hold the difference without noise, each by itself, with the probability that
    the `confidence` of the table states by statistic: 0.95 where both laws of the noise are known,
    and 0.9 where it is enough that both published intervals hold, as they do with 0.95 each.
    """

    before: VerifiedRelease
    after: VerifiedRelease
    tables: dict[str, Table]

    def __repr__(self) -> str:
        tables = _words.count_noun(len(self.tables), "table")
        return _words.line("ReleaseDifference", f"{tables}: {_words.list_names(self.tables)}")

    @property
    def notes(self) -> tuple[str, ...]:
        """Which limits on persons differ: a part of what changed is then what they take away."""
        every = [found.spec.contribution or Contribution() for found in (self.before, self.after)]
        both = {name: [getattr(one, name) for one in every] for name in Contribution.model_fields}
        return tuple(
            f"{name} is {_limit(one)} before and {_limit(other)} after: what that takes away "
            "differs, and is in the difference."
            for name, (one, other) in both.items()
            if one != other
        )

    def _tables(self) -> dict[str, Columns]:
        return {name: table.columns for name, table in self.tables.items()}


def _limit(value: Fraction | None) -> str:
    return "not given" if value is None else decimal_text(Fraction(value))


def subtract_releases(before: str | Path, after: str | Path) -> ReleaseDifference:
    """Return what changed from the release in the directory `before` to the one in `after`.

    Both are verified first; raises what `verify_directory` does, with the directory, and Refused
    unless both have the same queries, by the same keys, of the same statistics and bounds, or if
    noise decides which groups a table has: differences of those that both have would be biased.
    It is post-processing, and costs nothing. Together the two cost what both cost.
    """
    folders = [
        _validate.path(before, name="before"),
        _validate.path(after, name="after"),
    ]
    found = [_verified(folder) for folder in folders]
    if Seal.read(folders[0]).files == Seal.read(folders[1]).files:
        raise Refused(
            "Both directories hold the same files: one release has one draw of noise. If they are "
            "two releases whose numbers came out alike, each difference is 0."
        )
    plans = [{query.name: query for query in one.plan.by_query} for one in found]
    for name in sorted(plans[0].keys() ^ plans[1].keys()):
        raise Refused(f"The query {name!r} is in one of the two releases alone.")
    tables: dict[str, Table] = {}
    for name, query in plans[0].items():
        for part in (*query.parts, *plans[1][name].parts):
            if part.why_no_difference is not None:
                raise Refused(f"The query {name!r}{part.why_no_difference}")
        both = (query.blocks, plans[1][name].blocks)
        if why := next(_unlike(found[0], found[1], both), None):
            raise Refused(f"The query {name!r}{why}")
        told = [
            _numbers(folder, one, own)
            for folder, one, own in zip(folders, found, both, strict=True)
        ]
        tables[name] = _subtract(both, told)
    return ReleaseDifference(before=found[0], after=found[1], tables=tables)


def _verified(folder: Path) -> VerifiedRelease:
    try:
        return verify_directory(folder)
    except CertificateRejected as error:
        raise CertificateRejected(f"{folder} doesn't verify: {error}") from None


_Both = tuple[tuple["BlockPlan", ...], tuple["BlockPlan", ...]]


def _unlike(before: VerifiedRelease, after: VerifiedRelease, both: _Both) -> Iterator[str]:
    """Yield why the tables of a query can't be subtracted, to go on from its name."""
    one, other = (parts[0].layout for parts in both)
    yield from _unlike_groups(one, other)
    if before.spec.derive != after.spec.derive:
        yield ": derived columns are computed otherwise in the two releases."
    drawn = [_drawn(parts) for parts in both]
    for label in sorted(drawn[0].keys() ^ drawn[1].keys()):
        yield f": {label} is asked for in one of the two releases alone."
    for label, (_, asked, own, _) in drawn[0].items():
        # a count or a sum is the same number, whatever it is made of
        if not isinstance(asked, Count | Sum) and own.components != drawn[1][label][2].components:
            yield f": {label} has other bounds in the two releases, or counts missing values."
        for column in (part.column for part in asked.parts):
            known = [one.spec.columns.get(column, Column()) for one in (before, after)]
            bounded = asked.of_all_groups or isinstance(asked, Sum)
            if bounded and known[0].limits != known[1].limits:
                yield f": the column {column!r} has other bounds in the two releases."
            if known[0].missing != known[1].missing:
                yield f": missing values of {column!r} are treated otherwise in the two releases."


def _unlike_groups(one: Layout, other: Layout) -> Iterator[str]:
    columns = [[axis.column for axis in layout.grouped] for layout in (one, other)]
    if columns[0] != columns[1]:
        yield " is grouped by other columns in the two releases."
    for axis, another in zip(one.grouped, other.grouped, strict=False):
        if axis != another:
            yield f": the column {axis.column!r} has other keys or edges in the two releases."
    if one.conditions != other.conditions:
        yield " has other conditions in the two releases."
    if one.filters != other.filters:
        yield " is about other rows in the two releases: its filters differ."
    if one.joined != other.joined:
        yield " has other tables joined to its rows in the two releases."


def _drawn(parts: Sequence[BlockPlan]) -> dict[str, _Drawn]:
    """Return each statistic of a block with the part that draws it."""
    return {
        asked.label: (part, asked, own, [part.first + use for use in uses])
        for part in parts
        for asked, own, uses in zip(
            part.layout.statistics,
            part.layout.ingredients(part.noise_errors),
            part.layout.uses,
            strict=True,
        )
    }


def _numbers(
    folder: Path, found: VerifiedRelease, parts: Sequence[BlockPlan]
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return the numbers of a verified table, by column."""
    kind = found.spec.output.format if found.spec.output else "parquet"
    layouts = [part.layout for part in parts]
    columns = read_table(folder / f"{parts[0].name}.{kind}", layouts)
    labels = [f"{asked.label}{end}" for asked in statistics_of(layouts) for end in SUFFIXES]
    told = numbers_of(
        [pair for part in parts for pair in part.noisy],
        {label: columns[label] for label in labels},
        kind,
    )
    return {label: np.array(values, dtype=np.float64) for label, values in told.items()}


def _subtract(
    both: _Both, told: Sequence[dict[str, np.ndarray[Any, np.dtype[np.float64]]]]
) -> Table:
    """Return the difference of a query's tables."""
    layouts: list[Layout] = [part.layout for part in both[0]]
    names = [name for axis in layouts[0].axes for name in axis.columns]
    names += ["condition"] if layouts[0].conditions else []
    columns: dict[str, list[Any]] = dict(zip(names, key_columns(layouts[0]), strict=True))
    confidence: dict[str, float] = {}
    drawn = [_drawn(parts) for parts in both]
    for asked in statistics_of(layouts):
        label = asked.label
        value = told[1][label] - told[0][label]
        std = np.hypot(told[0][f"{label}_std"], told[1][f"{label}_std"])
        half = _half_width(drawn[0][label], drawn[1][label])
        if half is None:
            low = told[1][f"{label}_low"] - told[0][f"{label}_high"]
            high = told[1][f"{label}_high"] - told[0][f"{label}_low"]
        else:
            low, high = value - half, value + half
        confidence[label] = UNION if half is None else CONVOLVED
        for suffix, numbers in zip(SUFFIXES, (value, std, low, high), strict=True):
            columns[f"{label}{suffix}"] = numbers.tolist()
    return Table(name=layouts[0].name, columns=columns, confidence=confidence)


def _half_width(before: _Drawn, after: _Drawn) -> float | None:
    """Return t such that the difference of one number has no more noise, with 95 %.

    Rounded counts are off by half a multiple more. None where a value isn't a sum of numbers of
    known noise, as with tables that add up, or may have been clamped.
    """
    half, ends = 0.0, []
    for part, asked, own, coordinates in (before, after):
        if not (part.has_coordinates and isinstance(asked, Total)):
            return None
        if own.clamp and asked.clamps:
            return None
        # counts are cut off 1,000 standard deviations away at least, which no noise reaches
        if own.multiple and own.noise[0].std > LARGEST_WHOLE / 1000:
            return None
        half += own.multiple / 2 if asked.counts else 0.0
        weights = dict(reversed([*zip(coordinates, asked.weights(own), strict=True)]))
        ends.append((part.certificate, weights))
    try:
        return half + difference_half_width(ends[0], ends[1], CONVOLVED)
    except NotApplicable:
        return None
