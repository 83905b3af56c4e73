"""Truncated moments of the factors of a cell's gauge R·V·B, for a cell in a block of a body.

Notation: the noise X has a density ∝ e^(−N), where N is the gauge of the whole body; R = N(X).
Blocks are combined with the exponent p (`Together`). V is the ratio of a block's gauge to R, and S
= V^p. B is the ratio of a cell's gauge to its block's gauge. E is the mean: E[Y; Y > c] is the mean
of Y where Y > c, and of 0 elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.numerics.quadrature import gauss_legendre, tanh_sinh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Moment = Callable[[float, Any], Any]
"""A function (k, c) ↦ E[B^(−k); B > c] for an array of c."""

_NODES = 128  # of the inner of two integrals; nodes are closer than a standard deviation
_CUT_OFF = 1e-20  # the probability beyond the range of an integral, on either side


def beta_moment(a: float, b: float) -> Moment:
    """The function (k, c) ↦ E[B^(−k); B > c] for B ~ Beta(a, b), k < a and an array of c."""
    from scipy.special import betainc, betaln  # noqa: PLC0415  (0.2 s, needed here alone)

    def moment(k: float, c: Floats) -> Floats:
        factor = math.exp(betaln(a - k, b) - betaln(a, b))
        return np.asarray(factor * betainc(b, a - k, 1 - np.minimum(c, 1.0)))

    return moment


@final
@dataclass(frozen=True, kw_only=True)
class BlockShare:
    """The law of V, the ratio of a block's gauge to the whole noise's gauge.

    V = S^(1/p) with S ~ Beta(d/p, b). Here d is the dimension of the block, and b the number of the
    body's other coordinates divided by p. The density of V is ∝ v^(d − 1)·(1 − v^p)^(b − 1). V lies
    beyond each of its two `ends` with probability 1e-20.
    """

    d: int
    b: float
    p: float
    ends: tuple[float, float]

    def moment(self, k: int, c: Floats) -> Floats:
        """The truncated moments E[V^(−k); V > c], for an array of c."""
        return np.asarray(beta_moment(self.d / self.p, self.b)(k / self.p, c**self.p))

    def times(self, other: Moment, k: int, c: Floats) -> Floats:
        """The truncated moments E[(V·B)^(−k); V·B > c] for an array of c.

        `other` is the function (k, c) ↦ E[B^(−k); B > c] for B, such as `beta_moment` returns.
        """
        low, high = np.clip(c, *self.ends)[:, None], self.ends[1]
        near, far, weights = tanh_sinh(_NODES)
        v, below_one = low + (high - low) * near, (1 - high) + (high - low) * far
        density = np.exp(self.log_density(v, below_one)) * weights * (high - low)
        return np.asarray((density * v ** (-k) * other(k, c[:, None] / v)).sum(axis=1))

    def log_density(self, v: Floats, below_one: Floats) -> Floats:
        """The logarithm of V's density at v = 1 − `below_one`."""
        from scipy.special import betaln  # noqa: PLC0415  (0.2 s, needed here alone)

        with np.errstate(divide="ignore"):
            rest = np.log(-np.expm1(self.p * np.log1p(-below_one)))
            kernel = (self.d - 1) * np.log(v) + (self.b - 1) * rest
        return np.asarray(kernel - betaln(self.d / self.p, self.b) + math.log(self.p))


def block_share(d: int, rest: int, p: float) -> BlockShare:
    """The law of V for a block of d numbers, in a body with `rest` other numbers; p < ∞."""
    from scipy.special import betaincinv  # noqa: PLC0415  (0.2 s, needed here alone)

    a, b = d / p, rest / p
    lowest, below_one = betaincinv(a, b, _CUT_OFF), betaincinv(b, a, _CUT_OFF)
    ends = float(lowest ** (1 / p)), float((1 - below_one) ** (1 / p))
    return BlockShare(d=d, b=b, p=p, ends=ends)


def gamma_rule(order: int, least: float) -> tuple[Floats, Floats]:
    """Nodes r and weights for the mean of g(R), R ~ Gamma(order), if g is 0 below `least`."""
    spread = 60 + 12 * math.sqrt(order)
    first = max(least, order - spread, 0.0)
    r, weights = gauss_legendre(first, max(first, order) + spread)
    return r, weights * np.exp((order - 1) * np.log(r) - r - math.lgamma(order))
