"""Whole-number noise for levels and columns, in the smallest table that all others are sums of."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.sums.nested import NestedMargins, _whole, noise_name
from leastnoise.tables.publish.verify import verify_directory
from tests.tables.margins import read
from tests.tables.resealed import verify_resealed
from tests.tables.test_nested_release import (
    LISTED,
    REPLACED,
    expect_rejected,
    plan_of,
    released,
    rows_of,
    spec_of,
    whole_of,
)


def test_whole_noise_is_in_a_single_table() -> None:
    """Half-widths follow from the exact law of whole noise in one table alone."""
    whole = whole_of(plan_of(spec_of(margins=LISTED)))
    shares = {5: Fraction(1, 2), 11: Fraction(1, 2)}
    claims = _whole(whole.cells, whole.budget, shares, 1)
    named = [(noise_name(whole.cells, at), claim) for at, claim in zip(shares, claims, strict=True)]
    expect_rejected(whole, named, "must all be computed by summing the table")
    expect_rejected(whole, named[:1], "must all be computed by summing the table")
    expect_rejected(whole, [(name, claim.on_grid(4)) for name, claim in named[1:]], "aren't whole")
    listed = whole_of(plan_of(spec_of(margins=[["region"]])))
    claims = _whole(whole.cells, whole.budget, {7: shares[5], 11: shares[5]}, 1)
    named = [
        (noise_name(whole.cells, at), claim) for at, claim in zip((7, 11), claims, strict=True)
    ]
    expect_rejected(listed, named, "whole-number noise in several tables")
    for index in (0, 1):
        NestedMargins.read(listed.cells, listed.budget, named[index : index + 1], composed=False)


@pytest.mark.dense
@pytest.mark.parametrize("privacy", [{"epsilon": 4}, {"epsilon": 2, **REPLACED}])
@pytest.mark.parametrize(
    ("margins", "measured", "times"),
    [
        ([["region"]], "region", [[1, 1, 1]]),
        ([["sex"], ["sex", "region"]], "region,sex", [[1] * 6, [3, 3]]),
        ([["town"], ["region"], []], "town", [[1] * 7, [4, 2, 1], [7]]),
        ([["region"], ["sex"]], "region,sex", [[3, 3], [2, 2, 2]]),
        ([[]], "", [[1]]),
    ],
)
def test_whole_noise_is_in_the_smallest_table_that_tells_all(
    margins: Any, measured: str, times: list[list[int]], privacy: Any
) -> None:
    """Errors follow from the law of a sum of noisy numbers, convolved term by term."""
    whole = whole_of(plan_of(spec_of(margins=margins, privacy=privacy)))
    (record,) = whole.to_record()["measured"]
    assert (record["noise"], ",".join(sorted(record["by"]))) == ("geometric", measured)
    # one unit moves a number by 1 or, where it replaces another, two; the total by 1 always
    epsilon = privacy["epsilon"] / (2 if "neighbours" in privacy and measured else 1)
    law = np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(np.arange(-60, 61.0)))
    std = (law @ np.arange(-60, 61) ** 2) ** 0.5
    for error, counts in zip(whole.errors, times, strict=True):
        stds, halves = [count**0.5 * std for count in counts], [_half_width(law, n) for n in counts]
        assert error.std == pytest.approx(np.sqrt(np.mean(np.square(stds))))
        assert error.half95 == max(halves)
        assert (error.rows is None) == (len({*counts}) == 1)
        if error.rows is not None:
            assert error.rows.std == pytest.approx(stds)
            assert list(error.rows.half95) == halves


def _half_width(law: np.ndarray, count: int) -> float:
    """The least h with P(|S| ≤ h) ≥ .95 for the sum S of `count` independent numbers."""
    sums = np.ones(1)
    for _ in range(count):
        sums = np.convolve(sums, law)
    middle = len(sums) // 2
    inside = [sums[middle - h : middle + h + 1].sum() >= 0.95 for h in range(60)]
    return float(inside.index(True))


@pytest.mark.dense
def test_whole_noise_next_to_none_leaves_the_counts_of_the_rows(tmp_path: Path) -> None:
    """A number is off with probability 2e-26 at ε = 60."""
    folder = released(tmp_path, margins=[["sex"], ["region", "sex"]], privacy={"epsilon": 60})
    verify_directory(folder)
    rows = rows_of()
    rows = rows[(rows["town"] != "none") & (rows["age"] <= 90)]
    table = read(folder, "people_by_region_sex", "csv")
    wanted = Counter(zip(rows["town"].str[0], rows["sex"], strict=True))
    shown = zip(table["region"], table["sex"], table["count"], strict=True)
    assert {(region, sex): count for region, sex, count in shown} == dict(wanted)


def test_whole_noise_in_a_table_that_does_not_tell_all_is_rejected(tmp_path: Path) -> None:
    """The table by region is published alone, and so is proved."""
    draws: list[Any] = []
    for name, margins in (("other", [["region"]]), ("given", [["region"], ["sex"]])):
        (tmp_path / name).mkdir()
        folder = released(tmp_path / name, margins=margins, privacy={"epsilon": 4})
        path = folder / "certificate.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        draws.append(record["draws"])
    assert [draw["name"] for (draw,) in draws] == ["people.4", "people.2x4"]
    path.write_text(json.dumps(record | {"draws": draws[0]}), encoding="utf-8")
    with pytest.raises(CertificateRejected, match="must all be computed by summing the table"):
        verify_resealed(folder)
