"""Laws on every body, their draws, and draws of the same laws by rejection sampling."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numpy as np
from scipy import stats

from leastnoise.entropy.base import Block
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.bodies.law.two_sided import TwoSided, TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.draw import make_sampler
from tests.guarantees.bodies.examples import BODIES, ONE_SIDED

GRID = Fraction(1, 2**20)
SCALE = 2

LAWS: dict[str, VectorNoise] = {
    **{f"k-norm, {name}": KNorm(scale=SCALE, body=body) for name, body in BODIES.items()},
    **{
        f"k-staircase, {name}": KStaircase(scale=SCALE, body=body, gamma="0.4", decay="1.5")
        for name, body in BODIES.items()
    },
    **{
        f"truncated-k-staircase, {name}": TruncatedKStaircase(
            scale=SCALE, body=body, gamma="0.4", radius="2.9", decay="0.6"
        )
        for name, body in BODIES.items()
    },
    **{
        f"two-sided-laplace, {name}": TwoSidedLaplace(scale=SCALE, of=of, core="0.7")
        for name, of in ONE_SIDED.items()
    },
    **{
        f"two-sided-staircase, {name}": TwoSidedStaircase(
            scale=SCALE, of=of, core="0.7", decay="1.5"
        )
        for name, of in ONE_SIDED.items()
    },
    "two-sided-laplace, no core": TwoSidedLaplace(scale=SCALE, of=Counts(queries=3), core=0),
    "two-sided-staircase, 12 queries": TwoSidedStaircase(
        scale=SCALE, of=Counts(queries=12, most=11), core=3, decay=1
    ),
}


def block(law: VectorNoise, *, seed: int) -> Block:
    """One draw of a law in multiples of GRID."""
    return make_sampler(law, grid=GRID, entropy=InsecureSeededEntropy(seed)).draw(law.dimension)


def draws(law: VectorNoise, count: int, *, seed: int) -> np.ndarray:
    """`count` draws from one seeded bit string, divided by the scale, shape (count, D)."""
    entropy = InsecureSeededEntropy(seed)
    results = []
    for _ in range(count):
        drawn = make_sampler(law, grid=GRID, entropy=entropy).draw(law.dimension)
        for index in np.flatnonzero(drawn.beyond).tolist():
            drawn.estimates[index] = float(drawn.enclose(index, 60).mid())
        results.append(drawn.estimates)
    return np.array(results) * float(GRID / law.scale)


def rejected(law: VectorNoise, count: int, *, seed: int) -> np.ndarray:
    """`count` draws by rejection sampling, which uses gauges only, divided by the scale."""
    rng = np.random.default_rng(seed)
    if isinstance(law, KNorm):
        radii = rng.gamma(law.dimension + 1, size=count)
        return radii[:, None] * _in_body(law.body, count, rng)
    if isinstance(law, KStaircase):
        steps = np.arange(200) + float(law.gamma)
        masses = np.exp(-float(law.decay) * np.arange(200)) * steps**law.dimension
        radii = rng.choice(steps, size=count, p=masses / masses.sum())
        return radii[:, None] * _in_body(law.body, count, rng)
    if isinstance(law, TruncatedKStaircase):
        edges = [float(edge) for edge in law.steps.edges]
        heights = np.exp(-float(law.decay) * np.arange(len(edges)))
        masses = -np.diff(heights, append=0.0) * np.array(edges) ** law.dimension
        radii = rng.choice(edges, size=count, p=masses / masses.sum())
        return radii[:, None] * _in_body(law.body, count, rng)
    assert isinstance(law, TwoSided)
    kept = [np.empty((0, law.dimension))]
    while sum(map(len, kept)) < count:
        kept.append(_two_sided(law, count, rng))
    return np.concatenate(kept)[:count]


def _two_sided(law: TwoSided, count: int, rng: np.random.Generator) -> np.ndarray:
    """Accept a point of density ∝ e^(−ε(P + Q)) with probability: density ratio over its bound."""
    decay = float(law.decay) if isinstance(law, TwoSidedStaircase) else 1.0
    core = float(law.parameters["core"])  # type: ignore[arg-type]
    hull = Signed(of=law.of)
    x = rng.gamma(law.dimension + 1, size=count)[:, None] * _in_body(hull, count, rng) / decay
    added, removed = law.of.moves(x)
    above, beneath = np.maximum(added - core, 0), np.maximum(removed - core, 0)
    if isinstance(law, TwoSidedStaircase):
        above, beneath = np.ceil(above), np.ceil(beneath)
    logs = decay * (added + removed - above - beneath - 2 * core)
    return x[rng.random(count) < np.exp(logs)]


def _in_body(body: Body, count: int, rng: np.random.Generator) -> np.ndarray:
    reach = _reach(body, rng)
    kept = [np.empty((0, body.dimension))]
    while sum(map(len, kept)) < count:
        x = rng.uniform(-1, 1, size=(50_000, body.dimension)) * reach
        kept.append(x[body.gauges(x) <= 1])
    return np.concatenate(kept)[:count]


def _reach(body: Body, rng: np.random.Generator) -> np.ndarray:
    if body.corner_count is not None:
        corners = np.array([[float(value) for value in corner] for corner in body.corners()])
        return np.abs(corners).max(axis=0)
    directions = rng.standard_normal((400_000, body.dimension))
    directions = np.concatenate([directions, np.eye(body.dimension)])
    return 1.02 * np.abs(directions / body.gauges(directions)[:, None]).max(axis=0)


def same_law(a: Any, b: Any) -> float:
    """The p-value of the Kolmogorov-Smirnov test that two samples have one law."""
    return float(cast("Any", stats.ks_2samp(a, b)).pvalue)
