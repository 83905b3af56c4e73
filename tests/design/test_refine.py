"""Designs: known brackets, δ by other routes, and the whole-number optimum in closed form."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog

from leastnoise.balls.core import ball, precision
from leastnoise.design.bounds.lower_bound import LowerBound, Scope
from leastnoise.design.programs import repair
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.program import LatticeProgram, closed_form_masses, fill_masses
from leastnoise.design.programs.refine import Design, Task, examine_law, mend, refine
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.lattice import profile as analysis_lattice
from leastnoise.noise.lattice import proof as lattice
from leastnoise.noise.lattice.law import DiscreteStaircase, Optimal
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.steps import fit as steps_fit
from leastnoise.noise.steps import proof as steps_proof
from tests.design.test_lower_bound import bound_of, made
from tests.grids import thin

# Brackets of the optimum at sensitivity 1, from the issue that asked for them: an independent
# solution of the same programs. (There the three rows at epsilon = 5 and delta = 0.01 were headed
# delta = 0.05; at 0.05 the law of this table, whose δ is exact, is below the bracket given.)
BRACKETS = (
    ("0.1", "1e-6", "mae", 9.9932, 9.9939),
    ("1", "1e-6", "mae", 0.95947, 0.95955),
    ("1", "1e-2", "mae", 0.90705, 0.90713),
    ("2", "1e-4", "mae", 0.42525, 0.42533),
    ("5", "1e-2", "mae", 0.08176, 0.08188),
    ("5", "0.1", "mae", 0.07431, 0.07461),
    ("1", "1e-2", "mse", 1.5856, 1.5865),
    ("5", "1e-2", "mse", 0.02903, 0.02913),
)


@pytest.mark.grid
@pytest.mark.parametrize("bracket", thin(BRACKETS, 3, has_one_name=True), ids=str)
def test_law_and_bound_bracket_the_optimum(bracket: tuple[str, str, str, float, float]) -> None:
    epsilon, delta, loss, low, high = bracket
    gap = 0.02 if epsilon == "5" else 0.01
    design = made(epsilon, delta, loss, gap=gap)
    assert design.law is not None
    assert bound_of(design).value <= high
    assert Loss.named(loss).of(design.law) >= low
    assert design.gap <= gap


def _exact_hockey_stick(law: Optimal, shift: int, epsilon: str) -> mp.mpf:
    """δ(ε) at a shift by its definition, a sum over the lattice in 50 digits."""
    with mp.workdps(50):
        masses, total, c = law.masses, law.lattice.total, mp.exp(mp.mpf(epsilon))
        n = len(masses) - 1

        def at(k: int) -> int:
            return masses[abs(k)] if abs(k) <= n else 0

        terms = (at(k) - c * at(k - shift) for k in range(-n, n + shift + 1))
        return mp.fsum(term for term in terms if term > 0) / total


@pytest.mark.dense
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-2"), ("2", "1e-9"), ("0.5", "1e-6"), ("5", "1e-3")]
)
def test_delta_is_met_at_every_shift_by_three_routes(epsilon: str, delta: str) -> None:
    law = made(epsilon, delta, gap=0.02).law
    assert isinstance(law, Optimal)
    e = Fraction(epsilon)
    with precision(128), mp.workdps(50):
        proved = lattice.step_delta_ball(law, shift=Fraction(1), epsilon=e)
        assert proved <= ball(Fraction(delta))
        worst = max(_exact_hockey_stick(law, j, epsilon) for j in range(1, law.cells + 1))
        assert mp.mpf(proved.lower().str(40, radius=False)) <= worst * (1 + mp.mpf("1e-30"))
        assert worst <= mp.mpf(proved.upper().str(40, radius=False)) * (1 + mp.mpf("1e-30"))
        # between lattice shifts, by the general route for step densities
        for shift in (Fraction(1, 7 * law.cells), Fraction(1, 3), Fraction(5, 7)):
            fast = lattice.step_delta_ball(law, shift=shift, epsilon=e)
            slow = steps_proof.step_delta_ball(law, shift=shift, epsilon=e)
            assert fast.overlaps(slow)
    floats = analysis_lattice.delta(
        law.lattice, shifts=range(1, law.cells + 1), epsilon=float(epsilon)
    )
    assert floats == pytest.approx(float(worst), rel=1e-5)
    assert float(worst) > 0.99 * float(delta)  # the budget is used


def test_delta_of_any_shift_and_epsilon_encloses_the_step_route() -> None:
    law = Optimal(scale=2, cells=3, masses=(5, 1, 4, 0, 2))
    with precision(128):
        for shift in ("0.01", "0.5", "0.7", "1", "2", "3.3", "7", "50"):
            for epsilon in ("0", "0.3", "1", "9"):
                arguments = {"shift": Fraction(shift), "epsilon": Fraction(epsilon)}
                fast = lattice.step_delta_ball(law, **arguments)
                assert fast.overlaps(steps_proof.step_delta_ball(law, **arguments)), (
                    shift,
                    epsilon,
                )
                assert float(fast.rad()) < 1e-30


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "value"),
    [("1", "1e-2", "mae", 0.7984977697), ("1", "1e-2", "mse", 1.516296966)],
)
def test_whole_numbers_in_closed_form(epsilon: str, delta: str, loss: str, value: float) -> None:
    design = made(epsilon, delta, loss, scope="integer")
    assert design.law is not None
    assert Loss.named(loss).of(design.law) == pytest.approx(value, abs=1e-9)
    assert bound_of(design).value == pytest.approx(value, abs=1e-9)
    assert design.gap < 1e-12


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.3", "0.02"), ("2", "0.001"), ("0", "0.3")])
def test_the_closed_form_is_the_optimum_of_the_program(
    epsilon: str, delta: str, power: int
) -> None:
    """A dense program of all |k| <= 40, written out here."""
    c, n = float(np.exp(float(epsilon))), 40
    size = 2 * n + 1
    k = np.arange(-n, n + 1)
    exposed = np.hstack([np.eye(size) - c * np.eye(size, k=-1), -np.eye(size)])
    symmetric = np.hstack([np.eye(size) - np.eye(size)[::-1], np.zeros((size, size))])
    solution = linprog(
        np.append(np.abs(k) ** float(power), np.zeros(size)),
        A_ub=np.vstack([exposed, np.append(np.zeros(size), np.ones(size))]),
        b_ub=np.append(np.zeros(size), float(delta)),
        A_eq=np.vstack([np.append(np.ones(size), np.zeros(size)), symmetric]),
        b_eq=np.append(1.0, np.zeros(size)),
    )
    masses = closed_form_masses(Budget(epsilon=epsilon, delta=delta))
    law = DiscreteStaircase(scale=1, cells=1, masses=masses)
    assert law.lattice.moment(power) == pytest.approx(solution.fun, rel=1e-7)


def test_unimodal_is_not_the_best_for_larger_whole_sensitivities() -> None:
    """theory/noise.md §3: Δ = 3, ε = 1, δ = .05 has E|X| = 2.342935481; unimodal 2.352825540."""
    design = made("1", "0.05", scope="integer", steps=3)
    assert design.law is not None
    assert 3 * design.law.mean_abs == pytest.approx(2.342935481, abs=2e-6)
    assert 3 * bound_of(design).value == pytest.approx(2.342935481, abs=2e-6)
    assert not design.law.lattice.falls


@pytest.mark.parametrize("loss", ["mae", "mse"])
@pytest.mark.parametrize(("epsilon", "steps"), [("0.01", 2), ("0.01", 5), ("0", 4)])
def test_wide_noise_for_whole_numbers_needs_no_program(
    epsilon: str, steps: int, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LatticeProgram, "solve", lambda *_, **__: pytest.fail("solved a program"))
    design = made(epsilon, "1e-3", loss, scope="integer", steps=steps)
    bound_of(design).verify()
    assert 0 < design.gap < 1e-4
    # no noise on the integers is better than the best noise on the multiples of the sensitivity
    simple = made(epsilon, "1e-3", loss, scope="integer")
    assert bound_of(design).value <= bound_of(simple).value
    assert bound_of(design).value >= bound_of(simple).value - 0.25 - 1e-9


@pytest.mark.parametrize("steps", [2, 3, 7])
def test_noise_between_the_multiples_is_added_exactly(steps: int) -> None:
    """The filled law is a convolution with the triangle on −steps … steps."""
    masses = closed_form_masses(Budget(epsilon="0.3", delta="0.02"))
    sparse = np.zeros(2 * steps * len(masses) - steps * 2 + 1, dtype=object)
    sparse[::steps] = [*reversed(masses), *masses[1:]]
    triangle = steps - np.abs(np.arange(1 - steps, steps))
    expected = np.convolve(sparse, triangle.astype(object))
    filled = fill_masses(masses, steps)
    assert list(expected) == [*reversed(filled), *filled[1:]]


def test_noise_with_too_many_points_is_refused_without_a_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LatticeProgram, "solve", lambda *_, **__: pytest.fail("solved a program"))
    with pytest.raises(NotApplicable, match="more than 50,000 lattice points"):
        made("1e-4", "1e-6", scope="integer", steps=5)


def test_pure_privacy_has_a_bound_but_no_law() -> None:
    """Geng & Viswanath's staircase is optimal there: min E|X| = e^(ε/2)/(e^ε − 1)."""
    design = made("1", "0", gap=0.005)
    staircase = float(mp.exp(0.5) / mp.expm1(1))
    assert design.law is None
    assert staircase * 0.99 < bound_of(design).value <= staircase


def test_progress_is_told() -> None:
    stages: list[str] = []
    task = Task(budget=Budget(epsilon="1", delta="0.01"), loss=Loss.MAE)
    refine(task, gap=0.01, effort=Effort(progress=stages.append))
    assert stages
    assert "cells" in stages[0]


def test_an_empty_design_has_no_gap() -> None:
    assert Design(law=None, bound=None).gap == float("inf")


@pytest.mark.dense
def test_the_prices_beyond_the_reach_are_repaired() -> None:
    """HiGHS finds prices to 1e-7 for masses that are divided by about δ: repair does the rest.

    A sweep that forgets the periodic part of the prices loses 8 % of the bound here.
    """
    program = LatticeProgram(
        cells=61, reach=277, epsilon=5.0, delta=1e-6, power=1, accuracy=2.5e-4, halving=3e-7
    )
    solved = program.solve(allowance=Effort().begin())
    assert solved is not None
    proved = LowerBound.prove(
        loss=Loss.MAE,
        epsilon=Fraction(5),
        delta=Fraction(1, 10**6),
        witness=repair.make_witness(solved),
    )
    optimum = solved.level - 1e-6 * float(solved.multipliers.sum())
    assert 0.999 * optimum <= proved.value <= optimum * (1 + 1e-6)


@pytest.mark.dense
def test_rows_that_cannot_matter_are_not_added() -> None:
    """The least loss at δ = 2e-8 hardly depends on δ, and exposure beyond δ hardly matters.

    `growth` is that of `refine` for (10, 1e-12). The first round is far from the least loss.
    """
    program = LatticeProgram(
        cells=76, reach=261, epsilon=10.0, delta=2.2e-8, power=2, accuracy=1e-3, halving=1e-12
    )
    every, few = (
        solved
        for asked in (program, replace(program, growth=7.9e-9))
        if (solved := asked.solve(allowance=Effort().begin())) is not None
    )
    assert len(few.rows.shift) < len(every.rows.shift)
    places = np.arange(262) / 76
    losses = [2 * float(solved.columns[:262] @ places**2) for solved in (every, few)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)


def test_a_law_that_is_not_private_is_mended_by_a_mixture() -> None:
    """Half of the mass of the end moved outwards exposes it; a mixture meets δ, exactly."""
    law = made("1", "0.01", gap=0.02).law
    assert isinstance(law, Optimal)
    task = Task(budget=Budget(epsilon="1", delta="0.01"), loss=Loss.MAE)
    weights = list(law.masses)
    weights[-1] *= 2
    exposed, excess = examine_law(task, law.cells, tuple(weights))
    assert exposed is None
    assert excess > 1e-3
    mixed, growth = mend(task, law.cells, tuple(weights))
    assert mixed is not None
    assert 0 < growth < 0.01
    assert examine_law(task, law.cells, mixed.masses)[0] == mixed
    again, none = mend(task, law.cells, law.masses)
    assert (again, none) == (law, 0.0)


def test_a_staircase_rounded_to_the_lattice_is_as_private() -> None:
    budget = Budget(epsilon="0.7", delta="1e-4")
    law = steps_fit.truncated_staircase_search(Question(budget=budget, loss=Loss.MSE))
    task = Task(budget=Budget(epsilon="0.7", delta="1.000001e-4"), loss=Loss.MSE)
    rounded = repair.round_to_lattice(law.steps, cells=7, delta=1e-4)
    private, _ = examine_law(task, 7, rounded)
    assert private is not None
    assert private.mean_abs == pytest.approx(law.mean_abs, rel=1e-2)


HARD = Task(budget=Budget(epsilon="5", delta="1e-6"), loss=Loss.MAE)


@pytest.mark.dense
def test_the_best_so_far_is_returned_when_the_work_is_done() -> None:
    """ε = 5, δ = 1e-6 once ended without any law: there is one after the first, coarse lattice."""
    stages = list[str]()
    design = refine(HARD, gap=0.001, effort=Effort(work=10**7, progress=stages.append))
    assert design.law is not None
    assert 0.001 < design.gap < 0.1
    assert refine(HARD, gap=0.001, effort=Effort(work=10**7)) == design
    more = list[str]()
    refine(HARD, gap=0.001, effort=Effort(work=10**8, progress=more.append))
    assert len(more) > len(stages)


@pytest.mark.dense
def test_the_best_so_far_is_returned_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now, stages = [0.0], list[str]()
    monkeypatch.setattr(
        "leastnoise.design.programs.effort.time", SimpleNamespace(perf_counter=lambda: now[0])
    )

    def progress(stage: str) -> None:
        stages.append(stage)
        now[0] = 1000.0 * (len(stages) - 1)  # time is up when the second lattice begins

    design = refine(HARD, gap=0.001, effort=Effort(seconds=60, progress=progress))
    assert len(stages) == 2
    assert design.law is not None
    assert 0.001 < design.gap < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-4", "1e-2", "0.1"])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "5", "10"])
@pytest.mark.parametrize("loss", ["mae", "mse"])
def test_the_gaps_that_are_promised(epsilon: str, delta: str, loss: str) -> None:
    gap = {"5": 0.005, "10": 0.02}.get(epsilon, 0.001)
    assert made(epsilon, delta, loss, gap=gap).gap <= gap


# How much of a bracket's width is asked for. The two for mae at ε = 5 (0.15 and 0.3 %) and that at
# ε = 2 (0.02 %) take a whole minute of an idle core, so that they are left out here.
SHARES = {("5", "mae"): None, ("2", "mae"): None, ("1", "mse"): 0.8}


@pytest.mark.slow
@pytest.mark.parametrize(
    "bracket", [row for row in BRACKETS if SHARES.get((row[0], row[2]), 0.5)], ids=str
)
def test_the_brackets_are_reached(bracket: tuple[str, str, str, float, float]) -> None:
    """The issue's brackets, to the digits given: a bound and a law inside them."""
    epsilon, delta, loss, low, high = bracket
    share = SHARES.get((epsilon, loss)) or 0.5
    design = made(epsilon, delta, loss, gap=share * (high / low - 1))
    assert design.law is not None
    assert bound_of(design).value >= low
    assert Loss.named(loss).of(design.law) <= high


@pytest.mark.parametrize(
    ("scope", "name"), [("real", "optimal"), ("integer", "discrete-staircase")]
)
def test_an_error_names_the_family_that_is_designed(scope: Scope, name: str) -> None:
    task = Task(budget=Budget(epsilon="1e-9", delta="1e-9"), loss=Loss.MSE, scope=scope)
    with pytest.raises(NotApplicable, match=rf"^{name} does not apply"):
        refine(task, gap=0.1, effort=Effort())
