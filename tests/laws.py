"""Example laws of every noise family, for the tests that hold for all of them."""

from __future__ import annotations

from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.plain import Ball, Box
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.noise.base import Noise, Parameter
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.classic.law import FlippedHuber, Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian
from leastnoise.noise.lattice.law import Cactus, DiscreteStaircase, Optimal
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.shells.law import OptimalRadial, SphericalStaircase
from leastnoise.noise.steps.law import Geometric, Staircase, TruncatedStaircase, Tulap
from leastnoise.noise.trees.law import Agreeing

# test_families checks that every family is listed here.
LAWS: tuple[Noise, ...] = (
    *(Gaussian(scale="0.7", dimension=d) for d in (1, 2, 3, 7)),
    *(Laplace(scale="0.7", dimension=d) for d in (1, 2, 3, 7)),
    *(SphericalLaplace(scale="0.7", dimension=d) for d in (2, 3, 7)),
    *(
        GeneralizedGamma(scale="0.7", alpha=alpha, p=p, dimension=d)
        for d, alpha, p in ((1, "-0.3", "1.5"), (2, "0.9", "1.4"), (3, "1.2", "3"), (7, 6, "1.2"))
    ),
    Cactus(scale="0.7", cells=2, masses=(7, 3, 5, 2, 1)),
    FlippedHuber(scale="0.7", alpha="1.2", gamma="0.8"),
    FlippedHuber(scale="0.7", alpha="0.2", gamma="1.1"),
    GaussianMixture(scale="0.7", modes=2, spacing="2.1", decay="0.5"),
    GaussianMixture(scale="0.7", modes=1, spacing="0.4", decay="1"),
    Optimal(scale="0.7", cells=3, masses=(5, 3, 4, 0, 1)),
    *(
        SphericalStaircase(scale="0.7", dimension=d, gamma="0.4", radius="4.3", decay="1")
        for d in (2, 7)
    ),
    SphericalStaircase(scale="0.7", dimension=3, gamma="0.8", radius="0.7", decay="0.2"),
    OptimalRadial(scale="0.7", dimension=2, cells=3, edges=(2, 4, 9), weights=(9, 4, 1)),
    QuasiGaussian(scale="0.7", spacing="2.1", decay="0.5"),
    QuasiGaussian(scale="0.7", spacing="0.4", decay="1"),
    Staircase(scale="0.7", gamma="0.4", decay="1"),
    TruncatedLaplace(scale="0.7", radius="2.5"),
    TruncatedLaplace(scale="0.7", radius="0.4"),
    TruncatedStaircase(scale="0.7", gamma="0.37", radius="4.3", decay="1"),
    TruncatedStaircase(scale="0.7", gamma="0.6", radius="0.55", decay="0.2"),
    Tulap(scale="0.7", radius="3.3", decay="1"),
)

# On a lattice there is no density to integrate.
LATTICE_LAWS: tuple[Noise, ...] = (
    DiscreteStaircase(scale="0.7", cells=3, masses=(5, 3, 4, 0, 1)),
    Geometric(scale="0.7", cells=3, core=2, decay="0.8"),
)

# tests/noise/bodies/test_laws.py tests the moments and densities of these laws.
BODY_LAWS: tuple[VectorNoise, ...] = (
    Agreeing(scale="0.7", branches=(2, 3), shares=("0.2", "0.3", "0.5")),
    KNorm(scale="0.7", body=Signed(of=Counts(queries=3))),
    KNorm(scale="0.7", body=Box(bounds=[1, 2])),
    KStaircase(scale="0.7", body=Ball(bound=1, coordinates=3), gamma="0.4", decay="1.5"),
    TruncatedKStaircase(
        scale="0.7", body=Box(bounds=[1, 2]), gamma="0.4", radius="3.3", decay="1.5"
    ),
    TwoSidedLaplace(scale="0.7", of=Counts(queries=3), core="0.7"),
    TwoSidedStaircase(scale="0.7", of=Counts(queries=4, most=2), core="0.7", decay="1.5"),
)


def label(law: Noise) -> str:
    """The name of a law in test ids."""
    parameters = "-".join(f"{name}{_short(value)}" for name, value in law.parameters.items())
    return f"{law.name}-d{law.dimension}" + (f"-{parameters}" if parameters else "")


def _short(value: Parameter) -> str:
    if isinstance(value, Body | OneSided):
        return value.kind
    return f"x{len(value)}" if isinstance(value, tuple) else f"{float(value):g}"
