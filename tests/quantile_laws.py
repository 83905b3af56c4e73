"""Exact laws of selected quantiles, from their definition, row by row, in fractions and floats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

Law = dict[tuple[int, ...], float]
Mass = dict[int, Fraction]


def permute_and_flip(penalties: Sequence[float]) -> list[float]:
    """The probability of each candidate by Algorithm 1 of McKenna & Sheldon (2020).

    The candidates come in a random order. Each is returned with probability e^(best − penalty), so
    the best candidate is returned if it is reached. Over all orders, the candidates before a
    candidate are a random subset: 1/(k + 1) integrates over its size k.
    """
    best = min(penalties)
    taken = [math.exp(best - penalty) for penalty in penalties]
    results: list[float] = []
    for index, computed in enumerate(taken):
        sums = [1.0]  # elementary symmetric sums of the others, with signs
        for other in taken[:index] + taken[index + 1 :]:
            sums = [a - other * b for a, b in zip([*sums, 0.0], [0.0, *sums], strict=True)]
        results.append(computed * math.fsum(item / (k + 1) for k, item in enumerate(sums)))
    return results


def score(mass: Mass, part: int, level: Fraction) -> Fraction:
    total = sum(mass.values(), Fraction(0))
    below = sum((item for index, item in mass.items() if index < part), Fraction(0))
    at = mass.get(part, Fraction(0))
    return max(below - level * total, level * total - below - at)


def nested_law(  # noqa: PLR0917 (it calls itself)
    mass: Mass,
    levels: Sequence[Fraction],
    rates: Sequence[Fraction],
    ends: tuple[int, int],
    range_of: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1)),
) -> Law:
    """The law of the selected parts between `ends`; the middle level is selected first."""
    if not levels:
        return {(): 1.0}
    middle, (low, high) = len(levels) // 2, range_of
    level = (levels[middle] - low) / (high - low)
    parts = range(ends[0], ends[1] + 1)
    chances = permute_and_flip([float(rates[middle] * score(mass, g, level)) for g in parts])
    results: Law = {}
    for part, chance in zip(parts, chances, strict=True):
        half = {part: mass.get(part, Fraction(0)) / 2}
        lower = {g: item for g, item in mass.items() if g < part} | half
        upper = {g: item for g, item in mass.items() if g > part} | half
        below = nested_law(
            lower, levels[:middle], rates[:middle], (ends[0], part), (low, levels[middle])
        )
        above = nested_law(
            upper,
            levels[middle + 1 :],
            rates[middle + 1 :],
            (part, ends[1]),
            (levels[middle], high),
        )
        for (a, p), (b, q) in itertools.product(below.items(), above.items()):
            results[(*a, part, *b)] = chance * p * q
    return results


def split_law(
    mass: Mass, levels: Sequence[Fraction], rates: Sequence[Fraction], candidates: int
) -> Law:
    results: Law = {(): 1.0}
    for level, rate in zip(levels, rates, strict=True):
        chances = permute_and_flip([float(rate * score(mass, g, level)) for g in range(candidates)])
        results = {
            (*known, g): p * chance
            for known, p in results.items()
            for g, chance in enumerate(chances)
        }
    return results


def mass_of(rows: Sequence[int], parts: int) -> Mass:
    """The mass of rows in each part, if each row is spread evenly over its candidate's parts."""
    results: Mass = {}
    for row in rows:
        for part in range(row * parts, (row + 1) * parts):
            results[part] = results.get(part, Fraction(0)) + Fraction(1, parts)
    return results


def tables(most: int, values: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield every table of at most `most` rows; a row is a pair (group, candidate)."""
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(values, size)


def largest_loss(one: Sequence[Mapping[Any, float]], other: Sequence[Mapping[Any, float]]) -> float:
    """The largest |ln P/Q| over outputs of independent groups."""
    worst = 0.0
    for p, q in ((one, other), (other, one)):
        worst = max(
            worst,
            sum(max(math.log(a[o] / b[o]) for o in a) for a, b in zip(p, q, strict=True)),
        )
    return worst
