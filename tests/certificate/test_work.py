"""Laws whose proof would take hours or gigabytes are refused at once; calibrated ones aren't."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.accounting.proof.composed import check_work, prove_composed
from leastnoise.balls.core import precision
from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Laplace
from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian
from leastnoise.noise.lattice.law import Cactus, Optimal
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.privacy_losses import choose_losses
from leastnoise.noise.radial.proof.generalized_gamma import tails
from leastnoise.noise.radial.proof.generalized_gamma_curve import Curve
from leastnoise.noise.shells.law import OptimalRadial, SphericalStaircase
from leastnoise.noise.steps.law import Staircase, TruncatedStaircase, Tulap

ONE = Fraction(1)


def mixture(*, scale: str = "0.3", modes: int = 4) -> GaussianMixture:
    return GaussianMixture(scale=scale, modes=modes, spacing=1, decay="0.5")


def steps(radius: int, *, scale: str = "0.7") -> TruncatedStaircase:
    return TruncatedStaircase(scale=scale, gamma="0.4", radius=radius, decay="0.001")


def rising(points: int, cells: int) -> Cactus:
    return Cactus(scale=1, cells=cells, masses=[1 + (7 * i * i) % 97 for i in range(points)])


def edges(count: int) -> OptimalRadial:
    return OptimalRadial(
        scale=1,
        dimension=3,
        cells=3,
        edges=list(range(1, count + 1)),
        weights=list(range(count + 1, 1, -1)),
    )


# each ran for more than 20 seconds, filled gigabytes, or ended with an error that isn't ours
HOSTILE: dict[str, tuple[Callable[[], Noise], str, int]] = {
    "1000 modes": (lambda: mixture(modes=1000), "1", 1),
    "narrow kernels": (lambda: mixture(scale="0.01"), "1", 1),
    "a narrow folded law": (
        lambda: QuasiGaussian(scale="0.01", spacing=1, decay="0.5"), "1", 1,
    ),
    "kernels at a large epsilon": (lambda: mixture(scale="0.05"), "1000", 1),
    "128 modes, twice": (lambda: mixture(modes=128), "1", 2),
    "narrow kernels, twice": (lambda: mixture(scale="0.05"), "1", 2),
    "50,000 masses": (lambda: rising(50_000, 500), "1", 1),
    "many cells": (lambda: rising(5_000, 5_000), "1", 1),
    "radius 200,000": (lambda: steps(200_000), "1", 1),
    "radius 200,000 of tulap": (
        lambda: Tulap(scale="0.7", radius=200_000, decay="0.001"), "1", 1,
    ),
    "radius 200,000, twice": (lambda: steps(200_000), "1", 2),
    "1000 edges, twice": (lambda: edges(1000), "1", 2),
    "a long shift of l2": (lambda: SphericalLaplace(scale="1e-100", dimension=7), "1", 1),
    "a long shift of l2, twice": (lambda: SphericalLaplace(scale="1e-6", dimension=7), "1", 2),
    "a tiny scale, twice": (lambda: Laplace(scale="1e-100"), "1", 2),
    "tiny steps, twice": (lambda: Staircase(scale="1e-100", gamma="0.4", decay=1), "1", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_takes_too_long_is_rejected_at_once(name: str) -> None:
    make, epsilon, count = HOSTILE[name]
    noise = make()
    budget = Budget(epsilon=epsilon, delta="1e-5")
    claim = Certificate(
        budget=budget,
        noise=noise,
        sensitivity=L2(1),
        delta=Interval(0.0, 1.0),
        compositions=count,
    )
    with pytest.raises(CertificateRejected, match=r"too long|too large|epsilon = 500"):
        claim.verify()
    with pytest.raises(NotApplicable):
        Certificate.prove(budget=budget, noise=noise, sensitivity=L2(1), compositions=count)


# these took minutes, one place of the loss or one goal of the quadrature after another
ENDLESS: tuple[tuple[str, str, int, str, str, int], ...] = (
    ("-0.999", "1.5", 2000, "1000", "10", 1000),
    ("-0.5", "50", 400, "1e6", "1", 2),
    ("-0.5", "50", 400, "1000", "1", 1),
    ("6", "1.5", 7, "1000", "1", 1),
)


@pytest.mark.dense
@pytest.mark.parametrize("case", ENDLESS)
def test_quadratures_end_after_so_many_evaluations(
    monkeypatch: pytest.MonkeyPatch, case: tuple[str, str, int, str, str, int]
) -> None:
    alpha, p, dimension, scale, epsilon, count = case
    evaluate, tried = Curve.integrand, [0]

    def counted(curve: Curve, *arguments: Any, **more: Any) -> Any:
        tried[0] += 1
        return evaluate(curve, *arguments, **more)

    monkeypatch.setattr(Curve, "integrand", counted)
    law = GeneralizedGamma(scale=1, alpha=alpha, p=p, dimension=dimension)
    shift, result = 1 / Fraction(scale), list[int]()
    places = (
        [(Fraction(epsilon), -1.0)] if count == 1 else choose_losses(law, shift, Fraction(1, 10))
    )
    for index, _ in places[:: max(1, len(places) // 4)]:
        tried[0] = 0
        with precision(256):
            all_of_it = tails(law, shift=shift, epsilon=index, evaluations=2000)
        result.append(tried[0])
        assert all_of_it.delta.is_finite() or result[-1] > 1000
    assert max(result) < 2000 + 1000  # beside it a first guess, and what a piece is split into


def test_fewer_evaluations_enclose_what_more_of_them_do() -> None:
    law = GeneralizedGamma(scale=1, alpha=6, p="1.5", dimension=7)
    fine = tails(law, shift=ONE, epsilon=ONE)
    assert fine.delta.rel_accuracy_bits() > 25
    for evaluations in (0, 1, 10, 100, 300, 1000):
        coarse = tails(law, shift=ONE, epsilon=ONE, evaluations=evaluations)
        assert not coarse.delta.is_finite() or coarse.delta.overlaps(fine.delta)
        assert not coarse.delta.is_finite() or coarse.delta.rad() >= fine.delta.rad()


# the most demanding that calibration found at the edges of budgets, and shapes that cost nothing
OURS: tuple[tuple[Noise, str, int], ...] = (
    (GaussianMixture(scale="0.02893", modes=1, spacing=1, decay=500), "500", 1),
    (GaussianMixture(scale="0.05", modes=1, spacing=1, decay=200), "200", 1),
    (GaussianMixture(scale="0.39", modes=32, spacing=1, decay="0.01"), "0.01", 1),
    (QuasiGaussian(scale="0.029", spacing=1, decay=500), "500", 1),
    (Optimal(scale=1, cells=544, masses=[1] * 544 + [2] + [1] * 544), "20", 1),
    (Cactus(scale=1, cells=50, masses=range(50_000, 0, -1)), "1", 1),
    (steps(200_000, scale="1"), "1e-3", 1),
    (steps(200_000, scale="1"), "1", 1000),
    (SphericalStaircase(scale=1, dimension=3, gamma="0.4", radius=20_000, decay=1), "1", 2),
    (SphericalLaplace(scale="1e-7", dimension=10**8), "100000", 1),
    (edges(200), "1", 2),
)


@pytest.mark.parametrize(("noise", "epsilon", "count"), OURS, ids=lambda item: str(item)[:30])
def test_what_is_calibrated_is_never_refused(noise: Noise, epsilon: str, count: int) -> None:
    check_work(
        Releases(noise=noise, shifts=ShiftBounds.of(L2(1)), compositions=count), Fraction(epsilon)
    )


def test_more_draws_than_are_accounted_for_are_rejected() -> None:
    """Each release has three draws: one for each of the cells that a person is in."""
    claim = Certificate(
        budget=Budget(epsilon=1, delta="1e-5"),
        noise=Laplace(scale=1),
        sensitivity=Linf(1, l0=3),
        geometry=CellGeometry(count=5),
        delta=Interval(0.0, 1.0),
        compositions=2**53,
    )
    with pytest.raises(CertificateRejected, match=r"2\^53"):
        claim.verify()


@pytest.mark.slow  # seconds
def test_the_most_releases_are_answered() -> None:
    """Powers overflow there: nothing is known of δ, and no number is made up."""
    tulap = Tulap(scale=1, radius=3, decay=1)
    composed = prove_composed(
        (Releases(noise=tulap, shifts=ShiftBounds.of(L2(1)), compositions=2**53),), ONE
    )
    assert composed.interval == Interval(0.0, 1.0)
