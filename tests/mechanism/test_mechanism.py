from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.guarantees.structured import CountingQueries
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.selection.public import calibrate

LOOSE = Budget(epsilon=1, delta="1e-5")


def _mechanism(name: str = "l2", dimension: int = 7) -> Mechanism:
    return calibrate(name, epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=dimension)


def test_released_values_lie_on_the_grid() -> None:
    mechanism = _mechanism()
    released = mechanism.release(np.arange(7.0))
    steps = np.asarray(released) / float(mechanism.grid)
    assert np.array_equal(steps, np.rint(steps))
    assert released.certificate == mechanism.certificate
    assert released.certificate.grid == mechanism.grid


def test_every_release_is_fresh() -> None:
    mechanism = _mechanism()
    first, second = mechanism.release(np.zeros(7)), mechanism.release(np.zeros(7))
    assert not np.any(np.asarray(first) == np.asarray(second))


def test_a_number_is_a_vector_of_one() -> None:
    assert _mechanism("gaussian", 1).release([3.0]).values.shape == (1,)


def test_a_certificate_from_a_file_is_verified_before_use() -> None:
    record = json.loads(_mechanism().certificate.to_json())
    assert Mechanism(Certificate.from_json(json.dumps(record))).noise.name == "l2"
    record["sensitivity"]["bound"] = "2"
    with pytest.raises(CertificateRejected):
        Mechanism(Certificate.from_json(json.dumps(record)))


def test_a_mechanism_that_was_stored_is_verified_before_use() -> None:
    mechanism = _mechanism("gaussian")
    assert pickle.loads(pickle.dumps(mechanism)).certificate.proved
    forged = copy.copy(mechanism)
    assert forged.certificate.proved
    object.__setattr__(
        forged, "certificate", replace(mechanism.certificate, noise=mechanism.noise.scaled("0.01"))
    )
    with pytest.raises(CertificateRejected):
        pickle.loads(pickle.dumps(forged))


def test_delta_and_epsilon_are_inverse() -> None:
    mechanism = _mechanism("gaussian")
    assert mechanism.delta(epsilon=1).certainly_at_most(Fraction("1e-5"))
    epsilon = mechanism.epsilon(delta="1e-9")
    assert mechanism.delta(epsilon=epsilon.upper).certainly_at_most(Fraction("1.000001e-9"))
    assert not mechanism.delta(epsilon=epsilon.lower * 0.999).certainly_at_most(Fraction("1e-9"))
    with pytest.raises(NotApplicable):
        mechanism.epsilon(delta=0)


def test_a_grid_of_ones_own() -> None:
    mechanism = _mechanism().on_grid(Fraction(1, 8))
    assert mechanism.grid == Fraction(1, 8)
    assert np.all(np.asarray(mechanism.release(np.zeros(7))) * 8 % 1 == 0)
    with pytest.raises(InvalidArgument, match="grid"):
        mechanism.on_grid("0.3")


def test_a_wrong_shape_names_shapes_and_no_values() -> None:
    with pytest.raises(InvalidArgument, match="7") as caught:
        _mechanism().release([123456.789])
    assert "123456" not in str(caught.value)


def test_of_all_releases_and_of_one_are_told_apart() -> None:
    ten = calibrate("gaussian", epsilon="1", delta="1e-5", sensitivity=L2(1), compositions=10)
    once = Mechanism(Certificate.prove(budget=LOOSE, noise=ten.noise, sensitivity=L2(1)))
    assert ten.certificate.delta.encloses(ten.delta(epsilon=1))
    assert ten.delta(epsilon=1) == ten.compose(10).delta(epsilon=1)
    assert ten.delta_per_release(epsilon=1) == once.delta(epsilon=1)
    assert once.delta(epsilon=1).upper < 1e-12 < ten.delta(epsilon=1).lower
    assert ten.epsilon(delta="1e-5").upper == pytest.approx(1, abs=1e-9)
    assert ten.epsilon_per_release(delta="1e-5") == once.epsilon(delta="1e-5")
    assert ten.zcdp.value.upper == pytest.approx(10 * once.zcdp.value.upper, rel=1e-15)
    assert ten.gdp.value.lower == pytest.approx(10**0.5 * once.gdp.value.lower, rel=1e-15)


def test_the_standard_deviation_is_that_of_each_coordinate() -> None:
    assert (
        _mechanism("gaussian", 3).std.tolist() == [float(_mechanism("gaussian", 3).noise.scale)] * 3
    )
    counts = calibrate("k-norm", epsilon="1", sensitivity=CountingQueries(dimension=4))
    assert counts.std.shape == (4,)
    assert float((counts.std**2).sum()) == pytest.approx(counts.mse)
