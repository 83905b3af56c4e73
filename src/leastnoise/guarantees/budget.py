"""The privacy budget (ε, δ), exact, and its amplification by Poisson sampling."""

from __future__ import annotations

from fractions import Fraction

from leastnoise._record import field, record, takes
from leastnoise.balls.core import AMPLE_BITS, ball, float_below, precision
from leastnoise.errors import InvalidArgument, Refused, show_value
from leastnoise.guarantees.exact import Exact, decimal_text, exact
from leastnoise.guarantees.fields import FractionField

MAX_EPSILON = 100_000
LEAST_SAMPLING_RATE = Fraction(1, 10**30)


def sampling_rate_of(value: Exact, *, name: str = "sampling-rate") -> Fraction:
    """Read the probability that a record is in a Poisson sample, exactly.

    Raises InvalidArgument unless 1e-30 <= value <= 1.

    >>> sampling_rate_of("0.05")
    Fraction(1, 20)
    """
    rate = exact(value, name=name)
    if not LEAST_SAMPLING_RATE <= rate <= 1:
        raise InvalidArgument(
            name=name, value=decimal_text(rate), expected="0 < sampling-rate <= 1"
        )
    return rate


A_SAMPLING_RATE = takes(sampling_rate_of, name="sampling-rate")


@record()
class Budget:
    """A differential-privacy budget (ε, δ), exact.

    It promises P(S) <= e^epsilon Q(S) + delta for the output laws P, Q of any two neighbouring
    inputs, and every set of outputs S.

    Args:
        epsilon: ε, 0 <= epsilon <= 100,000: a str, int, Fraction or Decimal is exact, and a float
            is the decimal that it prints.
        delta: δ, 0 <= delta < 1, given in the same way. δ is a probability, not a percentage.

    Raises:
        InvalidArgument: A number is malformed or out of its range, or both are 0.

    Source:
        Dwork & Roth (2014), Definition 2.4.

    Examples:
        >>> Budget(epsilon="1", delta=1e-5)
        Budget(epsilon=Fraction(1, 1), delta=Fraction(1, 100000))

    """

    epsilon: FractionField = field(converter=takes(exact))
    delta: FractionField = field(converter=takes(exact), default=0)

    def _check_together(self) -> None:
        if not 0 <= self.epsilon <= MAX_EPSILON:
            raise InvalidArgument(
                name="epsilon",
                value=decimal_text(self.epsilon),
                expected=f"0 <= epsilon <= {MAX_EPSILON:,}",
                hint="Common budgets lie between 0.1 and 10.",
            )
        if not 0 <= self.delta < 1:
            raise InvalidArgument(
                name="delta",
                value=decimal_text(self.delta),
                expected="0 <= delta < 1",
                hint="Did you mean a percentage?" if self.delta >= 1 else "delta is a probability.",
            )
        if self.epsilon == 0 and self.delta == 0:
            raise InvalidArgument(
                name="epsilon",
                value="0 with delta=0",
                expected="epsilon > 0 or delta > 0",
                hint="With epsilon = 0 and delta = 0, no finite noise is large enough.",
            )

    def share(self, fraction: Exact) -> Budget:
        """A fraction of the budget: both parts are multiplied by it, exactly.

        Args:
            fraction: An exact number, 0 < fraction <= 1.

        Returns:
            The smaller budget.

        Raises:
            InvalidArgument: The fraction is malformed or not in (0, 1], or a part of the result is
                out of range, such as 0 < delta < 1e-300.

        """
        part = exact(fraction, name="fraction")
        if not 0 < part <= 1:
            raise InvalidArgument(
                name="fraction", value=show_value(part), expected="0 < fraction <= 1"
            )
        return Budget(epsilon=self.epsilon * part, delta=self.delta * part)


def samples_hide_all(budget: Budget, sampling_rate: Fraction, *, compositions: int = 1) -> bool:
    """True if publishing all samples without noise meets the budget; decided exactly.

    That is so exactly if δ >= 1 − (1 − γ)^k, with γ the sampling rate and k = `compositions`. The
    right-hand side is the probability that a record is in any of the k Poisson samples.
    """
    absent, complement = 1 - sampling_rate, 1 - budget.delta
    if not absent or not budget.delta:
        return False
    # A k-th power in lowest terms has the k-th power of the denominator. If it is longer than the
    # denominator of 1 − δ, the two numbers differ, and balls of growing precision compare them.
    shortest = compositions * (absent.denominator.bit_length() - 1)
    if shortest <= complement.denominator.bit_length():
        return complement <= absent**compositions
    bits = AMPLE_BITS
    while True:
        with precision(bits):
            gap = compositions * ball(absent).log() - ball(complement).log()
            if gap > 0 or gap < 0:
                return bool(gap > 0)
        bits *= 2


def check_rate(budget: Budget, sampling_rate: Fraction, *, compositions: int = 1) -> None:
    """Raise Refused if `samples_hide_all`: then the samples may be published without noise."""
    if not samples_hide_all(budget, sampling_rate, compositions=compositions):
        return
    rate = decimal_text(sampling_rate)
    if compositions == 1:
        limit, sample = f"the sampling rate ({rate})", "sample"
    else:
        limit, sample = f"1 − (1 − {rate})^{compositions:,}", f"{compositions:,} samples"
    raise Refused(
        f"A delta of {limit} or more would allow a release of the {sample} without noise. Lower "
        "delta."
    )


def amplify(budget: Budget, sampling_rate: Fraction, *, compositions: int = 1) -> Budget:
    """The budget that a release of all rows must meet, to meet `budget` on a Poisson sample.

    With the ε and δ of `budget` and γ = `sampling_rate`, the result's ε is log(1 + (e^ε − 1)/γ),
    rounded down, and its δ is δ/γ (theory/accounting.md §4). This amplification is for a record
    that is removed; for an added record the loss is smaller.

    If δ >= γ, one sample needs no noise, but `compositions` samples may need some. Their search
    starts with the result for δ = γ/2. Raises Refused if all samples together need no noise.
    """
    check_rate(budget, sampling_rate, compositions=compositions)
    delta = budget.delta if budget.delta < sampling_rate else sampling_rate / 2
    with precision(AMPLE_BITS):
        epsilon = (1 + (ball(budget.epsilon).exp() - 1) / ball(sampling_rate)).log()
        low = Fraction(float_below(epsilon))
    return Budget(epsilon=max(Fraction(0), low), delta=delta / sampling_rate)
