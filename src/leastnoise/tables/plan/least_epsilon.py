"""The least ε with which every block of a release has the accuracy that it wishes.

Whole plans are made, each with proved noise, until the errors that are wished are just met: what a
release gets is one of these plans. Errors are in no fixed proportion to ε (steps of whole numbers
keep them level, a large ε makes them fall exponentially, and another noise may take over), so each
search brackets ε: between one that meets the wishes and one that doesn't.

What each block needs alone is found first, then what those need together that share a draw: these
are the shares of ε. Where all blocks are accounted for together they are evened out once more.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.errors import Refused
from leastnoise.numerics.searches import IncreasingRoot
from leastnoise.tables.plan.make_plan import check_range, plan
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.plan.plan import Plan

    Progress = Callable[[str], object]
    Found = tuple[SpecLayout, Plan]

_SMALLEST, _LARGEST = 1e-6, 100.0  # of ε: no search goes beyond
_CLOSE = 0.002  # of ε: as near as the least is found
# of ln ε, a little less than _CLOSE, since both ends are rounded
_ROOT = IncreasingRoot(tolerance=0.99 * _CLOSE, first_step=0.95 * _CLOSE, largest_step=2.0)
_DIGITS = 6  # of ε
_MOVED = 0.05  # of a share: with so much more or less of δ a block needs another ε
_UNEVEN, _ROUNDS = 0.005, 4  # of errors over wishes, where all blocks are accounted for together
_WHOLE, _SLIGHTEST = 10**6, 2  # weights are so many parts of a million, and at least so many
_MET, _FAR = 1e-9, 50.0  # ln(wish/error) where they are equal, and where the error is 0
_FIRST = 5.0  # of ln ε: the first step is no longer


def find_plan(laid: SpecLayout, progress: Progress | None = None) -> Found:
    """Return a spec with a number for ε, and its plan.

    It is `laid` itself unless that asks for the least ε; then ε and all weights are what was found.
    Raises Refused if no ε from 1e-6 to 100 meets all wishes, or no noise can serve a block.
    """
    if laid.spec.privacy.epsilon != LEAST:
        return laid, plan(laid, progress=progress)
    (progress or (lambda _: None))("Finding the least epsilon")
    if len(laid.queries) == 1:
        return _least(laid, guess=1.0)
    parts = _parts_alone(laid)
    found = _least(_with(laid, shares=parts), guess=math.fsum(parts))
    if any(len({part.query for part in one.parts}) > 1 for one in found[1].answered):
        parts = _parts_of_draws(found)
        again = _least(_with(laid, shares=parts), guess=math.fsum(parts))
        found = min(found, again, key=_epsilon)
    return _evened(found)


def find_needed_epsilon(laid: SpecLayout, found: Plan) -> Fraction | None:
    """Return the ε with which all wishes are met at the same weights; None if `found` meets them.

    Raises Refused if there is none from 1e-6 to 100.
    """
    worst = _worst(found)
    if worst <= 1:
        return None
    settled, _ = _least(laid, guess=float(laid.spec.budget.epsilon or 1) * worst)
    return settled.spec.budget.epsilon


def scale_epsilon(laid: SpecLayout, factor: float) -> SpecLayout:
    """Return `laid` at `factor` times its ε, rounded down to six digits."""
    down = Context(prec=_DIGITS, rounding=ROUND_DOWN)
    scaled = Decimal(float(laid.spec.budget.epsilon) * factor).normalize(down)
    return _with(laid, epsilon=Fraction(scaled))


def _parts_alone(laid: SpecLayout) -> list[float]:
    """Return the least ε of each block by itself, at its share of δ."""
    indices = range(len(laid.queries))
    even = 1 / len(indices)
    parts = [_epsilon(_least(_only(laid, [i], of_delta=even), guess=even)) for i in indices]
    if not laid.spec.privacy.delta:
        return parts
    shares = [part / math.fsum(parts) for part in parts]
    return [
        part
        if abs(share - even) <= _MOVED * even
        else _epsilon(_least(_only(laid, [i], of_delta=share), guess=part))
        for i, part, share in zip(indices, parts, shares, strict=True)
    ]


def _parts_of_draws(found: Found) -> list[float]:
    """Return each block's part of ε, those that share a draw at the least ε of that draw alone."""
    settled, made = found
    queries = settled.spec.query
    names = [query.name for query in queries]
    shares = [float(settled.spec.share(query)) for query in queries]
    parts = [_epsilon(found) * share for share in shares]
    for one in made.answered:
        members = sorted({names.index(part.query) for part in one.parts})
        if len(members) == 1:
            continue
        part = math.fsum(parts[i] for i in members)
        alone = _only(settled, members, of_delta=math.fsum(shares[i] for i in members))
        less = _epsilon(_least(alone, guess=part)) / part
        for i in members:
            parts[i] *= less
    return parts


def _evened(found: Found) -> Found:
    """Return a plan with less ε, if blocks that are accounted for together have uneven errors.

    Such noise is near the Gaussian, whose error is about inverse to its part.
    """
    for _ in range(_ROUNDS):
        settled, made = found
        ratios = _ratios_of_draws(made)
        apart = all(one.split is None for one in made.answered)
        if apart or max(ratios) - min(ratios) <= _UNEVEN * max(ratios):
            break
        parts = [
            _epsilon(found) * float(settled.spec.share(query)) * ratio
            for query, ratio in zip(settled.spec.query, ratios, strict=True)
        ]
        again = _least(_with(settled, shares=parts), guess=math.fsum(parts))
        if _epsilon(again) >= _epsilon(found):
            break
        found = again
    return found


def _least(laid: SpecLayout, *, guess: float) -> Found:
    """Return `laid` at the least ε that meets all wishes at its weights, and its plan.

    That is an ε which does, where one that is less by `_CLOSE` doesn't. Where errors grow with ε,
    as another noise takes over, there may be a smaller one that does, too; if one was met on the
    way, it is taken.
    """
    tried: dict[Fraction, float] = {}
    met: dict[Fraction, Found] = {}

    def excess(log_epsilon: float) -> float:
        """Return ln(wish/error) of the worst error; above 0 where all wishes are met."""
        if log_epsilon < math.log(_SMALLEST):
            return -_FAR
        epsilon = Fraction(f"{_inside(math.exp(log_epsilon)):.{_DIGITS}g}")
        settled = _with(laid, epsilon=epsilon)
        if epsilon not in tried:
            found = plan(settled, check=False)
            try:
                tried[epsilon] = worst = _worst(found)
            except OverflowError:
                check_range(found)  # raises Refused, which says where
                raise
            if worst <= 1:
                met[epsilon] = settled, found
            elif epsilon >= _LARGEST:
                raise Refused(f"No epsilon up to {_LARGEST:g} meets every accuracy. Wish for less.")
        worst = tried[epsilon]
        return (-math.log(worst) or _MET) if worst else _FAR

    start = math.log(_inside(guess))
    if abs(first := excess(start)) > _CLOSE:  # as if errors were inverse to ε
        start = math.log(_inside(math.exp(start - max(-_FIRST, min(first, _FIRST)))))
    while True:
        above = _ROOT.find(excess, guess=start)
        least = min(met)
        start = math.log(least)
        if start > above:
            check_range(met[least][1])
            return met[least]


def _epsilon(found: Found) -> float:
    return float(found[1].budget.epsilon)


def _worst(found: Plan) -> float:
    """Return the largest ratio of an error to what is wished; 0 without a wish."""
    return max(_ratios(found).values(), default=0.0)


def _ratios_of_draws(found: Plan) -> list[float]:
    """Return each query's largest ratio of an error to a wish, of all that share a draw with it."""
    own = _ratios(found)
    largest = dict.fromkeys(own, 0.0)
    for one in found.answered:
        worst = max(own[part.query] for part in one.parts)
        for part in one.parts:
            largest[part.query] = max(largest[part.query], worst)
    return list(largest.values())


def _ratios(found: Plan) -> dict[str, float]:
    """Return each query's largest ratio of an error to what is wished."""
    ratios = dict.fromkeys(found.names, 0.0)
    for part in found.parts:
        for wish in part.wishes:
            ratios[part.query] = max(ratios[part.query], wish.actual / wish.wished)
    return ratios


def _inside(epsilon: float) -> float:
    return min(max(epsilon, _SMALLEST), _LARGEST)


def _only(laid: SpecLayout, indices: Sequence[int], *, of_delta: float) -> SpecLayout:
    """Return a spec of these blocks alone, for a part of δ."""
    spec = laid.spec
    delta = Fraction(f"{float(spec.privacy.delta) * of_delta:.{_DIGITS}g}")
    privacy = spec.privacy.model_copy(update={"delta": delta})
    queries = tuple(spec.query[i] for i in indices)
    alone = spec.model_copy(update={"privacy": privacy, "query": queries})
    queries, ranks = (tuple(of[i] for i in indices) for of in (laid.queries, laid.quantiles))
    return replace(laid, spec=alone, queries=queries, quantiles=ranks)


def _with(
    laid: SpecLayout, *, epsilon: Fraction | None = None, shares: Sequence[float] | None = None
) -> SpecLayout:
    """Return `laid` with another ε, and with weights in proportion to `shares`."""
    spec, changed = laid.spec, dict[str, object]()
    if epsilon is not None:
        changed["privacy"] = spec.privacy.model_copy(update={"epsilon": epsilon})
    if shares is not None:
        whole = math.fsum(shares)
        weights = [max(round(share / whole * _WHOLE), _SLIGHTEST) for share in shares]
        changed["query"] = tuple(
            query.model_copy(update={"importance": Fraction(weight, _WHOLE)})
            for query, weight in zip(spec.query, weights, strict=True)
        )
    return replace(laid, spec=spec.model_copy(update=changed))
