"""Single lazy reals from others: gammas, powers of a uniform, products."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyAnyGamma, LazyExponential, LazyReal, LazyUniform
from leastnoise.entropy.scaled import Constant
from leastnoise.noise.bodies.sampler.reals import Computed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.entropy.source import Entropy

_FEW = 3  # exponentials are cheaper than a gamma of larger shape

NOTHING, ONE = Constant(Fraction(0)), Constant(Fraction(1))


def gamma(entropy: Entropy, shape: Fraction | int) -> LazyReal:
    """Return a Gamma(shape, 1); 0 for shape 0."""
    if shape == 0:
        return NOTHING
    if shape in range(_FEW + 1):
        return total([LazyExponential(entropy) for _ in range(int(shape))])
    return LazyAnyGamma(entropy, shape=Fraction(shape))


def root(entropy: Entropy, degree: int) -> LazyReal:
    """Return U^(1/degree), U uniform: the gauge of a uniform point of a body of that dimension."""
    uniform = LazyUniform(entropy)
    if degree == 1:
        return uniform
    return Computed(lambda bits: (uniform.enclose(bits).log() / degree).exp())


def below(entropy: Entropy, end: LazyReal, shape: int) -> LazyReal:
    """Return end·Beta(shape, 1): of density ∝ x^(shape − 1) up to `end`; 0 for shape 0."""
    return product(end, root(entropy, shape)) if shape else NOTHING


def total(parts: Sequence[LazyReal]) -> LazyReal:
    """Return the sum."""
    return Computed(lambda bits: sum((part.enclose(bits) for part in parts), ball(0)))


def product(*factors: LazyReal) -> LazyReal:
    """Return the product."""
    return Computed(lambda bits: reduce(mul, (factor.enclose(bits) for factor in factors)))


def times(factor: Fraction | int, number: LazyReal) -> LazyReal:
    """Return factor·number."""
    return Computed(lambda bits: ball(factor) * number.enclose(bits))


def ratio(above: LazyReal, below: LazyReal) -> LazyReal:
    """Return above/below."""
    return Computed(lambda bits: above.enclose(bits) / below.enclose(bits))


def power(base: LazyReal, exponent: Fraction) -> LazyReal:
    """Return base^exponent for a base > 0."""
    if exponent == 1:
        return base
    return Computed(lambda bits: (base.enclose(bits).log() * ball(exponent)).exp())
