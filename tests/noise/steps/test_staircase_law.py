from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from leastnoise.errors import InvalidArgument
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.steps.law import Staircase


@pytest.mark.parametrize(
    ("gamma", "decay"),
    [("0.4", "1e-6"), ("0.3", "0.5"), ("1e-30", "2"), ("1", "60"), ("0.01", "9000")],
)
def test_moments_are_those_of_the_mixture(gamma: str, decay: str) -> None:
    """E|X| = ½ΣP(j)(γ + j), E X² = ⅓ΣP(j)(γ + j)², P(j) ∝ b^j (γ + j)."""
    law = Staircase(scale=2, gamma=gamma, decay=decay)
    with mp.workdps(40):
        g, b = mp.mpf(gamma), mp.exp(-mp.mpf(decay))
        moments = [_geometric_moment(b, k) for k in range(4)]
        sums = [sum(mp.binomial(p, k) * g ** (p - k) * moments[k] for k in range(p + 1))
                for p in range(1, 4)]  # fmt: skip
    assert law.mean_abs == pytest.approx(float(sums[1] / sums[0]), rel=1e-14)
    assert law.variance == pytest.approx(float(4 * sums[2] / sums[0] / 3), rel=1e-14)


def _geometric_moment(b: mp.mpf, power: int) -> mp.mpf:
    """(1 − b)Σ b^j j^power, from the Eulerian polynomials."""
    eulerian = {0: [1], 1: [1], 2: [1, 1], 3: [1, 4, 1]}[power]
    top = sum(c * b**k for k, c in enumerate(eulerian))
    return top * (b if power else 1) / (1 - b) ** power


def test_steps_of_the_density() -> None:
    law = Staircase(scale=2, gamma="0.25", decay="1.5")
    x = np.array([[0.0], [0.49], [-0.51], [2.49], [2.51], [-4.6]])
    logs = law.log_density(x) - law.log_density([0.0])
    assert logs == pytest.approx([0, 0, -1.5, -1.5, -3, -4.5])


def test_quantiles() -> None:
    law = Staircase(scale=2, gamma="0.25", decay="0.8")
    b = np.exp(-0.8)
    weights = b ** np.arange(80) * (0.25 + np.arange(80))
    for probability in (0.01, 0.1, 0.5, 0.95, 0.9999):
        t = find_quantile(law, probability) / 2
        inside = np.minimum(1, t / (0.25 + np.arange(80)))
        assert weights @ inside / weights.sum() == pytest.approx(probability, rel=1e-12)


def test_refuses_bad_parameters() -> None:
    for gamma in ("0", "-1", "1.01"):
        with pytest.raises(InvalidArgument, match="gamma"):
            Staircase(scale=1, gamma=gamma, decay=1)
    for decay in ("0", "-1", "1e7"):
        with pytest.raises(InvalidArgument, match="decay"):
            Staircase(scale=1, gamma="0.5", decay=decay)
