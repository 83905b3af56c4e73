"""Checks of counts that add up along one tree; other tests edit whole releases."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.sums import publish_sums as summed


def test_counts_whose_sum_no_int64_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    text = {"keys.csv": [2.0**52] * 2**12, "all.csv": [0.0]}  # 2^64, which would wrap to 0
    monkeypatch.setattr(summed, "read_table", lambda path, parts: {"count": text[path.name]})
    layout = SimpleNamespace(statistics=[SimpleNamespace(label="count")])
    parts: Any = [SimpleNamespace(name=name, layout=layout) for name in ("keys", "all")]
    workload = SimpleNamespace(add_up=lambda computed: [computed, computed.sum(keepdims=True)])
    whole: Any = SimpleNamespace(whole_counts=None, workload=workload, summed="sum")
    with pytest.raises(CertificateRejected, match="isn't a whole number"):
        summed.check_on_tree(whole, Path(), parts, "csv")
