"""Clocks of time zones: their changes against the time zone database, and what is refused."""

from __future__ import annotations

import struct
import sys
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tzdata

import leastnoise as ln
from leastnoise.errors import SpecError
from leastnoise.tables.expressions import zones
from leastnoise.tables.expressions.language import parse
from tests.grids import thin
from tests.tables.expressions.oracle_dates import read_zone
from tests.tables.expressions.rows import TYPES

_LISTED = (resources.files("tzdata") / "zones").read_text().split()


def changes_in_file(zone: str) -> dict[int, int]:
    """The changes of a zone's offset from 1970 on, read from a file of RFC 8536."""
    content = resources.files("tzdata").joinpath("zoneinfo", *zone.split("/")).read_bytes()

    def counts(at: int) -> tuple[int, ...]:
        assert content[at : at + 4] == b"TZif"
        return struct.unpack(">6l", content[at + 20 : at + 44])

    utc, wall, leaps, times, types, letters = counts(0)
    second = 44 + times * 5 + types * 6 + letters + leaps * 8 + wall + utc
    *_, times, types, _ = counts(second)
    at = second + 44
    moments = struct.unpack(f">{times}q", content[at : at + 8 * times])
    indices = content[at + 8 * times : at + 9 * times]
    at += 9 * times
    ahead = [struct.unpack(">l", content[at + 6 * k : at + 6 * k + 4])[0] for k in range(types)]
    listed, before = {}, ahead[0]
    for moment, index in zip(moments, indices, strict=True):
        if moment > 0 and ahead[index] != before:
            listed[moment] = ahead[index]
        before = ahead[index]
    return listed


@pytest.mark.grid
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Africa/Casablanca", *thin(_LISTED[::40], 6)])
def test_changes_are_those_of_the_database(zone: str) -> None:
    listed = changes_in_file(zone)
    last = max(listed, default=0)
    changes = {at: ahead for at, ahead in zones.offsets(zone).items() if 0 < at <= last}
    assert changes == listed
    for year in (1970, 1999, 2037, 2060, 2099):  # also by the rule after the listed ones
        for month in range(1, 13):
            instant = datetime(year, month, 15, 1, tzinfo=UTC)
            second = int(instant.timestamp())
            ahead = [value for at, value in zones.offsets(zone).items() if at <= second][-1]
            expected = instant.astimezone(read_zone(zone)).utcoffset()
            assert expected is not None
            assert ahead == expected.total_seconds()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("date(moment)", "in a zone you name"),
        ("hour(moment)", "in a zone you name"),
        ("moment = moment", "in a zone you name"),
        ("date_sub('minute', at, moment)", "date_sub takes a timestamp with a time zone"),
        ("hour(moment at time zone 'Europe/Berln')", "There is no time zone 'Europe/Berln'."),
        ("hour(moment at time zone t)", "Expected a time zone, such as"),
        ("hour(at at time zone 'Europe/Berlin')", "only be read as UTC"),
        ("date(d at time zone 'UTC')", "at time zone takes a timestamp with a time zone"),
        ("moment at time zone '../../etc/passwd' is null", "There is no time zone"),
    ],
)
def test_what_names_no_clock_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(text, TYPES)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    zones.offsets.cache_clear()
    monkeypatch.setitem(sys.modules, "tzdata", None)
    with pytest.raises(ValueError, match=r"pip install leastnoise\[zones\]"):
        parse("hour(moment at time zone 'Europe/Rome')", TYPES)


STAMPS = [
    "2024-03-31 00:59:59",
    "2024-03-31 01:00:00",
    "2024-10-27 00:30:00",
    "2024-10-27 01:30:00",
]
HOURS = [1, 3, 2, 2]


@pytest.mark.dense
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_rows_of_utc_are_counted_by_the_hour_of_a_zone(tmp_path: Path, unit: str) -> None:
    frame: Any = pd.DataFrame({"seen": pd.to_datetime(STAMPS, utc=True).as_unit(unit)})
    frame.to_parquet(tmp_path / "rows.parquet")
    naive = frame.assign(seen=frame["seen"].dt.tz_localize(None))
    sources = [
        (frame, "seen"),
        (str(tmp_path / "rows.parquet"), "seen"),
        (naive, "seen at time zone 'UTC'"),
    ]
    for source, instant in sources:
        release = ln.Release(
            data={"source": source},
            derive={"hour": f"hour({instant} at time zone 'Europe/Berlin')"},
            privacy={"unit": "row", "epsilon": 100},
            query=[{"name": "q", "statistics": ["count"], "group_by": {"hour": [1, 2, 3]}}],
        )
        assert f"Europe/Berlin follow version {tzdata.IANA_VERSION} of" in str(release.plan())
        counts = release.run().tables["q"].columns["count"]
        assert [round(count) for count in counts] == [HOURS.count(hour) for hour in (1, 2, 3)]


def test_a_column_of_instants_needs_a_zone() -> None:
    frame = pd.DataFrame({"seen": pd.to_datetime(STAMPS, utc=True)})
    query = {"name": "q", "statistics": ["count"], "group_by": {"seen": ["2024-03-31"]}}
    with pytest.raises(SpecError, match="Compute its day in a zone in"):
        ln.Release(data=frame, privacy={"unit": "row", "epsilon": 1}, query=[query]).plan()
