"""δ of noise for one number by independent routes: nothing of leastnoise is imported.

A law is a name, an exact scale and a dictionary of exact parameters, as in a certificate. Functions
return δ at one shift, or the largest δ over all shifts. Bounds are a pair of floats around δ, as
reliable as plain quadrature. notation: c = e^ε, H(s) = ∫ (f(x) − c f(x − s))₊ dx.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import mpmath as mp
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr

Floats = NDArray[np.float64]
Bounds = tuple[float, float]
Parameters = dict[str, Any]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FALLEN = 110.0  # densities below e^−110 of the peak are left out
_RELATIVE, _ABSOLUTE = 1e-8, 1e-14  # worst seen: 3e-11 of δ, against mpmath
_SHIFTS = 40  # shifts that are tried if the longest needn't be the worst
_DIGITS = 40
_POINTS = 10_000  # most points of a lattice that are summed


@final
@dataclass(frozen=True, kw_only=True)
class Smooth:
    """A density, symmetric, smooth between its kinks, and 0 or negligible beyond `reach`."""

    log_density: Callable[[Floats], Floats]
    kinks: tuple[float, ...]
    reach: float
    width: float
    """The width of the narrowest feature of the density."""
    longest_is_worst: bool
    pole: bool = False
    """True if the density is unbounded at 0."""


@final
@dataclass(frozen=True, kw_only=True)
class Steps:
    """Heights w·e^(−decay·level) between edges that rise from 0, and a point mass at 0."""

    edges: tuple[Fraction, ...]
    heights: tuple[tuple[int, int], ...]
    decay: Fraction
    atom: Fraction = Fraction(0)

    def values(self) -> list[Any]:
        with mp.workdps(_DIGITS):
            return [w * mp.exp(-real(self.decay) * level) for w, level in self.heights]


def real(number: Fraction) -> Any:
    """`number` in mpmath, at the current precision."""
    return mp.mpf(number.numerator) / number.denominator


def law(name: str, scale: Fraction, p: Parameters) -> Smooth | Steps:
    """The density of a family, from its published formula."""
    return _FAMILIES[name](scale, p)


def _laplace(scale: Fraction, p: Parameters) -> Smooth:
    b, a = float(scale), float(p.get("radius", math.inf))

    def log_density(x: Floats) -> Floats:
        inside = np.abs(x) <= a * b
        return np.where(inside, -np.abs(x) / b - math.log(-2 * b * math.expm1(-a)), -np.inf)

    ends = (0.0, a * b, -a * b) if a < _FALLEN else (0.0,)
    reach = min(a, _FALLEN) * b
    return Smooth(log_density=log_density, kinks=ends, reach=reach, width=b, longest_is_worst=True)


def _gaussian(scale: Fraction, p: Parameters) -> Smooth:
    del p
    sigma = float(scale)
    return Smooth(
        log_density=lambda x: -((x / sigma) ** 2) / 2 - math.log(sigma * math.sqrt(2 * math.pi)),
        kinks=(),
        reach=15 * sigma,
        width=sigma,
        longest_is_worst=True,
    )


def _flipped_huber(scale: Fraction, p: Parameters) -> Smooth:
    alpha, gamma = float(p["alpha"] * scale), float(p["gamma"] * scale)
    s = float(scale)

    def rho(x: Floats) -> Floats:
        r = np.abs(x) / s
        a = alpha / s
        return np.where(r <= a, a * r, (r * r + a * a) / 2) * (s / gamma) ** 2

    # both parts of the mass in closed form: ∫₀^α e^(−αr/γ²) dr and a Gaussian tail
    a, g = alpha / s, gamma / s
    body = -(g * g / a) * math.expm1(-((a / g) ** 2)) if a else 0.0
    tail = math.exp(-((a / g) ** 2) / 2 + float(log_ndtr(-a / g))) * g * math.sqrt(2 * math.pi)
    log_mass = math.log(2 * s * (body + tail))
    reach = max(15 * gamma, min(alpha, _FALLEN * gamma**2 / alpha) if alpha else 0.0)
    return Smooth(
        log_density=lambda x: -rho(x) - log_mass,
        kinks=(0.0, alpha, -alpha),
        reach=reach,
        width=gamma if not alpha else min(gamma, gamma**2 / alpha),
        longest_is_worst=True,
    )


def _mixture(scale: Fraction, p: Parameters) -> Smooth:
    sigma, spacing, decay, modes = (
        float(scale),
        float(p["spacing"]),
        float(p["decay"]),
        int(p["modes"]),
    )
    k = np.arange(-modes, modes + 1)
    log_total = math.log(float(np.exp(-np.abs(k) * decay).sum()) * sigma * math.sqrt(2 * math.pi))

    def log_density(x: Floats) -> Floats:
        terms = -(((x[:, None] - k * spacing) / sigma) ** 2) / 2 - np.abs(k) * decay
        return np.logaddexp.reduce(terms, axis=1) - log_total

    return Smooth(
        log_density=log_density,
        kinks=(),
        reach=modes * spacing + 15 * sigma,
        width=sigma,
        longest_is_worst=False,
    )


def _quasi_gaussian(scale: Fraction, p: Parameters) -> Smooth:
    sigma, t, decay = float(scale), float(p["spacing"] / scale), float(p["decay"])
    side = math.erfc(-t / math.sqrt(2)) / 2
    log_mass = math.log(sigma * math.sqrt(2 * math.pi) * (1 + 2 * math.exp(-decay) * side))

    def log_density(x: Floats) -> Floats:
        r = np.abs(x) / sigma
        return np.logaddexp(-r * r / 2, -((r - t) ** 2) / 2 - decay) - log_mass

    return Smooth(
        log_density=log_density,
        kinks=(0.0,),
        reach=(t + 15) * sigma,
        width=sigma,
        longest_is_worst=False,
    )


def _generalized_gamma(scale: Fraction, p: Parameters) -> Smooth:
    s, alpha, power = float(scale), float(p["alpha"]), float(p["p"])
    log_mass = math.log(2 * s / power) + float(gammaln((alpha + 1) / power))

    def log_density(x: Floats) -> Floats:
        r = np.maximum(np.abs(x) / s, 1e-300)
        return alpha * np.log(r) - r**power - log_mass

    return Smooth(
        log_density=log_density,
        kinks=(0.0,),
        reach=s * _FALLEN ** (1 / power),
        width=s * min(1.0, (1 / power) ** (1 / power)),
        longest_is_worst=True,
        pole=True,
    )


def _levels(end: Fraction, gamma: Fraction) -> tuple[tuple[Fraction, ...], int]:
    count = max(0, math.ceil(end - gamma))
    return (Fraction(0), *(gamma + j for j in range(count)), end), count + 1


def _staircase(scale: Fraction, p: Parameters) -> Steps:
    decay, gamma = p["decay"], p.get("gamma", Fraction(1, 2))
    # for a law without an end, the mass e^−80 beyond this end is below any digit that is compared
    end = p.get("radius", gamma + math.ceil(80 / decay)) if decay else p["radius"]
    edges, count = _levels(end, gamma)
    return Steps(
        edges=tuple(scale * edge for edge in edges),
        heights=tuple((1, level) for level in range(count)),
        decay=decay,
        atom=p.get("atom", Fraction(0)),
    )


def _cells(scale: Fraction, p: Parameters) -> Steps:
    step, masses = scale / p["cells"], p["masses"]
    edges = (Fraction(0), *(step * (Fraction(1, 2) + j) for j in range(len(masses))))
    return Steps(edges=edges, heights=tuple((m, 0) for m in masses), decay=Fraction(0))


_FAMILIES: dict[str, Callable[[Fraction, Parameters], Smooth | Steps]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
    "truncated-laplace": _laplace,
    "flipped-huber": _flipped_huber,
    "gaussian-mixture": _mixture,
    "quasi-gaussian": _quasi_gaussian,
    "generalized-gamma": _generalized_gamma,
    "staircase": _staircase,
    "truncated-staircase": _staircase,
    "tulap": _staircase,
    "cactus": _cells,
    "optimal": _cells,
}
ONE_NUMBER = tuple(_FAMILIES)


def worst(density: Smooth | Steps, longest: Fraction, eps: Any) -> Bounds:
    """Bounds on the largest H(s) over 0 < s <= longest."""
    if isinstance(density, Steps):
        largest = max(float(stepped(density, s, eps)) for s in _meets(density, longest))
        return _around(largest)
    epsilon = float(eps)
    if density.longest_is_worst:
        return _around(smooth(density, float(longest), epsilon))
    top = float(longest)
    tried = [(smooth(density, top * i / _SHIFTS, epsilon), i) for i in range(1, _SHIFTS + 1)]
    best, index = max(tried)
    low, high = top * max(index - 1, 0) / _SHIFTS, top * min(index + 1, _SHIFTS) / _SHIFTS
    for _ in range(16):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        at_a, at_b = smooth(density, a, epsilon), smooth(density, b, epsilon)
        best = max(best, at_a, at_b)
        low, high = (a, high) if at_a < at_b else (low, b)
    # between the shifts that were tried δ may be a little larger still
    return _around(best)[0], best * (1 + 1e-4) + _ABSOLUTE


def _around(found: float) -> Bounds:
    return max(0.0, found * (1 - _RELATIVE) - _ABSOLUTE), found * (1 + _RELATIVE) + _ABSOLUTE


def ends_of(density: Smooth, shift: float) -> Floats:
    """The ends of cells of the line; the kinks of the density and of its shifted copy are ends."""
    kinks = {k + move for k in density.kinks for move in (0.0, shift)}
    low, high = -density.reach, density.reach + shift
    stops = sorted({low, high, *(k for k in kinks if low < k < high)})
    parts: list[Floats] = []
    for left, right in pairwise(stops):
        count = int(min(4000, max(24, 3 * (right - left) / density.width)))
        parts.append(np.linspace(left, right, count + 1)[:-1])
        if density.pole and 0.0 in (left, right):
            towards = np.geomspace(1e-24, 1, 160)[:-1] * (right - left)
            parts.append(towards if left == 0 else -towards)
    return np.unique(np.append(np.concatenate(parts), stops[-1]))


def smooth(density: Smooth, shift: float, epsilon: float) -> float:
    """H(shift) by Gauss' rule on cells that end where the loss passes ε."""
    ends = ends_of(density, shift)
    f = density.log_density

    def gap(x: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            value = f(x) - f(x - shift) - epsilon
        return np.where(np.isnan(value), -np.inf, value)

    width = np.diff(ends)
    left, right = ends[:-1] + 1e-9 * width, ends[1:] - 1e-9 * width
    sign_left, sign_right = gap(left) > 0, gap(right) > 0
    split = np.flatnonzero(sign_left != sign_right)
    low, high = left[split], right[split]
    for _ in range(60):
        middle = (low + high) / 2
        same = (gap(middle) > 0) == sign_left[split]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    starts, stops = ends[:-1].copy(), ends[1:].copy()
    starts[split] = np.where(sign_left[split], starts[split], low)
    stops[split] = np.where(sign_left[split], low, stops[split])
    keep = sign_left | sign_right
    half = (stops[keep] - starts[keep])[:, None] / 2
    x = ((starts[keep] + stops[keep])[:, None] / 2 + half * _NODES).ravel()
    with np.errstate(under="ignore"):
        values = np.exp(f(x)) * -np.expm1(-np.maximum(gap(x), 0.0))
    return float((half * _WEIGHTS * values.reshape(-1, len(_NODES))).sum())


def _meets(density: Steps, longest: Fraction) -> list[Fraction]:
    """The shifts at which edges of both copies coincide; δ is linear between two such shifts."""
    levels = density.values()
    if all(a >= b for a, b in pairwise(levels)):
        return [longest]
    edges = density.edges
    results = {abs(a + sign * b) for a in edges for b in edges for sign in (1, -1)}
    return [*(s for s in results if 0 < s < longest), longest]


def stepped(density: Steps, shift: Fraction, epsilon: Any) -> Any:
    """H(shift) to 40 digits; every point mass adds its whole probability."""
    with mp.workdps(_DIGITS):
        c = mp.exp(epsilon)
        values = density.values()
        ends = [*(-edge for edge in reversed(density.edges[1:])), *density.edges]
        heights = [*reversed(values), *values]
        total = 2 * sum(
            v * real(b - a) for v, (a, b) in zip(values, pairwise(density.edges), strict=True)
        )
        stops = sorted({*ends, *(end + shift for end in ends)})
        value, here, there = mp.mpf(0), 0, 0
        for left, right in pairwise(stops):
            while here < len(ends) - 1 and ends[here + 1] <= left:
                here += 1
            while there < len(ends) - 1 and ends[there + 1] + shift <= left:
                there += 1
            inside = ends[0] <= left < ends[-1]
            other = ends[0] + shift <= left < ends[-1] + shift
            if inside:
                gain = heights[here] - (c * heights[there] if other else 0)
                value += max(gain, mp.mpf(0)) * real(right - left)
        return real(density.atom) + real(1 - density.atom) * value / total


def steps_of_points(p: Parameters, most: int) -> list[int] | None:
    """The levels of the points 0, 1, …, down to e^−80 of the peak; None if they are too many."""
    last = p["core"] + p["cells"] * math.ceil(80 / p["decay"])
    if last > most:
        return None
    core, cells = p["core"], p["cells"]
    return [0 if k < core else (k - core) // cells + 1 for k in range(last + 1)]


def whole_steps(p: Parameters, step: Fraction, bound: int, epsilon: Any) -> Bounds:
    """Bounds on δ of P(X = step·k) ∝ e^(−decay·s(|k|)) at the shift `bound`; s are levels."""
    levels, moved = steps_of_points(p, _POINTS), bound / step
    if (1 / step).denominator != 1:
        return 1.0, 1.0  # the two supports are disjoint
    if levels is None or moved > _POINTS:
        return 0.0, 1.0
    with mp.workdps(_DIGITS):
        masses = [mp.exp(-real(p["decay"]) * level) for level in levels]
        c, total, n = mp.exp(epsilon), 2 * mp.fsum(masses) - masses[0], len(masses) - 1
        value = mp.mpf(0)
        for k in range(-n, n + 1):
            other = abs(k - int(moved))
            gain = masses[abs(k)] - c * masses[other] if other <= n else mp.mpf(0)
            value += max(mp.mpf(0), gain)
        return _around(float(value / total))


def whole_numbers(masses: Sequence[int], step: Fraction, bound: int, epsilon: Any) -> float:
    """The largest δ of P(X = step·k) ∝ masses[|k|] over whole shifts up to `bound`."""
    with mp.workdps(_DIGITS):
        c, total = mp.exp(epsilon), 2 * sum(masses) - masses[0]
        worst_found = mp.mpf(0)
        for shift in range(1, bound + 1):
            moved = shift / step
            if moved.denominator != 1:
                return 1.0  # the two supports are disjoint
            j, n = int(moved), len(masses) - 1
            value = mp.mpf(0)
            for k in range(-n, n + 1):
                other = masses[abs(k - j)] if abs(k - j) <= n else 0
                value += max(mp.mpf(0), masses[abs(k)] - c * other)
            worst_found = max(worst_found, value / total)
        return float(worst_found)
