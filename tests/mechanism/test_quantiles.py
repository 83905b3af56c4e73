"""Chosen quantiles: their law, and its largest loss over all neighbouring tables."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.mechanism.permute_and_flip import choose_quantiles
from tests.quantile_laws import (
    Law,
    largest_loss,
    mass_of,
    nested_law,
    permute_and_flip,
    split_law,
    tables,
)

_DRAWS = 2000
_LEVELS = {1: ["0.3"], 2: ["0.25", "0.5"], 3: ["0.2", "0.5", "0.9"]}


def best(levels: list[str], **options: Any) -> QuantileCertificate:
    asked: dict[str, Any] = {"epsilon": Fraction(1), "candidates": 3, "parts": 1}
    return QuantileCertificate.best(levels=tuple(map(Fraction, levels)), **asked | options)


def law_of(claim: QuantileCertificate, rows: list[int]) -> Law:
    mass = mass_of(rows, claim.parts)
    if not claim.nested:
        return split_law(mass, claim.levels, claim.rates, claim.candidates)
    return nested_law(mass, claim.levels, claim.rates, (0, claim.candidates * claim.parts - 1))


def worst_loss(claim: QuantileCertificate, *, most: int) -> float:
    """Return the largest loss of any two neighbouring tables of at most so many rows."""
    values = list(itertools.product(range(claim.groups), range(claim.candidates)))
    laws: dict[Any, Law] = {}

    def laws_of(table: tuple[tuple[int, int], ...]) -> list[Law]:
        results: list[Law] = []
        for group in range(claim.groups):
            rows = tuple(sorted(value for at, value in table if at == group))
            if rows not in laws:
                laws[rows] = law_of(claim, list(rows))
            results.append(laws[rows])
        return results

    worst = 0.0
    for table in tables(most - 1, values):
        ends = [laws_of(table)] if claim.neighbours == "add-remove" else []
        ends += [laws_of((*table, value)) for value in values]
        pairs = (
            itertools.combinations(ends, 2)
            if claim.neighbours == "replace-one"
            else ((ends[0], more) for more in ends[1:])
        )
        worst = max([worst, *(largest_loss(item, other) for item, other in pairs)])
    return worst


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("levels", "parts"), [(1, 1), (2, 1), (3, 1), (3, 2)])
def test_no_neighbouring_tables_tell_more_than_epsilon(
    levels: int, parts: int, groups: int, neighbours: Neighbours
) -> None:
    claim = best(_LEVELS[levels], candidates=2, parts=parts, groups=groups, neighbours=neighbours)
    assert claim.spent == claim.budget.epsilon
    loss = worst_loss(claim, most=4 if parts == 1 else 3)
    assert 0.5 < loss <= 1 + 1e-9


def test_the_rates_of_added_rows_are_too_much_for_replaced_ones() -> None:
    added = best(["0.5"], neighbours="add-remove")
    claim = QuantileCertificate(
        budget=Budget(epsilon=1), levels=added.levels, rates=added.rates, nested=False,
        candidates=3, neighbours="replace-one",
    )  # fmt: skip
    assert claim.spent == 2
    assert worst_loss(claim, most=4) > 1.2


@pytest.mark.dense
@pytest.mark.parametrize(("levels", "parts"), [(1, 1), (2, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("rows", [[], [0, 0, 1], [0, 1, 1, 2, 2, 2, 2]])
def test_draws_have_the_law_of_the_definition(levels: int, parts: int, rows: list[int]) -> None:
    claim = best(_LEVELS[levels], parts=parts, epsilon=Fraction(4))
    wanted: Counter[tuple[int, ...]] = Counter()
    for parts_chosen, chance in law_of(claim, rows).items():
        wanted[tuple(sorted(index // claim.parts for index in parts_chosen))] += chance  # type: ignore[assignment]
    entropy = InsecureSeededEntropy(7)
    counts = [5 * rows.count(index) for index in range(3)]
    frequencies = Counter(
        tuple(choose_quantiles(claim, counts, unit=5, entropy=entropy)) for _ in range(_DRAWS)
    )
    assert set(frequencies) <= set(wanted)
    for places, chance in wanted.items():
        spread = (chance * (1 - chance) / _DRAWS) ** 0.5
        assert abs(frequencies[places] / _DRAWS - chance) <= 4.5 * spread + 1e-12


def test_the_law_of_permute_and_flip_is_that_of_all_orders() -> None:
    penalties = [0.0, 0.4, 0.4, 2.0]
    taken = [2.718281828459045**-penalty for penalty in penalties]
    chances = [0.0] * 4
    for order in itertools.permutations(range(4)):
        still = 1 / 24
        for index in order:
            chances[index] += still * taken[index]
            still *= 1 - taken[index]
    assert permute_and_flip(penalties) == pytest.approx(chances, rel=1e-12)


def test_quantiles_of_many_ties_stay_apart() -> None:
    claim = best(["0.25", "0.5", "0.75"], parts=64, epsilon=Fraction(50))
    chosen = choose_quantiles(claim, [40_000, 20_000, 40_000], entropy=InsecureSeededEntropy(1))
    assert chosen == [0, 1, 2]


def test_other_than_a_count_a_candidate_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected 3 counts, got 2"):
        choose_quantiles(best(["0.5"]), [1, 2])
