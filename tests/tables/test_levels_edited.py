"""Edits of a release of keys with levels, each found by `verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leastnoise.errors import CertificateRejected
from leastnoise.tables.parse import spec_file
from tests.tables.resealed import change_csv, verify_resealed
from tests.tables.test_levels_release import released

ALL = ("count", "count_low", "count_high")


@pytest.mark.grid
@pytest.mark.parametrize(
    ("place", "by", "text"),
    [
        (("people_by_state", 1), dict.fromkeys(ALL, 1.0), "by_state.csv isn't the sum"),
        (("people_by_nation", 0), dict.fromkeys(ALL, 1.0), "by_nation.csv isn't the sum"),
        (("people", 5), dict.fromkeys(ALL, 1.0), "by_state.csv isn't the sum"),
        (("people", 5), dict.fromkeys(ALL, 0.5), "isn't a whole number"),
        (("people", 2), {"count_std": 0.1}, "count_std that is not the standard deviation"),
        (("people_by_state", 2), {"count_low": 1.0}, "count_low"),
        (("people_by_nation", 0), {"count_high": 1.0}, "count_high"),
    ],
)
def test_tables_that_are_edited(
    tmp_path: Path, place: tuple[str, int], by: dict[str, float], text: str
) -> None:
    folder = released(tmp_path)
    name, row = place
    change_csv(folder, name, row, **by)
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda c: c["noise"]["parameters"].update(branches=[3, 9, 6, 1]), "another tree"),
        (lambda c: c["noise"]["parameters"].update(branches=[16]), "shares|branches"),
        (lambda c: c["noise"]["parameters"].update(shares=["0", "0", "1"]), r"plan\.json"),
        (lambda c: c.update(epsilon="2"), "share"),
        (lambda c: c["sensitivity"].update(bound="2"), "sensitivity isn't"),
        (lambda c: c["sensitivity"].update(neighbours="replace-one"), "sensitivity isn't"),
        (lambda c: c.update(grid=None), "whole"),
        (lambda c: c.update(compositions=2), "release"),
    ],
)
def test_certificates_that_are_edited(tmp_path: Path, change: Any, text: str) -> None:
    folder = released(tmp_path)
    path = folder / "certificate.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record["draws"][0]["certificate"])
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateRejected, match=text):
        verify_resealed(folder)


def test_a_spec_that_is_edited(tmp_path: Path) -> None:
    folder = released(tmp_path)
    path = folder / "spec.toml"
    raw = spec_file.parse_toml(path.read_text(encoding="utf-8"))
    raw["query"][0]["group_by"]["county"]["levels"]["state"][0] = "b"
    path.write_text(spec_file.dumps(spec_file.parse(raw)), encoding="utf-8")
    with pytest.raises(CertificateRejected):
        verify_resealed(folder)
