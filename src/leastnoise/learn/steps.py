"""The parts of DP-SGD for training in other libraries: clipping, samples, noise and accounting."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from numbers import Real
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
from leastnoise.mechanism.values import ScaledIntegers, array_of
from leastnoise.noise import Gaussian
from leastnoise.noise.question import Releases
from leastnoise.numerics.bisection import Bisection
from leastnoise.selection.ask import MOST_COMPOSITIONS
from leastnoise.selection.public import calibrate

_MOST_EXAMPLES = 1 << 32


@np.errstate(all="ignore")  # a caller's np.seterr must not turn a value into an error
def clip(gradients: Any, norm: Exact) -> NDArray[np.float64]:
    """Shorten rows of gradients to an l2 norm.

    A row g becomes g·min(1, norm/‖g‖₂), slightly less because of rounding: in exact arithmetic no
    row of the result is longer than `norm`. Rows that aren't finite become 0, because an error that
    depends on an example would be an output.

    Args:
        gradients: Gradients, shape (examples, parameters).
        norm: Largest l2 norm of a row, > 0.

    Returns:
        The clipped gradients, shape (examples, parameters).

    Raises:
        InvalidArgument: `gradients` isn't a matrix of numbers, or `norm` <= 0.

    Source:
        Abadi et al. (2016), Algorithm 1.

    Examples:
        >>> clip([[3.0, 4.0], [0.3, 0.4]], norm=1).round(6)
        array([[0.6, 0.8],
               [0.3, 0.4]])

    """
    rows = _read_rows(gradients)
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
    # In units of its largest entry a row neither overflows nor underflows. d squares, their sum and
    # its root, a quotient and two products have less than (d + 8) roundings of 2^-53; the allowance
    # is eight times as large.
    units = rows / largest
    lengths = np.sqrt((units**2).sum(axis=1, keepdims=True))
    below = math.nextafter(float(limit), 0.0) * (1 - (rows.shape[1] + 8) * 2.0**-50)
    long = lengths > below / largest
    lengths = np.maximum(lengths, 1.0)  # affects rows of zeros only
    return np.where(long, units * (below / lengths), rows)


def _read_rows(gradients: Any) -> NDArray[np.float64]:
    """Copy gradients to an array of floats.

    Raises InvalidArgument for items of a type that isn't a number. Errors depend on types and
    shapes, not on values.
    """
    array = array_of(gradients, name="gradients")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    kinds = set(map(type, array.flat)) if array.dtype.kind == "O" else {array.dtype.type}
    numbers = (Real, Decimal, np.bool_, type(None))  # Decimal and numpy's bools are no Real
    if wrong := [kind for kind in kinds if not issubclass(kind, numbers)]:
        raise InvalidArgument(
            name="gradients",
            value=f"an array of {wrong[0].__name__}",
            expected="a matrix of numbers",
        )
    floats = [_as_float(item) for item in array.flat]
    return np.array(floats, dtype=np.float64).reshape(array.shape)


def _as_float(number: Any) -> float:
    """The nearest float. NaN for None and for numbers without one, whose rows become 0."""
    try:
        return math.nan if number is None else float(number)
    except Exception:  # noqa: BLE001  # an error for a number would depend on an example
        return math.nan


def noise_multiplier(
    *, epsilon: Exact, delta: Exact, steps: int, sampling_rate: Exact = 1
) -> float:
    """The smallest noise multiplier σ that is proved for a number of steps of DP-SGD.

    It is the `noise_multiplier` of Opacus and jax_privacy: noise of standard deviation σ·C is added
    to the sum of the gradients of a Poisson sample, each clipped to the l2 norm C. Neighbours
    differ by one added or removed example.

    Args:
        epsilon: Privacy budget ε of all steps together.
        delta: Privacy budget δ of all steps together, > 0.
        steps: Number of steps.
        sampling_rate: Probability of an example to be in a step's sample.

    Returns:
        σ as a float, rounded up.

    Raises:
        InvalidArgument: An argument is malformed.
        NotApplicable: `delta` is 0.
        NotCertified: No proof was found.
        Refused: Sampling alone meets the budget, without noise.

    Examples:
        >>> round(noise_multiplier(epsilon=2, delta="1e-5", steps=1000, sampling_rate="0.01"), 4)
        0.9591

    """
    mechanism = calibrate(
        "gaussian",
        epsilon=epsilon,
        delta=delta,
        sensitivity=L2(1),
        compositions=steps,
        sampling_rate=sampling_rate,
    )
    return float_at_least(mechanism.noise.scale)


def _positive(multiplier: Exact, *, name: str) -> Fraction:
    number = exact(multiplier, name=name)
    if number <= 0:
        value = show_value(multiplier)
        raise InvalidArgument(name=name, value=value, expected=f"{name} > 0")
    return number


@final
@record()
class StepAccountant:
    """Account for steps of DP-SGD with Gaussian noise and Poisson samples.

    Neighbours differ by one added or removed example. An accountant is a value: `after` returns a
    new one. It says nothing about batches of a fixed size or shuffled epochs, which aren't Poisson
    samples.

    Args:
        noise_multiplier: Standard deviation of the noise, divided by the clipping norm, > 0.
        sampling_rate: Probability of an example to be in a step's sample, independently of all
            others.
        steps: Number of steps so far.

    Examples:
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
        multiplier = _words.number(self.noise_multiplier)
        rate = f"Poisson samples of rate {_words.number(self.sampling_rate)}"
        text = f"{self.steps:,} steps with noise multiplier {multiplier}, {rate}"
        return _words.line("StepAccountant", text)

    def after(self, steps: int = 1) -> Self:
        """Account for more steps.

        Args:
            steps: Number of further steps.

        Returns:
            The accountant after these steps.

        """
        more = _validate.whole(steps, name="steps", least=0, most=MOST_COMPOSITIONS)
        return replace(self, steps=self.steps + more)

    def epsilon(self, *, delta: Exact) -> Interval:
        """Enclose ε(delta) of all steps so far, the smallest ε at that δ.

        Args:
            delta: Privacy budget δ, > 0.

        Returns:
            An interval that contains ε; `upper` is guaranteed.

        Raises:
            NotApplicable: `delta` is 0 and there were steps: no ε suffices.

        """
        if not self.steps:
            Budget(epsilon=1, delta=delta)  # raises an error for an invalid δ
            return Interval(lower=0.0, upper=0.0)
        return self._of(self.steps).epsilon(delta=delta)

    def delta(self, *, epsilon: Exact) -> Interval:
        """Enclose δ(epsilon) of all steps so far, the smallest δ at that ε.

        Args:
            epsilon: Privacy budget ε ≥ 0.

        Returns:
            An interval that contains δ; `upper` is guaranteed.

        """
        if not self.steps:
            Budget(epsilon=epsilon, delta="0.5")
            return Interval(lower=0.0, upper=0.0)
        return self._of(self.steps).delta(epsilon=epsilon)

    def more_steps(self, *, epsilon: Exact, delta: Exact) -> int:
        """The number of further steps that fit a budget for all steps together.

        A returned number above 0 is proved to fit, and one more step isn't. At most 10⁷ steps are
        counted, with those so far.

        Args:
            epsilon: Privacy budget ε of all steps.
            delta: Privacy budget δ of all steps.

        Returns:
            The number of further steps; 0 if none fits.

        """
        budget = Budget(epsilon=epsilon, delta=delta)
        if not budget.delta:
            return 0
        spent = {self.steps: 0.0}  # upper bounds on δ by number of steps

        def fits(steps: int) -> bool:
            interval = self._of(steps).delta(epsilon=budget.epsilon)
            spent[steps] = interval.upper
            return interval.certainly_at_most(budget.delta)

        def too_many(steps: int) -> bool:
            return steps > MOST_COMPOSITIONS or not fits(steps)

        def aim(low: int, high: int) -> int:  # δ rises smoothly, so interpolation converges fast
            return _between(low, high, spent, float(budget.delta))

        most = 2 * MOST_COMPOSITIONS  # where doubling ends
        bracket = Bisection().beyond(too_many, self.steps, self.steps + 1, most=most, aim=aim)
        return bracket[0] - self.steps if bracket else 0

    def sample(self, examples: int) -> NDArray[np.int64]:
        """Draw a Poisson sample of examples, with the system's entropy.

        The probability that an example is in the sample is `sampling_rate`, or less by at most
        2^−64. The sample must stay unknown to everyone who sees the model.

        Args:
            examples: Number of examples.

        Returns:
            Indices of the sample, in increasing order.

        """
        count = _validate.whole(examples, name="examples", least=0, most=_MOST_EXAMPLES)
        below = math.floor(self.sampling_rate * 2**64)
        if below == 2**64:
            return np.arange(count)
        return np.flatnonzero(SystemEntropy().words(count) < np.uint64(below))

    @np.errstate(all="ignore")
    def noisy_sum(self, gradients: Any, *, norm: Exact) -> NDArray[np.float64]:
        """Sum clipped gradients, and add the noise of one step.

        Rows are clipped to `norm` in l2 (see `clip`) and truncated to multiples of a unit of at
        most norm·2^−29, so that sums are exact and one example moves them by at most `norm`. The
        noise has a standard deviation of noise_multiplier·norm. Count the step with `after(1)`.
        Divide by the expected size of a sample, which is public, not by the size of this sample.

        Args:
            gradients: Gradients, shape (examples, parameters).
            norm: Clipping norm, > 0.

        Returns:
            The noisy sum, shape (parameters,).

        Raises:
            InvalidArgument: `gradients` isn't a matrix of numbers or has more than 2^32 rows, or
                `norm` is out of range.

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
    """A number of steps between `low` and `high` at which δ is about `delta`.

    `spent` has the δ of some numbers of steps; ln δ is interpolated linearly.
    """
    below, above = spent[low], spent.get(high, 0.0)
    if below <= 0 or above <= below:
        return (low + high) // 2
    share = math.log(delta / below) / math.log(above / below)
    return min(high - 1, max(low + 1, low + round(share * (high - low))))
