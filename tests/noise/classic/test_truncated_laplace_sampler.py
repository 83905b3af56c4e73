from __future__ import annotations

import numpy as np
import pytest

from leastnoise.noise.classic.law import TruncatedLaplace
from tests.scalar import assert_law, draws


@pytest.mark.parametrize("radius", ["0.4", "2"])
def test_the_law_is_drawn(radius: str) -> None:
    law = TruncatedLaplace(scale=2, radius=radius)
    a = float(radius)

    def cdf(x: np.ndarray) -> np.ndarray:
        inside = np.expm1(-np.minimum(np.abs(x), a)) / np.expm1(-a)
        return 0.5 + np.sign(x) * inside / 2

    drawn = draws(law, 8000, seed=31)
    assert np.abs(drawn).max() <= 2 * a + 2**-24
    assert_law(drawn, law, cdf)
