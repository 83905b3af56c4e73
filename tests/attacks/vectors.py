"""δ of noise for a vector, by independent routes; see `oracles`.

notation: r = ‖x‖, Δ the length of the shift v; ξ = (‖x‖ + ‖x − v‖)/Δ, η = (‖x‖ − ‖x − v‖)/Δ are
the elliptic coordinates about both centres.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
from scipy.special import betainc, gammainc, gammaln, kve

from tests.attacks import oracles
from tests.attacks.oracles import Bounds, Floats, Parameters

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
VECTORS = ("l2", "spherical-staircase", "optimal-radial", "generalized-gamma")


def gaussian(mu: float | Fraction, epsilon: Any) -> float:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = Δ/σ, with 60 digits before cancellation."""
    with mp.workdps(60):
        size, at = oracles.real(Fraction(mu)), mp.mpf(epsilon)
        return float(mp.ncdf(size / 2 - at / size) - mp.exp(at) * mp.ncdf(-size / 2 - at / size))


def laplace(ratio: Fraction, epsilon: Any) -> float:
    """1 − e^((ε − Δ/b)/2), or 0 if that is negative."""
    with mp.workdps(60):
        return max(0.0, float(-mp.expm1((mp.mpf(epsilon) - oracles.real(ratio)) / 2)))


def worst(
    name: str, d: int, scale: Fraction, p: Parameters, *, length: Fraction, epsilon: Any
) -> Bounds:
    """Bounds on δ of a spherical law at the shift `length`, which is the worst shift."""
    eps = float(epsilon)
    if name == "l2":
        result, slack = _spherical_laplace(d, float(length / scale), eps), 1e-8
    elif name == "generalized-gamma":
        result, slack = _generalized_gamma(d, float(length / scale), p, eps), 1e-5
    else:
        edges, heights = _shells(name, p)
        result, slack = _shelled(d, edges, heights, length=float(length / scale), epsilon=eps), 1e-8
    return max(0.0, result * (1 - slack) - 2e-12), result * (1 + slack) + 2e-12


def losses(d: int, ratio: float, ends: Floats) -> Floats:
    """For the l2 mechanism, the probability of a loss within each cell between the `ends`.

    The loss is −ηΔ/σ.
    """
    eta = -np.asarray(ends)[::-1] / ratio  # from −1 to 1
    return np.array([_eta_mass(d, ratio, a, b, epsilon=math.inf) for a, b in pairwise(eta)])[::-1]


def _spherical_laplace(d: int, ratio: float, epsilon: float) -> float:
    """δ as an integral over η < −εσ/Δ; the integral over ξ is a Bessel function of second kind."""
    end = -epsilon / ratio
    return 0.0 if end <= -1 else _eta_mass(d, ratio, -1.0, end, epsilon=epsilon)


def _eta_mass(d: int, ratio: float, low: float, high: float, *, epsilon: float) -> float:
    """∫ (1 − e^(ε + ηΔ/σ)) of the density of η over [low, high], in η = −cos φ."""
    nu, a = d / 2 - 1, ratio / 2
    start, stop = math.acos(-max(low, -1.0)), math.acos(-min(high, 1.0))
    pieces = np.linspace(start, stop, 5)
    half = np.diff(pieces)[:, None] / 2
    phi = (pieces[:-1, None] + half * (1 + _NODES)).ravel()
    eta = -np.cos(phi)
    # (Δ/2)^d S_{d−2}/(S_{d−1} Γ(d)) with σ = 1, S the area of the unit sphere
    log_c = d * math.log(a) + _log_sphere(d - 1) - _log_sphere(d) - gammaln(d)
    base = gammaln(nu + 0.5) - math.log(math.pi) / 2 + nu * math.log(2 / a) - a
    first = np.exp(log_c + base) * kve(nu, a)
    next_one = np.exp(log_c + base + math.log(2 / a)) * (nu + 0.5) * kve(nu + 1, a)
    # ∫ e^(−aξ)(ξ² − η²)(ξ² − 1)^(ν − 1/2) dξ = first·(1 − η²) + next
    along = (first * np.sin(phi) ** 2 + next_one) * np.sin(phi) ** (d - 2) * np.exp(-a * eta)
    gain = np.ones_like(eta) if epsilon == math.inf else -np.expm1(epsilon + ratio * eta)
    return float((half * _WEIGHTS * (along * np.maximum(gain, 0)).reshape(4, -1)).sum())


def _log_sphere(d: int) -> float:
    """The logarithm of the area of the unit sphere in R^d."""
    return math.log(2) + d / 2 * math.log(math.pi) - float(gammaln(d / 2))


def _generalized_gamma(d: int, ratio: float, p: Parameters, epsilon: float) -> float:
    """δ as an integral over the radius, of the probability that the cosine gives a loss above ε."""
    alpha, power = float(p["alpha"]), float(p["p"])
    kappa = d - 1 - alpha
    # in u = P(R <= r) for small r, where the density may have a pole, and in r beyond
    top = 60.0 ** (1 / power) + ratio
    ends = np.unique(np.concatenate([np.geomspace(1e-12, 1, 40), np.linspace(0.2, 1, 60)])) * top

    def log_g(s: Floats) -> Floats:
        return -kappa * np.log(np.maximum(s, 1e-300)) - s**power

    # near radii where that cosine reaches ±1, the probability grows like a square root
    for sign in (1, -1):
        at = _passes(lambda r, sign=sign: log_g(r) - log_g(abs(r + sign * ratio)) - epsilon, ends)
        for by in np.geomspace(1e-12, 0.1, 24):
            ends = np.concatenate([ends, at * (1 - by), at, at * (1 + by)])
    ends = np.unique(ends)
    half = np.diff(ends)[:, None] / 2
    r = (ends[:-1, None] + half * (1 + _NODES)).ravel()
    log_radius = alpha * np.log(r) - r**power + math.log(power) - gammaln((alpha + 1) / power)
    wanted = log_g(r) - epsilon  # beyond the radius where g is e^−ε of its own
    low, high = np.zeros_like(r), np.full_like(r, 1e3 * top + 1e3)
    for _ in range(80):
        middle = (low + high) / 2
        above = log_g(middle) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    cosine = np.clip((r * r + ratio * ratio - low * low) / (2 * r * ratio), -1, 1)
    # c from −1 to `cosine`, in c = −cos φ: sin^(d−2) φ dφ
    stop = np.arccos(-cosine)[:, None]
    phi = stop * (1 + _NODES) / 2
    other = np.sqrt(
        np.maximum(r[:, None] ** 2 + ratio**2 + 2 * r[:, None] * ratio * np.cos(phi), 0)
    )
    with np.errstate(over="ignore"):
        gain = -np.expm1(np.minimum(epsilon + log_g(other) - log_g(r)[:, None], 0.0))
    if d == 1:
        raise ValueError("for one number there is `oracles`")
    area = math.exp(_log_sphere(d - 1) - _log_sphere(d))
    inner = (stop / 2 * _WEIGHTS * gain * np.sin(phi) ** (d - 2)).sum(axis=1) * area
    values = (np.exp(log_radius) * inner).reshape(len(ends) - 1, -1)
    near = float(gammainc((alpha + 1) / power, ends[0] ** power))
    return float((half * _WEIGHTS * values).sum()) + near * float(inner[0])


def _passes(f: Callable[[Floats], Floats], ends: Floats) -> Floats:
    """The zeros of f between the first and the last of `ends`, where f changes its sign."""
    grid = np.unique(np.concatenate([ends, np.linspace(ends[0], ends[-1], 20_000)]))
    positive = f(grid) > 0
    at = np.nonzero(positive[1:] != positive[:-1])[0]
    low, high, rising = grid[at], grid[at + 1], positive[at + 1]
    for _ in range(60):
        middle = (low + high) / 2
        beyond = (f(middle) > 0) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return (low + high) / 2


def _shells(name: str, p: Parameters) -> tuple[list[float], list[float]]:
    if name == "optimal-radial":
        return [float(Fraction(e) / p["cells"]) for e in p["edges"]], [
            float(w) for w in p["weights"]
        ]
    count = max(0, math.ceil(p["radius"] - p["gamma"]))
    edges = [*(float(p["gamma"] + j) for j in range(count)), float(p["radius"])]
    return edges, [math.exp(-float(p["decay"]) * j) for j in range(len(edges))]


def _shelled(
    d: int, edges: Sequence[float], heights: Sequence[float], *, length: float, epsilon: float
) -> float:
    """δ of a step density: Σ over pairs of shells of (h_i − c h_j)₊ times the volume they share."""
    n, c = len(edges), math.exp(epsilon)
    shared = np.zeros((n + 1, n + 2))  # balls of radius 0 first; column n + 1: all of space
    for i, a in enumerate(edges, start=1):
        for j, b in enumerate(edges, start=1):
            shared[i, j] = _two_balls(d, a, b, length)
        shared[i, n + 1] = a**d
    volume = np.diff(np.diff(shared, axis=0), axis=1)
    h, other = np.array(heights)[:, None], np.append(heights, 0.0)[None, :]
    gain = np.where(np.isclose(h, c * other, rtol=1e-13, atol=0), 0.0, np.maximum(h - c * other, 0))
    total = float((np.array(heights) * np.diff(np.array([0.0, *edges]) ** d)).sum())
    return float((gain * volume).sum()) / total


def _two_balls(d: int, a: float, b: float, s: float) -> float:
    """The volume that two balls share, divided by the volume of the unit ball."""
    if s >= a + b:
        return 0.0
    if s <= abs(a - b):
        return min(a, b) ** d
    x = (s * s + a * a - b * b) / (2 * s)
    return _cap(d, a, x) + _cap(d, b, s - x)


def _cap(d: int, radius: float, at: float) -> float:
    part = float(betainc((d + 1) / 2, 0.5, max(0.0, 1 - (at / radius) ** 2))) / 2
    return radius**d * (part if at >= 0 else 1 - part)


def longest(record: dict[str, Any], image: Any) -> float:
    """The largest ‖W v‖₂ over the corners of a set of shifts, by trying all corners."""
    return max(float(np.linalg.norm(image(np.array(v)))) for v in corners(record))


def corners(record: dict[str, Any]) -> list[list[float]]:
    """The corners of a stated set of shifts, which must be small."""
    if record["kind"] == "vertices":
        return [[float(_number(v)) for v in point] for point in record["points"]]
    d, most, b = record["dimension"], record["max_nonzero"], float(_number(record["bound"]))
    rows = [[b * (bits >> i & 1) for i in range(d)] for bits in range(2**d)]
    rows = [[*row, 1.0] if record["with_total"] else row for row in rows if sum(row) <= most * b]
    if record["neighbours"] == "add-remove":
        return rows
    return [[x - y for x, y in zip(row, two, strict=True)] for row in rows for two in rows]


def _number(text: str) -> Fraction:
    return Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)
