"""Numbers that the small checker has to enclose, from Arb and from the proofs of leastnoise.

They are computed once, so that a changed copy of the checker is tested in seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any

from flint import acb, arb, ctx

from leastnoise.noise.classic import proof as classic
from leastnoise.noise.classic.law import Gaussian, TruncatedLaplace
from leastnoise.noise.lattice import proof as in_lattice
from leastnoise.noise.lattice.law import DiscreteStaircase
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.radial.proof import spherical_laplace
from leastnoise.noise.steps import proof as in_steps
from leastnoise.noise.steps.law import TruncatedStaircase


def images() -> Iterator[tuple[dict[str, Any], dict[str, Any], Fraction]]:
    """Counting queries, geometries, and the longest image of a shift, from all corners."""
    b, total = Fraction(3, 2), Fraction(5, 7)
    for neighbours, n in (("add-remove", 0), ("add-remove", 1), ("replace-one", 0)):
        for q, k in ((1, 1), (3, 1), (4, 2), (5, 3), (6, 4), (6, 6)):
            for shared, offset in ((Fraction(-1, 8), Fraction(-1, 3)), (Fraction(2), Fraction(1))):
                replaced = neighbours == "replace-one"
                lengths = []
                for v in itertools.product((-b, 0, b) if replaced else (0, b), repeat=q):
                    if max(v.count(b), v.count(-b)) <= k:
                        image = [x + shared * sum(v) + offset * n for x in v]
                        lengths.append(sum(x * x for x in image) + n * total**2)
                queries = {"dimension": q, "bound": b, "max_nonzero": k, "with_total": bool(n)}
                geometry = {"shared": shared, "offset": offset, "total": n * total}
                yield queries | {"neighbours": neighbours}, geometry, max(lengths)


@cache
def truths() -> dict[tuple[str, Fraction, Fraction], tuple[int, int]]:
    """Values of functions times 2^512, rounded down and up, by Arb with more bits.

    The key is the name of a function and its two arguments.
    """
    halves = [Fraction(n, 2) for n in (-1, 0, 1, 12, 41)]
    ends = ((1, Fraction(1, 2)), (-2, 1), (3, Fraction(1, 4)), (-1, 1), (2, Fraction(3, 4)))
    known: dict[tuple[str, Fraction, Fraction], arb] = {}
    with ctx.workprec(1200):

        def real(x: Fraction) -> arb:
            return arb(x.numerator) / x.denominator

        known["mass", Fraction(0), Fraction(0)] = (arb.pi() / 2).sqrt()
        for x in ROOTS:
            known["sqrt", x, Fraction(0)] = real(x).sqrt()
        for x in EXPONENTS:
            known["exp", x, Fraction(0)] = real(x).exp()
        for x in DEVIATIONS:
            known["normal", x, Fraction(0)] = (-real(x) / arb(2).sqrt()).erfc() / 2
        for x in ARGUMENTS:
            for order in (0, 1):
                known["bessel_k", x, Fraction(order)] = real(x).bessel_k(arb(order))
        for m, (c, w) in zip(halves, ends, strict=True):
            known["cap", m, Fraction(c)] = _cap(real(m), c, real(Fraction(w)))
            CAPS[m] = Fraction(c), Fraction(w)
        scaled = {key: value * 2**512 for key, value in known.items()}
        return {
            key: (int(value.lower().floor().unique_fmpz()), int(value.upper().ceil().unique_fmpz()))
            for key, value in scaled.items()
        }


ROOTS = [Fraction(0), Fraction(2), Fraction(1, 3), Fraction(10**6)]
EXPONENTS = [Fraction(x) for x in (0, -3, 20, -999, -1001, -(10**6))] + [Fraction(1, 3)]
DEVIATIONS = [Fraction(x) for x in (0, -3, 9, 39, -39)] + [Fraction(1, 3), Fraction(-77, 3)]
ARGUMENTS = [Fraction(1, 10**4), Fraction(1, 2), Fraction(9), Fraction(120)]
CAPS: dict[Fraction, tuple[Fraction, Fraction]] = {}


@cache
def laws() -> list[tuple[str, tuple[Any, ...], arb]]:
    """The names of the checker's laws, arguments, and δ as leastnoise's proofs enclose it."""
    half, unit, third = Fraction(1, 2), Fraction(1), Fraction(1, 3)
    known: list[tuple[str, tuple[Any, ...], arb]] = []
    with ctx.workprec(400):
        cut = [
            (unit, 3, unit),
            (unit, 3, third),
            (2 * unit, half, half),
            (unit, half, unit),
        ]
        cut += [(unit, Fraction(3, 5), third), (unit, Fraction(11, 20), third)]
        for t, a, e in cut:
            law = TruncatedLaplace(scale=1, radius=a)
            delta = classic.truncated_laplace_delta_ball(law, shift=t, epsilon=e)
            known.append(("truncated_laplace", (t, Fraction(a), e), delta))
        for t, r, e, w in ((unit, 4, unit, 0), (half, "3.3", third, "0.01"), (unit, "0.7", unit, 0),
                           (unit, "0.6", third, 0), (half, "0.4", third, 0)):  # fmt: skip
            steps = TruncatedStaircase(scale=1, gamma="0.3", radius=r, decay=1, atom=w)
            p = {
                "gamma": steps.gamma,
                "radius": steps.radius,
                "decay": unit,
                "atom": steps.atom,
            }
            delta = in_steps.step_delta_ball(steps, shift=t, epsilon=e)
            known.append(("truncated_steps", (t, p, e), delta))
        for masses in ((9, 5, 2, 1), (9, 5, 7, 1), (3,), (5, 0, 5), (1, 9)):
            for shift in (1, 2, 3, 9):
                weights = DiscreteStaircase(scale=2, cells=2, masses=masses)
                p = {"masses": masses, "cells": 2, "scale": Fraction(2)}
                delta = in_lattice.delta_ball(weights, shift=Fraction(shift), epsilon=third)
                known.append(("lattice", (Fraction(shift), p, third), delta))
        for d in (2, 3, 4, 9, 40):
            ball = SphericalLaplace(scale=half, dimension=d)
            delta = spherical_laplace.delta_ball(ball, shift=unit, epsilon=third)
            known.append(("l2", (4 * unit, d, third), delta))
        for r in (half, unit, 3 * unit):
            delta = classic.gaussian_delta_ball(Gaussian(scale=1), shift=r, epsilon=third)
            known.append(("gaussian", (r * r, third), delta))
    return known


def _cap(m: arb, c: int, w: arb) -> arb:
    """∫₀^w e^(cy) (y(2 − y))^m dy, with y = u² so that nothing is singular."""
    odd = int((2 * m + 1).unique_fmpz())  # type: ignore[arg-type]

    def integrand(u: acb, _: bool) -> acb:
        return 2 * (c * u * u).exp() * u**odd * ((2 - u * u).log() * m).exp()

    return acb.integral(integrand, acb(0), acb(w.sqrt())).real


def _exactly(checker: Any, ball: Any, truth: Fraction, units: int) -> tuple[bool, bool]:
    inside = Fraction(ball.low, checker.UNIT) <= truth <= Fraction(ball.high, checker.UNIT)
    return inside, ball.high - ball.low <= units


def _ball(checker: Any, name: str, x: Fraction, more: Fraction) -> Any:
    of = checker.Ball.of
    if name == "mass":
        return checker.MASS
    if name == "sqrt":
        return of(x).sqrt()
    if name == "cap":
        return checker.cap(x, of(more), of(CAPS[x][1]))
    if name == "bessel_k":
        return checker.bessel_k(of(x))[int(more)]
    return getattr(checker, name)(of(x))


Computation = Callable[[Any], Iterator[tuple[str, Any]]]


def numbers(checker: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of a computation, and True if the checker's ball is correct and tight."""
    for computation in computations().values():
        yield from computation(checker)


def computations() -> dict[str, Computation]:
    """The parts of `numbers` by name: arithmetic, roots, images, each law and each function."""
    parts: dict[str, Computation] = {
        "arithmetic": _arithmetic,
        "roots": _roots,
        "images": _images,
    }
    for name, given, delta in laws():
        parts[f"{name} {given}"] = partial(_law, name=name, given=given, delta=delta)
    for key, ends in truths().items():
        parts[" ".join(map(str, key))] = partial(_value, key=key, ends=ends)
    return parts


def _arithmetic(checker: Any) -> Iterator[tuple[str, Any]]:
    of, values = checker.Ball.of, [Fraction(n, d) for n in (-7, -1, 0, 2, 5) for d in (1, 3, 7)]
    for a in values:
        yield f"of {a}", _exactly(checker, of(a), a, 1)
        yield f"over {a}", _exactly(checker, of(a).over(3), a / 3, 2)
        yield f"size {a}", of(a).size() >= abs(a) * checker.UNIT > of(a).size() - 2
        for b in values:
            yield f"{a} + {b}", _exactly(checker, of(a) + of(b), a + b, 3)
            yield f"{a} - {b}", _exactly(checker, of(a) - of(b), a - b, 3)
            yield f"{a} * {b}", _exactly(checker, of(a) * of(b), a * b, 20)
            if b > 0:
                yield f"{a} / {b}", _exactly(checker, of(a) / of(b), a / b, 200)


def _roots(checker: Any) -> Iterator[tuple[str, Any]]:
    for square in (Fraction(9, 4), Fraction(2), Fraction(1, 3), Fraction(10**40 + 1)):
        above = checker.rounded_up(square) / square - 1
        yield (
            f"root {square}",
            (above >= 0, above < Fraction(1, 2**58), square == Fraction(9, 4) or above > 0),
        )
        yield f"exact root {square}", checker.rounded_up(square**2) == square**2


def _images(checker: Any) -> Iterator[tuple[str, Any]]:
    for queries, geometry, longest in images():
        yield f"image {queries} {geometry}", checker.longest_image(queries, geometry) == longest


def _law(
    checker: Any, name: str, given: tuple[Any, ...], delta: arb
) -> Iterator[tuple[str, tuple[bool, ...]]]:
    with ctx.workprec(600):
        ball = getattr(checker, name)(*given)
        ends = [arb(end) / checker.UNIT for end in (ball.low, ball.high)]
        near = [bool(abs(end - delta) < arb(2) ** -300) for end in ends]
    yield f"{name} {given}", (*near, ball.low <= ball.high)


def _value(
    checker: Any, key: tuple[str, Fraction, Fraction], ends: tuple[int, int]
) -> Iterator[tuple[str, tuple[bool, ...]]]:
    (name, x, more), (low, high) = key, ends
    ball = _ball(checker, name, x, more)
    near = ball.high - ball.low < max(1, high.bit_length()) << 100
    yield f"{name} {x} {more}", (ball.low <= low, high <= ball.high, near)


CALLS = [
    "integral b40",
    "integral b-3",
    *(f"exp b{x}" for x in ("0", "-3", "1/3", "-999", "-1001", "20")),
    *(f"normal b{x}" for x in ("0", "9", "-77/3", "1/3")),
    *(f"bessel_k b{x}" for x in ("1/2", "9")),
    *(
        f"cap m{m} b{c} b{w}"
        for m, c, w in (
            ("-1/2", 1, "1/2"),
            ("0", -2, "1"),
            ("7/2", 3, "1/4"),
            ("60", 50, "1"),  # the loop ends by the number of terms
        )
    ),
    *(f"l2 f{square} i{d} f{e}" for square, d, e in (("4", 2, "1"),)),
    *(f"gaussian f{square} f{e}" for square, e in (("1/9", "1"), ("4", "0"), ("1/100", "1/3"))),
    *(
        f"truncated_laplace f{t} f{a} f{e}"
        for t, a, e in (("1", 5, "1/2"), ("3", 2, "1"), (5, 1, 2))
    ),
]
"""Functions and their arguments: balls (b), fractions (f), whole numbers (i), halves (m)."""
LONG_CALLS = ["bessel_k b1/10000", "bessel_k b120", "l2 f9/4 i3 f1/2", "l2 f1 i12 f0"]


def ends_of_call(checker: Any, name: str, *arguments: str) -> list[str]:
    """The ends of the balls that a function of the checker returns, in units of 2^−512."""
    kinds = {"b": lambda x: checker.Ball.of(Fraction(x)), "f": Fraction, "i": int, "m": Fraction}
    value = getattr(checker, name)(*(kinds[text[0]](text[1:]) for text in arguments))
    return [f"{ball.low} {ball.high}" for ball in (value if isinstance(value, tuple) else (value,))]
