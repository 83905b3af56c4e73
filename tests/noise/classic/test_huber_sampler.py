from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erfc

from leastnoise.noise.classic.law import FlippedHuber
from tests.scalar import assert_law, draws


@pytest.mark.parametrize(("alpha", "gamma"), [("0", "1"), ("0.5", "1.2"), ("1", "0.5")])
def test_the_law_is_drawn(alpha: str, gamma: str) -> None:
    law = FlippedHuber(scale=2, alpha=alpha, gamma=gamma)
    a, g = float(alpha), float(gamma)

    def beyond(r: np.ndarray) -> np.ndarray:
        """The integral of e^(−ρ/γ²) from r to infinity."""
        tail = np.exp(-((a / g) ** 2) / 2) * np.sqrt(np.pi / 2) * g
        outer = tail * erfc(np.maximum(r, a) / g / np.sqrt(2))
        if a == 0:
            return outer
        inner = np.exp(-a * np.minimum(r, a) / g**2) - np.exp(-(a**2) / g**2)
        return outer + inner * g**2 / a

    def cdf(x: np.ndarray) -> np.ndarray:
        half = beyond(np.abs(x)) / beyond(np.array(0.0)) / 2
        return np.where(x > 0, 1 - half, half)

    assert_law(draws(law, 20_000, seed=34), law, cdf)
