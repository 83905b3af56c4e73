"""Check a table that was published against its layout and its noise, both public."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from leastnoise.errors import CertificateRejected, SourceError
from leastnoise.tables.publish.groups import wrong_keys
from leastnoise.tables.publish.quantiles import wrong_quantile
from leastnoise.tables.publish.table_files import as_read, read_table
from leastnoise.tables.query.layout import Layout
from leastnoise.tables.query.results import key_columns, key_names, result_columns, wrong_rows
from leastnoise.tables.statistics.base import CLOSE, LARGEST_WHOLE, SUFFIXES, Ends, NoiseError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from leastnoise.certificate.unlisted import ThresholdCertificate
    from leastnoise.tables.query.ranks import Ranks

_WHOLE = re.compile("0|-?[1-9][0-9]{0,15}")  # as it is written
# Floats of another machine: a scale that is found again may be off by 1e-9.
_SAME = 1e-7

Part = tuple[Layout, tuple[NoiseError, ...]]
"""The layout of a block's part, and the error of each of its components."""


def check_table(
    path: Path,
    parts: Sequence[Part],
    *,
    ranks: Sequence[Ranks] = (),
    stated: Mapping[str, float] | None = None,
    claim: ThresholdCertificate | None = None,
) -> int:
    """Return the number of rows of a table that holds what was released.

    Checked are names, keys, rows and form, the `_std` of counts and sums, intervals and means.
    Their numbers fit each other and the noise, as `wrong_number` says. The form: whole and not
    negative, where the spec says so. `parts` are those of the block, with the error of each
    component, and `ranks` those with quantiles: each is a candidate, and none is below one of a
    lower level. The columns in `stated` hold these errors in ranks; earlier releases have none of
    them. Where counts decide which groups are there, they are those of `wrong_rows`. Of
    groups that nobody listed, by a `claim` about them, the keys are as `wrong_keys` says, and every
    count that is published reaches the threshold.
    """
    layouts = [*(part for part, _ in parts), *ranks]
    layout = layouts[0]
    wanted = {label: std for part in parts for label, std in _deviations(*part).items()}
    errors = dict(stated or {})
    try:
        columns = read_table(path, layouts)
        older = errors.keys().isdisjoint(columns)
        wanted |= {} if older else errors
        found = [label for label in wanted if label in columns]
        deviations = {label: [float(value) for value in columns[label]] for label in found}
    except SourceError as error:
        raise CertificateRejected(
            f"The table {path.name} is missing or unreadable. {error}"
        ) from None
    except (OSError, ValueError, TypeError, OverflowError, duckdb.Error):
        raise CertificateRejected(f"The table {path.name} is missing or unreadable.") from None
    expected = [name for name in result_columns(layouts) if not (older and name in errors)]
    if list(columns) != expected:
        raise CertificateRejected(f"The table {path.name} has other columns than the spec says.")
    count = len(key_names(layout))
    for label, std in wanted.items():
        if not _are_close(deviations[label], std):
            raise CertificateRejected(f"The table {path.name} has another {label} than its noise.")
    told = numbers_of(parts, dict(list(columns.items())[count:]), path.suffix.removeprefix("."))
    keys = list(columns.values())[:count]
    _check_keys(path, layout, keys, told, rows=_length(columns))
    for part, noise in parts:
        _check_form(path, part, columns)
        if (label := wrong_number(part, told, noise)) is not None:
            raise CertificateRejected(
                f"The table {path.name} has a {label} that doesn't fit its other numbers or noise."
            )
    _check_quantiles(path, ranks, columns)
    if claim is not None:
        _check_counts(path, parts[0][0], claim, told)
    return _length(columns)


def _length(columns: Mapping[str, Sequence[Any]]) -> int:
    return len(next(iter(columns.values())))


def _check_keys(
    path: Path,
    layout: Layout | Ranks,
    keys: Sequence[list[Any]],
    told: Mapping[str, Sequence[float]],
    *,
    rows: int,
) -> None:
    """Check that the keys are the public ones, cell by cell, or as `wrong_keys` says."""
    kind = path.suffix.removeprefix(".")
    if isinstance(layout, Layout) and (layout.unlisted or layout.decides):
        order = told[layout.decides] if layout.decides and layout.top is not None else None
        if why := wrong_rows(layout, told) or wrong_keys(layout, keys, kind, counts=order):
            raise CertificateRejected(f"The table {path.name} has {why}.")
        return
    if rows != layout.cells:
        raise CertificateRejected(
            f"The table {path.name} has other than the {layout.cells:,} rows that the spec says."
        )
    wanted = [as_read(column, kind) for column in key_columns(layout)]
    if not all(map(_same, keys, wanted)):
        raise CertificateRejected(f"The table {path.name} has other keys than the spec says.")


def _check_quantiles(
    path: Path, ranks: Sequence[Ranks], columns: Mapping[str, Sequence[Any]]
) -> None:
    for own in ranks:
        if (label := wrong_quantile(own, columns, path.suffix.removeprefix("."))) is not None:
            raise CertificateRejected(
                f"The table {path.name} has a {label} that is none of the candidates, is below "
                "that of a lower level, or isn't between its ends."
            )


def _check_counts(
    path: Path, layout: Layout, claim: ThresholdCertificate, told: Mapping[str, Sequence[float]]
) -> None:
    """Check that every published count which decides of its row reaches the threshold."""
    grid = claim.noise.grid if claim.chance_below else None
    least = float(claim.threshold - (grid or 0)) - layout.multiple / 2
    least -= CLOSE * abs(least)
    for asked, uses in zip(layout.statistics, layout.uses, strict=True):
        decides = asked.counts and uses == (claim.coordinate,)
        if decides and min(told[asked.label], default=least) < least:
            raise CertificateRejected(
                f"The table {path.name} has a {asked.label} below the threshold, "
                f"{float(claim.threshold):.6g}."
            )


def numbers_of(
    parts: Sequence[Part], columns: Mapping[str, list[Any]], kind: str
) -> dict[str, list[float]]:
    """Return the numbers of a table, NaN for what is none.

    In JSON null stands for ±∞, as `as_read` says, which only what no bound holds can be.
    """
    open_ends = {
        f"{asked.label}{suffix}": end
        for layout, noise in parts
        for asked, own in zip(layout.statistics, layout.ingredients(noise), strict=True)
        if kind == "json" and asked.is_open(own)
        for suffix, end in (("_std", math.inf), ("_low", -math.inf), ("_high", math.inf))
    }
    return {
        label: [
            open_ends[label]
            if value is None and label in open_ends
            else _float(_number(value, text=kind == "csv"))
            for value in column
        ]
        for label, column in columns.items()
    }


def _check_form(path: Path, layout: Layout, columns: dict[str, list[Any]]) -> None:
    """Check that rounded numbers are multiples of the step, and clamped ones not negative."""
    text = path.suffix == ".csv"
    for asked in layout.statistics:
        step = layout.multiple if asked.counts else 0
        clamped = layout.clamp and asked.clamps
        if not step and not clamped:
            continue
        for label in (f"{asked.label}{suffix}" for suffix in SUFFIXES if suffix != "_std"):
            numbers = [_number(value, text=text) for value in columns[label]]
            if step and not all(_is_whole(number, step) for number in numbers):
                multiple = "whole" if step == 1 else f"a multiple of {step:,}"
                raise CertificateRejected(
                    f"The table {path.name} has a {label} that isn't {multiple}."
                )
            if clamped and not all(0 <= number < math.inf for number in numbers):
                raise CertificateRejected(f"The table {path.name} has a {label} below 0.")


def _number(value: Any, *, text: bool) -> int | float:
    """Return the number that a field of a table holds, NaN for what is none."""
    if text and _WHOLE.fullmatch(value):
        return int(value)
    if text or type(value) is float:
        try:
            return float(value)
        except ValueError:
            return math.nan
    return value if type(value) is int else math.nan


def _float(number: float) -> float:
    """Return it as a float, NaN for a whole number that is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.nan


def _is_whole(number: float, multiple: int) -> bool:
    return isinstance(number, int) and abs(number) <= LARGEST_WHOLE and number % multiple == 0


def _same(told: list[Any], wanted: list[Any]) -> bool:
    """Say whether two columns of public values are equal; True isn't 1 here, nor 1 1.0."""
    return told == wanted and list(map(type, told)) == list(map(type, wanted))


def _deviations(layout: Layout, noise: Sequence[NoiseError]) -> dict[str, Ends]:
    """Return the `_std` of each statistic whose noise says it, of every cell or of each."""
    found = {
        f"{asked.label}_std": asked.stated_std(own)
        for asked, own in zip(layout.statistics, layout.ingredients(noise), strict=True)
    }
    return {label: std for label, std in found.items() if std is not None}


def wrong_number(
    layout: Layout, columns: Mapping[str, Sequence[float]], noise: Sequence[NoiseError]
) -> str | None:
    """Return the label of a number that doesn't fit the others of its cell and the noise, or None.

    Whatever value and noise say of the others of its statistic, and of those that are made of the
    same numbers, such as a mean and its count.
    """
    told = {label: np.array(column, dtype=float) for label, column in columns.items()}
    every = list(zip(layout.statistics, layout.ingredients(noise), strict=True))
    beside: dict[Any, list[Any]] = {}
    for asked, own in every:
        value = asked.in_common(own, told[asked.label])
        beside.setdefault(own.components, []).append(value)
    for asked, own in every:
        four = [told[f"{asked.label}{suffix}"] for suffix in SUFFIXES]
        with np.errstate(all="ignore"):
            suffix = asked.wrong_suffix(own, four, beside)
        if suffix is not None:
            return f"{asked.label}{suffix}"
    return None


def _are_close(told: Sequence[float], wanted: Ends) -> bool:
    """Whether all numbers are the one that is wanted, or each is its own."""
    each = np.ravel(wanted).tolist()
    each = each * len(told) if isinstance(wanted, float) else each
    return len(told) == len(each) and all(map(is_close, told, each))


def is_close(told: float, wanted: float) -> bool:
    """Whether two floats are the same but for the machine that computed them."""
    return math.isclose(told, wanted, rel_tol=_SAME)
