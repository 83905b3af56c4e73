"""δ at a given shift by independent routes, for every family of noise for one number.

The routes read a law's parameters, and the log_density of smooth laws; they use nothing else of the
library. `worst` searches for the shift in [0, Δ] with the largest δ, for symmetric laws. The
`Route` of a family, in `ROUTES`, has δ at a shift, and the shifts at which δ may be largest.
notation: c = e^ε, H(φ) = ∫ (f(x) − c f(x − φ))₊ dx, the δ of the shift φ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import mpmath as mp
import numpy as np
from scipy.special import gammainc

from leastnoise.noise.base import Noise
from tests.lattice_shifts import LatticeSteps, WholeSteps
from tests.shift_route import LOG_STEP_TAIL, Route, mpf

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_GRID = 48  # parts of [0, Δ] in the first grid of shifts
_LOG_TAIL = 90.0  # densities below e^−90 of the peak are left out
_HOLE = 2.0**-30  # scales
_EPS = 4e-16  # relative rounding of a log density, two units of the last place


def _multiples(limit: Fraction) -> list[Fraction]:
    """Shifts up to `limit`: an even grid, and points that accumulate at both ends."""
    even = [limit * Fraction(i, _GRID) for i in range(1, _GRID + 1)]
    return even + [
        limit * part for k in range(7, 30, 2) for part in (Fraction(1, 2**k), 1 - Fraction(1, 2**k))
    ]


@final
@dataclass(frozen=True, kw_only=True)
class Stairs(Route):
    """f ∝ e^(−decay·k(|x|)), k(r) = ⌊r − γ⌋ + 1 or 0, for |x| <= radius; all lengths in scales.

    Lengths are exact in whole numbers of 1/D, so that coinciding edges are known. H is affine
    between shifts at which edges coincide.
    """

    gamma: Fraction
    radius: Fraction | None
    decay: Fraction
    scale: Fraction
    limit: Fraction
    epsilon: Fraction
    unit: int  # D

    @classmethod
    def of(cls, law: Any, limit: Fraction, epsilon: Fraction) -> Stairs:
        assert not getattr(law, "atom", 0)
        gamma = getattr(law, "gamma", Fraction(1, 2))  # tulap has steps of half a scale
        radius, longest = getattr(law, "radius", None), limit / law.scale
        parts = (gamma.denominator, longest.denominator, (radius or gamma).denominator)
        return cls(
            gamma=gamma,
            radius=radius,
            decay=law.decay,
            scale=law.scale,
            limit=longest,
            epsilon=epsilon,
            unit=math.lcm(*parts) * _GRID * 2**30,
        )

    def turns(self) -> list[Fraction]:
        edges = [self.gamma, -self.gamma, *([self.radius, -self.radius] if self.radius else [])]
        meets = {(a - b) % 1 + whole for a in edges for b in edges for whole in (0, 1)}
        near = Fraction(1, self.unit)
        places = {meet + side for meet in meets for side in (-near, 0, near)}
        all_ = {self.limit, *_multiples(self.limit), *places}
        return [self.scale * index for index in all_ if 0 < index <= self.limit]

    def certain(self, shift: Fraction) -> float:
        unit = self.unit
        phi = int(shift / self.scale * unit)
        top = self._edges()
        ends = np.unique(np.concatenate([-top, top, top + phi, phi - top]))
        left, right = ends[:-1], ends[1:]
        twice = left + right  # twice the middle, whole
        inside = np.abs(twice) < 2 * top[-1]
        twice, width = twice[inside], (right - left)[inside] / unit
        here, there = self._level(twice), self._level(twice - 2 * phi)
        mass = np.asarray(width, dtype=float) * np.exp(-float(self.decay) * here)
        jumps = there - here
        gains = {int(jump): self._gain(int(jump)) for jump in np.unique(jumps)}
        gain = np.array([gains[int(jump)] for jump in jumps])
        if self.radius is not None:
            gain[np.asarray(np.abs(twice - 2 * phi) > 2 * top[-1], dtype=bool)] = 1.0
        return float(mass @ gain / mass.sum()) * (1 - 1e-12)

    def _edges(self) -> np.ndarray:
        """The edges in units of 1/D, rising; the last is the end of the law."""
        end = (
            self.radius if self.radius is not None else self.gamma + int(LOG_STEP_TAIL / self.decay)
        )
        first = [self.gamma + j for j in range(math.ceil(end - self.gamma))]
        return np.array([int(edge * self.unit) for edge in (*first, end)], dtype=object)

    def _level(self, twice: np.ndarray) -> np.ndarray:
        steps = (np.abs(twice) - 2 * int(self.gamma * self.unit)) // (2 * self.unit) + 1
        return np.maximum(steps, 0).astype(np.int64)

    def _gain(self, jump: int) -> float:
        """(1 − c e^(−decay·jump))₊; exactly 0 where they are equal."""
        return max(0.0, -math.expm1(float(self.epsilon - self.decay * jump)))


@final
@dataclass(frozen=True, kw_only=True)
class Slopes(Route):
    """f ∝ e^(−|x|/scale) for |x| <= radius·scale; integrals in closed form, with 40 digits."""

    radius: Fraction | None
    scale: Fraction
    limit: Fraction
    epsilon: Fraction

    @classmethod
    def of(cls, law: Any, limit: Fraction, epsilon: Fraction) -> Slopes:
        radius = getattr(law, "radius", None)
        return cls(radius=radius, scale=law.scale, limit=limit, epsilon=epsilon)

    def turns(self) -> list[Fraction]:
        return _multiples(self.limit)

    def certain(self, shift: Fraction) -> float:
        with mp.workdps(40):
            phi, eps = mpf(shift / self.scale), mpf(self.epsilon)
            end = mpf(self.radius) if self.radius is not None else mp.inf
            norm = 2 - 2 * mp.exp(-end)
            start = phi - end  # left of it the other copy is 0
            uncovered = _one_sided(min(start, end)) - _one_sided(-end)
            # −|x| + |x − φ| > ε: for x < 0 if φ > ε, and up to (φ − ε)/2
            total, last = uncovered, (phi - eps) / 2
            if phi > eps:
                low, middle = max(start, -end), min(last, end)
                if low < 0:
                    total += (1 - mp.exp(eps - phi)) * (1 - mp.exp(low))
                if (low := max(low, mp.mpf(0))) < middle:
                    other = mp.exp(eps - phi) * (mp.exp(middle) - mp.exp(low))
                    total += mp.exp(-low) - mp.exp(-middle) - other
            return float(total / norm * (1 - mp.mpf(10) ** -30))


def _one_sided(x: Any) -> Any:
    """∫ e^(−|t|) from −∞ to x."""
    return mp.exp(x) if x <= 0 else 2 - mp.exp(-x)


@final
@dataclass(frozen=True, kw_only=True)
class Smooth(Route):
    """Gauss' rule between the `ends` of both copies' cells and the sign changes of the integrand.

    Kinks are among the ends. A cell with a sign change is cut there, by bisection. Around a pole at
    0 a `hole` of mass `inside` is left out; its part of H is bounded from below.
    """

    law: Noise
    ends: np.ndarray
    limit: Fraction
    epsilon: float
    hole: float = 0.0
    inside: float = 0.0

    def turns(self) -> list[Fraction]:
        return _multiples(self.limit)

    def certain(self, shift: Fraction) -> float:
        phi = float(shift)
        ends = np.unique(np.concatenate([self.ends, self.ends + phi]))
        left, half = ends[:-1], np.diff(ends) / 2
        nodes = left[:, None] + half[:, None] * np.concatenate([[0], 1 + _NODES, [2]])
        signs = self._lead(nodes, phi) > 0
        whole = signs.all(axis=1)
        value = self._integral(left[whole], half[whole], phi)
        mixed = ~whole & signs.any(axis=1)
        if mixed.any():
            value += self._mixed(nodes[mixed], signs[mixed], phi)
        return value * (1 - 1e-10) + self._in_hole(phi)

    def _in_hole(self, phi: float) -> float:
        """A lower bound on the hole's part of H: its mass minus c times the other copy's mass."""
        if not self.hole or phi <= 2 * self.hole:
            return 0.0
        nearest = float(self.law.log_density(np.array([phi - self.hole])))
        return max(0.0, self.inside - 2 * self.hole * math.exp(self.epsilon + nearest))

    def _mixed(self, nodes: np.ndarray, signs: np.ndarray, phi: float) -> float:
        low, high = nodes[:, :-1], nodes[:, 1:]
        a, b = signs[:, :-1], signs[:, 1:]
        value = self._integral(low[a & b], (high - low)[a & b] / 2, phi)
        positive, negative = np.where(a, low, high)[a ^ b], np.where(a, high, low)[a ^ b]
        start = positive.copy()
        for _ in range(50):
            middle = (positive + negative) / 2
            ahead = self._lead(middle, phi) > 0
            positive, negative = (
                np.where(ahead, middle, positive),
                np.where(ahead, negative, middle),
            )
        left, right = np.minimum(start, positive), np.maximum(start, positive)
        return value + self._integral(left, (right - left) / 2, phi)

    def _log_densities(self, x: np.ndarray, phi: float) -> tuple[np.ndarray, np.ndarray]:
        here, there = self.law.log_density(x[..., None]), self.law.log_density((x - phi)[..., None])
        return np.where(np.abs(x) < self.hole, -np.inf, here), there

    def _lead(self, x: np.ndarray, phi: float) -> np.ndarray:
        here, there = self._log_densities(x, phi)
        with np.errstate(invalid="ignore"):
            return here - there - self.epsilon

    def _integral(self, left: np.ndarray, half: np.ndarray, phi: float) -> float:
        """A lower bound on ∫ f·(1 − e^−lead), for any rounding of the log densities."""
        if not len(left):
            return 0.0
        x = left[:, None] + half[:, None] * (1 + _NODES)
        here, there = self._log_densities(x, phi)
        lead = here - there - self.epsilon
        doubt = _EPS * (np.abs(here) + np.abs(there) + self.epsilon + 1)
        gain = np.maximum(-np.expm1(-(lead - doubt)), 0)
        return float(((np.exp(here) * gain) @ _WEIGHTS) @ half)


def _even(reach: float, width: float, *kinks: float) -> np.ndarray:
    sides = np.linspace(0, reach, math.ceil(reach / width) + 1)
    inner = [kink for kink in kinks if kink < reach]
    return np.unique(np.concatenate([sides, -sides, inner, np.negative(inner)]))


def _gaussian(law: Any) -> np.ndarray:
    return _even(14 * float(law.scale), 0.5 * float(law.scale))


def _flipped_huber(law: Any) -> np.ndarray:
    unit, corner = float(law.scale * law.gamma), float(law.alpha / law.gamma)
    reach = 14.0 if corner < 14 else _LOG_TAIL / corner
    return _even(unit * reach, 0.5 * unit / max(1.0, corner), unit * corner)


def _kernels(law: Any) -> np.ndarray:
    """Ends of cells for a Gaussian mixture: between modes the log ratio turns within σ²/spacing."""
    sigma, spacing = float(law.scale), float(law.spacing)
    return _even(law.modes * spacing + 14 * sigma, 0.5 * min(sigma, 4 * sigma * sigma / spacing))


def _generalized_gamma(law: Any) -> np.ndarray:
    """Ends of cells: by factors of √2 from _HOLE scales, then evenly in (|x|/scale)^p beyond 1."""
    tail = np.arange(1, _LOG_TAIL, 0.25) ** (1 / float(law.p))
    near = np.exp2(np.arange(math.log2(_HOLE), math.log2(tail[-1]), 0.5))
    places = float(law.scale) * np.concatenate([near, tail])
    return np.unique(np.concatenate([-places, places, [0.0]]))


def _smooth(ends: Callable[[Any], np.ndarray]) -> Callable[[Any, Fraction, Fraction], Route]:
    def make(law: Any, limit: Fraction, epsilon: Fraction) -> Route:
        return Smooth(law=law, ends=ends(law), limit=limit, epsilon=float(epsilon))

    return make


def _with_pole(law: Any, limit: Fraction, epsilon: Fraction) -> Route:
    hole, inside = 0.0, 0.0
    if law.kappa > 0:
        hole = _HOLE * float(law.scale)
        mass = gammainc(float((law.alpha + 1) / law.p), _HOLE ** float(law.p))
        inside = float(mass) * (1 - 1e-10)
    return Smooth(
        law=law,
        ends=_generalized_gamma(law),
        limit=limit,
        epsilon=float(epsilon),
        hole=hole,
        inside=inside,
    )


ROUTES: dict[str, Callable[[Any, Fraction, Fraction], Route]] = {
    "cactus": LatticeSteps.of,
    "discrete-staircase": LatticeSteps.of,
    "flipped-huber": _smooth(_flipped_huber),
    "gaussian": _smooth(_gaussian),
    "gaussian-mixture": _smooth(_kernels),
    "generalized-gamma": _with_pole,
    "geometric": WholeSteps.of,
    "laplace": Slopes.of,
    "optimal": LatticeSteps.of,
    "quasi-gaussian": _smooth(_kernels),
    "staircase": Stairs.of,
    "truncated-laplace": Slopes.of,
    "truncated-staircase": Stairs.of,
    "tulap": Stairs.of,
}


def worst(law: Noise, *, limit: Fraction, epsilon: Fraction) -> tuple[float, Fraction]:
    """The largest certain H and its shift, from a grid, the turning points, and a local search."""
    route = ROUTES[law.name](law, limit, epsilon)
    ordered = sorted((route.certain(shift), shift) for shift in set(route.turns()))
    if isinstance(route, Smooth | Slopes):
        places = sorted(shift for _, shift in ordered)
        ordered += [_polished(route, places, shift) for _, shift in ordered[-2:]]
    return max(ordered)


def _polished(route: Route, places: list[Fraction], shift: Fraction) -> tuple[float, Fraction]:
    """Improve the best shift by golden sections between the neighbours of `shift` in `places`."""
    index = places.index(shift)
    low = float(places[index - 1]) if index else 0.0
    high = float(places[min(index + 1, len(places) - 1)])
    golden = (math.sqrt(5) - 1) / 2
    best = (route.certain(shift), shift)
    for _ in range(16):
        value, two = high - golden * (high - low), low + golden * (high - low)
        tried = [(route.certain(Fraction(index)), Fraction(index)) for index in (value, two)]
        best = max(best, *(pair for pair in tried if pair[1] <= places[-1]))
        low, high = (value, high) if tried[0] < tried[1] else (low, two)
    return best
