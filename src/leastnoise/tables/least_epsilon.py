"""The least ε with which every block of a release has the accuracy that it wishes.

Whole plans are made, each with proved noise, until the errors that are wished are just met: what a
release gets is one of these plans. Errors are about inverse to a block's part of ε. So each part is
multiplied by the ratio of the error to the wish, the largest of the blocks that share a draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from leastnoise.errors import Refused
from leastnoise.tables.plan import plan
from leastnoise.tables.spec import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable

    from leastnoise.tables.plan import Plan
    from leastnoise.tables.spec import Spec

    Progress = Callable[[str], object]

_SMALLEST, _LARGEST = 1e-6, 100.0  # of ε: no search goes beyond
_CLOSE = 0.002  # of ε: as near as the least is found
_DIGITS = 6  # of ε
_ROUNDS = 6  # in which the shares are found
_MOST_PLANS = 24  # in which ε is, once they are
_WHOLE, _SLIGHTEST = 10**6, 2  # weights are so many parts of a million, and at least so many


def planned(spec: Spec, progress: Progress | None = None) -> tuple[Spec, Plan]:
    """Return a spec with a number for ε, and its plan.

    It is `spec` itself unless that asks for the least ε; then ε and all weights are what was found.
    Raises Refused if no ε from 1e-6 to 100 meets all wishes, or no noise can serve a block.
    """
    if spec.privacy.epsilon != LEAST:
        return spec, plan(spec, progress=progress)
    (progress or (lambda _: None))("Finding the least epsilon")
    epsilon, shares = _shares(spec)
    return _least(_with(spec, shares=shares), guess=epsilon)


def needed_epsilon(spec: Spec, found: Plan) -> Fraction | None:
    """Return the ε with which all wishes are met at the same weights; None if `found` meets them.

    Raises Refused if there is none from 1e-6 to 100.
    """
    worst = _worst(found)
    if worst <= 1:
        return None
    settled, _ = _least(spec, guess=float(spec.budget.epsilon or 1) * worst)
    return settled.budget.epsilon


def _shares(spec: Spec) -> tuple[float, list[float]]:
    """Return about the least ε, and each block's share of it."""
    count = len(spec.query)
    epsilon, shares = 1.0, [1 / count] * count
    tried: list[tuple[float, list[float]]] = []
    for _ in range(_ROUNDS if count > 1 else 1):
        found = plan(_with(spec, epsilon=epsilon, shares=shares))
        ratios = _ratios(found, of_draws=bool(tried))
        tried.append((epsilon * max(ratios), shares))
        if tried[1:] and max(ratios) - min(ratios) <= _CLOSE * max(ratios):
            break
        parts = [epsilon * share * ratio for share, ratio in zip(shares, ratios, strict=True)]
        epsilon, shares = _inside(sum(parts)), [part / sum(parts) for part in parts]
    return min(tried, key=lambda one: one[0])


def _least(spec: Spec, *, guess: float) -> tuple[Spec, Plan]:
    """Return `spec` at the least ε that meets all wishes at its weights, and its plan.

    That is an ε which does, where one that is less by `_CLOSE` doesn't.
    """
    too_little, best, epsilon, less = 0.0, _Met(math.inf), _inside(guess), 1 + _CLOSE
    for _ in range(_MOST_PLANS):
        settled = _with(spec, epsilon=epsilon)
        found = plan(settled)
        worst = _worst(found)
        if worst <= 1:
            best = _Met(epsilon, (settled, found))
        else:
            too_little = epsilon
        # a little more than _CLOSE apart, since both are rounded
        near = best.epsilon <= max(too_little * (1 + 1.01 * _CLOSE), _SMALLEST)
        if near or too_little >= _LARGEST:
            break
        epsilon = _inside(epsilon * worst * (1 + _CLOSE / 4))
        if best.epsilon / less < epsilon:  # errors of whole numbers go by steps
            epsilon, less = best.epsilon / less, less**2
        if epsilon <= too_little:
            epsilon = math.sqrt(too_little * min(best.epsilon, _LARGEST))
    if best.result is None:
        raise Refused(f"No epsilon up to {_LARGEST:g} meets every accuracy. Wish for less.")
    return best.result


@final
@dataclass(frozen=True)
class _Met:
    """The least ε so far that meets all wishes, ∞ if none does."""

    epsilon: float
    result: tuple[Spec, Plan] | None = None


def _worst(found: Plan) -> float:
    """Return the largest ratio of an error to what is wished; 0 without a wish."""
    return max(_ratios(found, of_draws=False), default=0.0)


def _ratios(found: Plan, *, of_draws: bool) -> list[float]:
    """Return each block's largest ratio of an error to the wish, or that of all in its draw."""
    own = {
        block.name: max((wish.found / wish.wished for wish in block.wishes), default=0.0)
        for block in found.blocks
    }
    return [
        max(own[name] for name in block.group) if of_draws else own[block.name]
        for block in found.blocks
    ]


def _inside(epsilon: float) -> float:
    return min(max(epsilon, _SMALLEST), _LARGEST)


def _with(spec: Spec, *, epsilon: float | None = None, shares: list[float] | None = None) -> Spec:
    """Return `spec` with another ε, and with shares of it for weights."""
    changed: dict[str, object] = {}
    if epsilon is not None:
        exactly = Fraction(f"{epsilon:.{_DIGITS}g}")
        changed["privacy"] = spec.privacy.model_copy(update={"epsilon": exactly})
    if shares is not None:
        weights = [Fraction(max(round(share * _WHOLE), _SLIGHTEST), _WHOLE) for share in shares]
        changed["query"] = tuple(
            query.model_copy(update={"weight": weight})
            for query, weight in zip(spec.query, weights, strict=True)
        )
    return spec.model_copy(update=changed)
