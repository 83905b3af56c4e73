"""What values of a limit would cost on a file that may be looked at: noise, and what is cut off.

Nothing here is private: it compares exact numbers of the file with and without limits. The noise of
each value is that of the plan that a release would have. What is cut off is the difference of the
same query without limits, and with bounds that hold every value of the file.

notation: over the cells of a statistic, noise² = the mean of its variances, bias² = the mean of the
squared differences, total² = noise² + bias².
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from leastnoise import _files
from leastnoise.errors import InvalidArgument, Refused, SourceError, SpecError, show_value
from leastnoise.tables.answers.match_certificates import list_answers
from leastnoise.tables.layout import finding
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan import least_epsilon
from leastnoise.tables.results.table import statistics_of, values_of
from leastnoise.tables.rows import source
from leastnoise.tables.rows.exact import ExactTotals
from leastnoise.tables.spec.values import LARGEST_SPEC, MAX_ROWS_BOUND
from leastnoise.tables.statistics.base import CLOSE, NoiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leastnoise.tables.answers.noisy import BlockPlan
    from leastnoise.tables.layout.layout import LaidOut
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.spec.model import Spec

LIMITS = ("max_rows", "max_groups", "max_rows_per_group")
MOST_VALUES = 20  # each is a plan, which takes seconds
_BOUNDS = "bounds."
_Cells = tuple[Layout, NDArray[np.float64]]
"""A layout, and the numbers of its cells."""
_NONE = NoiseError(std=0.0, half95=0.0, half975=0.0, half983=0.0)


@final
@dataclass(frozen=True, kw_only=True)
class Tried:
    """The error of a statistic with one value of a limit, in the statistic's own units.

    Over its groups, those of a mean that have values: the root mean square of the noise, of what
    limits and bounds take away, and of both together. `least` says that no other value of the limit
    has less in all, and some have more.
    """

    query: str
    statistic: str
    value: str
    noise: float
    bias: float
    least: bool = False

    @property
    def total(self) -> float:
        """√(noise² + bias²)."""
        return math.hypot(self.noise, self.bias)


@final
@dataclass(frozen=True, kw_only=True)
class Trials:
    """The errors of every statistic that can be compared, with each value; what the others are."""

    tried: tuple[Tried, ...]
    others: tuple[str, ...]


def key_of(name: str) -> str:
    """Return the key of a spec that `name` is a limit of; raises InvalidArgument."""
    if name in LIMITS:
        return f"contribution.{name}"
    if name.startswith(_BOUNDS) and name != _BOUNDS:
        return f"columns.{name.removeprefix(_BOUNDS)}.bounds"
    expected = f"one of {', '.join(LIMITS)}, or bounds.COLUMN"
    raise InvalidArgument(name="--try", value=show_value(name), expected=expected)


def try_limits(
    spec: Path,
    *,
    name: str,
    values: Sequence[str],
    sample: Path,
    progress: Callable[[str], object],
) -> Trials:
    """Return the errors of the release in the file `spec` with each of the `values` of a limit.

    `name` is "max_rows", "max_groups", "max_rows_per_group" or "bounds.COLUMN", whose values are
    like 0..100. The rows are those of the file `sample`, not of the spec's source. No ledger is
    charged. Raises InvalidArgument, SpecError and SourceError for what can't be read, Refused if
    no noise can serve, or nothing can be compared.
    """
    key_of(name)
    if not 1 <= len(values) <= MOST_VALUES:
        expected = f"1 to {MOST_VALUES} values of {name}"
        raise InvalidArgument(name="--try", value=len(values), expected=expected)
    if not sample.exists():
        raise SourceError(f"Expected a file of rows, found none at {sample}.")
    raw = spec_file.parse_toml(_files.read_text(spec, most=LARGEST_SPEC))
    if isinstance(data := raw.get("data"), dict):
        data["source"] = str(sample.absolute())
        for key in ("table", "engine"):
            data.pop(key, None)
    plans: dict[str, tuple[LaidOut, Plan]] = {}
    for value in values:
        laid = spec_file.lay_out(_changed(raw, name, value), folder=spec.parent)
        for column in finding.columns_by_query(laid.spec).values():
            why = "are found by each release, whose errors they decide: give them, to compare."
            raise Refused(f"columns.{column}.bounds {why}")
        progress(f"Planning with {name} = {value}")
        plans[value] = least_epsilon.find_plan(laid, None)
    first = next(iter(plans.values()))[0].spec
    progress("Reading the file")
    try:
        whole = spec_file.lay_out(_unlimited(raw, first, spec.parent), folder=spec.parent)
    except SpecError:
        raise Refused("The spec has no meaning with bounds that hold all of this file.") from None
    answers = list_answers(whole)
    shared = {label for one in answers if one.shares_draws for label in one.labels}
    truths = {
        ways[0].label: (ways[0], _numbers(whole.spec, ways[0], spec.parent))
        for parts in whole.queries
        for ways in parts
        if ways[0].label in shared and not (ways[0].conditions or ways[0].clipped)
    }
    found = [
        one
        for value, (laid, plan) in plans.items()
        for block in plan.blocks
        if block.layout.label in truths
        for one in _errors(
            laid.spec, block, truths[block.layout.label], value=value, folder=spec.parent
        )
    ]
    if not found:
        raise Refused(
            "No statistic can be compared: groups that nobody listed, margins, levels, "
            "cumulative counts, "
            "conditions and quantiles can't."
        )
    return Trials(tried=tuple(_marked(found)), others=tuple(_others(found, *plans[values[0]])))


def _changed(raw: dict[str, Any], name: str, value: str) -> dict[str, Any]:
    """Return a spec with another value of the limit; raises InvalidArgument if it can't be one."""
    changed = copy.deepcopy(raw)
    if name.startswith(_BOUNDS):
        low, dots, high = value.partition("..")
        if not (low and dots and high):
            raise InvalidArgument(name="--try", value=value, expected="bounds like 0..100")
        column = name.removeprefix(_BOUNDS)
        if not isinstance(changed.get("columns"), dict) or column not in changed["columns"]:
            raise InvalidArgument(name="--try", value=name, expected="a column under [columns]")
        changed["columns"][column]["bounds"] = [low, high]
        return changed
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(MAX_ROWS_BOUND))):
        raise InvalidArgument(name="--try", value=value, expected=f"whole numbers of {name}")
    changed["contribution"] = dict(changed.get("contribution") or {}) | {name: int(value)}
    return changed


def _unlimited(raw: dict[str, Any], spec: Spec, folder: Path) -> dict[str, Any]:
    """Return a spec whose limits cut off nothing of the rows, and whose bounds clamp no value."""
    changed = copy.deepcopy(raw)
    unused = {"clipping", "rest", "clamp", "round"}
    changed["query"] = [
        {key: value for key, value in query.items() if key not in unused}
        for query in changed["query"]
    ]
    found = source.find_source(spec, folder)
    known = {**found.columns, **found.computed.types}
    for name, column in spec.columns.items():
        if column.limits is None or name not in known:
            continue
        with source.open_engine(found) as engine:
            value = nw.col(engine.column(name, "v"))
            rows = engine.frame.filter(engine.has_value(name))
            (held,) = engine.rows(rows.select(low=value.min(), high=value.max()))
        ends = [*map(float, column.limits), *(float(end) for end in held if end is not None)]
        changed["columns"][name]["bounds"] = [repr(min(ends)), repr(max(ends))]
    if not spec.privacy.by_row:
        with source.open_engine(found) as engine:
            unit = nw.col(engine.column(spec.privacy.unit, "u"))
            rows = engine.frame.filter(~unit.is_null()).select(unit=unit).group_by("unit")
            ((most,),) = engine.rows(rows.agg(n=nw.len()).select(nw.col("n").max()))
        if (most := most or 1) > MAX_ROWS_BOUND:
            raise Refused(f"A person of this file has more than {MAX_ROWS_BOUND:,} rows.")
        changed["contribution"] = {"max_rows": most}
    return changed


def _numbers(spec: Spec, layout: Layout, folder: Path) -> NDArray[np.float64]:
    """Return what the rows of the file add up to in each cell, shape (cells, components)."""
    found = source.find_source(spec, folder)
    vector = ExactTotals.of(found, spec, tell=lambda _: None).vector(layout)
    return vector.reshape(-1, len(layout.components)) / 2.0**layout.bits


def _errors(
    spec: Spec, block: BlockPlan, truth: _Cells, *, value: str, folder: Path
) -> Iterator[Tried]:
    """Yield the error of each statistic of a block, given what its cells are without limits."""
    layout = block.layout
    limited = _numbers(spec, layout, folder)
    noisy = values_of(layout, limited, block.noise_errors)
    cut, whole = (
        values_of(one, numbers, [_NONE] * len(one.components))
        for one, numbers in ((layout, limited), truth)
    )
    for place, asked in enumerate(layout.statistics):
        of_values = truth[1][:, truth[0].uses[place][-1]]
        there = of_values > 0 if asked.needs_size else np.ones(of_values.shape, dtype=np.bool_)
        if there.any():
            away = cut[place][0] - whole[place][0]
            yield Tried(
                query=layout.name,
                statistic=asked.in_words(spec.labels),
                value=value,
                noise=_root_mean_square(noisy[place][1][there]),
                bias=_root_mean_square(away[there]),
            )


def _root_mean_square(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _marked(found: Sequence[Tried]) -> Iterator[Tried]:
    """Yield the errors by statistic, in the order of the values, the least of each marked."""
    by_statistic: dict[tuple[str, str], list[Tried]] = {}
    for one in found:
        by_statistic.setdefault((one.query, one.statistic), []).append(one)
    for own in by_statistic.values():
        most = min(one.total for one in own) * (1 + CLOSE)
        alike = all(one.total <= most for one in own)
        yield from (replace(one, least=one.total <= most and not alike) for one in own)


def _others(found: Sequence[Tried], laid: LaidOut, plan: Plan) -> Iterator[str]:
    """Yield what isn't compared of a plan, but for the counts of what limits take away."""
    compared = {(one.query, one.statistic) for one in found}
    for query in plan.by_query:
        for asked in statistics_of(query.layouts):
            said = asked.in_words(laid.spec.labels)
            if (query.name, said) not in compared and not asked.of_all_groups:
                yield f"{said} of {query.name}"
