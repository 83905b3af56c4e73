from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.design.bounds.lower_bound import (
    FACTOR_BITS,
    LowerBound,
    Witness,
    exponential_between,
)
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.refine import Design, Scope, Task, refine
from leastnoise.errors import CertificateRejected, InvalidInput, LeastnoiseError
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.lattice.law import Optimal
from leastnoise.noise.question import Loss


def made(
    epsilon: str, delta: str, loss: str = "mae", *, gap: float = 0.01, scope: Scope = "real",
    steps: int = 1,
) -> Design:  # fmt: skip
    budget = Budget(epsilon=epsilon, delta=delta)
    task = Task(budget=budget, loss=Loss.named(loss), scope=scope, steps=steps)
    return refine(task, gap=gap, effort=Effort())


def bound_of(design: Design) -> LowerBound:
    assert design.bound is not None
    return design.bound


def test_round_trip_and_verify() -> None:
    bound = bound_of(made("1", "0.01"))
    read = LowerBound.from_json(bound.to_json())
    assert read == bound
    read.verify()


def test_a_larger_value_is_rejected() -> None:
    """The value is the float just below what the proof shows, so one step up is too much."""
    for design in (made("1", "0.01"), made("1", "0.01", "mse"), made("0.1", "1e-6")):
        bound = bound_of(design)
        with pytest.raises(CertificateRejected, match="proof shows"):
            replace(bound, value=bound.value * (1 + 1e-12)).verify()


def test_weaker_privacy_is_rejected() -> None:
    """More ε or δ allows less noise, so the same bound would be false or unproved."""
    bound = bound_of(made("1", "0.01"))
    for change in ({"epsilon": Fraction(11, 10)}, {"delta": Fraction(11, 1000)}):
        with pytest.raises(CertificateRejected):
            replace(bound, **change).verify()
    replace(bound, delta=Fraction(1, 1000)).verify()  # less δ: still true


EDITS: dict[str, Callable[[Any], object]] = {
    "a price above its multiplier": lambda r: r["witness"]["multipliers"][0].__setitem__(1, 1),
    "a negative price": lambda r: r["witness"]["prices"][0].__setitem__(0, -1),
    "another lattice": lambda r: r["witness"].update(cells=2),
    "no lattice": lambda r: r["witness"].update(cells=0),
    "a shift beyond the sensitivity": lambda r: r["witness"]["multipliers"][-1].__setitem__(0, 99),
    "a row too few": lambda r: r["witness"]["prices"].pop(),
    "a short row": lambda r: r["witness"]["prices"].__setitem__(-1, [1]),
    "another loss": lambda r: r.update(loss="mse"),
    "an unknown loss": lambda r: r.update(loss="rmse"),
    "unknown scope": lambda r: r.update(scope="complex"),
    "unknown field": lambda r: r.update(extra=1),
    "missing field": lambda r: r.pop("delta"),
    "a float price": lambda r: r["witness"]["prices"][0].__setitem__(0, 1.5),
    "bits down": lambda r: r["witness"].update(bits=60),
    "negative bits": lambda r: r["witness"].update(bits=-1),
    "value NaN": lambda r: r.update(value="nan"),
    "delta of one": lambda r: r.update(delta="1"),
    "unknown version": lambda r: r.update(version=2),
}


@pytest.mark.grid
@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_rejected(edit: str) -> None:
    record = json.loads(bound_of(made("1", "0.01")).to_json())
    EDITS[edit](record)
    with pytest.raises((CertificateRejected, InvalidInput)):
        LowerBound.from_json(json.dumps(record)).verify()


def test_a_witness_of_nothing_proves_nothing() -> None:
    empty = Witness(cells=1, reach=1, bits=1, multipliers=(), prices=())
    bound = LowerBound.prove(
        loss=Loss.MAE, epsilon=Fraction(1), delta=Fraction(1, 100), witness=empty
    )
    assert bound.value == 0


def test_any_clipped_witness_gives_a_true_bound() -> None:
    """Spoil the prices at random: what is proved may be poor, but never above a real law's loss."""
    design = made("1", "0.01")
    bound, law = bound_of(design), design.law
    assert isinstance(law, Optimal)
    witness = bound.witness
    assert isinstance(witness, Witness)
    for step in range(2, 12):
        rows = tuple(
            tuple(min(lam, price * (step % 5) // 3 + lam * (i % step) // (7 * step)) for i, price in
                  enumerate(row))
            for (_, lam), row in zip(witness.multipliers, witness.prices, strict=True)
        )  # fmt: skip
        spoiled = LowerBound.prove(
            loss=bound.loss, epsilon=bound.epsilon, delta=bound.delta,
            witness=replace(witness, prices=rows),
        )  # fmt: skip
        assert spoiled.value <= law.mean_abs


def test_scales_with_the_sensitivity() -> None:
    absolute, square = bound_of(made("1", "0.01")), bound_of(made("1", "0.01", "mse"))
    assert absolute.at_sensitivity(Fraction(5, 2)) == pytest.approx(2.5 * absolute.value)
    assert square.at_sensitivity(Fraction(5, 2)) == pytest.approx(6.25 * square.value)


def test_what_is_no_json_is_refused() -> None:
    for text in ("", "[]", "{}", "null", '{"kind": "certificate"}'):
        with pytest.raises(LeastnoiseError):
            LowerBound.from_json(text)


def _plain_bound(witness: Witness, *, delta: Fraction, power: int) -> Fraction:
    """The bound at ε = 1, point by point and in fractions, as the docstring of `Witness` has it."""
    m, n, unit = witness.cells, witness.reach, 1 << witness.bits
    factor = Fraction(exponential_between(Fraction(1), bits=FACTOR_BITS)[1], 1 << FACTOR_BITS)
    prices = dict(zip([j for j, _ in witness.multipliers], witness.prices, strict=True))

    def price(j: int, i: int) -> Fraction:
        if i < -n:
            return price(j, i + m) if j == m else Fraction(0)
        return Fraction(prices[j][i + n], unit) if i + n < len(prices[j]) else Fraction(0)

    def gain(i: int) -> Fraction:
        return sum((price(j, i) - factor * price(j, i + j) for j in prices), Fraction(0))

    costs = (Fraction(i, m) ** power + (gain(i) + gain(-i)) / 2 for i in range(n + m + 1))
    return min(costs) - delta * sum(
        Fraction(multiplier, unit) for _, multiplier in witness.multipliers
    )


@pytest.mark.parametrize("power", [1, 2])
def test_a_bound_is_the_least_cost_of_any_point(power: int) -> None:
    draws = random.Random(1)
    for _ in range(20):
        prices = tuple(tuple(draws.choices(range(40), k=size)) for size in (5, 6))
        witness = Witness(cells=3, reach=5, bits=4, multipliers=((1, 40), (3, 40)), prices=prices)
        for delta in (Fraction(0), Fraction(1, 10)):
            bound = witness.bound(epsilon=Fraction(1), delta=delta, power=power)
            assert bound == _plain_bound(witness, delta=delta, power=power)
