"""The default inputs of an audit differ by a shift that the claimed sensitivity allows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.audit.audit import prepare
from leastnoise.audit.inputs import default_inputs
from leastnoise.certificate.records import KINDS
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.guarantees.strategy import SumsOfCells
from leastnoise.guarantees.structured import Within
from leastnoise.guarantees.units import Added
from tests.guarantees.bodies.examples import BODIES, ONE_SIDED

TENTH = Fraction(1, 10)
REPLACED: Any = {"neighbours": "replace-one"}
SUMS = ["8388608 0", "8388608 16777216"]
PLAIN: tuple[tuple[Sensitivity, int], ...] = (
    (ln.L1("2.5"), 1), (ln.L1(TENTH), 3), (ln.L2(TENTH), 4), (ln.L2("1e200"), 2),
    (ln.Integer(3), 1), (ln.Linf(TENTH, l0=2), 5), (ln.Linf(2, whole=True), 3),
    (ln.RowCounts(3), 4), (ln.RowCounts(3, **REPLACED), 4), (ln.RowCounts(3, **REPLACED), 1),
    (SumsOfCells(rows=SUMS, norm="l1"), 2), (SumsOfCells(rows=SUMS, norm="l2", **REPLACED), 2),
    (ln.CountingQueries(dimension=3, max_nonzero=2, bound=TENTH), 3),
    (ln.CountingQueries(dimension=3, **REPLACED), 3),
    (ln.CountingQueries(dimension=3, max_nonzero=1, with_total=True, bound=TENTH), 4),
    (ln.CountingQueries(dimension=1, with_total=True), 2),
    (ln.Groups(groups=2, dimension=3, bound=TENTH), 8),
    (ln.Groups(groups=1, dimension=2), 3),
    (ln.Groups(groups=2, dimension=3, **REPLACED), 8),
    (ln.Vertices([["0.6", "0.8"], [1, "0.1"]]), 2),
    (ln.Vertices([["0.3", "-0.2"], ["0.2", "0.1"]]), 2),
    (ln.Vertices([[1, 2, 3], ["0.1", 0, 0]]), 3),
)  # fmt: skip
CASES = (
    *PLAIN,
    *((Within(body), body.dimension) for body in BODIES.values()),
    *((Added(part), part.dimension) for part in ONE_SIDED.values()),
)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_default_shift_is_one_that_the_sensitivity_allows(case: int) -> None:
    sensitivity, dimension = CASES[case]
    # a function's claim needs no dimension if the sensitivity fixes it
    inputs = default_inputs(ln.Claim(epsilon=1, sensitivity=sensitivity), dimension)
    assert inputs is not None
    assert not np.any(inputs[0])
    shift = [Fraction(value) for value in np.atleast_1d(inputs[1]).tolist()]
    assert len(shift) == dimension
    assert any(shift)
    if (added := sensitivity.additions(dimension=dimension)) is not None:
        assert added.holds(shift)
    elif (body := sensitivity.body(dimension=dimension)) is not None:
        assert body.holds(shift)
        assert not body.holds(shift, times="0.98")  # as large as the axis or corner allows
    else:
        assert not isinstance(sensitivity, Within | Added)
        assert [value for value in shift if value] in ([1], [1, 2, 3], [Fraction(1e200)])


def test_one_number_is_a_float() -> None:
    assert default_inputs(ln.Claim(epsilon=1, sensitivity=ln.L1("2.5")), 1) == (0.0, 2.5)
    inputs = default_inputs(ln.Claim(epsilon=1, sensitivity=ln.L2("0.1")), 3)
    assert inputs is not None
    assert inputs[1].tolist() == [0.09999999999999999, 0, 0]  # never further than 1/10


def test_every_kind_of_sensitivity_is_tested() -> None:
    assert {type(sensitivity).kind for sensitivity, _ in CASES} == set(KINDS[Sensitivity].paths)


@pytest.mark.parametrize(
    ("sensitivity", "dimension"),
    [(None, 1), (ln.Integer(1), 2), (ln.Vertices([["0.12345678901234567", "0.1"]]), 2)],
)
def test_inputs_are_asked_for_if_no_shift_is_known(sensitivity: Any, dimension: int) -> None:
    claim = ln.Claim(epsilon=1, sensitivity=sensitivity)
    assert default_inputs(claim, dimension) is None
    with pytest.raises(InvalidArgument, match="Give two neighbouring inputs"):
        ln.audit_mechanism(len, claim, draws=100) if dimension == 1 else _prepare(claim, dimension)


def _prepare(claim: ln.Claim, dimension: int) -> None:
    prepare(claim, inputs=None, draws=100, error="1e-3", detectors=None, dimension=dimension)


@pytest.mark.dense
def test_an_honest_mechanism_with_a_record_count_is_not_refuted() -> None:
    counting = ln.CountingQueries(dimension=3, with_total=True)
    mechanism = ln.calibrate("k-norm", epsilon=1, sensitivity=counting, dimension=4)
    audit = ln.audit_mechanism(mechanism, draws=1000, detectors=["distinguishing"])
    assert not audit.violated


def test_a_claim_about_samples_is_not_audited() -> None:
    sampled = ln.calibrate(
        "gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1), sampling_rate="0.1"
    )
    with pytest.raises(InvalidArgument, match=r"sampling_rate=0\.1"):
        ln.audit_mechanism(sampled, draws=1000)
    # the claim that the hint of the error names
    epsilon = sampled.compose(1, sampling_rate=1).epsilon(delta="1e-5").upper
    claim = ln.Claim(epsilon=epsilon, delta="1e-5")
    audit = ln.audit_mechanism(
        sampled, claim, inputs=(0, 1), draws=20_000, detectors=["distinguishing"]
    )
    assert not audit.violated
