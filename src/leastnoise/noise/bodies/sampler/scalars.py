"""Single random numbers: discrete choices, and lazy reals built from others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate, count
from operator import mul
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyAnyGamma, LazyExponential, LazyReal, LazyUniform, decide
from leastnoise.entropy.scaled import LazyRational, choose
from leastnoise.noise.bodies.sampler.reals import LazyFunction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy


# Discrete choices: exact, from bits and enclosures of the weights.


Weight = Callable[[int], arb]


def choose_below(entropy: Entropy, limit: int) -> int:
    """Draw a uniform integer on 0 … limit − 1."""
    size = (limit - 1).bit_length()
    if size == 0:
        return 0
    while (number := entropy.bits(size)) >= limit:
        pass
    return number


def choose_many_below(entropy: Entropy, limit: int, *, size: int) -> NDArray[np.int64]:
    """Draw `size` independent integers, each uniform on 0 … limit − 1."""
    bound = np.uint64((1 << 64) - (1 << 64) % limit - 1)
    words = entropy.words(size).copy()  # words of a source are read-only
    while (rejected := np.flatnonzero(words > bound)).size:
        words[rejected] = entropy.words(rejected.size)
    return (words % np.uint64(limit)).astype(np.int64)


def permutation(entropy: Entropy, size: int) -> NDArray[np.int64]:
    """Draw a uniform permutation of 0 … size − 1.

    It is the order that sorts `size` random words. If two words are equal, all words are drawn
    again, so that all orders are equally likely.
    """
    while True:
        words = entropy.words(size)
        order = np.argsort(words, kind="stable")
        ranked = words[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order


def cumulate(weights: Sequence[arb]) -> tuple[arb, ...]:
    """The cumulative probabilities P(J <= j) for P(J = j) ∝ weights[j]; the last one is 1."""
    sums = list(accumulate(weights))
    return (*(partial / sums[-1] for partial in sums[:-1]), arb(1))


def choose_weighted(entropy: Entropy, weights: Callable[[], Sequence[arb]]) -> int:
    """Draw J with P(J = j) ∝ weights()[j]; `weights` encloses them at the current precision."""
    return choose(entropy, lambda: cumulate(weights()))


def choose_log_concave(entropy: Entropy, weights: Callable[[], Weight], *, start: int) -> int:
    """Draw K with P(K = k) ∝ weight(k), k >= 0, where weight is positive and log-concave.

    `weights()` returns the function weight, which encloses weights at the current precision.
    `start` should be near the k of the largest weight. Outward from there, ratios of neighbouring
    weights only decrease. So, once a ratio is ρ < 1, all further weights sum to at most ρ/(1 − ρ)
    times the last summed weight. Weights are summed until both tails are negligible. If the uniform
    falls into a tail, the choice is decided again with more bits.
    """
    uniform = LazyUniform(entropy)

    def question(bits: int) -> int | None:
        weight = weights()
        middle = weight(start)
        above, over = _outward((weight(k) for k in count(start + 1)), middle, bits)
        inward = (weight(k) for k in range(start - 1, -1, -1))
        below, under = _outward(inward, middle, bits)
        terms = [*reversed(below), middle, *above]
        sums = list(accumulate(terms, initial=under))
        target = uniform.enclose(bits) * (sums[-1] + over)
        index = bisect_left(sums, 1, key=lambda bound: int(not bound <= target))
        if 0 < index < len(sums) and sums[index - 1] <= target < sums[index]:
            return start - len(below) + index - 1
        return None

    return decide(question)


def _outward(weights: Iterator[arb], last: arb, bits: int) -> tuple[list[arb], arb]:
    """Take `weights` until the rest is negligible; return them, and a ball around the rest's sum.

    The rest is negligible if it is certainly below 2^−`bits` of the largest weight. The ball
    contains 0 as well. `last` is the weight before the first of `weights`.
    """
    terms, largest, small = [], last, arb((1, -bits))
    for term in weights:
        terms.append(term)
        ratio = term / last
        if ratio < 1:
            rest = term * ratio / (1 - ratio)
            if rest < largest * small:
                return terms, rest.union(arb(0))
        largest, last = largest.max(term), term
    return terms, arb(0)


# Lazy reals from others: gammas, powers of a uniform, products.


ZERO, ONE = LazyRational(Fraction(0)), LazyRational(Fraction(1))


def draw_gamma(entropy: Entropy, shape: Fraction | int) -> LazyReal:
    """Draw a variable of the law Gamma(shape, 1); 0 for shape 0."""
    if shape == 0:
        return ZERO
    few = 3  # exponentials are cheaper than a gamma of larger shape
    if shape in range(few + 1):
        return add([LazyExponential(entropy) for _ in range(int(shape))])
    return LazyAnyGamma(entropy, shape=Fraction(shape))


def draw_root(entropy: Entropy, degree: int) -> LazyReal:
    """Draw U^(1/degree), U uniform on (0, 1).

    It is the gauge of a uniform point of a body in `degree` dimensions.
    """
    uniform = LazyUniform(entropy)
    if degree == 1:
        return uniform
    return LazyFunction(lambda bits: (uniform.enclose(bits).log() / degree).exp())


def draw_below(entropy: Entropy, end: LazyReal, shape: int) -> LazyReal:
    """Draw x on (0, end) with density ∝ x^(shape − 1); 0 for shape 0.

    This is the law of end·Beta(shape, 1).
    """
    return multiply(end, draw_root(entropy, shape)) if shape else ZERO


def add(parts: Sequence[LazyReal]) -> LazyReal:
    """The sum of the parts."""
    return LazyFunction(lambda bits: sum((part.enclose(bits) for part in parts), ball(0)))


def multiply(*factors: LazyReal) -> LazyReal:
    """The product of the factors."""
    return LazyFunction(lambda bits: reduce(mul, (factor.enclose(bits) for factor in factors)))


def multiply_by(factor: Fraction | int, number: LazyReal) -> LazyReal:
    """The product of a rational `factor` and a lazy real."""
    return LazyFunction(lambda bits: ball(factor) * number.enclose(bits))


def divide(above: LazyReal, below: LazyReal) -> LazyReal:
    """The quotient above/below."""
    return LazyFunction(lambda bits: above.enclose(bits) / below.enclose(bits))


def raise_to(base: LazyReal, exponent: Fraction) -> LazyReal:
    """The power base^exponent of a base > 0."""
    if exponent == 1:
        return base
    return LazyFunction(lambda bits: (base.enclose(bits).log() * ball(exponent)).exp())
