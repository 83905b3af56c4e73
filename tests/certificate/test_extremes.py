"""Sums of largest losses are pure budgets, also for laws with different losses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.accounting.proof.common_lattice import enclose_infinite, largest_loss
from leastnoise.accounting.proof.composed import method_of, prove_composed
from leastnoise.guarantees.sensitivity import L1, L2, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Laplace
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.shells.law import SphericalStaircase
from leastnoise.noise.steps.law import Staircase, Tulap
from tests.laws import LAWS, label

PURE: tuple[tuple[Noise, int], ...] = (
    (Laplace(scale=2), 2),
    (Laplace(scale="0.3"), 1),
    (SphericalLaplace(scale=3, dimension=3), 4),
    (Staircase(scale="0.7", gamma="0.4", decay="0.2"), 3),
)


def test_different_pure_budgets_add_up_exactly() -> None:
    parts = tuple(
        Releases(
            noise=noise,
            shifts=ShiftBounds.of(L1(1) if noise.norm == "l1" else L2(1)),
            compositions=count,
        )
        for noise, count in PURE
    )
    whole = 2 * Fraction(1, 2) + Fraction(10, 3) + Fraction(4, 3) + 3 * Fraction("0.4")
    assert prove_composed(parts, whole).interval.upper == 0.0
    assert prove_composed(parts, whole * Fraction("0.99")).interval.lower > 0


EVEN = [law for law in LAWS if isinstance(law, SphericalStaircase | Staircase | Tulap)]


@pytest.mark.parametrize("law", EVEN, ids=label)
def test_losses_that_are_multiples_of_one_are_composed_exactly(law: Noise) -> None:
    part = Releases(noise=law, shifts=ShiftBounds.of(L2(1)), compositions=20)
    interval = prove_composed((part,), Fraction(5)).interval
    assert interval.upper - interval.lower <= 1e-9 * interval.upper


KNOWN = [law for law in LAWS if largest_loss(law, Fraction(1)) is not None]


@pytest.mark.parametrize("law", KNOWN, ids=label)
@pytest.mark.parametrize("shift", ["0.4", "0.7", "1.9"])
def test_no_finite_loss_is_larger(law: Noise, shift: str) -> None:
    """From there on δ is a constant: what has an infinite loss."""
    result = largest_loss(law, Fraction(shift))
    assert result is not None
    method = method_of(law)
    here, beyond = (method(law, shift=Fraction(shift), epsilon=at) for at in (result, result + 3))
    assert here.overlaps(beyond)
    text = enclose_infinite(
        law,
        shift=Fraction(shift),
        profile=lambda at: method(law, shift=Fraction(shift), epsilon=at),
    )
    assert text is not None
    assert text.overlaps(beyond)
