from __future__ import annotations

import numpy as np
import pytest

from leastnoise.noise.steps.law import Staircase
from tests.scalar import assert_law, draws


@pytest.mark.parametrize(("gamma", "decay"), [("0.3", "1.2"), ("0.4", "0.1"), ("0.1", "4")])
def test_the_law_is_drawn(gamma: str, decay: str) -> None:
    law = Staircase(scale=2, gamma=gamma, decay=decay)
    reach = 40 / float(decay)
    edges = np.concatenate([[0.0], float(gamma) + np.arange(reach)])
    heights = np.exp(-float(decay) * np.arange(len(edges) - 1))
    inside = np.concatenate([[0.0], np.cumsum(heights * np.diff(edges))])

    def cdf(x: np.ndarray) -> np.ndarray:
        return 0.5 + np.sign(x) * np.interp(np.abs(x), edges, inside / inside[-1]) / 2

    assert_law(draws(law, 4000, seed=33), law, cdf)
