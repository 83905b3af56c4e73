"""A table as observations in SDMX-CSV 2.0: a line for each statistic of each group.

Its dimensions are the keys and STATISTIC. The attributes of an observation are its status, and its
error: the standard deviation of the noise and an interval, or the error in rows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leastnoise.tables.results.table import (
    MARKS,
    PRIMARY,
    SECONDARY,
    SHOWN,
    SUPPRESSED,
    key_names,
    number_columns,
    result_columns,
    statistics_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.results.table import Table

_START = ("STRUCTURE", "STRUCTURE_ID", "ACTION")
FIRST_KEY = len(_START)
_STATISTIC, _VALUE = "STATISTIC", "OBS_VALUE"
_STATUS = ("OBS_STATUS", "CONF_STATUS")
_CODES = {SHOWN: ("E", "F"), PRIMARY: ("Q", "A"), SECONDARY: ("Q", "D")}
"""The SDMX codes of status and confidentiality, by suppression mark.

A shown value is an estimate, free for publication. A suppressed value is missing, because its count
is small, or to protect such a value (secondary confidentiality).
"""
_ATTRIBUTES = {
    "_std": "STD_DEV",
    "_low": "INTERVAL_LOW",
    "_high": "INTERVAL_HIGH",
    "_rows_95": "ERROR_ROWS",
}
_ID = re.compile(r"[A-Za-z0-9_@$-]+")  # an identifier in SDMX
_RESERVED = {*_START, _STATISTIC, _VALUE, *_STATUS, *_ATTRIBUTES.values()}


def why_not(parts: Sequence[TableShape]) -> str | None:
    """The reason why a query's table can't be written as observations; None if it can."""
    if not statistics_of(parts):
        return "has keys alone, and SDMX-CSV needs a statistic"
    for name in key_names(parts[0]):
        if not _ID.fullmatch(name):
            return f"has the column {name!r}, whose letters no SDMX dimension may have: rename it"
        if name in _RESERVED:
            return f"has the column {name!r}, which means something else in SDMX-CSV: rename it"
    return None


def header_of(parts: Sequence[TableShape]) -> list[str]:
    """The header of the observations of a query's table."""
    suffixes = {suffix for asked in statistics_of(parts) for suffix in asked.suffixes}
    attributes = [name for suffix, name in _ATTRIBUTES.items() if suffix in suffixes]
    return [*_START, *key_names(parts[0]), _STATISTIC, _VALUE, *_STATUS, *attributes]


def list_lines(
    table: Table, parts: Sequence[TableShape], *, agency: str
) -> Iterator[Sequence[object]]:
    """The header, and a line for each statistic of each row."""
    header, statistics = header_of(parts), statistics_of(parts)
    yield header
    attributes = [suffix for suffix, name in _ATTRIBUTES.items() if name in header]
    keys = len(key_names(parts[0]))
    start = ("dataflow", f"{agency}:{table.name}(1.0)", "I")
    places = {name: at for at, name in enumerate(table.columns)}
    marks = table.columns.get(SUPPRESSED, [SHOWN] * len(table))
    for row, mark in zip(table.rows, marks, strict=True):
        for asked in statistics:
            beside = [
                row[places[f"{asked.label}{suffix}"]] if suffix in asked.suffixes else None
                for suffix in attributes
            ]
            value = row[places[asked.label]]
            yield (*start, *row[:keys], asked.label, value, *_CODES[mark], *beside)


def is_header(names: Sequence[str], parts: Sequence[TableShape]) -> bool:
    """True if `names` look like a header of observations, and not like the table's own keys."""
    return tuple(names[:FIRST_KEY]) == _START and _START[0] not in key_names(parts[0])


def read_columns(
    names: Sequence[str], lines: Sequence[Sequence[str]], parts: Sequence[TableShape]
) -> dict[str, list[Any]]:
    """The columns of the table, as texts, from the header `names` and the other `lines`.

    Raises ValueError if the lines have another form, or another order, than its observations.
    """
    if not lines:
        return {name: [] for name in result_columns(parts)}
    keys = len(key_names(parts[0]))
    statistic, first_attribute = FIRST_KEY + keys, FIRST_KEY + keys + 2 + len(_STATUS)
    suffixes = {name: suffix for suffix, name in _ATTRIBUTES.items()}
    fits = [*names[statistic:first_attribute]] == [_STATISTIC, _VALUE, *_STATUS]
    fits = fits and suffixes.keys() >= {*names[first_attribute:]}
    if not fits or any(len(line) != len(names) for line in lines):
        raise ValueError("not a header of observations, or lines of different lengths")
    listed = list(dict.fromkeys(line[statistic] for line in lines))
    constant = [*lines[0][:FIRST_KEY]]
    structure = re.fullmatch(r"[A-Za-z0-9_.-]+:(.+)\(1[.]0\)", constant[1])
    if len(lines) % len(listed) or structure is None or structure[1] != parts[0].name:
        raise ValueError("not the observations of this table")
    columns: dict[str, list[Any]] = {
        name: [line[FIRST_KEY + at] for line in lines[:: len(listed)]]
        for at, name in enumerate(names[FIRST_KEY:statistic])
    }
    status = slice(first_attribute - len(_STATUS), first_attribute)
    marks = _read_marks([line[status] for line in lines[:: len(listed)]], parts)
    wanted = {*number_columns(parts)} if SHOWN not in marks else set[str]()
    for position, label in enumerate(listed):
        of_statistic = lines[position :: len(listed)]
        for line, first in zip(of_statistic, lines[:: len(listed)], strict=True):
            alike = line[FIRST_KEY:statistic] == first[FIRST_KEY:statistic]
            alike = alike and line[status] == first[status]
            if not alike or line[:FIRST_KEY] != constant or line[statistic] != label:
                raise ValueError("observations in another order, or of another status")
        columns[label] = [line[statistic + 1] for line in of_statistic]
        for at, name in enumerate(names[first_attribute:], first_attribute):
            values = [line[at] for line in of_statistic]
            if any(values) or f"{label}{suffixes[name]}" in wanted:
                columns[f"{label}{suffixes[name]}"] = values
    return columns if parts[0].suppressed_below is None else columns | {SUPPRESSED: marks}


def _read_marks(codes: Sequence[Sequence[str]], parts: Sequence[TableShape]) -> list[str]:
    """The suppression mark of each row. Raises ValueError for an unknown status."""
    allowed = [SHOWN] if parts[0].suppressed_below is None else MARKS
    marks = {_CODES[mark]: mark for mark in allowed}
    try:
        return [marks[observed, confidential] for observed, confidential in codes]
    except KeyError:
        raise ValueError("observations of another status") from None
