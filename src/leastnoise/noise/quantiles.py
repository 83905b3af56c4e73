"""The law of one coordinate: how large an error to expect in one published number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable, NotRegistered
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.two_sided_laplace import TwoSidedLaplace
from leastnoise.noise.bodies.law.two_sided_staircase import TwoSidedStaircase
from leastnoise.noise.bodies.profile import first_of_blocks, tail_of
from leastnoise.noise.body_noise import BodyNoise, VectorNoise
from leastnoise.noise.common.law.radial_steps import RadialStepNoise
from leastnoise.noise.common.law.steps import StepNoise
from leastnoise.noise.huber.law import FlippedHuber, standard_mass
from leastnoise.noise.kernels.law.kernels import KernelNoise
from leastnoise.noise.laplace.law.truncated_laplace import TruncatedLaplace
from leastnoise.noise.lattice.law.discrete_staircase import DiscreteStaircase
from leastnoise.noise.radial.law.generalized_gamma import GeneralizedGamma
from leastnoise.noise.registry import part_of, registered
from leastnoise.noise.steps.law.geometric import Geometric
from leastnoise.noise.steps.law.staircase import Staircase
from leastnoise.numerics.quadrature import gauss_legendre
from leastnoise.numerics.roots import IncreasingRoot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ROOT = IncreasingRoot(tolerance=1e-12)


def has_quantiles(noise: Noise) -> bool:
    """Say whether `absolute_quantile` knows the law of each coordinate."""
    if isinstance(noise, BodyNoise):
        return all(tail_of(noise, first) is not None for first in first_of_blocks(noise.body))
    if isinstance(noise, VectorNoise):
        return isinstance(noise, TwoSidedStaircase | TwoSidedLaplace) and all_conditions(noise.of)
    return registered(type(noise)).quantile is not None


def variance_of(noise: Noise, coordinate: int) -> float:
    """Return Var X_i, i = coordinate."""
    if isinstance(noise, VectorNoise):
        return float(noise.variances[coordinate])
    return noise.variance


def absolute_quantile(noise: Noise, probability: float, coordinate: int = 0) -> float:
    """Return t with P(|X_i| <= t) = probability, i = coordinate; accurate to about 1e-10.

    All coordinates are alike, but for noise that serves several blocks of a release together.
    Raises InvalidArgument unless 0 < probability < 1.

    >>> from leastnoise.noise.gaussian.law import Gaussian
    >>> round(absolute_quantile(Gaussian(scale=1), 0.95), 6)
    1.959964
    """
    if not 0 < probability < 1:
        raise InvalidArgument(name="probability", value=probability, expected="0 < probability < 1")
    if isinstance(noise, BodyNoise):
        return float(noise.scale) * _body(noise, 1 - probability, coordinate)
    return float(noise.scale) * part_of(type(noise), "quantile")(noise, 1 - probability)


def all_conditions(of: OneSided) -> bool:
    """Say whether T is the cube [0, b]^d, of which all coordinates are alike."""
    return isinstance(of, Counts) and of.most == of.queries


def two_sided(noise: Noise, outside: float) -> float:
    """X is uniform in [−B, A]^d; a tail for each law of A and B, which are weighted by volume."""
    known = isinstance(noise, TwoSidedStaircase | TwoSidedLaplace)
    if not known or not isinstance(noise.of, Counts) or not all_conditions(noise.of):
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    tail = _two_sided_steps(noise) if isinstance(noise, TwoSidedStaircase) else _smooth(noise)
    found = _solve(tail, outside, guess=math.sqrt(noise.variance) / float(noise.scale))
    return found * float(noise.of.bound)


def _two_sided_steps(noise: TwoSidedStaircase) -> Callable[[float], float]:
    """Return t ↦ P(|X_i| > t): A = a + k and B = a + n − k with weight q^n (2a + n)^d.

    So P(|X_i| > t) = 2 Σ_n q^n (2a + n)^(d−1) Σ_{k<=n} (a + k − t)₊ / Σ_n q^n (n + 1)(2a + n)^d.
    """
    core, decay, d = float(noise.core), float(noise.decay), noise.dimension
    n = np.arange(math.ceil((d + 60 + 12 * math.sqrt(d)) / decay) + 2, dtype=float)
    logs = -decay * n + (d - 1) * np.log(2 * core + n)
    weights = np.exp(logs - logs.max())
    total = float(weights @ ((n + 1) * (2 * core + n)))

    def tail(t: float) -> float:
        first = np.maximum(np.floor(t - core) + 1, 0.0)  # the least k with a + k > t
        count = np.maximum(n - first + 1, 0.0)
        above = count * (core - t + (first + n) / 2)
        return 2 * float(weights @ above) / total

    return tail


def _smooth(noise: TwoSidedLaplace) -> Callable[[float], float]:
    """Return t ↦ P(|X_i| > t): A = b + u, B = b + n − u with density ∝ e^(−n) (2b + n)^d.

    So P(|X_i| > t) = 2 ∫ e^(−n) (2b + n)^(d−1) ∫_c^n (b + u − t) du dn / ∫ n e^(−n) (2b + n)^d dn,
    c = (t − b)₊ and 0 <= u <= n.
    """
    core, d = float(noise.core), noise.dimension
    peak = max(d - 2 * core, 0.0)
    spread = 40 + 12 * math.sqrt(d)
    top = -peak + d * math.log(2 * core + peak)

    def integral(
        least: float, inner: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> float:
        first = max(least, peak - spread)
        n, weight = gauss_legendre(first, max(first, peak) + spread, nodes=200)
        return float(weight * np.exp(-n + d * np.log(2 * core + n) - top) @ inner(n))

    total = integral(0.0, lambda n: n)

    def tail(t: float) -> float:
        c = max(t - core, 0.0)
        return (
            2 / total * integral(c, lambda n: (n - c) * (core - t + (n + c) / 2) / (2 * core + n))
        )

    return tail


def _body(noise: BodyNoise, outside: float, coordinate: int) -> float:
    tail = tail_of(noise, coordinate)
    if tail is None:
        raise NotApplicable(family=noise.name, why="the law of one coordinate isn't known")
    guess = math.sqrt(variance_of(noise, coordinate)) / float(noise.scale)
    return _solve(tail, outside, guess=guess)


def gaussian(noise: Noise, outside: float) -> float:
    """Invert P(|X| > t) = erfc(t/√2)."""
    del noise
    return _solve(lambda t: math.erfc(t / math.sqrt(2)), outside, guess=1.5)


def laplace(noise: Noise, outside: float) -> float:
    """Invert P(|X| > t) = e^(−t)."""
    del noise
    return -math.log(outside)


def spherical_laplace(noise: Noise, outside: float) -> float:
    """X_i = √(2G)·Z, G ~ Gamma((d+1)/2), Z normal (theory/release.md §2)."""
    k = (noise.dimension + 1) / 2
    # g = s²: the density of s ∝ s^(2k−1) e^(−s²) is smooth at 0 and nearly normal for large k
    mode = math.sqrt(k - 0.5)
    s, weight = gauss_legendre(max(0.0, mode - 6.5), mode + 6.5)
    log_density = (2 * k - 1) * np.log(s / mode) - (s * s - mode * mode)
    mass = weight * np.exp(log_density)
    mass /= mass.sum()
    s = s.tolist()

    def tail(t: float) -> float:
        return math.fsum(m * math.erfc(t / (2 * x)) for m, x in zip(mass.tolist(), s, strict=True))

    return _solve(tail, outside, guess=2 * mode)


def radial_step(noise: Noise, outside: float) -> float:
    """Sum the caps of all balls beyond t: I_{1−t²/e²}((d + 1)/2, ½) for the ball of radius e."""
    from scipy.special import betainc  # noqa: PLC0415  (0.2 s, needed here alone)

    if not isinstance(noise, RadialStepNoise):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no shells")
    edges, masses, p = noise.steps.float_edges, noise.ball_masses, (noise.dimension + 1) / 2

    def tail(t: float) -> float:
        inside = np.clip((1 - t / edges) * (1 + t / edges), 0.0, 1.0)
        return float(masses @ betainc(p, 0.5, inside))

    return _solve(tail, outside, guess=float(masses @ edges) / math.sqrt(2 * p))


def generalized_gamma(noise: Noise, outside: float) -> float:
    """P(|X_i| > t) = E P(|W| > t/R), R^p ~ Gamma(k), W the cosine to a uniform direction."""
    from scipy.special import betainc, gammainccinv  # noqa: PLC0415  (0.2 s, needed here alone)

    if not isinstance(noise, GeneralizedGamma):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not generalized-gamma")
    p, half = float(noise.p), (noise.dimension - 1) / 2
    k = float((noise.alpha + 1) / noise.p)
    if noise.dimension == 1:
        return float(gammainccinv(k, outside)) ** (1 / p)
    # in ln r from where the mass begins, or from t; quadratic there, where P(|W| > t/r) has a root
    least, last = (math.log(gammainccinv(k, one)) / p for one in (1 - 1e-15, 1e-17))
    unit, weight = gauss_legendre(0.0, 1.0, nodes=200)

    def tail(t: float) -> float:
        first = max(least, math.log(t))
        if first >= last:
            return 0.0
        y = first + (last - first) * unit**2
        log_b = p * y
        mass = np.exp(k * log_b - np.exp(log_b) + math.log(p) - math.lgamma(k))
        cosine = betainc(half, 0.5, np.maximum(1 - (t * np.exp(-y)) ** 2, 0.0))
        return float((2 * (last - first) * weight * unit * mass) @ cosine)

    return _solve(tail, outside, guess=math.sqrt(noise.variance) / float(noise.scale))


def step(noise: Noise, outside: float) -> float:
    """Linear between the edges, where the distribution function is known."""
    if not isinstance(noise, StepNoise):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no steps")
    atom = float(noise.atom)
    below = atom + (1 - atom) * np.concatenate([[0.0], np.cumsum(noise.steps.masses)])
    return float(np.interp(1 - outside, below, noise.steps.float_edges))


def lattice(noise: Noise, outside: float) -> float:
    """Return the least point that holds all but `outside`."""
    if not isinstance(noise, DiscreteStaircase):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no lattice")
    chances = noise.lattice.probabilities
    within = 2 * np.cumsum(chances) - chances[0]
    return min(int(np.searchsorted(within, 1 - outside)), len(chances) - 1) / noise.cells


def flipped_huber(noise: Noise, outside: float) -> float:
    """Invert the mass beyond y: (e^(−uy) − e^(−u²))/u more than that of the tail, y up to u."""
    if not isinstance(noise, FlippedHuber):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not flipped-huber")
    u, gamma = float(noise.corner), float(noise.gamma)
    beyond = outside * standard_mass(u)
    peak = math.exp(-u * u / 2) * math.sqrt(math.pi / 2)  # the tail is peak·erfc(y/√2)
    more = beyond - peak * math.erfc(u / math.sqrt(2))
    if more > 0:
        return -math.log(math.exp(-u * u) + u * more) / u * gamma
    return _solve(lambda y: peak * math.erfc(y / math.sqrt(2)), beyond, guess=u + 1) * gamma


def staircase(noise: Noise, outside: float) -> float:
    """Invert the mass beyond γ + i + u, b^i (m/(γ + m)) (1 − u(1 − b)); linear below γ."""
    if not isinstance(noise, Staircase):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not a staircase")
    gamma, decay, m = float(noise.gamma), float(noise.decay), noise.mean_step
    if outside >= m / (gamma + m):
        return (1 - outside) * (gamma + m)
    steps = (math.log(m / (gamma + m)) - math.log(outside)) / decay
    whole = math.floor(steps)
    return gamma + whole + math.expm1(-decay * (steps - whole)) / math.expm1(-decay)


def geometric(noise: Noise, outside: float) -> float:
    """Return the least point k/c beyond which P(|X| > (k + ½)/c) of its staircase is `outside`."""
    if not isinstance(noise, Geometric):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not geometric")
    edge = staircase(noise.staircase, outside) * noise.cells
    return max(0, math.ceil(edge - 0.5)) / noise.cells


def truncated_laplace(noise: Noise, outside: float) -> float:
    """Invert P(|X| <= t) = (1 − e^(−t))/(1 − e^(−radius))."""
    if not isinstance(noise, TruncatedLaplace):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not truncated-laplace")
    return -math.log1p((1 - outside) * math.expm1(-float(noise.radius)))


def gaussian_kernels(noise: Noise, outside: float) -> float:
    """P(|X| > t) is a sum of normal tails; a folded kernel has but one, on its own side of 0."""
    if not isinstance(noise, KernelNoise):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no kernels")
    spacing, decay = float(noise.spacing / noise.scale), float(noise.decay)
    if noise.folded:
        kernels = [(0.0, 1.0), (spacing, math.exp(-decay))]
        total = 1 + math.exp(-decay) * math.erfc(-spacing / math.sqrt(2))
    else:
        kernels = [
            (k * spacing, math.exp(-abs(k) * decay)) for k in range(-noise.modes, noise.modes + 1)
        ]
        total = math.fsum(weight for _, weight in kernels)

    def tail(t: float) -> float:
        return math.fsum(w * math.erfc((t - m) / math.sqrt(2)) for m, w in kernels) / total

    return _solve(tail, outside, guess=1.5)


def _solve(tail: Callable[[float], float], outside: float, *, guess: float) -> float:
    """Return t with tail(t) = outside, for a tail that falls in t."""

    def f(log_t: float) -> float:
        value = tail(math.exp(log_t))
        return math.log(outside) - math.log(value) if value > 0 else 1e3

    return math.exp(_ROOT.find(f, guess=math.log(guess)))
