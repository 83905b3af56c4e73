"""Records of bodies as JSON: they are exact, and anything else is rejected."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from leastnoise.certificate.records import KINDS, read_record, write_record
from leastnoise.errors import CertificateRejected, InvalidInput
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Segment
from tests.guarantees.bodies.examples import BODIES


@pytest.mark.parametrize("name", BODIES)
def test_round_trip(name: str) -> None:
    body = BODIES[name].times("0.123456789012345678901")
    text = json.dumps(write_record(body))
    assert read_record(json.loads(text), Body, where="body") == body


def edits(record: Any) -> list[Any]:
    """Every copy of `record` with one value, at any depth, replaced by one of another type."""
    results = []
    for key in list(record) if isinstance(record, dict) else range(len(record)):
        for wrong in (None, True, 1.5, -1, "", "x", "0", "nan", "1e9999", [], {}, [[]], "infinity"):
            copied = copy.deepcopy(record)
            copied[key] = wrong
            results.append(copied)
        if isinstance(record[key], (dict, list)):
            for inner in edits(record[key]):
                copied = copy.deepcopy(record)
                copied[key] = inner
                results.append(copied)
    if isinstance(record, dict):
        results.append(record | {"unknown": "1"})
        results += [{k: v for k, v in record.items() if k != key} for key in record]
    return results


@pytest.mark.parametrize("name", ["nested", "skew polygon", "signed three halves", "2 of 3 discs"])
def test_what_is_damaged_is_refused_or_another_body(name: str) -> None:
    body = BODIES[name]
    record = write_record(body)
    for edited in edits(record):
        if edited == record:
            continue
        try:
            result: Body = read_record(edited, Body, where="body")
        except (CertificateRejected, InvalidInput):
            continue
        # the few that read: a parameter that has become another one, never the same body
        assert result != body


@pytest.mark.parametrize(
    "record", [None, [], "interval", {}, {"kind": "sphere"}, {"kind": ["box"]}]
)
def test_other_values_are_no_bodies(record: object) -> None:
    with pytest.raises(CertificateRejected):
        read_record(record, Body, where="body")


def test_a_record_is_not_nested_without_end() -> None:
    body: Body = Segment(bound=1)
    for _ in range(8):
        body = Cells(bodies=[body], copies=[1])
    record = write_record(body)
    assert read_record(record, Body, where="body") == body
    with pytest.raises(CertificateRejected, match="levels of nested"):
        read_record(write_record(Cells(bodies=[body], copies=[1])), Body, where="body")


def test_each_kind_has_the_class_of_its_name() -> None:
    for root, kinds in KINDS.items():
        for name in kinds.paths:
            assert kinds.class_named(name).kind == name
            assert issubclass(kinds.class_named(name), root)
