"""The best staircase on the whole numbers: no other core has less loss, and ε is used up."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import Calibrated, calibrate_family
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidArgument, NotApplicable, NotCertified
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.steps.law import Geometric
from tests.grids import thin


def _find(
    epsilon: str,
    delta: str = "0",
    *,
    bound: int = 1,
    loss: Loss = Loss.MSE,
    fixed: dict[str, Fraction | int] | None = None,
    releases: int = 1,
    rate: str = "1",
) -> Calibrated:
    return calibrate_family(
        Geometric,
        Question(
            budget=Budget(epsilon=epsilon, delta=delta),
            sensitivities=(Integer(bound),),
            loss=loss,
            fixed=fixed or {},
            compositions=releases,
            sampling_rate=Fraction(rate),
        ),
    )


def _law(epsilon: str, delta: str = "0", **more: object) -> Geometric:
    noise = _find(epsilon, delta, **more).certificate.noise  # pyright: ignore[reportArgumentType]
    assert isinstance(noise, Geometric)
    return noise


@pytest.mark.parametrize("epsilon", ["0.01", "0.25", "1", "5", "60"])
def test_for_a_shift_of_one_it_is_the_geometric_mechanism(epsilon: str) -> None:
    """Ghosh, Roughgarden & Sundararajan (2012): P(K = k) = (1 − b)/(1 + b)·b^|k|."""
    law = _law(epsilon)
    assert law == Geometric(scale=1, cells=1, core=1, decay=epsilon)
    b, gap = math.exp(-float(epsilon)), -math.expm1(-float(epsilon))
    assert law.variance == pytest.approx(2 * b / gap**2, rel=1e-14)
    assert law.mean_abs == pytest.approx(2 * b / gap / (1 + b), rel=1e-14)


@pytest.mark.parametrize("loss", list(Loss))
@pytest.mark.parametrize("bound", [2, 3, 5, 12, 61])
def test_no_other_core_has_less(loss: Loss, bound: int) -> None:
    for epsilon in ("1e-6", "0.05", "0.4", "1", "2", "4", "9", "40"):
        law = _law(epsilon, bound=bound, loss=loss)
        every = [
            loss.of(Geometric(scale=bound, cells=bound, core=core, decay=epsilon))
            for core in range(1, bound + 1)
        ]
        assert loss.of(law) == min(every)
        assert law.scale == law.cells == bound


@pytest.mark.parametrize("loss", list(Loss))
def test_a_huge_bound_takes_no_time_and_no_near_core_has_less(loss: Loss) -> None:
    """Losses of neighbours differ by less than a float tells: those further off are more."""
    law = _law("1", bound=2**20, loss=loss)
    for off in (-(2**15), -(2**10), 2**10, 2**15):
        other = Geometric(scale=2**20, cells=2**20, core=law.core + off, decay=1)
        assert loss.of(other) > loss.of(law)


@pytest.mark.parametrize(("epsilon", "bound"), [("1", 1), ("0.3", 4), ("7", 2), ("1/3", 5)])
def test_purely_private_at_its_own_epsilon_and_at_no_less(epsilon: str, bound: int) -> None:
    certificate = _find(epsilon, bound=bound).certificate
    assert (certificate.delta.lower, certificate.delta.upper) == (0, 0)
    less = Fraction(epsilon) * (1 - Fraction(1, 10**12))
    assert prove_delta(certificate.noise, Integer(bound), less).certainly_above(Fraction(0))
    certificate.verify()


def test_a_positive_delta_is_left_unspent() -> None:
    assert _law("1", "0.1", bound=3) == _law("1", bound=3)


def test_parameters_can_be_set() -> None:
    assert _law("1", bound=5, fixed={"core": 4}).core == 4
    few = _law("1", bound=5, fixed={"cells": 2})  # three steps in a shift
    assert (few.scale, few.cells, few.decay) == (2, 2, Fraction(1, 3))
    slow = _law("1", bound=5, fixed={"decay": Fraction("0.3")})  # so are these
    assert (slow.scale, slow.cells, slow.decay) == (2, 2, Fraction("0.3"))
    both = _law("1", bound=5, fixed={"decay": Fraction(1, 5), "cells": 1})
    assert (both.cells, both.core, both.decay) == (1, 1, Fraction(1, 5))


def test_refusals() -> None:
    with pytest.raises(NotApplicable, match="which is 0"):
        _find("0", "0.01")
    for delta in ("0", "0.1"):
        with pytest.raises(NotApplicable, match="decay above epsilon"):
            _find("1", delta, fixed={"decay": Fraction(2)})
    with pytest.raises(NotApplicable, match=r"2\^53"):
        _find("1", bound=2**60)
    with pytest.raises(NotCertified):
        _find("1", bound=5, fixed={"cells": 2, "decay": Fraction(1, 2)})
    for name in ("cells", "core", "decay"):
        with pytest.raises(InvalidArgument, match=name):
            _find("1", fixed={name: 0})
    with pytest.raises(InvalidArgument, match="core <= 1"):
        _find("1", fixed={"core": 2})
    with pytest.raises(NotApplicable, match="whole numbers"):
        calibrate_family(Geometric, Question(budget=Budget(epsilon=1), sensitivities=(L2(1),)))


def test_several_pure_releases_share_epsilon() -> None:
    law = _law("1", bound=2, releases=4)
    assert law.decay == Fraction(1, 4)
    assert _find("1", bound=2, releases=4).certificate.delta.upper == 0


def test_several_releases_spend_delta() -> None:
    mechanism = _find("1", "1e-5", bound=3, releases=30)
    law = mechanism.certificate.noise
    assert isinstance(law, Geometric)
    assert law.scale == law.cells == 3
    assert Fraction(1, 30) < law.decay < 1
    faster = Geometric(scale=3, cells=3, core=law.core, decay=law.decay * Fraction("1.001"))
    with pytest.raises(NotCertified):
        Certificate.prove(
            budget=mechanism.certificate.budget,
            noise=faster,
            sensitivity=Integer(3),
            compositions=30,
        )


@pytest.mark.dense
@pytest.mark.parametrize(
    ("delta", "releases"), thin([("0", 1), ("1e-6", 1), ("0", 3), ("1e-4", 3)], 2)
)
def test_of_poisson_samples(delta: str, releases: int) -> None:
    """Less noise than for all of the data; a pure budget has the decay ln(1 + (e^(ε/k) − 1)/q)."""
    certificate = _find("1", delta, bound=2, releases=releases, rate="0.2").certificate
    whole = _law("1", delta, bound=2, releases=releases)
    assert certificate.noise.variance < whole.variance
    assert certificate.delta.certainly_at_most(delta)
    if delta == "0":
        expected = math.log1p(math.expm1(1 / releases) / 0.2)
        assert float(certificate.noise.decay) == pytest.approx(expected)  # pyright: ignore


@pytest.mark.parametrize(("moved", "delta"), [(1, "0"), (3, "0"), (3, "1e-4")])
def test_cells_of_which_one_unit_moves_some(moved: int, delta: str) -> None:
    certificate = calibrate_family(
        Geometric,
        Question(
            budget=Budget(epsilon=1, delta=delta),
            sensitivities=(Linf(2, l0=moved, whole=True),),
            dimension=20,
            geometry=CellGeometry(count=20),
        ),
    ).certificate
    law = certificate.noise
    assert isinstance(law, Geometric)
    assert law.cells == 2
    if delta == "0":
        assert law.decay == Fraction(1, moved)
    else:
        assert law.decay > Fraction(1, moved)
    certificate.verify()
