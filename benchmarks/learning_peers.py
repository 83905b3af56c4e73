"""Data, splits and peers for bench_learning: diffprivlib, and tight objective perturbation.

The tight peer is Redberg, Koskela & Wang (2023) in its most favourable form. Its Gaussian noise
hides the gradients of two rows, 2R apart, at δ/2, and at ε minus the Jacobian's ln(1 + β/Λ), β =
R²/4. It serves only for comparison: its noise is in floats and its minimum isn't exact, so it isn't
private.
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
"""R² of each data set, as in the experiment; it includes the intercept's 1."""
_VISITS = 250_000


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Four fifths of the rows for training, and one fifth for testing, without a column of ones."""

    name: str
    features: Floats
    labels: Floats
    others: Floats
    answers: Floats

    @property
    def norm(self) -> float:
        """The largest l2 norm of a row, without the intercept's 1."""
        return math.sqrt(SQUARED_NORMS[self.name] - 1)

    def scores(self, weights: Floats) -> tuple[float, float]:
        """The error (per cent) and the log loss out of sample; `weights` end with the intercept."""
        margins = self.answers * (self.others @ weights[:-1] + weights[-1])
        return 100 * float((margins <= 0).mean()), float(np.logaddexp(0, -margins).mean())


@cache  # many splits of each
def data_of(name: str) -> tuple[Floats, Floats]:
    """Features in [−1, 1] without a column of ones, and labels ±1."""
    if name == "visits":
        draws = np.random.default_rng(29)
        both = [draws.uniform(-1, 1, _VISITS), draws.poisson(4, _VISITS) / 10 - 1]
        features = np.column_stack(both).clip(-1, 1)
        chances = 1 / (1 + np.exp(2.43 - features @ [2.10, -1.57]))
        return features, np.where(draws.random(_VISITS) < chances, 1.0, -1.0)
    result = prepare.ALL[name]()
    return result.features[:, 1:], result.labels


def split_of(name: str, seed: int) -> Split:
    """A random split of a data set."""
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
    """diffprivlib's coefficients at each ε, with its choice of the ridge."""
    python = install(DIFFPRIVLIB)
    script = Path(__file__).parent / "side_by_side" / "with_diffprivlib_learning.py"
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "split.npz"
        np.savez(table, features=split.features, labels=split.labels)
        command = [python, script, table, str(split.norm), json.dumps(epsilons)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [np.array(load) for load in json.loads(done.stdout)]


def tightly(split: Split, epsilon: float, draws: np.random.Generator) -> Floats:
    """Coefficients of tight objective perturbation, with a ridge chosen as in diffprivlib.

    The ridge Λ is 1, or the larger Λ that leaves three quarters of ε for the noise.
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
