"""Imported laws of losses: δ is exact for the given masses, and they compose."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as peer

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.sensitivity import ShiftBounds
from leastnoise.interop import NotABound, from_pld, from_plds, to_pld
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.question import Releases

MASSES = {-3: 0.2, 0: 0.25, 2: 0.3, 5: 0.2}
SMALL = peer.PrivacyLossDistribution.create_from_rounded_probability(MASSES, 0.05, 0.25)
OTHER = peer.PrivacyLossDistribution.create_from_rounded_probability(
    {-1: 0.5, 1: 0.5},
    0.0,
    0.25,
    rounded_probability_mass_function_add={-2: 0.1, 3: 0.875},
    infinity_mass_add=0.025,
    symmetric=False,
)


def exact_delta(laws: list[tuple[dict[int, float], float]], epsilon: str | float) -> mpmath.mpf:
    """δ(ε) of all laws together, by adding up all sums of losses, in 40 digits."""
    with mpmath.workdps(40):
        sums, finite, total = {0: mpmath.mpf(1)}, mpmath.mpf(1), mpmath.mpf(1)
        for masses, infinity in laws:
            out: dict[int, mpmath.mpf] = {}
            for i, p in sums.items():
                for j, q in masses.items():
                    out[i + j] = out.get(i + j, mpmath.mpf(0)) + p * q
            inside = mpmath.fsum(mpmath.mpf(q) for q in masses.values())
            sums, finite, total = out, finite * inside, total * (inside + infinity)
        gaps = [(p, mpmath.mpf(i) / 4 - mpmath.mpf(epsilon)) for i, p in sums.items()]
        return mpmath.fsum(p * -mpmath.expm1(-gap) for p, gap in gaps if gap > 0) + total - finite


@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.5", "1.2", "1.25", "3"])
def test_delta_of_masses(epsilon: str) -> None:
    interval, truth = from_pld(SMALL).delta(epsilon=epsilon), exact_delta([(MASSES, 0.05)], epsilon)
    assert interval.lower <= truth <= interval.upper
    assert interval.width <= 1e-12


@pytest.mark.parametrize("epsilon", ["0", "0.3", "1.2", "4"])
def test_compositions_of_masses(epsilon: str) -> None:
    interval = from_plds([(SMALL, 3), (OTHER, 2)]).delta(epsilon=epsilon)
    three = [(MASSES, 0.05)] * 3
    removed = exact_delta([*three, *[({-1: 0.5, 1: 0.5}, 0.0)] * 2], epsilon)
    added = exact_delta([*three, *[({-2: 0.1, 3: 0.875}, 0.025)] * 2], epsilon)
    assert interval.lower <= max(removed, added) <= interval.upper
    assert interval.width <= 1e-12


def test_epsilon_and_delta_are_inverse() -> None:
    losses = from_plds([(SMALL, 2), (OTHER, 1)])
    interval = losses.epsilon(delta="0.3")
    assert interval.upper - interval.lower <= 1e-8

    def truth(epsilon: float) -> mpmath.mpf:
        two = [(MASSES, 0.05)] * 2
        last = [({-1: 0.5, 1: 0.5}, 0.0), ({-2: 0.1, 3: 0.875}, 0.025)]
        return max(exact_delta([*two, law], epsilon) for law in last)

    with mpmath.workdps(40):
        wanted = mpmath.mpf("0.3")
        assert truth(interval.upper) <= wanted <= truth(interval.lower)
    with pytest.raises(NotApplicable, match="identify the input"):
        losses.epsilon(delta="0.05")


def test_there_and_back() -> None:
    mechanism = ln.calibrate("l2", epsilon="1", delta="1e-5", sensitivity=ln.L2(1), dimension=10)
    back = from_pld(to_pld(mechanism)).epsilon(delta="1e-5")
    truth = mechanism.epsilon(delta="1e-5")
    assert truth.lower <= back.upper <= 1.0001 * truth.upper


def test_ours_and_theirs_compose_with_a_proof() -> None:
    """A Gaussian of each is a Gaussian: the masses of either are pessimistic."""
    mechanism = ln.calibrate("gaussian", epsilon="1", delta="1e-5", sensitivity=ln.L2(1))
    sigma = float(mechanism.noise.scale)
    theirs = peer.from_gaussian_mechanism(sigma, value_discretization_interval=1e-3)
    both = from_plds([(to_pld(mechanism, interval=1e-3), 3), (theirs, 1)]).epsilon(delta="1e-6")
    truth = mechanism.compose(4).epsilon(delta="1e-6")
    assert truth.lower <= both.upper <= 1.001 * truth.upper


def test_where_a_fourier_transform_is_no_bound() -> None:
    """The same masses, composed here: δ far below the 1e-16 of dp-accounting's transform."""
    law = Releases(noise=Gaussian(scale=20), shifts=ShiftBounds.of(ln.L2(1)))
    item = to_pld(Composition(parts=(law,)), interval=1e-3)
    truth = Composition(parts=(law.times(1000),)).epsilon(delta="1e-22")
    proved = from_plds([(item, 1000)]).epsilon(delta="1e-22")
    assert truth.lower <= proved.upper <= 1.005 * truth.upper
    with pytest.warns(NotABound):
        composed = item.self_compose(1000, tail_mass_truncation=0)
    rounding = composed.get_delta_for_epsilon(proved.upper) - 1e-22  # -4e-14 was met
    assert abs(rounding) > 1e4 * 1e-22


def test_negative_masses_only_raise_delta() -> None:
    pmf = pld_pmf.DensePLDPmf(0.25, -1, np.array([0.5, -1e-17, 0.5]), 0.0, True)
    interval = from_pld(peer.PrivacyLossDistribution(pmf)).delta(epsilon=0)
    assert interval.lower <= 0.5 * -math.expm1(-0.25) <= interval.upper


def test_refusals() -> None:
    optimistic = peer.from_laplace_mechanism(
        1, pessimistic_estimate=False, value_discretization_interval=0.25
    )
    with pytest.raises(InvalidArgument, match="pessimistic"):
        from_pld(optimistic)
    with pytest.raises(InvalidArgument, match="equal intervals"):
        from_plds([(SMALL, 1), (peer.from_laplace_mechanism(1), 1)])
    for wrong in ([], [(SMALL, 0)]):
        with pytest.raises(InvalidArgument, match=r"counts >= 1|at least one"):
            from_plds(wrong)
    for masses, infinity in (
        ({0: math.nan}, 0.0),
        ({0: 1.0}, 1.0),
        ({0: 0.0}, 0.5),
        ({0: 1.0}, -0.1),
    ):
        wrong = peer.PrivacyLossDistribution.create_from_rounded_probability(masses, infinity, 0.25)
        with pytest.raises(InvalidArgument, match="probabilities"):
            from_pld(wrong)
