"""No shift in [0, Δ] leaks more than δ, whatever the family: by the routes of `tests.shifts`.

They give at most the true δ of a shift, so no tolerance is needed: what exceeds δ is a leak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leastnoise.calibration import calibrate_family
from leastnoise.certificate.certificate import Certificate
from leastnoise.design.programs import find
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.refine import Design, Task
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.kernels.law import GaussianMixture
from leastnoise.noise.lattice.law import Cactus, DiscreteStaircase, Optimal
from leastnoise.noise.question import Loss, Question, Search
from leastnoise.noise.registry import all_families, part_of
from leastnoise.noise.steps.law import Geometric, Staircase, TruncatedStaircase, Tulap
from tests.shifts import ROUTES, worst

# Of a design: quick, and neither privacy nor the bound rests on it. Beyond ε = 5 no bound is asked,
# and whatever law is found first is as good.
GAP, WORK, LITTLE_WORK = 0.05, 3 * 10**9, 15 * 10**7


@dataclass(frozen=True, kw_only=True)
class Setting:
    epsilon: str
    delta: str
    sensitivity: str
    whole: int
    loss: Loss

    def __str__(self) -> str:
        return f"{self.epsilon}, {self.delta}, {self.loss}, {self.sensitivity} or {self.whole}"

    @property
    def budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta)

    def offered(self, family: type[Noise]) -> Sensitivity:
        if family.norm == "integer":
            return Integer(self.whole)
        return (L1 if family.norm == "l1" else L2)(self.sensitivity)

    def design(self) -> Design:
        work = WORK if self.budget.epsilon <= 5 else LITTLE_WORK
        task = Task(budget=self.budget, loss=self.loss)
        return find.find_design(task, Effort(gap=GAP, work=work))

    def proved(self, family: type[Noise]) -> Certificate:
        def designed(question: Question) -> Noise:
            law = self.design().law
            if law is None:
                raise NotApplicable(family=family.name, why="its design found none")
            return law

        searches: dict[type[Noise], Search] = {
            # a third of a user's work: with more it is hardly nearer to the best, and as private
            DiscreteStaircase: partial(find.discrete_staircase, effort=Effort(work=WORK // 3)),
            Optimal: designed,
        }
        return calibrate_family(
            family,
            Question(budget=self.budget, sensitivities=(self.offered(family),), loss=self.loss),
            search=searches.get(family),
        ).certificate


def settings(count: int, *, seed: int) -> list[Setting]:
    """ε in [0.01, 20] and δ in [1e-12, 0.4], both log-uniform."""
    rng = np.random.default_rng(seed)  # makes problems, no noise
    epsilons = np.exp(rng.uniform(math.log(0.01), math.log(20), count))
    deltas = np.exp(rng.uniform(math.log(1e-12), math.log(0.4), count))
    return [
        Setting(
            epsilon=f"{epsilon:.4g}",
            delta=f"{delta:.4g}",
            sensitivity=str(rng.choice(["1", "0.37", "30"])),
            whole=int(rng.choice([1, 1, 2, 5])),
            loss=list(Loss)[rng.integers(2)],
        )
        for epsilon, delta in zip(epsilons, deltas, strict=True)
    ]


def families() -> list[type[Noise]]:
    """All that serve one number; tests/noise/bodies/test_privacy.py is about bodies."""
    return [
        family
        for family in all_families()
        if family.norm != "body" and family.why_not(dimension=1, delta=Fraction(1, 100)) is None
    ]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASTNOISE_CACHE", str(tmp_path))


def check(setting: Setting) -> None:
    budget = setting.budget
    bound, answered = None, 0
    if budget.epsilon <= 5:
        bound = setting.design().bound
        assert bound is not None
    for family in families():
        try:
            certificate = setting.proved(family)
        except NotApplicable:
            continue
        answered += 1
        offered = certificate.sensitivity
        limit = offered.radius(family.norm, dimension=1)
        assert limit is not None
        most, shift = worst(certificate.noise, limit=limit, epsilon=budget.epsilon)
        assert most <= budget.delta, (family.name, most / float(budget.delta) - 1, float(shift))
        if bound and not isinstance(offered, Integer):
            least = bound.at_sensitivity(limit)
            assert least <= setting.loss.of(certificate.noise), (family.name, least)
    assert answered >= len(families()) - 2  # cactus isn't searched where ε > 10


FEW = [
    Setting(epsilon="0.3", delta="1e-8", sensitivity="30", whole=3, loss=Loss.MAE),
    Setting(epsilon="4", delta="0.02", sensitivity="1", whole=1, loss=Loss.MSE),
]


def test_every_family_for_one_number_has_a_route() -> None:
    assert {family.name for family in families()} <= ROUTES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("setting", FEW, ids=str)
def test_no_shift_leaks(setting: Setting) -> None:
    check(setting)


@pytest.mark.slow
@pytest.mark.parametrize("setting", settings(100, seed=2), ids=str)
def test_no_shift_leaks_at_a_hundred_settings(setting: Setting) -> None:
    check(setting)


ONE = Setting(epsilon="1", delta="0.001", sensitivity="0.37", whole=2, loss=Loss.MSE)
STEPS = {Cactus, Optimal, Staircase, TruncatedStaircase, Tulap}


@pytest.mark.slow
@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_a_scale_that_is_too_small_is_found(family: type[Noise]) -> None:
    """The scale is 1e-3 too small for steps, else 1e-4; on whole numbers ε is 1e-3 too small."""
    law: Any = ONE.proved(family).noise
    epsilon, delta = ONE.budget.epsilon, ONE.budget.delta
    limit = ONE.offered(family).radius(family.norm, dimension=1)
    assert limit is not None
    assert worst(law, limit=limit, epsilon=epsilon)[0] <= delta
    if family.norm == "integer":
        epsilon *= Fraction(999, 1000)
    else:  # any spacing stays as it is
        law = replace(law, scale=law.scale * Fraction("0.999" if family in STEPS else "0.9999"))
    if family in {Geometric, Staircase}:  # it is private with δ = 0, or not at all
        delta = 0
    assert worst(law, limit=limit, epsilon=epsilon)[0] > delta


@pytest.mark.dense
def test_the_worst_shift_of_a_mixture_may_be_inside() -> None:
    budget = Budget(epsilon=2, delta="0.01")
    law = part_of(GaussianMixture, "fit")(Question(budget=budget, fixed={"modes": 3}))
    most, shift = worst(law, limit=Fraction(1), epsilon=budget.epsilon)
    assert 0.77 < shift < 0.79
    assert 0.01 * (1 - 1e-7) < most <= budget.delta
    at_end = ROUTES[law.name](law, Fraction(1), budget.epsilon).certain(Fraction(1))
    assert at_end < 0.99 * most
