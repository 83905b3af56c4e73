"""The true δ of noise, by the oracle for each family's name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp

from tests.attacks import oracles, vectors
from tests.attacks.oracles import Bounds, Parameters

LATTICES = ("discrete-staircase", "geometric")
KNOWN = {*oracles.ONE_NUMBER, *vectors.VECTORS, *LATTICES}


def delta(
    name: str, d: int, scale: Fraction, p: Parameters, *, length: Fraction, eps: Any
) -> Bounds:
    """Bounds on δ(ε) of one release for shifts up to `length` in the family's norm.

    `eps` is a float, or a number of mpmath if its exact value matters.
    """
    if name == "gaussian":
        result = vectors.gaussian(length / scale, eps)
        return result * (1 - 1e-14), result * (1 + 1e-14)
    if name == "laplace":
        result = vectors.laplace(length / scale, eps)
        return result * (1 - 1e-12), result * (1 + 1e-12)
    if name == "geometric":
        return oracles.whole_steps(p, scale / p["cells"], int(length), eps)
    if name in LATTICES:
        result = oracles.whole_numbers(p["masses"], scale / p["cells"], int(length), eps)
        return result * (1 - 1e-12), result * (1 + 1e-12)
    if name in vectors.VECTORS and d > 1:
        return vectors.worst(name, d, scale, p, length=length, epsilon=eps)
    return oracles.worst(oracles.law(name, scale, p), length, eps)


def sampled(at: Callable[[Any], Bounds], epsilon: str, rate: str) -> Bounds:
    """Bounds on δ(ε) for Poisson samples of the `rate` q; `at` bounds δ of the whole data.

    For a removed record ∫((1 − q)f + q f_s − c f)₊ = q H at e^ε′ = (c − 1 + q)/q. For an added
    record ∫(f − c((1 − q)f + q f_s))₊ = s H at e^ε″ = c q/s with s = 1 − c(1 − q), if s is
    positive.
    """
    with mp.workdps(40):
        eps, q = oracles.real(Fraction(epsilon)), oracles.real(Fraction(rate))
        if q == 1:
            return at(eps)
        removed = at(mp.log1p(mp.expm1(eps) / q))
        low, high = float(q) * removed[0], float(q) * removed[1]
        share = 1 - mp.exp(eps) * (1 - q)
        if share > 0:
            added = at(eps + mp.log(q / share))
            low, high = max(low, float(share) * added[0]), max(high, float(share) * added[1])
        return low * (1 - 1e-12), high * (1 + 1e-12)


def parameters(record: dict[str, Any]) -> Parameters:
    """The parameters of a law as exact numbers, from the texts of a certificate."""
    return {name: number(value) for name, value in record.items()}


def number(value: Any) -> Any:
    """The number that a text in a certificate states; a list becomes a tuple."""
    if isinstance(value, str):
        return Fraction(float.fromhex(value)) if "0x" in value else Fraction(value)
    return tuple(value) if isinstance(value, list) else value
