"""`from_record` raises CertificateRejected alone, for a hostile value in any field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected
from tests.certificate.test_keys import prove_case as prove_keys
from tests.certificate.test_limits import claimed
from tests.certificate.test_quantiles import best as best_quantiles
from tests.certificate.test_selection import best as best_selection
from tests.certificate.test_total_threshold import prove_case as prove_threshold
from tests.subjects import certificate, plan

HOSTILE: tuple[Any, ...] = (
    None, True, 1.5, -1, 0, 10**30, 10**400, 10**5000, "", "x", "0", "-1", "nan", "1e9999",
    "9" * 1500, "0x1p+99999", [], {}, [[]], "infinity", {"kind": []}, float("nan"), object(),
)  # fmt: skip


def prove_count() -> ln.Certificate:
    counting = ln.CountingQueries(dimension=3, with_total=True)
    return ln.calibrate("k-norm", epsilon=1, sensitivity=counting, dimension=4).certificate


def prove_series() -> ln.PlanCertificate:
    budget = ln.Budget(epsilon=1, delta="0.1")
    return ln.PlanCertificate.prove(budget=budget, draws=plan().draws, releases=2, rho=1)


CASES: dict[str, Callable[[], Any]] = {
    "noise": certificate,
    "noise in the shape of a body": prove_count,
    "keys": prove_keys,
    "quantiles": best_quantiles,
    "selection": best_selection,
    "threshold": prove_threshold,
    "limit": lambda: claimed([1, 2, 5, 10]),
    "plan": plan,
    "series": prove_series,
}


def edit(record: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Copies of `record` with one value replaced, and the path to it; the first two of a list."""
    for key in list(record) if isinstance(record, dict) else range(min(len(record), 2)):
        copied = record.copy()
        for index, wrong in enumerate(HOSTILE):
            copied[key] = wrong
            yield (key, index), copied
        if isinstance(record[key], dict | list):
            for path, inner in edit(record[key]):
                copied[key] = inner
                yield (key, *path), copied


@pytest.mark.dense
@pytest.mark.parametrize("name", CASES)
def test_only_rejections(name: str) -> None:
    claim = CASES[name]()
    others = {}
    for path, record in edit(json.loads(claim.to_json())):
        try:
            type(claim).from_record(record)
        except CertificateRejected:
            pass
        except Exception as error:  # noqa: BLE001 (any other exception is the failure)
            others[path] = repr(error)[:100]
    assert not others
