"""What bench_learning compares: data, splits, and objective perturbation by others and tightly.

The tight one is Redberg, Koskela & Wang (2023) in the form that is best for it: Gaussian noise for
two rows' gradients, 2R apart, at δ/2, once the Jacobian's ln(1 + β/Λ) is off ε, β = R²/4. It is for
comparison alone: noise in floats, of a minimum that isn't exact, is not private.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import log_ndtr, ndtr

from benchmarks.side_by_side.environments import Library, install
from experiments.liu2026.table8 import prepare

Floats = NDArray[np.float64]
DIFFPRIVLIB = Library(
    name="diffprivlib",
    script="with_diffprivlib",
    requirements=("diffprivlib==0.6.6", "scikit-learn<1.7", "pandas"),
)
SQUARED_NORMS = {"visits": 3, **prepare.SQUARED_NORMS}
"""R², as in the experiment; the intercept's 1 is in it."""
_VISITS = 250_000


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Four fifths of the rows to fit to, and one to measure with; no column of ones."""

    name: str
    features: Floats
    labels: Floats
    others: Floats
    answers: Floats

    @property
    def norm(self) -> float:
        """How long a row is at most, without the intercept's 1."""
        return math.sqrt(SQUARED_NORMS[self.name] - 1)

    def scores(self, weights: Floats) -> tuple[float, float]:
        """Return the error in per cent and the log loss out of sample; the intercept is last."""
        margins = self.answers * (self.others @ weights[:-1] + weights[-1])
        return 100 * float((margins <= 0).mean()), float(np.logaddexp(0, -margins).mean())


@cache  # many splits of each
def data_of(name: str) -> tuple[Floats, Floats]:
    """Return features in [−1, 1], without ones, and labels ±1."""
    if name == "visits":
        draws = np.random.default_rng(29)
        both = [draws.uniform(-1, 1, _VISITS), draws.poisson(4, _VISITS) / 10 - 1]
        features = np.column_stack(both).clip(-1, 1)
        chances = 1 / (1 + np.exp(2.43 - features @ [2.10, -1.57]))
        return features, np.where(draws.random(_VISITS) < chances, 1.0, -1.0)
    result = prepare.ALL[name]()
    return result.features[:, 1:], result.labels


def split_of(name: str, seed: int) -> Split:
    """Return a random split."""
    features, labels = data_of(name)
    inside, outside = prepare.split(len(labels), seed)
    return Split(
        name=name,
        features=features[inside],
        labels=labels[inside],
        others=features[outside],
        answers=labels[outside],
    )


def by_diffprivlib(split: Split, epsilons: tuple[float, ...]) -> list[Floats]:
    """Return its coefficients at each ε, with its own choice of the ridge."""
    python = install(DIFFPRIVLIB)
    script = Path(__file__).parent / "side_by_side" / "with_diffprivlib_learning.py"
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "split.npz"
        np.savez(table, features=split.features, labels=split.labels)
        command = [python, script, table, str(split.norm), json.dumps(epsilons)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [np.array(load) for load in json.loads(done.stdout)]


def tightly(split: Split, epsilon: float, draws: np.random.Generator) -> Floats:
    """Return objective perturbation's coefficients, with a ridge as diffprivlib chooses it.

    Λ is 1, or as much as leaves three quarters of ε for the noise.
    """
    ones = np.column_stack([split.features, np.ones(len(split.labels))])
    rows, size = ones.shape
    square, delta = SQUARED_NORMS[split.name], 1 / rows**2
    smooth = square / 4
    ridge = max(1.0, smooth / math.expm1(epsilon / 4))
    left = epsilon - math.log1p(smooth / ridge)
    shift: Any = brentq(lambda mu: _gaussian(left, mu) - delta / 2, 1e-6, 100)
    noise = draws.normal(size=size) * 2 * math.sqrt(square) / shift

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = split.labels * (ones @ weights)
        slopes = -split.labels * np.exp(-np.logaddexp(0, margins))
        value = np.logaddexp(0, -margins).sum() + ridge / 2 * weights @ weights + noise @ weights
        return value / rows, (ones.T @ slopes + ridge * weights + noise) / rows

    options = {"maxiter": 5000, "gtol": 1e-9, "ftol": 1e-15}
    return minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options=options).x


def _gaussian(epsilon: float, shift: float) -> float:
    first, second = (sign * shift / 2 - epsilon / shift for sign in (1, -1))
    return float(ndtr(first) - math.exp(epsilon + log_ndtr(second)))
