from __future__ import annotations

import numpy as np

from leastnoise.noise.steps.law import Tulap
from tests.scalar import assert_law, draws


def test_the_law_is_drawn() -> None:
    law = Tulap(scale=2, radius="2.3", decay="0.7")
    edges = law.steps.float_edges
    inside = np.concatenate([[0.0], np.cumsum(law.steps.masses)])

    def cdf(x: np.ndarray) -> np.ndarray:
        return 0.5 + np.sign(x) * np.interp(np.abs(x), edges, inside) / 2

    drawn = draws(law, 4000, seed=32)
    assert np.abs(drawn).max() <= 4.6 + 2**-24
    assert_law(drawn, law, cdf)
