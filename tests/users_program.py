"""A program as users write it. mypy and pyright must accept it: tests/test_typing.py.

It uses the whole public API in each form that the pages show. It is never run.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

import leastnoise as ln
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Ball, Box
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.learn import (
    BoundedScaler,
    EmpiricalCovariance,
    LinearRegression,
    LogisticRegression,
    StepAccountant,
    noise_multiplier,
)


def make_sensitivities() -> list[Fraction]:
    bounds = [
        *(ln.L2(1).bound, ln.L2("0.5").bound, ln.L2(0.5).bound, ln.L2(Fraction(1, 3)).bound),
        *(ln.L1(Decimal("0.1")).bound, ln.Integer(1).bound, ln.Linf(1, l0=2).bound),
        *(ln.CountingQueries(dimension=3).bound, ln.Groups(groups=2, dimension=3).bound),
        *(ln.CountingQueries(dimension=3, max_nonzero=2, bound="2").bound, ln.RowCounts(3).bound),
    ]
    square: tuple[tuple[Fraction, ...], ...] = ln.Vertices(points=[[1, 0], ["0.6", 0.8]]).points
    return bounds + [number for row in square for number in row]


def make_laws() -> list[ln.noise.Noise]:
    body = Signed(of=Counts(queries=3, most=2))
    scale: Fraction = ln.noise.Gaussian(scale=4).scale
    return [
        ln.noise.Gaussian(scale=scale, dimension=3),
        ln.noise.Laplace(scale="1.5"),
        ln.noise.TruncatedLaplace(scale=1, radius=2),
        ln.noise.FlippedHuber(scale=1, alpha=0, gamma=2),
        ln.noise.GaussianMixture(scale=1, modes=1, spacing=1, decay=0.5),
        ln.noise.GeneralizedGamma(scale=1, alpha=1, p=1, dimension=3),
        ln.noise.Staircase(scale=1, gamma="0.5", decay=1),
        ln.noise.Geometric(scale=1, cells=1, core=1, decay=1),
        ln.noise.Optimal(scale=1, cells=1, masses=[2, 1]),
        ln.noise.Agreeing(scale=1, branches=(2, 3), shares=("0.2", "0.3", "0.5")),
        ln.noise.KNorm(scale=1, body=body),
        ln.noise.KNorm(scale=1, body=Box(bounds=[1, "0.5"])),
        ln.noise.KNorm(scale=1, body=Ball(bound=1, coordinates=3)),
        ln.noise.TwoSidedLaplace(scale=1, of=Counts(queries=3), core="0.5"),
    ]


def release_a_number() -> float:
    mechanism = ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1))
    best = ln.compare(epsilon="1", delta=1e-5, sensitivity=ln.L1(1), dimension=2, bound=False)
    lower: float = mechanism.delta(epsilon=1).lower
    same = ln.Mechanism(ln.Certificate.from_json(mechanism.certificate.to_json()))
    assert same.certificate.budget == ln.Budget(epsilon=1, delta="1e-5")
    assert best.candidates[0].mae is not None
    ln.compose([(mechanism, 2)], sampling_rate="0.01").epsilon(delta="1e-5")
    ln.least_noise(epsilon=1, sensitivity=ln.Integer(1)).release(3)
    return lower + float(mechanism.release(np.array([1.0])).values[0])


def release_a_table(people: object) -> ln.ReleasedTables:
    release = (
        ln.release(people, unit="person", epsilon=1, delta="1e-6", max_rows=3)
        .count(by="region", keys={"region": ["north", "south"]})
        .mean("income", bounds=(0, 200_000))
        .quantile("income", 0.9, candidates=[0, 10_000, 20_000])
    )
    assert str(release.plan())
    ln.Release.from_toml("spec.toml", sql="select count(*) from data").run()
    return release.run(label="first")


def keep_a_ledger(folder: Path) -> Fraction:
    ledger = ln.Ledger(folder / "ledger.jsonl")
    ledger.open_account("people", unit="person", budget=ln.Budget(epsilon="10", delta=1e-6))
    budget: Fraction = ln.Budget(epsilon="1", delta="1e-6").delta
    assert ln.verify_directory(folder) is not None
    return budget + ln.Budget(epsilon=1).epsilon


def learn(features: object, targets: object) -> float:
    LinearRegression(epsilon=1, bounds=(0, 10), target_bounds=(0, 50)).fit(features, targets)
    LogisticRegression(epsilon=1, max_norm=1)
    BoundedScaler(bounds=(0, 10))
    EmpiricalCovariance(epsilon=1, bounds=(0, 10))
    sigma = noise_multiplier(epsilon=1, delta="1e-5", sampling_rate="0.01", steps=100)
    accountant = StepAccountant(noise_multiplier=sigma, sampling_rate=0.01, steps=100)
    return float(accountant.noise_multiplier)


def audit() -> bool:
    claim = ln.Claim(epsilon=1, delta="1e-5", sensitivity=ln.L1(1), noise=ln.noise.Laplace(scale=1))
    return claim.epsilon > Fraction(1, 2)
