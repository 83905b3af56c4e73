"""DP-SGD's parts for whoever trains elsewhere: clipping, samples, noise, and what steps cost."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from leastnoise import _validate, _words
from leastnoise._record import field, record, takes, whole
from leastnoise.accounting.composition import Composition
from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import InvalidArgument, show_value
from leastnoise.guarantees.budget import A_SAMPLING_RATE, Budget
from leastnoise.guarantees.exact import (
    LARGEST_SQUARED,
    SMALLEST_SQUARED,
    Exact,
    Interval,
    exact,
    float_at_least,
)
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.noise import Gaussian
from leastnoise.noise.question import Releases
from leastnoise.numerics.bisection import Bisection
from leastnoise.selection.ask import MOST_COMPOSITIONS
from leastnoise.selection.public import calibrate

_MOST_EXAMPLES = 1 << 32


@np.errstate(all="ignore")  # a caller's np.seterr must not turn a value into an error
def clip(gradients: Any, norm: Exact) -> NDArray[np.float64]:
    """Return the rows of `gradients` (examples × parameters), none longer than `norm` in l2.

    A row g becomes g·min(1, norm/‖g‖₂), a little less for the roundings: in exact arithmetic no row
    of the result is longer than `norm`. Rows that aren't finite become 0, as an error that depended
    on an example would be an output. Raises InvalidArgument unless `gradients` is a matrix of
    numbers and norm > 0. Source: Abadi et al. (2016), Algorithm 1.

    >>> clip([[3.0, 4.0], [0.3, 0.4]], norm=1).round(6)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    rows = np.array(gradients, dtype=np.float64)
    limit = exact(norm, name="norm")
    if rows.ndim != 2:
        raise InvalidArgument(
            name="gradients",
            value=f"an array of shape {rows.shape}",
            expected="a matrix, examples × parameters",
            hint="Flatten the parameters: gradients.reshape(len(gradients), -1).",
        )
    if limit <= 0:
        raise InvalidArgument(name="norm", value=str(norm)[:40], expected="norm > 0")
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    largest[largest == 0] = 1.0
    # In units of its largest entry a row neither overflows nor vanishes; d squares, their sum, its
    # root, and a quotient and two products are off by less than (d + 8) roundings of 2^-53; there
    # is room for eight times that.
    units = rows / largest
    lengths = np.sqrt((units**2).sum(axis=1, keepdims=True))
    below = math.nextafter(float(limit), 0.0) * (1 - (rows.shape[1] + 8) * 2.0**-50)
    long = lengths > below / largest
    lengths = np.maximum(lengths, 1.0)  # which they are, but those of rows of 0
    return np.where(long, units * (below / lengths), rows)


def noise_multiplier(
    *, epsilon: Exact, delta: Exact, steps: int, sampling_rate: Exact = 1
) -> float:
    """Return the least σ, as a float that is proved, for so many steps of DP-SGD.

    It is what Opacus and jax_privacy call `noise_multiplier`: noise of standard deviation σ·C is
    added to the sum of gradients, each clipped to the l2 norm C, of a Poisson sample that every
    example is in with probability `sampling_rate`. Neighbours differ by one example that is there
    or not. The float is at or above the σ that is proved. Raises InvalidArgument for a malformed
    argument, NotCertified if no proof was found.

    >>> round(noise_multiplier(epsilon=2, delta="1e-5", steps=1000, sampling_rate="0.01"), 4)
    0.9591
    """
    found = calibrate(
        "gaussian",
        epsilon=epsilon,
        delta=delta,
        sensitivity=L2(1),
        compositions=steps,
        sampling_rate=sampling_rate,
    )
    return float_at_least(found.noise.scale)


def _positive(multiplier: Exact, *, name: str) -> Fraction:
    number = exact(multiplier, name=name)
    if number <= 0:
        value = show_value(multiplier)
        raise InvalidArgument(name=name, value=value, expected=f"{name} > 0")
    return number


@final
@record()
class StepAccountant:
    """So many `steps` of DP-SGD so far, with Gaussian noise and Poisson samples, and their cost.

    `noise_multiplier` is the noise's standard deviation over the norm that gradients are clipped
    to, `sampling_rate` the probability with which each example is in a step's sample, independently
    of all else. Neighbours differ by one example that is there or not. It is a value: `after`
    returns another. Not promised: anything about batches of a fixed size or shuffled epochs, which
    are no Poisson samples.

    >>> so_far = StepAccountant(noise_multiplier="1.1", sampling_rate="0.01").after(1000)
    >>> spent = so_far.epsilon(delta="1e-5")
    >>> round(spent.lower, 4), round(spent.upper, 4)
    (1.5153, 1.5154)
    >>> so_far.more_steps(epsilon=2, delta="1e-5")
    725
    """

    noise_multiplier: FractionField = field(converter=takes(_positive))
    sampling_rate: FractionField = field(converter=A_SAMPLING_RATE, default=1)
    steps: int = field(converter=whole(least=0, most=MOST_COMPOSITIONS), default=0)

    def __repr__(self) -> str:
        said = f"{self.steps:,} steps with noise multiplier {_words.number(self.noise_multiplier)}"
        rate = f"Poisson samples of rate {_words.number(self.sampling_rate)}"
        return _words.line("StepAccountant", f"{said}, {rate}")

    def after(self, steps: int = 1) -> Self:
        """Return the accountant once so many more steps were made."""
        more = _validate.whole(steps, name="steps", least=0, most=MOST_COMPOSITIONS)
        return replace(self, steps=self.steps + more)

    def epsilon(self, *, delta: Exact) -> Interval:
        """Return an interval that contains ε(delta), the smallest ε at that δ, of all steps so far.

        Raises NotApplicable where there is none, at delta=0.
        """
        if not self.steps:
            Budget(epsilon=1, delta=delta)  # refuses what is no δ
            return Interval(lower=0.0, upper=0.0)
        return self._of(self.steps).epsilon(delta=delta)

    def delta(self, *, epsilon: Exact) -> Interval:
        """Return an interval that contains δ(epsilon), the smallest δ at that ε, likewise."""
        if not self.steps:
            Budget(epsilon=epsilon, delta="0.5")
            return Interval(lower=0.0, upper=0.0)
        return self._of(self.steps).delta(epsilon=epsilon)

    def more_steps(self, *, epsilon: Exact, delta: Exact) -> int:
        """Return how many more steps fit the budget, all steps together; proved, and 0 if none.

        With one more it is not proved that they do. At most 10⁷ steps are counted.
        """
        budget = Budget(epsilon=epsilon, delta=delta)
        if not budget.delta:
            return 0
        spent = {self.steps: 0.0}  # δ, from above, by steps

        def fits(steps: int) -> bool:
            found = self._of(steps).delta(epsilon=budget.epsilon)
            spent[steps] = found.upper
            return found.certainly_at_most(budget.delta)

        def too_many(steps: int) -> bool:
            return steps > MOST_COMPOSITIONS or not fits(steps)

        def aim(low: int, high: int) -> int:  # δ rises smoothly: a few guesses are near
            return _between(low, high, spent, float(budget.delta))

        most = 2 * MOST_COMPOSITIONS  # where doubling ends
        found = Bisection().beyond(too_many, self.steps, self.steps + 1, most=most, aim=aim)
        return found[0] - self.steps if found else 0

    def sample(self, examples: int) -> NDArray[np.int64]:
        """Return the indices of a Poisson sample of so many examples, by the system's entropy.

        Each is in it with a probability of at most `sampling_rate`, less by 2^−64 at most. The
        sample must stay unknown to whoever sees the model.
        """
        count = _validate.whole(examples, name="examples", least=0, most=_MOST_EXAMPLES)
        below = math.floor(self.sampling_rate * 2**64)
        if below == 2**64:
            return np.arange(count)
        return np.flatnonzero(SystemEntropy().words(count) < np.uint64(below))

    @np.errstate(all="ignore")
    def noisy_sum(self, gradients: Any, *, norm: Exact) -> NDArray[np.float64]:
        """Return the sum of `gradients` (examples × parameters), clipped, with a step's noise.

        Rows are clipped to `norm` in l2 (see `clip`) and cut to whole multiples of a unit below
        norm·2^−30, towards 0, so that sums are exact and one example moves them by at most `norm`;
        noise has a standard deviation of noise_multiplier·norm. Count the step: `after(1)`. Divide
        by the expected size of a sample, which is public, not by that of this one. Raises
        InvalidArgument for what is no matrix, and norm <= 0.
        """
        clipped = clip(gradients, norm)
        limit = exact(norm, name="norm")
        if len(clipped) > _MOST_EXAMPLES:
            raise InvalidArgument(
                name="gradients",
                value=f"{len(clipped):,} rows",
                expected=f"at most {_MOST_EXAMPLES:,} examples",
            )
        # 30 bits of a gradient below its norm: sums of 2^32 of them fit an int64
        bits = 30 - math.frexp(float(limit))[1]
        whole = np.trunc(np.ldexp(clipped, bits)).astype(np.int64)
        if not clipped.shape[1]:
            return np.zeros(0)
        deviation = self.noise_multiplier * limit
        if not SMALLEST_SQUARED <= deviation <= LARGEST_SQUARED:
            raise InvalidArgument(
                name="norm",
                value=show_value(norm),
                expected="1e-140 <= noise_multiplier·norm <= 1e140",
            )
        noise = Gaussian(scale=deviation, dimension=clipped.shape[1])
        sums = ScaledIntegers(numerators=whole.sum(axis=0), bits=bits)
        return add_noise(noise, default_grid(noise), sums)

    def _of(self, steps: int) -> Composition:
        noise = Gaussian(scale=self.noise_multiplier, dimension=1)
        part = Releases(
            noise=noise,
            shifts=ShiftBounds.of(L2(1)),
            compositions=steps,
            sampling_rate=self.sampling_rate,
        )
        return Composition(parts=(part,))


def _between(low: int, high: int, spent: dict[int, float], delta: float) -> int:
    """Return where ln δ, drawn as a line between the two, meets that of `delta`."""
    below, above = spent[low], spent.get(high, 0.0)
    if below <= 0 or above <= below:
        return (low + high) // 2
    share = math.log(delta / below) / math.log(above / below)
    return min(high - 1, max(low + 1, low + round(share * (high - low))))
