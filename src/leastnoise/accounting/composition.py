"""Composition: δ(ε), ε(δ) and trade-off curves of several releases, bounded from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import final

from leastnoise import _validate, _words
from leastnoise._record import field, record, takes, whole
from leastnoise.accounting.curves import (
    LARGEST,
    Null,
    Tangents,
    enclose_epsilon,
    find_first_private,
    find_last_leaking,
    least,
    no_epsilon,
)
from leastnoise.accounting.proof.by_losses import directions
from leastnoise.accounting.proof.common_lattice import coarsest, make_lower_parts, make_upper_parts
from leastnoise.accounting.proof.composed import is_gaussian, prove_composed, prove_pair
from leastnoise.accounting.proof.moment_sum import MomentSum, serves
from leastnoise.accounting.proof.moment_sum_laws import laws_of
from leastnoise.balls.convolution import Convolution, Part, tilt_at, tilt_for
from leastnoise.balls.losses import LONGEST_LOSS, POINTS_PER_STD
from leastnoise.errors import InvalidArgument, NotApplicable, show_value
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact, Interval, exact, float_at_least
from leastnoise.guarantees.sensitivity import common_neighbours
from leastnoise.noise.question import ProvedDelta, Releases

ACCURACY = "1e-5"
"""Of ε, relative: how wide its interval may be by default."""
_SAME_TILT = 0.2  # relative, of tilts: the bound is flat there
_ROOT_WIDTH = 1e-13  # of a root, relative, or of the logarithm of δ there

_Solved = tuple[Convolution, float]
_SolvedByMoments = tuple[MomentSum, float]


def _checked_parts(parts: Iterable[Releases], *, name: str) -> tuple[Releases, ...]:
    like = "a tuple of Releases"
    found = _validate.items(parts, name=name, like=like)
    for part in found:
        _validate.instance(part, Releases, name=name, like=like)
    if not found:
        raise InvalidArgument(name=name, value="none", expected="at least one release")
    common_neighbours(part.neighbours for part in found)
    return found


@final
@record()
class Composition:
    """`parts` together; what one unit may lose over all of them.

    The scales were fixed in advance: this is no account of releases whose noise was chosen after
    earlier outputs had been seen. `points_per_std` is the number of lattice steps in a standard
    deviation of the loss: twice as many halve the step and make the intervals about four times as
    narrow. Raises InvalidArgument without a release and unless 1 <= points_per_std <= 10,000,
    NotApplicable if the parts are about different neighbours.
    """

    parts: tuple[Releases, ...] = field(converter=takes(_checked_parts))
    # a finer lattice would exceed the largest size that lattices have
    points_per_std: int = field(converter=whole(most=10_000), default=POINTS_PER_STD)

    def __repr__(self) -> str:
        draws = _words.count_noun(sum(part.compositions for part in self.parts), "draw")
        names = dict.fromkeys(part.noise.name for part in self.parts)
        sampled = ", of samples" if any(part.sampling_rate != 1 for part in self.parts) else ""
        return _words.line("Composition", f"{draws} of {_words.list_names(names)} noise{sampled}")

    def delta(self, *, epsilon: Exact) -> Interval:
        """Return an interval that contains δ(epsilon), the smallest δ at that ε.

        Raises NotApplicable for a law whose composition isn't proved here.
        """
        budget = Budget(epsilon=epsilon, delta="0.5")
        return prove_composed(
            self.parts, budget.epsilon, points_per_std=self.points_per_std
        ).interval

    def profile(self, epsilons: Sequence[Exact]) -> tuple[Interval, ...]:
        """Return δ for each of `epsilons`; see `delta`."""
        listed = _validate.items(epsilons, name="epsilons", like=_validate.NUMBERS)
        return tuple(self.delta(epsilon=epsilon) for epsilon in listed)

    def trade_off(
        self, alphas: Sequence[Exact], *, epsilons: Sequence[Exact], null: str = Null.EITHER
    ) -> tuple[Interval, ...]:
        """Return, for each type I error of `alphas`, an interval with the least type II error.

        A test rejects, with probability alpha at most, that a record is in the data although it is
        (`null="with"`), or that it isn't although it isn't (`null="without"`). By default the less
        of the two: no test, of whichever hypothesis, that tells neighbours apart has less (Dong,
        Roth & Su 2022). They differ for Poisson samples alone. Found from δ at `epsilons`, and
        narrower the more of them there are about where −T′(α) = e^ε; `accounting.trade_off` has
        the formulas. Raises InvalidArgument for an alpha outside [0, 1] or another `null`, and what
        `delta` raises.
        """
        listed = _validate.items(alphas, name="alphas", like=_validate.NUMBERS)
        errors = [exact(alpha, name="alphas") for alpha in listed]
        if outside := [alpha for alpha in errors if not 0 <= alpha <= 1]:
            raise InvalidArgument(
                name="alphas", value=float(outside[0]), expected="probabilities in [0, 1]"
            )
        at = _validate.items(epsilons, name="epsilons", like=_validate.NUMBERS)
        curves = self._tangents(at, Null(_validate.one_of(null, tuple(Null), name="null")))
        return tuple(least(curves, alpha) for alpha in errors)

    def _tangents(self, epsilons: Sequence[Exact], null: Null) -> list[Tangents]:
        wanted = {Budget(epsilon=one, delta="0.5").epsilon for one in epsilons}
        points = tuple(sorted(wanted | {Fraction(0)}))
        found = {
            side: tuple(
                prove_pair(self.parts, epsilon, removed=side, points_per_std=self.points_per_std)
                for epsilon in points
            )
            for side in directions(self.parts)
        }
        removed, added = found[True], found.get(False, found[True])
        curves = {
            Null.WITH: Tangents(epsilons=points, rejecting=added, keeping=removed),
            Null.WITHOUT: Tangents(epsilons=points, rejecting=removed, keeping=added),
        }
        return list(curves.values()) if null is Null.EITHER else [curves[null]]

    def epsilon(self, *, delta: Exact, accuracy: Exact = ACCURACY) -> Interval:
        """Return an interval that contains ε(delta), the smallest ε at that δ.

        The work ends as soon as the interval is narrower than `accuracy` times ε, or, where that
        isn't reached, with the lattice of `points_per_std`. An accuracy of 0 always asks for that
        lattice. Raises InvalidArgument unless 0 <= accuracy < 1, NotApplicable where there is no
        such ε, and for a law whose composition isn't proved here.
        """
        enough = exact(accuracy, name="accuracy")
        if not 0 <= enough < 1:
            raise InvalidArgument(
                name="accuracy", value=show_value(accuracy), expected="0 <= accuracy < 1"
            )
        wanted = Budget(epsilon=1, delta=delta).delta
        if is_gaussian(self.parts) or (len(self.parts) == 1 and self.parts[0].compositions == 1):
            for part in self.parts:
                if why := type(part.noise).why_not(dimension=part.noise.dimension, delta=wanted):
                    raise NotApplicable(family=part.noise.name, why=why)
            return enclose_epsilon(
                lambda epsilon: prove_composed(self.parts, epsilon), wanted, family=self._family
            )
        if not wanted:
            return self._largest()
        if serves(self.parts) and (found := self._by_moments(wanted)):
            return found
        return self._by_lattices(wanted, float(enough))

    def _by_moments(self, delta: Fraction) -> Interval | None:
        """Return an interval that contains ε(delta); None if it would take too many nodes."""
        least_delta = Fraction(1, 10**300)  # δ that floats hold
        if delta < least_delta:
            return None
        inner, outer = (laws_of(self.parts, inner=side) for side in (True, False))
        high = MomentSum.for_delta(outer, float(delta))
        low = high if inner == outer else MomentSum.for_delta(inner, float(delta))
        if low is None or high is None:
            return None
        return enclose_between(low, high, delta)

    def _by_lattices(self, delta: Fraction, accuracy: float) -> Interval:
        """Return an interval that contains ε(delta), by lattices no finer than they have to be."""
        coarser = coarsest(self.parts, self.points_per_std)
        while True:
            find = partial(self._solved, delta, coarser=coarser)
            ends = [find(removed=removed) for removed in directions(self.parts)]
            found = Interval(max(end.lower for end in ends), max(end.upper for end in ends))
            width, enough = found.upper - found.lower, accuracy * found.upper
            if coarser == 1 or width <= enough:
                return found
            # the width falls with the square of the step; a little coarser saves nothing
            coarser *= min(0.5, 0.8 * math.sqrt(enough / width))
            coarser = coarser if coarser >= 1.5 else 1.0

    def _solved(self, delta: Fraction, *, removed: bool, coarser: float) -> Interval:
        """Return an interval that contains ε(delta) of the pair for a record `removed` or added."""
        points = self.points_per_std
        upper = make_upper_parts(
            self.parts, points_per_std=points, removed=removed, coarser=coarser
        )
        lower = make_lower_parts(
            self.parts, points_per_std=points, removed=removed, coarser=coarser
        )

        def placed(tilt: float) -> list[Part]:
            return [(cells.lattice(tilt), count) for cells, count in lower]

        high = solve_epsilon(lambda tilt: upper, delta)  # noqa: ARG005
        low = solve_epsilon(placed, delta)
        return enclose_between(low, high, delta)

    def _largest(self) -> Interval:
        """Return an interval that contains ε(0): the largest losses of all releases add up."""
        low = high = Fraction(0)
        for part in self.parts:
            found = Composition(parts=(replace(part, compositions=1),)).epsilon(delta=0)
            low += part.compositions * Fraction(found.lower)
            high += part.compositions * Fraction(found.upper)
        return Interval(-float_at_least(-low), float_at_least(high))

    @property
    def _family(self) -> str:
        """Whose limits an error speaks of."""
        return self.parts[0].noise.name if len(self.parts) == 1 else "composition"


def solve_epsilon(parts_at: Callable[[float], Sequence[Part]], delta: Fraction) -> _Solved:
    """Return a convolution and about the ε at which its δ is `delta`; no part of the proof.

    Raises NotApplicable if more than `delta` lies at infinity.
    """
    parts = parts_at(0.0)
    left = float(delta) - sum(lattice.infinity * count for lattice, count in parts)
    if left <= 0:
        raise NotApplicable(
            family="composition", why="its outputs tell inputs apart with more than delta"
        )
    tilt, near = tilt_at(parts, left)
    for _ in range(6):  # the first is good already, but where few losses decide
        parts = parts_at(float(tilt))
        convolution = Convolution.of(parts, tilt)
        epsilon = _root(convolution, float(delta), near=max(0.0, near))
        used, tilt, near = tilt, tilt_for(parts, Fraction(epsilon)), epsilon
        if abs(tilt - used) <= _SAME_TILT * tilt:
            break
    return convolution, epsilon


def _root(convolution: Convolution, delta: float, *, near: float) -> float:
    """Return ε >= 0 with δ(ε) near `delta`, 0 if δ(0) is smaller.

    Looked for from `near` outward, for which the tilt was made: far from it is only rounding.
    Raises NotApplicable if none is found.
    """

    def excess(epsilon: float) -> float:
        found = convolution.approximate(epsilon)
        return math.log(found / delta) if found > 0 else -LONGEST_LOSS  # as good as 0

    gap = min(0.01 * near + 1e-6, 2 / float(convolution.tilt))
    low = high = near
    above = below = excess(near)
    while below > 0:
        low, above = high, below
        high, gap = high + gap, 2 * gap
        if high > LARGEST:
            raise no_epsilon()
        below = excess(high)
    while above <= 0:
        if low == 0.0:
            return 0.0
        high, below = low, above
        low, gap = max(0.0, low - gap), 2 * gap
        above = excess(low)
    return _false_position(excess, (low, above), (high, below))


def _false_position(
    excess: Callable[[float], float],
    left: tuple[float, float],
    right: tuple[float, float],
) -> float:
    """Guess the root between two points; the "Illinois" rule keeps both ends moving."""
    (low, above), (high, below) = left, right
    for _ in range(60):
        middle = low + (high - low) * above / (above - below)
        if not low < middle < high or high - low <= _ROOT_WIDTH * high:
            break
        found = excess(middle)
        if abs(found) <= _ROOT_WIDTH:
            return middle
        if found > 0:
            low, above, below = middle, found, below / 2
        else:
            high, below, above = middle, found, above / 2
    return high


def enclose_between(
    low: _Solved | _SolvedByMoments,
    high: _Solved | _SolvedByMoments,
    delta: Fraction,
) -> Interval:
    """Return an interval that contains ε(delta), each end proved by a convolution of its own.

    Each comes with about the ε at which its δ is `delta`. Raises NotApplicable if none is proved.
    """
    below, least = low
    above, most = high
    return Interval(
        find_last_leaking(partial(_proved, below), delta, near=least),
        find_first_private(partial(_proved, above), delta, near=most),
    )


def _proved(made: Convolution | MomentSum, epsilon: Fraction) -> ProvedDelta:
    lower, upper = made.delta(epsilon)
    return ProvedDelta(lower=lower, upper=upper)
