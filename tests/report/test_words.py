"""What was proved, in sentences: no number in them is better than the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.report import words
from leastnoise.tables.plan import summary
from tests.tables.test_release import make_rows, release


@pytest.mark.dense
def test_a_release_in_sentences(tmp_path: Path) -> None:
    release(make_rows(tmp_path)).run()
    report = ln.verify_directory(tmp_path / "out")
    text = words.verified_release(report, tmp_path / "out")
    assert text[1].startswith("Promised: ε = 1, δ = 1e-6. Proved: δ ≤ 3.334e-7 (better than pro")
    assert text[1].endswith("Protected: the presence or absence of any one who.")
    assert text[2].startswith("Tables: by_plan (3 rows) and bins (")
    limits = text[3 : text.index("No budget ledger was used for this release.")]
    assert limits == summary.describe_rows(report.plan)
    assert limits[0] == "In each of by_plan and bins, each who counts for at most 4 rows."
    assert text[2].endswith("Each file has the checksum (SHA-256) that release.json states.")
    assert text[-2].startswith("Signature: none. Without")
    (tmp_path / "out" / "release.sig").write_text("00")
    (tmp_path / "out" / "more.csv").write_text("")
    report = ln.verify_directory(tmp_path / "out")
    text = words.verified_release(report, tmp_path / "out")
    assert "Other files, not checked: more.csv." in text[2]
    assert text[-2].startswith("Signature: not checked. Check it by")
    assert not any("changed since" in item for item in text)
    assert text[-1].startswith("Nobody can check")


@pytest.mark.dense
@pytest.mark.parametrize(
    ("noise", "asked", "expected"),
    [
        (
            "laplace",
            {"epsilon": 2, "sensitivity": ln.L1(3)},
            (
                "laplace noise of scale 1.5 on one number has 2-differential privacy for everyone "
                "who changes the true values by at most 3 (sum of the sizes of the changes)."
            ),
        ),
        (
            "gaussian",
            {
                "epsilon": 1, "delta": "1e-6", "sensitivity": ln.L2(1), "dimension": 1000,
                "compositions": 5, "sampling_rate": "0.1",
            },
            (
                "on 1,000 numbers, used 5 times, on samples at the rate 0.1 has "
                "(1, 1e-6)-differential privacy for everyone whose presence or absence c"
            ),
        ),
        (
            "gaussian",
            {
                "epsilon": 1, "delta": "1e-6",
                "sensitivity": ln.CountingQueries(dimension=3, neighbours="replace-one"),
            },
            "for everyone whose other values would",
        ),
    ],
)  # fmt: skip
def test_a_certificate_in_a_sentence(noise: str, asked: dict[str, Any], expected: str) -> None:
    certificate = ln.calibrate(noise, **asked).certificate
    sentence, delta = words.verified_certificate(certificate, certificate.verify())
    assert expected in sentence
    if certificate.budget.delta == 0:
        assert delta == "Proved: δ = 0 at ε = 2."
    else:
        assert delta.startswith("Proved: δ ≤ 1e-6 at ε = 1.")


def test_several_releases_in_a_sentence() -> None:
    certificate = ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1)).certificate
    plan = ln.PlanCertificate.prove(
        budget=ln.Budget(epsilon=2), draws=(("a", certificate), ("b", certificate))
    )
    (text,) = words.verified_certificate(plan, plan.verify())
    assert text == (
        "Together the releases a, b have 2-differential privacy. Proved: δ = 0 at ε = 2."
    )
