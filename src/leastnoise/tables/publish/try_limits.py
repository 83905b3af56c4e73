"""Compare the noise and the bias of several values of a limit, on a file that isn't private.

The result is not private: it compares exact numbers of the file with and without limits. For each
value of the limit, the noise is as in the plan with this value. The bias is the difference from the
same query without limits, and with bounds that hold every value of the file.

Over the cells of a statistic, noise² is the mean of its variances, bias² the mean of the squared
differences, and total² = noise² + bias².
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
from leastnoise.tables.layout import found_bounds, found_limits
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

    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.spec.model import Spec

LIMITS = ("max_rows", "max_groups", "max_rows_per_group")
MOST_VALUES = 20  # each value needs a plan, which takes seconds
_BOUNDS = "bounds."
_Cells = tuple[Layout, NDArray[np.float64]]
"""A layout, and the exact numbers of its cells."""
_NONE = NoiseError(std=0.0, half95=0.0, half975=0.0, half983=0.0)


@final
@dataclass(frozen=True, kw_only=True)
class Trial:
    """The error of one statistic with one value of a limit, in the statistic's own units.

    `noise`, `bias` and `total` are root mean squares over the groups of the statistic; for a mean
    or a similar statistic, over groups that have values. `least` is True if no value of the limit
    has a clearly smaller total, and some value has a clearly larger one.
    """

    query: str
    statistic: str
    value: str
    noise: float
    bias: float
    least: bool = False

    @property
    def total(self) -> float:
        """The total error √(noise² + bias²)."""
        return math.hypot(self.noise, self.bias)


@final
@dataclass(frozen=True, kw_only=True)
class Trials:
    """The errors of statistics with each value of a limit, and the statistics not compared."""

    trials: tuple[Trial, ...]
    not_compared: tuple[str, ...]


def key_of(name: str) -> str:
    """The key of a spec that has the limit `name`; raises InvalidArgument for other names."""
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
    """Compute the errors of a release with each of several `values` of a limit.

    Args:
        spec: The spec file.
        name: The limit: "max_rows", "max_groups", "max_rows_per_group" or "bounds.COLUMN".
        values: Values of the limit; of bounds like "0..100".
        sample: A file of rows that may be looked at, in place of the spec's source.
        progress: Called with each stage in words.

    Returns:
        The errors of every statistic that can be compared. No ledger is charged.

    Raises:
        InvalidArgument: The limit or a value is malformed.
        SpecError: The spec is invalid.
        SourceError: A file can't be read.
        Refused: No noise can serve a query, no statistic can be compared, a person has too many
            rows, or each release finds limits or bounds anew. Also if the spec is invalid with
            bounds that hold all values.
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
    plans: dict[str, tuple[SpecLayout, Plan]] = {}
    for value in values:
        spec_layout = spec_file.lay_out(_change_limit(raw, name, value), folder=spec.parent)
        for column in found_bounds.columns_by_query(spec_layout.spec).values():
            raise Refused(
                f"The release finds columns.{column}.bounds itself each time, so limits can't be "
                "compared. Give these bounds in the spec."
            )
        for key, _ in found_limits.list_finders(spec_layout.spec):
            raise Refused(
                f"The release finds {key} itself each time, so other limits can't be compared. "
                f"Give {key} a number in the spec."
            )
        progress(f"Planning with {name} = {value}")
        plans[value] = least_epsilon.find_plan(spec_layout, None)
    first = next(iter(plans.values()))[0].spec
    progress("Reading the file")
    try:
        whole = spec_file.lay_out(_remove_limits(raw, first, spec.parent), folder=spec.parent)
    except SpecError:
        raise Refused(
            "The limits can't be compared, because the spec doesn't allow bounds that contain all "
            "values of the sample."
        ) from None
    answers = list_answers(whole)
    shared = {label for answer in answers if answer.shares_draws for label in answer.labels}
    truths = {
        layouts[0].label: (layouts[0], _sum_cells(whole.spec, layouts[0], spec.parent))
        for parts in whole.queries
        for layouts in parts
        if layouts[0].label in shared and not (layouts[0].conditions or layouts[0].clipped)
    }
    trials = [
        trial
        for value, (spec_layout, plan) in plans.items()
        for part in plan.noisy_parts
        if part.layout.label in truths
        for trial in _find_errors(
            spec_layout.spec, part, truths[part.layout.label], value=value, folder=spec.parent
        )
    ]
    if not trials:
        raise Refused(
            "The spec has no statistic whose errors can be compared. Errors can never be compared "
            "for groups that nobody listed, margins, levels, cumulative counts, conditions, "
            "quantiles or selected groups."
        )
    not_compared = tuple(_list_uncompared(trials, *plans[values[0]]))
    return Trials(trials=tuple(_mark_least(trials)), not_compared=not_compared)


def _change_limit(raw: dict[str, Any], name: str, value: str) -> dict[str, Any]:
    """A spec with another value of the limit `name`.

    Raises InvalidArgument if the value is malformed, or if the column of bounds has no section.
    """
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


def _remove_limits(raw: dict[str, Any], spec: Spec, folder: Path) -> dict[str, Any]:
    """A spec without limits that drop rows, and with bounds that hold every value of the file.

    `round` and `clamp` are left out, too. `spec` is a spec from `raw`. Raises Refused if a person
    has too many rows.
    """
    changed = copy.deepcopy(raw)
    unused = {"clipping", "rest", "clamp", "round", "contribution"}
    changed["query"] = [
        {key: value for key, value in query.items() if key not in unused}
        for query in changed["query"]
    ]
    rows_source = source.find_source(spec, folder)
    known = {**rows_source.columns, **rows_source.computed.types}
    for name, column in spec.columns.items():
        if column.limits is None or name not in known:
            continue
        with source.open_engine(rows_source) as engine:
            value = nw.col(engine.column(name, "v"))
            rows = engine.frame.filter(engine.has_value(name))
            (ends_of_file,) = engine.rows(rows.select(low=value.min(), high=value.max()))
        ends = [
            *map(float, column.limits),
            *(float(end) for end in ends_of_file if end is not None),
        ]
        changed["columns"][name]["bounds"] = [repr(min(ends)), repr(max(ends))]
    if not spec.privacy.by_row:
        with source.open_engine(rows_source) as engine:
            unit = nw.col(engine.column(spec.privacy.unit, "u"))
            rows = engine.frame.filter(~unit.is_null()).select(unit=unit).group_by("unit")
            ((most,),) = engine.rows(rows.agg(n=nw.len()).select(nw.col("n").max()))
        if (most := most or 1) > MAX_ROWS_BOUND:
            raise Refused(
                f"A person of the sample has more than {MAX_ROWS_BOUND:,} rows. Leave some of "
                "these rows out of the sample."
            )
        changed["contribution"] = {"max_rows": most}
    return changed


def _sum_cells(spec: Spec, layout: Layout, folder: Path) -> NDArray[np.float64]:
    """The sums of each cell of `layout` over the rows of the file, shape (cells, components)."""
    rows = source.find_source(spec, folder)
    vector = ExactTotals.of(rows, spec, tell=lambda _: None).vector(layout)
    return vector.reshape(-1, len(layout.components)) / 2.0**layout.bits


def _find_errors(
    spec: Spec, part: NoisyPart, truth: _Cells, *, value: str, folder: Path
) -> Iterator[Trial]:
    """Yield the error of each statistic of the query `part`, planned with `value` as the limit.

    `truth` has the exact cells of the query without limits. A statistic that needs values is left
    out if no cell has any.
    """
    layout = part.layout
    limited = _sum_cells(spec, layout, folder)
    noisy = values_of(layout, limited, part.noise_errors)
    limited_values, true_values = (
        values_of(cell_layout, numbers, [_NONE] * len(cell_layout.components))
        for cell_layout, numbers in ((layout, limited), truth)
    )
    for index, statistic in enumerate(layout.statistics):
        of_values = truth[1][:, truth[0].uses[index][-1]]
        counted = (
            of_values > 0 if statistic.needs_size else np.ones(of_values.shape, dtype=np.bool_)
        )
        if counted.any():
            taken_away = limited_values[index][0] - true_values[index][0]
            yield Trial(
                query=layout.name,
                statistic=statistic.in_words(spec.labels),
                value=value,
                noise=_root_mean_square(noisy[index][1][counted]),
                bias=_root_mean_square(taken_away[counted]),
            )


def _root_mean_square(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _mark_least(trials: Sequence[Trial]) -> Iterator[Trial]:
    """Yield the errors by statistic, in the order of the limit's values; mark the smallest.

    An error that is nearly the smallest of its statistic is marked, too. If all errors of a
    statistic are alike, no error is marked.
    """
    by_statistic: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        by_statistic.setdefault((trial.query, trial.statistic), []).append(trial)
    for group in by_statistic.values():
        most = min(trial.total for trial in group) * (1 + CLOSE)
        alike = all(trial.total <= most for trial in group)
        yield from (replace(trial, least=trial.total <= most and not alike) for trial in group)


def _list_uncompared(trials: Sequence[Trial], spec_layout: SpecLayout, plan: Plan) -> Iterator[str]:
    """Yield texts such as "mean age of visits" for statistics that aren't compared.

    Statistics over all groups together are not listed: they count what limits and bounds drop.
    """
    compared = {(trial.query, trial.statistic) for trial in trials}
    for query in plan.by_query:
        for statistic in statistics_of(query.layouts):
            label = statistic.in_words(spec_layout.spec.labels)
            if (query.name, label) not in compared and not statistic.of_all_groups:
                yield f"{label} of {query.name}"
