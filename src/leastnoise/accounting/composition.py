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
    enclose_least,
    find_first_private,
    find_last_leaking,
    no_epsilon,
)
from leastnoise.accounting.proof.by_losses import directions
from leastnoise.accounting.proof.common_lattice import (
    coarsest_factor,
    make_lower_parts,
    make_upper_parts,
)
from leastnoise.accounting.proof.composed import is_gaussian, prove_composed, prove_pair
from leastnoise.accounting.proof.moment_sum import MomentSum, serves
from leastnoise.accounting.proof.moment_sum_laws import laws_of
from leastnoise.balls.convolution import Convolution, Part, tilt_at, tilt_for
from leastnoise.balls.core import POINTS_PER_STD
from leastnoise.balls.losses import LONGEST_LOSS
from leastnoise.errors import InvalidArgument, NotApplicable, show_value
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact, Interval, exact, float_at_least
from leastnoise.guarantees.sensitivity import common_neighbours
from leastnoise.noise.question import ProvedDelta, Releases

ACCURACY = "1e-5"
"""The default of `accuracy`: the width of an interval around ε, relative to ε."""
_SAME_TILT = 0.2  # tilts this close (relative) give nearly the same bound
_ROOT_WIDTH = 1e-13  # accuracy of a root: relative in ε, or absolute in ln δ

_Solved = tuple[Convolution, float]
_SolvedByMoments = tuple[MomentSum, float]


def _check_parts(parts: Iterable[Releases], *, name: str) -> tuple[Releases, ...]:
    like = "a tuple of Releases"
    listed = _validate.items(parts, name=name, like=like)
    for part in listed:
        _validate.instance(part, Releases, name=name, like=like)
    if not listed:
        raise InvalidArgument(name=name, value="none", expected="at least one release")
    common_neighbours(part.neighbours for part in listed)
    return listed


@final
@record()
class Composition:
    """Several releases together: bounds on the total privacy loss of one unit.

    The noise scales must be fixed in advance. A composition says nothing about releases whose noise
    was chosen after earlier outputs were seen; a `Ledger` accounts for such releases.

    Args:
        parts: The releases, at least one, all about the same neighbours.
        points_per_std: Number of lattice steps per standard deviation of the loss, 1 to 10,000.
            Twice as many usually halve the step and make the intervals about four times as narrow.

    Raises:
        InvalidArgument: `parts` isn't a sequence of at least one `Releases`, or `points_per_std`
            is out of range.
        NotApplicable: The parts are about different neighbours.

    Source:
        theory/accounting.md §1–4.
    """

    parts: tuple[Releases, ...] = field(converter=takes(_check_parts))
    # a finer lattice would exceed the largest size that lattices have
    points_per_std: int = field(converter=whole(most=10_000), default=POINTS_PER_STD)

    def __repr__(self) -> str:
        draws = _words.count_noun(sum(part.compositions for part in self.parts), "draw")
        names = dict.fromkeys(part.noise.name for part in self.parts)
        sampled = ", of samples" if any(part.sampling_rate != 1 for part in self.parts) else ""
        return _words.line("Composition", f"{draws} of {_words.list_names(names)} noise{sampled}")

    def delta(self, *, epsilon: Exact) -> Interval:
        """Enclose δ(epsilon), the smallest δ at that ε.

        Args:
            epsilon: Privacy budget ε ≥ 0, as an exact decimal or a float, read as the decimal it
                prints.

        Returns:
            An interval that contains δ(epsilon); `upper` is guaranteed.

        Raises:
            InvalidArgument: `epsilon` is malformed.
            NotApplicable: The composition of a law isn't proved here, or its losses are too large.

        """
        budget = Budget(epsilon=epsilon, delta="0.5")
        return prove_composed(
            self.parts, budget.epsilon, points_per_std=self.points_per_std
        ).interval

    def profile(self, epsilons: Sequence[Exact]) -> tuple[Interval, ...]:
        """Enclose δ at several ε.

        Args:
            epsilons: Privacy budgets ε ≥ 0, as in `delta`.

        Returns:
            For each ε, an interval that contains δ(ε).

        """
        listed = _validate.items(epsilons, name="epsilons", like=_validate.NUMBERS)
        return tuple(self.delta(epsilon=epsilon) for epsilon in listed)

    def trade_off(
        self, alphas: Sequence[Exact], *, epsilons: Sequence[Exact], null: str = Null.EITHER
    ) -> tuple[Interval, ...]:
        """Enclose the smallest type II error of any test, for each type I error.

        A test decides from the outputs if a record is in the data. Its type I error is the
        probability of rejecting a true null hypothesis, its type II error the probability of
        keeping a false one. The two hypotheses give different curves for Poisson samples only.

        Let T(α) be the smallest type II error at the type I error α, and T′ the slope of T. The
        intervals get narrower with more `epsilons` near the ε with e^ε = −T′(α).
        `accounting.curves` has the formulas.

        Args:
            alphas: Type I errors: largest probabilities, in [0, 1], of rejecting a true null
                hypothesis.
            epsilons: The ε at which δ is computed.
            null: The null hypothesis: "with" if the record is in the data, "without" if it isn't.
                The default "either" takes the smaller error, which no test of either hypothesis
                beats.

        Returns:
            For each alpha, an interval that contains the smallest type II error.

        Raises:
            InvalidArgument: An alpha is outside [0, 1], an ε is malformed, or `null` is unknown.
            NotApplicable: The composition of a law isn't proved here, or its losses are too large.

        Source:
            Dong, Roth & Su (2022), Proposition 2.12.

        """
        listed = _validate.items(alphas, name="alphas", like=_validate.NUMBERS)
        errors = [exact(alpha, name="alphas") for alpha in listed]
        if outside := [alpha for alpha in errors if not 0 <= alpha <= 1]:
            raise InvalidArgument(
                name="alphas", value=float(outside[0]), expected="probabilities in [0, 1]"
            )
        at = _validate.items(epsilons, name="epsilons", like=_validate.NUMBERS)
        curves = self._tangents(at, Null(_validate.one_of(null, tuple(Null), name="null")))
        return tuple(enclose_least(curves, alpha) for alpha in errors)

    def _tangents(self, epsilons: Sequence[Exact], null: Null) -> list[Tangents]:
        wanted = {Budget(epsilon=epsilon, delta="0.5").epsilon for epsilon in epsilons}
        points = tuple(sorted(wanted | {Fraction(0)}))
        proved = {
            side: tuple(
                prove_pair(self.parts, epsilon, removed=side, points_per_std=self.points_per_std)
                for epsilon in points
            )
            for side in directions(self.parts)
        }
        removed, added = proved[True], proved.get(False, proved[True])
        curves = {
            Null.WITH: Tangents(epsilons=points, rejecting=added, keeping=removed),
            Null.WITHOUT: Tangents(epsilons=points, rejecting=removed, keeping=added),
        }
        return list(curves.values()) if null is Null.EITHER else [curves[null]]

    def epsilon(self, *, delta: Exact, accuracy: Exact = ACCURACY) -> Interval:
        """Enclose ε(delta), the smallest ε at that δ.

        Args:
            delta: Privacy budget δ, 0 ≤ δ < 1, as an exact decimal or a float.
            accuracy: The width of the interval, relative to ε, at which a search by lattices ends.
                It also ends at the finest lattice, which follows from `points_per_std`; with 0 it
                always goes that far.

        Returns:
            An interval that contains ε(delta); `upper` is guaranteed.

        Raises:
            InvalidArgument: `delta` is malformed, or `accuracy` is outside [0, 1).
            NotApplicable: No ε is proved to meet `delta`, the composition of a law isn't proved
                here, or its losses are too large.

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
        if serves(self.parts) and (by_moments := self._by_moments(wanted)):
            return by_moments
        return self._by_lattices(wanted, float(enough))

    def _by_moments(self, delta: Fraction) -> Interval | None:
        """Enclose ε(delta) by moment generating functions.

        None for a delta below 1e-300, and if `MomentSum.for_delta` finds no sum.
        """
        least_delta = Fraction(1, 10**300)  # below it, δ nears the end of the floats' range
        if delta < least_delta:
            return None
        inner, outer = (laws_of(self.parts, inner=side) for side in (True, False))
        high = MomentSum.for_delta(outer, float(delta))
        low = high if inner == outer else MomentSum.for_delta(inner, float(delta))
        if low is None or high is None:
            return None
        return enclose_between(low, high, delta)

    def _by_lattices(self, delta: Fraction, accuracy: float) -> Interval:
        """Enclose ε(delta) by lattices of the losses.

        They get finer until the width is at most `accuracy` times ε, or until the step is as small
        as `points_per_std` allows.
        """
        coarser = coarsest_factor(self.parts, self.points_per_std)
        while True:
            find = partial(self._enclose_direction, delta, coarser=coarser)
            ends = [find(removed=removed) for removed in directions(self.parts)]
            whole = Interval(max(end.lower for end in ends), max(end.upper for end in ends))
            width, enough = whole.upper - whole.lower, accuracy * whole.upper
            if coarser == 1 or width <= enough:
                return whole
            # the width falls with the square of the step; slightly coarser steps save nothing
            coarser *= min(0.5, 0.8 * math.sqrt(enough / width))
            coarser = coarser if coarser >= 1.5 else 1.0

    def _enclose_direction(self, delta: Fraction, *, removed: bool, coarser: float) -> Interval:
        """Enclose ε(delta) for a record that is removed, or added if `removed` is False.

        `coarser` is a factor >= 1 that multiplies the lattices' step, as in `make_upper_parts`.
        """
        points = self.points_per_std
        upper = make_upper_parts(
            self.parts, points_per_std=points, removed=removed, coarser=coarser
        )
        lower = make_lower_parts(
            self.parts, points_per_std=points, removed=removed, coarser=coarser
        )

        def lower_at(tilt: float) -> list[Part]:
            return [(cells.lattice(tilt), count) for cells, count in lower]

        high = solve_epsilon(lambda tilt: upper, delta)  # noqa: ARG005
        low = solve_epsilon(lower_at, delta)
        return enclose_between(low, high, delta)

    def _largest(self) -> Interval:
        """Enclose ε(0): the largest losses of all releases add up."""
        low = high = Fraction(0)
        for part in self.parts:
            single = Composition(parts=(replace(part, compositions=1),)).epsilon(delta=0)
            low += part.compositions * Fraction(single.lower)
            high += part.compositions * Fraction(single.upper)
        return Interval(-float_at_least(-low), float_at_least(high))

    @property
    def _family(self) -> str:
        """The name of the family that error messages show."""
        return self.parts[0].noise.name if len(self.parts) == 1 else "composition"


def solve_epsilon(parts_at: Callable[[float], Sequence[Part]], delta: Fraction) -> _Solved:
    """Find the approximate ε at which the parts have δ = `delta`; return it with the convolution.

    `parts_at` returns the parts for a tilt c: lattices of losses, each with the number of its
    compositions. The convolution weights losses z by e^(cz) (balls/convolution.py). The search is
    no part of the proof. Raises NotApplicable if the probability of an infinite loss is `delta` or
    more, or if no ε is found.
    """
    parts = parts_at(0.0)
    left = float(delta) - sum(lattice.infinity * count for lattice, count in parts)
    if left <= 0:
        raise NotApplicable(
            family="composition",
            why="some outputs identify the input, with a probability above delta",
        )
    tilt, near = tilt_at(parts, left)
    for _ in range(6):  # the first tilt is good, unless δ depends on few losses
        parts = parts_at(float(tilt))
        convolution = Convolution.of(parts, tilt)
        epsilon = _root(convolution, float(delta), near=max(0.0, near))
        used, tilt, near = tilt, tilt_for(parts, Fraction(epsilon)), epsilon
        if abs(tilt - used) <= _SAME_TILT * tilt:
            break
    return convolution, epsilon


def _root(convolution: Convolution, delta: float, *, near: float) -> float:
    """The ε >= 0 at which the convolution's δ is about `delta`; 0 if δ(0) is smaller.

    The losses have exponential weights, which make δ accurate near the ε = `near`. Far from it the
    computed δ is rounding error, so the search goes outward from there. Raises NotApplicable if it
    finds no root.
    """

    def excess(epsilon: float) -> float:
        approximate = convolution.approximate(epsilon)
        return math.log(approximate / delta) if approximate > 0 else -LONGEST_LOSS  # stands for 0

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
    """The root of `excess` between the points `left` and `right`, by the Illinois method.

    A point is a pair (ε, excess).
    """
    (low, above), (high, below) = left, right
    for _ in range(60):
        middle = low + (high - low) * above / (above - below)
        if not low < middle < high or high - low <= _ROOT_WIDTH * high:
            break
        value = excess(middle)
        if abs(value) <= _ROOT_WIDTH:
            return middle
        if value > 0:
            low, above, below = middle, value, below / 2
        else:
            high, below, above = middle, value, above / 2
    return high


def enclose_between(
    low: _Solved | _SolvedByMoments,
    high: _Solved | _SolvedByMoments,
    delta: Fraction,
) -> Interval:
    """Enclose ε(delta): `low` proves the lower end, and `high` the upper end.

    Each is a pair: a convolution or moment sum, and the approximate ε at which its δ is `delta`.
    Raises NotApplicable if the upper end can't be proved.
    """
    below, least = low
    above, most = high
    return Interval(
        find_last_leaking(partial(_bounds_at, below), delta, near=least),
        find_first_private(partial(_bounds_at, above), delta, near=most),
    )


def _bounds_at(law: Convolution | MomentSum, epsilon: Fraction) -> ProvedDelta:
    lower, upper = law.delta(epsilon)
    return ProvedDelta(lower=lower, upper=upper)
