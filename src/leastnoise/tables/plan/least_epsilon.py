"""Find the least ε with which every query of a release has the accuracy that it asks for.

The search computes whole plans with proved noise until their errors just meet the wished errors
(`Wish`); the result is one of these plans. Errors aren't proportional to 1/ε. Rounding to whole
numbers makes them step functions of ε, for large ε they fall exponentially, and another family may
become the best. So each search brackets ε between a value that meets the wishes and a value that
doesn't.

The search first finds the least ε of each query alone, and then of each group of queries that share
a draw. The shares of ε follow from these. If draws are accounted for together, the shares are then
balanced.
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
    Planned = tuple[SpecLayout, Plan]

_SMALLEST, _LARGEST = 1e-6, 100.0  # the range of every search for ε
_CLOSE = 0.002  # the relative accuracy of the least ε
# tolerances of ln ε, a little less than _CLOSE, because both ends are rounded
_ROOT = IncreasingRoot(tolerance=0.99 * _CLOSE, first_step=0.95 * _CLOSE, largest_step=2.0)
_DIGITS = 6  # significant digits of ε
_MOVED = 0.05  # if a query's share of δ changes by more than 5 %, its ε is searched again
_UNEVEN, _ROUNDS = 0.005, 4  # balancing stops if the ratios error/wish differ by less than 0.5 %
_WHOLE, _SLIGHTEST = 10**6, 2  # importances are whole millionths, at least two of them
_FAR = 50.0  # ln(wish/error) if the error is 0
# ln(wish/error) if they are equal. An error that is a whole number equals its wish over a range of
# ε; with a value near 0 there, the search for the end of the range would go in small steps.
_MET = 0.03
_FIRST = 5.0  # the longest first step in ln ε


def find_plan(layout: SpecLayout, progress: Progress | None = None) -> Planned:
    """Make the plan of a spec; return the layout with the ε of that plan, and the plan.

    With `epsilon = "least"`, the search chooses ε and the importances. Raises Refused if no ε from
    1e-6 to 100 meets all wishes, or if `plan` raises it.
    """
    if layout.spec.privacy.epsilon != LEAST:
        return layout, plan(layout, progress=progress)
    (progress or (lambda _: None))("Finding the least epsilon")
    if len(layout.queries) == 1:
        return _find_least(layout, guess=1.0)
    parts = _parts_alone(layout)
    planned = _find_least(_change(layout, shares=parts), guess=math.fsum(parts))
    if any(len({part.query for part in answer.parts}) > 1 for answer in planned[1].answered):
        parts = _parts_of_draws(planned)
        again = _find_least(_change(layout, shares=parts), guess=math.fsum(parts))
        planned = min(planned, again, key=_epsilon)
    return _balance(planned)


def find_needed_epsilon(layout: SpecLayout, current: Plan) -> Fraction | None:
    """The least ε that meets all wishes at the same importances; None if `current` meets them.

    Also None for a budget in ρ, since no ε determines its noise. Raises Refused if no ε from 1e-6
    to 100 meets all wishes, or if `plan` raises it.
    """
    worst = _worst_ratio(current)
    if worst <= 1 or layout.spec.privacy.rho is not None:
        return None
    needed, _ = _find_least(layout, guess=float(layout.spec.budget.epsilon or 1) * worst)
    return needed.spec.budget.epsilon


def scale_epsilon(layout: SpecLayout, factor: float) -> SpecLayout:
    """The layout of the spec with `factor` times its ε, rounded down to six significant digits."""
    down = Context(prec=_DIGITS, rounding=ROUND_DOWN)
    scaled = Decimal(float(layout.spec.budget.epsilon) * factor).normalize(down)
    return _change(layout, epsilon=Fraction(scaled))


def _parts_alone(layout: SpecLayout) -> list[float]:
    """The least ε of each query alone, at its share of δ.

    The shares of δ are in proportion to the least ε at even shares of δ. If a query's share differs
    by at most 5 % from an even share, its ε is for an even share.
    """
    indices = range(len(layout.queries))
    even = 1 / len(indices)
    parts = [
        _epsilon(_find_least(_select_queries(layout, [i], of_delta=even), guess=even))
        for i in indices
    ]
    if not layout.spec.privacy.delta:
        return parts
    shares = [part / math.fsum(parts) for part in parts]
    return [
        part
        if abs(share - even) <= _MOVED * even
        else _epsilon(_find_least(_select_queries(layout, [i], of_delta=share), guess=part))
        for i, part, share in zip(indices, parts, shares, strict=True)
    ]


def _parts_of_draws(planned: Planned) -> list[float]:
    """The part of the plan's ε that each query spends.

    For queries that share a draw, the parts are scaled: they add up to the least ε of this draw
    alone.
    """
    layout, current = planned
    queries = layout.spec.query
    names = [query.name for query in queries]
    shares = [float(layout.spec.share(query)) for query in queries]
    parts = [_epsilon(planned) * share for share in shares]
    for answer in current.answered:
        members = sorted({names.index(part.query) for part in answer.parts})
        if len(members) == 1:
            continue
        part = math.fsum(parts[i] for i in members)
        alone = _select_queries(layout, members, of_delta=math.fsum(shares[i] for i in members))
        less = _epsilon(_find_least(alone, guess=part)) / part
        for i in members:
            parts[i] *= less
    return parts


def _balance(planned: Planned) -> Planned:
    """Find a plan with less ε if jointly accounted queries meet their wishes unevenly.

    Returns the same plan if the search finds none with less ε. With joint accounting, the error of
    a query is nearly proportional to 1/(its part of ε).
    """
    for _ in range(_ROUNDS):
        layout, current = planned
        ratios = _ratios_of_draws(current)
        apart = all(answer.split is None for answer in current.answered)
        if apart or max(ratios) - min(ratios) <= _UNEVEN * max(ratios):
            break
        parts = [
            _epsilon(planned) * float(layout.spec.share(query)) * ratio
            for query, ratio in zip(layout.spec.query, ratios, strict=True)
        ]
        again = _find_least(_change(layout, shares=parts), guess=math.fsum(parts))
        if _epsilon(again) >= _epsilon(planned):
            break
        planned = again
    return planned


def _find_least(layout: SpecLayout, *, guess: float) -> Planned:
    """Find the least ε that meets all wishes with these importances; return the layout and plan.

    The result meets all wishes. An ε that is smaller by 0.2 % (`_CLOSE`) doesn't, or is below 1e-6.
    Errors may grow with ε where another family becomes the best. Then a still smaller ε may meet
    the wishes; it is used only if the search happens to try it. Raises Refused as `find_plan` does.
    """
    tried: dict[Fraction, float] = {}
    met: dict[Fraction, Planned] = {}

    def excess(log_epsilon: float) -> float:
        """ln(wish/error) for the worst error; positive if and only if all wishes are met.

        It is `_MET` if wish and error are equal, `_FAR` if the error is 0, and −`_FAR` for an ε
        below `_SMALLEST`. Raises Refused as `find_plan` does.
        """
        if log_epsilon < math.log(_SMALLEST):
            return -_FAR
        epsilon = Fraction(f"{_clip(math.exp(log_epsilon)):.{_DIGITS}g}")
        changed = _change(layout, epsilon=epsilon)
        if epsilon not in tried:
            candidate = plan(changed, check=False)
            try:
                tried[epsilon] = worst = _worst_ratio(candidate)
            except OverflowError:
                check_range(candidate)  # raises Refused, which names the query
                raise
            if worst <= 1:
                met[epsilon] = changed, candidate
            elif epsilon >= _LARGEST:
                raise Refused(
                    f"No epsilon up to {_LARGEST:g} meets every wished accuracy. Allow larger "
                    "errors in the spec."
                )
        worst = tried[epsilon]
        return (-math.log(worst) or _MET) if worst else _FAR

    start = math.log(_clip(guess))
    if abs(first := excess(start)) > _CLOSE:  # this step is exact if errors are proportional to 1/ε
        start = math.log(_clip(math.exp(start - max(-_FIRST, min(first, _FIRST)))))
    while True:
        above = _ROOT.find(excess, guess=start)
        least = min(met)
        start = math.log(least)
        if start > above:
            check_range(met[least][1])
            return met[least]


def _epsilon(planned: Planned) -> float:
    return float(planned[1].budget.epsilon)


def _worst_ratio(whole: Plan) -> float:
    """The largest ratio of an error to its wish; 0 if no query has a wish."""
    return max(_ratios(whole).values(), default=0.0)


def _ratios_of_draws(whole: Plan) -> list[float]:
    """For each query, the largest ratio of an error to its wish among all queries of its draw."""
    ratios = _ratios(whole)
    largest = dict.fromkeys(ratios, 0.0)
    for answer in whole.answered:
        worst = max(ratios[part.query] for part in answer.parts)
        for part in answer.parts:
            largest[part.query] = max(largest[part.query], worst)
    return list(largest.values())


def _ratios(whole: Plan) -> dict[str, float]:
    """For each query, the largest ratio of an error to its wish; 0 without a wish."""
    ratios = dict.fromkeys(whole.names, 0.0)
    for part in whole.parts:
        for wish in part.wishes:
            ratios[part.query] = max(ratios[part.query], wish.actual / wish.wished)
    return ratios


def _clip(epsilon: float) -> float:
    return min(max(epsilon, _SMALLEST), _LARGEST)


def _select_queries(layout: SpecLayout, indices: Sequence[int], *, of_delta: float) -> SpecLayout:
    """The layout of a spec with these queries only, and with the share `of_delta` of δ."""
    spec = layout.spec
    delta = Fraction(f"{float(spec.privacy.delta) * of_delta:.{_DIGITS}g}")
    privacy = spec.privacy.model_copy(update={"delta": delta})
    queries = tuple(spec.query[i] for i in indices)
    alone = spec.model_copy(update={"privacy": privacy, "query": queries})
    parts = tuple(layout.queries[i] for i in indices)
    quantiles = tuple(layout.quantiles[i] for i in indices)
    return replace(layout, spec=alone, queries=parts, quantiles=quantiles)


def _change(
    layout: SpecLayout, *, epsilon: Fraction | None = None, shares: Sequence[float] | None = None
) -> SpecLayout:
    """The layout of the spec with another ε, or with importances in proportion to `shares`."""
    spec, changed = layout.spec, dict[str, object]()
    if epsilon is not None:
        changed["privacy"] = spec.privacy.model_copy(update={"epsilon": epsilon})
    if shares is not None:
        whole = math.fsum(shares)
        weights = [max(round(share / whole * _WHOLE), _SLIGHTEST) for share in shares]
        changed["query"] = tuple(
            query.model_copy(update={"importance": Fraction(weight, _WHOLE)})
            for query, weight in zip(spec.query, weights, strict=True)
        )
    return replace(layout, spec=spec.model_copy(update=changed))
